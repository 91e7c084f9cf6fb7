# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""AIS transceiver: reports of the other vehicles of a run that carry one, as NMEA's VDM.

Source: ITU-R M.1371-5, annex 1 (reporting intervals, table 1) and annex 8 (messages 1, 5, 18 and
24); armouring by gpsd, "AIVDM/AIVDO protocol decoding". Times are simulated. A report is heard
whole and at once: collisions of slots, errors of the ships' receivers and terrain are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import xor
from typing import Any
from zlib import crc32

import numpy as np

from marine_sim_ros.core.geodesy import KNOT, Origin
from marine_sim_ros.core.schema import declaration, number
from marine_sim_ros.core.spatial import cross, in_map, rotation_matrix
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.scene.bodies import Body
from marine_sim_ros.sensors.gps import geodetic
from marine_sim_ros.sensors.sensor_model import (
    Readings,
    SensorInputs,
    SensorModel,
    SensorTopic,
    one_state_at_a_time,
)

__all__ = ['AIS', 'received_sentences']

_STATIC_INTERVAL = 360.0
"""s between reports of name and size."""
_MAX_TEXT = 4096
"""Characters of a reading; further reports of it are lost."""
_MAX_PAYLOAD = 60
"""Armoured characters of a sentence, which has 82 at most."""
_SIMULATED_STATIONS = 799_000_000
"""Country code 799 belongs to none."""


@declaration(frozen=True)
class Ais:
    """Parameters of an AIS transceiver."""

    mmsi: int = number(
        0, 0, 999_999_999, '', "number of the station; 0: one by the vehicle's name", whole=True
    )
    class_b: int = number(0, 0, 1, '', '1: class B; 0: class A', whole=True)
    ship_type: int = number(90, 0, 99, '', 'type of ship, as 36: sailing, 90: other', whole=True)
    length: float = number(0.0, 0.0, 1022.0, 'm', 'length of the vehicle; 0: not told')
    beam: float = number(0.0, 0.0, 126.0, 'm', 'beam of the vehicle; 0: not told')
    max_range: float = number(37e3, 1.0, 1e6, 'm', 'greatest range of the radio')


# Messages: fields of bits, six to a character.


def _bits(*fields: tuple[int, int]) -> tuple[int, int]:
    """Return the number and count of the bits of fields, each a value and its count of bits."""
    value = count = 0
    for part, size in fields:
        value = value << size | part & (1 << size) - 1
        count += size
    return value, count


def _text_bits(text: str, length: int) -> tuple[int, int]:
    """Return six bits for each character; what the alphabet lacks is a blank, the end is @.

    A text ends at its first @: readers differ in what they make of the rest.
    """
    codes = [ord(c) for c in text.upper()[:length].partition('@')[0]]
    known = [code & 63 if 32 <= code < 96 else 32 for code in codes]
    return _bits(*((code, 6) for code in known + [0] * (length - len(known))))


def _sentences(message: tuple[int, int], sequence: int) -> list[str]:
    """Return the VDM sentences of a message; several have a sequence number, 0 to 9."""
    value, count = message
    fill = -count % 6
    value <<= fill
    codes = [value >> shift & 63 for shift in range(count + fill - 6, -1, -6)]
    armour = ''.join(chr(code + (48 if code < 40 else 56)) for code in codes)
    parts = [armour[i : i + _MAX_PAYLOAD] for i in range(0, len(armour), _MAX_PAYLOAD)]
    number_text = str(sequence) if len(parts) > 1 else ''
    result = []
    for i, part in enumerate(parts, start=1):
        padding = fill if i == len(parts) else 0
        body = f'AIVDM,{len(parts)},{i},{number_text},A,{part},{padding}'
        result.append(f'!{body}*{reduce(xor, body.encode()):02X}\r\n')
    return result


