# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""BlueOS for Cockpit: MAVLink over WebSocket and REST, and video, beside an autopilot.

Subscribes: pictures (JPEG) of a camera while Cockpit shows it. It is the ground station of the
autopilot, over UDP.
Listens: HTTP on ``blueos``, UDP on ``ground_station``; of a vehicle with cameras TCP 6020 and
6021, and a UDP port for each client that watches.
Parameters: the common ones, and those below.
Failure: a port that is taken ends the node; messages that are no MAVLink are answered with the
reason and dropped; a slow browser misses messages and pictures.
"""

from __future__ import annotations

from typing import Any

from marine_sim_ros.autopilot.mavlink.camera_manager import CameraManager, camera_streams
from marine_sim_ros.autopilot.mavlink.link import udp_address
from marine_sim_ros.autopilot.mavlink.mavlink2rest import RestServer
from marine_sim_ros.core.errors import MissingPackageError
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import VIDEO, option_parameter
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.operators.monitors import VideoMonitor

__all__ = ['main']

PARAMETERS = (option_parameter('blueos'), option_parameter('ground_station'), VIDEO)
WATCH_PERIOD = 0.5
"""s of wall time between looks for a client that watches."""
LOOKS, SHORTEST_LOOK = 2, 0.02
"""Looks for a new picture in the time between two, and s of wall time between looks at least: each
costs as much processor time as a third of a picture."""


class BlueOsNode(VehicleNode):
    """Node that serves Cockpit."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``blueos``."""
        super().__init__('blueos', PARAMETERS, **options)
        self._cameras = self._camera_manager()
        self._server = RestServer(
            udp_address(self.values['blueos'], 'blueos'),
            udp_address(self.values['ground_station']),
            self.vehicle.name,
            self._cameras,
        )
        self._pictures, self._shown = VideoMonitor(self), 0
        if self._cameras is not None:
            interval = min(float(camera.interval) for camera in self._cameras.cameras)
            period = max(interval / LOOKS, SHORTEST_LOOK)
            self._look = self.create_timer(period, self._show, clock=self.wall_clock)
            self._look.cancel()
            self.create_timer(WATCH_PERIOD, self._watch, clock=self.wall_clock)
        self.get_logger().info(f'Cockpit connects to the vehicle at {self.values["blueos"]}')

    def _camera_manager(self) -> CameraManager | None:
        """Return the server of the vehicle's cameras; None: there is none."""
        streams = camera_streams(self.vehicle, self.values['video'])
        if not streams:
            return None
        try:
            return CameraManager(streams, self.warn_throttled)
        except MissingPackageError as error:
            self.get_logger().warning(f'Cockpit shows no video: {error}')
            return None

    def _watch(self) -> None:
        """Look for pictures while a client watches."""
        assert self._cameras is not None
        if self._cameras.watched and self._look.is_canceled():
            self._look.reset()
        elif not self._cameras.watched and not self._look.is_canceled():
            self._look.cancel()
            self._show()

    def _show(self) -> None:
        assert self._cameras is not None
        pictures = self._pictures.poll(sorted(self._cameras.watched))
        for name, (number, picture) in pictures.items():
            if number > self._shown:
                self._server.show(name, picture)
        self._shown = max([self._shown, *(number for number, _ in pictures.values())])

    def close(self) -> None:
        """Close the ports."""
        self._server.close()
        self._pictures.close()


def main() -> None:
    """Run the executable."""
    run(BlueOsNode)


if __name__ == '__main__':
    main()
