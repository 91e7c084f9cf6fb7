# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""What the launch files have in common: the graph of suite.py as launch actions."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import LaunchContext, LaunchDescription
from marine_sim_ros.control.gamepad import load_gamepad
from marine_sim_ros.errors import ParameterError
from marine_sim_ros.ros import topics
from marine_sim_ros.suite import NodeSpec, RunOptions, describe

__all__ = ['actions', 'simulation']

PACKAGE = 'marine_sim_ros'
ARGUMENTS = {
    'vehicle': ('bluerov2', 'shipped name, or path of a URDF or xacro file'),
    'vehicle_arguments': ('', 'xacro arguments with spaces between, as coefficients:=wu2018'),
    'namespace': ('', "default: the vehicle's name"),
    'backend': ('embedded', 'who moves the body: embedded'),
    'environment': ('', 'shipped name or YAML file: water, waves, current; empty: still water'),
    'markers': ('false', 'show forces, voxels and hull panels on the topic markers'),
    'console': ('false', "the operator's console in a browser, at http://127.0.0.1:8060"),
    'console_port': ('8060', 'of the console'),
    'publish_components': ('false', 'publish every kind of drag on drag/<kind>'),
    'scenario': ('', 'shipped name or YAML file; empty: commands come from outside'),
    'controller': ('', 'modern, thesis, or a YAML file; empty: PWM comes from outside'),
    'record': ('false', 'true, or the folder to record to'),
    'real_time_factor': ('1.0', '1: wall clock, 0: as fast as the graph answers'),
    'duration': ('0.0', "s of simulation time; 0: the scenario's, or until stopped"),
    'composed': ('false', 'all nodes in one process'),
    'seed': ('0', 'of everything random'),
    'dt': ('0.005', 'step, s'),
    'joy': ('false', 'start the gamepad teleop too'),
    'gamepad': ('xbox', 'with joy: shipped name or YAML file of config/gamepads'),
    'output': ('pwm', 'with joy: what it drives: pwm, velocity or pose'),
}


def _true(name: str, text: str) -> bool:
    if text.lower() not in ('true', 'false'):
        raise ParameterError(f'{name}:={text}; expected true or false')
    return text.lower() == 'true'


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f'{name}:={text}; expected a number') from None


def _options(values: dict[str, str]) -> RunOptions:
    if values['backend'] != 'embedded':
        raise ParameterError(f'backend:={values["backend"]}; expected one of: embedded')
    record = values['record']
    if record.lower() in ('true', 'false'):
        folder = f'out/{Path(values["vehicle"]).name.split(".")[0]}'
        record = folder if _true('record', record) else ''
    return RunOptions(
        vehicle=values['vehicle'],
        vehicle_arguments=tuple(values['vehicle_arguments'].split()),
        namespace=values['namespace'],
        scenario=values['scenario'],
        controller=values['controller'],
        environment=values['environment'],
        markers=_true('markers', values['markers']),
        console=_true('console', values['console']),
        console_port=int(_number('console_port', values['console_port'])),
        publish_components=_true('publish_components', values['publish_components']),
        record=record,
        real_time_factor=_number('real_time_factor', values['real_time_factor']),
        duration=_number('duration', values['duration']),
        dt=_number('dt', values['dt']),
        seed=int(_number('seed', values['seed'])),
    )


def _node(spec: NodeSpec) -> Node:
    ends = {'on_exit': Shutdown()} if spec.executable == 'dynamics' else {}
    return Node(
        package=PACKAGE, executable=spec.executable, name=spec.executable,
        namespace=spec.namespace, parameters=[spec.parameters], output='screen', **ends,
    )  # fmt: skip


def _bag_recorder(directory: str, dynamics: NodeSpec, *, components: bool) -> ExecuteProcess:
    """Return ``ros2 bag record`` of the suite's topics."""
    sources = dynamics.parameters['wrench_sources']
    names = [
        t.name if t.name.startswith('/') else f'{dynamics.namespace}/{t.name}'
        for t in topics.recorded(components=components, sources=sources)
    ]
    Path(directory).mkdir(parents=True, exist_ok=True)
    command = ['ros2', 'bag', 'record', '-s', 'mcap', '-o', f'{directory}/bag', '--topics']
    return ExecuteProcess(cmd=[*command, *names], output='screen')


def _has_ros2_bag() -> bool:
    try:
        import ros2bag  # noqa: F401
    except ImportError:
        return False
    return shutil.which('ros2') is not None


def actions(
    options: RunOptions,
    *,
    composed: bool = False,
    joy: bool = False,
    gamepad: str = 'xbox',
    output: str = 'pwm',
) -> list[Any]:
    """Return the launch actions of a run; ``joy`` adds a gamepad and what it drives."""
    result: list[Any] = []
    if options.record and _has_ros2_bag():
        directory, options = options.record, replace(options, record='')
        result.append(_bag_recorder(directory, describe(options)[-1],
                                    components=options.publish_components))  # fmt: skip
    specs = describe(options)
    if composed:
        arguments = [replace(options, console=False).to_json()]
        ends = Shutdown()
        result.append(Node(package=PACKAGE, executable='composed', arguments=arguments,
                           output='screen', on_exit=ends))  # fmt: skip
        result += [_node(spec) for spec in specs if spec.executable == 'console']
    else:
        result += [_node(spec) for spec in specs]
    if joy:
        own: dict[str, Any] = {'vehicle': options.vehicle, 'gamepad': gamepad, 'output': output}
        if options.vehicle_arguments:
            own['vehicle_arguments'] = list(options.vehicle_arguments)
        result.append(_node(NodeSpec('teleop', specs[0].namespace, own)))
        result.append(Node(package='joy', executable=load_gamepad(gamepad).driver))
    return result


def _start(context: LaunchContext) -> list[Any]:
    values = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    return actions(
        _options(values),
        composed=_true('composed', values['composed']),
        joy=_true('joy', values['joy']),
        gamepad=values['gamepad'],
        output=values['output'],
    )


def simulation(**defaults: str) -> LaunchDescription:
    """Return the launch description of one vehicle, with other defaults where given."""
    declared = [
        DeclareLaunchArgument(name, default_value=defaults.get(name, value), description=text)
        for name, (value, text) in ARGUMENTS.items()
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=_start)])
