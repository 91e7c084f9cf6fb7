# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Texts of descriptions and recordings in reports, tables and messages are only shown."""

import io
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from hostile import SCRIPTS

from marine_sim_ros.analysis.report.page import report_page
from marine_sim_ros.core.errors import ModelError, escape_controls
from marine_sim_ros.core.text import markdown_row, markdown_text, open_terminal
from marine_sim_ros.sweep.plan import METRICS
from marine_sim_ros.sweep.results import write_sweep_report

TRACK = '![x](http://evil.example/x.png)\n\n[y](javascript:alert(1)) `</h1>` | # z'


@pytest.mark.parametrize('text', [*SCRIPTS, TRACK])
def test_markdown_has_no_html_links_pictures_or_lines_of_others(text):
    for written in (markdown_text(text), markdown_row([text])):
        assert '\n' not in written
        assert '<' not in written
        assert '](' not in written
        assert not re.search(r'(?<!\\)`', written)
    assert not re.search(r'(?<!\\)\|', markdown_row([text])[2:-2])


def test_a_report_of_a_sweep_shows_its_description(tmp_path):
    pytest.importorskip('matplotlib')
    plan = SimpleNamespace(
        description=TRACK, vehicle='<script>', scenario='dive', method='random', seed=1,
        parameters=(), worst='max_speed',
    )  # fmt: skip
    columns = {name: np.ones(2) for name in METRICS} | {
        'run': np.arange(2), 'seed': np.arange(2), 'finite': np.ones(2, bool),
        'as_expected': np.ones(2, bool),
    }  # fmt: skip
    write_sweep_report(tmp_path, "a `b`' c.yaml", plan, columns)
    text = (tmp_path / 'report.md').read_text()
    assert '<' not in text
    assert text.count('](') == 1  # our picture
    assert text.splitlines()[1] == ''
    assert """    marine_sim sweep 'a `b`'"'"' c.yaml' --run N --record DIR""" in text


def test_control_characters_are_written_out_in_messages():
    text = 'a\x1b]0;title\x07\x1b[2J\x9b\u202eb\r\x00c ü – ✓'
    expected = 'a\\x1b]0;title\\x07\\x1b[2J\\x9b\\u202eb\\r\\x00c ü – ✓'
    assert escape_controls(text) == expected
    assert str(ModelError(text)) == expected
    assert escape_controls('two\nlines\tand more') == 'two\nlines\tand more'


@pytest.mark.parametrize(
    'name', ['[bold]x[/bold]', '[/x]', '[link=http://evil.example]x', ':smile:']
)
def test_names_are_no_markup_on_a_terminal(name):
    from rich.table import Table

    terminal = open_terminal(file=io.StringIO(), force_terminal=True, width=80)
    table = Table(title=name)
    table.add_column(name)
    table.add_row(name)
    terminal.print(name)
    terminal.print(table)
    shown = re.sub('\x1b\\[[0-9;]*m', '', terminal.file.getvalue())
    assert shown.count(name) == 4


def test_charts_of_a_report_show_names_as_they_are(monkeypatch):
    from marine_sim_ros.analysis.report import page as module

    names = [*SCRIPTS, '<a href="http://evil.example">port</a>', 'a & b &lt;']
    chart = {
        'key': 'v0-x', 'title': names[0], 'note': names[2], 'wide': False,
        'data': [{'name': name, 'x': [0.0], 'y': [1.0], 'text': [name]} for name in names],
        'layout': {'height': 100, 'yaxis': {'title': {'text': names[0]}}},
    }  # fmt: skip
    monkeypatch.setattr(module, '_charts', lambda *_: [chart])
    monkeypatch.setattr(module, 'sensor_charts', lambda *_: [])
    monkeypatch.setattr(module, 'plotly_script', lambda: 'let plotly;')
    section = module.VehicleSection(names[0], [], [], [])
    html = report_page(names[2], [], [section])
    data = re.search('<script id="charts" type="application/json">(.*?)</script>', html)[1]
    for trace, name in zip(json.loads(data)['charts'][0]['data'], names, strict=True):
        plain = name.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;')
        assert (trace['name'], trace['text']) == (plain, [plain])
    assert html.count('<script') == 3
    assert '<svg' not in html
    policy = re.search('Content-Security-Policy" content="([^"]*)"', html)[1]
    assert "default-src 'none'" in policy
    assert 'unsafe-inline' not in policy.split('script-src')[1].split(';')[0]
    assert policy.count('sha256-') == 2
