# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""BlueOS for Cockpit: MAVLink over WebSocket and REST, beside an autopilot.

Subscribes, publishes: nothing; it is the ground station of the autopilot, over UDP.
Listens: HTTP on ``blueos``, UDP on ``ground_station``.
Parameters: the common ones, and those below.
Failure: a port that is taken ends the node; messages that are no MAVLink are answered with the
reason and dropped; a slow browser misses messages.
"""

from __future__ import annotations

from typing import Any

from marine_sim_ros.autopilot.mavlink.link import udp_address
from marine_sim_ros.autopilot.mavlink.rest import RestServer
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.base.parameters import option_parameter
from marine_sim_ros.ros.base.process import run

__all__ = ['main']

PARAMETERS = (option_parameter('blueos'), option_parameter('ground_station'))


class BlueOsNode(SuiteNode):
    """Node that serves Cockpit."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``blueos``."""
        super().__init__('blueos', PARAMETERS, **options)
        self._server = RestServer(
            udp_address(self.values['blueos'], 'blueos'),
            udp_address(self.values['ground_station']),
            self.vehicle.name,
        )
        self.get_logger().info(f'Cockpit connects to the vehicle at {self.values["blueos"]}')

    def close(self) -> None:
        """Close the ports."""
        self._server.close()


def main() -> None:
    """Run the executable."""
    run(BlueOsNode)


if __name__ == '__main__':
    main()
