# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact of a vehicle with what is solid: seabed, walls, obstacles.

A stiff spring at every contact point would have to be explicit, for this is a force among others
that does not know them: k ≤ m (0.5/dt)² would cap it at 1.2e5 N/m for a BlueROV2 at 5 ms, and the
vehicle would sink in and bounce. Instead the velocity after the step is solved for (as physics
engines do), and the wrench is the impulse that leads to it over the step, Jᵀγ/dt:

- What the others do is observed, not asked for: M Δν/dt less the own wrench is what they did in
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

from typing import NamedTuple

import numpy as np

from marine_sim_ros.arrays import Array, constant, matvec, namespace
from marine_sim_ros.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.contact_pairs import PairTable, pair_table
from marine_sim_ros.physics.contact_solver import Rows, impulse_work, solve
from marine_sim_ros.physics.contact_touch import Touch, layout, near_touches, touches
from marine_sim_ros.physics.current import relative_velocity
from marine_sim_ros.physics.drag import damping_matrix, drag
from marine_sim_ros.physics.rigid_body import net_wrench, weight
from marine_sim_ros.spatial import cross, normalized
from marine_sim_ros.state import State, Wrench

__all__ = ['ContactMemory', 'contact']

_RIGID = 1e-4
"""Compliance of what is rigid, as a share of the inverse mass at the point."""
_BRISTLE = 1e-3
"""Compliance of friction, as a share of the inverse mass at the point."""
_SLOWEST_BOUNCE = 0.01
"""m/s; slower impacts do not rebound."""
_FASTEST_EXIT = 0.2
"""m/s; at which what has got deep inside is pushed out."""
_SKIN = 1e-4
"""m; what is nearer touches, for adhesion."""


_FIERCEST = 100.0
"""m/s²; faster nobody gains speed in a step."""


class ContactMemory(NamedTuple):
    """What contact remembers of the tick before.

    Attributes:
        state: of the body.
        wrench: (..., 6) that it answered.
        known: (..., 6) what of M ν̇ followed from the state alone; None where nothing was near.
        normal: (..., c) normal impulses of all pairs (see physics/contact_touch.py), N·s.
        tangent: (..., c, 3) friction's impulses, body frame, N·s.
    """

    state: State
    wrench: Wrench
    known: Wrench | None
    normal: Array
    tangent: Array


class _Held(NamedTuple):
    """Impulses of the step before: of the ContactMemory, of the pairs picked out."""

    normal: Array
    tangent: Array


class _Step(NamedTuple):
    """What is known of a step before its solution.

    Attributes:
        mass: M + dt D (..., 6, 6).
        free: ν* (..., 6).
        known: (..., 6) what of M ν̇ follows from the state.
        dt: s.
    """

    mass: Array
    free: Array
    known: Array
    dt: float


def _step(
    vehicle: Vehicle, state: State, environment: Environment, memory: ContactMemory, dt: float
) -> _Step:
    xp = namespace(state.velocity)
    before = memory.state
    mass = _mass(vehicle, state, environment, dt)
    done = matvec(_mass(vehicle, before, environment, dt), state.velocity - before.velocity)
    known = _known(vehicle, state, environment)
    earlier = _known(vehicle, before, environment) if memory.known is None else memory.known
    others = done + dt * (known - earlier - memory.wrench)
    free = state.velocity + xp.linalg.solve(mass, others[..., None])[..., 0]
    return _Step(mass, free, known, dt)


def _mass(vehicle: Vehicle, state: State, environment: Environment, dt: float) -> Array:
    """Return M + dt D (..., 6, 6), what a force meets in a step with implicit drag."""
    xp = namespace(state.velocity)
    arm = constant(xp, vehicle.damping.arm)
    damping = damping_matrix(vehicle, matvec(arm, relative_velocity(state, environment)))
    return constant(xp, vehicle.mass_matrix) + dt * (arm.T @ damping @ arm)


def _known(vehicle: Vehicle, state: State, environment: Environment) -> Wrench:
    """Return what of M ν̇ follows from a state alone: weight, buoyancy, drag, Coriolis terms."""
    wrench = weight(vehicle, state, environment) + buoyancy(vehicle, state, environment)
    return net_wrench(vehicle, state, environment, wrench + drag(vehicle, state, environment))


