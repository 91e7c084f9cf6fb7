# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Position of ``map`` on the Earth, and the magnetic field there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.geodesy import TangentPlane
from marine_sim_ros.core.schema import REQUIRED, number
from marine_sim_ros.core.yaml_file import YamlReader

__all__ = ['Origin', 'read_origin']


@dataclass(frozen=True)
class Origin(TangentPlane):
    """Place and turn of ``map``, whose surface z = 0 is at the altitude.

    The default place is the home of ArduSub's SITL. Its field is that of the World Magnetic Model
    2025 there, 2026.0, so that the default needs no library.
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
        """(3,) magnetic flux density in map, T: the same all over it.

        Raises:
            MissingPackageError: it has to be computed, and pygeomag is not installed.
            ParameterError: a date that the model does not cover.
        """
        field = self.field
        if field is None:
            field = _world_field(self.latitude, self.longitude, self.altitude, self.date)
        return np.asarray(self.in_map(np.array(field)))


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
    return reader.read(Origin, latitude=REQUIRED, longitude=REQUIRED, field=None)
