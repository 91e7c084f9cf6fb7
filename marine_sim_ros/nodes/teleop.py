# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Teleop: a gamepad (sensor_msgs/Joy) or the keyboard drives the thrusters.

Subscribes: /joy, odom (for the depth on the screen). Publishes: thrusters/pwm at ``rate`` of wall
time while somebody steers.
Parameters: the common ones, and those below. The keyboard needs a terminal: ``marine_sim teleop``.
Failure: no Joy message for ``joy_timeout`` (a gamepad that was pulled out) stops the thrusters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Joy
from std_msgs.msg import UInt16MultiArray

from marine_sim_ros.control.allocation import PilotMixer
from marine_sim_ros.control.keys import joy_efforts
from marine_sim_ros.errors import ParameterError
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.node import SuiteNode
from marine_sim_ros.ros.parameters import Parameter
from marine_sim_ros.ros.process import run
from marine_sim_ros.trajectory import NANOSECONDS

__all__ = ['TeleopNode', 'main']

JOY = topics.Topic('/joy', Joy, topics.QUEUE, per_tick=False)
PARAMETERS = (
    Parameter('rate', 20.0, 'commands per second of wall time', 1.0, 200.0),
    Parameter('gain', 1.0, 'of full stick', 0.0, 1.0),
    Parameter('dead_band', 0.08, 'of a stick around its middle', 0.0, 0.9),
    Parameter('joy_timeout', 0.5, 's of wall time', 0.05, 60.0),
    Parameter(
        'joy_axes', [2, 1, 5, 0, 0, 4],
        'stick for surge, sway, heave, roll, pitch, yaw: number from 1, negative: turned, 0: none',
    ),
)  # fmt: skip


class TeleopNode(SuiteNode):
    """The node; the terminal screen of ``marine_sim teleop`` steers it too."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``teleop``."""
        super().__init__('teleop', PARAMETERS, **options)
        if len(self.values['joy_axes']) != 6:
            raise ParameterError(
                f'teleop: joy_axes has {len(self.values["joy_axes"])} numbers; expected 6'
            )
        self._mixer = PilotMixer(self.vehicle.thrusters)
        self._outlet = self.publisher(topics.PWM)
        self.depth: float | None = None
        self.pwm = np.full(len(self.vehicle.thrusters), 1500.0)
        self._joy: np.ndarray | None = None
        self._joy_at = 0
        self.listen(JOY, self._on_joy)
        self.listen(topics.ODOM, self._on_odom)
        period = 1.0 / self.values['rate']
        self.create_timer(period, self._follow_joy, clock=self.wall_clock)

    def steer(self, efforts: np.ndarray) -> None:
        """Send the pulse widths of six efforts."""
        self.pwm = self._mixer.pwm(efforts)
        self._outlet.publish(UInt16MultiArray(data=[int(p) for p in self.pwm]))

    def _on_odom(self, message: Odometry) -> None:
        self.depth = -message.pose.pose.position.z

    def _on_joy(self, message: Joy) -> None:
        mapping = self.values['joy_axes']
        efforts = joy_efforts(message.axes, mapping, self.values['dead_band'])
        self._joy = efforts * self.values['gain']
        self._joy_at = self.wall_clock.now().nanoseconds

    def _follow_joy(self) -> None:
        if self._joy is None:
            return
        age = (self.wall_clock.now().nanoseconds - self._joy_at) / NANOSECONDS
        if age > self.values['joy_timeout']:
            self._joy = None
            self.complain('joy: silent; thrusters stopped')
            self.steer(np.zeros(6))
            return
        self.steer(self._joy)


def main() -> None:
    """Run the executable."""
    run(TeleopNode)


if __name__ == '__main__':
    main()
