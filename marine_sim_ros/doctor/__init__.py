# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Checks of a vehicle's description before anything runs: checks.examine(context)."""
