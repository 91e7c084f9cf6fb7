# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A cable in water as lumped masses: n segments between n + 1 nodes, of which the ends are held.

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
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.banded import solve_banded
from marine_sim_ros.core.control_flow import in_turn, while_loop
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.tether.tether import FRESH_WATER, Tether
from marine_sim_ros.physics.tether.cable_forces import (
    Frozen,
    Segments,
    dot,
    frozen_at,
    node_forces,
    outer,
    segments_at,
    surface_forces,
    times,
)
from marine_sim_ros.physics.tether.cable_state import CableState
from marine_sim_ros.physics.tether.reel import rearranged, resampled, slipped, turned, whole_pieces

__all__ = ['cable_energy', 'cable_step', 'hung_between']

TOLERANCE = 1e-5
"""m; Newton's method ends with a step below it in which no segment became taut or slack."""
ITERATIONS = 12
ITERATIONS_AT_DRUM = 48
"""With a reel, whose clutch has two kinks."""


def _matrix(
    tether: Tether, frozen: Frozen, segments: Segments, slope: Array | None, dt: Any
) -> Array:
    """Return the lower band (..., 7, 3 (n − 1)) of M − dt ∂F/∂v − dt² ∂F/∂x at the free nodes."""
    xp = namespace(frozen.mass)
    along = outer(segments.direction)
    pull = xp.maximum(segments.tension, xp.zeros_like(segments.tension))
    geometric = dt * dt * pull / segments.length
    elastic = dt * dt * segments.stiffness - geometric
    joint = (
        elastic[..., None, None] * along
        + geometric[..., None, None] * constant(xp, np.eye(3))
        + (dt * frozen.damping)[..., None, None] * outer(frozen.direction)
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
    return flat[..., _places(own.shape[-3])]


@lru_cache(maxsize=32)
def _places(count: int) -> np.ndarray:
    """Return where each entry of the lower band (7, 3 count) stands among what is not 0."""
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
    density: float | None = None,
    rate: Array | None = None,
) -> CableState:
    """Return the cable when its ends have moved, and its reel has turned, in a time.

    Args:
        tether: cable, and how it is divided.
        environment: environment with its scene.
        memory: the cable before.
        ends: (..., 2, 3) of the vehicle's end and the anchor now, map, m.
        dt: time, s; 0 leaves all nodes but the ends where they are.
        density: of the water, kg/m³; None: the environment's, or that of fresh water.
        rate: (...) at which the reel is to pay out, or below 0 to haul in, m/s; None: it stands.
    """
    xp = namespace(memory.position)
    length = memory.length
    if length is not None:
        memory = rearranged(tether, memory, turned(tether, length, rate, dt))
    if density is None:
        density = environment.density_for(FRESH_WATER)
    frozen = frozen_at(tether, environment, memory, density, dt)
    free = frozen.division.free
    before = xp.concat([memory.position[..., :1, :], memory.position[..., -1:, :]], axis=-2)
    pace = (ends - before) / xp.where(dt > 0, dt * xp.ones_like(ends), xp.ones_like(ends))
    pace = pace * xp.where(dt > 0, xp.ones_like(ends), xp.zeros_like(ends))

    def moved(inner: Array, drum: Array | None = None) -> tuple[Array, Array, Segments]:
        velocity = xp.concat([pace[..., :1, :], inner, pace[..., 1:, :]], axis=-2)
        inner = memory.position[..., 1:-1, :] + dt * inner
        position = xp.concat([ends[..., :1, :], inner, ends[..., 1:, :]], axis=-2)
        if free is not None:
            velocity = xp.where(free[..., None], velocity, pace[..., 1:, :])
            position = xp.where(free[..., None], position, ends[..., 1:, :])
        segments = segments_at(tether, frozen.division, position, frozen.held, drum)
        return position, velocity, segments

    def improve(search: Any) -> Any:
        (position, velocity, segments), _, count = search
        force = node_forces(tether, frozen, position, velocity, segments)
        touch = surface_forces(tether, frozen, velocity, dt)
        if touch is not None:
            force = force + touch[0]
        change = times(frozen.mass, velocity - memory.velocity)
        error = (dt * force - change)[..., 1:-1, :]
        if free is not None:
            error = xp.where(free[..., 1:-1, None], error, xp.zeros_like(error))
        band = _matrix(tether, frozen, segments, None if touch is None else touch[1], dt)
        step = solve_banded(band, xp.reshape(error, (*error.shape[:-2], -1)))
        inner = velocity[..., 1:-1, :] + xp.reshape(step, error.shape)
        after = moved(inner, segments.drum)
        far = xp.any(xp.abs(dt * step) > TOLERANCE)
        return after, far | xp.any(after[2].stiffness != segments.stiffness), count + 1

    most = ITERATIONS if length is None else ITERATIONS_AT_DRUM
    start = (moved(memory.velocity[..., 1:-1, :]), xp.asarray(True), xp.asarray(0))
    (position, velocity, segments), _, _ = while_loop(
        xp, lambda search: search[1] & (search[2] < most), improve, start
    )
    if length is not None:  # the last guess may have taken what slips for a spring
        segments = segments_at(tether, frozen.division, position, frozen.held)
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
    after = slipped(tether, memory.length, frozen.division, segments.length, frozen.held)
    pace = (after - length) / xp.where(dt > 0, dt * xp.ones_like(after), xp.ones_like(after))
    return CableState(position, velocity, pull, attached, after, pace, memory.whole)


def cable_energy(tether: Tether, environment: Environment, state: CableState) -> Array:
    """Return kinetic, elastic, bending and potential energy (...) in J, surfaces left out."""
    xp = namespace(state.position)
    density = environment.density_for(FRESH_WATER)
    frozen = frozen_at(tether, environment, state, density, 0.0)
    segments = segments_at(tether, frozen.division, state.position, frozen.held)
    moving = 0.5 * xp.sum(state.velocity * times(frozen.mass, state.velocity), axis=(-2, -1))
    stretch = segments.tension**2 * frozen.division.span / (2 * tether.cable.axial_stiffness)
    position = state.position
    curve = position[..., :-2, :] - 2.0 * position[..., 1:-1, :] + position[..., 2:, :]
    stiffness = tether.cable.bending_stiffness / tether.piece**3
    bent = 0.5 * stiffness * xp.sum(frozen.joints * dot(curve, curve), axis=-1)
    still = frozen.push - times(frozen.opposing, environment.velocity(position))
    height = -xp.sum(still[..., 2] * position[..., 2], axis=-1)
    return moving + xp.sum(stretch, axis=-1) + bent + height


def hung_between(tether: Tether, ends: Array) -> CableState:
    """Return a cable at rest between two points (..., 2, 3): an arc, straight where too short.

    The arc lies beside the chord, level across it, so that no part is above both ends.
    """
    xp = namespace(ends)
    chord = ends[..., 1, :] - ends[..., 0, :]
    distance = xp.sqrt(dot(chord, chord) + 1e-24)[..., None]
    ahead = chord / distance
    side = xp.stack([-ahead[..., 1], ahead[..., 0], 0.0 * ahead[..., 0]], axis=-1)
    level = xp.sqrt(dot(side, side))[..., None]
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
    low, high = in_turn(xp, 60, halve, (none, none + 2 * np.pi / n))
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
    nodes = resampled(tether, position, length)
    return CableState(nodes, *still, length, 0.0 * length, whole_pieces(tether, length))
