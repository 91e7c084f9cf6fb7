# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a controller answers an odom with: set-points, the wrench, angles, pulse widths."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.control.setpoints import QUANTITIES
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.base.publishers import JointPublisher, PwmPublisher, SpatialPublisher
from marine_sim_ros.ros.forces.servo_commands import ServoPublisher
from marine_sim_ros.ros.messages import topics

__all__ = ['ControllerOutputs']


class ControllerOutputs:
    """Publishes pulse widths, set-points, the wrench, and where fins and azimuths go.

    Attributes:
        azimuths: angles (k,) that thrusters turn to, rad; None without any.
        fins: deflections (m,) that fins go to, rad; None without any.
    """

    def __init__(self, node: SuiteNode) -> None:
        """Create the publishers."""
        azimuths = node.vehicle.thrusters.azimuths
        self.azimuths = None if azimuths is None else np.zeros(len(azimuths))
        fins = node.vehicle.fins
        self.fins = None if fins is None else np.zeros(len(fins))
        self._steer = ServoPublisher(node, fins, topics.servo_commands('fins', per_tick=True))
        self._turn = ServoPublisher(
            node, azimuths, topics.servo_commands('azimuths', per_tick=True)
        )
        self._setpoints = JointPublisher(node, topics.SETPOINTS, QUANTITIES)
        self._wrench = SpatialPublisher(node, topics.CONTROLLER_WRENCH)
        self._pwm = PwmPublisher(node)

    def centre_fins(self) -> None:
        """Let the fins go to 0."""
        self.fins = None if self.fins is None else np.zeros_like(self.fins)

    def publish(self, stamp: int, pwm: np.ndarray, wanted: np.ndarray, wrench: np.ndarray) -> None:
        """Publish the answer to the odom of a stamp in ns.

        Args:
            stamp: ns.
            pwm: pulse widths (n,), µs.
            wanted: set-points (12,), NaN where free.
            wrench: (6,) that was commanded.
        """
        self._setpoints.publish(stamp, position=wanted.tolist())
        self._wrench.publish(stamp, wrench)
        self._turn.publish(stamp, self.azimuths)
        self._steer.publish(stamp, self.fins)
        self._pwm.publish(stamp, pwm)
