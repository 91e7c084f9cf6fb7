# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tokens of the console's links: one steers, and the one that only watches is derived from it."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from pathlib import Path

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.posix import effective_user, open_flags

__all__ = ['SHORTEST', 'STEER', 'VIEW', 'make_token', 'read_token', 'view_token', 'write_token']

STEER, VIEW = 'steer', 'view'
"""The two rights of a page."""
SHORTEST = 32
"""Characters of a token at least."""
_TOKEN = re.compile(rf'[A-Za-z0-9_-]{{{SHORTEST},256}}')
_WANTED = f'expected {SHORTEST} to 256 letters, digits, - and _'


def make_token() -> str:
    """Return a random token of 256 bit."""
    return secrets.token_urlsafe(32)


def view_token(token: str) -> str:
    """Return the token of the link that only watches; nothing leads from it to the other one."""
    return hmac.new(token.encode(), b'marine_sim console view', hashlib.sha256).hexdigest()


def read_token(path: str) -> str:
    """Return the token of a file that only its owner can read.

    Raises:
        ParameterError: others can read or could have written it, or it holds no token.
    """
    try:
        # A pipe that nobody writes to must not hold up the start.
        with open(os.open(path, open_flags('O_RDONLY', 'O_NONBLOCK', 'O_CLOEXEC')), 'rb') as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise ParameterError(f'token file {path!r}: not a file; expected one with a token')
            if found.st_uid not in (effective_user(), 0) or stat.S_IMODE(found.st_mode) & 0o077:
                raise ParameterError(
                    f'token file {path!r}: other users can read or write it; expected your own '
                    'file with `chmod 600`'
                )
            text = file.read(1024).decode('ascii', 'replace').strip()
    except (OSError, ValueError) as error:
        why = getattr(error, 'strerror', None) or error
        raise ParameterError(f'token file {path!r}: {why}; expected a file with a token') from None
    if not _TOKEN.fullmatch(text):
        raise ParameterError(f'token file {path!r}: holds no token; {_WANTED}')
    return text


def write_token(path: Path) -> str:
    """Write a new token to a new file that only this user can read; return it."""
    token = make_token()
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'w') as file:
        file.write(token)
    return token
