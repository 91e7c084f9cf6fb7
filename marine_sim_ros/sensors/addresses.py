# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Addresses at which sensors offer video and wire protocols; drivers whose topics they have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from marine_sim_ros.core.errors import ParameterError, expected_one_of
from marine_sim_ros.core.registry import PROTOCOLS
from marine_sim_ros.model.vehicle import Sensor

__all__ = [
    'DRIVERS',
    'ProtocolAddress',
    'driven_sensors',
    'next_address',
    'read_protocol',
    'read_protocols',
    'shift_ports',
    'video_address',
]


DRIVERS: Mapping[str, tuple[str, ...]] = {'waterlinked': ('dvl',)}
"""Kinds of sensors by ROS driver, whose topics the option ``topics`` publishes."""


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
_EXPECTED = 'expected SENSOR=PROTOCOL or SENSOR=PROTOCOL@HOST:PORT, as in dvl=water_linked'


class ProtocolAddress(NamedTuple):
    """A sensor, a protocol, and where an instrument listens.

    Attributes:
        protocol: name in ``PROTOCOLS``.
        host: address of this machine, IPv4.
        port: TCP or UDP port.
    """

    sensor: str
    protocol: str
    host: str
    port: int

    def __str__(self) -> str:
        """Return the text that :func:`read_protocol` reads."""
        return f'{self.sensor}={self.protocol}@{self.host}:{self.port}'


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
    host, _, port = where.rpartition(':')
    if not host or not (port.isascii() and port.isdecimal() and 0 < int(port) < 65536):
        raise ParameterError(f'protocol is {text!r}; {_EXPECTED}, with a port from 1 to 65535')
    return ProtocolAddress(sensor, name, host, int(port))


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
    by_address: dict[tuple[str, str, int], ProtocolAddress] = {}
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
        endpoint = protocol.transport, address.host, address.port
        if endpoint in by_address:
            raise ParameterError(
                f'protocol is {text!r}: {by_address[endpoint].sensor} listens at {address.host}:'
                f'{address.port}; expected a port of its own, as in {address.sensor}='
                f'{address.protocol}@{address.host}:{address.port + 1}'
            )
        by_address[endpoint] = address
    return list(by_address.values())


def shift_ports(texts: Iterable[str], offset: int) -> tuple[str, ...]:
    """Return texts with ports that are higher, for a further vehicle; raises as they are read."""
    shifted = []
    for address in map(read_protocol, filter(None, texts)):
        if address.port + offset > 65535:
            raise ParameterError(f'protocol is {str(address)!r}; expected ports up to 65535')
        shifted.append(str(address._replace(port=address.port + offset)))
    return tuple(shifted)


PORT = 5600
"""Port that QGroundControl listens to."""


def video_address(text: str) -> tuple[str, int]:
    """Return host and port of ``udp://HOST[:PORT]``; without a port 5600.

    Raises:
        ParameterError: it is no such address.
    """
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port or PORT
    except ValueError:
        host, port = None, PORT
    if not host or parts.scheme != 'udp' or parts.path or parts.query or parts.username:
        raise ParameterError(
            f'video is {text!r}; expected udp://HOST:PORT, as in udp://127.0.0.1:{PORT}'
        )
    return host, port


def next_address(text: str, offset: int) -> str:
    """Return the address of a port that is higher, of an address; raises as it does."""
    host, port = video_address(text)
    if port + offset > 65535:
        raise ParameterError(f'video is {text!r}; expected ports up to 65535')
    host_text = f'[{host}]' if ':' in host else host
    return f'udp://{host_text}:{port + offset}'
