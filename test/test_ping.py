# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Ping protocol: Blue Robotics' own client, unchanged, drives the simulated devices."""

import math
import socket
import struct
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from test_instruments import WAIT, Memory, served

from marine_sim_ros.core.registry import PROTOCOLS
from marine_sim_ros.instruments.instrument import ProtocolError
from marine_sim_ros.instruments.ping import encode, take_message
from marine_sim_ros.instruments.ping360 import bearing_of, head_angle
from marine_sim_ros.sensors.scanning_sonar import bearing

brping = pytest.importorskip('brping')


@pytest.fixture
def ping1d():
    with served('ping1d', 'altimeter') as rig:
        yield rig


@pytest.fixture
def ping360():
    with served('ping360', 'scanning_sonar') as rig:
        yield rig


def client_of(rig, kind):
    """Return Blue Robotics' client, connected.

    Without the messages of its device, version 0.2.5 reads some as those of another device.
    """
    own = {brping.Ping1D: 'payload_dict_ping1d', brping.Ping360: 'payload_dict_ping360'}
    client = kind(getattr(brping.definitions, own[kind]))
    client.connect_udp(*rig.address)
    return client


@contextmanager
def reading(rig, period=0.02):
    """Let the sensor read in the background, as a run does."""
    done = threading.Event()

    def go_on():
        while not done.is_set():
            sent.append(rig.read(velocity=(0.0, 0.0, 0.0)))
            time.sleep(period)

    sent = []
    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield sent
    finally:
        done.set()
        thread.join(WAIT)


# Frames.


@given(st.integers(0, 0xFFFF), st.binary(max_size=64), st.integers(0, 255))
def test_a_frame_is_read_as_it_was_written(number, payload, source):
    frame = encode(number, payload, source)
    assert struct.unpack('<H', frame[-2:])[0] == sum(frame[:-2]) & 0xFFFF
    received = bytearray(frame + b'B')
    assert take_message(received) == (number, payload)
    assert received == b'B'


def test_a_frame_is_that_of_the_client():
    message = brping.PingMessage(brping.definitions.COMMON_GENERAL_REQUEST)
    message.requested_id = 1212
    assert encode(6, struct.pack('<H', 1212), 0) == message.pack_msg_data()


@settings(max_examples=examples(200))
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.sampled_from([b'B', b'BR', encode(6, b'\x05\x00', 0), encode(2601, b'', 0)]),
            st.builds(encode, st.integers(0, 3000), st.binary(max_size=20), st.just(0)),
        ),
        max_size=12,
    ),
    st.sampled_from([('ping1d', 'altimeter'), ('ping360', 'scanning_sonar')]),
)
def test_no_bytes_break_a_device(chunks, kind):
    device, client = DEVICES[kind](), Memory()
    for chunk in chunks:
        client.received += chunk
        more = True
        while more:
            length = len(client.received)
            try:
                more = device.receive(client)
            except ProtocolError as error:
                assert 'expected' in str(error)  # noqa: PT017
            assert len(client.received) < length or not more
    # What was half a message ends with 80 bytes of another one.
    client.received += bytes(80)
    for _ in range(200):
        try:
            if not device.receive(client):
                break
        except ProtocolError:
            continue
    client.received.clear()
    client.sent.clear()
    client.received += encode(6, struct.pack('<H', 5), 0)
    assert device.receive(client)
    assert take_message(bytearray(client.sent[0])).number == 5


def _device(protocol, name):
    from conftest import vehicle_of

    def make():
        vehicle = vehicle_of('bluerov2', **{name: 'true'})
        return PROTOCOLS[protocol].instrument(next(s for s in vehicle.sensors if s.name == name))

    return make


DEVICES = {
    kind: _device(*kind) for kind in (('ping1d', 'altimeter'), ('ping360', 'scanning_sonar'))
}


def test_garbage_is_one_line(ping1d):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(b'GET / HTTP/1.1', ping1d.address)
        one.sendto(bytes(5000), ping1d.address)
        ping1d.wait(lambda: len(ping1d.refused) >= 2)
    assert 'expected BR' in ping1d.refused[0]
    assert 'more than 4096 bytes' in ping1d.refused[1]
    assert client_of(ping1d, brping.Ping1D).initialize()


