# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Autopilots of other makers: ArduSub, by its JSON interface; knows nothing of ROS."""
