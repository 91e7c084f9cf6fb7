# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Charts of motion and forces: path, pose, speed, wrenches, thrusters, power and energy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from marine_sim_ros.analysis.report.plotly_charts import (
    COLOURS,
    ChartLine,
    ChartPanel,
    ChartRun,
    axis_style,
    chart,
    json_numbers,
    legend_name,
    series_line,
    simplify_polyline,
    stair_line,
)
from marine_sim_ros.bags.metrics import has_values
from marine_sim_ros.bags.series import Series, interpolate_rows, rising_rows
from marine_sim_ros.bags.vehicle_record import ODOM_QUANTITIES
from marine_sim_ros.control.controller_model import SETPOINT_QUANTITIES
from marine_sim_ros.core.spatial import wrap_angle

__all__ = [
    'drag_charts',
    'force_charts',
    'motion_charts',
    'path_charts',
    'position_targets',
    'run_path',
    'tether_charts',
    'thruster_charts',
]


# Charts of the path: in space, from above, and over time with set-points.

_POINTS = 20_000
_MAX_WAYPOINTS = 50
"""Distinct position set-points that are drawn as markers; more are a trajectory."""
_DEGREES = 180 / math.pi
_POSE = (
    ('x', 'm', 1.0),
    ('y', 'm', 1.0),
    ('z', 'm', -1.0),
    ('roll', '°', _DEGREES),
    ('pitch', '°', _DEGREES),
    ('yaw', '°', _DEGREES),
)
_BODY = ('surge', 'sway', 'heave')
_LEVEL = ('ahead', 'port', 'up')


def run_path(run: ChartRun) -> np.ndarray:
    """Return the positions (n, 3) of a run in map, m; none without an odometry."""
    odom = run.record.get('odom')
    if odom is None:
        return np.zeros((0, 3))
    places = odom.rows[:, :3]
    places = places[np.isfinite(places).all(axis=1)]
    return simplify_polyline(places, _POINTS)


def position_targets(run: ChartRun) -> tuple[np.ndarray, bool]:
    """Position set-points (n, 3), m, and whether they are waypoints, in order, or a trajectory."""
    setpoints = run.record.get('controller/setpoints')
    if setpoints is None:
        return np.zeros((0, 3)), True
    targets = setpoints.rows[:, :3]
    targets = targets[np.isfinite(targets).all(axis=1)]
    waypoints, first = np.unique(np.round(targets, 4), axis=0, return_index=True)
    if len(waypoints) <= _MAX_WAYPOINTS:
        return waypoints[np.argsort(first)], True
    return simplify_polyline(targets, _POINTS), False


def path_charts(key: str, runs: Sequence[ChartRun]) -> list[dict[str, Any]]:
    """Return the path in space and from above; nothing without an odometry."""
    paths = {run.number: run_path(run) for run in runs}
    targets = {run.number: position_targets(run) for run in runs}
    shown = [run for run in runs if len(paths[run.number])]
    if not shown:
        return []
    space: list[dict[str, Any]] = []
    plan: list[dict[str, Any]] = []
    several = len(runs) > 1
    for run in shown:
        path = paths[run.number]
        style = {'color': run.colour, 'width': 2}
        label = legend_name(run, 'path', several=several)
        for traces, third in ((space, True), (plan, False)):
            traces.append(_places(label, path, third, mode='lines', line=style))
            for what, at, sign in (('start', path[:1], 'circle'), ('end', path[-1:], 'square')):
                marker = {'color': run.colour, 'symbol': sign, 'size': 5 if third else 9}
                traces.append(
                    _places(what, at, third, mode='markers', marker=marker, showlegend=False)
                )
        points, are_waypoints = targets[run.number]
        if len(points):
            look: dict[str, Any] = {
                'mode': 'markers' if are_waypoints else 'lines',
                'line': {'color': '@ink', 'dash': 'dash', 'width': 1.5},
            }
            sized: dict[str, Any] = {
                'color': '@ink',
                'symbol': 'cross-thin-open',
                'size': 14,
                'line': {'width': 2},
            }
            label = legend_name(run, 'set-point', several=several)
            plan.append(_places(label, points, False, **look, marker=sized))
            sized = {'color': '@ink', 'symbol': 'cross', 'size': 4}
            space.append(_places(label, points, True, **look, marker=sized))
    everything = np.concatenate([*paths.values(), *(points for points, _ in targets.values())])
    low, high = everything.min(axis=0), everything.max(axis=0)
    return [
        {
            'key': f'{key}-space',
            'title': 'Path in space',
            'wide': False,
            'data': space,
            'note': 'Circle: start; square: end. Drag to turn, scroll to zoom.',
            'layout': {'height': 480, 'scene': _scene(low, high)},
        },
        {
            'key': f'{key}-plan',
            'title': 'Path from above',
            'wide': False,
            'data': plan,
            'note': 'x is east, y is north. Circle: start; square: end.',
            'layout': {
                'height': 480,
                'xaxis': axis_style(
                    title={'text': 'x [m]'}, range=_padded_limits(low[0], high[0])
                ),
                'yaxis': axis_style(
                    title={'text': 'y [m]'}, scaleanchor='x', range=_padded_limits(low[1], high[1])
                ),
            },
        },
    ]


