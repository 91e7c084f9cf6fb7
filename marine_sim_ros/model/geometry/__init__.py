# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Closed surfaces: where they come from, what they enclose, how they are cut."""
