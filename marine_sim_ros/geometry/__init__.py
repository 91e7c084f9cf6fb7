# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Triangle meshes of vehicles and of scenes: files, repair, volumes, trees for queries."""
