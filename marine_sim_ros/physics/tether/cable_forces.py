# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What acts on the nodes of a cable: tension, bending, drag, weight, waves, surfaces.

:mod:`marine_sim_ros.physics.tether.cable` has the terms and their source.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.tether.tether import Tether
from marine_sim_ros.physics.tether.cable_state import CableState
from marine_sim_ros.physics.tether.reel import Division, divided

__all__ = [
    'Frozen',
    'Segments',
    'dot',
    'frozen_at',
    'node_forces',
    'outer',
    'segments_at',
    'surface_forces',
    'times',
]

SEABED_STIFFNESS = 3e6
"""Pa/m of the projected area: MoorDyn's default for soft ground."""
CREEP = 0.01
"""m/s; below it the seabed's friction is viscous, μ N v/CREEP."""
ENGAGED = 1e-4
"""Strain from which on a segment has all its damping: no jump where it becomes taut."""


class Segments(NamedTuple):
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


class Frozen(NamedTuple):
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
    division: Division
    gap: Array
    normal: Array


def dot(a: Array, b: Array) -> Array:
    """Return a·b (...) of vectors (..., 3)."""
    return namespace(a).sum(a * b, axis=-1)


def times(matrix: Array, vector: Array) -> Array:
    """Return A b (..., 3) of matrices (..., 3, 3) and vectors (..., 3)."""
    return namespace(vector).sum(matrix * vector[..., None, :], axis=-1)


def outer(a: Array) -> Array:
    """Return a aᵀ (..., 3, 3) of vectors (..., 3)."""
    return a[..., :, None] * a[..., None, :]


def _at_nodes(below: Array, above: Array, axis: int) -> Array:
    """Return what each node has of the segment after it and of the one before it, summed."""
    xp = namespace(below)
    cut = (..., slice(0, 1), *(slice(None),) * (-axis - 1))
    none = xp.zeros_like(below[cut])
    return xp.concat([below, none], axis=axis) + xp.concat([none, above], axis=axis)


def segments_at(
    tether: Tether, division: Division, position: Array, held: Array, before: Array | None = None
) -> Segments:
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
    length = xp.sqrt(dot(apart, apart) + 1e-24)
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
    return Segments(apart / length[..., None], length, tension, stiffness, drum)


def frozen_at(
    tether: Tether, environment: Environment, memory: CableState, density: float, dt: Any
) -> Frozen:
    """Return what a step of a time dt (s) from a cable holds, in water of a density (kg/m³)."""
    cable, division = tether.cable, divided(tether, memory)
    half = division.rest / 2
    position, velocity = memory.position, memory.velocity
    xp = namespace(position)
    ones = xp.ones_like(position[..., 1:, 0])
    held = xp.concat([memory.attached[..., None] * ones[..., :1], ones[..., 1:]], axis=-1)
    segments = segments_at(tether, division, position, held)
    along = outer(segments.direction)
    across = constant(xp, np.eye(3)) - along
    lengths = _at_nodes(half, half, -1)
    # Buoyancy fades over a diameter at the surface.
    depth = environment.elevation(position) - position[..., 2]
    wet = xp.clip(depth / cable.diameter + 0.5, 0.0, 1.0)
    displaced = density * cable.displaced * lengths * wet
    water = environment.velocity(position)

    relative = velocity - water
    added = cable.added_mass * density * cable.displaced * tether.piece / 2
    share = (division.rest / tether.piece)[..., None, None] * across
    drag = (0.5 * density * cable.diameter * half)[..., None, None]

    def opposed(node: Array) -> Array:
        """Return the drag matrices (..., n, 3, 3) of half segments that move so, N·s/m."""
        parallel = dot(node, segments.direction)
        rest = node - parallel[..., None] * segments.direction
        normal = cable.normal_drag * xp.sqrt(dot(rest, rest))
        tangential = np.pi * cable.tangential_drag * xp.abs(parallel)
        return drag * (normal[..., None, None] * across + tangential[..., None, None] * along)

    weight = -environment.gravity * (cable.mass * lengths - displaced)
    opposing = wet[..., None, None] * _at_nodes(
        opposed(relative[..., :-1, :]), opposed(relative[..., 1:, :]), -3
    )
    carried = wet[..., None, None] * added * _at_nodes(share, share, -3)
    push = times(opposing, water)
    if not environment.flat:
        swing = environment.acceleration(position)
        push = push + displaced[..., None] * swing + times(carried, swing)
    up = constant(xp, np.array([0.0, 0.0, 1.0]))
    push = push + weight[..., None] * up
    # At the surface the loss of buoyancy is a spring.
    partly = (wet > 0) & (wet < 1)
    spring = density * cable.displaced * environment.gravity / cable.diameter * lengths
    spring = xp.where(partly, spring, xp.zeros_like(spring))
    opposing = opposing + dt * spring[..., None, None] * outer(up)
    mass = (cable.mass * lengths)[..., None, None] * constant(xp, np.eye(3)) + carried
    engaged = xp.clip(segments.tension / (ENGAGED * cable.axial_stiffness), 0.0, 1.0)
    damping = cable.axial_damping / division.span * engaged
    if division.at_drum is not None:
        damping = damping * (1.0 - division.at_drum)
    joints = held[..., :-1] * division.whole[..., :-1] * division.whole[..., 1:]
    if division.at_drum is None:
        joints = held[..., :-1]
    gap, normal = _surfaces(environment, position, cable.diameter / 2)
    return Frozen(
        mass, opposing, push, damping, segments.direction, held, joints, division, gap, normal
    )


