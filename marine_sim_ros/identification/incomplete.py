# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Odometry that lacks axes, as of a vehicle without a Doppler log: what can be told of the rest.

Turn rates that are not recorded are slopes of the attitude, and a vertical speed is the slope of
the height. Surge and sway that are not recorded are simulated with the described vehicle under the
recorded thrust, with all other axes as they were measured, because heave, pitch and yaw depend on
them.
"""

from __future__ import annotations

import numpy as np

from marine_sim_ros.core.arrays import matvec
from marine_sim_ros.core.spatial import continuous_quaternions, quaternion_product, up_in_body
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.drag import drag
from marine_sim_ros.physics.rigid_body import net_wrench

__all__ = ['complete_odometry', 'simulated_horizontal']

_HALF = 0.25
"""s to either side of a time, of which a slope is the best line's."""
_LEAST_UP = 0.5
"""Cosine of the tilt below which a vertical speed says nothing of heave."""


def complete_odometry(time: np.ndarray, odometry: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return odometry with turn rates and heave where it has none, and what was added.

    Heave beside unknown surge and sway is the vertical speed over the cosine of the tilt.

    Args:
        time: (m,) s, rising.
        odometry: (m, 13) position m, quaternion x y z w, body velocity m/s and rad/s; NaN where
            unknown.
    """
    if not len(time):
        return odometry, []
    result, notes = odometry.copy(), []
    has_attitude = np.abs(np.linalg.norm(odometry[:, 3:7], axis=1) - 1) < 0.1
    lacking = has_attitude & ~np.isfinite(odometry[:, 10:13]).all(axis=1)
    if lacking.any():
        attitude = np.full((len(time), 4), np.nan)
        attitude[has_attitude] = continuous_quaternions(odometry[has_attitude, 3:7])
        rates = _angular_velocity(attitude, _slopes(time, attitude))
        result[lacking, 10:13] = rates[lacking]
        notes.append(f'turn rates are slopes of the attitude in {_percent(lacking)} of odom')
    lacking = has_attitude & ~np.isfinite(odometry[:, 9]) & np.isfinite(odometry[:, 2])
    if lacking.any():
        up = np.asarray(up_in_body(odometry[:, 3:7]))[:, 2]
        up = np.where(np.abs(up) < _LEAST_UP, np.nan, up)
        heave = _slopes(time, odometry[:, 2:3])[:, 0] / up
        lacking &= np.isfinite(heave)
        result[lacking, 7:9] = np.nan
        result[lacking, 9] = heave[lacking]
    if lacking.any():
        notes.append(f'heave is the slope of the height in {_percent(lacking)} of odom')
    return result, notes


def _percent(part: np.ndarray) -> str:
    return f'{100 * part.mean():.0f} %'


def _slopes(time: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return slopes (m, k) of the best lines through values (m, k) about times (m,), 1/s."""
    result = np.full(values.shape, np.nan)
    good = np.flatnonzero(np.isfinite(values).all(axis=1))
    time, values = time[good], values[good]
    if len(time) < 3:
        return result
    first = np.searchsorted(time, time - _HALF)
    end = np.searchsorted(time, time + _HALF, side='right')
    # A slope needs three values: those next to it where fewer are within the window.
    first = np.minimum(first, np.maximum(np.arange(len(time)) - 1, 0))
    end = np.maximum(end, np.minimum(np.arange(len(time)) + 2, len(time)))
    rows = first[:, None] + np.arange((end - first).max())
    inside = (rows < end[:, None]).astype(float)
    rows = np.minimum(rows, len(time) - 1)
    since = (time[rows] - time[:, None]) * inside
    since = (since - since.sum(axis=1, keepdims=True) / (end - first)[:, None]) * inside
    total = np.sum(since**2, axis=1)[:, None]
    slopes = np.einsum('mw,mwk->mk', since, values[rows]) / np.where(total > 0, total, np.nan)
    result[good] = slopes
    return result


def _angular_velocity(quaternion: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Return ω (m, 3) in the body of 2 q* q̇, rad/s."""
    conjugate = quaternion * np.array([-1.0, -1.0, -1.0, 1.0])
    product = quaternion_product(conjugate, rate)
    return 2.0 * np.asarray(product)[:, :3]


def simulated_horizontal(
    vehicle: Vehicle,
    state: State,
    is_known: np.ndarray,
    wrench: np.ndarray,
    step: float,
    environment: Environment,
) -> np.ndarray:
    """Return velocities (n, 6) with surge and sway of the described vehicle where unknown.

    Args:
        vehicle: described vehicle.
        state: (n, ...) as measured, the velocity through the water; surge and sway are 0 where
            unknown, and heave is there the vertical speed over the cosine of the tilt.
        is_known: (n,) whether surge and sway are.
        wrench: (n, 6) of thrusters, weight and buoyancy.
        step: s between states.
        environment: water of the run.
    """
    velocity = state.velocity.copy()
    if is_known.all():
        return velocity
    up = np.asarray(up_in_body(state.orientation))

    def whole(i: int, horizontal: np.ndarray) -> np.ndarray:
        result = state.velocity[i].copy()
        result[:2] = horizontal
        result[2] -= up[i, :2] @ horizontal / up[i, 2]
        return result

    def rate(i: int, horizontal: np.ndarray) -> np.ndarray:
        at = State(state.position[i], state.orientation[i], whole(i, horizontal))
        total = wrench[i] + np.asarray(drag(vehicle, at, environment))
        net = net_wrench(vehicle, at, environment, total)
        return np.asarray(matvec(vehicle.inverse_mass_matrix, net))[:2]

    now = np.zeros(2)
    for i in range(len(velocity)):
        if is_known[i]:
            now = state.velocity[i, :2]
            continue
        if i:  # the method of Heun
            first = rate(i - 1, now)
            now = now + 0.5 * step * (first + rate(i, now + step * first))
        velocity[i] = whole(i, now)
    return velocity
