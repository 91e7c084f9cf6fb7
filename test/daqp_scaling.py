# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The scaling of demands with DAQP: an independent solver for the same programmes."""

import daqp
import numpy as np

from marine_sim_ros.control.effectors import (
    ACHIEVED_TOLERANCE,
    ACTIVE_WEIGHT,
    DONE_WEIGHT,
    MAX_RATIO,
    NEGLIGIBLE,
    SLACK,
    scale_together,
)

TOLERANCE = 5e-9


def scale_groups(patterns, free, lower, upper, concession):
    """Return thrusts x (n,) and scales s (g,), see control.scaling.scale_groups."""
    peak = np.abs(patterns).max(axis=0)
    asked = np.flatnonzero(peak > NEGLIGIBLE)
    peak = peak[asked]
    basis = np.concatenate([patterns[:, asked] / peak, free], axis=1)
    hessian = basis.T @ basis
    high = np.concatenate([np.minimum(peak, MAX_RATIO), upper])
    low = np.concatenate([np.zeros(len(asked)), lower])
    pull = np.zeros(basis.shape[1])
    found = pull
    for i, wanted in enumerate(high[: len(asked)].tolist()):
        last = i == len(asked) - 1
        high[i] = wanted if last else MAX_RATIO
        pull[i] = -ACTIVE_WEIGHT
        solved = _least(hessian, pull, basis, high, low)
        if solved is None:
            return scale_together(patterns, lower, upper)
        found = solved
        had = max(float(found[i]), 0.0)
        high[i] = min(wanted, had)
        # The slack is so that rounding leaves the next steps a way.
        low[i] = max(min(wanted, (1 - concession) * had) - SLACK, 0.0)
        pull[i] = -DONE_WEIGHT
    had = found[: len(asked)] / peak
    scales = np.ones(patterns.shape[1])
    scales[asked] = np.where(had < 1 - ACHIEVED_TOLERANCE, np.maximum(had, 0.0), 1.0)
    return np.minimum(np.maximum(basis @ found, lower), upper), scales


def _least(hessian, pull, basis, high, low):
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
