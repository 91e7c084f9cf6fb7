# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The command line that runs, judges and reports an experiment."""

import io
import json
from dataclasses import fields

import numpy as np
import pytest
from rich.console import Console

from marine_sim_ros import load_vehicle, simulate
from marine_sim_ros.analysis.evaluation import ExperimentRun, run_of_bag, run_of_trajectory
from marine_sim_ros.analysis.experiments import (
    compare_metrics,
    experiment_names,
    load_experiment,
    parse_experiment,
)
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.tools.experiment import FILES, print_comparisons
from marine_sim_ros.tools.main import main
from marine_sim_ros.tools.options import prepare_recording_folder

SCENARIO = """
duration: 2.0
initial: {position: [0.0, 0.0, -5.0]}
segments:
  - {at: 0.0, control: {x: 0.0, y: 0.0, z: -5.0, yaw: 0.0}}
"""
EXPERIMENT = """
title: Short hold
description: Stay for two seconds
scenario: SCENARIO
vehicle: bluerov2
window: 1.0
rows:
  - {name: depth, metric: steady_state_error_m.z, unit: m, printed: 0.11, source: page 40,
     band: [0.0, HIGHEST]}
"""


def write(folder, *, highest=0.1, **changes):
    (folder / 'hold.yaml').write_text(changes.pop('scenario', SCENARIO))
    text = EXPERIMENT.replace('SCENARIO', str(folder / 'hold.yaml'))
    text = text.replace('HIGHEST', str(highest))
    for old, new in changes.items():
        text = text.replace(f'{old}:', f'{new}\n#', 1)
    (folder / 'short.yaml').write_text(text)
    return folder / 'short.yaml'


