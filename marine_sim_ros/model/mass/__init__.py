# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mass, centres and inertia of a vehicle from the parts it is built of."""
