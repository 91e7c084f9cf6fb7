# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""NMEA 0183 over TCP: GGA, RMC and VTG of GPS, DPT of altimeters, MWV of anemometers.

Source: NMEA 0183 as in u-blox 8 / u-blox M8 receiver description UBX-13003221, section 31, and of
DPT and MWV gpsd, "NMEA Revealed". The port is the one registered for NMEA 0183 (IANA,
nmea-0183). Times count from 1970-01-01, as simulated stamps do.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from functools import reduce
from operator import xor

from marine_sim_ros.instruments.instrument import (
    Client,
    Instrument,
    InstrumentReading,
    WireProtocol,
)
from marine_sim_ros.sensors.anemometer import polar_wind

__all__ = ['NMEA', 'position_sentences', 'sentence', 'wind_sentence']

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
    """Return GGA, RMC and VTG of a fix.

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
    course = f'{round(math.degrees(math.atan2(east, north)) % 360.0, 3) % 360.0:.3f}'
    knots = f'{speed * KNOTS:.3f}'
    height = f'{altitude:.3f}', 'M', '0.0', 'M', '', ''
    return [
        sentence('GPGGA', clock, *coordinates, '1', '', '', *height),
        sentence('GPRMC', clock, 'A', *coordinates, knots, course, f'{utc:%d%m%y}', '', '', 'A'),
        sentence('GPVTG', course, 'T', '', 'M', knots, 'N', f'{speed * KILOMETRES:.3f}', 'K', 'A'),
    ]


def depth_sentence(reading: InstrumentReading) -> str:
    """Return DPT: depth below the transducer, m, empty without an echo; offset; range."""
    depth = float(reading.readings['range'])
    depth_text = f'{depth:.3f}' if math.isfinite(depth) else ''
    return sentence('SDDPT', depth_text, '0.0', f'{reading.sensor.spec.max_range:g}')


def wind_sentence(reading: InstrumentReading) -> str:
    """Return MWV: angle of the apparent wind, °, relative to the bow, and its speed, m/s."""
    speed, angle = (float(x) for x in polar_wind(reading.readings['wind']))
    return sentence('WIMWV', f'{round(angle, 1) % 360.0:.1f}', 'R', f'{speed:.2f}', 'M', 'A')


class NmeaTalker(Instrument):
    """The instrument; it listens to nothing, and so discards what clients send."""

    def receive(self, client: Client) -> bool:
        """Discard what came, such as corrections or settings."""
        client.received.clear()
        return False

    def report(self, reading: InstrumentReading) -> None:
        """Send the sentences of a reading."""
        if 'geodetic' in reading.readings:
            lines = position_sentences(reading)
        elif 'wind' in reading.readings:
            lines = [wind_sentence(reading)]
        else:
            lines = [depth_sentence(reading)]
        self.broadcast(''.join(lines).encode())


NMEA = WireProtocol(
    'nmea', ('gps', 'altimeter', 'anemometer'), 'tcp', 10110, NmeaTalker, 'NMEA 0183', serial=True
)
