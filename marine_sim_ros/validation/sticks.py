# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One stick at a part of its way, free in six axes: speed, attitude, and other axes' answers.

The stick is that of ArduSub's manual mode, as in the tank: every motor of an axis at the same
pulse width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from marine_sim_ros.control.allocation import AXES
from marine_sim_ros.control.manual import manual_pwm
from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sim.simulation import Simulation
from marine_sim_ros.validation.balance import balance
from marine_sim_ros.validation.held import reachable
from marine_sim_ros.validation.measurement import DIRECTIONS, Measurement

__all__ = ['EFFORTS', 'STICKS', 'answer']

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
def answer(vehicle: Vehicle, axis: str, effort: float) -> Answer | None:
    """Return how a vehicle answers a stick four seconds after rest; None where it cannot."""
    start = balance(vehicle)
    if start is None or not reachable(vehicle, axis):
        return None
    simulation = Simulation(vehicle, initial=start.state(), dt=_STEP)
    pwm = manual_pwm(vehicle.thrusters, effort * (np.array(AXES) == axis))
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
    return abs(float(found.velocity[AXES.index(axis)]))


QUANTITIES: dict[str, tuple[str, str, Callable[[Answer, str], float]]] = {
    'speed': ('speed', '', _speed),
    'pitch': ('bow up', 'deg', lambda found, axis: -found.pitch),
    'roll': ('roll', 'deg', lambda found, axis: found.roll),
    'yaw_rate': ('yaw rate', 'rad/s', lambda found, axis: float(found.velocity[5])),
}
"""Name -> title, unit (empty: that of the axis), and the number."""


def _measured(vehicle: Vehicle, axis: str, way: str, effort: str, quantity: str) -> Measurement:
    sense = 1.0 if DIRECTIONS[axis][0] == way else -1.0
    title, unit, number = QUANTITIES[quantity]
    found = answer(vehicle, axis, sense * EFFORTS[effort])
    percent = f'{100 * EFFORTS[effort]:g}'
    title = f'{axis} {way.replace("_", " ")}, stick at {percent} %, {title}'
    unit = unit or ('m/s' if AXES.index(axis) < 3 else 'rad/s')
    if found is None:
        return Measurement(title, unit, None, 'out of reach of the thrusters')
    value = number(found, axis)
    return Measurement(title, unit, value if math.isfinite(value) else None)


def _all() -> Iterator[tuple[str, Callable[[Vehicle], Measurement]]]:
    for axis, ways in DIRECTIONS.items():
        for way in ways:
            for effort in EFFORTS:
                for quantity in QUANTITIES:
                    name = f'stick_{axis}_{way}_{effort}_{quantity}'
                    yield (
                        name,
                        partial(_measured, axis=axis, way=way, effort=effort, quantity=quantity),
                    )


STICKS = dict(_all())
"""Name -> measurement, such as ``stick_surge_ahead_50_pitch``."""
