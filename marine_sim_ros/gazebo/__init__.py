# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What moving the body in Gazebo Harmonic takes, without ROS: wrench, world, bridge, ticks."""
