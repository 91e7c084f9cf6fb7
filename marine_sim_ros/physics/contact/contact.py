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

from marine_sim_ros.core.arrays import NUMPY, Array, cond, constant, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.contact import ContactPoints
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.contact.detection import (
    contacts_within,
    nearest_contacts,
    pair_layout,
    select_contacts,
    stays_separated,
    step_reach,
)
from marine_sim_ros.physics.contact.edges import ContactGeometry
from marine_sim_ros.physics.contact.pair_coefficients import pair_table
from marine_sim_ros.physics.contact.solver import adhesion_force, solve_contacts
from marine_sim_ros.physics.force import ForceInputs, ForceModel, has_scene
from marine_sim_ros.physics.wrench_observer import StateTerms, predict_step, state_terms

__all__ = [
    'CONTACT',
    'MAX_PAIRS',
    'check_bodies',
    'contact_limit',
    'contact_wrench',
    'with_contact_positions',
]


MAX_PAIRS = 24
"""Pairs that are solved for at most: those nearest to touching at the end of the step."""
SPARE_PAIRS = 7
"""Pairs that are solved for besides the vehicle's points that can lie in a plane, 9 of a box."""


class ContactMemory(NamedTuple):
    """What contact remembers of the tick before, n pairs.

    Attributes:
        state: state of the body.
        wrench: (6,) that it answered.
        terms: what followed from the state alone; None where nothing was near, but for what is
            compiled, where a memory has the same parts in every tick.
        pair: (n,) numbers of pairs (see physics/contact/detection.py); below 0: none.
        impulse: (n, 3) on the vehicle, body frame, N·s.
        places: (m, 3) of the vehicle's points, m, where an arm moves some; else None.
    """

    state: State
    wrench: Wrench
    terms: StateTerms | None
    pair: Array
    impulse: Array
    places: Array | None = None


