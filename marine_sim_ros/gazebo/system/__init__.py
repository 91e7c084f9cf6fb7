# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What runs inside Gazebo's server, which needs nothing else of this package."""