# Ping Sonar and Ping2.


def test_the_official_client_initializes_and_reads_the_altimeter(ping1d):
    client = client_of(ping1d, brping.Ping1D)
    assert client.initialize()
    assert client.get_device_information()['device_type'] == 1
    assert client.get_distance() is None  # no measurement yet
    sent = ping1d.read()
    found = client.get_distance()
    assert abs(found['distance'] / 1000 - sent.readings['range']) <= 0.0005
    assert found['confidence'] == sent.readings['confidence'] > 0
    assert (found['scan_start'], found['scan_length'], found['ping_number']) == (500, 29500, 1)
    assert client.get_distance_simple()['distance'] == found['distance']
    assert client.get_general_info()['voltage_5'] == 5000
    assert client.get_profile() is None  # an echo over range is not simulated


def set_value(client, number, form, *values):
    """Write a setting; the client's own functions of version 0.2.5 write 0 for some."""
    client.write(encode(number, struct.pack(form, *values), 0))
    return client.wait_message([1, 2], WAIT).message_id == 1


def test_settings_are_written_and_read_back(ping1d):
    client = client_of(ping1d, brping.Ping1D)
    assert client.set_device_id(7)
    assert client.get_device_id() == {'device_id': 7}
    assert client.wait_message([1], 0.1) is None
    assert set_value(client, 1002, '<I', 1_425_000)
    assert set_value(client, 1004, '<H', 200)
    assert set_value(client, 1005, '<B', 3)
    assert client.get_speed_of_sound() == {'speed_of_sound': 1_425_000}
    assert client.get_ping_interval() == {'ping_interval': 200}
    assert client.get_gain_setting() == {'gain_setting': 3}
    assert not set_value(client, 1005, '<B', 9)
    assert not set_value(client, 1002, '<I', 900_000)
    assert not set_value(client, 1002, '<B', 1)
    sent = ping1d.read()
    distance = client.get_distance()['distance']
    assert abs(distance - 950 * sent.readings['range']) <= 0.5
    # In manual mode a target beyond the scan range is not seen.
    assert client.set_range(500, 1000)
    assert client.set_mode_auto(0)
    ping1d.read()
    assert client.get_distance_simple() == {'distance': 1500, 'confidence': 0}
    assert client.set_ping_enable(0)
    ping1d.read()
    assert client.get_distance()['ping_number'] == 2


def test_no_echo_is_confidence_zero(ping1d):
    client = client_of(ping1d, brping.Ping1D)
    none = {'range': np.array(np.inf), 'confidence': np.array(0.0)}
    ping1d.server.report(ping1d.read()._replace(readings=none))
    assert client.get_distance_simple() == {'distance': 30000, 'confidence': 0}
    ping1d.read(position=(1.0, 2.0, -9.8))
    assert client.get_distance_simple() == {'distance': 500, 'confidence': 0}


def test_a_request_is_answered_by_readings_before_it_while_others_are_served(ping1d):
    ping1d.read()
    client = client_of(ping1d, brping.Ping1D)
    instrument = ping1d.server.instrument
    receive, request = instrument.receive, encode(6, struct.pack('<H', 1211), 0)

    def receive_late(sender):
        instrument.receive = receive
        ping1d.read(position=(1.0, 2.0, -9.8))  # reported while the first request is served
        client.write(request)
        return receive(sender)

    instrument.receive = receive_late
    client.write(request)
    got = [client.wait_message([1211], WAIT).confidence for _ in range(2)]
    assert got[0] > 0
    assert got[1] == 0


