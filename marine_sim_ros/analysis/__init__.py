# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Judges and draws what a run left behind: pure functions of arrays."""
