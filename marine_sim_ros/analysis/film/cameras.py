# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Cameras of a film: one of the vehicle, or one that follows it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.choices import expected_one_of
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import projected_yaw, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.scene.parts import Part
from marine_sim_ros.sensors.camera.camera import Camera

__all__ = ['CHASE', 'FilmCamera', 'camera_of', 'chase_camera']

CHASE = 'chase'
"""Name of the camera that follows the vehicle."""
_BEHIND, _ABOVE = 4.0, 1.6
"""Of the chase camera: times the radius of the vehicle."""


class FilmCamera(NamedTuple):
    """A camera: its parameters, its sensor (None: it follows), and the vehicle's radius, m."""

    spec: Camera
    sensor: Sensor | None
    radius: float

    def pose(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Return the eye (3,) in map, m, and v_map = R v_camera (3, 3), optical frame."""
        if self.sensor is not None:
            turn = np.asarray(rotation_matrix(state.orientation))
            return state.position + turn @ self.sensor.position, turn @ self.sensor.rotation
        yaw = float(projected_yaw(state.orientation))
        ahead = np.array([np.cos(yaw), np.sin(yaw), 0.0])
        up = np.array([0.0, 0.0, 1.0])
        eye = state.position + self.radius * (_ABOVE * up - _BEHIND * ahead)
        if state.position[2] < -self.radius:  # a diver stays below the surface
            eye[2] = min(eye[2], -0.1)
        look = state.position - eye
        look /= np.linalg.norm(look)
        right = np.cross(look, up)
        right /= np.linalg.norm(right)
        return eye, np.column_stack([right, np.cross(look, right), look])


def chase_camera(parts: tuple[Part, ...], width: int, height: int) -> FilmCamera:
    """Return a camera that follows a vehicle with these parts from behind and above."""
    far = [np.linalg.norm(p.position) + np.linalg.norm(p.size) / 2 for p in parts]
    spec = Camera(width=float(width), height=float(height), field_of_view=60.0)
    return FilmCamera(spec, None, float(max(far, default=0.5)))


def camera_of(vehicle: Vehicle, name: str) -> Sensor | None:
    """Return a camera of a vehicle; None for the one that follows it.

    Args:
        vehicle: the vehicle.
        name: of a sensor, or ``chase``; empty: its first camera, else ``chase``.

    Raises:
        ParameterError: it has no such camera.
    """
    cameras = {s.name: s for s in vehicle.sensors if s.kind == 'camera'}
    if name == CHASE or not (name or cameras):
        return None
    if name and name not in cameras:
        expected = expected_one_of(name, [*cameras, CHASE])
        raise ParameterError(f'{vehicle.name} has no camera {name!r}; {expected}')
    return cameras[name] if name else next(iter(cameras.values()))
