# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Schedule of blocks of work on processes of this machine, and of a sweep on a Dask cluster."""

from __future__ import annotations

import logging
import os
import subprocess
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, TypeAlias

from marine_sim_ros.core.errors import MarineSimError, ParameterError, RunError
from marine_sim_ros.core.extras import require_all
from marine_sim_ros.core.processes import child_environment, module_command
from marine_sim_ros.sweep.plan import SweepPlan
from marine_sim_ros.sweep.results import SweepDataset
from marine_sim_ros.sweep.runs import ReportBlock, block_count, case_of, run_block

__all__ = ['Job', 'run_blocks', 'run_missing']


# Worker processes on this machine, each at the other end of a pipe that nobody else can open.

ATTEMPTS = 3
"""Workers that a block may end before the work is given up."""

Job: TypeAlias = Callable[[int, ReportBlock], Any]
"""Function of the number of a block, and of what reports its progress; it can be pickled."""


class _Worker:
    """A process that computes one block after the other."""

    def __init__(self, job: Job) -> None:
        self.pipe, its_end = Pipe()
        with its_end:
            self._process = subprocess.Popen(
                module_command('marine_sim_ros.sweep.worker', str(its_end.fileno())),
                pass_fds=(its_end.fileno(),),
                stdin=subprocess.DEVNULL,
                env={**os.environ, **child_environment()},
                start_new_session=True,  # ctrl-C reaches only the command, which ends its workers
            )
        self._send(job)

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
    job: Job,
    numbers: Sequence[int],
    workers: int,
    report: Callable[[int, float, str], object] = lambda number, share, stage: None,
) -> Generator[tuple[int, Any], None, None]:
    """Yield the number and the result of each block as it is done.

    A worker that dies is replaced and its block repeated.

    Args:
        job: function that computes a block, in a worker.
        numbers: blocks to compute.
        workers: number of processes.
        report: function that is called with a block, its completed share, and what is done.

    Raises:
        MarineSimError: of the job.
        RunError: a block ended one worker after the other.
    """
    waiting, losses = deque(numbers), Counter[int]()
    idle: list[_Worker] = []
    busy: dict[Connection, tuple[_Worker, int]] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < workers:
                worker = idle.pop() if idle else _Worker(job)
                busy[worker.pipe] = worker, (number := waiting.popleft())
                worker.begin(number)
            for pipe in wait(list(busy)):
                worker, number = busy[pipe]  # type: ignore[index]
                try:
                    answer = worker.pipe.recv()
                    if isinstance(answer, tuple):
                        report(number, *answer)
                        continue
                except (EOFError, ConnectionError):
                    losses[number] += 1
                    if losses[number] == ATTEMPTS:
                        raise RunError(_lost_block_text(number)) from None
                    waiting.appendleft(number)
                    worker.end()
                    del busy[pipe]  # type: ignore[arg-type]
                else:
                    if isinstance(answer, Exception):
                        raise answer
                    idle.append(worker)
                    del busy[pipe]  # type: ignore[arg-type]
                    yield number, answer
    finally:
        for worker in (*idle, *(worker for worker, _ in busy.values())):
            worker.end()


def _lost_block_text(number: int) -> str:
    return (
        f'block {number} ended {ATTEMPTS} workers, as where memory runs out; what is done '
        'is kept, run the same command again with fewer --workers or a smaller block'
    )


# Deals blocks of a sweep to workers of this machine or of a Dask cluster; writes the results.

_TALKERS = ('distributed', 'distributed.client', 'tornado.application')
"""Loggers that print where a scheduler went; this command says it in one line."""


def _require(plan: SweepPlan, scheduler: str) -> None:
    """Raise MissingPackageError where packages of the extra are missing: one line for all."""
    dask, jax = ['distributed'] if scheduler else [], ['jax'] if plan.engine == 'jax' else []
    require_all((*dask, 'pyarrow', *jax), 'sweep', 'sweep')


def _run_by_dask(
    plan: SweepPlan, missing: Sequence[int], scheduler: str
) -> Generator[tuple[int, dict[str, Any]], None, None]:
    """Yield the number and the columns of each block as a running scheduler gets it done.

    Raises:
        MarineSimError: a run that cannot be set up.
        ParameterError: nothing answers at the scheduler's address.
        RunError: the cluster is lost.
    """
    from distributed import Client, as_completed

    for name in _TALKERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = Client(scheduler, timeout=10)
    except (OSError, ValueError, TimeoutError) as error:
        raise ParameterError(
            f'--scheduler {scheduler}: no answer ({error}); expected an address such as '
            'tls://127.0.0.1:8786'
        ) from None
    with client:
        futures = {client.submit(run_block, plan, i, pure=False): i for i in missing}
        for future in as_completed(futures):
            yield futures[future], _result(future)


def run_missing(
    plan: SweepPlan,
    dataset: SweepDataset,
    *,
    scheduler: str,
    workers: int | None,
    progress: Callable[[float, str], object],
) -> int:
    """Run the blocks that a dataset lacks, and return how many they were.

    Each block is written when it is there, so a sweep that is broken off goes on where it was.

    Args:
        scheduler: address of a running Dask scheduler; empty: workers of this machine.
        workers: worker processes on this machine; None: one per core.
        progress: function that is called with the completed share of the runs, and what is done.

    Raises:
        MarineSimError: the plan cannot be run.
        RunError: the workers are lost.
    """
    _require(plan, scheduler)
    count = block_count(plan)
    missing = dataset.missing_blocks(count)
    if not missing:
        return 0
    shares = {number: 0.0 for number in missing}

    def report(number: int, share: float, stage: str) -> None:
        shares[number] = share
        done = count - len(missing) + sum(shares.values())
        progress(done / count, f'sweep, {stage}')

    case_of(plan, 0)  # says before the work begins what is wrong with the plan
    if scheduler:
        results = _run_by_dask(plan, missing, scheduler)
    else:
        # One program per worker and core: the blocks are what runs side by side.
        job = partial(run_block, plan)
        results = run_blocks(job, missing, workers or os.cpu_count() or 1, report)
    with closing(results):
        for number, columns in results:
            dataset.add(number, columns)
            report(number, 1.0, 'simulating')
    return len(missing)


def _result(future: Any) -> Any:
    """Return the result of a block.

    Raises:
        MarineSimError: its own complaint.
        RunError: the cluster was lost.
    """
    try:
        return future.result()
    except MarineSimError:
        raise
    except Exception as error:
        reason = ' '.join(str(error).split())
        raise RunError(
            f'sweep: the cluster lost a block ({type(error).__name__}: {reason}); '
            'what is done is kept, run the same command again'
        ) from None
