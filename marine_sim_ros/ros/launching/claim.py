# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lock of a namespace on this machine: a second run with it is refused before it starts."""

from __future__ import annotations

import os
import socket
import struct
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256

from marine_sim_ros.core.errors import ParameterError

__all__ = ['claim_namespaces']

TERMINATION_GRACE = 5.0
"""s of wall time to wait for the end of an earlier run's processes."""


@contextmanager
def claim_namespaces(namespaces: Iterable[str]) -> Iterator[None]:
    """Lock namespaces in this ROS domain within a ``with`` block.

    Each is a socket with an abstract name (Linux). The kernel frees it with the last process of
    the run, and separates containers as it separates their networks. Runs of other machines are
    detected by the state node, once they are discovered.

    Raises:
        ParameterError: another run of this machine has one of them.
    """
    with ExitStack() as sockets:
        if sys.platform == 'linux':
            for namespace in sorted(set(namespaces)):
                sockets.enter_context(_claim(namespace))
        yield


def _claim(namespace: str) -> socket.socket:
    domain = os.environ.get('ROS_DOMAIN_ID') or '0'
    partition = (
        os.environ.get(name, '')
        for name in ('ROS_DISCOVERY_SERVER', 'ROS_AUTOMATIC_DISCOVERY_RANGE')
    )
    key = sha256('\n'.join((domain, *partition, namespace)).encode()).hexdigest()
    address = f'\0marine_sim_ros/{key}'
    lock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    end = time.monotonic() + TERMINATION_GRACE
    while not (bound := _bind(lock, address)) and time.monotonic() < end:
        time.sleep(0.1)
    if not bound:
        lock.close()
        raise ParameterError(
            f'{namespace}: {_holder(address)} of this machine has this name in ROS domain '
            f'{domain}: end it, or set another ROS_DOMAIN_ID, or join its clock with '
            '--clock follow, --namespace and --frame-prefix'
        )
    lock.listen()
    return lock


def _bind(lock: socket.socket, address: str) -> bool:
    """Bind a socket to an address; return whether it was free."""
    try:
        lock.bind(address)
    except OSError:
        return False
    return True


def _holder(address: str) -> str:
    """Return a description of the run that holds an address, with its process id."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.settimeout(0.2)  # a full backlog blocks
        try:
            caller.connect(address)
            peer = caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        except OSError:
            return 'another run'
    return f'another run (process {struct.unpack("3i", peer)[0]})'