def _surfaces(environment: Environment, position: Array, radius: float) -> tuple[Array, Array]:
    scene = environment.scene
    if scene is None or not len(scene):
        none = position[..., None, :, :][..., :0, :, :]
        return none[..., 0], none
    distance, normal = scene.surfaces(position)
    return distance - radius, normal


def surface_forces(
    tether: Tether, frozen: Frozen, velocity: Array, dt: Any
) -> tuple[Array, Array] | None:
    """Return forces (..., n + 1, 3) of the surfaces and their slopes −∂F/∂v, or None."""
    if frozen.gap.shape[-2] == 0:
        return None
    xp = namespace(velocity)
    normal = frozen.normal
    closing = dot(normal, velocity[..., None, :, :])
    depth = -(frozen.gap + dt * closing)
    half = frozen.division.rest / 2
    stiffness = SEABED_STIFFNESS * tether.cable.diameter * _at_nodes(half, half, -1)[..., None, :]
    inside = depth > 0
    press = xp.where(inside, stiffness * depth, xp.zeros_like(depth))
    sliding = velocity[..., None, :, :] - closing[..., None] * normal
    grip = tether.cable.friction * press / xp.sqrt(dot(sliding, sliding) + CREEP**2)
    force = xp.sum(press[..., None] * normal - grip[..., None] * sliding, axis=-3)
    stiff = xp.where(inside, dt * stiffness * xp.ones_like(depth), xp.zeros_like(depth)) - grip
    slope = stiff[..., None, None] * outer(normal)
    slope = slope + grip[..., None, None] * constant(xp, np.eye(3))
    return force, xp.sum(slope, axis=-4)


def node_forces(
    tether: Tether, frozen: Frozen, position: Array, velocity: Array, segments: Segments
) -> Array:
    """Return what acts on each node (..., n + 1, 3) but for surfaces, N."""
    rate = dot(velocity[..., 1:, :] - velocity[..., :-1, :], frozen.direction)
    pull = segments.tension[..., None] * segments.direction
    pull = pull + (frozen.damping * rate)[..., None] * frozen.direction
    force = frozen.push - times(frozen.opposing, velocity) + _at_nodes(pull, -pull, -2)
    curve = position[..., :-2, :] - 2.0 * position[..., 1:-1, :] + position[..., 2:, :]
    stiffness = tether.cable.bending_stiffness / tether.piece**3
    moment = stiffness * frozen.joints[..., None] * curve
    fold = _at_nodes(-moment, moment, -2)
    return force + _at_nodes(fold, -fold, -2)
