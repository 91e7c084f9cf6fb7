# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Controllability of the six axes by thrusters, and the vehicle's limits along each axis.

First the axes that thrusters can command, then the largest thrust, acceleration and speed of each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marine_sim_ros.control.effectors import (
    effector_limits,
    effector_mask,
    fixed_equivalent_thrusters,
)
from marine_sim_ros.core.spatial import transport
from marine_sim_ros.model.propellers import PWM_MAX, PWM_MIN
from marine_sim_ros.model.vehicle import ThrusterSet, Vehicle

__all__ = [
    'AXIS_PRIORITY',
    'BODY_AXES',
    'UNREACHABLE_TOLERANCE',
    'WEAK_AUTHORITY',
    'axis_accelerations',
    'axis_speeds',
    'axis_thrusts',
    'controllability',
    'independent_axes',
    'thrust_matrix',
]

BODY_AXES = ('surge', 'sway', 'heave', 'roll', 'pitch', 'yaw')
AXIS_PRIORITY = (('heave',), ('roll', 'pitch'), ('yaw',), ('surge', 'sway'))
"""Groups of axes, highest priority first."""

UNREACHABLE_TOLERANCE = 1e-6
"""Singular value, relative to the largest, above which an axis counts as reachable."""
WEAK_AUTHORITY = 2e-3
"""Authority, N or N·m per N of thrust, below which an axis counts as unreachable."""
COUPLING_LIMIT = 0.1
"""Singular value of the normalised rows below which axes count as dependent."""


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
    """Return the axes (6,) that can be commanded independently of each other.

    If the rows of B depend linearly on each other, b·B = 0 (or nearly: achieving all would take
    ten times the thrust or more), one axis of b is given up completely, so that the others are
    achieved exactly. It is the axis with the largest component in b, in N and in N·m divided by
    the thrusters' typical lever arm: the pitch of an Investigator-90 (b = pitch + 0.035 heave +
    0.004 surge), not its heave. Among axes of similar components it is the one of lowest priority,
    within a group the last.

    Args:
        thrusters: thrusters of the vehicle.
        about: (3,) point of the wrench, m.
        failed: (n,) thrusters that make no thrust.
        priority: groups of axes, highest first; axes in no group are not commanded.
        weakest: authority, N or N·m per N of thrust, below which an axis is unreachable.
    """
    matrix = thrust_matrix(thrusters, about, failed)
    row_norms = np.linalg.norm(matrix, axis=1)
    order = [BODY_AXES.index(axis) for group in priority for axis in group]
    commandable = np.isin(np.arange(6), order) & (row_norms > weakest)
    levers = np.linalg.norm(thrusters.position - about, axis=1)
    typical_lever = float(np.sqrt(np.mean(levers**2))) if len(levers) and levers.any() else 1.0
    unit = np.array([1.0, 1.0, 1.0, typical_lever, typical_lever, typical_lever])
    while commandable.any():
        rows = np.flatnonzero(commandable)
        left_vectors, values, _ = np.linalg.svd(matrix[rows] / row_norms[rows, None])
        weak = np.concatenate([values, np.zeros(len(rows) - len(values))]) < COUPLING_LIMIT
        if not weak.any():
            break
        basis, _ = np.linalg.qr(left_vectors[:, weak] * (unit[rows] / row_norms[rows])[:, None])
        contribution = np.sum(basis**2, axis=1)
        candidates = rows[contribution > 0.5 * np.max(contribution)]
        commandable[max(candidates, key=order.index)] = False
    return commandable


@dataclass(frozen=True)
class Controllability:
    """Axes that a set of thrusters can command.

    Attributes:
        rank: rank of the thruster matrix; 6: every wrench is achievable.
        fractions: fraction of a unit demand that the best thrusts achieve, by axis, 0 to 1.
        unreachable: axes that cannot be commanded while the others are, see
            :func:`independent_axes`.
    """

    rank: int
    fractions: dict[str, float]
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
    achieved_fraction = np.clip(np.diag(matrix @ inverse), 0.0, 1.0)
    rank = int(np.linalg.matrix_rank(matrix, tol=UNREACHABLE_TOLERANCE)) if matrix.size else 0
    fractions = dict(zip(BODY_AXES, achieved_fraction.tolist(), strict=True))
    commandable = independent_axes(thrusters, about, failed)
    return Controllability(
        rank,
        fractions,
        tuple(
            a
            for a, is_commandable in zip(BODY_AXES, commandable, strict=True)
            if not is_commandable
        ),
    )


# Limits of a vehicle along each axis: thrust, acceleration, speed.

MAX_AXIS_SPEED = 100.0
"""Speed of an axis without drag, m/s and rad/s."""


def axis_thrusts(vehicle: Vehicle) -> np.ndarray:
    """Return the largest pure force and moment (6,) about the centre of mass, N and N·m.

    It is the smaller of both directions.

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
    margin = np.minimum(*np.abs(effector_limits(thrusters, *ends)))
    unreachable = controllability(thrusters, about).unreachable
    result = np.zeros(6)
    for axis, name in enumerate(BODY_AXES):
        pattern = np.abs(inverse[:, axis])
        used = pattern > 1e-9 * pattern.max(initial=0.0)
        if name not in unreachable and used.any():
            result[axis] = float(np.min(margin[used] / pattern[used]))
    return result


def axis_accelerations(vehicle: Vehicle) -> np.ndarray:
    """Return the acceleration (6,) of each axis at full thrust from rest, m/s² and rad/s²."""
    return np.asarray(axis_thrusts(vehicle) / np.diag(vehicle.mass_matrix))


def axis_speeds(vehicle: Vehicle, fraction: float = 1.0) -> np.ndarray:
    """Return the speed (6,) of each axis at which a fraction of full thrust balances the drag.

    d₁ v + d₂ v² = τ with the damping of motion along one axis.
    """
    linear, square = vehicle.damping.by_axis
    thrust = fraction * axis_thrusts(vehicle)
    root = np.sqrt(linear**2 + 4 * square * thrust)
    # Stable root of the quadratic equation, valid without linear or quadratic drag.
    speed = 2 * thrust / np.maximum(linear + root, 2 * thrust / MAX_AXIS_SPEED + 1e-300)
    return np.asarray(np.minimum(speed, MAX_AXIS_SPEED))
