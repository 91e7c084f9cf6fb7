# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Films of recorded runs: what a camera of the vehicle, or one behind it, would have seen."""
