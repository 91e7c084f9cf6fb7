# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recorded motion and commands of a bag, for a fit or as a scenario."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from marine_sim_ros.bags.reading import Bag, read_bag
from marine_sim_ros.bags.vehicle_record import Channel, VehicleRecord, check_maps, parse_maps
from marine_sim_ros.core.errors import ParameterError, expected_one_of
from marine_sim_ros.core.progress import ReportProgress, no_progress
from marine_sim_ros.core.registry import ACTUATORS
from marine_sim_ros.core.spatial import (
    quaternion_product,
    rotation_vector_quaternion,
    rpy_from_quaternion,
    to_body,
    up_in_body,
)
from marine_sim_ros.core.state import FARTHEST, FASTEST, FASTEST_TURN, NANOSECONDS
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.identification.samples import Samples, check_frames, check_stamps, make_samples
from marine_sim_ros.identification.thrust import (
    RecordedStates,
    ThrustCommands,
    commands_of_pwm,
    commands_of_thrust,
    thruster_pulses,
)
from marine_sim_ros.model.propellers import PWM_NEUTRAL
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import Actuator, actuators_of
from marine_sim_ros.physics.thrusters import THRUSTERS
from marine_sim_ros.sim.player import ActuatorScript
from marine_sim_ros.sim.scenario import Scenario, Segment
from marine_sim_ros.sim.trajectory import Trajectory

__all__ = [
    'MotionCollector',
    'MotionRecording',
    'OdometryNoise',
    'noisy_odometry',
    'odometry_of',
    'read_collectors',
    'recorded_scenario',
    'recording_of_bag',
    'samples_of',
    'usable_recording',
]


# Recorded motion and commands of a bag: every odometry and every command.

_MOTION = ('odom', 'thrusters/pwm', 'thrusters/state')
_PRESSURE = 'pressure'
"""Role of the topics of pressure, one for each barometer."""


