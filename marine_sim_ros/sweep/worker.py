# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Worker process: receives a job and numbers of blocks over a pipe, and returns their results.

Between the two it sends how far it is: the completed share of a block, and what it does.
"""

from __future__ import annotations

import sys
from multiprocessing.connection import Connection

from marine_sim_ros.core.errors import MarineSimError, RunError
from marine_sim_ros.core.processes import end_with_parent
from marine_sim_ros.sweep.schedule import Job

__all__ = ['main']


def _answer(job: Job, number: int, pipe: Connection) -> object:
    """Return the result of a block, or the error that ends the work; report over the pipe."""
    try:
        return job(number, lambda *done: pipe.send(done))
    except ConnectionError:
        raise
    except MarineSimError as error:
        return error
    except Exception as error:
        reason = ' '.join(str(error).split())
        return RunError(f'block {number} failed ({type(error).__name__}: {reason})')


def main() -> None:
    """Serve until the pipe is closed: ``worker DESCRIPTOR``."""
    end_with_parent()
    with Connection(int(sys.argv[1])) as pipe:
        try:
            job = pipe.recv()
            while True:
                pipe.send(_answer(job, pipe.recv(), pipe))
        except (EOFError, ConnectionError):
            return


if __name__ == '__main__':
    main()
