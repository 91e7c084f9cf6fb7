# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Start of a process: one BLAS thread, no garbage collection while modules are imported.

OpenBLAS solves even a 6 x 6 system in another order, with other last bits, when it has several
threads (0.3.23, which NumPy 1.26 brings), so a run would depend on the machine's cores. The
matrices here are too small to gain from threads. The setting overrides the environment's, on which
the result of a run must not depend.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ['paused_garbage_collection', 'use_one_blas_thread']


# One BLAS thread, set when the package is imported.

BLAS_THREAD_VARIABLES = ('OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS', 'BLIS_NUM_THREADS')
_SETTERS = tuple(
    f'{prefix}openblas_set_num_threads{suffix}'
    for prefix in ('scipy_', '')
    for suffix in ('64_', '')
)


def use_one_blas_thread() -> None:
    """Set the variables that BLAS reads; if NumPy is loaded already, call OpenBLAS's own setter.

    An MKL or BLIS that is loaded already keeps its threads; so does OpenBLAS outside Linux.
    """
    os.environ.update(dict.fromkeys(BLAS_THREAD_VARIABLES, '1'))
    if 'numpy' in sys.modules:
        for library in _loaded_libraries():
            for name in _SETTERS:
                if hasattr(library, name):
                    getattr(library, name)(1)


def _loaded_libraries() -> list[ctypes.CDLL]:
    """Loaded OpenBLAS libraries, by Linux's ``/proc/self/maps``."""
    try:
        lines = Path('/proc/self/maps').read_text(encoding='utf-8').splitlines()
    except OSError:
        return []
    paths = {line.split(maxsplit=5)[5] for line in lines if 'blas' in line}
    return [ctypes.CDLL(path) for path in sorted(paths) if Path(path).is_file()]


# Garbage collection while a program starts.


@contextmanager
def paused_garbage_collection() -> Iterator[None]:
    """Pause the garbage collector, whose scans take an eighth of the time of imports.

    It is on afterwards, whatever it was before: a fork starts where its parent was.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
