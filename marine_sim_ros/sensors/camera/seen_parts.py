# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which visible parts of vehicles a camera can see, and where they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.scene.parts import Part
from marine_sim_ros.sensors.camera.labels import OTHER_VEHICLE, OWN_VEHICLE, label
from marine_sim_ros.sensors.camera.view import View

__all__ = ['SeenPart', 'seen_parts']


class SeenPart(NamedTuple):
    """A part in map axes.

    Attributes:
        part: the part.
        place: (3,) from the eye, m.
        turn: (3, 3) v_map = R v_part.
        label: what it is, of :mod:`labels`.
    """

    part: Part
    place: np.ndarray
    turn: np.ndarray
    label: int


def seen_parts(environment: Environment, view: View, widest: float) -> list[SeenPart]:
    """Return the parts of the vehicle itself and of others that may be in a picture.

    What is behind the camera is left out, so that the own vehicle costs little; the water's
    surface does not mirror it either.

    Args:
        environment: with vehicles.
        view: where from.
        widest: angle from the axis to the corner that is farthest from it, rad.
    """
    own = (environment.looks(), view.position, view.orientation, label(OWN_VEHICLE, 0))
    others = (
        (
            body.looks(),
            body.position,
            body.orientation,
            label(OTHER_VEHICLE, i) if body.label is None else body.label,
        )
        for i, body in enumerate(environment.bodies)
    )
    result = []
    for parts, position, orientation, known in (own, *others):
        turn = rotation_matrix(orientation)
        for part in parts:
            place = position + turn @ part.position - view.eye
            if part.kind != 'mesh' and np.linalg.norm(place) < part.size.min() / 2:
                continue  # the eye is in it, and parts are seen from outside alone
            if _inside(view.turn[:, 2], place, float(np.linalg.norm(part.size)) / 2, widest):
                result.append(SeenPart(part, place, turn @ part.rotation, known))
    return result


def _inside(axis: np.ndarray, place: np.ndarray, radius: float, widest: float) -> bool:
    """Return whether a ball may be in a cone about an axis."""
    far = float(np.linalg.norm(place))
    if far <= radius:
        return True
    angle = np.arccos(np.clip(axis @ place / far, -1.0, 1.0))
    return bool(angle - np.arcsin(radius / far) <= widest)
