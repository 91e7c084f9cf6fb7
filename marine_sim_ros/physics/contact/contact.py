# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact force: contact of a vehicle with seabed, walls and obstacles, by implicit impulses.

This force does not know the other forces, so stiff springs at the contact points would have to be
explicit: k ≤ m (0.5/dt)² limits them to 1.2e5 N/m for a BlueROV2 at 5 ms, and the vehicle would
sink in and bounce. Instead the velocity after the step is solved for (as physics engines do), and
the wrench is the impulse that leads to it over the step, Jᵀγ/dt:

- The other wrenches are observed, not received: M Δν/dt minus the contact wrench w of the step
  before is assumed again. ν* = ν + Δν − dt M⁻¹ w is
  the velocity without contact, with weight, buoyancy, drag and Coriolis terms updated. At rest
  this is exact; changes of other forces, such as thrust, are late by one step.
- Points that would penetrate a surface within the step are stopped at it, or rebound with the
  restitution times their speed if they are faster than a free fall of one step.
- At a penetration δ the target −δ̇ = δ/τ pushes them out, and E and ν give compliance: stiffness k
  with damping
  τ k, implicit, so that neither has a limit; the rest position has F = k δ.
- Friction is a stiff bristle at every point, with a memory: it starts at the impulse of the step
  before and grows where the point moves, within Coulomb's law. So a body at rest creeps only by
  the surface viscosity. Adhesion pulls points in contact.

M includes the implicit drag of the default integrator, dt D. The method is stable for any
stiffness and step, adds no energy, and no point passes a surface whose distance is exact. A wrench
that is applied for longer than a step (``lockstep: false``) is an impulse given twice, however.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import NUMPY, Array, cond, constant, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.state import State, Wrench, state_at_rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.geometry.shapes import box_shape
from marine_sim_ros.geometry.triangles import build_surface
from marine_sim_ros.model.contact import ContactPoints
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.contact.detection import (
    contacts_near_meshes,
    contacts_within,
    nearest_contacts,
    pair_layout,
    select_contacts,
    separation_gap,
    stays_separated,
    step_reach,
)
from marine_sim_ros.physics.contact.edges import ContactGeometry
from marine_sim_ros.physics.contact.pair_coefficients import PairTable, pair_table
from marine_sim_ros.physics.contact.solver import (
    ContactArrays,
    adhesion_force,
    solve_contact_arrays,
    solve_contacts,
)
from marine_sim_ros.physics.force import ForceInputs, ForceModel, has_scene
from marine_sim_ros.physics.wrench_observer import (
    StateTerms,
    StepPrediction,
    predict_step,
    state_terms,
)
from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.scene.scene import Scene

__all__ = [
    'CONTACT',
    'MAX_PAIRS',
    'check_bodies',
    'compile_mesh_contact',
    'contact_limit',
    'contact_wrench',
    'with_contact_positions',
]


MAX_PAIRS = 24
"""Largest number of pairs in the solver: those with the smallest predicted gaps."""
SPARE_PAIRS = 7
"""Pairs in the solver besides the vehicle's points that can lie in a plane (9 of a box)."""