def test_distances_are_streamed_until_stopped(ping1d):
    client = client_of(ping1d, brping.Ping1D)
    assert client.initialize()
    client.control_continuous_start(1212)
    assert client.wait_message([1], WAIT) is not None
    with reading(ping1d) as sent:
        got = [client.wait_message([1212], WAIT) for _ in range(4)]
    assert [g.ping_number for g in got] == [1, 2, 3, 4]
    for message, one in zip(got, sent, strict=False):
        assert abs(message.distance - 1000 * one.readings['range']) <= 0.5
    client.control_continuous_stop(1212)
    assert client.wait_message([1], WAIT) is not None
    ping1d.read()
    assert client.wait_message([1212], 0.2) is None
    client.control_continuous_start(1300)
    assert client.wait_message([2], WAIT).nack_message.startswith(b'message 1300 is not simul')


# Ping360.


def test_head_angles_are_clockwise_from_astern():
    assert [head_angle(math.radians(b)) for b in (0, -90, 90, 180, -180)] == [200, 300, 100, 0, 0]
    assert all(head_angle(bearing_of(angle)) == angle for angle in range(400))


def test_the_official_client_turns_the_head_and_pings(ping360):
    client = client_of(ping360, brping.Ping360)
    assert client.initialize()
    with reading(ping360) as sent:
        assert client.set_number_of_samples(500).message_id == 2300
        assert client.set_sample_period(889).number_of_samples == 500
        assert client.set_transmit_frequency(800).transmit_frequency == 800
        pings = {angle: client.transmitAngle(angle) for angle in (0, 1, 250, 399)}
    for angle, got in pings.items():
        assert (got.message_id, got.angle) == (2300, angle)
        assert (got.number_of_samples, got.data_length, len(got.data)) == (500, 500, 500)
        same = [
            one for one in sent
            if one.sensor.spec.heads == (bearing_of(angle),)
            and bytes(np.asarray(one.readings['echo'], np.uint8)) == got.data
        ]  # fmt: skip
        assert same, 'the ping is one of the sensor, byte by byte'
    spec = same[0].sensor.spec
    assert math.isclose(spec.max_range, 500 * 889 * 25e-9 * 1500 / 2)
    assert (spec.samples, spec.frequency) == (500, 800)


@pytest.mark.parametrize(
    ('setting', 'value'),
    [('angle', 400), ('sample_period', 10), ('number_of_samples', 1300), ('gain_setting', 5)],
)
def test_a_wrong_setting_is_refused_with_its_range(ping360, setting, value):
    client = client_of(ping360, brping.Ping360)
    assert client.initialize()
    got = getattr(client, f'set_{setting}')(value)
    assert got.message_id == 2
    assert f'{setting} is {value}; expected'.encode() in got.nack_message


def test_an_automatic_scan_sweeps_to_and_fro_until_the_motor_is_off(ping360):
    client = client_of(ping360, brping.Ping360)
    assert client.initialize()
    client.control_auto_transmit(1, 1, 100, 889, 750, 200, 390, 10, 10, 0)
    assert client.wait_message([1], WAIT) is not None
    with reading(ping360):
        got = [client.wait_message([2301], WAIT) for _ in range(9)]
    angles = [g.angle for g in got]
    order = [390, 0, 10, 0]
    first = angles[0]
    begin = order.index(first) if first else (1 if angles[1] == 10 else 3)
    assert angles == [order[(begin + i) % 4] for i in range(9)]
    assert all(len(g.data) == 200 and g.num_steps == 10 for g in got)
    client.control_motor_off()
    assert client.wait_message([1], WAIT) is not None
    ping360.read()
    assert client.wait_message([2301], 0.2) is None
    client.control_reset(0, 0)
    assert client.wait_message([1], WAIT) is not None
    sent = ping360.read()
    assert sent.sensor.spec.heads is None
    assert sent.readings['bearing'] == bearing(ping360.sensor, ping360.stamp / 1e9)


def test_a_client_that_left_is_not_waited_for(ping360):
    client = client_of(ping360, brping.Ping360)
    assert client.initialize()
    for angle in range(20):
        client.control_transducer(1, 1, angle, 100, 889, 750, 200, 1, 0)
    client.iodev.close()
    other = client_of(ping360, brping.Ping360)
    assert other.initialize()
    with reading(ping360):
        assert other.transmitAngle(77).angle == 77
