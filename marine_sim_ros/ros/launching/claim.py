# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Names of runs on this machine: a second run of a namespace is refused before it starts."""

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
"""s that processes of an earlier run get to end."""


@contextmanager
def claim_namespaces(namespaces: Iterable[str]) -> Iterator[None]:
    """Hold namespaces in this ROS domain while a run is alive.

    Each is a socket with an abstract name (Linux). The kernel frees it with the last process of
    the run, and separates containers as it separates their networks. Runs of other machines are
    detected by the owner of the state, once it is discovered.

    Raises:
        ParameterError: another run of this machine has one of them.
    """
    with ExitStack() as held:
        if sys.platform == 'linux':
            for namespace in sorted(set(namespaces)):
                held.enter_context(_claim(namespace))
        yield


def _claim(namespace: str) -> socket.socket:
    domain = os.environ.get('ROS_DOMAIN_ID') or '0'
    partition = (
        os.environ.get(name, '')
        for name in ('ROS_DISCOVERY_SERVER', 'ROS_AUTOMATIC_DISCOVERY_RANGE')
    )
    key = sha256('\n'.join((domain, *partition, namespace)).encode()).hexdigest()
    address = f'\0marine_sim_ros/{key}'
    held = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    end = time.monotonic() + TERMINATION_GRACE
    while not (bound := _bind(held, address)) and time.monotonic() < end:
        time.sleep(0.1)
    if not bound:
        held.close()
        raise ParameterError(
            f'{namespace}: {_holder(address)} of this machine has this name in ROS domain '
            f'{domain}: end it, or set another ROS_DOMAIN_ID, or join its clock with '
            '--clock follow, --namespace and --frame-prefix'
        )
    held.listen()
    return held


def _bind(held: socket.socket, address: str) -> bool:
    """Return whether a socket has got an address."""
    try:
        held.bind(address)
    except OSError:
        return False
    return True


def _holder(address: str) -> str:
    """Return the text that names the run with an address, with its process id."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.settimeout(0.2)  # a full backlog blocks
        try:
            caller.connect(address)
            peer = caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        except OSError:
            return 'another run'
    return f'another run (process {struct.unpack("3i", peer)[0]})'
