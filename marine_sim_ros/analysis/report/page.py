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
from typing import Any

from marine_sim_ros.analysis.report import html_tables
from marine_sim_ros.analysis.report.motion import (
    drag_charts,
    force_charts,
    motion_charts,
    place_charts,
    tether_charts,
    thruster_charts,
)
from marine_sim_ros.analysis.report.panels import THEMES, ChartRun
from marine_sim_ros.analysis.report.sensors import (
    actuator_charts,
    barometer_charts,
    difference_charts,
    pilot_charts,
    sensor_charts,
    timing_charts,
)
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.text import json_text

__all__ = ['VehicleSection', 'plotly_script', 'report_page']


@dataclass(frozen=True)
class VehicleSection:
    """A vehicle: its recordings, the metrics of each, and how the others differ from the first."""

    name: str
    runs: Sequence[ChartRun]
    metrics: Sequence[Mapping[str, Any]]
    differences: Sequence[Mapping[str, Mapping[str, Any]]]


def plotly_script() -> str:
    """Return the library that draws the charts (plotly.js, MIT).

    Raises:
        MissingPackageError: it is not installed.
    """
    get_plotlyjs = require('plotly.offline', 'analyze').get_plotlyjs
    return str(get_plotlyjs())


def report_page(
    title: str, bags: Sequence[Mapping[str, Any]], sections: Sequence[VehicleSection]
) -> str:
    """Return the HTML of a report.

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
        bags=html_tables.bags_table(bags),
        sections=''.join(bodies),
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
        place_charts,
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
        parts += [html_tables.tiles(metrics), html_tables.response_table(metrics)]
        parts.append(html_tables.event_table(run))
    for run, found in zip(section.runs[1:], section.differences, strict=True):
        parts.append(f'<h2>{escape(run.label)} against {escape(section.runs[0].label)}</h2>')
        if run.alignment is not None:
            parts.append(f'<p>{escape(run.alignment.text())}</p>')
        parts.append(html_tables.difference_table(found))
    parts.append(_grid(charts))
    table = html_tables.sensors_table(section.runs)
    if table:
        parts.append(f'<h2 id="{key}-sensors">Sensors</h2>{table}')
        parts.append(_grid(sensed))
    for run, metrics in zip(section.runs, section.metrics, strict=True):
        suffix = f' ({escape(run.label)})' if several else ''
        impulse = html_tables.impulse_table(metrics)
        parts.append(impulse.replace('</h2>', f'{suffix}</h2>', 1))
        parts.append(
            f'<details open><summary>Topics{suffix}</summary>{html_tables.channel_table(metrics)}'
            '</details>'
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
