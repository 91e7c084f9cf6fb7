# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What POSIX systems have and Windows has not, for code that runs on both.

Modules such as fcntl, termios, tty, resource and pwd are imported in the function that needs them.
"""

from __future__ import annotations

import importlib.util
import os
import signal

from marine_sim_ros.core.errors import ParameterError

__all__ = ['SIGPROF', 'effective_user', 'open_flags', 'require_posix']

SIGPROF: int = getattr(signal, 'SIGPROF', 27)
"""Number of the signal; on Windows no process ends with it."""


def require_posix(what: str) -> None:
    """Raise ParameterError where the system is no POSIX system.

    Args:
        what: verb or option that needs it.
    """
    if importlib.util.find_spec('fcntl') is None:
        raise ParameterError(
            f'{what} needs Linux or another POSIX system, and this Python has no fcntl; '
            'simulate, validate, doctor and analyze work here'
        )


def effective_user() -> int:
    """Return the number of the user of this process; 0 on Windows, as all its files have."""
    return os.geteuid() if hasattr(os, 'geteuid') else 0


def open_flags(*names: str) -> int:
    """Return flags of ``os.open``, without those that this system does not have."""
    result = 0
    for name in names:
        result |= getattr(os, name, 0)
    return result
