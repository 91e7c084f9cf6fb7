# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The recordings of one vehicle that are drawn over one another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marine_sim_ros.analysis.bags.alignment import Alignment
from marine_sim_ros.analysis.bags.sensors import SensorComparison
from marine_sim_ros.analysis.bags.streams import Series
from marine_sim_ros.analysis.bags.vehicle import VehicleRecord
from marine_sim_ros.analysis.report.panels import COLOURS, DASHES, Line, step_points
from marine_sim_ros.model.vehicle import Barometer

__all__ = ['Run', 'line', 'name', 'steps']


@dataclass(frozen=True)
class Run:
    """A recording and its place in the charts.

    Attributes:
        label: label of its bag.
        record: record of the vehicle.
        number: 0 for the first bag.
        zero: stamp that is 0 in the charts, s.
        alignment: alignment with the first bag; None for the first.
        sensor: the vehicle's barometer, where its description was given.
        sensors: its sensors beside the truth, where the description is known.
        sensors_note: why there are none, or empty.
    """

    label: str
    record: VehicleRecord
    number: int
    zero: float
    alignment: Alignment | None = None
    sensor: Barometer | None = None
    sensors: tuple[SensorComparison, ...] = ()
    sensors_note: str = ''

    @property
    def colour(self) -> str:
        """Where a panel shows one quantity, bags differ in colour."""
        return COLOURS[self.number % len(COLOURS)]

    @property
    def dash(self) -> str:
        """Where colours tell quantities, bags differ in dashes."""
        return DASHES[self.number % len(DASHES)]

    def time(self, stamps: np.ndarray) -> np.ndarray:
        """Return times of the charts, s."""
        return stamps - self.zero + (self.alignment.offset if self.alignment else 0.0)


def name(run: Run, what: str, *, several: bool) -> str:
    """Return what a legend calls a line."""
    return f'{what} ({run.label})' if several else what


def line(
    run: Run,
    series: Series,
    column: int,
    label: str,
    colour: str,
    *,
    scale: float = 1.0,
    dash: str = 'solid',
    width: float = 1.5,
) -> Line:
    """Return the line of a series' column."""
    time, values = series.line(column)
    return Line(label, run.time(time), values * scale, colour, dash, width)


def steps(run: Run, time: np.ndarray, values: np.ndarray, label: str, most: int = 3000) -> Line:
    """Return the line of what holds until it changes."""
    changed = step_points(values)
    time, values = time[changed], values[changed]
    shown = extremes(values, most)
    return Line(label, run.time(time[shown]), values[shown], '@ink', 'dash', 1.3, steps=True)


def extremes(values: np.ndarray, most: int) -> np.ndarray:
    """Return indices of at most so many values, about: of each bucket the least and the greatest.

    The last value is among them; NaN counts as neither where there is another value.
    """
    count = len(values)
    if count <= most:
        return np.arange(count)
    size = -(-count // (most // 2))
    padded = np.full((-(-count // size), size), np.nan)
    padded.flat[:count] = values
    low = np.where(np.isnan(padded), np.inf, padded).argmin(axis=1)
    high = np.where(np.isnan(padded), -np.inf, padded).argmax(axis=1)
    starts = np.arange(len(padded)) * size
    return np.unique(np.concatenate([starts + low, starts + high, [count - 1]]))
