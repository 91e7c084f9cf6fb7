# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Charts of how far the recording can be trusted: barometer, stamps, and bag against bag."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from marine_sim_ros.analysis.bags.barometer import depth_check
from marine_sim_ros.analysis.bags.sampling import interpolated, rising
from marine_sim_ros.analysis.bags.streams import Series
from marine_sim_ros.analysis.bags.vehicle import ODOM
from marine_sim_ros.analysis.report.panels import Line, Panel, chart
from marine_sim_ros.analysis.report.runs import Run, line, name
from marine_sim_ros.control.attitude import wrapped

__all__ = ['barometer_charts', 'difference_charts', 'joint_charts', 'timing_charts']

_FACTORS = 200


def _series(time: np.ndarray, values: np.ndarray) -> Series:
    result = Series(values.shape[1])
    result.add(time, values)
    return result


def barometer_charts(key: str, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return depth by pressure and by odometry, and their difference."""
    depths: list[Line] = []
    errors: list[Line] = []
    note = ''
    several = len(runs) > 1
    for run in runs:
        check = depth_check(run.record, run.sensor)
        if check is None:
            continue
        values = np.column_stack([check.measured, check.true, check.measured - check.true])
        series = _series(check.time, values)
        label = name(run, 'barometer', several=several)
        depths.append(line(run, series, 0, label, run.colour, width=1.0))
        depths.append(
            line(run, series, 1, name(run, 'odometry', several=several), '@ink', dash=run.dash)
        )
        errors.append(
            line(
                run,
                series,
                2,
                name(run, 'difference', several=several),
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
    panels = [Panel('depth [m]', depths, down=True), Panel('difference [m]', errors, fine=True)]
    return [chart(f'{key}-barometer', 'Barometer against depth', note, panels)]


def timing_charts(key: str, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return intervals of the odometry's stamps, and how they were received."""
    shown = [run for run in runs if 'odom' in run.record.channels]
    if not shown:
        return []
    several = len(runs) > 1
    interval, late, factor = [], [], []
    for run in shown:
        timing = run.record.channels['odom'].timing
        label = name(run, 'odometry', several=several)
        interval.append(line(run, timing.shape, 0, label, run.colour))
        if timing.wall:
            late.append(line(run, timing.shape, 1, label, run.colour))
            factor += _factor(run, timing.shape, label)
    panels = [Panel('interval [ms]', interval)]
    note = 'Time between the stamps of successive odometry messages. '
    if late:
        panels += [Panel('received late [ms]', late), Panel('real-time factor [1]', factor)]
        note += 'Lateness is the receipt time minus the stamp, relative to the first message.'
    else:
        note += 'The receipt times in this bag are its stamps, so they carry no wall time.'
    return [chart(f'{key}-timing', 'Timing', note, panels)]


def _factor(run: Run, shape: Series, label: str) -> list[Line]:
    time, rows = rising(shape)
    few = np.unique(np.linspace(0, len(time) - 1, _FACTORS).astype(int))
    span = np.diff(rows[few, 2])
    if not np.any(span > 0):
        return []
    ratio = np.where(span > 0, np.diff(time[few]) / np.where(span > 0, span, 1), np.nan)
    return [Line(label, run.time(time[few][1:]), ratio, run.colour)]


def joint_charts(key: str, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return the positions of the arm's joints."""
    panels: dict[str, list[Line]] = {}
    for run in runs:
        channel = run.record.channels.get('joint_states')
        for i, label in enumerate(channel.labels if channel is not None else ()):
            joint = label.removesuffix('_position')
            if channel is not None:
                shown = name(run, 'joint', several=len(runs) > 1)
                panels.setdefault(joint, []).append(
                    line(run, channel.series, i, shown, run.colour)
                )
    if not panels:
        return []
    listed = [Panel(f'{joint} [rad or m]', lines) for joint, lines in panels.items()]
    return [
        chart(f'{key}-joints', 'Joints', 'Joint positions.', listed, columns=min(2, len(listed)))
    ]


def difference_charts(key: str, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return pose and speed of the other bags less those of the first."""
    base = runs[0].record.get('odom')
    if base is None:
        return []
    time, mine = rising(base)
    series = []
    for run in runs[1:]:
        odom = run.record.get('odom')
        if odom is None or run.alignment is None:
            continue
        error = interpolated(odom, time - run.alignment.offset)[:, :9] - mine[:, :9]
        error[:, 3:6] = np.degrees(wrapped(error[:, 3:6]))
        error[:, 2] *= -1
        known = np.isfinite(error).any(axis=1)
        if known.any():
            series.append((run, _series(time[known], error[known])))
    if not series:
        return []
    panels = []
    for i, quantity in enumerate(ODOM[:9]):
        unit = ('m', '°', 'm/s')[i // 3]
        label = 'depth' if quantity == 'z' else quantity
        lines = [
            line(runs[0], one, i, f'{run.label} − {runs[0].label}', run.colour)
            for run, one in series
        ]
        panels.append(Panel(f'Δ {label} [{unit}]', lines, fine=True))
    note = 'Other bag minus first bag; angles take the shorter way round.'
    return [chart(f'{key}-differences', 'Differences', note, panels, columns=3, row_height=150)]
