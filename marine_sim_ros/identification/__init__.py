# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Identification of a vehicle's coefficients from recorded runs."""
