# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Values of a series at other times than its own."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.analysis.bags.streams import Series

__all__ = ['held', 'interpolated', 'rising']


def rising(series: Series) -> tuple[np.ndarray, np.ndarray]:
    """Return times (m,) that rise and their rows (m, k); of equal times the last counts."""
    time, rows = series.time, series.rows
    order = np.argsort(time, kind='stable')
    time, rows = time[order], rows[order]
    last = np.append(np.diff(time) > 0, True) if len(time) else np.zeros(0, bool)
    return time[last], rows[last]


def interpolated(series: Series, time: np.ndarray) -> np.ndarray:
    """Return rows (n, k) between the nearest two; NaN outside the series and in its holes."""
    at, rows = rising(series)
    columns = [np.interp(time, at, c, left=np.nan, right=np.nan) for c in rows.T]
    return np.column_stack(columns) if columns else np.zeros((len(time), 0))


def held(series: Series, time: np.ndarray) -> np.ndarray:
    """Return the newest row (n, k) at each time; before the first, the first."""
    at, rows = rising(series)
    newest = np.searchsorted(at, time, side='right') - 1
    return rows[np.maximum(newest, 0)]
