# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Places on the WGS84 ellipsoid, and the plane that touches it at one of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, matvec, namespace

__all__ = ['FLATTENING', 'SEMI_MAJOR', 'TangentPlane', 'radii']

SEMI_MAJOR, FLATTENING = 6378137.0, 1 / 298.257223563
"""Of the WGS84 ellipsoid, m."""


def radii(latitude: Any) -> tuple[Any, Any]:
    """Return the radii of curvature of WGS84 north and of a circle of latitude, m, at degrees.

    Source: Torge 2001, Geodesy, section 4.1.1.
    """
    angle = np.radians(latitude)
    squared = FLATTENING * (2 - FLATTENING)
    root = np.sqrt(1 - squared * np.sin(angle) ** 2)
    north = SEMI_MAJOR * (1 - squared) / root**3
    return north, np.maximum(SEMI_MAJOR / root * np.cos(angle), 1.0)  # at a pole there is no east


def _geocentric(latitude: Any, longitude: Any, height: float) -> np.ndarray:
    """Return geocentric positions (..., 3), m, of angles (...) in rad and a height in m."""
    sine, ring = np.sin(latitude), np.cos(latitude)
    squared = FLATTENING * (2 - FLATTENING)
    normal = SEMI_MAJOR / np.sqrt(1 - squared * sine**2)
    x, y = ((normal + height) * ring * turn(longitude) for turn in (np.cos, np.sin))
    return np.stack(np.broadcast_arrays(x, y, (normal * (1 - squared) + height) * sine), axis=-1)


@dataclass(frozen=True)
class TangentPlane:
    """Plane of ``map``: it touches the ellipsoid at a place, moved up by the altitude.

    Attributes:
        latitude: of the origin, degrees.
        longitude: of the origin, degrees.
        altitude: of the plane above the ellipsoid, m.
        heading: compass bearing of the y axis, degrees clockwise from true north.
    """

    latitude: float
    longitude: float
    altitude: float = 0.0
    heading: float = 0.0

    @property
    def turn(self) -> np.ndarray:
        """(3, 3) v_map = R v of east, north, up."""
        c, s = math.cos(math.radians(self.heading)), math.sin(math.radians(self.heading))
        return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])

    def enu(self, vectors: Array) -> Array:
        """Return east, north, up of vectors (..., 3) in map."""
        return matvec(self.turn.T, vectors) if self.heading else vectors

    def in_map(self, vectors: Array) -> Array:
        """Return vectors (..., 3) in map of vectors east, north, up."""
        return matvec(self.turn, vectors) if self.heading else vectors

    def compass(self, yaw: float) -> float:
        """Return the compass heading, 0 to 360 degrees clockwise from north, of a yaw in map."""
        return (90.0 - math.degrees(yaw) + self.heading) % 360.0

    def yaw(self, compass: float) -> float:
        """Return the yaw in map, −π to π rad, of a compass heading in degrees."""
        return math.remainder(math.radians(90.0 - compass + self.heading), 2 * math.pi)

    @property
    def _horizon(self) -> tuple[np.ndarray, np.ndarray]:
        """(3,) geocentric position of the origin, m, and (3, 3) axes east, north, up as rows."""
        latitude, longitude = math.radians(self.latitude), math.radians(self.longitude)
        (s, c), (t, k) = ((math.sin(a), math.cos(a)) for a in (latitude, longitude))
        axes = np.array([[-t, k, 0.0], [-s * k, -s * t, c], [c * k, c * t, s]])
        return _geocentric(latitude, longitude, self.altitude), axes

    def geographic(self, east: Array, north: Array) -> tuple[Array, Array]:
        """Return latitude and longitude (...), degrees, of places (...) in m from the origin.

        Map is the plane that touches the WGS84 ellipsoid at the origin, at its altitude, as for a
        GPS receiver. Latitudes are exact to 1e-12 rad within 1000 km.

        Source: Bowring 1985, The accuracy of geodetic latitude and height equations.
        """
        xp, (place, axes) = namespace(east, north), self._horizon
        x, y, z = (
            p + east * e + north * n for p, e, n in zip(place, axes[0], axes[1], strict=True)
        )
        across, squared = xp.sqrt(x * x + y * y), FLATTENING * (2 - FLATTENING)
        reduced = xp.atan2(z, (1 - FLATTENING) * across)
        for _ in range(3):
            rise = z + SEMI_MAJOR * squared / (1 - FLATTENING) * xp.sin(reduced) ** 3
            latitude = xp.atan2(rise, across - SEMI_MAJOR * squared * xp.cos(reduced) ** 3)
            reduced = xp.atan2((1 - FLATTENING) * xp.sin(latitude), xp.cos(latitude))
        return latitude * (180 / math.pi), xp.atan2(y, x) * (180 / math.pi)

    def coordinates(self, points: Array) -> tuple[Array, Array]:
        """Return latitude and longitude (...), degrees, of the feet of points (..., 3) in map.

        Longitudes are within half a turn of that of the origin, so that they do not jump there.
        """
        local = self.enu(points)
        latitude, longitude = self.geographic(local[..., 0], local[..., 1])
        away = (longitude - self.longitude + 180.0) % 360.0 - 180.0
        return latitude, self.longitude + away

    def level(self, latitude: Any, longitude: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return east and north (...), m from the origin, of places (...) in degrees.

        It inverts :meth:`geographic`: where the normal of the ellipsoid at the place meets map.
        Beyond a quarter of the Earth there is none: NaN.
        """
        place, axes = self._horizon
        phi, turn = np.radians(latitude), np.radians(longitude)
        ring = np.cos(phi)
        normal = np.stack(
            np.broadcast_arrays(ring * np.cos(turn), ring * np.sin(turn), np.sin(phi)), axis=-1
        )
        foot, up = (_geocentric(phi, turn, 0.0) - place) @ axes.T, normal @ axes.T
        with np.errstate(divide='ignore', invalid='ignore'):
            reach = np.where(up[..., 2] > 0, -foot[..., 2] / up[..., 2], np.nan)
        found = foot[..., :2] + reach[..., None] * up[..., :2]
        return found[..., 0], found[..., 1]

    def place(self, east: float, north: float) -> tuple[float, float]:
        """Return latitude and longitude, degrees, of a place some m from the origin."""
        latitude, longitude = self.geographic(east, north)
        return float(latitude), float(longitude)

    def offset(self, latitude: float, longitude: float) -> tuple[float, float]:
        """Return east and north (m) of the origin of a place in degrees: undoes :meth:`place`."""
        east, north = self.level(latitude, longitude)
        return float(east), float(north)
