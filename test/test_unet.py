# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Modems with UnetStack: two nodes in one water, by the published client and line by line."""

import json
import threading
import time
from contextlib import suppress

import numpy as np
import pytest
from conftest import vehicle_of
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros.core.registry import PROTOCOLS
from marine_sim_ros.instruments.instrument import InstrumentReading, ProtocolError
from marine_sim_ros.instruments.server import InstrumentServer
from marine_sim_ros.sensors.addresses import ProtocolAddress
from marine_sim_ros.sensors.modem import packet_readings
from marine_sim_ros.sensors.packet_network import Delivery

SECOND = 10**9
NODE_INFO = 'org.arl.unet.Services.NODE_INFO'


def modem():
    vehicle = vehicle_of('bluerov2', modem='true')
    return next(s for s in vehicle.sensors if s.kind == 'modem')


def heard(sensor, packet, came=1.5):
    readings = packet_readings(sensor.spec, Delivery('other', packet, np.nan, 9.0, came))
    return InstrumentReading(SECOND, SECOND, readings, sensor)


class Gateway:
    """A client line by line."""

    def __init__(self, instrument=None):
        self.sensor, self.received, self.lines = modem(), bytearray(), []
        self.node = instrument or PROTOCOLS['unet'].instrument(self.sensor)
        self.node.clients.append(self)

    def send(self, data):
        assert data.endswith(b'\n')
        self.lines.append(json.loads(data))

    def ask(self, **content):
        self.lines.clear()
        self.received += json.dumps(content).encode() + b'\n'
        while self.node.receive(self):
            pass
        return self.lines

    def message(self, clazz, recipient, **fields):
        data = {'msgID': 'm1', 'sender': 'gateway-1', 'recipient': recipient, **fields}
        found = self.ask(action='send', relay=True, message={'clazz': clazz, 'data': data})
        return found[0]['message'] if found else None

    def datagram(self, **fields):
        return self.message('org.arl.unet.DatagramReq', 'phy', **fields)['data']['perf']


def test_agents_and_their_parameters():
    gateway = Gateway()
    (answer,) = gateway.ask(id='7', action='agentForService', service=NODE_INFO)
    assert answer == {'id': '7', 'inResponseTo': 'agentForService', 'agentID': 'node'}
    (answer,) = gateway.ask(id='8', action='agentsForService', service='org.arl.no')
    assert answer['agentIDs'] == []
    assert gateway.ask(alive=True) == [{'alive': True}]
    assert gateway.ask(action='wantsMessagesFor', agentIDs=['#x']) == []
    kind = 'org.arl.fjage.param.ParameterReq'
    assert gateway.message(kind, 'node', param='address')['data']['value'] == 1
    found = gateway.message(kind, 'node', param='org.arl.unet.nodeinfo.address', value=42)['data']
    assert (found['value'], found['inReplyTo'], found['recipient']) == (42, 'm1', 'gateway-1')
    assert gateway.message(kind, 'phy', param='MTU')['data']['value'] == 29
    assert gateway.message(kind, 'phy', param='power')['data']['perf'] == 'FAILURE'
    assert gateway.message(kind, 'node', param='address', value=300)['data']['value'] == 42
    assert gateway.message('org.arl.unet.localization.RangeReq', 'phy')['data']['perf'] == 'REFUSE'


def test_a_datagram_is_sent_and_one_that_cannot_be_is_refused():
    gateway, other = Gateway(), Gateway()
    assert gateway.datagram(to=31, protocol=32, data=[1, -1, 255]) == 'AGREE'
    for wrong in ({'to': 256}, {'protocol': 64}, {'data': [0] * 30}, {'to': 'x'}, {'data': 5}):
        assert gateway.datagram(**{'to': 1, 'data': [1], **wrong}) == 'REFUSE'
    packet = gateway.node.take_outgoing(SECOND)
    assert packet == bytes((1, 31, 32, 1, 255, 255))
    gateway.lines.clear()
    end = SECOND + round(gateway.sensor.spec.duration(6) * SECOND)
    assert [gateway.node.is_overdue(t) for t in (SECOND, end - 1, end)] == [False, False, True]
    gateway.node.expire()
    sent = gateway.lines[0]['message']
    assert (sent['clazz'], sent['data']['inReplyTo']) == ('org.arl.unet.phy.TxFrameNtf', 'm1')
    other.node.report(heard(other.sensor, packet))
    data = other.lines[0]['message']['data']
    assert (data['from'], data['to'], data['protocol']) == (1, 31, 32)
    assert (data['data'], data['rxTime']) == ({'clazz': '[B', 'data': 'Af//'}, 1_500_000)


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(['action', 'message', 'clazz', 'data', 'to', 'param', 'alive']), inner
    ),
), st.sampled_from(['', 'send', 'agents', 'agentForService', 'containsAgent']))  # fmt: skip
def test_any_json_is_answered_or_named(content, action):
    if isinstance(content, dict) and action:
        content = {**content, 'action': action}
    SHARED.received += json.dumps(content).encode() + b'\n'
    with suppress(ProtocolError):
        while SHARED.node.receive(SHARED):
            pass
    SHARED.lines.clear()


SHARED = Gateway()


def test_the_published_client_talks_to_another_one():
    unetpy = pytest.importorskip('unetpy', reason='unetpy: not installed')
    sensor, refused, done = modem(), [], threading.Event()
    servers = [
        InstrumentServer(sensor, ProtocolAddress('modem', 'unet', '127.0.0.1', 0), refused.append)
        for _ in range(2)
    ]

    def carry():
        stamp = 0
        while not done.is_set():
            stamp += 20_000_000
            for k, server in enumerate(servers):
                if (packet := server.instrument.take_outgoing(stamp)) is not None:
                    servers[1 - k].report(heard(sensor, packet))
                server.watch(stamp)
            time.sleep(0.001)

    carrier = threading.Thread(target=carry, daemon=True)
    carrier.start()
    try:
        one, two = (unetpy.UnetSocket('127.0.0.1', s.address.port) for s in servers)
        two.agent('node').address = 31
        assert (one.getLocalAddress(), two.getLocalAddress()) == (1, 31)
        two.localAddress = 31
        assert one.agentForService(unetpy.Services.PHYSICAL).MTU == 29
        two.bind(unetpy.Protocol.USER)
        assert one.send(b'under water', 31, unetpy.Protocol.USER)
        found = two.receive(20_000)
        assert bytes(n & 255 for n in found.data) == b'under water'
        assert (found.from_, found.to, found.protocol) == (1, 31, 32)
        one.setSendMode(unetpy.UnetSocket.BLOCKING)
        assert one.send([1, 2, 3], 0)
        two.unbind()
        assert two.receive(20_000).data == [1, 2, 3]
        assert not one.send(bytes(40), 31)
        one.close(), two.close()
    finally:
        done.set()
        carrier.join()
        for server in servers:
            server.close()
    assert refused == []
