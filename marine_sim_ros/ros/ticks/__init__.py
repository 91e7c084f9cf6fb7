# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Inputs of one tick, brought together in lockstep; knows nothing of ROS."""
