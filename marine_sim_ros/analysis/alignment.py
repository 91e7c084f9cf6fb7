# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Time alignment of two recordings of one run, and their differences.

By ``stamps`` where both have the same clock, so that their stamps overlap for at least half of
the shorter one. Otherwise by ``correlation``: with the motions a(t), b(t) on a common grid, the
shift s that makes the mean over the overlap of Σ_q (a_q(t) − b_q(t − s))² / σ_q² smallest,
computed from cross-correlations by fast Fourier transforms; q are depth (without its mean), surge,
sway, heave and turn rates, σ_q² their variance, and the overlap is at least half of the shorter
run. By ``start`` (first stamps together) where nothing moves; ``analyze`` takes it of a replay.
Different clocks may overlap, as those of two logs: where the runs start at other times, and their
motions agree at a shift (0.9) and do not without one (0.5), the correlation counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from marine_sim_ros.bags.series import Series, interpolate_rows, rising_rows
from marine_sim_ros.bags.vehicle_record import ODOM_QUANTITIES, VehicleRecord
from marine_sim_ros.core.errors import MissingPackageError, ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import wrap_angle

__all__ = ['ALIGNMENT_METHODS', 'Alignment', 'align', 'differences']

ALIGNMENT_METHODS = ('auto', 'stamps', 'start', 'correlation')
_SIGNALS = tuple(
    ODOM_QUANTITIES.index(n)
    for n in ('z', 'surge', 'sway', 'heave', 'roll_rate', 'pitch_rate', 'yaw_rate')
)
_GRID = 2**14
MIN_STEP = 0.01
_STILL = 1e-4
_MIN_START_DIFFERENCE = 1.0
"""s between the first stamps, below which overlapping clocks are the same."""
_SAME_MOTION, _OTHER_MOTION = 0.9, 0.5
"""Agreement of one motion with itself, at least, and of two different ones, at most."""


@dataclass(frozen=True)
class Alignment:
    """Mapping of another recording's time to the time of the first.

    Attributes:
        method: stamps, start or correlation.
        offset: time to add to the other bag's stamps, s.
        agreement: 1 − half the mean normalised square difference of the motions there: 1 for the
            same, about 0 for unrelated ones; None unless by correlation.
        unshifted_agreement: the same without a shift; None where the clocks do not overlap.
    """

    method: str
    offset: float
    agreement: float | None = None
    unshifted_agreement: float | None = None

    def text(self) -> str:
        """Return a sentence for people."""
        if self.method == 'stamps':
            return 'Aligned by stamps: both have the same clock, so nothing is shifted.'
        if self.method == 'start':
            return f'Aligned by their first stamps: shifted by {self.offset:+.3f} s.'
        return (
            f'Aligned by cross-correlation of the motions: shifted by {self.offset:+.3f} s, '
            f'agreement {self.agreement:.3f} (1: the same).'
        )


def align(first: VehicleRecord, other: VehicleRecord, method: str = 'auto') -> Alignment:
    """Return the mapping of the other's time to the first one's; see the module's docstring.

    Raises:
        ParameterError: a method that does not exist, or correlation where nothing moves.
    """
    if method not in ALIGNMENT_METHODS:
        raise ParameterError(f'--align {method}: expected one of {", ".join(ALIGNMENT_METHODS)}')
    start = other.start - first.start
    if method == 'stamps':
        return Alignment('stamps', 0.0)
    if method == 'auto' and _overlap(first, other):
        return _other_clock(first, other) or Alignment('stamps', 0.0)
    if method != 'start':
        alignment = _correlate(first, other)
        if alignment is not None:
            return alignment
        if method == 'correlation':
            raise ParameterError(
                '--align correlation: nothing moves in both bags; expected --align start or stamps'
            )
    return Alignment('start', -start)


def _span(record: VehicleRecord) -> tuple[float, float]:
    series = record.get('odom') or next(iter(record.channels.values())).series
    time = series.time
    return float(time.min()), float(time.max())


def _overlap(first: VehicleRecord, other: VehicleRecord) -> bool:
    (a, b), (c, d) = _span(first), _span(other)
    return min(b, d) - max(a, c) >= 0.5 * min(b - a, d - c)


def _other_clock(first: VehicleRecord, other: VehicleRecord) -> Alignment | None:
    """Return the alignment by correlation where only it makes the motions agree; else None."""
    if abs(other.start - first.start) < _MIN_START_DIFFERENCE:
        return None
    try:
        alignment = _correlate(first, other)
    except MissingPackageError:  # the stamps need no SciPy
        return None
    if alignment is None or alignment.agreement is None or alignment.unshifted_agreement is None:
        return None
    clear = alignment.agreement >= _SAME_MOTION and alignment.unshifted_agreement < _OTHER_MOTION
    return alignment if clear else None