class ContactMemory(NamedTuple):
    """Memory of the previous tick, with n pairs.

    Attributes:
        state: state of the body.
        wrench: (6,) wrench of the contacts.
        terms: terms that depend on the state only; None if nothing was near. In compiled programs
            they are always there, since a memory has the same parts in every tick.
        pair: (n,) numbers of pairs (see physics/contact/detection.py); below 0: none.
        impulse: (n, 3) on the vehicle, body frame, N·s.
        places: (m, 3) positions of the vehicle's points, m, if an arm moves some; else None.
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
    """Return the wrench (6,) of all contacts over the next step, and the next memory.

    It is zero without a scene, and in the first tick, where the step is not yet known. It is for
    one body: batches use ``jax.vmap``.

    Args:
        vehicle: the vehicle, with contact points.
        state: state of the body.
        environment: environment with its scene and materials.
        memory: memory of the previous tick; None in the first.
        dt: time since then, s; the next step is assumed to be as long.
        body: the vehicle with its present mass, and points of its arm's pose; None: ``vehicle``.

    Raises:
        ModelError: a collision mesh that cannot be used.
    """
    xp, scene = namespace(state.velocity), environment.scene
    vehicle = vehicle if body is None else body
    contact_points = vehicle.contact
    if scene is None or not len(scene) or not len(contact_points):
        return xp.zeros_like(state.velocity), None
    places = contact_points.position if contact_points.described is not None else None
    fixed_size = xp is not NUMPY  # compiled programs have as many pairs in every tick
    terms = state_terms(vehicle, state, environment) if fixed_size else None
    size = (
        min(contact_limit(contact_points), len(pair_layout(contact_points, scene)))
        if fixed_size
        else 0
    )
    no_contact = partial(_initial_result, state, terms, size, places)
    if memory is None or dt <= 0:
        return no_contact()
    reach = step_reach(vehicle.contact.reach, state.velocity, dt)
    mass_matrix = constant(xp, vehicle.mass_matrix)  # may be traced: in a sweep it differs
    if fixed_size:
        near = scene.may_be_near(state.position, contact_points.reach + reach)
        solve = partial(_compiled_contact, vehicle, environment, dt)
        result = cond(
            xp, near, solve, _no_contact, state, terms, memory, mass_matrix, places, reach
        )
    else:
        if getattr(memory.places, 'shape', None) != getattr(places, 'shape', None):
            _, empty_memory = _initial_result(memory.state, memory.terms, 0, places)
            memory = empty_memory._replace(
                wrench=memory.wrench
            )  # the arm has grasped or released a load
        if scene.meshes:  # kernels are compiled once more for arrays that nobody may write to
            state = State(*map(np.array, state))
        find = _find_near_meshes if scene.meshes else _find_contacts
        touch, number = find(vehicle, state, environment, memory.impulse, reach, dt)
        if not len(number):
            return no_contact()
        terms = state_terms(vehicle, state, environment)
        result = _solve_touching(
            vehicle, environment, dt, state, terms, memory, mass_matrix, places, touch, number,
            solve=_solve_values if scene.meshes else _solve_geometry,
        )  # fmt: skip
    wrench, pair, impulse = result
    return wrench, ContactMemory(state, wrench, terms, pair, impulse, places)


def compile_mesh_contact(vehicle: Vehicle) -> None:
    """Compile the kernels of contacts with meshes, or read them from the cache.

    The first contact of an installation takes some twenty seconds; nodes wait for no answer so
    long.
    """
    shape, own = box_shape(np.full(3, 2 * vehicle.contact.reach)), vehicle.contact
    surface, _ = build_surface(shape.vertices, shape.faces, 1e-3, 'cube')
    cube = Obstacle('cube', 'mesh', surface.extents, np.zeros(3), mesh=surface)
    # A small box in its top: edges of simple obstacles have kernels of their own.
    box = Obstacle('box', 'box', np.full(3, own.reach / 10), np.array([0, 0, 0.95 * own.reach]))
    environment, memory = Environment(scene=Scene(obstacles=(cube, box))), None
    state = state_at_rest((0.0, 0.0, own.reach - float(own.position[:, 2].min())))
    for dt in (0.0, 0.005):
        _, memory = contact_wrench(vehicle, state, environment, memory, dt=dt)


_NO_PAIRS, _NO_IMPULSES = np.zeros(0), np.zeros((0, 3))


def contact_limit(contact_points: ContactPoints) -> int:
    """Return the largest number of a vehicle's pairs in the solver."""
    return min(MAX_PAIRS, SPARE_PAIRS + contact_points.unposed.level)


def _initial_result(
    state: State, terms: StateTerms | None, size: int, places: Array | None
) -> tuple[Wrench, ContactMemory]:
    """Return a zero wrench and the memory of a tick without contact, for ``size`` pairs."""
    xp = namespace(state.velocity)
    zero = xp.zeros_like(state.velocity)
    if not size:
        none = constant(xp, _NO_PAIRS), constant(xp, _NO_IMPULSES)
        return zero, ContactMemory(state, zero, terms, *none, places)
    impulse = zero[:3] + constant(xp, np.zeros((size, 3)))
    return zero, ContactMemory(state, zero, terms, impulse[:, 0] - 1, impulse, places)


def _find_contacts(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    impulse: np.ndarray,
    reach: float,
    dt: float,
) -> tuple[ContactGeometry, np.ndarray]:
    """Return the contacts that may press in a step, for NumPy, and the numbers of their pairs.

    Args:
        vehicle: the vehicle, like the others as for :func:`contacts_within`.
        state: state of the body.
        environment: environment with a scene.
        impulse: impulses (n, 3) of the step before, N·s.
        reach: gap beyond which nothing touches in the step, m.
        dt: step, s.
    """
    touch, number = contacts_within(vehicle, state, environment, reach)
    if not len(number) or stays_separated(touch, state.velocity, impulse, dt):
        return touch, number[:0]
    limit = contact_limit(vehicle.contact)
    return select_contacts(touch, number, state.velocity, dt, limit)


