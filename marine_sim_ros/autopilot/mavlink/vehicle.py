# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A vehicle as a ground station sees it: ArduSub's modes and messages, over UDP (MAVLink 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from marine_sim_ros.autopilot.channels import Device
from marine_sim_ros.autopilot.mavlink.autopilot import Autopilot, TargetMessages
from marine_sim_ros.autopilot.mavlink.camera_component import CameraComponents
from marine_sim_ros.autopilot.mavlink.camera_manager import CameraStream
from marine_sim_ros.autopilot.mavlink.commands import Arm, CommandHandler
from marine_sim_ros.autopilot.mavlink.coverage import MAVLINK_MESSAGES, REFUSED
from marine_sim_ros.autopilot.mavlink.link import MavlinkLink, number_error
from marine_sim_ros.autopilot.mavlink.mission import MissionItem
from marine_sim_ros.autopilot.mavlink.streams import StreamReadings, Streams, Telemetry
from marine_sim_ros.autopilot.mavlink.transfers import MissionTransfer, ParameterTransfer
from marine_sim_ros.core.geodesy import Origin

__all__ = ['MavlinkVehicle']

TEXT = 50
"""Characters of a status text."""
STATUS_TEXT_INTERVAL = 5.0
"""s of wall time in which a status text is not repeated."""
SILENCE = {1: '', 2: 'disarm', 3: 'mode_alt_hold', 4: 'mode_surface'}
"""What FS_GCS_ENABLE does where the ground station falls silent (ArduSub/failsafe.cpp)."""
SEVERITY = {False: 6, True: 4}
"""MAV_SEVERITY of a text, by whether it is a warning: info, warning."""