def _places(label: str, places: np.ndarray, third: bool, **look: Any) -> dict[str, Any]:
    extent = float(np.ptp(places, axis=0).max()) if len(places) else 0.0
    x, y, z = (json_numbers(column, extent) for column in places.T)
    trace: dict[str, Any] = {
        'type': 'scatter3d' if third else 'scatter',
        'name': label,
        'x': x,
        'y': y,
        **look,
    }
    if third:
        trace['z'] = z
    elif 'line' in look:
        trace['line'] = {**look['line'], 'simplify': False}
    return trace


def _padded_limits(low: float, high: float) -> list[float]:
    half = max(0.55 * float(high - low), 0.5)
    middle = float(high + low) / 2
    return [middle - half, middle + half]


def _scene(low: np.ndarray, high: np.ndarray) -> dict[str, Any]:
    """Return axes in one scale; a side that is hardly used is given some room."""
    half = 0.55 * (high - low)
    half = np.maximum(half, max(0.25 * float(half.max()), 0.25))
    middle = (low + high) / 2
    ratio = half / half.max()
    look = {
        'color': '@soft',
        'gridcolor': '@grid',
        'backgroundcolor': '@paper',
        'zerolinecolor': '@grid',
    }
    sides = {
        f'{n}axis': {
            **look,
            'title': {'text': f'{n} [m]', 'font': {'color': '@ink'}},
            'range': [float(m - h), float(m + h)],
            'nticks': max(2, round(6 * float(r))),
        }
        for n, m, h, r in zip('xyz', middle, half, ratio, strict=True)
    }
    return {
        **sides,
        'aspectmode': 'manual',
        'aspectratio': dict(zip('xyz', (1.1 * ratio).tolist(), strict=True)),
        'camera': {'eye': {'x': -1.2, 'y': -1.5, 'z': 0.9}},
    }


def motion_charts(key: str, runs: Sequence[ChartRun]) -> list[dict[str, Any]]:
    """Return position and attitude, then velocities, with their set-points."""
    shown = [run for run in runs if run.record.get('odom') is not None]
    if not shown:
        return []
    several = len(runs) > 1
    pose = []
    for i, (quantity, unit, scale) in enumerate(_POSE):
        label = 'depth' if quantity == 'z' else quantity
        lines = [_column(r, quantity, scale, several=several) for r in shown]
        lines += [s for r in shown for s in _goal(r, i, scale, several=several)]
        pose.append(ChartPanel(f'{label} [{unit}]', lines, down=quantity == 'z'))
    level = any(_has_set_points(run, 6 + i) for run in shown for i in range(3))
    names = (*(_LEVEL if level else _BODY), 'roll_rate', 'pitch_rate', 'yaw_rate')
    speed = []
    for i, quantity in enumerate(names):
        unit, scale = ('m/s', 1.0) if i < 3 else ('°/s', _DEGREES)
        lines = [_column(r, quantity, scale, several=several) for r in shown]
        lines += [s for r in shown for s in _goal(r, 6 + i, scale, several=several)]
        speed.append(ChartPanel(f'{quantity.replace("_", " ")} [{unit}]', lines))
    frame = (
        'Speeds ahead, to port and up in the level frame, the frame of their set-points'
        if level
        else 'Speeds in the body frame'
    )
    return [
        chart(
            f'{key}-pose',
            'Position, depth and attitude',
            'In map (x east, y north); depth is −z. Set-points are dashed; free axes have none.',
            pose,
            columns=2,
        ),
        chart(
            f'{key}-speed',
            'Velocities',
            f'{frame}; turn rates in the body frame.',
            speed,
            columns=2,
        ),
    ]