def _find_near_meshes(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    impulse: np.ndarray,
    reach: float,
    dt: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the values (c, 7) of contacts and their numbers, as :func:`_find_contacts` does.

    Scenes with meshes need Numba anyway: kernels search them.
    """
    from marine_sim_ros.physics.contact.kernels import detection

    number, values = contacts_near_meshes(vehicle, state, environment, reach)
    count = detection.choose_nearest(
        number,
        values,
        state.velocity,
        dt,
        contact_limit(vehicle.contact),
        bool(impulse.any()),
        separation_gap(dt),
    )
    return values[:count], number[:count, 0]


def _solve_geometry(
    table: PairTable,
    index: Array,
    touch: ContactGeometry,
    state: State,
    step: StepPrediction,
    previous: Array,
    drift: Array | None,
) -> tuple[Wrench, Array]:
    """Return the wrench (6,) of contacts with rows of a table, and their impulses (c, 3)."""
    pairs = table.select(index)
    adhesion = adhesion_force(pairs, touch.gap) if table.sticky else None
    return solve_contacts(pairs, touch, state, step, previous, adhesion, drift)


def _solve_values(
    table: PairTable,
    index: np.ndarray,
    values: np.ndarray,
    state: State,
    step: StepPrediction,
    previous: np.ndarray,
    drift: np.ndarray | None,
) -> tuple[Wrench, np.ndarray]:
    """Return what :func:`_solve_geometry` does, by kernels, for values (c, 7) of contacts."""
    columns = table.columns.take(index, axis=1)
    contacts = ContactArrays.with_scene(state, values, columns, previous, drift)
    return solve_contact_arrays(contacts, state.velocity, step, refined=False)[:2]


def _solve_touching(
    vehicle: Vehicle,
    environment: Environment,
    dt: float,
    state: State,
    terms: StateTerms,
    memory: ContactMemory,
    mass_matrix: Array,
    places: Array | None,
    touch: Any,
    number: Array,
    *,
    solve: Callable[..., tuple[Wrench, Array]] = _solve_geometry,
) -> tuple[Wrench, Array, Array]:
    """Return the wrench (6,) of contacts, the numbers of their pairs, and their impulses."""
    xp, previous_terms = namespace(state.velocity), memory.terms
    if previous_terms is None:
        previous_terms = state_terms(vehicle, memory.state, environment)
    step = predict_step(mass_matrix, state, terms, memory[:2], previous_terms, dt)
    assert environment.scene is not None
    layout = pair_layout(vehicle.contact, environment.scene)
    index = layout.rows(number)
    match = xp.astype(number[:, None] == memory.pair[None, :], step.free.dtype)
    drift = None
    if places is not None:
        point = constant(xp, layout.point)
        point_velocity = (places - memory.places) / dt
        point_velocity = xp.concat([point_velocity, xp.zeros_like(point_velocity[:1, :])])
        drift = xp.take(point_velocity, xp.take(point, index), axis=0)
    table = pair_table(vehicle, environment)
    wrench, impulse = solve(table, index, touch, state, step, match @ memory.impulse, drift)
    return wrench, number, impulse


def _no_contact(
    state: State, terms: StateTerms, memory: ContactMemory, *others: Array
) -> tuple[Array, ...]:
    xp = namespace(memory.pair)
    result = xp.zeros_like(state.velocity), xp.full_like(memory.pair, -1.0)
    return *result, xp.zeros_like(memory.impulse)


def with_contact_positions(vehicle: Vehicle, places: Array | None) -> Vehicle:
    """Return a vehicle with contact points at places (m, 3), body frame, m; None: unchanged."""
    if places is None:
        return vehicle
    contact_points = vehicle.contact
    points = replace(contact_points, position=places, described=contact_points.unposed)
    return replace(vehicle, find_contact=lambda: points)


def _compiled_contact(
    vehicle: Vehicle,
    environment: Environment,
    dt: float,
    state: State,
    terms: StateTerms,
    memory: ContactMemory,
    mass_matrix: Array,
    places: Array | None,
    reach: Array,
) -> tuple[Array, ...]:
    """Find the nearest pairs and solve their contacts, in fixed shapes for compiled programs."""
    xp, posed_vehicle = namespace(state.velocity), with_contact_positions(vehicle, places)
    touch, number = nearest_contacts(
        posed_vehicle, state, environment, reach, dt, contact_limit(posed_vehicle.contact)
    )
    needed = ~stays_separated(touch, state.velocity, memory.impulse, dt)
    solve = partial(_solve_touching, vehicle, environment, dt)
    return cond(  # type: ignore[no-any-return]
        xp, needed, solve, _no_contact, state, terms, memory, mass_matrix, places, touch, number
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
    """Refuse free bodies in a program that does not move them.

    Raises:
        ParameterError: the environment has some.
    """
    if environment.free_bodies:
        names = ', '.join(body.name for body in environment.free_bodies)
        raise ParameterError(
            f'environment {environment.name}: {where} does not move its bodies ({names}); '
            'expected marine_sim simulate or run with engine numpy, or an environment without '
            'bodies'
        )
    if environment.collisions:
        raise ParameterError(
            f'collisions: {where} does not compute those of vehicles; expected engine numpy, or '
            'collisions: false in the file of the fleet'
        )


def _may_touch(vehicle: Vehicle, environment: Environment) -> bool:
    """Return whether there are a scene, free bodies or vehicles to touch."""
    has_bodies = environment.collisions or bool(environment.free_bodies)
    return has_bodies or has_scene(vehicle, environment)


def _may_act(vehicle: Vehicle, state: State, environment: Environment, step: float) -> Array:
    """Return whether a vehicle may touch the scene in the next step or the one after it."""
    scene = environment.scene
    if scene is None or environment.free_bodies or environment.collisions:
        return np.bool_(True)
    radius = vehicle.contact.reach
    reach = radius + 3 * step_reach(radius, state.velocity, step)
    return scene.may_be_near(state.position, reach)


CONTACT = ForceModel(
    'contact',
    _contact_step,
    applies=_may_touch,
    needs=('joints', 'mass'),
    impulsive=True,
    label='Contact',
    colour='#994d1a',
    executable='contact',
    in_gazebo=False,
    may_act=_may_act,
)
