# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fields of sensor_msgs/PointCloud2, and the arrays of such a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ['point_cloud', 'points_of']

_TYPES = {'i1': 1, 'u1': 2, 'i2': 3, 'u2': 4, 'i4': 5, 'u4': 6, 'f4': 7, 'f8': 8}
"""Numbers of sensor_msgs/PointField for types of NumPy."""


def point_cloud(points: np.ndarray, channels: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return the fields of an organised cloud; points that are not known are NaN (REP 117).

    Args:
        points: (h, w, 3) m.
        channels: arrays (h, w) by name, of the types that the message shall have.
    """
    rows, columns, _ = points.shape
    given = {**dict(zip('xyz', np.moveaxis(points, -1, 0).astype('<f4'), strict=True)), **channels}
    kinds = [(name, value.dtype.newbyteorder('<')) for name, value in given.items()]
    table = np.empty((rows, columns), np.dtype(kinds))
    for name, value in given.items():
        table[name] = value
    described = table.dtype
    fields = [
        {
            'name': name,
            'offset': described.fields[name][1],
            'datatype': _TYPES[kind.str[1:]],
            'count': 1,
        }
        for name, kind in kinds
        if described.fields is not None
    ]
    return {
        'height': rows,
        'width': columns,
        'fields': fields,
        'is_bigendian': False,
        'point_step': described.itemsize,
        'row_step': columns * described.itemsize,
        'data': np.frombuffer(table.tobytes(), np.uint8),
        'is_dense': bool(np.all(np.isfinite(points))),
    }


def points_of(message: Any) -> np.ndarray:
    """Return the points of a PointCloud2 as a structured array (h, w), with x, y and z at least.

    A cloud without these, or whose data are not as long as it says, has no points.
    """
    whole = np.frombuffer(message.data, np.uint8)
    named = {field.name for field in message.fields}
    if not whole.size == message.height * message.row_step > 0 or not named >= set('xyz'):
        return np.zeros((0, 0), [(axis, '<f4') for axis in 'xyz'])
    names = {number: name for name, number in _TYPES.items()}
    order = '>' if message.is_bigendian else '<'
    kind = np.dtype(
        {
            'names': [field.name for field in message.fields],
            'formats': [order + names[field.datatype] for field in message.fields],
            'offsets': [field.offset for field in message.fields],
            'itemsize': message.point_step,
        }
    )
    rows = whole.reshape(message.height, message.row_step)
    used = np.ascontiguousarray(rows[:, : message.width * message.point_step])
    return used.view(kind)
