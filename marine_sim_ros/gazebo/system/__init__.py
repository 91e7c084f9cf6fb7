# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Systems inside Gazebo's server, which need nothing else of this package."""
