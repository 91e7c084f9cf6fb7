# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Charts of sensors: each reading over its true value, and the error in standard deviations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from marine_sim_ros.analysis.bags.sensors import BOUND, SensorComparison
from marine_sim_ros.analysis.report.panels import Line, Panel, chart
from marine_sim_ros.analysis.report.runs import Run, extremes, name

__all__ = ['sensor_charts', 'sensor_rows']

_FEW = 300
"""Readings of which each is marked."""
_GAP = 2.5
"""A time between messages of more than so many usual ones is a gap."""
_SHOWN = 4000
"""Readings of a line: of more, the least and the greatest of each interval."""
_ROW = 120


def sensor_charts(key: str, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return a chart of each quantity: readings to the left, normalised errors to the right."""
    result = []
    for number, found in enumerate(_quantities(runs)):
        _, first = found[0]
        note = _note(first)
        unit, parts = first.chart.unit, first.chart.parts
        panels = [
            Panel(_titled(part or first.chart.label, unit), list(_readings(found, i, len(runs))))
            for i, part in enumerate(parts)
        ]
        errors = [
            Panel(_titled(f'{part} error', 'σ'), list(_errors(found, i, len(runs))))
            for i, part in enumerate(parts)
        ]
        columns = 1
        if any(panel.lines for panel in errors):
            panels, columns = panels + errors, 2
        else:
            note += ' Its noise has no known standard deviation.'
        title = f'{first.sensor}: {first.chart.label}'
        result.append(
            chart(
                f'{key}-sensor-{number}',
                title,
                note,
                panels,
                columns=columns,
                row_height=_ROW if len(parts) > 1 else 165,
            )
        )
    return result


def sensor_rows(runs: Sequence[Run]) -> list[tuple[Any, ...]]:
    """Return sensor, quantity, bag (of several), unit and numbers of the error of each value."""
    return [
        (
            compared.sensor,
            quantity,
            *([run.label] if len(runs) > 1 else []),
            numbers['unit'],
            numbers['readings'],
            numbers['bias'],
            numbers['rms'],
            numbers['normalised_mean'],
            numbers['normalised_rms'],
            None if numbers['share_within_2'] is None else 100 * numbers['share_within_2'],
        )
        for found in _quantities(runs)
        for run, compared in found
        for quantity, numbers in compared.metrics().items()
    ]


def _quantities(runs: Sequence[Run]) -> list[list[tuple[Run, SensorComparison]]]:
    """Return the same quantity of several runs together."""
    result: dict[tuple[str, str], list[tuple[Run, SensorComparison]]] = {}
    for run in runs:
        for compared in run.sensors:
            if np.isfinite(compared.reading).any():
                result.setdefault((compared.sensor, compared.chart.label), []).append(
                    (run, compared)
                )
    return list(result.values())


def _titled(text: str, unit: str) -> str:
    return f'{text} [{unit or "1"}]'.strip()


def _note(compared: SensorComparison) -> str:
    note = f'From the topic {compared.sensor}/{compared.chart.topic}.'
    if compared.stride > 1:
        note += f' One in {compared.stride} messages is compared.'
    return note


def _readings(
    found: Sequence[tuple[Run, SensorComparison]], column: int, runs: int
) -> Iterator[Line]:
    for run, compared in found:
        label = name(run, 'reading', several=runs > 1)
        yield from _line(run, compared, compared.reading[:, column], label, run.colour, width=1.0)
    for run, compared in found:
        label = name(run, 'truth', several=runs > 1)
        truth = compared.truth[:, column]
        yield from _line(run, compared, truth, label, '@ink', dash=run.dash, width=1.3)


def _errors(
    found: Sequence[tuple[Run, SensorComparison]], column: int, runs: int
) -> Iterator[Line]:
    drawn = []
    for run, compared in found:
        label = name(run, 'normalised error', several=runs > 1)
        values = compared.normalised[:, column]
        drawn += list(_line(run, compared, values, label, run.colour, width=1.0))
    yield from drawn
    if drawn:
        times = np.concatenate([line.x for line in drawn])
        ends = np.array([np.nanmin(times), np.nanmax(times)])
        for bound in (BOUND, -BOUND):
            yield Line('±2 σ', ends, np.full(2, bound), '@vermilion', 'dash', 1.4)


def _line(
    run: Run,
    compared: SensorComparison,
    values: np.ndarray,
    label: str,
    colour: str,
    *,
    dash: str = 'solid',
    width: float,
) -> Iterator[Line]:
    """Yield the line of values, open where there is a gap in time; none without a value."""
    if not np.isfinite(values).any():
        return
    shown = extremes(values, _SHOWN)
    time, values = run.time(compared.time[shown]), values[shown]
    few = len(values) <= _FEW and colour != '@ink'
    step = np.diff(time)
    usual = np.median(np.diff(compared.time)) if len(step) else 0.0
    wide = step > _GAP * usual * np.diff(shown)
    holes = np.flatnonzero(wide) + 1
    time = np.insert(time, holes, (time[holes] + time[np.subtract(holes, 1)]) / 2)
    yield Line(label, time, np.insert(values, holes, np.nan), colour, dash, width, points=few)
