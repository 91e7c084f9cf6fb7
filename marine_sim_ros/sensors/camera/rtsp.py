# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""RTSP server of a camera: the same H.264 over RTP as a video stream, for clients that ask for it.

Clients take the packets over UDP, or interleaved in their TCP connection; they are encoded once,
and only while somebody watches. A thread serves the clients, and a slow one misses packets. A
session ends with its connection, and packets go to the address of the connection alone.

Source: RFC 2326 (RTSP 1.0), RFC 6184, section 8.2 (SDP of H.264).
"""

from __future__ import annotations

import re
import selectors
import socket
import threading
import uuid
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from marine_sim_ros.sensors.addresses import open_port
from marine_sim_ros.sensors.camera.video_stream import (
    KEY_PERIOD,
    PACKET,
    RATE,
    RTP_CLOCK,
    VideoStream,
)

__all__ = ['RtspStream']

METHODS = ('OPTIONS', 'DESCRIBE', 'SETUP', 'PLAY', 'PAUSE', 'TEARDOWN', 'GET_PARAMETER')
REASONS = {
    200: 'OK', 400: 'Bad Request', 405: 'Method Not Allowed', 454: 'Session Not Found',
    461: 'Unsupported Transport', 505: 'RTSP Version Not Supported',
}  # fmt: skip
MAX_CLIENTS, MAX_REQUEST, MAX_UNSENT, MAX_PACKETS = 8, 8192, 1 << 20, 4096
"""Clients; bytes of a request, and of what a slow client leaves; packets that wait here."""
SDP = f"""v=0
o=- 0 0 IN IP4 0.0.0.0
s=camera
c=IN IP4 0.0.0.0
t=0 0
a=control:*
m=video 0 RTP/AVP 96
a=rtpmap:96 H264/{RTP_CLOCK}
a=fmtp:96 packetization-mode=1
a=control:track0
""".replace('\n', '\r\n')


class _Client:
    """A connection and its session: to where packets go, and whether they do."""

    def __init__(self, connection: socket.socket, host: str) -> None:
        self.connection, self.host = connection, host
        self.received, self.unsent = bytearray(), bytearray()
        self.session = ''
        self.channel: int | None = None
        self.port = 0
        self.plays = False

    def send(self, data: bytes) -> None:
        """Send bytes, or keep them for later; raise OSError if the client has gone."""
        self.unsent += data
        with suppress(BlockingIOError):
            del self.unsent[: self.connection.send(self.unsent)]


class RtspStream(VideoStream):
    """A stream that clients fetch from ``rtsp://HOST:PORT``; every path is this camera."""

    def __init__(
        self, address: tuple[str, int], warn: Callable[[str], object], rate: float = RATE
    ) -> None:
        """Listen.

        Args:
            address: host and TCP port to listen at; port 0: any free one.
            warn: is told, in a thread, what is refused.
            rate: Hz of the camera.

        Raises:
            ParameterError: the port is taken, or the address is not this machine's.
            MissingPackageError: PyAV is missing, or was built without x264.
        """
        self._clients: list[_Client] = []
        self._packets: deque[bytes] = deque(maxlen=MAX_PACKETS)
        self._selector = selectors.DefaultSelector()
        self._listener = open_port('video', *address, backlog=MAX_CLIENTS)
        self._udp = open_port('video', address[0], 0)
        self._wake, self._woken = socket.socketpair()
        for one in (self._wake, self._woken):
            one.setblocking(False)
        super().__init__((address[0], self._listener.getsockname()[1]), warn, rate)
        self._server = threading.Thread(target=self._serve, name='rtsp', daemon=True)
        self._server.start()

    @property
    def is_watched(self) -> bool:
        """Whether a client plays the stream."""
        return any(client.plays for client in list(self._clients))

    def show(self, image: np.ndarray) -> None:
        """Send a picture (h, w, 3) uint8, RGB, to those who watch."""
        if self.is_watched:
            super().show(image)

    def close(self) -> None:
        """Send no more, and close the sockets."""
        super().close()
        self._nudge()
        self._server.join(2.0)

    def write(self, packet: bytes) -> int:
        """Take a packet of the encoder, in its thread."""
        self._packets.append(bytes(packet))
        self._nudge()
        return len(packet)

    def _target(self) -> tuple[Any, dict[str, str]]:
        return self, {'packetsize': str(PACKET)}

    def _nudge(self) -> None:
        with suppress(OSError):  # full: it will wake; closed: it has ended
            self._wake.send(b'\0')

    def _serve(self) -> None:
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        while not self._closing:
            for key, _ in self._selector.select(1.0):
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj is self._woken:
                    with suppress(BlockingIOError):
                        self._woken.recv(4096)
                else:
                    self._read(key.data)
            while self._packets:
                self._deliver(self._packets.popleft())
        for client in list(self._clients):
            self._drop(client)
        self._selector.close()
        for one in (self._listener, self._udp, self._wake, self._woken):
            one.close()

    def _accept(self) -> None:
        try:
            connection, (host, *_) = self._listener.accept()
        except OSError:
            return
        if len(self._clients) >= MAX_CLIENTS:
            self._warn(f'video: {host} is refused: {MAX_CLIENTS} clients are connected')
            connection.close()
            return
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client = _Client(connection, host)
        self._selector.register(connection, selectors.EVENT_READ, client)
        self._clients.append(client)

    def _drop(self, client: _Client) -> None:
        self._clients.remove(client)
        with suppress(KeyError, ValueError):
            self._selector.unregister(client.connection)
        client.connection.close()

    def _read(self, client: _Client) -> None:
        try:
            data = client.connection.recv(MAX_REQUEST)
            client.received += data
            while data and self._take(client):
                pass
        except BlockingIOError:
            return
        except OSError:
            data = b''
        if not data:
            self._drop(client)

    def _take(self, client: _Client) -> bool:
        """Take a request, or a packet of RTCP; return whether there may be another."""
        received = client.received
        if received[:1] == b'$':
            size = 4 + int.from_bytes(received[2:4], 'big')
            if len(received) < max(4, size):
                return False
            del received[:size]
            return True
        head, found, _ = bytes(received).partition(b'\r\n\r\n')
        if not found:
            if len(received) >= MAX_REQUEST:
                self._warn(f'video: {client.host}: {len(received)} bytes that are no request')
                raise ConnectionAbortedError
            return False
        lines = head.decode('latin-1').lstrip('\r\n').split('\r\n')
        fields = {
            name.strip().lower(): value.strip()
            for name, colon, value in (line.partition(':') for line in lines[1:])
            if colon
        }
        body = fields.get('content-length', '0')
        size = len(head) + 4 + (int(body) if re.fullmatch('[0-9]{1,4}', body) else 0)
        if len(received) < size:
            return False
        del received[:size]
        self._answer(client, lines[0].split(), fields)
        return True

    def _answer(self, client: _Client, words: list[str], fields: dict[str, str]) -> None:
        code, more, body = self._result(client, words, fields)
        number = fields.get('cseq', '')
        lines = [f'RTSP/1.0 {code} {REASONS[code]}']
        lines += [f'CSeq: {number}'] if re.fullmatch('[0-9]{1,10}', number) else []
        lines += [f'Session: {client.session}'] if client.session and code == 200 else []
        lines += more
        lines += [f'Content-Length: {len(body)}'] if body else []
        if len(client.unsent) >= 2 * MAX_UNSENT:  # half for packets, which stop there
            self._warn(f'video: {client.host} asks, and reads no answer; it is disconnected')
            raise ConnectionAbortedError
        client.send(('\r\n'.join(lines) + '\r\n\r\n' + body).encode('latin-1'))

    def _result(
        self, client: _Client, words: list[str], fields: dict[str, str]
    ) -> tuple[int, list[str], str]:
        """Return status, further fields and body of the answer to a request."""
        if len(words) != 3:
            return 400, [], ''
        method, address, version = words
        if version != 'RTSP/1.0':
            return 505, [], ''
        if method not in METHODS:
            return 405, [f'Allow: {", ".join(METHODS)}'], ''
        if method == 'OPTIONS':
            return 200, [f'Public: {", ".join(METHODS)}'], ''
        if method == 'DESCRIBE':
            base = address if address.endswith('/') else f'{address}/'
            return 200, ['Content-Type: application/sdp', f'Content-Base: {base}'], SDP
        if method == 'SETUP':
            return self._set_up(client, fields.get('transport', ''))
        if not client.session or fields.get('session', '').split(';')[0] != client.session:
            # GET_PARAMETER without a session only asks whether the server is there.
            return (200 if method == 'GET_PARAMETER' else 454), [], ''
        if method in ('PLAY', 'PAUSE', 'TEARDOWN'):
            client.plays = method == 'PLAY'
            self._key = -KEY_PERIOD  # the next picture stands alone
        if method == 'TEARDOWN':
            client.session = ''
        return 200, ['Range: npt=now-'] if method == 'PLAY' else [], ''

    def _set_up(self, client: _Client, transports: str) -> tuple[int, list[str], str]:
        """Choose the first transport of a list that is served."""
        for transport in transports.split(','):
            parts = [part.strip() for part in transport.split(';')]
            ports = re.search(r'client_port=([0-9]{4,5})(?:-[0-9]{1,5})?(?:;|$)', transport)
            channel = re.search(r'interleaved=([0-9]{1,3})(?:-[0-9]{1,3})?(?:;|$)', transport)
            if 'multicast' in parts:
                continue
            if parts[0] == 'RTP/AVP/TCP':
                client.channel, client.port = int(channel[1]) & 255 if channel else 0, 0
                chosen = f'RTP/AVP/TCP;unicast;interleaved={client.channel}-{client.channel + 1}'
            elif (
                parts[0] in ('RTP/AVP', 'RTP/AVP/UDP') and ports and 1024 <= int(ports[1]) < 65536
            ):
                client.channel, client.port = None, int(ports[1])
                own = self._udp.getsockname()[1]
                chosen = (
                    f'RTP/AVP;unicast;client_port={client.port}-{client.port + 1};'
                    f'server_port={own}-{own + 1}'
                )
            else:
                continue
            client.session = client.session or uuid.uuid4().hex[:16]
            return 200, [f'Transport: {chosen}'], ''
        return 461, [], ''

    def _deliver(self, packet: bytes) -> None:
        for client in [c for c in self._clients if c.plays]:
            try:
                if client.channel is None:
                    with suppress(BlockingIOError):
                        self._udp.sendto(packet, (client.host, client.port))
                elif len(client.unsent) < MAX_UNSENT:
                    head = b'$' + bytes((client.channel,)) + len(packet).to_bytes(2, 'big')
                    client.send(head + packet)
                else:
                    client.send(b'')  # it reads too slowly, and misses this one
            except OSError:
                self._drop(client)
