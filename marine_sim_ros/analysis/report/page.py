# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Report of bags as one HTML page that needs no network."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from importlib import resources
from types import MappingProxyType
from typing import Any

from marine_sim_ros.analysis.report.motion import (
    drag_charts,
    force_charts,
    motion_charts,
    path_charts,
    tether_charts,
    thruster_charts,
)
from marine_sim_ros.analysis.report.plotly_charts import THEMES, ChartRun
from marine_sim_ros.analysis.report.sensors import (
    actuator_charts,
    barometer_charts,
    difference_charts,
    pilot_charts,
    sensor_charts,
    sensor_error_rows,
    timing_charts,
)
from marine_sim_ros.bags.metrics import stamp_notes
from marine_sim_ros.bags.vehicle_record import ODOM_QUANTITIES
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.core.text import json_text

__all__ = ['VehicleSection', 'plotly_script', 'report_page']


@dataclass(frozen=True)
class VehicleSection:
    """A vehicle: its recordings, the metrics of each, and how the others differ from the first.

    ``chart`` is the nautical chart with the paths, a PNG file; None without ground.
    """

    name: str
    runs: Sequence[ChartRun]
    metrics: Sequence[Mapping[str, Any]]
    differences: Sequence[Mapping[str, Mapping[str, Any]]]
    chart: bytes | None = None


def plotly_script() -> str:
    """Return the library that draws the charts (plotly.js, MIT).

    Raises:
        MissingPackageError: it is not installed.
    """
    get_plotlyjs = require('plotly.offline', 'analyze').get_plotlyjs
    return str(get_plotlyjs())


def report_page(
    title: str,
    bags: Sequence[Mapping[str, Any]],
    sections: Sequence[VehicleSection],
    surveys: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> str:
    """Return the HTML of a report.

    Args:
        title: of the page.
        bags: of metrics.json.
        surveys: lines, coverage and target lists by run and sensor.

    Raises:
        ParameterError: plotly is not installed.
    """
    charts: list[dict[str, Any]] = []
    bodies, links = [], []
    for i, section in enumerate(sections):
        found = _charts(f'v{i}', section)
        sensed = sensor_charts(f'v{i}', section.runs)
        charts += [*found, *sensed]
        bodies.append(_section(f'v{i}', section, found, sensed))
        shown = escape(section.name or 'vehicle')
        links.append(f'<a href="#v{i}"><b>{shown}</b></a>')
        if section.chart is not None:
            links.append(f'<a href="#v{i}-chart">Chart</a>')
        links += [f'<a href="#{c["key"]}-at">{escape(c["title"])}</a>' for c in found]
        if sensed:
            links.append(f'<a href="#v{i}-sensors">Sensors</a>')
    content = {
        'themes': THEMES,
        'charts': [{k: _plain(c[k]) for k in ('key', 'data', 'layout')} for c in charts],
    }
    data = json_text(content, separators=(',', ':'), ensure_ascii=False)
    # Nothing in the data can end the element that holds it.
    data = data.replace('<', '\\u003c').replace('\u2028', '\\u2028').replace('\u2029', '\\u2029')
    plotly, script = plotly_script(), _file('report.js')
    return _PAGE.format(
        policy=_policy(plotly, script),
        title=escape(title),
        css=_file('report.css'),
        links=''.join(links),
        bags=bags_table(bags),
        sections=''.join(bodies) + _survey_tables(surveys),
        plotly=plotly,
        data=data,
        script=script,
    )


def _plain(value: Any) -> Any:
    """Return a chart whose texts Plotly shows as they are: it knows some tags of HTML."""
    if isinstance(value, str):
        return escape(value, quote=False)
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list) and any(isinstance(v, (str, Mapping, list)) for v in value):
        return [_plain(inner) for inner in value]
    return value


def _policy(*scripts: str) -> str:
    """Return a content security policy that lets these scripts run, and nothing be fetched."""
    digests = (base64.b64encode(sha256(text.encode()).digest()).decode() for text in scripts)
    known = ' '.join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {known} 'unsafe-eval'; style-src 'unsafe-inline'; "
        "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )


def _file(name: str) -> str:
    return resources.files('marine_sim_ros.analysis.report').joinpath(name).read_text('utf-8')


