# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Hulls: collisions of a description, as panels that drag and voxels that float."""