def _column(run: ChartRun, quantity: str, scale: float, *, several: bool) -> ChartLine:
    odom = run.record.get('odom')
    assert odom is not None
    label = legend_name(run, 'measured', several=several)
    return series_line(run, odom, ODOM_QUANTITIES.index(quantity), label, run.colour, scale=scale)


def _has_set_points(run: ChartRun, index: int) -> bool:
    goals = run.record.get('controller/setpoints')
    return goals is not None and bool(np.isfinite(goals.rows[:, index]).any())


def _goal(run: ChartRun, index: int, scale: float, *, several: bool) -> list[ChartLine]:
    goals, odom = run.record.get('controller/setpoints'), run.record.get('odom')
    if goals is None or odom is None or not _has_set_points(run, index):
        return []
    values = goals.rows[:, index]
    if SETPOINT_QUANTITIES[index] in ('roll', 'pitch', 'yaw'):
        # A set-point is drawn in the turn that the vehicle is in.
        at = interpolate_rows(odom, goals.time)[:, index]
        turns = np.round((at + wrap_angle(values - at) - values) / (2 * math.pi))
        values = values + 2 * math.pi * np.nan_to_num(turns)
    return [
        stair_line(run, goals.time, values * scale, legend_name(run, 'set-point', several=several))
    ]


# Charts of wrenches, thrusters, power and energy.

_AXES = ('Fx', 'Fy', 'Fz', 'Mx', 'My', 'Mz')
_BINS = 400
_RPM = 30 / math.pi


def force_charts(key: str, runs: Sequence[ChartRun]) -> list[dict[str, Any]]:
    """Return every source's force and moment, and its share of all sources' sizes."""
    result = _components(
        f'{key}-forces',
        'Forces and moments by source',
        'In base_link, about its origin. The total includes the weight.',
        runs,
        [{**r.record.wrenches, **_total(r)} for r in runs],
    )
    for run in runs:
        sources = run.record.wrenches
        if sources:
            title = 'Share of each source' + (f' ({run.label})' if len(runs) > 1 else '')
            note = '|F| of each source over the sum of all |F|, |M| likewise; without the weight.'
            panels = [
                ChartPanel('force [%]', _shares(run, sources, 6)),
                ChartPanel('moment [%]', _shares(run, sources, 7)),
            ]
            result.append(
                chart(f'{key}-share-{run.number}', title, note, panels, columns=2, row_height=220)
            )
    return result


def drag_charts(key: str, runs: Sequence[ChartRun]) -> list[dict[str, Any]]:
    """Return the kinds of drag, where they were published."""
    kinds = [
        {
            n.split('/', 1)[1]: c.series
            for n, c in r.record.channels.items()
            if n.startswith('drag/')
        }
        for r in runs
    ]
    note = 'The components of wrench/drag, in base_link.'
    return _components(f'{key}-drag', 'Drag by kind', note, runs, kinds)


def tether_charts(key: str, runs: Sequence[ChartRun]) -> list[dict[str, Any]]:
    """Return the tension of a tether at its ends, where it was published."""
    lines = []
    for run in runs:
        if (series := run.record.get('tether/tension')) is None:
            continue
        for i, label in enumerate(run.record.channels['tether/tension'].labels):
            end = legend_name(run, label.removesuffix('_N'), several=len(runs) > 1)
            lines.append(series_line(run, series, i, end, _colour(i), dash=run.dash))
    note = 'The pull of the cable at each of its ends.'
    panels = [ChartPanel('tension [N]', lines)]
    return [chart(f'{key}-tether', 'Tether', note, panels)] if lines else []


def _total(run: ChartRun) -> dict[str, Series]:
    total = run.record.get('wrench/total')
    return {} if total is None else {'total': total}


