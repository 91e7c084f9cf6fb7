# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""A small survey vessel in a moderate sea."""

from launch import LaunchDescription
from marine_sim_ros.ros.launching.actions import simulation


def generate_launch_description() -> LaunchDescription:
    """Return the graph of one vehicle."""
    return simulation(vehicle='surface_vessel', environment='moderate_sea')
