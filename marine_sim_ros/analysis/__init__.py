# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Evaluation and figures of recorded runs: pure functions of arrays."""
