# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Positions that others tell an autopilot in a GPS receiver's place (GPS_INPUT).

Under water they are those of a USBL; at the surface those of the vehicle's GPS receiver, if it
has one. The autopilot wants five a second, so that a slower sensor's last position is repeated, as
long as it is known.
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
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sensors.gps import geodetic
from marine_sim_ros.sensors.partners import partner_of
from marine_sim_ros.sensors.series import due

__all__ = ['Fix', 'Fixes']

PERIOD = 200_000_000
"""ns between two messages: an autopilot takes a receiver that is slower for an unhealthy one."""


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
        """Find them among the instruments.

        Raises:
            ParameterError: the vehicle has no USBL.
        """
        if instruments.usbl is None:
            raise ParameterError(
                f'navigation is usbl, and {vehicle.name} has none; expected a <sensor '
                'type="usbl">, as of a BlueROV2 with --set usbl:=true'
            )
        if carrier := partner_of(instruments.usbl.sensor):
            raise ParameterError(
                f'navigation is usbl, and the transceiver is on vehicle {carrier!r}; expected one '
                'that is fixed in map, or another navigation'
            )
        self._usbl, self._receiver = instruments.usbl, instruments.receiver
        self._before = -1

    def at(self, stamp: int, state: State, environment: Environment) -> Fix | None:
        """Return the position that is due at a stamp (ns); None: none is, or none is known.

        Args:
            stamp: time of the tick, ns, which the instruments have sensed.
            state: state of the vehicle; of it, the transponder's lever arm takes the attitude.
            environment: around it.
        """
        before, self._before = self._before, stamp
        if not due(PERIOD, stamp, before):
            return None
        fix = self._received() or self._tracked(state, environment)
        return None if fix is None else Fix(stamp, *fix)

    def _received(self) -> tuple[float, float, float, float] | None:
        """Return latitude, longitude, altitude and accuracy of the GPS receiver."""
        if self._receiver is None or (readings := self._receiver.readings) is None:
            return None
        return _finite(readings['geodetic'], self._receiver.sensor.spec.horizontal_noise)

    def _tracked(
        self, state: State, environment: Environment
    ) -> tuple[float, float, float, float] | None:
        """Return the same of the USBL, moved to ``base_link``."""
        if (readings := self._usbl.readings) is None:
            return None
        sensor = self._usbl.sensor
        arm = rotation_matrix(state.orientation) @ sensor.position
        away = float(readings['polar'][0]) * sensor.spec.bearing_noise
        place = geodetic(environment.origin, readings['position'] - arm)
        return _finite(place, math.hypot(sensor.spec.range_noise, away))


def _finite(place: np.ndarray, accuracy: float) -> tuple[float, float, float, float] | None:
    """Return the place and its accuracy; None: it is not known."""
    if not np.all(np.isfinite(place)):
        return None
    latitude, longitude, altitude = np.asarray(place).tolist()
    return latitude, longitude, altitude, accuracy
