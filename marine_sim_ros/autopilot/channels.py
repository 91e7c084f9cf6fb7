# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Channels of an autopilot: the actuator of each, and the frames of thrusters of ArduPilot.

Sources: ArduPilot 4.5, libraries/AP_Motors/AP_Motors6DOF.cpp and libraries/AR_Motors;
https://ardupilot.org/sub/docs/sub-frames.html.

The URDF element ``<ardusub frame="vectored">`` has ``<channel number="9" device="lights"/>`` and
``<channel number="1" thruster="NAME"/>`` where a vehicle differs from a BlueROV2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marine_sim_ros.control.controllability import BODY_AXES, thrust_matrix
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.schema import REQUIRED, choice, declaration, nested, number, text
from marine_sim_ros.model.propellers import PWM_MAX, PWM_MIN, PWM_NEUTRAL
from marine_sim_ros.model.vehicle import Vehicle

__all__ = [
    'ARDUSUB_ELEMENT',
    'CUSTOM',
    'ChannelMap',
    'Device',
    'FRAME_CONFIG',
    'MOTORS',
    'SKID_STEERING',
    'channel_map',
    'frame_fault',
    'motor_mismatches',
    'motor_signs',
    'pushes_alike',
    'FrameElement',
    'read_element',
    'thruster_signs',
]


# Frames of ArduPilot: axes that each motor pushes, compared with the vehicle's thrusters.

CUSTOM = 'custom'
"""Frame whose motors are compiled into a firmware of one's own; the stock firmware has those of
simplerov_3."""
FRAME_CONFIG = {
    'bluerov1': 0,
    'vectored': 1,
    'vectored_6dof': 2,
    'vectored_6dof_90deg': 3,
    'simplerov_3': 4,
    'simplerov_4': 5,
    'simplerov_5': 6,
    CUSTOM: 7,
}
"""ArduSub's parameter of that name, by the name of the frame."""
SKID_STEERING = 'skid_steering'
"""Frame of a boat with two thrusters side by side, of the firmware ArduRover; port is motor 1."""

_VECTORED = ((-1, -1, 0, 0, 0, -1), (-1, 1, 0, 0, 0, 1), (1, -1, 0, 0, 0, 1), (1, 1, 0, 0, 0, -1))
_SIMPLE = ((1, 0, 0, 0, 0, 1), (1, 0, 0, 0, 0, -1))
_SIMPLE_4 = (*_SIMPLE, (0, 0, -1, 1, 0, 0), (0, 0, -1, -1, 0, 0))
MOTORS: dict[str, np.ndarray] = {
    name: np.array(rows)
    for name, rows in {
        'vectored': (*_VECTORED, (0, 0, -1, 1, 0, 0), (0, 0, -1, -1, 0, 0)),
        'vectored_6dof': (
            *_VECTORED,
            *((0, 0, -1, 1, 1, 0), (0, 0, -1, -1, 1, 0)),
            *((0, 0, -1, 1, -1, 0), (0, 0, -1, -1, -1, 0)),
        ),
        'vectored_6dof_90deg': (
            *((0, 0, 1, 1, -1, 0), (1, 0, 0, 0, 0, -1), (0, 0, 1, 1, 1, 0)),
            *((0, -1, 0, 0, 0, 0), (0, -1, 0, 0, 0, 0)),
            *((0, 0, 1, -1, -1, 0), (1, 0, 0, 0, 0, 1), (0, 0, 1, -1, 1, 0)),
        ),
        'bluerov1': (
            *_SIMPLE,
            *((0, 0, 1, -1, -1, 0), (0, 0, 1, 1, -1, 0), (0, 0, 1, 0, 1, 0)),
            (0, -1, 0, 0, 0, 0),
        ),
        'simplerov_3': (*_SIMPLE, (0, 0, -1, 0, 0, 0)),
        'simplerov_4': _SIMPLE_4,
        'simplerov_5': (*_SIMPLE_4, (0, -1, 0, 0, 0, 0)),
        SKID_STEERING: ((1, 0, 0, 0, 0, -1), (1, 0, 0, 0, 0, 1)),
    }.items()
}
"""(n, 6) signs of surge, sway, heave, roll, pitch, yaw (FLU) of positive PWM, motor 1 first.

ArduSub's lateral, pitch and yaw are to starboard, bow up and to starboard: the signs of sway,
pitch and yaw are turned here. Left out is roll of a level motor (BlueROV1, motor 6).
"""
NEGLIGIBLE = 0.2
"""Fraction of a thruster's largest force, or moment, below which a part counts as none."""
SHORTEST_ARM = 0.01
"""m; with a shorter one a thruster turns nothing."""


