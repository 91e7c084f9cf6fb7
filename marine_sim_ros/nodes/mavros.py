# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Topics and services of MAVROS for an autopilot, so that nodes written for MAVROS run.

It is a ground station of the autopilot, over UDP (MAVLink), and passes all datagrams to and from
the one of the option ``ground_station``.
Publishes, subscribes and serves: ``mavros/…`` (docs/how-to/bring-your-stack.md).
Listens: UDP on 127.0.0.1, port 14540 + ``autopilot_instance``.
Parameters: the common ones, and those below.
Failure: a port that is taken ends the node; services of an autopilot that is not heard answer
that it was not done, after 5 s where it falls silent; numbers that MAVLink cannot have are
refused with a warning.
"""

from __future__ import annotations

from typing import Any

from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import option_parameter
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.mavros import MavrosReports
from marine_sim_ros.ros.mavros_commands import MavrosCommands

__all__ = ['main']

PARAMETERS = (
    option_parameter('autopilot'),
    option_parameter('autopilot_instance'),
    option_parameter('ground_station'),
)
PERIOD = 0.05
"""s of wall time between looks for messages: that of the node mavlink."""


class MavrosNode(VehicleNode):
    """Node that stands in for MAVROS."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``mavros``."""
        super().__init__('mavros', PARAMETERS, **options)
        names = ('autopilot', 'autopilot_instance', 'ground_station')
        self._reports = MavrosReports(self, *(self.values[name] for name in names))
        self._commands = MavrosCommands(self, self._reports)
        self.create_timer(PERIOD, self.guard('mavros', self._receive), clock=self.wall_clock)

    def _receive(self) -> None:
        self._reports.receive()
        self.health['autopilot'] = 'heard' if self._reports.heartbeat else 'none'

    def close(self) -> None:
        """Close the ports."""
        self._reports.close()


def main() -> None:
    """Run the executable."""
    run(MavrosNode)


if __name__ == '__main__':
    main()