def _correlate(first: VehicleRecord, other: VehicleRecord) -> Alignment | None:
    odometry, other_odometry = first.get('odom'), other.get('odom')
    if odometry is None or other_odometry is None:
        return None
    (a, b), (c, d) = _span(first), _span(other)
    shorter = min(b - a, d - c)
    step = max(MIN_STEP, (b - a + d - c) / _GRID)
    if shorter < 4 * step:
        return None
    x, y = _motion(odometry, a, b, step), _motion(other_odometry, c, d, step)
    spread = np.nanvar(np.concatenate([x, y]), axis=0)
    moving = spread > _STILL**2
    moving &= np.isfinite(x).any(axis=0) & np.isfinite(y).any(axis=0)
    if not moving.any():
        return None
    scale = 1 / np.sqrt(spread[moving])
    cost, count = _costs(x[:, moving] * scale, y[:, moving] * scale)
    min_count = 0.5 * shorter / step * moving.sum()
    cost = np.where(count >= min_count, cost / np.maximum(count, 1), np.inf)
    best = int(np.argmin(cost))
    if not np.isfinite(cost[best]):
        return None
    lag = best - (len(y) - 1) + _parabola_minimum(cost, best)
    zero_shift = len(y) - 1 + round((c - a) / step)
    unshifted = float(cost[zero_shift]) if 0 <= zero_shift < len(cost) else math.inf
    return Alignment(
        'correlation',
        a + lag * step - c,
        1 - 0.5 * float(cost[best]),
        1 - 0.5 * unshifted if math.isfinite(unshifted) else None,
    )


def _motion(series: Series, start: float, end: float, step: float) -> np.ndarray:
    grid = np.arange(start, end, step)
    values = interpolate_rows(series, grid)[:, _SIGNALS]
    depth = values[:, 0]
    if np.isfinite(depth).any():
        values[:, 0] = depth - np.nanmean(depth)
    return values


def _costs(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Σ (x(t) − y(t − s))² and the number of terms at every shift s, y's last row first."""
    correlate = require('scipy.signal', 'alignment of two bags').correlate

    size = len(x) + len(y) - 1
    cost, count = np.zeros(size), np.zeros(size)
    for u, v in zip(x.T, y.T, strict=True):
        m, n = np.isfinite(u).astype(float), np.isfinite(v).astype(float)
        u, v = np.nan_to_num(u), np.nan_to_num(v)
        count += correlate(m, n, method='fft')
        cost += correlate(u * u, n, method='fft') + correlate(m, v * v, method='fft')
        cost -= 2 * correlate(u, v, method='fft')
    return np.maximum(cost, 0), np.rint(count)


def _parabola_minimum(cost: np.ndarray, best: int) -> float:
    """Return the minimum of the parabola through three costs, in grid shifts."""
    if not 0 < best < len(cost) - 1:
        return 0.0
    left, middle, right = cost[best - 1 : best + 2]
    bend = left - 2 * middle + right
    if not math.isfinite(bend) or bend <= 0:
        return 0.0
    return float(np.clip(0.5 * (left - right) / bend, -0.5, 0.5))


def differences(
    first: VehicleRecord, other: VehicleRecord, alignment: Alignment
) -> dict[str, dict[str, Any]]:
    """Return other − first of every quantity both have, over the time both have.

    ``rms``, ``bias`` (mean), ``max`` (of the size), ``rms_without_bias``, unit and number of
    moments; angles the shortest way round, in degrees.
    """
    result: dict[str, dict[str, Any]] = {}
    for name, channel in first.channels.items():
        other_channel = other.channels.get(name)
        if other_channel is None or name == 'controller/setpoints':
            continue
        time, mine = rising_rows(channel.series)
        theirs = interpolate_rows(other_channel.series, time - alignment.offset)
        for label, unit, i, scale in _quantities(
            name, channel.labels, min(mine.shape[1], theirs.shape[1])
        ):
            error = theirs[:, i] - mine[:, i]
            if unit == '°':
                error = wrap_angle(error)
            error = error[np.isfinite(error)] * scale
            if len(error):
                result[label] = {
                    'unit': unit,
                    'rms': float(np.sqrt(np.mean(error**2))),
                    'bias': float(error.mean()),
                    'rms_without_bias': float(error.std()),
                    'max': float(np.abs(error).max()),
                    'moments': len(error),
                }
    return result


def _quantities(
    name: str, labels: tuple[str, ...], width: int
) -> list[tuple[str, str, int, float]]:
    """Return name, unit, column and scale of a channel's quantities."""
    degrees = 180 / math.pi
    if name == 'odom':
        units = ['m'] * 3 + ['°'] * 3 + ['m/s'] * 3 + ['°/s'] * 3
        scales = [1.0] * 3 + [degrees] * 3 + [1.0] * 3 + [degrees] * 3
        return [(ODOM_QUANTITIES[i], units[i], i, scales[i]) for i in range(12)]
    if name.startswith(('wrench/', 'drag/', 'controller/wrench')):
        axes = ('Fx', 'Fy', 'Fz', 'Mx', 'My', 'Mz')
        return [(f'{name} {a}', 'N' if i < 3 else 'N m', i, 1.0) for i, a in enumerate(axes)]
    if name == 'thrusters/state':
        half = min(len(labels), width) // 2
        short = [label.rsplit('_thrust_N', 1)[0] for label in labels]
        return [(f'thrust {short[i]}', 'N', i, 1.0) for i in range(half)]
    unit, count = {
        'thrusters/pwm': ('µs', width),
        'thrusters/power': ('W', width - 2),
        'barometer/pressure': ('Pa', 1),
        'barometer/temperature': ('°C', 1),
    }.get(name, ('', 0))
    many = count > 1
    return [(f'{name} {i + 1}' if many else name, unit, i, 1.0) for i in range(count)]