def _charts(key: str, section: VehicleSection) -> list[dict[str, Any]]:
    makers = (
        path_charts,
        motion_charts,
        force_charts,
        drag_charts,
        tether_charts,
        thruster_charts,
        barometer_charts,
        actuator_charts,
        pilot_charts,
        timing_charts,
    )
    result = [chart for make in makers for chart in make(key, section.runs)]
    if len(section.runs) > 1:
        result = [*difference_charts(key, section.runs), *result]
    return result


def _grid(charts: Sequence[Mapping[str, Any]]) -> str:
    parts = ['<div class="charts">']
    for c in charts:
        parts.append(
            f'<section{" class=wide" if c["wide"] else ""}><h2 id="{c["key"]}-at">'
            f'{escape(c["title"])}</h2><p>{escape(c["note"])}</p>'
            f'<div class="chart" id="{c["key"]}" style="height:{c["layout"]["height"]}px"></div>'
            '</section>'
        )
    return ''.join([*parts, '</div>'])


def _section(
    key: str,
    section: VehicleSection,
    charts: Sequence[Mapping[str, Any]],
    sensed: Sequence[Mapping[str, Any]],
) -> str:
    parts = [f'<h1 id="{key}">{escape(section.name or "vehicle")}</h1>']
    several = len(section.runs) > 1
    for run, metrics in zip(section.runs, section.metrics, strict=True):
        if several:
            parts.append(f'<h2>{escape(run.label)}</h2>')
        parts += [tiles(metrics), response_table(metrics)]
        parts.append(event_table(run))
    for run, found in zip(section.runs[1:], section.differences, strict=True):
        parts.append(f'<h2>{escape(run.label)} against {escape(section.runs[0].label)}</h2>')
        if run.alignment is not None:
            parts.append(f'<p>{escape(run.alignment.text())}</p>')
        parts.append(difference_table(found))
    if section.chart is not None:
        picture = base64.b64encode(section.chart).decode()
        parts.append(
            f'<h2 id="{key}-chart">Chart</h2>'
            '<img class="chart" alt="Nautical chart with the path" '
            f'src="data:image/png;base64,{picture}">'
        )
    parts.append(_grid(charts))
    table = sensors_table(section.runs)
    if table:
        parts.append(f'<h2 id="{key}-sensors">Sensors</h2>{table}')
        parts.append(_grid(sensed))
    for run, metrics in zip(section.runs, section.metrics, strict=True):
        suffix = f' ({escape(run.label)})' if several else ''
        impulse = impulse_table(metrics)
        parts.append(impulse.replace('</h2>', f'{suffix}</h2>', 1))
        parts.append(
            f'<details open><summary>Topics{suffix}</summary>{channel_table(metrics)}</details>'
        )
    return ''.join(parts)


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{css}</style>
</head>
<body>
<header><strong>marine_sim</strong><nav>{links}</nav>
<button id="theme" type="button">light / dark</button></header>
<main>
<h1>{title}</h1>
{bags}
{sections}
</main>
<script>{plotly}</script>
<script id="charts" type="application/json">{data}</script>
<script>{script}</script>
</body>
</html>
"""


_NONE = '–'
_MIN_TILE_VALUE = 1e-4
"""Of a tile's number, in its unit."""
_MAX_EVENTS = 500
"""Of an autopilot that a page lists."""
_UNITS = ('m',) * 3 + ('°',) * 3 + ('m/s',) * 3 + ('°/s',) * 3


def short_number(value: Any, digits: int = 4) -> str:
    """Return a number with some significant digits, or a dash."""
    if value is None:
        return _NONE
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, int):
        return f'{value:,}'.replace(',', ' ')
    if value and abs(value) < 1e-9:
        return '0'
    text = f'{value:.{digits}g}'
    return f'{value:.0f}' if 'e+' in text else text


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    kinds = [' class="text"' if isinstance(c, str) else '' for c in (rows[0] if rows else head)]
    top = ''.join(f'<th{k}>{escape(h)}</th>' for h, k in zip(head, kinds, strict=True))
    body = ''.join(
        '<tr>'
        + ''.join(f'<td{k}>{short_number(c)}</td>' for c, k in zip(row, kinds, strict=True))
        + '</tr>'
        for row in rows
    )
    return f'<div class="table"><table><tr>{top}</tr>{body}</table></div>'


