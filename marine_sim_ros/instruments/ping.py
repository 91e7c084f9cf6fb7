# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Emulated Ping Sonar and Ping2 of Blue Robotics, and frames and requests of all Ping devices.

Source: Blue Robotics, "Ping Protocol", version 1.0, and messages of ping1d
(docs.bluerobotics.com/ping-protocol). The echo sounders listen at UDP 9090, as by BlueOS.
"""

from __future__ import annotations

import math
import struct
from abc import abstractmethod
from typing import NamedTuple
from weakref import WeakKeyDictionary

from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.environment.environment import SOUND_SPEED
from marine_sim_ros.instruments.instrument import (
    Client,
    Instrument,
    InstrumentReading,
    ProtocolError,
    WireProtocol,
)
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.echo_sounder import profile_line

__all__ = ['PING1D', 'PingDevice', 'PingMessage', 'encode', 'take_message']

START = b'BR'
AUTOBAUD = b'U'
"""Byte by which clients at a serial port let the device find the baud rate; any rate will do."""
_HEADER, _CHECKSUM = struct.Struct('<2sHHBB'), struct.Struct('<H')
MAX_PAYLOAD = 64
"""Bytes; no message to a device has more, and a wrong length shall not swallow what follows."""
ACK, NACK, DEVICE_INFORMATION, PROTOCOL_VERSION, GENERAL_REQUEST = 1, 2, 4, 5, 6
SET_DEVICE_ID = 100
FIRMWARE = 3, 28, 0


class PingMessage(NamedTuple):
    """A message to a device: its number, and its payload."""

    number: int
    payload: bytes


def encode(number: int, payload: bytes, source: int) -> bytes:
    """Return the frame of a message; its checksum is the sum of all bytes before it."""
    frame = _HEADER.pack(START, len(payload), number, source, 0) + payload
    return frame + _CHECKSUM.pack(sum(frame) & 0xFFFF)


def take_message(received: bytearray) -> PingMessage | None:
    """Take the first message of some bytes; None: it is incomplete.

    Raises:
        ProtocolError: bytes that begin no message, which are taken.
    """
    if received[:1] == AUTOBAUD:
        del received[:1]
    start = received.find(START)
    if start != 0 and received not in (b'', START[:1]):
        del received[: start if start > 0 else len(received)]
        raise ProtocolError('bytes outside a message are ignored; expected BR and a header')
    if len(received) < _HEADER.size:
        return None
    _, length, number, _, _ = _HEADER.unpack_from(received)
    if length > MAX_PAYLOAD:
        del received[: len(START)]
        raise ProtocolError(f'a payload of {length} bytes; expected at most {MAX_PAYLOAD}')
    end = _HEADER.size + length
    if len(received) < end + _CHECKSUM.size:
        return None
    (checksum,) = _CHECKSUM.unpack_from(received, end)
    expected = sum(received[:end]) & 0xFFFF
    if checksum != expected:
        del received[: len(START)]
        raise ProtocolError(f'message {number} has checksum {checksum}; expected {expected}')
    payload = bytes(received[_HEADER.size : end])
    del received[: end + _CHECKSUM.size]
    return PingMessage(number, payload)


class PingDevice(Instrument):
    """A device: it answers a request by the message, another message by ACK, or by NACK and why.

    Attributes:
        device_type: 1: echo sounder; 2: Ping360.
        setters: numbers of the messages that set the device's number.
    """

    device_type = 0
    setters: tuple[int, ...] = (SET_DEVICE_ID,)

    def __init__(self, sensor: Sensor) -> None:
        """Begin with the number 1."""
        super().__init__(sensor)
        self.number = 1

    def receive(self, client: Client) -> bool:
        """Answer a message."""
        message = take_message(client.received)
        if message is None:
            return False
        number, payload = message
        try:
            if number == GENERAL_REQUEST:
                (number,) = struct.unpack('<H', payload)
                self.send(client, number, self._payload(number))
            elif not payload and self.is_readable(number):  # the request of older clients
                self.send(client, number, self._payload(number))
            elif number in self.setters:
                self.number = payload[0]
                self.send(client, ACK, struct.pack('<H', number))
            elif self.execute(client, number, payload):
                self.send(client, ACK, struct.pack('<H', number))
        except (ValueError, IndexError, struct.error) as error:
            text = str(error).encode('ascii', 'replace')[:200]
            self.send(client, NACK, struct.pack('<H', number) + text)
        return True

    def send(self, client: Client, number: int, payload: bytes) -> None:
        """Send a message."""
        client.send(encode(number, payload, self.number))

    def _payload(self, number: int) -> bytes:
        if number == PROTOCOL_VERSION:
            return struct.pack('<4B', 1, 0, 0, 0)
        if number == DEVICE_INFORMATION:
            return struct.pack('<6B', self.device_type, 1, *FIRMWARE, 0)
        if not self.is_readable(number):
            raise ValueError(f'message {number} is unknown or not simulated')
        return self.read(number)

    @abstractmethod
    def is_readable(self, number: int) -> bool:
        """Return whether the device has a message, beside the common ones, on request."""

    @abstractmethod
    def read(self, number: int) -> bytes:
        """Return the payload of a message on request.

        Raises:
            ValueError: there is none yet.
        """

    @abstractmethod
    def execute(self, client: Client, number: int, payload: bytes) -> bool:
        """Execute a command; return whether it is acknowledged, as it has no other answer.

        Raises:
            ValueError: an unknown command, or a value out of its range; what was expected.
            struct.error: a payload of another length.
        """


# Ping Sonar and Ping2: distance.

DISTANCE_SIMPLE, DISTANCE, PROFILE, CONTINUOUS_START, CONTINUOUS_STOP = (
    1211,
    1212,
    1300,
    1400,
    1401,
)
FIRMWARE_VERSION, GENERAL_INFO = 1200, 1210
VOLTAGE = 5000
"""mV; the supply is an ideal one."""
_SETTINGS = {
    1001: ('<II', ('scan_start', 'scan_length')),
    1002: ('<I', ('speed_of_sound',)),
    1003: ('<B', ('mode_auto',)),
    1004: ('<H', ('ping_interval',)),
    1005: ('<B', ('gain_setting',)),
    1006: ('<B', ('ping_enabled',)),
}
"""Format and settings of commands."""
_READABLE = {
    1201: ('<B', ('device_id',)),
    1202: ('<H', ('voltage_5',)),
    1203: ('<I', ('speed_of_sound',)),
    1204: ('<II', ('scan_start', 'scan_length')),
    1205: ('<B', ('mode_auto',)),
    1206: ('<H', ('ping_interval',)),
    1207: ('<I', ('gain_setting',)),
    1215: ('<B', ('ping_enabled',)),
}
_LIMITS = {
    'scan_length': (1000, 1_000_000),
    'speed_of_sound': (1_000_000, 2_000_000),
    'mode_auto': (0, 1),
    'gain_setting': (0, 6),
    'ping_enabled': (0, 1),
}


class Ping1d(PingDevice):
    """The device.

    A device that is told a speed of sound c of water with c₀ computes distances c/c₀ times as
    large. In manual mode a target outside the scan range is not seen: confidence 0.
    """

    device_type = 1
    setters = (SET_DEVICE_ID, 1000)

    def __init__(self, sensor: Sensor) -> None:
        """Begin in automatic mode."""
        super().__init__(sensor)
        spec = sensor.spec
        self._settings = {
            'scan_start': round(1000 * spec.min_range),
            'scan_length': round(1000 * (spec.max_range - spec.min_range)),
            'speed_of_sound': round(1000 * SOUND_SPEED),
            'mode_auto': 1,
            'ping_interval': min(round(1000 * sensor.period / NANOSECONDS), 0xFFFF),
            'gain_setting': 0,
            'ping_enabled': 1,
        }
        self._newest: tuple[int, int] | None = None
        self._profile = b''
        self._pings, self._sent_at = 0, -math.inf
        self._streams: WeakKeyDictionary[Client, set[int]] = WeakKeyDictionary()

    def report(self, reading: InstrumentReading) -> None:
        """Keep a reading, and stream it to who asked for that, at most once per ping interval."""
        if not self._settings['ping_enabled']:
            return
        self._newest = self._distance_and_confidence(reading)
        if self._has_profile:
            self._profile = profile_line(self.sensor.spec, reading.readings['profile']).tobytes()
        self._pings += 1
        elapsed = (reading.stamp - self._sent_at) * 1000 / NANOSECONDS
        # Half a millisecond: intervals are whole ones.
        if 0 <= elapsed < self._settings['ping_interval'] - 0.5:
            return
        self._sent_at = reading.stamp
        for client in tuple(self.clients):
            for number in self._streams.get(client, ()):
                self.send(client, number, self.read(number))

    def _distance_and_confidence(self, reading: InstrumentReading) -> tuple[int, int]:
        """Return the distance, mm, and the confidence, %."""
        settings = self._settings
        start, end = settings['scan_start'], settings['scan_start'] + settings['scan_length']
        distance = float(reading.readings['range'])
        if not math.isfinite(distance):
            return (start if distance < 0 else end), 0
        millimetres = round(1000 * distance * settings['speed_of_sound'] / (1000 * SOUND_SPEED))
        if not settings['mode_auto'] and not start <= millimetres <= end:
            return end, 0
        return millimetres, round(float(reading.readings['confidence']))

    def is_readable(self, number: int) -> bool:
        """Return whether there is such a message."""
        measured = DISTANCE_SIMPLE, DISTANCE, FIRMWARE_VERSION, GENERAL_INFO
        return number in _READABLE or number in measured or number in self._streamable

    @property
    def _has_profile(self) -> bool:
        """Whether its sensor measures the echo over range: an altimeter does not."""
        return self.sensor.kind == 'echo_sounder'

    @property
    def _streamable(self) -> tuple[int, ...]:
        return (DISTANCE_SIMPLE, DISTANCE, *((PROFILE,) if self._has_profile else ()))

    def read(self, number: int) -> bytes:
        """Return the payload of a message; temperatures are not simulated."""
        settings = self._settings
        if number == FIRMWARE_VERSION:
            return struct.pack('<BBHH', 1, 1, *FIRMWARE[:2])
        if number == GENERAL_INFO:
            setting_values = (
                settings['ping_interval'],
                settings['gain_setting'],
                settings['mode_auto'],
            )
            return struct.pack('<HHHHBB', *FIRMWARE[:2], VOLTAGE, *setting_values)
        if number in _READABLE:
            form, names = _READABLE[number]
            values = {**settings, 'device_id': self.number, 'voltage_5': VOLTAGE}
            return struct.pack(form, *(values[name] for name in names))
        if self._newest is None:
            raise ValueError('there is no measurement yet')
        distance, confidence = self._newest
        if number == DISTANCE_SIMPLE:
            return struct.pack('<IB', distance, confidence)
        setting_values = settings['scan_start'], settings['scan_length'], settings['gain_setting']
        if number == DISTANCE:
            return struct.pack('<IHHIIII', distance, confidence, 0, self._pings, *setting_values)
        # The bins of a profile are those of the sensor, not of the scan range that is set.
        spec = self.sensor.spec
        setting_values = (
            round(1000 * spec.min_range),
            round(1000 * (spec.max_range - spec.min_range)),
            settings['gain_setting'],
        )
        pulse = round(spec.pulse_length)
        head = struct.pack('<IHHIIII', distance, confidence, pulse, self._pings, *setting_values)
        return head + struct.pack('<H', len(self._profile)) + self._profile

    def execute(self, client: Client, number: int, payload: bytes) -> bool:
        """Set what a command sets."""
        if number in (CONTINUOUS_START, CONTINUOUS_STOP):
            (stream,) = struct.unpack('<H', payload)
            if stream not in self._streamable:
                raise ValueError(f'message {stream} is not simulated as a stream; expected 1212')
            streams = self._streams.setdefault(client, set())
            (streams.add if number == CONTINUOUS_START else streams.discard)(stream)
            return True
        if number not in _SETTINGS:
            raise ValueError(f'message {number} is unknown or not simulated')
        form, names = _SETTINGS[number]
        values = dict(zip(names, struct.unpack(form, payload), strict=True))
        for name, value in values.items():
            low, high = _LIMITS.get(name, (0, 1_000_000))
            if not low <= value <= high:
                raise ValueError(f'{name} is {value}; expected {low} to {high}')
        self._settings |= values
        return True


PING1D = WireProtocol(
    'ping1d',
    ('altimeter', 'echo_sounder'),
    'udp',
    9090,
    Ping1d,
    'Blue Robotics Ping Sonar and Ping2',
    serial=True,
)
