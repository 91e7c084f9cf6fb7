# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Streams in bounded memory say what the whole arrays say."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marine_sim_ros.analysis.alignment import Alignment, align, differences
from marine_sim_ros.bags.series import MAX_HOLD, MessageTiming, Series, latest_rows
from marine_sim_ros.bags.vehicle_record import Channel, Clock, VehicleRecord
from marine_sim_ros.core.errors import ParameterError


def fed(time, values, blocks, **options):
    series = Series(values.shape[1], **options)
    for part in np.array_split(np.arange(len(time)), blocks):
        series.add(time[part], values[part])
    return series


@given(st.integers(1, 5000), st.integers(1, 40), st.integers(0, 99))
@settings(max_examples=40)
def test_an_envelope_has_every_extreme_and_no_more_points_than_it_may(n, blocks, seed):
    rng = np.random.default_rng(seed)
    time, values = np.cumsum(rng.uniform(0.001, 0.1, n)), rng.normal(size=(n, 2))
    series = fed(time, values, blocks, buckets=50)
    for column in range(2):
        t, v = series.line(column)
        assert len(t) <= 2 * (2 * 50 + 1)
        assert v.min() == values[:, column].min()
        assert v.max() == values[:, column].max()
        assert np.all(np.diff(t) >= 0)
        # Every point that is drawn was there.
        at = np.searchsorted(time, t)
        np.testing.assert_array_equal(values[at, column], v)
    np.testing.assert_array_equal(series.minimum, values.min(axis=0))
    np.testing.assert_array_equal(series.maximum, values.max(axis=0))


def test_one_sample_among_a_million_is_drawn():
    series = Series(1)
    time = np.arange(1_000_000) / 200
    values = np.zeros((1_000_000, 1))
    values[654_321] = 7
    for part in np.split(np.arange(1_000_000), 1000):
        series.add(time[part], values[part])
    t, v = series.line(0)
    assert t[v == 7] == [time[654_321]]
    assert len(t) < 6100


@given(st.integers(1, 9000), st.integers(1, 30))
@settings(max_examples=30)
def test_thinned_rows_are_every_strideth(n, blocks):
    time = np.arange(n, dtype=float)
    series = fed(time, np.column_stack([time, -time]), blocks, numbers=1)  # 1024 rows at least
    assert len(series.time) <= 1024
    np.testing.assert_array_equal(series.time, time[:: series.stride])
    np.testing.assert_array_equal(series.rows[:, 1], -time[:: series.stride])
    assert n <= 1024 or len(series.time) > 500


@given(st.integers(2, 300), st.integers(1, 30), st.integers(0, 99))
@settings(max_examples=30)
def test_integrals_do_not_depend_on_blocks(n, blocks, seed):
    rng = np.random.default_rng(seed)
    time, values = np.cumsum(rng.uniform(0.01, 1.2 * MAX_HOLD, n)), rng.normal(size=(n, 3))
    step = np.diff(time)
    expected = (values[:-1] * np.where(step <= MAX_HOLD, step, 0)[:, None]).sum(axis=0)
    np.testing.assert_allclose(fed(time, values, blocks).integral, expected, atol=1e-9)


def test_holes_are_drawn_as_holes():
    values = np.ones((40_000, 1))
    values[10_000:20_000] = np.nan
    series = fed(np.arange(40_000.0), values, 40)
    t, v = series.line(0)
    assert np.isnan(v[(t > 10_100) & (t < 19_900)]).all()
    assert np.all(v[(t < 9_900) | (t > 20_100)] == 1)


def test_memory_does_not_grow_with_the_stream():
    def peak(n):
        tracemalloc.start()
        series = Series(6)
        for i in range(n):
            time = np.arange(i * 1024, (i + 1) * 1024) / 200
            series.add(time, np.random.default_rng(i).normal(size=(1024, 6)))
        result = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return result

    short, long = peak(250), peak(1250)  # 14 MB and 72 MB of numbers
    assert long < 1.3 * short
    assert long < 40e6


def test_gaps_repeats_and_steps_back_are_counted():
    tick = 5_000_000
    ticks = [*range(100), *range(103, 150), 150, 150, *range(151, 160), 90, *range(160, 170)]
    stamps = np.array(ticks) * tick
    for blocks in (1, 5, 37):
        timing = MessageTiming()
        for part in np.array_split(stamps, blocks):
            timing.add(part, part)
        assert timing.tick == pytest.approx(0.005)
        assert (timing.backwards, timing.repeated) == (1, 1)
        # Three ticks are missing after the 100th, and 69 between 90 and 160.
        assert (timing.gaps, timing.lost) == (2, 3 + 69)
        assert timing.longest[0] == pytest.approx((70 * 0.005, 90 * 0.005))
        assert not timing.has_wall_clock
        assert timing.real_time_factor is None


