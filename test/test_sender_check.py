# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Whose messages and which wrenches and states count."""

import math
import re
import struct
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros.core.processes import RUN, child_environment
from marine_sim_ros.core.state import is_physical
from marine_sim_ros.ros.dynamics.wrench_sum_node import largest_wrench, wrench_error

OWN, OTHER, NONE = b'\0\1\x12\x34rest', b'\0\1\x12\x38rest', b'\0\1\0\0rest'


@pytest.fixture
def run(monkeypatch):
    """Let this process be of run 0x1234 / 4."""
    monkeypatch.setenv(RUN, str(0x1234 >> 2))


class Topic:
    """A check, and what the test says of its topic."""

    def __init__(self, monkeypatch):
        from marine_sim_ros.ros.base import bus

        self.publishers, self.time, self.warnings = ['drag'], 0.0, []
        monkeypatch.setattr(bus, 'monotonic', lambda: self.time)
        node = SimpleNamespace(
            resolve_topic_name=lambda name: f'/v/{name}',
            get_publishers_info_by_topic=lambda name: [
                SimpleNamespace(node_name=n, node_namespace='/v') for n in self.publishers
            ],
            count_publishers=lambda name: len(self.publishers),
        )
        warn = lambda text, error=False: self.warnings.append(text)  # noqa: E731
        self.check = bus.SenderCheck(node, 'wrench/drag', warn)
        count = SimpleNamespace(get_publisher_count=lambda: len(self.publishers))
        self.check.attach(SimpleNamespace(handle=count))

    def accepts(self, data, *publishers):
        self.publishers = list(publishers)
        return self.check.accepts(data)


@pytest.mark.ros
def test_only_messages_of_the_run_count_beside_one_of_its_nodes(run, monkeypatch):
    topic = Topic(monkeypatch)
    assert topic.accepts(OWN, 'drag')
    for data in (NONE, OTHER, b'', b'\0'):
        assert not topic.accepts(data, 'drag', 'stranger')
    assert topic.accepts(OWN, 'drag', 'stranger')
    assert set(topic.warnings) == {
        'wrench/drag: /v/drag and /v/stranger publish it; what is not of this run is ignored'
    }


@pytest.mark.ros
def test_a_single_node_of_another_machine_or_of_the_user_counts(run, monkeypatch):
    topic = Topic(monkeypatch)
    assert topic.accepts(NONE, 'own_force')
    assert topic.accepts(OTHER, 'own_force')
    assert topic.warnings == []
    assert topic.accepts(NONE, 'own_force', 'second')
    assert topic.warnings == ['wrench/drag: /v/own_force and /v/second publish it; expected one']


@pytest.mark.ros
def test_another_replaces_a_node_of_the_run_when_that_has_been_gone_for_a_while(run, monkeypatch):
    topic = Topic(monkeypatch)
    assert topic.accepts(OWN, 'drag')
    topic.time = 4.0
    assert not topic.accepts(NONE, 'again')  # a stranger goes on when a run ends
    topic.time = 6.0
    assert topic.accepts(NONE, 'again')


@pytest.mark.ros
def test_nodes_without_a_run_take_everything(monkeypatch):
    monkeypatch.delenv(RUN, raising=False)
    topic = Topic(monkeypatch)
    assert topic.accepts(OWN, 'drag')
    assert topic.accepts(NONE, 'drag')
    assert topic.warnings == []


@pytest.mark.ros
@given(st.integers(1, 2**14 - 1))
def test_a_tag_is_in_the_options_of_a_message_and_leaves_the_padding_bits(number):
    from geometry_msgs.msg import WrenchStamped

    from marine_sim_ros.ros.cdr import MessageTemplate, read_numbers, remove_tag, tag_of

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(RUN, str(number))
        data = MessageTemplate(WrenchStamped()).write(7, [1.0] * 6)
        patch.delenv(RUN)
        plain = MessageTemplate(WrenchStamped()).write(7, [1.0] * 6)
    assert struct.unpack('>H', tag_of(data)) == (number * 4,)
    assert read_numbers(WrenchStamped, data) == (7, (1.0,) * 6)
    assert remove_tag(data) == plain == remove_tag(plain)


def test_the_processes_of_one_run_have_one_number():
    first, second = child_environment()[RUN], child_environment()[RUN]
    assert first == second
    assert 1 <= int(first) < 2**14


BAD = st.sampled_from([math.nan, math.inf, -math.inf, 1e300, -1e30, 1e6])


@given(st.lists(st.floats(-100, 100), min_size=6, max_size=6), st.integers(0, 5), BAD)
def test_a_wrench_acts_when_it_is_finite_and_within_a_thousand_weights(wrench, place, bad):
    largest = largest_wrench(11.5, 0.005)
    assert largest == 11.5 * 2e4  # 100 m/s in a step of 5 ms
    assert wrench_error(wrench, largest) == ''
    wrench[place] = bad
    error = wrench_error(wrench, largest)
    if not math.isfinite(bad):
        assert error == 'not finite'
        return
    found, limit = map(float, re.findall(r'[\d.]+(?:e[+-]?\d+)?', error))
    assert limit == 230000
    assert found >= abs(bad) * (1 - 1e-5)


def test_a_wrench_is_refused_by_the_number_that_it_names():
    """Six components below the limit are above it together."""
    found, limit = map(float, re.findall(r'[\d.]+', wrench_error([30.0] * 6, 100.0)))
    assert (found, limit) == (180.0, 100.0)


def test_the_bound_of_a_wrench_is_a_thousand_times_the_weight_at_long_steps():
    assert largest_wrench(2.0, 0.1) == 2e4


@given(st.lists(st.floats(-900, 900), min_size=9, max_size=9), st.integers(0, 8))
def test_states_within_the_limits_are_physical(numbers, place):
    state = np.array(numbers)
    assert is_physical(state[:3], state[3:])
    for bad in (math.nan, math.inf, 1e145):
        state[place] = bad
        assert not is_physical(state[:3], state[3:])
    assert is_physical(np.zeros((4, 3)), np.zeros((4, 6))).shape == (4,)
