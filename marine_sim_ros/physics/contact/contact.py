# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact of a vehicle with what is solid: seabed, walls, obstacles.

A stiff spring at every contact point would have to be explicit, for this is a force among others
that does not know them: k ≤ m (0.5/dt)² would cap it at 1.2e5 N/m for a BlueROV2 at 5 ms, and the
vehicle would sink in and bounce. Instead the velocity after the step is solved for (as physics
engines do), and the wrench is the impulse that leads to it over the step, Jᵀγ/dt:

- The other wrenches are observed, not received: M Δν/dt less the own wrench is what they did in
  the step before, and does again: ν* = ν + Δν − dt M⁻¹ w is where that leads without contact, with
  weight, buoyancy, drag and Coriolis terms brought up to date. At rest that is exact; what else
  changes, such as thrust, is late by one step.
- Points that would pass a surface within the step are stopped at it, or thrown back with the
  restitution times their speed where they meet it faster than what a step's fall makes.
- Within a surface, −δ̇ = δ/τ pushes them out, and E and ν make them yield: stiffness k with damping
  τ k, implicit, so that neither has a limit; the rest position has F = k δ.
- Friction is a stiff bristle at every point, with a memory: it holds with what it held with in
  the step before, and more where the point moves, as far as Coulomb's law lets it. So a body at
  rest does not creep, but by the surface viscosity. Adhesion pulls what touches.

M is with the implicit drag of the default integrator, dt D. So it is stable for any stiffness and
step, never adds energy, and a point never passes a surface whose distance is true; a wrench that
is held for longer than a step (``lockstep: false``) is an impulse given twice, however.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import NUMPY, Array, constant, namespace
from marine_sim_ros.core.control_flow import cond
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.contact.contact import ContactPoints
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.contact.edges import Touch
from marine_sim_ros.physics.contact.impulse import adhesion, solve_contacts
from marine_sim_ros.physics.contact.pairs import pair_table
from marine_sim_ros.physics.contact.touch import (
    few_touches,
    foremost,
    layout,
    near_touches,
    reach_of_step,
    stays_off,
)
from marine_sim_ros.physics.force import ForceInputs, ForceModel, has_scene
from marine_sim_ros.physics.observed import Terms, terms_of, unanswered_step

__all__ = ['CONTACT', 'FEW', 'ContactMemory', 'at_places', 'contact']


FEW = 24
"""Pairs that are solved for at most: those nearest to touching at the end of the step."""
SPARE = 7
"""Pairs that are solved for besides the vehicle's points that can lie in a plane, 9 of a box."""


class ContactMemory(NamedTuple):
    """What contact remembers of the tick before, n pairs.

    Attributes:
        state: state of the body.
        wrench: (6,) that it answered.
        terms: what followed from the state alone; None where nothing was near, but for what is
            compiled, where a memory has the same parts in every tick.
        pair: (n,) numbers of pairs (see physics/contact/touch.py); below 0: none.
        impulse: (n, 3) on the vehicle, body frame, N·s.
        places: (m, 3) of the vehicle's points, m, where an arm moves some; else None.
    """

    state: State
    wrench: Wrench
    terms: Terms | None
    pair: Array
    impulse: Array
    places: Array | None = None


def contact(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    memory: ContactMemory | None,
    *,
    dt: float,
    body: Vehicle | None = None,
) -> tuple[Wrench, ContactMemory | None]:
    """Return the wrench (6,) of all contacts over the step to come, and what to remember.

    Zero without a scene, and in the first tick, where the length of a step is not known yet.
    Of one body: a batch comes with ``jax.vmap``.

    Args:
        vehicle: the vehicle, with contact points.
        state: state of the body.
        environment: environment with its scene and materials.
        memory: memory of the previous tick; None in the first.
        dt: time since then, s; the step to come is taken to be as long.
        body: the vehicle as its arm is posed: its mass, weight and points; None: ``vehicle``.

    Raises:
        ModelError: a collision mesh that cannot be used.
    """
    xp, scene = namespace(state.velocity), environment.scene
    vehicle = vehicle if body is None else body
    own = vehicle.contact
    if scene is None or not len(scene) or not len(own):
        return xp.zeros_like(state.velocity), None
    places = own.position if own.described is not None else None
    sized = xp is not NUMPY  # what is compiled has room for as many pairs in every tick
    now = terms_of(vehicle, state, environment) if sized else None
    size = min(_few(own), len(layout(own, scene))) if sized else 0
    nothing = partial(_nothing_yet, state, now, size, places)
    if memory is None or dt <= 0:
        return nothing()
    within = reach_of_step(vehicle, state, dt)
    rigid = constant(xp, vehicle.mass_matrix)  # in a sweep each vehicle's own: an argument
    if sized:
        near = xp.any(scene.clearances(state.position) <= own.reach + within)
        felt = partial(_felt, vehicle, environment, dt)
        found = cond(xp, near, felt, _nothing, state, now, memory, rigid, places, within)
    else:
        if getattr(memory.places, 'shape', None) != getattr(places, 'shape', None):
            _, fresh = _nothing_yet(memory.state, memory.terms, 0, places)
            memory = fresh._replace(wrench=memory.wrench)  # grips, lets go
        touch, number = near_touches(vehicle, state, environment, within)
        if not len(number) or stays_off(touch, state.velocity, memory.impulse, dt):
            return nothing()
        touch, number = foremost(touch, number, state.velocity, dt, _few(own))
        now = terms_of(vehicle, state, environment)
        found = _answer(vehicle, environment, dt, state, now, memory, rigid, places, touch, number)
    wrench, pair, impulse = found
    return wrench, ContactMemory(state, wrench, now, pair, impulse, places)


