# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Geodesy: positions on the WGS84 ellipsoid, the tangent plane of ``map``, its magnetic field."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, matvec, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.schema import REQUIRED, declaration, number
from marine_sim_ros.core.yaml_file import YamlReader

__all__ = [
    'FLATTENING',
    'KNOT',
    'SEMI_MAJOR',
    'DefaultOrigin',
    'GeographicPosition',
    'Origin',
    'TangentPlane',
    'graticule',
    'radii',
    'read_origin',
    'replace_geographic',
]

SEMI_MAJOR, FLATTENING = 6378137.0, 1 / 298.257223563
"""Semi-major axis of the WGS84 ellipsoid, m, and its flattening."""
KNOT = 1852 / 3600
"""m/s."""


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
    x, y = (
        (normal + height) * ring * trigonometric(longitude) for trigonometric in (np.cos, np.sin)
    )
    return np.stack(np.broadcast_arrays(x, y, (normal * (1 - squared) + height) * sine), axis=-1)


@declaration(frozen=True)
class TangentPlane:
    """Tangent plane of ``map`` at a point of the ellipsoid, raised by the altitude.

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
        xp, (origin, axes) = namespace(east, north), self._horizon
        x, y, z = (
            p + east * e + north * n for p, e, n in zip(origin, axes[0], axes[1], strict=True)
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
        origin, axes = self._horizon
        phi, longitude_angle = np.radians(latitude), np.radians(longitude)
        ring = np.cos(phi)
        normal = np.stack(
            np.broadcast_arrays(
                ring * np.cos(longitude_angle), ring * np.sin(longitude_angle), np.sin(phi)
            ),
            axis=-1,
        )
        foot, up = (_geocentric(phi, longitude_angle, 0.0) - origin) @ axes.T, normal @ axes.T
        with np.errstate(divide='ignore', invalid='ignore'):
            reach = np.where(up[..., 2] > 0, -foot[..., 2] / up[..., 2], np.nan)
        horizontal = foot[..., :2] + reach[..., None] * up[..., :2]
        return horizontal[..., 0], horizontal[..., 1]

    def place(self, east: float, north: float) -> tuple[float, float]:
        """Return latitude and longitude, degrees, of a point in m from the origin."""
        latitude, longitude = self.geographic(east, north)
        return float(latitude), float(longitude)

    def offset(self, latitude: float, longitude: float) -> tuple[float, float]:
        """Return east and north (m) of the origin of a place in degrees: undoes :meth:`place`."""
        east, north = self.level(latitude, longitude)
        return float(east), float(north)


# Origin of ``map`` on the Earth, and its magnetic field.


@declaration(frozen=True)
class Origin(TangentPlane):
    """Origin and heading of ``map``, whose surface z = 0 is at the altitude.

    The default position is the home of ArduSub's SITL. Its field is that of the World Magnetic
    Model 2025 at 2026.0, stored here so that the default needs no library.
    """

    latitude: float = number(33.810313, -90.0, 90.0, '°', 'latitude of the origin, WGS84')
    longitude: float = number(-118.393867, -180.0, 180.0, '°', 'longitude of the origin')
    altitude: float = number(
        0.0, -500.0, 9000.0, 'm', 'height of the mean surface above the ellipsoid'
    )
    heading: float = number(
        0.0, -360.0, 360.0, '°', 'compass bearing of the y axis of `map`, clockwise from true '
        'north; 0: `map` is east, north, up (REP 103)',
    )  # fmt: skip
    date: float = number(2026.0, 1900.0, 2100.0, 'year', 'decimal year of the magnetic field')
    field: tuple[float, float, float] | None = number(
        (4.7279512e-06, 2.34797255e-05, -3.90825793e-05), -1e-3, 1e-3, 'T',
        'magnetic flux density east, north, up, by default of the World '
        'Magnetic Model there', name='magnetic_field',
    )  # fmt: skip

    @property
    def magnetic_field(self) -> np.ndarray:
        """(3,) uniform magnetic flux density in map, T.

        Raises:
            MissingPackageError: it has to be computed, and pygeomag is not installed.
            ParameterError: a date that the model does not cover.
        """
        field = self.field
        if field is None:
            field = _world_field(self.latitude, self.longitude, self.altitude, self.date)
        return np.asarray(self.in_map(np.array(field)))


@declaration(frozen=True)
class DefaultOrigin(Origin):
    """Origin of an environment that has none, for what needs some place on the Earth."""


@lru_cache(maxsize=16)
def _world_field(
    latitude: float, longitude: float, altitude: float, date: float
) -> tuple[float, float, float]:
    """Return the field east, north, up, T, of the World Magnetic Model."""
    pygeomag = require('pygeomag', 'the magnetic field of a place')
    try:
        model = pygeomag.GeoMag(base_year=int(date))
        result = model.calculate(glat=latitude, glon=longitude, alt=altitude / 1000, time=date)
    except (ValueError, OSError) as error:
        raise ParameterError(f'origin: date {date:g}: {error}') from None
    return result.y * 1e-9, result.x * 1e-9, -result.z * 1e-9


def read_origin(reader: YamlReader) -> Origin:
    """Return the origin of an environment's file; without one the default.

    Raises:
        MarineSimError: one line with what, where, and what was expected.
    """
    if reader.value is None:
        return DefaultOrigin()
    return reader.read(Origin, latitude=REQUIRED, longitude=REQUIRED, field=None)


# Graticule of a chart.

_STEPS = (
    1 / 3600, 2 / 3600, 5 / 3600, 10 / 3600, 15 / 3600, 30 / 3600, 1 / 60, 2 / 60, 5 / 60, 10 / 60,
    15 / 60, 30 / 60, 1.0, 2.0, 5.0, 10.0,
)  # fmt: skip
"""Distances of the lines of a graticule, degrees."""


class GraticuleLine(NamedTuple):
    """A parallel or a meridian; points (n, 2) in map, m."""

    label: str
    is_parallel: bool
    points: np.ndarray


def _graticule_step(span: float) -> float:
    """Return a step of whole seconds, minutes or degrees that divides a span, °, by about four."""
    return min(_STEPS, key=lambda step: abs(math.log(step / max(span / 4, 1e-9))))


def _graticule_label(value: float, sides: str) -> str:
    """Return an angle in degrees, minutes and seconds, such as 59°54'30"N.

    Args:
        value: degrees.
        sides: letters of positive and negative angles, ``NS`` or ``EW``.
    """
    seconds = round(abs(value) * 3600)
    degrees, minutes, rest = seconds // 3600, seconds // 60 % 60, seconds % 60
    text = f"{degrees}°{minutes:02d}'" + (f'{rest:02d}"' if rest else '')
    return text + sides[value < 0]


def graticule(origin: Origin, low: np.ndarray, high: np.ndarray) -> list[GraticuleLine]:
    """Return parallels and meridians over a rectangle of map, whose corners (2,) are in m."""
    sides = np.linspace(0.0, 1.0, 33)
    edge = np.concatenate([
        np.stack([low[0] + (high[0] - low[0]) * sides, np.full(33, y)], axis=-1)
        for y in np.linspace(low[1], high[1], 5)
    ])  # fmt: skip
    latitudes, longitudes = origin.coordinates(np.column_stack([edge, np.zeros(len(edge))]))
    lines = []
    for values, others, is_parallel in (
        (latitudes, longitudes, True), (longitudes, latitudes, False),
    ):  # fmt: skip
        step = _graticule_step(float(np.ptp(values)))
        along = np.linspace(others.min(), others.max(), 65)
        for count in range(math.ceil(values.min() / step), math.floor(values.max() / step) + 1):
            value = count * step
            pair = (value, along) if is_parallel else (along, value)
            east, north = np.broadcast_arrays(*origin.level(*pair))
            points = origin.in_map(np.column_stack([east, north, np.zeros(len(along))]))[:, :2]
            label = _graticule_label(value, 'NS' if is_parallel else 'EW')
            lines.append(GraticuleLine(label, is_parallel, points))
    return lines


# Positions by latitude and longitude in files.

_REACH = 1e6
"""Greatest distance of a position from the origin in each axis of map, m."""


@declaration(frozen=True)
class GeographicPosition:
    """A position on the Earth, in place of x, y and z of ``map``."""

    latitude: float = number(REQUIRED, -90.0, 90.0, '°', 'latitude, WGS84')
    longitude: float = number(REQUIRED, -180.0, 180.0, '°', 'longitude')
    depth: float = number(REQUIRED, -1e4, 1.2e4, 'm', 'depth below z = 0 of map')

    def in_map(self, origin: Origin) -> tuple[float, float, float]:
        """Return x, y and z in map, m.

        Raises:
            ParameterError: it is farther than 1000 km from the origin.
        """
        east, north = origin.offset(self.latitude, self.longitude)
        x, y, _ = (float(v) for v in origin.in_map(np.array([east, north, 0.0])))
        if not (abs(x) <= _REACH and abs(y) <= _REACH):  # also of NaN
            raise ParameterError(
                f'latitude {self.latitude:g}, longitude {self.longitude:g} is more than 1000 km '
                f"from the environment's origin at {origin.latitude:g}, {origin.longitude:g}; "
                'expected a place within'
            )
        return x, y, -self.depth


def replace_geographic(reader: YamlReader, origin: Callable[[YamlReader], Origin]) -> Any:
    """Return the value of a reader with x, y, z in place of each geographic position in it.

    Args:
        reader: mapping or list of any depth; a mapping with a latitude is a position.
        origin: function that returns the origin for the reader of a position, or raises.

    Raises:
        MarineSimError: one line with what, where, and what was expected.
    """
    value = reader.value
    if isinstance(value, list):
        return [replace_geographic(item, origin) for item in reader.items()]
    if not isinstance(value, dict):
        return value
    if 'latitude' not in value:
        return {key: replace_geographic(reader.child(key), origin) for key in value}
    position = reader.read(GeographicPosition)
    try:
        return list(position.in_map(origin(reader)))
    except ParameterError as error:
        raise reader.error(f': {error}') from None
