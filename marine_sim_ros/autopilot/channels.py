# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Which channel of an autopilot moves what: thrusters, lights, camera tilt, gripper.

The URDF element ``<ardusub frame="vectored">`` has ``<channel number="9" device="lights"/>`` and
``<channel number="1" thruster="NAME"/>`` where a vehicle differs from a BlueROV2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from marine_sim_ros.autopilot.sub_frames import (
    CUSTOM,
    FRAME_CONFIG,
    MOTORS,
    frames_of,
    motor_mismatches,
)
from marine_sim_ros.core.choices import expected_one_of
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.model.vehicle import Vehicle

__all__ = [
    'ELEMENT',
    'ArdusubElement',
    'ChannelMap',
    'Device',
    'channel_map',
    'frame_fault',
    'read_element',
]

ELEMENT = 'ardusub'
NEUTRAL, LOW, HIGH = 1500, 1100, 1900
"""µs."""
ON = range(1001, 2201)
"""Pulse widths that command something: a disabled channel is 0, one while booting is 1000."""
TILT = 0.7854
"""rad that the camera of a BlueROV2 tilts up and down."""


@dataclass(frozen=True)
class Device:
    """What a channel moves besides thrusters.

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

    def value(self, pwm: int) -> float:
        """Return the value of a pulse width in µs."""
        share = (min(max(pwm, LOW), HIGH) - LOW) / (HIGH - LOW)
        return self.low + share * (self.high - self.low)


@dataclass(frozen=True)
class ArdusubElement:
    """What the element of a URDF says; ``thrusters`` has channels by the name of the thruster."""

    frame: str
    thrusters: dict[str, int]
    devices: tuple[Device, ...]


@dataclass(frozen=True)
class ChannelMap:
    """Channels of a vehicle.

    Attributes:
        frame: ArduSub's frame; empty: ArduSub has none for so many thrusters.
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


def read_element(reader: Any) -> ArdusubElement:
    """Return what an element ``<ardusub>`` says, of its Reader.

    Raises:
        ModelError: a frame, channel or number that cannot be.
    """
    frame = reader.attribute('frame', '')
    if frame and frame not in FRAME_CONFIG:
        raise reader.error(f'frame is {frame!r}; {expected_one_of(frame, FRAME_CONFIG)}')
    thrusters: dict[str, int] = {}
    devices: list[Device] = []
    for child in reader.children({'channel'}):
        number = int(child.number(1, 32, child.attribute('number')))
        thruster, device = child.attribute('thruster', ''), child.attribute('device', '')
        if bool(thruster) == bool(device):
            raise child.error('expected one of the attributes thruster and device')
        if number in (*thrusters.values(), *(d.channel for d in devices)):
            raise child.error(f'channel {number} is given twice')
        if thruster:
            thrusters[thruster] = number
        else:
            low, high = (child.attribute_number(n, d) for n, d in (('low', 0.0), ('high', 1.0)))
            devices.append(Device(device, number, low, high))
    return ArdusubElement(frame, thrusters, tuple(devices))


def channel_map(vehicle: Vehicle) -> ChannelMap:
    """Return the channels of a vehicle: its element's, else in the order of its thrusters.

    Raises:
        ModelError: the element names a thruster that the vehicle does not have, or a frame with
            another number of motors.
    """
    names = vehicle.thrusters.names
    said: ArdusubElement = vehicle.extensions.get(ELEMENT) or ArdusubElement('', {}, ())
    if unknown := sorted(set(said.thrusters) - set(names)):
        raise ModelError(
            f'{vehicle.name}: <ardusub> names the thruster {unknown[0]!r}; expected one of: '
            f'{", ".join(names)}'
        )
    channels = tuple(said.thrusters.get(name, k) for k, name in enumerate(names, 1))
    if len(set(channels)) < len(channels):
        raise ModelError(f'{vehicle.name}: <ardusub> gives two thrusters one channel: {channels}')
    frame = said.frame or _fitting_frame(vehicle, channels)
    count = len(MOTORS.get(frame, names))
    if count != len(names):
        raise ModelError(
            f'{vehicle.name}: the frame {frame} of <ardusub> has {count} motors, and the vehicle '
            f'{len(names)} thrusters; expected one of: '
            f'{", ".join((*frames_of(len(names)), CUSTOM))}'
        )
    taken = {*channels, *(device.channel for device in said.devices)}
    named = {device.name for device in said.devices}
    usual = (_EIGHT if len(names) > 6 else _SIX) if frame else ()
    kept = tuple(d for d in usual if d.channel not in taken and d.name not in named)
    return ChannelMap(frame, channels, (*said.devices, *kept))


def _fitting_frame(vehicle: Vehicle, channels: Sequence[int]) -> str:
    """Return the frame whose motors the thrusters are, else the common one of so many; or ''."""
    frames = frames_of(len(channels))
    fitting = (name for name in frames if not motor_mismatches(vehicle, channels, name))
    return next(fitting, next(iter(frames), ''))


def frame_fault(vehicle: Vehicle, channels: ChannelMap) -> str:
    """Return which motor and axis disagree with the vehicle's frame, in one line; or ''."""
    if channels.frame == CUSTOM:
        return ''
    if not channels.frame:
        return (
            f'{vehicle.name}: no frame of ArduSub has {len(channels.thrusters)} motors; expected '
            f'<ardusub frame="{CUSTOM}"/> below <robot>, and a firmware with the motors of the '
            'vehicle'
        )
    mismatches = motor_mismatches(vehicle, channels.thrusters, channels.frame)
    if not mismatches:
        return ''
    more = f', and {len(mismatches) - 1} more disagree' if len(mismatches) > 1 else ''
    return (
        f'{vehicle.name} is no {channels.frame} frame of ArduSub: {mismatches[0]}{more}; '
        'expected another frame, or channels, in <ardusub>'
    )
