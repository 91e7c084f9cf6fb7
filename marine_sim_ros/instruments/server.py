# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Server of an instrument: its socket or serial port, its clients, and the bounds of both.

One thread per instrument does all input and output. The sensor's node only appends a reading to a
queue of bounded length, so it never waits for a client.
"""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.registry import PROTOCOLS
from marine_sim_ros.instruments.instrument import Instrument, InstrumentReading, ProtocolError
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.addresses import ProtocolAddress, open_port

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


UNPLUGGED = 0.05
"""s between looks whether a program has opened a serial port: nothing wakes the thread."""


class _Peer:
    """A client: a connection, a serial port, or a UDP address on the socket of the server."""

    def __init__(self, server: InstrumentServer, name: str) -> None:
        self.received = bytearray()
        self.name, self._server = name, server


class _StreamClient(_Peer):
    """A client whose bytes come and go by a file descriptor, which does not block."""

    def __init__(
        self, server: InstrumentServer, name: str, channel: socket.socket | Terminal
    ) -> None:
        super().__init__(server, name)
        self.channel, self.waiting = channel, bytearray()

    def send(self, data: bytes) -> None:
        """Send a message, whole or not at all."""
        if len(self.waiting) + len(data) > MAX_OUTPUT:
            self._server.warn(f'{self.name} reads too slowly; it misses messages')
            return
        self.waiting += data
        self.flush()

    def flush(self) -> None:
        """Send what waits, as far as the channel takes it."""
        try:
            while self.waiting:
                del self.waiting[: os.write(self.channel.fileno(), self.waiting)]
        except BlockingIOError:
            return
        except OSError:
            self.waiting.clear()  # it has gone; its next read tells


class _UdpClient(_Peer):
    def __init__(
        self,
        server: InstrumentServer,
        name: str,
        listener: socket.socket,
        address: tuple[str, int],
    ) -> None:
        super().__init__(server, name)
        self.listener, self.address = listener, address

    def send(self, data: bytes) -> None:
        """Send a datagram; one that the kernel does not take is lost, as on a network."""
        with suppress(OSError):
            self.listener.sendto(data, self.address)


class Terminal:
    """Serial port of an instrument: a pseudo-terminal, which a symbolic link names.

    The terminal is raw, and takes every baud rate. One program at a time is its client.
    """

    def __init__(self, path: str) -> None:
        """Make the terminal and the link; a link to the terminal of an earlier run is replaced.

        Raises:
            OSError: the link cannot be made, or there is something else in its place.
        """
        if not hasattr(os, 'openpty'):
            raise OSError('this system has no pseudo-terminals')
        import tty  # of POSIX

        self.path = Path(path)
        if self.path.is_symlink() and str(self.path.readlink()).startswith('/dev/pts/'):
            self.path.unlink()
        self._master, slave = os.openpty()
        tty.setraw(slave)
        self.device = os.ttyname(slave)
        os.close(slave)  # without a program that has it open, the master reports a hang-up
        os.set_blocking(self._master, False)
        try:
            self.path.symlink_to(self.device)
        except OSError:
            os.close(self._master)
            raise

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._master

    @property
    def is_open(self) -> bool:
        """Whether a program has opened the port."""
        poll = select.poll()
        poll.register(self._master, 0)
        return not poll.poll(0)

    def discard(self) -> None:
        """Discard what a program that has gone has not read."""
        import termios
        import tty

        with suppress(OSError):
            slave = os.open(self.device, os.O_RDWR | os.O_NOCTTY)
            termios.tcflush(slave, termios.TCIFLUSH)
            tty.setraw(slave)
            os.close(slave)

    def close(self) -> None:
        """Close the terminal, and remove the link unless another run has replaced it."""
        os.close(self._master)
        with suppress(OSError):
            if str(self.path.readlink()) == self.device:
                self.path.unlink()


class InstrumentServer:
    """Serves an instrument at an address.

    Attributes:
        address: where it listens; the port is the actual one.
        channel: socket of UDP, one that listens for connections, or a serial port.
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
        self._stream, self._listens = protocol.transport == 'tcp', not protocol.sends_to
        self.channel: socket.socket | Terminal
        if address.path:
            self.channel, self.address = _open_terminal(address), address
        elif protocol.sends_to:
            self.channel, self.address = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), address
            destination = address.host, address.port
            self.instrument.clients.append(
                _UdpClient(self, address.endpoint, self.channel, destination)
            )
        else:
            backlog = MAX_CLIENTS if self._stream else 0
            label = f'protocol {address}'
            self.channel = open_port(label, address.host, address.port, backlog=backlog)
            self.address = address._replace(port=self.channel.getsockname()[1])
        self._peers: dict[int | tuple[str, int], _StreamClient | _UdpClient] = {}
        self._readings: deque[InstrumentReading] = deque(maxlen=MAX_READINGS)
        self._wake_sender, self._wake_receiver = socket.socketpair()
        self._wake_sender.setblocking(False)
        self._wake_receiver.setblocking(False)
        self._is_overdue = False
        self._closing, self._window, self._messages = False, 0.0, 0
        self._thread = threading.Thread(target=self._run, name=address.sensor, daemon=True)
        self._thread.start()

    def report(self, reading: InstrumentReading) -> None:
        """Hand a reading to the clients; returns at once."""
        self._readings.append(reading)
        self._notify()

    def watch(self, stamp: int) -> None:
        """Answer clients that wait for a reading that does not come, at a tick (ns)."""
        if self.instrument.is_overdue(stamp):
            self._is_overdue = True
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
        for channel in (self.channel, self._wake_sender, self._wake_receiver):
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
        wait = 1000 * (end - now) if flooded else None
        if isinstance(self.channel, Terminal):
            self._look_for_program(self.channel)
            if not self._peers and not flooded:
                wait = 1000 * UNPLUGGED
        elif not flooded and self._listens:
            poll.register(self.channel, select.POLLIN)
        for peer in self._peers.values():
            if isinstance(peer, _StreamClient):
                events = 0 if flooded else select.POLLIN
                poll.register(peer.channel, events | (select.POLLOUT if peer.waiting else 0))
        if flooded:
            self.warn(f'more than {MAX_MESSAGES / WINDOW:.0f} messages a second; the rest waits')
        ready = poll.poll(wait)
        self._report_readings()
        for number, event in ready:
            self._handle(number, event)

    def _report_readings(self) -> None:
        while self._readings:
            self.instrument.report(self._readings.popleft())
        if self._is_overdue:
            self._is_overdue = False
            self.instrument.expire()

    def _handle(self, number: int, event: int) -> None:
        if number == self._wake_receiver.fileno():
            with suppress(OSError):
                self._wake_receiver.recv(CHUNK)
        elif isinstance(peer := self._peers.get(number), _StreamClient):
            if event & select.POLLOUT:
                peer.flush()
            if event & ~select.POLLOUT:
                self._read_stream(peer)
        elif isinstance(self.channel, socket.socket) and number == self.channel.fileno():
            self._accept(self.channel) if self._stream else self._read_datagrams(self.channel)

    def _look_for_program(self, terminal: Terminal) -> None:
        """Make the program that has opened the serial port a client, or forget it."""
        number, is_open = terminal.fileno(), terminal.is_open
        if is_open and number not in self._peers:
            peer = _StreamClient(self, str(terminal.path), terminal)
            self._peers[number] = peer
            self.instrument.clients.append(peer)
        elif not is_open and number in self._peers:
            self._drop_client(self._peers[number])

    def _accept(self, listener: socket.socket) -> None:
        self._messages += 1
        try:
            connection, (host, port) = listener.accept()
        except OSError:
            return  # it has gone
        if len(self._peers) >= MAX_CLIENTS:
            connection.close()
            self.warn(f'{host} is refused; expected at most {MAX_CLIENTS} clients')
            return
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MAX_OUTPUT)
        peer = _StreamClient(self, f'{host}:{port}', connection)
        self._peers[connection.fileno()] = peer
        self.instrument.clients.append(peer)

    def _read_stream(self, peer: _StreamClient) -> None:
        try:
            data = os.read(peer.channel.fileno(), CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b''
        if data:
            self._process_input(peer, data)
        else:
            self._drop_client(peer)

    def _read_datagrams(self, listener: socket.socket) -> None:
        while self._messages < MAX_MESSAGES:
            self._messages += 1
            try:
                data, sender = listener.recvfrom(CHUNK + 1)
            except OSError:
                return
            peer = self._peers.pop(sender, None)
            if peer is None:
                if len(self._peers) >= MAX_CLIENTS:
                    self._drop_client(next(iter(self._peers.values())))
                peer = _UdpClient(self, f'{sender[0]}:{sender[1]}', listener, sender)
                self.instrument.clients.append(peer)
            self._peers[sender] = peer  # most recently heard clients are last
            if len(data) > CHUNK:
                self.warn(f'{peer.name} sent more than {CHUNK} bytes; expected less')
                continue
            self._process_input(peer, data)

    def _process_input(self, peer: _StreamClient | _UdpClient, data: bytes) -> None:
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

    def _drop_client(self, peer: _StreamClient | _UdpClient) -> None:
        self.instrument.clients.remove(peer)
        if isinstance(peer, _UdpClient):
            self._peers.pop(peer.address, None)
            return
        self._peers.pop(peer.channel.fileno(), None)
        if isinstance(peer.channel, Terminal):
            peer.channel.discard()
        else:
            peer.channel.close()


def _open_terminal(address: ProtocolAddress) -> Terminal:
    try:
        return Terminal(address.path)
    except OSError as error:
        raise ParameterError(
            f'protocol {address}: cannot make the serial port: {error}; expected a free name in a '
            'folder that can be written'
        ) from None
