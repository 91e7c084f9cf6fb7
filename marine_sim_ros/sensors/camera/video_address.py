# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Address that pictures of a camera are sent to: ``udp://HOST:PORT``."""

from __future__ import annotations

from urllib.parse import urlsplit

from marine_sim_ros.core.errors import ParameterError

__all__ = ['next_address', 'video_address']

PORT = 5600
"""Port that QGroundControl listens to."""


def video_address(text: str) -> tuple[str, int]:
    """Return host and port of ``udp://HOST[:PORT]``; without a port 5600.

    Raises:
        ParameterError: it is no such address.
    """
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port or PORT
    except ValueError:
        host, port = None, PORT
    if not host or parts.scheme != 'udp' or parts.path or parts.query or parts.username:
        raise ParameterError(
            f'video is {text!r}; expected udp://HOST:PORT, as in udp://127.0.0.1:{PORT}'
        )
    return host, port


def next_address(text: str, more: int) -> str:
    """Return the address of a port that is higher, of an address; raises as it does."""
    host, port = video_address(text)
    if port + more > 65535:
        raise ParameterError(f'video is {text!r}; expected ports up to 65535')
    there = f'[{host}]' if ':' in host else host
    return f'udp://{there}:{port + more}'
