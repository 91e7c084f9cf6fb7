# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Publishers of numbers that are sent in every tick: states, wrenches, joints, pulse widths.

Nodes of the same process get the numbers over its bus. For DDS and recorders they are written into
the bytes of an existing message, which costs a fraction of building one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message

from marine_sim_ros.core.state import State
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.cdr import JointTemplate, MessageTemplate, PwmTemplate

__all__ = [
    'BodyPublisher',
    'JointPublisher',
    'NumbersPublisher',
    'PwmPublisher',
    'SpatialPublisher',
]


class _Template(Protocol):
    """Template of a message."""

    def write(self, stamp: int, numbers: Any) -> bytes:
        """Return the message with a stamp (ns) and numbers."""


class _TemplatePublisher:
    """Publisher of messages that a template writes."""

    def __init__(self, node: VehicleNode, topic: topics.Topic) -> None:
        self._kind, self._publisher = topic.type, node.publisher(topic)
        self.topic_name = self._publisher.topic_name

    def _publish(self, template: _Template, stamp: int, numbers: Any) -> None:
        """Publish numbers with a stamp in ns."""
        publisher = self._publisher
        if not publisher.publish_numbers(stamp, numbers):
            return
        if publisher.wants_bytes:
            publisher.publish(template.write(stamp, numbers))
        if publisher.has_local_receiver:
            publisher.deliver(deserialize_message(template.write(stamp, numbers), self._kind))

    @property
    def has_subscriber(self) -> bool:
        """Whether there is a subscriber over DDS."""
        return self._publisher.get_subscription_count() > 0

    def wait_for_all_acked(self, timeout: Any) -> bool:
        """Wait until all DDS subscribers have acknowledged; return whether they have."""
        return bool(self._publisher.wait_for_all_acked(timeout))


class NumbersPublisher(_TemplatePublisher):
    """Publisher of messages that differ in stamp and numbers only."""

    def __init__(self, node: VehicleNode, topic: topics.Topic, message: Any) -> None:
        """Create the publisher.

        Args:
            topic: the topic; its type has a layout in cdr.py.
            message: a message with the names of its frames.
        """
        super().__init__(node, topic)
        self._template = MessageTemplate(message)

    def publish(self, stamp: int, numbers: Sequence[float] = ()) -> None:
        """Publish numbers, in the order of the layout in cdr.py, with a stamp in ns."""
        self._publish(self._template, stamp, numbers)


class OdometryPublisher(NumbersPublisher):
    """Publisher of a state in map as odometry and, where tf2_msgs is installed, a transform.

    Attributes:
        transform: publisher of the transform, or None.
    """

    def __init__(
        self, node: VehicleNode, topic: topics.Topic, frame: str, tf_frame: str | None = None
    ) -> None:
        """Create the publishers.

        Args:
            topic: the odometry.
            frame: name of the moving frame.
            tf_frame: its name on /tf; default: the same.
        """
        odom = Odometry(child_frame_id=frame)
        odom.header.frame_id = 'map'
        super().__init__(node, topic, odom)
        self.transform: NumbersPublisher | None = None
        if topics.TF is not None:
            transform = TransformStamped(child_frame_id=tf_frame or frame)
            transform.header.frame_id = 'map'
            message = topics.TF.type(transforms=[transform])
            self.transform = NumbersPublisher(node, topics.TF, message)

    def publish_state(self, stamp: int, state: State, acknowledgement: Any | None = None) -> None:
        """Publish a state with a stamp in ns.

        Args:
            acknowledgement: time-out of the acknowledgement of the odometry, before the transform
                is published; None: do not wait.
        """
        pose = [*state.position.tolist(), *state.orientation.tolist()]
        self.publish(stamp, [*pose, *state.velocity.tolist()])
        if acknowledgement is not None:
            self.wait_for_all_acked(acknowledgement)
        if self.transform is not None:
            self.transform.publish(stamp, pose)


class BodyPublisher:
    """Publisher of a free body's odometry, transform and joint positions."""

    def __init__(self, node: VehicleNode, name: str, joints: Sequence[str] = ()) -> None:
        """Create the publishers of a body by its name, and the names of its joints."""
        frame = topics.body_frame_name(name)
        self._odom = OdometryPublisher(node, topics.body_odom(name), frame)
        self._joint_names, self._joints = joints, None
        if joints:
            self._joints = JointPublisher(node, topics.body_joint_states(name), joints)

    def publish(self, stamp: int, state: State, positions: Mapping[str, float]) -> None:
        """Publish a state, and the positions of joints by name, with a stamp in ns."""
        self._odom.publish_state(stamp, state)
        if self._joints is not None:
            self._joints.publish(stamp, position=[positions[n] for n in self._joint_names])


class SpatialPublisher(NumbersPublisher):
    """Publisher of wrenches or accelerations of ``base_link``."""

    def __init__(self, node: VehicleNode, topic: topics.Topic, frame: str = '') -> None:
        """Create the publisher; without a frame the vectors are in the vehicle's."""
        message = topic.type()
        message.header.frame_id = frame or node.body_frame
        super().__init__(node, topic, message)

    def publish(self, stamp: int, vector: np.ndarray) -> None:  # type: ignore[override]
        """Publish a wrench or an acceleration (6,) with a stamp in ns."""
        self._publish(self._template, stamp, vector.tolist())


class JointPublisher(_TemplatePublisher):
    """Publisher of the same named joints in every message."""

    def __init__(self, node: VehicleNode, topic: topics.Topic, names: Sequence[str]) -> None:
        """Create the publisher of a topic of JointState."""
        super().__init__(node, topic)
        self._names = list(names)
        self._template: JointTemplate | None = None

    def publish(
        self,
        stamp: int,
        *,
        position: Sequence[float] = (),
        velocity: Sequence[float] = (),
        effort: Sequence[float] = (),
    ) -> None:
        """Publish numbers with a stamp in ns."""
        numbers = position, velocity, effort
        if self._template is None:
            self._template = JointTemplate(self._names, numbers)
        self._publish(self._template, stamp, numbers)


class PwmPublisher(_TemplatePublisher):
    """Publisher of the pulse widths that answer a state."""

    def __init__(self, node: VehicleNode) -> None:
        """Create the publisher of thrusters/pwm."""
        super().__init__(node, topics.PWM_PER_TICK)
        self._template = PwmTemplate(len(node.vehicle.thrusters))

    def publish(self, stamp: int, pwm: np.ndarray | Sequence[float]) -> None:
        """Publish pulse widths (n,), µs, that answer the state of a stamp (ns)."""
        widths = [int(width) for width in np.asarray(pwm).tolist()]
        self._publish(self._template, stamp, widths)
