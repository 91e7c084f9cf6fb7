# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arrays, control flow, rotations, interpolation, random numbers, state, errors, files."""
