# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Video by RTP: its packets against RFC 6184 and RFC 3550, and what a receiver decodes."""

import socket
import time

import numpy as np
import pytest
from processor import PATIENCE, slowed

from marine_sim_ros.core.errors import MissingPackageError, ParameterError
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sensors.addresses import next_address, video_address
from marine_sim_ros.sensors.camera.video_stream import VideoStream, even_edges
from marine_sim_ros.sim.fleet import FLEETS, fleet_runs
from marine_sim_ros.sim.options import RunOptions

pytestmark = pytest.mark.long

SDP = """v=0
o=- 0 0 IN IP4 127.0.0.1
s=camera
c=IN IP4 127.0.0.1
t=0 0
m=video {port} RTP/AVP 96
a=rtpmap:96 H264/90000
a=fmtp:96 packetization-mode=1
"""
STAP_A, FU_A, SPS, PPS, IDR = 24, 28, 7, 8, 5


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('udp://127.0.0.1:5600', ('udp', '127.0.0.1', 5600)),
        ('udp://rov.local', ('udp', 'rov.local', 5600)),
        ('udp://[::1]:5601', ('udp', '::1', 5601)),
        ('rtsp://127.0.0.1', ('rtsp', '127.0.0.1', 8554)),
    ],
)
def test_addresses(text, expected):
    assert video_address(text) == expected


@pytest.mark.parametrize(
    'text', ['127.0.0.1:5600', 'http://a:1', 'udp://', 'udp://a:70000', 'udp://a:x', 'udp://a:1/b']
)
def test_what_is_no_address_is_told(text):
    with pytest.raises(ParameterError, match=r'expected udp://HOST:PORT'):
        video_address(text)


def test_ports_end():
    assert next_address('udp://[::1]:5600', 3) == 'udp://[::1]:5603'
    assert next_address('rtsp://127.0.0.1:8554', 1) == 'rtsp://127.0.0.1:8555'
    with pytest.raises(ParameterError, match='up to 65535'):
        next_address('udp://127.0.0.1:65535', 1)


def sent(options):
    return {
        f'{s.namespace}/{s.name}': s.parameters['video']
        for s in node_specs(options)
        if 'video' in s.parameters
    }


def test_each_camera_has_its_port():
    plain = RunOptions(vehicle_arguments=('camera:=true',))
    assert sent(plain) == {}
    one = RunOptions(vehicle_arguments=('camera:=true',), video='udp://127.0.0.1:5600')
    assert sent(one) == {'/bluerov2/camera': 'udp://127.0.0.1:5600'}
    with pytest.raises(ParameterError, match='bluerov2 has no camera; expected'):
        node_specs(RunOptions(video='udp://127.0.0.1:5600'))


def test_vehicles_of_a_fleet_have_ports_of_their_own(tmp_path):
    text = 'vehicles:\n' + ''.join(
        f'  - {{name: {n}, vehicle: bluerov2, arguments: {{camera: true}}}}\n' for n in 'ab'
    )
    path = tmp_path / 'two.yaml'
    path.write_text(text)
    options = RunOptions(video='udp://127.0.0.1:5600', blueos='127.0.0.1:8088')
    runs = fleet_runs(FLEETS.load(str(path)), options)
    assert [run.blueos for run in runs] == ['127.0.0.1:8088', '']  # of the whole fleet
    assert [run.video for run in runs] == ['udp://127.0.0.1:5600', 'udp://127.0.0.1:5610']


def test_without_the_library_one_line_says_how_to_get_it(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, 'av', None)
    with pytest.raises(MissingPackageError, match='pip install av'):
        VideoStream(('127.0.0.1', 5600), print)


def test_odd_edges_are_cut():
    assert even_edges(np.zeros((5, 7, 3), np.uint8)).shape == (4, 6, 3)


def units(packet):
    """Return the types of the NAL units that begin in a packet, RFC 6184, section 5.2."""
    kind, body = packet[12] & 31, packet[12:]
    if kind == FU_A:
        return [body[1] & 31] if body[1] & 128 else []
    if kind != STAP_A:
        return [kind]
    result, at = [], 1
    while at < len(body):
        result.append(body[at + 2] & 31)
        at += 2 + int.from_bytes(body[at : at + 2], 'big')
    return result


@pytest.fixture
def receiver():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 21)
        found.bind(('127.0.0.1', 0))
        found.settimeout(0.5)
        yield found


def received(receiver, seconds):
    """Return packets, and when each came."""
    result, stop = [], time.monotonic() + seconds
    while time.monotonic() < stop:
        try:
            result.append((receiver.recv(65536), time.monotonic()))
        except TimeoutError:
            continue
    return result


def unpacked(packets):
    """Return the NAL units of packets in the byte stream format, RFC 6184, sections 5.6 to 5.8."""
    result = b''
    for packet in packets:
        kind, body = packet[12] & 31, packet[12:]
        if kind == FU_A:
            begins = bytes([body[0] & 224 | body[1] & 31]) if body[1] & 128 else b''
            result += (b'\0\0\0\1' + begins if begins else b'') + body[2:]
            continue
        at = 1
        while kind == STAP_A and at < len(body):
            size = int.from_bytes(body[at : at + 2], 'big')
            result += b'\0\0\0\1' + body[at + 2 : at + 2 + size]
            at += 2 + size
        if kind != STAP_A:
            result += b'\0\0\0\1' + body
    return result


