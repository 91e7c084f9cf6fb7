# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lumped-mass cable in water: the forces on its nodes, and its implicit step.

Each segment gives half its mass, weight, buoyancy, added mass and drag to each of its nodes. Its
tension is E A ε + C ε̇ while it is stretched, and 0 where it is slack: a cable does not push.
Bending is (E I/2 l³) Σ |x_{i−1} − 2 x_i + x_{i+1}|². Drag is Morison's (1950), across and along
the segment apart; added mass acts across. Source of the terms: Hall and Goupee (2015), Ocean
Engineering 104, 590-603, sections 2.1 to 2.4.

A step is implicit Euler: with x⁺ = x + dt v⁺, the velocities v⁺ solve

    M (v⁺ − v) = dt F(x⁺, v⁺)

by Newton's method. The elastic, bending and contact energies are convex in x⁺, and the forces
that depend on v⁺ dissipate, so that the step is the minimum of a convex function: it exists for
any stiffness and dt, and for constant M the energy cannot grow. The matrix is block-pentadiagonal,
symmetric and
positive definite: a step is O(n). M, the directions of drag and of damping, the drag's |v| and the
distance to surfaces are those of the step's start; the change of the added mass's momentum by the
rotation of a segment is neglected, as in the source.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import NUMPY, Array, constant, counted_loop, namespace, while_loop
from marine_sim_ros.core.numerics import solve_banded
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.tether import FRESH_WATER, Tether
from marine_sim_ros.physics.reel import (
    CableDivision,
    CableState,
    count_whole_segments,
    divide_cable,
    redistribute_nodes,
    resample_nodes,
    slip_clutch,
    turn_drum,
)

__all__ = ['cable_energy', 'cable_step', 'hang_cable']


# Forces on the nodes: tension, bending, drag, weight, waves, contact with surfaces.

CONTACT_STIFFNESS = 3e6
"""Stiffness of all surfaces of the scene, Pa/m of the projected area: MoorDyn's default for soft
ground."""
CREEP_SPEED = 0.01
"""Sliding speed, m/s, below which friction is viscous, μ N v/CREEP_SPEED."""
_CONTACT_RANGE = 1.0
"""Distance, m, that no node approaches a surface by in a step."""
FULL_DAMPING_STRAIN = 1e-4
"""Strain at which a segment has its full damping, so that there is no jump as it becomes taut."""
_TINY_SQUARE = 1e-24
"""Added to a squared length, m², so that a length of 0 has a direction."""
_CLUTCH_JUMP = 1.5
"""Change of ``drum`` of more than one state: from slack (−1) to slipping (1), or back."""


class CableSegments(NamedTuple):
    """Tension and stiffness of n segments.

    Attributes:
        direction: (..., n, 3) unit vectors.
        length: (..., n) m.
        tension: (..., n) N.
        stiffness: (..., n) change of the tension with the length, N/m.
        drum: (..., n) state of the segment at a drum: −1 slack, 0 stretched, 1 slipping; 0 for the
            others.
    """

    direction: Array
    length: Array
    tension: Array
    stiffness: Array
    drum: Array


class StepConstants(NamedTuple):
    """Quantities of a step that are constant within it.

    Attributes:
        mass: (..., n + 1, 3, 3), with added mass, kg.
        drag_matrix: (..., n + 1, 3, 3) G of the drag force −G v, N·s/m.
        force_at_rest: (..., n + 1, 3) force on a node with v = 0, N.
        damping: (..., n) C/l of the segments, N·s/m.
        direction: (..., n, 3) direction of the damping.
        intact: (..., n) 1; 0 for a parted segment.
        joints: (..., n - 1) 1; 0 without bending moment: at a parted segment and at the drum of a
            reel.
        division: division of the cable into segments.
        gap: (..., k, n + 1) distance to surfaces, m.
        normal: (..., k, n + 1, 3) normals of the surfaces.
    """

    mass: Array
    drag_matrix: Array
    force_at_rest: Array
    damping: Array
    direction: Array
    intact: Array
    joints: Array
    division: CableDivision
    gap: Array
    normal: Array


