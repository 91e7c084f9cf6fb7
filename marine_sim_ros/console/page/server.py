# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Server of the pages in its own thread, and camera pictures as a stream of JPEG."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Annotated, Any

import uvicorn
from fastapi import FastAPI, Query, Response, WebSocket, WebSocketDisconnect
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import PlainTextResponse, StreamingResponse
from nicegui import ui

from marine_sim_ros.console.page.access import Gate, PagePolicy, may_steer, right_of
from marine_sim_ros.console.page.links import (
    INSTRUCT,
    STEER,
    VIEW,
    instructor_token,
    listen,
    make_token,
    view_token,
)
from marine_sim_ros.console.requests import Session, page_name
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.progress import own_line_text

__all__ = ['Server', 'add_video_streams', 'add_web_socket', 'application', 'picture_response']


# Server of the pages in a thread of its own; the node never waits for a page.

MAX_MESSAGE_SIZE = 2**16
"""Bytes of a message from a page."""
MESSAGE_RATE, BURST = 100.0, 200.0
"""Messages of a page that are read: a second, and at once. A page sends some twenty a second."""
WATCHERS = 64
"""Pages that only watch, at once."""
RECONNECT_TIMEOUT = 120.0
"""s until a page that was cut off is made anew. The operator loses control long before; but a page
of a busy machine, where signs of life are late, shall not start from nothing."""


class Server:
    """A web server in a thread of its own.

    Attributes:
        address: address to open in a browser, with the token that steers.
        view_address: address with the token that only watches.
        instructor_address: address with the token of an instructor.
    """

    def __init__(self, app: FastAPI, host: str, port: int, token: str = '') -> None:
        """Listen; a token is made where none is given.

        Raises:
            ParameterError: the address cannot be listened on.
        """
        token = token or make_token()
        self._socket = listen(host, port)
        port = self._socket.getsockname()[1]
        shown = socket.gethostname() if host in ('0.0.0.0', '::') else host
        shown = f'[{shown}]' if ':' in shown else shown
        self.address, self.view_address, self.instructor_address = (
            f'http://{shown}:{port}/?token={one}'
            for one in (token, view_token(token), instructor_token(token))
        )
        config = uvicorn.Config(
            Gate(app, token, host=host, port=port),
            log_level='warning',
            access_log=False,
            ws_max_size=MAX_MESSAGE_SIZE,
            ws_ping_timeout=RECONNECT_TIMEOUT,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={'sockets': [self._socket]}, daemon=True
        )
        self._thread.start()
        # While it starts, nicegui goes through all objects of the process, which disturbs a thread
        # that makes a tuple at that moment (SystemError).
        while not self._server.started and self.is_alive:
            time.sleep(0.01)

    @property
    def is_alive(self) -> bool:
        """Whether it serves."""
        return self._thread.is_alive()

    def announce(self, vehicle: str) -> None:
        """Write the links, and whose they are, to standard output.

        Not to the log: /rosout gives every line to all machines, and to who comes later.
        """
        links = {
            'console at': self.address,
            'to watch only:': self.view_address,
            'to instruct:': self.instructor_address,
        }
        text = ''.join(f'{what} {link} ({vehicle})\n' for what, link in links.items())
        sys.stdout.write(own_line_text(text, sys.stdout))
        sys.stdout.flush()

    def close(self) -> None:
        """Stop serving."""
        self._server.should_exit = True
        self._thread.join(2.0)


def application(page: Callable[[], None], title: str) -> FastAPI:
    """Return a web application without any route but its one page, which ``finish`` mounts."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(PagePolicy)
    app.add_middleware(GZipMiddleware, minimum_size=2000)
    for kind in (RequestValidationError, ParameterError):
        app.add_exception_handler(kind, _bad_request)
    ui.page('/', title=title)(page)
    return app


def _bad_request(_: Any, error: Exception) -> Response:
    """Return one line with what is wrong, of the first parameter that is."""
    text = str(error)
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        text = f'{first["loc"][-1]}: {first["msg"]}'
    return PlainTextResponse(f'{text}\n', status_code=400)


def mount_pages(app: FastAPI) -> FastAPI:
    """Mount the pages below an application's own routes."""
    ui.run_with(
        app,
        show_welcome_message=False,
        language='en-US',
        tailwind=False,
        reconnect_timeout=RECONNECT_TIMEOUT,
        gzip_middleware_factory=None,
    )
    return app


def picture_response(picture: bytes | None) -> Response:
    """Return the answer of a picture of a sonar: one byte for each pixel, or nothing."""
    if picture is None:
        return Response(status_code=204)
    return Response(picture, media_type='application/octet-stream')


def add_web_socket(app: FastAPI, session: Session, rate: float) -> None:
    """Add the web socket: telemetry frames to the pages at a rate (1/s), requests from them."""

    @app.get('/scenery')
    def scenery() -> dict[str, Any]:
        return session.scenery

    @app.get('/history')
    def history() -> list[dict[str, Any]]:
        return list(session.history)

    @app.get('/sonar/{name}')
    def picture(name: str) -> Response:
        """Return the newest picture of a sonar."""
        return picture_response(session.pictures.get(name))

    @app.websocket('/alive')
    async def heartbeats(socket: WebSocket, page: Annotated[str, Query(max_length=64)]) -> None:
        """Take the signs of life that a page's worker sends, and tell it how the run ended."""
        if not may_steer(socket.scope):
            await socket.close(1008, 'a page that only watches needs none')
            return
        await socket.accept()
        await _serve(socket, session, page, _send_end(socket, session, 1 / rate), right=STEER)
        if session.ended:
            session.listeners.discard(page)

    watchers: set[WebSocket] = set()

    @app.websocket('/wire')
    async def connect(socket: WebSocket, page: Annotated[str, Query(max_length=64)]) -> None:
        right = right_of(socket.scope)
        await socket.accept()
        page = page_name(page, right)
        if right == VIEW:
            if len(watchers) >= WATCHERS:
                await socket.close(1013, f'{WATCHERS} pages watch already')
                return
            watchers.add(socket)
        try:
            with _noted(session, page, right):
                sender = _send(socket, session, page, 1 / rate)
                await _serve(socket, session, page, sender, right=right)
        finally:
            watchers.discard(socket)


