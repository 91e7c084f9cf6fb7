# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Charts of sensors and of the recording itself: errors, barometer, stamps, differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from marine_sim_ros.analysis.report.plotly_charts import (
    COLOURS,
    DASHES,
    ChartLine,
    ChartPanel,
    ChartRun,
    chart,
    decimate_min_max,
    legend_name,
    series_line,
)
from marine_sim_ros.analysis.sensor_errors import BOUND, SensorComparison
from marine_sim_ros.bags.metrics import depth_check
from marine_sim_ros.bags.roles import actuator_of, state_columns, unit_suffix
from marine_sim_ros.bags.series import Series, interpolate_rows, rising_rows
from marine_sim_ros.bags.vehicle_record import ODOM_QUANTITIES
from marine_sim_ros.core.registry import ACTUATORS
from marine_sim_ros.core.spatial import wrap_angle

__all__ = [
    'actuator_charts',
    'barometer_charts',
    'difference_charts',
    'pilot_charts',
    'sensor_charts',
    'sensor_error_rows',
    'timing_charts',
]


# Charts of sensors: each reading over its true value, and the error in standard deviations.

_MAX_MARKERS = 300
"""Readings of which each is marked."""
_GAP = 2.5
"""A time between messages of more than so many usual ones is a gap."""
_SHOWN = 4000
"""Readings of a line: of more, the least and the greatest of each interval."""
_ROW = 120


