# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Messages between nodes of one process: who gets what, and what need not be made."""

from itertools import pairwise
from types import SimpleNamespace

import pytest

from marine_sim_ros.ros.base import bus as module
from marine_sim_ros.ros.base.bus import FIRST_MESSAGES, UNHEARD_PERIOD, Bus, Outlet


class Publisher:
    """A ROS publisher that keeps what it sends."""

    topic_name = '/odom'

    def __init__(self):
        self.listeners, self.sent = 0, []
        self.handle = SimpleNamespace(get_subscription_count=lambda: self.listeners)

    def publish(self, message):
        self.sent.append(message)


@pytest.fixture
def clock(monkeypatch):
    """A wall clock that stands still; [0] is its time, s."""
    time = [100.0]
    monkeypatch.setattr(module, 'monotonic', lambda: time[0])
    return time


@pytest.fixture
def outlet(clock):
    publisher, bus = Publisher(), Bus()
    return publisher, bus, Outlet(publisher, bus)


def test_a_message_is_wanted_while_dds_keeps_it_and_then_where_somebody_listens(outlet):
    publisher, bus, out = outlet
    for tick in range(FIRST_MESSAGES):
        assert out.has_receiver
        out.publish(tick)
    assert publisher.sent == list(range(FIRST_MESSAGES))
    assert not out.has_receiver
    publisher.listeners = 1  # whoever comes late gets the next one
    assert out.has_receiver
    out.publish('late')
    assert publisher.sent[-1] == 'late'
    publisher.listeners = 0
    assert not out.has_receiver
    heard = []
    bus.subscribe('/odom', heard.append)
    assert out.has_receiver
    out.publish('own')
    bus.run(1)
    assert (heard, publisher.sent[-1]) == (['own'], 'late')


def test_where_nobody_listens_dds_gets_a_new_message_now_and_then(outlet, clock):
    publisher, _, out = outlet
    for tick in range(FIRST_MESSAGES):
        out.publish(tick)
    for tick in range(FIRST_MESSAGES, FIRST_MESSAGES + 200):  # at 200 Hz
        clock[0] += 0.005
        if out.has_receiver:
            out.publish(tick)
    later = publisher.sent[FIRST_MESSAGES:]
    assert 0.8 <= len(later) * UNHEARD_PERIOD / (200 * 0.005) <= 1
    assert max(b - a for a, b in pairwise(later)) <= UNHEARD_PERIOD / 0.005 + 1


@pytest.mark.parametrize('bus', [None, Bus()])
def test_what_a_node_may_wait_for_is_always_sent(bus):
    publisher = Publisher()
    out = Outlet(publisher, bus, always=True)
    for tick in range(3 * FIRST_MESSAGES):
        assert out.has_receiver
        out.publish(tick)
    assert publisher.sent == list(range(3 * FIRST_MESSAGES))


def test_numbers_come_to_who_reads_them_without_a_message(outlet):
    publisher, bus, out = outlet
    for _ in range(FIRST_MESSAGES):
        out.publish(None)
    read, heard = [], []
    bus.subscribe_numbers('/odom', lambda *given: read.append(given))
    bus.subscribe_numbers('/other', lambda *given: heard.append(given))
    out.publish_numbers(5_000_000, [1.0, 2.0])
    assert not out.has_receiver
    bus.run(bus.pending)
    assert (read, heard, len(publisher.sent)) == ([(5_000_000, [1.0, 2.0])], [], FIRST_MESSAGES)


def test_who_records_gets_bytes_and_no_node_has_to_take_messages():
    from std_msgs.msg import UInt16

    serialization = pytest.importorskip('rclpy.serialization')
    publisher, bus = Publisher(), Bus()
    out = Outlet(publisher, bus)
    assert out.wants_bytes  # the first ones
    assert not out.has_local_receiver
    written, heard = [], []
    bus.subscribe_bytes('/odom', written.append)
    bus.subscribe('/odom', heard.append)
    assert out.has_local_receiver
    data = serialization.serialize_message(UInt16(data=7))
    out.publish(data)
    out.deliver(UInt16(data=7))
    out.publish(UInt16(data=7))
    bus.run(bus.pending)
    assert written == [data, data]
    assert heard == [UInt16(data=7)] * 2
    assert publisher.sent == [data, UInt16(data=7)]


def test_deliveries_keep_the_order_in_which_they_were_published(outlet):
    _, bus, out = outlet
    order = []
    bus.subscribe_numbers('/odom', lambda stamp, _: order.append(stamp))
    bus.subscribe('/odom', order.append)
    out.publish_numbers(1, [])
    out.publish('one')
    bus.call(order.append, 'then')
    out.publish_numbers(2, [])
    bus.run(bus.pending)
    assert order == [1, 'one', 'then', 2]


def test_dds_is_asked_once_in_a_series_of_deliveries_without_a_subscriber(clock):
    publisher, bus, asked = Publisher(), Bus(), []
    publisher.handle.get_subscription_count = lambda: asked.append(0) or publisher.listeners
    out, wanted = Outlet(publisher, bus), []
    for tick in range(FIRST_MESSAGES):
        out.publish(tick)
    assert not asked
    for _ in range(5):
        bus.call(lambda: wanted.append(out.wants_bytes))
    bus.run(3)
    assert len(asked) == 1
    publisher.listeners = 1
    bus.run(2)
    assert (wanted, len(asked)) == ([False] * 3 + [True] * 2, 3)
    publisher.listeners = 0
    assert not out.wants_bytes  # between two series it is asked each time
