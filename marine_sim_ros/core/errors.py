# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Every error the package raises on purpose, so that one ``except`` catches them all."""

from __future__ import annotations

import errno

from marine_sim_ros.core.printable import printable

__all__ = [
    'MarineSimError',
    'MissingPackageError',
    'ModelError',
    'ParameterError',
    'RecordingError',
    'RunError',
    'ScenarioError',
    'exit_code',
]


class MarineSimError(Exception):
    """Base of all errors that a user can fix: one line saying what, where, what was expected."""

    def __str__(self) -> str:
        """Return the line; names in it may be of others."""
        return printable(super().__str__())


class MissingPackageError(MarineSimError):
    """A feature needs a Python package that is not installed."""


class ModelError(MarineSimError):
    """A vehicle description cannot be used."""


class ParameterError(MarineSimError):
    """A parameter or an argument is out of its range."""


class ScenarioError(MarineSimError):
    """A scenario file cannot be used."""


class RecordingError(MarineSimError):
    """A recording could not be written or read."""


class RunError(MarineSimError):
    """A run did not come to its end, although its input was valid."""


_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)


def exit_code(error: MarineSimError) -> int:
    """Return 1 where a run or the disk failed, and 2 where the input cannot be used."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, RunError) or getattr(cause, 'errno', None) in _DISK:
            return 1
        cause = cause.__cause__ or cause.__context__
    return 2
