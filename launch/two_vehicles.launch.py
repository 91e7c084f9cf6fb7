# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""A BlueROV2 and a BlueROV2 Heavy side by side, on one clock."""

from launch import LaunchDescription
from marine_sim_ros.ros.launching import actions
from marine_sim_ros.sim.options import RunOptions


def generate_launch_description() -> LaunchDescription:
    """Return both graphs; the first owns /clock, the second steps to it."""
    first = RunOptions(vehicle='bluerov2', frame_prefix='bluerov2/')
    second = RunOptions(
        vehicle='bluerov2_heavy',
        frame_prefix='bluerov2_heavy/',
        clock='follow',
        real_time_factor=0.0,
        initial_position=(0.0, 2.0, -0.5),
    )
    return LaunchDescription([*actions(first), *actions(second)])
