# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Deals blocks of a sweep to workers of this machine or of a Dask cluster; writes the results."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any

from marine_sim_ros.core.errors import MarineSimError, ParameterError, RunError
from marine_sim_ros.core.extras import require
from marine_sim_ros.sweep.dataset import Dataset
from marine_sim_ros.sweep.plan import Plan
from marine_sim_ros.sweep.pool import run_blocks
from marine_sim_ros.sweep.runs import blocks, case_of, run_block

__all__ = ['run_missing']

_TALKERS = ('distributed', 'distributed.client', 'tornado.application')
"""Loggers that print where a scheduler went; this command says it in one line."""


def _require(plan: Plan, scheduler: str) -> None:
    """Raise MissingPackageError where a package of the extra is missing."""
    dask, jax = ['distributed'] if scheduler else [], ['jax'] if plan.engine == 'jax' else []
    for name in (*dask, 'pyarrow', *jax):
        require(name, 'sweep')


def _run_by_dask(
    plan: Plan, missing: Sequence[int], scheduler: str
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
    plan: Plan,
    dataset: Dataset,
    *,
    scheduler: str,
    workers: int | None,
    progress: Callable[[float], None],
) -> int:
    """Run the blocks that a dataset lacks, and return how many they were.

    Each block is written when it is there, so a sweep that is broken off goes on where it was.

    Args:
        plan: plan of the sweep.
        dataset: dataset to complete.
        scheduler: address of a running Dask scheduler; empty: workers of this machine.
        workers: worker processes on this machine; None: one per core.
        progress: function that is called with the fraction of finished blocks.

    Raises:
        MarineSimError: the plan cannot be run.
        RunError: the workers are lost.
    """
    _require(plan, scheduler)
    count = blocks(plan)
    missing = dataset.missing(count)
    if not missing:
        return 0
    case_of(plan, 0)  # says before the work begins what is wrong with the plan
    if scheduler:
        results = _run_by_dask(plan, missing, scheduler)
    else:
        # One program per worker and core: the blocks are what runs side by side.
        results = run_blocks(plan, missing, workers or os.cpu_count() or 1)
    done = count - len(missing)
    with closing(results):
        for number, columns in results:
            dataset.add(number, columns)
            done += 1
            progress(done / count)
    return len(missing)


def _result(future: Any) -> Any:
    """Return what a block computed.

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
