# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Video for Cockpit: list of cameras, signalling of WebRTC, and pictures through it."""

import asyncio
import contextlib
import io
import json
import socket

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros.autopilot.mavlink.camera_manager import (
    MAX_SESSIONS,
    MAX_WAITING,
    CameraManager,
    CameraStream,
    _Session,
    camera_streams,
)
from marine_sim_ros.autopilot.mavlink.mavlink2rest import RestServer
from marine_sim_ros.model.library import load_vehicle

pytest.importorskip('pymavlink')
aiohttp = pytest.importorskip('aiohttp')
aiortc = pytest.importorskip('aiortc')
av = pytest.importorskip('av')
Image = pytest.importorskip('PIL.Image')

CAMERA = CameraStream('front', 64, 48, 15.0, 80.0)


def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as one:
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


def picture(level, shape=(48, 64)):
    """Return a JPEG of one grey level."""
    data = io.BytesIO()
    Image.fromarray(np.full((*shape, 3), level, np.uint8)).save(data, 'jpeg')
    return data.getvalue()


@pytest.fixture
def served():
    warnings = []
    manager = CameraManager([CAMERA], warnings.append)
    ports = free_port(), free_port()
    server = RestServer(
        ('127.0.0.1', free_port()), ('127.0.0.1', free_port(socket.SOCK_DGRAM)), 'rov', manager,
        ports,
    )  # fmt: skip
    server.manager, server.warnings = manager, warnings
    server.list_url, server.signalling_url = (f'http://127.0.0.1:{port}/' for port in ports)
    yield server
    server.close()


class Client:
    """A consumer as Cockpit's src/libs/webrtc is one."""

    def __init__(self, socket_):
        self.socket = socket_

    async def send(self, kind, name, content=None):
        content = {'type': name, 'content': content}
        await self.socket.send_str(json.dumps({'type': kind, 'content': content}))

    async def receive(self, name):
        message = json.loads((await self.socket.receive(10)).data)['content']
        assert message['type'] == name, message
        return message['content']

    async def offer(self):
        """Begin a session with the first stream; return its bind and the offer."""
        await self.send('question', 'peerId')
        consumer = (await self.receive('peerId'))['id']
        await self.send('question', 'availableStreams')
        (stream,) = await self.receive('availableStreams')
        assert (stream['name'], stream['encode'], stream['width']) == ('front', 'H264', 64)
        offer = {'consumer_id': consumer, 'producer_id': stream['id']}
        await self.send('question', 'startSession', offer)
        bind = await self.receive('startSession')
        return bind, (await self.receive('mediaNegotiation'))['sdp']

    async def watch(self):
        """Answer an offer, and return bind, peer and track."""
        bind, sdp = await self.offer()
        peer = aiortc.RTCPeerConnection(aiortc.RTCConfiguration(iceServers=[]))
        tracks = asyncio.Queue()
        peer.on('track', tracks.put_nowait)
        await peer.setRemoteDescription(aiortc.RTCSessionDescription(**sdp))
        await peer.setLocalDescription(await peer.createAnswer())
        answer = {'type': 'answer', 'sdp': peer.localDescription.sdp}
        await self.send('negotiation', 'mediaNegotiation', {**bind, 'sdp': answer})
        return bind, peer, await tracks.get()


@contextlib.asynccontextmanager
async def connected(server):
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(server.signalling_url) as socket_,
    ):
        yield Client(socket_)


async def until(condition, seconds=10.0):
    for _ in range(int(seconds / 0.02)):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError('not in time')


@pytest.mark.long
def test_pictures_come_by_webrtc_on_loopback_alone(served):
    async def talk():
        async with connected(served) as client:
            assert not served.manager.watched
            bind, peer, track = await client.watch()
            assert served.manager.watched == {'front'}
            ports = {c.laddr.ip for c in psutil.Process().net_connections('udp') if c.laddr}
            assert ports == {'127.0.0.1'}
            levels = []
            for level in (200, 40):
                deadline = asyncio.get_running_loop().time() + 20.0
                while not levels or abs(levels[-1] - level) > 4:
                    assert asyncio.get_running_loop().time() < deadline, levels
                    served.show('front', picture(level))
                    with contextlib.suppress(asyncio.TimeoutError, TimeoutError):
                        frame = await asyncio.wait_for(track.recv(), 0.05)
                        assert (frame.width, frame.height) == (64, 48)
                        levels.append(float(frame.to_ndarray(format='rgb24').mean()))
            await client.send('question', 'endSession', {**bind, 'reason': 'seen'})
            await until(lambda: not served.manager.watched)
            await peer.close()

    asyncio.run(talk())
    assert not served.warnings


def decoded(packets):
    """Return the grey levels of the pictures that a decoder gets from packets."""
    decoder = av.CodecContext.create('h264', 'r')
    frames = [f for packet in packets for f in decoder.decode(av.Packet(bytes(packet)))]
    frames += decoder.decode(None)
    return [float(frame.to_ndarray(format='rgb24').mean()) for frame in frames]


def taken(track):
    """Return the packets that wait for a client."""
    packets = []
    while not track._waiting.empty():
        packets.append(track._waiting.get_nowait())
    return packets


