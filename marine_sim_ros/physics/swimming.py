# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Swimming: force and moment of an animal that swims round a circle.

The animal turns its bow to the direction d of a vector field. With q = (p − c)/R, the horizontal
position p over the circle of centre c and radius R,

    d_xy ∝ (−q_y, q_x) + q (1 − |q|²),    d_z = (z_c − z)/R within ±0.5,

whose limit cycle is the circle, counter-clockwise (the normal form of a Hopf bifurcation). So it
comes to its circle from wherever it is put. The wrench is M a for the accelerations a that bring
surge and turning rates to their targets with a time constant of 0.5 s; speed is relative to the
water, and drag makes it a little less.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import constant, matvec, namespace
from marine_sim_ros.core.schema import REQUIRED, declaration, number
from marine_sim_ros.core.spatial import to_body
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.force import ForceInputs, ForceModel, relative_velocity

__all__ = ['SWIMMING', 'SwimmingElement']

NAME = 'swimming'
_TIME = 0.5
"""Time constant of speed and turning rates, s."""
_SLOPE = 0.5
"""Steepest way to the depth of the circle, of the horizontal one."""
_TURN = 1.0
"""Largest turning rate, rad/s."""


@declaration(frozen=True, kw_only=True)
class SwimmingElement:
    """<swimming>."""

    centre: np.ndarray = number(
        REQUIRED, -1e5, 1e5, 'm', 'centre of the circle, map', size=3, place='attribute'
    )
    radius: float = number(REQUIRED, 0.1, 1e5, 'm', 'of the circle', place='attribute')
    speed: float = number(REQUIRED, 0.0, 20.0, 'm/s', 'through the water', place='attribute')


def _direction(element: SwimmingElement, state: State) -> Any:
    """Return the direction (..., 3) to swim in, unit vector, body axes."""
    xp = namespace(state.position)
    q = (state.position - constant(xp, element.centre)) / element.radius
    inward = 1.0 - q[..., 0] * q[..., 0] - q[..., 1] * q[..., 1]
    x, y = -q[..., 1] + q[..., 0] * inward, q[..., 0] + q[..., 1] * inward
    length = xp.sqrt(x * x + y * y)
    x = xp.where(length > 0, x, xp.ones_like(x))  # in the centre any direction is right
    length = xp.where(length > 0, length, xp.ones_like(length))
    slope = xp.minimum(xp.maximum(-q[..., 2], -_SLOPE + 0.0 * x), _SLOPE + 0.0 * x)
    field = xp.stack([x / length, y / length, slope], axis=-1)
    return to_body(state.orientation, field / xp.sqrt(1.0 + slope * slope)[..., None])


def _step(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    inputs: ForceInputs,
    memory: Any,
    /,
    *,
    dt: Any,
) -> tuple[Wrench, Any]:
    """Return the wrench (..., 6), and no memory."""
    del inputs, dt
    element: SwimmingElement = vehicle.extensions[NAME]
    xp = namespace(state.velocity)
    ahead, port, up = (_direction(element, state)[..., i] for i in range(3))
    velocity = relative_velocity(state, environment)
    zero = 0.0 * ahead

    def turn(angle: Any) -> Any:
        return xp.minimum(xp.maximum(angle / (2 * _TIME), zero - _TURN), zero + _TURN)

    level = xp.sqrt(ahead * ahead + port * port)
    yaw, pitch = turn(xp.atan2(port, ahead)), turn(-xp.atan2(up, level))
    wanted = xp.stack([element.speed + zero, zero, zero, zero, pitch, yaw], axis=-1)
    own = constant(xp, np.array([1.0, 0.0, 0.0, 0.0, 1.0, 1.0]))
    return matvec(constant(xp, vehicle.mass_matrix), own * (wanted - velocity) / _TIME), memory


def _swims(vehicle: Vehicle, environment: Environment) -> bool:
    del environment
    return NAME in vehicle.extensions


SWIMMING = ForceModel(
    NAME,
    _step,
    applies=_swims,
    element=NAME,
    read=lambda reader: reader.read(SwimmingElement),
    parts=SwimmingElement,
    label='Swimming',
    colour='#5f9e8f',
)
