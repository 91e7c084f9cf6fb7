# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Effectors of the allocation: pulse width of a thrust, scaling to limits by priority, azimuths.

The allocator (control/allocator.py) uses all three. An azimuth thruster counts as a pair of fixed
thrusters: with F_x ahead at angle 0 and F_y at a quarter turn, the wrench is linear in both. Then
the angle is θ = atan2(F_y, F_x) within limits and rate, and the thrust T = F_x cos θ + F_y sin θ.
Source: Fossen (2021), section 11.2.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.control.quadratic import QuadraticProgrammes
from marine_sim_ros.core.arrays import (
    Array,
    constant,
    counted_loop,
    matvec,
    namespace,
    skip_unless,
)
from marine_sim_ros.model.propellers import PWM_MAX, PWM_MIN, PWM_NEUTRAL
from marine_sim_ros.model.servos import turned_columns
from marine_sim_ros.model.vehicle import ThrusterSet
from marine_sim_ros.physics.thrusters import AZIMUTHS

__all__ = [
    'ExtendedThrust',
    'PulseWidths',
    'effector_limits',
    'effector_mask',
    'extended_thrust',
    'fixed_equivalent_thrusters',
    'scale_groups',
    'scale_together',
]


# Pulse widths by thrust: the inverse of the thruster curves.


