# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The socket that the pages are served from."""

from __future__ import annotations

import errno
import socket

from marine_sim_ros.core.errors import ParameterError

__all__ = ['listen']

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
