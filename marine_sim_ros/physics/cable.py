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

by Newton's method. The elastic, bending and contact energies are convex in x⁺, and what depends
on v⁺ opposes it, so that the step is the minimum of a convex function: it exists for any stiffness
and dt, and with M held the energy cannot grow. The matrix is block-pentadiagonal, symmetric and
positive definite: a step is O(n). M, the directions of drag and of damping, the drag's |v| and the
distance to surfaces are those of the step's start; the change of the added mass's momentum that
comes from the turning of a segment is left out, as in the source.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, counted_loop, namespace, while_loop
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


# What acts on the nodes of a cable: tension, bending, drag, weight, waves, surfaces.

SEABED_STIFFNESS = 3e6
"""Pa/m of the projected area: MoorDyn's default for soft ground."""
CREEP_SPEED = 0.01
"""m/s; below it the seabed's friction is viscous, μ N v/CREEP."""
_CONTACT_RANGE = 1.0
"""m; no node comes nearer by more in a step."""
FULL_DAMPING_STRAIN = 1e-4
"""Strain from which on a segment has all its damping: no jump where it becomes taut."""


class CableSegments(NamedTuple):
    """Of segments.

    Attributes:
        direction: (..., n, 3) unit vectors.
        length: (..., n) m.
        tension: (..., n) N.
        stiffness: (..., n) change of the tension with the length, N/m.
        drum: (..., n) of the one at a drum −1 where it is slack, 1 where it slips; 0 of others.
    """

    direction: Array
    length: Array
    tension: Array
    stiffness: Array
    drum: Array


class StepConstants(NamedTuple):
    """What a step holds at its start.

    Attributes:
        mass: (..., n + 1, 3, 3), with added mass, kg.
        opposing: (..., n + 1, 3, 3) G of the force −G v, N·s/m.
        push: (..., n + 1, 3) force on a node at rest, N.
        damping: (..., n) C/l of the segments, N·s/m.
        direction: (..., n, 3) along which that acts.
        held: (..., n) 1, and 0 for a segment that has parted.
        joints: (..., n - 1) 1, and 0 where there is no bending moment: beside what has parted,
            and at the drum of a reel.
        division: how the cable is divided.
        gap: (..., k, n + 1) distance to surfaces, m.
        normal: (..., k, n + 1, 3) of these.
    """

    mass: Array
    opposing: Array
    push: Array
    damping: Array
    direction: Array
    held: Array
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


def _sum_at_nodes(below: Array, above: Array, axis: int) -> Array:
    """Sum at each node the values of the segment after it and of the one before it."""
    xp = namespace(below)
    cut = (..., slice(0, 1), *(slice(None),) * (-axis - 1))
    none = xp.zeros_like(below[cut])
    return xp.concat([below, none], axis=axis) + xp.concat([none, above], axis=axis)


def cable_segments(
    tether: Tether,
    division: CableDivision,
    position: Array,
    held: Array,
    before: Array | None = None,
) -> CableSegments:
    """Return the segments between nodes (..., n + 1, 3).

    The one at a drum is slack, stretched or slipping. Newton's method takes it through these in
    turn: from a guess in which it was slack to one in which it slips, and back, it is a spring.

    Args:
        tether: cable, and how it is divided.
        division: lengths of its segments.
        position: of the nodes, map, m.
        held: (..., n) 0 for a segment that has parted, else 1.
        before: (..., n) ``drum`` of the guess before; None: there is none.
    """
    xp = namespace(position)
    apart = position[..., 1:, :] - position[..., :-1, :]
    length = xp.sqrt(dot_product(apart, apart) + 1e-24)
    strain = length / division.span - 1.0
    taut = (strain > 0) & (held > 0)
    none, stiff = xp.zeros_like(strain), tether.cable.axial_stiffness
    tension = xp.where(taut, stiff * strain, none)
    stiffness = xp.where(taut, stiff / division.span, none)
    drum = none
    if division.at_drum is not None and division.longest is not None:
        assert tether.reel is not None
        slips = (division.at_drum > 0) & (tension > tether.reel.tension)
        drum = division.at_drum * (xp.where(slips, 1.0 + none, none) - xp.where(taut, none, 1.0))
        longest = division.longest[..., None] + none
        stop = stiff * (length / longest - 1.0)
        limit = tether.reel.tension + none
        stiffness = xp.where(slips, xp.where(stop > limit, stiff / longest, none), stiffness)
        tension = xp.where(slips, xp.maximum(limit, stop), tension)
        if before is not None:
            passed = xp.abs(drum - before) > 1.5
            stiffness = xp.where(passed, stiff / division.span, stiffness)
            tension = xp.where(passed, stiff * strain, tension)
            drum = xp.where(passed, none, drum)
    return CableSegments(apart / length[..., None], length, tension, stiffness, drum)


