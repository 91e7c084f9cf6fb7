# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gazebo as the owner of the state: transports, and the bridge that computes in its server."""