def bags_table(bags: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of the bags that were read, with assumptions and missing data."""
    head = ('bag', 'path', 'size [MB]', 'messages', 'topics')
    rows = [
        (b['label'], b['path'], b['bytes'] / 1e6, b['messages'], len(b['topics'])) for b in bags
    ]
    told = [f'{b["label"]}: {note}' for b in bags for note in b['notes']]
    return _table(head, rows) + ''.join(f'<p>{escape(note)}.</p>' for note in told)


_NUMBERS = ('lines', 'line_length', 'area', 'coverage', 'overlap')


def _survey_tables(surveys: Mapping[str, Mapping[str, Any]]) -> str:
    """Return tables of surveys: lines and coverage, and what was found."""
    rows = [
        (run, sensor, *(found.get(name) for name in _NUMBERS))
        for run, sensors in surveys.items()
        for sensor, found in sensors.items()
    ]
    if not rows:
        return ''
    head = ('run', 'sensor', 'lines', 'length [m]', 'area [m²]', 'coverage', 'overlap')
    result = '<h2 id="survey">Survey</h2>' + _table(head, rows)
    for run, sensors in surveys.items():
        for sensor, found in sensors.items():
            targets = found.get('target_list', {}).get('targets', ())
            if targets:
                names = ('x', 'y', 'height', 'level', 'echoes', 'error')
                shown = [
                    (t['nearest'] or _NONE, i, *(t[name] for name in names))
                    for i, t in enumerate(targets, 1)
                ]
                top = ('obstacle', 'target', 'x [m]', 'y [m]', 'height [m]', 'echo [dB]', 'echoes')
                result += f'<h3>Targets of {escape(sensor)}, {escape(run)}</h3>'
                result += _table((*top, 'error [m]'), shown)
    return result


def _tile_number(value: Any) -> str:
    """Return a number of a tile; what nobody measures, as 0.3 µm of depth, is 0."""
    return short_number(0 if abs(value) < _MIN_TILE_VALUE else value)


def tiles(metrics: Mapping[str, Any]) -> str:
    """Return the few numbers that are looked for first."""
    motion, energy = metrics['motion'] or {}, metrics['energy'] or {}
    timing = metrics['channels'].get('odom', {})
    share = metrics['barometer'] or {}
    if not energy.get('total_Wh'):  # no curve says what the thrusters draw, or nothing turned
        energy = {}
    shown = [
        ('duration', motion.get('duration_s'), 's'),
        ('ticks', motion.get('ticks'), ''),
        ('gaps', timing.get('gaps'), ''),
        ('distance', motion.get('distance_m'), 'm'),
        ('deepest', motion.get('max_depth_m'), 'm'),
        ('fastest', motion.get('max_speed_m_s'), 'm/s'),
        ('energy', energy.get('total_Wh'), 'Wh'),
        ('mean power', energy.get('mean_power_W'), 'W'),
        ('real-time factor', timing.get('real_time_factor'), ''),
        ('barometer RMS', share.get('rms_m'), 'm'),
    ]
    boxes = [
        f'<div class="tile"><b>{_tile_number(v)}{" " + unit if unit else ""}</b>'
        f'<span>{what}</span></div>'
        for what, v, unit in shown
        if v is not None
    ]
    return f'<div class="tiles">{"".join(boxes)}</div>' if boxes else ''


def event_table(run: ChartRun) -> str:
    """Return the modes, messages and errors of an autopilot, or nothing."""
    events = sorted(run.events, key=lambda event: event.stamp)
    if not events:
        return ''
    rows = [
        (event.kind, f'{run.time(event.stamp / NANOSECONDS):.1f}', event.text)
        for event in events[:_MAX_EVENTS]
    ]
    more = len(events) - len(rows)
    note = f'<p>{more} more are in metrics.json.</p>' if more else ''
    count = len(events)
    return (
        f'<details open><summary>{count} modes, messages and errors of the autopilot</summary>'
        f'{_table(("what", "at [s]", "text"), rows)}{note}</details>'
    )


def channel_table(metrics: Mapping[str, Any]) -> str:
    """Return every topic's stamps against the ticks of the odometry."""
    head = ('topic', 'as', 'messages', 'ticks without', 'tick [ms]', 'gaps', 'lost', 'backwards',
            'longest [ms]', 'left out')  # fmt: skip
    rows = []
    for name, c in metrics['channels'].items():
        tick = None if c['tick_s'] is None else 1e3 * c['tick_s']
        rows.append((c['topic'], name, c['messages'], c['ticks_without'], tick, c['gaps'],
                     c['lost_ticks'], c['stamps_backwards'], c['interval_max_ms'],
                     c['left_out']))  # fmt: skip
    notes = ''.join(f'<p>{escape(note)}.</p>' for note in stamp_notes(metrics['channels']))
    return notes + _table(head, rows)


def impulse_table(metrics: Mapping[str, Any]) -> str:
    """Return each source's impulse in the body frame."""
    if not metrics['impulse']:
        return ''
    head = ('source', '∫Fx [N s]', '∫Fy', '∫Fz', '∫|F|', 'share [%]', '∫|M| [N m s]', 'share [%]',
            'largest |F| [N]', 'largest |M| [N m]')  # fmt: skip
    rows = []
    for name, i in metrics['impulse'].items():
        shares = [None if i[k] is None else 100 * i[k] for k in ('force_share', 'torque_share')]
        rows.append((name, *i['force_N_s'], i['force_size_N_s'], shares[0],
                     i['torque_size_N_m_s'], shares[1], i['max_force_N'],
                     i['max_torque_N_m']))  # fmt: skip
    return '<h2>Impulse by source</h2>' + _table(head, rows)


def response_table(metrics: Mapping[str, Any]) -> str:
    """Return a table of the set-point responses by axis, or the reason why there is none."""
    judged, note = metrics['response'], metrics['response_note']
    if judged is None:
        return f'<p>Response to set-points: {escape(note)}.</p>'
    head = ('axis', 'unit', 'target', 'since [s]', 'step', 'mean |error|', 'largest', 'bias',
            'overshoot', '[%]', 'settled after [s]')  # fmt: skip
    rows = []
    for (name, a), unit in zip(judged['axes'].items(), _UNITS, strict=True):
        if a is not None:
            rows.append((name, unit, a['target'], a['start'], a['step'], a['steady_mean'],
                         a['steady_max'], a['bias'], a['overshoot'], a['overshoot_percent'],
                         a['settling_time']))  # fmt: skip
    window = judged['steady_state_window_s']
    text = f'Errors over the last {window:g} s, for the set-points held at the end. {escape(note)}'
    return f'<h2>Response to set-points</h2><p>{text}</p>' + _table(head, rows)


def difference_table(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a table of the differences of another bag from the first."""
    head = ('quantity', 'unit', 'RMS', 'bias', 'RMS without bias', 'largest', 'moments')
    rows = [
        (n, d['unit'], d['rms'], d['bias'], d['rms_without_bias'], d['max'], d['moments'])
        for n, d in found.items()
    ]
    motion = [row for row in rows if row[0] in ODOM_QUANTITIES]
    rest = [row for row in rows if row[0] not in ODOM_QUANTITIES]
    if not rows:
        return '<p>No quantity is in both at the same time.</p>'
    if not (motion and rest):
        return _table(head, rows)
    more = f'<summary>{len(rest)} more quantities</summary>{_table(head, rest)}'
    return f'{_table(head, motion)}<details>{more}</details>'


def sensors_table(runs: Sequence[ChartRun]) -> str:
    """Return the errors of the sensors, a row for each value; or why they are not known."""
    notes = ''.join(
        f'<p>{escape(run.label)}: {escape(run.sensors_note)}.</p>'
        for run in runs
        if run.sensors_note
    )
    rows = sensor_error_rows(runs)
    if not rows:
        return notes
    bag = ('bag',) if len(runs) > 1 else ()
    head = ('sensor', 'quantity', *bag, 'unit', 'readings', 'bias', 'RMS', 'mean [σ]', 'RMS [σ]',
            'within ±2 σ [%]')  # fmt: skip
    text = (
        'Errors are readings less what the sensor would read of the recorded state without noise. '
        'In standard deviations σ of the noise, white noise alone gives a mean of 0, an RMS of 1 '
        'and 95.4 % within ±2 σ; biases, drifts and faults show as more.'
    )
    return f'{notes}<p>{text}</p>{_table(head, rows)}'
