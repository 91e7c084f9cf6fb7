# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Standard manoeuvres of a vehicle, and their published values."""
