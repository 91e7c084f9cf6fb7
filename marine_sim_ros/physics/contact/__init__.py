# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact with what is solid: which pairs touch, and the impulse between them."""
