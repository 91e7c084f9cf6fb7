# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Other vehicles as the ray sensors of a vehicle see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.scene.bodies import Body
from marine_sim_ros.sdf.appearance import Appearance

__all__ = ['among', 'body_of']


def body_of(vehicle: Vehicle, name: str) -> Body:
    """Return the body of a vehicle at the origin: what touches and is touched in contact.

    Cameras see its visuals, with joints at zero.

    Boxes are exact, a cylinder is a prism of 24 sides, a mesh its convex hull.

    Args:
        vehicle: the vehicle.
        name: name of the body.

    Raises:
        ModelError: a mesh that cannot be used.
    """
    contact = vehicle.contact
    balls = contact.radius > 0
    return Body(
        name,
        contact.solids.normal,
        contact.solids.offset,
        contact.position[balls],
        contact.radius[balls],
        np.zeros(3),
        np.array([0.0, 0.0, 0.0, 1.0]),
        looks=Appearance(vehicle).parts,
    )


def among(
    environment: Environment, bodies: Mapping[str, Body], states: Mapping[str, State | None]
) -> Environment:
    """Return an environment with the bodies of those whose states are known."""
    placed = tuple(
        replace(body, position=state.position, orientation=state.orientation)
        for name, body in bodies.items()
        if (state := states.get(name)) is not None
    )
    return replace(environment, bodies=placed) if placed else environment
