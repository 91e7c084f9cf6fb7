# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Vehicles described for other simulators -> our URDF: one reader per format, one writer."""
