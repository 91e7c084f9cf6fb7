# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads any recorded bag as a stream, in memory that its length does not change."""
