# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Ping protocol of Blue Robotics: frames, requests and answers that all its devices share.

Source: Blue Robotics, "Ping Protocol", version 1.0 (docs.bluerobotics.com/ping-protocol).
"""

from __future__ import annotations

import struct
from abc import abstractmethod
from typing import NamedTuple

from marine_sim_ros.instruments.instrument import Client, Instrument, ProtocolError
from marine_sim_ros.model.vehicle import Sensor

__all__ = ['PingDevice', 'PingMessage', 'encode', 'take_message']

START = b'BR'
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
