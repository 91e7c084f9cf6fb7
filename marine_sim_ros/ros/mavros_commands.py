# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Topics and services by which nodes command an autopilot through MAVROS, as MAVLink messages.

Source: mavlink/mavros, commit f8f462d (mavros/src/plugins, mavros/src/lib/uas_stringify.cpp).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, Twist, TwistStamped
from rcl_interfaces.msg import ParameterType, ParameterValue, SetParametersResult
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.qos import QoSProfile

from marine_sim_ros.autopilot.conventions import frd, ned, ned_quaternion
from marine_sim_ros.autopilot.mavlink.link import PositionMask
from marine_sim_ros.core.errors import expected_one_of
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.driver_topics import import_interfaces
from marine_sim_ros.ros.mavros import MAVROS_SOURCE, PX4_AUTO, QUEUE_QOS, SENSOR_QOS, MavrosReports

__all__ = ['MavrosCommands']

TIMEOUT = 5.0
"""s of wall time that a service waits for the autopilot's answer (command_ack_timeout)."""
LONGEST_WAIT = 0.5
"""s of wall time between heartbeats meanwhile, at most."""
ARM, CHANGE_MODE, MESSAGE_INTERVAL = 400, 176, 511
"""MAV_CMD."""
ACCEPTED, FAILED, IN_PROGRESS = 0, 4, 5
"""MAV_RESULT."""
CUSTOM_MODE = 1
"""MAV_MODE_FLAG."""
LOCAL_NED = 1
BODY_FRAMES = (8, 9)
VELOCITY = PositionMask.VX | PositionMask.VY | PositionMask.VZ
POSE_ONLY = VELOCITY | PositionMask.ACCELERATION | PositionMask.YAW_RATE
VELOCITY_ONLY = PositionMask.POSITION | PositionMask.ACCELERATION | PositionMask.YAW


