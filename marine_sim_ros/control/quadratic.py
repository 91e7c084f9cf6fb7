# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Small quadratic programmes with bounds, solved exactly by a dual active-set method.

Method of Goldfarb and Idnani (1983, doi 10.1007/BF02591962): starting from the unconstrained
minimum, the most violated bound is added to the active set, and bounds whose multipliers would
change sign are removed. Compiled programs need fixed shapes (:func:`find_active_sides`). NumPy
uses a search that updates the inverse (:class:`ActiveSet`), about ten times as fast there, which
can start from the active set of the previous programme.

The search runs until the last programme of a batch is done, and has no gradient. The minimiser is
then solved for from the active bounds: this removes accumulated rounding, makes the result
independent of the path of the search, and gives the gradient of the implicit function. The
minimiser is unique; the tests compare it with that of DAQP (Arnström, Bemporad and Axehill 2022,
doi 10.1109/TAC.2022.3176430).
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import NUMPY, Array, namespace, while_loop, without_gradient
from marine_sim_ros.core.numerics import matrix_inverse

__all__ = ['QuadraticProgrammes']


# Search for the active bounds at the minimum of a quadratic programme.

MAX_STEPS = 60
FEASIBILITY_TOLERANCE = 1e-9
"""Permitted violation of a bound, relative to its size."""
DEPENDENCE_TOLERANCE = 1e-11
"""Relative curvature below which a bound depends linearly on the active ones."""