@dataclass(frozen=True)
class MotorMismatch:
    """A motor of a frame and its thruster that push differently.

    Attributes:
        motor: number of the motor, from 1.
        thruster: name of the thruster on its channel; empty: there is none.
        axis: one of AXES; empty where there is no thruster.
        wanted: sign about that axis (FLU) of positive PWM on the motor.
        found: the thruster's; 0: it does not push there.
    """

    motor: int
    thruster: str
    axis: str = ''
    wanted: int = 0
    found: int = 0

    def __str__(self) -> str:
        """Return a description of the mismatch."""
        if not self.thruster:
            return f'no thruster is on the channel of motor {self.motor}'
        does = f'pushes {_sign(self.found)}{self.axis}' if self.found else f'makes no {self.axis}'
        return (
            f'motor {self.motor} pushes {_sign(self.wanted)}{self.axis} at positive PWM, '
            f'and {self.thruster!r} {does} (axes forward, left, up)'
        )


def _sign(value: int) -> str:
    return '+' if value > 0 else '-'


def motor_signs(matrix: np.ndarray) -> np.ndarray:
    """Return the signs (n, 6) of what thrusters do, from their matrix B (6, n).

    Level thrusters count for surge, sway and yaw, upright ones for heave, roll and pitch.
    """
    columns = matrix.T
    upright = np.abs(columns[:, 2]) > 0.5
    mask = np.where(upright[:, None], [0, 0, 1, 1, 1, 0], [1, 1, 0, 0, 0, 1])
    parts = columns * mask
    least = np.repeat(
        np.stack(
            [
                NEGLIGIBLE * np.max(np.abs(parts[:, :3]), axis=1, initial=1e-9),
                np.maximum(NEGLIGIBLE * np.max(np.abs(parts[:, 3:]), axis=1), SHORTEST_ARM),
            ],
            axis=1,
        ),
        3,
        axis=1,
    )
    return np.sign(np.where(np.abs(parts) > least, parts, 0.0)).astype(int)


def thruster_signs(vehicle: Vehicle) -> np.ndarray:
    """Return the signs (n, 6) of what the thrusters of a vehicle do about its centre of mass."""
    return motor_signs(thrust_matrix(vehicle.thrusters, vehicle.inertia.center_of_mass))


def pushes_alike(signs: np.ndarray, motor: np.ndarray) -> bool:
    """Return whether a thruster (6,) pushes about all axes of a motor (6,), in its sense.

    What it pushes besides is left to the pair that it belongs to: two lateral motors ahead and aft
    have no yaw in ArduSub's matrix, and each of them turns the vehicle.
    """
    return bool(np.all((motor == 0) | (signs == motor)))


def motor_mismatches(vehicle: Vehicle, channels: Sequence[int], frame: str) -> list[MotorMismatch]:
    """Return the thrusters that push otherwise than the motors of a frame.

    Args:
        channels: channel of each thruster, from 1; motor k is on channel k.
        frame: a frame of ``MOTORS``; of another one nothing is known.
    """
    signs, names = thruster_signs(vehicle), vehicle.thrusters.names
    found: list[MotorMismatch] = []
    for channel, motor in enumerate(MOTORS.get(frame, ()), 1):
        if channel not in channels:
            found.append(MotorMismatch(channel, ''))
            continue
        k = list(channels).index(channel)
        found += [
            MotorMismatch(
                channel, names[k], BODY_AXES[axis], int(motor[axis]), int(signs[k, axis])
            )
            for axis in np.flatnonzero((motor != 0) & (signs[k] != motor))
        ]
    return found


