# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Hull drag: forces on panels cut at the water surface, summed by kind.

Every force under water is along the flow or along the normal, −w v or +f n, so the coefficients w
and f of all kinds are summed before the sum over the panels (layout: physics/panels.py).
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace, rows, skip_unless
from marine_sim_ros.core.spatial import rotation_matrix, skew, up_in_body
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.hull import PanelCoefficients, Panels
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.force import relative_velocity
from marine_sim_ros.physics.panels import (
    Incidence,
    air_damping_coefficient,
    cut_panels,
    dry_remainder,
    flow_incidence,
    friction_coefficient,
    interpolate_cut,
    normal_pressure_force,
    slamming_damping_coefficient,
    total_wrench,
    viscous_damping_coefficient,
)

__all__ = ['SweptWater', 'hull_drag', 'hull_forces', 'panel_air_wrench', 'wet_hull']


class SweptWater(NamedTuple):
    """Memory of slamming: wet area times velocity (..., 3, n) of every panel, in map.

    The velocity is that of the panel's centre, relative to the water; m³/s.
    """

    flow: Array


class WetHull(NamedTuple):
    """A hull at an instant, body frame.

    Attributes:
        submerged: () whether the whole hull is under water.
        dry: () whether the whole hull is above water.
        wet_fraction: (..., n) wet fraction of every panel's area.
        center: (..., 3, n) centres of the wet parts, m.
        water: (..., 3, n) velocity of the water there, m/s; (..., 3, 1) if it is uniform.
        length: (..., 1) forward extent of the wet panels, m.
    """

    submerged: Array
    dry: Array
    wet_fraction: Array
    center: Array
    water: Array
    length: Array


def wet_hull(panels: Panels, state: State, environment: Environment) -> WetHull:
    """Return the wet parts of the hull, and the motion of the water there.

    The surface and the water's velocity are taken at the panels' corners and are linear between.
    """
    xp = namespace(state.position)
    corners, centers = rows(xp, panels.corner_rows), rows(xp, panels.center_rows)
    rotation = rotation_matrix(state.orientation)
    corner_height = up_in_body(state.orientation)[..., None, None, :] @ corners
    heights = corner_height[..., 0, :] + state.position[..., 2:3, None]
    if not environment.is_flat or not environment.has_even_current:
        vertices = constant(xp, panels.vertices)
        points = vertices @ xp.matrix_transpose(rotation) + state.position[..., None, :]
    if not environment.is_flat:
        heights = (
            heights
            - _at_corners(xp, panels, environment.elevation(points)[..., None, :])[..., 0, :]
        )
    corner_flow = None
    if environment.is_still:
        water = xp.zeros_like(state.position)[..., None]
    elif environment.is_flat and environment.has_even_current:
        uniform = environment.velocity(state.position)
        water = xp.matrix_transpose(rotation) @ uniform[..., None]
    else:
        flow_in_body = xp.matrix_transpose(environment.velocity(points) @ rotation)
        corner_flow = _at_corners(xp, panels, flow_in_body)
    submerged, dry = xp.max(heights) <= 0, xp.min(heights) > 0

    def all_panels() -> tuple[Array, ...]:
        wet_fraction = xp.ones_like(heights[..., 0, :])
        length = xp.ones_like(state.position[..., :1]) * panels.length
        field = () if corner_flow is None else (xp.sum(corner_flow, axis=-3) / 3,)
        return wet_fraction, centers, length, *field

    def cut_at_surface() -> tuple[Array, ...]:
        cut = cut_panels(heights)
        wet_fraction = cut.wet_fraction
        field = (
            () if corner_flow is None else (interpolate_cut(cut.wet, wet_fraction, corner_flow),)
        )
        length = _wet_length(centers, wet_fraction)
        return wet_fraction, interpolate_cut(cut.wet, wet_fraction, corners), length, *field

    wet_fraction, center, length, *field = skip_unless(submerged, all_panels, cut_at_surface)
    return WetHull(submerged, dry, wet_fraction, center, field[0] if field else water, length)


def _wet_length(centers: Array, wet_fraction: Array) -> Array:
    """Return the forward extent (..., 1) of the wet panels, m."""
    xp = namespace(wet_fraction)
    x, is_wet = centers[..., 0, :], wet_fraction > 0
    foremost = xp.max(xp.where(is_wet, x, -xp.inf * xp.ones_like(x)), axis=-1, keepdims=True)
    aftmost = xp.min(xp.where(is_wet, x, xp.inf * xp.ones_like(x)), axis=-1, keepdims=True)
    return xp.maximum(foremost - aftmost, xp.zeros_like(foremost))


def _at_corners(xp: ModuleType, panels: Panels, values: Array) -> Array:
    """Return values (..., 3, k, n) at the panels' corners, by values (..., k, v) at vertices."""
    values_at_corner = [
        xp.take(values, constant(xp, panels.faces[:, i]), axis=values.ndim - 1) for i in range(3)
    ]
    return xp.stack(values_at_corner, axis=-3)


