# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""MAVLink over WebSocket and REST as mavlink2rest serves it, and the parts of BlueOS for Cockpit.

One thread has the UDP port of a ground station, and serves HTTP; no physics waits for it.

Source: mavlink/mavlink2rest, commit 237c889 (src/server.rs, endpoints.rs, data.rs), and
bluerobotics/cockpit, commit aa40c07 (src/libs/blueos.ts).
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any, NamedTuple

from marine_sim_ros.autopilot.mavlink.camera_manager import (
    BACKLOG,
    LIST_PORT,
    OPTION,
    SIGNALLING_PORT,
    CameraManager,
)
from marine_sim_ros.autopilot.mavlink.json_messages import json_of_message, message_from_json
from marine_sim_ros.autopilot.mavlink.link import parse_datagram
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.sensors.addresses import open_port

__all__ = ['RestServer', 'filter_pattern']

MAX_CLIENTS = 8
MAX_TEXT = 65536
"""Bytes of a message of a client."""
MAX_FILTER = 2000
"""Characters of a client's filter."""
MAX_UNSENT = 131072
"""Bytes that wait for a slow client; further messages are dropped."""
PERIOD, IDLE_PERIOD = 0.05, 0.2
"""s between looks for datagrams, with and without clients: a wake costs more than a message."""
MAX_BURST = 500
"""Datagrams taken at once."""
MAX_DEPTH = 16
"""Names in the path of a setting."""
MAX_STORED = 2**20
"""Bytes of settings that Cockpit may store."""


_FILTER = re.compile(r'\^?[A-Za-z0-9_]*(\.\*[A-Za-z0-9_]*){0,2}\$?')


def filter_pattern(text: str) -> re.Pattern[str] | None:
    """Return the pattern of a client's filter; None: it is refused.

    mavlink2rest takes every regular expression, whose search takes linear time there. Python's
    may take for ever, so a filter is one of names and ``.*``, and of ``|`` between them.
    """
    parts = text.strip('()').split('|')
    if len(text) > MAX_FILTER or not all(_FILTER.fullmatch(part) for part in parts):
        return None
    return re.compile('|'.join(parts))


def _text_frame(text: str) -> bytes:
    """Return the frame of a text (RFC 6455, 5.2), of up to 65535 bytes."""
    data = text.encode()
    size = bytes([len(data)]) if len(data) < 126 else b'\x7e' + len(data).to_bytes(2, 'big')
    return b'\x81' + size + data


class _Latest(NamedTuple):
    """The latest message of a kind, times of the first and the last (s), and their number."""

    message: Any
    first: float
    last: float
    received: int


