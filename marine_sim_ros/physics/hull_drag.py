# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Drag of a hull: the forces on its panels, cut at the water surface, summed by kind.

Every force is along the flow or along the normal, −w v or +f n, so its wrench is one product of
the weights with [v; r × v] or [n; r × n] of all panels (physics/panels.py has the layout).
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

from marine_sim_ros.arrays import Array, constant, namespace
from marine_sim_ros.environment import Environment
from marine_sim_ros.model.hull import PanelCoefficients, Panels
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.current import relative_velocity
from marine_sim_ros.physics.hydrodynamics import (
    Incidence,
    air_weight,
    friction_coefficient,
    incidence_of,
    normal_push,
    slamming_weight,
    viscous_weight,
)
from marine_sim_ros.physics.panels import Cut, arms, cut_panels, interpolate
from marine_sim_ros.spatial import rotation_matrix, up_in_body
from marine_sim_ros.state import State, Wrench

__all__ = ['SweptWater', 'WetHull', 'hull_forces', 'wet_hull']


class SweptWater(NamedTuple):
    """What slamming remembers: wet area times velocity (..., 3, n) of every panel, in map.

    The velocity is that of the panel's centre, relative to the water; m³/s.
    """

    flow: Array


class WetHull(NamedTuple):
    """A hull at an instant, body frame.

    Attributes:
        cut: shares of every panel under and above water.
        wet_center: (..., 3, n) of the wet parts, m.
        dry_center: (..., 3, n) of the dry parts, m.
        water: (..., 3, n) velocity of the water at the wet parts, m/s; (..., 3, 1) where it is
            the same everywhere.
    """

    cut: Cut
    wet_center: Array
    dry_center: Array
    water: Array


def wet_hull(panels: Panels, state: State, environment: Environment) -> WetHull:
    """Return where the hull is wet, and how the water moves there.

    The surface and the water's velocity are taken at the panels' corners and are linear between.
    """
    xp = namespace(state.position)
    corners = constant(xp, panels.corner_rows)
    rotation = rotation_matrix(state.orientation)
    above = up_in_body(state.orientation)[..., None, None, :] @ corners
    heights = above[..., 0, :] + state.position[..., 2:3, None]
    if not environment.flat or environment.profile is not None:
        vertices = constant(xp, panels.vertices)
        points = vertices @ xp.matrix_transpose(rotation) + state.position[..., None, :]
    if not environment.flat:
        heights = heights - _at_corners(xp, panels, environment.elevation(points)[..., None, :])[
            ..., 0, :]  # fmt: skip
    cut = cut_panels(heights)
    share = cut.wet_share
    wet_center = interpolate(cut.wet, share, corners)
    dry_center = interpolate(cut.dry, cut.dry_share, corners)
    if environment.still:
        water = xp.zeros_like(state.position)[..., None]
    elif environment.flat and environment.profile is None:
        uniform = environment.velocity(state.position)
        water = xp.matrix_transpose(rotation) @ uniform[..., None]
    else:
        moving = xp.matrix_transpose(environment.velocity(points) @ rotation)
        water = interpolate(cut.wet, share, _at_corners(xp, panels, moving))
    return WetHull(cut, wet_center, dry_center, water)


def _at_corners(xp: ModuleType, panels: Panels, values: Array) -> Array:
    """Return values (..., 3, k, n) at the corners of what is given at the vertices (..., k, v)."""
    rows = [
        xp.take(values, constant(xp, panels.faces[:, i]), axis=values.ndim - 1) for i in range(3)
    ]
    return xp.stack(rows, axis=-3)


def _velocity_at(velocity: Array, points: Array) -> Array:
    """Return v + ω × r (..., 3, n) of points of the body (..., 3, n)."""
    xp = namespace(velocity)
    p, q, r = velocity[..., 3], velocity[..., 4], velocity[..., 5]
    zero = xp.zeros_like(p)
    rows = [xp.stack(row, axis=-1) for row in ((zero, -r, q), (r, zero, -p), (-q, p, zero))]
    return velocity[..., :3, None] + xp.stack(rows, axis=-2) @ points


def _dot(a: Array, b: Array) -> Array:
    """Return a·b (..., n) of vectors (..., 3, n)."""
    return namespace(b).sum(a * b, axis=-2)


def _incidence(normal: Array, velocity: Array) -> tuple[Incidence, Array]:
    """Return the incidence and v·n, both (..., n)."""
    along = _dot(normal, velocity)
    return incidence_of(_dot(velocity, velocity), along), along


def _friction(
    vehicle: Vehicle, panels: Panels, state: State, environment: Environment, wet_share: Array
) -> Array:
    """Return C_f (..., 1) for Rn = |v_com| L/ν, L the forward extent of the wet panels."""
    xp = namespace(state.velocity)
    x = constant(xp, panels.center[:, 0].copy())
    wet = wet_share > 0
    longest = xp.max(xp.where(wet, x, -xp.inf * xp.ones_like(x)), axis=-1, keepdims=True)
    shortest = xp.min(xp.where(wet, x, xp.inf * xp.ones_like(x)), axis=-1, keepdims=True)
    length = xp.maximum(longest - shortest, xp.zeros_like(longest))
    com = constant(xp, vehicle.inertia.center_of_mass[:, None])
    velocity = _velocity_at(relative_velocity(state, environment), com)
    speed = xp.sqrt(_dot(velocity, velocity))
    return friction_coefficient(speed * length / environment.kinematic_viscosity)


