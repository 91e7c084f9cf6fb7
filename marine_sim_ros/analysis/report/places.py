# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Charts of where the vehicle was: in space, from above, and over time with its set-points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from marine_sim_ros.analysis.bags.sampling import interpolated
from marine_sim_ros.analysis.bags.vehicle import ODOM
from marine_sim_ros.analysis.report.panels import Line, Panel, axis, chart, listed
from marine_sim_ros.analysis.report.runs import Run, line, name, steps
from marine_sim_ros.analysis.simplification import simplified
from marine_sim_ros.control.attitude import wrapped
from marine_sim_ros.control.setpoints import QUANTITIES

__all__ = ['motion_charts', 'place_charts']

_POINTS = 2000
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


def _path(run: Run) -> np.ndarray:
    odom = run.record.get('odom')
    if odom is None:
        return np.zeros((0, 3))
    places = odom.rows[:, :3]
    places = places[np.isfinite(places).all(axis=1)]
    return simplified(places, _POINTS)


def _goals(run: Run) -> np.ndarray:
    goals = run.record.get('controller/setpoints')
    if goals is None:
        return np.zeros((0, 3))
    held = goals.rows[:, :3]
    held = held[np.isfinite(held).all(axis=1)]
    places = np.unique(np.round(held, 4), axis=0)
    return places if len(places) <= 50 else simplified(held, _POINTS)


def place_charts(key: str, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return the path in space and from above; nothing without an odometry."""
    paths = {run.number: _path(run) for run in runs}
    shown = [run for run in runs if len(paths[run.number])]
    if not shown:
        return []
    space: list[dict[str, Any]] = []
    plan: list[dict[str, Any]] = []
    several = len(runs) > 1
    for run in shown:
        path = paths[run.number]
        style = {'color': run.colour, 'width': 2}
        label = name(run, 'path', several=several)
        for traces, third in ((space, True), (plan, False)):
            traces.append(_places(label, path, third, mode='lines', line=style))
            for what, at, sign in (('start', path[:1], 'circle'), ('end', path[-1:], 'square')):
                marker = {'color': run.colour, 'symbol': sign, 'size': 5 if third else 9}
                traces.append(
                    _places(what, at, third, mode='markers', marker=marker, showlegend=False)
                )
        goals = _goals(run)
        if len(goals):
            few = len(goals) <= 50
            look: dict[str, Any] = {
                'mode': 'markers' if few else 'lines',
                'line': {'color': '@ink', 'dash': 'dash', 'width': 1.5},
            }
            sized: dict[str, Any] = {
                'color': '@ink',
                'symbol': 'cross-thin-open',
                'size': 14,
                'line': {'width': 2},
            }
            label = name(run, 'set-point', several=several)
            plan.append(_places(label, goals, False, **look, marker=sized))
            sized = {'color': '@ink', 'symbol': 'cross', 'size': 4}
            space.append(_places(label, goals, True, **look, marker=sized))
    everything = np.concatenate([*paths.values(), *(_goals(r) for r in runs)])
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
                'xaxis': axis(title={'text': 'x [m]'}, range=_roomy(low[0], high[0])),
                'yaxis': axis(
                    title={'text': 'y [m]'}, scaleanchor='x', range=_roomy(low[1], high[1])
                ),
            },
        },
    ]


def _places(label: str, places: np.ndarray, third: bool, **look: Any) -> dict[str, Any]:
    trace: dict[str, Any] = {
        'type': 'scatter3d' if third else 'scatter',
        'name': label,
        'x': listed(places[:, 0]),
        'y': listed(places[:, 1]),
        **look,
    }
    if third:
        trace['z'] = listed(places[:, 2])
    return trace


def _roomy(low: float, high: float) -> list[float]:
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


def motion_charts(key: str, runs: Sequence[Run]) -> list[dict[str, Any]]:
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
        pose.append(Panel(f'{label} [{unit}]', lines, down=quantity == 'z'))
    level = any(_held(run, 6 + i) for run in shown for i in range(3))
    names = (*(_LEVEL if level else _BODY), 'roll_rate', 'pitch_rate', 'yaw_rate')
    speed = []
    for i, quantity in enumerate(names):
        unit, scale = ('m/s', 1.0) if i < 3 else ('°/s', _DEGREES)
        lines = [_column(r, quantity, scale, several=several) for r in shown]
        lines += [s for r in shown for s in _goal(r, 6 + i, scale, several=several)]
        speed.append(Panel(f'{quantity.replace("_", " ")} [{unit}]', lines))
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


def _column(run: Run, quantity: str, scale: float, *, several: bool) -> Line:
    odom = run.record.get('odom')
    assert odom is not None
    label = name(run, 'measured', several=several)
    return line(run, odom, ODOM.index(quantity), label, run.colour, scale=scale)


def _held(run: Run, index: int) -> bool:
    goals = run.record.get('controller/setpoints')
    return goals is not None and bool(np.isfinite(goals.rows[:, index]).any())


def _goal(run: Run, index: int, scale: float, *, several: bool) -> list[Line]:
    goals, odom = run.record.get('controller/setpoints'), run.record.get('odom')
    if goals is None or odom is None or not _held(run, index):
        return []
    values = goals.rows[:, index]
    if QUANTITIES[index] in ('roll', 'pitch', 'yaw'):
        # A set-point is drawn in the turn that the vehicle is in.
        at = interpolated(odom, goals.time)[:, index]
        turns = np.round((at + wrapped(values - at) - values) / (2 * math.pi))
        values = values + 2 * math.pi * np.nan_to_num(turns)
    return [steps(run, goals.time, values * scale, name(run, 'set-point', several=several))]