def _components(
    key: str, title: str, note: str, runs: Sequence[ChartRun], sources: Sequence[dict[str, Series]]
) -> list[dict[str, Any]]:
    names = list(dict.fromkeys(n for one in sources for n in one if n != 'total'))
    if not any(sources):
        return []
    panels = []
    for i, label in enumerate(_AXES):
        lines = []
        for run, one in zip(runs, sources, strict=True):
            for source, series in one.items():
                colour = '@ink' if source == 'total' else _colour(names.index(source))
                lines.append(
                    series_line(
                        run,
                        series,
                        i,
                        legend_name(run, source, several=len(runs) > 1),
                        colour,
                        dash=run.dash,
                        width=1.2,
                    )
                )
        panels.append(ChartPanel(f'{label} [{"N" if i < 3 else "N m"}]', lines))
    return [chart(key, title, note, panels, columns=2)]


def _colour(i: int) -> str:
    return COLOURS[i % len(COLOURS)]


def _shares(run: ChartRun, sources: dict[str, Series], column: int) -> list[ChartLine]:
    start = max(s.time[0] for s in sources.values())
    end = min(s.time[-1] for s in sources.values())
    edges = np.linspace(start, max(end, start + 1e-3), _BINS + 1)
    lines = []
    for i, (label, series) in enumerate(sources.items()):
        means = _means(series, column, edges)
        middle = run.time((edges[1:] + edges[:-1]) / 2)
        lines.append(ChartLine(label, middle, means, _colour(i), share=True))
    return lines


def _means(series: Series, column: int, edges: np.ndarray) -> np.ndarray:
    """Return the means of a column between edges (m + 1,), by its integral."""
    time, rows = rising_rows(series)
    values = np.nan_to_num(rows[:, column])
    if len(time) < 2:
        return np.full(len(edges) - 1, values[0] if len(values) else 0.0)
    area = np.append(0, np.cumsum((values[1:] + values[:-1]) / 2 * np.diff(time)))
    return np.diff(np.interp(edges, time, area)) / np.diff(edges)


def thruster_charts(key: str, runs: Sequence[ChartRun]) -> list[dict[str, Any]]:
    """Return PWM, thrust, rotor speed and power of each thruster, and the energy so far."""
    panels = [
        ChartPanel('PWM [µs]', _thruster_lines(runs, 'thrusters/pwm', lambda s: range(s.width))),
        ChartPanel(
            'thrust [N]', _thruster_lines(runs, 'thrusters/state', lambda s: range(s.width // 2))
        ),
        ChartPanel(
            'rotor [rpm]',
            _thruster_lines(
                runs, 'thrusters/state', lambda s: range(s.width // 2, s.width), scale=_RPM
            ),
        ),
        ChartPanel(
            'power [W]', _thruster_lines(runs, 'thrusters/power', lambda s: range(s.width - 2))
        ),
        ChartPanel('all [W]', _total_lines(runs, -2, 'total power')),
        ChartPanel('energy [kJ]', _total_lines(runs, -1, 'energy', scale=1e-3)),
    ]
    panels = [p for p in panels if any(np.isfinite(one.y).any() for one in p.lines)]
    if not panels:
        return []
    note = 'One curve per thruster, in the order of the vehicle description.'
    return [chart(f'{key}-thrusters', 'Thrusters', note, panels, columns=min(2, len(panels)))]


def _thruster_lines(
    runs: Sequence[ChartRun], topic: str, columns: Any, *, scale: float = 1.0
) -> list[ChartLine]:
    lines = []
    for run in runs:
        series = run.record.get(topic)
        if series is None:
            continue
        chosen = columns(series)
        if not has_values(run.record, topic, slice(chosen.start, chosen.stop)):
            continue
        for i, column in enumerate(chosen):
            # There are six colours: the lines of thrusters 7 to 12 are twice as wide.
            width = 1.2 * (1 + i // len(COLOURS))
            label = legend_name(run, f'thruster {i + 1}', several=len(runs) > 1)
            lines.append(
                series_line(
                    run, series, column, label, _colour(i), scale=scale, dash=run.dash, width=width
                )
            )
    return lines


def _total_lines(
    runs: Sequence[ChartRun], column: int, what: str, scale: float = 1.0
) -> list[ChartLine]:
    lines = []
    for run in runs:
        series = run.record.get('thrusters/power')
        if series is not None and has_values(run.record, 'thrusters/power', slice(-2)):
            label = legend_name(run, what, several=len(runs) > 1)
            lines.append(
                series_line(
                    run, series, series.width + column, label, '@ink', scale=scale, dash=run.dash
                )
            )
    return lines
