# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The barrier and the pacer, without ROS."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros.ros.ticks import Pacer, PairSynchronizer, WrenchBarrier

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
    assert pacer.is_due(0.0, start)
    step = 0.3 * factor
    assert not pacer.is_due(step, start + 0.29)
    assert pacer.is_due(step, start + 0.301)


def test_pacer_at_factor_zero_never_waits_and_forgives_debt():
    assert all(Pacer(0).is_due(t, 0.0) for t in (0, 10, 1e9))
    pacer = Pacer(1.0)
    pacer.is_due(0.0, 0.0)
    assert pacer.is_due(0.1, 10.0)  # far behind: goes on from here
    assert not pacer.is_due(0.2, 10.05)


# --- two inputs of one stamp -------------------------------------------------------------------


def paired():
    done = []
    return PairSynchronizer(
        lambda stamp, first, second: done.append((stamp, first, second)), 'none'
    ), done


def test_inputs_pair_in_either_order():
    pairing, done = paired()
    pairing.first(0, 'a')
    assert done == []
    pairing.second(0, 'x')
    pairing.second(5, 'y')
    pairing.first(5, 'b')
    assert done == [(0, 'a', 'x'), (5, 'b', 'y')]
    pairing.first(10, 'c')
    assert len(done) == 2


def test_who_falls_silent_is_not_waited_for_until_he_speaks_again():
    pairing, done = paired()
    pairing.first(0, 'a')
    pairing.second(0, 'x')
    pairing.first(5, 'b')
    assert len(done) == 1
    pairing.first(10, 'c')  # the owner went on: nobody answers 5 any more
    assert done[1:] == [(5, 'b', 'x'), (10, 'c', 'x')]
    assert pairing.out
    pairing.first(15, 'd')
    assert done[3:] == [(15, 'd', 'x')]
    pairing.second(15, 'y')  # late, but alive
    assert not pairing.out
    pairing.first(20, 'e')
    assert len(done) == 4
    pairing.second(20, 'z')
    assert done[4:] == [(20, 'e', 'z')]


def test_who_works_off_old_ticks_is_not_waited_for():
    """A node that was started again reads what its queue holds, tick by tick."""
    pairing, done = paired()
    for stamp in (0, 5, 10):
        pairing.first(stamp, 'a')
    assert done == [(0, 'a', 'none'), (5, 'a', 'none'), (10, 'a', 'none')]
    pairing.second(5, 'old')
    assert pairing.out
    pairing.first(15, 'b')
    assert done[3:] == [(15, 'b', 'old')]
    pairing.second(15, 'new')
    pairing.first(20, 'c')
    assert len(done) == 4
    pairing.second(20, 'newest')
    assert done[4:] == [(20, 'c', 'newest')]


def test_a_run_that_is_reset_pairs_anew():
    for order in ('first', 'second'):
        pairing, done = paired()
        for stamp in (0, 5, 10):
            pairing.first(stamp, 'a')
            pairing.second(stamp, stamp)
        calls = [(pairing.first, 'b'), (pairing.second, 'new')]
        for call, value in calls if order == 'first' else calls[::-1]:
            call(0, value)
        assert done[3:] == [(0, 'b', 'new')]


@given(st.lists(st.booleans(), max_size=60))
def test_every_first_input_is_answered_once_and_in_order(turns):
    pairing, done = paired()
    firsts = seconds = 0
    for first_next in turns:
        if first_next and firsts <= seconds:  # the owner waits for the answer
            pairing.first(firsts, firsts)
            firsts += 1
        elif not first_next and seconds <= firsts:
            pairing.second(seconds, seconds)
            seconds += 1
    assert done == [(i, i, i) for i in range(min(firsts, seconds))]
