# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The operator's console in a browser: what it shows and asks; knows no ROS."""
