# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Options of a run, declared once.

The command line, the launch arguments, the parameters that nodes share and
docs/reference/parameters.md are generated from the fields of :class:`RunOptions` and
:class:`StartOptions`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, field, fields
from typing import Any, TypeVar, get_type_hints

from marine_sim_ros.control.pilot import OUTPUT_MODES
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.schema import Setting, declaration
from marine_sim_ros.model.hull import FORCE_TERMS
from marine_sim_ros.physics.rigid_body import AUTO_INTEGRATOR, INTEGRATOR_CHOICES
from marine_sim_ros.sensors.addresses import DRIVERS
from marine_sim_ros.sim.scenario import MAX_ANGLE, MAX_DISTANCE, load_scenario

__all__ = ['OPTIONS', 'Option', 'RunOptions', 'StartOptions']

T = TypeVar('T')

VEHICLE, WATER, TIME = 'vehicle', 'water', 'time and engine'
TOPICS, AUTOPILOT, FLEET = 'topics, frames and recording', 'autopilot', 'several vehicles'

_NUMBER_NAMES = {int: 'a whole number', float: 'a number'}


@declaration(frozen=True)
class Option(Setting):
    """An option of a run.

    Attributes:
        kind: bool, int, float or str; of the elements where the option is a list.
        count: number of elements of a list; 0: any number; None: the option is no list.
        metavar: placeholder of the value in the help of the command line.
        flags: further names on the command line, such as ``--set``.
        deprecated: old names on the command line, which print a warning.
        graph: whether only the node graph has the option, and not ``marine_sim simulate``.
        command_line: whether the command line has it.
        launch: whether launch files have it.
        group: heading that --help-all shows it under; empty: it is a usual one, which --help
            shows.
    """

    kind: type = str
    count: int | None = None
    metavar: str = ''
    flags: tuple[str, ...] = ()
    deprecated: tuple[str, ...] = ()
    graph: bool = False
    command_line: bool = True
    launch: bool = True
    group: str = ''

    @property
    def flag(self) -> str:
        """The name on the command line."""
        return '--' + self.name.replace('_', '-')

    def parse(self, text: str) -> Any:
        """Return the value of a text, as of a launch argument ``name:=text``.

        Raises:
            ParameterError: a text that is no such value, or a value out of its range.
        """
        assignment = f'{self.name}:={text}'
        if self.count is None:
            value = self._parse_word(text, assignment)
        else:
            words = text.split()
            if self.default is None and not words:
                return None
            if self.count and len(words) != self.count:
                raise ParameterError(
                    f'{assignment}; expected {self.count} numbers, spaces between'
                )
            value = tuple(self._parse_word(word, assignment) for word in words)
        if reason := self.refusal(value):
            raise ParameterError(f'{assignment}; {reason.partition("; ")[2]}')
        return value

    def _parse_word(self, text: str, assignment: str) -> Any:
        if self.kind is bool:
            if text.lower() not in ('true', 'false'):
                raise ParameterError(f'{assignment}; expected true or false')
            return text.lower() == 'true'
        try:
            return self.read(text)
        except ValueError as error:
            raise ParameterError(f'{assignment}; {error}') from None

    def read(self, text: str) -> Any:
        """Return the value of a word; a number may have the option's unit, as ``40s``.

        Raises:
            ValueError: invalid text; the message says what is expected.
        """
        word = text.strip()
        number = word.removesuffix(self.unit).rstrip() if self.kind is float else word
        try:
            return self.kind(number)
        except ValueError:
            unit = f' in {self.unit}' if self.unit else ''
            raise ValueError(f'expected {_NUMBER_NAMES[self.kind]}{unit}') from None


def option(default: T, text: str, **settings: Any) -> T:
    """Return a field of an options class; the settings are those of :class:`Option`."""
    return field(default=default, metadata={'help': text, **settings})