class _ActiveSetIterate(NamedTuple):
    """Iterate: v (k,), multipliers (c,), active sides (c,) ±1 or 0, and the bound being added.

    v is updated step by step, not computed from the multipliers: these grow with the gradient over
    the weakest active row, and their rounding would dominate v.
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
    xp: ModuleType, problem: BoundedProblem, iterate: _ActiveSetIterate
) -> _ActiveSetIterate:
    """Make one step: add the most violated bound, or remove an active one that blocks it."""
    indices = xp.arange(problem.low.shape[0])
    active = iterate.sides != 0
    values = problem.rows @ iterate.least
    above, below = values - problem.high, problem.low - values
    excess = xp.where(active, -xp.inf, xp.maximum(above, below) / problem.size)
    worst = xp.argmax(excess)
    picks_new = iterate.joining < 0
    satisfied = picks_new & (excess[worst] <= FEASIBILITY_TOLERANCE)
    joining = xp.where(picks_new, worst, iterate.joining)
    is_joining = indices == joining
    side = xp.where(picks_new, xp.where(above[joining] >= below[joining], 1.0, -1.0), iterate.side)
    side = xp.astype(side, values.dtype)

    column = problem.matrix @ xp.astype(is_joining, values.dtype)
    change = -side * (active_inverse(xp, problem.matrix, active) @ column)
    curvature = column[joining] + side * (column @ change)
    violation = xp.where(side > 0, above[joining], below[joining])
    can_step = curvature > DEPENDENCE_TOLERANCE * column[joining]
    full_step = xp.where(can_step, violation / xp.where(can_step, curvature, 1.0), xp.inf)
    may_leave = active & (iterate.sides * change < 0)
    leaving_step = xp.where(
        may_leave, xp.abs(iterate.multipliers) / xp.where(may_leave, xp.abs(change), 1.0), xp.inf
    )
    leaving = xp.argmin(leaving_step)
    step_length = xp.minimum(full_step, leaving_step[leaving])
    infeasible = ~xp.isfinite(step_length)
    one_leaves = leaving_step[leaving] < full_step
    change = xp.where(infeasible, 0.0, step_length) * (change + side * is_joining)
    is_leaving = (indices == leaving) & one_leaves
    sides = xp.where(is_leaving, 0.0, xp.where(is_joining & ~one_leaves, side, iterate.sides))
    multipliers = xp.where(is_leaving, 0.0, iterate.multipliers + change)
    steps = iterate.steps + 1
    return _ActiveSetIterate(
        xp.where(satisfied, iterate.least, iterate.least - problem.reach @ change),
        xp.where(satisfied, iterate.multipliers, multipliers),
        xp.where(satisfied | infeasible, iterate.sides, sides),
        xp.where(one_leaves, joining, -1),
        side,
        steps,
        satisfied | infeasible | (steps >= MAX_STEPS),
        satisfied,
    )


def find_active_sides(
    xp: ModuleType, problem: BoundedProblem, needed: Array
) -> tuple[Array, Array]:
    """Return the active sides (c,), ±1 or 0, at the minimum, and whether there is a minimum."""
    none = xp.zeros_like(problem.low)
    start = _ActiveSetIterate(
        problem.unbounded,
        none,
        none,
        xp.asarray(-1),
        xp.ones_like(none[0]),
        xp.asarray(0),
        ~needed,
        needed,
    )
    final = while_loop(xp, lambda s: ~s.done, lambda s: _add_bound(xp, problem, s), start)
    return final.sides, final.solved


class ActiveSet:
    """Active-set search in NumPy for programmes that share C and H, with warm start.

    Every bound is a row of A v ≤ b, upper ones first. K is the inverse of G = A H⁻¹ Aᵀ in the
    active rows, 0 elsewhere; adding or removing a row is a rank-one update.
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
        """Return the active sides (c,), ±1 or 0, at the minimum, and whether there is a minimum.

        Args:
            problem: programme with the C and H of this search.
            tolerance: permitted violation of a bound, relative to its size.
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
        active_flags = np.zeros(len(bounds))
        active_flags[self._active] = 1.0
        return active_flags[:half] - active_flags[half:], np.asarray(solved)

    def _drop_negative(self, excess: np.ndarray) -> np.ndarray:
        """Remove rows with negative multipliers; return the multipliers (2c,) of the others."""
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
        """Add a row and remove those that block it; return the change of all multipliers (2c,).

        The multipliers are changed in place. None: the programme is infeasible.
        """
        initial = multipliers.copy()
        column = self._matrix[row]
        diagonal = float(column[row])
        for _ in range(MAX_STEPS):
            direction = self._inverse @ column
            curvature = diagonal - float(column @ direction)
            step_length = (
                excess / curvature if curvature > DEPENDENCE_TOLERANCE * diagonal else np.inf
            )
            leaving = -1
            for i, rate in zip(self._active, direction[self._active].tolist(), strict=True):
                if rate > 0 and (leaving_step := float(multipliers[i]) / rate) < step_length:
                    leaving, step_length = i, leaving_step
            if step_length == np.inf:
                return None
            direction[row] = -1.0
            multipliers -= step_length * direction
            if leaving < 0:
                self._inverse += direction[:, None] * (direction / curvature)
                self._active.append(row)
                return multipliers - initial
            multipliers[leaving] = 0.0
            self._leave(leaving)
            excess -= step_length * curvature
        return None


# Solution from the active bounds, in NumPy or traced.

DEGENERATE_TOLERANCE = 1e-6
"""Relative feasibility tolerance where active bounds nearly depend on each other."""


class QuadraticProgrammes:
    """Programmes min ½ vᵀ H v + qᵀ v with l ≤ C v ≤ u that differ in q, l and u only."""

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

    def least(
        self, gradient: Array, low: Array, high: Array, needed: Array
    ) -> tuple[Array, Array]:
        """Return the minimiser v (k,), and whether there is one.

        Args:
            gradient: q (k,).
            low: l (c,).
            high: u (c,).
            needed: () whether the result is used; if not, the search is skipped.
        """
        xp = self.xp
        size = xp.maximum(xp.abs(high), xp.abs(low))
        problem = BoundedProblem(
            self._rows,
            self._reach,
            self._matrix,
            -self._inverse @ gradient,
            low,
            high,
            xp.maximum(size, xp.ones_like(size)),
        )
        if xp is not NUMPY:
            return _solve_on_active(
                xp, problem, *find_active_sides(xp, without_gradient(xp, problem), needed)
            )
        active_set = self._search or ActiveSet(problem)
        solution, is_minimum = _solve_on_active(xp, problem, *active_set.sides(problem))
        if not is_minimum and self._search:  # rounding has accumulated in the warm start
            active_set = ActiveSet(problem)
            solution, is_minimum = _solve_on_active(xp, problem, *active_set.sides(problem))
        if not is_minimum:  # the search took its rounding for a violated bound
            active_set = ActiveSet(problem)
            solution, is_minimum = _solve_on_active(
                xp, problem, *active_set.sides(problem, DEGENERATE_TOLERANCE)
            )
        self._search = active_set if is_minimum else None
        return solution, is_minimum


def _solve_on_active(
    xp: ModuleType, problem: BoundedProblem, sides: Array, solved: Array
) -> tuple[Array, Array]:
    """Return v (k,) on the active bounds, and whether it is the minimum.

    Args:
        xp: array library.
        problem: the programme.
        sides: (c,) active side of each bound, ±1, or 0.
        solved: () whether the search ended regularly. Its own point is not used: nearly parallel
            bounds magnify its rounding.
    """
    bound = xp.where(sides > 0, problem.high, problem.low)
    active_matrix_inverse = active_inverse(xp, problem.matrix, sides != 0)
    v, multipliers = problem.unbounded, xp.zeros_like(problem.low)
    # Iterative refinement: one solve is exact except for rounding.
    for _ in range(3):
        change = active_matrix_inverse @ (problem.rows @ v - bound)
        v, multipliers = v - problem.reach @ change, multipliers + change
    signed_multipliers = sides * multipliers
    values = problem.rows @ v
    excess = xp.max(xp.maximum(values - problem.high, problem.low - values) / problem.size)
    is_minimum = (excess <= FEASIBILITY_TOLERANCE) & (
        xp.min(signed_multipliers) >= -FEASIBILITY_TOLERANCE * xp.max(xp.abs(signed_multipliers))
    )
    # With nearly dependent bounds the signs of the multipliers are unreliable.
    return v, is_minimum | (solved & (excess <= DEGENERATE_TOLERANCE))
