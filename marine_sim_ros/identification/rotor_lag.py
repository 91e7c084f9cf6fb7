# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Thrust of lagging rotors in closed form, with exact derivatives by lag and delay.

Between two commands s = sgn(F)√|F| goes from s₀ to its target a as s(x) = a + (s₀ − a) exp(−x/T),
whatever the vehicle does, so that the integral of the thrust F = s|s| has a closed form too. A
mean pulse width would have none: thrust is no straight line of it, and has a dead zone, so that
lag and delay came out wrong by a few milliseconds, and the error had a kink where the delay
crosses a sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from marine_sim_ros.core.extras import require
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.thrusters import rotor_target

__all__ = ['mean_thrusts', 'stairs']

_STAIRS = 5
"""Held values that stand for a straight line between two commands."""
_NO_LAG = 1e-6
"""s, in place of 0."""


def stairs(times: Any, pwm: Any) -> tuple[Any, Any]:
    """Return held commands that follow straight lines between rows (s, m) and (s, m, k)."""
    jnp = require('jax.numpy', 'identify')
    share = np.arange(_STAIRS) / _STAIRS
    before, step = times[:, :-1, None], jnp.diff(times, axis=1)[..., None]
    at = (before + step * share).reshape(len(times), -1)
    rise = jnp.diff(pwm, axis=1)[:, :, None] * (share + 0.5 / _STAIRS)[:, None]
    values = (pwm[:, :-1, None] + rise).reshape(len(times), -1, pwm.shape[-1])
    return (
        jnp.concatenate([at, times[:, -1:]], axis=1),
        jnp.concatenate([values, pwm[:, -1:]], axis=1),
    )


def _impulse(start: Any, target: Any, lag: Any, time: Any) -> Any:
    """Return ∫ s|s| dx, N s, over a time: s from a start to its target, all of one shape."""
    jnp = require('jax.numpy', 'identify')

    def square(x: Any) -> Any:
        """Return ∫ s² dx."""
        share, gap = -jnp.expm1(-x / lag), start - target
        twice = -jnp.expm1(-2 * x / lag)
        return target**2 * x + 2 * target * gap * lag * share + gap**2 * lag / 2 * twice

    # s goes through 0 where exp(−x/T) = a/(a − s₀); from there on its sign is the target's.
    turns = start * target < 0
    ratio = jnp.where(turns, start / jnp.where(turns, target, 1.0), 0.0)
    crossing = jnp.where(turns, jnp.minimum(lag * jnp.log1p(-ratio), time), time)
    sign = jnp.where(start == 0, jnp.sign(target), jnp.sign(start))
    return sign * (2 * square(crossing) - square(time))


def mean_thrusts(vehicle: Vehicle, times: Any, pwm: Any, edges: Any) -> Any:
    """Return mean bollard thrusts (s, e − 1, k), N, between edges (s, e) in time.

    (1/Δt) ∫ F dt; the rotors begin as if the first command had come for long, and the last holds.

    Args:
        vehicle: its ``thrusters`` give F of a pulse width, and the time constant T.
        times: (s, m) at which commands are given, s, ascending.
        pwm: (s, m, k) pulse widths, held until the next, µs.
        edges: (s, e) times, s, ascending.
    """
    jax = require('jax', 'identify')
    jnp = jax.numpy
    target = rotor_target(vehicle, pwm)
    lag = jnp.maximum(jnp.asarray(vehicle.thrusters.time_constant), _NO_LAG)
    waits = jnp.diff(times, axis=1)[..., None]

    def follow(at: Any, given: Any) -> Any:
        goal, wait = given
        return goal + (at - goal) * jnp.exp(-wait / lag), at

    by_row = (jnp.moveaxis(target[:, :-1], 1, 0), jnp.moveaxis(waits, 1, 0))
    last, starts = jax.lax.scan(follow, target[:, 0], by_row)
    starts = jnp.concatenate([jnp.moveaxis(starts, 0, 1), last[:, None]], axis=1)
    sums = jnp.cumsum(_impulse(starts[:, :-1], target[:, :-1], lag, waits), axis=1)
    sums = jnp.concatenate([jnp.zeros_like(sums[:, :1]), sums], axis=1)
    fixed = jax.lax.stop_gradient(edges)
    place = jax.vmap(lambda t, at: jnp.searchsorted(t, at, side='right'))(times, fixed) - 1
    place = jnp.clip(place, 0, times.shape[1] - 1)
    row = jnp.arange(len(times))[:, None]
    start, goal = starts[row, place], target[row, place]
    # Before the first command s is steady, so that a negative time is as good as another.
    since = (edges - times[row, place])[..., None]
    early = goal * jnp.abs(goal) * since
    passed = jnp.maximum(since, 0.0)
    total = sums[row, place] + jnp.where(since < 0, early, _impulse(start, goal, lag, passed))
    return jnp.diff(total, axis=1) / jnp.diff(edges, axis=1)[..., None]
