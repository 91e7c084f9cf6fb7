# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""How much of each demand fits within the limits when not all do, the first ones first.

The solver is DAQP (Arnström, Bemporad and Axehill 2022, doi 10.1109/TAC.2022.3176430), a dual
active-set method in plain C: exact but for its tolerance, the same bits every time, no start to
choose, and about 7 µs for a problem of this size. Of what else was tried, quadprog is GPL, ProxQP
and PIQP take 25 µs and more, and SciPy's bounded least squares and HiGHS 0.2 ms and 1 ms.
"""

from __future__ import annotations

import daqp
import numpy as np

__all__ = ['scale_groups']

NEGLIGIBLE = 1e-9
MOST = 1e4
PULL, PULL_BACK = 1e5, 1e3
SLACK, TOLERANCE = 2e-8, 5e-9
WHOLE = 1e-6


def scale_groups(
    patterns: np.ndarray,
    free: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    concession: float,
) -> tuple[np.ndarray, np.ndarray]:
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
    worst n/2K apart.

    Args:
        patterns: (n, g) thrusts p_g that achieve each group alone, in shares of the limits, of
            least norm; the highest group first.
        free: (n, d) orthonormal N, the thrusts that do nothing together.
        lower: (n,) in [−1, 0].
        upper: (n,) in [0, 1].
        concession: c, more than 0, up to 1.

    Returns:
        x and s; should the solver fail, all groups scaled back together.
    """
    peak = np.abs(patterns).max(axis=0)
    asked = np.flatnonzero(peak > NEGLIGIBLE)
    peak = peak[asked]
    basis = np.concatenate([patterns[:, asked] / peak, free], axis=1)
    hessian = basis.T @ basis
    high = np.concatenate([np.minimum(peak, MOST), upper])
    low = np.concatenate([np.zeros(len(asked)), lower])
    pull = np.zeros(basis.shape[1])
    found = pull
    for i, wanted in enumerate(high[: len(asked)].tolist()):
        last = i == len(asked) - 1
        high[i] = wanted if last else MOST
        pull[i] = -PULL
        solved = _least(hessian, pull, basis, high, low)
        if solved is None:
            return scale_together(patterns, lower, upper)
        found = solved
        had = max(float(found[i]), 0.0)
        high[i] = min(wanted, had)
        # The slack is so that rounding leaves the next steps a way.
        low[i] = max(min(wanted, (1 - concession) * had) - SLACK, 0.0)
        pull[i] = -PULL_BACK
    had = found[: len(asked)] / peak
    scales = np.ones(patterns.shape[1])
    scales[asked] = np.where(had < 1 - WHOLE, np.maximum(had, 0.0), 1.0)
    return np.minimum(np.maximum(basis @ found, lower), upper), scales


def _least(
    hessian: np.ndarray, pull: np.ndarray, basis: np.ndarray, high: np.ndarray, low: np.ndarray
) -> np.ndarray | None:
    """Return v of least ½vᵀHv + pull·v within bounds of its first elements and of the thrusts."""
    inequalities = np.zeros(len(high), dtype=np.intc)
    # A few programmes in ten thousand are too ill-conditioned for the strong pull.
    for strength in (1.0, 1e-2):
        found, _, flag, _ = daqp.solve(
            hessian, strength * pull, basis, high, low, inequalities, primal_tol=TOLERANCE
        )
        if flag == 1:
            return np.asarray(found)
    return None


def scale_together(
    patterns: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of patterns (n, g) scaled back as a whole to fit, and its scale (g,) times.

    s = min(1, minᵢ limitᵢ/xᵢ), with the limit on the side that xᵢ is on.
    """
    x = patterns.sum(axis=1)
    limit = np.where(x > 0, upper, lower)
    beyond = np.abs(x) > np.abs(limit)
    scale = float(np.min(limit[beyond] / x[beyond], initial=1.0))
    return np.minimum(np.maximum(scale * x, lower), upper), np.full(patterns.shape[1], scale)
