# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The table of messages: the fields of their definitions, and what is filled is read again."""

from types import SimpleNamespace

import numpy as np
import pytest

from marine_sim_ros.core.messages import MESSAGES, message_fields, message_numbers

STORAGE = pytest.importorskip('marine_sim_ros.bags.rosbags_storage').STORAGE

SINGLE = {'data', 'altitude', 'pressure', 'temperature', 'voltage', 'current', 'variance'}
"""Arrays that are one number; those of a Range too."""


def _filled(message_type, fields):
    """Return a message; of a type that no package here defines, its fields alone."""
    if STORAGE.knows(message_type):
        return STORAGE.fill(message_type, fields)
    parts = {k: _filled('', v) if isinstance(v, dict) else v for k, v in fields.items()}
    return SimpleNamespace(**parts)


def _sample(message_type, name, array):
    """Return numbers to fill an array with: as many as its field has."""
    if array.parts:
        return np.arange(1.0, 1.0 + len(array.parts))
    if name in SINGLE or message_type == 'sensor_msgs/msg/Range':
        return 2.0
    return np.arange(9.0 if name == 'velocity_covariance' else 36.0)


@pytest.mark.parametrize('message_type', MESSAGES)
def test_numbers_of_a_filled_message_are_read_again(message_type):
    for name, array in MESSAGES[message_type].items():
        read = message_numbers(message_type, name)
        if array.rows:
            given = np.arange(36.0 if '.' in array.path else 9.0)
            fields = given
            for field in reversed(array.path.split('.')):
                fields = {field: fields}
            assert read(_filled(message_type, fields)) == array.rows
        else:
            given = _sample(message_type, name, array)
            message = _filled(message_type, message_fields(message_type, **{name: given}))
            assert read(message) == tuple(np.atleast_1d(given).tolist())


def test_arrays_follow_one_another():
    message = STORAGE.fill(
        'nav_msgs/msg/Odometry',
        message_fields('nav_msgs/msg/Odometry', position=(1, 2, 3), orientation=(0, 0, 0, 1)),
    )
    read = message_numbers('nav_msgs/msg/Odometry', 'orientation', 'position')
    assert read(message) == (0, 0, 0, 1, 1, 2, 3)
