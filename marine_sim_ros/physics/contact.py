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

from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import NUMPY, Array, constant, matvec, namespace
from marine_sim_ros.core.control_flow import traced
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.contact_compiled import solve_contacts_compiled
from marine_sim_ros.physics.contact_impulse import Step, WarmStart, adhesion, solve_contacts
from marine_sim_ros.physics.contact_pairs import pair_table
from marine_sim_ros.physics.contact_touch import (
    layout,
    near_touches,
    reach_of_step,
    stays_off,
    touches,
)
from marine_sim_ros.physics.current import relative_velocity
from marine_sim_ros.physics.drag import damping_matrix, drag
from marine_sim_ros.physics.force import ForceInputs, ForceModel, has_scene
from marine_sim_ros.physics.rigid_body import net_wrench, weight

__all__ = ['CONTACT', 'ContactMemory', 'contact']


class ContactMemory(NamedTuple):
    """What contact remembers of the tick before.

    Attributes:
        state: state of the body.
        wrench: (..., 6) that it answered.
        known: (..., 6) what of M ν̇ followed from the state alone; None where nothing was near, but
            for what is compiled, where a memory has the same parts in every tick.
        normal: (..., c) normal impulses of all pairs (see physics/contact_touch.py), N·s.
        tangent: (..., c, 3) friction's impulses, body frame, N·s.
    """

    state: State
    wrench: Wrench
    known: Wrench | None
    normal: Array
    tangent: Array


def _step(
    vehicle: Vehicle, state: State, environment: Environment, memory: ContactMemory, dt: float
) -> tuple[Step, Wrench]:
    """Return a step without contact, and what of M ν̇ follows from its state alone (..., 6)."""
    xp = namespace(state.velocity)
    before = memory.state
    mass = _mass(vehicle, state, environment, dt)
    done = matvec(_mass(vehicle, before, environment, dt), state.velocity - before.velocity)
    known = _known(vehicle, state, environment)
    earlier = _known(vehicle, before, environment) if memory.known is None else memory.known
    others = done + dt * (known - earlier - memory.wrench)
    free = state.velocity + xp.linalg.solve(mass, others[..., None])[..., 0]
    return Step(mass, free, dt), known


def _mass(vehicle: Vehicle, state: State, environment: Environment, dt: float) -> Array:
    """Return M + dt D (..., 6, 6), what a force meets in a step with implicit drag."""
    xp = namespace(state.velocity)
    arm = constant(xp, vehicle.damping.lever_arm)
    damping = damping_matrix(vehicle, matvec(arm, relative_velocity(state, environment)))
    return constant(xp, vehicle.mass_matrix) + dt * (arm.T @ damping @ arm)


def _known(vehicle: Vehicle, state: State, environment: Environment) -> Wrench:
    """Return what of M ν̇ follows from a state alone: weight, buoyancy, drag, Coriolis terms."""
    wrench = weight(vehicle, state, environment) + buoyancy(vehicle, state, environment)
    return net_wrench(vehicle, state, environment, wrench + drag(vehicle, state, environment))


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
        body: the vehicle as its arm is posed, whose mass and weight count; None: ``vehicle``.

    Raises:
        ModelError: a collision mesh that cannot be used.
    """
    xp = namespace(state.velocity)
    none = xp.zeros_like(state.velocity)
    scene = environment.scene
    if scene is None or not len(scene) or not len(vehicle.contact):
        return none, None
    body = vehicle if body is None else body
    empty = none[..., :1] + constant(xp, np.zeros(len(layout(vehicle.contact, scene))))
    wide = empty[..., None] + constant(xp, np.zeros(3))
    nothing = ContactMemory(state, none, None, empty, wide)
    if traced(xp):
        nothing = nothing._replace(known=_known(body, state, environment))
    if memory is None or dt <= 0:
        return none, nothing
    if traced(xp) and state.velocity.ndim == 1:
        step, known = _step(body, state, environment, memory, dt)
        wrench, held = solve_contacts_compiled(
            vehicle, state, environment, step, WarmStart(memory.normal, memory.tangent)
        )
        return wrench, ContactMemory(state, wrench, known, *held)
    # A batch has all pairs; one body of NumPy those that are near.
    alone = xp is NUMPY and state.velocity.ndim == 1
    if alone:
        touch, near = near_touches(vehicle, state, environment, reach_of_step(vehicle, state, dt))
        if not len(near) or stays_off(touch, state.velocity, memory.normal, dt):
            return none, nothing
    else:
        touch, near = touches(vehicle, state, environment), np.arange(empty.shape[-1])
    pairs = pair_table(vehicle, environment)
    held = WarmStart(memory.normal, memory.tangent)
    if alone:
        pairs, held = pairs.picked(near), WarmStart(*(values[near] for values in held))
    step, known = _step(body, state, environment, memory, dt)
    wrench, held = solve_contacts(pairs, touch, state, step, held, adhesion(pairs, touch.gap))
    if alone:
        held = _put_back(held, near, empty.shape[-1])
    return wrench, ContactMemory(state, wrench, known, *held)


def _put_back(held: WarmStart, near: np.ndarray, count: int) -> WarmStart:
    """Return impulses of all pairs: those picked out, and zeros."""
    return WarmStart(
        np.bincount(near, held.normal, minlength=count),
        np.stack([np.bincount(near, t, minlength=count) for t in held.tangent.T], axis=-1),
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
