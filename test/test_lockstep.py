# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The barrier and the pacer, without ROS."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros.ros.barrier import WrenchBarrier
from marine_sim_ros.ros.pacing import Pacer
from marine_sim_ros.ros.pairing import PATIENCE, Pairing
from marine_sim_ros.state import rest

ONE = np.ones(6)


def test_barrier_waits_for_every_source_and_sums_in_order():
    barrier = WrenchBarrier(['a', 'b'])
    barrier.begin(5)
    assert not barrier.complete
    barrier.offer('b', 5, 2 * ONE)
    assert barrier.missing == ['a']
    barrier.offer('a', 4, 9 * ONE)  # an older tick does not count
    assert not barrier.complete
    barrier.offer('a', 5, ONE)
    assert barrier.complete
    assert list(barrier.total(np.zeros(6))) == [3] * 6


def test_a_source_that_was_given_up_holds_and_comes_back():
    barrier = WrenchBarrier(['a', 'b'])
    barrier.begin(1)
    barrier.offer('a', 1, ONE)
    barrier.offer('b', 1, ONE)
    barrier.begin(2)
    barrier.offer('a', 2, ONE)
    assert barrier.give_up() == ['b']
    assert barrier.complete
    assert list(barrier.total(np.zeros(6))) == [2] * 6
    barrier.begin(3)
    barrier.offer('a', 3, ONE)
    assert barrier.complete
    assert barrier.offer('b', 2, 5 * ONE)  # late, but alive
    assert not barrier.complete
    assert not barrier.offer('b', 3, 5 * ONE)
    assert barrier.complete


def test_no_sources_is_complete_at_once():
    barrier = WrenchBarrier([])
    barrier.begin(1)
    assert barrier.complete


@given(st.floats(0.01, 100), st.floats(0, 1e6))
def test_pacer_shows_each_stamp_when_its_time_has_come(factor, start):
    pacer = Pacer(factor)
    assert pacer.due(0.0, start)
    step = 0.3 * factor
    assert not pacer.due(step, start + 0.29)
    assert pacer.due(step, start + 0.301)


def test_pacer_at_factor_zero_never_waits_and_forgives_debt():
    assert all(Pacer(0).due(t, 0.0) for t in (0, 10, 1e9))
    pacer = Pacer(1.0)
    pacer.due(0.0, 0.0)
    assert pacer.due(0.1, 10.0)  # far behind: goes on from here
    assert not pacer.due(0.2, 10.05)


# --- states and thrusts of one stamp -----------------------------------------------------------


def answers(pairs):
    return [(stamp, float(thrust[0])) for stamp, _, thrust in pairs]


def thrust(value):
    return np.array([float(value)])


def test_states_and_thrusts_pair_in_either_order():
    pairing = Pairing(1)
    assert pairing.state(0, rest()) == []
    assert answers(pairing.thrust(0, thrust(5))) == [(0, 5)]
    assert pairing.thrust(10, thrust(6)) == []
    assert answers(pairing.state(10, rest())) == [(10, 6)]
    assert pairing.state(20, rest()) == []


def test_when_the_thrusters_are_silent_their_last_thrust_holds_until_they_are_back():
    pairing = Pairing(1)
    pairing.state(0, rest())
    pairing.thrust(0, thrust(5))
    waiting = [answers(pairing.state(i, rest())) for i in range(1, PATIENCE + 1)]
    assert not any(waiting)
    assert not pairing.holding
    late = answers(pairing.state(PATIENCE + 1, rest()))
    assert late == [(i, 5) for i in range(1, PATIENCE + 2)]
    assert pairing.holding
    assert answers(pairing.state(PATIENCE + 2, rest())) == [(PATIENCE + 2, 5)]
    assert pairing.thrust(PATIENCE + 2, thrust(7)) == []  # answered already
    assert not pairing.holding
    assert pairing.state(PATIENCE + 3, rest()) == []
    assert answers(pairing.thrust(PATIENCE + 3, thrust(8))) == [(PATIENCE + 3, 8)]


def test_a_thrust_that_never_came_is_the_one_before():
    pairing = Pairing(1)
    pairing.state(0, rest())
    pairing.thrust(0, thrust(5))
    pairing.state(1, rest())
    pairing.state(2, rest())
    assert answers(pairing.thrust(2, thrust(7))) == [(1, 5), (2, 7)]


def test_a_reset_forgets_what_belongs_to_the_run_before():
    for order in ('state first', 'thrust first'):
        pairing = Pairing(1)
        for stamp in (0, 1, 2):
            pairing.state(stamp, rest())
            pairing.thrust(stamp, thrust(5))
        pairing.thrust(3, thrust(6))  # its state was never seen
        pairing.state(4, rest())
        if order == 'state first':
            assert pairing.state(0, rest()) == []
            assert answers(pairing.thrust(0, thrust(0))) == [(0, 0)]
        else:
            assert pairing.thrust(0, thrust(0)) == []
            assert answers(pairing.state(0, rest())) == [(0, 0)]
        assert pairing.state(3, rest()) == []


@given(st.lists(st.booleans(), max_size=60), st.integers(1, 5))
def test_every_state_is_answered_once_and_in_order(turns, ahead):
    pairing, states, thrusts, done = Pairing(1), 0, 0, []
    for state_next in [*turns, *[False] * 70]:
        if state_next and states < thrusts + ahead:
            done += pairing.state(states, rest())
            states += 1
        elif thrusts < states + ahead:
            done += pairing.thrust(thrusts, thrust(thrusts))
            thrusts += 1
    assert answers(done) == [(i, i) for i in range(states)]
