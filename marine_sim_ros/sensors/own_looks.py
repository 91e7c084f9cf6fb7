# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a camera sees move beside other vehicles: the own arm, payloads, and the own tether."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.scene.bodies import Body
from marine_sim_ros.scene.colours import colour
from marine_sim_ros.scene.parts import Part
from marine_sim_ros.scene.payloads import Payload
from marine_sim_ros.scene.tubes import tube
from marine_sim_ros.sdf.appearance import Appearance
from marine_sim_ros.sensors.labels import PAYLOAD, TETHER, label
from marine_sim_ros.sensors.sensor_model import SensorInputs

__all__ = ['NO_SURFACES', 'OwnLooks', 'tether_body', 'with_moving']

NO_SURFACES = (np.zeros((0, 1, 3)), np.zeros((0, 1)), np.zeros((0, 3)), np.zeros(0))
"""What sonars meet of a body that cameras alone see."""


class OwnLooks:
    """The visible parts of a vehicle, ``looks`` of an environment.

    Attributes:
        diameter: of its tether, m; 0: none.
    """

    def __init__(self, vehicle: Vehicle) -> None:
        """Take a vehicle; its meshes are read when they are asked for."""
        self._appearance = Appearance(vehicle)
        self._names = () if vehicle.manipulator is None else vehicle.manipulator.names
        tether = vehicle.extensions.get('tether')
        self.diameter = 0.0 if tether is None else float(tether.cable.diameter)

    def __call__(self) -> tuple[Part, ...]:
        """Return the parts in the frame of the body, joints at zero."""
        return self._appearance.parts()

    def at(self, joints: np.ndarray) -> tuple[Part, ...]:
        """Return the parts in the frame of the body with joints (k,) at positions, rad or m."""
        return self._appearance.parts_at(dict(zip(self._names, joints.tolist(), strict=True)))


def tether_body(places: np.ndarray, diameter: float) -> Body:
    """Return a tether along places (n, 3) in map, m, of a diameter in m."""
    parts = tube(places, diameter)
    still = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
    return Body('tether', *NO_SURFACES, *still, looks=lambda: parts, label=label(TETHER, 0))


def with_moving(environment: Environment, inputs: SensorInputs) -> Environment:
    """Return an environment with arm, payloads and tether where the inputs of a tick say."""
    looks, own = environment.looks, list(_payload_bodies(environment.payloads, inputs.payloads))
    if isinstance(looks, OwnLooks):
        if inputs.joints is not None:
            parts = looks.at(inputs.joints)
            environment = replace(environment, looks=lambda: parts)
        if inputs.tether is not None:
            own.append(tether_body(inputs.tether, looks.diameter))
    return replace(environment, bodies=(*environment.bodies, *own)) if own else environment


def _payload_bodies(payloads: tuple[Payload, ...], poses: np.ndarray | None) -> Iterator[Body]:
    for i, payload in enumerate(payloads):
        body = payload.body
        place, turn = body.position, body.orientation
        if poses is not None:
            place, turn = poses[i, :3], poses[i, 3:]
        shown = np.array(colour(body.material))
        part = Part(body.kind, body.size, np.zeros(3), np.eye(3), shown, np.zeros((0, 3, 3)))
        yield Body(
            body.name, *NO_SURFACES, place, turn,
            looks=partial(tuple, (part,)), label=label(PAYLOAD, i),
        )  # fmt: skip
