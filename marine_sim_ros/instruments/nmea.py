# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""NMEA 0183: position and time, heading, depth, wind, other vessels.

GGA, RMC, VTG and ZDA of GPS; HDT and ROT of an IMU that estimates its attitude; HDG of a
magnetometer; DPT and DBT of altimeters; MWV of anemometers; VDM of AIS transceivers.

Source: NMEA 0183 as in u-blox 8 / u-blox M8 receiver description UBX-13003221, section 31, and of
the other sentences gpsd, "NMEA Revealed". The port is the one registered for NMEA 0183 (IANA,
nmea-0183). Times count from 1970-01-01, as simulated stamps do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from functools import reduce
from operator import xor

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.instruments.instrument import (
    Client,
    Instrument,
    InstrumentReading,
    WireProtocol,
)
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.ais import received_sentences
from marine_sim_ros.sensors.anemometer import polar_wind

__all__ = ['NMEA', 'position_sentences', 'sentence', 'wind_sentence']

FOOT = 0.3048
"""m; a fathom is six."""
KNOTS, KILOMETRES = 3600 / 1852, 3.6
"""Knots and km/h of a m/s."""
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def sentence(*fields: str) -> str:
    """Return a sentence of its fields: its checksum is the exclusive or of the bytes between."""
    body = ','.join(fields)
    return f'${body}*{reduce(xor, body.encode()):02X}\r\n'


def _angle(degrees: float, letters: str, width: int) -> tuple[str, str]:
    """Return whole degrees and minutes of an angle, to 1e-7 of a minute, and its letter."""
    ticks = round(abs(degrees) * 60 * 10**7)
    degrees_part, remainder = divmod(ticks, 60 * 10**7)
    minutes, part = divmod(remainder, 10**7)
    return f'{degrees_part:0{width}d}{minutes:02d}.{part:07d}', letters[degrees < 0]


def position_sentences(reading: InstrumentReading) -> list[str]:
    """Return GGA, RMC, VTG and ZDA of a fix.

    Numbers of satellites and dilutions of precision are not simulated: empty. The separation of
    the geoid is 0: altitudes are those above the ellipsoid.
    """
    latitude, longitude, altitude = map(float, reading.readings['geodetic'])
    east, north, _ = map(float, reading.readings['velocity'])
    # Whole milliseconds, as rounded time in the date too.
    utc = _EPOCH + timedelta(milliseconds=round(reading.stamp / 1e6))
    clock = f'{utc:%H%M%S}.{utc.microsecond // 1000:03d}'
    coordinates = *_angle(latitude, 'NS', 2), *_angle(longitude, 'EW', 3)
    speed = math.hypot(east, north)
    course = _bearing(math.degrees(math.atan2(east, north)), 3)
    knots = f'{speed * KNOTS:.3f}'
    height = f'{altitude:.3f}', 'M', '0.0', 'M', '', ''
    return [
        sentence('GPGGA', clock, *coordinates, '1', '', '', *height),
        sentence('GPRMC', clock, 'A', *coordinates, knots, course, f'{utc:%d%m%y}', '', '', 'A'),
        sentence('GPVTG', course, 'T', '', 'M', knots, 'N', f'{speed * KILOMETRES:.3f}', 'K', 'A'),
        sentence('GPZDA', clock, *f'{utc:%d %m %Y}'.split(), '00', '00'),
    ]


def depth_sentences(reading: InstrumentReading) -> list[str]:
    """Return DPT and DBT: depth below the transducer, empty without an echo.

    DPT has it in m, the offset, and the greatest range; DBT in feet, m and fathoms.
    """
    depth = float(reading.readings['range'])
    known = math.isfinite(depth)
    metres, feet, fathoms = (
        f'{depth / unit:.3f}' if known else '' for unit in (1.0, FOOT, 6 * FOOT)
    )
    return [
        sentence('SDDPT', metres, '0.0', f'{reading.sensor.spec.max_range:g}'),
        sentence('SDDBT', feet, 'f', metres, 'M', fathoms, 'F'),
    ]


def heading_sentences(reading: InstrumentReading) -> list[str]:
    """Return HDT and ROT: true heading of the sensor's x axis, °, and its rate, °/min.

    The rate is positive where the bow turns to starboard.
    """
    rotation = rotation_matrix(np.asarray(reading.readings['orientation']))
    yaw = math.atan2(rotation[1, 0], rotation[0, 0])
    compass = 90.0 - math.degrees(yaw) + reading.heading
    rates = rotation @ np.asarray(reading.readings['angular_velocity'])
    # ψ̇ of x = R e: (x × ẋ)_z / |x in the level|².
    ahead = rotation[:, 0]
    level = ahead[0] ** 2 + ahead[1] ** 2
    turn = rates[2] - ahead[2] * (rates[0] * ahead[0] + rates[1] * ahead[1]) / max(level, 1e-9)
    return [
        sentence('HEHDT', _bearing(compass, 2), 'T'),
        sentence('HEROT', f'{-math.degrees(turn) * 60:.1f}', 'A'),
    ]


def compass_sentences(reading: InstrumentReading) -> list[str]:
    """Return HDG: magnetic heading, °, of a two-axis compass, which is right while it is level.

    Deviation and variation are not corrected: empty.
    """
    ahead, left, _ = map(float, reading.readings['magnetic_field'])
    compass = math.degrees(math.atan2(left, ahead))
    return [sentence('HCHDG', _bearing(compass, 2), '', '', '', '')]


def _bearing(degrees: float, decimals: int) -> str:
    """Return the text of an angle of 0 up to 360°."""
    return f'{round(degrees % 360.0, decimals) % 360.0:.{decimals}f}'


def wind_sentence(reading: InstrumentReading) -> str:
    """Return MWV: angle of the apparent wind, °, relative to the bow, and its speed, m/s."""
    speed, angle = (float(x) for x in polar_wind(reading.readings['wind']))
    return sentence('WIMWV', _bearing(angle, 1), 'R', f'{speed:.2f}', 'M', 'A')


_SENTENCES: Mapping[str, Callable[[InstrumentReading], list[str]]] = {
    'gps': position_sentences,
    'altimeter': depth_sentences,
    'anemometer': lambda reading: [wind_sentence(reading)],
    'ais': lambda reading: [received_sentences(reading.readings)],
    'imu': heading_sentences,
    'magnetometer': compass_sentences,
}
"""Sentences of a reading by kind of sensor."""


class NmeaTalker(Instrument):
    """The instrument; it listens to nothing, and so discards what clients send."""

    def __init__(self, sensor: Sensor) -> None:
        """Begin to talk.

        Raises:
            ParameterError: an IMU that estimates no attitude, and so has no heading.
        """
        super().__init__(sensor)
        if sensor.kind == 'imu' and not sensor.spec.orientation:
            raise ParameterError(
                f'protocol nmea: {sensor.name} has no heading; expected an IMU with '
                '<orientation>1</orientation>, as of --set imu_orientation:=true'
            )

    def receive(self, client: Client) -> bool:
        """Discard what came, such as corrections or settings."""
        client.received.clear()
        return False

    def report(self, reading: InstrumentReading) -> None:
        """Send the sentences of a reading."""
        lines = _SENTENCES[self.sensor.kind](reading)
        self.broadcast(''.join(lines).encode())


NMEA = WireProtocol('nmea', tuple(_SENTENCES), 'tcp', 10110, NmeaTalker, 'NMEA 0183', serial=True)
