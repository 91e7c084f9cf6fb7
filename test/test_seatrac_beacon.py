# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""SeaTrac X110: two beacons in one water, read as the maker's interface document says.

Commands and fields were checked outside with the structures of BenWashburn1457/seatrac_driver,
commit a58f180. Ranges follow from c t/2.
"""

import struct

import numpy as np
import pytest
from conftest import vehicle_of
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros.core.registry import PROTOCOLS
from marine_sim_ros.instruments.instrument import InstrumentReading, ProtocolError
from marine_sim_ros.instruments.seatrac import SeaTracBeacon, command_line, message_of
from marine_sim_ros.sensors.modem import packet_readings
from marine_sim_ros.sensors.packet_network import Delivery

SECOND = 10**9
STEP = 5_000_000
"""ns of a tick."""
FIX = struct.Struct('<4B3hHHh')
RANGE = struct.Struct('<IiH')
NUMBER = 96
"""Place of the beacon's number in its settings of 110 bytes."""


class Client:
    def __init__(self, beacon):
        self.received, self.heard, self.beacon = bytearray(), [], beacon
        beacon.clients.append(self)

    def send(self, data):
        assert data.startswith(b'$')
        assert data.endswith(b'\r\n')
        self.heard.append(message_of(data.rstrip()))

    def ask(self, *message):
        """Send a command; return what comes at once."""
        self.heard.clear()
        self.received += command_line(bytes(message))
        while self.beacon.receive(self):
            pass
        return self.heard[-1] if self.heard else None


class Water:
    """Beacons by number, at one distance; a packet arrives after its airtime and its way."""

    def __init__(self, distance, *numbers):
        vehicle = vehicle_of('bluerov2', modem='true')
        self.sensor = next(s for s in vehicle.sensors if s.kind == 'modem')
        self.delay, self.stamp, self.moving = distance / 1500.0, 0, []
        make = PROTOCOLS['seatrac'].instrument
        self.clients = {}
        for number in numbers:
            client = Client(make(self.sensor))
            assert isinstance(client.beacon, SeaTracBeacon)
            settings = bytearray(client.ask(0x15)[1:])
            assert len(settings) == 110
            settings[NUMBER] = number
            assert client.ask(0x16, *settings) == bytes((0x16, 0))
            self.clients[number] = client

    def run(self, seconds):
        for client in self.clients.values():
            client.heard.clear()
        for _ in range(round(seconds * SECOND / STEP)):
            self.stamp += STEP
            for number, client in self.clients.items():
                if (packet := client.beacon.take_outgoing(self.stamp)) is not None:
                    air = self.sensor.spec.duration(len(packet))
                    came = self.stamp / SECOND + air + self.delay
                    self.moving.append((came, number, packet))
                if client.beacon.is_overdue(self.stamp):
                    client.beacon.expire()
            self._deliver()

    def _deliver(self):
        for entry in [e for e in self.moving if e[0] * SECOND <= self.stamp]:
            self.moving.remove(entry)
            came, sender, packet = entry
            delivery = Delivery('other', packet, np.nan, 12.5, came)
            readings = packet_readings(self.sensor.spec, delivery)
            for number, client in self.clients.items():
                if number != sender:
                    client.beacon.report(
                        InstrumentReading(self.stamp, self.stamp, readings, self.sensor)
                    )


def fix_of(message):
    """Return the fields of a fix, its range (m; None: none), and what follows it."""
    names = ['beacon', 'source', 'flags', 'kind', 'yaw', 'pitch', 'roll', 'depth', 'speed', 'rssi']
    fields = dict(zip(names, FIX.unpack_from(message, 1), strict=True))
    rest = message[1 + FIX.size :]
    if not fields['flags'] & 1:
        return fields, None, rest
    _, _, distance = RANGE.unpack_from(rest)
    return fields, distance / 10, rest[RANGE.size :]


