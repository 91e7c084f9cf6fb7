# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""How much of each demand fits within the limits when not all do, the first ones first."""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

from marine_sim_ros.control.quadratic import Programmes
from marine_sim_ros.core.arrays import NUMPY, Array, namespace
from marine_sim_ros.core.control_flow import in_turn

__all__ = ['scale_groups', 'scale_together']

NEGLIGIBLE = 1e-9
MOST = 1e4
PULL, PULL_BACK = 1e5, 1e3
SLACK = 2e-8
WHOLE = 1e-6


class _Programme(NamedTuple):
    """What stays from group to group: H and C, ceilings (g,), limits (n,), and c."""

    solver: Programmes
    asked: Array
    ceiling: Array
    lower: Array
    upper: Array
    concession: float
    needed: Array


class _Stage(NamedTuple):
    """Between one group and the next: v, the bounds and the pulls, and whether all went well."""

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
    programme = _Programme(
        Programmes(hessian, xp.concat([eye[:groups], basis])),
        asked,
        xp.where(asked, xp.minimum(peak, xp.full_like(peak, MOST)), 0.0),
        lower,
        upper,
        concession,
        xp.asarray(True) if needed is None else needed,
    )
    none = xp.zeros_like(hessian[0])
    start = _Stage(none, none[:groups], programme.ceiling, none, xp.asarray(True))
    done = in_turn(xp, groups, lambda stage, group: _next(xp, programme, stage, group), start)
    together, scale = scale_together(patterns, lower, upper)
    had = done.found[:groups] / peak
    short = asked & (had < 1 - WHOLE)
    scales = xp.where(short, xp.maximum(had, xp.zeros_like(had)), 1.0)
    shares = xp.where(done.fine, basis @ done.found, together)
    shares = xp.minimum(xp.maximum(shares, lower), upper)
    return shares, xp.where(done.fine, scales, scale)


def _next(xp: ModuleType, programme: _Programme, now: _Stage, group: Array) -> _Stage:
    """Give a group all it can have, and hold the others to what they were given."""
    asked, ceiling = programme.asked, programme.ceiling
    groups = asked.shape[0]
    turn = asked[group] & programme.needed & now.fine
    if xp is NUMPY and not turn:
        return now
    here = xp.arange(now.pull.shape[0]) == group
    mine = here[:groups]
    last = ~xp.any(asked & (xp.arange(groups) > group))
    top = xp.where(last, ceiling[group], MOST)
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
    return _Stage(
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
