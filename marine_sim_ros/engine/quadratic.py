# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A small quadratic programme with bounds, solved exactly while it is traced.

The dual method of Goldfarb and Idnani (1983, doi 10.1007/BF02591962): from the least without
bounds, the bound that is violated most joins the active ones, and those whose multipliers would
change sign leave. It is the method of DAQP, which :mod:`marine_sim_ros.control.scaling` uses; the
minimiser is unique, so both find the same but for rounding.

The search goes on for as long as one programme of a batch needs it, and has no slope. The answer
is solved once more from the active bounds it ends with: that mends what rounding adds up, and
gives the slope, as an implicit function has it.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

__all__ = ['least']

MOST_STEPS = 60
TOLERANCE = 1e-9
DEPENDENT = 1e-11


class _Search(NamedTuple):
    """Where v (k,) and the multipliers (c,) are, on which sides (c,) bounds act, and what joins.

    v is moved along, not computed of the multipliers: those grow with the pull over the weakest
    of the active rows, and their rounding would be seen.
    """

    least: jax.Array
    multipliers: jax.Array
    sides: jax.Array
    joining: jax.Array
    side: jax.Array
    steps: jax.Array
    done: jax.Array
    solved: jax.Array


class _Problem(NamedTuple):
    """C (c, k), H⁻¹ Cᵀ (k, c), G = C H⁻¹ Cᵀ (c, c), −H⁻¹ q (k,), and the bounds (c,)."""

    rows: jax.Array
    reach: jax.Array
    matrix: jax.Array
    unbounded: jax.Array
    low: jax.Array
    high: jax.Array


def _among(matrix: jax.Array, active: jax.Array) -> jax.Array:
    """Return the inverse (c, c) of the active rows and columns, 0 elsewhere."""
    both = active[:, None] & active[None, :]
    eye = jnp.eye(len(matrix), dtype=matrix.dtype)
    return jnp.where(both, jnp.linalg.inv(jnp.where(both, matrix, eye)), 0.0)


def _one(index: jax.Array, count: int) -> jax.Array:
    return jnp.arange(count) == index


def _step(problem: _Problem, now: _Search) -> _Search:
    """Let a violated bound join, as far as the active ones allow."""
    count = len(problem.low)
    active = now.sides != 0
    values = problem.rows @ now.least
    above, below = values - problem.high, problem.low - values
    size = jnp.maximum(jnp.maximum(jnp.abs(problem.high), jnp.abs(problem.low)), 1.0)
    excess = jnp.where(active, -jnp.inf, jnp.maximum(above, below) / size)
    worst = jnp.argmax(excess)
    fresh = now.joining < 0
    satisfied = fresh & (excess[worst] <= TOLERANCE)
    joining = jnp.where(fresh, worst, now.joining)
    chosen = _one(joining, count)
    side = jnp.where(
        fresh, jnp.where(above[joining] >= below[joining], 1.0, -1.0), now.side
    ).astype(values.dtype)

    column = problem.matrix @ chosen.astype(values.dtype)
    change = -side * (_among(problem.matrix, active) @ column)
    give = column[joining] + side * (column @ change)
    left = jnp.where(side > 0, above[joining], below[joining])
    free = give > DEPENDENT * column[joining]
    whole = jnp.where(free, left / jnp.where(free, give, 1.0), jnp.inf)
    closing = active & (now.sides * change < 0)
    until = jnp.where(
        closing, jnp.abs(now.multipliers) / jnp.where(closing, jnp.abs(change), 1.0), jnp.inf
    )
    first = jnp.argmin(until)
    length = jnp.minimum(whole, until[first])
    stuck = ~jnp.isfinite(length)
    leaves = until[first] < whole
    step = jnp.where(stuck, 0.0, length)
    change = step * (change + side * chosen)
    multipliers = now.multipliers + change
    gone = _one(first, count) & leaves
    sides = jnp.where(gone, 0.0, jnp.where(chosen & ~leaves, side, now.sides))
    multipliers = jnp.where(gone, 0.0, multipliers)
    steps = now.steps + 1
    return _Search(
        jnp.where(satisfied, now.least, now.least - problem.reach @ change),
        jnp.where(satisfied, now.multipliers, multipliers),
        jnp.where(satisfied | stuck, now.sides, sides),
        jnp.where(leaves, joining, -1),
        side,
        steps,
        satisfied | stuck | (steps >= MOST_STEPS),
        satisfied,
    )


def _active_sides(problem: _Problem, wanted: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return on which sides (c,) bounds are active at the least, and whether there is one."""
    none = jnp.zeros_like(problem.low)
    start = _Search(
        problem.unbounded,
        none,
        none,
        jnp.asarray(-1),
        jnp.ones_like(none[0]),
        jnp.asarray(0),
        ~wanted,
        wanted,
    )
    found = jax.lax.while_loop(lambda s: ~s.done, lambda s: _step(problem, s), start)
    return found.sides, found.solved


def least(
    hessian: jax.Array,
    pull: jax.Array,
    rows: jax.Array,
    low: jax.Array,
    high: jax.Array,
    wanted: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """Return v (k,) of least ½ vᵀ H v + qᵀ v with l ≤ C v ≤ u, and whether there is one.

    Args:
        hessian: H (k, k), positive definite.
        pull: q (k,).
        rows: C (c, k).
        low: l (c,).
        high: u (c,).
        wanted: () whether it is needed at all; where not, nothing is searched.
    """
    inverse_hessian = jnp.linalg.inv(hessian)
    reach = inverse_hessian @ rows.T
    problem = _Problem(rows, reach, rows @ reach, -inverse_hessian @ pull, low, high)
    sides, solved = _active_sides(jax.lax.stop_gradient(problem), wanted)
    bound = jnp.where(sides > 0, high, low)
    inverse = _among(problem.matrix, sides != 0)
    found = problem.unbounded
    # Once would do, but for rounding: what is far from the bounds at first is near them then.
    for _ in range(3):
        found = found - reach @ (inverse @ (rows @ found - bound))
    return found, solved