def dot_product(a: Array, b: Array) -> Array:
    """Return a·b (...) of vectors (..., 3)."""
    return namespace(a).sum(a * b, axis=-1)


def matrix_vector_product(matrix: Array, vector: Array) -> Array:
    """Return A b (..., 3) of matrices (..., 3, 3) and vectors (..., 3)."""
    return namespace(vector).sum(matrix * vector[..., None, :], axis=-1)


def outer_product(a: Array) -> Array:
    """Return a aᵀ (..., 3, 3) of vectors (..., 3)."""
    return a[..., :, None] * a[..., None, :]


def _sum_at_nodes(after: Array, before: Array, axis: int) -> Array:
    """Return the sum at each node of the values of the segments after and before it."""
    xp = namespace(after)
    end_slice = (..., slice(0, 1), *(slice(None),) * (-axis - 1))
    zero_end = xp.zeros_like(after[end_slice])
    return xp.concat([after, zero_end], axis=axis) + xp.concat([zero_end, before], axis=axis)


def cable_segments(
    tether: Tether,
    division: CableDivision,
    position: Array,
    intact: Array,
    previous_drum: Array | None = None,
) -> CableSegments:
    """Return the segments between nodes (..., n + 1, 3).

    The segment at a drum is slack, stretched or slipping. An iterate of Newton's method that jumps
    from slack to slipping or back is treated as stretched, or the iteration could alternate.

    Args:
        tether: cable, and its division.
        division: lengths of its segments.
        position: of the nodes, map, m.
        intact: (..., n) 0 for a segment that has parted, else 1.
        previous_drum: (..., n) ``drum`` of the previous iterate; None: first iterate.
    """
    xp = namespace(position)
    chord = position[..., 1:, :] - position[..., :-1, :]
    length = xp.sqrt(dot_product(chord, chord) + _TINY_SQUARE)
    strain = length / division.span - 1.0
    taut = (strain > 0) & (intact > 0)
    zero, axial_stiffness = xp.zeros_like(strain), tether.cable.axial_stiffness
    tension = xp.where(taut, axial_stiffness * strain, zero)
    stiffness = xp.where(taut, axial_stiffness / division.span, zero)
    drum = zero
    if division.at_drum is not None and division.longest is not None:
        assert tether.reel is not None
        slips = (division.at_drum > 0) & (tension > tether.reel.tension)
        drum = division.at_drum * (xp.where(slips, 1.0 + zero, zero) - xp.where(taut, zero, 1.0))
        longest = division.longest[..., None] + zero
        stop = axial_stiffness * (length / longest - 1.0)
        limit = tether.reel.tension + zero
        stiffness = xp.where(
            slips, xp.where(stop > limit, axial_stiffness / longest, zero), stiffness
        )
        tension = xp.where(slips, xp.maximum(limit, stop), tension)
        if previous_drum is not None:
            jumped = xp.abs(drum - previous_drum) > _CLUTCH_JUMP
            stiffness = xp.where(jumped, axial_stiffness / division.span, stiffness)
            tension = xp.where(jumped, axial_stiffness * strain, tension)
            drum = xp.where(jumped, zero, drum)
    return CableSegments(chord / length[..., None], length, tension, stiffness, drum)


