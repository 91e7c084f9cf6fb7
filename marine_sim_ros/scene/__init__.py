# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Scene: the solid boundaries of the water (planes, a terrain, obstacles) and queries of them."""
