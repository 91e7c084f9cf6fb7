# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Water, waves and currents around a vehicle, and the reader of environment files."""