def test_packets_are_those_of_the_standards(receiver):
    av = pytest.importorskip('av')
    complaints = []
    stream = VideoStream(receiver.getsockname(), complaints.append, rate=12.5)
    rng, stop = np.random.default_rng(1), time.monotonic() + 3.2
    try:
        while time.monotonic() < stop:
            stream.show(rng.integers(0, 255, (121, 160, 3), np.uint8))
            time.sleep(0.05)
        found = received(receiver, 0.1)
        quiet = received(receiver, 2.3)  # the last picture again, as of a paused run
    finally:
        stream.close()
    assert not complaints
    packets = [packet for packet, _ in found]
    assert {packet[0] for packet in packets} == {128}  # version 2, no padding, no extension
    assert {packet[1] & 127 for packet in packets} == {96}
    assert max(map(len, packets)) <= 1200
    assert len({packet[8:12] for packet in packets}) == 1  # one source
    numbers = np.array([int.from_bytes(p[2:4], 'big') for p in packets])
    assert np.all(np.diff(numbers) % 65536 == 1)
    stamps = np.array([int.from_bytes(p[4:8], 'big') for p in packets])
    ends = np.array([bool(p[1] & 128) for p in packets])
    # A picture has one stamp, and its last packet the marker.
    assert np.array_equal(np.diff(stamps) != 0, ends[:-1])
    begun = [kind for packet in packets for kind in units(packet)]
    assert set(begun) >= {SPS, PPS, IDR, 1}
    keys = [s for p, s in zip(packets, stamps, strict=True) if IDR in units(p)]
    for i, packet in enumerate(packets):
        if IDR in units(packet):
            before = [k for p in packets[max(i - 3, 0) : i] for k in units(p)]
            assert {SPS, PPS} <= set(before)
    # One each second of the clock of 90 kHz; the machine may be busy.
    apart = np.diff(keys) / 90_000
    assert 3 <= len(keys) <= 4
    assert np.all((apart >= 0.99) & (apart < 1.5))
    decoder = av.CodecContext.create('h264', 'r')
    decoder.decode(av.Packet(unpacked(packets[: int(np.argmax(ends)) + 1])))
    assert (decoder.width, decoder.height, decoder.framerate) == (160, 120, 12.5)
    again = [kind for packet, _ in quiet for kind in units(packet)]
    assert again.count(IDR) == 2
    assert again.count(1) == 0


@pytest.mark.clock
def test_nobody_listens_and_nobody_waits():
    pytest.importorskip('av')
    complaints = []
    stream = VideoStream(('no.such.host.invalid', 5600), complaints.append)
    try:
        start = time.monotonic()
        for _ in range(100):
            stream.show(np.zeros((480, 640, 3), np.uint8))
        assert time.monotonic() - start < slowed(0.5)
        while not complaints and time.monotonic() - start < PATIENCE:
            time.sleep(0.05)
    finally:
        stream.close()
    assert 'udp://no.such.host.invalid:5600' in complaints[0]


MARKER = """
water: {kind: fresh}
pool: {length: 12.0, width: 8.0, depth: 4.0, material: concrete}
obstacles:
  - {name: panel, shape: box, size: [0.02, 0.7, 0.7], position: [2.0, 0.0, -0.45],
     rpy: [0, 0, 3.1415927], material: white, marker: {family: tag36h11, id: 3, size: 0.5}}
"""
"""Before a vehicle that floats up from its start."""


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(('127.0.0.1', 0))
        return one.getsockname()[1]


@pytest.mark.ros
@pytest.mark.timeout(400)
@pytest.mark.usefixtures('renderer')
def test_a_receiver_sees_the_marker_that_the_camera_of_a_run_sees(processes, tmp_path):
    av, cv2 = pytest.importorskip('av'), pytest.importorskip('cv2')
    port = free_port()
    sdp = tmp_path / 'camera.sdp'
    sdp.write_text(SDP.format(port=port))
    environment = tmp_path / 'marker.yaml'
    environment.write_text(MARKER)
    run = processes.marine_sim(
        'run',
        'bluerov2',
        '--set',
        'camera:=true',
        '--environment',
        environment,
        '--composed',
        '--video',
        f'udp://127.0.0.1:{port}',
    )
    detector = cv2.aruco.ArucoDetector(
        cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_APRILTAG_36h11)
    )
    options = {'protocol_whitelist': 'file,udp,rtp', 'fflags': 'nobuffer'}
    times, sizes, seen = [], set(), []
    with av.open(str(sdp), options=options, timeout=(90.0, 30.0)) as container:
        for frame in container.decode(video=0):
            image = frame.to_ndarray(format='gray')
            if frame.pts is None:  # the first: its packet came before the decoder was known
                continue
            times.append(float(frame.time))
            sizes.add(image.shape)
            _, ids, _ = detector.detectMarkers(image)
            seen.append([] if ids is None else ids.reshape(-1).tolist())
            if len(times) >= 30:
                break
    assert run.poll() is None
    assert sizes == {(360, 640)}
    assert sum(bool(found) for found in seen) > 25
    assert {number for found in seen for number in found} == {3}
    apart = np.diff(times)
    # 15 pictures a second of the run's time; fewer where the machine cannot draw them.
    assert np.all(apart > 0)
    assert 1.0 < 1 / np.median(apart) < 25.0
