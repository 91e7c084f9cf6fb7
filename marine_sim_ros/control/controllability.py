# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Controllability of the six axes by thrusters, their limits, and mixers of sticks.

In this order: azimuths as pairs of fixed thrusters; axes that can be commanded; a pilot's mixer;
thrust, acceleration and speed along each axis; ArduSub's mixing in manual mode.

Extended thrust: with Fx ahead at angle 0 and Fy a quarter turn on, the wrench is linear in both,
so that the allocation of fixed thrusters finds them; then T = Fx cos θ + Fy sin θ at the angle
θ = atan2(Fy, Fx) within limits and rate. Source: Fossen (2021), section 11.2 (extended thrust).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.spatial import transport
from marine_sim_ros.model.servos import turned_columns
from marine_sim_ros.model.vehicle import ThrusterSet, Vehicle
from marine_sim_ros.physics.thrusters import AZIMUTHS, PWM_MAX, PWM_MIN, PWM_NEUTRAL

__all__ = [
    'AXIS_PRIORITY',
    'BODY_AXES',
    'ExtendedThrust',
    'PilotMixer',
    'axis_accelerations',
    'axis_speeds',
    'axis_thrusts',
    'controllability',
    'effector_limits',
    'effector_mask',
    'fixed_equivalent_thrusters',
    'extended_thrust',
    'independent_axes',
    'ardusub_manual_pwm',
    'mix_patterns',
    'motor_factors',
    'thrust_matrix',
]


# Extended thrust: a thruster that turns counts as two that do not, ahead and across.

IDLE_FRACTION = 0.01
"""Share of the largest thrust below which an azimuth stays where it is."""
TURN_PENALTY = 0.5
"""Share of the thrust that is given up rather than turning the azimuth by half a turn."""


def fixed_equivalent_thrusters(thrusters: ThrusterSet) -> ThrusterSet:
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
    left = np.sin(np.clip(azimuths.upper, 0.0, quarter))
    right = np.sin(np.clip(azimuths.lower, -quarter, 0.0))
    most = upper[azimuths.index]
    return np.concatenate([lower, most * right]), np.concatenate([upper, most * left])


@dataclass(frozen=True, eq=False)
class ExtendedThrust:
    """From extended thrusts (n + k) to thrusts (n,) and angles (k,), and back.

    Attributes:
        name: name of the actuator.
        turns: (n, k) 1.0 where an azimuth turns a thruster.
        least: (k,) thrust, N.
        most: (k,) thrust, N.
        lower: (k,) rad.
        upper: (k,) rad.
        max_rate: (k,) rad/s.
    """

    name: str
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

    def resolve(self, extended: Array, before: Array, dt: Any) -> tuple[Array, Array]:
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
            return angle, made / size - TURN_PENALTY * xp.abs(angle - before) / math.pi

        forward, gain = candidate(1.0)
        astern, other = candidate(-1.0)
        target = xp.where(gain >= other, forward, astern)
        target = xp.where(size > IDLE_FRACTION * most, xp.where(pushes, target, before), before)
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
        name=AZIMUTHS.name,
        turns=azimuths.turns,
        least=lower[i],
        most=upper[i],
        lower=azimuths.lower,
        upper=azimuths.upper,
        max_rate=azimuths.max_rate,
    )


# Controllability of the six axes by a set of thrusters, and a mixer for an operator's sticks.

BODY_AXES = ('surge', 'sway', 'heave', 'roll', 'pitch', 'yaw')
AXIS_PRIORITY = (('heave',), ('roll', 'pitch'), ('yaw',), ('surge', 'sway'))
"""Groups of axes, in falling priority."""

PWM_SPAN = PWM_MAX - PWM_NEUTRAL
UNREACHABLE_TOLERANCE = 1e-6
"""Smallest singular value, of the largest, at which an axis counts as reached."""
WEAK_AUTHORITY = 2e-3
"""N or N·m of pure force for each N of thrust, below which an axis is left out."""
COUPLING_LIMIT = 0.1
"""Share of a command that may appear on another axis."""


def thrust_matrix(
    thrusters: ThrusterSet, about: np.ndarray, failed: np.ndarray | None = None
) -> np.ndarray:
    """Return B (6, n) with the wrench B f about a point (3,) of unit thrusts f (n,).

    Columns [c_i; (r_i − p) × c_i] (Fossen 2011, eq. 9.7); those of failed (n,) thrusters are 0.
    """
    matrix = np.asarray(transport(-np.asarray(about, float)).T @ thrusters.effectiveness)
    return matrix if failed is None else np.where(failed, 0.0, matrix)


