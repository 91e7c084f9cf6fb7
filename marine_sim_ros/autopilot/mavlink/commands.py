# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Commands of a ground station: COMMAND_LONG, COMMAND_INT and SET_MODE, each with its answer.

An answer reports the result: that of arming waits for the controller.

Source: ArduSub 4.5, ArduSub/GCS_Mavlink.cpp and libraries/GCS_MAVLink/GCS_Common.cpp.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from marine_sim_ros.autopilot.mavlink.autopilot import MODE_NAMES, Autopilot
from marine_sim_ros.autopilot.mavlink.coverage import COMMANDS
from marine_sim_ros.autopilot.mavlink.guidance import Course, HeadingTurn
from marine_sim_ros.autopilot.mavlink.link import MavlinkLink
from marine_sim_ros.autopilot.mavlink.mission import turn_of
from marine_sim_ros.autopilot.mavlink.streams import STREAMS, Streams, Telemetry

__all__ = ['Arm', 'CommandHandler']

ACCEPTED, DENIED, UNSUPPORTED, FAILED, IN_PROGRESS = 0, 2, 3, 4, 5
"""MAV_RESULT."""
SET_MODE = 11
"""Number under which ArduSub answers SET_MODE: that of the message."""
ANSWER_TIMEOUT = 1.0
"""s of wall time after which a ground station is told that an answer takes longer."""
SUPERSEDED = 'superseded'
"""Reason of a controller's switch that was asked again before it had answered."""
GLOBAL_FRAMES = (0, 3, 5, 6)

Arm = Callable[[bool, Callable[[bool, str], None]], None]
"""Arms (True) or disarms; calls its second argument once: whether it was done, and why not."""


@dataclass(frozen=True)
class MavlinkCommand:
    """A command of either message.

    Attributes:
        number: number of the MAV_CMD.
        params: parameters 1 to 4.
        latitude: parameter 5, degrees where it is a latitude.
        longitude: parameter 6.
        z: parameter 7.
        frame: number of the MAV_FRAME; that of a COMMAND_LONG is GLOBAL_RELATIVE_ALT.
        sender: system and component.
    """

    number: int
    params: tuple[float, float, float, float]
    latitude: float
    longitude: float
    z: float
    frame: int
    sender: tuple[int, int]


