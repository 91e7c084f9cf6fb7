# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Node graph of a run: its nodes and their parameters, for launch files and ``marine_sim run``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import yaml

from marine_sim_ros.autopilot.mavlink.link import read_key
from marine_sim_ros.autopilot.mavlink.mission_files import read_mission
from marine_sim_ros.control.controller_model import (
    ControllerModel,
    find_autopilot,
    load_controller,
)
from marine_sim_ros.core.errors import ParameterError, expected_one_of
from marine_sim_ros.core.progress import ReportProgress, no_progress
from marine_sim_ros.core.registry import CONTROLLERS, SENSORS
from marine_sim_ros.environment.changes import changes_text, load_changes
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import fault_text
from marine_sim_ros.model.library import vehicle_of
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import ForceModel, acting_forces, actuators_of
from marine_sim_ros.physics.arm.gripping import Gripping
from marine_sim_ros.physics.contact.contact import check_bodies
from marine_sim_ros.physics.towing import with_tow_tethers
from marine_sim_ros.sensors import SHARED, sensor_nodes
from marine_sim_ros.sensors.addresses import (
    MAVROS,
    MAVROS_PORT,
    driven_sensors,
    next_address,
    read_protocols,
)
from marine_sim_ros.sensors.partners import check_partners
from marine_sim_ros.sim.body_simulation import seen_bodies
from marine_sim_ros.sim.fleet import remote_namespaces
from marine_sim_ros.sim.mission import check_lesson, lesson_options, lesson_pilot
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.run_setup import (
    check_anchor,
    environment_from_options,
    initial_pose_parameters,
    jaw_owners,
    namespace_of,
    owns_bodies,
    parts_seen_by_others,
    run_odometry,
    towing_namespaces,
)
from marine_sim_ros.sim.scenario import Scenario, load_scenario

__all__ = ['NodeSpec', 'node_specs', 'fleet_node_specs', 'has_own_process']

MAVLINK = 'mavlink'
"""Autopilot that is this package's controller, with a node that speaks MAVLink for it."""