class RestServer:
    """Ground station of a vehicle that passes its messages to browsers, and theirs to it."""

    def __init__(
        self,
        address: tuple[str, int],
        ground_station: tuple[str, int],
        name: str,
        cameras: CameraManager | None = None,
        camera_ports: tuple[int, int] = (LIST_PORT, SIGNALLING_PORT),
    ) -> None:
        """Open the ports, and start the thread.

        Args:
            address: host and port of HTTP.
            ground_station: host and UDP port to which the vehicle sends.
            name: name of the vehicle.
            cameras: video; None: there is none.
            camera_ports: ports of the list of cameras and of their signalling.

        Raises:
            ParameterError: a port that is taken.
            MissingPackageError: aiohttp or pymavlink is not installed.
        """
        self._web = require('aiohttp.web', OPTION)
        self.dialect: Any = require('pymavlink.dialects.v20.ardupilotmega', OPTION)
        self._sender = self.dialect.MAVLink(None)
        self.name, self._cameras, self._camera_ports = name, cameras, camera_ports
        self._latest: dict[tuple[int, int], dict[str, _Latest]] = {}
        self._bag: dict[str, Any] = {}
        self._clients: dict[Any, re.Pattern[str]] = {}
        """Transports of the WebSockets, and their filters."""
        self._udp = open_port(OPTION, *ground_station)
        self._buffer = bytearray(65536)  # a new one for each datagram would cost half of all
        self._peers: dict[tuple[int, int], tuple[str, int]] = {}
        """Addresses by system and component: a camera may have one of its own."""
        self._loop = asyncio.new_event_loop()
        self._runner: Any = None
        try:
            self._loop.run_until_complete(self._open(address))
        except ParameterError:
            self._loop.run_until_complete(self._close())
            self._loop.close()
            raise
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    async def _open(self, address: tuple[str, int]) -> None:
        web = self._web
        self._loop.call_soon(self._take_burst)
        app = web.Application(client_max_size=MAX_STORED, middlewares=[self._with_cors()])
        for root in ('', '/mavlink2rest'):
            app.router.add_get(f'{root}/info', self._on_info)
            for version in ('', '/v1'):
                start = f'{root}{version}'
                app.router.add_get(f'{start}/ws/mavlink', self._on_socket)
                app.router.add_get(f'{start}/helper/mavlink', self._on_helper)
                app.router.add_get(f'{start}/mavlink', self._on_get)
                app.router.add_get(f'{start}/mavlink/{{path:.*}}', self._on_get)
                app.router.add_post(f'{start}/mavlink', self._on_post)
        app.router.add_get('/status', self._answer('ok'))
        app.router.add_get('/beacon/v1.0/vehicle_name', self._answer(self.name))
        for path in ('/beacon/v1.0/services', '/helper/v1.0/web_services'):
            app.router.add_get(path, self._answer([]))
        app.router.add_get('/bag/v1.0/get/{path:.*}', self._on_bag_get)
        app.router.add_post('/bag/v1.0/set/{path:.*}', self._on_bag_set)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        listener = open_port(OPTION, *address, backlog=BACKLOG)
        await web.SockSite(self._runner, listener).start()
        if self._cameras is not None:
            await self._cameras.open(address[0], self._camera_ports, self._with_cors())

    def _with_cors(self) -> Any:
        """Return the middleware that lets pages of other origins ask, as mavlink2rest does."""

        async def with_cors(request: Any, handler: Any) -> Any:
            reply: Any
            try:
                is_question = request.method == 'OPTIONS'
                reply = self._web.Response() if is_question else await handler(request)
            except self._web.HTTPException as refusal:
                reply = refusal
            if not reply.prepared:
                reply.headers['Access-Control-Allow-Origin'] = '*'
                reply.headers['Access-Control-Allow-Headers'] = '*'
            return reply

        return self._web.middleware(with_cors)

    def _answer(self, content: Any) -> Any:
        async def answer(request: Any) -> Any:
            del request
            is_text = isinstance(content, str)
            return self._web.Response(text=content) if is_text else self._json(content)

        return answer

    def _json(self, content: Any, status: int = 200) -> Any:
        return self._web.json_response(content, status=status)

    # From the vehicle.

    def _take_burst(self) -> None:
        """Pass what has come to the clients."""
        self._loop.call_later(PERIOD if self._clients else IDLE_PERIOD, self._take_burst)
        frames: list[tuple[str, bytes]] = []
        with suppress(OSError):
            for _ in range(MAX_BURST):
                size, peer = self._udp.recvfrom_into(self._buffer)
                frames += self.take_datagram(self._buffer[:size], peer)
        for transport, pattern in self._clients.items():
            data = b''.join(frame for name, frame in frames if pattern.search(name))
            if data and transport.get_write_buffer_size() < MAX_UNSENT:
                transport.write(data)

    def take_datagram(self, data: bytearray, peer: tuple[str, int]) -> Iterator[tuple[str, bytes]]:
        """Keep the messages of a datagram; yield name and WebSocket frame of those that go on."""
        for message in parse_datagram(self._sender, data):
            if message.get_msgId() not in self.dialect.mavlink_map:  # no MAVLink, or unknown
                continue
            self._peers[message.get_srcSystem(), message.get_srcComponent()] = peer
            self._store(message)
            name = message.get_type()
            if any(pattern.search(name) for pattern in self._clients.values()):
                yield name, _text_frame(json.dumps(json_of_message(message, self.dialect)))

    def _store(self, message: Any) -> None:
        """Keep the latest message of a kind, which becomes JSON when it is asked for."""
        source, now = (message.get_srcSystem(), message.get_srcComponent()), time.time()
        kept = self._latest.setdefault(source, {}).get(message.get_type())
        first, count = (kept.first, kept.received) if kept else (now, 0)
        self._latest[source][message.get_type()] = _Latest(message, first, now, count + 1)

    # From clients.

    async def _on_socket(self, request: Any) -> Any:
        if len(self._clients) >= MAX_CLIENTS:
            return self._json({'error': f'{MAX_CLIENTS} clients are connected'}, 503)
        pattern = filter_pattern(request.query.get('filter', '.*'))
        if pattern is None:
            expected = 'expected names of messages, with .* for any part, and | between them'
            return self._json({'error': f'filter; {expected}'}, 400)
        # Compression would cost more than all the rest.
        socket = self._web.WebSocketResponse(max_msg_size=MAX_TEXT, heartbeat=20.0, compress=False)
        await socket.prepare(request)
        transport = request.transport  # None once it is closed
        self._clients[transport] = pattern
        try:
            async for message in socket:
                if isinstance(message.data, str) and (reason := self._send(message.data)):
                    await socket.send_str(json.dumps({'error': reason}))
        finally:
            del self._clients[transport]
        return socket

    def _send(self, text: str | bytes) -> str:
        """Send a client's message to the vehicle; return the reason why it was not sent."""
        try:
            message, system, component = message_from_json(json.loads(text), self.dialect)
            self._sender.srcSystem, self._sender.srcComponent = system, component
            data = message.pack(self._sender)
        except (ValueError, RecursionError) as error:
            return str(error)
        except Exception as error:  # of any kind: struct.error, or what pymavlink raises
            return f'{type(error).__name__}: {error}'
        self._sender.seq = (self._sender.seq + 1) % 256
        if not self._peers:
            return 'the vehicle has sent nothing yet'
        target = getattr(message, 'target_system', getattr(message, 'target', 0))
        for peer in self._peers_of(target, getattr(message, 'target_component', 0)):
            with suppress(OSError):
                self._udp.sendto(data, peer)
        return ''

    def _peers_of(self, system: int, component: int) -> set[tuple[str, int]]:
        """Return the addresses of a component, else of its system, else of all."""
        known = {peer for source, peer in self._peers.items() if source == (system, component)}
        known = known or {peer for (of, _), peer in self._peers.items() if of == system}
        return known or set(self._peers.values())

    async def _on_post(self, request: Any) -> Any:
        error = self._send(await request.read())
        return self._web.Response(text=error, status=404 if error else 200)

    async def _on_get(self, request: Any) -> Any:
        found: Any = {'vehicles': self._published()}
        for key in filter(None, request.match_info.get('path', '').split('/')):
            if isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            elif isinstance(found, dict) and key in found:
                found = found[key]
            else:
                return self._web.Response(text='None')
        return self._json(found)

    def _published(self) -> dict[str, Any]:
        """Return the latest messages with the status that mavlink2rest gives them."""
        vehicles: dict[str, Any] = {}
        for (system, component), messages in self._latest.items():
            vehicle = vehicles.setdefault(str(system), {'id': system, 'components': {}})
            vehicle['components'][str(component)] = {
                'id': component,
                'messages': {name: self._with_status(kept) for name, kept in messages.items()},
            }
        return vehicles

    def _with_status(self, kept: _Latest) -> dict[str, Any]:
        times = {
            'first_update': datetime.fromtimestamp(kept.first, timezone.utc).isoformat(),
            'last_update': datetime.fromtimestamp(kept.last, timezone.utc).isoformat(),
            'counter': kept.received,
            'frequency': kept.received / max(kept.last - kept.first, 1.0),
        }
        message = json_of_message(kept.message, self.dialect)['message']
        return {'message': message, 'status': {'time': times}}

    async def _on_helper(self, request: Any) -> Any:
        try:
            empty = {'message': {'type': request.query.get('name', '')}}
            message, _, _ = message_from_json(empty, self.dialect)
        except ValueError as error:
            return self._json(str(error), 404)
        message.pack(self._sender)
        content = json_of_message(message, self.dialect)
        header = {'system_id': 255, 'component_id': 0, 'sequence': 0}
        return self._json({**content, 'header': header})

    async def _on_info(self, request: Any) -> Any:
        del request
        service = {'name': 'mavlink2rest', 'version': '1.0.2', 'sha': '', 'build_date': ''}
        return self._json({'version': 0, 'service': {**service, 'authors': 'marine_sim_ros'}})

    async def _on_bag_get(self, request: Any) -> Any:
        found: Any = self._bag
        for key in filter(None, request.match_info['path'].split('/')):
            if not isinstance(found, dict) or key not in found:
                return self._json({'detail': 'Invalid path'}, 400)
            found = found[key]
        return self._json(found)

    async def _on_bag_set(self, request: Any) -> Any:
        keys = [key for key in request.match_info['path'].split('/') if key]
        if not 0 < len(keys) <= MAX_DEPTH:
            return self._json({'detail': f'expected 1 to {MAX_DEPTH} names'}, 400)
        try:
            content = json.loads(await request.read())
            size = len(json.dumps(self._bag)) + len(json.dumps(content))
        except (ValueError, RecursionError):
            return self._json({'detail': 'expected JSON'}, 400)
        if size > MAX_STORED:
            return self._json({'detail': 'too much is stored'}, 400)
        folder = self._bag
        for key in keys[:-1]:
            if not isinstance(folder.setdefault(key, {}), dict):
                folder[key] = {}
            folder = folder[key]
        folder[keys[-1]] = content
        return self._json({'status': 'success'})

    # End.

    async def _close(self) -> None:
        self._udp.close()
        if self._runner is not None:
            await self._runner.cleanup()
        if self._cameras is not None:
            await self._cameras.close()

    def show(self, camera: str, picture: bytes) -> None:
        """Send a picture (JPEG) to those who watch a camera."""
        if self._cameras is not None:
            self._loop.call_soon_threadsafe(self._cameras.show, camera, picture)

    def close(self) -> None:
        """Close the ports, and end the thread."""
        with suppress(asyncio.TimeoutError, TimeoutError):
            asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(5.0)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5.0)