def step_constants(
    tether: Tether, environment: Environment, memory: CableState, fluid_density: float, dt: Any
) -> StepConstants:
    """Return the constants of a step of a time dt (s) from a cable.

    The density is that of the environment, or ``fluid_density``, kg/m³.
    """
    cable, division = tether.cable, divide_cable(tether, memory)
    half_length = division.rest / 2
    position, velocity = memory.position, memory.velocity
    xp = namespace(position)
    ones = xp.ones_like(position[..., 1:, 0])
    intact = xp.concat([memory.attached[..., None] * ones[..., :1], ones[..., 1:]], axis=-1)
    segments = cable_segments(tether, division, position, intact)
    along = outer_product(segments.direction)
    across = constant(xp, np.eye(3)) - along
    lengths = _sum_at_nodes(half_length, half_length, -1)
    # Buoyancy changes linearly over a diameter at the surface.
    depth = environment.elevation(position) - position[..., 2]
    submerged = xp.clip(depth / cable.diameter + 0.5, 0.0, 1.0)
    density = environment.density(position, fluid_density)
    segment_density = density
    if environment.fields is not None:
        density = density[..., 0]
        segment_density = 0.5 * (density[..., 1:] + density[..., :-1])
    displaced = density * cable.displaced_area * lengths * submerged
    water = environment.velocity(position)

    relative = velocity - water
    added = cable.added_mass * density * cable.displaced_area * tether.piece / 2
    half_segment_inertia = (division.rest / tether.piece)[..., None, None] * across
    drag = (0.5 * segment_density * cable.diameter * half_length)[..., None, None]

    def drag_matrices(node: Array) -> Array:
        """Return the drag matrices (..., n, 3, 3) of half segments by their velocity, N·s/m."""
        parallel = dot_product(node, segments.direction)
        normal_velocity = node - parallel[..., None] * segments.direction
        normal = cable.normal_drag * xp.sqrt(dot_product(normal_velocity, normal_velocity))
        tangential = np.pi * cable.tangential_drag * xp.abs(parallel)
        return drag * (normal[..., None, None] * across + tangential[..., None, None] * along)

    weight = -environment.gravity * (cable.mass * lengths - displaced)
    opposing = submerged[..., None, None] * _sum_at_nodes(
        drag_matrices(relative[..., :-1, :]), drag_matrices(relative[..., 1:, :]), -3
    )
    added_mass_matrix = (submerged * added)[..., None, None] * _sum_at_nodes(
        half_segment_inertia, half_segment_inertia, -3
    )
    force_at_rest = matrix_vector_product(opposing, water)
    if not environment.flat:
        wave_acceleration = environment.acceleration(position)
        force_at_rest = (
            force_at_rest
            + displaced[..., None] * wave_acceleration
            + matrix_vector_product(added_mass_matrix, wave_acceleration)
        )
    up = constant(xp, np.array([0.0, 0.0, 1.0]))
    force_at_rest = force_at_rest + weight[..., None] * up
    # At the surface the change of buoyancy with height acts as an implicit spring.
    at_surface = (submerged > 0) & (submerged < 1)
    spring = density * cable.displaced_area * environment.gravity / cable.diameter * lengths
    spring = xp.where(at_surface, spring, xp.zeros_like(spring))
    opposing = opposing + dt * spring[..., None, None] * outer_product(up)
    mass = (cable.mass * lengths)[..., None, None] * constant(xp, np.eye(3)) + added_mass_matrix
    damping_fraction = xp.clip(
        segments.tension / (FULL_DAMPING_STRAIN * cable.axial_stiffness), 0.0, 1.0
    )
    damping = cable.axial_damping / division.span * damping_fraction
    if division.at_drum is not None:
        damping = damping * (1.0 - division.at_drum)
    joints = intact[..., :-1] * division.whole[..., :-1] * division.whole[..., 1:]
    if division.at_drum is None:
        joints = intact[..., :-1]
    gap, normal = surface_gaps(environment, position, cable.diameter / 2)
    return StepConstants(
        mass,
        opposing,
        force_at_rest,
        damping,
        segments.direction,
        intact,
        joints,
        division,
        gap,
        normal,
    )


def surface_gaps(environment: Environment, position: Array, radius: float) -> tuple[Array, Array]:
    """Return the gaps (..., k, n) of nodes from the surfaces of a scene, m, and normals."""
    scene = environment.scene
    if scene is None or not len(scene):
        no_surfaces = position[..., None, :, :][..., :0, :, :]
        return no_surfaces[..., 0], no_surfaces
    distance, normal = scene.surfaces(position, radius + _CONTACT_RANGE)
    return distance - radius, normal


