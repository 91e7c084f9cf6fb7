# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Several vehicles on one clock: ``ros2 launch marine_sim_ros fleet.launch.py fleet:=FILE``."""

from launch import LaunchDescription
from marine_sim_ros.ros.launching.actions import simulation


def generate_launch_description() -> LaunchDescription:
    """Return the graphs of all vehicles; the first owns /clock, the others step to it."""
    return simulation(fleet='two_vehicles')
