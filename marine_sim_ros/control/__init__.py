# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Controllers and allocation: pure functions, (input, memory) -> (output, memory)."""
