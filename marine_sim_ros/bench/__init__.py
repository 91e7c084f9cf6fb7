# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Benchmarks: speed of steps, engines, graphs, Gazebo and console."""
