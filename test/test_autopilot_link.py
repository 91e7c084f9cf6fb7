# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The socket to an autopilot, over real UDP: repeats, floods, strangers, restarts."""

import socket
import struct
import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from processor import slowed
from stand_in_autopilot import StandIn

from marine_sim_ros.autopilot.lockstep import LINK_TIMEOUT, AutopilotLink
from marine_sim_ros.core.errors import ParameterError


class Wire:
    def __init__(self):
        self.said = []
        self.link = AutopilotLink('127.0.0.1', 0, self.said.append)
        self.open = []

    def autopilot(self):
        one = StandIn(self.link.port)
        one.socket.settimeout(0.05)
        self.open.append(one.socket)
        return one

    @staticmethod
    def heard(autopilot):
        found = []
        try:
            while True:
                found.append(autopilot.socket.recv(4096))
        except TimeoutError:
            return found

    def close(self):
        self.link.close()
        for one in self.open:
            one.close()


@pytest.fixture
def wire():
    result = Wire()
    yield result
    result.close()


def send(wire, autopilot, frame):
    autopilot.frame = frame
    autopilot.socket.sendto(autopilot.packet([1500] * 6), ('127.0.0.1', wire.link.port))


def test_a_packet_that_comes_again_before_its_reply_is_answered_once(wire):
    autopilot = wire.autopilot()
    for _ in range(3):  # a pause of three seconds
        send(wire, autopilot, 5)
    assert wire.link.receive(0.5).frame_count == 5
    send(wire, autopilot, 5)
    wire.link.answer(b'reply 5')
    assert wire.heard(autopilot) == [b'reply 5']
    send(wire, autopilot, 6)
    assert wire.link.receive(0.5).frame_count == 6


def test_a_packet_that_comes_again_after_its_reply_is_answered_again(wire):
    autopilot = wire.autopilot()
    send(wire, autopilot, 5)
    wire.link.receive(0.5)
    wire.link.answer(b'reply 5')
    assert wire.heard(autopilot) == [b'reply 5']  # as if it was lost
    send(wire, autopilot, 5)
    assert wire.link.receive(0.3) is None
    assert wire.heard(autopilot) == [b'reply 5']
    assert not wire.said


def test_a_repeat_that_crossed_its_reply_gets_no_second_one(wire):
    autopilot = wire.autopilot()
    send(wire, autopilot, 5)
    wire.link.receive(0.5)
    wire.link.answer(b'reply 5')
    send(wire, autopilot, 5)  # sent before the reply arrived
    send(wire, autopilot, 6)
    assert wire.link.receive(0.5).frame_count == 6
    wire.link.answer(b'reply 6')
    assert wire.heard(autopilot) == [b'reply 5', b'reply 6']


def test_a_stranger_is_ignored_until_the_autopilot_is_silent(wire):
    first, second = wire.autopilot(), wire.autopilot()
    send(wire, first, 5)
    wire.link.receive(0.5)
    wire.link.answer(b'reply')
    send(wire, second, 0)
    assert wire.link.receive(0.05) is None
    assert 'another autopilot is connected' in wire.said[0]
    time.sleep(LINK_TIMEOUT)
    send(wire, second, 0)  # a restarted one has another port and counts from 0
    assert wire.link.receive(0.5).frame_count == 0
    wire.link.answer(b'hello')
    assert wire.heard(second) == [b'hello']


def test_a_stranger_that_came_first_in_a_pause_does_not_take_over(wire, monkeypatch):
    """Both lie in the queue when the run goes on: the autopilot's own repeat counts."""
    monkeypatch.setattr('marine_sim_ros.autopilot.lockstep.LINK_TIMEOUT', 0.1)
    first, second = wire.autopilot(), wire.autopilot()
    send(wire, first, 5)
    wire.link.receive(0.5)
    wire.link.answer(b'reply')
    time.sleep(0.15)
    send(wire, second, 900)
    send(wire, first, 6)
    assert wire.link.receive(0.5).frame_count == 6
    wire.link.answer(b'reply 6')
    assert wire.heard(first) == [b'reply', b'reply 6']
    assert wire.heard(second) == []


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.binary(max_size=100), min_size=1, max_size=5))
def test_what_is_no_packet_is_told_of_and_ignored(wire, datagrams):
    wire.said.clear()
    autopilot = wire.autopilot()
    for data in datagrams:
        autopilot.socket.sendto(data, ('127.0.0.1', wire.link.port))
    assert wire.link.receive() is None
    assert len(wire.said) == len(datagrams)
    assert all('\n' not in line for line in wire.said)


@pytest.mark.parametrize('data', [b'\0' * 40, struct.pack('<HHI16H', 18458, 0, 0, *[65535] * 16)])
def test_a_flood_keeps_nobody(wire, data):
    stop = threading.Event()
    stranger = wire.autopilot()

    def flood():
        while not stop.is_set():
            for _ in range(100):
                stranger.socket.sendto(data, ('127.0.0.1', wire.link.port))
            time.sleep(0.01)  # 10,000 in a second

    autopilot = wire.autopilot()
    send(wire, autopilot, 0)
    assert wire.link.receive(0.5).frame_count == 0
    wire.link.answer(b'reply')
    thread = threading.Thread(target=flood)
    thread.start()
    try:
        for frame in range(1, 200):
            send(wire, autopilot, frame)
            deadline = time.monotonic() + 0.7
            while (packet := wire.link.receive(0.1)) is None and time.monotonic() < deadline:
                send(wire, autopilot, frame)  # the queue was full; it comes again
            assert packet.frame_count == frame
            wire.link.answer(b'reply')
    finally:
        stop.set()
        thread.join()
    start = time.monotonic()
    assert wire.link.receive(0.1) is None
    assert time.monotonic() - start < slowed(0.5)


def test_a_port_or_an_address_that_cannot_be_is_refused(wire):
    with pytest.raises(ParameterError, match=f'{wire.link.port}: .*; expected a free port'):
        AutopilotLink('127.0.0.1', wire.link.port, print)
    with pytest.raises(ParameterError, match=r'cannot listen on UDP 203\.0'):
        AutopilotLink('203.0.113.7', 0, print)
    with pytest.raises(ParameterError, match='cannot listen on UDP nowhere'):
        AutopilotLink('nowhere.invalid', 0, print)


def test_a_reply_to_an_autopilot_that_is_gone_is_no_failure(wire):
    autopilot = wire.autopilot()
    send(wire, autopilot, 1)
    wire.link.receive(0.5)
    autopilot.socket.close()
    for _ in range(3):
        wire.link.answer(b'reply')
        assert wire.link.receive(0.02) is None


def test_only_this_machine_is_listened_to_by_default():
    from marine_sim_ros.sim.options import OPTIONS

    assert socket.inet_aton(OPTIONS['autopilot_address'].default)[0] == 127
