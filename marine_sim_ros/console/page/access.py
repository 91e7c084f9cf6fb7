# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Access control of the pages: rights of a link, limit of wrong tokens, headers, cookie."""

from __future__ import annotations

import hmac
import ipaddress
import os
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from html import escape
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from marine_sim_ros.console.page.links import INSTRUCT, STEER, VIEW, instructor_token, view_token
from marine_sim_ros.core.errors import MarineSimError

__all__ = ['Gate', 'PagePolicy', 'cookie_of', 'may_steer', 'opening_file', 'right_of']


# Limit of wrong tokens per address: each one doubles the wait for the next.

FREE = 5
"""Wrong tokens without a wait."""
MAX_WAIT = 30.0
"""s of the longest wait."""
FORGOTTEN = 600.0
"""s after the last wrong token until an address starts anew."""
ADDRESSES = 256
"""Addresses that are remembered; the oldest is dropped for a new one."""


class Attempts:
    """Wrong tokens of each address."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start without any; the clock counts seconds."""
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def wait(self, address: str) -> float:
        """Return the delay before the next token of an address is checked, s."""
        count, last = self._wrong.get(address, (0, 0.0))
        if count < FREE:
            return 0.0
        pause = min(MAX_WAIT, 2.0 ** (count - FREE))
        return max(0.0, last + pause - self._clock())

    def fail(self, address: str) -> None:
        """Note a wrong token."""
        now = self._clock()
        count, last = self._wrong.pop(address, (0, now))
        self._wrong[address] = (1 if now - last > FORGOTTEN else count + 1, now)
        while len(self._wrong) > ADDRESSES:
            self._wrong.popitem(last=False)


# Headers of every response: own scripts only, no frames, no guessed types.

_ALWAYS = {
    b'x-frame-options': b'DENY',
    b'x-content-type-options': b'nosniff',
    b'referrer-policy': b'no-referrer',
    b'cross-origin-resource-policy': b'same-origin',
}
_DEFAULT = {
    b'cache-control': b'no-store',
    b'content-security-policy': b"default-src 'none'; connect-src 'self'; frame-ancestors 'none'",
}
"""Headers of answers that have none of their own. A worker has the policy of its script."""
_PAGE = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; media-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Policy of a page. Vue compiles templates in the browser, which needs ``unsafe-eval``; handlers
in attributes, such as ``onerror``, and scripts without the nonce do not run."""
_SCRIPT = re.compile(rb'<script(?=[\s>])')


def protect_answers(send: Any) -> Any:
    """Return a ``send`` of ASGI that adds the headers to each answer."""

    async def call(message: Any) -> None:
        if message['type'] == 'http.response.start':
            own = [
                (k.lower(), v) for k, v in message.get('headers', ()) if k.lower() not in _ALWAYS
            ]
            missing = {k: v for k, v in _DEFAULT.items() if k not in dict(own)}
            message = {**message, 'headers': [*own, *_ALWAYS.items(), *missing.items()]}
        await send(message)

    return call


class PagePolicy:
    """An ASGI middleware: the scripts of each page get a nonce, and the page its policy.

    It sees pages before they are compressed.
    """

    def __init__(self, app: Any) -> None:
        """Wrap an application."""
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        if scope['type'] != 'http':
            await self._app(scope, receive, send)
            return
        start: dict[str, Any] = {}
        body = bytearray()

        async def page(message: Any) -> None:
            if message['type'] == 'http.response.start' and _is_page(message):
                start.update(message)
            elif not start:
                await send(message)
            else:
                body.extend(message.get('body', b''))
                if not message.get('more_body'):
                    for part in _with_nonce(start, bytes(body)):
                        await send(part)

        await self._app(scope, receive, page)


def _is_page(message: Any) -> bool:
    return any(
        k.lower() == b'content-type' and v.startswith(b'text/html') for k, v in message['headers']
    )


def _with_nonce(start: dict[str, Any], body: bytes) -> list[dict[str, Any]]:
    nonce = secrets.token_urlsafe(16)
    body = _SCRIPT.sub(f'<script nonce="{nonce}"'.encode(), body)
    headers = [(k, v) for k, v in start['headers'] if k.lower() != b'content-length']
    headers += [
        (b'content-length', str(len(body)).encode()),
        (b'content-security-policy', _PAGE.format(nonce=nonce).encode()),
    ]
    return [{**start, 'headers': headers}, {'type': 'http.response.body', 'body': body}]


# Access of programs to the console: cookie of a link, and a file that opens a browser.


def cookie_of(address: str, timeout: float = 10.0) -> str:
    """Return the cookie, as a header of a request has it, that an address with a token gives.

    Raises:
        OSError: nothing answers, within the time-out in s.
        MarineSimError: the token is wrong.
    """
    parts = urlsplit(address)
    connection = HTTPConnection(parts.hostname or '', parts.port, timeout=timeout)
    try:
        connection.request('GET', f'{parts.path or "/"}?{parts.query}')
        answer = connection.getresponse()
        cookie = answer.getheader('set-cookie')
        if cookie is None:
            raise MarineSimError(f'console: {answer.read(200).decode(errors="replace").strip()}')
    finally:
        connection.close()
    return cookie.split(';')[0]


def opening_file(folder: Path, address: str) -> Path:
    """Write a page, for this user alone, that leads to an address, and return its path.

    A browser is given this path: all users can read the arguments of a process.
    """
    path = folder / 'open_console.html'
    text = f'<!doctype html><meta http-equiv="refresh" content="0;url={escape(address)}">\n'
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'w') as file:
        file.write(text)
    return path


# Access to the console by three links: to steer, to instruct, and only to watch.

COOKIE = 'marine_sim_console'
_RIGHT = 'marine_sim.right'
_CLOSED = 'open the address with its ?token=... that was printed where the console was started'


def is_loopback(host: str | None) -> bool:
    """Return whether a name or an address is one of this machine alone."""
    try:
        return host == 'localhost' or ipaddress.ip_address(host or '').is_loopback
    except ValueError:
        return False


def right_of(scope: Mapping[str, Any]) -> str:
    """Return the right of a request that the gate let through."""
    return str(scope.get(_RIGHT, VIEW))


def may_steer(scope: Mapping[str, Any]) -> bool:
    """Return whether a request that the gate let through has the right to steer."""
    return right_of(scope) == STEER


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
        self._tokens = {STEER: token, VIEW: view_token(token), INSTRUCT: instructor_token(token)}
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
            send = protect_answers(send)
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
        """Return the reason why a request counts as cross-site, or nothing."""
        hosts, origins = headers.get('host', []), headers.get('origin', [])
        if len(hosts) != 1 or len(origins) > 1:
            return 'expected one Host and at most one Origin'
        host = hosts[0]
        if self._loopback and not is_loopback(_name(host)):
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


def _name(host: str) -> str | None:
    """Return the name of a ``Host`` that is a name and perhaps a port, and no more."""
    try:
        parts = urlsplit(f'//{host}')
        is_plain = parts.netloc == host and '@' not in host and parts.port != 0
    except ValueError:
        return None
    return parts.hostname if is_plain else None


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
