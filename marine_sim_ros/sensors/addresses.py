# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Addresses at which sensors offer video and wire protocols; drivers whose topics they have."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from marine_sim_ros.core.errors import ParameterError, expected_one_of
from marine_sim_ros.core.registry import PROTOCOLS
from marine_sim_ros.model.vehicle import Sensor

__all__ = [
    'DRIVERS',
    'MAVROS',
    'MAVROS_PORT',
    'ProtocolAddress',
    'driven_sensors',
    'next_address',
    'open_port',
    'read_protocol',
    'read_protocols',
    'shift_addresses',
    'video_address',
]


MAVROS = 'mavros'
"""Driver of the autopilot, not of a sensor."""
MAVROS_PORT = 14540
"""UDP port at which it listens to the first autopilot; PX4 sends there by itself."""
DRIVERS: Mapping[str, tuple[str, ...]] = {
    'waterlinked': ('dvl',),
    'ping360': ('scanning_sonar',),
    'seatrac': ('usbl',),
    'nmea': ('gps',),
    MAVROS: (),
}
"""Kinds of sensors by ROS driver, whose topics the option ``topics`` publishes."""


def open_port(
    option: str, host: str, port: int, *, backlog: int = 0, hint: str = ''
) -> socket.socket:
    """Return a socket that listens, and never blocks.

    Args:
        option: what asks for the port, for messages.
        host: address of this machine; 127.0.0.1: no other machine reaches it.
        port: its number; 0: any free one.
        backlog: connections of TCP that may wait; 0: UDP.
        hint: end of the message about a port that is taken.

    Raises:
        ParameterError: the port is taken, or the address is not this machine's.
    """
    kind, label = (socket.SOCK_STREAM, 'TCP') if backlog else (socket.SOCK_DGRAM, 'UDP')
    result = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET, kind)
    result.setblocking(False)
    try:
        if backlog:  # a run that follows another one at once finds the port free
            result.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        result.bind((host, port))
        if backlog:
            result.listen(backlog)
    except (OSError, OverflowError, UnicodeError) as error:
        result.close()
        reason = getattr(error, 'strerror', None) or error
        raise ParameterError(
            f'{option}: cannot listen on {label} {host}:{port}: {reason}; expected a free port of '
            f'this machine{hint}'
        ) from None
    return result


def driven_sensors(
    names: Iterable[str], sensors: Sequence[Sensor], vehicle: str
) -> list[tuple[str, str]]:
    """Return the sensors that have the topics of a driver, each with the driver.

    Args:
        names: values of the option ``topics``.
        sensors: of the vehicle.
        vehicle: its name, for messages.

    Raises:
        ParameterError: the vehicle lacks a sensor of the driver's kind.
    """
    result = []
    for name in dict.fromkeys(filter(None, names)):
        if name == MAVROS:
            continue
        chosen = [(sensor.name, name) for sensor in sensors if sensor.kind in DRIVERS[name]]
        if not chosen:
            raise ParameterError(
                f'topics is {name!r}: {vehicle} has no sensor of that driver; expected one of '
                f'type {" or ".join(DRIVERS[name])}, as of --set {DRIVERS[name][0]}:=true'
            )
        result += chosen
    return result


HOST = '127.0.0.1'
"""Only programs of this machine connect, unless told otherwise."""
_EXPECTED = (
    'expected SENSOR=PROTOCOL, SENSOR=PROTOCOL@HOST:PORT or SENSOR=PROTOCOL@pty:PATH, as in '
    'dvl=water_linked'
)
_TERMINAL = 'pty:'


class ProtocolAddress(NamedTuple):
    """A sensor, a protocol, and where an instrument listens.

    Attributes:
        protocol: name in ``PROTOCOLS``.
        host: address of this machine, IPv4; empty: a serial port.
        port: TCP or UDP port; 0: a serial port.
        path: link to the pseudo-terminal that is the serial port; empty: a socket.
    """

    sensor: str
    protocol: str
    host: str
    port: int
    path: str = ''

    @property
    def endpoint(self) -> str:
        """Where the instrument listens."""
        return f'{_TERMINAL}{self.path}' if self.path else f'{self.host}:{self.port}'

    def __str__(self) -> str:
        """Return the text that :func:`read_protocol` reads."""
        return f'{self.sensor}={self.protocol}@{self.endpoint}'


