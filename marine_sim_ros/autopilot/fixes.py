# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Positions that others tell an autopilot in a GPS receiver's place (GPS_INPUT).

Under water they are those of a USBL; at the surface those of the vehicle's GPS receiver, if it
has one. The autopilot wants five a second, so that a slower sensor's last position is repeated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from marine_sim_ros.autopilot.instruments import Instruments
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Sensor, Vehicle
from marine_sim_ros.sensors.gps import geodetic
from marine_sim_ros.sensors.series import due

__all__ = ['Fix', 'Fixes']

PERIOD = 200_000_000
"""ns between two messages: an autopilot takes a receiver that is slower for an unhealthy one."""
LONGEST = 3_000_000_000
"""ns for which a position is repeated."""


@dataclass(frozen=True)
class Fix:
    """A position.

    Attributes:
        stamp: time at which it is told, ns.
        latitude: degrees.
        longitude: degrees.
        altitude: m.
        accuracy: horizontal standard deviation, m.
    """

    stamp: int
    latitude: float
    longitude: float
    altitude: float
    accuracy: float


class Fixes:
    """The positions of a vehicle's USBL and GPS receiver."""

    def __init__(self, vehicle: Vehicle, instruments: Instruments) -> None:
        """Find the first of each.

        Raises:
            ParameterError: the vehicle has no USBL.
        """
        self._instruments = instruments
        found = {sensor.kind: sensor for sensor in reversed(vehicle.sensors)}
        if 'usbl' not in found:
            raise ParameterError(
                f'navigation is usbl, and {vehicle.name} has none; expected a <sensor '
                'type="usbl">, as of a BlueROV2 with --set usbl:=true'
            )
        self._usbl, self._receiver = found['usbl'], found.get('gps')
        self._before = -1
        self._last: Fix | None = None

    def at(self, stamp: int, state: State, environment: Environment) -> Fix | None:
        """Return the position that is due at a stamp (ns); None: none is, or none is known.

        Args:
            stamp: time of the tick, ns.
            state: state of the vehicle.
            environment: around it.
        """
        before, self._before = self._before, stamp
        if stamp < before:  # the run was reset
            before, self._last = -1, None
        for sensor in filter(None, (self._usbl, self._receiver)):
            if due(sensor.period, stamp, before):
                self._last = self._read(sensor, stamp, state, environment) or self._last
        last = self._last
        if last is None or stamp - last.stamp > LONGEST or not due(PERIOD, stamp, before):
            return None
        return Fix(stamp, last.latitude, last.longitude, last.altitude, last.accuracy)

    def _read(
        self, sensor: Sensor, stamp: int, state: State, environment: Environment
    ) -> Fix | None:
        """Return what a sensor measures; None: nothing."""
        readings = self._instruments.read(sensor, stamp, state, environment)
        if sensor is self._receiver:
            place, accuracy = readings['geodetic'], sensor.spec.horizontal_noise
        else:
            arm = rotation_matrix(state.orientation) @ sensor.position
            place = geodetic(environment.origin, readings['position'] - arm)
            away = float(readings['polar'][0]) * sensor.spec.bearing_noise
            accuracy = math.hypot(sensor.spec.range_noise, away)
        if not np.all(np.isfinite(place)):
            return None
        latitude, longitude, altitude = np.asarray(place).tolist()
        return Fix(stamp, latitude, longitude, altitude, accuracy)