def surface_forces(
    tether: Tether, constants: StepConstants, velocity: Array, dt: Any
) -> tuple[Array, Array] | None:
    """Return contact forces (..., n + 1, 3) and their gradients −∂F/∂v, or None."""
    if constants.gap.shape[-2] == 0:
        return None
    xp = namespace(velocity)
    normal = constants.normal
    approach_speed = dot_product(normal, velocity[..., None, :, :])
    depth = -(constants.gap + dt * approach_speed)
    half_length = constants.division.rest / 2
    stiffness = (
        CONTACT_STIFFNESS
        * tether.cable.diameter
        * _sum_at_nodes(half_length, half_length, -1)[..., None, :]
    )
    penetrating = depth > 0
    normal_force = xp.where(penetrating, stiffness * depth, xp.zeros_like(depth))
    sliding = velocity[..., None, :, :] - approach_speed[..., None] * normal
    friction_factor = (
        tether.cable.friction
        * normal_force
        / xp.sqrt(dot_product(sliding, sliding) + CREEP_SPEED**2)
    )
    force = xp.sum(
        normal_force[..., None] * normal - friction_factor[..., None] * sliding, axis=-3
    )
    normal_gradient = (
        xp.where(penetrating, dt * stiffness * xp.ones_like(depth), xp.zeros_like(depth))
        - friction_factor
    )
    gradient = normal_gradient[..., None, None] * outer_product(normal)
    gradient = gradient + friction_factor[..., None, None] * constant(xp, np.eye(3))
    return force, xp.sum(gradient, axis=-4)


def node_forces(
    tether: Tether,
    constants: StepConstants,
    position: Array,
    velocity: Array,
    segments: CableSegments,
) -> Array:
    """Return the forces on each node (..., n + 1, 3) without contact forces, N."""
    rate = dot_product(velocity[..., 1:, :] - velocity[..., :-1, :], constants.direction)
    axial_force = segments.tension[..., None] * segments.direction
    axial_force = axial_force + (constants.damping * rate)[..., None] * constants.direction
    force = (
        constants.force_at_rest
        - matrix_vector_product(constants.drag_matrix, velocity)
        + _sum_at_nodes(axial_force, -axial_force, -2)
    )
    curve = position[..., :-2, :] - 2.0 * position[..., 1:-1, :] + position[..., 2:, :]
    stiffness = tether.cable.bending_stiffness / tether.piece**3
    moment = stiffness * constants.joints[..., None] * curve
    bending_force = _sum_at_nodes(-moment, moment, -2)
    return force + _sum_at_nodes(bending_force, -bending_force, -2)


# Implicit step of n segments between n + 1 nodes with prescribed ends.

TOLERANCE = 1e-5
"""Newton's method ends with a step below this, m, in which no segment became taut or slack."""
ITERATIONS = 12
ITERATIONS_AT_DRUM = 48
"""Iteration limit with a reel, whose clutch adds two changes of stiffness."""
_LOG = logging.getLogger(__name__)


