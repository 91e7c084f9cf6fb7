# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes that publish the state: they sum wrenches, integrate, and keep the time."""
