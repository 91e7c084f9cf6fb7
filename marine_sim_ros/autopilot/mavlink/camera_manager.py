# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Video for Cockpit as BlueOS's camera manager serves it: list of cameras, and WebRTC.

It runs in the thread of the server that owns it. A picture is encoded once for all clients that
watch its camera, as BlueOS sends the camera's own H.264; a client that is too slow misses some.

Source: mavlink/mavlink-camera-manager, commit e1ee7f5 (src/lib/stream/webrtc/, stream/types.rs),
and bluerobotics/cockpit, commit aa40c07 (src/libs/webrtc/, src/libs/blueos.ts).
"""

from __future__ import annotations

import asyncio
import json
import math
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from marine_sim_ros.core.extras import require
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sensors import SENSORS
from marine_sim_ros.sensors.addresses import next_address, open_port
from marine_sim_ros.sensors.camera.video_stream import CODEC, ENCODER, KEY_PERIOD, RATE, RTP_CLOCK

__all__ = [
    'BACKLOG',
    'LIST_PORT',
    'OPTION',
    'SIGNALLING_PORT',
    'CameraManager',
    'CameraStream',
    'camera_streams',
]

FEATURE = '--blueos with a camera'
OPTION = '--blueos'
BACKLOG = 128
"""Connections that may wait at a port."""
LIST_PORT, SIGNALLING_PORT = 6020, 6021
"""TCP ports of the list and of the signalling, which Cockpit expects."""
MAX_CLIENTS = 8
MAX_SESSIONS = 4
"""Sessions of all clients."""
MAX_WAITING = 8
"""Pictures that wait for a client, until it misses all of them."""
MAX_TEXT = 65536
"""Bytes of a message of a client."""
ENDED = ('closed', 'failed')
"""States of a connection that has ended."""


@dataclass(frozen=True)
class CameraStream:
    """A camera of the vehicle.

    Attributes:
        name: of the sensor.
        width: px.
        height: px.
        rate: pictures per second.
        angle_of_view: horizontal, degrees.
        endpoint: address to which the camera sends RTP; empty: none.
    """

    name: str
    width: int
    height: int
    rate: float
    angle_of_view: float
    endpoint: str = ''

    @property
    def identifier(self) -> str:
        """UUID, the same in every run."""
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f'marine_sim_ros/{self.name}'))

    @property
    def interval(self) -> Fraction:
        """Time between pictures, s."""
        return 1 / Fraction(self.rate).limit_denominator(1000)


def camera_streams(vehicle: Vehicle, video: str) -> tuple[CameraStream, ...]:
    """Return the cameras of a vehicle.

    Args:
        video: value of the option ``video``, of the first camera; empty: no RTP.
    """
    cameras = [sensor for sensor in vehicle.sensors if SENSORS[sensor.kind].video]
    return tuple(
        CameraStream(
            sensor.name,
            int(sensor.spec.width),
            int(sensor.spec.height),
            NANOSECONDS / sensor.period if sensor.period else RATE,
            sensor.spec.field_of_view,
            next_address(video, k) if video else '',
        )
        for k, sensor in enumerate(cameras)
    )


@dataclass
class _Session:
    """A client that watches a camera."""

    camera: str
    peer: Any
    track: Any
    socket: Any


class _Encoder:
    """Encoder of the pictures of a camera: H.264, each key picture with its parameters."""

    def __init__(self, av: Any) -> None:
        self._av = av
        self._decoder = av.CodecContext.create('mjpeg', 'r')
        self._reformatter = av.video.reformatter.VideoReformatter()
        self._encoder: Any = None
        self._size = (0, 0)
        self._key_at = -math.inf

    def encode(self, picture: bytes, key: bool) -> tuple[Sequence[Any], bool]:
        """Return the packets of a picture (JPEG), and whether it stands alone.

        Args:
            picture: the newest one.
            key: whether a client needs one that stands alone.

        Raises:
            av.error.FFmpegError: it is no JPEG.
        """
        packets: list[Any] = []
        for frame in self._decoder.decode(self._av.Packet(picture)):
            size = (frame.width // 2 * 2, frame.height // 2 * 2)
            if size != self._size:
                self._open(size)
            now = time.monotonic()
            key = key or now - self._key_at >= KEY_PERIOD
            self._key_at = now if key else self._key_at
            # The encoder takes the numbers as they are, and video has 16 to 235.
            frame = self._reformatter.reformat(
                frame, *size, format='yuv420p', src_color_range='JPEG', dst_color_range='MPEG',
                threads=1,
            )  # fmt: skip
            frame.pts, frame.time_base = round(now * RTP_CLOCK), Fraction(1, RTP_CLOCK)
            if key:
                frame.pict_type = self._av.video.frame.PictureType.I
            packets += self._encoder.encode(frame)
        return packets, key

    def _open(self, size: tuple[int, int]) -> None:
        encoder = self._av.CodecContext.create(CODEC, 'w')
        encoder.width, encoder.height = self._size = size
        encoder.pix_fmt, encoder.time_base = 'yuv420p', Fraction(1, RTP_CLOCK)
        encoder.options = ENCODER
        self._encoder, self._key_at = encoder, -math.inf


class CameraManager:
    """List of the cameras, and signalling of WebRTC."""

    def __init__(self, cameras: Sequence[CameraStream], warn: Callable[[str], Any]) -> None:
        """Serve cameras.

        Args:
            cameras: those of the vehicle.
            warn: is told, in the server's thread, what is refused.

        Raises:
            MissingPackageError: aiohttp, aiortc or PyAV is not installed.
        """
        self._web = require('aiohttp.web', FEATURE)
        self._rtc, self._ice = require('aiortc', FEATURE), require('aioice.ice', FEATURE)
        self._av = require('av', FEATURE)
        self.cameras, self._warn = tuple(cameras), warn
        self._by_identifier = {camera.identifier: camera for camera in cameras}
        self._sessions: dict[str, _Session] = {}
        self._clients = 0
        self._runners: list[Any] = []
        self._track_type = _track_type(self._rtc)
        self._encoders = {camera.name: _Encoder(self._av) for camera in cameras}

    @property
    def watched(self) -> frozenset[str]:
        """Names of the cameras that clients watch."""
        return frozenset(session.camera for session in list(self._sessions.values()))

    def show(self, camera: str, picture: bytes) -> None:
        """Send a picture (JPEG) to those who watch its camera."""
        tracks = [s.track for s in self._sessions.values() if s.camera == camera]
        if not (tracks and picture):  # a packet without bytes ends a decoder
            return
        try:
            packets, key = self._encoders[camera].encode(picture, any(t.lacks for t in tracks))
        except self._av.error.FFmpegError as error:
            self._warn(f'blueos: a picture of {camera} is not shown: {error}')
            return
        for track in tracks:
            track.show(packets, key)

    async def open(self, host: str, ports: tuple[int, int], middleware: Any) -> None:
        """Listen at two ports of a host: the list's, and that of the signalling.

        Raises:
            ParameterError: one of them is taken.
        """
        web = self._web
        if host not in ('0.0.0.0', '::'):
            # aioice has no option for the addresses at which it listens.
            self._ice.get_host_addresses = lambda use_ipv4, use_ipv6: [host]
        listed = web.Application(middlewares=[middleware])
        listed.router.add_get('/streams', self._on_streams)
        listed.router.add_get('/info', self._on_info)
        signalling = web.Application()
        signalling.router.add_get('/', self._on_socket)
        for app, port in zip((listed, signalling), ports, strict=True):
            runner = web.AppRunner(app, access_log=None)
            self._runners.append(runner)
            await runner.setup()
            listener = open_port(OPTION, host, port, backlog=BACKLOG)
            await web.SockSite(runner, listener).start()

    async def close(self) -> None:
        """End the sessions, and close the ports."""
        await self._end(list(self._sessions))
        for runner in self._runners:
            await runner.cleanup()

    # List.

    async def _on_info(self, request: Any) -> Any:
        del request
        return self._web.json_response({'name': 'marine_sim_ros', 'version': '', 'sha': ''})

    async def _on_streams(self, request: Any) -> Any:
        del request
        return self._web.json_response([self._status(camera) for camera in self.cameras])

    def _status(self, camera: CameraStream) -> dict[str, Any]:
        is_watched = camera.name in self.watched
        numerator, denominator = camera.interval.as_integer_ratio()
        configuration = {
            'type': 'video',
            'encode': 'H264',
            'height': camera.height,
            'width': camera.width,
            'frame_interval': {'numerator': numerator, 'denominator': denominator},
        }
        source = {'name': camera.name, 'device_path': camera.name, 'type': {'Unknown': ''}}
        return {
            'id': camera.identifier,
            'running': is_watched,
            'state': 'running' if is_watched else 'idle',
            'error': None,
            'video_and_stream': {
                'name': camera.name,
                'stream_information': {
                    'endpoints': [camera.endpoint] if camera.endpoint else [],
                    'configuration': configuration,
                    'extended_configuration': None,
                },
                'video_source': {'Local': source},
            },
            'mavlink': None,
        }

    # Signalling.

    async def _on_socket(self, request: Any) -> Any:
        if self._clients >= MAX_CLIENTS:
            return self._web.Response(text=f'{MAX_CLIENTS} clients are connected', status=503)
        socket = self._web.WebSocketResponse(max_msg_size=MAX_TEXT, heartbeat=20.0, compress=False)
        await socket.prepare(request)
        self._clients += 1
        try:
            async for message in socket:
                if isinstance(message.data, str):
                    await self._take(socket, message.data)
        finally:
            self._clients -= 1
            await self._end([n for n, s in self._sessions.items() if s.socket is socket])
        return socket

    async def _take(self, socket: Any, text: str) -> None:
        """Answer a message; what is none is refused in one line."""
        try:
            message = json.loads(text)
            kind, content = message['content']['type'], message['content'].get('content')
            answer = self._answers[message['type'], kind]
            await answer(self, socket, content)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self._warn(f'blueos: a message for WebRTC is ignored: {type(error).__name__}: {error}')
        except Exception as error:  # of any kind: what aiortc raises for an SDP that it cannot use
            self._warn(f'blueos: WebRTC: {type(error).__name__}: {error}')

    @staticmethod
    async def _send(socket: Any, kind: str, name: str, content: Any) -> None:
        with suppress(ConnectionError):
            message = {'type': kind, 'content': {'type': name, 'content': content}}
            await socket.send_str(json.dumps(message))

    async def _on_peer(self, socket: Any, content: Any) -> None:
        del content
        await self._send(socket, 'answer', 'peerId', {'id': str(uuid.uuid4())})

    async def _on_available(self, socket: Any, content: Any) -> None:
        del content
        streams = [
            {
                'id': camera.identifier,
                'name': camera.name,
                'encode': 'H264',
                'height': camera.height,
                'width': camera.width,
                'interval': f'{float(camera.interval):.6g}',
                'source': camera.name,
                'created': None,
            }
            for camera in self.cameras
        ]
        await self._send(socket, 'answer', 'availableStreams', streams)

    async def _on_start(self, socket: Any, content: Mapping[str, Any]) -> None:
        """Begin a session: its number, and the offer."""
        camera = self._by_identifier[content['producer_id']]
        bind = {
            'consumer_id': str(content['consumer_id']),
            'producer_id': camera.identifier,
            'session_id': str(uuid.uuid4()),
        }
        if len(self._sessions) >= MAX_SESSIONS:
            reason = f'{MAX_SESSIONS} sessions are open'
            await self._send(socket, 'question', 'endSession', {**bind, 'reason': reason})
            return
        rtc, name = self._rtc, bind['session_id']
        peer = rtc.RTCPeerConnection(rtc.RTCConfiguration(iceServers=[]))
        session = _Session(camera.name, peer, self._track_type(), socket)
        self._sessions[name] = session
        await self._send(socket, 'answer', 'startSession', bind)
        transceiver = peer.addTransceiver(session.track, direction='sendonly')
        codecs = rtc.RTCRtpSender.getCapabilities('video').codecs
        transceiver.setCodecPreferences([c for c in codecs if c.mimeType == 'video/H264'])

        async def watch() -> None:
            if peer.connectionState in ENDED:
                await self._end([name])

        peer.on('connectionstatechange', watch)
        await peer.setLocalDescription(await peer.createOffer())
        offer = {'type': 'offer', 'sdp': peer.localDescription.sdp}
        await self._send(socket, 'negotiation', 'mediaNegotiation', {**bind, 'sdp': offer})

    async def _on_end(self, socket: Any, content: Mapping[str, Any]) -> None:
        if self._own(socket, content) is not None:
            await self._end([content['session_id']])

    async def _on_sdp(self, socket: Any, content: Mapping[str, Any]) -> None:
        session, sdp = self._own(socket, content), content['sdp']
        if session is not None:
            description = self._rtc.RTCSessionDescription(sdp=sdp['sdp'], type=sdp['type'])
            await session.peer.setRemoteDescription(description)

    async def _on_ice(self, socket: Any, content: Mapping[str, Any]) -> None:
        """Take an address of the client, unless the client hides it (RFC 8828)."""
        session, ice = self._own(socket, content), content['ice']
        _, _, text = (ice.get('candidate') or '').partition(':')
        if session is None or not text or '.local ' in text:
            return
        candidate = self._rtc.sdp.candidate_from_sdp(text)
        candidate.sdpMid, candidate.sdpMLineIndex = ice.get('sdpMid'), ice.get('sdpMLineIndex')
        await session.peer.addIceCandidate(candidate)

    def _own(self, socket: Any, content: Mapping[str, Any]) -> _Session | None:
        """Return the session of a message; None: it has ended, or is another client's."""
        session = self._sessions.get(content['session_id'])
        return session if session is not None and session.socket is socket else None

    async def _end(self, names: Sequence[str]) -> None:
        for name in names:
            session = self._sessions.pop(name, None)
            if session is not None:
                session.track.stop()
                await session.peer.close()

    _answers: Mapping[tuple[str, str], Callable[..., Coroutine[Any, Any, None]]] = {
        ('question', 'peerId'): _on_peer,
        ('question', 'availableStreams'): _on_available,
        ('question', 'startSession'): _on_start,
        ('question', 'endSession'): _on_end,
        ('negotiation', 'mediaNegotiation'): _on_sdp,
        ('negotiation', 'iceNegotiation'): _on_ice,
    }


def _track_type(rtc: Any) -> Any:
    """Return the type of a track of encoded pictures."""

    class PictureTrack(rtc.MediaStreamTrack):  # type: ignore[misc]  # aiortc is imported late
        """The packets of a camera, at the pace of their coming."""

        kind = 'video'

        def __init__(self) -> None:
            super().__init__()
            self._waiting: asyncio.Queue[Any] = asyncio.Queue()
            self.lacks = True  # a picture that stands alone, to begin with

        def show(self, packets: Sequence[Any], key: bool) -> None:
            if self._waiting.qsize() >= MAX_WAITING:
                while not self._waiting.empty():
                    self._waiting.get_nowait()
                self.lacks = True
            if key:
                self.lacks = False
            if not self.lacks:
                for packet in packets:
                    self._waiting.put_nowait(packet)

        async def recv(self) -> Any:
            return await self._waiting.get()

    return PictureTrack