def _few(own: ContactPoints) -> int:
    return min(FEW, SPARE + (own.described or own).level)


def _nothing_yet(
    state: State, now: Terms | None, size: int, places: Array | None
) -> tuple[Wrench, ContactMemory]:
    """Return no wrench and the memory of a tick without contact, with room for so many pairs."""
    xp = namespace(state.velocity)
    none = xp.zeros_like(state.velocity)
    impulse = none[:3] + constant(xp, np.zeros((size, 3)))
    return none, ContactMemory(state, none, now, impulse[:, 0] - 1, impulse, places)


def _answer(
    vehicle: Vehicle,
    environment: Environment,
    dt: float,
    state: State,
    now: Terms,
    memory: ContactMemory,
    rigid: Array,
    places: Array | None,
    touch: Touch,
    number: Array,
) -> tuple[Wrench, Array, Array]:
    """Return the wrench (6,) of touches, and what to remember of the pairs solved for."""
    xp, before = namespace(state.velocity), memory.terms
    if before is None:
        before = terms_of(vehicle, memory.state, environment)
    step = unanswered_step(rigid, state, now, memory[:2], before, dt)
    index = xp.astype(number, xp.int32)
    table = pair_table(vehicle, environment)
    pairs = table.picked(index)
    same = xp.astype(number[:, None] == memory.pair[None, :], step.free.dtype)
    pull = adhesion(pairs, touch.gap) if table.sticky else None
    drift = None
    if places is not None:
        assert environment.scene is not None
        point = constant(xp, layout(vehicle.contact, environment.scene).point)
        moved = (places - memory.places) / dt
        moved = xp.concat([moved, xp.zeros_like(moved[:1, :])])
        drift = xp.take(moved, xp.take(point, index), axis=0)
    held = same @ memory.impulse
    wrench, held = solve_contacts(pairs, touch, state, step, held, pull, drift)
    return wrench, number, held


def _nothing(state: State, now: Terms, memory: ContactMemory, *others: Array) -> tuple[Array, ...]:
    xp = namespace(memory.pair)
    none = xp.zeros_like(state.velocity), xp.full_like(memory.pair, -1.0)
    return *none, xp.zeros_like(memory.impulse)


def at_places(vehicle: Vehicle, places: Array | None) -> Vehicle:
    """Return a vehicle with its contact points at places (m, 3), body frame, m; None: as it is."""
    if places is None:
        return vehicle
    own = vehicle.contact
    points = replace(own, position=places, described=own.described or own)
    return replace(vehicle, find_contact=lambda: points)


def _felt(
    vehicle: Vehicle,
    environment: Environment,
    dt: float,
    state: State,
    now: Terms,
    memory: ContactMemory,
    rigid: Array,
    places: Array | None,
    within: Array,
) -> tuple[Array, ...]:
    """Look where all pairs are, and answer what may touch: for what is compiled."""
    xp, posed = namespace(state.velocity), at_places(vehicle, places)
    touch, number = few_touches(posed, state, environment, within, dt, _few(posed.contact))
    needed = ~stays_off(touch, state.velocity, memory.impulse, dt)
    answer = partial(_answer, vehicle, environment, dt)
    return cond(  # type: ignore[no-any-return]
        xp, needed, answer, _nothing, state, now, memory, rigid, places, touch, number
    )


def _force(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    inputs: ForceInputs,
    memory: ContactMemory | None,
    /,
    *,
    dt: Any,
) -> tuple[Wrench, ContactMemory | None]:
    return contact(vehicle, state, environment, memory, dt=dt, body=inputs.body)


CONTACT = ForceModel(
    'contact',
    _force,
    applies=has_scene,
    needs=('joints',),
    impulsive=True,
    label='Contact',
    colour='#994d1a',
    executable='contact',
    in_gazebo=False,
)
