# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""SeaTrac X150: pings, and fixes that are the readings of a USBL."""

import math

import numpy as np
import pytest
from conftest import vehicle_of

from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.instruments.instrument import InstrumentReading, ProtocolError
from marine_sim_ros.instruments.seatrac import SeaTrac, crc16
from marine_sim_ros.sensors import SensorInputs
from marine_sim_ros.sensors.series import SensorReader

FIELDS = {
    'FLAGS': (7, 9, 1), 'MSG_TYPE': (9, 11, 1), 'YAW': (11, 15, 10), 'PITCH': (15, 19, 10),
    'DEPTH_LOCAL': (23, 27, 10), 'VOS': (27, 31, 10), 'TIME': (43, 51, 1e7),
    'DIST': (51, 55, 10), 'CHANNELS': (55, 57, 1), 'AZIMUTH': (73, 77, 10),
    'ELEVATION': (77, 81, 10), 'EAST': (85, 89, 10), 'NORTH': (89, 93, 10),
    'DEPTH': (93, 97, 10),
}  # fmt: skip
"""Digits of a line, and the divisor of a field, as the fetched client has them."""


class Client:
    """A client that keeps what it is sent."""

    def __init__(self):
        self.received, self.lines = bytearray(), []

    def send(self, data):
        self.lines += data.decode().split('\r\n')[:-1]


def signed(message):
    """Return the digits of a message and its checksum."""
    return (message + crc16(message).to_bytes(2, 'little')).hex()


def decode(line):
    result = {}
    for name, (first, end, divisor) in FIELDS.items():
        data = bytes.fromhex(line[first:end])
        result[name] = int.from_bytes(data, 'little', signed=len(data) > 1) / divisor
    return result


@pytest.fixture
def rig():
    vehicle = vehicle_of('bluerov2', usbl='true')
    sensor = next(s for s in vehicle.sensors if s.kind == 'usbl')
    instrument, client = SeaTrac(sensor), Client()
    instrument.clients.append(client)

    def read(position, heading=0.0):
        state = State(np.array(position), quaternion_from_rpy(0, 0, 0.3), np.zeros(6))
        water = load_environment('shallow_sand').at(0.0)
        stamp = sensor.period
        found = SensorReader(sensor, 3).read(stamp, state, water, SensorInputs.none(1.0), ())
        if found is None:  # the ticks go on
            assert not instrument.is_overdue(2 * stamp)
            assert instrument.is_overdue(stamp * 5)
            instrument.expire()
            return None
        instrument.report(InstrumentReading(stamp, stamp, found[1], sensor, heading))
        return found[1]

    def say(text):
        client.received += text
        while instrument.receive(client):
            pass

    return client, read, say


def test_the_checksum_is_that_of_the_published_ping():
    assert crc16(bytes.fromhex('400106')) == 0x4680  # "#4001068046", low byte first


@pytest.mark.parametrize('heading', [0.0, 30.0])
def test_a_ping_is_answered_by_the_next_reading(rig, heading):
    client, read, say = rig
    say(b'#4001068046\r\n')
    assert client.lines == ['$' + signed(b'\x40\x00\x01').upper()]
    readings = read((30.0, -40.0, -4.0), heading)
    line = client.lines[-1]
    assert line.startswith('$420F01')
    assert crc16(bytes.fromhex(line[1:-4])) == int.from_bytes(bytes.fromhex(line[-4:]), 'little')
    found, polar = decode(line), readings['polar']
    assert (found['FLAGS'], found['MSG_TYPE'], found['CHANNELS']) == (15, 7, 4)
    assert found['DIST'] == pytest.approx(polar[0], abs=0.051)
    assert found['TIME'] * found['VOS'] == pytest.approx(polar[0], abs=1e-3)
    assert found['AZIMUTH'] == pytest.approx(-math.degrees(polar[1]), abs=0.051)
    assert found['ELEVATION'] == pytest.approx(math.degrees(polar[2]), abs=0.051)
    assert found['DEPTH'] == pytest.approx(-readings['position'][2], abs=0.051)
    assert found['DEPTH_LOCAL'] == 1.0
    # Bearing of the fix by compass, from front and azimuth, and from east and north.
    by_front = (found['YAW'] + found['AZIMUTH']) % 360
    by_position = math.degrees(math.atan2(found['EAST'], found['NORTH'])) % 360
    assert by_front == pytest.approx(by_position, abs=0.3)
    assert len(client.lines) == 2
    read((30.0, -40.0, -4.0))
    assert len(client.lines) == 2  # a ping is answered once


def test_a_vehicle_out_of_the_water_and_a_beacon_that_is_not_there_time_out(rig):
    client, read, say = rig
    say(b'#4001068046\r\n')
    read((3.0, 0.0, 1.0))
    assert client.lines[-1].startswith('$433401')
    say(b'#' + signed(b'\x40\x05\x02').encode() + b'\n')
    read((3.0, 0.0, -1.0))
    assert client.lines[-1].startswith('$433405')


def test_wrong_commands_are_refused(rig):
    client, _, say = rig
    for message, answer in ((b'\x11', '$1101'), (b'\x40\x01\x09', '$400501'), (b'\x01', '$01')):
        say(b'#' + signed(message).encode() + b'\r\n')
        assert client.lines[-1].startswith(answer)
    for line in (b'#4001068047\r\n', b'$4001\r\n', b'#zz\r\n'):
        with pytest.raises(ProtocolError):
            say(line)
