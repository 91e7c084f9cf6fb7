# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One interface of all wire protocols: what an instrument is told, and what its clients are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.sensor_model import Readings
from marine_sim_ros.sensors.series import SensorReader

__all__ = ['Client', 'Instrument', 'InstrumentReading', 'ProtocolError', 'WireProtocol']


class ProtocolError(MarineSimError):
    """Bytes of a client that the protocol does not know; what was expected."""


class InstrumentReading(NamedTuple):
    """A reading that a sensor sends.

    Attributes:
        stamp: time of the measurement, simulated ns.
        arrival: time at which it is sent, simulated ns.
        readings: as on the sensor's topics.
        sensor: the sensor that measured, as commands had changed it.
        heading: compass bearing of the y axis of ``map``, °.
    """

    stamp: int
    arrival: int
    readings: Readings
    sensor: Sensor
    heading: float = 0.0


class Client(Protocol):
    """A peer: a TCP connection, a program at a serial port, or the address of a UDP socket.

    Attributes:
        received: bytes that do not make a message yet.
    """

    received: bytearray

    def send(self, data: bytes) -> None:
        """Send a message; a client that does not read its messages misses this one."""


class Instrument(ABC):
    """An instrument as its clients see it; a thread of its own calls its methods.

    Attributes:
        sensor: the simulated sensor.
        clients: who is connected, in the order of connection.
        changes: what commands change of the sensor's reader; the sensor's node applies them before
            the next reading.
    """

    def __init__(self, sensor: Sensor) -> None:
        """Begin as the instrument does after it was switched on."""
        self.sensor = sensor
        self.clients: list[Client] = []
        self.changes: deque[Callable[[SensorReader], None]] = deque(maxlen=64)

    @abstractmethod
    def receive(self, client: Client) -> bool:
        """Take a message from ``client.received`` and answer it; return whether there was one.

        Raises:
            ProtocolError: bytes that are no message; they are taken from ``client.received``.
        """

    @abstractmethod
    def report(self, reading: InstrumentReading) -> None:
        """Send a reading to the clients that get it."""

    def take_outgoing(self, stamp: int) -> bytes | None:
        """Return a packet that the instrument, a modem, is to send at a stamp (ns), or None."""
        del stamp
        return None

    def is_overdue(self, stamp: int) -> bool:
        """Return whether a client waits for a reading that does not come; called at each tick.

        It is called in the node's thread, with the stamp in ns.
        """
        del stamp
        return False

    def expire(self) -> None:
        """Answer the clients that wait for a reading; called where :meth:`is_overdue`."""
        return None

    def broadcast(self, data: bytes) -> None:
        """Send a message to all clients."""
        for client in tuple(self.clients):
            client.send(data)

    def change_parameters(self, **changes: Any) -> None:
        """Replace parameters of the sensor from its next reading on."""

        def change(reader: SensorReader) -> None:
            reader.sensor = replace(reader.sensor, spec=replace(reader.sensor.spec, **changes))

        self.changes.append(change)


@dataclass(frozen=True)
class WireProtocol:
    """A wire protocol.

    Attributes:
        name: name of the protocol, in the option ``protocol``.
        kinds: kinds of sensors that speak it.
        transport: ``tcp`` or ``udp``; the instrument is the server.
        port: port of the real instrument, or of the program through which it is usually reached.
        instrument: makes the instrument of a sensor.
        label: display label.
        serial: whether the real instrument speaks it over a serial port too.
        sends_to: whether the instrument sends to the address unasked, by UDP, and does not listen.
    """

    name: str
    kinds: tuple[str, ...]
    transport: str
    port: int
    instrument: Callable[[Sensor], Instrument]
    label: str
    serial: bool = False
    sends_to: bool = False
