# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Headers of every answer: no script but the page's own, no frame, no guessed types."""

from __future__ import annotations

import re
import secrets
from typing import Any

__all__ = ['PagePolicy', 'protected']

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


def protected(send: Any) -> Any:
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
