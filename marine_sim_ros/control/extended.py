# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Extended thrust: a thruster that turns counts as two that do not, ahead and across.

With Fx ahead at angle 0 and Fy a quarter turn on, the wrench is linear in both, so that the
allocation of fixed thrusters finds them; then T = Fx cos θ + Fy sin θ at the angle
θ = atan2(Fy, Fx) within limits and rate. Source: Fossen (2021), section 11.2 (extended thrust).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.model.azimuths import turned_columns
from marine_sim_ros.model.vehicle import ThrusterSet

__all__ = ['ExtendedThrust', 'effectors', 'extended_limits', 'extended_thrust', 'with_effectors']

IDLE = 0.01
"""Share of the largest thrust below which an azimuth stays where it is."""
RELUCTANCE = 0.5
"""Share of thrust that is given up rather than to turn by half a turn."""


def effectors(thrusters: ThrusterSet) -> ThrusterSet:
    """Return thrusters (n + k) that do not turn: all at angle 0, then k a quarter turn on.

    Their curves are those of the n thrusters.
    """
    azimuths = thrusters.azimuths
    if azimuths is None:
        return thrusters
    i = azimuths.index
    quarter = np.swapaxes(turned_columns(thrusters.inflow.T, azimuths), 1, 2)
    across = (thrusters.inflow - quarter[0] + quarter[1])[i]
    at = thrusters.position[i] - azimuths.center
    turned = np.cross(azimuths.axis, at) + azimuths.axis * np.sum(
        azimuths.axis * at, axis=1, keepdims=True
    )

    def with_own(values: Any) -> Any:
        return None if values is None else np.concatenate([values, values[i]])

    return replace(
        thrusters,
        names=(*thrusters.names, *azimuths.names),
        position=np.concatenate([thrusters.position, azimuths.center + turned]),
        axis=np.concatenate([thrusters.axis, across[:, :3]]),
        handedness=with_own(thrusters.handedness),
        reaction_torque=with_own(thrusters.reaction_torque),
        thrust_deduction=with_own(thrusters.thrust_deduction),
        azimuths=None,
    )


def with_effectors(thrusters: ThrusterSet, mask: np.ndarray | None) -> np.ndarray | None:
    """Return a mask (n + k) of effectors from one (n,) of thrusters; None of None."""
    if mask is None or thrusters.azimuths is None:
        return mask
    return np.concatenate([mask, np.asarray(mask)[thrusters.azimuths.index]])


def extended_limits(
    thrusters: ThrusterSet, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return limits (n + k) of the effectors from those (n,) of the thrusters, N."""
    azimuths = thrusters.azimuths
    if azimuths is None:
        return lower, upper
    quarter = math.pi / 2
    left = np.sin(np.clip(azimuths.upper, 0.0, quarter))
    right = np.sin(np.clip(azimuths.lower, -quarter, 0.0))
    most = upper[azimuths.index]
    return np.concatenate([lower, most * right]), np.concatenate([upper, most * left])


@dataclass(frozen=True, eq=False)
class ExtendedThrust:
    """From extended thrusts (n + k) to thrusts (n,) and angles (k,), and back.

    Attributes:
        turns: (n, k) 1.0 where an azimuth turns a thruster.
        least: (k,) thrust, N.
        most: (k,) thrust, N.
        lower: (k,) rad.
        upper: (k,) rad.
        max_rate: (k,) rad/s.
    """

    turns: np.ndarray
    least: np.ndarray
    most: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    max_rate: np.ndarray

    def spread(self, thrust: Array, angle: Array) -> Array:
        """Return the extended thrusts (n + k) of thrusts (n,) at angles (k,)."""
        xp = namespace(thrust)
        turns = constant(xp, self.turns)
        own = matvec(turns.T, thrust)
        ahead = thrust + matvec(turns, own * (xp.cos(angle) - 1))
        return xp.concat([ahead, own * xp.sin(angle)])

    def resolved(self, extended: Array, before: Array, dt: Any) -> tuple[Array, Array]:
        """Return thrusts (n,) in N and angles (k,) in rad, dt seconds after angles ``before``.

        An azimuth pushes ahead at θ or astern half a turn on, whichever makes more of the force
        within its limits; each half turn that it would have to go costs half the thrust, so
        that it does not swing about. What it makes on its way is along where it is.
        """
        xp = namespace(extended)
        turns = constant(xp, self.turns)
        count = self.turns.shape[0]
        ahead, across = matvec(turns.T, extended[:count]), extended[count:]
        square = ahead * ahead + across * across
        pushes = square > 0
        one = xp.ones_like(square)
        size = xp.sqrt(xp.where(pushes, square, one))
        lower, upper = constant(xp, self.lower), constant(xp, self.upper)
        least, most = constant(xp, self.least), constant(xp, self.most)

        def candidate(sense: float) -> tuple[Array, Array]:
            wanted = xp.atan2(sense * across, sense * xp.where(pushes, ahead, one))
            angle = xp.minimum(xp.maximum(wanted, lower), upper)
            made = sense * (ahead * xp.cos(angle) + across * xp.sin(angle))
            made = xp.minimum(made, most if sense > 0 else -least)
            return angle, made / size - RELUCTANCE * xp.abs(angle - before) / math.pi

        forward, gain = candidate(1.0)
        astern, other = candidate(-1.0)
        target = xp.where(gain >= other, forward, astern)
        target = xp.where(size > IDLE * most, xp.where(pushes, target, before), before)
        step = constant(xp, self.max_rate) * dt
        angle = before + xp.minimum(xp.maximum(target - before, -step), step)
        push = ahead * xp.cos(angle) + across * xp.sin(angle)
        push = xp.minimum(xp.maximum(push, least), most)
        return extended[:count] + matvec(turns, push - ahead), angle


def extended_thrust(
    thrusters: ThrusterSet, lower: np.ndarray, upper: np.ndarray
) -> ExtendedThrust | None:
    """Return the extended thrust of thrusters with limits (n,) in N; None where none turns."""
    azimuths = thrusters.azimuths
    if azimuths is None:
        return None
    i = azimuths.index
    return ExtendedThrust(
        turns=azimuths.turns,
        least=lower[i],
        most=upper[i],
        lower=azimuths.lower,
        upper=azimuths.upper,
        max_rate=azimuths.max_rate,
    )
