# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where ``map`` is on the Earth, and the magnetic field there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.yaml_file import YamlReader

__all__ = ['Origin', 'read_origin']

_KEYS = {'latitude', 'longitude', 'altitude', 'heading', 'date', 'magnetic_field'}


@dataclass(frozen=True)
class Origin:
    """Place and turn of ``map``, whose surface z = 0 is at the altitude.

    The default place is the home of ArduSub's SITL. Its field is that of the World Magnetic Model
    2025 there, 2026.0, so that the default needs no library.

    Attributes:
        latitude: degrees north, WGS84.
        longitude: degrees east.
        altitude: of the mean surface above the ellipsoid, m.
        heading: compass bearing of the y axis of map, degrees clockwise from true north; 0: map is
            east, north, up (REP 103).
        date: of the magnetic field, decimal year.
        field: magnetic flux density east, north, up, T; None: that of the World Magnetic Model.
    """

    latitude: float = 33.810313
    longitude: float = -118.393867
    altitude: float = 0.0
    heading: float = 0.0
    date: float = 2026.0
    field: tuple[float, float, float] | None = (4.7279512e-06, 2.34797255e-05, -3.90825793e-05)

    @property
    def turn(self) -> np.ndarray:
        """(3, 3) v_map = R v of east, north, up."""
        c, s = math.cos(math.radians(self.heading)), math.sin(math.radians(self.heading))
        return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])

    @property
    def magnetic_field(self) -> np.ndarray:
        """(3,) magnetic flux density in map, T: the same all over it.

        Raises:
            MissingPackageError: it has to be computed, and pygeomag is not installed.
            ParameterError: a date that the model does not cover.
        """
        field = self.field
        if field is None:
            field = _world_field(self.latitude, self.longitude, self.altitude, self.date)
        return np.asarray(self.turn @ np.array(field))


@lru_cache(maxsize=16)
def _world_field(
    latitude: float, longitude: float, altitude: float, date: float
) -> tuple[float, float, float]:
    """Return the field east, north, up, T, of the World Magnetic Model."""
    pygeomag = require('pygeomag', 'the magnetic field of a place')
    try:
        model = pygeomag.GeoMag(base_year=int(date))
        found = model.calculate(glat=latitude, glon=longitude, alt=altitude / 1000, time=date)
    except (ValueError, OSError) as error:
        raise ParameterError(f'origin: date {date:g}: {error}') from None
    return found.y * 1e-9, found.x * 1e-9, -found.z * 1e-9


def read_origin(reader: YamlReader) -> Origin:
    """Return the origin of an environment's file; without one the default.

    Raises:
        MarineSimError: one line with what, where, and what was expected.
    """
    if reader.value is None:
        return Origin()
    reader.mapping(_KEYS, {'latitude', 'longitude'})
    field = reader.child('magnetic_field')
    return Origin(
        reader.child('latitude').number(-90.0, 90.0),
        reader.child('longitude').number(-180.0, 180.0),
        reader.child('altitude', 0.0).number(-500.0, 9000.0),
        reader.child('heading', 0.0).number(-360.0, 360.0),
        reader.child('date', Origin.date).number(1900.0, 2100.0),
        None if field.value is None else tuple(field.vector(-1e-3, 1e-3).tolist()),
    )
