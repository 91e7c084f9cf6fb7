# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The pictures of a camera as a stream of JPEG: ``multipart/x-mixed-replace``, RFC 2046."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from fastapi import FastAPI, Response
from fastapi.responses import StreamingResponse

from marine_sim_ros.console.session import Session

__all__ = ['video']

_BOUNDARY = b'--picture\r\n'


def video(app: FastAPI, session: Session, rate: float) -> None:
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
