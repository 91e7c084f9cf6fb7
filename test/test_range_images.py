# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sonar 3D-15: packets of RIP1 and RIP2, read by Water Linked's client and by protobuf's rules."""

import socket
import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest
from conftest import vehicle_of

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.registry import PROTOCOLS
from marine_sim_ros.instruments.instrument import InstrumentReading
from marine_sim_ros.instruments.server import InstrumentServer
from marine_sim_ros.sensors.addresses import ProtocolAddress, read_protocol
from marine_sim_ros.sensors.sonar_3d import beam_grid

WAIT = 20.0
RESOLUTION = 15.0 / 16383


@pytest.fixture(scope='module')
def sensor():
    vehicle = vehicle_of('bluerov2', sonar_3d='true')
    return next(s for s in vehicle.sensors if s.kind == 'sonar_3d')


@pytest.fixture(scope='module')
def reading(sensor):
    """Ranges of all sizes, and beams without an echo."""
    ranges = np.random.default_rng(3).uniform(0.2, 15.0, (64, 256))
    ranges[::7, ::5], ranges[1, 1], ranges[2, 2] = np.nan, np.inf, 15.0
    readings = {'range': ranges, 'level': np.zeros_like(ranges)}
    return InstrumentReading(3_250_000_000, 3_450_000_000, readings, sensor)


class Memory:
    def __init__(self):
        self.received, self.sent = bytearray(b'anything'), []

    def send(self, data):
        self.sent.append(data)


def sent_by(protocol, sensor, *readings):
    instrument, client = PROTOCOLS[protocol].instrument(sensor), Memory()
    instrument.clients.append(client)
    assert not instrument.receive(client)
    assert not client.received
    for reading in readings:
        instrument.report(reading)
    return client.sent


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """Return the fields of a message of protobuf by number."""
    result, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 5:
            value, at = struct.unpack_from('<f', data, at)[0], at + 4
        else:
            value, at = varint(data, at)
            if key & 7 == 2:
                value, at = data[at : at + value], at + value
        result[key >> 3] = value
    return result


def image_of(packet):
    """Return the fields of the image of a packet."""
    name, length = packet[:4], struct.unpack_from('<I', packet, 4)[0]
    assert length == len(packet)
    assert struct.unpack('<I', packet[-4:])[0] == zlib.crc32(packet[:-4])
    payload = packet[8:-4]
    if name == b'RIP2':
        size, at = varint(payload, 0)
        assert payload[at] == 0xF4  # a literal with a length of two bytes
        assert struct.unpack_from('<H', payload, at + 1)[0] + 1 == size
        payload = payload[at + 3 :]
        assert len(payload) == size
    wrapped = fields(fields(payload)[1])
    assert wrapped[1] == b'type.googleapis.com/waterlinked.sonar.protocol.RangeImage'
    return fields(wrapped[2])


@pytest.mark.parametrize('protocol', ['rip1', 'rip2'])
def test_an_image_has_the_ranges_of_the_reading(protocol, sensor, reading):
    first, second = sent_by(protocol, sensor, reading, reading)
    image = image_of(first)
    assert [fields(image_of(p)[1]).get(2, 0) for p in (first, second)] == [0, 1]
    assert fields(fields(image[1])[1]) == {1: 3, 2: 250_000_000}
    assert (image[3], image[4], image[5], image[6]) == (15.0, 1_200_000, 256, 64)
    assert (image[7], image[8]) == (90.0, 40.0)
    pixels, at = [], 0
    while at < len(image[10]):
        value, at = varint(image[10], at)
        pixels.append(value * image[9])
    found, truth = np.reshape(pixels, (64, 256))[::-1], reading.readings['range']
    heard = np.isfinite(truth)
    np.testing.assert_allclose(found[heard], truth[heard], atol=RESOLUTION / 2 + 1e-5)
    assert not found[~heard].any()


@pytest.mark.parametrize('protocol', ['rip1', 'rip2'])
def test_the_makers_client_finds_the_points_of_the_topic(protocol, sensor, reading):
    pytest.importorskip('wlsonar', reason='wlsonar: not installed')
    from wlsonar import range_image_to_xyz
    from wlsonar.range_image_protocol import unpackb

    (packet,) = sent_by(protocol, sensor, reading)
    image = unpackb(packet)
    found = range_image_to_xyz(image[0] if isinstance(image, tuple) else image)
    # Forward, right, down there; forward, left, up here, the highest row first.
    ranges = reading.readings['range']
    points = (ranges[..., None] * beam_grid(sensor.spec))[::-1].reshape(-1, 3) * (1, -1, -1)
    for ours, theirs in zip(points, found, strict=True):
        if np.all(np.isfinite(ours)):
            np.testing.assert_allclose(theirs, ours, atol=RESOLUTION)
        else:
            assert theirs is None


def test_the_instrument_sends_to_its_address_unasked(sensor, reading):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(('127.0.0.1', 0))
        listener.settimeout(WAIT)
        address = ProtocolAddress('sonar_3d', 'rip2', '127.0.0.1', listener.getsockname()[1])
        refused = []
        server = InstrumentServer(sensor, address, refused.append)
        try:
            server.report(reading)
            packet, sender = listener.recvfrom(65536)
            assert image_of(packet)[5] == 256
            listener.sendto(b'\xff' * 100, sender)  # nobody reads it
            server.report(reading)
            assert listener.recvfrom(65536)[0] != packet
        finally:
            server.close()
        assert refused == []


def test_an_image_that_no_datagram_has_is_named(sensor):
    large = replace(sensor, spec=replace(sensor.spec, columns=1024, rows=64))
    with pytest.raises(ParameterError, match='65536 beams; expected at most'):
        PROTOCOLS['rip1'].instrument(large)


def test_the_usual_address_is_this_machine():
    assert str(read_protocol('sonar_3d=rip1')) == 'sonar_3d=rip1@127.0.0.1:4747'
