# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Launch actions of a run: its nodes, Gazebo, viewers, estimator; for all launch files."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.actions import DeclareLaunchArgument, ExecuteProcess, LogInfo, OpaqueFunction, Shutdown
from launch.events.process import ProcessExited
from launch.logging import get_logger
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchContext, LaunchDescription
from marine_sim_ros.bags.storage import storage
from marine_sim_ros.control.gamepad import load_gamepad
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import ros_packages
from marine_sim_ros.core.processes import THROUGH, child_environment
from marine_sim_ros.core.ros_needed import require_ros
from marine_sim_ros.gazebo.delivery import COMPILED, STOCK, choose_delivery, missing_programs
from marine_sim_ros.gazebo.run_files import bridge_parameters, control_service, write_run
from marine_sim_ros.gazebo.server import WORKING_FOLDER, server_command, server_paths
from marine_sim_ros.model.library import parse_xacro_arguments, vehicle_of, vehicle_path
from marine_sim_ros.model.propulsion import with_turning_propellers
from marine_sim_ros.model.xacro_expansion import read_description
from marine_sim_ros.physics import actuators_of
from marine_sim_ros.physics.thrusters import THRUSTERS
from marine_sim_ros.ros.launching.arguments import (
    ARGUMENTS,
    EKF_FILE,
    check_new_recording,
    check_robot_localization,
    ekf_parameters,
    enable_localization_sensors,
    read_options,
    unknown_argument_warnings,
    viewer_layout,
)
from marine_sim_ros.ros.launching.installation import check_joy, dds_profile, free_shared_memory
from marine_sim_ros.ros.node_graph import NodeSpec, fleet_node_specs, has_own_process
from marine_sim_ros.ros.recording import ros2_bag
from marine_sim_ros.sim.fleet import select_fleet_runs, split_runs
from marine_sim_ros.sim.options import RunOptions

__all__ = ['actions', 'simulation']


# Reaction of a launch to the end of a process that the run needs.

FAILED = 1
"""Exit code of a node whose run or check failed."""
_CLEAN_EXIT_CODES = (*THROUGH, -signal.SIGINT, 128 + signal.SIGINT)
"""Exit codes of a process that finished, or was interrupted together with the launch."""


def end_launch(event: ProcessExited, context: LaunchContext) -> list[Any]:
    """End the launch with a process, for its ``on_exit``.

    Raises:
        RuntimeError: the process failed; ``ros2 launch`` then ends all others and returns 1.
    """
    if context.is_shutdown:
        return []
    if event.returncode in _CLEAN_EXIT_CODES:
        return [Shutdown(reason=f'{event.process_name} has ended')]
    raise RuntimeError(
        f'{event.process_name} has died with exit code {event.returncode}; the launch ends'
    )


def end_launch_on_failure(event: ProcessExited, context: LaunchContext) -> list[Any]:
    """End the launch with a process that fails, for its ``on_exit``; ignore one that finished.

    A verdict on the run, as that of a scenario, comes when the launch ends already.

    Raises:
        RuntimeError: the process failed; ``ros2 launch`` then ends all others and returns 1.
    """
    if event.returncode == FAILED:
        raise RuntimeError(f'{event.process_name} has failed: see its messages above')
    return [] if event.returncode in _CLEAN_EXIT_CODES else end_launch(event, context)


def end_launch_with_verdict(event: ProcessExited, context: LaunchContext) -> list[Any]:
    """End the launch with a process that also judges the run, for its ``on_exit``.

    Raises:
        RuntimeError: the process failed; ``ros2 launch`` then ends all others and returns 1.
    """
    return end_launch_on_failure(event, context) or end_launch(event, context)


# Launch actions of Gazebo: server, ros_gz_bridge, and their files.


def _server(folder: Path, *, gui: bool, delivery: str) -> ExecuteProcess:
    return ExecuteProcess(
        # The stock one starts with the first wrench.
        cmd=server_command(folder / 'world.sdf', gui=gui, run=delivery != STOCK),
        cwd=WORKING_FOLDER,
        output='screen',
        on_exit=end_launch,
        additional_env=server_paths(compiled=delivery == COMPILED),
    )


