# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Who may open the console: this machine's own pages, and elsewhere who has the token."""

from __future__ import annotations

import hmac
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

__all__ = ['LOOPBACK', 'Gate']

LOOPBACK = ('127.0.0.1', 'localhost', '::1')
COOKIE = 'marine_sim_console'


class Gate:
    """An ASGI application in front of another one.

    On the loopback address the ``Host`` must be a loopback name, which stops a foreign page whose
    name was bound to this machine (DNS rebinding); anywhere a foreign ``Origin`` is turned away,
    which stops a foreign page that opens a WebSocket from the operator's browser. With a token,
    it must come once as ``?token=``; a cookie keeps it.
    """

    def __init__(self, app: Any, token: str) -> None:
        """Guard an application; without a token it must listen on the loopback address only."""
        self._app = app
        self._token = token

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Let a request through, or answer it."""
        if scope['type'] not in ('http', 'websocket'):
            await self._app(scope, receive, send)
            return
        headers = {k.decode('latin-1'): v.decode('latin-1') for k, v in scope['headers']}
        if reason := self._foreign(headers):
            await _refuse(scope, send, reason)
        elif not self._token or _same(_cookie(headers), self._token):
            await self._app(scope, receive, send)
        elif _same(_asked(scope), self._token) and scope['type'] == 'http':
            await self._welcome(scope, send)
        else:
            await _refuse(scope, send, 'open the address with its ?token=... that the node logged')

    def _foreign(self, headers: dict[str, str]) -> str:
        host = headers.get('host', '')
        if not self._token and _name(f'//{host}') not in LOOPBACK:
            return f'host {host[:60]!r} is not this machine'
        origin = headers.get('origin')
        if origin is not None and urlsplit(origin).netloc != host:
            return f'origin {origin[:60]!r} is another site'
        return ''

    async def _welcome(self, scope: Any, send: Any) -> None:
        """Give the token as a cookie, so that it does not stay in the address."""
        cookie = f'{COOKIE}={self._token}; Path=/; HttpOnly; SameSite=Strict'
        await _answer(send, 303, '', [('location', scope['path']), ('set-cookie', cookie)])


def _name(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())


def _cookie(headers: dict[str, str]) -> str:
    try:
        found = SimpleCookie(headers.get('cookie', '')).get(COOKIE)
    except CookieError:
        return ''
    return '' if found is None else found.value


def _asked(scope: Any) -> str:
    return parse_qs(scope.get('query_string', b'').decode('latin-1')).get('token', [''])[0]


async def _refuse(scope: Any, send: Any, reason: str) -> None:
    if scope['type'] == 'websocket':
        await send({'type': 'websocket.close', 'code': 1008, 'reason': reason[:100]})
    else:
        await _answer(send, 403, f'Not allowed: {reason}.\n', [])


async def _answer(send: Any, status: int, text: str, headers: list[tuple[str, str]]) -> None:
    told = [('content-type', 'text/plain; charset=utf-8'), *headers]
    await send(
        {
            'type': 'http.response.start',
            'status': status,
            'headers': [(k.encode('latin-1'), v.encode('latin-1')) for k, v in told],
        }
    )
    await send({'type': 'http.response.body', 'body': text.encode()})