class CommandHandler:
    """Does commands and acknowledges them."""

    def __init__(
        self,
        link: MavlinkLink,
        autopilot: Autopilot,
        streams: Streams,
        telemetry: Telemetry,
        arm: Arm,
        say: Callable[[str], None],
        complain: Callable[[str], None],
    ) -> None:
        """Command an autopilot.

        Args:
            autopilot: what is commanded.
            streams: intervals of messages.
            telemetry: sends single messages.
            arm: arms or disarms the controller.
            say: called with what was done.
            complain: called with why something is refused.
        """
        self._link, self._pilot, self._streams = link, autopilot, streams
        self._telemetry, self._arm = telemetry, arm
        self._say, self._complain = say, complain
        self._waiting: dict[tuple[int, int, int], float] = {}
        self._now = 0.0
        self._messages = {m.id: m.msgname for m in link.dialect.mavlink_map.values()}
        self.handlers: Mapping[str, Callable[[Any], None]] = {
            'COMMAND_LONG': self._on_long,
            'COMMAND_INT': self._on_int,
            'SET_MODE': self._on_set_mode,
            'REQUEST_DATA_STREAM': self._on_data_stream,
            'GIMBAL_MANAGER_SET_PITCHYAW': self._on_gimbal,
        }
        self._actions: dict[str, Callable[[MavlinkCommand], int | None]] = {
            'NAV_LOITER_UNLIM': lambda command: self._change_mode('poshold'),
            'NAV_LAND': lambda command: self._change_mode('surface'),
            'CONDITION_YAW': self._turn,
            'DO_SET_MODE': self._set_mode,
            'DO_CHANGE_SPEED': self._change_speed,
            'DO_FLIGHTTERMINATION': self._terminate,
            'DO_REPOSITION': self._reposition,
            'DO_SET_MISSION_CURRENT': self._select_item,
            'MISSION_START': self._start_mission,
            'COMPONENT_ARM_DISARM': self._arm_disarm,
            'GET_HOME_POSITION': lambda command: self._send_message('HOME_POSITION'),
            'GET_MESSAGE_INTERVAL': self._get_interval,
            'SET_MESSAGE_INTERVAL': self._set_interval,
            'REQUEST_MESSAGE': self._request_message,
            'REQUEST_AUTOPILOT_CAPABILITIES': lambda command: self._send_message(
                'AUTOPILOT_VERSION'
            ),
            'DO_SEND_BANNER': self._send_banner,
            'DO_GIMBAL_MANAGER_PITCHYAW': self._point_camera,
        }

    def check_timeouts(self, now: float) -> None:
        """Acknowledge commands that take long as in progress, at a wall time (s)."""
        self._now = now
        for key, since in list(self._waiting.items()):
            if now - since > ANSWER_TIMEOUT:
                self._waiting[key] = math.inf
                self._acknowledge(*key, IN_PROGRESS)

    def _acknowledge(self, number: int, system: int, component: int, result: int) -> None:
        self._link.send.command_ack_send(number, result, 0, 0, system, component)

    def _on_long(self, message: Any) -> None:
        command = MavlinkCommand(
            message.command,
            (message.param1, message.param2, message.param3, message.param4),
            message.param5,
            message.param6,
            message.param7,
            3,
            (message.get_srcSystem(), message.get_srcComponent()),
        )
        self._execute(command)

    def _on_int(self, message: Any) -> None:
        command = MavlinkCommand(
            message.command,
            (message.param1, message.param2, message.param3, message.param4),
            message.x * 1e-7,
            message.y * 1e-7,
            message.z,
            message.frame,
            (message.get_srcSystem(), message.get_srcComponent()),
        )
        self._execute(command)

    def _execute(self, command: MavlinkCommand) -> None:
        row = COMMANDS.get(command.number)
        name = f'command {command.number}' if row is None else row.name
        action = self._actions.get(name)
        if action is None or row is None:
            result: int | None = UNSUPPORTED
            self._complain(f'{name} is not simulated')
        elif unset := [k for k in row.uses if math.isnan(_param(command, k))]:
            result = DENIED
            self._complain(f'{name}: parameter {unset[0]} is not set')
        else:
            result = action(command)
        if result is not None:
            self._acknowledge(command.number, *command.sender, result)

    def _refuse(self, result: int, reason: str) -> int:
        self._complain(reason)
        return result

    def _change_mode(self, name: str) -> int:
        if reason := self._pilot.set_mode(name):
            return self._refuse(FAILED, f'mode {name}: {reason}')
        self._say(f'mode {name}')
        return ACCEPTED

    def _mode_of(self, base: float, number: float) -> int:
        if not int(base) & 1:  # MAV_MODE_FLAG_CUSTOM_MODE_ENABLED
            return self._refuse(DENIED, f'base mode {base:g}; only custom modes are simulated')
        if number not in MODE_NAMES:
            return self._refuse(FAILED, f'mode {number:g} is not simulated')
        return self._change_mode(MODE_NAMES[int(number)])

    def _set_mode(self, command: MavlinkCommand) -> int:
        return self._mode_of(*command.params[:2])

    def _on_set_mode(self, message: Any) -> None:
        sender = (message.get_srcSystem(), message.get_srcComponent())
        # ArduSub takes base modes with the custom flag alone; pymavlink's helper sends it too.
        result = self._mode_of(message.base_mode, message.custom_mode)
        self._acknowledge(SET_MODE, *sender, result)

    def _arm_disarm(self, command: MavlinkCommand) -> int | None:
        if command.params[0] not in (0.0, 1.0):
            return self._refuse(
                UNSUPPORTED, f'COMPONENT_ARM_DISARM {command.params[0]:g}; expected 0 or 1'
            )
        return self._wait_for_arm(command, command.params[0] == 1)

    def _terminate(self, command: MavlinkCommand) -> int | None:
        return self._wait_for_arm(command, False) if command.params[0] > 0.5 else FAILED

    def _wait_for_arm(self, command: MavlinkCommand, on: bool) -> int | None:
        """Arm or disarm, and acknowledge when the controller has answered."""
        key = (command.number, *command.sender)
        self._waiting[key] = self._now

        def acknowledge_arming(done: bool, reason: str) -> None:
            if reason == SUPERSEDED:  # the command was repeated, and the later one is answered
                return
            self._waiting.pop(key, None)
            if not done:
                self._complain(f'not {"" if on else "dis"}armed: {reason}')
            self._acknowledge(*key, ACCEPTED if done else FAILED)

        self._arm(on, acknowledge_arming)
        return None

    def _turn(self, command: MavlinkCommand) -> int:
        angle, _, _, relative = command.params
        if not 0 <= angle <= 360 or relative not in (0.0, 1.0):
            return self._refuse(DENIED, 'CONDITION_YAW: expected 0 to 360 degrees, and 0 or 1')
        if self._pilot.mode not in ('guided', 'auto'):
            return self._refuse(FAILED, 'CONDITION_YAW: taken in GUIDED and AUTO only')
        self._pilot.guide.turn(turn_of(command.params, self._pilot.frame, self._pilot.state))
        return ACCEPTED

    def _change_speed(self, command: MavlinkCommand) -> int:
        if command.params[1] <= 0:
            return self._refuse(FAILED, 'DO_CHANGE_SPEED: expected more than 0 m/s')
        self._pilot.mission.level_speed = command.params[1]
        return ACCEPTED

    def _reposition(self, command: MavlinkCommand) -> int:
        if command.frame not in GLOBAL_FRAMES:
            return self._refuse(DENIED, f'DO_REPOSITION: frame {command.frame} is not simulated')
        if abs(command.latitude) > 90 or abs(command.longitude) > 180 or abs(command.z) > 1e4:
            return self._refuse(DENIED, 'DO_REPOSITION: no place')
        pilot = self._pilot
        if pilot.mode != 'guided':
            if not int(command.params[1]) & 1:  # MAV_DO_REPOSITION_FLAGS_CHANGE_MODE
                return self._refuse(DENIED, 'DO_REPOSITION: taken in GUIDED, or with flag 1')
            pilot.set_mode('guided')
        x, y, z = pilot.frame.position(command.latitude, command.longitude, command.z).tolist()
        pilot.guide.go(Course((x, y, z), turn=HeadingTurn()), pilot.state)
        return ACCEPTED

    def _select_item(self, command: MavlinkCommand) -> int:
        mission = self._pilot.mission
        index = command.params[0]
        if index not in range(len(mission.items)):
            return self._refuse(DENIED, f'no item {index:g}; the mission has {len(mission.items)}')
        if command.params[1] == 1:
            mission.rewind()
        mission.select(int(index))
        self._telemetry.send('MISSION_CURRENT')
        return ACCEPTED

    def _start_mission(self, command: MavlinkCommand) -> int:
        del command
        if not self._pilot.armed:
            return self._refuse(FAILED, 'MISSION_START: not armed')
        return self._change_mode('auto')

    def _send_message(self, name: str) -> int:
        self._telemetry.send(name)
        return ACCEPTED

    def _point_camera(self, command: MavlinkCommand) -> int:
        angle, yaw, rate, yaw_rate = command.params
        if self._pilot.camera_tilt is None:
            return self._refuse(UNSUPPORTED, 'DO_GIMBAL_MANAGER_PITCHYAW: the camera is fixed')
        if any(value for value in (yaw, yaw_rate) if not math.isnan(value)):
            return self._refuse(DENIED, 'DO_GIMBAL_MANAGER_PITCHYAW: the camera does not turn')
        self._pilot.point_camera(math.radians(angle), math.radians(rate))
        return ACCEPTED

    def _on_gimbal(self, message: Any) -> None:
        if self._pilot.camera_tilt is None:
            self._complain('GIMBAL_MANAGER_SET_PITCHYAW: the camera is fixed')
        else:
            self._pilot.point_camera(message.pitch, message.pitch_rate)

    def _send_banner(self, command: MavlinkCommand) -> int:
        del command
        self._say('marine_sim_ros, answering as ArduSub 4.5')
        return ACCEPTED

    def _stream(self, number: float) -> str | None:
        """Return the name of a message that is sent here, or None."""
        name = self._messages.get(int(number)) if number == int(number) else None
        return name if name in STREAMS else None

    def _get_interval(self, command: MavlinkCommand) -> int:
        number = command.params[0]
        name = self._stream(number)
        if name is None:
            if 0 <= number < 2**16:
                self._link.send.message_interval_send(int(number), 0)
            return self._refuse(FAILED, f'message {number:g} is not sent')
        interval = round(self._streams.interval(name) * 1e6) or -1
        self._link.send.message_interval_send(int(number), interval)
        return ACCEPTED

    def _set_interval(self, command: MavlinkCommand) -> int:
        number, interval = command.params[:2]
        name = self._stream(number)
        if name is None:
            known = self._messages.get(int(number))
            text = f'message {known or f"{number:g}"} is not sent'
            return self._refuse(DENIED if known is None else UNSUPPORTED, text)
        self._streams.set_interval(name, interval)
        return ACCEPTED

    def _request_message(self, command: MavlinkCommand) -> int:
        number = command.params[0]
        name = self._stream(number)
        if name is None:
            return self._refuse(FAILED, f'message {number:g} is not sent')
        return self._send_message(name)

    def _on_data_stream(self, message: Any) -> None:
        rate = message.req_message_rate if message.start_stop == 1 else 0
        if message.start_stop not in (0, 1):
            self._complain(
                f'REQUEST_DATA_STREAM: start_stop {message.start_stop}; expected 0 or 1'
            )
        elif not self._streams.set_group(message.req_stream_id, rate):
            self._complain(f'REQUEST_DATA_STREAM: stream {message.req_stream_id} has no messages')


def _param(command: MavlinkCommand, number: int) -> float:
    """Return a parameter by its number, from 1."""
    return (*command.params, command.latitude, command.longitude, command.z)[number - 1]
