# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Links to the console: needed packages, the socket that it listens to, and tokens."""

from __future__ import annotations

import errno
import hmac
import importlib.util
import os
import re
import secrets
import socket
import stat
from pathlib import Path

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import missing_package
from marine_sim_ros.core.files import effective_user, open_flags

__all__ = [
    'INSTRUCT',
    'STEER',
    'VIEW',
    'instructor_token',
    'listen',
    'make_token',
    'read_token',
    'require_pages',
    'view_token',
    'write_token',
]


# Check that the packages of the pages are installed.


def require_pages() -> None:
    """Raise MissingPackageError where NiceGUI is missing, which brings the web server along."""
    if importlib.util.find_spec('nicegui') is None:  # importing it takes seconds
        raise missing_package('nicegui', 'console')


# Listening socket of the pages.

_FREE = (
    'a free port, 1 to 65535, or 0 for any: run --console-port 0, console --port 0, '
    'console_port:=0 of a launch file'
)
_HINTS = {
    errno.EADDRNOTAVAIL: 'an address of this machine, or 0.0.0.0 for all of them',
    errno.EACCES: 'a port from 1024',
    socket.EAI_NONAME: 'a name or an address of this machine',
}


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises:
        ParameterError: this machine does not have the address, or the port is in use.
    """
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    result = socket.socket(family, socket.SOCK_STREAM)
    result.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        result.bind((host, port))
        result.listen(128)  # so that who knows the address can connect, if not at once be served
    except OverflowError:
        why, hint = 'no such port', _FREE
    except OSError as error:
        why, hint = error.strerror or str(error), _HINTS.get(error.errno or 0, _FREE)
    else:
        return result
    result.close()
    raise ParameterError(f'console: cannot listen on {host} port {port}: {why}; expected {hint}')


# Tokens of the console's links: the others are derived from the steering one.

STEER, VIEW, INSTRUCT = 'steer', 'view', 'instruct'
"""The rights of a page."""
MIN_TOKEN_LENGTH = 32
"""Characters of a token at least."""
_TOKEN = re.compile(rf'[A-Za-z0-9_-]{{{MIN_TOKEN_LENGTH},256}}')
_WANTED = f'expected {MIN_TOKEN_LENGTH} to 256 letters, digits, - and _'


def make_token() -> str:
    """Return a random token of 256 bit."""
    return secrets.token_urlsafe(32)


def view_token(token: str) -> str:
    """Return the token of the link that only watches; nothing leads from it to another one."""
    return _derived_token(token, VIEW)


def instructor_token(token: str) -> str:
    """Return the token of the instructor's link; nothing leads from it to another one."""
    return _derived_token(token, INSTRUCT)


def _derived_token(token: str, right: str) -> str:
    return hmac.new(token.encode(), f'marine_sim console {right}'.encode(), 'sha256').hexdigest()


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