def frames_of(count: int) -> list[str]:
    """Return the frames with as many motors, the common one first."""
    return [name for name, motors in MOTORS.items() if len(motors) == count]


# Channels of an autopilot: thrusters, lights, camera tilt, gripper.

ARDUSUB_ELEMENT = 'ardusub'
NEUTRAL, LOW, HIGH = int(PWM_NEUTRAL), int(PWM_MIN), int(PWM_MAX)
"""Pulse widths of channels, µs."""
ON = range(1001, 2201)
"""Pulse widths that command something: a disabled channel is 0, one while booting is 1000."""
TILT = 0.7854
"""rad that the camera of a BlueROV2 tilts up and down."""


@dataclass(frozen=True)
class Device:
    """Actuator of a channel other than a thruster.

    Attributes:
        name: lights, camera_tilt, gripper, or a joint of the arm.
        channel: number of the channel, from 1.
        low: value at 1100 µs.
        high: value at 1900 µs.
    """

    name: str
    channel: int
    low: float = 0.0
    high: float = 1.0

    def clip(self, value: float) -> float:
        """Return a value within the bounds."""
        return min(max(value, self.low), self.high)

    def value(self, pwm: int) -> float:
        """Return the value of a pulse width in µs."""
        share = (min(max(pwm, LOW), HIGH) - LOW) / (HIGH - LOW)
        return self.low + share * (self.high - self.low)


@dataclass(frozen=True)
class ArdusubElement:
    """Contents of the URDF element; ``thrusters`` has channels by the name of the thruster."""

    frame: str
    thrusters: dict[str, int]
    devices: tuple[Device, ...]


@dataclass(frozen=True)
class ChannelMap:
    """Channels of a vehicle.

    Attributes:
        frame: ArduPilot's frame; empty: it has none for so many thrusters.
        thrusters: channel of each thruster, in the order of the URDF.
        devices: what other channels move.
    """

    frame: str
    thrusters: tuple[int, ...]
    devices: tuple[Device, ...]

    def pulse_widths(self, pwm: Sequence[int]) -> list[int]:
        """Return the pulse width of each thruster in µs; neutral where a channel is off."""
        found = (_width(pwm, channel) for channel in self.thrusters)
        return [NEUTRAL if width is None else width for width in found]

    def values(self, pwm: Sequence[int]) -> dict[str, float]:
        """Return the values of the devices whose channels are on."""
        found = ((d, _width(pwm, d.channel)) for d in self.devices)
        return {device.name: device.value(width) for device, width in found if width is not None}


def _width(pwm: Sequence[int], channel: int) -> int | None:
    width = pwm[channel - 1] if channel <= len(pwm) else 0
    return width if width in ON else None


_BLUEROV2 = (Device('lights', 9), Device('gripper', 11))
_SIX, _EIGHT = ((Device('camera_tilt', channel, -TILT, TILT), *_BLUEROV2) for channel in (8, 10))
"""Devices of a BlueROV2, and of a BlueROV2 Heavy whose motors take channel 8."""


@declaration(frozen=True, kw_only=True)
class ChannelElement:
    """<channel> of an <ardusub>."""

    reader: Any
    channel: float = number(
        REQUIRED, 1, 32, '', 'number of the channel', name='number', place='attribute'
    )
    thruster: str = text('thruster that it moves', place='attribute')
    device: str = text('device that it moves, in place of a thruster', place='attribute')
    low: float = number(0.0, -math.inf, math.inf, '', 'value at 1100 µs', place='attribute')
    high: float = number(1.0, -math.inf, math.inf, '', 'value at 1900 µs', place='attribute')