@declaration(frozen=True)
class RunOptions:
    """Options that determine a run; ``OPTIONS`` describes all fields except the last three.

    Attributes:
        gazebo: parameters of gazebo_bridge, which then integrates the state; empty: embedded
            dynamics.
        neighbours: vehicle and arguments of every other vehicle of the run, by namespace.
        collisions: whether the vehicles of the run touch each other.

    Raises:
        ParameterError: an option out of its range.
    """

    vehicle: str = option(
        'bluerov2', 'vehicle to simulate: shipped name, or URDF or xacro file', metavar='VEHICLE'
    )
    vehicle_arguments: tuple[str, ...] = option(
        (), 'xacro argument of the vehicle, as in coefficients:=wu2018',
        flags=('--set',), metavar='NAME:=VALUE',
    )  # fmt: skip
    namespace: str = option(
        '', 'namespace of the topics', empty="the vehicle's name", graph=True, group=TOPICS
    )
    scenario: str = option(
        '',
        'scenario to play: shipped name or YAML file',
        empty='none, other nodes send the commands; simulate needs one',
    )
    controller: str = option(
        '', 'controller that closes the loop: shipped name or YAML file',
        empty='none, other nodes send the pulse widths', metavar='NAME', graph=True,
    )  # fmt: skip
    autopilot: str = option(
        '', 'ardusub: the firmware of the BlueROV2 steers, or ArduRover a boat; px4: PX4 does; '
        'mavlink: the controller obeys a ground station', empty='none', metavar='NAME', graph=True,
    )  # fmt: skip
    ardusub: str = option(
        '', 'firmware to start (autopilot ardusub); none: somebody else starts it',
        empty='ardusub on PATH, or ardurover for a boat', metavar='PATH', graph=True,
        group=AUTOPILOT,
    )  # fmt: skip
    px4: str = option(
        '', 'bin/px4 of a build to start (autopilot px4); none: somebody else starts it',
        empty='px4 on PATH', metavar='PATH', graph=True, group=AUTOPILOT,
    )  # fmt: skip
    autopilot_instance: int = option(
        0, 'number of the autopilot among several: its ports are ten higher for each, those of '
        'px4 one, its MAVLink system is one more', low=0, high=99, metavar='N', graph=True,
        group=AUTOPILOT,
    )  # fmt: skip
    autopilot_address: str = option(
        '127.0.0.1', 'address to listen to the autopilot on; 0.0.0.0: all of this machine',
        metavar='ADDRESS', graph=True, group=AUTOPILOT,
    )  # fmt: skip
    navigation: str = option(
        'gps', 'navigation of the autopilot ardusub or px4; gps: its own; dvl: velocities of the '
        'DVL; usbl: positions of the USBL, or of the GPS receiver above the surface, and the DVL',
        choices=('gps', 'dvl', 'usbl'), graph=True, group=AUTOPILOT,
    )  # fmt: skip
    ground_station: str = option(
        '127.0.0.1:14550', 'UDP address of the ground station (MAVLink)', metavar='HOST:PORT',
        graph=True, group=AUTOPILOT,
    )  # fmt: skip
    ground_station_key: str = option(
        '', 'file with the key that signs MAVLink messages (autopilot mavlink): 64 hexadecimal '
        'digits or a passphrase; unsigned ones are refused', empty='they are not signed',
        metavar='FILE', graph=True, group=AUTOPILOT,
    )  # fmt: skip
    blueos: str = option(
        '', 'HTTP address at which Cockpit connects, as to BlueOS: MAVLink over WebSocket and '
        'REST, and cameras over WebRTC (ports 6020 and 6021); it takes the place of the ground '
        'station', empty='none', metavar='HOST:PORT',
        graph=True, group=AUTOPILOT,
    )  # fmt: skip
    await_commands: bool = option(
        False, 'wait in each step for one command message of the controllers (controller '
        'ros2_control); else the latest holds', graph=True, group=AUTOPILOT,
    )  # fmt: skip
    warm_up: float = option(
        10.0, "time of the controllers' clock before the first step, in which they are loaded and "
        'activated (await_commands)', unit='s', low=0.0, high=50.0, metavar='SECONDS', graph=True,
        group=AUTOPILOT,
    )  # fmt: skip
    mission: str = option(
        '', 'waypoints to fly from the start (autopilot mavlink): .plan of QGroundControl, or '
        '.waypoints; that of a pilot is --lesson', empty='the ground station sends one',
        metavar='FILE', graph=True, group=AUTOPILOT,
    )  # fmt: skip
    lesson: str = option(
        '', 'mission of a pilot to score while it is flown, shipped name or YAML file '
        '(marine_sim list missions); without a scenario its start and faults are those of the '
        'mission', empty='none', metavar='NAME', graph=True,
    )  # fmt: skip
    video: str = option(
        '', 'address that the camera sends H.264 video to (RTP), as udp://127.0.0.1:5600, or at '
        'which clients fetch it, as rtsp://127.0.0.1:8554; each further camera of the vehicle '
        'takes the next port', empty='none', metavar='URL',
        graph=True, group=TOPICS,
    )  # fmt: skip
    protocol: tuple[str, ...] = option(
        (), 'wire protocols that sensors speak, as in dvl=water_linked, so that drivers of the '
        "real instruments connect; default address: 127.0.0.1 and the instrument's own port; "
        '@0.0.0.0:PORT listens on all networks of this machine, @pty:PATH is a serial port',
        empty='none', metavar='SENSOR=PROTOCOL[@HOST:PORT|@pty:PATH]', graph=True, group=TOPICS,
    )  # fmt: skip
    topics: tuple[str, ...] = option(
        (), "ROS drivers of real instruments whose topics sensors have beside the suite's own: "
        'waterlinked (dvl_a50: SENSOR/data and SENSOR/position of dvl_msgs), ping360 '
        '(ping360_sonar: scan_echo), seatrac (modem_send, modem_rec), nmea (nmea_sentence); '
        'mavros: topics and services of MAVROS for the autopilot (mavros/…), over UDP port 14540',
        empty='none', choices=tuple(DRIVERS), graph=True, group=TOPICS,
    )  # fmt: skip
    record: str = option(
        '', 'folder to write the bag and manifest.json to', empty='no recording', metavar='DIR'
    )
    recorder: str = option(
        'suite', 'suite records every step and a manifest; ros2_bag runs `ros2 bag record`',
        choices=('suite', 'ros2_bag'), graph=True, group=TOPICS,
    )  # fmt: skip
    record_period: float = option(
        0.0, 'time between recorded messages of a topic, for long runs: the first in each period '
        'is kept; commands, events and packets are all kept', unit='s', empty='every step',
        low=0.0, high=1e6, metavar='SECONDS', group=TOPICS,
    )  # fmt: skip
    real_time_factor: float = option(
        1.0, 'simulated seconds per second of wall time', empty='as fast as the graph answers',
        low=0.0, high=1e3, metavar='FACTOR', graph=True,
    )  # fmt: skip
    dt: float = option(
        0.005, 'simulation step and period of odom', unit='s', low=1e-6, high=1.0,
        metavar='SECONDS', group=TIME,
    )  # fmt: skip
    duration: float = option(
        0.0, 'simulated time', unit='s', empty="the scenario's, or until stopped",
        low=0.0, high=1e9, metavar='SECONDS',
    )  # fmt: skip
    seed: int = option(0, 'random seed of noise, sea and faults', low=0, high=2**53, group=TIME)
    odometry: str = option(
        'true', 'state that the controller closes its loop over; true: the true one; estimated: '
        'attitude of the IMU, velocity of the DVL and dead reckoning, with their noise and faults',
        choices=('true', 'estimated'), group=TOPICS,
    )  # fmt: skip
    lockstep: bool = option(
        True, 'wait for every force at every step; false: take the latest wrenches on a timer',
        graph=True, group=TIME,
    )  # fmt: skip
    start_paused: bool = option(
        False, 'publish the first state, and pause: the console or the service pause goes on',
        graph=True, group=TIME,
    )  # fmt: skip
    synchronous: bool = option(
        False, 'wait for every sensor too, as a recorded run does: none misses a step', graph=True,
        group=TIME,
    )  # fmt: skip
    engine: str = option(
        'numpy', 'engine that computes the run: numpy, or jax, which is also called compiled and '
        'needs the extra batch; run with jax implies composed, and one program computes all '
        'forces of a vehicle',
        choices=('numpy', 'jax', 'compiled'), group=TIME,
    )  # fmt: skip
    integrator: str = option(
        AUTO_INTEGRATOR, 'time integration of the rigid body; auto: conserving for hulls with '
        'panels and without an arm, else semi_implicit', choices=INTEGRATOR_CHOICES, group=TIME,
    )  # fmt: skip
    environment: str = option(
        '', 'water, waves, current and seabed: shipped name or YAML file', empty='still water',
        metavar='NAME',
    )  # fmt: skip
    changes: str = option(
        '', 'changes of wind, current, tide and turbidity from given times on: YAML file, or the '
        'folder of a recording, whose changes happen again', empty='none', metavar='FILE',
        group=WATER,
    )  # fmt: skip
    current: tuple[float, float, float] = option(
        (0.0, 0.0, 0.0), 'steady velocity of the water east, north, up', unit='m/s',
        empty="the environment's", low=-100.0, high=100.0, group=WATER,
    )  # fmt: skip
    water_density: float = option(
        0.0, 'density of the water', unit='kg/m³', empty="the environment's, or the vehicle's",
        low=0.0, high=2e4, metavar='KG_M3', group=WATER,
    )  # fmt: skip
    hull_forces: tuple[str, ...] = option(
        (), 'kinds of forces on hull panels to keep', empty='all', choices=FORCE_TERMS,
        metavar='KIND', group=VEHICLE,
    )  # fmt: skip
    voltage: float = option(
        0.0, 'supply voltage of the thrusters', unit='V',
        empty="the scenario's, or that of the thrust curves", low=0.0, high=1e3, metavar='VOLTS',
        group=VEHICLE,
    )  # fmt: skip
    publish_components: bool = option(
        False, 'publish every kind of drag on drag/<kind>', deprecated=('--components',),
        graph=True, group=TOPICS,
    )  # fmt: skip
    markers: bool = option(
        False, 'publish forces, voxels and hull panels as markers', graph=True, group=TOPICS
    )
    console: bool = option(
        False, "serve the operator's console to a browser; without a scenario or autopilot, run "
        'adds the controller modern and the environment shallow_sand where none is named',
        graph=True,
    )  # fmt: skip
    console_port: int = option(
        8060, 'port of the console', empty='any free one', low=0, high=65535, metavar='PORT',
        graph=True, group=TOPICS,
    )  # fmt: skip
    frame_prefix: str = option(
        '', 'prefix of base_link, for several vehicles on one /tf', empty='none',
        metavar='PREFIX', graph=True, group=TOPICS,
    )  # fmt: skip
    truth_frame: str = option(
        '', 'child frame of the true pose on /tf; another one leaves base_link to an estimator',
        empty='base_link', metavar='FRAME', graph=True, group=TOPICS,
    )  # fmt: skip
    clock: str = option(
        'publish', 'publish /clock, or follow the /clock of another vehicle',
        choices=('publish', 'follow'), graph=True, group=TIME,
    )  # fmt: skip
    compute: bool = option(
        True, 'compute the forces; false: answer with zeros, to measure the messages alone',
        deprecated=('--null',), graph=True, group=TIME,
    )  # fmt: skip
    initial_position: tuple[float, float, float] | None = option(
        None, 'initial position in map (east, north, up)', unit='m',
        empty="the scenario's, or 0 0 -0.5", low=-MAX_DISTANCE, high=MAX_DISTANCE,
        group=VEHICLE,
    )  # fmt: skip
    initial_rpy: tuple[float, float, float] | None = option(
        None, 'initial roll, pitch and yaw', unit='rad', empty="the scenario's, or 0 0 0",
        low=-MAX_ANGLE, high=MAX_ANGLE, group=VEHICLE,
    )  # fmt: skip
    gazebo: dict[str, Any] = field(default_factory=dict)
    neighbours: dict[str, Any] = field(default_factory=dict)
    collisions: bool = False

    def __post_init__(self) -> None:
        """Refuse options out of their ranges."""
        for name in (f.name for f in fields(self) if f.name in OPTIONS):
            if reason := OPTIONS[name].refusal(getattr(self, name)):
                raise ParameterError(f'{name} {reason}')
        self._check_record_period()
        if self.engine == 'compiled':  # another name of it
            object.__setattr__(self, 'engine', 'jax')

    def _check_record_period(self) -> None:
        needs = 'recorder ros2_bag' if self.recorder == 'ros2_bag' else 'the score of a lesson'
        if self.record_period and (self.recorder == 'ros2_bag' or self.lesson):
            raise ParameterError(
                f'record_period is {self.record_period:g} s; {needs} records every step: expected '
                '0'
            )

    @property
    def one_process(self) -> bool:
        """Whether all nodes of the run must share one process."""
        return self.engine == 'jax'

    def named_vehicle(self) -> dict[str, Any]:
        """Return the parameters of a node that name the vehicle."""
        parameters: dict[str, Any] = {'vehicle': self.vehicle}
        if self.vehicle_arguments:
            parameters['vehicle_arguments'] = list(self.vehicle_arguments)
        if self.hull_forces:
            parameters['hull_forces'] = list(self.hull_forces)
        if voltage := self.voltage or (self.scenario and load_scenario(self.scenario).voltage):
            parameters['voltage'] = float(voltage)
        return parameters

    def to_json(self) -> str:
        """Return the options as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> RunOptions:
        """Return the options of a JSON text.

        Raises:
            ParameterError: not JSON, or an option that does not exist.
        """
        try:
            data = json.loads(text)
        except ValueError as error:
            raise ParameterError(f'run options: not JSON: {error}') from None
        names = {f.name for f in fields(cls)}
        if not isinstance(data, dict) or set(data) - names:
            raise ParameterError(
                f'run options: expected an object with {", ".join(sorted(names))}'
            )
        values: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in data.items()
        }
        return cls(**values)


@declaration(frozen=True)
class StartOptions:
    """Options of starting a run; its result does not depend on them."""

    fleet: str = option(
        '', 'several vehicles in one run, in place of one: shipped name or YAML file',
        empty='one vehicle', metavar='FILE', graph=True,
    )  # fmt: skip
    only: tuple[str, ...] = option(
        (), 'vehicles of the fleet that run here, while others run on other machines',
        empty='all', metavar='NAME', graph=True, group=FLEET,
    )  # fmt: skip
    composed: bool = option(False, 'run all nodes in one process', graph=True)
    processes: int = option(
        1, 'processes that share the vehicles of a composed fleet; implies composed above 1, and '
        'each records into a folder of its own, record/1, record/2 and so on', graph=True,
        group=FLEET,
    )  # fmt: skip
    overwrite: bool = option(False, 'replace an old recording', launch=False)
    backend: str = option(
        'embedded',
        'simulator that integrates the motion',
        choices=('embedded', 'gazebo'),
        command_line=False,
    )
    delivery: str = option(
        'auto', 'transport of the wrenches to Gazebo (backend gazebo)',
        choices=('auto', 'in_server', 'stock', 'compiled'), command_line=False,
    )  # fmt: skip
    world: str = option(
        '', 'SDF file of the world (backend gazebo)', empty='made from the environment',
        command_line=False,
    )  # fmt: skip
    gui: bool = option(False, "show Gazebo's window (backend gazebo)", command_line=False)
    links: bool = option(
        True, 'publish robot_description and the links on /tf, where robot_state_publisher is '
        'installed', command_line=False,
    )  # fmt: skip
    rviz: bool = option(
        False, 'show the vehicle, its forces and the scene in RViz; implies markers',
        command_line=False,
    )  # fmt: skip
    localization: bool = option(
        False, 'estimate the pose from IMU, DVL and barometer: ekf_node of robot_localization '
        'publishes odom -> base_link, and the truth is base_link_truth', command_line=False,
    )  # fmt: skip
    joy: bool = option(False, 'start a gamepad and its teleop node too', command_line=False)
    gamepad: str = option(
        'xbox', 'layout of the gamepad (joy true): shipped name or YAML file', command_line=False
    )
    output: str = option(
        'pwm', 'output of the gamepad (joy true)', choices=OUTPUT_MODES, command_line=False
    )


def _collect_options(cls: type) -> dict[str, Option]:
    options = {}
    hints = get_type_hints(cls)
    for f in fields(cls):
        if 'help' not in f.metadata:
            continue
        hint = str(hints[f.name])
        count = hint.count('float') if 'tuple' in hint and '...' not in hint else 0
        kind = next(k for k in (bool, int, float, str) if k.__name__ in hint)
        options[f.name] = Option(
            f.name, f.default, kind=kind, count=count if 'tuple' in hint else None, **f.metadata
        )
    return options


OPTIONS: Mapping[str, Option] = _collect_options(RunOptions) | _collect_options(StartOptions)
"""Every option by its name; those of :class:`RunOptions` first."""
