# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Publishers of what is sent in every tick: wrenches, joints, pulse widths.

Without a bus a message is filled in its serialised bytes, which costs a fraction. With one the
nodes of the process get the numbers, and a message is filled where somebody else listens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import AccelStamped
from sensor_msgs.msg import JointState

from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.messages.codecs import Template
from marine_sim_ros.ros.messages.convert import set_acceleration, set_stamp, set_wrench
from marine_sim_ros.ros.messages.pwm import PwmMessage
from marine_sim_ros.ros.messages.sequences import JointTemplate, PwmTemplate

__all__ = ['JointPublisher', 'PwmPublisher', 'SpatialPublisher', 'StampPublisher']


class SpatialPublisher:
    """Publishes wrenches or accelerations of ``base_link``, one message for all."""

    def __init__(self, node: SuiteNode, topic: topics.Topic) -> None:
        """Create the publisher."""
        self._publisher = node.publisher(topic)
        self._message = topic.type()
        self._message.header.frame_id = node.body_frame
        self._set = set_acceleration if topic.type is AccelStamped else set_wrench
        self._template = Template(self._message) if node.bus is None else None

    def publish(self, stamp: int, vector: np.ndarray) -> None:
        """Publish a wrench or an acceleration (6,) with a stamp in ns."""
        numbers = vector.tolist()
        self._publisher.publish_numbers(stamp, numbers)
        if not self._publisher.wanted:
            return
        if self._template is not None:
            self._publisher.publish(self._template.write(stamp, numbers))
            return
        set_stamp(self._message.header.stamp, stamp)
        self._set(self._message, vector)
        self._publisher.publish(self._message)

    def wait_for_all_acked(self, timeout: Any) -> bool:
        """Wait until everybody who listens has it; return whether they do."""
        return bool(self._publisher.wait_for_all_acked(timeout))


class StampPublisher:
    """Publishes stamps and nothing else: headers."""

    def __init__(self, node: SuiteNode, topic: topics.Topic) -> None:
        """Create the publisher."""
        self._publisher = node.publisher(topic)
        self._message = topic.type()
        self._template = Template(self._message) if node.bus is None else None

    def publish(self, stamp: int) -> None:
        """Publish a stamp in ns."""
        self._publisher.publish_numbers(stamp, ())
        if not self._publisher.wanted:
            return
        if self._template is not None:
            self._publisher.publish(self._template.write(stamp, ()))
            return
        set_stamp(self._message.stamp, stamp)
        self._publisher.publish(self._message)

    @property
    def heard(self) -> bool:
        """Whether anybody listens over DDS."""
        return self._publisher.get_subscription_count() > 0


class JointPublisher:
    """Publishes numbers of named joints, always as many, one message for all."""

    def __init__(self, node: SuiteNode, topic: topics.Topic, names: Sequence[str]) -> None:
        """Create the publisher of a topic of JointState."""
        self._names, self._separate = list(names), node.bus is None
        self._publisher = node.publisher(topic)
        self._message = JointState(name=self._names)
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
        self._publisher.publish_numbers(stamp, numbers)
        if not self._publisher.wanted:
            return
        if self._separate:
            if self._template is None:
                self._template = JointTemplate(self._names, numbers)
            self._publisher.publish(self._template.write(stamp, numbers))
            return
        message = self._message
        set_stamp(message.header.stamp, stamp)
        message.position, message.velocity, message.effort = numbers
        self._publisher.publish(message)


class PwmPublisher:
    """Publishes the pulse widths that answer a state."""

    def __init__(self, node: SuiteNode) -> None:
        """Create the publisher of thrusters/pwm."""
        self._publisher = node.publisher(topics.PWM_PER_TICK)
        separate = node.bus is None
        self._template = PwmTemplate(len(node.vehicle.thrusters)) if separate else None
        self._message = PwmMessage()

    def publish(self, stamp: int, pwm: np.ndarray) -> None:
        """Publish pulse widths (n,), µs, that answer the state of a stamp (ns)."""
        widths = [int(width) for width in np.asarray(pwm).tolist()]
        self._publisher.publish_numbers(stamp, widths)
        if not self._publisher.wanted:
            return
        if self._template is not None:
            self._publisher.publish(self._template.write(stamp, widths))
        else:
            self._publisher.publish(self._message.filled(stamp, widths))
