# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Free decay: the vehicle is let go ten degrees from its attitude of rest, and swings."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from marine_sim_ros.control.allocation import AXES
from marine_sim_ros.core.spatial import (
    quaternion_product,
    rotation_vector_quaternion,
    rpy_from_quaternion,
    transport,
)
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.thrusters import PWM_NEUTRAL
from marine_sim_ros.sim.simulation import Simulation
from marine_sim_ros.validation.balance import Balance, balance, floats, neutral_water
from marine_sim_ros.validation.held import STILL, wrench
from marine_sim_ros.validation.measurement import Measurement

__all__ = [
    'Swing',
    'decrement',
    'free_decay',
    'natural_period',
    'period',
    'period_from',
    'undershoot',
]

START = 10.0
"""Degrees."""
_PER_PERIOD = 240
_MOST_PERIODS = 10
_CROSSINGS = 3


class Swing(NamedTuple):
    """A free decay.

    Attributes:
        period: s, of the swing after the first passage through rest; None: it does not swing.
        decrement: logarithmic, per period, of the first half swing; None likewise.
    """

    period: float | None
    decrement: float | None


def _water(vehicle: Vehicle) -> Environment:
    return STILL if floats(vehicle) else neutral_water(vehicle)


def _turned(start: Balance, axis: str, angle: float) -> State:
    state = start.state()
    turn = rotation_vector_quaternion(angle * np.eye(3)[AXES.index(axis) - 3])
    return state._replace(orientation=quaternion_product(state.orientation, turn))


@lru_cache(maxsize=16)
def natural_period(vehicle: Vehicle, axis: str) -> float | None:
    """Return 2π √(I/k) in s: undamped and of small angle; None where nothing rights the vehicle.

    1/I is the axis's entry of the inverse mass matrix (6, 6) about the centre of mass, added mass
    included, k the slope of the righting moment: W GM with the metacentric height GM, in water
    in which the vehicle is neutral.
    """
    start = balance(vehicle)
    if start is None:
        return None
    i, small = AXES.index(axis), 1e-4
    about = transport(-vehicle.inertia.center_of_mass)
    water = _water(vehicle)
    there, back = (
        (about.T @ wrench(vehicle, _turned(start, axis, a), environment=water))[i]
        for a in (small, -small)
    )
    stiffness = (back - there) / (2 * small)
    if stiffness <= 1e-9:
        return None
    center = transport(vehicle.inertia.center_of_mass)
    inverse = center @ vehicle.inverse_mass_matrix @ center.T
    return float(2 * math.pi / math.sqrt(inverse[i, i] * stiffness))


@lru_cache(maxsize=16)
def free_decay(vehicle: Vehicle, axis: str, degrees: float = START) -> Swing:
    """Let a vehicle go some degrees from rest about an axis, free in six axes, and watch it.

    Period: from the first to the third passage through the attitude of rest. Decrement
    δ = 2 ln(x₀/x₁), x₁ the first extreme on the other side, half a period later. Under water the
    vehicle is ballasted to neutral, as one does in a tank: the water's density makes it so.
    """
    start, expected = balance(vehicle), natural_period(vehicle, axis)
    if start is None or expected is None:
        return Swing(None, None)
    angle_0 = math.radians(degrees)
    dt = expected / _PER_PERIOD
    simulation = Simulation(
        vehicle, environment=_water(vehicle), initial=_turned(start, axis, angle_0), dt=dt
    )
    pwm = np.full(len(vehicle.thrusters), PWM_NEUTRAL)
    column, middle = (0, start.roll) if axis == 'roll' else (1, start.pitch)
    times: list[float] = []
    before, extreme = angle_0, 0.0
    for step in range(1, _MOST_PERIODS * _PER_PERIOD + 1):
        simulation.tick(pwm)
        angle = float(rpy_from_quaternion(simulation.state.orientation)[column]) - middle
        if before * angle < 0:
            times.append((step - 1 + before / (before - angle)) * dt)
        if len(times) == 1:
            extreme = max(extreme, abs(angle))
        if len(times) == _CROSSINGS:
            return Swing(times[-1] - times[0], 2 * math.log(angle_0 / extreme))
        before = angle
    return Swing(None, None)


def period(vehicle: Vehicle, axis: str) -> Measurement:
    """Return the period of a free decay."""
    found = free_decay(vehicle, axis).period
    return Measurement(f'period, {axis}', 's', found, '' if found else 'does not swing')


def decrement(vehicle: Vehicle, axis: str) -> Measurement:
    """Return the logarithmic decrement of a free decay."""
    found = free_decay(vehicle, axis).decrement
    title = f'logarithmic decrement, {axis}'
    return Measurement(title, '', found, '' if found else 'does not swing')


def undershoot(vehicle: Vehicle, axis: str, degrees: float) -> Measurement:
    """Return the first extreme on the other side, deg, of a free decay from an angle."""
    found = free_decay(vehicle, axis, degrees).decrement
    value = None if found is None else degrees * math.exp(-found / 2)
    title = f'first undershoot from {degrees:g} deg, {axis}'
    return Measurement(title, 'deg', value, '' if found else 'does not swing')


def period_from(vehicle: Vehicle, axis: str, degrees: float) -> Measurement:
    """Return the period of a free decay from an angle."""
    found = free_decay(vehicle, axis, degrees).period
    title = f'period from {degrees:g} deg, {axis}'
    return Measurement(title, 's', found, '' if found else 'does not swing')
