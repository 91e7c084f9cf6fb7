# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The barrier and the pacer, without ROS."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros.ros.barrier import WrenchBarrier
from marine_sim_ros.ros.pacing import Pacer

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