def step_constants(
    tether: Tether, environment: Environment, memory: CableState, fluid_density: float, dt: Any
) -> StepConstants:
    """Return the constants of a step of a time dt (s) from a cable.

    The density is that of the environment, or ``fluid_density``, kg/m³.
    """
    cable, division = tether.cable, divide_cable(tether, memory)
    half = division.rest / 2
    position, velocity = memory.position, memory.velocity
    xp = namespace(position)
    ones = xp.ones_like(position[..., 1:, 0])
    held = xp.concat([memory.attached[..., None] * ones[..., :1], ones[..., 1:]], axis=-1)
    segments = cable_segments(tether, division, position, held)
    along = outer_product(segments.direction)
    across = constant(xp, np.eye(3)) - along
    lengths = _sum_at_nodes(half, half, -1)
    # Buoyancy fades over a diameter at the surface.
    depth = environment.elevation(position) - position[..., 2]
    wet = xp.clip(depth / cable.diameter + 0.5, 0.0, 1.0)
    density = environment.density(position, fluid_density)
    around = density
    if environment.fields is not None:
        density = density[..., 0]
        around = 0.5 * (density[..., 1:] + density[..., :-1])
    displaced = density * cable.displaced_area * lengths * wet
    water = environment.velocity(position)

    relative = velocity - water
    added = cable.added_mass * density * cable.displaced_area * tether.piece / 2
    share = (division.rest / tether.piece)[..., None, None] * across
    drag = (0.5 * around * cable.diameter * half)[..., None, None]

    def drag_matrices(node: Array) -> Array:
        """Return the drag matrices (..., n, 3, 3) of half segments that move so, N·s/m."""
        parallel = dot_product(node, segments.direction)
        rest = node - parallel[..., None] * segments.direction
        normal = cable.normal_drag * xp.sqrt(dot_product(rest, rest))
        tangential = np.pi * cable.tangential_drag * xp.abs(parallel)
        return drag * (normal[..., None, None] * across + tangential[..., None, None] * along)

    weight = -environment.gravity * (cable.mass * lengths - displaced)
    opposing = wet[..., None, None] * _sum_at_nodes(
        drag_matrices(relative[..., :-1, :]), drag_matrices(relative[..., 1:, :]), -3
    )
    carried = (wet * added)[..., None, None] * _sum_at_nodes(share, share, -3)
    push = matrix_vector_product(opposing, water)
    if not environment.flat:
        swing = environment.acceleration(position)
        push = push + displaced[..., None] * swing + matrix_vector_product(carried, swing)
    up = constant(xp, np.array([0.0, 0.0, 1.0]))
    push = push + weight[..., None] * up
    # At the surface the loss of buoyancy is a spring.
    partly = (wet > 0) & (wet < 1)
    spring = density * cable.displaced_area * environment.gravity / cable.diameter * lengths
    spring = xp.where(partly, spring, xp.zeros_like(spring))
    opposing = opposing + dt * spring[..., None, None] * outer_product(up)
    mass = (cable.mass * lengths)[..., None, None] * constant(xp, np.eye(3)) + carried
    engaged = xp.clip(segments.tension / (FULL_DAMPING_STRAIN * cable.axial_stiffness), 0.0, 1.0)
    damping = cable.axial_damping / division.span * engaged
    if division.at_drum is not None:
        damping = damping * (1.0 - division.at_drum)
    joints = held[..., :-1] * division.whole[..., :-1] * division.whole[..., 1:]
    if division.at_drum is None:
        joints = held[..., :-1]
    gap, normal = surface_gaps(environment, position, cable.diameter / 2)
    return StepConstants(
        mass, opposing, push, damping, segments.direction, held, joints, division, gap, normal
    )


def surface_gaps(environment: Environment, position: Array, radius: float) -> tuple[Array, Array]:
    """Return the gaps (..., k, n) of nodes from the surfaces of a scene, m, and normals."""
    scene = environment.scene
    if scene is None or not len(scene):
        none = position[..., None, :, :][..., :0, :, :]
        return none[..., 0], none
    distance, normal = scene.surfaces(position, radius + _CONTACT_RANGE)
    return distance - radius, normal


