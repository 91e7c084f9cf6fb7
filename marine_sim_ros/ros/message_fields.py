# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fields of ROS messages from numbers, states and mappings, and back."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TransformStamped, Vector3Stamped, WrenchStamped
from nav_msgs.msg import Odometry, Path

from marine_sim_ros.core.state import NANOSECONDS, State

__all__ = [
    'is_finite',
    'odometry_message',
    'odometry_numbers',
    'path_message',
    'set_fields',
    'set_stamp',
    'set_transform',
    'state_from',
    'state_of',
    'transform_message',
    'vector_from',
    'wrench_from',
]


SCALARS = (float, int, str)
"""Types of most fields."""


def set_stamp(stamp: Time, ns: int) -> None:
    """Write ns into a stamp."""
    stamp.sec, stamp.nanosec = divmod(ns, NANOSECONDS)


def is_finite(values: np.ndarray) -> bool:
    """Return whether all numbers are finite."""
    return math.isfinite(float(values.sum())) or bool(np.all(np.isfinite(values)))


def odometry_numbers(message: Odometry) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the pose (7) and the body velocity (6) of an Odometry."""
    p, q = message.pose.pose.position, message.pose.pose.orientation
    v, w = message.twist.twist.linear, message.twist.twist.angular
    return (p.x, p.y, p.z, q.x, q.y, q.z, q.w), (v.x, v.y, v.z, w.x, w.y, w.z)


def odometry_message(frame: str, state: State) -> Odometry:
    """Return the Odometry of a state in map, without a stamp."""
    message = Odometry(child_frame_id=frame)
    message.header.frame_id = 'map'
    _set_pose(message.pose.pose.position, message.pose.pose.orientation, state)
    v, w = message.twist.twist.linear, message.twist.twist.angular
    v.x, v.y, v.z, w.x, w.y, w.z = state.velocity.tolist()
    return message


def state_from(message: Odometry) -> State | None:
    """Return the state of an Odometry (map pose, body twist), or None if it is not finite."""
    pose, velocity = odometry_numbers(message)
    return state_of((*pose, *velocity))


def state_of(numbers: Sequence[float]) -> State | None:
    """Return the state of pose (7) and body velocity (6), or None if they are not finite.

    The nodes of a process get the same numbers in a tick, and then the same state, in which
    nobody can write.
    """
    global _latest
    if numbers is _latest[0]:
        return _latest[1]
    state = None
    if math.isfinite(sum(numbers)):
        array = np.array(numbers)
        array.setflags(write=False)
        state = State(array[:3], array[3:7], array[7:])
    _latest = numbers, state
    return state


_latest: tuple[Sequence[float], State | None] = (), None


def _set_pose(position: object, orientation: object, state: State) -> None:
    position.x, position.y, position.z = state.position.tolist()  # type: ignore[attr-defined]
    q = orientation
    q.x, q.y, q.z, q.w = state.orientation.tolist()  # type: ignore[attr-defined]


def set_transform(message: TransformStamped, state: State) -> None:
    """Write a state's pose into a TransformStamped."""
    _set_pose(message.transform.translation, message.transform.rotation, state)


def transform_message(
    parent: str, child: str, position: np.ndarray, orientation: np.ndarray
) -> TransformStamped:
    """Return a transform without a stamp.

    Args:
        parent: frame.
        child: frame.
        position: (3,) of the child in the parent, m.
        orientation: (4,) of the child in the parent, x, y, z, w.
    """
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id = parent
    set_transform(message, State(position, orientation, np.zeros(6)))
    return message


def wrench_from(message: WrenchStamped) -> np.ndarray:
    """Return the six numbers of a wrench."""
    f, t = message.wrench.force, message.wrench.torque
    return np.array([f.x, f.y, f.z, t.x, t.y, t.z])


def vector_from(message: Vector3Stamped) -> np.ndarray:
    """Return the three numbers of a vector."""
    v = message.vector
    return np.array([v.x, v.y, v.z])


def path_message(stamp: int, points: np.ndarray) -> Path:
    """Return points (n, 3) of map, m, as a Path with a stamp in ns."""
    path = Path()
    path.header.frame_id = 'map'
    set_stamp(path.header.stamp, stamp)
    for x, y, z in points.tolist():
        pose = PoseStamped(header=path.header)
        position = pose.pose.position
        position.x, position.y, position.z = x, y, z
        pose.pose.orientation.w = 1.0
        path.poses.append(pose)
    return path


def set_fields(message: Any, values: Mapping[str, Any]) -> None:
    """Write values by name into a message, mappings into the messages within it.

    A list of mappings makes a list of messages.
    """
    for name, value in values.items():
        if isinstance(value, SCALARS):  # first, as the other questions cost more than the answer
            setattr(message, name, value)
        elif isinstance(value, Mapping):
            set_fields(getattr(message, name), value)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            setattr(message, name, _messages(message, name, value))
        elif isinstance(value, np.ndarray) and isinstance(getattr(message, name), array):
            kind = getattr(message, name).typecode
            setattr(message, name, array(kind, value.astype(kind).tobytes()))
        else:
            setattr(message, name, value)


def _messages(message: Any, name: str, values: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return messages for a field that is a list: its type is ``sequence<package/Name>``."""
    kind = message.get_fields_and_field_types()[name]
    package, name = re.findall(r'(\w+)/(\w+)', kind)[0]
    make = getattr(import_module(f'{package}.msg'), name)
    messages = [make() for _ in values]
    for item, value in zip(messages, values, strict=True):
        set_fields(item, value)
    return messages
