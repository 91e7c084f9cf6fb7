# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What is solid around the water: planes, a terrain, obstacles, and one query of them all."""
