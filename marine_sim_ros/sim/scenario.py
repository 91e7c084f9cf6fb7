# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Scenarios: scripted commands, start pose, faults and expected depths of a run."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from marine_sim_ros.control.controllability import BODY_AXES
from marine_sim_ros.control.controller_model import ATTITUDE, SETPOINT_QUANTITIES, make_setpoints
from marine_sim_ros.control.stick_mixing import PilotMixer
from marine_sim_ros.core.arrays import Array, namespace
from marine_sim_ros.core.errors import ParameterError, ScenarioError, expected_one_of
from marine_sim_ros.core.geodesy import GeographicPosition
from marine_sim_ros.core.registry import ACTUATORS
from marine_sim_ros.core.schema import (
    REQUIRED,
    declaration,
    fields_of,
    nested,
    number,
    special,
    text,
)
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.core.yaml_file import ConfigFiles, YamlReader
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.faults.fault_types import Fault, read_fault, unsuited_fault
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.actuator import Actuator

__all__ = [
    'MAX_ANGLE',
    'MAX_DISTANCE',
    'Scenario',
    'Segment',
    'depth_effort',
    'end_of_ticks',
    'load_scenario',
]


MAX_DISTANCE, MAX_ANGLE = 1e6, float(np.round(2 * np.pi, 6))
"""Bounds of an initial position, m, and of its roll, pitch and yaw, rad."""


@dataclass(frozen=True)
class Segment:
    """Commands from a start time on.

    Attributes:
        start: s.
        efforts: six stick efforts, −1 to 1 (FLU).
        depth: depth that the heave axis holds, m, or None.
        pwm: pulse widths for every thruster instead of efforts, or None.
        control: set-points (12,) for the controller instead of efforts, or None.
        actuators: commands by actuator and part; other parts keep their last command.
        geographic: position of the set-points x, y and z, until the scenario is located.
    """

    start: float
    efforts: tuple[float, ...]
    depth: float | None
    pwm: tuple[float, ...] | None
    control: np.ndarray | None = None
    actuators: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    geographic: GeographicPosition | None = None


_NUMBER_BOUND = 1e9
"""Bound of times and depths, s and m."""


@declaration(frozen=True)
class Expectation:
    """Depth range that must be met during a time interval."""

    start: float = number(REQUIRED, -_NUMBER_BOUND, _NUMBER_BOUND, 's', 'start', name='from')
    end: float = number(REQUIRED, -_NUMBER_BOUND, _NUMBER_BOUND, 's', 'end', name='to')
    depth: tuple[float, float] = number(
        REQUIRED, -_NUMBER_BOUND, _NUMBER_BOUND, 'm', 'least and greatest depth', size=2
    )


def _read_position(item: YamlReader) -> tuple[float, float, float] | GeographicPosition:
    if isinstance(item.value, dict):
        return item.read(GeographicPosition)
    x, y, z = item.vector(-MAX_DISTANCE, MAX_DISTANCE).tolist()
    return x, y, z


@declaration(frozen=True)
class Report:
    """What the pilot reports at a time, for tasks of missions."""

    time: float = number(REQUIRED, 0.0, _NUMBER_BOUND, 's', 'time', name='at')
    target: str = text('name of the target', REQUIRED)


@declaration(frozen=True)
class InitialPose:
    """Pose at the start of a scenario."""

    position: tuple[float, float, float] | GeographicPosition = special(
        _read_position, (0.0, 0.0, 0.0), 'position in map, or latitude, longitude and depth',
        unit='m',
    )  # fmt: skip
    rpy: tuple[float, float, float] = special(
        YamlReader.angles, (0.0, 0.0, 0.0), 'roll, pitch and yaw', unit='rad'
    )