def _band_matrix(
    tether: Tether,
    constants: StepConstants,
    segments: CableSegments,
    gradient: Array | None,
    dt: Any,
) -> Array:
    """Return the lower band (..., 7, 3 (n − 1)) of M − dt ∂F/∂v − dt² ∂F/∂x at the free nodes."""
    xp = namespace(constants.mass)
    along = outer_product(segments.direction)
    tension = xp.maximum(segments.tension, xp.zeros_like(segments.tension))
    geometric = dt * dt * tension / segments.length
    elastic = dt * dt * segments.stiffness - geometric
    segment_block = (
        elastic[..., None, None] * along
        + geometric[..., None, None] * constant(xp, np.eye(3))
        + (dt * constants.damping)[..., None, None] * outer_product(constants.direction)
    )
    bending = dt * dt * tether.cable.bending_stiffness / tether.piece**3 * constants.joints
    diagonal = constants.mass + dt * constants.drag_matrix
    if gradient is not None:
        diagonal = diagonal + dt * gradient
    diagonal = (
        diagonal[..., 1:-1, :, :] + segment_block[..., :-1, :, :] + segment_block[..., 1:, :, :]
    )
    zero = xp.zeros_like(bending[..., :1])
    bending_diagonal = 4.0 * bending + xp.concat([zero, bending[..., :-1]], axis=-1)
    bending_diagonal = bending_diagonal + xp.concat([bending[..., 1:], zero], axis=-1)
    eye = constant(xp, np.eye(3))
    diagonal = diagonal + bending_diagonal[..., None, None] * eye
    bending_off_diagonal = 2.0 * (bending[..., 1:] + bending[..., :-1])
    off_diagonal = -segment_block[..., 1:-1, :, :] - bending_off_diagonal[..., None, None] * eye
    free = constants.division.free
    if free is not None:
        free = free[..., 1:-1, None, None]
        diagonal = xp.where(free, diagonal, eye + xp.zeros_like(diagonal))
        off_diagonal = xp.where(free[..., 1:, :, :], off_diagonal, xp.zeros_like(off_diagonal))
    batch = diagonal.shape[:-3]
    flat = xp.concat(
        [
            xp.reshape(diagonal, (*batch, -1)),
            xp.reshape(off_diagonal, (*batch, -1)),
            bending[..., 1:-1],
            zero,
        ],
        axis=-1,
    )
    return flat[..., _band_indices(diagonal.shape[-3])]


@lru_cache(maxsize=32)
def _band_indices(count: int) -> np.ndarray:
    """Return the index of each entry of the lower band (7, 3 count) among the nonzero entries."""
    entries = np.arange(9 * count + 9 * (count - 1) + count - 2 + 1)
    diagonal, off_diagonal, second = np.split(
        entries[:-1], [9 * count, 9 * count + 9 * (count - 1)]
    )
    diagonal, off_diagonal = diagonal.reshape(count, 3, 3), off_diagonal.reshape(count - 1, 3, 3)
    indices = np.full((7, 3 * count), entries[-1])
    for column in range(3 * count):
        block, q = divmod(column, 3)
        for row in range(column, min(column + 7, 3 * count)):
            row_block, p = divmod(row, 3)
            if row_block == block:
                indices[row - column, column] = diagonal[block, p, q]
            elif row_block == block + 1:
                indices[row - column, column] = off_diagonal[block, p, q]
            elif p == q:
                indices[row - column, column] = second[block]
    return indices


