# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Switches of another node: late services, lost answers, refusals, silence, new requests."""

from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.ros

SECOND = 10**9


class Client:
    """A service client; the test says when the service is there and what it answers."""

    def __init__(self):
        self.ready, self.sent, self.pending = False, [], []

    def service_is_ready(self):
        return self.ready

    def call_async(self, request):
        self.sent.append(request.data)
        future = SimpleNamespace()
        future.add_done_callback = lambda callback: setattr(future, 'callback', callback)
        self.pending.append(future)
        return future

    def remove_pending_request(self, future):
        self.pending = [one for one in self.pending if one is not future]

    def answer(self, which, *, success=True, message=''):
        future = self.pending.pop(which)
        future.result = lambda: SimpleNamespace(success=success, message=message)
        future.callback(future)


class Node:
    """What Switches need of a node."""

    def __init__(self):
        self.time, self.warnings, self.client = 0, [], Client()
        self.rate = 1.0
        self.wall_clock = SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=self.time))
        self.warn_throttled = self.warnings.append

    def get_clock(self):
        time = round(self.time * self.rate)
        return SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=time))

    def create_client(self, kind, name):
        del kind, name
        return self.client


@pytest.fixture
def node():
    return Node()


@pytest.fixture
def switches(node):
    from marine_sim_ros.ros.operators.commands import Switches

    return Switches(node, ['arm'], 'controller')


def wait(node, switches, seconds):
    """Let time pass in the steps of a node that serves 20 times a second."""
    for _ in range(round(seconds * 20)):
        node.time += SECOND // 20
        switches.check()


def test_a_request_waits_for_a_controller_that_starts_later(node, switches):
    answers = []
    switches.ask('arm', True, lambda *answer: answers.append(answer))
    wait(node, switches, 3.0)
    assert (node.client.sent, answers, switches.unanswered) == ([], [], {'arm'})
    node.client.ready = True
    wait(node, switches, 0.1)
    assert node.client.sent == [True]
    assert switches.states['arm'] is None  # not before it answers
    node.client.answer(0, message='armed')
    assert (answers, switches.states['arm']) == ([(True, 'armed')], True)
    assert (switches.unanswered, node.warnings) == (frozenset(), [])


@pytest.mark.parametrize('which', [0, -1])
def test_a_lost_answer_is_asked_for_again_and_any_answer_counts_once(node, switches, which):
    answers = []
    node.client.ready = True
    switches.ask('arm', True, lambda *answer: answers.append(answer))
    wait(node, switches, 1.2)
    assert node.client.sent == [True] * 3
    node.client.answer(which)
    assert (answers, switches.states['arm'], node.client.pending) == ([(True, '')], True, [])
    wait(node, switches, 10.0)
    assert (node.client.sent, node.warnings) == ([True] * 3, [])


WAITING, ABSENT = 'arm: no controller answers yet; waiting', 'arm: no controller answers'


@pytest.mark.parametrize(
    ('rate', 'seconds'), [(2.0, 5.0), (1.0, 5.0), (0.16, 31.25), (0.01, 60.0), (0.0, 60.0)]
)
def test_an_absent_controller_is_given_up_after_five_seconds_of_both_clocks_or_a_minute(
    node, switches, rate, seconds
):
    answers = []
    node.rate = rate
    switches.ask('arm', True, lambda *answer: answers.append(answer))
    wait(node, switches, seconds - 0.1)
    assert answers == []
    wait(node, switches, 5.0)
    assert node.warnings == [*([WAITING] if rate < 1 else []), ABSENT]
    assert answers == [(False, ABSENT)]
    assert (switches.states['arm'], switches.unanswered) == (None, frozenset())


def test_a_controller_that_is_offered_is_waited_for_until_it_is_gone(node, switches):
    answers = []
    node.client.ready = True
    switches.ask('arm', True, lambda *answer: answers.append(answer))
    wait(node, switches, 60.0)
    assert (answers, node.warnings, switches.unanswered) == ([], [WAITING], {'arm'})
    node.client.ready = False
    wait(node, switches, 4.9)
    assert answers == []
    wait(node, switches, 0.2)
    assert (answers, node.client.pending) == ([(False, ABSENT)], [])


def test_a_reset_of_the_run_does_not_lengthen_the_wait(node, switches):
    answers = []
    node.time = 1000 * SECOND
    switches.ask('arm', True, lambda *answer: answers.append(answer))
    node.rate = 0.001  # the clock of the run is back at 1 s
    wait(node, switches, 1.0)
    assert answers == []
    node.rate = 1.0
    wait(node, switches, 6.0)
    assert answers == [(False, ABSENT)]


def test_a_refusal_is_told_with_its_reason(node, switches):
    answers = []
    node.client.ready = True
    switches.ask('arm', True, lambda *answer: answers.append(answer))
    node.client.answer(0, success=False, message='leak')
    assert answers == [(False, 'arm: refused: leak')]
    assert (node.warnings, switches.states['arm']) == (['arm: refused: leak'], None)


def test_a_new_request_supersedes_the_one_before(node, switches):
    answers = []
    node.client.ready = True
    switches.ask('arm', True, lambda *answer: answers.append(('on', *answer)))
    old = node.client.pending[0]
    switches.ask('arm', False, lambda *answer: answers.append(('off', *answer)))
    old.result = lambda: SimpleNamespace(success=True, message='')
    old.callback(old)  # came in between
    assert switches.states['arm'] is None
    node.client.answer(0)
    assert answers == [('on', False, 'superseded'), ('off', True, '')]
    assert (node.client.sent, switches.states['arm']) == ([True, False], False)


def test_a_controller_that_is_gone_has_no_known_state(node, switches):
    node.client.ready = True
    switches.ask('arm', True)
    node.client.answer(0)
    node.client.ready = False
    switches.check()
    assert switches.states['arm'] is None
