# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Calls in a process of their own: files that break a library, or never end, end only that."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.processes import module_command

__all__ = ['Limits', 'answer_request', 'call_isolated']


@dataclass(frozen=True)
class Limits:
    """Resources of a call; the clock may show twice the processor time.

    Attributes:
        seconds: processor time, s.
        address_space: bytes of virtual memory, mapped files included; 0: not limited.
        data: bytes of private memory; 0: not limited.
    """

    seconds: int
    address_space: int = 0
    data: int = 0

    def __str__(self) -> str:
        """Return the limits as a message has them."""
        memory = (self.data or self.address_space) / 2**30
        return f'{self.seconds} s and {memory:g} GiB'

    def apply(self) -> None:
        """Bound this process, where the system can."""
        with suppress(ImportError):  # Windows: the time-out of the parent is left
            import resource

            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (self.seconds, self.seconds))
            for kind, size in (('RLIMIT_AS', self.address_space), ('RLIMIT_DATA', self.data)):
                if size and hasattr(resource, kind):
                    resource.setrlimit(getattr(resource, kind), (size, size))


def call_isolated(
    module: str,
    request: tuple[Any, ...],
    subject: str,
    limits: Limits,
    error: type[MarineSimError],
) -> Any:
    """Return what another process answers to a request.

    Args:
        module: module whose ``__main__`` calls :func:`answer_request`.
        request: arguments of the function that it answers with.
        subject: file and library, for messages.
        limits: resources of the call.
        error: type of errors.

    Raises:
        MarineSimError: of the given kind: the function raised it, or the process ended before.
    """
    expected = f'expected a file that {limits} suffice for'
    try:
        done = subprocess.run(
            module_command(module),
            input=pickle.dumps((limits, request)),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=2 * limits.seconds,
            check=False,
            # Threads of linear algebra reserve memory each.
            env={**os.environ, 'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1'},
        )
    except subprocess.TimeoutExpired:
        raise error(f'{subject} does not come to an end; {expected}') from None
    if done.returncode or not done.stdout:
        raise error(f'{subject} breaks off (exit code {done.returncode}); {expected}')
    answer = pickle.loads(done.stdout)  # our own process
    if isinstance(answer, Exception):
        raise answer
    return answer


def answer_request(function: Callable[..., Any], error: type[MarineSimError]) -> None:
    """Call a function with what standard input has; write its result or error to standard output.

    Libraries may print: standard output is kept for the answer.
    """
    channel = os.fdopen(os.dup(1), 'wb')
    os.dup2(2, 1)
    limits, request = pickle.load(sys.stdin.buffer)
    limits.apply()
    answer: Any
    try:
        answer = function(*request)
    except MarineSimError as problem:
        answer = problem
    except MemoryError:
        answer = error(f'{request[0]}: needs too much memory; expected at most {limits}')
    channel.write(pickle.dumps(answer))
    channel.close()