def cable_step(
    tether: Tether,
    environment: Environment,
    memory: CableState,
    ends: Array,
    dt: Any,
    *,
    fluid_density: float = FRESH_WATER,
    rate: Array | None = None,
) -> CableState:
    """Return the cable after a step in which its ends move and its reel turns.

    Args:
        tether: cable, and its division.
        environment: environment with its scene.
        memory: the cable before.
        ends: (..., 2, 3) of the vehicle's end and the anchor now, map, m.
        dt: time, s; with 0 only the ends move.
        fluid_density: kg/m³, where the environment has none.
        rate: (...) commanded rate of the reel, m/s, positive to pay out; None: it stands still.

    A step that does not converge within the iteration limit keeps the last iterate. NumPy logs a
    warning, once for each tether; compiled programs do not report it.
    """
    xp = namespace(memory.position)
    length = memory.length
    if length is not None:
        memory = redistribute_nodes(tether, memory, turn_drum(tether, length, rate, dt))
    constants = step_constants(tether, environment, memory, fluid_density, dt)
    free = constants.division.free
    previous_ends = xp.concat([memory.position[..., :1, :], memory.position[..., -1:, :]], axis=-2)
    end_velocity = (ends - previous_ends) / xp.where(
        dt > 0, dt * xp.ones_like(ends), xp.ones_like(ends)
    )
    end_velocity = end_velocity * xp.where(dt > 0, xp.ones_like(ends), xp.zeros_like(ends))

    def advance(inner: Array, drum: Array | None = None) -> tuple[Array, Array, CableSegments]:
        velocity = xp.concat([end_velocity[..., :1, :], inner, end_velocity[..., 1:, :]], axis=-2)
        inner = memory.position[..., 1:-1, :] + dt * inner
        position = xp.concat([ends[..., :1, :], inner, ends[..., 1:, :]], axis=-2)
        if free is not None:
            velocity = xp.where(free[..., None], velocity, end_velocity[..., 1:, :])
            position = xp.where(free[..., None], position, ends[..., 1:, :])
        segments = cable_segments(tether, constants.division, position, constants.intact, drum)
        return position, velocity, segments

    def improve(search: Any) -> Any:
        (position, velocity, segments), _, count = search
        force = node_forces(tether, constants, position, velocity, segments)
        surface = surface_forces(tether, constants, velocity, dt)
        if surface is not None:
            force = force + surface[0]
        change = matrix_vector_product(constants.mass, velocity - memory.velocity)
        error = (dt * force - change)[..., 1:-1, :]
        if free is not None:
            error = xp.where(free[..., 1:-1, None], error, xp.zeros_like(error))
        band = _band_matrix(
            tether, constants, segments, None if surface is None else surface[1], dt
        )
        step = solve_banded(band, xp.reshape(error, (*error.shape[:-2], -1)))
        inner = velocity[..., 1:-1, :] + xp.reshape(step, error.shape)
        new_length = advance(inner, segments.drum)
        is_large = xp.any(xp.abs(dt * step) > TOLERANCE)
        return (
            new_length,
            is_large | xp.any(new_length[2].stiffness != segments.stiffness),
            count + 1,
        )

    max_iterations = ITERATIONS if length is None else ITERATIONS_AT_DRUM
    start = (advance(memory.velocity[..., 1:-1, :]), xp.asarray(True), xp.asarray(0))
    (position, velocity, segments), unfinished, _ = while_loop(
        xp, lambda search: search[1] & (search[2] < max_iterations), improve, start
    )
    if xp is NUMPY and unfinished:
        _warn_unconverged(tether, max_iterations)
    if length is not None:  # the last iterate may have treated a slipping segment as stretched
        segments = cable_segments(tether, constants.division, position, constants.intact)
    force = node_forces(tether, constants, position, velocity, segments)
    is_intact = xp.max(segments.tension, axis=-1) <= tether.cable.breaking_load
    attached = xp.where(is_intact, memory.attached, xp.zeros_like(memory.attached))
    on_vehicle = force[..., :1, :] * attached[..., None, None]
    on_anchor = force[..., -1:, :]
    if length is None or free is None:
        pull = xp.concat([on_vehicle, on_anchor], axis=-2)
        return CableState(position, velocity, pull, attached)
    on_drum = xp.where(free[..., None], xp.zeros_like(force), force)
    pull = xp.concat([on_vehicle, xp.sum(on_drum, axis=-2, keepdims=True)], axis=-2)
    new_length = slip_clutch(
        tether, memory.length, constants.division, segments.length, constants.intact
    )
    end_velocity = (new_length - length) / xp.where(
        dt > 0, dt * xp.ones_like(new_length), xp.ones_like(new_length)
    )
    return CableState(position, velocity, pull, attached, new_length, end_velocity, memory.whole)


@lru_cache(maxsize=64)
def _warn_unconverged(tether: Tether, iterations: int) -> None:
    """Log a step of a tether's cable that did not converge, once for each tether."""
    _LOG.warning(
        f'tether of {tether.length:g} m: a step of its cable did not converge in {iterations} '
        f'iterations to {TOLERANCE:g} m; expected a smaller dt; later steps are not reported'
    )


