# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Steering: steady turns under published commands, and IMO's turning circle and zigzag of vessels.

Source of the standard manoeuvres: IMO resolution MSC.137(76), Standards for ship manoeuvrability.
A vessel without rudders steers by its thrusters: the helm is the stick of yaw.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from marine_sim_ros.control.controllability import BODY_AXES
from marine_sim_ros.control.stick_mixing import PilotMixer
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.registry import ACTUATORS
from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.core.yaml_file import YamlReader
from marine_sim_ros.model.propellers import PWM_MAX, PWM_MIN
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import actuators_of
from marine_sim_ros.sim.simulation import Simulation
from marine_sim_ros.validation.rest import (
    DEPTH,
    STILL,
    Measurement,
    find_equilibrium,
    floats_at_surface,
)

__all__ = ['STEERED_QUANTITIES', 'SteeredCommand', 'VESSEL_MANOEUVRES', 'read_steered_command']

_STEP, _ZIGZAG_STEP = 0.04, 0.02
"""s; the helm of a zigzag moves at a tick, so its overshoot depends on the step."""


# Steady motion under a constant command of thrusters and actuators, as a source prints it.


@dataclass(frozen=True)
class SteeredCommand:
    """Constant command.

    Attributes:
        pwm: pulse width of each thruster, µs.
        actuators: commanded numbers by part, by the key of the actuator.
        speed: surge speed at the start, m/s.
        start: s; what comes before is left out of the means.
        end: end of the run, s.
        label: short description for titles.
    """

    pwm: tuple[float, ...]
    actuators: tuple[tuple[str, tuple[tuple[str, float], ...]], ...]
    speed: float
    start: float
    end: float
    label: str


def read_steered_command(item: YamlReader) -> SteeredCommand:
    """Read ``{pwm: […], KEY: {…}, speed: 1.1, from: 30, to: 60, label: …}``, KEY of an actuator.

    Raises:
        ParameterError: something unknown, missing or out of range.
    """
    kinds = {actuator.key: actuator for actuator in ACTUATORS.entries}
    item.mapping({'pwm', 'speed', 'from', 'to', 'label', *kinds}, {'label'})
    actuators = tuple(
        (key, tuple(kind.read_commands(item.child(key)).items()))
        for key, kind in kinds.items()
        if key in item.value
    )
    start = item.child('from', 30.0).number(0.0, 3600.0)
    return SteeredCommand(
        tuple(pulse.number(PWM_MIN, PWM_MAX) for pulse in item.child('pwm', []).items()),
        actuators,
        item.child('speed', 0.0).number(0.0, 50.0),
        start,
        item.child('to', 60.0).number(start + 1.0, 3600.0),
        item.child('label').text(),
    )


def _start(vehicle: Vehicle, speed: float) -> State:
    """Return a straight course at a speed: deep, or as the vehicle floats."""
    state = state_at_rest((0.0, 0.0, -DEPTH))
    if floats_at_surface(vehicle):
        found = find_equilibrium(vehicle)
        if found is not None:
            state = found.state()
    return state._replace(velocity=speed * np.eye(6)[0])


class _SteadyTurn(NamedTuple):
    """Mean speed and sink rate, m/s, and turning rate, rad/s, positive to port."""

    speed: float
    sink: float
    rate: float


@lru_cache(maxsize=64)
def _steady_turn(vehicle: Vehicle, command: SteeredCommand) -> _SteadyTurn:
    """Return the means of a run under a constant command.

    Raises:
        ParameterError: it commands parts that the vehicle does not have.
    """
    if len(command.pwm) != len(vehicle.thrusters):
        raise ParameterError(
            f'{command.label}: has {len(command.pwm)} pulse widths; expected one for each of the '
            f'{len(vehicle.thrusters)} thrusters of {vehicle.name}'
        )
    wanted = {key: dict(parts) for key, parts in command.actuators}
    commands = {}
    for actuator in actuators_of(vehicle):
        parts = wanted.pop(actuator.key, {})
        names = actuator.names(vehicle)
        if unknown := sorted(set(parts) - set(names)):
            raise ParameterError(
                f'{command.label}: {unknown[0]!r} is unknown; expected some of {", ".join(names)}'
            )
        commands[actuator.name] = np.array([parts.get(n, actuator.rest) for n in names])
    if wanted:
        raise ParameterError(f'{command.label}: {vehicle.name} has no {", ".join(wanted)}')
    simulation = Simulation(
        vehicle, initial=_start(vehicle, command.speed), environment=STILL, dt=_STEP
    )
    pwm, speeds, depths, headings = np.array(command.pwm), [], [], []
    for k in range(round(command.end / _STEP) + 1):
        out = simulation.tick(pwm, commands)
        if k * _STEP >= command.start - 1e-9:
            speeds.append(float(np.linalg.norm(out.state.velocity[:3])))
            depths.append(-float(out.state.position[2]))
            headings.append(float(rpy_from_quaternion(out.state.orientation)[2]))
    turned = np.unwrap(headings)
    seconds = _STEP * (len(turned) - 1)
    rate, sink = (turned[-1] - turned[0]) / seconds, (depths[-1] - depths[0]) / seconds
    return _SteadyTurn(float(np.mean(speeds)), sink, float(rate))


