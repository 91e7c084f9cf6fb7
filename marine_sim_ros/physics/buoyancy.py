# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Buoyancy of voxels cut by the wave surface, or of one lumped volume that fades out there."""

from __future__ import annotations

from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace, rows
from marine_sim_ros.core.spatial import cross, in_map, rotation_matrix, to_body, up_in_body
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.hull import VoxelSet
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.force import ForceInputs, ForceModel
from marine_sim_ros.physics.panels import panel_wrenches

__all__ = ['BUOYANCY', 'buoyancy', 'near_surface_fraction', 'submerged_fractions']


def near_surface_fraction(z: Array, *, height: Array) -> Array:
    """Return the submerged fraction of a body of a height (m) whose centre is at z (m): 0 to 1.

    1 for z ≤ −h/2, 0 for z ≥ h/2, (h/2 − z)/h between. Source: Orca3 plugin documentation,
    OrcaBuoyancyPlugin.
    """
    if isinstance(z, int | float):
        return min(max((height / 2 - z) / height, 0.0), 1.0)
    xp = namespace(z)
    return xp.minimum(xp.maximum((height / 2 - z) / height, 0.0), 1.0)


_MIN_EDGE_RATIO = 1e-3
"""Smallest ratio of a box's projected edges; below it the closed form loses digits."""


_CORNER_SIGNS = np.array([-1.0, 1.0, 1.0, -1.0, 1.0, -1.0, -1.0, 1.0])[:, None]


def box_fraction_below(depth: Array, edges: Array) -> Array:
    """Return the volume fraction (...) of boxes below a horizontal plane.

    Their centres are ``depth`` (...) m below it, their edges reach e₁, e₂, e₃ (..., 3) m up:
    Σ ± max(0, d + (±e₁ ±e₂ ±e₃)/2)³/(6 e₁ e₂ e₃) over the corners, the exact volume.
    """
    xp = namespace(depth)
    e = xp.maximum(edges, _MIN_EDGE_RATIO * xp.max(edges, axis=-2, keepdims=True))
    half = xp.sum(e, axis=-2) / 2
    limited_depth = xp.maximum(xp.minimum(depth, half), -half)
    a, b, c = (e[..., i : i + 1, :] / 2 for i in range(3))
    edges_up = (-(a + b), b - a, a - b, a + b)
    corners = xp.concat([corner for x in edges_up for corner in (x - c, x + c)], axis=-2)
    height = xp.maximum(limited_depth[..., None, :] + corners, 0.0)
    total = xp.sum(constant(xp, _CORNER_SIGNS) * (height * height * height), axis=-2)
    fraction = total / (6 * e[..., 0, :] * e[..., 1, :] * e[..., 2, :])
    return xp.clip(fraction, 0.0, 1.0)


def submerged_fractions(
    voxels: VoxelSet, state: State, environment: Environment, elevation: Array | None = None
) -> Array:
    """Return the submerged fraction (..., m) of every voxel, 0 to 1.

    Args:
        elevation: (..., m) of the surface above the voxels, m, if it is known.
    """
    xp = namespace(state.position)
    up = up_in_body(state.orientation)[..., None, :]
    edges = xp.abs(up[..., None, :, :] @ rows(xp, voxels.extent_rows))[..., 0, :]
    z = (up @ rows(xp, voxels.center_rows))[..., 0, :] + state.position[..., 2:3]
    if elevation is None and not environment.is_flat:
        centers = constant(xp, voxels.center)
        elevation = environment.elevation(in_map(state.position, state.orientation, centers))
    return box_fraction_below(-z if elevation is None else elevation - z, edges)


def voxel_buoyancy(
    voxels: VoxelSet, state: State, environment: Environment, fluid_density: float
) -> Wrench:
    """Return Σ ρ V k (g ẑ + ∂u/∂t) at the voxels' centres, k the submerged fraction.

    In still water this is Archimedes' ρ g V k. In waves −∇p = ρ (g ẑ + ∂u/∂t) is normal to the
    surface there, and the wave part decays with depth (Froude-Krylov). Source: the hydrodynamics
    guide for the voxels that follow the surface; Airy's waves for the pressure.

    Args:
        voxels: voxels of the hull.
        state: state of the body.
        environment: water at the state's time.
        fluid_density: kg/m³, of the water the vehicle is trimmed for.
    """
    xp = namespace(state.position)
    elevation = None
    if not environment.is_flat:
        centers = constant(xp, voxels.center)
        elevation, water_acceleration = environment.elevation_and_acceleration(
            in_map(state.position, state.orientation, centers)
        )
    fractions = submerged_fractions(voxels, state, environment, elevation)
    mass = environment.density(state.position, fluid_density) * rows(xp, voxels.volume) * fractions
    lift = environment.gravity * up_in_body(state.orientation)
    if environment.is_flat:
        force = lift * xp.sum(mass, axis=-1, keepdims=True)
        moment = xp.vecdot(rows(xp, voxels.center_rows), mass[..., None, :])
        return xp.concat([force, cross(moment, lift)], axis=-1)
    water_acceleration = water_acceleration @ rotation_matrix(state.orientation)
    specific_force = xp.matrix_transpose(lift[..., None, :] + water_acceleration)
    return (panel_wrenches(xp.matrix_transpose(centers), specific_force) @ mass[..., None])[..., 0]


def buoyancy(vehicle: Vehicle, state: State, environment: Environment) -> Wrench:
    """Return the buoyancy of the hull's voxels, or of the lumped volume without voxels.

    Lumped: ρ g V times the submerged fraction, upwards at the centre of volume. The fraction is
    that at the depth of the ``base_link`` origin for any attitude, and in waves −∇p is taken
    there. Source: Orca3 plugin documentation, OrcaBuoyancyPlugin.
    """
    lumped = vehicle.buoyancy
    xp = namespace(state.position)
    if vehicle.hull is not None and vehicle.hull.voxels is not None:
        return voxel_buoyancy(vehicle.hull.voxels, state, environment, lumped.fluid_density)
    density = environment.density(state.position, lumped.fluid_density)
    force = density * environment.gravity * lumped.volume
    z = state.position[..., 2:3]
    if environment.is_flat:
        fraction = near_surface_fraction(z, height=lumped.height)
        return matvec(
            constant(xp, lumped.lever), up_in_body(state.orientation) * (force * fraction)
        )
    z = z - environment.elevation(state.position)[..., None]
    fraction = near_surface_fraction(z, height=lumped.height)
    lift = environment.gravity * up_in_body(state.orientation)
    water_acceleration = to_body(state.orientation, environment.acceleration(state.position))
    force_in_body = (lift + water_acceleration) * (density * lumped.volume * fraction)
    return matvec(constant(xp, lumped.lever), force_in_body)


def _step(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    inputs: ForceInputs,
    memory: Any,
    /,
    *,
    dt: Any,
) -> tuple[Wrench, Any]:
    del vehicle, dt
    return buoyancy(inputs.body, state, environment), memory


BUOYANCY = ForceModel(
    'buoyancy',
    _step,
    needs=('joints',),
    label='Buoyancy',
    colour='#1a80e6',
    executable='buoyancy',
    scalar=True,
)