def _adhesion(pairs: PairTable, gap: Array) -> Array:
    """Return the pull (..., c) in N: a shape's, shared among its pairs that touch a surface."""
    xp = namespace(gap)
    if not np.any(pairs.adhesion_force):
        return xp.zeros_like(gap)
    inside = -gap > constant(xp, pairs.adhesive_overlap) - _SKIN
    touching = xp.where(inside, xp.ones_like(gap), xp.zeros_like(gap))
    _, member = np.unique(pairs.group, return_inverse=True)
    groups = constant(xp, np.equal.outer(member, np.arange(member.max() + 1)).astype(float))
    count = (touching @ groups) @ groups.T
    return constant(xp, pairs.adhesion_force) * touching / xp.maximum(count, xp.ones_like(count))


def _lever_rows(direction: Array, point: Array) -> Array:
    """Return [d, r × d] (..., 6): velocity of ν along d at r."""
    return namespace(direction).concat([direction, cross(point, direction)], axis=-1)


def _tangents(normal: Array, primary: Array) -> tuple[Array, Array]:
    """Return two unit vectors (..., 3) across a normal, the first along a direction.

    Where that stands on the surface, or is zero, another one takes its place.
    """
    xp = namespace(normal)
    x, y = (constant(xp, np.eye(3)[i]) for i in range(2))
    first = primary - xp.vecdot(primary, normal)[..., None] * normal
    other = xp.where(xp.abs(normal[..., :1]) < 0.8, x, y)
    other = other - xp.vecdot(other, normal)[..., None] * normal
    first = xp.where(xp.vecdot(first, first)[..., None] > 1e-8, first, other)
    first = normalized(first)
    return first, cross(normal, first)


def _targets(
    pairs: PairTable, gap: Array, incoming: Array, free: Array, dt: float, *, most: Array,
    bounce: bool,
) -> tuple[Array, Array]:  # fmt: skip
    """Return the least normal velocity (..., c) after the step, and where it is a rebound.

    Args:
        pairs: coefficients.
        gap: (..., c) m.
        incoming: normal velocity (..., c) before the step, m/s.
        free: (..., c) after it, without contact.
        dt: of the step, s.
        most: (..., c) that a penetration may ask for, m/s.
        bounce: whether there are rebounds at all.
    """
    xp = namespace(gap)
    zero = xp.zeros_like(gap)
    leave = xp.minimum(-gap / (dt + constant(xp, pairs.spook_damping)), most)
    target = xp.where(gap > 0, -gap / dt, leave)
    # What others do in a step is not the speed of an impact.
    threshold = _SLOWEST_BOUNCE + 2 * xp.maximum(incoming - free, zero)
    e = constant(xp, pairs.restitution)
    rebounds = (gap + dt * free < 0) & (-incoming > threshold) & (e > 0)
    if not bounce:
        rebounds = rebounds & (e < 0)
    return xp.where(rebounds, xp.maximum(-e * incoming, target), target), rebounds


class _Result(NamedTuple):
    """Impulse Jᵀγ (..., 6), the energy (...) it adds and may add, J; impulses to remember."""

    impulse: Array
    work: Array
    allowed: Array
    held: _Held


