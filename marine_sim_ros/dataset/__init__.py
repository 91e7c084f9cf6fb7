# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Data sets of labelled camera and sonar pictures: plan, frames, formats."""