def surface_forces(
    tether: Tether, frozen: StepConstants, velocity: Array, dt: Any
) -> tuple[Array, Array] | None:
    """Return forces (..., n + 1, 3) of the surfaces and their slopes −∂F/∂v, or None."""
    if frozen.gap.shape[-2] == 0:
        return None
    xp = namespace(velocity)
    normal = frozen.normal
    closing = dot_product(normal, velocity[..., None, :, :])
    depth = -(frozen.gap + dt * closing)
    half = frozen.division.rest / 2
    stiffness = (
        SEABED_STIFFNESS * tether.cable.diameter * _sum_at_nodes(half, half, -1)[..., None, :]
    )
    inside = depth > 0
    press = xp.where(inside, stiffness * depth, xp.zeros_like(depth))
    sliding = velocity[..., None, :, :] - closing[..., None] * normal
    grip = tether.cable.friction * press / xp.sqrt(dot_product(sliding, sliding) + CREEP_SPEED**2)
    force = xp.sum(press[..., None] * normal - grip[..., None] * sliding, axis=-3)
    stiff = xp.where(inside, dt * stiffness * xp.ones_like(depth), xp.zeros_like(depth)) - grip
    slope = stiff[..., None, None] * outer_product(normal)
    slope = slope + grip[..., None, None] * constant(xp, np.eye(3))
    return force, xp.sum(slope, axis=-4)


def node_forces(
    tether: Tether,
    frozen: StepConstants,
    position: Array,
    velocity: Array,
    segments: CableSegments,
) -> Array:
    """Return the forces on each node (..., n + 1, 3) but for surfaces, N."""
    rate = dot_product(velocity[..., 1:, :] - velocity[..., :-1, :], frozen.direction)
    pull = segments.tension[..., None] * segments.direction
    pull = pull + (frozen.damping * rate)[..., None] * frozen.direction
    force = (
        frozen.push
        - matrix_vector_product(frozen.opposing, velocity)
        + _sum_at_nodes(pull, -pull, -2)
    )
    curve = position[..., :-2, :] - 2.0 * position[..., 1:-1, :] + position[..., 2:, :]
    stiffness = tether.cable.bending_stiffness / tether.piece**3
    moment = stiffness * frozen.joints[..., None] * curve
    fold = _sum_at_nodes(-moment, moment, -2)
    return force + _sum_at_nodes(fold, -fold, -2)


# A cable in water as lumped masses: n segments between n + 1 nodes, of which the ends are held.

TOLERANCE = 1e-5
"""m; Newton's method ends with a step below it in which no segment became taut or slack."""
ITERATIONS = 12
ITERATIONS_AT_DRUM = 48
"""With a reel, whose clutch has two kinks."""


def _band_matrix(
    tether: Tether, frozen: StepConstants, segments: CableSegments, slope: Array | None, dt: Any
) -> Array:
    """Return the lower band (..., 7, 3 (n − 1)) of M − dt ∂F/∂v − dt² ∂F/∂x at the free nodes."""
    xp = namespace(frozen.mass)
    along = outer_product(segments.direction)
    pull = xp.maximum(segments.tension, xp.zeros_like(segments.tension))
    geometric = dt * dt * pull / segments.length
    elastic = dt * dt * segments.stiffness - geometric
    joint = (
        elastic[..., None, None] * along
        + geometric[..., None, None] * constant(xp, np.eye(3))
        + (dt * frozen.damping)[..., None, None] * outer_product(frozen.direction)
    )
    bend = dt * dt * tether.cable.bending_stiffness / tether.piece**3 * frozen.joints
    own = frozen.mass + dt * frozen.opposing
    if slope is not None:
        own = own + dt * slope
    own = own[..., 1:-1, :, :] + joint[..., :-1, :, :] + joint[..., 1:, :, :]
    none = xp.zeros_like(bend[..., :1])
    straight = 4.0 * bend + xp.concat([none, bend[..., :-1]], axis=-1)
    straight = straight + xp.concat([bend[..., 1:], none], axis=-1)
    eye = constant(xp, np.eye(3))
    own = own + straight[..., None, None] * eye
    pair = 2.0 * (bend[..., 1:] + bend[..., :-1])
    beside = -joint[..., 1:-1, :, :] - pair[..., None, None] * eye
    free = frozen.division.free
    if free is not None:
        free = free[..., 1:-1, None, None]
        own = xp.where(free, own, eye + xp.zeros_like(own))
        beside = xp.where(free[..., 1:, :, :], beside, xp.zeros_like(beside))
    batch = own.shape[:-3]
    flat = xp.concat(
        [xp.reshape(own, (*batch, -1)), xp.reshape(beside, (*batch, -1)), bend[..., 1:-1], none],
        axis=-1,
    )
    return flat[..., _band_indices(own.shape[-3])]


