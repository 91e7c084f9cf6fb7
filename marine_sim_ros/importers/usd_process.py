# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""USD read in a process of its own: files that break usd-core, or never end, end only that."""

from __future__ import annotations

import pickle
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from marine_sim_ros.core.errors import MarineSimError, ModelError
from marine_sim_ros.core.processes import module_command
from marine_sim_ros.importers.draft import Draft, Options
from marine_sim_ros.importers.usd import read_stage
from marine_sim_ros.importers.usd_shapes import pxr

__all__ = ['USD_SUFFIXES', 'read_usd']

USD_SUFFIXES = ('.usd', '.usda', '.usdc', '.usdz')
_MAX_SECONDS = 60
_MAX_BYTES = 8 << 30
"""Address space; a scene of composed references may need any amount."""


def read_usd(path: Path, options: Options) -> Draft:
    """Return the vehicle of a USD file.

    Args:
        options: what to take; ``model`` names the vehicle or one of its bodies.

    Raises:
        ModelError: it cannot be read, or has no such vehicle.
        MissingPackageError: usd-core is not installed.
    """
    pxr('Tf')
    limit = f'expected a file that {_MAX_SECONDS} s and {_MAX_BYTES >> 30} GiB suffice for'
    try:
        done = subprocess.run(
            module_command(__name__),
            input=pickle.dumps((path, options)),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=2 * _MAX_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ModelError(f'{path}: usd-core does not come to an end; {limit}') from None
    if done.returncode or not done.stdout:
        raise ModelError(f'{path}: usd-core breaks off (exit code {done.returncode}); {limit}')
    answer = pickle.loads(done.stdout)  # our own process
    if isinstance(answer, Exception):
        raise answer
    assert isinstance(answer, Draft)
    return answer


def _limit_resources() -> None:
    """Bound the time and memory of this process, where the system can."""
    with suppress(ImportError):  # Windows: the time-out of the parent is left
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (_MAX_SECONDS, _MAX_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (_MAX_BYTES, _MAX_BYTES))


def _main() -> None:
    """Read what standard input names, and write the vehicle or the error to standard output."""
    _limit_resources()
    path, options = pickle.load(sys.stdin.buffer)
    answer: Draft | MarineSimError
    try:
        answer = read_stage(path, options)
    except MarineSimError as error:
        answer = error
    sys.stdout.buffer.write(pickle.dumps(answer))


if __name__ == '__main__':
    _main()
