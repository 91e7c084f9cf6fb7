# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where the own arm, the payloads and the own tether are at a tick, for cameras."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from marine_sim_ros.ros import topics
from marine_sim_ros.ros.convert import finite, stamp_ns
from marine_sim_ros.ros.node import SuiteNode
from marine_sim_ros.ros.tether_shape import cloud_points

__all__ = ['listen_to_parts']


def listen_to_parts(
    node: SuiteNode, last: Mapping[str, Any], take: Callable[[str, int, Any], None]
) -> None:
    """Have a node of sensors listen to what its sensors need of these.

    Args:
        node: the node.
        last: what each need was last, by name, of all that the sensors need.
        take: is given the name of a need, a stamp in ns and the value.
    """
    arm, payloads = node.vehicle.manipulator, len(node.environment.payloads)
    joints = 0 if arm is None else len(arm)

    def hear(
        need: str, read: Callable[[Any], np.ndarray], shape: tuple[int, ...], message: Any
    ) -> None:
        value = read(message)
        if value.shape[-len(shape) :] != shape or not finite(value):
            name, found = topics.NEEDS[need].name, value.shape
            node.warn_throttled(
                f'{name}: numbers {found}; expected {shape} of finite ones; the last ones hold'
            )
            value = last[need]
        take(need, stamp_ns(message.header.stamp), value)

    readers = {
        # The number of the payload that is held may follow.
        'joints': (lambda m: np.array(m.position[:joints], float), (joints,)),
        'payloads': (_poses, (payloads, 7)),
        'tether': (cloud_points, (3,)),
    }
    for need, (read, shape) in readers.items():
        if need in last:
            node.listen(topics.NEEDS[need], partial(hear, need, read, shape))


def _poses(message: Any) -> np.ndarray:
    """Return places and orientations (p, 7) of a PoseArray."""
    rows = []
    for pose in message.poses:
        p, q = pose.position, pose.orientation
        rows.append((p.x, p.y, p.z, q.x, q.y, q.z, q.w))
    return np.array(rows, float).reshape(-1, 7)
