# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Echoes of corners of three perpendicular flat faces, which send sound back to its source.

Three mirrors at right angles image the sonar by the point where they meet: all sound that is
reflected by each of them has gone twice the distance D of that point, and seems to come from
there. Faces that are wide beside the Fresnel zone return the intensity of the image, 1/(2 D)²;
smaller ones that of a plate across the way, A²/λ² of target strength (Urick 1983, table 9.1), with
the area A through which sound goes in and out: of square faces of the edge L seen along the
diagonal √3 L², which is σ = 12 π L⁴/λ² of radar handbooks. The lesser of both is taken.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.spatial import in_map, rotation_matrix
from marine_sim_ros.environment.environment import SOUND_SPEED, Environment
from marine_sim_ros.environment.rays import WATER_SURFACE, first_hits
from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.sensors.acoustics import local_absorption, reflectivity
from marine_sim_ros.sensors.echo_profiles import SonarPing

__all__ = ['CornerEcho', 'corner_detections', 'corner_echoes']

_PERPENDICULAR = 1e-6
"""Greatest |n·m| of the normals of perpendicular faces."""
_CLOSE = 1e-4
"""Distance within which faces meet, m."""
_NEAR = 2e-3
"""Distance before a corner within which rays meet its faces, m."""
_SAMPLES = 64
"""Samples of the aperture along each side of a square about it."""


class CornerEcho(NamedTuple):
    """Echo of a corner.

    Attributes:
        direction: (3,) from the sonar to the corner, map.
        distance: from the sonar to the corner, m.
        intensity: over the intensity of the source at 1 m, without absorption.
    """

    direction: np.ndarray
    distance: float
    intensity: float


class _Face(NamedTuple):
    """Rectangle: its middle and unit normal into the water (3,), two axes (2, 3), half sides (2,).

    Half sides of a plane are infinite; it goes up to the height ``rim``, m.
    """

    middle: np.ndarray
    normal: np.ndarray
    axes: np.ndarray
    half: np.ndarray
    rim: float
    material: str

    def reach(self, point: np.ndarray, direction: np.ndarray) -> float:
        """Return the length of the face from a point of it in a direction along it, m."""
        along, at = self.axes @ direction, self.axes @ (point - self.middle)
        left = self.half - np.sign(along) * at
        slow = np.abs(along) < _PERPENDICULAR
        return float(np.min(np.where(slow, np.inf, left / np.where(slow, 1.0, np.abs(along)))))

    def has(self, point: np.ndarray) -> bool:
        """Return whether the face has a point of its plane, or its edge does."""
        inside = np.abs(self.axes @ (point - self.middle)) <= self.half + _CLOSE
        return bool(np.all(inside)) and point[2] <= self.rim + _CLOSE


def corner_echoes(
    environment: Environment, origin: np.ndarray, max_range: float, frequency: float
) -> list[CornerEcho]:
    """Return the echoes of the corners of planes, boxes and level water that a sonar sees.

    Args:
        environment: water and scene.
        origin: (3,) of the sonar, map, m.
        max_range: m.
        frequency: kHz.
    """
    faces = [
        face
        for face in _faces(environment)
        if 0 < face.normal @ (origin - face.middle) <= max_range
    ]
    found = []
    for three in _perpendicular_threes(faces, origin):
        normals = np.stack([face.normal for face in three])
        away = np.array([face.normal @ (origin - face.middle) for face in three])
        distance = float(np.linalg.norm(away))
        corner = origin - away @ normals
        direction = (corner - origin) / distance
        if distance > max_range or not all(face.has(corner) for face in three):
            continue
        edges = _edges(three, corner, normals)
        if edges.min() <= 2 * _CLOSE:  # the outer corner of a box
            continue
        ahead = first_hits(environment, origin, direction[None], distance)
        if ahead.distance[0] < distance - _NEAR:
            continue
        wavelength = 1e-3 * SOUND_SPEED / frequency
        area = _aperture(edges, away / distance, 8 * math.sqrt(wavelength * distance))
        spread = min(area / wavelength, distance / 2) ** 2 / distance**4
        factor = math.prod(reflectivity(face.material) for face in three)
        found.append(CornerEcho(direction, distance, factor * spread))
    return found