@dataclass(frozen=True)
class NodeSpec:
    """Executable, namespace and parameters of one node.

    Attributes:
        executable: ``marine_sim_ros/<executable>``.
        namespace: namespace of the vehicle; empty: each node of the executable has its own.
        parameters: parameters of the node.
        arguments: arguments of an executable that serves nodes of several names: the name first.
    """

    executable: str
    namespace: str
    parameters: dict[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the node."""
        return self.arguments[0] if self.arguments else self.executable

    def ros_arguments(self) -> list[str]:
        """Return the command-line arguments after the executable."""
        arguments = [*self.arguments, '--ros-args']
        arguments += ['-r', f'__ns:={self.namespace}'] if self.namespace else []
        for name, value in self.parameters.items():
            text = yaml.safe_dump(value, default_flow_style=True, width=10**6).strip()
            arguments += ['-p', f'{name}:={text.removesuffix("...").strip()}']
        return arguments


def _dynamics_node(
    options: RunOptions, scenario: Scenario | None, sources: list[str], start: Scenario | None
) -> dict[str, Any]:
    parameters: dict[str, Any] = {
        'dt': float(options.dt),
        'real_time_factor': float(options.real_time_factor),
        'wrench_sources': sources,
        'lockstep': options.lockstep,
        'integrator': options.integrator,
        'duration': float(options.duration),
        'start_paused': options.start_paused,
        'await_mission': bool(options.lesson),
        'clock': options.clock,
        'truth_frame': options.truth_frame,
        'owns_bodies': owns_bodies(options) and not options.gazebo,
        'await_recorder': bool(options.record) and options.lockstep,
        'await_sensors': (bool(options.record) or options.synchronous) and options.lockstep,
        'await_acknowledgement': bool(options.record) and options.recorder == 'ros2_bag',
    }
    if scenario is not None:
        parameters['duration'] = float(options.duration or scenario.duration)
    parameters |= initial_pose_parameters(options, start)
    if options.neighbours and options.clock == 'publish':
        parameters['followers'] = list(options.neighbours)
    elif options.neighbours:
        parameters['leader'] = next(iter(options.neighbours))
    return parameters


def _forces_of(
    options: RunOptions, vehicle: Vehicle, environment: Environment
) -> tuple[ForceModel, ...]:
    """Return the forces that nodes of the run compute."""
    if options.engine == 'jax' and environment.collisions:
        check_bodies(environment, 'engine jax in a fleet')
    forces = acting_forces(vehicle, environment)
    if options.gazebo:
        return tuple(force for force in forces if force.in_gazebo)
    return forces


def _check_run(
    options: RunOptions, vehicle: Vehicle, environment: Environment, sources: Sequence[str]
) -> Scenario | None:
    """Return the scenario; raise for whatever a node would refuse after its start."""
    if options.lesson and not options.lockstep:
        raise ParameterError('lesson: a score needs every tick; expected lockstep')
    if not options.lockstep and 'contact' in sources:
        raise ParameterError(
            f'environment {options.environment!r} is solid, and contact is a push of one step: '
            'expected lockstep'
        )
    if options.engine == 'jax':
        _check_compiled(options, vehicle)
    if options.controller and find_autopilot(options.controller) is None:
        load_controller(options.controller)
    if options.autopilot not in ('', MAVLINK) and options.controller:
        raise ParameterError(
            f'controller is {options.controller}, and autopilot {options.autopilot} is one; '
            'expected one of the two'
        )
    if not options.scenario:
        return None
    if options.controller or options.autopilot:
        other = 'controller' if options.controller else 'autopilot'
        raise ParameterError(
            f'scenario {options.scenario} commands the vehicle, and {other} is '
            f'{options.controller or options.autopilot}; expected one of the two'
        )
    scenario = load_scenario(options.scenario).located(environment)
    scenario.check(vehicle)
    return scenario


def _check_compiled(options: RunOptions, vehicle: Vehicle) -> None:
    """Raise for options that compiled forces do not support in a graph."""
    compiled = options.gazebo.get('delivery') == 'compiled'
    tether = vehicle.extensions.get('tether')
    joined = 'towing' in vehicle.extensions or (tether is not None and bool(tether.vehicle))
    for is_unsupported, expected in (
        (joined, 'no tether between vehicles'),
        (
            options.gazebo and not compiled,
            'that Gazebo does not own the state, or delivery:=compiled',
        ),
        (not options.lockstep and not compiled, 'lockstep'),
        (not options.compute, 'that forces are computed'),
    ):
        if is_unsupported:
            raise ParameterError(f'engine jax: expected {expected}, or engine numpy')


def _find_autopilot(options: RunOptions) -> ControllerModel | None:
    """Return the external program that sends the pulse widths; None: this package's controller."""
    if options.autopilot == MAVLINK:
        return None
    program = find_autopilot(options.autopilot or options.controller)
    if options.autopilot and program is None:
        names = [*(n for n in CONTROLLERS if find_autopilot(n) is not None), MAVLINK]
        expected = expected_one_of(options.autopilot, names)
        raise ParameterError(f'autopilot is {options.autopilot!r}; {expected}')
    return program


def _common_parameters(options: RunOptions, scenario: Scenario | None) -> dict[str, Any]:
    """Return the parameters of every node."""
    common: dict[str, Any] = {
        **options.named_vehicle(),
        'seed': options.seed,
        'current': [float(x) for x in options.current],
        'water_density': options.water_density,
        'frame_prefix': options.frame_prefix,
        'compute': options.compute,
        'environment': options.environment,
        'use_sim_time': True,
    }
    if options.neighbours and (jaws := jaw_owners(options)):
        common['jaws'] = json.dumps(jaws)
    if options.changes:
        common['environment_changes'] = changes_text(load_changes(options.changes))
    if scenario is not None and scenario.faults:
        common['faults'] = fault_text(scenario.faults)
    return common


def _actuator_parameters(
    vehicle: Vehicle, script: dict[str, Any], servos: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the parameters of forces that follow actuators, by force.

    Args:
        script: parameters of an actuator that no controller steers.
        servos: parameters of one that a controller steers.
    """
    result: dict[str, dict[str, Any]] = {}
    for actuator in actuators_of(vehicle):
        result.setdefault(actuator.source, {}).update(servos if actuator.steered else script)
    return result


def _other_grippers(
    options: RunOptions, gripping: Gripping, environment: Environment
) -> dict[str, list[str]]:
    """Return the parameter with the vehicles of a fleet whose grippers take the same bodies."""
    names = [
        name
        for name, described in (options.neighbours if gripping.reachable else {}).items()
        if Gripping(vehicle_of(described), environment).reachable
    ]
    return {'grippers': names} if names else {}


def node_specs(
    options: RunOptions,
    progress: ReportProgress = no_progress,
    warn: Callable[[Iterable[str]], object] = tuple,
) -> list[NodeSpec]:
    """Return the nodes of a run.

    Args:
        progress: function that is called with the completed fraction of long work.
        warn: function that is called with the warnings about the vehicle description.

    Raises:
        MarineSimError: a vehicle or a scenario that cannot be used.
    """
    options = lesson_options(options)
    check_lesson(options)
    vehicle = vehicle_of(options.named_vehicle(), progress)
    warn(vehicle.warnings)
    namespace = namespace_of(options, vehicle.name)
    check_anchor(vehicle, namespace, options.neighbours)
    check_partners(vehicle.sensors, namespace, options.neighbours)
    pullers = towing_namespaces(namespace, options.neighbours)
    vehicle = with_tow_tethers(vehicle, pullers)
    environment = environment_from_options(options)
    forces = _forces_of(options, vehicle, environment)
    sources = [force.name for force in forces]
    scenario = _check_run(options, vehicle, environment, sources)
    start = scenario or lesson_pilot(options)
    gripping = Gripping(vehicle, environment)
    if options.engine == 'jax' and gripping.is_possible and not gripping.has_jaws:
        raise ParameterError(
            f'engine jax: it has no gripper without jaws, and environment {environment.name} has '
            f"bodies for {vehicle.name}'s; expected engine numpy"
        )
    script = {'scenario': options.scenario} if options.scenario else {}
    program = _find_autopilot(options)
    closed = bool(options.controller or options.autopilot) or (
        scenario is not None and scenario.closed_loop
    )
    run_odometry(options, vehicle, closed=closed and program is None)
    pwm = {'pwm_source': 'controller' if scenario or closed else 'external'}
    servos = script
    steers = closed and (program is None or program.steers)
    if steers:
        servos = {'servo_source': 'controller'}
    nodes: dict[str, dict[str, Any]] = {name: {} for name in sources}
    neighbours = {**options.neighbours, **seen_bodies(environment)}
    sensor_options = {'neighbours': json.dumps(neighbours)} if neighbours else {}
    for node, executable in sensor_nodes(vehicle).items():
        nodes[node] = dict(sensor_options) if executable in ('sensor', 'sensors') else {}
    for node, address in _video_addresses(options, vehicle).items():
        nodes[node]['video'] = address
    for node, parameters in _instruments(options, vehicle).items():
        nodes[node] |= parameters
    actuators = _actuator_parameters(vehicle, script, servos)
    special: dict[str, dict[str, Any]] = {
        **actuators,
        'thrusters': {**pwm, **actuators.get('thrusters', {})},
        'drag': {'publish_components': True} if options.publish_components else {},
        'manipulator': {
            **script,
            **actuators.get('manipulator', {}),
            'dt': float(options.dt),
            'integrator': options.integrator,
            'joint_source': 'controller' if steers and program is not None else 'external',
            **_other_grippers(options, gripping, environment),
        },
        'contact': {'dt': float(options.dt), 'integrator': options.integrator},
        'tether': {**script, 'seen': bool(parts_seen_by_others(options, vehicle))},
        'towing': {'towed_by': list(pullers)},
    }
    nodes |= {name: parameters for name, parameters in special.items() if name in nodes}
    nodes |= _controller_nodes(options, program, script, closed=closed)
    nodes |= _blueos_node(options)
    nodes |= _mavros_node(options)
    if scenario is not None:
        nodes['scenario'] = {**script, 'duration': float(options.duration)}
    if options.markers:
        nodes['markers'] = {'wrench_sources': sources}
    common = _common_parameters(options, start)
    recorder = {
        'manifest': json.dumps({**asdict(options), 'namespace': namespace}),
        'record_period': float(options.record_period),
        'publish_components': options.publish_components,
        'owns_bodies': owns_bodies(options),
        'controller': closed and program is None,
        'markers': options.markers,
        'wrench_sources': sources,
        **pwm,
    }
    if options.console:
        nodes['console'] = {
            **script,
            'use_sim_time': False,  # it takes time from odom; /clock would come every tick
            'wrench_sources': sources,
            'port': options.console_port,
            'output': 'velocity' if closed else 'pwm',
            'recorder': '' if options.record else json.dumps({**common, **recorder}),
            'recorded': options.record,
            'lesson': options.lesson,
        }
    nodes |= _mission_node(options, sources)
    if options.record:
        nodes['recorder'] = {'directory': options.record, 'recorder': options.recorder, **recorder}
    state_node = 'gazebo_bridge' if options.gazebo else 'dynamics'
    nodes[state_node] = {**_dynamics_node(options, scenario, sources, start), **options.gazebo}
    programs = {force.name: force.executable for force in forces}
    programs |= sensor_nodes(vehicle)
    return [
        _make_node(
            programs.get(name, name),
            name,
            f'/{options.namespace.strip("/")}' if name == MAVROS else namespace,
            {**common, **extra},
        )
        for name, extra in nodes.items()
    ]


def has_own_process(spec: NodeSpec, options: RunOptions) -> bool:
    """Return whether a node of a composed run has a process of its own.

    The console and the clients of an autopilot have, and a slow sensor unless the run waits for it
    anyway: other nodes then do not wait for them.
    """
    if spec.executable == 'sensor':
        return not (options.record or options.synchronous)
    return spec.executable in ('console', 'blueos', MAVROS)


def _video_addresses(options: RunOptions, vehicle: Vehicle) -> dict[str, str]:
    """Return the addresses to which the nodes of cameras send video, by node."""
    if not options.video:
        return {}
    cameras = [s.name for s in vehicle.sensors if SENSORS[s.kind].video]
    if not cameras:
        raise ParameterError(
            f'video: {vehicle.name} has no camera; expected one, as of --set camera:=true'
        )
    return {name: next_address(options.video, i) for i, name in enumerate(cameras)}


def _instruments(options: RunOptions, vehicle: Vehicle) -> dict[str, dict[str, list[str]]]:
    """Return the wire protocols of sensors and the drivers whose topics they have, by node."""
    sensors, name = vehicle.sensors, vehicle.name
    chosen = [
        *(('protocol', a.sensor, str(a)) for a in read_protocols(options.protocol, sensors, name)),
        *(('topics', s, driver) for s, driver in driven_sensors(options.topics, sensors, name)),
    ]
    result: dict[str, dict[str, list[str]]] = {}
    for parameter, sensor, text in chosen:
        values = result.setdefault(_node_of(sensor, vehicle), {}).setdefault(parameter, [])
        if text not in values:
            values.append(text)
    return result


def _node_of(name: str, vehicle: Vehicle) -> str:
    """Return the node of a sensor."""
    kind = next(s.kind for s in vehicle.sensors if s.name == name)
    return SHARED if SENSORS[kind].executable == SHARED else name


def _controller_nodes(
    options: RunOptions, program: ControllerModel | None, script: dict[str, Any], *, closed: bool
) -> dict[str, dict[str, Any]]:
    """Return the parameters of the nodes that close the control loop, by node; may be empty."""
    if program is not None:
        parameters = {name: getattr(options, name) for name in program.options}
        if 'ground_station' in parameters:
            parameters['ground_station'] = _ground_station(options)
        return {program.executable: parameters}
    if not closed:
        return {}
    name = options.controller or ('modern' if options.autopilot == MAVLINK else '')
    nodes = {'controller': {**(script or {'controller': name}), 'odometry': options.odometry}}
    if options.autopilot == MAVLINK:
        if options.mission:
            read_mission(options.mission)  # before anything is started
        if options.ground_station_key:
            read_key(options.ground_station_key)
        nodes['mavlink'] = {
            'ground_station': _ground_station(options),
            'ground_station_key': options.ground_station_key,
            'mission': options.mission,
            'autopilot_instance': options.autopilot_instance,
            'video': options.video,
            **({'rate': MAVROS_RATE} if MAVROS in options.topics else {}),
        }
    return nodes


MAVROS_RATE = 10.0
"""Hz of attitude, position and speed for MAVROS, as its users ask ArduSub for (set_stream_rate);
ArduSub's own rates are 10 Hz, and 3 Hz of the position (ArduSub/GCS_Mavlink.cpp, SR0_…)."""


def _ground_station(options: RunOptions) -> str:
    """Return the address to which the autopilot sends: the node mavros passes it on."""
    if MAVROS not in options.topics:
        return options.ground_station
    return f'127.0.0.1:{MAVROS_PORT + options.autopilot_instance}'


def _blueos_node(options: RunOptions) -> dict[str, dict[str, Any]]:
    """Return the parameters of the node that serves Cockpit, by node; may be empty."""
    if not options.blueos:
        return {}
    if not options.autopilot:
        raise ParameterError('blueos: Cockpit needs an autopilot; expected --autopilot')
    if options.ground_station_key:
        raise ParameterError('blueos: Cockpit does not sign; expected no ground_station_key')
    parameters = {
        'use_sim_time': False,  # it has no use for it; /clock would come every tick
        'blueos': options.blueos,
        'ground_station': options.ground_station,
        'video': options.video,
    }
    return {'blueos': parameters}


def _mavros_node(options: RunOptions) -> dict[str, dict[str, Any]]:
    """Return the parameters of the node with MAVROS's topics, by node; may be empty."""
    if MAVROS not in options.topics:
        return {}
    if not options.autopilot:
        raise ParameterError('topics is mavros: it needs an autopilot; expected --autopilot')
    if options.ground_station_key:
        raise ParameterError('topics is mavros: it does not sign; expected no ground_station_key')
    names = ('autopilot', 'autopilot_instance', 'ground_station')
    parameters = {name: getattr(options, name) for name in names}
    return {MAVROS: {**parameters, 'use_sim_time': False}}  # it takes time from the autopilot


def _mission_node(options: RunOptions, sources: list[str]) -> dict[str, dict[str, Any]]:
    """Return the parameters of the node that scores a mission, by node; may be empty."""
    if not options.lesson:
        return {}
    # Each pilot of a fleet has a score.
    pilot = f'/{options.namespace}' if options.record and options.neighbours else ''
    parameters = {
        'lesson': options.lesson,
        'scenario': options.scenario,
        'directory': f'{options.record}{pilot}',
        'wrench_sources': sources,
    }
    return {'mission': parameters}


def _make_node(executable: str, name: str, namespace: str, parameters: dict[str, Any]) -> NodeSpec:
    arguments = () if executable == name else (name,)
    return NodeSpec(executable, namespace, parameters, arguments)


def fleet_node_specs(
    runs: Sequence[RunOptions],
    progress: ReportProgress = no_progress,
    warn: Callable[[Iterable[str]], object] = tuple,
) -> list[NodeSpec]:
    """Return the nodes of all vehicles, those of the first one first.

    The recorders of the vehicles, which write one bag, are one process, and so are the nodes of
    contact where the vehicles touch each other or bodies.

    Args:
        runs: options of the vehicles, from :func:`fleet_runs`.
        progress: function that is called with the completed fraction of long work.
        warn: function that is called with the warnings about the vehicle descriptions.

    Raises:
        MarineSimError: a vehicle or a scenario that cannot be used.
    """
    specs = [spec for run in runs for spec in node_specs(run, progress, warn)]
    if environment_from_options(runs[0]).collisions:
        if away := ', '.join(name.strip('/') for name in remote_namespaces(runs)):
            raise ParameterError(
                f'only: vehicles that touch each other or bodies run together, and {away} would '
                'not; expected the whole fleet'
            )
        specs = _in_one_process('contact', specs)
    return _in_one_process('recorder', specs)


def _in_one_process(executable: str, specs: list[NodeSpec]) -> list[NodeSpec]:
    """Return nodes of which those of an executable are one process, if they are several."""
    several = [spec for spec in specs if spec.executable == executable]
    if len(several) < 2:
        return specs
    texts = [json.dumps({'namespace': s.namespace, 'parameters': s.parameters}) for s in several]
    shared = NodeSpec(executable, '', {}, (executable, *texts))
    return [*(spec for spec in specs if spec.executable != executable), shared]
