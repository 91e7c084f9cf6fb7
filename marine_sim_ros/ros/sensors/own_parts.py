# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What cameras see move of a vehicle, in the messages of a tick: its own, or another vehicle's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.forces.tether_shape import cloud_points
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.messages.convert import finite, stamp_ns

__all__ = ['listen_to_parts', 'part_readers']

Read = Callable[[Any], np.ndarray | None]


def part_readers(vehicle: Vehicle, environment: Environment) -> dict[str, Read]:
    """Return what reads the messages of a vehicle's moving parts, by the name of the need.

    Each returns the numbers of :class:`~marine_sim_ros.sensors.SensorInputs`; None where there
    are not so many as the vehicle and the environment have, or they are not finite.
    """
    arm = vehicle.manipulator
    joints = 0 if arm is None else len(arm)
    readers: dict[str, tuple[Callable[[Any], np.ndarray], tuple[int, ...]]] = {
        # The number of the payload that is held may follow.
        'joints': (lambda m: np.array(m.position[:joints], float), (joints,)),
        'payloads': (_poses, (len(environment.payloads), 7)),
        'tether': (cloud_points, (3,)),
        'rotors': (lambda m: np.array(m.velocity, float), (len(vehicle.thrusters),)),
    }
    return {need: partial(_checked, *reader) for need, reader in readers.items()}


def listen_to_parts(
    node: SuiteNode, last: Mapping[str, Any], take: Callable[[str, int, Any], None]
) -> None:
    """Have a node of sensors listen to what its sensors need of the own vehicle's parts.

    Args:
        node: the node.
        last: what each need was last, by name, of all that the sensors need.
        take: is given the name of a need, a stamp in ns and the value.
    """

    def hear(need: str, read: Read, message: Any) -> None:
        value = read(message)
        if value is None:
            name = topics.NEEDS[need].name
            node.warn_throttled(
                f'{name}: not as many finite numbers as expected; the last ones hold'
            )
            value = last[need]
        take(need, stamp_ns(message.header.stamp), value)

    for need, read in part_readers(node.vehicle, node.environment).items():
        if need in last:
            node.listen(topics.NEEDS[need], partial(hear, need, read))


def _checked(
    read: Callable[[Any], np.ndarray], shape: tuple[int, ...], message: Any
) -> np.ndarray | None:
    value = read(message)
    return value if value.shape[-len(shape) :] == shape and finite(value) else None


def _poses(message: Any) -> np.ndarray:
    """Return places and orientations (p, 7) of a PoseArray."""
    rows = []
    for pose in message.poses:
        p, q = pose.position, pose.orientation
        rows.append((p.x, p.y, p.z, q.x, q.y, q.z, q.w))
    return np.array(rows, float).reshape(-1, 7)