@declaration(frozen=True, kw_only=True)
class FrameElement:
    """<ardusub>."""

    frame: str = choice((*FRAME_CONFIG, SKID_STEERING), "ArduPilot's frame", '', place='attribute')
    channel: tuple[ChannelElement, ...] = nested(ChannelElement, 'channels', many=True)


def read_element(reader: Any) -> ArdusubElement:
    """Return the contents of an element ``<ardusub>``.

    Raises:
        ModelError: a frame, channel or number that cannot be.
    """
    own = reader.read(FrameElement)
    thrusters: dict[str, int] = {}
    devices: list[Device] = []
    for child in own.channel:
        channel = int(child.channel)
        if bool(child.thruster) == bool(child.device):
            raise child.reader.error('expected one of the attributes thruster and device')
        if channel in (*thrusters.values(), *(d.channel for d in devices)):
            raise child.reader.error(f'channel {channel} is given twice')
        if child.thruster:
            thrusters[child.thruster] = channel
        else:
            devices.append(Device(child.device, channel, child.low, child.high))
    return ArdusubElement(own.frame, thrusters, tuple(devices))


def channel_map(vehicle: Vehicle) -> ChannelMap:
    """Return the channels of a vehicle: its element's, else in the order of its thrusters.

    Raises:
        ModelError: the element names a thruster that the vehicle does not have, or a frame with
            another number of motors.
    """
    names = vehicle.thrusters.names
    said: ArdusubElement = vehicle.extensions.get(ARDUSUB_ELEMENT) or ArdusubElement('', {}, ())
    if unknown := sorted(set(said.thrusters) - set(names)):
        raise ModelError(
            f'{vehicle.name}: <ardusub> names the thruster {unknown[0]!r}; expected one of: '
            f'{", ".join(names)}'
        )
    channels = tuple(said.thrusters.get(name, k) for k, name in enumerate(names, 1))
    if len(set(channels)) < len(channels):
        raise ModelError(f'{vehicle.name}: <ardusub> gives two thrusters one channel: {channels}')
    frame = said.frame or _frame_of_vehicle(vehicle, channels)
    count = len(MOTORS.get(frame, names))
    if count != len(names):
        raise ModelError(
            f'{vehicle.name}: the frame {frame} of <ardusub> has {count} motors, and the vehicle '
            f'{len(names)} thrusters; expected one of: '
            f'{", ".join((*frames_of(len(names)), CUSTOM))}'
        )
    taken = {*channels, *(device.channel for device in said.devices)}
    named = {device.name for device in said.devices}
    usual = (_EIGHT if len(names) > 6 else _SIX) if frame not in ('', SKID_STEERING) else ()
    kept = tuple(d for d in usual if d.channel not in taken and d.name not in named)
    return ChannelMap(frame, channels, (*said.devices, *kept))


def _frame_of_vehicle(vehicle: Vehicle, channels: Sequence[int]) -> str:
    """Return the frame whose motors the thrusters are, else the common one of so many; or ''."""
    frames = frames_of(len(channels))
    fitting = (name for name in frames if not motor_mismatches(vehicle, channels, name))
    return next(fitting, next(iter(frames), ''))


def frame_fault(vehicle: Vehicle, channels: ChannelMap) -> str:
    """Return one line on the motor and axis that disagree with the vehicle's frame, or ''."""
    if channels.frame == CUSTOM:
        return ''
    if not channels.frame:
        return (
            f'{vehicle.name}: no frame of ArduPilot has {len(channels.thrusters)} motors; '
            f'expected <ardusub frame="{CUSTOM}"/> below <robot>, and a firmware with the motors '
            'of the vehicle'
        )
    mismatches = motor_mismatches(vehicle, channels.thrusters, channels.frame)
    if not mismatches:
        return ''
    more = f', and {len(mismatches) - 1} more disagree' if len(mismatches) > 1 else ''
    return (
        f'{vehicle.name} is no {channels.frame} frame of ArduPilot: {mismatches[0]}{more}; '
        'expected another frame, or channels, in <ardusub>'
    )
