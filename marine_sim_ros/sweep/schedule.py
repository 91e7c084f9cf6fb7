# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Deals blocks of a sweep to the workers of a Dask cluster, and writes what comes back."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from marine_sim_ros.core.errors import MarineSimError, ParameterError, RunError
from marine_sim_ros.core.extras import require
from marine_sim_ros.sweep.dataset import Dataset
from marine_sim_ros.sweep.plan import Plan
from marine_sim_ros.sweep.runs import blocks, case_of, run_block

__all__ = ['run_missing']

_TALKERS = ('distributed', 'distributed.client', 'tornado.application')
"""Loggers that print where a scheduler went; this command says it in one line."""


def _require(plan: Plan) -> None:
    """Raise MissingPackageError where a package of the extra is missing."""
    for name in ('distributed', 'pyarrow', *(('jax',) if plan.engine == 'jax' else ())):
        require(name, 'sweep')


@contextmanager
def _client(scheduler: str, workers: int) -> Iterator[Any]:
    """Yield a client of a scheduler, or of a cluster on this machine while it lasts.

    Raises:
        ParameterError: nobody answers at the scheduler's address.
    """
    from distributed import Client, LocalCluster

    if scheduler:
        for name in _TALKERS:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            client = Client(scheduler, timeout=10)
        except (OSError, ValueError, TimeoutError) as error:
            raise ParameterError(
                f'--scheduler {scheduler}: no answer ({error}); expected an address such as '
                'tcp://127.0.0.1:8786'
            ) from None
        with client:
            yield client
        return
    # One program per worker and core: the blocks are what runs side by side.
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address=':0',
            memory_limit=0,
            silence_logs=50,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def run_missing(
    plan: Plan,
    dataset: Dataset,
    *,
    scheduler: str,
    workers: int | None,
    progress: Callable[[float], None],
) -> int:
    """Run the blocks that a dataset lacks, and return how many they were.

    A worker that dies is replaced and its block repeated; each block is written when it is there,
    so a sweep that is broken off goes on where it was.

    Args:
        plan: plan of the sweep.
        dataset: dataset to complete.
        scheduler: address of a running Dask scheduler; empty: workers of this machine.
        workers: worker processes on this machine; None: one per core.
        progress: function that is called with the share of finished blocks.

    Raises:
        MarineSimError: the plan cannot be run.
        RunError: the cluster is lost.
    """
    _require(plan)
    count = blocks(plan)
    missing = dataset.missing(count)
    if not missing:
        return 0
    case_of(plan, 0)  # says before the work begins what is wrong with the plan
    from distributed import as_completed

    done = count - len(missing)
    with _client(scheduler, workers or os.cpu_count() or 1) as client:
        futures = {client.submit(run_block, plan, i, pure=False): i for i in missing}
        for future in as_completed(futures):
            dataset.add(futures[future], _result(future))
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
