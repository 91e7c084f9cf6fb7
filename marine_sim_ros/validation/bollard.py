# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Thrust and electrical power with a stick full over and the vehicle tied to a bollard."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.control.allocation import AXES, controllability
from marine_sim_ros.core.state import rest
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.thrusters import PWM_MAX, PWM_MIN
from marine_sim_ros.validation.held import DEPTH, reachable, steady_thrust, stick
from marine_sim_ros.validation.measurement import DIRECTIONS, Measurement

__all__ = ['bollard_thrust', 'power', 'single_thrust']

_PLACE = rest((0.0, 0.0, -DEPTH))


def bollard_thrust(vehicle: Vehicle, axis: str, sense: float) -> Measurement:
    """Return the force or moment of one axis about ``base_link`` with its stick full over.

    The stick is mixed as the operator's is, so that its busiest thruster is at 1100 or 1900 µs.

    Args:
        vehicle: a vehicle as :mod:`marine_sim_ros.model.library` loads it.
        axis: one of AXES.
        sense: 1.0 or −1.0 (FLU).
    """
    title, unit = _title('bollard thrust', axis, sense), 'N' if axis in AXES[:3] else 'N·m'
    if not reachable(vehicle, axis):
        return Measurement(title, unit, None, 'out of reach of the thrusters')
    output = steady_thrust(vehicle, _PLACE, stick(vehicle, axis, sense))
    alone = (
        axis not in controllability(vehicle.thrusters, vehicle.inertia.center_of_mass).unreachable
    )
    note = '' if alone else 'not without other axes'
    return Measurement(title, unit, sense * float(output.wrench[AXES.index(axis)]), note)


def power(vehicle: Vehicle, axis: str, sense: float) -> Measurement:
    """Return the electrical power of all thrusters with one stick full over, at a bollard."""
    title = _title('power', axis, sense)
    if not reachable(vehicle, axis):
        return Measurement(title, 'W', None, 'out of reach of the thrusters')
    output = steady_thrust(vehicle, _PLACE, stick(vehicle, axis, sense))
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
