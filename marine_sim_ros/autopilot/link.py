# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The UDP socket to an autopilot: one at a time, every packet answered once.

The autopilot waits for the reply to each packet, and sends it again about once a second. One
that comes again before the reply is answered by that reply; one that comes after it was not
received, and gets the same reply once more.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable

from marine_sim_ros.autopilot.packets import LARGEST, PacketError, ServoPacket, parse_servos
from marine_sim_ros.core.errors import ParameterError

__all__ = ['BASE_PORT', 'SILENCE', 'AutopilotLink']

BASE_PORT = 9002
"""That ArduPilot sends to, plus ten for every instance."""
SILENCE = 2.5
"""s after which another autopilot may take the place of a silent one, which repeats itself about
once a second while it waits for a reply."""
LOST_REPLY = 0.1
"""s after which the reply to a repeated packet counts as lost; the next may be under way."""
BURST = 512
"""Datagrams that are read at a time, so that a flood does not keep anybody."""


class AutopilotLink:
    """A socket that takes servo packets and sends replies."""

    def __init__(self, address: str, port: int, warn: Callable[[str], object]) -> None:
        """Listen.

        Args:
            address: address to listen on; 127.0.0.1: this machine only.
            port: UDP port; 0: any free one.
            warn: told of what is ignored, in one line each.

        Raises:
            ParameterError: the port is taken, or the address is not this machine's.
        """
        self._warn = warn
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        try:
            self._socket.bind((address, port))
        except (OSError, OverflowError) as error:
            self._socket.close()
            raise ParameterError(
                f'autopilot: cannot listen on {address}:{port}: {error}; expected a free port of '
                'this machine (--autopilot-instance counts vehicles)'
            ) from None
        self.port: int = self._socket.getsockname()[1]
        self.peer: tuple[str, int] | None = None
        self.packet: ServoPacket | None = None
        """The packet that waits for its reply."""
        self._answered: ServoPacket | None = None
        self._reply = b''
        self._repeated_at: float | None = None
        self._heard_at = 0.0

    def receive(self, timeout: float = 0.0) -> ServoPacket | None:
        """Return the packet that waits for a reply, after up to timeout s; None: there is none."""
        deadline = time.monotonic() + timeout
        while True:
            self._read()
            now = time.monotonic()
            if self.packet is not None:
                return self.packet
            until = deadline
            if self._repeated_at is not None:
                if now - self._repeated_at >= LOST_REPLY:
                    self._send(self._reply)
                    self._repeated_at = None
                else:
                    until = min(deadline, self._repeated_at + LOST_REPLY)
            if now >= deadline:
                return None
            select.select([self._socket], [], [], max(0.0, until - now))

    def answer(self, reply: bytes) -> None:
        """Send the reply to the packet that waits."""
        self._read()  # what came again while the reply was made is answered by it
        self._answered, self.packet, self._repeated_at = self.packet, None, None
        self._reply = reply
        self._send(reply)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _read(self) -> None:
        """Take what has come; the connected autopilot's before any stranger's."""
        strangers: list[tuple[bytes, tuple[str, int]]] = []
        for _ in range(BURST):
            try:
                data, sender = self._socket.recvfrom(LARGEST + 1)
            except BlockingIOError:
                break
            except OSError:  # of an earlier reply: nobody listens there any more
                continue
            if sender == self.peer:
                self._take(data, sender)
            else:
                strangers.append((data, sender))
        for data, sender in strangers:
            self._take(data, sender)

    def _take(self, data: bytes, sender: tuple[str, int]) -> None:
        try:
            packet = parse_servos(data)
        except PacketError as error:
            self._warn(f'autopilot: a datagram of {sender[0]} is ignored: {error}')
            return
        now = time.monotonic()
        if sender != self.peer:
            if self.peer is not None and now - self._heard_at < SILENCE:
                self._warn(f'autopilot: {sender[0]} is ignored: another autopilot is connected')
                return
            self.peer, self._answered, self.packet = sender, None, None
        self._heard_at = now
        if self._answered is not None and packet.frame_count == self._answered.frame_count:
            if self.packet is None and self._repeated_at is None:
                self._repeated_at = now
        else:
            self.packet, self._repeated_at = packet, None

    def _send(self, reply: bytes) -> None:
        assert self.peer is not None
        try:
            self._socket.sendto(reply, self.peer)
        except OSError as error:  # it is gone; its silence is noticed
            self._warn(f'autopilot: no reply to {self.peer[0]}: {error}')