class MavrosCommands:
    """Subscriptions and services, relative to the node's namespace."""

    def __init__(self, node: VehicleNode, reports: MavrosReports) -> None:
        """Create them, for the autopilot of reports."""
        self._node, self._reports = node, reports
        self._link, self._target = reports.link, reports.target
        self._utility: Any = require('pymavlink.mavutil', '--topics mavros')
        self._answers: dict[tuple[str, Any], Any] = {}
        reports.add_handlers({'COMMAND_ACK': self._on_answer, 'PARAM_VALUE': self._on_parameter})
        self._listen()
        self._serve()

    def _listen(self) -> None:
        types = import_interfaces('mavros_msgs', MAVROS_SOURCE)
        rows: dict[str, tuple[Any, QoSProfile, Callable[[Any], None]]] = {
            'rc/override': (types.OverrideRCIn, QUEUE_QOS, self._send_override),
            'manual_control/send': (types.ManualControl, QUEUE_QOS, self._send_sticks),
            'setpoint_position/local': (PoseStamped, SENSOR_QOS, self._send_pose),
            'setpoint_velocity/cmd_vel': (
                TwistStamped, SENSOR_QOS, lambda message: self._send_velocity(message.twist),
            ),
            'setpoint_velocity/cmd_vel_unstamped': (Twist, SENSOR_QOS, self._send_velocity),
            'setpoint_raw/local': (types.PositionTarget, SENSOR_QOS, self._send_local),
            'setpoint_raw/global': (types.GlobalPositionTarget, SENSOR_QOS, self._send_global),
            'setpoint_raw/attitude': (types.AttitudeTarget, SENSOR_QOS, self._send_attitude),
        }  # fmt: skip
        for name, (kind, qos, callback) in rows.items():
            guarded = self._node.guard(f'mavros/{name}', callback)
            self._node.create_subscription(kind, f'mavros/{name}', guarded, qos)

    def _send_override(self, message: Any) -> None:
        self._link.send.rc_channels_override_send(*self._target, *map(int, message.channels))

    def _send_sticks(self, message: Any) -> None:
        names = (*'xyzr', 's', 't', *(f'aux{k}' for k in range(1, 7)))
        axes = [_whole(name, getattr(message, name), 32767) for name in names]
        buttons = (message.buttons, message.buttons2, message.enabled_extensions)
        self._link.send.manual_control_send(self._target[0], *axes[:4], *buttons, *axes[4:])

    def _send_pose(self, message: Any) -> None:
        p, q = message.pose.position, message.pose.orientation
        yaw = float(rpy_from_quaternion(np.array([q.x, q.y, q.z, q.w]))[2])
        place = ned(_array(p))
        self._send_target(LOCAL_NED, POSE_ONLY, place, _ZERO, _ZERO, math.pi / 2 - yaw, 0.0)

    def _send_velocity(self, twist: Any) -> None:
        speeds, rate = ned(_array(twist.linear)), -twist.angular.z
        self._send_target(LOCAL_NED, VELOCITY_ONLY, _ZERO, speeds, _ZERO, 0.0, rate)

    def _send_local(self, message: Any) -> None:
        body = message.coordinate_frame in BODY_FRAMES
        turned = frd if body else ned
        vectors = (message.position, message.velocity, message.acceleration_or_force)
        yaw = -message.yaw if body else math.pi / 2 - message.yaw
        self._send_target(
            message.coordinate_frame,
            message.type_mask,
            *(turned(_array(v)) for v in vectors),
            yaw,
            -message.yaw_rate,
        )

    def _send_target(self, frame: int, mask: int, *numbers: Any) -> None:
        position, velocity, force, yaw, rate = numbers
        self._link.send.set_position_target_local_ned_send(
            0, *self._target, frame, int(mask), *position, *velocity, *force, yaw, rate
        )

    def _send_global(self, message: Any) -> None:
        latitude = _whole('latitude', message.latitude * 1e7, 9e8)
        longitude = _whole('longitude', message.longitude * 1e7, 1.8e9)
        velocity, force = message.velocity, message.acceleration_or_force
        self._link.send.set_position_target_global_int_send(
            0, *self._target, message.coordinate_frame, message.type_mask,
            latitude, longitude, message.altitude,
            *ned(_array(velocity)), *ned(_array(force)),
            math.pi / 2 - message.yaw, -message.yaw_rate,
        )  # fmt: skip

    def _send_attitude(self, message: Any) -> None:
        q = message.orientation
        orientation = ned_quaternion(np.array([q.x, q.y, q.z, q.w]))
        rates, thrust = frd(_array(message.body_rate)), min(max(message.thrust, 0.0), 1.0)
        self._link.send.set_attitude_target_send(
            0, *self._target, message.type_mask, orientation, *rates, thrust
        )

    def _serve(self) -> None:
        types = import_interfaces('mavros_msgs', MAVROS_SOURCE, 'srv')
        rows: dict[str, tuple[Any, Callable[[Any, Any], None]]] = {
            'cmd/arming': (types.CommandBool, self._arm),
            'cmd/command': (types.CommandLong, self._command),
            'set_mode': (types.SetMode, self._set_mode),
            'set_stream_rate': (types.StreamRate, self._set_stream),
            'set_message_interval': (types.MessageInterval, self._set_interval),
            'param/get_parameters': (GetParameters, self._get_parameters),
            'param/set_parameters': (SetParameters, self._set_parameters),
        }
        for name, (kind, answer) in rows.items():
            guarded = self._node.guard(f'mavros/{name}', answer)
            self._node.create_service(kind, f'mavros/{name}', _returning(guarded))

    def _wait_for(self, key: tuple[str, Any]) -> Any:
        """Return the autopilot's answer of a key, which is published meanwhile; None: none."""
        end = self._reports.now + TIMEOUT
        while key not in self._answers and (left := end - self._reports.now) > 0:
            self._link.wait(min(left, LONGEST_WAIT))
            self._reports.receive()
        if key not in self._answers:
            self._node.warn_throttled(f'mavros: no answer of the autopilot within {TIMEOUT:g} s')
        return self._answers.pop(key, None)

    def _execute(self, number: int, *parameters: float, confirmation: int = 0) -> int:
        """Do a command; return the MAV_RESULT."""
        if self._reports.heartbeat is None:
            self._node.warn_throttled('mavros: no autopilot is heard; a command is refused')
            return FAILED
        key = ('command', number)
        self._answers.pop(key, None)
        filled = (*parameters, *[0.0] * (7 - len(parameters)))
        self._link.send.command_long_send(*self._target, number, confirmation, *filled)
        result = self._wait_for(key)
        return FAILED if result is None else int(result)

    def _on_answer(self, message: Any) -> None:
        if message.result != IN_PROGRESS and message.target_component in (0, self._link.COMPONENT):
            self._answers['command', message.command] = message.result

    def _arm(self, request: Any, response: Any) -> None:
        response.result = self._execute(ARM, float(request.value))
        response.success = response.result == ACCEPTED

    def _command(self, request: Any, response: Any) -> None:
        parameters = [getattr(request, f'param{k}') for k in range(1, 8)]
        response.result = self._execute(
            request.command, *parameters, confirmation=request.confirmation
        )
        response.success = response.result == ACCEPTED

    def _set_interval(self, request: Any, response: Any) -> None:
        result = self._execute(
            MESSAGE_INTERVAL, float(request.message_id), _interval(request.message_rate)
        )
        response.success = result == ACCEPTED

    def _set_stream(self, request: Any, response: Any) -> None:
        del response
        self._link.send.request_data_stream_send(
            *self._target, request.stream_id, request.message_rate, int(request.on_off)
        )

    def _set_mode(self, request: Any, response: Any) -> None:
        base, mode = request.base_mode, (0, 0)
        if request.custom_mode:
            found = self._mode_numbers(request.custom_mode.upper())
            if found is None:
                return
            base, mode = base | CUSTOM_MODE, found
        result = self._execute(CHANGE_MODE, float(base), *map(float, mode))
        response.mode_sent = result == ACCEPTED

    def _modes(self) -> Mapping[str, tuple[int, int]]:
        """Return parameters 2 and 3 of DO_SET_MODE by MAVROS's name of each mode."""
        if self._reports.heartbeat is None:
            return {}
        if self._reports.is_px4:
            modes = self._utility.px4_map.items()
            return {(f'AUTO.{n}' if n in PX4_AUTO else n): (m, sub) for n, (_, m, sub) in modes}
        known = self._utility.mode_mapping_byname(self._reports.heartbeat.type) or {}
        return {name: (number, 0) for name, number in known.items()}

    def _mode_numbers(self, name: str) -> tuple[int, int] | None:
        """Return parameters 2 and 3 of DO_SET_MODE of a mode; None: it is unknown, as told."""
        modes = self._modes()
        if name in modes:
            return modes[name]
        if name.isdecimal():
            return int(name), 0
        expected = expected_one_of(name, list(modes)) if modes else 'no autopilot is heard'
        self._node.warn_throttled(f'mavros/set_mode: custom_mode {name!r:.40}; {expected}')
        return None

    # Parameters of the autopilot.

    def _on_parameter(self, message: Any) -> None:
        name = message.param_id
        value = message.param_value
        if message.param_type < self._link.dialect.MAV_PARAM_TYPE_REAL32:
            bits = struct.pack('<f', value)
            value = struct.unpack('<i', bits)[0] if self._reports.is_px4 else round(value)
        self._answers['parameter', name] = value

    def _get_parameters(self, request: Any, response: Any) -> None:
        values = [ParameterValue() for _ in request.names]
        for k, name in enumerate(request.names):
            values[k] = self._read_parameter(name)
            if values[k].type == ParameterType.PARAMETER_NOT_SET:
                break  # each further one might take as long
        response.values = values

    def _read_parameter(self, name: str) -> ParameterValue:
        """Return a parameter; of none the type is NOT_SET."""
        key = ('parameter', name)
        self._answers.pop(key, None)
        value = None
        if self._reports.heartbeat is not None:
            self._link.send.param_request_read_send(*self._target, name.encode()[:16], -1)
            value = self._wait_for(key)
        if isinstance(value, int):
            return ParameterValue(type=ParameterType.PARAMETER_INTEGER, integer_value=value)
        if value is None or math.isnan(value):
            return ParameterValue()
        return ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=float(value))

    def _set_parameters(self, request: Any, response: Any) -> None:
        response.results = [self._write_parameter(p.name, p.value) for p in request.parameters]

    def _write_parameter(self, name: str, value: ParameterValue) -> SetParametersResult:
        before = self._read_parameter(name)
        if before.type == ParameterType.PARAMETER_NOT_SET:
            return SetParametersResult(successful=False, reason=f'no parameter {name!r:.40}')
        numbers = {2: float(value.integer_value), 3: value.double_value}
        if value.type not in numbers:
            return SetParametersResult(successful=False, reason='expected a number')
        wanted, dialect = numbers[value.type], self._link.dialect
        kind, sent = dialect.MAV_PARAM_TYPE_REAL32, wanted
        if before.type == ParameterType.PARAMETER_INTEGER:
            kind = dialect.MAV_PARAM_TYPE_INT32
            if self._reports.is_px4:
                sent = struct.unpack('<f', struct.pack('<i', int(wanted)))[0]
        self._link.send.param_set_send(*self._target, name.encode(), sent, kind)
        holds = self._wait_for(('parameter', name))
        done = holds is not None and math.isclose(holds, wanted, rel_tol=1e-6, abs_tol=1e-9)
        reason = '' if done else f'the autopilot has {holds if holds is not None else "no answer"}'
        return SetParametersResult(successful=done, reason=reason)


_ZERO = (0.0, 0.0, 0.0)


def _interval(rate: float) -> float:
    """Return the interval (µs) of a rate (Hz): 0 is the usual one, and less than 0 none."""
    if not math.isfinite(rate):
        raise ValueError(f'message_rate is {rate:g}; expected a number')
    if rate > 0:
        return 1e6 / rate
    return -1.0 if rate < 0 else 0.0


def _array(vector: Any) -> np.ndarray:
    return np.array([vector.x, vector.y, vector.z])


def _whole(name: str, value: float, bound: float) -> int:
    """Return a number as a whole one, for a message that has no other."""
    if not abs(value) <= bound:  # true for NaN
        raise ValueError(f'{name} is {value:g}; expected {-bound:g} to {bound:g}')
    return round(value)


def _returning(answer: Callable[[Any, Any], None]) -> Callable[[Any, Any], Any]:
    """Return a service's callback, which returns its response."""

    def call(request: Any, response: Any) -> Any:
        answer(request, response)
        return response

    return call