class MotionCollector:
    """Keeps every row of a vehicle's motion and thrust; it is a ``Rows``."""

    def __init__(self, record: VehicleRecord) -> None:
        """Start with nothing.

        Args:
            record: record of the vehicle, the source of the rows.
        """
        self.record = record
        topics = (topic for a in ACTUATORS.entries for topic in (a.state_topic, a.command_topic))
        self._wanted = {*_MOTION, *topics}
        self._parts: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}

    def __call__(
        self, channel: Channel, stamps: np.ndarray, receipts: np.ndarray, rows: np.ndarray
    ) -> None:
        """Take rows (n, k) of a channel with their stamps (n,) in ns."""
        if channel.name in self._wanted or channel.role == _PRESSURE:
            self._parts.setdefault(channel.name, []).append((stamps, rows))

    def get(self, name: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Return stamps (n,) in ns and rows (n, k) of a topic; None where there are none."""
        parts = self._parts.get(name)
        if not parts:
            return None
        return np.concatenate([s for s, _ in parts]), np.concatenate([r for _, r in parts])

    def pressure(self, first: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return times (k,), s after a stamp (ns), and pressures (k,), Pa; None: not recorded."""
        name = next((n for n in self._parts if n not in self._wanted), None)
        rows_of_pressure = None if name is None else self.get(name)
        if rows_of_pressure is None:
            return None
        stamps, rows = rows_of_pressure
        return (stamps - first) / NANOSECONDS, rows[:, 0]


_ODOM_BOUNDS = np.array([FARTHEST] * 3 + [2.0] * 4 + [FASTEST] * 3 + [FASTEST_TURN] * 3)
"""Sizes of the numbers of an odometry: m, of a quaternion, m/s, rad/s."""


def read_collectors(
    path: str, maps: Sequence[str], progress: ReportProgress = no_progress
) -> tuple[Bag, dict[str, MotionCollector]]:
    """Return a bag, and a filled collector for each of its vehicles.

    Args:
        path: of a bag or a log.
        maps: words of ``--map``.
        progress: told the share that is read.

    Raises:
        MarineSimError: the bag cannot be read, or a map names no topic of it.
    """
    topic_map, collectors = parse_maps(maps), dict[str, MotionCollector]()

    def rows(record: VehicleRecord) -> MotionCollector:
        collectors[record.name] = MotionCollector(record)
        return collectors[record.name]

    bag = read_bag(path, maps=topic_map, rows=rows, progress=progress)
    check_maps(topic_map, {topic for topic, _, _ in bag.topics})
    return bag, {name: collectors[name] for name in bag.vehicles}


def odometry_of(collector: MotionCollector) -> tuple[int, np.ndarray, np.ndarray] | None:
    """Return the first stamp, ns, and times (m,), s since then, and rows (m, 13) of ``odom``.

    Numbers that no vehicle reaches (``core.state.LIMITS``) are NaN.

    Raises:
        ParameterError: stamps in another unit, or axes that are not those of REP 103.
    """
    odom = collector.get('odom')
    if odom is None:
        return None
    stamps, rows = odom
    first = int(stamps.min())
    time = (stamps - first) / NANOSECONDS
    check_stamps(time)
    rows = np.where(np.abs(rows) <= _ODOM_BOUNDS, rows, np.nan)
    check_frames(time, rows, collector.pressure(first))
    return first, time, rows


def samples_of(
    collector: MotionCollector,
    vehicle: Vehicle,
    *,
    current: tuple[float, float, float],
    span: Sequence[float | None],
    environment: Environment | None = None,
) -> Samples:
    """Return a run on an even grid, its first odometry at time 0.

    Thrust is that of the pulse widths; of a bag without them, that of ``thrusters/state``.

    Args:
        vehicle: the vehicle that made the bag.
        current: velocity of the water in ``map``, m/s.
        span: begin and end of the used part, s since the first odometry; None: the whole run.
        environment: still water of the run; None: of the vehicle's density.

    Raises:
        ParameterError: no odometry, no thrust, or nothing within the span.
    """
    odom = odometry_of(collector)
    if odom is None:
        raise ParameterError('the bag has no odom; expected nav_msgs/Odometry, or --map odom:=...')
    first, time, rows = odom
    low, high = span
    inside = (time >= (-np.inf if low is None else low)) & (
        time <= (np.inf if high is None else high)
    )
    if not inside.any():
        raise ParameterError(
            f'no odometry between {low or 0:g} and {high or np.inf:g} s; '
            f'expected times within the {time.max():g} s of the bag'
        )
    commands = _commands(collector, vehicle, first)
    return make_samples(vehicle, time[inside], rows[inside], commands, current, environment)


def _commands(collector: MotionCollector, vehicle: Vehicle, first: int) -> ThrustCommands:
    pwm, state = collector.get('thrusters/pwm'), collector.get('thrusters/state')
    if pwm is not None:
        stamps, rows = pwm
        commands = commands_of_pwm((stamps - first) / NANOSECONDS, rows, vehicle.thrusters)
    elif state is not None:
        stamps, rows = state
        commands = commands_of_thrust((stamps - first) / NANOSECONDS, rows, vehicle.thrusters)
    else:
        raise ParameterError(
            'the bag has neither thrusters/pwm nor thrusters/state; expected one of them, '
            'or --map thrusters/pwm:=...'
        )
    states = {a.name: _states(collector, a, vehicle, first) for a in actuators_of(vehicle)}
    return replace(commands, states={n: found for n, found in states.items() if found is not None})


def _states(
    collector: MotionCollector, actuator: Actuator, vehicle: Vehicle, first: int
) -> RecordedStates | None:
    """Return the recorded states of an actuator that a fit has a use for; None without.

    Raises:
        ParameterError: of another number of parts.
    """
    rows_of_state = collector.get(actuator.state_topic)
    if rows_of_state is None or (actuator.wrench is None and actuator.source != THRUSTERS.name):
        return None
    stamps, rows = rows_of_state
    expected = len(actuator.zero_state(vehicle))
    if rows.shape[1] != expected:
        raise ParameterError(
            f'{actuator.state_topic} has {rows.shape[1]} numbers; expected {expected}'
        )
    order = np.argsort(stamps, kind='stable')
    return RecordedStates((stamps[order] - first) / NANOSECONDS, rows[order])


# Recorded motion with pulse widths, from any type of file.

_TICK = 0.05
"""s; a recording with more samples is thinned to this."""
_OFF = 0.8
"""1/s; an attitude that changes otherwise than the angular velocity says is an outlier beyond."""
_MIN_ROWS = 20


@dataclass(frozen=True, eq=False)
class MotionRecording:
    """n samples of a motion.

    Attributes:
        name: display name.
        time: (n,) rising, s.
        orientation: (n, 4) body FLU to map ENU; the heading counts for nothing.
        velocity: (n, 6) through the water, body FLU, m/s and rad/s.
        pwm: (n, k) pulse widths of the thrusters, µs; (n, m, k) of m times each.
        held: whether a pulse width holds until the next; else they were interpolated.
        edges: (n, m) times of ``pwm``; None where it is that of the samples.
    """

    name: str
    time: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    pwm: np.ndarray
    held: bool = True
    edges: np.ndarray | None = None

    def __len__(self) -> int:
        """Return n."""
        return len(self.time)

    @property
    def sent(self) -> np.ndarray:
        """(n,) or (n, m) times of the pulse widths, s."""
        return self.time if self.edges is None else self.edges

    @property
    def up(self) -> np.ndarray:
        """(n, 3) the upward direction in the body: all of an attitude that forces depend on."""
        return np.asarray(up_in_body(self.orientation))

    @property
    def trusted(self) -> np.ndarray:
        """(n,) whether the attitude changes as the angular velocity says: d up/dt = −ω x up."""
        rate = np.gradient(self.up, self.time, axis=0)
        expected = -np.cross(self.velocity[:, 3:], self.up)
        return np.asarray(np.abs(rate - expected).max(axis=1) < _OFF)


def usable_recording(recording: MotionRecording) -> MotionRecording:
    """Return a recording without samples that cannot be used, thinned where it is dense.

    Raises:
        ParameterError: too little is left.
    """
    parts = (recording.time, recording.orientation, recording.velocity, recording.pwm)
    finite = np.all(
        [np.isfinite(p).reshape(len(recording), -1).all(axis=1) for p in parts], axis=0
    )
    rows = np.flatnonzero(finite & (np.diff(recording.time, prepend=-np.inf) > 0))
    if len(rows) < _MIN_ROWS:
        raise ParameterError(
            f'{recording.name}: {len(rows)} of {len(recording)} samples have rising time, '
            f'attitude, velocity and pulse widths; expected {_MIN_ROWS} or more'
        )
    tick = float(np.median(np.diff(recording.time[rows])))
    rows = rows[:: max(1, round(_TICK / tick))]
    time, orientation, velocity, pwm = (p[rows] for p in parts)
    edges = None if recording.edges is None else recording.edges[rows]
    return MotionRecording(recording.name, time, orientation, velocity, pwm, recording.held, edges)


def recording_of_bag(
    collector: MotionCollector, name: str, current: tuple[float, float, float]
) -> MotionRecording:
    """Return the recording of a bag, from ``odom`` and ``thrusters/pwm``.

    Args:
        current: velocity of the water in ``map``, m/s; taken off.

    Raises:
        ParameterError: one of them is missing, or too short.
    """
    odom, sent = odometry_of(collector), collector.get('thrusters/pwm')
    if odom is None or sent is None:
        raise ParameterError(
            f'{name}: has no {"odom" if odom is None else "thrusters/pwm"}; expected both'
        )
    first, time, odometry = odom
    order = np.argsort(time, kind='stable')
    at, pwm = (sent[0] - first) / NANOSECONDS, sent[1]
    # A pulse width holds until the next: that of the message before.
    command_index = np.clip(np.searchsorted(at, time[order], side='right') - 1, 0, len(at) - 1)
    orientation = odometry[order, 3:7]
    drift = np.asarray(to_body(orientation, np.broadcast_to(current, (len(orientation), 3))))
    velocity = np.column_stack([odometry[order, 7:10] - drift, odometry[order, 10:13]])
    return usable_recording(
        MotionRecording(name, time[order], orientation, velocity, pwm[command_index])
    )


# Scenario that replays the pulse widths of a bag or log.

_STICKS = (0.0,) * 6
START_SPAN = 2.0
"""s in which a log has told each thing that it tells."""


def recorded_scenario(
    collector: MotionCollector,
    name: str,
    vehicle: Vehicle,
    suggestion: str = '',
    *,
    script: Any = None,
) -> tuple[Scenario, list[str]]:
    """Return a scenario that repeats a recording's commands, and notes on what it leaves out.

    Commands are the pulse widths, those of actuators by a controller or a script, and else the
    states of actuators that repeat a run; each holds until the next one. It begins at the first
    odometry, with the position, attitude and velocity of its first seconds; what is not known of
    them is 0.

    Args:
        collector: collector of the bag, already filled.
        name: display name of the bag.
        vehicle: the vehicle that shall do the same.
        suggestion: topics of the bag that may be meant, where one is missing.
        script: ``commands`` of its manifest, of
            :func:`~marine_sim_ros.sim.player.scripted_commands`; None: unknown.

    Raises:
        ParameterError: no pulse widths, or fewer than the vehicle has thrusters; a script of
            another form.
    """
    sent, odom = collector.get('thrusters/pwm'), odometry_of(collector)
    if odom is not None and not len(vehicle.thrusters):
        sent = np.array([odom[0]]), np.zeros((1, 0))
    if sent is None:
        raise ParameterError(
            f'{name}: has no thrusters/pwm to replay; expected it, or a topic that means it, of: '
            f'{suggestion or "none here"}'
        )
    stamps, rows = sent
    order = np.argsort(stamps, kind='stable')
    pulses = thruster_pulses(rows[order], vehicle.thrusters)
    first = int(stamps.min()) if odom is None else odom[0]
    time = (stamps[order] - first) / NANOSECONDS
    end = float(time[-1] if odom is None else max(time[-1], odom[1].max()))
    scripted = {} if script is None else _read_script(script, name, vehicle)
    repeated = scripted | _repeated_commands(collector, vehicle, first, scripted)
    known = {a.state_topic for a in ACTUATORS.entries if a.name in repeated}
    topics = dict.fromkeys(a.state_topic for a in ACTUATORS.entries)
    notes = [
        f'{t} is not replayed' for t in topics if t not in known and collector.get(t) is not None
    ]
    start = _start(None if odom is None else _first_numbers(*odom[1:]), notes)
    if odom is None and suggestion:
        notes.append(f'its motion may be among: {suggestion}')
    position, rpy, velocity = start
    return (
        Scenario(
            name=name,
            description=f'pulse widths of {name}',
            duration=end,
            position=position,
            rpy=rpy,
            velocity=velocity,
            segments=_segments(time, pulses, repeated),
            expectations=(),
        ),
        notes,
    )


def _read_script(content: Any, name: str, vehicle: Vehicle) -> ActuatorScript:
    """Return the commands of a manifest to actuators that a vehicle has.

    Raises:
        ParameterError: another form, or parts that the vehicle has not.
    """
    result: ActuatorScript = {}
    for actuator in actuators_of(vehicle):
        try:
            rows = [(float(at), dict(parts)) for at, parts in content.get(actuator.name, ())]
            numbers = [float(x) for at, parts in rows for x in (at, *parts.values())]
            if not np.isfinite(numbers).all():
                raise ValueError('not finite')
        except (AttributeError, TypeError, ValueError):
            raise ParameterError(
                f'{name}: commands of {actuator.name} in its manifest have another form; '
                'expected [[time, {part: number}], …]'
            ) from None
        names = actuator.names(vehicle)
        if unknown := [p for _, parts in rows for p in parts if p not in names]:
            raise ParameterError(
                f'{name}: its manifest commands the {actuator.part} {unknown[0]!r} of another '
                f'vehicle; {expected_one_of(str(unknown[0]), names)}'
            )
        if actuator.name in content:
            result[actuator.name] = rows
    return result


def _repeated_commands(
    collector: MotionCollector, vehicle: Vehicle, first: int, scripted: Collection[str]
) -> ActuatorScript:
    """Return recorded commands where they change, or states that repeat a run as commands.

    Args:
        scripted: actuators whose commands are known, unless a controller's were recorded.

    Raises:
        ParameterError: a state of another number of parts.
    """
    result = {}
    for actuator in actuators_of(vehicle):
        names = actuator.names(vehicle)
        found = _commanded(collector, actuator, first, len(names))
        if found is None and actuator.repeats and actuator.name not in scripted:
            found = _states(collector, actuator, vehicle, first)
        if found is None:
            continue
        rows = found.state[:, : len(names)]
        changed = np.concatenate([[True], np.any(rows[1:] != rows[:-1], axis=1)])
        parts = (dict(zip(names, map(float, row), strict=True)) for row in rows[changed])
        result[actuator.name] = list(zip(found.time[changed].tolist(), parts, strict=True))
    return result


def _commanded(
    collector: MotionCollector, actuator: Actuator, first: int, count: int
) -> RecordedStates | None:
    """Return the commands of a steered actuator to all its parts; None: not recorded."""
    recorded = collector.get(actuator.command_topic) if actuator.steered else None
    if recorded is None or recorded[1].shape[1] != count or not np.isfinite(recorded[1]).all():
        return None
    stamps, rows = recorded
    order = np.argsort(stamps, kind='stable')
    return RecordedStates((stamps[order] - first) / NANOSECONDS, rows[order])


def _segments(
    time: np.ndarray, pulses: np.ndarray, repeated: ActuatorScript
) -> tuple[Segment, ...]:
    """Return a segment for each change; before the first, or from 0 on, the thrusters rest."""
    begun = np.searchsorted(time, 0.0, side='right') - 1
    if begun >= 0:  # what was sent last before the start holds there
        time, pulses = time[begun:].copy(), pulses[begun:]
        time[0] = 0.0
    changed = np.concatenate([[True], np.any(pulses[1:] != pulses[:-1], axis=1)])
    rows = [*zip(time[changed].tolist(), map(tuple, pulses[changed].tolist()), strict=True)]
    if rows[0][0] > 0.0:
        rows.insert(0, (0.0, (float(PWM_NEUTRAL),) * pulses.shape[1]))
    commands: dict[float, dict[str, Mapping[str, float]]] = {at: {} for at, _ in rows}
    for name, changes in repeated.items():
        for at, parts in changes:
            commands.setdefault(max(at, 0.0), {})[name] = parts
    starts = [at for at, _ in rows]
    return tuple(
        Segment(at, _STICKS, None, rows[bisect_right(starts, at) - 1][1], actuators=commands[at])
        for at in sorted(commands)
    )


_QUANTITIES = {
    'x': slice(0, 1), 'y': slice(1, 2), 'height': slice(2, 3), 'attitude': slice(3, 7),
    'surge and sway': slice(7, 9), 'heave': slice(9, 10), 'turn rates': slice(10, 13),
}  # fmt: skip


def _first_numbers(time: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the first number of each column (13,) in the first seconds; NaN where it has none.

    A log tells attitude and height by messages of their own, of which one is first.
    """
    order = np.argsort(time, kind='stable')
    early = rows[order][time[order] - time[order[0]] <= START_SPAN]
    known = np.isfinite(early)
    first = early[known.argmax(axis=0), np.arange(early.shape[1])]
    return np.where(known.any(axis=0), first, np.nan)


def _start(
    row: np.ndarray | None, notes: list[str]
) -> tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, ...]]:
    """Return position, roll, pitch and yaw, and velocity of an odometry; 0 where unknown."""
    if row is None:
        notes.append('there is no odom: the model begins at rest at the surface')
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0,) * 6
    finite = np.isfinite(row)
    missing = [name for name, part in _QUANTITIES.items() if not finite[part].all()]
    if missing:
        notes.append(f'odom does not have {", ".join(missing)}: 0 at the start of the model')
    filled = np.where(finite, row, 0.0)
    has_attitude = finite[3:7].all() and abs(float(np.linalg.norm(row[3:7])) - 1) < 0.1
    rpy = rpy_from_quaternion(row[3:7]) if has_attitude else np.zeros(3)
    x, y, z = map(float, filled[:3])
    roll, pitch, yaw = map(float, rpy)
    return (x, y, z), (roll, pitch, yaw), tuple(map(float, filled[7:13]))


# Simulated run with sensor errors, to test what a fit can find.


@dataclass(frozen=True)
class OdometryNoise:
    """Standard deviations of white noise on every sample.

    Attributes:
        position: m.
        attitude: rad.
        linear: m/s, as of a Doppler log.
        angular: rad/s, as of cheap gyros.
    """

    position: float = 0.02
    attitude: float = 0.003
    linear: float = 0.02
    angular: float = 0.01


def noisy_odometry(run: Trajectory, seed: int, noise: OdometryNoise | None = None) -> np.ndarray:
    """Return odometry (n, 13): position, quaternion x y z w, body velocity, each with noise."""
    noise = noise or OdometryNoise()
    rng, n = np.random.default_rng(seed), len(run.stamp)
    attitude_error = rotation_vector_quaternion(rng.normal(0, noise.attitude, (n, 3)))
    return np.column_stack(
        [
            run.position + rng.normal(0, noise.position, (n, 3)),
            quaternion_product(run.orientation, attitude_error),
            run.velocity[:, :3] + rng.normal(0, noise.linear, (n, 3)),
            run.velocity[:, 3:] + rng.normal(0, noise.angular, (n, 3)),
        ]
    )
