# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The bench without a graph measures every row of its table, with few steps each."""

import os
import pty
import signal
import subprocess
import sys

import pytest

from marine_sim_ros.bench import numpy_steps
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.model.library import load_vehicle, vehicle_names
from marine_sim_ros.tools import bench
from marine_sim_ros.tools.main import main

pytestmark = pytest.mark.long


def test_a_round_of_steps_measures_every_shipped_vehicle(monkeypatch, capsys):
    monkeypatch.setattr(bench, 'STEPS', 20)
    monkeypatch.setattr(bench, 'TRIANGLES', (192, 768))
    monkeypatch.setattr(numpy_steps, 'TICKS', 60)
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


def test_ctrl_c_leaves_what_was_measured_and_a_screen_sees_each_value_at_once():
    screen, end = pty.openpty()
    command = [sys.executable, '-m', 'marine_sim_ros.tools.main', 'bench', '--steps-only']
    # A shell in the background has SIGINT ignored, and so would the bench.
    bench = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=end,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    os.close(end)
    told = ''
    while 'µs/step' not in told:
        told += os.read(screen, 1000).decode()
    bench.send_signal(signal.SIGINT)
    table = bench.communicate(timeout=120)[0].decode()
    os.close(screen)
    assert bench.returncode == 0
    assert 'in process, bluerov2: µs/step' in table
    assert 'boundary, bluerov2' not in table


def test_what_was_measured_before_one_failed_is_told_too(monkeypatch, capsys):
    def silent(*_: object) -> float:
        raise MarineSimError('/bench/dynamics: no report of ticks within 10 s')

    monkeypatch.setattr(bench, 'STEPS', 20)
    monkeypatch.setattr(bench, 'allocation_microseconds', silent)
    with pytest.raises(SystemExit) as done:
        main(['bench', '--steps-only', '--rounds', '1'])
    assert done.value.code != 0
    told = capsys.readouterr()
    assert 'in process, bluerov2: µs/step' in told.out
    assert told.err == 'ERROR: /bench/dynamics: no report of ticks within 10 s\n'