@dataclass(frozen=True)
class Scenario:
    """A scripted run.

    Attributes:
        name: name of the file.
        description: one line.
        duration: s.
        position: start, m, map.
        rpy: start attitude, rad.
        segments: segments in the order of their start.
        expectations: checked after the run.
        faults: faults of the run.
        controller: shipped name or path, for segments with set-points.
        voltage: of the supply of the thrusters, V; None: that of the run.
        velocity: at the start, body FLU, m/s and rad/s.
        geographic: start instead of ``position``, until the scenario is located.
        reports: what the pilot reports.
    """

    name: str
    description: str
    duration: float
    position: tuple[float, float, float]
    rpy: tuple[float, float, float]
    segments: tuple[Segment, ...]
    expectations: tuple[Expectation, ...]
    faults: tuple[Fault, ...] = ()
    controller: str = 'modern'
    voltage: float | None = None
    velocity: tuple[float, ...] = (0.0,) * 6
    geographic: GeographicPosition | None = None
    reports: tuple[Report, ...] = ()

    @property
    def closed_loop(self) -> bool:
        """Whether any segment needs the controller."""
        return any(segment.control is not None for segment in self.segments)

    def located(self, environment: Environment | None) -> Scenario:
        """Return the scenario with its geographic positions in ``map`` of an environment.

        Raises:
            ScenarioError: the environment has no origin, or a position is too far from it.
        """
        if not self._is_geographic:
            return self
        around = environment or Environment()

        def in_map(position: GeographicPosition, where: str) -> tuple[float, float, float]:
            if not around.has_origin:
                raise ScenarioError(
                    f'scenario {self.name}: {where} has a latitude, and environment '
                    f'{around.name or "(none)"} has no origin; expected one with '
                    '`origin: {latitude: …, longitude: …}`, or x and y'
                )
            try:
                return position.in_map(around.origin)
            except ParameterError as error:
                raise ScenarioError(f'scenario {self.name}: {where}: {error}') from None

        position, segments = self.position, list(self.segments)
        if self.geographic is not None:
            position = in_map(self.geographic, 'initial.position')
        for i, segment in enumerate(segments):
            if segment.geographic is not None and segment.control is not None:
                control = segment.control.copy()
                control[:2] = in_map(segment.geographic, f'segments[{i}].control')[:2]
                segments[i] = replace(segment, control=control, geographic=None)
        return replace(self, segments=tuple(segments), position=position, geographic=None)

    @property
    def _is_geographic(self) -> bool:
        """Whether positions are still given by latitude and longitude."""
        return self.geographic is not None or any(s.geographic is not None for s in self.segments)

    def initial_state(self) -> State:
        """Return the state that the run starts from."""
        quaternion = quaternion_from_rpy(*self.rpy)
        return State(np.array(self.position), quaternion, np.array(self.velocity))

    def reports_at(self, stamp: int, before: int) -> list[str]:
        """Return the pilot's reports at a tick.

        Args:
            stamp: of the tick, ns.
            before: of the tick before, ns; -1: there was none.
        """
        times = [(round(report.time * NANOSECONDS), report.target) for report in self.reports]
        return [target for time, target in times if before < time <= stamp]

    def segment_at(self, time: float) -> Segment:
        """Return the segment that is active at a time (s)."""
        count = bisect_right(self.segments, time, key=lambda segment: segment.start)
        return self.segments[max(count - 1, 0)]

    @property
    def waypoints(self) -> np.ndarray:
        """Positions (n, 3) of its set-points in map, m, in their order; z is NaN where free."""
        targets = [s.control[:3] for s in self.segments if s.control is not None]
        places = [t for t in targets if np.isfinite(t[:2]).all()]
        new = [i == 0 or not np.array_equal(p, places[i - 1]) for i, p in enumerate(places)]
        return np.array(places).reshape(-1, 3)[new]

    @cached_property
    def actuator_segments(self) -> tuple[Segment, ...]:
        """Segments that command actuators."""
        return tuple(s for s in self.segments if any(s.actuators.values()))

    def open_loop(self, time: float, state: State, mixer: PilotMixer) -> np.ndarray:
        """Return the pulse widths (n,) in µs for a time (s) and a state, without a controller."""
        segment = self.segment_at(time)
        if segment.pwm is not None:
            return np.array(segment.pwm)
        efforts = np.array(segment.efforts)
        if segment.depth is not None:
            rotation = rotation_matrix(state.orientation)
            climb_rate = float(rotation[2] @ state.velocity[:3])
            efforts[2] = depth_effort(-float(state.position[2]), climb_rate, segment.depth)
        return mixer.pwm(efforts)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about probably unintended set-points above the surface (z points up)."""
        high = [s for s in self.segments if s.control is not None and s.control[2] > 0]
        return tuple(
            f'scenario {self.name}: control.z is {s.control[2]:g} from {s.start:g} s, above the '
            f'surface, for z points up; expected z: {-s.control[2]:g} for that depth'
            for s in high
            if s.control is not None
        )

    def check(self, vehicle: Vehicle) -> None:
        """Raise ScenarioError when the scenario does not fit a vehicle."""
        if self._is_geographic:
            raise ScenarioError(
                f'scenario {self.name}: has positions by latitude and longitude; expected '
                'Scenario.located(environment) first'
            )
        if self.voltage is not None and vehicle.thrusters.voltage is None:
            raise ScenarioError(
                f'scenario {self.name}: has a supply of {self.voltage:g} V, and the vehicle was '
                f'read without; expected load_vehicle(..., voltage={self.voltage:g})'
            )
        self._check_names(vehicle)
        if reason := unsuited_fault(self.faults, vehicle):
            raise ScenarioError(f'scenario {self.name}: {reason}')

    def _check_names(self, vehicle: Vehicle) -> None:
        """Raise ScenarioError if a segment does not fit the vehicle's thrusters or actuators."""
        count = len(vehicle.thrusters)
        for segment in self.segments:
            if segment.pwm is not None and len(segment.pwm) != count:
                raise ScenarioError(
                    f'scenario {self.name}: the segment at {segment.start:g} s has '
                    f'{len(segment.pwm)} pulse widths; expected {count} for {vehicle.name}'
                )
        for name in dict.fromkeys(n for s in self.actuator_segments for n in s.actuators):
            if name not in ACTUATORS:
                raise ScenarioError(
                    f'scenario {self.name}: actuator {name!r} is unknown; '
                    f'{expected_one_of(name, ACTUATORS)}'
                )
            self._check_actuator(ACTUATORS[name], vehicle)

    def _check_actuator(self, actuator: Actuator, vehicle: Vehicle) -> None:
        """Raise ScenarioError if a segment commands parts that the vehicle does not have."""
        part_names = actuator.names(vehicle)
        named = [n for s in self.actuator_segments for n in s.actuators.get(actuator.name, ())]
        if named and not part_names and actuator.missing:
            missing = actuator.missing.format(vehicle=vehicle.name)
            raise ScenarioError(f'scenario {self.name}: {missing}')
        for name in named:
            if name not in part_names:
                raise ScenarioError(
                    f'scenario {self.name}: {actuator.part} {name!r} is unknown; expected one of '
                    f'those of {vehicle.name}: {", ".join(part_names) or "none"}'
                )

    def verdicts(
        self, time: np.ndarray, z: np.ndarray, end: float | None = None
    ) -> list[tuple[bool, str]]:
        """Return for each expectation whether it is met, and a message.

        Args:
            time: of ticks (n,), s.
            z: heights (n,), m.
            end: of the run, s; None: the last tick's interval ends it.
        """
        known = end_of_ticks(time) if end is None else end
        return self.verdicts_of(self.depth_ranges(time, z), known)

    def depth_ranges(self, time: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the smallest and largest depth (e, 2) in the interval of each expectation, m.

        Infinity and −infinity: no tick is in the interval.
        """
        result = np.full((len(self.expectations), 2), (np.inf, -np.inf))
        for i, e in enumerate(self.expectations):
            depth = -z[(time >= e.start - 1e-9) & (time <= e.end + 1e-9)]
            if len(depth):
                result[i] = depth.min(), depth.max()
        return result

    def verdicts_of(self, depth_ranges: np.ndarray, end: float) -> list[tuple[bool, str]]:
        """Return the verdicts of the :meth:`depth_ranges` (e, 2) of a run that ends at end (s).

        An expectation that no depth breaks is met only where the run lasts to the end of its
        interval.
        """
        result = []
        for e, (shallowest, deepest) in zip(self.expectations, depth_ranges, strict=True):
            requirement = 'depth within {:g} to {:g} m'.format(*e.depth)
            span = f'from {e.start:g} to {e.end:g} s'
            if shallowest > deepest:
                result.append((False, f'{requirement} {span}: the run ended before'))
                continue
            within = bool(shallowest >= e.depth[0] and deepest <= e.depth[1])
            text = f'{requirement} {span}: {shallowest:.2f} to {deepest:.2f} m'
            whole = e.end <= end + 1e-9
            result.append((within and whole, text + '; the run ended before' * (not whole)))
        return result


def end_of_ticks(time: np.ndarray) -> float:
    """Return the time (s) at which the interval of the last of ticks (n,) ends; −∞ without ticks.

    A duration that is no multiple of the step ends between two ticks.
    """
    if len(time) < 2:
        return float(time[-1]) if len(time) else -np.inf
    return float(time[-1] + 0.999 * (time[-1] - time[-2]))


def _read_pwm(item: YamlReader) -> tuple[float, ...]:
    return tuple(width.number(1100, 1900, 'µs') for width in item.items())


def _read_axes(item: YamlReader) -> tuple[float, ...]:
    item.mapping(set(BODY_AXES))
    return tuple(item.child(axis, 0.0).number(-1.0, 1.0) for axis in BODY_AXES)


_GEOGRAPHIC = frozenset(fields_of(GeographicPosition))


def _read_control(item: YamlReader) -> np.ndarray:
    given = item.mapping({*SETPOINT_QUANTITIES, *_GEOGRAPHIC})
    if not _GEOGRAPHIC.isdisjoint(given):
        item.mapping({*SETPOINT_QUANTITIES, *_GEOGRAPHIC}, {'latitude', 'longitude'})
        if twice := sorted({'x', 'y'} & set(given)) or ['z'] * ({'z', 'depth'} <= set(given)):
            raise item.error(
                f': has {" and ".join(twice)} beside latitude, longitude and depth; expected one '
                'of the two'
            )
    targets = {
        name: item.child(name).angle()
        if name in SETPOINT_QUANTITIES[ATTITUDE]
        else item.child(name).number(-1e4, 1e4)
        for name in given
        if name not in _GEOGRAPHIC
    }
    if 'depth' in given:
        targets['z'] = -item.field(fields_of(GeographicPosition)['depth'])
    return make_setpoints(targets)


@declaration(frozen=True, kw_only=True)
class _SegmentElement:
    """Commands of a segment, except those of actuators."""

    start: float = number(REQUIRED, 0.0, _NUMBER_BOUND, 's', 'start', name='at')
    efforts: tuple[float, ...] = special(
        _read_axes, (0.0,) * len(BODY_AXES), 'efforts, −1 to 1', name='axes'
    )
    depth: float | None = number(
        None, -_NUMBER_BOUND, _NUMBER_BOUND, 'm', 'depth that the heave axis holds'
    )
    pwm: tuple[float, ...] | None = special(_read_pwm, None, 'pulse widths', unit='µs')
    control: np.ndarray | None = special(_read_control, None, 'set-points')


def _read_segment(item: YamlReader) -> Segment:
    keys = {key.name for key in fields_of(_SegmentElement).values()}
    named = item.value if isinstance(item.value, dict) else ()
    actuators = ACTUATORS.of_extensions(map(str, named))
    if not keys.union(a.key for a in actuators).issuperset(named):
        actuators = ACTUATORS.entries  # the error names all that are expected
    item.mapping(keys.union(a.key for a in actuators), {'at'})
    if 'pwm' in item.value and ('axes' in item.value or 'depth' in item.value):
        raise item.error(': has pwm and axes or depth; expected one kind of command')
    values = item.values(_SegmentElement)
    if values['depth'] is not None and 'heave' in (item.value.get('axes') or ()):
        raise item.error(': has depth and axes.heave; both command the heave axis')
    steered = {a.key for a in actuators if a.steered}
    conflicting = sorted(set(item.value) & {'axes', 'depth', 'pwm', *steered})
    if 'control' in item.value and conflicting:
        raise item.error(
            f': has control and {" and ".join(conflicting)}, which the controller commands; '
            'expected one of the two'
        )
    commands = {
        actuator.name: actuator.read_commands(item.child(actuator.key))
        for actuator in actuators
        if actuator.key in item.value
    }
    control = item.child('control')
    position = None
    if isinstance(control.value, dict) and 'latitude' in control.value:
        position = GeographicPosition(**control.values(GeographicPosition, depth=0.0))
    return Segment(**values, actuators=commands, geographic=position)


@declaration(frozen=True, kw_only=True)
class _ScenarioElement:
    """Scenario file."""

    description: str = special(lambda r: str(r.value), '', 'one line')
    duration: float = number(REQUIRED, 1e-3, _NUMBER_BOUND, 's', 'duration')
    segments: tuple[Segment, ...] = nested(
        Segment, 'commands in the order of their start', default=REQUIRED, many=True,
        read=_read_segment,
    )  # fmt: skip
    initial: InitialPose = nested(InitialPose, 'pose at the start', default=InitialPose())
    expectations: tuple[Expectation, ...] = nested(
        Expectation, 'bands in which the depth has to be', name='expect', many=True
    )
    faults: tuple[Fault, ...] = nested(Fault, 'faults', many=True, read=read_fault)
    reports: tuple[Report, ...] = nested(Report, 'targets that the pilot reports', many=True)
    controller: str = special(lambda r: str(r.value), 'modern', 'shipped name or file')
    voltage: float | None = number(
        None, 1.0, 1e3, 'V', 'supply of the thrusters; by default that of their curves'
    )


def _read_scenario(root: YamlReader) -> Scenario:
    element = root.read(_ScenarioElement)
    if not element.segments:
        raise root.error(': segments is empty; expected at least one')
    if [s.start for s in element.segments] != sorted(s.start for s in element.segments):
        raise root.error(': segments are not in the order of their "at"')
    position = element.initial.position
    return Scenario(
        name=root.stem,
        description=element.description,
        duration=element.duration,
        position=(math.nan,) * 3 if isinstance(position, GeographicPosition) else position,
        geographic=position if isinstance(position, GeographicPosition) else None,
        rpy=element.initial.rpy,
        segments=element.segments,
        expectations=element.expectations,
        faults=element.faults,
        reports=element.reports,
        controller=element.controller,
        voltage=element.voltage,
    )


SCENARIOS = ConfigFiles('scenarios', _read_scenario, ScenarioError)
load_scenario, parse_scenario = SCENARIOS.load, SCENARIOS.parse


# Depth law of segments with ``depth``, in every engine.


def depth_effort(
    depth: Array, climb_rate: Array, target: Array, *, kp: float = 0.6, kd: float = 0.9
) -> Array:
    """Return a heave effort (−1 to 1, up is positive) that reaches and holds a depth.

    u = k_p (depth − target) − k_d ż.

    Args:
        depth: below the mean surface, m, down is positive.
        climb_rate: ż in ``map``, m/s.
        target: m, down is positive.
        kp: effort per metre.
        kd: effort per m/s.
    """
    effort = kp * (depth - target) - kd * climb_rate
    if isinstance(effort, int | float):  # a plain number stays one: its type is the caller's
        return min(max(effort, -1.0), 1.0)
    return namespace(effort).clip(effort, -1.0, 1.0)
