# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Emulated Blue Robotics Ping360: a scanning sonar over the Ping protocol, UDP 9092 as by BlueOS.

Source: Blue Robotics, "Ping Protocol", messages of ping360 (docs.bluerobotics.com/ping-protocol).
Head angles are gradians, clockwise from above, and 200 is ahead, as in Ping Viewer
(src/sensor/ping360.h: angle offset). A sector of at most 180° is swept to and fro, a wider one in
one direction.
"""

from __future__ import annotations

import math
import struct
from collections import deque
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.environment.environment import SOUND_SPEED
from marine_sim_ros.instruments.instrument import Client, InstrumentReading, WireProtocol
from marine_sim_ros.instruments.ping import SET_DEVICE_ID, PingDevice
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.series import SensorReader

__all__ = ['PING360', 'bearing_of', 'head_angle']

CIRCLE, AHEAD = 400, 200
"""Gradians."""
DEVICE_DATA, AUTO_DEVICE_DATA, RESET, TRANSDUCER, AUTO_TRANSMIT, MOTOR_OFF = (
    2300, 2301, 2600, 2601, 2602, 2903,
)  # fmt: skip
TICK = 25e-9
"""s, unit of the sample period."""
_LIMITS = {
    'gain_setting': (0, 2),
    'angle': (0, CIRCLE - 1),
    'transmit_duration': (1, 1000),
    'sample_period': (80, 40000),
    'transmit_frequency': (500, 1000),
    'number_of_samples': (200, 1200),
    'start_angle': (0, CIRCLE - 1),
    'stop_angle': (0, CIRCLE - 1),
    'num_steps': (1, 10),
    'delay': (0, 100),
}
MAX_WAITING = 8
"""Commands that wait for a ping; the oldest is not answered."""


def bearing_of(angle: int) -> float:
    """Return the bearing of a head angle (gradians) in the sensor's frame, rad, −π to π."""
    return -math.pi * (angle - AHEAD) / AHEAD


def head_angle(bearing: float) -> int:
    """Return the head angle of a bearing, whole gradians."""
    return round(AHEAD - AHEAD * bearing / math.pi) % CIRCLE


class _Settings(NamedTuple):
    """Settings of a ping, as in ``device_data``."""

    gain_setting: int
    transmit_duration: int
    sample_period: int
    transmit_frequency: int
    number_of_samples: int

    @property
    def parameters(self) -> dict[str, float]:
        """Parameters of the simulated sonar; the gain is an assumed one and stays."""
        reach = self.number_of_samples * self.sample_period * TICK * SOUND_SPEED / 2
        return {
            'max_range': reach,
            'samples': float(self.number_of_samples),
            'frequency': float(self.transmit_frequency),
        }


class _Sweep(NamedTuple):
    """A scan that the device makes by itself."""

    start_angle: int
    stop_angle: int
    num_steps: int
    delay: int

    @property
    def angles(self) -> list[int]:
        """Head angles in their order, gradians."""
        width = (self.stop_angle - self.start_angle) % CIRCLE
        angles = [
            (self.start_angle + step) % CIRCLE for step in range(0, width + 1, self.num_steps)
        ]
        return angles + angles[-2:0:-1] if width <= CIRCLE // 2 else angles


class _Command(NamedTuple):
    """A command that is answered by the ping that it asks for."""

    client: Client
    settings: _Settings
    angle: int


def _check(**values: int) -> None:
    for name, value in values.items():
        low, high = _LIMITS[name]
        if not low <= value <= high:
            raise ValueError(f'{name} is {value}; expected {low} to {high}')


