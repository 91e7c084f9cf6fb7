# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""How the processes of a run are started: as forks, or by launch files."""
