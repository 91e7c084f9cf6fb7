# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sends what a pilot wants: pulse widths, velocities or a pose."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import PoseStamped, Twist
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from std_msgs.msg import UInt16MultiArray

from marine_sim_ros.control.allocation import PilotMixer
from marine_sim_ros.control.pilot import Pilot
from marine_sim_ros.control.target import Target
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.base.parameters import Parameter
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.messages.convert import set_stamp

__all__ = ['STICKS', 'CommandPublisher', 'full_stick']

TOPICS = {'pwm': topics.PWM, 'velocity': topics.COMMAND_VELOCITY, 'pose': topics.COMMAND_POSE}
REPEAT = 0.5
"""s of wall time after which a pose that did not change is sent again."""

STICKS = (
    Parameter('max_speed', [1.0, 0.5, 0.5], 'surge, sway and heave of full stick', unit='m/s'),
    Parameter('max_rate', [0.5, 0.5, 0.8], 'roll, pitch and yaw rate of full stick', unit='rad/s'),
    Parameter('dead_band', 0.08, 'share of a stick around its middle that counts as 0', 0.0, 0.9),
)


def full_stick(node: SuiteNode) -> np.ndarray:
    """Return the velocities (6,) of full stick, m/s and rad/s, of a node with ``STICKS``.

    Raises:
        ParameterError: one is not three numbers of 0 to 1000.
    """
    result = []
    for name in ('max_speed', 'max_rate'):
        top = np.array(node.values[name], float)
        if top.shape != (3,) or not np.all((top >= 0) & (top <= 1e3)):
            raise ParameterError(
                f'{node.get_name()}: {name} is {top.tolist()}; expected three of 0 to 1000'
            )
        result.append(top)
    return np.concatenate(result)


class CommandPublisher:
    """The pilot's three outputs, of which one is used at a time."""

    def __init__(self, node: SuiteNode, top: np.ndarray) -> None:
        """Make the publishers; ``top`` (6,) are the velocities of full effort, m/s and rad/s."""
        self._node = node
        self._top = top
        self._mixer = PilotMixer(node.vehicle.thrusters)
        self._outlets = {
            output: node.publisher(topic) for output, topic in TOPICS.items() if output != 'pwm'
        }
        self._send: dict[str, Callable[[Pilot, int], None]] = {
            'pwm': self._send_pwm,
            'velocity': self._send_velocity,
            'pose': self._send_pose,
        }
        self._sent: tuple[Target | None, int] = (None, 0)
        self._rival = False
        self._unheard: frozenset[str] = frozenset()
        self.pwm = np.full(len(node.vehicle.thrusters), 1500.0)
        node.create_timer(0.5, self._look_around, clock=node.wall_clock)
        self._finding = node.create_timer(0.1, self._find_thrusters, clock=node.wall_clock)

    def send(self, pilot: Pilot, stamp: int) -> None:
        """Send what the pilot wants; a pose only when it is new or due, with a stamp in ns."""
        self._send[pilot.output](pilot, stamp)

    def trouble(self, output: str) -> str:
        """Return why an output moves nothing, or an empty text."""
        if output == 'pwm' and self._rival:
            return 'a controller drives the thrusters; take another output than pwm'
        who = 'no thrusters listen' if output == 'pwm' else 'no controller listens'
        return f'{who} to {TOPICS[output].name}' if output in self._unheard else ''

    def _find_thrusters(self) -> None:
        """Speak to thrusters that listen; those that await a controller would complain of us."""
        name = self._node.resolve_topic_name(topics.PWM.name)
        wanted = {
            info.qos_profile.durability
            for info in self._node.get_subscriptions_info_by_topic(name)
            if info.qos_profile.reliability is ReliabilityPolicy.RELIABLE
        }
        if wanted == {DurabilityPolicy.VOLATILE}:
            self._outlets['pwm'] = self._node.publisher(topics.PWM)
            self._finding.cancel()

    def _look_around(self) -> None:
        name = self._node.resolve_topic_name(topics.PWM.name)
        self._unheard = frozenset(
            output
            for output in TOPICS
            if output not in self._outlets or not self._outlets[output].get_subscription_count()
        )
        # Whoever sends one command for every odom latches it, as an operator's node does not.
        self._rival = any(
            info.qos_profile.durability is DurabilityPolicy.TRANSIENT_LOCAL
            for info in self._node.get_publishers_info_by_topic(name)
        )

    def _send_pwm(self, pilot: Pilot, stamp: int) -> None:
        del stamp
        if self._rival:
            return
        self.pwm = self._mixer.pwm(pilot.efforts())
        if 'pwm' in self._outlets:
            self._outlets['pwm'].publish(UInt16MultiArray(data=[int(p) for p in self.pwm]))

    def _send_velocity(self, pilot: Pilot, stamp: int) -> None:
        del stamp
        message = Twist()
        v, w = message.linear, message.angular
        v.x, v.y, v.z, w.x, w.y, w.z = (pilot.efforts() * self._top).tolist()
        self._outlets['velocity'].publish(message)

    def _send_pose(self, pilot: Pilot, stamp: int) -> None:
        now = self._node.wall_clock.now().nanoseconds
        target, (last, at) = pilot.target, self._sent
        if target is None or (target == last and now - at < REPEAT * NANOSECONDS):
            return
        self._sent = (target, now)
        message = PoseStamped()
        message.header.frame_id = 'map'
        set_stamp(message.header.stamp, stamp)
        p, q = message.pose.position, message.pose.orientation
        p.x, p.y, p.z = target.position
        q.x, q.y, q.z, q.w = target.orientation().tolist()
        self._outlets['pose'].publish(message)
