# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Small quadratic programmes with bounds, solved exactly by an active-set method.

The dual method of Goldfarb and Idnani (1983, doi 10.1007/BF02591962): from the least without
bounds, the bound that is violated most joins the active ones, and those whose multipliers would
change sign leave. A compiler needs it in fixed shapes (:func:`find_active_sides`); NumPy is asked
step by step (:class:`ActiveSet`), which is some ten times as fast there, and may go on from the
bounds that were active in the programme before.

Which bounds are active is searched (:mod:`marine_sim_ros.control.quadratic`), for as long as one
programme of a batch needs it, and without a gradient. The answer is solved from the active
bounds: that corrects accumulated rounding, makes it the same whatever the way of the search, and
gives the gradient, as an implicit function has it. The minimiser is unique; the tests compare it
with that of DAQP (Arnström, Bemporad and Axehill 2022, doi 10.1109/TAC.2022.3176430).
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import NUMPY, Array, namespace, while_loop, without_gradient
from marine_sim_ros.core.numerics import matrix_inverse

__all__ = ['QuadraticProgrammes', 'solve_programme']


# Which bounds are active at the minimum of a quadratic programme.

MAX_STEPS = 60
FEASIBILITY_TOLERANCE = 1e-9
"""By which a bound may be exceeded, of its size."""
DEPENDENCE_TOLERANCE = 1e-11


class _ActiveSetIterate(NamedTuple):
    """Where v (k,) and the multipliers (c,) are, on which sides (c,) bounds act, and what joins.

    v is moved along, not computed of the multipliers: those grow with the pull over the weakest
    of the active rows, and their rounding would be seen.
    """

    least: Array
    multipliers: Array
    sides: Array
    joining: Array
    side: Array
    steps: Array
    done: Array
    solved: Array


class BoundedProblem(NamedTuple):
    """C (c, k), H⁻¹ Cᵀ (k, c), G = C H⁻¹ Cᵀ (c, c), −H⁻¹ q (k,), bounds and their size (c,)."""

    rows: Array
    reach: Array
    matrix: Array
    unbounded: Array
    low: Array
    high: Array
    size: Array


def inverse_or_nan(matrix: Array) -> Array:
    """Return the inverse, or NaN where there is none, as a compiled program does."""
    try:
        return matrix_inverse(matrix)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan)


def active_inverse(xp: ModuleType, matrix: Array, active: Array) -> Array:
    """Return the inverse (c, c) of the active rows and columns, 0 elsewhere."""
    both = active[:, None] & active[None, :]
    eye = xp.eye(matrix.shape[0], dtype=matrix.dtype)
    return xp.where(both, inverse_or_nan(xp.where(both, matrix, eye)), 0.0)


def _add_bound(
    xp: ModuleType, problem: BoundedProblem, now: _ActiveSetIterate
) -> _ActiveSetIterate:
    """Let a violated bound join, as far as the active ones allow."""
    places = xp.arange(problem.low.shape[0])
    active = now.sides != 0
    values = problem.rows @ now.least
    above, below = values - problem.high, problem.low - values
    excess = xp.where(active, -xp.inf, xp.maximum(above, below) / problem.size)
    worst = xp.argmax(excess)
    fresh = now.joining < 0
    satisfied = fresh & (excess[worst] <= FEASIBILITY_TOLERANCE)
    joining = xp.where(fresh, worst, now.joining)
    chosen = places == joining
    side = xp.where(fresh, xp.where(above[joining] >= below[joining], 1.0, -1.0), now.side)
    side = xp.astype(side, values.dtype)

    column = problem.matrix @ xp.astype(chosen, values.dtype)
    change = -side * (active_inverse(xp, problem.matrix, active) @ column)
    give = column[joining] + side * (column @ change)
    left = xp.where(side > 0, above[joining], below[joining])
    free = give > DEPENDENCE_TOLERANCE * column[joining]
    whole = xp.where(free, left / xp.where(free, give, 1.0), xp.inf)
    closing = active & (now.sides * change < 0)
    until = xp.where(
        closing, xp.abs(now.multipliers) / xp.where(closing, xp.abs(change), 1.0), xp.inf
    )
    first = xp.argmin(until)
    length = xp.minimum(whole, until[first])
    stuck = ~xp.isfinite(length)
    leaves = until[first] < whole
    change = xp.where(stuck, 0.0, length) * (change + side * chosen)
    gone = (places == first) & leaves
    sides = xp.where(gone, 0.0, xp.where(chosen & ~leaves, side, now.sides))
    multipliers = xp.where(gone, 0.0, now.multipliers + change)
    steps = now.steps + 1
    return _ActiveSetIterate(
        xp.where(satisfied, now.least, now.least - problem.reach @ change),
        xp.where(satisfied, now.multipliers, multipliers),
        xp.where(satisfied | stuck, now.sides, sides),
        xp.where(leaves, joining, -1),
        side,
        steps,
        satisfied | stuck | (steps >= MAX_STEPS),
        satisfied,
    )


