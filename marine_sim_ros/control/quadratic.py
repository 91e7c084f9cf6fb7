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
NEAR = 1e-6
"""By which what the active bounds give may exceed others, of their size."""


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
        xp = self.xp
        size = xp.maximum(xp.abs(high), xp.abs(low))
        problem = Problem(
            self._rows,
            self._reach,
            self._matrix,
            -self._inverse @ pull,
            low,
            high,
            xp.maximum(size, xp.ones_like(size)),
        )
        if xp is not NUMPY:
            return _solved(xp, problem, *traced_sides(xp, without_gradient(xp, problem), wanted))
        search = self._search or ActiveSet(problem)
        found, fine = _solved(xp, problem, *search.sides(problem))
        if not fine and self._search:  # what it remembers has gathered too much rounding
            search = ActiveSet(problem)
            found, fine = _solved(xp, problem, *search.sides(problem))
        if not fine:  # rounding of the way there has been taken for a bound that is exceeded
            search = ActiveSet(problem)
            found, fine = _solved(xp, problem, *search.sides(problem, NEAR))
        self._search = search if fine else None
        return found, fine


def _solved(xp: ModuleType, problem: Problem, sides: Array, solved: Array) -> tuple[Array, Array]:
    """Return v (k,) on the active bounds, and whether it is the least.

    Args:
        xp: array library.
        problem: the programme.
        sides: (c,) on which side each bound is active, or 0.
        solved: () whether the search arrived; it also may not where it did: it carries its point
            along, and nearly parallel bounds magnify that point's rounding.
    """
    bound = xp.where(sides > 0, problem.high, problem.low)
    of_active = among(xp, problem.matrix, sides != 0)
    v, multipliers = problem.unbounded, xp.zeros_like(problem.low)
    # Once would do, but for rounding: what is far from the bounds at first is near them then.
    for _ in range(3):
        change = of_active @ (problem.rows @ v - bound)
        v, multipliers = v - problem.reach @ change, multipliers + change
    inwards = sides * multipliers
    values = problem.rows @ v
    excess = xp.max(xp.maximum(values - problem.high, problem.low - values) / problem.size)
    least = (excess <= TOLERANCE) & (xp.min(inwards) >= -TOLERANCE * xp.max(xp.abs(inwards)))
    # Bounds that nearly depend on one another are no place to solve from.
    return v, least | (solved & (excess <= NEAR))


def least(
    hessian: Array, pull: Array, rows: Array, low: Array, high: Array, wanted: Array
) -> tuple[Array, Array]:
    """Return v (k,) of one programme, and whether there is one; see :class:`Programmes`."""
    return Programmes(hessian, rows).least(pull, low, high, wanted)