def independent_axes(
    thrusters: ThrusterSet,
    about: np.ndarray,
    failed: np.ndarray | None = None,
    *,
    priority: tuple[tuple[str, ...], ...] = AXIS_PRIORITY,
    weakest: float = WEAK_AUTHORITY,
) -> np.ndarray:
    """Return the axes (6,) that can be commanded each on its own, the others held.

    Where the rows of B depend on each other, b·B = 0 (or nearly so: holding them all would take
    ten times the thrust and more), one axis that b contains is given up as a whole, so that the
    others are achieved exactly, not each a little wrong. It is the axis that b is mostly made of,
    in N and N·m over the thrusters' typical arm: the pitch of an Investigator-90 (b = pitch
    + 0.035 heave + 0.004 surge), not its heave. Among axes of about equal parts in b it is the
    one of lowest priority, in a group the one named last.

    Args:
        thrusters: thrusters of the vehicle.
        about: (3,) point of the wrench, m.
        failed: (n,) thrusters that make no thrust.
        priority: groups of axes, highest first; axes in none are not held.
        weakest: N or N·m per N of thrust below which an axis counts as out of reach.
    """
    matrix = thrust_matrix(thrusters, about, failed)
    size = np.linalg.norm(matrix, axis=1)
    order = [BODY_AXES.index(axis) for group in priority for axis in group]
    held = np.isin(np.arange(6), order) & (size > weakest)
    arms = np.linalg.norm(thrusters.position - about, axis=1)
    arm = float(np.sqrt(np.mean(arms**2))) if len(arms) and arms.any() else 1.0
    unit = np.array([1.0, 1.0, 1.0, arm, arm, arm])
    while held.any():
        rows = np.flatnonzero(held)
        left, values, _ = np.linalg.svd(matrix[rows] / size[rows, None])
        weak = np.concatenate([values, np.zeros(len(rows) - len(values))]) < COUPLING_LIMIT
        if not weak.any():
            break
        basis, _ = np.linalg.qr(left[:, weak] * (unit[rows] / size[rows])[:, None])
        part = np.sum(basis**2, axis=1)
        candidates = rows[part > 0.5 * np.max(part)]
        held[max(candidates, key=order.index)] = False
    return held


@dataclass(frozen=True)
class Controllability:
    """What a set of thrusters can command.

    Attributes:
        rank: rank of the thruster matrix; 6: every wrench is achievable.
        shares: share of a unit demand that the best thrusts achieve, by axis, 0 to 1.
        unreachable: axes that cannot be commanded while the others are, see
            :func:`independent_axes`.
    """

    rank: int
    shares: dict[str, float]
    unreachable: tuple[str, ...]


def controllability(
    thrusters: ThrusterSet, about: np.ndarray, *, failed: np.ndarray | None = None
) -> Controllability:
    """Return the axes that thrusters command about a point (3,): diag(B B⁺), and the rank of B.

    With a mask failed (n,), what they can command without those.
    """
    failed = effector_mask(thrusters, failed)
    thrusters = fixed_equivalent_thrusters(thrusters)
    matrix = thrust_matrix(thrusters, about, failed)
    inverse = np.linalg.pinv(matrix, rcond=UNREACHABLE_TOLERANCE)
    achieved = np.clip(np.diag(matrix @ inverse), 0.0, 1.0)
    rank = int(np.linalg.matrix_rank(matrix, tol=UNREACHABLE_TOLERANCE)) if matrix.size else 0
    shares = dict(zip(BODY_AXES, achieved.tolist(), strict=True))
    held = independent_axes(thrusters, about, failed)
    return Controllability(
        rank, shares, tuple(a for a, ok in zip(BODY_AXES, held, strict=True) if not ok)
    )


class PilotMixer:
    """Mixes stick efforts (−1 to 1 per axis, FLU) into pulse widths.

    Each axis has its pattern of thrusters: the column of the pseudo-inverse of the effectiveness
    matrix, scaled so that its busiest thruster is at 1. Axes add up; when a thruster would go
    beyond 1, all are scaled back together, which keeps the direction of the demand.
    """

    def __init__(self, thrusters: ThrusterSet) -> None:
        """Compute the six patterns; axes the thrusters cannot reach have none."""
        matrix = thrusters.effectiveness
        inverse = np.linalg.pinv(matrix, rcond=1e-6) if len(thrusters) else np.zeros((0, 6))
        # A row the thrusters hardly reach would give a huge pattern for a tiny moment.
        achieved = np.diag(matrix @ inverse) if len(thrusters) else np.zeros(6)
        peak = np.max(np.abs(inverse), axis=0, initial=0.0)
        usable = (achieved > UNREACHABLE_TOLERANCE) & (peak > 0)
        self.patterns = np.where(usable, inverse / np.where(usable, peak, 1.0), 0.0)
        self.reachable = tuple(axis for axis, ok in zip(BODY_AXES, usable, strict=True) if ok)

    def pwm(self, efforts: Array) -> Array:
        """Return pulse widths (..., n) in µs, whole numbers, of six efforts (..., 6)."""
        return mix_patterns(self.patterns, efforts)