def sensor_charts(key: str, runs: Sequence[ChartRun]) -> list[dict[str, Any]]:
    """Return a chart of each quantity: readings to the left, normalised errors to the right."""
    result = []
    for number, found in enumerate(_quantities(runs)):
        _, first = found[0]
        note = _note(first)
        unit, parts = first.chart.unit, first.chart.parts
        panels = [
            ChartPanel(
                _with_title(part or first.chart.label, unit), list(_readings(found, i, len(runs)))
            )
            for i, part in enumerate(parts)
        ]
        errors = [
            ChartPanel(_with_title(f'{part} error', 'σ'), list(_errors(found, i, len(runs))))
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


def sensor_error_rows(runs: Sequence[ChartRun]) -> list[tuple[Any, ...]]:
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


def _quantities(runs: Sequence[ChartRun]) -> list[list[tuple[ChartRun, SensorComparison]]]:
    """Return the same quantity of several runs together."""
    result: dict[tuple[str, str], list[tuple[ChartRun, SensorComparison]]] = {}
    for run in runs:
        for compared in run.sensors:
            if np.isfinite(compared.reading).any():
                result.setdefault((compared.sensor, compared.chart.label), []).append(
                    (run, compared)
                )
    return list(result.values())


def _with_title(text: str, unit: str) -> str:
    return f'{text} [{unit or "1"}]'.strip()


def _note(compared: SensorComparison) -> str:
    note = f'From the topic {compared.sensor}/{compared.chart.topic}.'
    if compared.stride > 1:
        note += f' One in {compared.stride} messages is compared.'
    return note


def _readings(
    found: Sequence[tuple[ChartRun, SensorComparison]], column: int, runs: int
) -> Iterator[ChartLine]:
    for run, compared in found:
        label = legend_name(run, 'reading', several=runs > 1)
        yield from _line(run, compared, compared.reading[:, column], label, run.colour, width=1.0)
    for run, compared in found:
        label = legend_name(run, 'truth', several=runs > 1)
        truth = compared.truth[:, column]
        yield from _line(run, compared, truth, label, '@ink', dash=run.dash, width=1.3)


def _errors(
    found: Sequence[tuple[ChartRun, SensorComparison]], column: int, runs: int
) -> Iterator[ChartLine]:
    drawn = []
    for run, compared in found:
        label = legend_name(run, 'normalised error', several=runs > 1)
        values = compared.normalised[:, column]
        drawn += list(_line(run, compared, values, label, run.colour, width=1.0))
    yield from drawn
    if drawn:
        times = np.concatenate([line.x for line in drawn])
        ends = np.array([np.nanmin(times), np.nanmax(times)])
        for bound in (BOUND, -BOUND):
            yield ChartLine('±2 σ', ends, np.full(2, bound), '@vermilion', 'dash', 1.4)


def _line(
    run: ChartRun,
    compared: SensorComparison,
    values: np.ndarray,
    label: str,
    colour: str,
    *,
    dash: str = 'solid',
    width: float,
) -> Iterator[ChartLine]:
    """Yield the line of values, open where there is a gap in time; none without a value."""
    if not np.isfinite(values).any():
        return
    shown = decimate_min_max(values, _SHOWN)
    time, values = run.time(compared.time[shown]), values[shown]
    few = len(values) <= _MAX_MARKERS and colour != '@ink'
    step = np.diff(time)
    usual = np.median(np.diff(compared.time)) if len(step) else 0.0
    wide = step > _GAP * usual * np.diff(shown)
    holes = np.flatnonzero(wide) + 1
    time = np.insert(time, holes, (time[holes] + time[np.subtract(holes, 1)]) / 2)
    yield ChartLine(label, time, np.insert(values, holes, np.nan), colour, dash, width, points=few)


# Charts of the recording's quality: barometer, stamps, differences of bags.

_FACTORS = 200


def _series(time: np.ndarray, values: np.ndarray) -> Series:
    result = Series(values.shape[1])
    result.add(time, values)
    return result


def barometer_charts(key: str, runs: Sequence[ChartRun]) -> list[dict[str, Any]]:
    """Return depth by pressure and by odometry, and their difference."""
    depths: list[ChartLine] = []
    errors: list[ChartLine] = []
    note = ''
    several = len(runs) > 1
    for run in runs:
        check = depth_check(run.record, run.sensor)
        if check is None:
            continue
        values = np.column_stack([check.measured, check.true, check.measured - check.true])
        series = _series(check.time, values)
        label = legend_name(run, 'barometer', several=several)
        depths.append(series_line(run, series, 0, label, run.colour, width=1.0))
        depths.append(
            series_line(
                run,
                series,
                1,
                legend_name(run, 'odometry', several=several),
                '@ink',
                dash=run.dash,
            )
        )
        errors.append(
            series_line(
                run,
                series,
                2,
                legend_name(run, 'difference', several=several),
                run.colour,
                dash=run.dash,
                width=1.0,
            )
        )
        place = 'at the pose of the vehicle description' if run.sensor else 'assumed at base_link'
        note = (
            f'With {check.atmospheric_pressure:g} Pa at the surface and '
            f'{check.fluid_density:g} kg/m³; the sensor is {place}.'
        )
    if not depths:
        return []
    panels = [
        ChartPanel('depth [m]', depths, down=True),
        ChartPanel('difference [m]', errors, fine=True),
    ]
    return [chart(f'{key}-barometer', 'Barometer against depth', note, panels)]


def timing_charts(key: str, runs: Sequence[ChartRun]) -> list[dict[str, Any]]:
    """Return intervals of the odometry's stamps, and how they were received."""
    shown = [run for run in runs if 'odom' in run.record.channels]
    if not shown:
        return []
    several = len(runs) > 1
    interval, late, factor = [], [], []
    for run in shown:
        timing = run.record.channels['odom'].timing
        label = legend_name(run, 'odometry', several=several)
        interval.append(series_line(run, timing.series, 0, label, run.colour))
        if timing.has_wall_clock:
            late.append(series_line(run, timing.series, 1, label, run.colour))
            factor += _factor(run, timing.series, label)
    panels = [ChartPanel('interval [ms]', interval)]
    note = 'Time between the stamps of successive odometry messages. '
    if late:
        panels += [
            ChartPanel('received late [ms]', late),
            ChartPanel('real-time factor [1]', factor),
        ]
        note += 'Lateness is the receipt time minus the stamp, relative to the first message.'
    else:
        note += 'The receipt times in this bag are its stamps, so they carry no wall time.'
    return [chart(f'{key}-timing', 'Message timing', note, panels)]


def _factor(run: ChartRun, shape: Series, label: str) -> list[ChartLine]:
    time, rows = rising_rows(shape)
    few = np.unique(np.linspace(0, len(time) - 1, _FACTORS).astype(int))
    span = np.diff(rows[few, 2])
    if not np.any(span > 0):
        return []
    ratio = np.where(span > 0, np.diff(time[few]) / np.where(span > 0, span, 1), np.nan)
    return [ChartLine(label, run.time(time[few][1:]), ratio, run.colour)]


def actuator_charts(key: str, runs: Sequence[ChartRun]) -> list[dict[str, Any]]:
    """Return a chart of the states of each actuator: joints of an arm, and what else moves."""
    channels = (c for run in runs for c in run.record.channels.values())
    names = dict.fromkeys(c.name for c in channels if c.role == 'joints' or actuator_of(c.role))
    return [_state_chart(key, runs, name) for name in names]


def _state_chart(key: str, runs: Sequence[ChartRun], name: str) -> dict[str, Any]:
    """Return the chart of a topic that some runs have."""
    panels: dict[str, list[ChartLine]] = {}
    shown = [(run, run.record.channels[name]) for run in runs if name in run.record.channels]
    actuator = actuator_of(shown[0][1].role) or ACTUATORS['joints']
    several = len(runs) > 1
    for run, channel in shown:
        columns = state_columns(actuator, len(channel.labels))
        for i, (label, (_, unit)) in enumerate(zip(channel.labels, columns, strict=True)):
            part = label.removesuffix('_position').removesuffix(f'_{unit_suffix(unit)}')
            title = _with_title(part, unit)
            legend = legend_name(run, actuator.part, several=several)
            panels.setdefault(title, []).append(
                series_line(run, channel.series, i, legend, run.colour)
            )
    listed = [ChartPanel(title, lines) for title, lines in panels.items()]
    note = f'{actuator.text[:1].upper()}{actuator.text[1:]}.'
    width = min(2, len(listed))
    return chart(f'{key}-{actuator.name}', actuator.label, note, listed, columns=width)


def pilot_charts(key: str, runs: Sequence[ChartRun]) -> list[dict[str, Any]]:
    """Return battery and sticks of the log of an autopilot."""
    several = len(runs) > 1
    battery: dict[str, list[ChartLine]] = {'voltage [V]': [], 'current [A]': []}
    sticks = []
    for run in runs:
        if (series := run.record.get('autopilot/battery')) is not None:
            for i, lines in enumerate(battery.values()):
                label = legend_name(run, 'battery', several=several)
                lines.append(series_line(run, series, i, label, run.colour))
        if (series := run.record.get('autopilot/sticks')) is not None:
            for i in np.flatnonzero(series.maximum > series.minimum).tolist():
                label = legend_name(run, f'channel {i + 1}', several=several)
                dash = DASHES[min(i // len(COLOURS) + run.number, len(DASHES) - 1)]
                colour = COLOURS[i % len(COLOURS)]
                sticks.append(series_line(run, series, i, label, colour, dash=dash, width=1.2))
    panels = [ChartPanel(title, lines) for title, lines in battery.items()]
    panels.append(ChartPanel('sticks [µs]', sticks))
    panels = [p for p in panels if any(np.isfinite(one.y).any() for one in p.lines)]
    if not panels:
        return []
    note = 'Battery and sticks of the pilot, as the autopilot has them; sticks that move.'
    return [chart(f'{key}-pilot', 'Battery and sticks', note, panels)]


def difference_charts(key: str, runs: Sequence[ChartRun]) -> list[dict[str, Any]]:
    """Return pose and speed of the other bags less those of the first."""
    base = runs[0].record.get('odom')
    if base is None:
        return []
    time, mine = rising_rows(base)
    series = []
    for run in runs[1:]:
        odom = run.record.get('odom')
        if odom is None or run.alignment is None:
            continue
        error = interpolate_rows(odom, time - run.alignment.offset)[:, :9] - mine[:, :9]
        error[:, 3:6] = np.degrees(wrap_angle(error[:, 3:6]))
        error[:, 2] *= -1
        known = np.isfinite(error).any(axis=1)
        if known.any():
            series.append((run, _series(time[known], error[known])))
    if not series:
        return []
    panels = []
    for i, quantity in enumerate(ODOM_QUANTITIES[:9]):
        unit = ('m', '°', 'm/s')[i // 3]
        label = 'depth' if quantity == 'z' else quantity
        lines = [
            series_line(runs[0], one, i, f'{run.label} − {runs[0].label}', run.colour)
            for run, one in series
        ]
        panels.append(ChartPanel(f'Δ {label} [{unit}]', lines, fine=True))
    note = 'Other bag minus first bag; angles take the shorter way round.'
    return [chart(f'{key}-differences', 'Differences', note, panels, columns=3, row_height=150)]
