# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The bench without a graph measures every row of its table, with few steps each."""

import pytest

from marine_sim_ros.bench import solid
from marine_sim_ros.model.library import load_vehicle, vehicle_names
from marine_sim_ros.tools import bench
from marine_sim_ros.tools.main import main

pytestmark = pytest.mark.long


def test_a_round_of_steps_measures_every_shipped_vehicle(monkeypatch, capsys):
    monkeypatch.setattr(bench, 'STEPS', 20)
    monkeypatch.setattr(bench, 'TRIANGLES', (192, 768))
    monkeypatch.setattr(solid, 'TICKS', 60)
    monkeypatch.setattr(bench, '_engine', lambda add: None)  # minutes of compiling
    with pytest.raises(SystemExit) as done:
        main(['bench', '--steps-only', '--rounds', '1'])
    said = capsys.readouterr().out
    assert done.value.code == 0, said
    touching = [name for name in vehicle_names() if len(load_vehicle(name).contact.position)]
    assert len(touching) >= 5
    for name in touching:
        assert f'contact, {name} on rock' in said
    assert said.count('hull triangles, ms') == 2
    assert 'nan' not in said


@pytest.mark.parametrize('option', [('--rounds', '0'), ('--seconds', '-1'), ('--seconds', 'nan')])
def test_nothing_to_measure_is_bad_input(option, capsys):
    with pytest.raises(SystemExit) as done:
        main(['bench', *option])
    assert done.value.code == 2
    assert capsys.readouterr().err.startswith(f'ERROR: {option[0]} {option[1]}: expected ')


@pytest.mark.parametrize('only', ['--start', '--steps-only'])
def test_a_length_is_refused_where_nothing_has_one(only, capsys):
    with pytest.raises(SystemExit) as done:
        main(['bench', only, '--seconds', '3'])
    assert done.value.code == 2
    assert capsys.readouterr().err.startswith(f'ERROR: --seconds: {only} ')