def read_protocol(text: str) -> ProtocolAddress:
    """Return the address of a text; without one 127.0.0.1 and the port of the real instrument.

    Raises:
        ParameterError: no such text, or an unknown protocol.
    """
    sensor, _, address_text = text.partition('=')
    name, at, where = address_text.partition('@')
    if not sensor or not name:
        raise ParameterError(f'protocol is {text!r}; {_EXPECTED}')
    if name not in PROTOCOLS:
        raise ParameterError(
            f'protocol is {text!r}: {name!r} is unknown; {expected_one_of(name, list(PROTOCOLS))}'
        )
    if not at:
        return ProtocolAddress(sensor, name, HOST, PROTOCOLS[name].port)
    if where.startswith(_TERMINAL):
        return _read_terminal(text, sensor, name, where[len(_TERMINAL) :])
    host, _, port = where.rpartition(':')
    if not host or not (port.isascii() and port.isdecimal() and 0 < int(port) < 65536):
        raise ParameterError(f'protocol is {text!r}; {_EXPECTED}, with a port from 1 to 65535')
    return ProtocolAddress(sensor, name, host, int(port))


def _read_terminal(text: str, sensor: str, name: str, path: str) -> ProtocolAddress:
    """Return the address of a serial port; a relative path is below the working folder."""
    if not path:
        raise ParameterError(f'protocol is {text!r}; {_EXPECTED}, as in gps=nmea@pty:/tmp/gps')
    if not PROTOCOLS[name].serial:
        serial = ', '.join(key for key, protocol in PROTOCOLS.items() if protocol.serial)
        raise ParameterError(
            f'protocol is {text!r}: {name} has no serial port here; expected HOST:PORT, or one of '
            f'{serial}'
        )
    return ProtocolAddress(sensor, name, '', 0, str(Path(path).absolute()))


def read_protocols(
    texts: Iterable[str], sensors: Sequence[Sensor], vehicle: str
) -> list[ProtocolAddress]:
    """Return the addresses of the sensors of a vehicle.

    Args:
        texts: values of the option ``protocol``.
        sensors: of the vehicle.
        vehicle: its name, for messages.

    Raises:
        ParameterError: a sensor that the vehicle lacks, a protocol that does not suit it, or two
            instruments at one address.
    """
    by_name = {sensor.name: sensor for sensor in sensors}
    by_address: dict[tuple[str, str], ProtocolAddress] = {}
    for text in filter(None, texts):
        address = read_protocol(text)
        if address.sensor not in by_name:
            expected = expected_one_of(address.sensor, list(by_name)) if by_name else 'it has none'
            raise ParameterError(
                f'protocol is {text!r}: {vehicle} has no sensor {address.sensor!r}; {expected}'
            )
        protocol, kind = PROTOCOLS[address.protocol], by_name[address.sensor].kind
        if kind not in protocol.kinds:
            raise ParameterError(
                f'protocol is {text!r}: {address.sensor} is of type {kind}; expected a sensor of '
                f'type {" or ".join(protocol.kinds)}'
            )
        key = '' if address.path else protocol.transport, address.endpoint
        if key in by_address:
            raise ParameterError(
                f'protocol is {text!r}: {by_address[key].sensor} listens at {address.endpoint}; '
                f'expected a port of its own, as in {_next(address, 1, 1)}'
            )
        by_address[key] = address
    return list(by_address.values())


def shift_addresses(texts: Iterable[str], index: int) -> tuple[str, ...]:
    """Return the texts of a further vehicle: ports ten higher each, serial ports numbered from 2.

    Args:
        texts: values of the option ``protocol``.
        index: number of the vehicle; 0 is the first one.

    Raises:
        ParameterError: as the texts are read, or a port above 65535.
    """
    return tuple(str(_next(read_protocol(text), index, 10)) for text in texts if text)


def _next(address: ProtocolAddress, index: int, step: int) -> ProtocolAddress:
    if address.path:
        return address._replace(path=f'{address.path}_{index + 1}')
    port = address.port + index * step
    if port > 65535:
        raise ParameterError(f'protocol is {str(address)!r}; expected ports up to 65535')
    return address._replace(port=port)


VIDEO_PORTS = {'udp': 5600, 'rtsp': 8554}
"""Ports of video: the one that QGroundControl listens to, and the usual one of a user's server."""


def video_address(text: str) -> tuple[str, str, int]:
    """Return scheme, host and port of ``udp://HOST[:PORT]`` or ``rtsp://HOST[:PORT]``.

    Raises:
        ParameterError: it is no such address.
    """
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port or VIDEO_PORTS[parts.scheme]
    except (ValueError, KeyError):
        host, port = None, 0
    if not host or parts.scheme not in VIDEO_PORTS or parts.path or parts.query or parts.username:
        raise ParameterError(
            f'video is {text!r}; expected udp://HOST:PORT or rtsp://HOST:PORT, as in '
            'udp://127.0.0.1:5600'
        )
    return parts.scheme, host, port


def next_address(text: str, offset: int) -> str:
    """Return the address of a port that is higher, of an address; raises as it does."""
    scheme, host, port = video_address(text)
    if port + offset > 65535:
        raise ParameterError(f'video is {text!r}; expected ports up to 65535')
    host_text = f'[{host}]' if ':' in host else host
    return f'{scheme}://{host_text}:{port + offset}'
