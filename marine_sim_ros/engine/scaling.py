# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""How much of each demand fits within the limits, traced: as in ``control.scaling``."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from marine_sim_ros.control.scaling import MOST, NEGLIGIBLE, PULL, PULL_BACK, SLACK
from marine_sim_ros.engine.quadratic import least

__all__ = ['scaled']


class _Stage(NamedTuple):
    """Between one group and the next: v, the bounds and the pulls, and whether all went well."""

    found: jax.Array
    low: jax.Array
    high: jax.Array
    pull: jax.Array
    fine: jax.Array


def scaled(
    patterns: jax.Array,
    free: jax.Array,
    lower: jax.Array,
    upper: jax.Array,
    concession: float,
    fits: jax.Array,
) -> jax.Array:
    """Return the thrusts (n,) of :func:`marine_sim_ros.control.scaling.scale_groups`.

    The programmes are the same, with a fixed shape: a group that is not asked for, and a column
    of ``free`` that is zero, take part without doing anything.

    Args:
        patterns: (n, g).
        free: (n, d), filled up with zeros.
        lower: (n,).
        upper: (n,).
        concession: c.
        fits: () above 0.5 where nothing has to be scaled, and nothing is searched.
    """
    groups = patterns.shape[1]
    peak = jnp.max(jnp.abs(patterns), axis=0)
    asked = peak > NEGLIGIBLE
    peak = jnp.where(asked, peak, 1.0)
    basis = jnp.concatenate([jnp.where(asked, patterns / peak, 0.0), free], axis=1)
    size = basis.shape[1]
    eye = jnp.eye(size, dtype=basis.dtype)
    hessian = basis.T @ basis
    hessian = hessian + jnp.where(jnp.diag(hessian) == 0, 1.0, 0.0) * eye
    rows = jnp.concatenate([eye[:groups], basis])
    ceiling = jnp.where(asked, jnp.minimum(peak, MOST), 0.0)

    def one(carry: _Stage, group: jax.Array) -> tuple[_Stage, None]:
        """Give a group all it can have, and hold the others to what they were given."""
        here = jnp.arange(size) == group
        mine = here[:groups]
        turn = asked[group] & (fits < 0.5) & carry.fine
        last = ~jnp.any(asked & (jnp.arange(groups) > group))
        top = jnp.where(last, ceiling[group], MOST)
        solved, ok = least(
            hessian, jnp.where(here, -PULL, carry.pull), rows,
            jnp.concatenate([carry.low, lower]),
            jnp.concatenate([jnp.where(mine, top, carry.high), upper]), turn,
        )  # fmt: skip
        had = jnp.maximum(solved[group], 0.0)
        kept = jnp.maximum(jnp.minimum(ceiling[group], (1 - concession) * had) - SLACK, 0.0)
        return _Stage(
            jnp.where(turn, solved, carry.found),
            jnp.where(mine & turn, kept, carry.low),
            jnp.where(mine & turn, jnp.minimum(ceiling[group], had), carry.high),
            jnp.where(here & turn, -PULL_BACK, carry.pull),
            carry.fine & (ok | ~turn),
        ), None

    none = jnp.zeros_like(hessian[0])
    start = _Stage(none, jnp.zeros_like(ceiling), ceiling, none, jnp.asarray(True))
    (found, _, _, _, fine), _ = jax.lax.scan(one, start, jnp.arange(groups))
    shares = jnp.where(fine, basis @ found, _together(patterns, lower, upper))
    return jnp.clip(shares, lower, upper)


def _together(patterns: jax.Array, lower: jax.Array, upper: jax.Array) -> jax.Array:
    """Return the sum of patterns (n, g), scaled back as a whole to fit."""
    x = jnp.sum(patterns, axis=1)
    limit = jnp.where(x > 0, upper, lower)
    beyond = jnp.abs(x) > jnp.abs(limit)
    return x * jnp.min(jnp.where(beyond, limit / jnp.where(beyond, x, 1.0), 1.0))
