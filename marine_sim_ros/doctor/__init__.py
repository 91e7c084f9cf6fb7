# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Finds mistakes in a vehicle's description before anything runs: checks.examine(context)."""
