# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Boundary: what seabed, walls and surface do to the vehicle through its thrusters' jets.

Subscribes: odom; thrusters/state (JointState: effort is thrust N) of the same stamp.
Publishes: wrench/boundary, one per odom, same stamp.
Parameters: the common ones; the surfaces and the law are the environment's.
Failure: an odom that is not finite is answered with a zero wrench and a warning. While the
thrusters are silent their last thrust holds (see ros/pairing.py); a thrusters/state of the wrong
length or not finite counts as the one before. An environment without a scene gives zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from marine_sim_ros.core.state import State
from marine_sim_ros.physics.boundary import boundary
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.convert import finite, stamp_ns
from marine_sim_ros.ros.node import ForceNode
from marine_sim_ros.ros.pairing import Pairing
from marine_sim_ros.ros.process import run

__all__ = ['BoundaryNode', 'main']


class BoundaryNode(ForceNode):
    """The node."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``boundary``."""
        super().__init__('boundary', **options)
        self._count = len(self.vehicle.thrusters)
        self._pairing: Pairing[State, np.ndarray] = Pairing(self._answer, np.zeros(self._count))
        self.listen(topics.THRUSTER_STATE, self._on_thrust)

    def on_state(self, stamp: int, state: State) -> None:
        """Answer when the thrusts of this state are there."""
        if not self.values['compute']:
            super().on_state(stamp, state)
            return
        self._pairing.first(stamp, state)
        if self._pairing.out:
            self.warn_throttled('thrusters/state: silent; the last thrust holds')

    def _on_thrust(self, message: JointState) -> None:
        thrust = np.array(message.effort, float)
        if len(thrust) != self._count or not finite(thrust):
            self.warn_throttled(
                f'thrusters/state: effort is {thrust.tolist()}; expected {self._count} finite '
                'numbers; the last thrust holds'
            )
            thrust = self._pairing.last
        self._pairing.second(stamp_ns(message.header.stamp), thrust)

    def _answer(self, stamp: int, state: State, thrust: np.ndarray) -> None:
        environment = self.environment_at(stamp)
        self.publish_wrench(stamp, boundary(self.vehicle, state, environment, thrust))


def main() -> None:
    """Run the executable."""
    run(BoundaryNode)


if __name__ == '__main__':
    main()
