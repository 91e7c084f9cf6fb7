# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Limits of thrusts: the pulse width that makes a thrust, and demands scaled to what fits.

The allocator (control/allocator.py) uses both; ``scale_groups`` gives axes of high priority their
share first.
"""

from __future__ import annotations

from bisect import bisect_left
from types import ModuleType
from typing import NamedTuple

import numpy as np

from marine_sim_ros.control.quadratic import QuadraticProgrammes
from marine_sim_ros.core.arrays import Array, counted_loop, namespace, skip_unless
from marine_sim_ros.model.vehicle import ThrusterSet
from marine_sim_ros.physics.thrusters import PWM_MAX, PWM_MIN, PWM_NEUTRAL

__all__ = ['PulseWidths', 'scale_groups', 'scale_together']


# What thrust each thruster can make, and the pulse width that makes it.


class PulseWidths:
    """The curves of n thrusters turned round: a whole pulse width for each thrust.

    An ESC takes whole microseconds, so a thruster can make as many thrusts as there are pulse
    widths from 1100 to 1900 µs, and a wanted thrust becomes the nearest of them. That one rule is
    also the rule of the dead zone: a thrust below the least that the curve makes goes to 0 or to
    that least thrust, whichever is nearer (exactly between two, to the lower). Each call stands
    alone: nothing holds a thruster back from switching at that edge from one call to the next.

    Where several pulse widths make one thrust, the nearest to 1500 µs stands for them, so zero
    thrust is 1500 µs.

    Attributes:
        levels: (n, k) thrusts of all whole pulse widths, rising, N.
        between: (n, k − 1) halfway from each of them to the next, N.
        pulses: (n, k) the pulse width that stands for each, µs.
        lower: (n,) thrust at 1100 µs, N, not above 0.
        upper: (n,) thrust at 1900 µs, N, not below 0.
    """

    def __init__(self, thrusters: ThrusterSet) -> None:
        """Tabulate every pulse width once."""
        pulses = np.arange(PWM_MIN, PWM_MAX + 1.0)
        columns = np.broadcast_to(pulses[:, None], (len(pulses), len(thrusters)))
        # Rounding must not make a curve that rises fall by a last digit.
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
        """Return pulse widths (n,) in µs and what they make (n,) in N, nearest to thrusts (n,)."""
        index = [bisect_left(b, f) for b, f in zip(self._between, thrust.tolist(), strict=True)]
        return self.pulses[self._rows, index], self.levels[self._rows, index]


# How much of each demand fits within the limits when not all do, the first ones first.

NEGLIGIBLE = 1e-9
"""Share of the limits below which a group asks for nothing."""
MAX_RATIO = 1e4
"""Most of a group that is looked for, in units in which it just reaches a limit."""
PULL, PULL_BACK = 1e5, 1e3
"""K of the group whose turn it is, and of those that had theirs: the answer is at most n/2K off,
and the least norm of x hardly counts beside a group that still holds its floor."""
SLACK = 2e-8
"""What later steps may take back of a group, so that rounding of this size leaves them a way."""
WHOLE = 1e-6
"""Share that may lack of a group that counts as achieved."""


class _ScalingProgramme(NamedTuple):
    """What stays from group to group: solver, ceilings (g,), limits (n,), and the concession c."""

    solver: QuadraticProgrammes
    asked: Array
    ceiling: Array
    lower: Array
    upper: Array
    concession: float
    needed: Array


class _ScalingStage(NamedTuple):
    """Between one group and the next: the solution [s, z] found, bounds, pulls, and success."""

    found: Array
    low: Array
    high: Array
    pull: Array
    fine: Array


def scale_groups(
    patterns: Array,
    free: Array,
    lower: Array,
    upper: Array,
    concession: float,
    needed: Array | None = None,
) -> tuple[Array, Array]:
    """Return thrusts x (n,) and the scales s (g,) in [0, 1] of the groups that they achieve.

    x = Σ_g s_g p_g + N z with lower ≤ x ≤ upper. m₁ is the largest s₁ for which there is such an
    x; from then on s₁ ≥ min(1, (1 − c) m₁). With that, m₂ is the largest s₂, and so on; the last
    group gets all it can, and those before it, what that leaves of theirs. Of all such x it is
    the one of least norm. With c = 0 this would be strictly one group after the other; but a
    vehicle at its limit of the first group then has nothing left even to balance a small side
    effect of the next, which would get nothing at all, and x would jump where a demand changes
    sign. A few percent make x continuous in the demand.

    Each step is a linear programme, put as the quadratic one min −K a_g + ½|x|², where a_g is s_g
    in units in which p_g just reaches a limit; with a large K their answers are the same, or at
    worst n/2K apart. Shapes are fixed: a group that is not asked for, and a column of N that is
    zero, take part without doing anything.

    Args:
        patterns: (n, g) thrusts p_g that achieve each group alone, in shares of the limits, of
            least norm; the highest group first.
        free: (n, d) orthonormal N, the thrusts that do nothing together, and columns of zeros.
        lower: (n,) in [−1, 0].
        upper: (n,) in [0, 1].
        concession: c, more than 0, up to 1.
        needed: () whether anything has to be scaled at all; where not, nothing is searched.

    Returns:
        x and s; should the solver fail, all groups scaled back together.
    """
    xp = namespace(patterns)
    groups = patterns.shape[1]
    peak = xp.max(xp.abs(patterns), axis=0)
    asked = peak > NEGLIGIBLE
    peak = xp.where(asked, peak, 1.0)
    basis = xp.concat([xp.where(asked, patterns / peak, 0.0), free], axis=1)
    eye = xp.eye(basis.shape[1], dtype=basis.dtype)
    hessian = xp.matrix_transpose(basis) @ basis
    hessian = hessian + xp.where((hessian == 0) & (eye > 0), eye, 0.0)
    programme = _ScalingProgramme(
        QuadraticProgrammes(hessian, xp.concat([eye[:groups], basis])),
        asked,
        xp.where(asked, xp.minimum(peak, xp.full_like(peak, MAX_RATIO)), 0.0),
        lower,
        upper,
        concession,
        xp.asarray(True) if needed is None else needed,
    )
    none = xp.zeros_like(hessian[0])
    start = _ScalingStage(none, none[:groups], programme.ceiling, none, xp.asarray(True))
    done = counted_loop(
        xp, groups, lambda stage, group: _scale_next_group(xp, programme, stage, group), start
    )
    together, scale = scale_together(patterns, lower, upper)
    had = done.found[:groups] / peak
    short = asked & (had < 1 - WHOLE)
    scales = xp.where(short, xp.maximum(had, xp.zeros_like(had)), 1.0)
    shares = xp.where(done.fine, basis @ done.found, together)
    shares = xp.minimum(xp.maximum(shares, lower), upper)
    return shares, xp.where(done.fine, scales, scale)


def _scale_next_group(
    xp: ModuleType, programme: _ScalingProgramme, now: _ScalingStage, group: Array
) -> _ScalingStage:
    """Give a group all it can have, and hold the others to what they were given."""
    turn = programme.asked[group] & programme.needed & now.fine
    return skip_unless(~turn, lambda: now, lambda: _give_most(xp, programme, now, group, turn))


def _give_most(
    xp: ModuleType, programme: _ScalingProgramme, now: _ScalingStage, group: Array, turn: Array
) -> _ScalingStage:
    """Return the stage after a group got all it can have, where it is its turn."""
    asked, ceiling = programme.asked, programme.ceiling
    groups = asked.shape[0]
    here = xp.arange(now.pull.shape[0]) == group
    mine = here[:groups]
    last = ~xp.any(asked & (xp.arange(groups) > group))
    top = xp.where(last, ceiling[group], MAX_RATIO)
    solved, ok = programme.solver.least(
        xp.where(here, -PULL, now.pull),
        xp.concat([now.low, programme.lower]),
        xp.concat([xp.where(mine, top, now.high), programme.upper]),
        turn,
    )
    had = xp.where(solved[group] > 0, solved[group], 0.0)
    most = xp.minimum(ceiling[group], had)
    # The slack is so that rounding leaves the next steps a way.
    kept = xp.minimum(ceiling[group], (1 - programme.concession) * had) - SLACK
    return _ScalingStage(
        xp.where(turn, solved, now.found),
        xp.where(mine & turn, xp.where(kept > 0, kept, 0.0), now.low),
        xp.where(mine & turn, most, now.high),
        xp.where(here & turn, -PULL_BACK, now.pull),
        now.fine & (ok | ~turn),
    )


def scale_together(patterns: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Return the sum of patterns (n, g) scaled back as a whole to fit, and its scale (g,) times.

    s = min(1, minᵢ limitᵢ/xᵢ), with the limit on the side that xᵢ is on.
    """
    xp = namespace(patterns)
    x = xp.sum(patterns, axis=1)
    limit = xp.where(x > 0, upper, lower)
    beyond = xp.abs(x) > xp.abs(limit)
    scale = xp.min(xp.where(beyond, limit / xp.where(beyond, x, 1.0), 1.0))
    shares = xp.minimum(xp.maximum(scale * x, lower), upper)
    return shares, scale + xp.zeros_like(patterns[0])