class PulseWidths:
    """Inverse curves of n thrusters: the pulse width, in whole µs, for each thrust.

    An ESC takes whole microseconds, so a thruster has one thrust for each pulse width from 1100 to
    1900 µs, and a commanded thrust is rounded to the nearest of them (exactly between two, to the
    lower). The same rule applies to the dead zone: a thrust below the smallest of the curve
    becomes 0 or that thrust, whichever is nearer. There is no hysteresis: a thruster may switch
    there from one call to the next.

    Where several pulse widths give the same thrust, the nearest to 1500 µs is used, so zero thrust
    is 1500 µs.

    Attributes:
        levels: (n, k) thrusts of all whole pulse widths, rising, N.
        between: (n, k − 1) means of neighbouring thrusts, N.
        pulses: (n, k) pulse width of each thrust, µs.
        lower: (n,) thrust at 1100 µs, N, not above 0.
        upper: (n,) thrust at 1900 µs, N, not below 0.
    """

    def __init__(self, thrusters: ThrusterSet) -> None:
        """Tabulate every pulse width once."""
        pulses = np.arange(PWM_MIN, PWM_MAX + 1.0)
        columns = np.broadcast_to(pulses[:, None], (len(pulses), len(thrusters)))
        # Rounding must not make an ascending curve descend by its last digit.
        self.levels = np.maximum.accumulate(thrusters.thrust_of_pwm(columns), axis=0).T.copy()
        self.between = (self.levels[:, :-1] + self.levels[:, 1:]) / 2
        self._between = self.between.tolist()
        neutral = int(PWM_NEUTRAL - PWM_MIN)
        self.pulses = np.empty_like(self.levels)
        for levels, row in zip(self.levels, self.pulses, strict=True):
            first = np.searchsorted(levels, levels, side='left')
            last = np.searchsorted(levels, levels, side='right') - 1
            row[:] = pulses[np.clip(neutral, first, last)]
        self._rows = np.arange(len(thrusters))
        self.lower = np.minimum(self.levels[:, 0], 0.0)
        self.upper = np.maximum(self.levels[:, -1], 0.0)

    def quantize(self, thrust: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return pulse widths (n,) in µs and their thrusts (n,) in N, nearest to the commanded."""
        index = [bisect_left(b, f) for b, f in zip(self._between, thrust.tolist(), strict=True)]
        return self.pulses[self._rows, index], self.levels[self._rows, index]


# Scaling of demands to the limits, in the order of their priority.

NEGLIGIBLE = 1e-9
"""Fraction of the limits below which a group counts as not demanded."""
MAX_RATIO = 1e4
"""Upper bound of a group in the search, in units in which it just reaches a limit."""
ACTIVE_WEIGHT, DONE_WEIGHT = 1e5, 1e3
"""Weight K of the group that is maximised, and of those before it. The error is at most n/2K, and
the norm of x is negligible beside a group at its lower bound."""
SLACK = 2e-8
"""Reduction of a group's lower bound in later steps, so that rounding leaves them feasible."""
ACHIEVED_TOLERANCE = 1e-6
"""Fraction by which a group that counts as achieved may fall short."""


class _ScalingProgramme(NamedTuple):
    """Data of all steps: solver, upper bounds (g,), limits (n,), and the concession c."""

    solver: QuadraticProgrammes
    demanded: Array
    ceiling: Array
    lower: Array
    upper: Array
    concession: float
    needed: Array


class _ScalingStage(NamedTuple):
    """State between two groups: solution [s, z], bounds, gradient, and success."""

    solution: Array
    low: Array
    high: Array
    gradient: Array
    succeeded: Array


def scale_groups(
    patterns: Array,
    free: Array,
    lower: Array,
    upper: Array,
    concession: float,
    needed: Array | None = None,
) -> tuple[Array, Array]:
    """Return thrusts x (n,) and the scales s (g,) in [0, 1] of the groups.

    x = Σ_g s_g p_g + N z with lower ≤ x ≤ upper. m₁ is the largest feasible s₁; from then on
    s₁ ≥ min(1, (1 − c) m₁). With that, m₂ is the largest s₂, and so on; the last group gets all
    that is feasible. Of all such x it is the one of smallest norm. c = 0 would be strictly
    lexicographic; but a vehicle saturated by the first group could then not even balance a small
    side effect of the next, which would get nothing, and x would jump where a demand changes sign.
    A few percent make x continuous in the demand.

    Each step is a linear programme, solved as the quadratic one min −K a_g + ½|x|², where a_g is
    s_g in units in which p_g just reaches a limit; for large K the solutions differ by at most
    n/2K.
    Shapes are fixed: a group without demand and a zero column of N have no effect.

    Args:
        patterns: (n, g) thrusts p_g of smallest norm that achieve each group alone, as fractions
            of the limits; the highest priority first.
        free: (n, d) orthonormal N, thrusts without resulting wrench, and columns of zeros.
        lower: (n,) in [−1, 0].
        upper: (n,) in [0, 1].
        concession: c, more than 0, up to 1.
        needed: () whether the result is used; if not, the search is skipped.

    Returns:
        x and s; if the solver fails, all groups are scaled back together.
    """
    xp = namespace(patterns)
    groups = patterns.shape[1]
    peak = xp.max(xp.abs(patterns), axis=0)
    demanded = peak > NEGLIGIBLE
    peak = xp.where(demanded, peak, 1.0)
    basis = xp.concat([xp.where(demanded, patterns / peak, 0.0), free], axis=1)
    eye = xp.eye(basis.shape[1], dtype=basis.dtype)
    hessian = xp.matrix_transpose(basis) @ basis
    hessian = hessian + xp.where((hessian == 0) & (eye > 0), eye, 0.0)
    programme = _ScalingProgramme(
        QuadraticProgrammes(hessian, xp.concat([eye[:groups], basis])),
        demanded,
        xp.where(demanded, xp.minimum(peak, xp.full_like(peak, MAX_RATIO)), 0.0),
        lower,
        upper,
        concession,
        xp.asarray(True) if needed is None else needed,
    )
    none = xp.zeros_like(hessian[0])
    start = _ScalingStage(none, none[:groups], programme.ceiling, none, xp.asarray(True))
    final = counted_loop(
        xp, groups, lambda stage, group: _scale_next_group(xp, programme, stage, group), start
    )
    common_thrusts, scale = scale_together(patterns, lower, upper)
    obtained = final.solution[:groups] / peak
    is_short = demanded & (obtained < 1 - ACHIEVED_TOLERANCE)
    scales = xp.where(is_short, xp.maximum(obtained, xp.zeros_like(obtained)), 1.0)
    thrusts = xp.where(final.succeeded, basis @ final.solution, common_thrusts)
    thrusts = xp.minimum(xp.maximum(thrusts, lower), upper)
    return thrusts, xp.where(final.succeeded, scales, scale)


def _scale_next_group(
    xp: ModuleType, programme: _ScalingProgramme, stage: _ScalingStage, group: Array
) -> _ScalingStage:
    """Maximise a group, with the bounds of the groups before it; skip it without demand."""
    applies = programme.demanded[group] & programme.needed & stage.succeeded
    return skip_unless(
        ~applies, lambda: stage, lambda: _maximise_group(xp, programme, stage, group, applies)
    )


def _maximise_group(
    xp: ModuleType,
    programme: _ScalingProgramme,
    stage: _ScalingStage,
    group: Array,
    applies: Array,
) -> _ScalingStage:
    """Return the stage after a group was maximised, if ``applies``."""
    asked, ceiling = programme.demanded, programme.ceiling
    groups = asked.shape[0]
    is_variable = xp.arange(stage.gradient.shape[0]) == group
    is_group = is_variable[:groups]
    last = ~xp.any(asked & (xp.arange(groups) > group))
    upper_bound = xp.where(last, ceiling[group], MAX_RATIO)
    solved, ok = programme.solver.least(
        xp.where(is_variable, -ACTIVE_WEIGHT, stage.gradient),
        xp.concat([stage.low, programme.lower]),
        xp.concat([xp.where(is_group, upper_bound, stage.high), programme.upper]),
        applies,
    )
    obtained = xp.where(solved[group] > 0, solved[group], 0.0)
    ceiling_kept = xp.minimum(ceiling[group], obtained)
    # The slack keeps the next steps feasible in spite of rounding.
    floor = xp.minimum(ceiling[group], (1 - programme.concession) * obtained) - SLACK
    return _ScalingStage(
        xp.where(applies, solved, stage.solution),
        xp.where(is_group & applies, xp.where(floor > 0, floor, 0.0), stage.low),
        xp.where(is_group & applies, ceiling_kept, stage.high),
        xp.where(is_variable & applies, -DONE_WEIGHT, stage.gradient),
        stage.succeeded & (ok | ~applies),
    )


def scale_together(patterns: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Return the sum of patterns (n, g) scaled back to the limits, and its scale, repeated (g,).

    s = min(1, minᵢ limitᵢ/xᵢ), with the limit on the side that xᵢ is on.
    """
    xp = namespace(patterns)
    x = xp.sum(patterns, axis=1)
    limit = xp.where(x > 0, upper, lower)
    exceeds = xp.abs(x) > xp.abs(limit)
    scale = xp.min(xp.where(exceeds, limit / xp.where(exceeds, x, 1.0), 1.0))
    thrusts = xp.minimum(xp.maximum(scale * x, lower), upper)
    return thrusts, scale + xp.zeros_like(patterns[0])


# Extended thrust: azimuth thrusters in the allocation as pairs of fixed thrusters.

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
