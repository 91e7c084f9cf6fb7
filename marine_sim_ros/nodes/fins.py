# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fins: deflections in; lift and drag of the control surfaces out.

Subscribes: odom; fins/command (JointState: ``position`` in rad that named fins go to; fins not
named stay where they were sent); thrusters/state where the vehicle has thrusters.
Publishes, one per odom, same stamp: wrench/fins; fins/state (JointState: position in rad).
Parameters: the common ones, and those below.
Failure: a command with unknown fins or numbers that are not finite is ignored as a whole and
warned of; angles beyond the limits are clamped. The latest command holds, and ``command_timeout``
after it the fins go to 0. While thrusters/state is silent its last message holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.core.state import State
from marine_sim_ros.physics.force import ForceInputs
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.convert import finite, set_stamp
from marine_sim_ros.ros.force_node import ForceTick, ModelNode
from marine_sim_ros.ros.parameters import COMMAND_HOLD, shared
from marine_sim_ros.ros.process import run
from marine_sim_ros.sim.player import fin_targets
from marine_sim_ros.sim.scenario import load_scenario

__all__ = ['FinsNode', 'main']

PARAMETERS = (
    shared('scenario', empty='the fins follow fins/command'),
    COMMAND_HOLD,
)  # fmt: skip


class FinsNode(ModelNode):
    """The node."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``fins``.

        Raises:
            ParameterError: the vehicle has no fins.
        """
        super().__init__('fins', PARAMETERS, **options)
        fins = self.vehicle.fins
        if fins is None:
            raise ParameterError(f'fins: {self.vehicle.name} has no <fins>')
        self._fins = fins
        self._scenario = (
            load_scenario(self.values['scenario']) if self.values['scenario'] else None
        )
        self._target = np.zeros(len(fins))
        self._commanded: int | None = None
        self._message = JointState(name=list(fins.names))
        self._states = self.publisher(topics.FIN_STATE)
        self.listen(topics.FIN_COMMANDS, self._on_command)

    def _on_command(self, message: JointState) -> None:
        names, angles = list(message.name), np.array(message.position, float)
        if len(angles) != len(names) or not set(names) <= set(self._fins.names):
            self.warn_throttled(
                f'fins/command: position of {names}; expected one number for each of some of: '
                f'{", ".join(self._fins.names)}; ignored'
            )
        elif not finite(angles):
            self.warn_throttled('fins/command: position is not finite; ignored')
        else:
            self._target[[self._fins.names.index(name) for name in names]] = angles
            self._commanded = self._stamp or 0

    def inputs(self, stamp: int) -> ForceInputs:
        """Return the thrust and the commanded deflections at a stamp in ns."""
        return super().inputs(stamp)._replace(fins=self._wanted(stamp))

    def _wanted(self, stamp: int) -> np.ndarray:
        if self._scenario is not None:
            target = fin_targets(self._scenario, self.vehicle, stamp / NANOSECONDS)
            assert target is not None
            return target
        if self._commanded is not None:
            if stamp < self._commanded:  # the run was reset
                self._commanded = 0
            age = (stamp - self._commanded) / NANOSECONDS
            if age > self.values['command_timeout']:
                self._commanded, self._target = None, np.zeros(len(self._fins))
                self.warn_throttled('fins/command: no command any more; fins centred')
        return self._target

    def on_state(self, stamp: int, state: State) -> None:
        """Answer; where nothing is computed, the fins are at 0."""
        if not self.values['compute']:
            self._tell(stamp, np.zeros(len(self._fins)))
        super().on_state(stamp, state)

    def on_wrench(self, tick: ForceTick) -> None:
        """Publish the deflections."""
        self._tell(tick.stamp, tick.after)

    def _tell(self, stamp: int, angles: np.ndarray) -> None:
        set_stamp(self._message.header.stamp, stamp)
        self._message.position = angles.tolist()
        self._states.publish(self._message)


def main() -> None:
    """Run the executable."""
    run(FinsNode)


if __name__ == '__main__':
    main()
