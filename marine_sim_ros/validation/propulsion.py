# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Vehicle under stick commands: bollard thrust and power, speeds, turn rates, stick steps.

The stick is that of ArduSub's manual mode, as in the tank: every motor of an axis at the same
pulse width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from marine_sim_ros.control.controllability import BODY_AXES, controllability
from marine_sim_ros.control.stick_mixing import ardusub_manual_pwm
from marine_sim_ros.core.spatial import rotation_matrix, rpy_from_quaternion, up_in_body
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.model.propellers import PWM_MAX, PWM_MIN, PWM_NEUTRAL
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.simulation import Simulation
from marine_sim_ros.validation.rest import (
    DEPTH,
    DIRECTIONS,
    Measurement,
    axis_reachable,
    find_equilibrium,
    floats_at_surface,
    natural_period,
    steady_thrust,
    stick_pulses,
    still_water_wrench,
)

__all__ = [
    'EFFORTS',
    'STICK_MANOEUVRES',
    'bollard_power',
    'bollard_thrust',
    'held_speed',
    'largest_tilt',
    'single_thrust',
    'steady_speed',
    'stick_answer',
    'vertical_terminal_speed',
]


# Bollard pull: thrust and electrical power at full stick, with the vehicle held in place.

_START = state_at_rest((0.0, 0.0, -DEPTH))


def bollard_thrust(vehicle: Vehicle, axis: str, sense: float) -> Measurement:
    """Return the force or moment of one axis about ``base_link`` with its stick full over.

    The stick is mixed as the operator's is, so that its busiest thruster is at 1100 or 1900 µs.

    Args:
        vehicle: a vehicle as :mod:`marine_sim_ros.model.library` loads it.
        axis: one of AXES.
        sense: 1.0 or −1.0 (FLU).
    """
    title, unit = _title('bollard thrust', axis, sense), 'N' if axis in BODY_AXES[:3] else 'N·m'
    if not axis_reachable(vehicle, axis):
        return Measurement(title, unit, None, 'out of reach of the thrusters')
    output = steady_thrust(vehicle, _START, stick_pulses(vehicle, axis, sense))
    alone = (
        axis not in controllability(vehicle.thrusters, vehicle.inertia.center_of_mass).unreachable
    )
    note = '' if alone else 'not without other axes'
    return Measurement(title, unit, sense * float(output.wrench[BODY_AXES.index(axis)]), note)


def bollard_power(vehicle: Vehicle, axis: str, sense: float) -> Measurement:
    """Return the electrical power of all thrusters with one stick full over, at a bollard."""
    title = _title('power', axis, sense)
    if not axis_reachable(vehicle, axis):
        return Measurement(title, 'W', None, 'out of reach of the thrusters')
    output = steady_thrust(vehicle, _START, stick_pulses(vehicle, axis, sense))
    total = float(np.sum(output.power))
    if total == 0.0:
        return Measurement(title, 'W', None, 'its thrusters have no curve of power')
    return Measurement(title, 'W', total)


def single_thrust(vehicle: Vehicle, sense: float) -> Measurement:
    """Return the most that one thruster makes at 1900 µs (sense 1.0) or 1100 µs (−1.0)."""
    title = f'one thruster, {"forward" if sense > 0 else "reverse"}'
    if not len(vehicle.thrusters):
        return Measurement(title, 'N', None, 'has no thrusters')
    pulses = np.full(len(vehicle.thrusters), PWM_MAX if sense > 0 else PWM_MIN)
    return Measurement(title, 'N', float(np.max(sense * vehicle.thrusters.thrust_of_pwm(pulses))))


def _title(what: str, axis: str, sense: float) -> str:
    return f'{what}, {axis} {DIRECTIONS[axis][sense < 0].replace("_", " ")}'


# Steady speeds at full stick with the other axes held; and free, without thrust.

_FIRST_STEP, _GROWTH, _MAX_STEPS = 0.05, 1.3, 200
_SETTLED = 1e-9
_MAX_DURATION, _WINDOW, _CHANGE = 120.0, 2.0, 1e-3


