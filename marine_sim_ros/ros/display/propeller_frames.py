# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Transforms of propellers, for whoever shows the vehicle by its robot_description.

robot_state_publisher leaves continuous joints to who publishes their angles. A description has
such joints where a run shows markers (``model/propellers.py``), or where its author wrote them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np
from rclpy.serialization import deserialize_message
from std_msgs.msg import String

from marine_sim_ros.core.spatial import rotation_vector_quaternion
from marine_sim_ros.core.stamps import NANOSECONDS, header_stamp
from marine_sim_ros.model.propellers import propeller_link, propeller_turns
from marine_sim_ros.model.xml import Reader, parse
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.base.parameters import Parameter
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.messages.convert import set_stamp, stamp_ns, transform_message
from marine_sim_ros.ros.sensors.own_parts import part_readers
from marine_sim_ros.sdf.poses import IDENTITY, Pose, read_origin

__all__ = ['PROPELLER_RATE', 'PropellerFrames']

PROPELLER_RATE = Parameter(
    'propeller_rate',
    25.0,
    'transforms of each propeller per second of simulated time, where robot_description has '
    'continuous joints for them',
    0.0,
    1e3,
    unit='Hz',
    empty='none',
)


class _Mount(NamedTuple):
    """Where a propeller is: its link, the link that carries it, and its place there at angle 0."""

    link: str
    parent: str
    origin: Pose


class PropellerFrames:
    """Publishes the transforms of those propellers that a robot_description leaves to others.

    Each is stamped a period ahead, with the angle that the rotor has then at its present speed.
    Who shows the newest moment of which all frames are known else shows propellers where the
    vehicle was up to a period ago.
    """

    def __init__(self, node: SuiteNode, rate: float) -> None:
        """Wait for the description of a node's vehicle.

        Args:
            node: node that publishes.
            rate: transforms of each per second of simulated time; 0: none.
        """
        self._node = node
        self._mounts: tuple[_Mount, ...] = ()
        self._publisher: Any = None
        if topics.TF is None or not rate:
            return
        self._period = round(NANOSECONDS / rate)
        self._last = -3 * self._period
        self._speeds = part_readers(node.vehicle, node.environment)['rotors']
        node.listen(topics.ROBOT_DESCRIPTION, self._on_description)

    def _on_description(self, message: String) -> None:
        links = {propeller_link(name) for name in self._node.vehicle.thrusters.names}
        self._mounts = tuple(_mounts(message.data, links))
        if self._mounts and self._publisher is None:
            tf = topics.TF
            self._publisher = self._node.create_publisher(tf.type, tf.name, tf.heard)
            self._node.listen(topics.THRUSTER_STATE, self._on_thrusters, raw=True)

    def _on_thrusters(self, given: Any) -> None:
        """Take a message, or its bytes, which are read where it is time."""
        raw = isinstance(given, bytes)
        stamp = header_stamp(given) if raw else stamp_ns(given.header.stamp)
        passed = stamp - self._last
        if 0 <= passed < self._period or not self._publisher.get_subscription_count():
            return
        kind = topics.THRUSTER_STATE.type
        speeds = self._speeds(deserialize_message(given, kind) if raw else given)
        if speeds is None:
            self._node.warn_throttled(
                'thrusters/state: not one finite speed for each thruster; propellers stand still'
            )
            return
        self._last = stamp
        # The first ones, and those after a gap, are about now too: tf knows no moment before.
        now = () if self._period <= passed <= 2 * self._period else (stamp,)
        transforms = [
            transform
            for moment in (*now, stamp + self._period)
            for transform in self._transforms(speeds, moment)
        ]
        self._publisher.publish(topics.TF.type(transforms=transforms))

    def _transforms(self, speeds: np.ndarray, stamp: int) -> Iterator[Any]:
        """Yield the transforms at a stamp, ns, of rotors with speeds (n,), rad/s."""
        prefix = self._node.values['frame_prefix']
        turns = propeller_turns(self._node.vehicle.thrusters, speeds, stamp / NANOSECONDS)
        for link, parent, origin in self._mounts:
            angle = np.array([0.0, 0.0, turns[link]])
            turn = Pose(IDENTITY.translation, np.asarray(rotation_vector_quaternion(angle)))
            pose = origin.then(turn)
            message = transform_message(
                prefix + parent, prefix + link, pose.translation, pose.quaternion
            )
            set_stamp(message.header.stamp, stamp)
            yield message


def _mounts(urdf: str, links: Collection[str]) -> Iterator[_Mount]:
    """Yield where continuous joints carry links of the given names."""
    root = parse(urdf, 'robot_description')
    for element in root.findall('joint'):
        joint = Reader(element, 'robot_description')
        parent, child = joint.child('parent'), joint.child('child')
        if element.get('type') != 'continuous' or parent is None or child is None:
            continue
        if (link := child.attribute('link')) in links:
            yield _Mount(link, parent.attribute('link'), read_origin(joint))
