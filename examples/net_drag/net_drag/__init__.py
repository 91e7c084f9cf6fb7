# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""An example of a package that extends marine_sim_ros: a towed net, a speed log, a vehicle."""
