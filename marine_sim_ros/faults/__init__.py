# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Faults of a run: thrusters, battery, commands, water and sensors."""
