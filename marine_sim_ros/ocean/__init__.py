# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Water, waves and currents, each a closed form of place and time."""
