# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Other vehicles as the sensors of a vehicle meet them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.kinematics import body_frame
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.scene.bodies import Body
from marine_sim_ros.sensors.camera.own_looks import OwnLooks, moved_payloads, tether_body
from marine_sim_ros.sensors.sensor_model import SensorInputs

__all__ = ['among', 'beside', 'body_of']


def body_of(vehicle: Vehicle, name: str) -> Body:
    """Return the body of a vehicle at the origin: what touches and is touched in contact.

    Cameras see its visuals, with joints at zero until :func:`among` is told where they are.

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
        looks=OwnLooks(vehicle),
        frames={
            f.name: (f.translation, f.quaternion)
            for f in (body_frame(vehicle.base_link), *vehicle.frames)
        },
    )


def among(
    environment: Environment,
    bodies: Mapping[str, Body],
    states: Mapping[str, State | None],
    inputs: Mapping[str, SensorInputs] | None = None,
) -> Environment:
    """Return an environment with the bodies of those whose states are known.

    Args:
        environment: water and scene.
        bodies: of :func:`body_of`, by name.
        states: by name; None: not known yet.
        inputs: what cameras see move of each, by name; without: joints and propellers at zero,
            and no tethers.
    """
    placed, tethers = [], []
    for number, (name, body) in enumerate(bodies.items(), start=1):
        state, seen = states.get(name), None if inputs is None else inputs.get(name)
        if state is None:
            continue
        looks = body.looks
        if seen is not None and isinstance(looks, OwnLooks):
            if seen.tether is not None:
                tethers.append(tether_body(seen.tether, looks.diameter, number))
            looks = partial(looks.at, seen.joints, seen.rotors, float(seen.time))
        placed.append(
            replace(body, position=state.position, orientation=state.orientation, looks=looks)
        )
    return replace(environment, bodies=(*placed, *tethers)) if placed else environment


def beside(
    environment: Environment,
    own: SensorInputs,
    bodies: Mapping[str, Body],
    states: Mapping[str, State | None],
    others: Mapping[str, SensorInputs],
) -> tuple[Environment, SensorInputs]:
    """Return what a vehicle's sensors are given at a tick among others.

    Args:
        environment: water and scene.
        own: inputs of the own vehicle's sensors.
        bodies: of :func:`body_of`, of the other vehicles, by name.
        states: of these by name; None: not known yet.
        others: what cameras see move of these, by name.

    Returns:
        The environment with the bodies of those whose states are known; the inputs, with the
        payloads that others have moved.
    """
    poses = (own.payloads, *(other.payloads for other in others.values()))
    payloads = moved_payloads(environment.payloads, poses)
    return among(environment, bodies, states, others), own._replace(payloads=payloads)
