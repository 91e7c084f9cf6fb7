# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bars of long work: seen on a terminal, and free where the work is quick."""

import os
import re
import subprocess
import sys

import pytest
from conftest import vehicle_of
from fork_server import COMMAND
from graph import ONE_PROCESS

from marine_sim_ros.core.progress import ProgressFile, report_state
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import scenario_ticks
from marine_sim_ros.tools.command_line import progress_bar, remaining_time

QUICK = """
import sys
from marine_sim_ros.tools.command_line import progress_bar
with progress_bar('building', quiet={quiet}) as told:
    {work}
print('rich' in sys.modules)
"""


def _run(work: str, quiet: float = 0.0, **variables: str) -> tuple[str, str]:
    free = {k: v for k, v in os.environ.items() if k not in ('FORCE_COLOR', 'TTY_COMPATIBLE')}
    done = subprocess.run(
        [sys.executable, '-c', QUICK.format(work=work, quiet=quiet)],
        env={**free, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip(), done.stderr


@pytest.mark.parametrize('variables', [{}, {'FORCE_COLOR': '1'}])
def test_quick_work_needs_no_rich(variables):
    """Its import would come before the nodes of a run, and into each of them."""
    assert _run('pass', quiet=5.0, **variables) == ('False', '')


def test_long_work_shows_its_share_on_a_terminal_only():
    imported, shown = _run('told(0.5); told(1.0)', FORCE_COLOR='1')
    assert imported == 'True'
    assert 'building' in shown
    assert '0:00:00' in shown
    assert 'left' in shown
    imported, shown = _run("told(0.5, 'slowly')", FORCE_COLOR='1')
    assert 'slowly' in shown
    assert _run('told(0.5)', quiet=5.0, FORCE_COLOR='1') == ('False', '')
    assert _run('told(0.5)') == ('False', '')


def test_work_of_days_is_told_of_once_where_there_is_no_bar():
    clock = 'import time; at = [time.monotonic()]; time.monotonic = lambda: at[0]; at[0] += 1; '
    later = 'told({}); at[0] += 40; told({}); at[0] += 40; told(2e-5)'
    told = 'WARNING: building takes about 46.3 days more\n'
    assert _run(clock + later.format(0.0, 1e-5)) == ('False', told)
    assert _run(clock + later.format(0.0, 1e-3)) == ('False', '')  # 11 hours


def test_a_slow_start_does_not_promise_days():
    """A fit that compiles for 10 s before its first small report is done within a minute."""
    clock = 'import time; at = [time.monotonic()]; time.monotonic = lambda: at[0]; at[0] += 10; '
    reports = 'told(5e-5); at[0] += 1; told(2e-4); at[0] += 5; told(0.1)'
    assert _run(clock + reports) == ('False', '')


def test_what_is_left_goes_by_the_mean_rate():
    """A quick first part of validate does not promise that the rest takes a second."""
    origin = (100.0, 0.01)
    assert remaining_time(106.0, origin, 0.01, 1.0) is None
    assert remaining_time(108.0, origin, 0.02, 1.0) is None
    assert remaining_time(140.0, origin, 0.02, 1.0) == pytest.approx(40.0 * 98)
    assert remaining_time(108.0, origin, 0.11, 1.0) == pytest.approx(8.0 * 0.89 / 0.10)
    assert remaining_time(109.0, origin, 0.11, 1.0) == pytest.approx(9.0 * 0.89 / 0.10)
    assert remaining_time(150.0, origin, 1.0, 1.0) == 0.0
    assert remaining_time(150.0, origin, 0.5, None) == 0.0


def test_a_bar_tells_how_much_of_a_simulation_is_done():
    vehicle, scenario = vehicle_of('simple_rov'), load_scenario('dive')
    told = []
    _, _, ticks = scenario_ticks(vehicle, scenario, duration=3.0, dt=0.005, progress=told.append)
    for _ in ticks:
        pass
    assert told == pytest.approx([0.0, 200 / 601, 400 / 601, 600 / 601])


def test_the_time_of_a_run_is_read_by_who_started_it(monkeypatch):
    file = ProgressFile()
    report_state(1.0, (0.0, 0.0, 0.0))  # nobody asked
    assert file.report() is None
    for name, value in file.variables.items():
        monkeypatch.setenv(name, value)
    report_state(2.5, (1.0, -2.0, -5.25))
    assert file.report() == (2.5, 1.0, -2.0, -5.25)
    file.close()
    report_state(3.0, (0.0, 0.0, 0.0))
    assert file.report() is None  # and it was not made anew


@pytest.mark.ros
def test_the_bar_of_a_run_goes_by_simulated_time(processes):
    """A run at twice the real time: half of its wall time is half of its bar."""
    processes.environment = {**processes.environment, 'FORCE_COLOR': '1', 'COLUMNS': '120'}
    run = ('run', 'simple_rov', '--duration', 8, '--real-time-factor', 2, *ONE_PROCESS)
    output, _ = processes.start(sys.executable, '-m', COMMAND, *run).communicate()
    assert 'running' in output
    assert 'left' in output
    passed = [int(found) for found in re.findall(r'0:00:(\d\d)', output)]
    assert max(passed) < 60
    assert re.search(r'left .*0:00:0[0-5]', output)
    assert re.search(r'simulated 8\.0 s in [\d.]+ s; at the end east 0\.0, north 0\.0, up', output)
    assert 'to keep a run for analyze and console: --record out/NAME' in output


@pytest.mark.ros
def test_a_run_that_is_refused_leaves_no_file(processes, tmp_path):
    processes.environment = {**processes.environment, 'TMPDIR': str(tmp_path)}
    run = ('run', 'simple_rov', '--scenario', 'nowhere', *ONE_PROCESS)
    process = processes.start(sys.executable, '-m', COMMAND, *run)
    output, _ = process.communicate()
    assert process.returncode == 2, output
    assert not list(tmp_path.glob('marine_sim_progress_*'))


def test_long_work_has_a_bar_before_its_first_report():
    work = 'import time; time.sleep(0.5)'
    imported, shown = _run(work, quiet=0.1, FORCE_COLOR='1')
    assert imported == 'True'
    assert 'building' in shown
    assert '0%' in shown
    assert _run(work, quiet=0.1) == ('False', '')


def test_work_without_a_known_end_has_no_bar_that_could_look_full(monkeypatch, capsys):
    monkeypatch.setenv('FORCE_COLOR', '1')
    for total, expected in ((None, False), (1.0, True)):
        with progress_bar('running', total, quiet=0.0) as told:
            told(0.3)
        assert ('━' in capsys.readouterr().err) is expected