def test_all_clients_share_one_encoder_and_begin_with_a_whole_picture():
    """A late client, and one that was too slow, decode from their first packet on."""
    warnings = []
    manager = CameraManager([CAMERA], warnings.append)

    def session(name):
        track = manager._track_type()
        manager._sessions[name] = _Session('front', None, track, None)
        return track

    manager.show('front', picture(9))  # is not encoded: there is nobody to see it
    assert manager._encoders['front']._size == (0, 0)
    first, levels = session('first'), list(range(30, 230, 10))
    for level in levels[:3]:
        manager.show('front', picture(level))
    late = session('late')
    for level in levels[3:6]:
        manager.show('front', picture(level))
    ours, theirs = taken(first), taken(late)
    assert decoded(ours) == pytest.approx(levels[:6], abs=3)
    assert decoded(theirs) == pytest.approx(levels[3:6], abs=3)
    assert [bytes(p) for p in ours[3:]] == [bytes(p) for p in theirs]  # encoded once
    for level in levels[6:]:  # first takes none of them
        manager.show('front', picture(level))
    assert len(ours := taken(first)) <= MAX_WAITING
    assert decoded(ours) == pytest.approx(levels[-len(ours) :], abs=3)
    assert not warnings


@pytest.mark.parametrize('size', [(47, 63), (1, 900), (480, 640)])
def test_pictures_of_any_size_and_changes_of_it(size):
    manager = CameraManager([CAMERA], pytest.fail)
    track = manager._track_type()
    manager._sessions['one'] = _Session('front', None, track, None)
    for shape in ((48, 64), (max(size[0], 2), size[1])):
        manager.show('front', picture(120, shape))
        assert decoded(taken(track)) == pytest.approx([120], abs=3)


@given(garbage=st.binary(max_size=200))
def test_what_is_no_picture_is_told_and_the_next_is_shown(garbage):
    warnings = []
    manager = CameraManager([CAMERA], warnings.append)
    track = manager._track_type()
    manager._sessions['one'] = _Session('front', None, track, None)
    manager.show('front', garbage)
    assert all('a picture of front is not shown' in text for text in warnings)
    taken(track)
    manager.show('front', picture(80))
    assert len(taken(track)) == 1


def test_a_client_that_is_gone_watches_no_more(served):
    async def talk():
        async with connected(served) as client:
            await client.offer()
        await until(lambda: not served.manager.watched)

    asyncio.run(talk())


def test_sessions_are_bounded_and_nobody_ends_those_of_others(served):
    async def talk():
        async with connected(served) as client, connected(served) as other:
            for _ in range(MAX_SESSIONS):
                bind, _ = await client.offer()
            await other.send('question', 'endSession', {**bind, 'reason': ''})
            await other.send('question', 'startSession', {**bind})
            assert 'sessions are open' in (await other.receive('endSession'))['reason']
            assert len(served.manager._sessions) == MAX_SESSIONS

    asyncio.run(talk())


def test_the_list_is_that_of_the_camera_manager(served):
    async def talk():
        async with (
            aiohttp.ClientSession() as session,
            session.get(f'{served.list_url}streams') as reply,
        ):
            assert reply.headers['Access-Control-Allow-Origin'] == '*'
            (stream,) = await reply.json()
        # As getStreamInformationFromVehicle of Cockpit's src/libs/blueos.ts reads it.
        of_video = stream['video_and_stream']
        configuration = of_video['stream_information']['configuration']
        (source,) = of_video['video_source'].values()
        interval = configuration['frame_interval']
        assert (of_video['name'], source['name']) == ('front', 'front')
        assert interval['denominator'] / interval['numerator'] == 15.0
        assert stream['state'] == 'idle'

    asyncio.run(talk())


WORDS = st.sampled_from(
    ['question', 'negotiation', 'peerId', 'startSession', 'endSession', 'mediaNegotiation',
     'iceNegotiation', 'offer', 'answer', 'candidate:1 1 udp 1 127.0.0.1 9 typ host', 'v=0']
)  # fmt: skip
KEYS = st.sampled_from(['type', 'content', 'session_id', 'producer_id', 'sdp', 'ice', 'candidate'])
JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)


class Recorder:
    """A socket that keeps what is sent."""

    def __init__(self):
        self.sent = []

    async def send_str(self, text):
        self.sent.append(json.loads(text))


@given(st.text(max_size=20) | JSON.map(json.dumps), st.booleans())
def test_any_message_is_answered_or_one_line(text, is_session):
    async def talk():
        warnings, recorder = [], Recorder()
        manager = CameraManager([CAMERA], warnings.append)
        if is_session:
            message = json.dumps({'type': 'negotiation', 'content': {'type': 'x', 'content': {}}})
            await manager._take(recorder, message)
        await manager._take(recorder, text)
        assert all('\n' not in line for line in warnings)
        await manager.close()

    asyncio.run(talk())


def test_what_the_sdp_is_not_is_one_line_and_ends_no_session(served):
    async def talk():
        async with connected(served) as client:
            bind, _ = await client.offer()
            for sdp in ('v=0', 'nonsense', '', 7):
                content = {**bind, 'sdp': {'type': 'answer', 'sdp': sdp}}
                await client.send('negotiation', 'mediaNegotiation', content)
            for candidate in ('candidate:', 'candidate:1 1', None, 'candidate:1 udp 1 a.local 9'):
                content = {**bind, 'ice': {'candidate': candidate, 'sdpMLineIndex': 0}}
                await client.send('negotiation', 'iceNegotiation', content)
            await client.send('question', 'peerId')
            await client.receive('peerId')

    asyncio.run(talk())
    assert served.warnings


def test_cameras_are_those_of_the_vehicle():
    vehicle = load_vehicle('bluerov2', camera='true')
    (camera,) = camera_streams(vehicle, 'udp://127.0.0.1:5600')
    assert (camera.name, camera.width, camera.height) == ('camera', 640, 360)
    assert camera.endpoint == 'udp://127.0.0.1:5600'
    assert camera_streams(load_vehicle('bluerov2'), '') == ()