def mix_patterns(patterns: Array, efforts: Array) -> Array:
    """Return pulse widths (..., n) in µs of the six patterns (n, 6) of thrusters by efforts."""
    xp = namespace(efforts)
    if not len(patterns):
        return efforts[..., :0]
    command = matvec(constant(xp, patterns), xp.clip(efforts, -1.0, 1.0))
    most = xp.max(xp.abs(command), axis=-1, keepdims=True)
    return xp.round(PWM_NEUTRAL + PWM_SPAN * (command / xp.maximum(most, xp.ones_like(most))))


# Limits of a vehicle along each axis: thrust, acceleration, speed.

MAX_AXIS_SPEED = 100.0
"""m/s and rad/s, of an axis without drag."""


def axis_thrusts(vehicle: Vehicle) -> np.ndarray:
    """Return the largest pure force and moment (6,) about the centre of mass, the weaker way.

    The pattern of thrusters is the pseudo-inverse's; 0 for an axis that cannot be reached.
    """
    thrusters = vehicle.thrusters
    about = vehicle.inertia.center_of_mass
    inverse = np.linalg.pinv(
        thrust_matrix(fixed_equivalent_thrusters(thrusters), about), rcond=1e-6
    )
    ends = np.stack(
        [thrusters.thrust_of_pwm(np.full(len(thrusters), p)) for p in (PWM_MIN, PWM_MAX)]
    )
    room = np.minimum(*np.abs(effector_limits(thrusters, *ends)))
    lost = controllability(thrusters, about).unreachable
    result = np.zeros(6)
    for axis, name in enumerate(BODY_AXES):
        pattern = np.abs(inverse[:, axis])
        used = pattern > 1e-9 * pattern.max(initial=0.0)
        if name not in lost and used.any():
            result[axis] = float(np.min(room[used] / pattern[used]))
    return result


def axis_accelerations(vehicle: Vehicle) -> np.ndarray:
    """Return the acceleration (6,) of each axis at full thrust from rest, m/s² and rad/s²."""
    return np.asarray(axis_thrusts(vehicle) / np.diag(vehicle.mass_matrix))


def axis_speeds(vehicle: Vehicle, share: float = 1.0) -> np.ndarray:
    """Return the speed (6,) of each axis at which a share of full thrust meets the drag.

    d₁ v + d₂ v² = τ with the damping of motion along one axis.
    """
    linear, square = vehicle.damping.by_axis
    thrust = share * axis_thrusts(vehicle)
    root = np.sqrt(linear**2 + 4 * square * thrust)
    # The form that neither cancels nor divides by a missing coefficient.
    speed = 2 * thrust / np.maximum(linear + root, 2 * thrust / MAX_AXIS_SPEED + 1e-300)
    return np.asarray(np.minimum(speed, MAX_AXIS_SPEED))


# Pulse widths that ArduSub sends for stick inputs in manual mode.

_MIN_FACTOR = 0.1
"""Share of the largest contribution to an axis below which a motor's factor is 0."""


def motor_factors(thrusters: ThrusterSet) -> np.ndarray:
    """Return ArduSub's factors (n, 6), −1, 0 or 1, of each motor for each axis (FLU).

    Of the vectored frames, where every motor is either horizontal or vertical. Source: ArduSub,
    AP_Motors6DOF::setup_motors.
    """
    matrix = thrusters.effectiveness.T
    largest = np.maximum(np.abs(matrix).max(axis=0), 1e-12)
    return np.where(np.abs(matrix) > _MIN_FACTOR * largest, np.sign(matrix), 0.0)


def ardusub_manual_pwm(thrusters: ThrusterSet, sticks: np.ndarray) -> np.ndarray:
    """Return pulse widths (..., n) in µs of sticks (..., 6) from −1 to 1, in axes FLU.

    A group that would go beyond full is scaled down together: the horizontal motors, which yaw,
    surge and sway use, and the vertical ones. Source: ArduSub,
    AP_Motors6DOF::output_armed_stabilizing_vectored_6dof.
    """
    wanted = np.asarray(sticks) @ motor_factors(thrusters).T
    vertical = np.abs(thrusters.axis[:, 2]) > np.sqrt(0.5)
    for group in (vertical, ~vertical):
        most = np.abs(wanted[..., group]).max(axis=-1, keepdims=True, initial=1.0)
        wanted[..., group] = wanted[..., group] / most
    return np.asarray(PWM_NEUTRAL + PWM_SPAN * wanted)
