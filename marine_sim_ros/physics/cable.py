# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Implicit step of a lumped-mass cable in water, its energy, and the cable at rest.

A step is implicit Euler: with x⁺ = x + dt v⁺, the velocities v⁺ solve

    M (v⁺ − v) = dt F(x⁺, v⁺)

by Newton's method, F of :mod:`~marine_sim_ros.physics.cable_forces`. The elastic, bending and
contact energies are convex in x⁺, and the forces that depend on v⁺ dissipate, so that the step is
the minimum of a convex function: it exists for any stiffness and dt, and for constant M the energy
cannot grow. The matrix is block-pentadiagonal, symmetric and positive definite: a step is O(n). M,
the directions of drag and of damping, the drag's |v| and the distance to surfaces are those of the
step's start; the change of the added mass's momentum by the rotation of a segment is neglected, as
in the source.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import (
    Array,
    constant,
    counted_loop,
    is_numeric,
    namespace,
    while_loop,
)
from marine_sim_ros.core.numerics import solve_banded
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.tether import FRESH_WATER, CableState, Tether
from marine_sim_ros.physics.cable_forces import (
    TINY_SQUARE,
    CableSegments,
    StepConstants,
    cable_segments,
    dot_product,
    matrix_vector_product,
    node_forces,
    outer_product,
    step_constants,
    surface_forces,
)
from marine_sim_ros.physics.reel import (
    count_whole_segments,
    redistribute_nodes,
    resample_nodes,
    slip_clutch,
    turn_drum,
)

__all__ = ['cable_energy', 'cable_step', 'hang_cable']


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
    previous_ends = xp.concat([memory.position[..., :1, :], memory.position[..., -1:, :]], axis=-2)
    end_velocity = (ends - previous_ends) / xp.where(
        dt > 0, dt * xp.ones_like(ends), xp.ones_like(ends)
    )
    end_velocity = end_velocity * xp.where(dt > 0, xp.ones_like(ends), xp.zeros_like(ends))
    position, velocity, segments = _solve_step(tether, constants, memory, ends, end_velocity, dt)
    force = node_forces(tether, constants, position, velocity, segments)
    is_intact = xp.max(segments.tension, axis=-1) <= tether.cable.breaking_load
    attached = xp.where(is_intact, memory.attached, xp.zeros_like(memory.attached))
    on_vehicle = force[..., :1, :] * attached[..., None, None]
    on_anchor = force[..., -1:, :]
    free = constants.division.free
    if length is None or free is None:
        pull = xp.concat([on_vehicle, on_anchor], axis=-2)
        return CableState(position, velocity, pull, attached)
    on_drum = xp.where(free[..., None], xp.zeros_like(force), force)
    pull = xp.concat([on_vehicle, xp.sum(on_drum, axis=-2, keepdims=True)], axis=-2)
    new_length = slip_clutch(
        tether, memory.length, constants.division, segments.length, constants.intact
    )
    length_rate = (new_length - length) / xp.where(
        dt > 0, dt * xp.ones_like(new_length), xp.ones_like(new_length)
    )
    return CableState(
        position, velocity, pull, attached, new_length, length_rate, memory.whole_count
    )


def _solve_step(
    tether: Tether,
    constants: StepConstants,
    memory: CableState,
    ends: Array,
    end_velocity: Array,
    dt: Any,
) -> tuple[Array, Array, CableSegments]:
    """Return positions and velocities (..., n + 1, 3) after a step, and the segments.

    Newton's method on M (v⁺ − v) = dt F(x⁺, v⁺); nodes on a drum move with the anchor.

    Args:
        tether: cable, and its division.
        memory: the cable before, its drum turned.
        ends: (..., 2, 3) of the vehicle's end and the anchor after the step, map, m.
        end_velocity: (..., 2, 3) of both, m/s.
        dt: time, s.
    """
    xp = namespace(memory.position)
    free = constants.division.free

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
        advanced = advance(inner, segments.drum)
        is_large = xp.any(xp.abs(dt * step) > TOLERANCE)
        return (
            advanced,
            is_large | xp.any(advanced[2].stiffness != segments.stiffness),
            count + 1,
        )

    max_iterations = ITERATIONS if memory.length is None else ITERATIONS_AT_DRUM
    start = (advance(memory.velocity[..., 1:-1, :]), xp.asarray(True), xp.asarray(0))
    (position, velocity, segments), unfinished, _ = while_loop(
        xp, lambda search: search[1] & (search[2] < max_iterations), improve, start
    )
    if is_numeric(unfinished) and unfinished:
        _warn_unconverged(tether, max_iterations)
    if memory.length is not None:  # the last iterate may have a slipping segment as stretched
        segments = cable_segments(tether, constants.division, position, constants.intact)
    return position, velocity, segments


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
    stretch = (
        segments.tension**2
        * constants.division.divisor_length
        / (2 * tether.cable.axial_stiffness)
    )
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
    distance = xp.sqrt(dot_product(chord, chord) + TINY_SQUARE)[..., None]
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
        """Halve the interval of the angle between segments: sin(n a/2)/(n sin(a/2)) = d/L."""
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
