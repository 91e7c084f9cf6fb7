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

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import NUMPY, Array, constant, matvec, namespace
from marine_sim_ros.core.control_flow import cond, traced
from marine_sim_ros.core.linear import inverse
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.contact_impulse import Step, WarmStart, adhesion, solve_contacts
from marine_sim_ros.physics.contact_pairs import pair_table
from marine_sim_ros.physics.contact_touch import (
    Touch,
    few_touches,
    foremost,
    layout,
    near_touches,
    picked,
    reach_of_step,
    stays_off,
    touches,
)
from marine_sim_ros.physics.current import relative_velocity
from marine_sim_ros.physics.drag import damping_matrix, drag
from marine_sim_ros.physics.force import ForceInputs, ForceModel, has_scene
from marine_sim_ros.physics.rigid_body import net_wrench, weight

__all__ = ['CONTACT', 'FEW', 'ContactMemory', 'at_places', 'contact']


FEW = 24
"""Pairs that are solved for: those nearest to touching at the end of the step. A box that lies on
its side has 9 points and its edges', the rim of a cylinder 24."""


class ContactMemory(NamedTuple):
    """What contact remembers of the tick before, n pairs.

    Attributes:
        state: state of the body.
        wrench: (..., 6) that it answered.
        terms: what followed from the state alone; None where nothing was near, but for what is
            compiled, where a memory has the same parts in every tick.
        pair: (..., n) numbers of pairs (see physics/contact_touch.py); below 0: none.
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


class Terms(NamedTuple):
    """What follows from a state alone.

    Attributes:
        damping: D (..., 6, 6) of drag −D ν_r, about ``base_link``.
        known: (..., 6) of M ν̇: weight, buoyancy, drag, Coriolis terms.
    """

    damping: Array
    known: Wrench


def _terms(vehicle: Vehicle, state: State, environment: Environment) -> Terms:
    xp = namespace(state.velocity)
    arm, velocity = constant(xp, vehicle.damping.lever_arm), relative_velocity(state, environment)
    damping = arm.T @ damping_matrix(vehicle, matvec(arm, velocity)) @ arm
    wrench = weight(vehicle, state, environment) + buoyancy(vehicle, state, environment)
    lumped = vehicle.hull is None or vehicle.hull.panels is None
    dragged = -matvec(damping, velocity) if lumped else drag(vehicle, state, environment)
    return Terms(damping, net_wrench(vehicle, state, environment, wrench + dragged))


def _step(
    rigid: Array, state: State, now: Terms, memory: ContactMemory, before: Terms, dt: float
) -> Step:
    """Return a step without contact; M + dt D is what a force meets with implicit drag."""
    done = matvec(rigid + dt * before.damping, state.velocity - memory.state.velocity)
    others = done + dt * (now.known - before.known - memory.wrench)
    mass = rigid + dt * now.damping
    inverted = inverse(mass)
    return Step(mass, inverted, state.velocity + matvec(inverted, others), dt)


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
    none = xp.zeros_like(state.velocity)
    scene = environment.scene
    vehicle = vehicle if body is None else body
    if scene is None or not len(scene) or not len(vehicle.contact):
        return none, None
    quiet, own = traced(xp), vehicle.contact
    size = 0 if xp is NUMPY else min(FEW, len(layout(own, scene)))
    slots = none[..., :1] + constant(xp, np.zeros(size))
    empty = slots - 1, slots, slots[..., None] + constant(xp, np.zeros(3))
    now = _terms(vehicle, state, environment) if quiet else None
    places = own.position if own.described is not None else None
    nothing = ContactMemory(state, none, now, *empty, places)
    if memory is None or dt <= 0:
        return none, nothing
    rigid = constant(xp, vehicle.mass_matrix)
    if quiet and state.velocity.ndim == 1:
        reach = own.reach + reach_of_step(vehicle, state, dt)
        near = xp.any(scene.clearances(state.position) <= reach)
        felt = partial(_felt, vehicle, environment, dt)
        wrench, *held = cond(xp, near, felt, _nothing, state, now, memory, rigid, places)
        return wrench, nothing._replace(wrench=wrench, **_of_pairs(held))
    if (
        memory.places is not None and memory.places.shape != own.position.shape
    ):  # it grips or lets go
        memory = memory._replace(
            pair=memory.pair[..., :0],
            normal=memory.normal[..., :0],
            tangent=memory.tangent[..., :0, :],
            places=places,
        )
    if xp is NUMPY and state.velocity.ndim == 1:
        touch, near = near_touches(vehicle, state, environment, reach_of_step(vehicle, state, dt))
        if not len(near) or stays_off(touch, state.velocity, memory.normal, dt):
            return none, nothing
        touch, order = foremost(touch, state.velocity, dt, FEW)
        near = near if order is None else near[order]
    else:  # a batch begins with all pairs
        touch = touches(vehicle, state, environment)
        near = xp.zeros_like(touch.gap) + constant(xp, np.arange(touch.gap.shape[-1], dtype=float))
        touch, order = foremost(touch, state.velocity, dt, FEW)
        near = near if order is None else picked(near, order)
    now = _terms(vehicle, state, environment) if now is None else now
    before = memory.terms
    if before is None:
        before = _terms(vehicle, memory.state, environment)
    step = _step(rigid, state, now, memory, before, dt)
    wrench, *held = _answer(vehicle, environment, state, step, memory, touch, near)
    return wrench, nothing._replace(wrench=wrench, terms=now, **_of_pairs(held))


def _of_pairs(held: Sequence[Array]) -> dict[str, Array]:
    """Return numbers and impulses of the pairs that were solved for, as fields of a memory."""
    return dict(zip(('pair', 'normal', 'tangent'), held, strict=True))


def _answer(
    vehicle: Vehicle,
    environment: Environment,
    state: State,
    step: Step,
    memory: ContactMemory,
    touch: Touch,
    number: Array,
) -> tuple[Wrench, Array, Array, Array]:
    """Return the wrench (..., 6) of touches, and what to remember of the pairs solved for."""
    xp, own, scene = namespace(state.velocity), vehicle.contact, environment.scene
    assert scene is not None
    index = xp.astype(number, xp.int32)
    table = pair_table(vehicle, environment)
    pairs = table.picked(index)
    same = number[..., :, None] == memory.pair[..., None, :]
    same = xp.astype(same, step.free.dtype)
    held = WarmStart(matvec(same, memory.normal), same @ memory.tangent)
    pull = adhesion(pairs, touch.gap) if table.sticky else None
    drift = None
    if memory.places is not None:
        point = picked(constant(xp, layout(own, scene).point), index)
        moved = (own.position - memory.places) / step.dt
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
    vehicle: Vehicle,
    environment: Environment,
    dt: float,
    state: State,
    now: Terms,
    memory: ContactMemory,
    rigid: Array,
    places: Array | None,
) -> tuple[Array, ...]:
    """Look where all pairs are, and answer what may touch: for what is compiled."""
    xp = namespace(state.velocity)
    within = reach_of_step(vehicle, state, dt)
    vehicle = at_places(vehicle, places)
    touch, number = few_touches(vehicle, state, environment, within, dt, FEW)

    def answered(
        state: State, now: Terms, memory: ContactMemory, rigid: Array, places: Any, *found: Any
    ) -> Any:
        assert memory.terms is not None
        step = _step(rigid, state, now, memory, memory.terms, dt)
        return _answer(at_places(vehicle, places), environment, state, step, memory, *found)

    needed = ~stays_off(touch, state.velocity, memory.normal, dt)
    return cond(  # type: ignore[no-any-return]
        xp, needed, answered, _nothing, state, now, memory, rigid, places, touch, number
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
