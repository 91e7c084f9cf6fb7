# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One step, whole simulations, scenarios and their player, and the node graph of a run."""
