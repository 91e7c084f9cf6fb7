# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Steady speeds with a stick full over, held on one axis; and without thrust, free."""

from __future__ import annotations

import math

import numpy as np

from marine_sim_ros.control.allocation import AXES
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State, rest
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.thrusters import PWM_NEUTRAL
from marine_sim_ros.sim.simulation import Simulation
from marine_sim_ros.validation.balance import balance, floats
from marine_sim_ros.validation.decay import natural_period
from marine_sim_ros.validation.held import DEPTH, reachable, stick, wrench
from marine_sim_ros.validation.measurement import DIRECTIONS, Measurement

__all__ = ['held_speed', 'steady_speed', 'terminal_speed']

_FIRST_STEP, _GROWTH, _MOST_STEPS = 0.05, 1.3, 200
_SETTLED = 1e-9
_LONGEST, _WINDOW, _CHANGE = 120.0, 2.0, 1e-3


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
    i = AXES.index(axis)
    still = rest((0.0, 0.0, -DEPTH))
    if floats(vehicle):
        found = balance(vehicle)
        if found is None:
            return None
        still = found.state()
    pwm, mass = stick(vehicle, axis, effort), vehicle.mass_matrix[i, i]
    unit = np.eye(6)[i]

    def force(speed: float) -> float:
        return float(wrench(vehicle, still._replace(velocity=speed * unit), pwm)[i])

    speed, step = 0.0, _FIRST_STEP
    first = force(speed)
    for _ in range(_MOST_STEPS):
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
    turning = axis in AXES[3:]
    way = DIRECTIONS[axis][sense < 0].replace('_', ' ')
    title = f'turning rate, {way}' if turning else f'top speed, {axis} {way}'
    unit = 'deg/s' if turning else 'm/s'
    if not reachable(vehicle, axis):
        return Measurement(title, unit, None, 'out of reach of the thrusters')
    speed = held_speed(vehicle, axis, sense)
    if speed is None:
        return Measurement(title, unit, None, 'does not settle')
    value = sense * (math.degrees(speed) if turning else speed)
    note = '' if value > 0 else 'thrust is less than net buoyancy'
    return Measurement(title, unit, value, note)


def terminal_speed(vehicle: Vehicle) -> Measurement:
    """Return the vertical speed, upwards, of a vehicle left alone at depth, free in six axes.

    It starts in its attitude of rest and is judged when the mean of a window of two seconds
    differs from that of the window before by less than a thousandth.
    """
    title = 'terminal speed without thrust, up'
    start = balance(vehicle)
    if floats(vehicle):
        return Measurement(title, 'm/s', None, 'a surface vehicle')
    if start is None:
        return Measurement(title, 'm/s', None, 'has no attitude of rest')
    periods = [p for p in (natural_period(vehicle, a) for a in ('roll', 'pitch')) if p]
    dt = min([0.05, *(p / 40 for p in periods)])
    simulation = Simulation(vehicle, initial=start.state(), dt=dt)
    pwm = np.full(len(vehicle.thrusters), PWM_NEUTRAL)
    count, before, total = math.ceil(_WINDOW / dt), math.inf, 0.0
    for i in range(1, math.ceil(_LONGEST / dt) + 1):
        simulation.tick(pwm)
        total += _climb(simulation.state)
        if i % count == 0:
            mean, total = total / count, 0.0
            if abs(mean - before) <= _CHANGE * abs(mean):
                note = 'rises' if mean > 0 else 'sinks'
                return Measurement(title, 'm/s', _climb(simulation.state), note)
            before = mean
    return Measurement(title, 'm/s', None, f'does not settle in {_LONGEST:g} s')


def _climb(state: State) -> float:
    return float((rotation_matrix(state.orientation) @ state.velocity[:3])[2])
