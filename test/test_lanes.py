# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lanes of graph tests, in a run of pytest of its own."""

import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT
from lanes import LOW_PRIORITY

pytest.importorskip('xdist')
CONFTEST = """
import pytest
from lanes import group_of, pytest_runtest_protocol, pytest_xdist_make_scheduler

@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.xdist_group(group_of(item)))
"""
TEST = """
import json, os, time
import pytest

{marker}
@pytest.mark.parametrize('i', range(2))
def test_it(i):
    start = time.monotonic()
    time.sleep(0.1)
    told = dict(kind={kind!r}, worker=os.environ['PYTEST_XDIST_WORKER'], nice=os.nice(0),
                start=start, end=time.monotonic())
    with open({told!r}, 'a') as file:
        file.write(json.dumps(told) + '\\n')
"""
MARKERS = {'ros': '@pytest.mark.ros', 'clock': '@pytest.mark.clock', 'other': ''}


def overlap(one, other):
    return one['start'] < other['end'] and other['start'] < one['end']


@pytest.mark.skipif(sys.platform != 'linux', reason='nice values of Linux')
def test_graphs_have_lanes_and_who_holds_a_limit_on_the_clock_runs_alone(tmp_path, monkeypatch):
    # colcon hands its --pytest-args to pytest so, and not to the run in here.
    monkeypatch.setenv('PYTEST_ADDOPTS', '-m "not ros"')
    environment = {k: v for k, v in os.environ.items() if not k.startswith('PYTEST_')}
    (tmp_path / 'conftest.py').write_text(CONFTEST)
    settings = f'[pytest]\nmarkers =\n  ros: x\n  clock: x\npythonpath = {ROOT / "test"}\n'
    (tmp_path / 'pytest.ini').write_text(settings)
    told = tmp_path / 'told'
    for kind, marker in MARKERS.items():
        for i in range(4):
            text = TEST.format(kind=kind, marker=marker, told=str(told))
            (tmp_path / f'test_{kind}_{i}.py').write_text(text)
    done = subprocess.run(
        [
            sys.executable,
            '-m',
            'pytest',
            '--numprocesses',
            '6',
            '--dist',
            'loadgroup',
            '-p',
            'no:cacheprovider',
            '--basetemp',
            tmp_path / 'temp',
        ],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    tests = [json.loads(line) for line in told.read_text().splitlines()]
    assert len(tests) == 24
    of = {kind: [t for t in tests if t['kind'] == kind] for kind in MARKERS}
    graphs, calm = of['ros'] + of['clock'], min(t['nice'] for t in tests)
    assert len({t['worker'] for t in graphs}) == 3  # half of the six
    assert len({t['worker'] for t in of['clock']}) == 1
    assert {t['nice'] for t in graphs} == {calm}
    assert {t['nice'] for t in of['other']} == {calm + LOW_PRIORITY}
    limits = [edge(t[key] for t in of['clock']) for edge, key in ((min, 'start'), (max, 'end'))]
    alone = dict(zip(('start', 'end'), limits, strict=True))
    assert [t for t in of['ros'] if overlap(t, alone)] == []
    for name in {t['worker'] for t in graphs} & {t['worker'] for t in of['other']}:
        mine = [
            t['kind'] == 'other'
            for t in sorted(tests, key=lambda t: t['start'])
            if t['worker'] == name
        ]
        assert mine == sorted(mine)  # a lane computes when graphs are over
    assert any(overlap(a, b) for a in of['ros'] for b in of['ros'] if a is not b)