def test_wall_times_tell_the_real_time_factor():
    stamps = np.arange(1000) * 5_000_000
    timing = MessageTiming()
    timing.add(stamps, 1_700_000_000_000_000_000 + 2 * stamps)
    assert timing.has_wall_clock
    assert timing.real_time_factor == pytest.approx(0.5)


def test_a_message_without_stamp_gets_one_between_those_of_odometry():
    clock = Clock()
    assert clock.stamp(5) is None
    for i in range(3):  # twice as fast as real time
        clock.tick(1000 + 10 * i, 20 * i)
    assert [clock.stamp(1020 + d) for d in (0, 4, 10, 30)] == [40, 48, 60, 60]


def recorded(time, heave, offset=0.0):
    """A vehicle whose depth follows its heave."""
    record = VehicleRecord('rov')
    record.add(Channel('odom', '/rov/odom', 'nav_msgs/msg/Odometry', 'odom'))
    series = Series(16)
    rows = np.zeros((len(time), 16))
    rows[:, 8] = heave
    rows[:, 2] = np.cumsum(heave) * (time[1] - time[0])
    series.add(time + offset, rows)
    channel = record.channels['odom']
    channel.series = series
    stamps = ((time + offset) * 1e9).astype(np.int64)
    channel.timing.add(stamps, stamps)
    return record


@pytest.mark.parametrize('shift', [0.0, 3.7, -2.345])
def test_correlation_finds_how_late_the_other_started(shift):
    rng = np.random.default_rng(1)
    fine = np.arange(0, 80, 0.01)
    noise = np.convolve(rng.normal(size=len(fine)), np.hanning(200), 'same')
    one, two = np.arange(10, 50, 0.02), np.arange(10 + shift, 50 + shift, 0.025)
    first = recorded(one, np.interp(one, fine, noise))
    other = recorded(two, np.interp(two, fine, noise), offset=1_700_000_000.0)
    found = align(first, other)
    assert found.method == 'correlation'
    assert found.offset == pytest.approx(-1_700_000_000, abs=0.006)
    assert found.agreement > 0.99
    assert differences(first, other, found)['heave']['rms'] < 0.02 * noise.std()


@pytest.mark.parametrize('late', [22.3, -7.2])
def test_clocks_that_overlap_by_chance_are_told_apart_by_the_motions(late):
    """Of a log, whose clock began with the autopilot, and its replay, whose began with 0."""
    rng = np.random.default_rng(2)
    time = np.arange(0, 160, 0.05)
    noise = np.convolve(rng.normal(size=len(time)), np.hanning(60), 'same')
    first, other = recorded(time, noise, offset=30.0), recorded(time, noise, offset=30.0 + late)
    found = align(first, other)
    assert found.method == 'correlation'
    assert found.offset == pytest.approx(-late, abs=0.03)
    assert differences(first, other, found)['heave']['rms'] < 0.05 * noise.std()
    another = np.convolve(rng.normal(size=len(time)), np.hanning(60), 'same')
    apart = recorded(time, another, offset=30.0 + late)
    assert align(first, apart) == Alignment('stamps', 0.0)


def test_stamps_align_what_has_one_clock_and_start_what_does_not_move():
    time = np.arange(0, 10, 0.01)
    first = recorded(time, np.sin(time))
    assert align(first, recorded(time + 2, np.sin(time + 2))) == Alignment('stamps', 0.0)
    still = recorded(time, 0 * time, offset=1000.0)
    assert align(recorded(time, 0 * time), still) == Alignment('start', -1000.0)
    with pytest.raises(ParameterError, match='nothing moves'):
        align(still, still, 'correlation')


def test_angles_differ_the_shortest_way_round():
    time = np.arange(0, 10, 0.01)
    first, other = recorded(time, np.sin(time)), recorded(time, np.sin(time))
    first.channels['odom'].series.rows[:, 5] = np.radians(179)
    other.channels['odom'].series.rows[:, 5] = np.radians(-179)
    yaw = differences(first, other, Alignment('stamps', 0.0))['yaw']
    assert yaw['bias'] == pytest.approx(2)


def test_a_series_without_rows_has_no_latest_row():
    assert np.isnan(latest_rows(Series(3), np.array([0.0, 1.0]))).all()
