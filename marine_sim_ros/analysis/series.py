# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Checks of the arrays that an analysis takes: shape, finite numbers, rising times."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.core.errors import ParameterError

__all__ = ['checked_rows', 'checked_time']


def checked_time(time: np.ndarray, *, least: float = 0.0) -> np.ndarray:
    """Return times (n,) in s that rise and are long enough to be judged.

    Raises:
        ParameterError: fewer than two, not finite, not rising, or shorter than ``least`` (s).
    """
    result = np.asarray(time, float)
    if result.ndim != 1 or len(result) < 2:
        raise ParameterError(f'time has shape {result.shape}; expected (n,) with two or more')
    _finite('time', result)
    late = np.flatnonzero(np.diff(result) <= 0)
    if len(late):
        i = int(late[0]) + 1
        raise ParameterError(
            f'time[{i}] is {result[i]:g} s after {result[i - 1]:g} s; expected rising times'
        )
    span = result[-1] - result[0]
    # A run of 10 s by 0.005 s may last 9.999999999999998 s.
    if span < least * (1 - 1e-9):
        raise ParameterError(f'the run lasts {span:g} s; expected at least {least:g} s to judge')
    return result


def checked_rows(
    name: str, values: np.ndarray, rows: int, columns: int, *, holes: bool = False
) -> np.ndarray:
    """Return an array (rows, columns) of finite numbers, or of numbers and NaN with ``holes``.

    Raises:
        ParameterError: another shape, or a value that is not finite.
    """
    result = np.asarray(values, float)
    if result.shape != (rows, columns):
        raise ParameterError(f'{name} has shape {result.shape}; expected ({rows}, {columns})')
    _finite(name, np.where(np.isnan(result), 0.0, result) if holes else result)
    return result


def _finite(name: str, values: np.ndarray) -> None:
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        where = ', '.join(map(str, bad[0]))
        raise ParameterError(
            f'{name}[{where}] is {values[tuple(bad[0])]}; expected finite numbers'
        )
