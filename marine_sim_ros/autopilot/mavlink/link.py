# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""UDP link to one ground station, and a relay to it: filter senders, parse and sign MAVLink.

``number_error`` checks the numbers of a message; the vehicle calls it for each (vehicle.py).
"""

from __future__ import annotations

import hashlib
import math
import re
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import IntFlag
from typing import Any

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.files import expand_home, read_text_file
from marine_sim_ros.sensors.addresses import open_port

__all__ = [
    'AttitudeMask',
    'MavlinkLink',
    'MavlinkRelay',
    'PositionMask',
    'number_error',
    'parse_datagram',
    'read_key',
    'udp_address',
]

OPTION = '--autopilot mavlink'
NUMBER_BOUND = 1e9
"""Bound of every number of a message: the largest that means something is an interval of 60 s in
µs, or the magic number of a command."""
DATAGRAM = 65536
"""Bytes."""
MAVLINK_2, SIGNED, FRAME, SIGNATURE = 0xFD, 1, 12, 13
"""First byte of a frame of MAVLink 2, flag of a signature, bytes of the frame without its payload,
and those of the signature (mavlink.io, serialization)."""
SIGNING_EPOCH = 1420070400.0
"""s, Unix time of 2015-01-01, from which signatures count in 10 µs (mavlink.io, signing)."""
LARGEST_KEY = 10_000
"""Bytes of a file with a key."""
MAX_SENDERS = 32
"""Foreign senders that are named one by one."""
PARAMS = frozenset(f'param{k}' for k in range(1, 8))
UNSET = {
    'COMMAND_LONG': PARAMS,
    'COMMAND_INT': PARAMS | {'z'},
    'MISSION_ITEM': PARAMS,
    'MISSION_ITEM_INT': PARAMS,
    'GIMBAL_MANAGER_SET_PITCHYAW': frozenset({'pitch', 'yaw', 'pitch_rate', 'yaw_rate'}),
}
"""Fields in which NaN means "not set" (mavlink.io, commands); each command checks its own."""


class PositionMask(IntFlag):
    """POSITION_TARGET_TYPEMASK of MAVLink: fields of a target that are left out."""

    X = 1 << 0
    Y = 1 << 1
    Z = 1 << 2
    VX = 1 << 3
    VY = 1 << 4
    VZ = 1 << 5
    AX = 1 << 6
    AY = 1 << 7
    AZ = 1 << 8
    FORCE = 1 << 9  # the acceleration is a force: leaves nothing out
    YAW = 1 << 10
    YAW_RATE = 1 << 11
    POSITION = X | Y | Z
    ACCELERATION = AX | AY | AZ


class AttitudeMask(IntFlag):
    """ATTITUDE_TARGET_TYPEMASK of MAVLink: fields of a target that are left out."""

    ROLL_RATE = 1 << 0
    PITCH_RATE = 1 << 1
    YAW_RATE = 1 << 2
    THRUST = 1 << 6
    ATTITUDE = 1 << 7
    RATES = ROLL_RATE | PITCH_RATE | YAW_RATE


_POSITION_FIELDS = {
    'x': PositionMask.X,
    'y': PositionMask.Y,
    'z': PositionMask.Z,
    'alt': PositionMask.Z,
    'vx': PositionMask.VX,
    'vy': PositionMask.VY,
    'vz': PositionMask.VZ,
    'afx': PositionMask.AX,
    'afy': PositionMask.AY,
    'afz': PositionMask.AZ,
    'yaw': PositionMask.YAW,
    'yaw_rate': PositionMask.YAW_RATE,
}
_ATTITUDE_FIELDS = {
    'body_roll_rate': AttitudeMask.ROLL_RATE,
    'body_pitch_rate': AttitudeMask.PITCH_RATE,
    'body_yaw_rate': AttitudeMask.YAW_RATE,
    'thrust': AttitudeMask.THRUST,
    'q': AttitudeMask.ATTITUDE,
}


def _unset_fields(message: Any) -> frozenset[str]:
    """Return the fields of a message in which NaN means that nothing is said."""
    kind = message.get_type()
    if kind == 'SET_ATTITUDE_TARGET':
        return frozenset(n for n, bit in _ATTITUDE_FIELDS.items() if message.type_mask & bit)
    if kind.startswith('SET_POSITION_TARGET_'):
        return frozenset(n for n, bit in _POSITION_FIELDS.items() if message.type_mask & bit)
    return UNSET.get(kind, frozenset())


def number_error(message: Any) -> str:
    """Return the error of a number of a message, or an empty text."""
    unset = _unset_fields(message)
    for name in message.fieldnames:
        value = getattr(message, name)
        for number in value if isinstance(value, list | tuple) else (value,):
            if not isinstance(number, float):
                continue
            if math.isnan(number) and name in unset:
                continue
            if not abs(number) <= NUMBER_BOUND:  # true for NaN
                return f'{name} is {number:g}'
    return ''


def read_key(path: str) -> bytes:
    """Return the signing key (32 bytes) of a file: 64 hexadecimal digits, or a passphrase.

    A passphrase becomes a key as ground stations make it, by SHA-256.

    Raises:
        ParameterError: a file that cannot be read, is large, or is empty.
    """
    text = read_text_file(expand_home(path), ParameterError, LARGEST_KEY).strip()
    if not text:
        raise ParameterError(
            f'ground_station_key {path}: empty; expected a passphrase or 64 hexadecimal digits'
        )
    if re.fullmatch('[0-9a-fA-F]{64}', text):
        return bytes.fromhex(text)
    return hashlib.sha256(text.encode()).digest()


def udp_address(text: str, option: str = 'ground_station') -> tuple[str, int]:
    """Return host and port of ``host:port``; raise ParameterError about an option."""
    host, _, port = text.rpartition(':')
    if not host or not (port.isascii() and port.isdecimal() and 0 < int(port) < 65536):
        raise ParameterError(f'{option} is {text!r}; expected host:port, as in 127.0.0.1:14550')
    try:
        found = socket.getaddrinfo(host, int(port), socket.AF_INET, socket.SOCK_DGRAM)
        return found[0][4][0], int(port)  # type: ignore[return-value]
    except (OSError, UnicodeError) as error:
        raise ParameterError(f'{option} is {text!r}: {error}') from None


def parse_datagram(parser: Any, data: bytes | bytearray) -> list[Any]:
    """Return the messages of a datagram; nothing of it is left for the next one.

    Bytes that are no message become one of the type BAD_DATA or UNKNOWN_….

    Args:
        parser: object of the dialect's class MAVLink, the same for all datagrams.
        data: the datagram.
    """
    parser.robust_parsing = True
    found: list[Any] = []
    with suppress(Exception):  # bytes of others in a parser of others: a run does not end of it
        found = parser.parse_buffer(data) or []
    parser.buf, parser.buf_index = bytearray(), 0
    return found


def _local_address(ground_station: tuple[str, int]) -> str:
    """Return the address of this machine from which a ground station is reached."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(ground_station)
        return str(probe.getsockname()[0])


