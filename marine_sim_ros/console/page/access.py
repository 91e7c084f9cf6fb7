# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Who may open the console: who has one of its two links, of which one only watches."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from marine_sim_ros.console.page.attempts import Attempts
from marine_sim_ros.console.page.headers import protected
from marine_sim_ros.console.page.tokens import STEER, VIEW, view_token

__all__ = ['Gate', 'is_loopback', 'may_steer']

COOKIE = 'marine_sim_console'
_RIGHT = 'marine_sim.right'
_CLOSED = 'open the address with its ?token=... that was printed where the console was started'


def is_loopback(host: str | None) -> bool:
    """Return whether a name or an address is one of this machine alone."""
    try:
        return host == 'localhost' or ipaddress.ip_address(host or '').is_loopback
    except ValueError:
        return False


def may_steer(scope: Mapping[str, Any]) -> bool:
    """Return whether a request that the gate let through has the right to steer."""
    return scope.get(_RIGHT) == STEER


class Gate:
    """An ASGI application in front of another one, on the loopback address too.

    The token of a link comes once, as ``?token=`` of the page's address; from then on a cookie
    stands for its right. The cookie is another random number, so that a token cannot be guessed
    by cookies; wrong tokens make their sender wait. A foreign ``Origin`` is turned away, which
    stops a foreign page that opens a WebSocket from the operator's browser, and so is a ``Host``
    that is no loopback name where the console listens there, which stops a name that was bound to
    this machine (DNS rebinding).
    """

    def __init__(self, app: Any, token: str, *, host: str, port: int) -> None:
        """Guard an application that listens on a host and a port; the token steers."""
        self._app = app
        self._tokens = {STEER: token, VIEW: view_token(token)}
        self._cookies = {right: secrets.token_urlsafe(32) for right in self._tokens}
        self._name = f'{COOKIE}_{port}'  # cookies do not tell ports apart
        self._loopback = is_loopback(host)
        self._attempts = Attempts()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Let a request through, or answer it."""
        if scope['type'] not in ('http', 'websocket'):
            await self._app(scope, receive, send)
            return
        if scope['type'] == 'http':
            send = protected(send)
        headers = _headers(scope)
        if reason := self._foreign(headers):
            await _refuse(scope, send, 403, reason)
            return
        right = _match(_cookie(headers, self._name), self._cookies)
        if given := _token(scope):
            address = (scope.get('client') or ('',))[0]
            wait = self._attempts.wait(address)
            named = '' if wait else _match(given, self._tokens)
            if named:
                await self._welcome(headers, send, named)
                return
            if wait and not right:
                reason = f'too many wrong tokens; try again in {wait:.0f} s'
                await _refuse(scope, send, 429, reason, ('retry-after', f'{wait:.0f}'))
                return
            if not wait:
                self._attempts.fail(address)
        if right:
            await self._app({**scope, _RIGHT: right}, receive, send)
        else:
            await _refuse(scope, send, 403, _CLOSED)

    def _foreign(self, headers: Mapping[str, list[str]]) -> str:
        """Return why a request comes from another site, or nothing."""
        hosts, origins = headers.get('host', []), headers.get('origin', [])
        if len(hosts) != 1 or len(origins) > 1:
            return 'expected one Host and at most one Origin'
        host = hosts[0]
        if self._loopback and not is_loopback(_name(f'//{host}')):
            return f'host {host[:60]!r} is not this machine'
        if origins and origins[0] not in (f'http://{host}', f'https://{host}'):
            return f'origin {origins[0][:60]!r} is another site'
        elsewhere = headers.get('sec-fetch-site', [''])[0] in ('cross-site', 'same-site')
        if elsewhere and headers.get('sec-fetch-mode') != ['navigate']:
            return 'the request comes from another site'
        return ''

    async def _welcome(self, headers: Mapping[str, list[str]], send: Any, right: str) -> None:
        """Give the cookie of a right, and show the page without the token in its address."""
        cookie = f'{self._name}={self._cookies[right]}; Path=/; HttpOnly; SameSite=Strict'
        to_page = [('set-cookie', cookie), ('location', '/')]
        if self._loopback and headers.get('sec-fetch-site', ['none']) == ['none']:
            await _answer(send, 303, '', to_page)
            return
        # Of a link in another page, browsers send the cookie only where this page leads on.
        kind = ('content-type', 'text/html; charset=utf-8')
        text = (
            '<!doctype html><meta http-equiv="refresh" content="0;url=/">'
            '<link rel="icon" href="data:,"><a href="/">Open the console</a>\n'
        )
        await _answer(send, 200, text, [to_page[0], kind])


def _headers(scope: Any) -> dict[str, list[str]]:
    result: dict[str, list[str]] = {}
    for name, value in scope['headers']:
        result.setdefault(name.decode('latin-1').lower(), []).append(value.decode('latin-1'))
    return result


def _name(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _match(given: str, known: Mapping[str, str]) -> str:
    """Return the right that a secret gives, or nothing; in constant time."""
    found = [
        r for r, secret in known.items() if hmac.compare_digest(given.encode(), secret.encode())
    ]
    return found[0] if found else ''


def _cookie(headers: Mapping[str, list[str]], name: str) -> str:
    """Return a cookie by its name; other programs of the host may have odd ones beside it."""
    for part in ';'.join(headers.get('cookie', [])).split(';'):
        key, _, value = part.strip().partition('=')
        if key == name:
            return value
    return ''


def _token(scope: Any) -> str:
    """Return the token of the page's own address; no other one takes any."""
    if scope['type'] != 'http' or scope['method'] != 'GET' or scope['path'] != '/':
        return ''
    try:
        query = parse_qs(scope.get('query_string', b'').decode('latin-1'), max_num_fields=10)
    except ValueError:
        return ''
    return query.get('token', [''])[0]


async def _refuse(
    scope: Any, send: Any, status: int, reason: str, *headers: tuple[str, str]
) -> None:
    if scope['type'] == 'websocket':
        await send({'type': 'websocket.close', 'code': 1008, 'reason': reason[:100]})
    else:
        text = ('content-type', 'text/plain; charset=utf-8')
        await _answer(send, status, f'Not allowed: {reason}.\n', [text, *headers])


async def _answer(send: Any, status: int, text: str, headers: list[tuple[str, str]]) -> None:
    await send(
        {
            'type': 'http.response.start',
            'status': status,
            'headers': [(k.encode('latin-1'), v.encode('latin-1')) for k, v in headers],
        }
    )
    await send({'type': 'http.response.body', 'body': text.encode()})