def cable_energy(tether: Tether, environment: Environment, state: CableState) -> Array:
    """Return kinetic, elastic, bending and potential energy (...) in J, without contact."""
    xp = namespace(state.position)
    constants = step_constants(tether, environment, state, FRESH_WATER, 0.0)
    segments = cable_segments(tether, constants.division, state.position, constants.intact)
    kinetic = 0.5 * xp.sum(
        state.velocity * matrix_vector_product(constants.mass, state.velocity), axis=(-2, -1)
    )
    stretch = segments.tension**2 * constants.division.span / (2 * tether.cable.axial_stiffness)
    position = state.position
    curve = position[..., :-2, :] - 2.0 * position[..., 1:-1, :] + position[..., 2:, :]
    stiffness = tether.cable.bending_stiffness / tether.piece**3
    bending = 0.5 * stiffness * xp.sum(constants.joints * dot_product(curve, curve), axis=-1)
    force_without_flow = constants.force_at_rest - matrix_vector_product(
        constants.drag_matrix, environment.velocity(position)
    )
    height = -xp.sum(force_without_flow[..., 2] * position[..., 2], axis=-1)
    return kinetic + xp.sum(stretch, axis=-1) + bending + height


def hang_cable(tether: Tether, ends: Array) -> CableState:
    """Return a cable at rest between two points (..., 2, 3): an arc, or straight if too short.

    The arc lies in the plane of the chord and the horizontal across it, so that no part is above
    both ends.
    """
    xp = namespace(ends)
    chord = ends[..., 1, :] - ends[..., 0, :]
    distance = xp.sqrt(dot_product(chord, chord) + _TINY_SQUARE)[..., None]
    chord_direction = chord / distance
    side = xp.stack(
        [-chord_direction[..., 1], chord_direction[..., 0], 0.0 * chord_direction[..., 0]], axis=-1
    )
    side_length = xp.sqrt(dot_product(side, side))[..., None]
    north = constant(xp, np.array([0.0, 1.0, 0.0])) + xp.zeros_like(side)
    side = xp.where(
        side_length > 1e-6,
        side / xp.where(side_length > 1e-6, side_length, 1.0 + side_length),
        north,
    )
    n = tether.segments
    chord_fraction = distance / tether.length

    def halve(interval: tuple[Array, Array], _: Any) -> tuple[Array, Array]:
        """Halve the interval of the angle between segments: sin(n a/2)/(n sin(a/2)) = share."""
        low, high = interval
        middle = (low + high) / 2
        open_arc = xp.sin(n * middle / 2) / (n * xp.sin(middle / 2)) > chord_fraction
        return xp.where(open_arc, middle, low), xp.where(open_arc, high, middle)

    none = xp.zeros_like(distance)
    low, high = counted_loop(xp, 60, halve, (none, none + 2 * np.pi / n))
    angle = (low + high) / 2 * constant(xp, (n - 1) / 2 - np.arange(n))
    forward = xp.cumulative_sum(xp.cos(angle), axis=-1)
    sideways = xp.cumulative_sum(xp.sin(angle), axis=-1)
    chord_position = forward / forward[..., -1:]  # fraction of the chord
    inner = (
        ends[..., :1, :]
        + chord_position[..., :-1, None] * chord[..., None, :]
        + (tether.length / n * sideways)[..., :-1, None] * side[..., None, :]
    )
    position = xp.concat([ends[..., :1, :], inner, ends[..., 1:, :]], axis=-2)
    attached = xp.ones_like(chord[..., 0])
    at_rest = xp.zeros_like(position), xp.zeros_like(ends), attached
    if tether.reel is None:
        return CableState(position, *at_rest)
    length = tether.length * attached
    nodes = resample_nodes(tether, position, length)
    return CableState(nodes, *at_rest, length, 0.0 * length, count_whole_segments(tether, length))
