# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Server of an instrument: its socket, its clients, and the bounds of both.

One thread per instrument does all input and output. The sensor's node only appends a reading to a
queue of bounded length, so it never waits for a client.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.registry import PROTOCOLS
from marine_sim_ros.instruments.instrument import Instrument, InstrumentReading, ProtocolError
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.addresses import ProtocolAddress

__all__ = ['InstrumentServer']

MAX_CLIENTS = 8
"""Further TCP clients are refused; of UDP clients the one that was silent longest is forgotten."""
CHUNK = 4096
"""Bytes read at a time, and bound of a datagram."""
MAX_INPUT = 8192
"""Bytes of a client that do not make a message: more are no message."""
MAX_OUTPUT = 65536
"""Bytes that wait for a slow reader, here and in the kernel each; it misses further messages until
it has read some."""
MAX_READINGS = 64
"""Readings that wait for the thread; the oldest is lost."""
WINDOW = 0.1
"""Period over which messages are counted, s."""
MAX_MESSAGES = 100
"""Messages of a window, on average: in a flood the rest waits, or is lost, in the kernel's
buffers. So a flood takes a bounded part of a processor."""


class _Peer:
    """A client: a connection, or a UDP address on the socket of the server."""

    def __init__(self, server: InstrumentServer, name: str) -> None:
        self.received = bytearray()
        self.name, self._server = name, server


class _TcpClient(_Peer):
    def __init__(self, server: InstrumentServer, name: str, connection: socket.socket) -> None:
        super().__init__(server, name)
        self.socket, self.waiting = connection, bytearray()

    def send(self, data: bytes) -> None:
        """Send a message, whole or not at all."""
        if len(self.waiting) + len(data) > MAX_OUTPUT:
            self._server.warn(f'{self.name} reads too slowly; it misses messages')
            return
        self.waiting += data
        self.flush()

    def flush(self) -> None:
        """Send what waits, as far as the connection takes it."""
        try:
            while self.waiting:
                del self.waiting[: self.socket.send(self.waiting)]
        except BlockingIOError:
            return
        except OSError:
            self.waiting.clear()  # it has gone; its next read tells


class _UdpClient(_Peer):
    def __init__(self, server: InstrumentServer, name: str, address: tuple[str, int]) -> None:
        super().__init__(server, name)
        self.address = address

    def send(self, data: bytes) -> None:
        """Send a datagram; one that the kernel does not take is lost, as on a network."""
        with suppress(OSError):
            self._server.socket.sendto(data, self.address)