def held_speed(vehicle: Vehicle, axis: str, effort: float) -> float | None:
    """Return the steady speed (m/s or rad/s) along one body axis, the other five held at rest.

    M_ii dν/dt = τ_i(ν), from rest, with linearly implicit steps Δν = Δt τ/(M_ii − Δt ∂τ/∂ν) that
    grow, as only the end matters. Level and deep, or as the vehicle floats.

    Args:
        vehicle: a vehicle as :mod:`marine_sim_ros.model.library` loads it.
        axis: one of AXES.
        effort: stick effort of the axis, −1 to 1 (FLU).

    Returns:
        None where nothing brakes it.
    """
    i = BODY_AXES.index(axis)
    still = state_at_rest((0.0, 0.0, -DEPTH))
    if floats_at_surface(vehicle):
        found = find_equilibrium(vehicle)
        if found is None:
            return None
        still = found.state()
    pwm, mass = stick_pulses(vehicle, axis, effort), vehicle.mass_matrix[i, i]
    unit = np.eye(6)[i]

    def force(speed: float) -> float:
        return float(still_water_wrench(vehicle, still._replace(velocity=speed * unit), pwm)[i])

    speed, step = 0.0, _FIRST_STEP
    first = force(speed)
    for _ in range(_MAX_STEPS):
        here = force(speed)
        if abs(here) <= _SETTLED * abs(first):
            return speed
        nudge = 1e-6 * max(1.0, abs(speed)) * math.copysign(1.0, here)
        slope = min((force(speed + nudge) - here) / nudge, 0.0)
        speed += step * here / (mass - step * slope)
        step *= _GROWTH
    return speed if abs(force(speed)) <= 1e-4 * abs(first) else None


def steady_speed(vehicle: Vehicle, axis: str, sense: float) -> Measurement:
    """Return the top speed of one axis, or the rate of turn, with the stick full over."""
    turning = axis in BODY_AXES[3:]
    way = DIRECTIONS[axis][sense < 0].replace('_', ' ')
    title = f'turning rate, {way}' if turning else f'top speed, {axis} {way}'
    unit = 'deg/s' if turning else 'm/s'
    if not axis_reachable(vehicle, axis):
        return Measurement(title, unit, None, 'out of reach of the thrusters')
    speed = held_speed(vehicle, axis, sense)
    if speed is None:
        return Measurement(title, unit, None, 'does not settle')
    value = sense * (math.degrees(speed) if turning else speed)
    note = '' if value > 0 else 'thrust is less than net buoyancy'
    return Measurement(title, unit, value, note)


def vertical_terminal_speed(vehicle: Vehicle) -> Measurement:
    """Return the vertical speed, upwards, of a vehicle left alone at depth, free in six axes.

    It starts in its attitude of rest and is judged when the mean of a window of two seconds
    differs from that of the window before by less than a thousandth.
    """
    title = 'terminal speed without thrust, up'
    start = find_equilibrium(vehicle)
    if floats_at_surface(vehicle):
        return Measurement(title, 'm/s', None, 'a surface vehicle')
    if start is None:
        return Measurement(title, 'm/s', None, 'has no attitude of rest')
    periods = [p for p in (natural_period(vehicle, a) for a in ('roll', 'pitch')) if p]
    dt = min([0.05, *(p / 40 for p in periods)])
    simulation = Simulation(vehicle, initial=start.state(), dt=dt)
    pwm = np.full(len(vehicle.thrusters), PWM_NEUTRAL)
    count, before, total = math.ceil(_WINDOW / dt), math.inf, 0.0
    for i in range(1, math.ceil(_MAX_DURATION / dt) + 1):
        simulation.tick(pwm)
        total += _climb(simulation.state)
        if i % count == 0:
            mean, total = total / count, 0.0
            if abs(mean - before) <= _CHANGE * abs(mean):
                note = 'rises' if mean > 0 else 'sinks'
                return Measurement(title, 'm/s', _climb(simulation.state), note)
            before = mean
    return Measurement(title, 'm/s', None, f'does not settle in {_MAX_DURATION:g} s')


def _climb(state: State) -> float:
    return float((rotation_matrix(state.orientation) @ state.velocity[:3])[2])


# Full ahead without steering: stability of the upright attitude.

_FREE_RUN_DURATION = 10.0
_OVER = 90.0