class Ping360(PingDevice):
    """The device: until a command comes, the sonar scans as its description says."""

    device_type = 2
    setters = (SET_DEVICE_ID, 2000)

    def __init__(self, sensor: Sensor) -> None:
        """Begin with the settings of the description."""
        super().__init__(sensor)
        spec = sensor.spec
        ticks = 2 * spec.max_range / (spec.samples * TICK * SOUND_SPEED)
        self._settings = _Settings(1, 1, round(ticks), round(spec.frequency), int(spec.samples))
        self._angle, self._data = AHEAD, b''
        self._waiting: deque[_Command] = deque(maxlen=MAX_WAITING)
        self._sweep: tuple[Client, _Sweep] | None = None

    def report(self, reading: InstrumentReading) -> None:
        """Keep a ping, and send it to who asked for it."""
        angle = head_angle(float(reading.readings['bearing']))
        spec = reading.sensor.spec
        for command in tuple(self._waiting):
            if spec.heads == (bearing_of(command.angle),) and _has(spec, command.settings):
                self._waiting.remove(command)
                self._keep(reading, command.angle)
                if command.client in self.clients:
                    payload = self._device_data(command.settings, angle, self._data)
                    self.send(command.client, DEVICE_DATA, payload)
        if not self._waiting:
            self._keep(reading, angle)
        if self._sweep is not None and self._sweep[0] in self.clients:
            client, sweep = self._sweep
            if spec.heads == _heads(sweep.angles) and _has(spec, self._settings):
                self.send(client, AUTO_DEVICE_DATA, self._auto_device_data(sweep, angle))

    def _keep(self, reading: InstrumentReading, angle: int) -> None:
        self._angle = angle
        self._data = np.asarray(reading.readings['echo'], np.uint8).tobytes()

    @staticmethod
    def _device_data(settings: _Settings, angle: int, data: bytes) -> bytes:
        gain, *numbers = settings
        return struct.pack('<BBHHHHHH', 1, gain, angle, *numbers, len(data)) + data

    def _auto_device_data(self, sweep: _Sweep, angle: int) -> bytes:
        gain, duration, period, frequency, samples = self._settings
        head = struct.pack('<BBHHHH', 1, gain, angle, duration, period, frequency)
        return head + struct.pack('<HHBBHH', *sweep, samples, len(self._data)) + self._data

    def is_readable(self, number: int) -> bool:
        """Return whether there is such a message."""
        return number == DEVICE_DATA

    def read(self, number: int) -> bytes:
        """Return the state, with the newest ping."""
        del number
        return self._device_data(self._settings, self._angle, self._data)

    def execute(self, client: Client, number: int, payload: bytes) -> bool:
        """Turn the head, ping, scan, or stop."""
        if number == TRANSDUCER:
            self._turn_head(client, *struct.unpack('<BBHHHHHBB', payload))
            return False
        if number == AUTO_TRANSMIT:
            self._scan(client, *struct.unpack('<BBHHHHHHBB', payload))
            return True
        if number in (MOTOR_OFF, RESET):
            self._sweep = None
            self._waiting.clear()
            if number == RESET:
                self.changes.append(self._restore)
            return True
        raise ValueError(f'message {number} is unknown or not simulated')

    def _restore(self, reader: SensorReader) -> None:
        """Scan as the description says."""
        reader.sensor = replace(reader.sensor, spec=self.sensor.spec)

    def _turn_head(self, client: Client, _mode: int, gain: int, angle: int, *values: int) -> None:
        *numbers, transmit, _ = values
        settings = _Settings(gain, *numbers)
        _check(angle=angle, **settings._asdict())
        self._sweep = None
        self._settings, self._angle = settings, angle
        self.change_parameters(heads=(bearing_of(angle),), **settings.parameters)
        if transmit:
            self._waiting.append(_Command(client, settings, angle))
        else:
            self.send(client, DEVICE_DATA, self._device_data(settings, angle, b''))

    def _scan(self, client: Client, _mode: int, gain: int, *numbers: int) -> None:
        settings, sweep = _Settings(gain, *numbers[:4]), _Sweep(*numbers[4:])
        _check(**settings._asdict(), **sweep._asdict())
        self._waiting.clear()
        self._settings, self._sweep = settings, (client, sweep)
        self.change_parameters(heads=_heads(sweep.angles), **settings.parameters)


def _heads(angles: list[int]) -> tuple[float, ...]:
    return tuple(map(bearing_of, angles))


def _has(spec: Any, settings: _Settings) -> bool:
    """Return whether a ping was made with some settings."""
    return all(getattr(spec, name) == value for name, value in settings.parameters.items())


PING360 = WireProtocol(
    'ping360', ('scanning_sonar',), 'udp', 9092, Ping360, 'Blue Robotics Ping360', serial=True
)