class InstrumentServer:
    """Serves an instrument at an address.

    Attributes:
        instrument: the instrument.
        address: where it listens; the port is the actual one.
        socket: of UDP, or that listens for connections.
        has_receiver: whether readings are needed: a client may connect at any time.
    """

    has_receiver = True

    def __init__(
        self, sensor: Sensor, address: ProtocolAddress, warn: Callable[[str], object]
    ) -> None:
        """Listen, and start the thread.

        Args:
            sensor: the simulated sensor.
            address: where to listen.
            warn: told, in that thread, in one line what is refused.

        Raises:
            ParameterError: the address is not this machine's, or is taken.
        """
        protocol = PROTOCOLS[address.protocol]
        self.instrument: Instrument = protocol.instrument(sensor)
        self._warn = warn
        self._stream = protocol.transport == 'tcp'
        self.socket = socket.socket(
            socket.AF_INET, socket.SOCK_STREAM if self._stream else socket.SOCK_DGRAM
        )
        try:
            if self._stream:  # a run that follows another one at once finds the port free
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.socket.bind((address.host, address.port))
            if self._stream:
                self.socket.listen(MAX_CLIENTS)
        except (OSError, OverflowError, UnicodeError) as error:
            self.socket.close()
            raise ParameterError(
                f'protocol {address}: cannot listen: {error}; expected a free '
                f'{protocol.transport.upper()} port of this machine'
            ) from None
        self.socket.setblocking(False)
        self.address = address._replace(port=self.socket.getsockname()[1])
        self._peers: dict[int | tuple[str, int], _TcpClient | _UdpClient] = {}
        self._readings: deque[InstrumentReading] = deque(maxlen=MAX_READINGS)
        self._wake_sender, self._wake_receiver = socket.socketpair()
        self._wake_sender.setblocking(False)
        self._wake_receiver.setblocking(False)
        self._closing, self._window, self._messages = False, 0.0, 0
        self._thread = threading.Thread(target=self._run, name=address.sensor, daemon=True)
        self._thread.start()

    def report(self, reading: InstrumentReading) -> None:
        """Hand a reading to the clients; returns at once."""
        self._readings.append(reading)
        self._notify()

    def close(self) -> None:
        """End all connections."""
        self._closing = True
        self._notify()
        self._thread.join(2.0)

    def warn(self, text: str) -> None:
        """Report what was refused, in one line."""
        self._warn(f'{self.address.sensor}: {self.address.protocol}: {text}')

    def _notify(self) -> None:
        with suppress(OSError):  # full: it is awake
            self._wake_sender.send(b'.')

    def _run(self) -> None:
        while not self._closing:
            try:
                self._serve()
            except Exception as error:  # of one message: the instrument goes on
                self.warn(f'{type(error).__name__}: {error}')
        for peer in list(self._peers.values()):
            self._drop_client(peer)
        for channel in (self.socket, self._wake_sender, self._wake_receiver):
            channel.close()

    def _serve(self) -> None:
        """Wait for something to do, and do it."""
        now = time.monotonic()
        # More messages than those of a window, as one read may bring, take more than one window.
        end = self._window + WINDOW * max(1.0, self._messages / MAX_MESSAGES)
        if now >= end:
            self._window, self._messages = now, 0
        flooded = self._messages >= MAX_MESSAGES
        poll = select.poll()
        poll.register(self._wake_receiver, select.POLLIN)
        if not flooded:
            poll.register(self.socket, select.POLLIN)
        for peer in self._peers.values():
            if isinstance(peer, _TcpClient):
                events = 0 if flooded else select.POLLIN
                poll.register(peer.socket, events | (select.POLLOUT if peer.waiting else 0))
        wait = 1000 * (end - now) if flooded else None
        if flooded:
            self.warn(f'more than {MAX_MESSAGES / WINDOW:.0f} messages a second; the rest waits')
        ready = poll.poll(wait)
        self._report_readings()
        for number, event in ready:
            self._handle(number, event)

    def _report_readings(self) -> None:
        while self._readings:
            self.instrument.report(self._readings.popleft())

    def _handle(self, number: int, event: int) -> None:
        if number == self._wake_receiver.fileno():
            with suppress(OSError):
                self._wake_receiver.recv(CHUNK)
        elif number == self.socket.fileno():
            self._accept() if self._stream else self._read_datagrams()
        elif isinstance(peer := self._peers.get(number), _TcpClient):
            if event & select.POLLOUT:
                peer.flush()
            if event & ~select.POLLOUT:
                self._read_connection(peer)

    def _accept(self) -> None:
        self._messages += 1
        try:
            connection, (host, port) = self.socket.accept()
        except OSError:
            return  # it has gone
        if len(self._peers) >= MAX_CLIENTS:
            connection.close()
            self.warn(f'{host} is refused; expected at most {MAX_CLIENTS} clients')
            return
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MAX_OUTPUT)
        peer = _TcpClient(self, f'{host}:{port}', connection)
        self._peers[connection.fileno()] = peer
        self.instrument.clients.append(peer)

    def _read_connection(self, peer: _TcpClient) -> None:
        try:
            data = peer.socket.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b''
        if data:
            self._process_input(peer, data)
        else:
            self._drop_client(peer)

    def _read_datagrams(self) -> None:
        while self._messages < MAX_MESSAGES:
            self._messages += 1
            try:
                data, sender = self.socket.recvfrom(CHUNK + 1)
            except OSError:
                return
            peer = self._peers.pop(sender, None)
            if peer is None:
                if len(self._peers) >= MAX_CLIENTS:
                    self._drop_client(next(iter(self._peers.values())))
                peer = _UdpClient(self, f'{sender[0]}:{sender[1]}', sender)
                self.instrument.clients.append(peer)
            self._peers[sender] = peer  # most recently heard clients are last
            if len(data) > CHUNK:
                self.warn(f'{peer.name} sent more than {CHUNK} bytes; expected less')
                continue
            self._process_input(peer, data)

    def _process_input(self, peer: _TcpClient | _UdpClient, data: bytes) -> None:
        self._report_readings()  # they came before what this message asks
        peer.received += data
        has_message = True
        while has_message:
            try:
                has_message = self.instrument.receive(peer)
            except ProtocolError as error:  # messages may follow what was none
                self.warn(f'{peer.name}: {error}')
            self._messages += bool(has_message)
        if len(peer.received) > MAX_INPUT:
            peer.received.clear()
            self.warn(f'{peer.name} sent {MAX_INPUT} bytes that are no message; they are ignored')

    def _drop_client(self, peer: _TcpClient | _UdpClient) -> None:
        key = peer.socket.fileno() if isinstance(peer, _TcpClient) else peer.address
        self._peers.pop(key, None)
        self.instrument.clients.remove(peer)
        if isinstance(peer, _TcpClient):
            peer.socket.close()
