# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Extended thrust: azimuth thrusters in the allocation as pairs of fixed thrusters.

With F_x ahead at angle 0 and F_y at a quarter turn, the wrench is linear in both, so that the
allocation of fixed thrusters finds them. Then the angle is θ = atan2(F_y, F_x) within limits and
rate, and the thrust T = F_x cos θ + F_y sin θ. Source: Fossen (2021), section 11.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.model.servos import turned_columns
from marine_sim_ros.model.vehicle import ThrusterSet
from marine_sim_ros.physics.thrusters import AZIMUTHS

__all__ = [
    'ExtendedThrust',
    'effector_limits',
    'effector_mask',
    'extended_thrust',
    'fixed_equivalent_thrusters',
]

IDLE_FRACTION = 0.01
"""Fraction of the largest thrust below which an azimuth does not rotate."""
TURN_PENALTY = 0.5
"""Cost of rotating an azimuth by 180°, as a fraction of the thrust."""


def fixed_equivalent_thrusters(thrusters: ThrusterSet) -> ThrusterSet:
    """Return the n + k fixed equivalents of n thrusters with k azimuths.

    They are all thrusters at angle 0, then the k azimuths at 90°. Their curves are those of the n
    thrusters.
    """
    azimuths = thrusters.azimuths
    if azimuths is None:
        return thrusters
    index = azimuths.index
    quarter_turn = np.swapaxes(turned_columns(thrusters.inflow.T, azimuths), 1, 2)
    across = (thrusters.inflow - quarter_turn[0] + quarter_turn[1])[index]
    offset = thrusters.position[index] - azimuths.center
    rotated = np.cross(azimuths.axis, offset) + azimuths.axis * np.sum(
        azimuths.axis * offset, axis=1, keepdims=True
    )

    def with_own(values: Any) -> Any:
        return None if values is None else np.concatenate([values, values[index]])

    return replace(
        thrusters,
        names=(*thrusters.names, *azimuths.names),
        position=np.concatenate([thrusters.position, azimuths.center + rotated]),
        axis=np.concatenate([thrusters.axis, across[:, :3]]),
        handedness=with_own(thrusters.handedness),
        reaction_torque=with_own(thrusters.reaction_torque),
        thrust_deduction=with_own(thrusters.thrust_deduction),
        azimuths=None,
    )


def effector_mask(thrusters: ThrusterSet, mask: np.ndarray | None) -> np.ndarray | None:
    """Return the mask (n + k) of the fixed equivalents of thrusters (n,); None of None."""
    if mask is None or thrusters.azimuths is None:
        return mask
    return np.concatenate([mask, np.asarray(mask)[thrusters.azimuths.index]])


def effector_limits(
    thrusters: ThrusterSet, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits (n + k) of the fixed equivalents of thrusters (n,), N."""
    azimuths = thrusters.azimuths
    if azimuths is None:
        return lower, upper
    quarter = math.pi / 2
    port_fraction = np.sin(np.clip(azimuths.upper, 0.0, quarter))
    starboard_fraction = np.sin(np.clip(azimuths.lower, -quarter, 0.0))
    max_thrust = upper[azimuths.index]
    return np.concatenate([lower, max_thrust * starboard_fraction]), np.concatenate(
        [upper, max_thrust * port_fraction]
    )


@dataclass(frozen=True, eq=False)
class ExtendedThrust:
    """Conversion of extended thrusts (n + k) to thrusts (n,) and angles (k,), and back.

    Attributes:
        name: name of the actuator.
        turns: (n, k) 1.0 where an azimuth rotates a thruster.
        min_thrust: (k,) thrust, N.
        max_thrust: (k,) thrust, N.
        lower: (k,) rad.
        upper: (k,) rad.
        max_rate: (k,) rad/s.
    """

    name: str
    turns: np.ndarray
    min_thrust: np.ndarray
    max_thrust: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    max_rate: np.ndarray

    def spread(self, thrust: Array, angle: Array) -> Array:
        """Return the extended thrusts (n + k) of thrusts (n,) at angles (k,)."""
        xp = namespace(thrust)
        rotates = constant(xp, self.turns)
        azimuth_thrust = matvec(rotates.T, thrust)
        ahead = thrust + matvec(rotates, azimuth_thrust * (xp.cos(angle) - 1))
        return xp.concat([ahead, azimuth_thrust * xp.sin(angle)])

    def resolve(self, extended: Array, previous: Array, dt: Any) -> tuple[Array, Array]:
        """Return thrusts (n,) in N and angles (k,) in rad, dt seconds after angles ``previous``.

        An azimuth produces a force with positive thrust at θ or with negative thrust at θ + 180°,
        whichever gives more of it within the limits; a penalty on rotation avoids swinging to and
        fro. While it rotates, the thrust acts along its present angle.
        """
        xp = namespace(extended)
        rotates = constant(xp, self.turns)
        count = self.turns.shape[0]
        ahead, across = matvec(rotates.T, extended[:count]), extended[count:]
        force_squared = ahead * ahead + across * across
        has_force = force_squared > 0
        ones = xp.ones_like(force_squared)
        force = xp.sqrt(xp.where(has_force, force_squared, ones))
        lower, upper = constant(xp, self.lower), constant(xp, self.upper)
        min_thrust, max_thrust = constant(xp, self.min_thrust), constant(xp, self.max_thrust)

        def candidate(sense: float) -> tuple[Array, Array]:
            direct = xp.atan2(sense * across, sense * xp.where(has_force, ahead, ones))
            angle = xp.minimum(xp.maximum(direct, lower), upper)
            achieved = sense * (ahead * xp.cos(angle) + across * xp.sin(angle))
            achieved = xp.minimum(achieved, max_thrust if sense > 0 else -min_thrust)
            return angle, achieved / force - TURN_PENALTY * xp.abs(angle - previous) / math.pi

        forward, forward_gain = candidate(1.0)
        astern, astern_gain = candidate(-1.0)
        target = xp.where(forward_gain >= astern_gain, forward, astern)
        target = xp.where(
            force > IDLE_FRACTION * max_thrust, xp.where(has_force, target, previous), previous
        )
        step = constant(xp, self.max_rate) * dt
        angle = previous + xp.minimum(xp.maximum(target - previous, -step), step)
        produced = ahead * xp.cos(angle) + across * xp.sin(angle)
        produced = xp.minimum(xp.maximum(produced, min_thrust), max_thrust)
        return extended[:count] + matvec(rotates, produced - ahead), angle


def extended_thrust(
    thrusters: ThrusterSet, lower: np.ndarray, upper: np.ndarray
) -> ExtendedThrust | None:
    """Return the extended thrust of thrusters with limits (n,) in N; None without azimuths."""
    azimuths = thrusters.azimuths
    if azimuths is None:
        return None
    i = azimuths.index
    return ExtendedThrust(
        name=AZIMUTHS.name,
        turns=azimuths.turns,
        min_thrust=lower[i],
        max_thrust=upper[i],
        lower=azimuths.lower,
        upper=azimuths.upper,
        max_rate=azimuths.max_rate,
    )