@dataclass(frozen=True)
class _Station:
    """Another vehicle's transceiver at a tick; longitude and latitude in °, velocity in m/s."""

    spec: Ais
    mmsi: int
    name: str
    antenna: tuple[float, float]
    longitude: float
    latitude: float
    speed: float
    course: float
    heading: float
    turn: float

    @property
    def interval(self) -> float:
        """Seconds between its reports of position."""
        knots = self.speed / KNOT
        if self.spec.class_b:
            return 30.0 if knots > 2 else 180.0
        steps = ((23.0, 2.0), (14.0, 6.0))
        return next((interval for least, interval in steps if knots > least), 10.0)

    def position(self, time: float) -> tuple[int, int]:
        """Return message 1, or 18 of class B."""
        fix = (
            (min(round(self.speed / KNOT * 10), 1022), 10),
            (1, 1),
            (round(self.longitude * 600_000), 28),
            (round(self.latitude * 600_000), 27),
            (round(self.course * 10) % 3600, 12),
            (round(self.heading) % 360, 9),
            (int(time) % 60, 6),
        )
        if self.spec.class_b:  # carrier sense, band and message 22; radio status of carrier sense
            flags = (
                (0, 2),
                (1, 1),
                (0, 2),
                (1, 1),
                (1, 1),
                (0, 2),
                (0b1110_0000_0000_0000_0110, 20),
            )
            return _bits((18, 6), (0, 2), (self.mmsi, 30), (0, 8), *fix, *flags)
        rate = math.copysign(min(4.733 * math.sqrt(abs(self.turn)), 126.0), self.turn)
        return _bits(
            (1, 6), (0, 2), (self.mmsi, 30), (0, 4), (round(rate), 8), *fix,
            (0, 2), (0, 3), (0, 1), (0, 19),
        )  # fmt: skip

    def static(self) -> list[tuple[int, int]]:
        """Return message 5, or both parts of 24 of class B."""
        spec, (ahead, left) = self.spec, self.antenna
        size = [
            (min(max(round(part), 0), most), bits)
            for part, most, bits in (
                (spec.length / 2 - ahead, 511, 9),
                (spec.length / 2 + ahead, 511, 9),
                (spec.beam / 2 - left, 63, 6),
                (spec.beam / 2 + left, 63, 6),
            )
        ]
        if not spec.length or not spec.beam:
            size = [(0, bits) for _, bits in size]
        name, unknown = _text_bits(self.name, 20), _text_bits('', 7)
        kind = (int(spec.ship_type), 8)
        head = ((0, 2), (self.mmsi, 30))
        if spec.class_b:
            return [
                _bits((24, 6), *head, (0, 2), name, (0, 8)),
                _bits((24, 6), *head, (1, 2), kind, unknown, unknown, *size, (0, 6)),
            ]
        destination = _text_bits('', 20)
        voyage = ((1, 4), (0, 4), (0, 5), (24, 5), (60, 6), (0, 8), destination, (0, 1), (0, 1))
        return [_bits((5, 6), *head, (2, 2), (0, 30), unknown, name, kind, *size, *voyage)]


def _station(body: Body, sensor: Sensor, environment: Environment) -> tuple[_Station, np.ndarray]:
    """Return a vehicle's transceiver, and the place of its antenna in map, m."""
    origin: Origin = environment.origin
    place = in_map(body.position, body.orientation, sensor.position[None, :])[0]
    rotation = rotation_matrix(body.orientation)
    arm = cross(body.velocity[3:], sensor.position)
    east, north, _ = origin.enu(rotation @ (body.velocity[:3] + arm))
    latitude, longitude, _ = geodetic(origin, place)
    name, spec = body.name.strip('/'), sensor.spec
    return _Station(
        spec=spec,
        mmsi=int(spec.mmsi) or _SIMULATED_STATIONS + crc32(name.encode()) % 1_000_000,
        name=name,
        antenna=(float(sensor.position[0]), float(sensor.position[1])),
        longitude=float(longitude),
        latitude=float(latitude),
        speed=math.hypot(east, north),
        course=math.degrees(math.atan2(east, north)) % 360.0,
        heading=origin.compass(math.atan2(rotation[1, 0], rotation[0, 0])),
        turn=-math.degrees(float((rotation @ body.velocity[3:])[2])) * 60.0,
    ), place


def _is_due(time: float, since: float, interval: float, phase: float) -> bool:
    """Return whether a report of an interval is sent after one time and up to another, s."""
    return math.floor((time - phase) / interval) > math.floor((since - phase) / interval)


def _heard(sensor: Sensor, state: State, environment: Environment, time: float) -> Iterator[str]:
    """Yield the sentences that arrive between the reading before and this one."""
    own = in_map(state.position, state.orientation, sensor.position[None, :])[0]
    if own[2] <= float(environment.elevation(own)):
        return
    since = time - (sensor.period / NANOSECONDS or 1.0)
    for body in environment.bodies:
        for other in (s for s in body.sensors if s.kind == sensor.kind):
            station, place = _station(body, other, environment)
            reach = min(sensor.spec.max_range, other.spec.max_range)
            is_wet = place[2] <= float(environment.elevation(place))
            if is_wet or float(np.linalg.norm(place - own)) > reach:
                continue
            phase, sequence = station.mmsi % 10 + 0.5, station.mmsi % 10
            if _is_due(time, since, station.interval, phase):
                yield from _sentences(station.position(time), sequence)
            if _is_due(time, since, _STATIC_INTERVAL, phase):
                for message in station.static():
                    yield from _sentences(message, sequence)


@one_state_at_a_time
def _measure(
    sensor: Sensor, state: State, environment: Environment, inputs: SensorInputs
) -> Readings:
    """Return the characters of the sentences as numbers, then NaN; none: no reading."""
    text = ''
    for line in _heard(sensor, state, environment, float(inputs.time)):
        if len(text) + len(line) <= _MAX_TEXT:
            text += line
    codes = np.full(_MAX_TEXT, np.nan)
    codes[: len(text)] = list(text.encode())
    return {'sentences': codes}


def received_sentences(readings: Readings) -> str:
    """Return the sentences of a reading, each with its line's end."""
    codes = np.asarray(readings['sentences'])
    return bytes(codes[np.isfinite(codes)].astype(np.uint8)).decode()


def _fields(sensor: Sensor, readings: Readings) -> Mapping[str, Any]:
    del sensor
    return {'data': received_sentences(readings)}


AIS = SensorModel(
    'ais',
    _measure,
    spec=Ais,
    topics=(SensorTopic('sentences', 'std_msgs/msg/String', _fields),),
    sees=True,
    rate=1.0,
    label='AIS',
    exact='it sends what others report',
    quiet='no other vehicle reports',
)
