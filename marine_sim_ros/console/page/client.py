# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Ways of programs to the console: the cookie of a link, and a file that leads a browser there."""

from __future__ import annotations

import os
from html import escape
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from marine_sim_ros.core.errors import MarineSimError

__all__ = ['cookie_of', 'opening_file']


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