def largest_tilt(vehicle: Vehicle) -> Measurement:
    """Return the largest angle from upright in ten seconds of full ahead, free in six axes.

    From rest, with the stick of surge full over and the others let go. Drag, thrust and buoyancy
    do not act on one line, and added mass turns a vehicle across its way (the Munk moment).
    """
    title = 'largest tilt, full ahead and free'
    start = find_equilibrium(vehicle)
    if start is None:
        return Measurement(title, 'deg', None, 'has no attitude of rest')
    if not axis_reachable(vehicle, 'surge'):
        return Measurement(title, 'deg', None, 'out of reach of the thrusters')
    periods = [p for p in (natural_period(vehicle, a) for a in ('roll', 'pitch')) if p]
    dt = min([0.02, *(p / 40 for p in periods)])
    simulation = Simulation(vehicle, initial=start.state(), dt=dt)
    pwm, upright = stick_pulses(vehicle, 'surge', 1.0), 1.0
    for _ in range(math.ceil(_FREE_RUN_DURATION / dt)):
        simulation.tick(pwm)
        upright = min(upright, float(up_in_body(simulation.state.orientation)[2]))
    tilt = math.degrees(math.acos(max(upright, -1.0)))
    return Measurement(title, 'deg', tilt, 'turns over' if tilt > _OVER else '')


# Partial stick on one axis, free in six axes: speed, attitude, cross-coupling.

EFFORTS = {'25': 0.25, '50': 0.5, '62': 0.625, '75': 0.75}
"""Of the stick, in % of its way."""
_DURATION, _MEAN, _STEP = 4.0, 1.0, 0.04


class Answer(NamedTuple):
    """Means over the last second of a step of a stick.

    Attributes:
        velocity: (6,) body, m/s and rad/s.
        roll: deg.
        pitch: deg, bow down.
    """

    velocity: np.ndarray
    roll: float
    pitch: float


@lru_cache(maxsize=128)
def stick_answer(vehicle: Vehicle, axis: str, effort: float) -> Answer | None:
    """Return the response of a vehicle to a stick four seconds after rest; None without one."""
    start = find_equilibrium(vehicle)
    if start is None or not axis_reachable(vehicle, axis):
        return None
    simulation = Simulation(vehicle, initial=start.state(), dt=_STEP)
    pwm = ardusub_manual_pwm(vehicle.thrusters, effort * (np.array(BODY_AXES) == axis))
    total = np.zeros(8)
    steps, counted = round(_DURATION / _STEP), round(_MEAN / _STEP)
    for i in range(steps):
        simulation.tick(pwm)
        if i >= steps - counted:
            state = simulation.state
            angles = np.degrees(rpy_from_quaternion(state.orientation)[:2])
            total += np.concatenate([state.velocity, angles]) / counted
    return Answer(total[:6], float(total[6]), float(total[7]))


def _speed(found: Answer, axis: str) -> float:
    return abs(float(found.velocity[BODY_AXES.index(axis)]))


QUANTITIES: dict[str, tuple[str, str, Callable[[Answer, str], float]]] = {
    'speed': ('speed', '', _speed),
    'pitch': ('bow up', 'deg', lambda found, axis: -found.pitch),
    'roll': ('roll', 'deg', lambda found, axis: found.roll),
    'yaw_rate': ('yaw rate', 'rad/s', lambda found, axis: float(found.velocity[5])),
}
"""Name -> title, unit (empty: that of the axis), and the number."""


def _measure_answer(
    vehicle: Vehicle, axis: str, way: str, effort: str, quantity: str
) -> Measurement:
    sense = 1.0 if DIRECTIONS[axis][0] == way else -1.0
    title, unit, number = QUANTITIES[quantity]
    found = stick_answer(vehicle, axis, sense * EFFORTS[effort])
    percent = f'{100 * EFFORTS[effort]:g}'
    title = f'{axis} {way.replace("_", " ")}, stick at {percent} %, {title}'
    unit = unit or ('m/s' if BODY_AXES.index(axis) < 3 else 'rad/s')
    if found is None:
        return Measurement(title, unit, None, 'out of reach of the thrusters')
    value = number(found, axis)
    return Measurement(title, unit, value if math.isfinite(value) else None)


def _stick_manoeuvres() -> Iterator[tuple[str, Callable[[Vehicle], Measurement]]]:
    for axis, ways in DIRECTIONS.items():
        for way in ways:
            for effort in EFFORTS:
                for quantity in QUANTITIES:
                    name = f'stick_{axis}_{way}_{effort}_{quantity}'
                    yield (
                        name,
                        partial(
                            _measure_answer, axis=axis, way=way, effort=effort, quantity=quantity
                        ),
                    )


STICK_MANOEUVRES = dict(_stick_manoeuvres())
"""Name -> measurement, such as ``stick_surge_ahead_50_pitch``."""