def gazebo_actions(
    options: RunOptions, *, world: str = '', delivery: str = 'auto', gui: bool = False
) -> tuple[RunOptions, list[Any]]:
    """Return the options with which the suite follows Gazebo, and the actions that start it.

    Raises:
        MarineSimError: no Gazebo, or a world or a vehicle that cannot be used.
    """
    if missing := missing_programs():
        raise ParameterError(
            f'backend:=gazebo: {", ".join(missing)}: not found; expected Gazebo '
            f'(apt install {ros_packages("ros_gz")}) and its setup file sourced'
        )
    transport, why = choose_delivery(delivery)
    if gui and not any(map(os.environ.get, ('DISPLAY', 'WAYLAND_DISPLAY'))):
        raise ParameterError(
            'gui:=true: no display (DISPLAY, WAYLAND_DISPLAY); expected gui:=false'
        )
    options = replace(options, gazebo={'delivery': transport})
    if transport == COMPILED:
        options = replace(options, engine='jax')
    folder = Path(tempfile.mkdtemp(prefix='marine_sim_gazebo_'))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    run_files = write_run(options, folder, world=world, delivery=transport)
    bridge = Node(
        package='ros_gz_bridge',
        executable='parameter_bridge',
        name='ros_gz_bridge',
        parameters=[{'config_file': str(folder / 'ros_gz_bridge.yaml')}],
        arguments=[control_service(run_files.name)],
        output='screen',
        on_exit=end_launch,
    )
    messages = [LogInfo(msg=f'Gazebo: wrenches are delivered {transport}: {why}')]
    messages += [LogInfo(msg=f'WARNING: {warning}') for warning in run_files.warnings]
    return (
        replace(options, gazebo=bridge_parameters(run_files, options.dt, delivery=transport)),
        [*messages, _server(folder, gui=gui, delivery=transport), bridge],
    )


# Launch actions of the graph in ros/node_graph.py, for all launch files.

PACKAGE = 'marine_sim_ros'
RECORDER_TIMEOUTS = {'sigterm_timeout': '30', 'sigkill_timeout': '30'}
"""s, in place of launch's 5: a recorder writes its queue before it ends."""


def _node(spec: NodeSpec) -> Node:
    ends: dict[str, Any] = {}
    if spec.executable in ('dynamics', 'gazebo_bridge'):  # the run needs it
        ends['on_exit'] = end_launch
    if spec.executable in ('scenario', 'mission'):
        ends['on_exit'] = end_launch_on_failure
    if spec.parameters.get('clock') == 'follow':  # the run ends with the publisher of the clock
        ends['on_exit'] = end_launch_on_failure
    if spec.executable == 'recorder':
        ends['on_exit'] = end_launch_with_verdict
        ends.update(RECORDER_TIMEOUTS)
    return Node(
        package=PACKAGE,
        executable=spec.executable,
        arguments=list(spec.arguments),
        name=spec.name
        if spec.namespace
        else None,  # the nodes of a fleet's recorder name themselves
        namespace=spec.namespace or None,
        parameters=[spec.parameters],
        output='screen',
        additional_env={**child_environment(), **dds_profile()},
        **ends,
    )


def _container(runs: Sequence[RunOptions], *, first: bool) -> Node:
    """Return the process of all nodes of some vehicles; that of the clock ends the launch."""
    return Node(
        package=PACKAGE,
        executable='composed',
        arguments=[replace(run, console=False).to_json() for run in runs],
        output='screen',
        on_exit=end_launch_with_verdict if first else end_launch_on_failure,
        additional_env={**child_environment(), **dds_profile()},
        **RECORDER_TIMEOUTS,
    )


def _check_recorder(options: RunOptions) -> None:
    """Raise MarineSimError if the recorder lacks a package, or the folder has a recording."""
    check_new_recording(options.record)
    if options.recorder == 'ros2_bag':
        ros2_bag.check_ros2_bag()
    elif options.record:
        storage('record:=true')


def _link_publisher(options: RunOptions, namespace: str, *, arm: bool) -> list[Node]:
    """Return the node that publishes the vehicle's description and its links on tf."""
    try:
        get_package_prefix('robot_state_publisher')
    except PackageNotFoundError:
        return []
    path = vehicle_path(options.vehicle)
    text = read_description(path, parse_xacro_arguments(options.vehicle_arguments))
    vehicle = vehicle_of(
        {'vehicle': options.vehicle, 'vehicle_arguments': options.vehicle_arguments}
    )
    if options.markers:  # the markers node publishes the transforms of propellers
        text = with_turning_propellers(text, vehicle.thrusters.names)
    turning = [a.state_topic for a in actuators_of(vehicle) if a.source == THRUSTERS.name]
    parameters = {
        'robot_description': ParameterValue(text, value_type=str),
        'frame_prefix': options.frame_prefix,
        'use_sim_time': True,
    }
    return [
        Node(
            package='robot_state_publisher',
            executable='robot_state_publisher',
            namespace=namespace,
            parameters=[parameters],
            # Without an arm the only moving joints are those of azimuth thrusters.
            remappings=[] if arm else [('joint_states', topic) for topic in turning],
            output='screen',
        )
    ]


def _rviz(namespace: str) -> Node:
    """Return RViz with the layout of a namespace."""
    try:
        get_package_prefix('rviz2')
    except PackageNotFoundError:
        raise ParameterError(
            f'rviz:=true: rviz2 is not installed; expected `apt install {ros_packages("rviz2")}` '
            '(rosdep key rviz2), or rviz:=false'
        ) from None
    layout = viewer_layout('rviz', namespace)
    return Node(
        package='rviz2',
        executable='rviz2',
        arguments=['-d', str(layout)],
        parameters=[{'use_sim_time': True}],
        output='screen',
    )


