# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Descriptions of vehicles; a vehicle is found by the name of its file."""
