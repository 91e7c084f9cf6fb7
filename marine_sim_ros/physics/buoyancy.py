# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Buoyancy of a submerged volume that is lost gradually at the surface."""

from __future__ import annotations

from marine_sim_ros.arrays import Array, constant, matvec, namespace
from marine_sim_ros.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.spatial import up_in_body
from marine_sim_ros.state import State, Wrench

__all__ = ['buoyancy', 'near_surface_fraction']


def near_surface_fraction(z: Array, *, height: float) -> Array:
    """Return the submerged share of a body of a height (m) whose middle is at z (m): 0 to 1.

    1 for z ≤ −h/2, 0 for z ≥ h/2, (h/2 − z)/h between. Source: Orca3 plugin documentation,
    OrcaBuoyancyPlugin.
    """
    if isinstance(z, int | float):
        return min(max((height / 2 - z) / height, 0.0), 1.0)
    xp = namespace(z)
    return xp.minimum(xp.maximum((height / 2 - z) / height, 0.0), 1.0)


def buoyancy(vehicle: Vehicle, state: State, environment: Environment) -> Wrench:
    """Return the wrench of ρ g V, upwards at the centre of volume, less what is out of water.

    The depth is that of the ``base_link`` origin, whatever the attitude. Weight is not in it.
    Source: Orca3 plugin documentation, OrcaBuoyancyPlugin.
    """
    hull = vehicle.buoyancy
    xp = namespace(state.position)
    density = environment.density_for(hull.fluid_density)
    force = density * environment.gravity * hull.volume
    fraction = near_surface_fraction(state.position[..., 2:3], height=hull.height)
    up = up_in_body(state.orientation) * (force * fraction)
    return matvec(constant(xp, hull.lever), up)