@contextlib.contextmanager
def _noted(session: Session, page: str, right: str) -> Iterator[None]:
    """Have a page among those that are connected."""
    session.listeners.add(page)
    if right == INSTRUCT:
        session.instructors |= {page}
    try:
        yield
    finally:
        session.instructors -= {page}
        session.listeners.discard(page)
        session.drop_page(page)


async def _serve(
    socket: WebSocket,
    session: Session,
    page: str,
    sender: Coroutine[Any, Any, None],
    *,
    right: str,
) -> None:
    """Send to a page and take its requests until it goes away."""
    sending = asyncio.create_task(sender)
    try:
        await _receive(socket, session, page, right=right)
    except (WebSocketDisconnect, RuntimeError, KeyError):  # KeyError: a message of bytes
        pass
    finally:
        sending.cancel()


async def _receive(socket: WebSocket, session: Session, page: str, *, right: str) -> None:
    """Take the requests of a page; one that floods is read more slowly, and delays no other."""
    allowance, then = BURST, time.monotonic()
    while True:
        text = await socket.receive_text()
        now = time.monotonic()
        allowance = min(BURST, allowance + MESSAGE_RATE * (now - then)) - 1.0
        then = now
        if allowance < 0.0:
            await asyncio.sleep(-allowance / MESSAGE_RATE)
        if reason := _take(session, page, text, right=right):
            await socket.send_text(json.dumps({'error': reason}))


def _take(session: Session, page: str, text: str, *, right: str) -> str:
    try:
        data = json.loads(text, parse_constant=_no_number)
        return session.refuse(data, page, right=right)
    except (ValueError, RecursionError):
        return 'not JSON'
    except ParameterError as error:
        return str(error)


def _no_number(name: str) -> None:
    """Refuse NaN and infinities, which JSON does not have."""
    raise ValueError(name)


async def _send_end(socket: WebSocket, session: Session, period: float) -> None:
    """Send how the run ended, once it has."""
    while not session.ended:
        await asyncio.sleep(period)
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        await socket.send_text(json.dumps({'ended': session.ended}))


async def _send(socket: WebSocket, session: Session, page: str, period: float) -> None:
    """Send new telemetry frames; a slow page misses some, and delays no other page."""
    sent, told = None, ''
    loop, changed = asyncio.get_running_loop(), asyncio.Event()

    def announce() -> None:
        with contextlib.suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(changed.set)

    with contextlib.suppress(WebSocketDisconnect, RuntimeError), _announced(session, announce):
        while True:
            changed.clear()
            if session.ended != told:
                told = session.ended
                await socket.send_text(json.dumps({'ended': told}))
            frame = session.frame
            state = (id(frame), session.lease.page == page)
            if frame and state != sent:
                mine = json.dumps(state[1])
                await socket.send_text(f'{{"mine": {mine}, "frame": {json.dumps(frame)}}}')
                sent = state
            soon = loop.call_later(period, changed.set)  # for the end of the run, and who steers
            await changed.wait()
            soon.cancel()


@contextlib.contextmanager
def _announced(session: Session, announce: Callable[[], object]) -> Iterator[None]:
    """Have new frames announced to a function."""
    session.announce = (*session.announce, announce)
    try:
        yield
    finally:
        session.announce = tuple(one for one in session.announce if one is not announce)


# Camera pictures as a stream of JPEG: ``multipart/x-mixed-replace``, RFC 2046.

_BOUNDARY = b'--picture\r\n'


def add_video_streams(app: FastAPI, session: Session, rate: float) -> None:
    """Add the streams; a camera is watched while one of its streams is open.

    Args:
        app: the pages' application.
        session: has the pictures, and is told which cameras are watched.
        rate: most pictures a second.
    """

    async def parts(name: str) -> AsyncIterator[bytes]:
        session.watched = (*session.watched, name)
        try:
            yield _BOUNDARY
            shown = 0
            while True:
                number, picture = session.videos.get(name, (0, b''))
                if number != shown and picture:
                    shown = number
                    # With the boundary behind it, so that a browser does not wait for the next.
                    head = f'Content-Type: image/jpeg\r\nContent-Length: {len(picture)}\r\n\r\n'
                    yield head.encode() + picture + b'\r\n' + _BOUNDARY
                await asyncio.sleep(1 / rate)
        finally:
            left = list(session.watched)
            left.remove(name)
            session.watched = tuple(left)

    @app.get('/video/{name}')
    def stream(name: str) -> Response:
        """Return the stream of a camera."""
        if name not in session.scenery.get('videos', ()):
            return Response(status_code=404)
        # What is compressed already is not compressed again, which would hold it back.
        headers = {'Content-Encoding': 'identity', 'Cache-Control': 'no-store'}
        kind = 'multipart/x-mixed-replace; boundary=picture'
        return StreamingResponse(parts(name), media_type=kind, headers=headers)
