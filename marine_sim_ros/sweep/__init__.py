# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Many runs of one scenario with varied parameters: designs, blocks of runs, one dataset."""