class MavlinkLink:
    """The vehicle's end of the connection."""

    def __init__(
        self, ground_station: str, system: int, warn: Callable[[str], Any], key: str = ''
    ) -> None:
        """Open the socket on the address that faces the ground station, and on no other.

        Args:
            ground_station: UDP address of the ground station, ``host:port``.
            system: number of the MAVLink system, from 1.
            warn: called with what is refused.
            key: file with the key that signs messages; empty: they are not signed.

        Raises:
            ParameterError: no address, or no key.
            MissingPackageError: pymavlink is not installed.
        """
        self._peer = udp_address(ground_station)
        secret = read_key(key) if key else None
        require('pymavlink', OPTION)
        self.dialect: Any = require('pymavlink.dialects.v20.ardupilotmega', OPTION)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        try:
            self._socket.bind((_local_address(self._peer), 0))
        except OSError as error:
            self._socket.close()
            raise ParameterError(f'ground_station is {ground_station!r}: {error}') from None
        self._warn, self.system = warn, system
        self.send: Any = self.dialect.MAVLink(self, srcSystem=system, srcComponent=1)
        if secret is not None:
            signing = self.send.signing
            signing.secret_key, signing.sign_outgoing = secret, True
            signing.timestamp = int((time.time() - SIGNING_EPOCH) * 1e5)
        self.components = {1}
        """Components for which messages are taken."""
        self._foreign: set[tuple[str, int]] = set()
        self.refused = {'foreign': 0, 'unreadable': 0, 'wrong': 0}
        """Number of datagrams of others, messages that cannot be read, and wrong messages."""

    @property
    def address(self) -> tuple[str, int]:
        """Address and port that the socket has."""
        host, port = self._socket.getsockname()
        return host, port

    def sender(self, component: int) -> Any:
        """Take messages for another component; return the function that sends its messages."""
        self.components.add(component)
        sender = self.dialect.MAVLink(self, srcSystem=self.system, srcComponent=component)
        sender.signing = self.send.signing
        return sender

    def write(self, data: bytes) -> None:
        """Send a message; a ground station that cannot be reached misses it."""
        with suppress(OSError):
            self._socket.sendto(data, self._peer)

    def messages(self, limit: int = 500) -> Iterator[Any]:
        """Yield the messages of the ground station, of at most so many datagrams."""
        for _ in range(limit):
            try:
                data, sender = self._socket.recvfrom(DATAGRAM)
            except OSError:
                return
            if sender != self._peer:
                self._refuse_foreign(sender)
                continue
            yield from filter(self._is_for_us, self._parse_datagram(data))

    def _refuse_foreign(self, sender: tuple[str, int]) -> None:
        self.refused['foreign'] += 1
        if sender in self._foreign or len(self._foreign) >= MAX_SENDERS:
            return
        self._foreign.add(sender)
        self._warn(
            f'mavlink: {sender[0]}:{sender[1]} is not the ground station '
            f'{self._peer[0]}:{self._peer[1]}; what it sends is ignored'
        )

    def _parse_datagram(self, data: bytes) -> list[Any]:
        """Return the messages of a datagram, whose signatures are checked."""
        signing = self.send.signing
        stamps, bad = dict(signing.stream_timestamps), signing.badsig_count
        found = parse_datagram(self.send, data)
        if signing.badsig_count > bad:  # pymavlink takes the time of a forged message
            signing.stream_timestamps.clear()
            signing.stream_timestamps.update(stamps)
        return found

    def _is_for_us(self, message: Any) -> bool:
        kind = message.get_type()
        if kind == 'BAD_DATA' or kind.startswith('UNKNOWN'):
            self._count_unreadable(message)
            return False
        target = getattr(message, 'target', self.system)  # of MANUAL_CONTROL
        if getattr(message, 'target_system', target) not in (0, self.system):
            return False
        return getattr(message, 'target_component', 1) in (0, *self.components)

    def _count_unreadable(self, message: Any) -> None:
        self.refused['unreadable'] += 1
        if 'signature' in str(getattr(message, 'reason', '')):
            self._warn(
                'mavlink: a message without the right signature is ignored; expected the key of '
                'ground_station_key in the ground station'
            )

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class MavlinkRelay:
    """Ground station of one vehicle, which also passes all datagrams to and from another one.

    Attributes:
        dialect: module of the messages.
        send: functions that send messages to the vehicle.
    """

    SYSTEM, COMPONENT = 255, 191
    """Sender of its messages: system of the pilot, and an onboard computer, as MAVROS is."""

    def __init__(
        self, port: int, ground_station: str, system: int, option: str, hint: str = ''
    ) -> None:
        """Open the ports, on 127.0.0.1.

        Args:
            port: UDP port to which the vehicle sends.
            ground_station: UDP address, ``host:port``; empty: there is no other one.
            system: number of the vehicle's MAVLink system.
            option: option that needs it, for messages.
            hint: end of the message about a port that is taken.

        Raises:
            ParameterError: no address, or the port is taken.
            MissingPackageError: pymavlink is not installed.
        """
        self._ground = udp_address(ground_station) if ground_station else None
        self.dialect: Any = require('pymavlink.dialects.v20.ardupilotmega', option)
        self.send: Any = self.dialect.MAVLink(self, self.SYSTEM, self.COMPONENT)
        self._source = system, 1
        self._vehicle: tuple[str, int] | None = None
        listener = open_port(option, '127.0.0.1', port, hint=hint)
        self._sockets = [listener, socket.socket(socket.AF_INET, socket.SOCK_DGRAM)]
        self._sockets[1].setblocking(False)
        self._buffer = memoryview(bytearray(DATAGRAM))  # one for each datagram would cost more

    def write(self, data: bytes) -> None:
        """Send a message to the vehicle, if it has sent anything yet."""
        if self._vehicle is not None:
            with suppress(OSError):
                self._sockets[0].sendto(data, self._vehicle)

    def wait(self, seconds: float) -> None:
        """Wait until something has come, at most for a time (s)."""
        select.select(self._sockets, [], [], seconds)

    def messages(
        self, is_read: Callable[[int], bool] = lambda number: True, limit: int = 500
    ) -> list[Any]:
        """Return what the vehicle's autopilot has sent.

        Args:
            is_read: whether messages of a number (msgid) are read. Others are passed on, and not
                parsed where they come one by one: that would cost more than all the rest.
            limit: datagrams each way, at most.
        """
        found: list[Any] = []
        ready, _, _ = select.select(self._sockets, [], [], 0)
        for data, vehicle in self._datagrams(0, limit) if self._sockets[0] in ready else ():
            self._vehicle = vehicle
            if self._ground is not None:
                with suppress(OSError):
                    self._sockets[1].sendto(data, self._ground)
            found += self._parse(data, is_read)
        for data, sender in self._datagrams(1, limit) if self._sockets[1] in ready else ():
            if sender == self._ground:
                self.write(data)
        return [m for m in found if (m.get_srcSystem(), m.get_srcComponent()) == self._source]

    def _parse(self, data: bytes, is_read: Callable[[int], bool]) -> list[Any]:
        """Return the messages of a datagram, where it may have some that are read."""
        is_frame = (
            len(data) >= FRAME
            and data[0] == MAVLINK_2
            and data[2] in (0, SIGNED)
            and len(data) == FRAME + data[1] + SIGNATURE * data[2]
        )
        if not is_frame:
            return parse_datagram(self.send, data)
        if (data[5], data[6]) == self._source and is_read(int.from_bytes(data[7:10], 'little')):
            with suppress(Exception):  # bytes of others in a parser of others
                return [self.send.decode(bytearray(data))]
        return []

    def _datagrams(self, side: int, limit: int) -> Iterator[tuple[bytes, tuple[str, int]]]:
        for _ in range(limit):
            try:
                size, sender = self._sockets[side].recvfrom_into(self._buffer)
            except OSError:
                return
            yield bytes(self._buffer[:size]), sender

    def close(self) -> None:
        """Close the ports."""
        for one in self._sockets:
            one.close()