def find_active_sides(
    xp: ModuleType, problem: BoundedProblem, wanted: Array
) -> tuple[Array, Array]:
    """Return on which sides (c,) bounds are active at the least, and whether there is one."""
    none = xp.zeros_like(problem.low)
    start = _ActiveSetIterate(
        problem.unbounded,
        none,
        none,
        xp.asarray(-1),
        xp.ones_like(none[0]),
        xp.asarray(0),
        ~wanted,
        wanted,
    )
    found = while_loop(xp, lambda s: ~s.done, lambda s: _add_bound(xp, problem, s), start)
    return found.sides, found.solved


class ActiveSet:
    """The search in NumPy, for programmes that share C and H; it keeps what was active last.

    Every bound is a row of A v ≤ b, upper ones first. K is the inverse of G = A H⁻¹ Aᵀ among the
    active rows, 0 elsewhere; a row that joins or leaves changes it by one outer product.
    """

    def __init__(self, problem: BoundedProblem) -> None:
        """Start with nothing active."""
        signs = np.repeat([1.0, -1.0], len(problem.rows))
        self._rows = signs[:, None] * np.concatenate([problem.rows] * 2)
        self._reach = signs[:, None] * np.concatenate([problem.reach.T] * 2)
        self._matrix = np.outer(signs, signs) * np.tile(problem.matrix, (2, 2))
        self._inverse = np.zeros_like(self._matrix)
        self._active: list[int] = []

    def sides(
        self, problem: BoundedProblem, tolerance: float = FEASIBILITY_TOLERANCE
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return on which sides (c,) bounds are active at the least, and whether there is one.

        Args:
            problem: of the C and H that all have.
            tolerance: by which a bound may be exceeded, of its size.
        """
        bounds = np.concatenate([problem.high, -problem.low])
        size = np.concatenate([problem.size] * 2)
        multipliers = self._drop_negative(self._rows @ problem.unbounded - bounds)
        v = problem.unbounded - multipliers @ self._reach
        half, solved = len(problem.low), False
        for _ in range(MAX_STEPS):
            excess = (self._rows @ v - bounds) / size
            excess[self._active] = -np.inf
            excess[[row - half for row in self._active]] = -np.inf  # the same row's other bound
            worst = int(excess.argmax())
            if excess[worst] <= tolerance:
                solved = True
                break
            change = self._join(worst, float(excess[worst] * size[worst]), multipliers)
            if change is None:
                break
            v = v - change @ self._reach
        found = np.zeros(len(bounds))
        found[self._active] = 1.0
        return found[:half] - found[half:], np.asarray(solved)

    def _drop_negative(self, excess: np.ndarray) -> np.ndarray:
        """Let rows with negative multipliers leave; return the multipliers (2c,) of the rest."""
        while True:
            multipliers = self._inverse @ excess
            worst = int(multipliers.argmin())
            if not multipliers[worst] < 0:
                return multipliers
            self._leave(worst)

    def _leave(self, row: int) -> None:
        self._active.remove(row)
        inverse, column = self._inverse, self._inverse[row].copy()
        inverse -= column[:, None] * (column / column[row])
        inverse[row] = 0.0
        inverse[:, row] = 0.0

    def _join(self, row: int, excess: float, multipliers: np.ndarray) -> np.ndarray | None:
        """Let a row join, others leave for it; return by what all multipliers (2c,) changed.

        They are changed in place. None where there is no way.
        """
        before = multipliers.copy()
        column = self._matrix[row]
        whole = float(column[row])
        for _ in range(MAX_STEPS):
            turn = self._inverse @ column
            give = whole - float(column @ turn)
            length = excess / give if give > DEPENDENCE_TOLERANCE * whole else np.inf
            first = -1
            for i, slope in zip(self._active, turn[self._active].tolist(), strict=True):
                if slope > 0 and (until := float(multipliers[i]) / slope) < length:
                    first, length = i, until
            if length == np.inf:
                return None
            turn[row] = -1.0
            multipliers -= length * turn
            if first < 0:
                self._inverse += turn[:, None] * (turn / give)
                self._active.append(row)
                return multipliers - before
            multipliers[first] = 0.0
            self._leave(first)
            excess -= length * give
        return None


# A small quadratic programme with bounds, solved exactly, by NumPy or while it is traced.

DEGENERATE_TOLERANCE = 1e-6
"""By which what the active bounds give may exceed others, of their size."""


class QuadraticProgrammes:
    """Programmes of least ½ vᵀ H v + qᵀ v with l ≤ C v ≤ u that differ in q, l and u only."""

    def __init__(self, hessian: Array, rows: Array) -> None:
        """Prepare.

        Args:
            hessian: H (k, k), positive definite.
            rows: C (c, k).
        """
        self.xp = namespace(hessian)
        self._rows = rows
        self._inverse = inverse_or_nan(hessian)
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
        problem = BoundedProblem(
            self._rows,
            self._reach,
            self._matrix,
            -self._inverse @ pull,
            low,
            high,
            xp.maximum(size, xp.ones_like(size)),
        )
        if xp is not NUMPY:
            return _solve_on_active(
                xp, problem, *find_active_sides(xp, without_gradient(xp, problem), wanted)
            )
        search = self._search or ActiveSet(problem)
        found, fine = _solve_on_active(xp, problem, *search.sides(problem))
        if not fine and self._search:  # what it remembers has gathered too much rounding
            search = ActiveSet(problem)
            found, fine = _solve_on_active(xp, problem, *search.sides(problem))
        if not fine:  # rounding of the way there has been taken for a bound that is exceeded
            search = ActiveSet(problem)
            found, fine = _solve_on_active(
                xp, problem, *search.sides(problem, DEGENERATE_TOLERANCE)
            )
        self._search = search if fine else None
        return found, fine


def _solve_on_active(
    xp: ModuleType, problem: BoundedProblem, sides: Array, solved: Array
) -> tuple[Array, Array]:
    """Return v (k,) on the active bounds, and whether it is the least.

    Args:
        xp: array library.
        problem: the programme.
        sides: (c,) on which side each bound is active, or 0.
        solved: () whether the search arrived; it also may not where it did: it carries its point
            along, and nearly parallel bounds magnify that point's rounding.
    """
    bound = xp.where(sides > 0, problem.high, problem.low)
    of_active = active_inverse(xp, problem.matrix, sides != 0)
    v, multipliers = problem.unbounded, xp.zeros_like(problem.low)
    # Once would do, but for rounding: what is far from the bounds at first is near them then.
    for _ in range(3):
        change = of_active @ (problem.rows @ v - bound)
        v, multipliers = v - problem.reach @ change, multipliers + change
    inwards = sides * multipliers
    values = problem.rows @ v
    excess = xp.max(xp.maximum(values - problem.high, problem.low - values) / problem.size)
    solve_programme = (excess <= FEASIBILITY_TOLERANCE) & (
        xp.min(inwards) >= -FEASIBILITY_TOLERANCE * xp.max(xp.abs(inwards))
    )
    # Bounds that nearly depend on one another are no place to solve from.
    return v, solve_programme | (solved & (excess <= DEGENERATE_TOLERANCE))


def solve_programme(
    hessian: Array, pull: Array, rows: Array, low: Array, high: Array, wanted: Array
) -> tuple[Array, Array]:
    """Return v (k,) of one of the :class:`QuadraticProgrammes`, and whether there is one."""
    return QuadraticProgrammes(hessian, rows).least(pull, low, high, wanted)
