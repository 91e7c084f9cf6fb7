# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""EKF of robot_localization on a simulated run: sensors to switch on, frames, initial pose.

It does not import ``launch``, so that ``marine_sim run`` can use it without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_prefix

from marine_sim_ros.core.errors import ModelError, ParameterError
from marine_sim_ros.core.extras import ros_packages
from marine_sim_ros.core.files import resource_folder
from marine_sim_ros.model.library import load_vehicle, parse_xacro_arguments
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.run_setup import environment_from_options
from marine_sim_ros.sim.scenario import load_scenario

__all__ = ['EKF_FILE', 'check_robot_localization', 'ekf_parameters', 'enable_localization_sensors']

EKF_FILE = resource_folder('config') / 'localization' / 'robot_localization.yaml'
"""Parameters of ekf_node."""
TRUTH_FRAME = 'base_link_truth'
"""Child frame of the true pose; a frame has one parent, and that of base_link is odom."""
SENSOR_ARGUMENTS = ('dvl:=true', 'imu_orientation:=true', 'barometer_pose:=true')
"""Arguments of a BlueROV2 for the sensors that EKF_FILE names."""


def check_robot_localization() -> None:
    """Raise ParameterError where robot_localization is not installed."""
    try:
        get_package_prefix('robot_localization')
    except PackageNotFoundError:
        raise ParameterError(
            'localization:=true: robot_localization is not installed; expected `apt install '
            f'{ros_packages("robot_localization")}` (rosdep key robot_localization), or '
            'localization:=false'
        ) from None


def enable_localization_sensors(options: RunOptions) -> RunOptions:
    """Return options with the sensors of EKF_FILE on, and base_link left to ekf_node.

    Raises:
        MarineSimError: a vehicle without these sensors.
    """
    chosen = parse_xacro_arguments(options.vehicle_arguments)
    arguments = (
        *options.vehicle_arguments,
        *(a for a in SENSOR_ARGUMENTS if a.split(':=')[0] not in chosen),
    )
    if missing := _missing_sensor(options, options.vehicle_arguments):
        try:
            lacking = _missing_sensor(options, arguments)
        except ModelError:  # it has no such arguments
            lacking = missing
        if lacking:
            raise ParameterError(
                f'localization:=true: {options.vehicle} has no {lacking}; expected one in its URDF'
            )
        options = replace(options, vehicle_arguments=arguments)
    return replace(options, truth_frame=options.truth_frame or TRUTH_FRAME)


def _missing_sensor(options: RunOptions, arguments: Sequence[str]) -> str:
    """Return the description of the first missing sensor of EKF_FILE; empty: none."""
    vehicle = load_vehicle(options.vehicle, **parse_xacro_arguments(arguments))
    sensors = {sensor.name: sensor for sensor in vehicle.sensors}
    for name, needed in (('imu', 'orientation'), ('dvl', ''), ('barometer', 'pose')):
        sensor = sensors.get(name)
        if sensor is None or sensor.kind != name or (needed and not getattr(sensor.spec, needed)):
            setting = f' with <{needed}>1</{needed}>' if needed else ''
            return f'{name} called {name}{setting}'
    return ''


def ekf_parameters(options: RunOptions) -> dict[str, Any]:
    """Return the parameters that a run sets: frames and initial pose."""
    position, rpy = (0.0, 0.0, -0.5), (0.0, 0.0, 0.0)
    if options.scenario:
        scenario = load_scenario(options.scenario).located(environment_from_options(options))
        position, rpy = scenario.position, scenario.rpy
    position = options.initial_position or position
    prefix = options.frame_prefix
    return {
        'odom_frame': f'{prefix}odom',
        'world_frame': f'{prefix}odom',
        'base_link_frame': f'{prefix}base_link',
        # 15 states of robot_localization: pose, velocity (6), linear acceleration (3).
        'initial_state': [*map(float, (*position, *rpy)), *[0.0] * 9],
    }