def _velocity_at(velocity: Array, points: Array) -> Array:
    """Return v + ω × r (..., 3, n) of points of the body (..., 3, n)."""
    return velocity[..., :3, None] + skew(velocity[..., 3:]) @ points


def _dot_product(a: Array, b: Array) -> Array:
    """Return a·b (..., n) of vectors (..., 3, n)."""
    return namespace(b).sum(a * b, axis=-2)


def _friction_coefficient(
    vehicle: Vehicle, state: State, environment: Environment, length: Array
) -> Array:
    """Return C_f (..., 1) for Rn = |v_com| L/ν, L the forward extent of the wet panels."""
    xp = namespace(state.velocity)
    com = constant(xp, vehicle.inertia.center_of_mass[:, None])
    velocity = _velocity_at(relative_velocity(state, environment), com)
    speed = xp.sqrt(_dot_product(velocity, velocity))
    return friction_coefficient(speed * length / environment.kinematic_viscosity)


def _slamming_weights(
    vehicle: Vehicle,
    panels: Panels,
    flow: Incidence,
    wet_area: Array,
    swept: Array,
    memory: SweptWater | None,
    dt: float,
) -> Array:
    """Return the coefficients w (..., n) of the slamming forces −w v, with a common bound.

    They are damping at points: no motion decays faster than at the rate Σ w tr(H M⁻¹ Hᵀ), so no
    motion is reversed in a step if this times dt is at most 1.
    """
    xp = namespace(wet_area)
    if memory is None or dt <= 0:
        return xp.zeros_like(wet_area)
    k = panels.coefficients
    change = swept - memory.flow
    rate = xp.sqrt(_dot_product(change, change)) / (rows(xp, panels.area) * dt)
    weight = slamming_damping_coefficient(
        wet_area,
        panels.total_area,
        flow,
        rate,
        mass=vehicle.inertia.mass,
        power=rows(xp, k.slamming_power),
        max_acceleration=rows(xp, k.max_acceleration),
        multiplier=rows(xp, k.slamming_multiplier),
    )
    decay = xp.sum(weight * rows(xp, vehicle.panel_mobility), axis=-1, keepdims=True) * dt
    return weight / xp.maximum(decay, xp.ones_like(decay))


def _normal_forces(
    xp: ModuleType, k: PanelCoefficients, wet_area: Array, flow: Incidence
) -> Array:
    """Return the forces of the water along the normals (..., n), N."""
    is_pressure_side = flow.cosine > 0

    def side(pressure: np.ndarray, suction: np.ndarray) -> Array:
        return xp.where(is_pressure_side, rows(xp, pressure), rows(xp, suction))

    return normal_pressure_force(
        wet_area,
        flow.speed,
        xp.abs(flow.cosine),
        reference=rows(xp, k.velocity_reference),
        linear=side(k.C_PD1, k.C_SD1),
        quadratic=side(k.C_PD2, k.C_SD2),
        exponent=side(k.f_P, k.f_S),
    )


def _air_wrench(panels: Panels, state: State, hull: WetHull, air: Array) -> Wrench:
    """Return the wrench of the air, of velocity (..., 3), on the dry parts."""
    xp = namespace(state.velocity)
    k, normal = panels.coefficients, rows(xp, panels.normal_rows)

    def compute() -> Wrench:
        dry_fraction, center = dry_remainder(
            rows(xp, panels.center_rows), hull.wet_fraction, hull.center
        )
        velocity = _velocity_at(state.velocity, center) - air[..., None]
        weight = air_damping_coefficient(
            rows(xp, panels.area) * dry_fraction,
            xp.sqrt(_dot_product(velocity, velocity)),
            _dot_product(normal, velocity),
            air_density=rows(xp, k.air_density),
            coefficient=rows(xp, k.air_coefficient),
        )
        return total_wrench(center, -weight[..., None, :] * velocity)

    return skip_unless(hull.submerged, lambda: xp.zeros_like(state.velocity), compute)


class _WettedFlow(NamedTuple):
    """Wet areas (..., n), velocities relative to the water (..., 3, n), and A v in map."""

    hull: WetHull
    area: Array
    velocity: Array
    swept: SweptWater


def _wetted_flow(panels: Panels, state: State, environment: Environment) -> _WettedFlow:
    xp = namespace(state.velocity)
    hull = wet_hull(panels, state, environment)
    area = rows(xp, panels.area) * hull.wet_fraction
    center_velocity = _velocity_at(state.velocity, rows(xp, panels.center_rows)) - hull.water
    swept = rotation_matrix(state.orientation) @ (area[..., None, :] * center_velocity)
    velocity = _velocity_at(state.velocity, hull.center) - hull.water
    return _WettedFlow(hull, area, velocity, SweptWater(swept))


class _ForceCoefficients(NamedTuple):
    """Forces under water by kind: f of +f n and w of −w v, both (..., n)."""

    along_normal: dict[str, Array]
    against_flow: dict[str, Array]


