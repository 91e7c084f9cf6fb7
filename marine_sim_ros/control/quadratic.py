# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A small quadratic programme with bounds, solved exactly, by NumPy or while it is traced.

Which bounds are active is searched (:mod:`marine_sim_ros.control.active_set`), for as long as one
programme of a batch needs it, and without a gradient. The answer is solved from the active
bounds: that corrects accumulated rounding, makes it the same whatever the way of the search, and
gives the gradient, as an implicit function has it. The minimiser is unique; the tests compare it
with that of DAQP (Arnström, Bemporad and Axehill 2022, doi 10.1109/TAC.2022.3176430).
"""

from __future__ import annotations

from types import ModuleType

from marine_sim_ros.control.active_set import (
    TOLERANCE,
    ActiveSet,
    Problem,
    among,
    inverse,
    traced_sides,
)
from marine_sim_ros.core.arrays import NUMPY, Array, namespace
from marine_sim_ros.core.control_flow import without_gradient

__all__ = ['Programmes', 'least']


class Programmes:
    """Programmes of least ½ vᵀ H v + qᵀ v with l ≤ C v ≤ u that differ in q, l and u only."""

    def __init__(self, hessian: Array, rows: Array) -> None:
        """Prepare.

        Args:
            hessian: H (k, k), positive definite.
            rows: C (c, k).
        """
        self.xp = namespace(hessian)
        self._rows = rows
        self._inverse = inverse(self.xp, hessian)
        self._reach = self._inverse @ self.xp.matrix_transpose(rows)
        self._matrix = rows @ self._reach
        self._search: ActiveSet | None = None

    def least(self, pull: Array, low: Array, high: Array, wanted: Array) -> tuple[Array, Array]:
        """Return v (k,), and whether there is one.

        Args:
            pull: q (k,).
            low: l (c,).
            high: u (c,).
            wanted: () whether it is needed at all; where not, nothing is searched.
        """
        xp, rows, reach = self.xp, self._rows, self._reach
        size = xp.maximum(xp.abs(high), xp.abs(low))
        problem = Problem(
            rows,
            reach,
            self._matrix,
            -self._inverse @ pull,
            low,
            high,
            xp.maximum(size, xp.ones_like(size)),
        )
        if xp is NUMPY:
            self._search = self._search or ActiveSet(problem)
            sides, solved = self._search.sides(problem)
        else:
            sides, solved = traced_sides(xp, without_gradient(xp, problem), wanted)
        bound = xp.where(sides > 0, high, low)
        of_active = among(xp, problem.matrix, sides != 0)
        found, multipliers = problem.unbounded, xp.zeros_like(low)
        # Once would do, but for rounding: what is far from the bounds at first is near them then.
        for _ in range(3):
            change = of_active @ (rows @ found - bound)
            found, multipliers = found - reach @ change, multipliers + change
        return found, solved | _is_least(xp, problem, found, sides * multipliers)


def _is_least(xp: ModuleType, problem: Problem, v: Array, inwards: Array) -> Array:
    """Return () whether v keeps all bounds and no active one pulls (c,) outwards.

    The search carries its point along, and nearly parallel bounds magnify that point's rounding:
    it may look for a way on from where it has arrived.
    """
    values = problem.rows @ v
    excess = xp.maximum(values - problem.high, problem.low - values) / problem.size
    kept = xp.max(excess) <= TOLERANCE
    return kept & (xp.min(inwards) >= -TOLERANCE * xp.max(xp.abs(inwards)))


def least(
    hessian: Array, pull: Array, rows: Array, low: Array, high: Array, wanted: Array
) -> tuple[Array, Array]:
    """Return v (k,) of one programme, and whether there is one; see :class:`Programmes`."""
    return Programmes(hessian, rows).least(pull, low, high, wanted)
