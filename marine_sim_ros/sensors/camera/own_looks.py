# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a camera sees move: arms and propellers of vehicles, payloads, and tethers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.propellers import propeller_turns
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.scene.bodies import Body
from marine_sim_ros.scene.colours import colour
from marine_sim_ros.scene.parts import Part
from marine_sim_ros.scene.payloads import Payload
from marine_sim_ros.scene.tubes import tube
from marine_sim_ros.sensors.camera.labels import PAYLOAD, TETHER, label
from marine_sim_ros.sensors.sensor_model import SensorInputs

if TYPE_CHECKING:
    from marine_sim_ros.sdf.appearance import Appearance

__all__ = [
    'NO_SURFACES',
    'OwnLooks',
    'moved_payloads',
    'payload_bodies',
    'tether_body',
    'with_moving',
]

NO_SURFACES = (np.zeros((0, 1, 3)), np.zeros((0, 1)), np.zeros((0, 3)), np.zeros(0))
"""What sonars meet of a body that cameras alone see."""


class OwnLooks:
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
        from marine_sim_ros.sdf.appearance import Appearance

        return Appearance(self._vehicle)

    def __call__(self) -> tuple[Part, ...]:
        """Return the parts in the frame of the body, joints at zero."""
        return self._appearance.parts()

    def at(
        self, joints: np.ndarray | None, rotors: np.ndarray | None = None, time: float = 0.0
    ) -> tuple[Part, ...]:
        """Return the parts in the frame of the body at a tick.

        Args:
            joints: (k,) positions of the arm's joints, rad or m; None: 0.
            rotors: (n,) speeds of the rotors, rad/s; None: propellers are at their angle 0.
            time: s, for the angles of the propellers.
        """
        posed = () if joints is None else zip(self._names, joints.tolist(), strict=True)
        turns = None if rotors is None else propeller_turns(self._vehicle.thrusters, rotors, time)
        return self._appearance.parts_at(dict(posed), turns)


def tether_body(places: np.ndarray, diameter: float, number: int = 0) -> Body:
    """Return a tether along places (n, 3) in map, m, of a diameter in m.

    Args:
        places: along it.
        diameter: of it.
        number: 0 for the own one; from 1 for those of other vehicles.
    """
    parts = tube(places, diameter)
    still = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
    return Body('tether', *NO_SURFACES, *still, looks=lambda: parts, label=label(TETHER, number))


def with_moving(environment: Environment, inputs: SensorInputs) -> Environment:
    """Return an environment with own parts, payloads and tether where the inputs of a tick say."""
    looks, own = environment.looks, list(payload_bodies(environment.payloads, inputs.payloads))
    if isinstance(looks, OwnLooks):
        if inputs.joints is not None or inputs.rotors is not None:
            parts = looks.at(inputs.joints, inputs.rotors, float(inputs.time))
            environment = replace(environment, looks=lambda: parts)
        if inputs.tether is not None:
            own.append(tether_body(inputs.tether, looks.diameter))
    return replace(environment, bodies=(*environment.bodies, *own)) if own else environment


def moved_payloads(
    payloads: tuple[Payload, ...], poses: Iterable[np.ndarray | None]
) -> np.ndarray | None:
    """Return where payloads are (p, 7) that several vehicles may move; None: as declared.

    A payload is where the first vehicle has it that has moved it.

    Args:
        payloads: of an environment.
        poses: of each vehicle, (p, 7) as :func:`payload_bodies` takes them, or None.
    """
    known = [rows for rows in poses if rows is not None]
    if not known or not payloads:
        return None
    declared = np.stack([np.concatenate([p.body.position, p.body.orientation]) for p in payloads])
    result = declared.copy()
    for rows in reversed(known):
        moved = np.any(rows != declared, axis=-1)
        result[moved] = rows[moved]
    return result


def payload_bodies(payloads: tuple[Payload, ...], poses: np.ndarray | None) -> Iterator[Body]:
    """Yield payloads as cameras see them.

    Args:
        payloads: of an environment.
        poses: (p, 7) places, m, and orientations x, y, z, w, map; None: as they are declared.
    """
    for i, payload in enumerate(payloads):
        body = payload.body
        place, turn = body.position, body.orientation
        if poses is not None:
            place, turn = poses[i, :3], poses[i, 3:]
        shown = np.array(colour(body.material))
        part = Part(body.kind, body.size, np.zeros(3), np.eye(3), shown, np.zeros((0, 3, 3)))
        yield Body(
            body.name,
            *NO_SURFACES,
            place,
            turn,
            looks=partial(tuple, (part,)),
            label=label(PAYLOAD, i),
        )
