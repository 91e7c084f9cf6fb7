# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Commands and nodes as forks of a process that has imported what they all import.

A test that starts a node graph starts up to a dozen Python processes, and the imports of each are
most of what it costs. The server is started once per process of tests; it has no ROS and no
threads. What it forks becomes ``python -m MODULE ARGUMENTS``, with a pid, an environment, a
session and streams of its own, and is a child of the tests as if they had started it.
"""

import ctypes
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module

from marine_sim_ros.ros.launching.fork import Fork, can_fork, import_shared

COMMAND = 'marine_sim_ros.tools.main'
LIMIT = 1 << 17
"""Bytes of a request, most of which are the environment."""
FIXED = ('PYTHON', 'OPENBLAS', 'MKL', 'NPY', 'LD_')
"""What the names of variables begin with that are read before a fork."""
_PR_SET_CHILD_SUBREAPER = 36  # prctl(2)


class ForkedProcess(Fork):
    """A fork of the server, with what tests use of ``subprocess.Popen``."""

    def __init__(self, server, request, output):
        """Start it; without a file for its output that is a pipe."""
        self.returncode = None
        self.stdout = None
        if output is None:
            reading, writing = os.pipe()
            self.stdout = open(reading, encoding='utf-8', errors='replace')  # noqa: SIM115
            output = open(writing, 'wb')  # noqa: SIM115
        with open(os.devnull, 'rb') as nothing, _adopting():
            fds = [nothing.fileno(), output.fileno(), output.fileno()]
            socket.send_fds(server, [json.dumps(request).encode()], fds)
            self.pid = int(server.recv(LIMIT))
            server.recv(LIMIT)  # now it is a child of this process
        if self.stdout is not None:
            output.close()

    def send_signal(self, number):
        self._send(number)

    def communicate(self, timeout=None):
        """Return the output up to its end, and None; raise subprocess.TimeoutExpired."""
        end, told, piece = time.monotonic() + (timeout or float('inf')), [], b'begin'
        while piece:
            left = None if timeout is None else max(0.0, end - time.monotonic())
            if not select.select([self.stdout], [], [], left)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout, b''.join(told))
            told.append(piece := os.read(self.stdout.fileno(), 1 << 16))
        self.stdout.close()
        self.wait(None if timeout is None else max(0.1, end - time.monotonic()))
        return b''.join(told).decode(errors='replace'), None


@contextmanager
def _adopting():
    """Be the parent of processes whose own one ends before them."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        prctl(_PR_SET_CHILD_SUBREAPER, 0)


@lru_cache(maxsize=2)  # a test with variables of its own, or a library: cv2 sets LD_LIBRARY_PATH
def _server(fixed):
    """Return a server of this process, which ends with it, and a socket to it.

    None in place of the socket: a fork would not be all of the server (see can_fork).

    Args:
        fixed: names and values of the variables that it reads as it starts.
    """
    own, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    others = {name: value for name, value in os.environ.items() if not name.startswith(FIXED)}
    process = subprocess.Popen(
        [sys.executable, __file__, str(other.fileno())],
        pass_fds=[other.fileno()],
        stdin=subprocess.DEVNULL,
        env={**others, **dict(fixed)},
        start_new_session=True,  # a terminal's ctrl-C is for the tests
    )
    other.close()
    return process, own if own.recv(LIMIT) else None


def forked(module, arguments, environment, *, folder=None, output=None):
    """Return a process that runs a module, or None where that has to be a new interpreter.

    Args:
        module: what to run.
        arguments: the words after it.
        environment: its variables, all of them.
        folder: where it runs; None: here.
        output: a file for what it prints; None: a pipe.
    """
    if sys.platform != 'linux':
        return None
    fixed = sorted(item for item in environment.items() if item[0].startswith(FIXED))
    _, server = _server(tuple(fixed))
    if server is None:
        return None
    request = {
        'module': module,
        'arguments': list(map(str, arguments)),
        'environment': dict(environment),
        'folder': str(folder or os.getcwd()),
    }
    return ForkedProcess(server, request, output)


def _serve(server):
    """Fork a process for each request; return the request in it, and None at the tests' end."""
    while True:
        data, fds, *_ = socket.recv_fds(server, LIMIT, 3)
        if not data:
            return None
        if not (between := os.fork()):
            if pid := os.fork():
                server.send(str(pid).encode())
                os._exit(0)
            for number, fd in enumerate(fds):
                os.dup2(fd, number)
            os.closerange(3, max(*fds, server.fileno()) + 1)
            server.detach()
            return json.loads(data)
        os.waitpid(between, 0)
        for fd in fds:
            os.close(fd)
        server.send(b'adopted')


def _become(module, arguments, environment, folder):
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Those of the server remember whether its files can seek, which these may not.
    sys.stdout = open(1, 'w', closefd=False)  # noqa: SIM115
    sys.stderr = open(2, 'w', 1, errors='backslashreplace', closefd=False)  # noqa: SIM115
    sys.argv = [module, *arguments]
    sys.path[0] = folder
    runpy.run_module(module, run_name='__main__', alter_sys=True)


if __name__ == '__main__':
    import_shared()
    for name in ('run', 'simulate'):
        import_module(f'marine_sim_ros.tools.{name}')
    listening = socket.socket(fileno=int(sys.argv[1]))
    if not can_fork():
        sys.exit()
    listening.send(b'ready')
    if request := _serve(listening):
        _become(**request)
