# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Controllability of the six axes by a set of thrusters, and a mixer for an operator's sticks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marine_sim_ros.control.extended import effectors, with_effectors
from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.spatial import transport
from marine_sim_ros.model.vehicle import ThrusterSet

__all__ = [
    'AXES',
    'PRIORITY',
    'PilotMixer',
    'Controllability',
    'held_axes',
    'mixed',
    'controllability',
    'thrust_matrix',
]

AXES = ('surge', 'sway', 'heave', 'roll', 'pitch', 'yaw')
PRIORITY = (('heave',), ('roll', 'pitch'), ('yaw',), ('surge', 'sway'))
"""Groups of axes, in falling priority."""

PWM_SPAN = 400.0
UNREACHABLE = 1e-6
WEAK = 2e-3
COUPLED = 0.1


def thrust_matrix(
    thrusters: ThrusterSet, about: np.ndarray, failed: np.ndarray | None = None
) -> np.ndarray:
    """Return B (6, n) with the wrench B f about a point (3,) of unit thrusts f (n,).

    Columns [c_i; (r_i − p) × c_i] (Fossen 2011, eq. 9.7); those of failed (n,) thrusters are 0.
    """
    matrix = np.asarray(transport(-np.asarray(about, float)).T @ thrusters.effectiveness)
    return matrix if failed is None else np.where(failed, 0.0, matrix)


def held_axes(
    thrusters: ThrusterSet,
    about: np.ndarray,
    failed: np.ndarray | None = None,
    *,
    priority: tuple[tuple[str, ...], ...] = PRIORITY,
    weakest: float = WEAK,
) -> np.ndarray:
    """Return which axes (6,) can be commanded each on its own, the others held.

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
    order = [AXES.index(axis) for group in priority for axis in group]
    held = np.isin(np.arange(6), order) & (size > weakest)
    arms = np.linalg.norm(thrusters.position - about, axis=1)
    arm = float(np.sqrt(np.mean(arms**2))) if len(arms) and arms.any() else 1.0
    unit = np.array([1.0, 1.0, 1.0, arm, arm, arm])
    while held.any():
        rows = np.flatnonzero(held)
        left, values, _ = np.linalg.svd(matrix[rows] / size[rows, None])
        weak = np.concatenate([values, np.zeros(len(rows) - len(values))]) < COUPLED
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
        unreachable: axes that cannot be commanded while the others are, see :func:`held_axes`.
    """

    rank: int
    shares: dict[str, float]
    unreachable: tuple[str, ...]


def controllability(
    thrusters: ThrusterSet, about: np.ndarray, *, failed: np.ndarray | None = None
) -> Controllability:
    """Return what thrusters can command about a point (3,): diag(B B⁺), and the rank of B.

    With a mask failed (n,), what they can command without those.
    """
    failed = with_effectors(thrusters, failed)
    thrusters = effectors(thrusters)
    matrix = thrust_matrix(thrusters, about, failed)
    inverse = np.linalg.pinv(matrix, rcond=UNREACHABLE)
    achieved = np.clip(np.diag(matrix @ inverse), 0.0, 1.0)
    rank = int(np.linalg.matrix_rank(matrix, tol=UNREACHABLE)) if matrix.size else 0
    shares = dict(zip(AXES, achieved.tolist(), strict=True))
    held = held_axes(thrusters, about, failed)
    return Controllability(
        rank, shares, tuple(a for a, ok in zip(AXES, held, strict=True) if not ok)
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
        usable = (achieved > UNREACHABLE) & (peak > 0)
        self.patterns = np.where(usable, inverse / np.where(usable, peak, 1.0), 0.0)
        self.reachable = tuple(axis for axis, ok in zip(AXES, usable, strict=True) if ok)

    def pwm(self, efforts: Array) -> Array:
        """Return pulse widths (..., n) in µs, whole numbers, of six efforts (..., 6)."""
        return mixed(self.patterns, efforts)


def mixed(patterns: Array, efforts: Array) -> Array:
    """Return pulse widths (..., n) in µs of the six patterns (n, 6) of thrusters by efforts."""
    xp = namespace(efforts)
    if not len(patterns):
        return efforts[..., :0]
    command = matvec(constant(xp, patterns), xp.clip(efforts, -1.0, 1.0))
    most = xp.max(xp.abs(command), axis=-1, keepdims=True)
    return xp.round(1500.0 + PWM_SPAN * (command / xp.maximum(most, xp.ones_like(most))))
