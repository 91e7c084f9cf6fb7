# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Forces on the nodes of a lumped-mass cable: tension, bending, drag, weight, waves, contact.

Each segment gives half its mass, weight, buoyancy, added mass and drag to each of its nodes. Its
tension is E A ε + C ε̇ while it is stretched, and 0 where it is slack: a cable does not push.
Bending is (E I/2 l³) Σ |x_{i−1} − 2 x_i + x_{i+1}|². Drag is Morison's (1950), across and along
the segment apart; added mass acts across. Source of the terms: Hall and Goupee (2015), Ocean
Engineering 104, 590-603, sections 2.1 to 2.4.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.tether import CableState, Tether
from marine_sim_ros.physics.reel import CableDivision, divide_cable

__all__ = [
    'CableSegments',
    'StepConstants',
    'cable_segments',
    'dot_product',
    'matrix_vector_product',
    'node_forces',
    'outer_product',
    'step_constants',
    'surface_forces',
    'surface_gaps',
]


CONTACT_STIFFNESS = 3e6
"""Stiffness of all surfaces of the scene, Pa/m of the projected area: MoorDyn's default for soft
ground."""
CREEP_SPEED = 0.01
"""Sliding speed, m/s, below which friction is viscous, μ N v/CREEP_SPEED."""
_CONTACT_RANGE = 1.0
"""Distance, m, that no node approaches a surface by in a step."""
FULL_DAMPING_STRAIN = 1e-4
"""Strain at which a segment has its full damping, so that there is no jump as it becomes taut."""
TINY_SQUARE = 1e-24
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


