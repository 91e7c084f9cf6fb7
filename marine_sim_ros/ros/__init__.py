# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Shared parts of all nodes: topics, message conversion, parameters, the wrench barrier."""