class MavlinkVehicle:
    """The vehicle's end of a MAVLink connection, and the autopilot behind it."""

    def __init__(
        self,
        ground_station: str,
        origin: Origin,
        full_stick: np.ndarray,
        arm: Arm,
        warn: Callable[[str], Any],
        *,
        system: int = 1,
        key: str = '',
        devices: tuple[Device, ...] = (),
        cameras: Sequence[CameraStream] = (),
        rate: float = 20.0,
    ) -> None:
        """Open the socket.

        Args:
            ground_station: UDP address of the ground station, ``host:port``.
            origin: where map is on the Earth.
            full_stick: velocities (6,) of full stick, m/s and rad/s.
            arm: arms or disarms the controller.
            warn: called with what is refused.
            system: number of the MAVLink system, from 1.
            key: file with the key that signs messages; empty: they are not signed.
            devices: what channels move besides thrusters.
            cameras: those of the vehicle, each a component of its own.
            rate: of attitude, position and speed, Hz of wall time.

        Raises:
            ParameterError: no address, or no key.
            MissingPackageError: pymavlink is not installed.
        """
        self._warn = warn
        self.link = MavlinkLink(ground_station, system, warn, key)
        self._arm_controller, self._now = arm, 0.0
        self._arming = 0
        self._said: dict[str, float] = {}
        self._texts = 0
        self.autopilot = Autopilot(
            origin, full_stick, devices, system=system,
            say=self.say, press=self._press, reached=self._report_reached,
        )  # fmt: skip
        self.readings = StreamReadings()
        telemetry = Telemetry(self.link, self.autopilot, self.readings)
        self._streams = Streams(rate, telemetry.send)
        self._telemetry = telemetry
        self._commands = CommandHandler(
            self.link, self.autopilot, self._streams, telemetry, self._arm, self.say, self.refuse
        )
        self._missions = MissionTransfer(
            self.link, self.autopilot.mission, self._home, self.say, self.refuse
        )
        parameters = ParameterTransfer(
            self.link, self.autopilot.parameters, self._on_parameter, self.refuse
        )
        self._handlers: dict[str, Callable[[Any], None]] = {
            row.name: self._refuse_message for row in MAVLINK_MESSAGES if row.result == REFUSED
        }
        own: Mapping[str, Callable[[Any], None]] = {
            'HEARTBEAT': self._on_heartbeat,
            'MANUAL_CONTROL': self._on_sticks,
            'RC_CHANNELS_OVERRIDE': self._on_channels,
            'TIMESYNC': self._on_timesync,
            'AUTOPILOT_VERSION_REQUEST': lambda message: telemetry.send('AUTOPILOT_VERSION'),
            'SET_GPS_GLOBAL_ORIGIN': self._on_origin,
        }
        targets = TargetMessages(self.autopilot, self.refuse)
        self._handlers |= own
        for served in (self._commands, self._missions, parameters, targets):
            self._handlers |= served.handlers
        self._cameras = CameraComponents(self.link, cameras, lambda: self.autopilot.time)
        self._heard_at: float | None = None
        self._acted_on_silence = False
        self._starts_mission = False

    @property
    def handled_messages(self) -> frozenset[str]:
        """Return the messages that are answered."""
        return frozenset(self._handlers)

    def receive(self, now: float) -> None:
        """Take what has come since the last call, at a wall time (s)."""
        self._now = now
        self._commands.check_timeouts(now)
        self._missions.check_timeouts(now)
        for message in self.link.messages():
            self._cameras.take(message)
            handler = self._handlers.get(message.get_type())
            if handler is None or getattr(message, 'target_component', 1) not in (0, 1):
                continue
            if fault := number_error(message):
                self._refuse_number(message, fault)
            else:
                handler(message)

    def send(self, now: float) -> None:
        """Send the messages that are due at a wall time (s)."""
        self._now = now
        self._streams.serve(now)
        self._cameras.serve(now)

    def fly(self, items: Sequence[MissionItem]) -> None:
        """Load a mission, and arm and fly it as soon as a state is known."""
        self.autopilot.mission.replace(items)
        self._starts_mission = True

    def look_after(self, now: float, timeout: float) -> dict[str, Any]:
        """Start a mission that waits; act where the ground station fell silent for a time (s).

        Returns:
            What diagnostics say.
        """
        if self._starts_mission and self.autopilot.known:
            self._starts_mission = False
            self.autopilot.set_mode('auto')
            self._arm(True, lambda done, text: None if done else self.refuse(f'mission: {text}'))
        silent = self._heard_at is not None and now - self._heard_at > timeout
        if not silent:
            self._acted_on_silence = False
        elif self.autopilot.armed and not self._arming and not self._acted_on_silence:
            self._act_on_silence()
        heard = self._heard_at is not None and not silent
        return {
            'mode': self.autopilot.mode,
            'ground station': 'heard' if heard else 'none',
            **{f'refused {kind}': n for kind, n in self.link.refused.items()},
        }

    def _act_on_silence(self) -> None:
        action = SILENCE.get(int(self.autopilot.parameters['FS_GCS_ENABLE']))
        self._acted_on_silence = action != 'disarm'  # which is tried again where it fails
        if action is not None:
            self.refuse(f'ground station silent: {action}'.removesuffix(': '))
        if action:
            self._press(action)

    def _arm(self, on: bool, answered: Callable[[bool, str], None]) -> None:
        """Arm or disarm the controller, and hear of it."""
        self._arming += 1

        def take(done: bool, reason: str) -> None:
            self._arming -= 1
            if done:
                self.set_armed(on)
            answered(done, reason)

        self._arm_controller(on, take)

    def _refuse_number(self, message: Any, fault: str) -> None:
        self.link.refused['wrong'] += 1
        kind = message.get_type()
        self.refuse(f'{kind}: {fault}')
        if kind in ('COMMAND_LONG', 'COMMAND_INT'):
            d = self.link.dialect
            sender = (message.get_srcSystem(), message.get_srcComponent())
            self.link.send.command_ack_send(message.command, d.MAV_RESULT_DENIED, 0, 0, *sender)

    def _refuse_message(self, message: Any) -> None:
        self.refuse(f'{message.get_type()} is not simulated')

    def _on_heartbeat(self, message: Any) -> None:
        if message.type == self.link.dialect.MAV_TYPE_GCS:
            self._heard_at = self._now

    def _from_pilot(self, message: Any) -> bool:
        """Return whether sticks come from the system of SYSID_MYGCS."""
        wanted = self.autopilot.parameters['SYSID_MYGCS']
        if message.get_srcSystem() == wanted:
            self._heard_at = self._now
            return True
        self.refuse(f'{message.get_type()} of {message.get_srcSystem()}; not {wanted:g}')
        return False

    def _on_sticks(self, message: Any) -> None:
        if self._from_pilot(message):
            self.autopilot.joystick.take(message, self.autopilot.time)

    def _on_channels(self, message: Any) -> None:
        if self._from_pilot(message):
            widths = [getattr(message, f'chan{k}_raw', 0) for k in range(1, 19)]
            if reason := self.autopilot.overrides.take(widths, self.autopilot.time):
                self.refuse(f'RC_CHANNELS_OVERRIDE: {reason}')

    def _on_timesync(self, message: Any) -> None:
        if message.tc1 == 0:
            self.link.send.timesync_send(int(self.autopilot.time * 1e9), message.ts1)

    def _on_origin(self, message: Any) -> None:
        self._refuse_message(message)
        self._telemetry.send('GPS_GLOBAL_ORIGIN')

    def _on_parameter(self, name: str) -> None:
        if name.startswith('JS_GAIN'):
            self.autopilot.joystick.reset_gain()

    def _press(self, name: str) -> None:
        """Do what a joystick's button says."""
        if name in ('arm', 'disarm'):
            on = name == 'arm'
            self._arm(on, lambda done, reason: None if done else self.refuse(reason))
        elif reason := self.autopilot.set_mode(name.removeprefix('mode_')):
            self.refuse(f'{name}: {reason}')

    def _home(self) -> MissionItem:
        origin = self.autopilot.frame.origin
        zero = (0.0, 0.0, 0.0, 0.0)
        return MissionItem(16, 0, zero, origin.latitude, origin.longitude, 0.0)

    def _report_reached(self, index: int) -> None:
        self.link.send.mission_item_reached_send(index)
        self._telemetry.send('MISSION_CURRENT')

    def set_armed(self, on: bool) -> None:
        """Be told that the controller is armed, or no longer."""
        if on != self.autopilot.armed:
            self.autopilot.set_armed(on)
            self.say('armed' if on else 'disarmed')

    def refuse(self, text: str) -> None:
        """Say why something is refused, each text at most every few seconds."""
        kind = ''.join(c for c in text if not c.isdigit())
        if self._now - self._said.get(kind, -STATUS_TEXT_INTERVAL) < STATUS_TEXT_INTERVAL:
            return
        if len(self._said) > 500:
            self._said.clear()
        self._said[kind] = self._now
        self.say(text, warning=True)
        self._warn(f'mavlink: {text}')

    def say(self, text: str, *, warning: bool = False) -> None:
        """Send a status text."""
        raw, severity = text.encode('ascii', 'replace'), SEVERITY[warning]
        if len(raw) <= TEXT:
            self.link.send.statustext_send(severity, raw)
            return
        self._texts = self._texts % 65535 + 1
        for k in range(0, len(raw), TEXT):
            self.link.send.statustext_send(severity, raw[k : k + TEXT], self._texts, k // TEXT)

    def close(self) -> None:
        """Close the socket."""
        self.link.close()
