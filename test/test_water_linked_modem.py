# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Water Linked's modem, driven by the maker's client wlmodem."""

import os
import time
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import examples, vehicle_of
from graph import STEP
from hypothesis import given, settings
from hypothesis import strategies as st
from processor import PATIENCE

from marine_sim_ros.core.registry import PROTOCOLS
from marine_sim_ros.instruments.instrument import InstrumentReading, ProtocolError
from marine_sim_ros.instruments.server import InstrumentServer
from marine_sim_ros.sensors.addresses import ProtocolAddress

wlmodem = pytest.importorskip('wlmodem')
SECOND = 10**9
FLEET = """
vehicles:
  - {name: a, vehicle: bluerov2, arguments: {modem: true}, initial: {position: [0, 0, -2]}}
  - {name: b, vehicle: bluerov2, arguments: {modem: true}, initial: {position: [50, 0, -2]}}
"""


def modem():
    vehicle = vehicle_of('bluerov2', modem='true')
    return next(sensor for sensor in vehicle.sensors if sensor.kind == 'modem')


def reading(data):
    """Return the reading of a received packet."""
    codes = np.full(31, np.nan)
    codes[: len(data)] = list(data)
    return InstrumentReading(0, 0, {'size': np.array(float(len(data))), 'data': codes}, None)


def connected(client):
    """Return whether the client connects; its own patience is half a second."""
    return any(client.connect() for _ in range(20))


@pytest.fixture
def served(tmp_path):
    """Server at a serial port, its client, and what was refused."""
    path, refused = str(tmp_path / 'modem'), []
    address = ProtocolAddress('modem', 'water_linked_modem', '', 0, path)
    server = InstrumentServer(modem(), address, refused.append)
    client = wlmodem.WlModem(path)
    try:
        yield server, client, refused
    finally:
        client._serial.close()
        server.close()


def test_the_makers_client_connects_and_sets_the_modem(served):
    _, client, refused = served
    assert connected(client)
    assert client.payload_size == 8
    assert client.cmd_configure('b', 4)
    assert client.request(ord('c')).options == [b'b', b'4']
    assert not client.cmd_configure('c', 4)
    assert client.cmd_get_diagnostic() == {
        'link_up': False, 'pkt_cnt': 0, 'pkt_loss_cnt': 0, 'bit_error_rate': 0.0,
    }  # fmt: skip
    assert refused == []


def test_packets_wait_until_the_one_before_has_been_sent(served):
    server, client, refused = served
    instrument = server.instrument
    assert connected(client)
    packets = [b'HelloSea', b'w\n*r,wcq', bytes(range(8))]
    for packet in packets:
        assert client.cmd_queue_packet(packet)
    assert client.cmd_get_queue_length() == 3
    airtime = round(SECOND * instrument.sensor.spec.duration(8))
    taken = [(t, instrument.take_outgoing(t)) for t in range(0, 10 * SECOND, SECOND // 50)]
    sent = [(t, packet) for t, packet in taken if packet is not None]
    assert [packet for _, packet in sent] == packets
    assert all(0 <= b - a - airtime < SECOND // 50 for (a, _), (b, _) in pairwise(sent))
    assert client.cmd_get_queue_length() == 0
    # A run that is reset begins again.
    assert client.cmd_queue_packet(packets[0])
    assert instrument.take_outgoing(0) == packets[0]
    for _ in range(16):
        assert client.cmd_queue_packet(packets[0])
    assert not client.cmd_queue_packet(packets[0])
    assert client.cmd_flush_queue()
    assert client.cmd_get_queue_length() == 0
    assert refused == []


def test_received_packets_reach_the_client(served):
    server, client, refused = served
    assert connected(client)
    for packet in (b'HelloSea', bytes(range(248, 256)), b'\n\r*w,rp8'):
        server.report(reading(packet))
        assert client.get_data_packet(20) == packet
    server.report(reading(b'of nine..'))  # of no M64
    assert client.cmd_get_diagnostic()['pkt_cnt'] == 3
    assert client.get_data_packet(0) is None
    assert refused == []


@pytest.mark.parametrize('data', [b'garbage\n', b'wxv\n', b'wcv*00\n', b'w' * 60, b'wcvv\n'])
def test_garbage_is_one_line_and_the_next_command_is_answered(served, data):
    _, client, refused = served
    client._serial.write(data)
    time.sleep(0.05)
    assert connected(client)
    assert len(refused) == 1
    assert '\n' not in refused[0]


@settings(max_examples=examples(200))
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=30),
            st.sampled_from([b'wcv\n', b'wcq,8,', b'wcq,9,', b'\n', b'*', b'wcs,a,7\r\n', b'wc']),
        ),
        max_size=14,
    )
)
def test_no_bytes_break_the_modem(chunks):
    instrument, sent, refused = PROTOCOLS['water_linked_modem'].instrument(modem()), [], []
    client = SimpleNamespace(received=bytearray(), send=sent.append)
    for chunk in chunks:
        client.received += chunk
        for _ in range(200):
            before = len(client.received)
            try:
                has_message = instrument.receive(client)
            except ProtocolError as error:
                refused.append(str(error))
                has_message = True
            assert len(client.received) <= before
            if not has_message:
                break
    assert all(data.startswith(b'wr') and data.endswith(b'\n') for data in sent)


@pytest.mark.ros
def test_two_vehicles_of_a_fleet_talk_by_their_clients(processes, tmp_path):
    path, fleet = str(tmp_path / 'modem'), tmp_path / 'two.yaml'
    fleet.write_text(FLEET)
    run = processes.marine_sim(
        'run', '--fleet', fleet, '--composed', '--dt', STEP, '--duration', 600,
        '--protocol', f'modem=water_linked_modem@pty:{path}',
    )  # fmt: skip
    deadline = time.monotonic() + PATIENCE
    while not (os.path.lexists(path) and os.path.lexists(f'{path}_2')):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    clients = [wlmodem.WlModem(path), wlmodem.WlModem(f'{path}_2')]
    assert all(connected(client) for client in clients)
    assert clients[0].cmd_queue_packet(b'HelloSea')
    assert clients[1].get_data_packet(PATIENCE) == b'HelloSea'
    assert clients[1].cmd_queue_packet(b'HelloYou')
    assert clients[0].get_data_packet(PATIENCE) == b'HelloYou'
    assert clients[0].cmd_get_diagnostic()['link_up']
    for client in clients:
        client._serial.close()
    run.terminate()
    run.communicate()
