# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact of one body where nobody can ask for numbers: what is far is skipped as by NumPy.

A compiler knows the shapes of arrays beforehand, not how many pairs are near. So there is room
for :data:`FEW` of them; what is left of it are contacts far off, which do nothing. Where more are
near, all pairs of the scene are solved for instead.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.control_flow import cond
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.contact_impulse import Step, WarmStart, adhesion, solve_contacts
from marine_sim_ros.physics.contact_pairs import PairTable, pair_table
from marine_sim_ros.physics.contact_touch import FAR, Touch, reach_of_step, stays_off, touches

__all__ = ['FEW', 'solve_contacts_compiled']

FEW = 48
"""Pairs that are solved for at first: a box that lies on its side has 9 points and its edges'."""

Answer = tuple[Wrench, WarmStart]


def solve_contacts_compiled(
    vehicle: Vehicle, state: State, environment: Environment, step: Step, held: WarmStart
) -> Answer:
    """Return the wrench (6,) of all contacts over a step, and all impulses to remember.

    Args:
        vehicle: the vehicle, with contact points.
        state: state of the body.
        environment: environment with its scene and materials.
        step: motion under the other wrenches.
        held: impulses of all pairs in the step before.
    """
    xp, scene = namespace(state.velocity), environment.scene
    assert scene is not None
    reach = vehicle.contact.reach + reach_of_step(vehicle, state, step.dt)
    near = xp.any(scene.clearances(state.position) <= reach)
    felt = partial(_felt, vehicle, environment, step.dt)
    return cond(xp, near, felt, _nothing, state, step.mass, step.free, held)  # type: ignore[no-any-return]


def _nothing(state: State, mass: Array, free: Array, held: WarmStart, *others: Array) -> Answer:
    xp = namespace(free)
    return xp.zeros_like(free), WarmStart(*(xp.zeros_like(h) for h in held))


def _felt(
    vehicle: Vehicle,
    environment: Environment,
    dt: float,
    state: State,
    mass: Array,
    free: Array,
    held: WarmStart,
) -> Answer:
    """Look where all pairs are, and answer what may touch."""
    xp = namespace(free)
    within = reach_of_step(vehicle, state, dt)
    touch = touches(vehicle, state, environment, within)
    close = touch.gap < within
    touch = touch._replace(gap=xp.where(close, touch.gap, FAR))
    count = xp.cumulative_sum(xp.astype(close, free.dtype))
    pairs = pair_table(vehicle, environment)
    size = len(pairs.group)
    known = (state, mass, free, held, touch, adhesion(pairs, touch.gap), count)
    needed = xp.any(close) & ~stays_off(touch, state.velocity, held.normal, dt)
    first = cond(xp, needed, partial(_of, pairs, dt, min(FEW, size)), _nothing, *known)
    if size <= FEW:
        return first  # type: ignore[no-any-return]
    more = needed & (count[-1] > FEW)
    every = partial(_of, pairs, dt, size)
    return cond(  # type: ignore[no-any-return]
        xp, more, lambda first, *known: every(*known), lambda first, *known: first, first, *known
    )


def _of(
    pairs: PairTable,
    dt: float,
    size: int,
    state: State,
    mass: Array,
    free: Array,
    held: WarmStart,
    touch: Touch,
    pull: Array,
    count: Array,
) -> Answer:
    """Answer the first so many of the pairs that are near, counted from 1 to the last."""
    xp = namespace(free)
    number = constant(xp, np.arange(1.0, size + 1))
    index = xp.minimum(xp.searchsorted(count, number), count.shape[0] - 1)
    there = number <= count[-1]

    def chosen(values: Array, rest: Array | float = 0.0) -> Array:
        taken = xp.take(values, index, axis=0)
        return xp.where(xp.reshape(there, (size, *(1,) * (taken.ndim - 1))), taken, rest)

    up = constant(xp, np.array([0.0, 0.0, 1.0]))
    few = Touch(chosen(touch.gap, FAR), chosen(touch.normal, up), chosen(touch.point))
    wrench, answered = solve_contacts(
        pairs.picked(index),
        few,
        state,
        Step(mass, free, dt),
        WarmStart(*map(chosen, held)),
        chosen(pull),
    )
    place = xp.astype(xp.clip(count - 1, 0.0, size - 1.0), xp.int32)
    near = (touch.gap < FAR) & (count <= size)
    normal, tangent = (xp.take(values, place, axis=0) for values in answered)
    none = xp.zeros_like(normal)
    return wrench, WarmStart(
        xp.where(near, normal, none), xp.where(near[:, None], tangent, none[:, None])
    )