@pytest.mark.parametrize('distance', [0.0, 12.3, 700.0])
def test_a_ping_has_the_range_and_the_other_beacon_hears_of_it(distance):
    water = Water(distance, 2, 7)
    two, seven = water.clients.values()
    assert two.ask(0x40, 7, 2) == bytes((0x40, 0, 7))
    assert two.ask(0x40, 7, 2) == bytes((0x40, 0x30, 7))  # busy
    water.run(5.0)
    (answer,), (request,) = two.heard, seven.heard
    fields, measured, rest = fix_of(answer)
    assert (answer[0], request[0], rest) == (0x42, 0x41, b'')
    assert (fields['beacon'], fields['source'], fields['kind']) == (2, 7, 3)
    assert measured == pytest.approx(distance, abs=0.051)
    assert fields['rssi'] == 125
    fields, none, _ = fix_of(request)
    assert (fields['beacon'], fields['source'], fields['kind'], none) == (7, 2, 2, None)


def test_data_goes_one_way_to_all_and_is_acknowledged_by_one():
    water = Water(30.0, 1, 2, 3)
    one, two, three = water.clients.values()
    data = bytes(range(30))
    assert one.ask(0x60, 0, 0, len(data), *data) == bytes((0x60, 0, 0))
    water.run(4.0)
    assert one.heard == []
    for client in (two, three):
        (message,) = client.heard
        _, measured, rest = fix_of(message)
        assert (message[0], measured, rest) == (0x61, None, bytes((0, 30)) + data + b'\1')
    assert one.ask(0x60, 3, 2, 2, 0x41, 0x42) == bytes((0x60, 0, 3))
    water.run(4.0)
    (acknowledged,) = one.heard
    _, measured, rest = fix_of(acknowledged)
    assert (acknowledged[0], rest) == (0x61, b'\1\0\1')
    assert measured == pytest.approx(30.0, abs=0.051)
    assert fix_of(three.heard[0])[2] == b'\0\2AB\1'
    assert fix_of(two.heard[0])[2] == b'\0\2AB\0'  # heard, but not for it


def test_an_answer_that_does_not_come_is_a_time_out():
    water = Water(30.0, 1, 2)
    one = water.clients[1]
    for command, error in (((0x40, 9, 2), 0x43), ((0x60, 9, 2, 0), 0x63)):
        assert one.ask(*command)[1] == 0
        water.run(20.0)
        assert one.heard == [bytes((error, 0x34, 9))]


@pytest.mark.parametrize(
    'command',
    [
        (0x40, 0, 2), (0x40, 1, 2), (0x40, 16, 2), (0x40, 2, 0), (0x40, 2, 9), (0x40, 2),
        (0x60, 2, 0, 3, 1, 2), (0x60, 2, 0, 31, *range(31)), (0x60, 0, 2, 0), (0x60,), (0x16, 1),
    ],
)  # fmt: skip
def test_a_wrong_command_is_refused_and_nothing_is_sent(command):
    water = Water(30.0, 1, 2)
    one, two = water.clients.values()
    assert one.ask(*command)[1] == 5
    water.run(3.0)
    assert two.heard == []


def test_the_beacon_names_itself():
    client = Water(1.0, 4).clients[4]
    seconds, section, part = struct.unpack_from('<IBH', client.ask(0x02), 1)
    assert (seconds, section, part) == (0, 1, 843)
    assert client.ask(0x01) == bytes((1, 0, 0, 0, 0))
    assert client.ask(0x18) == bytes((0x18, 0))
    assert client.ask(0x19) == bytes((0x19, 0))
    assert client.ask(0x15)[1 + NUMBER] == 1
    assert client.ask(0x30) == bytes((0x30, 1))


@given(st.binary(max_size=40), st.lists(st.integers(0, 255), max_size=32))
def test_any_bytes_of_clients_and_of_the_water_are_survived(line, packet):
    beacon = SHARED.clients[2].beacon
    client = Client(beacon)
    client.received += line + b'\r'
    try:
        while beacon.receive(client):
            pass
    except ProtocolError:
        pass
    delivery = Delivery('other', bytes(packet), np.nan, 3.0, 1.0)
    readings = packet_readings(SHARED.sensor.spec, delivery)
    beacon.report(InstrumentReading(1, 1, readings, SHARED.sensor))
    beacon.take_outgoing(STEP)
    beacon.clients.clear()


SHARED = Water(10.0, 2)
