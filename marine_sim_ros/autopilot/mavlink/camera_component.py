# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Cameras of a vehicle as MAVLink components, so that a ground station finds their video.

Source: MAVLink common.xml, camera protocol v2, and mavlink/mavlink-camera-manager, commit e1ee7f5
(src/lib/mavlink/mavlink_camera.rs), which a BlueROV2 has.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from marine_sim_ros.autopilot.mavlink.camera_manager import CameraStream
from marine_sim_ros.autopilot.mavlink.link import MavlinkLink

__all__ = ['FIRST_CAMERA', 'MAX_CAMERAS', 'CameraComponents', 'CameraServer']

FIRST_CAMERA, MAX_CAMERAS = 100, 6
"""MAV_COMP_ID_CAMERA, and the number of its successors with it."""
BEAT = 1.0
"""s of wall time between heartbeats."""
STREAM = 1
"""Number of the only stream of a camera."""
REQUESTS = {521: 259, 522: 260, 525: 261, 527: 262, 2504: 269, 2505: 270}
"""Number of the message that a MAV_CMD_REQUEST_… asks for, by that of the command."""
REQUEST_MESSAGE = 512
ACCEPTED, UNSUPPORTED = 0, 3
"""MAV_RESULT."""


class CameraComponents:
    """Heartbeats, information and streams of the cameras."""

    def __init__(
        self, link: MavlinkLink, cameras: Sequence[CameraStream], time: Callable[[], float]
    ) -> None:
        """Add the cameras to a link.

        Args:
            link: connection of the vehicle.
            cameras: those of the vehicle; more than MAX_CAMERAS have no component.
            time: returns simulated time, s.
        """
        self._link, self._time = link, time
        self._cameras = dict(enumerate(cameras[:MAX_CAMERAS], FIRST_CAMERA))
        self._senders = {component: link.sender(component) for component in self._cameras}
        self._beat_at = -math.inf
        self._messages: Mapping[int, Callable[[CameraStream, Any], None]] = {
            259: self._information,
            260: self._settings,
            261: self._storage,
            262: self._capture,
            269: self._stream,
            270: self._stream_status,
        }

    def serve(self, now: float) -> None:
        """Send the heartbeats that are due at a wall time (s)."""
        if now - self._beat_at < BEAT:
            return
        self._beat_at = now
        d = self._link.dialect
        for sender in self._senders.values():
            sender.heartbeat_send(
                d.MAV_TYPE_CAMERA, d.MAV_AUTOPILOT_INVALID, 0, 0, d.MAV_STATE_STANDBY
            )

    def take(self, message: Any) -> None:
        """Answer a command to a camera, or a request to all components."""
        if message.get_type() not in ('COMMAND_LONG', 'COMMAND_INT'):
            return
        number = REQUESTS.get(message.command)
        if message.command == REQUEST_MESSAGE and math.isfinite(message.param1):
            number = int(message.param1)
        send = self._messages.get(number) if number is not None else None
        for component, camera in self._cameras.items():
            if message.target_component not in (0, component):
                continue
            sender = self._senders[component]
            if send is None and message.target_component == 0:
                continue  # it may be for another component
            result = UNSUPPORTED if send is None else ACCEPTED
            to = (message.get_srcSystem(), message.get_srcComponent())
            sender.command_ack_send(message.command, result, 0, 0, *to)
            if send is not None:
                send(camera, sender)

    @property
    def _ms(self) -> int:
        return int(self._time() * 1000) & 0xFFFFFFFF

    def _information(self, camera: CameraStream, sender: Any) -> None:
        d = self._link.dialect
        flags = d.CAMERA_CAP_FLAGS_HAS_VIDEO_STREAM if camera.endpoint else 0
        sender.camera_information_send(
            self._ms,
            list(b'marine_sim_ros'.ljust(32, b'\0')),
            list(camera.name.encode('ascii', 'replace')[:31].ljust(32, b'\0')),
            0, math.nan, math.nan, math.nan, camera.width, camera.height, 0, flags, 0, b'',
        )  # fmt: skip

    def _settings(self, camera: CameraStream, sender: Any) -> None:
        del camera
        sender.camera_settings_send(self._ms, self._link.dialect.CAMERA_MODE_VIDEO)

    def _storage(self, camera: CameraStream, sender: Any) -> None:
        del camera
        empty = self._link.dialect.STORAGE_STATUS_EMPTY
        sender.storage_information_send(self._ms, 1, 0, empty, 0.0, 0.0, 0.0, 0.0, 0.0)

    def _capture(self, camera: CameraStream, sender: Any) -> None:
        del camera
        sender.camera_capture_status_send(self._ms, 0, 0, 0.0, 0, 0.0)

    def _numbers(self, camera: CameraStream) -> tuple[float, ...]:
        """Return flags, rate, size, bit rate (not known), rotation and angle of view of a stream.

        The flag says that it runs.
        """
        running = self._link.dialect.VIDEO_STREAM_STATUS_FLAGS_RUNNING
        size = (camera.width, camera.height)
        return (running, camera.rate, *size, 0, 0, round(camera.angle_of_view))

    def _stream(self, camera: CameraStream, sender: Any) -> None:
        if not camera.endpoint:
            return
        d, name = self._link.dialect, camera.name.encode('ascii', 'replace')[:31]
        kind, address = d.VIDEO_STREAM_TYPE_RTPUDP, camera.endpoint.rpartition(':')[2]
        if camera.endpoint.startswith('rtsp:'):
            kind, address = d.VIDEO_STREAM_TYPE_RTSP, camera.endpoint
        sender.video_stream_information_send(
            STREAM, 1, kind, *self._numbers(camera), name,
            address.encode('ascii', 'replace'), d.VIDEO_STREAM_ENCODING_H264,
        )  # fmt: skip

    def _stream_status(self, camera: CameraStream, sender: Any) -> None:
        if camera.endpoint:
            sender.video_stream_status_send(STREAM, *self._numbers(camera))


class CameraServer:
    """Cameras beside a firmware: components of its system, with an address of their own.

    A BlueROV2's companion computer serves them alike.
    """

    def __init__(
        self,
        ground_station: str,
        system: int,
        cameras: Sequence[CameraStream],
        warn: Callable[[str], Any],
        clock: Callable[[], float],
    ) -> None:
        """Connect to a ground station (``host:port``).

        Args:
            system: number of the firmware's MAVLink system.
            cameras: those of the vehicle.
            warn: is told what is refused.
            clock: returns simulated time, s.

        Raises:
            ParameterError: no address.
            MissingPackageError: pymavlink is not installed.
        """
        self._link = MavlinkLink(ground_station, system, warn)
        self._components = CameraComponents(self._link, cameras, clock)
        self._link.components.discard(1)  # the firmware is component 1, and hears for itself

    def serve(self) -> None:
        """Answer what has come, and send the heartbeats that are due."""
        for message in self._link.messages():
            self._components.take(message)
        self._components.serve(time.monotonic())

    def close(self) -> None:
        """Close the socket."""
        self._link.close()