def _estimator(options: RunOptions, namespace: str) -> list[Node]:
    """Return ekf_node and, in place of a global estimator, an identity map -> odom."""
    prefix = options.frame_prefix
    identity = ['--frame-id', 'map', '--child-frame-id', f'{prefix}odom']
    return [
        Node(
            package='robot_localization',
            executable='ekf_node',
            name='ekf_node',
            namespace=namespace,
            parameters=[str(EKF_FILE), ekf_parameters(options)],
            output='screen',
        ),
        Node(
            package='tf2_ros',
            executable='static_transform_publisher',
            namespace=namespace,
            arguments=identity,
            output='screen',
        ),
    ]


def actions(
    options: RunOptions,
    *,
    composed: bool = False,
    links: bool = True,
    joy: bool = False,
    gamepad: str = 'xbox',
    output: str = 'pwm',
    rviz: bool = False,
    localized: bool = False,
    followers: Sequence[RunOptions] = (),
    processes: int = 1,
) -> list[Any]:
    """Return the launch actions of a run.

    Args:
        composed: one process for all nodes but slow ones (console, cameras).
        links: publish robot_description and the links on tf, if robot_state_publisher exists.
        joy: add a gamepad driver and the teleop node.
        gamepad: shipped name or YAML file.
        output: output of the gamepad: pwm, velocity or pose.
        rviz: start RViz, which needs ``options.markers``.
        localized: start ekf_node; options of ``enable_localization_sensors``.
        followers: options of the other vehicles of a fleet.
        processes: number of processes that share the vehicles of a composed fleet.

    Raises:
        MarineSimError: a requested program or package is not installed.
        ParameterError: more processes than vehicles.
    """
    result: list[Any] = []
    _check_recorder(options)
    runs = (options, *followers)
    specs = fleet_node_specs(runs)
    if composed or options.one_process or processes > 1:
        result += [
            _container(part, first=not i) for i, part in enumerate(split_runs(runs, processes))
        ]
        result += [_node(spec) for spec in specs if has_own_process(spec, options)]
    else:
        result += [_node(spec) for spec in specs]
    if links:
        namespaces = dict.fromkeys(spec.namespace for spec in specs if spec.namespace)
        for run, namespace in zip(runs, namespaces, strict=True):
            arm = any((s.executable, s.namespace) == ('manipulator', namespace) for s in specs)
            result += _link_publisher(run, namespace, arm=arm)
    if localized:
        result += _estimator(options, specs[0].namespace)
    if rviz:
        result.append(_rviz(specs[0].namespace))
    if joy:
        driver = load_gamepad(gamepad).driver  # reports a wrong name before a missing package
        check_joy()
        parameters: dict[str, Any] = {
            'vehicle': options.vehicle,
            'gamepad': gamepad,
            'output': output,
        }
        if options.vehicle_arguments:
            parameters['vehicle_arguments'] = list(options.vehicle_arguments)
        result.append(_node(NodeSpec('teleop', specs[0].namespace, parameters)))
        result.append(Node(package='joy', executable=driver))
    return result


def _is_own_file(context: LaunchContext) -> bool:
    """Return whether the user named this package's launch file, not one that includes it."""
    current = Path(getattr(context.locals, 'current_launch_file_path', '')).name
    return current in {Path(argument).name for argument in sys.argv[1:]}


def _start(context: LaunchContext) -> list[Any]:
    require_ros('the launch file')
    for line in unknown_argument_warnings(
        context.launch_configurations, alone=_is_own_file(context)
    ):
        get_logger('marine_sim_ros').warning(line)
    free_shared_memory()
    values = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    options, start = read_options(values)
    gazebo: list[Any] = []
    if start.rviz:
        options = replace(options, markers=True)
    if start.localization:
        check_robot_localization()
        options = enable_localization_sensors(options)
    if start.fleet and start.localization:
        raise ParameterError('localization:=true estimates one vehicle; expected no fleet')
    if start.fleet and start.backend == 'gazebo':
        raise ParameterError('backend:=gazebo has one vehicle; expected no fleet')
    options, *followers = select_fleet_runs(options, start.fleet, start.only)
    if start.backend == 'gazebo':
        options, gazebo = gazebo_actions(
            options, world=start.world, delivery=start.delivery, gui=start.gui
        )
    return gazebo + actions(
        options,
        composed=start.composed,
        links=start.links,
        joy=start.joy,
        gamepad=start.gamepad,
        output=start.output,
        rviz=start.rviz,
        localized=start.localization,
        followers=followers,
        processes=start.processes,
    )


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
