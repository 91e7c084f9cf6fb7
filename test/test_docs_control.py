# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""docs/reference/control.md says what the code does."""

import importlib
import re

import pytest
from conftest import ROOT

from marine_sim_ros.analysis.experiments import experiment_names, load_experiment
from marine_sim_ros.control.commander import CLOSED_LOOPS
from marine_sim_ros.control.controller_model import SETPOINT_QUANTITIES, load_controller
from marine_sim_ros.sim.scenario import parse_scenario

PAGE = (ROOT / 'docs' / 'reference' / 'control.md').read_text(encoding='utf-8')


@pytest.fixture
def make(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / 'docs' / 'scripts')
    return importlib.import_module('make_control')


@pytest.mark.long
def test_the_table_has_every_row_and_a_run_repeats_one(make):
    for name in experiment_names():
        for row in load_experiment(name).rows:
            if load_experiment(name).analysis == 'survey':
                continue
            assert f'| `{name}` | {row.name} |' in PAGE, 'run docs/scripts/make_control.py'
    for row in make.results('heading_step'):
        quantity, printed, ours, unit, verdict, *_ = row.cells()
        line = f'| `heading_step` | {quantity} | {printed} | {ours} {unit} | {verdict} |'
        assert line in PAGE, 'run docs/scripts/make_control.py'


def test_the_example_is_a_scenario():
    (example,) = re.findall('```yaml\n(.*?)```', PAGE, re.DOTALL)
    scenario = parse_scenario(example, 'example.yaml')
    assert scenario.closed_loop
    assert scenario.faults


def test_names_and_numbers():
    for name in CLOSED_LOOPS:
        assert f'`{name}`' in PAGE
    assert 'Twelve quantities' in PAGE
    assert len(SETPOINT_QUANTITIES) == 12
    modern, thesis = load_controller('modern'), load_controller('thesis')
    assert modern.tolerance == (0.0005, 0.0015)  # 0.5 mm, 0.09 degrees
    assert thesis.pose.kp[2] + thesis.pose.ki[2] * thesis.window == 1948