def experiment(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(['experiment', *map(str, arguments)])
    return ended.value.code


@pytest.mark.long
def test_in_process(tmp_path, capsys):
    out = tmp_path / 'out'
    assert experiment(write(tmp_path), '--record', out) == 0
    printed = capsys.readouterr().out
    manifest = json.loads((out / 'manifest.json').read_text())
    metrics = json.loads((out / 'metrics.json').read_text())
    assert manifest['ticks'] == 401
    assert manifest['trajectory_sha256'] == metrics['trajectory_sha256']
    assert manifest['trajectory_sha256'] in printed
    assert metrics['within_bands'] is True
    assert 0 <= metrics['steady_state_error_m']['z'] < 0.1
    assert metrics['steady_state_error_deg']['roll'] is None
    assert {p.name for p in out.glob('*.png')} == {'pose.png', 'efforts.png', 'plan.png'}
    report = (out / 'report.md').read_text()
    assert '# Short hold: bluerov2' in report
    assert '| page 40 |' in report
    run = run_of_bag(out / 'bag', '/bluerov2')
    assert len(run.time) == 401
    assert run.targets[0, 2] == -5.0
    assert printed.startswith('quantity  printed')
    assert '\x1b[' not in printed

    # Once more: refused; room is made when asked for; what is not ours stays.
    assert experiment(tmp_path / 'short.yaml', '--record', out) == 2
    assert 'add --overwrite' in capsys.readouterr().err
    (out / 'path.png').write_text('of an older kind')
    prepare_recording_folder(str(out), overwrite=True, own_files=FILES)
    assert list(out.iterdir()) == []
    (out / 'diary.txt').write_text('mine')
    assert experiment(tmp_path / 'short.yaml', '--record', out, '--overwrite') == 2
    assert 'has other files (diary.txt, ...)' in capsys.readouterr().err


def test_outside_a_band_the_exit_code_is_1(tmp_path, capsys):
    assert experiment(write(tmp_path, highest='1.0e-12')) == 1
    assert 'OUT' in capsys.readouterr().out
    assert not (tmp_path / 'out').exists()


def test_another_vehicle_and_another_controller(tmp_path, capsys):
    path = write(tmp_path)
    assert experiment(path, '--vehicle', 'bluerov2_heavy') == 0
    heavy = capsys.readouterr().out
    assert experiment(path, '--controller', 'thesis') in (0, 1)
    assert capsys.readouterr().out != heavy


@pytest.mark.parametrize(
    ('arguments', 'expected'),
    [
        (['zigzag'], "experiment 'zigzag' is neither a file nor a shipped experiment"),
        (['position_hold', '--vehicle', 'bluerov9'], "'bluerov9' is neither"),
        (['position_hold', '--set', 'arm'], 'expected NAME:=VALUE'),
        (['position_hold', '--controller', 'magic'], "'magic' is neither"),
        (['position_hold', '--controller', 'thesis', '--graph'], 'expected no --graph'),
    ],
)
def test_bad_input_prints_one_line_and_exits_with_2(arguments, expected, capsys):
    assert experiment(*arguments) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert error.startswith('ERROR: ')
    assert error.count('\n') == 1


def test_files_that_do_not_fit_are_refused_before_the_run(tmp_path, capsys):
    for changes, expected in (
        ({'window': 'window: 3.0'}, 'lasts 2 s; expected at least 3 s'),
        ({'title': 'analysis: turn\nturn_from: 9.0\ntitle: x'}, 'expected at least 9 s'),
        ({'title': 'analysis: balance\nmoments: {late: 5.0}\ntitle: x'}, 'expected at least 5 s'),
        ({'title': 'name: x\ntitle: x'}, "unknown key 'name'"),
    ):
        assert experiment(write(tmp_path, **changes)) == 2
        assert expected in capsys.readouterr().err


def test_a_metric_that_does_not_exist_is_bad_input(tmp_path, capsys):
    path = write(tmp_path)
    path.write_text(path.read_text().replace('steady_state_error_m.z', 'beauty'))
    assert experiment(path) == 2
    assert "metrics has no 'beauty'" in capsys.readouterr().err


@pytest.mark.parametrize('name', experiment_names())
def test_shipped_experiments_fit_their_scenarios(name):
    shipped = load_experiment(name)
    scenario = load_scenario(shipped.scenario)
    assert scenario.closed_loop
    moments = [time for _, time in shipped.moments]
    assert scenario.duration > max(shipped.window, shipped.turn_from)
    assert scenario.duration >= max([0.0, *moments])


def test_a_terminal_gets_colours_and_a_pipe_columns():
    rows = parse_experiment(EXPERIMENT.replace('HIGHEST', '0.1'), 'x.yaml').rows
    compared = compare_metrics(rows, {'steady_state_error_m': {'z': 0.2}})
    out = io.StringIO()
    print_comparisons(compared, 'T', Console(file=out, force_terminal=True, width=100))
    assert '\x1b[' in out.getvalue()
    assert 'OUT' in out.getvalue()
    out = io.StringIO()
    print_comparisons(compared, 'T', Console(file=out, width=20))
    assert out.getvalue().splitlines()[1].split() == [
        'depth',
        '0.11',
        '0.200',
        'm',
        'worse',
        '0',
        'to',
        '0.1',
        'OUT',
    ]


@pytest.mark.ros
def test_the_graph_gives_the_same_metrics(tmp_path, capsys, ros_environment):
    path = write(tmp_path)
    assert experiment(path) == 0
    process = capsys.readouterr().out.splitlines()
    assert experiment(path, '--graph', '--record', tmp_path / 'out') == 0
    assert capsys.readouterr().out.splitlines()[:-1] == process  # the table and the hash
    scenario = load_scenario(str(tmp_path / 'hold.yaml'))
    direct = run_of_trajectory(simulate(load_vehicle('bluerov2'), scenario))
    read = run_of_bag(tmp_path / 'out' / 'bag', '/bluerov2')
    for field in fields(ExperimentRun):
        one, two = getattr(read, field.name), getattr(direct, field.name)
        assert np.array_equal(one, two, equal_nan=True), field.name