def corner_detections(
    ping: SonarPing, received: Callable[[np.ndarray], np.ndarray]
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return range, m, energy and extent (b,) of the echo of each corner in the beams of a ping.

    Args:
        ping: where the sonar is.
        received: function of a direction (3,) in the frame of the sensor that returns the
            sensitivity (b,) of the beams to what is there.
    """
    sensor, state, environment, _, max_range, frequency, _ = ping
    turn = rotation_matrix(state.orientation) @ sensor.rotation
    origin = in_map(state.position, state.orientation, sensor.position[None, :])[0]
    loss = float(np.mean(local_absorption(environment, state, frequency)))
    echoes = []
    for echo in corner_echoes(environment, origin, max_range, frequency):
        apparent = echo.distance
        if environment.fields is not None:
            corner = origin + echo.distance * echo.direction
            apparent *= SOUND_SPEED / float(environment.mean_sound_speed(origin, corner))
        energy = received(echo.direction @ turn) * echo.intensity * 10 ** (-0.2 * loss * apparent)
        echoes.append((np.full_like(energy, apparent), energy, np.zeros_like(energy)))
    return echoes


def _faces(environment: Environment) -> Iterator[_Face]:
    """Yield the planes, the level surface of the water, and the sides of boxes."""
    endless = np.full(2, np.inf)
    scene = environment.scene
    planes = () if scene is None else scene.planes
    for plane in planes:
        axes = _axes(plane.normal)
        yield _Face(plane.point, plane.normal, axes, endless, plane.rim, plane.material)
    if environment.waves is None:
        surface = np.array([0.0, 0.0, float(environment.level)])
        down = np.array([0.0, 0.0, -1.0])
        yield _Face(surface, down, _axes(down), endless, np.inf, WATER_SURFACE)
    for box in () if scene is None else scene.obstacles:
        if box.kind == 'box':
            yield from _sides(box)


def _axes(normal: np.ndarray) -> np.ndarray:
    """Return two unit vectors (2, 3) across a normal and each other."""
    first = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    first = first / np.linalg.norm(first)
    return np.stack([first, np.cross(normal, first)])


def _sides(box: Obstacle) -> Iterator[_Face]:
    """Yield the six sides of a box."""
    axes, half = rotation_matrix(box.orientation).T, 0.5 * box.size
    for i, sign in itertools.product(range(3), (-1.0, 1.0)):
        others = [j for j in range(3) if j != i]
        middle = box.position + sign * half[i] * axes[i]
        yield _Face(middle, sign * axes[i], axes[others], half[others], np.inf, box.material)


def _perpendicular_threes(faces: list[_Face], origin: np.ndarray) -> Iterator[tuple[_Face, ...]]:
    """Yield three faces each that are perpendicular and meet by pairs, of those a sonar faces."""
    if len(faces) < 3:
        return
    middle, normal, axes, half = (
        np.stack(values) for values in list(zip(*faces, strict=True))[:4]
    )
    away = np.sum(normal * (origin - middle), axis=-1)
    first, second = np.nonzero(np.triu(np.abs(normal @ normal.T) <= _PERPENDICULAR, 1))
    edge = np.cross(normal[first], normal[second])
    foot = origin - away[first, None] * normal[first] - away[second, None] * normal[second]
    meets = np.zeros((len(faces),) * 2, bool)
    meets[first, second] = True
    for one in (first, second):
        # Across the edge, the face must have it; along it the third face decides.
        across = np.abs(np.einsum('pij,pj->pi', axes[one], edge)) <= _PERPENDICULAR
        at = np.abs(np.einsum('pij,pj->pi', axes[one], foot - middle[one]))
        meets[first, second] &= np.all(~across | (at <= half[one] + _CLOSE), axis=-1)
    for i, j in zip(*np.nonzero(meets), strict=True):
        for k in np.flatnonzero(meets[i] & meets[j]):
            yield faces[i], faces[j], faces[k]


def _edges(faces: tuple[_Face, ...], corner: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Return the lengths (3,) of the corner along the normals of its faces, m."""
    return np.array(
        [
            min(face.reach(corner, normals[i]) for j, face in enumerate(faces) if j != i)
            for i in range(3)
        ]
    )


def _aperture(edges: np.ndarray, view: np.ndarray, largest: float) -> float:
    """Return the area, m², through which sound comes in and goes out again by all three faces.

    Seen from the sonar the faces cover the outline of the box of the edges; sound that comes in
    on one side of the corner leaves on the other.

    Args:
        edges: (3,) along the axes of the corner, m.
        view: (3,) unit vector to the sonar, in these axes; all above 0.
        largest: edges count up to this, m.
    """
    edges = np.minimum(edges, largest)
    side = float(np.linalg.norm(edges))
    across = side * ((np.arange(_SAMPLES) + 0.5) / _SAMPLES * 2 - 1)
    points = np.stack(np.meshgrid(across, across), axis=-1).reshape(-1, 2) @ _axes(view)

    def covered(places: np.ndarray) -> np.ndarray:
        near, far = -places / view, (edges - places) / view
        return np.asarray(near.max(axis=-1) <= far.min(axis=-1))

    return float(np.mean(covered(points) & covered(-points))) * (2 * side) ** 2
