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

from marine_sim_ros.core.arrays import NUMPY, Array, constant, matvec, namespace
from marine_sim_ros.core.control_flow import cond, traced
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.contact.contact import ContactPoints
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.contact.edges import Touch
from marine_sim_ros.physics.contact.impulse import WarmStart, adhesion, solve_contacts
from marine_sim_ros.physics.contact.pairs import pair_table
from marine_sim_ros.physics.contact.touch import (
    few_touches,
    foremost,
    layout,
    near_touches,
    picked,
    reach_of_step,
    stays_off,
    touches,
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
        wrench: (..., 6) that it answered.
        terms: what followed from the state alone; None where nothing was near, but for what is
            compiled, where a memory has the same parts in every tick.
        pair: (..., n) numbers of pairs (see physics/contact/touch.py); below 0: none.
        normal: (..., n) their normal impulses, N·s.
        tangent: (..., n, 3) friction's impulses, body frame, N·s.
        places: (..., m, 3) of the vehicle's points, m, where an arm moves some; else None.
    """

    state: State
    wrench: Wrench
    terms: Terms | None
    pair: Array
    normal: Array
    tangent: Array
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
    """Return the wrench (..., 6) of all contacts over the step to come, and what to remember.

    Zero without a scene, and in the first tick, where the length of a step is not known yet.

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
    xp = namespace(state.velocity)
    scene = environment.scene
    vehicle = vehicle if body is None else body
    if scene is None or not len(scene) or not len(vehicle.contact):
        return xp.zeros_like(state.velocity), None
    quiet, own = traced(xp), vehicle.contact
    now = terms_of(vehicle, state, environment) if quiet else None
    places = own.position if own.described is not None else None
    if memory is None or dt <= 0:
        nothing = _nothing_yet(state, now, min(_few(own), len(layout(own, scene))), places)
        return nothing.wrench, nothing
    rigid = constant(xp, vehicle.mass_matrix)
    if quiet and state.velocity.ndim == 1:
        reach = own.reach + reach_of_step(vehicle, state, dt)
        near = xp.any(scene.clearances(state.position) <= reach)
        felt = partial(_felt, vehicle, environment, dt)
        found = cond(xp, near, felt, _nothing, state, now, memory, rigid, places)
        return found[0], _remembered(state, now, found, places)
    if getattr(memory.places, 'shape', None) != getattr(places, 'shape', None):  # grips, lets go
        fresh = _nothing_yet(memory.state, memory.terms, 0, places)
        memory = fresh._replace(wrench=memory.wrench)
    if xp is NUMPY and state.velocity.ndim == 1:
        touch, near = near_touches(vehicle, state, environment, reach_of_step(vehicle, state, dt))
        if not len(near) or stays_off(touch, state.velocity, memory.normal, dt):
            nothing = _nothing_yet(state, None, 0, places)
            return nothing.wrench, nothing
    else:  # a batch begins with all pairs
        touch = touches(vehicle, state, environment)
        near = xp.zeros_like(touch.gap) + constant(xp, np.arange(touch.gap.shape[-1], dtype=float))
    touch, near = foremost(touch, near, state.velocity, dt, _few(own))
    now = terms_of(vehicle, state, environment) if now is None else now
    found = _answer(vehicle, environment, dt, state, now, memory, rigid, places, touch, near)
    return found[0], _remembered(state, now, found, places)


def _remembered(
    state: State, now: Terms | None, found: tuple[Array, ...], places: Array | None
) -> ContactMemory:
    wrench, pair, normal, tangent = found
    return ContactMemory(state, wrench, now, pair, normal, tangent, places)


def _few(own: ContactPoints) -> int:
    return min(FEW, SPARE + (own.described or own).level)


def _nothing_yet(
    state: State, now: Terms | None, size: int, places: Array | None
) -> ContactMemory:
    """Return the memory of a tick without contact, with room for so many pairs."""
    xp = namespace(state.velocity)
    none = xp.zeros_like(state.velocity)
    slots = none[..., :1] + constant(xp, np.zeros(0 if xp is NUMPY else size))
    tangent = slots[..., None] + constant(xp, np.zeros(3))
    return ContactMemory(state, none, now, slots - 1, slots, tangent, places)


def _answer(
    vehicle: Vehicle, environment: Environment, dt: float, state: State, now: Terms,
    memory: ContactMemory, rigid: Array, places: Array | None, touch: Touch, number: Array,
) -> tuple[Wrench, Array, Array, Array]:  # fmt: skip
    """Return the wrench (..., 6) of touches, and what to remember of the pairs solved for."""
    xp, before = namespace(state.velocity), memory.terms
    if before is None:
        before = terms_of(vehicle, memory.state, environment)
    step = unanswered_step(rigid, state, now, memory[:2], before, dt)
    index = xp.astype(number, xp.int32)
    table = pair_table(vehicle, environment)
    pairs = table.picked(index)
    same = number[..., :, None] == memory.pair[..., None, :]
    same = xp.astype(same, step.free.dtype)
    held = WarmStart(matvec(same, memory.normal), same @ memory.tangent)
    pull = adhesion(pairs, touch.gap) if table.sticky else None
    drift = None
    if places is not None:
        assert environment.scene is not None
        point = picked(constant(xp, layout(vehicle.contact, environment.scene).point), index)
        moved = (places - memory.places) / dt
        moved = xp.concat([moved, xp.zeros_like(moved[..., :1, :])], axis=-2)
        drift = picked(moved, point)
    wrench, held = solve_contacts(pairs, touch, state, step, held, pull, drift)
    return wrench, number, *held


def _nothing(state: State, now: Terms, memory: ContactMemory, *others: Array) -> tuple[Array, ...]:
    xp = namespace(memory.pair)
    rest = (xp.zeros_like(x) for x in (memory.normal, memory.tangent))
    return xp.zeros_like(state.velocity), xp.full_like(memory.pair, -1.0), *rest


def at_places(vehicle: Vehicle, places: Array | None) -> Vehicle:
    """Return a vehicle with its contact points at places (m, 3), body frame, m; None: as it is."""
    if places is None:
        return vehicle
    own = vehicle.contact
    points = replace(own, position=places, described=own.described or own)
    return replace(vehicle, find_contact=lambda: points)


def _felt(
    vehicle: Vehicle, environment: Environment, dt: float, state: State, now: Terms,
    memory: ContactMemory, rigid: Array, places: Array | None,
) -> tuple[Array, ...]:  # fmt: skip
    """Look where all pairs are, and answer what may touch: for what is compiled."""
    xp, within = namespace(state.velocity), reach_of_step(vehicle, state, dt)
    posed = at_places(vehicle, places)
    found = few_touches(posed, state, environment, within, dt, _few(posed.contact))
    needed = ~stays_off(found[0], state.velocity, memory.normal, dt)
    answered = partial(_answer, vehicle, environment, dt)
    return cond(  # type: ignore[no-any-return]
        xp, needed, answered, _nothing, state, now, memory, rigid, places, *found
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
