# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""What the launch files have in common: the graph of sim/graph.py as launch actions."""

from __future__ import annotations

import shutil
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchContext, LaunchDescription
from marine_sim_ros.control.gamepad import load_gamepad
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.model.library import load_vehicle, vehicle_path, xacro_arguments
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xacro_expansion import read_description
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.gazebo_launch import gazebo_actions
from marine_sim_ros.ros.launch_arguments import ARGUMENTS, given_options
from marine_sim_ros.ros.required import required
from marine_sim_ros.sim.graph import NodeSpec, describe
from marine_sim_ros.sim.options import OPTIONS, RunOptions

__all__ = ['actions', 'simulation']

PACKAGE = 'marine_sim_ros'


def _node(spec: NodeSpec) -> Node:
    ends = {'on_exit': required} if spec.executable in ('dynamics', 'gazebo_bridge') else {}
    return Node(
        package=PACKAGE, executable=spec.executable, arguments=list(spec.arguments),
        name=spec.name, namespace=spec.namespace, parameters=[spec.parameters],
        output='screen', **ends,
    )  # fmt: skip


def _bag_recorder(
    directory: str, vehicle: Vehicle, dynamics: NodeSpec, *, components: bool
) -> ExecuteProcess:
    """Return ``ros2 bag record`` of the suite's topics."""
    sources = dynamics.parameters['wrench_sources']
    names = [
        t.name if t.name.startswith('/') else f'{dynamics.namespace}/{t.name}'
        for t in topics.recorded(vehicle, components=components, sources=sources)
    ]
    Path(directory).mkdir(parents=True, exist_ok=True)
    command = ['ros2', 'bag', 'record', '-s', 'mcap', '-o', f'{directory}/bag', '--topics']
    return ExecuteProcess(cmd=[*command, *names], output='screen')


def _check_recorder(name: str) -> None:
    """Raise ParameterError where a recorder does not exist or is not installed."""
    if reason := OPTIONS['recorder'].refusal(name):
        raise ParameterError(f'recorder {reason}')
    if name == 'ros2_bag' and (find_spec('ros2bag') is None or shutil.which('ros2') is None):
        raise ParameterError('recorder:=ros2_bag; `ros2 bag` is not installed; expected suite')


def _link_publisher(options: RunOptions, namespace: str) -> list[Node]:
    """Return what publishes the vehicle's description and, below base_link, its links on tf."""
    try:
        get_package_prefix('robot_state_publisher')
    except PackageNotFoundError:
        return []
    path = vehicle_path(options.vehicle)
    text = read_description(path, xacro_arguments(options.vehicle_arguments))
    parameters = {
        'robot_description': ParameterValue(text, value_type=str),
        'frame_prefix': options.frame_prefix,
        'use_sim_time': True,
    }
    return [
        Node(package='robot_state_publisher', executable='robot_state_publisher',
             namespace=namespace, parameters=[parameters], output='screen')
    ]  # fmt: skip


def actions(
    options: RunOptions,
    *,
    composed: bool = False,
    links: bool = True,
    joy: bool = False,
    gamepad: str = 'xbox',
    output: str = 'pwm',
    recorder: str = 'suite',
) -> list[Any]:
    """Return the launch actions of a run.

    Args:
        options: options of the run.
        composed: all nodes in one process.
        links: publish robot_description and the links on tf, where this can be done.
        joy: add a gamepad and what it drives.
        gamepad: shipped name or YAML file.
        output: output of the gamepad: pwm, velocity or pose.
        recorder: ``suite``, which never misses a tick, or ``ros2_bag``, which starts to listen
            when it has found the topics.

    Raises:
        ParameterError: a recorder that is not there.
    """
    result: list[Any] = []
    _check_recorder(recorder)
    if options.record and recorder == 'ros2_bag':
        directory, options = options.record, replace(options, record='')
        owner = next(s for s in describe(options) if 'wrench_sources' in s.parameters)
        vehicle = load_vehicle(options.vehicle, **xacro_arguments(options.vehicle_arguments))
        components = options.publish_components
        result.append(_bag_recorder(directory, vehicle, owner, components=components))
    specs = describe(options)
    if composed:
        arguments = [replace(options, console=False).to_json()]
        result.append(Node(package=PACKAGE, executable='composed', arguments=arguments,
                           output='screen', on_exit=required))  # fmt: skip
        result += [_node(spec) for spec in specs if spec.executable == 'console']
    else:
        result += [_node(spec) for spec in specs]
    if links:
        result += _link_publisher(options, specs[0].namespace)
    if joy:
        own: dict[str, Any] = {'vehicle': options.vehicle, 'gamepad': gamepad, 'output': output}
        if options.vehicle_arguments:
            own['vehicle_arguments'] = list(options.vehicle_arguments)
        result.append(_node(NodeSpec('teleop', specs[0].namespace, own)))
        result.append(Node(package='joy', executable=load_gamepad(gamepad).driver))
    return result


def _start(context: LaunchContext) -> list[Any]:
    values = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    (options, start), gazebo = given_options(values), []
    if start.backend == 'gazebo':
        options, gazebo = gazebo_actions(
            options, world=start.world, delivery=start.delivery, gui=start.gui
        )
    return gazebo + actions(
        options, composed=start.composed, links=start.links, joy=start.joy,
        gamepad=start.gamepad, output=start.output, recorder=start.recorder,
    )  # fmt: skip


def simulation(**defaults: str) -> LaunchDescription:
    """Return the launch description of one vehicle, with other defaults where given.

    Args:
        **defaults: defaults of launch arguments, by their names.
    """
    declared = [
        DeclareLaunchArgument(name, default_value=defaults.get(name, value), description=text)
        for name, (value, text) in ARGUMENTS.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=_start)])