def _steered_speed(vehicle: Vehicle, command: SteeredCommand) -> Measurement:
    return Measurement(
        f'steady speed, {command.label}', 'm/s', _steady_turn(vehicle, command).speed
    )


_STRAIGHT = 1e-4
"""rad/s below which there is no radius."""


def _steered_radius(vehicle: Vehicle, command: SteeredCommand) -> Measurement:
    turn = _steady_turn(vehicle, command)
    title = f'turning radius, {command.label}'
    if abs(turn.rate) < _STRAIGHT:
        return Measurement(title, 'm', None, 'it does not turn')
    return Measurement(title, 'm', turn.speed / abs(turn.rate))


def _sink_rate(vehicle: Vehicle, command: SteeredCommand) -> Measurement:
    sink = _steady_turn(vehicle, command).sink
    return Measurement(f'sink rate, {command.label}', 'm/s', sink)


def _glide_angle(vehicle: Vehicle, command: SteeredCommand) -> Measurement:
    turn = _steady_turn(vehicle, command)
    title = f'glide angle, {command.label}'
    if turn.speed <= abs(turn.sink):
        return Measurement(title, '°', None, 'it does not glide')
    return Measurement(title, '°', math.degrees(math.asin(turn.sink / turn.speed)))


STEERED_QUANTITIES: dict[str, Callable[[Vehicle, SteeredCommand], Measurement]] = {
    'steered_speed': _steered_speed,
    'steered_radius': _steered_radius,
    'sink_rate': _sink_rate,
    'glide_angle': _glide_angle,
}
"""Quantities of a published value with a ``command``: name -> measurement of a vehicle."""


# Standard manoeuvres of vessels: turning circle and zigzag.

_AHEAD = 0.5
"""Effort ahead, so that thrusters can steer."""
_APPROACH, _CIRCLE, _ZIGZAG = 60.0, 300.0, 120.0
"""s of the approach, and longest duration of the manoeuvres."""
_ZIGZAG_HELM = 10 / 35
"""Helm of the 10°/10° zigzag, as a fraction of hard over (35°)."""
_ZIGZAG_HEADING = math.radians(10.0)


_SURGE, _YAW = (1.0 * (np.array(BODY_AXES) == axis) for axis in ('surge', 'yaw'))


class _Helm:
    """Vessel under way, steered by a helm from −1 (hard to starboard) to 1 (to port)."""

    def __init__(self, vehicle: Vehicle, step: float) -> None:
        self._mixer = PilotMixer(vehicle.thrusters)
        self._simulation = Simulation(
            vehicle, initial=_start(vehicle, 0.0), environment=STILL, dt=step
        )
        self._turned, self._last = 0.0, 0.0

    def tick(self, helm: float) -> tuple[State, float]:
        """Return the state of the next tick, and the heading turned since the start, rad."""
        efforts = _AHEAD * (_SURGE + helm * _YAW)
        state = self._simulation.tick(self._mixer.pwm(efforts)).state
        yaw = float(rpy_from_quaternion(state.orientation)[2])
        self._turned += math.remainder(yaw - self._last, math.tau)
        self._last = yaw
        return state, self._turned


def _steers(vehicle: Vehicle) -> str:
    """Return the reason why a vehicle has no standard manoeuvres, or an empty text."""
    if not floats_at_surface(vehicle):
        return 'not a vessel'
    reachable = PilotMixer(vehicle.thrusters).reachable
    missing = [axis for axis in ('surge', 'yaw') if axis not in reachable]
    return f'no stick of {" and ".join(missing)}' if missing else ''


class _Circle(NamedTuple):
    """Turning circle with hard-over helm to starboard; NaN where it was not reached.

    Attributes:
        approach: speed of the approach, m/s.
        advance: way ahead until the heading has changed by 90°, m.
        transfer: way to the side until then, m.
        tactical_diameter: way to the side until 180°, m.
        steady_diameter: from 270° to 360°, m.
    """

    approach: float
    advance: float
    transfer: float
    tactical_diameter: float
    steady_diameter: float


