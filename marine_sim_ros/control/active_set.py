# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which bounds are active at the minimum of a quadratic programme.

The dual method of Goldfarb and Idnani (1983, doi 10.1007/BF02591962): from the least without
bounds, the bound that is violated most joins the active ones, and those whose multipliers would
change sign leave. A compiler needs it in fixed shapes (:func:`traced_sides`); NumPy is asked step
by step (:class:`ActiveSet`), which is some ten times as fast there, and may go on from the
bounds that were active in the programme before.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array
from marine_sim_ros.core.control_flow import while_loop

__all__ = ['TOLERANCE', 'ActiveSet', 'Problem', 'among', 'inverse', 'traced_sides']

MOST_STEPS = 60
TOLERANCE = 1e-9
"""By which a bound may be exceeded, of its size."""
DEPENDENT = 1e-11


class _Search(NamedTuple):
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


class Problem(NamedTuple):
    """C (c, k), H⁻¹ Cᵀ (k, c), G = C H⁻¹ Cᵀ (c, c), −H⁻¹ q (k,), bounds and their size (c,)."""

    rows: Array
    reach: Array
    matrix: Array
    unbounded: Array
    low: Array
    high: Array
    size: Array


def inverse(xp: ModuleType, matrix: Array) -> Array:
    """Return the inverse; where there is none, what is not a number, as a compiler has it."""
    try:
        return xp.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan)


def among(xp: ModuleType, matrix: Array, active: Array) -> Array:
    """Return the inverse (c, c) of the active rows and columns, 0 elsewhere."""
    both = active[:, None] & active[None, :]
    eye = xp.eye(matrix.shape[0], dtype=matrix.dtype)
    return xp.where(both, inverse(xp, xp.where(both, matrix, eye)), 0.0)


def _step(xp: ModuleType, problem: Problem, now: _Search) -> _Search:
    """Let a violated bound join, as far as the active ones allow."""
    places = xp.arange(problem.low.shape[0])
    active = now.sides != 0
    values = problem.rows @ now.least
    above, below = values - problem.high, problem.low - values
    excess = xp.where(active, -xp.inf, xp.maximum(above, below) / problem.size)
    worst = xp.argmax(excess)
    fresh = now.joining < 0
    satisfied = fresh & (excess[worst] <= TOLERANCE)
    joining = xp.where(fresh, worst, now.joining)
    chosen = places == joining
    side = xp.where(fresh, xp.where(above[joining] >= below[joining], 1.0, -1.0), now.side)
    side = xp.astype(side, values.dtype)

    column = problem.matrix @ xp.astype(chosen, values.dtype)
    change = -side * (among(xp, problem.matrix, active) @ column)
    give = column[joining] + side * (column @ change)
    left = xp.where(side > 0, above[joining], below[joining])
    free = give > DEPENDENT * column[joining]
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
    return _Search(
        xp.where(satisfied, now.least, now.least - problem.reach @ change),
        xp.where(satisfied, now.multipliers, multipliers),
        xp.where(satisfied | stuck, now.sides, sides),
        xp.where(leaves, joining, -1),
        side,
        steps,
        satisfied | stuck | (steps >= MOST_STEPS),
        satisfied,
    )


def traced_sides(xp: ModuleType, problem: Problem, wanted: Array) -> tuple[Array, Array]:
    """Return on which sides (c,) bounds are active at the least, and whether there is one."""
    none = xp.zeros_like(problem.low)
    start = _Search(
        problem.unbounded,
        none,
        none,
        xp.asarray(-1),
        xp.ones_like(none[0]),
        xp.asarray(0),
        ~wanted,
        wanted,
    )
    found = while_loop(xp, lambda s: ~s.done, lambda s: _step(xp, problem, s), start)
    return found.sides, found.solved


class ActiveSet:
    """The search in NumPy, for programmes that share C and H; it keeps what was active last.

    Every bound is a row of A v ≤ b, upper ones first. K is the inverse of G = A H⁻¹ Aᵀ among the
    active rows, 0 elsewhere; a row that joins or leaves changes it by one outer product.
    """

    def __init__(self, problem: Problem) -> None:
        """Start with nothing active."""
        signs = np.repeat([1.0, -1.0], len(problem.rows))
        self._rows = signs[:, None] * np.concatenate([problem.rows] * 2)
        self._reach = signs[:, None] * np.concatenate([problem.reach.T] * 2)
        self._matrix = np.outer(signs, signs) * np.tile(problem.matrix, (2, 2))
        self._inverse = np.zeros_like(self._matrix)
        self._active: list[int] = []

    def sides(
        self, problem: Problem, tolerance: float = TOLERANCE
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return on which sides (c,) bounds are active at the least, and whether there is one.

        Args:
            problem: of the C and H that all have.
            tolerance: by which a bound may be exceeded, of its size.
        """
        bounds = np.concatenate([problem.high, -problem.low])
        size = np.concatenate([problem.size] * 2)
        multipliers = self._restarted(self._rows @ problem.unbounded - bounds)
        v = problem.unbounded - multipliers @ self._reach
        half, solved = len(problem.low), False
        for _ in range(MOST_STEPS):
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

    def _restarted(self, excess: np.ndarray) -> np.ndarray:
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
        for _ in range(MOST_STEPS):
            turn = self._inverse @ column
            give = whole - float(column @ turn)
            length = excess / give if give > DEPENDENT * whole else np.inf
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
