# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Worker processes on this machine, each at the other end of a pipe that nobody else can open."""

from __future__ import annotations

import os
import subprocess
from collections import Counter, deque
from collections.abc import Generator, Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

from marine_sim_ros.core.child_process import module_command
from marine_sim_ros.core.errors import RunError
from marine_sim_ros.core.parent_process import as_parent
from marine_sim_ros.sweep.plan import Plan

__all__ = ['run_blocks']

ATTEMPTS = 3
"""Workers that a block may end before the sweep is given up."""


class _Worker:
    """A process that computes one block after the other."""

    def __init__(self, plan: Plan) -> None:
        self.pipe, its_end = Pipe()
        with its_end:
            self._process = subprocess.Popen(
                module_command('marine_sim_ros.sweep.worker', str(its_end.fileno())),
                pass_fds=(its_end.fileno(),),
                stdin=subprocess.DEVNULL,
                env={**os.environ, **as_parent()},
                start_new_session=True,  # ctrl-C reaches only the command, which ends its workers
            )
        self._send(plan)

    def begin(self, number: int) -> None:
        """Let it compute a block."""
        self._send(number)

    def end(self) -> None:
        """End it."""
        self.pipe.close()
        self._process.kill()
        self._process.wait()

    def _send(self, content: object) -> None:
        with suppress(ConnectionError):  # it has ended, which its pipe tells who waits for it
            self.pipe.send(content)


def run_blocks(
    plan: Plan, numbers: Sequence[int], workers: int
) -> Generator[tuple[int, Any], None, None]:
    """Yield the number and the columns of each block as it is done.

    A worker that dies is replaced and its block repeated.

    Args:
        plan: plan of the sweep.
        numbers: blocks to compute.
        workers: number of processes.

    Raises:
        MarineSimError: a run that cannot be set up.
        RunError: a block ended one worker after the other.
    """
    waiting, losses = deque(numbers), Counter[int]()
    idle: list[_Worker] = []
    busy: dict[Connection, tuple[_Worker, int]] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < workers:
                worker = idle.pop() if idle else _Worker(plan)
                busy[worker.pipe] = worker, (number := waiting.popleft())
                worker.begin(number)
            for pipe in wait(list(busy)):
                worker, number = busy[pipe]  # type: ignore[index]
                try:
                    answer = worker.pipe.recv()
                except (EOFError, ConnectionError):
                    losses[number] += 1
                    if losses[number] == ATTEMPTS:
                        raise RunError(_lost(number)) from None
                    waiting.appendleft(number)
                    worker.end()
                else:
                    if isinstance(answer, Exception):
                        raise answer
                    idle.append(worker)
                    yield number, answer
                finally:
                    del busy[pipe]  # type: ignore[arg-type]
    finally:
        for worker in (*idle, *(worker for worker, _ in busy.values())):
            worker.end()


def _lost(number: int) -> str:
    return (
        f'sweep: block {number} ended {ATTEMPTS} workers, as where memory runs out; what is done '
        'is kept, run the same command again with fewer --workers or a smaller block'
    )
