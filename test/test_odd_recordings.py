# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings with any numbers, stamps and lengths: a result or one line, in bounded memory."""

import json
import math
from types import SimpleNamespace as Message

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from marine_sim_ros.analysis.film import frame_stamps
from marine_sim_ros.bags.vehicle_record import MAX_ROW_LENGTH, Channel
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.text import json_text
from marine_sim_ros.identification.samples import make_samples
from marine_sim_ros.model.library import load_vehicle

NUMBERS = st.one_of(st.floats(), st.sampled_from([0.0, 1e100, 1e300, -1e308, math.nan, math.inf]))
STAMPS = st.integers(-(2**31), 2**31 - 1)


def header(sec, nanosec=0):
    return Message(stamp=Message(sec=sec, nanosec=nanosec))


def vector(*numbers):
    return Message(**dict(zip('xyzw', numbers, strict=False)))


def odometry(numbers, sec, nanosec):
    pose = Message(position=vector(*numbers[:3]), orientation=vector(*numbers[3:7]))
    twist = Message(linear=vector(*numbers[7:10]), angular=vector(*numbers[10:]))
    return Message(
        header=header(sec, nanosec), pose=Message(pose=pose), twist=Message(twist=twist)
    )


@pytest.mark.filterwarnings('error')
@given(
    st.lists(
        st.tuples(st.lists(NUMBERS, min_size=13, max_size=13), STAMPS, st.integers(0, 2**32 - 1)),
        min_size=1, max_size=8,
    ),
    st.integers(-(2**62), 2**62),
)  # fmt: skip
@example([([1e308, *[0.0] * 5, 1.0, -1e308, *[0.0] * 5], 0, 0)] * 3, 0)
@example([([0.0] * 13, 0, 0)] * 3, 0)
def test_any_odometry_becomes_finite_numbers_or_unknown_ones(messages, receipt):
    channel = Channel('odom', '/x/odom', 'nav_msgs/msg/Odometry', 'odom')
    for numbers, sec, nanosec in messages:
        channel.take(odometry(numbers, sec, nanosec), receipt, None)
    channel.flush(None, None)
    assert not np.isinf(channel.series.rows).any()
    assert channel.distance is None or math.isfinite(channel.distance)


def test_an_array_that_is_no_quantity_is_left_out():
    channel = Channel('thrusters/pwm', '/x/pwm', 'std_msgs/msg/UInt16MultiArray', 'pwm')
    for count in (5_000_000, 0, 6, 8, MAX_ROW_LENGTH + 1, 6):
        channel.take(Message(data=np.zeros(count, np.uint16)), 0, None)
    channel.flush(0, None)
    assert (channel.count, channel.odd, channel.series.count) == (6, 4, 2)
    assert len(channel.labels) == 6


def test_a_film_and_samples_over_a_jump_of_stamps_are_refused():
    time = np.append(np.arange(600) * 0.005, 2.0**31)
    motion = Message(stamps=time)
    with pytest.raises(ParameterError, match=r'6.44e\+10 pictures; expected fewer than 1e\+07'):
        frame_stamps(motion, 30.0, 0.0, None)
    assert len(frame_stamps(motion, 30.0, 0.0, 2.0)) == 61
    rows = np.tile([0.0] * 6 + [1.0] + [0.0] * 6, (601, 1))
    with pytest.raises(ParameterError, match=r'601 messages over 2.15e\+09 s'):
        make_samples(load_vehicle('simple_rov'), time, rows, commands=None)


def test_json_has_null_for_what_is_not_finite():
    text = json_text({'a': [1.5, math.nan, (math.inf, None)], 'b': -math.inf, 'c': 'NaN'})
    assert json.loads(text) == {'a': [1.5, None, [None, None]], 'b': None, 'c': 'NaN'}
