# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arguments of launch files, layouts of viewers, and the EKF of robot_localization.

Nothing here imports ``launch``, so that ``marine_sim run`` can use it without.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_prefix

from marine_sim_ros.bags.storage import is_recording, recording_parts
from marine_sim_ros.core.errors import ModelError, ParameterError, nearest_name
from marine_sim_ros.core.extras import ros_packages
from marine_sim_ros.core.files import resource_folder
from marine_sim_ros.model.library import load_vehicle, parse_xacro_arguments
from marine_sim_ros.sim.options import OPTIONS, Option, RunOptions, StartOptions
from marine_sim_ros.sim.run_setup import environment_from_options
from marine_sim_ros.sim.scenario import load_scenario

__all__ = [
    'ARGUMENTS',
    'EKF_FILE',
    'SHIPPED_NAMESPACE',
    'VIEWER_LAYOUTS',
    'check_new_recording',
    'check_robot_localization',
    'ekf_parameters',
    'enable_localization_sensors',
    'read_options',
    'unknown_argument_warnings',
    'viewer_layout',
]


# Launch arguments and values, from the options of sim/options.py; imports no launch.

_MIN_SIMILARITY = 0.8
"""Similarity of names to suspect a typing error; launch files that include these may have
arguments of their own."""
_OF_LAUNCH = {'emulate_tty', 'launch-prefix', 'launch-prefix-filter'}
"""Launch configurations that launch itself reads."""


def _description(option: Option) -> str:
    several = option.count == 0
    notes = {'record': '; true: out/VEHICLE'}
    return (
        option.text
        + notes.get(option.name, '; several with spaces between' if several else '')
        + (f' ({option.range})' if option.range else '')
    )


ARGUMENTS: Mapping[str, tuple[str, str]] = {
    name: (option.default_text, _description(option))
    for name, option in OPTIONS.items()
    if option.launch
}
"""Default and description of every launch argument, by its name."""


def _recording_folder(text: str, vehicle: str) -> str:
    """Return the folder that ``record:=text`` means."""
    if text.lower() not in ('true', 'false'):
        return text
    return f'out/{Path(vehicle).name.split(".")[0]}' if text.lower() == 'true' else ''


def read_options(values: Mapping[str, str]) -> tuple[RunOptions, StartOptions]:
    """Return the options of launch arguments.

    Args:
        values: the text of every argument.

    Raises:
        ParameterError: a text that is no value of its argument, or a value out of its range.
    """
    parsed: dict[str, Any] = {name: OPTIONS[name].parse(values[name]) for name in ARGUMENTS}
    parsed['record'] = _recording_folder(parsed['record'], parsed['fleet'] or parsed['vehicle'])

    def values_for(cls: type) -> dict[str, Any]:
        return {f.name: parsed[f.name] for f in fields(cls) if f.name in parsed}

    return RunOptions(**values_for(RunOptions)), StartOptions(**values_for(StartOptions))


def check_new_recording(folder: str) -> None:
    """Check that a folder to record to, if any is named, has no recording yet, nor a part of one.

    Raises:
        ParameterError: it has one, as after a second ``record:=true``.
    """
    if folder and (is_recording(Path(folder)) or recording_parts(Path(folder))):
        raise ParameterError(
            f'record:={folder}: has a recording already; remove it, or name another folder: '
            'record:=DIR'
        )


def unknown_argument_warnings(names: Iterable[str], *, alone: bool) -> list[str]:
    """Return a warning for each unknown launch argument, with the nearest known one.

    ``ros2 launch`` accepts any name, and would ignore it silently.

    Args:
        names: names of the launch configurations.
        alone: whether no other launch file includes this one; another may have arguments of its
            own, so that only similar names are reported.
    """
    unknown = [name for name in names if name not in ARGUMENTS and name not in _OF_LAUNCH]
    near = {name: nearest_name(name, ARGUMENTS, _MIN_SIMILARITY) for name in unknown}
    return [
        f'{name}:= is no argument of this launch file and does nothing; '
        + (f'did you mean {similar}:=?' if similar else '--show-args lists those that it has')
        for name, similar in near.items()
        if similar or alone
    ]


# Layouts of viewers: shipped for the BlueROV2, written for other namespaces.

VIEWER_LAYOUTS = {
    'rviz': 'rviz/vehicle.rviz',
    'foxglove': 'foxglove/vehicle.json',
    'plotjuggler': 'plotjuggler/vehicle.xml',
}
"""Files below ``config`` by viewer."""
SHIPPED_NAMESPACE = '/bluerov2'


def viewer_layout(viewer: str, namespace: str) -> Path:
    """Return a viewer's layout for the topics of a namespace (``/bluerov2``).

    It is the shipped file for the shipped namespace, and else a temporary copy of that.
    """
    shipped = resource_folder('config') / VIEWER_LAYOUTS[viewer]
    if namespace == SHIPPED_NAMESPACE:
        return shipped
    text = shipped.read_text(encoding='utf-8')
    text = text.replace(f'{SHIPPED_NAMESPACE}/', f'{namespace}/')
    name = f'{namespace.strip("/").replace("/", "_")}{shipped.suffix}'
    path = Path(tempfile.mkdtemp(prefix='marine_sim_')) / name
    path.write_text(text, encoding='utf-8')
    return path


# EKF of robot_localization on a simulated run: sensors to switch on, frames, initial pose.

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
