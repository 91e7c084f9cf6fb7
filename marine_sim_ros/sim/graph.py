# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The node graph of a run, described once: launch files and ``marine_sim run`` both read it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import yaml

from marine_sim_ros.control.settings import load_controller
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.faults.reading import fault_text
from marine_sim_ros.model.library import load_vehicle, xacro_arguments
from marine_sim_ros.model.mass.grid import Progress, silent
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import wrench_sources
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import Scenario, load_scenario

__all__ = ['NodeSpec', 'describe']

_NAMESPACE = re.compile(r'[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*')


@dataclass(frozen=True)
class NodeSpec:
    """One node: executable ``marine_sim_ros/<executable>``, its name is the executable's."""

    executable: str
    namespace: str
    parameters: dict[str, Any] = field(default_factory=dict)

    def ros_arguments(self) -> list[str]:
        """Return the command-line arguments after the executable."""
        arguments = ['--ros-args', '-r', f'__ns:={self.namespace}']
        for name, value in self.parameters.items():
            text = yaml.safe_dump(value, default_flow_style=True, width=10**6).strip()
            arguments += ['-p', f'{name}:={text.removesuffix("...").strip()}']
        return arguments


def _namespace(options: RunOptions, vehicle_name: str) -> str:
    name = (options.namespace or vehicle_name).strip('/')
    if not _NAMESPACE.fullmatch(name):
        raise ParameterError(
            f'namespace is {name!r}; expected letters, digits and underscores, as in "bluerov2"'
        )
    return '/' + name


def _dynamics(
    options: RunOptions, scenario: Scenario | None, sources: list[str]
) -> dict[str, Any]:
    parameters: dict[str, Any] = {
        'dt': float(options.dt),
        'real_time_factor': float(options.real_time_factor),
        'wrench_sources': sources,
        'lockstep': options.lockstep,
        'integrator': options.integrator,
        'duration': float(options.duration),
        'clock': options.clock,
        'await_recorder': bool(options.record) and options.lockstep,
    }
    if scenario is not None:
        parameters['initial_position'] = list(scenario.position)
        parameters['initial_rpy'] = list(scenario.rpy)
        parameters['duration'] = float(options.duration or scenario.duration)
    if options.initial_position is not None:
        parameters['initial_position'] = [float(x) for x in options.initial_position]
    return parameters


def _check(options: RunOptions, vehicle: Vehicle, sources: Sequence[str]) -> Scenario | None:
    """Return the scenario; raise for anything a node would refuse later."""
    if not options.lockstep and 'contact' in sources:
        raise ParameterError(
            f'environment {options.environment!r} is solid, and contact is a push of one step: '
            'expected lockstep'
        )
    if options.controller:
        load_controller(options.controller)
    if not options.scenario:
        return None
    if options.controller:
        raise ParameterError('a scenario brings its own controller; expected one of the two')
    scenario = load_scenario(options.scenario)
    scenario.check(vehicle)
    return scenario


def _common(options: RunOptions, scenario: Scenario | None) -> dict[str, Any]:
    """Return the parameters of every node."""
    common: dict[str, Any] = {
        'vehicle': options.vehicle,
        'seed': options.seed,
        'current': [float(x) for x in options.current],
        'frame_prefix': options.frame_prefix,
        'compute': options.compute,
        'environment': options.environment,
        'use_sim_time': True,
    }
    if options.vehicle_arguments:
        common['vehicle_arguments'] = list(options.vehicle_arguments)
    if options.hull_forces:
        common['hull_forces'] = list(options.hull_forces)
    if scenario is not None and scenario.faults:
        common['faults'] = fault_text(scenario.faults)
    return common


def describe(options: RunOptions, progress: Progress = silent) -> list[NodeSpec]:
    """Return the nodes of a run.

    Args:
        options: of the run.
        progress: is told the share of long work that is done.

    Raises:
        MarineSimError: a vehicle or a scenario that cannot be used.
    """
    arguments = xacro_arguments(options.vehicle_arguments)
    vehicle = load_vehicle(
        options.vehicle, hull_forces=options.hull_forces or None, progress=progress, **arguments
    )
    environment = run_environment(options.environment, current=options.current)
    sources = list(wrench_sources(vehicle, environment))
    if options.gazebo and 'contact' in sources:
        sources.remove('contact')  # Gazebo has its own
    scenario = _check(options, vehicle, sources)
    namespace = _namespace(options, vehicle.name)
    script = {'scenario': options.scenario} if options.scenario else {}
    closed = bool(options.controller) or (scenario is not None and scenario.closed_loop)
    pwm = {'pwm_source': 'controller' if scenario or closed else 'external'}
    own: dict[str, dict[str, Any]] = {'thrusters': pwm, 'buoyancy': {}, 'drag': {}}
    if options.publish_components:
        own['drag'] = {'publish_components': True}
    if vehicle.barometer is not None:
        own['barometer'] = {}
    if vehicle.manipulator is not None:
        own['manipulator'] = script
    own |= {name: {} for name in ('boundary', 'contact') if name in sources}
    if closed:
        own['controller'] = script or {'controller': options.controller}
    if scenario is not None:
        own['scenario'] = {**script, 'duration': float(options.duration)}
    if options.markers:
        own['markers'] = {'wrench_sources': sources}
    common = _common(options, scenario)
    recorder = {
        'manifest': json.dumps({**asdict(options), 'namespace': namespace}),
        'publish_components': options.publish_components,
        'controller': closed,
        'wrench_sources': sources,
        **pwm,
    }
    if options.console:
        own['console'] = {
            'use_sim_time': False,  # it has the time of what it shows; /clock comes every tick
            'wrench_sources': sources,
            'port': options.console_port,
            'output': 'velocity' if closed else 'pwm',
            'recorder': '' if options.record else json.dumps({**common, **recorder}),
        }
    if options.record:
        own['recorder'] = {'directory': options.record, **recorder}
    owner = 'gazebo_bridge' if options.gazebo else 'dynamics'
    own[owner] = {**_dynamics(options, scenario, sources), **options.gazebo}
    return [NodeSpec(name, namespace, {**common, **extra}) for name, extra in own.items()]
