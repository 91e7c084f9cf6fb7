# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Stonefish scenarios (.scn): the robot in one, as it is converted to our URDF."""