def _solved(
    pairs: PairTable, touch: Touch, state: State, step: _Step, held: _Held, *, bounce: bool
) -> _Result:
    xp = namespace(touch.gap)
    dt, gap = step.dt, touch.gap
    across = _tangents(touch.normal, pairs.primary_in_body(state.orientation))
    directions = xp.stack([touch.normal, *across], axis=-3)
    jacobian = _lever_rows(directions, touch.point[..., None, :, :] + xp.zeros_like(directions))
    normal = jacobian[..., 0, :, :]
    incoming, free = matvec(normal, state.velocity), matvec(normal, step.free)
    tau = constant(xp, pairs.spook_damping)
    give = 1 / (pairs.stiffness(gap) * dt * (dt + tau))
    # What the contact already carries is no exit: the cap is on the speed above it.
    most = _FASTEST_EXIT + give * held.normal
    target, rebounds = _targets(pairs, gap, incoming, free, dt, most=most, bounce=bounce)
    inverse = xp.linalg.inv(step.mass)
    mobilities = xp.vecdot(jacobian @ inverse[..., None, :, :], jacobian)
    mobility, sideways = mobilities[..., 0, :], mobilities[..., 1:, :]
    soft = xp.where((gap <= 0) & ~rebounds, give, xp.zeros_like(give))
    wide = xp.zeros_like(sideways)
    friction = np.stack([pairs.friction, pairs.cross_friction])
    creep = np.stack([pairs.surface_viscosity, pairs.cross_viscosity])
    # The same along and across, so that what slides is braked against its direction.
    bristle = _BRISTLE * (wide + xp.mean(sideways, axis=-2, keepdims=True))
    before = xp.stack([xp.vecdot(held.tangent, t) for t in across], axis=-2)
    hard = xp.maximum(_RIGID * mobility, soft)
    rows = Rows(
        jacobian,
        xp.concat([target[..., None, :], bristle * before], axis=-2),
        xp.concat([hard[..., None, :], bristle + constant(xp, creep) / dt], axis=-2),
        constant(xp, friction) + wide, constant(xp, pairs.joint) + xp.zeros_like(gap),
        xp.where(constant(xp, pairs.lagged) * held.normal > 0, held.normal, -xp.ones_like(gap)),
    )  # fmt: skip
    result = solve(rows, step.mass, step.free, state.velocity, held.normal)
    impulse, work = impulse_work(rows, step.mass, step.free, result)
    tangent = sum(result.tangent[..., i, :, None] * across[i] for i in range(2))
    exit_speed = xp.where(rebounds, xp.zeros_like(target), xp.maximum(target, xp.zeros_like(gap)))
    bent = xp.sum(xp.vecdot(bristle, before * before), axis=-1) / 2
    allowed = xp.vecdot(result.normal, exit_speed) + bent
    return _Result(impulse, work, allowed, _Held(result.normal, tangent))


def _without_gain(step: _Step, hard: _Result, plain: _Result) -> _Result:
    """Return a mixture of a solution with and one without rebounds that adds no energy.

    Rebounds of several points with friction may add some (Kane's paradox); the energy is convex
    in the impulse, so the share s = −E₀/(E₁ − E₀) of the way adds none.
    """
    xp = namespace(hard.work)
    gain, base = hard.work - hard.allowed, plain.work - plain.allowed
    over = gain > 0
    base = xp.minimum(base, xp.zeros_like(base))
    share = xp.where(over, -base / xp.where(over, gain - base, xp.ones_like(gain)),
                     xp.ones_like(gain))  # fmt: skip
    impulse = plain.impulse + share[..., None] * (hard.impulse - plain.impulse)
    normal = plain.held.normal + share[..., None] * (hard.held.normal - plain.held.normal)
    change = xp.linalg.solve(step.mass, impulse[..., None])[..., 0]
    work = xp.vecdot(impulse, step.free + change / 2)
    return _Result(impulse, work, xp.maximum(hard.allowed, plain.allowed),
                   _Held(normal, plain.held.tangent))  # fmt: skip


def _leaves(touch: Touch, step: _Step, held: _Held) -> bool:
    """Return whether a body is off everything after the step anyway: all impulses are 0."""
    free = matvec(_lever_rows(touch.normal, touch.point), step.free)
    return bool(np.all(touch.gap + step.dt * free > 0) and np.all(held.normal == 0))


