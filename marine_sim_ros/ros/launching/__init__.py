# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Start of a run's processes: as forks, or by launch files."""