@lru_cache(maxsize=16)
def _turning_circle(vehicle: Vehicle) -> _Circle:
    vessel = _Helm(vehicle, _STEP)
    state, before = vessel.tick(0.0)
    for _ in range(round(_APPROACH / _STEP)):
        state, before = vessel.tick(0.0)
    approach = float(np.linalg.norm(state.velocity[:2]))
    course, origin = before, state.position[:2]
    ahead = np.array([math.cos(course), math.sin(course)])
    starboard = np.array([ahead[1], -ahead[0]])
    found: dict[float, np.ndarray] = {}
    speeds, late = [], []
    for k in range(round(_CIRCLE / _STEP)):
        state, turned = vessel.tick(-1.0)
        change = math.degrees(before - turned)
        for angle in (90.0, 180.0, 270.0, 360.0):
            if change >= angle and angle not in found:
                found[angle] = state.position[:2] - origin
        if change >= 270.0:
            speeds.append(float(np.linalg.norm(state.velocity[:2])))
            late.append((k * _STEP, math.radians(change)))
        if change >= 360.0:
            break
    nan = np.full(2, math.nan)
    quarter, half = found.get(90.0, nan), found.get(180.0, nan)
    steady = math.nan
    if 360.0 in found:
        rate = (late[-1][1] - late[0][1]) / (late[-1][0] - late[0][0])
        steady = 2 * float(np.mean(speeds)) / rate
    return _Circle(
        approach,
        float(quarter @ ahead),
        float(quarter @ starboard),
        float(half @ starboard),
        steady,
    )


def _circle_quantity(vehicle: Vehicle, name: str, title: str) -> Measurement:
    title, unit = f'turning circle, {title}', 'm/s' if name == 'approach' else 'm'
    if reason := _steers(vehicle):
        return Measurement(title, unit, None, reason)
    value = getattr(_turning_circle(vehicle), name)
    if math.isnan(value):
        return Measurement(title, unit, None, f'not reached in {_CIRCLE:g} s')
    return Measurement(title, unit, value)


@lru_cache(maxsize=16)
def _zigzag(vehicle: Vehicle) -> tuple[float, float]:
    """Return the first and second overshoot angles of the 10°/10° zigzag, °; NaN: not reached."""
    vessel = _Helm(vehicle, _ZIGZAG_STEP)
    for _ in range(round(_APPROACH / _ZIGZAG_STEP)):
        _, course = vessel.tick(0.0)
    overshoots: list[float] = []
    side, extreme = -1.0, 0.0  # first to starboard: heading decreases
    for _ in range(round(_ZIGZAG / _ZIGZAG_STEP)):
        _, turned = vessel.tick(side * _ZIGZAG_HELM)
        change = turned - course
        extreme = min(extreme, change) if side > 0 else max(extreme, change)
        if side * change >= _ZIGZAG_HEADING:  # executes the next helm
            if len(overshoots) < 3:
                overshoots.append(math.degrees(abs(extreme)) - 10.0)
            side, extreme = -side, change
        if len(overshoots) == 3:
            break
    first, second = (*overshoots[1:], math.nan, math.nan)[:2]
    return first, second


def _zigzag_quantity(vehicle: Vehicle, number: int) -> Measurement:
    title = f'10°/10° zigzag, {("first", "second")[number]} overshoot'
    if reason := _steers(vehicle):
        return Measurement(title, '°', None, reason)
    value = _zigzag(vehicle)[number]
    if math.isnan(value):
        return Measurement(title, '°', None, f'not reached in {_ZIGZAG:g} s')
    return Measurement(title, '°', value)


VESSEL_MANOEUVRES: dict[str, Callable[[Vehicle], Measurement]] = {
    'circle_approach_speed': partial(_circle_quantity, name='approach', title='approach speed'),
    'circle_advance': partial(_circle_quantity, name='advance', title='advance'),
    'circle_transfer': partial(_circle_quantity, name='transfer', title='transfer'),
    'circle_tactical_diameter': partial(
        _circle_quantity, name='tactical_diameter', title='tactical diameter'
    ),
    'circle_steady_diameter': partial(
        _circle_quantity, name='steady_diameter', title='steady diameter'
    ),
    'zigzag_first_overshoot': partial(_zigzag_quantity, number=0),
    'zigzag_second_overshoot': partial(_zigzag_quantity, number=1),
}
"""Name -> measurement of a vessel; others have no value."""
