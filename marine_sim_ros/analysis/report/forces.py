# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Charts of what moved the vehicle: wrenches and their shares, thrusters, power and energy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from marine_sim_ros.analysis.bags.sampling import rising
from marine_sim_ros.analysis.bags.streams import Series
from marine_sim_ros.analysis.report.panels import COLOURS, DASHES, Line, Panel, chart
from marine_sim_ros.analysis.report.runs import Run, line, name

__all__ = ['drag_charts', 'force_charts', 'tether_charts', 'thruster_charts']

_AXES = ('Fx', 'Fy', 'Fz', 'Mx', 'My', 'Mz')
_BINS = 400
_RPM = 30 / math.pi


def force_charts(key: str, runs: Sequence[Run]) -> list[dict[str, Any]]:
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
                Panel('force [%]', _shares(run, sources, 6)),
                Panel('moment [%]', _shares(run, sources, 7)),
            ]
            result.append(
                chart(f'{key}-share-{run.number}', title, note, panels, columns=2, row_height=220)
            )
    return result


def drag_charts(key: str, runs: Sequence[Run]) -> list[dict[str, Any]]:
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


def tether_charts(key: str, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return the tension of a tether at its ends, where it was published."""
    lines = []
    for run in runs:
        if (series := run.record.get('tether/tension')) is None:
            continue
        for i, label in enumerate(run.record.channels['tether/tension'].labels):
            end = name(run, label.removesuffix('_N'), several=len(runs) > 1)
            lines.append(line(run, series, i, end, _colour(i), dash=run.dash))
    note = 'The pull of the cable at each of its ends.'
    panels = [Panel('tension [N]', lines)]
    return [chart(f'{key}-tether', 'Tether', note, panels)] if lines else []


def _total(run: Run) -> dict[str, Series]:
    total = run.record.get('wrench/total')
    return {} if total is None else {'total': total}


def _components(
    key: str, title: str, note: str, runs: Sequence[Run], sources: Sequence[dict[str, Series]]
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
                    line(
                        run,
                        series,
                        i,
                        name(run, source, several=len(runs) > 1),
                        colour,
                        dash=run.dash,
                        width=1.2,
                    )
                )
        panels.append(Panel(f'{label} [{"N" if i < 3 else "N m"}]', lines))
    return [chart(key, title, note, panels, columns=2)]


def _colour(i: int) -> str:
    return COLOURS[i % len(COLOURS)]


def _shares(run: Run, sources: dict[str, Series], column: int) -> list[Line]:
    start = max(s.time[0] for s in sources.values())
    end = min(s.time[-1] for s in sources.values())
    edges = np.linspace(start, max(end, start + 1e-3), _BINS + 1)
    lines = []
    for i, (label, series) in enumerate(sources.items()):
        means = _means(series, column, edges)
        middle = run.time((edges[1:] + edges[:-1]) / 2)
        lines.append(Line(label, middle, means, _colour(i), share=True))
    return lines


def _means(series: Series, column: int, edges: np.ndarray) -> np.ndarray:
    """Return the means of a column between edges (m + 1,), by its integral."""
    time, rows = rising(series)
    values = np.nan_to_num(rows[:, column])
    if len(time) < 2:
        return np.full(len(edges) - 1, values[0] if len(values) else 0.0)
    area = np.append(0, np.cumsum((values[1:] + values[:-1]) / 2 * np.diff(time)))
    return np.diff(np.interp(edges, time, area)) / np.diff(edges)


def thruster_charts(key: str, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return PWM, thrust, rotor speed and power of each thruster, and the energy so far."""
    panels = [
        Panel('PWM [µs]', _each(runs, 'thrusters/pwm', lambda s: range(s.width))),
        Panel('thrust [N]', _each(runs, 'thrusters/state', lambda s: range(s.width // 2))),
        Panel(
            'rotor [rpm]',
            _each(runs, 'thrusters/state', lambda s: range(s.width // 2, s.width), scale=_RPM),
        ),
        Panel('power [W]', _each(runs, 'thrusters/power', lambda s: range(s.width - 2))),
        Panel('all [W]', _whole(runs, -2, 'total power')),
        Panel('energy [kJ]', _whole(runs, -1, 'energy', scale=1e-3)),
    ]
    panels = [p for p in panels if any(np.isfinite(one.y).any() for one in p.lines)]
    if not panels:
        return []
    note = 'One curve per thruster, in the order of the vehicle description.'
    return [chart(f'{key}-thrusters', 'Thrusters', note, panels, columns=min(2, len(panels)))]


def _each(runs: Sequence[Run], topic: str, columns: Any, *, scale: float = 1.0) -> list[Line]:
    lines = []
    for run in runs:
        series = run.record.get(topic)
        if series is None:
            continue
        for i, column in enumerate(columns(series)):
            # There are six colours: a seventh thruster is dashed, in a second bag dotted.
            dash = DASHES[min(i // len(COLOURS) + run.number, len(DASHES) - 1)]
            label = name(run, f'thruster {i + 1}', several=len(runs) > 1)
            lines.append(
                line(run, series, column, label, _colour(i), scale=scale, dash=dash, width=1.2)
            )
    return lines


def _whole(runs: Sequence[Run], column: int, what: str, scale: float = 1.0) -> list[Line]:
    lines = []
    for run in runs:
        series = run.record.get('thrusters/power')
        if series is not None:
            label = name(run, what, several=len(runs) > 1)
            lines.append(
                line(run, series, series.width + column, label, '@ink', scale=scale, dash=run.dash)
            )
    return lines
