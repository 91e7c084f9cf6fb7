# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fins: deflections in; lift and drag of the control surfaces out.

Subscribes: odom; fins/command (JointState: ``position`` in rad that named fins go to; fins not
named stay where they were sent); thrusters/state where the vehicle has thrusters.
Publishes, one per odom, same stamp: wrench/fins; fins/state (JointState: position in rad).
Parameters: the common ones, and those below.
Failure: a command with unknown fins or numbers that are not finite is ignored as a whole and
warned of; angles beyond the limits are clamped. The latest command holds, and ``command_timeout``
after it the fins go to 0. With ``servo_source: controller`` the command of the same stamp is
awaited for every odom. While thrusters/state is silent its last message holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.state import State
from marine_sim_ros.physics.fins import FIN_ACTUATOR
from marine_sim_ros.physics.force import ForceInputs
from marine_sim_ros.ros.base.parameters import COMMAND_HOLD
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.force_node import ForceTick, ModelNode
from marine_sim_ros.ros.servos import SERVO_PARAMETERS, ServoCommands, ServoPublisher

__all__ = ['main']

PARAMETERS = (*SERVO_PARAMETERS, COMMAND_HOLD)


class FinsNode(ModelNode):
    """The node."""

    commanded = True

    def __init__(self, **options: Any) -> None:
        """Create it as ``fins``.

        Raises:
            ParameterError: the vehicle has no fins.
        """
        super().__init__('fins', PARAMETERS, **options)
        fins = self.vehicle.fins
        if fins is None:
            raise ParameterError(f'fins: {self.vehicle.name} has no <fins>')
        self._none = np.zeros(len(fins))
        self._states = ServoPublisher(self, FIN_ACTUATOR)
        self._commands = ServoCommands(
            self, FIN_ACTUATOR, answer=super().on_state, timeout=self.values['command_timeout']
        )

    def inputs(self, stamp: int) -> ForceInputs:
        """Return the thrust and the commanded deflections at a stamp in ns."""
        return super().inputs(stamp)._replace(commands=self.commands(stamp))

    def commands(self, stamp: int) -> dict[str, Any]:
        """Return the commanded deflections at a stamp in ns, for a compiled graph."""
        return {'fins': self._commands.wanted(stamp)}

    def on_state(self, stamp: int, state: State) -> None:
        """Answer; where nothing is computed, the fins are at 0."""
        if not self.values['compute']:
            self._states.publish(stamp, self._none)
        self._commands.wait(stamp, state)

    def on_wrench(self, tick: ForceTick) -> None:
        """Publish the deflections."""
        self._states.publish(tick.stamp, tick.after)


def main() -> None:
    """Run the executable."""
    run(FinsNode)


if __name__ == '__main__':
    main()
