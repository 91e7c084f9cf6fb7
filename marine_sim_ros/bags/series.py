# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Time series of recordings, of any length in bounded memory.

``Series`` keeps an envelope and thinned rows of numbers; ``MessageTiming`` the gaps, repeats and
delays of messages. ``interpolate_rows`` and ``latest_rows`` sample a series at other times.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ['MAX_HOLD', 'MessageTiming', 'Series', 'interpolate_rows', 'latest_rows', 'rising_rows']


# Streams of any length in bounded memory: envelopes, thinned rows, extremes, integrals.

BUCKETS = 1500
"""An envelope has this many buckets to twice as many: more than a screen has columns."""
MAX_NUMBERS = 2**20
"""Bound of the numbers of thinned rows, 8 MB; a shorter series is not thinned."""
MAX_HOLD = 2.0
"""Longest hold of a value in an integral, s; the rest of a longer gap adds nothing."""
MAX_CLOCK_DIFFERENCE = 1_000_000
"""ns between receipt and stamp, above which receipts have another clock."""
MAX_GAPS = 20
"""Bound of the listed gaps, the longest first."""


def _extreme_indices(values: np.ndarray, axis: int | None = None) -> tuple[Any, Any]:
    """Return the indices of minimum and maximum along an axis, without NaN."""
    missing = np.isnan(values)
    low = np.where(missing, np.inf, values).argmin(axis=axis)
    return low, np.where(missing, -np.inf, values).argmax(axis=axis)


