# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Cameras: what they see, through which lens and water, and how it is drawn."""
