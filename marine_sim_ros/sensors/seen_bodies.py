# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Moving surfaces that sonars, lidar and cameras detect: own arm and tether, other vehicles.

With the labels that they have in pictures of classes and numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.kinematics import body_frame
from marine_sim_ros.model.propulsion import propeller_turns
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.scene.bodies import Body, VisiblePart
from marine_sim_ros.scene.drawing import cable_tube
from marine_sim_ros.sensors.sensor_model import SensorInputs

if TYPE_CHECKING:
    from marine_sim_ros.model.appearance import Appearance

__all__ = [
    'NO_LABEL',
    'NO_SURFACES',
    'OBSTACLE',
    'OTHER_VEHICLE',
    'OWN_VEHICLE',
    'OwnParts',
    'PLANE',
    'SURFACE',
    'TERRAIN',
    'TETHER_LABEL',
    'body_of',
    'label',
    'tether_body',
    'with_moving_parts',
    'with_vehicles',
]


# Labels of camera pictures: class and instance.

NO_LABEL, SURFACE, TERRAIN, PLANE, OBSTACLE, OWN_VEHICLE, OTHER_VEHICLE = range(7)
TETHER_LABEL = 8
"""Classes; the shader has them too. Nothing within 200 m is water, or sky."""
_MAX_BODIES = 255


def label(kind: int, number: int) -> int:
    """Return the label of the number-th of a class: class + 256 min(number, 255)."""
    return kind + 256 * min(number, _MAX_BODIES)


# Moving parts in camera pictures: arms, propellers, tethers.

NO_SURFACES = (np.zeros((0, 1, 3)), np.zeros((0, 1)), np.zeros((0, 3)), np.zeros(0))
"""Empty surfaces for sonars, of a body that only cameras see."""


class OwnParts:
    """The visible parts of a vehicle, ``looks`` of an environment.

    Attributes:
        diameter: of its tether, m; 0: none.
    """

    def __init__(self, vehicle: Vehicle) -> None:
        """Take a vehicle; its meshes are read when they are asked for."""
        self._vehicle = vehicle
        self._names = () if vehicle.manipulator is None else vehicle.manipulator.names
        tether = vehicle.extensions.get('tether')
        self.diameter = 0.0 if tether is None else float(tether.cable.diameter)

    @cached_property
    def _appearance(self) -> Appearance:
        # Of the nodes that have such looks only that of a camera reads meshes.
        from marine_sim_ros.model.appearance import Appearance

        return Appearance(self._vehicle)

    def __call__(self) -> tuple[VisiblePart, ...]:
        """Return the parts in the frame of the body, joints at zero."""
        return self._appearance.parts()

    def at(
        self, joints: np.ndarray | None, rotors: np.ndarray | None = None, time: float = 0.0
    ) -> tuple[VisiblePart, ...]:
        """Return the parts in the frame of the body at a tick.

        Args:
            joints: (k,) positions of the arm's joints, rad or m; None: 0.
            rotors: (n,) speeds of the rotors, rad/s; None: propellers are at their angle 0.
            time: s, for the angles of the propellers.
        """
        posed = () if joints is None else zip(self._names, joints.tolist(), strict=True)
        rotor_angles = (
            None if rotors is None else propeller_turns(self._vehicle.thrusters, rotors, time)
        )
        return self._appearance.parts_at(dict(posed), rotor_angles)


def tether_body(points: np.ndarray, diameter: float, number: int = 0) -> Body:
    """Return a tether along places (n, 3) in map, m, of a diameter in m.

    Args:
        number: 0 for the own one; from 1 for those of other vehicles.
    """
    parts = cable_tube(points, diameter)
    at_origin = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
    return Body(
        'tether', *NO_SURFACES, *at_origin, looks=lambda: parts, label=label(TETHER_LABEL, number)
    )


def with_moving_parts(environment: Environment, inputs: SensorInputs) -> Environment:
    """Return an environment with own parts, tether and silt of the inputs of a tick."""
    if inputs.silt is not None:
        environment = replace(environment, silt=inputs.silt)
    parts_of_vehicle = environment.looks
    if isinstance(parts_of_vehicle, OwnParts):
        if inputs.joints is not None or inputs.rotors is not None:
            parts = parts_of_vehicle.at(inputs.joints, inputs.rotors, float(inputs.time))
            environment = replace(environment, looks=lambda: parts)
        if inputs.tether is not None:
            tether = tether_body(inputs.tether, parts_of_vehicle.diameter)
            environment = replace(environment, bodies=(*environment.bodies, tether))
    return environment


# Other vehicles as bodies for a vehicle's sensors.


def body_of(vehicle: Vehicle, name: str, seed: int = 0) -> Body:
    """Return the body of a vehicle at the origin: what touches and is touched in contact.

    Cameras see its visuals, with joints at zero until :func:`with_vehicles` is told where they
    are.

    Boxes are exact, a cylinder is a prism of 24 sides, a mesh its convex hull.

    Args:
        name: name of the body.
        seed: random seed of its sensors.

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
        looks=OwnParts(vehicle),
        frames={
            f.name: (f.translation, f.quaternion)
            for f in (body_frame(vehicle.base_link), *vehicle.frames)
        },
        sensors=vehicle.sensors,
        seed=seed,
    )


def with_vehicles(
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
        state, vehicle_inputs = states.get(name), None if inputs is None else inputs.get(name)
        if state is None:
            continue
        looks = body.looks
        if vehicle_inputs is not None and isinstance(looks, OwnParts):
            if vehicle_inputs.tether is not None:
                tethers.append(tether_body(vehicle_inputs.tether, looks.diameter, number))
            looks = partial(
                looks.at, vehicle_inputs.joints, vehicle_inputs.rotors, float(vehicle_inputs.time)
            )
        outbox = (
            ()
            if vehicle_inputs is None or vehicle_inputs.outbox is None
            else vehicle_inputs.outbox
        )
        placed.append(
            replace(
                body,
                position=state.position,
                orientation=state.orientation,
                looks=looks,
                outbox=outbox,
                velocity=state.velocity,
            )
        )
    return replace(environment, bodies=(*placed, *tethers)) if placed else environment