class Series:
    """Rows (k,) over time in bounded memory: envelope, thinned rows, extremes and integral.

    The envelope keeps minimum and maximum of every column in each bucket, with their times, so
    that a peak of one sample is drawn however long the bag is. Thinned rows are every
    ``stride``-th row, for uses that need several columns of the same time.
    """

    def __init__(self, width: int, *, buckets: int = BUCKETS, numbers: int = MAX_NUMBERS) -> None:
        self.width = width
        self.count = 0
        self.stride = 1
        self.minimum = np.full(width, np.nan)
        self.maximum = np.full(width, np.nan)
        self.integral = np.zeros(width)
        self._max_buckets = buckets
        self._max_rows = max(1024, numbers // max(1, width))
        self._thinned: list[np.ndarray] = []
        self._thinned_count = 0
        self._per_bucket = 1
        self._incomplete = np.zeros((0, width + 1))
        self._buckets = np.zeros((4, 0, width))  # time of minimum, minimum, of maximum, maximum
        self._last: np.ndarray | None = None

    def add(self, time: np.ndarray, values: np.ndarray) -> None:
        """Take rows: times (n,) in s and values (n, k), NaN where unknown."""
        if not len(time):
            return
        rows = np.column_stack([time, values])
        self._thin_rows(rows)
        self._integrate(rows)
        self.minimum = np.fmin(self.minimum, np.fmin.reduce(values))
        self.maximum = np.fmax(self.maximum, np.fmax.reduce(values))
        self.count += len(rows)
        rows = np.concatenate([self._incomplete, rows])
        complete = len(rows) // self._per_bucket * self._per_bucket
        self._incomplete = rows[complete:].copy()
        self._append(rows[:complete].reshape(-1, self._per_bucket, self.width + 1))

    def _thin_rows(self, rows: np.ndarray) -> None:
        # (-count) % stride: the first row whose number in the series is a multiple of stride.
        part = rows[(-self.count) % self.stride :: self.stride]
        if len(part):
            self._thinned.append(part.copy())  # a view would keep the whole block alive
            self._thinned_count += len(part)
        while self._thinned_count > self._max_rows:
            self._thinned = [np.concatenate(self._thinned)[::2].copy()]
            self._thinned_count = len(self._thinned[0])
            self.stride *= 2

    def _integrate(self, rows: np.ndarray) -> None:
        if self._last is not None:
            rows = np.concatenate([self._last[None], rows])
        step = np.diff(rows[:, 0])
        # A gap adds nothing to the integral.
        step = np.where((step > 0) & (step <= MAX_HOLD), step, 0.0)
        self.integral = self.integral + step @ np.nan_to_num(rows[:-1, 1:])
        self._last = rows[-1].copy()

    def _append(self, rows: np.ndarray) -> None:
        if not len(rows):
            return
        time, values = rows[..., 0], rows[..., 1:]
        low, high = _extreme_indices(values, axis=1)
        each, columns = np.arange(len(rows))[:, None], np.arange(self.width)[None]
        new = np.stack(
            [
                time[each, low],
                values[each, low, columns],
                time[each, high],
                values[each, high, columns],
            ]
        )
        self._buckets = np.concatenate([self._buckets, new], axis=1)
        while self._buckets.shape[1] > 2 * self._max_buckets:
            self._merge_buckets()

    def _merge_buckets(self) -> None:
        """Halve the number of buckets: merge each with its neighbour."""
        even = self._buckets.shape[1] // 2 * 2
        first, second = self._buckets[:, :even:2], self._buckets[:, 1:even:2]
        lower = (second[1] < first[1]) | np.isnan(first[1])
        higher = (second[3] > first[3]) | np.isnan(first[3])
        swap = np.stack([lower, lower, higher, higher])
        merged = np.where(swap, second, first)
        self._buckets = np.concatenate([merged, self._buckets[:, even:]], axis=1)
        self._per_bucket *= 2

    @property
    def time(self) -> np.ndarray:
        """Times (m,) of the thinned rows, s."""
        return self._table()[:, 0]

    @property
    def rows(self) -> np.ndarray:
        """Thinned rows (m, k)."""
        return self._table()[:, 1:]

    def _table(self) -> np.ndarray:
        if len(self._thinned) != 1:
            self._thinned = [
                np.concatenate(self._thinned) if self._thinned else np.zeros((0, self.width + 1))
            ]
        return self._thinned[0]

    def line(self, column: int) -> tuple[np.ndarray, np.ndarray]:
        """Return times (s) and values of a column to draw: all rows, or the envelope."""
        if self.stride == 1 and self.count <= 2 * self._max_buckets:
            return self.time, self.rows[:, column]
        parts = self._buckets[:, :, column]
        if len(self._incomplete):
            values, time = self._incomplete[:, 1 + column], self._incomplete[:, 0]
            low, high = _extreme_indices(values)
            end = np.array([[time[low]], [values[low]], [time[high]], [values[high]]])
            parts = np.concatenate([parts, end], axis=1)
        time, values = parts[[0, 2]].T, parts[[1, 3]].T
        order = np.argsort(time, axis=1, kind='stable')
        time, values = (np.take_along_axis(a, order, axis=1).ravel() for a in (time, values))
        same = np.append(False, (np.diff(time) == 0) & (np.diff(values) == 0))
        return time[~same], values[~same]


class MessageTiming:
    """Timing of a topic's messages: tick, gaps, repeats, lateness of receipt.

    The tick (s) is the median interval of the first block of messages. A gap is an interval of
    more than one and a half ticks; ``lost`` counts the ticks that fit into the gaps.

    Attributes:
        first: first stamp, ns.
        last: last stamp, ns.
        longest: longest gaps, s, and the stamps before them, s.
        has_wall_clock: whether times of receipt are those of another clock than the stamps.
        series: interval, ms; lateness of the receipt, ms; receipt since the first one, s.
    """

    def __init__(self) -> None:
        self.count = 0
        self.tick: float | None = None
        self.first = self.last = 0
        self.gaps = self.lost = self.backwards = self.repeated = 0
        self.longest: list[tuple[float, float]] = []
        self.has_wall_clock = False
        self.series = Series(3)
        self._receipt = self._last_receipt = 0

    def add(self, stamps: np.ndarray, receipts: np.ndarray) -> None:
        """Take stamps and times of receipt (n,), ns."""
        if not len(stamps):
            return
        if not self.count:
            self.first, self._receipt = int(stamps[0]), int(receipts[0])
            all_stamps = stamps
        else:
            all_stamps = np.append(self.last, stamps)
        interval = np.diff(all_stamps)
        if self.tick is None and np.any(interval > 0):
            self.tick = float(np.median(interval[interval > 0])) / 1e9
        self._count(all_stamps, interval)
        difference = np.abs(receipts - stamps)
        self.has_wall_clock = self.has_wall_clock or bool(
            np.any(difference > MAX_CLOCK_DIFFERENCE)
        )
        late = ((receipts - self._receipt) - (stamps - self.first)) / 1e6
        intervals = interval if self.count else np.append(0, interval)
        rows = np.column_stack([intervals / 1e6, late, (receipts - self._receipt) / 1e9])
        if not self.count:
            rows[0, 0] = np.nan
        self.series.add(stamps / 1e9, rows)
        self.count += len(stamps)
        self.last, self._last_receipt = int(stamps[-1]), int(receipts[-1])

    def _count(self, stamps: np.ndarray, interval: np.ndarray) -> None:
        self.backwards += int(np.sum(interval < 0))
        self.repeated += int(np.sum(interval == 0))
        if self.tick is None:
            return
        wide = np.flatnonzero(interval > 1.5e9 * self.tick)
        self.gaps += len(wide)
        self.lost += int(np.sum(np.rint(interval[wide] / (1e9 * self.tick)) - 1))
        new_gaps = [(float(interval[i]) / 1e9, float(stamps[i]) / 1e9) for i in wide]
        self.longest = sorted([*self.longest, *new_gaps], reverse=True)[:MAX_GAPS]

    @property
    def duration(self) -> float:
        """Time from the first to the last stamp, s."""
        return (self.last - self.first) / 1e9

    @property
    def real_time_factor(self) -> float | None:
        """Simulated or measured time over time of receipt; None without wall times."""
        span = (self._last_receipt - self._receipt) / 1e9
        return self.duration / span if self.has_wall_clock and span > 0 else None


# Values of a series between its rows.


def rising_rows(series: Series) -> tuple[np.ndarray, np.ndarray]:
    """Return increasing times (m,) and their rows (m, k); of equal times, the last row."""
    time, rows = series.time, series.rows
    order = np.argsort(time, kind='stable')
    time, rows = time[order], rows[order]
    last = np.append(np.diff(time) > 0, True) if len(time) else np.zeros(0, bool)
    return time[last], rows[last]


def interpolate_rows(series: Series, time: np.ndarray) -> np.ndarray:
    """Return rows (n, k) interpolated linearly; NaN outside the series and beside NaN."""
    at, rows = rising_rows(series)
    columns = [np.interp(time, at, c, left=np.nan, right=np.nan) for c in rows.T]
    return np.column_stack(columns) if columns else np.zeros((len(time), 0))


def latest_rows(series: Series, time: np.ndarray) -> np.ndarray:
    """Return the latest row (n, k) at each time; the first before its time; NaN without rows."""
    at, rows = rising_rows(series)
    if not len(at):
        return np.full((len(time), rows.shape[1]), np.nan)
    newest = np.searchsorted(at, time, side='right') - 1
    return rows[np.maximum(newest, 0)]