def sum_at_nodes(after: Array, before: Array, axis: int) -> Array:
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
    With its clutch the tension at a drum is that of a convex energy,

        T = max(min(E A (d/l − 1), T_m), E A (d/l_m − 1)),

    d the distance of its ends, l its unstretched length and l_m that with the whole cable unwound,
    so that the limit T_m applies within the implicit step.

    Args:
        tether: cable, and its division.
        division: lengths of its segments.
        position: of the nodes, map, m.
        intact: (..., n) 0 for a segment that has parted, else 1.
        previous_drum: (..., n) ``drum`` of the previous iterate; None: first iterate.
    """
    xp = namespace(position)
    chord = position[..., 1:, :] - position[..., :-1, :]
    length = xp.sqrt(dot_product(chord, chord) + TINY_SQUARE)
    strain = length / division.divisor_length - 1.0
    taut = (strain > 0) & (intact > 0)
    zero, axial_stiffness = xp.zeros_like(strain), tether.cable.axial_stiffness
    tension = xp.where(taut, axial_stiffness * strain, zero)
    stiffness = xp.where(taut, axial_stiffness / division.divisor_length, zero)
    drum = zero
    if division.at_drum is not None and division.max_rest_length is not None:
        assert tether.reel is not None
        slips = (division.at_drum > 0) & (tension > tether.reel.tension)
        drum = division.at_drum * (xp.where(slips, 1.0 + zero, zero) - xp.where(taut, zero, 1.0))
        longest = division.max_rest_length[..., None] + zero
        stop = axial_stiffness * (length / longest - 1.0)
        limit = tether.reel.tension + zero
        stiffness = xp.where(
            slips, xp.where(stop > limit, axial_stiffness / longest, zero), stiffness
        )
        tension = xp.where(slips, xp.maximum(limit, stop), tension)
        if previous_drum is not None:
            jumped = xp.abs(drum - previous_drum) > _CLUTCH_JUMP
            stiffness = xp.where(jumped, axial_stiffness / division.divisor_length, stiffness)
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
    position = memory.position
    xp = namespace(position)
    ones = xp.ones_like(position[..., 1:, 0])
    intact = xp.concat([memory.attached[..., None] * ones[..., :1], ones[..., 1:]], axis=-1)
    segments = cable_segments(tether, division, position, intact)
    half_length = division.rest_length / 2
    lengths = sum_at_nodes(half_length, half_length, -1)
    water = _water_at_nodes(tether, environment, position, lengths, fluid_density)
    opposing = _drag_matrix(tether, division, segments, memory.velocity - water.velocity, water)
    added = _added_mass_matrix(tether, division, segments, water)
    force_at_rest = matrix_vector_product(opposing, water.velocity)
    if not environment.is_flat:
        wave_acceleration = environment.acceleration(position)
        force_at_rest = (
            force_at_rest
            + water.displaced[..., None] * wave_acceleration
            + matrix_vector_product(added, wave_acceleration)
        )
    up = constant(xp, np.array([0.0, 0.0, 1.0]))
    weight = -environment.gravity * (cable.mass * lengths - water.displaced)
    force_at_rest = force_at_rest + weight[..., None] * up
    # At the surface the change of buoyancy with height acts as an implicit spring.
    at_surface = (water.submerged > 0) & (water.submerged < 1)
    spring = water.density * cable.displaced_area * environment.gravity / cable.diameter * lengths
    spring = xp.where(at_surface, spring, xp.zeros_like(spring))
    opposing = opposing + dt * spring[..., None, None] * outer_product(up)
    joints = intact[..., :-1] * division.is_whole[..., :-1] * division.is_whole[..., 1:]
    if division.at_drum is None:
        joints = intact[..., :-1]
    gap, normal = surface_gaps(environment, position, cable.diameter / 2)
    return StepConstants(
        (cable.mass * lengths)[..., None, None] * constant(xp, np.eye(3)) + added,
        opposing,
        force_at_rest,
        _axial_damping(tether, division, segments),
        segments.direction,
        intact,
        joints,
        division,
        gap,
        normal,
    )


class _WaterAtNodes(NamedTuple):
    """Water at the n + 1 nodes of a cable.

    Attributes:
        velocity: (..., n + 1, 3) m/s.
        density: (..., n + 1) or (), kg/m³.
        segment_density: (..., n) or (), the mean of a segment's nodes, kg/m³.
        submerged: (..., n + 1) fraction of the node under water.
        displaced: (..., n + 1) mass of the displaced water, kg.
    """

    velocity: Array
    density: Array
    segment_density: Array
    submerged: Array
    displaced: Array


def _water_at_nodes(
    tether: Tether, environment: Environment, position: Array, lengths: Array, fluid_density: float
) -> _WaterAtNodes:
    """Return the water at nodes that stand for lengths (..., n + 1) of the cable, m."""
    cable, xp = tether.cable, namespace(position)
    # Buoyancy changes linearly over a diameter at the surface.
    depth = environment.elevation(position) - position[..., 2]
    submerged = xp.clip(depth / cable.diameter + 0.5, 0.0, 1.0)
    density = environment.density(position, fluid_density)
    segment_density = density
    if environment.fields is not None:
        density = density[..., 0]
        segment_density = 0.5 * (density[..., 1:] + density[..., :-1])
    displaced = density * cable.displaced_area * lengths * submerged
    velocity = environment.velocity(position)
    return _WaterAtNodes(velocity, density, segment_density, submerged, displaced)


def _drag_matrix(
    tether: Tether,
    division: CableDivision,
    segments: CableSegments,
    relative: Array,
    water: _WaterAtNodes,
) -> Array:
    """Return G (..., n + 1, 3, 3) of the drag −G v of nodes, N·s/m.

    Args:
        tether: drag coefficients and diameter of the cable.
        division: lengths of its segments.
        segments: their directions.
        relative: (..., n + 1, 3) velocity of the nodes in the water, m/s.
        water: the water there.
    """
    cable, xp = tether.cable, namespace(relative)
    along = outer_product(segments.direction)
    across = constant(xp, np.eye(3)) - along
    half_length = division.rest_length / 2
    drag = (0.5 * water.segment_density * cable.diameter * half_length)[..., None, None]

    def of_half_segments(node: Array) -> Array:
        """Return the matrices (..., n, 3, 3) of half segments with the velocity of a node."""
        parallel = dot_product(node, segments.direction)
        normal_velocity = node - parallel[..., None] * segments.direction
        normal = cable.normal_drag * xp.sqrt(dot_product(normal_velocity, normal_velocity))
        tangential = np.pi * cable.tangential_drag * xp.abs(parallel)
        return drag * (normal[..., None, None] * across + tangential[..., None, None] * along)

    return water.submerged[..., None, None] * sum_at_nodes(
        of_half_segments(relative[..., :-1, :]), of_half_segments(relative[..., 1:, :]), -3
    )


def _added_mass_matrix(
    tether: Tether, division: CableDivision, segments: CableSegments, water: _WaterAtNodes
) -> Array:
    """Return the added mass (..., n + 1, 3, 3) of nodes, kg, which acts across the segments."""
    cable, xp = tether.cable, namespace(segments.direction)
    across = constant(xp, np.eye(3)) - outer_product(segments.direction)
    added = cable.added_mass * water.density * cable.displaced_area * tether.piece / 2
    half_segment = (division.rest_length / tether.piece)[..., None, None] * across
    return (water.submerged * added)[..., None, None] * sum_at_nodes(
        half_segment, half_segment, -3
    )


def _axial_damping(tether: Tether, division: CableDivision, segments: CableSegments) -> Array:
    """Return C/l (..., n) of the segments, N·s/m: 0 where slack and at a drum."""
    cable, xp = tether.cable, namespace(segments.tension)
    damping_fraction = xp.clip(
        segments.tension / (FULL_DAMPING_STRAIN * cable.axial_stiffness), 0.0, 1.0
    )
    damping = cable.axial_damping / division.divisor_length * damping_fraction
    if division.at_drum is not None:
        damping = damping * (1.0 - division.at_drum)
    return damping


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
    half_length = constants.division.rest_length / 2
    stiffness = (
        CONTACT_STIFFNESS
        * tether.cable.diameter
        * sum_at_nodes(half_length, half_length, -1)[..., None, :]
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
        + sum_at_nodes(axial_force, -axial_force, -2)
    )
    curve = position[..., :-2, :] - 2.0 * position[..., 1:-1, :] + position[..., 2:, :]
    stiffness = tether.cable.bending_stiffness / tether.piece**3
    moment = stiffness * constants.joints[..., None] * curve
    bending_force = sum_at_nodes(-moment, moment, -2)
    return force + sum_at_nodes(bending_force, -bending_force, -2)