def _force_coefficients(
    vehicle: Vehicle,
    panels: Panels,
    state: State,
    environment: Environment,
    wetted: _WettedFlow,
    memory: SweptWater | None,
    dt: float,
) -> _ForceCoefficients:
    xp = namespace(state.velocity)
    k = panels.coefficients
    normal_velocity = _dot_product(rows(xp, panels.normal_rows), wetted.velocity)
    flow = flow_incidence(_dot_product(wetted.velocity, wetted.velocity), normal_velocity)
    rho = rows(xp, k.water_density)
    if environment.water_density is not None or environment.fields is not None:
        rho = environment.density(state.position, 0.0)
    friction = _friction_coefficient(vehicle, state, environment, wetted.hull.length)
    viscous = viscous_damping_coefficient(
        wetted.area, flow, water_density=rho, friction_coefficient=friction * rows(xp, k.viscous)
    )
    normal_force = _normal_forces(xp, k, wetted.area, flow)
    zero, is_pressure_side = xp.zeros_like(normal_force), flow.cosine > 0
    slamming = _slamming_weights(vehicle, panels, flow, wetted.area, wetted.swept.flow, memory, dt)
    return _ForceCoefficients(
        {
            'viscous': viscous * normal_velocity,
            'pressure': xp.where(is_pressure_side, -normal_force, zero),
            'suction': xp.where(is_pressure_side, zero, normal_force),
        },
        {'viscous': viscous, 'slamming': slamming},
    )


def _panel_forces(
    xp: ModuleType, panels: Panels, wetted: _WettedFlow, coefficients: _ForceCoefficients
) -> Array:
    """Return the sum of the forces (..., 3, n) of all kinds, N."""
    along_normal, against_flow = (
        sum(list(kinds.values())[1:], next(iter(kinds.values()))) for kinds in coefficients
    )
    normal = rows(xp, panels.normal_rows)
    return along_normal[..., None, :] * normal - against_flow[..., None, :] * wetted.velocity


def hull_drag(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    memory: SweptWater | None,
    *,
    dt: float,
) -> tuple[Wrench, SweptWater]:
    """Return the wrench of all forces on the hull's panels, and the next memory.

    Arguments as for :func:`hull_forces`.
    """
    assert vehicle.hull is not None
    assert vehicle.hull.panels is not None
    panels = vehicle.hull.panels
    xp = namespace(state.velocity)
    wetted = _wetted_flow(panels, state, environment)

    def wet() -> Array:
        coefficients = _force_coefficients(vehicle, panels, state, environment, wetted, memory, dt)
        return _panel_forces(xp, panels, wetted, coefficients)

    force = skip_unless(wetted.hull.dry, lambda: xp.zeros_like(wetted.velocity), wet)
    wrench = total_wrench(wetted.hull.center, force)
    if environment.wind is None:  # with wind, the force ``wind`` includes the drag of the air
        calm_air = xp.zeros_like(state.position)
        wrench = wrench + _air_wrench(panels, state, wetted.hull, calm_air)
    return wrench, wetted.swept


def hull_forces(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    memory: SweptWater | None = None,
    *,
    dt: float = 0.0,
) -> tuple[dict[str, Wrench], SweptWater]:
    """Return the wrenches of forces on the hull's panels by kind, and the next memory.

    Velocities are relative to the water, and to still air above it. Slamming needs the memory of
    the tick before; without one, or with dt = 0, it is zero. Source: the hydrodynamics guide.

    Args:
        vehicle: a vehicle whose hull has panels.
        state: state of the body.
        environment: water at the state's time.
        memory: memory of the previous tick.
        dt: time since then, s.
    """
    assert vehicle.hull is not None
    assert vehicle.hull.panels is not None
    panels = vehicle.hull.panels
    xp = namespace(state.velocity)
    wetted = _wetted_flow(panels, state, environment)
    coefficients = _force_coefficients(vehicle, panels, state, environment, wetted, memory, dt)
    none = {'none': xp.zeros_like(wetted.area)}

    def wrench(kind: str) -> Wrench:
        coefficients_of_kind = _ForceCoefficients(
            *({kind: kinds[kind]} if kind in kinds else none for kinds in coefficients)
        )
        return total_wrench(
            wetted.hull.center, _panel_forces(xp, panels, wetted, coefficients_of_kind)
        )

    wet = {kind: wrench(kind) for kind in ('viscous', 'pressure', 'suction', 'slamming')}
    calm_air = xp.zeros_like(state.position)
    return {**wet, 'air': _air_wrench(panels, state, wetted.hull, calm_air)}, wetted.swept


def panel_air_wrench(
    vehicle: Vehicle, state: State, environment: Environment, air: Array
) -> Wrench:
    """Wrench (..., 6) of air of a velocity (..., 3), body frame, m/s, on the dry panels."""
    assert vehicle.hull is not None
    assert vehicle.hull.panels is not None
    panels = vehicle.hull.panels
    return _air_wrench(panels, state, wet_hull(panels, state, environment), air)
