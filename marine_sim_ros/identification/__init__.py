# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""From a recorded run to the coefficients of the vehicle that made it."""
