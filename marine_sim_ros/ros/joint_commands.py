# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where the joints of an arm are to go: joint_commands, or a scenario."""

from __future__ import annotations

import numpy as np
from sensor_msgs.msg import JointState

from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.physics.manipulator import BANDWIDTH, joints_at_rest
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.convert import finite
from marine_sim_ros.ros.node import SuiteNode
from marine_sim_ros.sim.player import joint_targets
from marine_sim_ros.sim.scenario import Scenario

__all__ = ['JointCommands']

HOLD = 0.5
"""s that a commanded joint velocity lasts."""


class JointCommands:
    """Listens to joint_commands; positions stay, velocities last for half a second."""

    def __init__(self, node: SuiteNode, scenario: Scenario | None) -> None:
        """Listen for a node whose vehicle has an arm.

        Args:
            node: the node.
            scenario: that the joints follow instead, or None.
        """
        self._node, self._scenario = node, scenario
        self._arm = node.vehicle.manipulator
        self.restart()
        node.listen(topics.ARM_COMMANDS, self._on_command)

    def restart(self) -> None:
        """Forget commands: the run begins anew."""
        self.joints = joints_at_rest(self._arm)
        """Where the joints are; whoever moves them says so."""
        self.stamp: int | None = None
        """Of ``joints``, ns; None before the first tick."""
        self._target = np.zeros(len(self._arm))
        self._rate = np.zeros(len(self._arm))
        self._rate_until = -1

    def _on_command(self, message: JointState) -> None:
        unknown = [name for name in message.name if name not in self._arm.names]
        for what, values in (('position', message.position), ('velocity', message.velocity)):
            if unknown or (values and len(values) != len(message.name)):
                self._node.warn_throttled(
                    f'joint_commands: {what} of {list(message.name)}; expected one number for '
                    f'each of some of: {", ".join(self._arm.names)}; ignored'
                )
                return
            if not finite(np.array(values, float)):
                self._node.warn_throttled(f'joint_commands: {what} is not finite; ignored')
                return
        places = [self._arm.names.index(name) for name in message.name]
        if message.position:
            self._target[places] = message.position
            self._rate = np.zeros(len(self._arm))
        elif message.velocity:
            # A joint with a new speed command starts from where it is, braking room included.
            fresh = (
                np.ones(len(places), bool)
                if (self.stamp or 0) >= self._rate_until
                else (self._rate[places] != np.array(message.velocity))
            )
            there = self.joints.position + self.joints.rate / BANDWIDTH
            self._target[places] = np.where(fresh, there[places], self._target[places])
            self._rate = np.zeros(len(self._arm))
            self._rate[places] = message.velocity
            self._rate_until = (self.stamp or 0) + round(HOLD * NANOSECONDS)

    def wanted(self, stamp: int, dt: float) -> np.ndarray:
        """Return where the joints are to go (n,), rad, at a stamp in ns, dt (s) after the last."""
        if self._scenario is not None:
            target = joint_targets(self._scenario, self._node.vehicle, stamp / NANOSECONDS)
            assert target is not None
            return target
        if stamp < self._rate_until:
            moved = self._target + dt * np.clip(
                self._rate, -self._arm.max_rate, self._arm.max_rate
            )
            self._target = np.clip(moved, self._arm.lower, self._arm.upper)
        return self._target