@lru_cache(maxsize=32)
def _band_indices(count: int) -> np.ndarray:
    """Return the place of each entry of the lower band (7, 3 count) among those that are not 0."""
    entries = np.arange(9 * count + 9 * (count - 1) + count - 2 + 1)
    own, beside, second = np.split(entries[:-1], [9 * count, 9 * count + 9 * (count - 1)])
    own, beside = own.reshape(count, 3, 3), beside.reshape(count - 1, 3, 3)
    places = np.full((7, 3 * count), entries[-1])
    for column in range(3 * count):
        block, q = divmod(column, 3)
        for row in range(column, min(column + 7, 3 * count)):
            other, p = divmod(row, 3)
            if other == block:
                places[row - column, column] = own[block, p, q]
            elif other == block + 1:
                places[row - column, column] = beside[block, p, q]
            elif p == q:
                places[row - column, column] = second[block]
    return places


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
    """Return the cable when its ends have moved, and its reel has turned, in a time.

    Args:
        tether: cable, and how it is divided.
        environment: environment with its scene.
        memory: the cable before.
        ends: (..., 2, 3) of the vehicle's end and the anchor now, map, m.
        dt: time, s; 0 leaves all nodes but the ends where they are.
        fluid_density: kg/m³, where the environment has none.
        rate: (...) at which the reel is to pay out, or below 0 to haul in, m/s; None: it stands.
    """
    xp = namespace(memory.position)
    length = memory.length
    if length is not None:
        memory = redistribute_nodes(tether, memory, turn_drum(tether, length, rate, dt))
    frozen = step_constants(tether, environment, memory, fluid_density, dt)
    free = frozen.division.free
    before = xp.concat([memory.position[..., :1, :], memory.position[..., -1:, :]], axis=-2)
    pace = (ends - before) / xp.where(dt > 0, dt * xp.ones_like(ends), xp.ones_like(ends))
    pace = pace * xp.where(dt > 0, xp.ones_like(ends), xp.zeros_like(ends))

    def advance(inner: Array, drum: Array | None = None) -> tuple[Array, Array, CableSegments]:
        velocity = xp.concat([pace[..., :1, :], inner, pace[..., 1:, :]], axis=-2)
        inner = memory.position[..., 1:-1, :] + dt * inner
        position = xp.concat([ends[..., :1, :], inner, ends[..., 1:, :]], axis=-2)
        if free is not None:
            velocity = xp.where(free[..., None], velocity, pace[..., 1:, :])
            position = xp.where(free[..., None], position, ends[..., 1:, :])
        segments = cable_segments(tether, frozen.division, position, frozen.held, drum)
        return position, velocity, segments

    def improve(search: Any) -> Any:
        (position, velocity, segments), _, count = search
        force = node_forces(tether, frozen, position, velocity, segments)
        touch = surface_forces(tether, frozen, velocity, dt)
        if touch is not None:
            force = force + touch[0]
        change = matrix_vector_product(frozen.mass, velocity - memory.velocity)
        error = (dt * force - change)[..., 1:-1, :]
        if free is not None:
            error = xp.where(free[..., 1:-1, None], error, xp.zeros_like(error))
        band = _band_matrix(tether, frozen, segments, None if touch is None else touch[1], dt)
        step = solve_banded(band, xp.reshape(error, (*error.shape[:-2], -1)))
        inner = velocity[..., 1:-1, :] + xp.reshape(step, error.shape)
        after = advance(inner, segments.drum)
        far = xp.any(xp.abs(dt * step) > TOLERANCE)
        return after, far | xp.any(after[2].stiffness != segments.stiffness), count + 1

    most = ITERATIONS if length is None else ITERATIONS_AT_DRUM
    start = (advance(memory.velocity[..., 1:-1, :]), xp.asarray(True), xp.asarray(0))
    (position, velocity, segments), _, _ = while_loop(
        xp, lambda search: search[1] & (search[2] < most), improve, start
    )
    if length is not None:  # the last guess may have taken what slips for a spring
        segments = cable_segments(tether, frozen.division, position, frozen.held)
    force = node_forces(tether, frozen, position, velocity, segments)
    whole = xp.max(segments.tension, axis=-1) <= tether.cable.breaking_load
    attached = xp.where(whole, memory.attached, xp.zeros_like(memory.attached))
    on_vehicle = force[..., :1, :] * attached[..., None, None]
    on_anchor = force[..., -1:, :]
    if length is None or free is None:
        pull = xp.concat([on_vehicle, on_anchor], axis=-2)
        return CableState(position, velocity, pull, attached)
    on_drum = xp.where(free[..., None], xp.zeros_like(force), force)
    pull = xp.concat([on_vehicle, xp.sum(on_drum, axis=-2, keepdims=True)], axis=-2)
    after = slip_clutch(tether, memory.length, frozen.division, segments.length, frozen.held)
    pace = (after - length) / xp.where(dt > 0, dt * xp.ones_like(after), xp.ones_like(after))
    return CableState(position, velocity, pull, attached, after, pace, memory.whole)


