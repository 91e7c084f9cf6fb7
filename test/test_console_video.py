# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The console shows what a camera sees: a stream of JPEG, which nobody sends unwatched."""

import asyncio
import socket
import time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from processor import PATIENCE

pytest.importorskip('nicegui')


def parts_of(data):
    """Return the JPEG files of a multipart body, as RFC 2046 separates them."""
    result = []
    for part in data.split(b'--picture\r\n')[1:]:
        head, _, body = part.partition(b'\r\n\r\n')
        if body.endswith(b'\r\n'):
            length = int(head.split(b'Content-Length: ')[1].split(b'\r\n')[0])
            assert len(body) == length + 2
            result.append(body[:-2])
    return result


def test_a_server_that_is_made_has_started():
    """While it starts, nicegui looks at all objects, which disturbs other threads."""
    from contextlib import asynccontextmanager

    from fastapi import FastAPI

    from marine_sim_ros.console.page.server import Server

    started = []

    @asynccontextmanager
    async def start(app):
        await asyncio.sleep(0.2)
        started.append(app)
        yield

    app = FastAPI(lifespan=start)
    Server(app, '127.0.0.1', 0).close()
    assert started == [app]


def test_a_stream_has_the_newest_pictures_and_tells_who_is_watched():
    from fastapi import FastAPI

    from marine_sim_ros.console.page.access import cookie_of
    from marine_sim_ros.console.page.server import Server, add_video_streams
    from marine_sim_ros.console.requests import Session

    session, app = Session({'videos': ['camera']}), FastAPI()
    add_video_streams(app, session, 50.0)
    server = Server(app, '127.0.0.1', 0)
    port = int(server.address.split(':')[2].split('/')[0])
    cookie = cookie_of(server.view_address)
    try:
        assert session.watched == ()
        missing = Request(f'http://127.0.0.1:{port}/video/periscope')
        missing.add_header('Cookie', cookie)
        with pytest.raises(HTTPError, match='404'):
            urlopen(missing, timeout=5)
        with socket.create_connection(('127.0.0.1', port), timeout=5) as page:
            page.sendall(
                f'GET /video/camera HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n'
                f'Accept-Encoding: gzip\r\nCookie: {cookie}\r\n\r\n'.encode()
            )
            seen, sent = b'', []
            for i in range(1, 4):
                until(lambda: session.watched == ('camera',))
                sent.append(bytes([i]) * (1000 * i))
                session.videos = {'camera': (i, sent[-1])}
                while len(parts_of(seen)) < i:
                    seen += page.recv(65536)
            assert b'multipart/x-mixed-replace; boundary=picture' in seen
            assert parts_of(seen) == sent
        until(lambda: session.watched == ())
    finally:
        server.close()


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
