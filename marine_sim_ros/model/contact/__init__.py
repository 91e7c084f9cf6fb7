# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where a vehicle touches what is solid, and what its surfaces are."""