def cable_energy(tether: Tether, environment: Environment, state: CableState) -> Array:
    """Return kinetic, elastic, bending and potential energy (...) in J, surfaces left out."""
    xp = namespace(state.position)
    frozen = step_constants(tether, environment, state, FRESH_WATER, 0.0)
    segments = cable_segments(tether, frozen.division, state.position, frozen.held)
    moving = 0.5 * xp.sum(
        state.velocity * matrix_vector_product(frozen.mass, state.velocity), axis=(-2, -1)
    )
    stretch = segments.tension**2 * frozen.division.span / (2 * tether.cable.axial_stiffness)
    position = state.position
    curve = position[..., :-2, :] - 2.0 * position[..., 1:-1, :] + position[..., 2:, :]
    stiffness = tether.cable.bending_stiffness / tether.piece**3
    bent = 0.5 * stiffness * xp.sum(frozen.joints * dot_product(curve, curve), axis=-1)
    still = frozen.push - matrix_vector_product(frozen.opposing, environment.velocity(position))
    height = -xp.sum(still[..., 2] * position[..., 2], axis=-1)
    return moving + xp.sum(stretch, axis=-1) + bent + height


def hang_cable(tether: Tether, ends: Array) -> CableState:
    """Return a cable at rest between two points (..., 2, 3): an arc, straight where too short.

    The arc lies beside the chord, level across it, so that no part is above both ends.
    """
    xp = namespace(ends)
    chord = ends[..., 1, :] - ends[..., 0, :]
    distance = xp.sqrt(dot_product(chord, chord) + 1e-24)[..., None]
    ahead = chord / distance
    side = xp.stack([-ahead[..., 1], ahead[..., 0], 0.0 * ahead[..., 0]], axis=-1)
    level = xp.sqrt(dot_product(side, side))[..., None]
    north = constant(xp, np.array([0.0, 1.0, 0.0])) + xp.zeros_like(side)
    side = xp.where(level > 1e-6, side / xp.where(level > 1e-6, level, 1.0 + level), north)
    n = tether.segments
    share = distance / tether.length

    def halve(turns: tuple[Array, Array], _: Any) -> tuple[Array, Array]:
        """Halve the interval of the angle between segments: sin(n a/2)/(n sin(a/2)) = share."""
        low, high = turns
        middle = (low + high) / 2
        open_arc = xp.sin(n * middle / 2) / (n * xp.sin(middle / 2)) > share
        return xp.where(open_arc, middle, low), xp.where(open_arc, high, middle)

    none = xp.zeros_like(distance)
    low, high = counted_loop(xp, 60, halve, (none, none + 2 * np.pi / n))
    course = (low + high) / 2 * constant(xp, (n - 1) / 2 - np.arange(n))
    run = xp.cumulative_sum(xp.cos(course), axis=-1)
    off = xp.cumulative_sum(xp.sin(course), axis=-1)
    along = run / run[..., -1:]  # of the chord
    inner = (
        ends[..., :1, :]
        + along[..., :-1, None] * chord[..., None, :]
        + (tether.length / n * off)[..., :-1, None] * side[..., None, :]
    )
    position = xp.concat([ends[..., :1, :], inner, ends[..., 1:, :]], axis=-2)
    attached = xp.ones_like(chord[..., 0])
    still = xp.zeros_like(position), xp.zeros_like(ends), attached
    if tether.reel is None:
        return CableState(position, *still)
    length = tether.length * attached
    nodes = resample_nodes(tether, position, length)
    return CableState(nodes, *still, length, 0.0 * length, count_whole_segments(tether, length))
