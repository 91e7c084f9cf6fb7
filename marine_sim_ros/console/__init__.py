# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Operator's console in a browser: contents and requests; without ROS."""