def _slamming(
    vehicle: Vehicle, panels: Panels, flow: Incidence, wet_area: Array, swept: Array,
    memory: SweptWater | None, dt: float,
) -> Array:  # fmt: skip
    """Return the weights w (..., n) of the slamming forces −w v, bounded together.

    Weights are damping at points: no motion decays faster than Σ w tr(H M⁻¹ Hᵀ) per second, so
    with that times dt at most 1 none is reversed in a step.
    """
    xp = namespace(wet_area)
    if memory is None or dt <= 0:
        return xp.zeros_like(wet_area)
    k = panels.coefficients
    change = swept - memory.flow
    rate = xp.sqrt(_dot(change, change)) / (constant(xp, panels.area) * dt)
    weight = slamming_weight(
        wet_area, panels.total_area, flow, rate,
        mass=vehicle.inertia.mass, power=constant(xp, k.slamming_power),
        max_acceleration=constant(xp, k.max_acceleration),
        multiplier=constant(xp, k.slamming_multiplier),
    )  # fmt: skip
    decay = xp.sum(weight * constant(xp, vehicle.panel_mobility), axis=-1, keepdims=True) * dt
    return weight / xp.maximum(decay, xp.ones_like(decay))


def _pushes(
    xp: ModuleType, k: PanelCoefficients, wet_area: Array, flow: Incidence
) -> tuple[Array, Array]:
    """Return pressure and suction along the normals (..., n), N."""
    reference = constant(xp, k.velocity_reference)
    pressure = normal_push(
        wet_area, flow.speed, flow.cosine, reference=reference, linear=constant(xp, k.C_PD1),
        quadratic=constant(xp, k.C_PD2), exponent=constant(xp, k.f_P),
    )  # fmt: skip
    suction = normal_push(
        wet_area, flow.speed, -flow.cosine, reference=reference, linear=constant(xp, k.C_SD1),
        quadratic=constant(xp, k.C_SD2), exponent=constant(xp, k.f_S),
    )  # fmt: skip
    return -pressure, suction


def _total(weights: Array, arm: Array) -> Wrench:
    """Return Σ weight · arm (..., 6) of weights (..., n) and arms (..., 6, n)."""
    return (arm @ weights[..., None])[..., 0]


def hull_forces(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    memory: SweptWater | None = None,
    *,
    dt: float = 0.0,
) -> tuple[dict[str, Wrench], SweptWater]:
    """Return the wrench of every kind of force on the hull's panels, and what to remember.

    Velocities are relative to the water, and to still air above it. Slamming needs the memory of
    the tick before; without one, or with dt = 0, it is zero. Source: the hydrodynamics guide.

    Args:
        vehicle: with a hull that has panels.
        state: of the body.
        environment: water at the state's time.
        memory: of the tick before.
        dt: time since then, s.
    """
    assert vehicle.hull is not None
    assert vehicle.hull.panels is not None
    panels = vehicle.hull.panels
    k = panels.coefficients
    xp = namespace(state.velocity)
    area, normal = constant(xp, panels.area), constant(xp, panels.normal_rows)
    cut, wet_center, dry_center, water = wet_hull(panels, state, environment)
    wet_area = area * cut.wet_share
    velocity = _velocity_at(state.velocity, wet_center) - water
    flow, along = _incidence(normal, velocity)
    rotation = rotation_matrix(state.orientation)
    middle = _velocity_at(state.velocity, constant(xp, panels.center_rows)) - water
    swept = rotation @ (wet_area[..., None, :] * middle)
    rho = constant(xp, k.water_density)
    if environment.water_density is not None:
        rho = environment.water_density
    friction = _friction(vehicle, panels, state, environment, cut.wet_share)
    viscous = viscous_weight(
        wet_area, flow, water_density=rho,
        friction_coefficient=friction * constant(xp, k.viscous),
    )  # fmt: skip
    pressure, suction = _pushes(xp, k, wet_area, flow)
    slamming = _slamming(vehicle, panels, flow, wet_area, swept, memory, dt)
    in_air = _velocity_at(state.velocity, dry_center)
    air = air_weight(
        area * cut.dry_share, _incidence(normal, in_air)[0],
        air_density=constant(xp, k.air_density), coefficient=constant(xp, k.air_coefficient),
    )  # fmt: skip
    with_flow, with_normal = arms(wet_center, velocity), arms(wet_center, normal)
    return {
        'viscous': _total(viscous * along, with_normal) - _total(viscous, with_flow),
        'pressure': _total(pressure, with_normal),
        'suction': _total(suction, with_normal),
        'slamming': -_total(slamming, with_flow),
        'air': -_total(air, arms(dry_center, in_air)),
    }, SweptWater(swept)