def _impulse(
    pairs: PairTable, touch: Touch, state: State, step: _Step, held: _Held
) -> tuple[Array, _Held]:
    """Return the impulse (..., 6) of a step, and its contacts' to remember."""
    xp = namespace(touch.gap)
    if xp is np and _leaves(touch, step, held):
        return xp.zeros_like(step.free), _Held(*(xp.zeros_like(h) for h in held))
    result = _solved(pairs, touch, state, step, held, bounce=True)
    if xp is not np or np.any(result.work > result.allowed + 1e-12):
        plain = _solved(pairs, touch, state, step, held, bounce=False)
        result = _without_gain(step, result, plain)
    # Whatever is left of a search that did not end: s p with pᵀν* s + pᵀM⁻¹p s²/2 = allowed.
    change = xp.linalg.solve(step.mass, result.impulse[..., None])[..., 0]
    a, b = xp.vecdot(result.impulse, change), xp.vecdot(result.impulse, step.free)
    root = xp.sqrt(b * b + 2 * a * result.allowed)
    share = xp.where(a > 0, (root - b) / xp.where(a > 0, a, xp.ones_like(a)), xp.ones_like(a))
    share = xp.minimum(share * (1 + 1e-9), xp.ones_like(share))
    return share[..., None] * result.impulse, result.held


def _within(vehicle: Vehicle, state: State, dt: float) -> float:
    """Return the gap in m beyond which nothing matters in a step."""
    linear, turning = (float(np.linalg.norm(v)) for v in np.split(state.velocity, 2))
    fastest = linear + vehicle.contact.reach * turning + dt * _FIERCEST
    return 0.01 + 4 * dt * fastest


def _stays_off(touch: Touch, state: State, memory: ContactMemory, dt: float) -> bool:
    """Return whether a body that touched nothing will not in this step either."""
    closing = matvec(_lever_rows(touch.normal, touch.point), state.velocity)
    ahead = touch.gap + dt * closing - 2 * dt * dt * _FIERCEST
    return bool(np.all(ahead > _SKIN)) and not np.any(memory.normal)


def contact(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    memory: ContactMemory | None,
    *,
    dt: float,
) -> tuple[Wrench, ContactMemory | None]:
    """Return the wrench (..., 6) of all contacts over the step to come, and what to remember.

    Zero without a scene, and in the first tick, where the length of a step is not known yet.

    Args:
        vehicle: with its contact points.
        state: of the body.
        environment: with the scene and the materials.
        memory: of the tick before, or None.
        dt: time since then, s; the step to come is taken to be as long.

    Raises:
        ModelError: a collision mesh that cannot be used.
    """
    xp = namespace(state.velocity)
    none = xp.zeros_like(state.velocity)
    scene = environment.scene
    if scene is None or not len(scene) or not len(vehicle.contact):
        return none, None
    count = len(layout(vehicle, scene))
    empty = none[..., :1] + constant(xp, np.zeros(count))
    nothing = ContactMemory(state, none, None, empty, empty[..., None] + constant(xp, np.zeros(3)))
    if memory is None or dt <= 0:
        return none, nothing
    # A batch, or what is compiled, has all pairs; one body of NumPy those that are near.
    alone = xp is np and state.velocity.ndim == 1
    if alone:
        touch, near = near_touches(vehicle, state, environment, _within(vehicle, state, dt))
        if not len(near) or _stays_off(touch, state, memory, dt):
            return none, nothing
    else:
        touch, near = touches(vehicle, state, environment), np.arange(count)
    pairs = pair_table(vehicle, environment)
    held = _Held(memory.normal, memory.tangent)
    if alone:
        pairs, held = pairs.picked(near), _Held(*(values[near] for values in held))
    step = _step(vehicle, state, environment, memory, dt)
    pull = _adhesion(pairs, touch.gap)
    rows = _lever_rows(touch.normal, touch.point)
    drawn = -matvec(xp.matrix_transpose(rows), pull)
    change = xp.linalg.solve(step.mass, drawn[..., None])[..., 0]
    step = step._replace(free=step.free + dt * change)
    impulse, held = _impulse(pairs, touch, state, step, held)
    if alone:
        held = _put_back(held, near, count)
    wrench = impulse / dt + drawn
    return wrench, ContactMemory(state, wrench, step.known, held.normal, held.tangent)


def _put_back(held: _Held, near: np.ndarray, count: int) -> _Held:
    """Return impulses of all pairs: those picked out, and zeros."""
    return _Held(
        np.bincount(near, held.normal, minlength=count),
        np.stack([np.bincount(near, t, minlength=count) for t in held.tangent.T], axis=-1),
    )