def contact_wrench(
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
    now = state_terms(vehicle, state, environment) if sized else None
    size = min(contact_limit(own), len(pair_layout(own, scene))) if sized else 0
    nothing = partial(_initial_result, state, now, size, places)
    if memory is None or dt <= 0:
        return nothing()
    within = step_reach(vehicle, state, dt)
    rigid = constant(xp, vehicle.mass_matrix)  # in a sweep each vehicle's own: an argument
    if sized:
        near = xp.any(scene.clearances(state.position) <= own.reach + within)
        felt = partial(_compiled_contact, vehicle, environment, dt)
        found = cond(xp, near, felt, _no_contact, state, now, memory, rigid, places, within)
    else:
        if getattr(memory.places, 'shape', None) != getattr(places, 'shape', None):
            _, fresh = _initial_result(memory.state, memory.terms, 0, places)
            memory = fresh._replace(wrench=memory.wrench)  # grips, lets go
        touch, number = contacts_within(vehicle, state, environment, within)
        if not len(number) or stays_separated(touch, state.velocity, memory.impulse, dt):
            return nothing()
        touch, number = select_contacts(touch, number, state.velocity, dt, contact_limit(own))
        now = state_terms(vehicle, state, environment)
        found = _solve_touching(
            vehicle, environment, dt, state, now, memory, rigid, places, touch, number
        )
    wrench, pair, impulse = found
    return wrench, ContactMemory(state, wrench, now, pair, impulse, places)


def contact_limit(own: ContactPoints) -> int:
    """Return the greatest number of a vehicle's pairs that are solved for."""
    return min(MAX_PAIRS, SPARE_PAIRS + (own.described or own).level)


def _initial_result(
    state: State, now: StateTerms | None, size: int, places: Array | None
) -> tuple[Wrench, ContactMemory]:
    """Return no wrench and the memory of a tick without contact, with room for so many pairs."""
    xp = namespace(state.velocity)
    none = xp.zeros_like(state.velocity)
    impulse = none[:3] + constant(xp, np.zeros((size, 3)))
    return none, ContactMemory(state, none, now, impulse[:, 0] - 1, impulse, places)


def _solve_touching(
    vehicle: Vehicle,
    environment: Environment,
    dt: float,
    state: State,
    now: StateTerms,
    memory: ContactMemory,
    rigid: Array,
    places: Array | None,
    touch: ContactGeometry,
    number: Array,
) -> tuple[Wrench, Array, Array]:
    """Return the wrench (6,) of touches, and what to remember of the pairs solved for."""
    xp, before = namespace(state.velocity), memory.terms
    if before is None:
        before = state_terms(vehicle, memory.state, environment)
    step = predict_step(rigid, state, now, memory[:2], before, dt)
    assert environment.scene is not None
    layout = pair_layout(vehicle.contact, environment.scene)
    index = layout.rows(number)
    table = pair_table(vehicle, environment)
    pairs = table.select(index)
    same = xp.astype(number[:, None] == memory.pair[None, :], step.free.dtype)
    pull = adhesion_force(pairs, touch.gap) if table.sticky else None
    drift = None
    if places is not None:
        point = constant(xp, layout.point)
        moved = (places - memory.places) / dt
        moved = xp.concat([moved, xp.zeros_like(moved[:1, :])])
        drift = xp.take(moved, xp.take(point, index), axis=0)
    held = same @ memory.impulse
    wrench, held = solve_contacts(pairs, touch, state, step, held, pull, drift)
    return wrench, number, held


def _no_contact(
    state: State, now: StateTerms, memory: ContactMemory, *others: Array
) -> tuple[Array, ...]:
    xp = namespace(memory.pair)
    none = xp.zeros_like(state.velocity), xp.full_like(memory.pair, -1.0)
    return *none, xp.zeros_like(memory.impulse)


def with_contact_positions(vehicle: Vehicle, places: Array | None) -> Vehicle:
    """Return a vehicle with its contact points at places (m, 3), body frame, m; None: as it is."""
    if places is None:
        return vehicle
    own = vehicle.contact
    points = replace(own, position=places, described=own.described or own)
    return replace(vehicle, find_contact=lambda: points)


def _compiled_contact(
    vehicle: Vehicle,
    environment: Environment,
    dt: float,
    state: State,
    now: StateTerms,
    memory: ContactMemory,
    rigid: Array,
    places: Array | None,
    within: Array,
) -> tuple[Array, ...]:
    """Look where all pairs are, and answer what may touch: for what is compiled."""
    xp, posed = namespace(state.velocity), with_contact_positions(vehicle, places)
    touch, number = nearest_contacts(
        posed, state, environment, within, dt, contact_limit(posed.contact)
    )
    needed = ~stays_separated(touch, state.velocity, memory.impulse, dt)
    answer = partial(_solve_touching, vehicle, environment, dt)
    return cond(  # type: ignore[no-any-return]
        xp, needed, answer, _no_contact, state, now, memory, rigid, places, touch, number
    )


def _contact_step(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    inputs: ForceInputs,
    memory: ContactMemory | None,
    /,
    *,
    dt: Any,
) -> tuple[Wrench, ContactMemory | None]:
    check_bodies(environment, 'this program')
    return contact_wrench(vehicle, state, environment, memory, dt=dt, body=inputs.body)


def check_bodies(environment: Environment, where: str) -> None:
    """Refuse free bodies where nothing moves them.

    Raises:
        ParameterError: the environment has some.
    """
    if environment.free_bodies:
        names = ', '.join(body.name for body in environment.free_bodies)
        raise ParameterError(
            f'environment {environment.name}: {where} does not move its bodies ({names}); '
            'expected marine_sim simulate or run with one vehicle and engine numpy, or an '
            'environment without bodies'
        )


def _may_touch(vehicle: Vehicle, environment: Environment) -> bool:
    """Return whether there is something solid, that stands or moves."""
    return has_scene(vehicle, environment) or bool(environment.free_bodies)


CONTACT = ForceModel(
    'contact',
    _contact_step,
    applies=_may_touch,
    needs=('joints',),
    impulsive=True,
    label='Contact',
    colour='#994d1a',
    executable='contact',
    in_gazebo=False,
)
