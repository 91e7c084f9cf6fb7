# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""RTSP of a camera: FFmpeg's client (PyAV), wrong requests, floods, slow readers."""

import re
import socket
import threading
import time
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip('av')

import av

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.sensors.camera import rtsp
from marine_sim_ros.sensors.camera.rtsp import MAX_CLIENTS, SDP, RtspStream

COLOUR = (200, 60, 20)


@pytest.fixture
def stream():
    warnings = []
    result = RtspStream(('127.0.0.1', 0), warnings.append)
    result.warnings = warnings
    yield result
    result.close()


@pytest.fixture
def shown(stream):
    """Show pictures of one colour, 25 a second, as a node does; return the stream."""
    image = np.full((120, 160, 3), COLOUR, np.uint8)
    ended = threading.Event()

    def show():
        while not ended.wait(0.04):
            stream.show(image)

    thread = threading.Thread(target=show)
    thread.start()
    yield stream
    ended.set()
    thread.join()


def ask(sock, method, *fields, number=1, path='/'):
    """Send a request and return status and text of its answer."""
    lines = [f'{method} rtsp://127.0.0.1{path} RTSP/1.0', f'CSeq: {number}', *fields]
    sock.sendall('\r\n'.join([*lines, '', '']).encode())
    return answer(sock)


def answer(sock):
    sock.settimeout(20.0)
    text = b''
    while b'\r\n\r\n' not in text:
        text += (chunk := sock.recv(1))
        assert chunk, text
    if size := re.search(rb'Content-Length: (\d+)', text):
        while len(text.partition(b'\r\n\r\n')[2]) < int(size[1]):
            text += sock.recv(1)
    return int(text.split()[1]), text.decode()


def connect(stream):
    return socket.create_connection(stream.address)


@pytest.mark.parametrize('transport', ['udp', 'tcp'])
def test_ffmpeg_shows_the_pictures(shown, transport):
    with av.open(
        f'rtsp://127.0.0.1:{shown.address[1]}/camera',
        options={'rtsp_transport': transport},
        timeout=30.0,
    ) as container:
        pictures = container.decode(video=0)
        frame = [next(pictures) for _ in range(10)][-1]
        image = frame.to_ndarray(format='rgb24')
    assert image.shape == (120, 160, 3)
    assert image.reshape(-1, 3).mean(axis=0) == pytest.approx(COLOUR, abs=12)
    assert not shown.warnings


def test_nothing_is_encoded_while_nobody_watches(shown):
    time.sleep(0.2)  # some pictures
    assert shown._container is None
    with connect(shown) as sock:
        status, text = ask(sock, 'SETUP', 'Transport: RTP/AVP/TCP;unicast;interleaved=4-5')
        assert status == 200
        session = re.search('Session: (.*)\r', text)[1]
        assert 'interleaved=4-5' in text
        status, _ = ask(sock, 'PLAY', f'Session: {session}')
        assert status == 200
        head = sock.recv(4, socket.MSG_WAITALL)
        assert head[:2] == b'$\x04'
        packet = sock.recv(int.from_bytes(head[2:], 'big'), socket.MSG_WAITALL)
        assert packet[:2] in (b'\x80\x60', b'\x80\xe0')  # RTP 2, payload type 96 (and marker)
    while shown.is_watched:
        time.sleep(0.01)


def test_requests_are_answered_as_rfc_2326_has_it(stream):
    with connect(stream) as sock:
        assert ask(sock, 'OPTIONS', number=7) == (
            200,
            'RTSP/1.0 200 OK\r\nCSeq: 7\r\nPublic: OPTIONS, DESCRIBE, SETUP, PLAY, PAUSE, '
            'TEARDOWN, GET_PARAMETER\r\n\r\n',
        )
        status, text = ask(sock, 'DESCRIBE')
        assert (status, text.partition('\r\n\r\n')[2]) == (200, SDP)
        assert ask(sock, 'RECORD')[0] == 405
        assert ask(sock, 'PLAY', 'Session: none')[0] == 454
        assert ask(sock, 'SETUP', 'Transport: RTP/AVP;multicast;client_port=5000-5001')[0] == 461
        assert ask(sock, 'SETUP', 'Transport: RTP/AVP;unicast;client_port=80-81')[0] == 461
        assert ask(sock, 'GET_PARAMETER', 'Content-Length: 0')[0] == 200
        sock.sendall(b'$\x01\x00\x04abcd')  # RTCP is taken and ignored
        status, text = ask(sock, 'SETUP', 'Transport: RTP/AVP;unicast;client_port=5000-5001')
        session = re.search('Session: (.*)\r', text)[1]
        assert re.search(r'client_port=5000-5001;server_port=\d+-\d+', text)
        assert ask(sock, 'TEARDOWN', f'Session: {session}')[0] == 200
        assert ask(sock, 'PLAY', f'Session: {session}')[0] == 454
        sock.sendall(b'what is this\r\n\r\n')
        assert answer(sock)[0] == 505
        sock.sendall(b'x\r\n\r\n')
        assert answer(sock)[0] == 400


@settings(max_examples=40, deadline=None)
@given(st.lists(st.binary(max_size=300), max_size=6))
def test_garbage_ends_nothing(chunks):
    stream = RtspStream(('127.0.0.1', 0), lambda text: None)
    try:
        with connect(stream) as sock:
            try:
                for chunk in chunks:
                    sock.sendall(chunk)
            except OSError:
                pass
        with connect(stream) as sock:
            assert ask(sock, 'OPTIONS')[0] == 200
    finally:
        stream.close()


def test_a_flood_without_an_end_is_disconnected(stream):
    with connect(stream) as sock, suppress(OSError):
        while not stream.warnings:
            sock.sendall(b'x' * 1000)
    assert 'that are no request' in stream.warnings[0]
    with connect(stream) as sock:
        assert ask(sock, 'OPTIONS')[0] == 200


def test_one_that_asks_and_reads_no_answer_is_disconnected(stream, monkeypatch):
    monkeypatch.setattr(rtsp, 'MAX_UNSENT', 4096)
    with connect(stream) as sock, suppress(OSError):
        sock.settimeout(20.0)
        while not stream.warnings:
            sock.sendall(b'OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n' * 100)
    assert 'reads no answer' in stream.warnings[0]
    with connect(stream) as sock:
        assert ask(sock, 'OPTIONS')[0] == 200


def test_one_that_reads_nothing_hinders_no_other(stream):
    noise = np.random.default_rng(1).integers(0, 255, (240, 320, 3), np.uint8)
    with connect(stream) as slow, connect(stream) as quick:
        for sock in (slow, quick):
            _, text = ask(sock, 'SETUP', 'Transport: RTP/AVP/TCP;unicast;interleaved=0-1')
            session = re.search('Session: (.*)\r', text)[1]
            assert ask(sock, 'PLAY', f'Session: {session}')[0] == 200
        quick.settimeout(20.0)
        for _ in range(60):
            stream.show(noise)
            head = quick.recv(4, socket.MSG_WAITALL)
            assert head[:1] == b'$'
            quick.recv(int.from_bytes(head[2:], 'big'), socket.MSG_WAITALL)


def test_clients_and_ports_are_bounded(stream):
    socks = [connect(stream) for _ in range(MAX_CLIENTS)]
    for sock in socks:
        assert ask(sock, 'OPTIONS')[0] == 200
    with connect(stream) as one_more:
        one_more.settimeout(20.0)
        assert one_more.recv(1) == b''
    assert 'refused' in stream.warnings[0]
    for sock in socks:
        sock.close()
    with pytest.raises(ParameterError, match='expected a free port'):
        RtspStream(stream.address, print)
