# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Serves the pages from a thread of their own; whoever starts it never waits for a page."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import socket
import threading
from collections.abc import Callable
from typing import Any

import uvicorn
from fastapi import FastAPI, Response, WebSocket, WebSocketDisconnect
from fastapi.middleware.gzip import GZipMiddleware
from nicegui import ui

from marine_sim_ros.console.page.access import LOOPBACK, Gate
from marine_sim_ros.console.page.listening import listen
from marine_sim_ros.console.session import Session
from marine_sim_ros.core.errors import ParameterError

__all__ = ['Server', 'application', 'picture_response', 'wire']

LARGEST = 2**16
"""Bytes of a message from a page."""
PATIENCE = 60.0
"""s until a page that was cut off is made anew. The operator loses control long before; but a page
of a busy machine, where signs of life are late, shall not start from nothing."""


class Server:
    """A web server in a thread of its own.

    Attributes:
        address: address to open in a browser, with the token where there is one.
    """

    def __init__(self, app: FastAPI, host: str, port: int, token: str = '') -> None:
        """Listen; beyond this machine only with a token, which is made where none is given.

        Raises:
            ParameterError: the address cannot be listened on.
        """
        if host not in LOOPBACK:
            token = token or secrets.token_urlsafe(24)
        self._socket = listen(host, port)
        port = self._socket.getsockname()[1]
        shown = socket.gethostname() if host in ('0.0.0.0', '::') else host
        shown = f'[{shown}]' if ':' in shown else shown
        self.address = f'http://{shown}:{port}/' + (f'?token={token}' if token else '')
        config = uvicorn.Config(
            Gate(app, token),
            log_level='warning',
            access_log=False,
            ws_max_size=LARGEST,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={'sockets': [self._socket]}, daemon=True
        )
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether it serves."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Stop serving."""
        self._server.should_exit = True
        self._thread.join(2.0)


def application(page: Callable[[], None], title: str) -> FastAPI:
    """Return a web application without any route but its one page, which ``finish`` mounts."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(GZipMiddleware, minimum_size=2000)
    ui.page('/', title=title)(page)
    return app


def finish(app: FastAPI) -> FastAPI:
    """Mount the pages below an application's own routes."""
    ui.run_with(app, show_welcome_message=False, tailwind=False, reconnect_timeout=PATIENCE)
    return app


def picture_response(picture: bytes | None) -> Response:
    """Return the answer of a picture of a sonar: one byte for each pixel, or nothing."""
    if picture is None:
        return Response(status_code=204)
    return Response(picture, media_type='application/octet-stream')


def wire(app: FastAPI, session: Session, rate: float) -> None:
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

    @app.websocket('/wire')
    async def connect(socket: WebSocket, page: str) -> None:
        await socket.accept()
        sender = asyncio.create_task(_send(socket, session, page, 1 / rate))
        try:
            while True:
                if reason := _take(session, page, await socket.receive_text()):
                    await socket.send_text(json.dumps({'error': reason}))
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            sender.cancel()
            session.lose(page)


def _take(session: Session, page: str, text: str) -> str:
    try:
        return session.refuse(json.loads(text), page)
    except (ValueError, RecursionError):
        return 'not JSON'
    except ParameterError as error:
        return str(error)


async def _send(socket: WebSocket, session: Session, page: str, period: float) -> None:
    """Send new telemetry frames; a slow page misses some, and delays no other page."""
    sent = None
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        while True:
            frame = session.frame
            state = (id(frame), session.lease.page == page)
            if frame and state != sent:
                mine = json.dumps(state[1])
                await socket.send_text(f'{{"mine": {mine}, "frame": {json.dumps(frame)}}}')
                sent = state
            await asyncio.sleep(period)
