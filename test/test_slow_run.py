# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A run that is slower than real time names its cause and what to change."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import has, vehicle_of

if not has('rclpy'):
    pytest.skip('the run of a graph needs ROS', allow_module_level=True)

from marine_sim_ros.ros.launching.supervisor import Supervisor
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.tools import graph_run
from marine_sim_ros.tools.graph_run import ProcessorLoad, slow_cause

PLAIN = RunOptions(vehicle='bluerov2')


def with_hull(triangles):
    panels = SimpleNamespace(faces=np.zeros((triangles, 3)))
    return SimpleNamespace(hull=SimpleNamespace(panels=panels), sensors=())


@pytest.mark.parametrize(
    ('vehicle', 'run', 'composed', 'others', 'expected'),
    [
        ('bluerov2', PLAIN, True, 0.7, 'other programs use 70 % of the processors; end'),
        (with_hull(5000), PLAIN, True, 0.2, '5,000 triangles of the hull; give <max_triangles>'),
        (with_hull(900), PLAIN, False, 0.0, 'each node is a process of its own; add --composed'),
        ('bluerov2', PLAIN, True, 0.0, '200 steps a second of NumPy; add --engine jax, or'),
        ('bluerov2', replace(PLAIN, engine='jax'), False, 0.0, '200 steps a second; give a'),
    ],
)
def test_the_likeliest_cause_is_named_with_its_remedy(vehicle, run, composed, others, expected):
    vehicle = vehicle_of(vehicle) if isinstance(vehicle, str) else vehicle
    assert slow_cause(vehicle, run, composed=composed, others=others).startswith(expected)


def test_cameras_are_a_cause():
    run = replace(PLAIN, vehicle_arguments=('camera:=true',))
    seen = vehicle_of('bluerov2', camera='true')
    assert slow_cause(seen, run, composed=True, others=0.0).startswith('pictures of camera;')


def test_a_pause_and_a_quick_run_are_not_slow(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, 'monotonic', lambda: clock[0])
    pace, simulated = graph_run._Pace(), 0.0
    counts = []
    for factor in (0.3, 0.4, 0.0, 0.3, 0.3, 0.3, 1.0):
        clock[0] += graph_run.WINDOW
        simulated += factor * graph_run.WINDOW
        pace.text(simulated, 1.0)
        counts.append(pace.slow_windows)
    assert counts == [1, 2, 0, 1, 2, 3, 0]


def test_the_load_of_others_is_a_fraction_without_ones_own():
    pytest.importorskip('psutil')
    load = ProcessorLoad()
    time.sleep(0.2)
    assert 0.0 <= load.others() <= 1.0


def test_where_proc_is_not_mounted_the_load_is_not_known(monkeypatch):
    psutil = pytest.importorskip('psutil')

    def cpu_times():
        raise FileNotFoundError(2, 'No such file or directory', '/proc/stat')

    monkeypatch.setattr(psutil, 'cpu_times', cpu_times)
    assert ProcessorLoad().others() == 0.0


def test_an_error_of_the_supervisor_ends_its_processes(monkeypatch):
    # Other systems than Linux do not end children with their parent.
    process = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])

    def fail(*_, **__):
        raise BrokenPipeError(32, 'Broken pipe')

    supervisor = Supervisor()
    monkeypatch.setattr(
        supervisor, 'start_run', lambda *_, **__: supervisor.processes.update(dynamics=process)
    )
    monkeypatch.setattr(graph_run, '_wait', fail)
    with pytest.raises(BrokenPipeError):
        graph_run.run_graph(RunOptions(), [], supervisor=supervisor)
    assert process.poll() == -signal.SIGTERM


def test_a_stopped_process_is_reported_once_and_when_it_goes_on(monkeypatch, capsys):
    clock = [0.0]
    monkeypatch.setattr(time, 'monotonic', lambda: clock[0])
    asleep = graph_run._Asleep()
    for pids in ({}, {'dynamics': 7}, {'dynamics': 7}, {'dynamics': 7}, {}, {'dynamics': 7}, {}):
        asleep.report(pids)
        clock[0] += graph_run.STOPPED
    assert capsys.readouterr().err.splitlines() == [
        'WARNING: dynamics is stopped by a signal; kill -CONT 7 lets it go on',
        'WARNING: dynamics goes on',
    ]


def test_the_supervisor_knows_which_of_its_processes_are_stopped():
    supervisor = Supervisor()
    wait = [sys.executable, '-c', 'import time; time.sleep(60)']
    supervisor.processes = {name: subprocess.Popen(wait) for name in ('drag', 'dynamics')}
    pid = supervisor.processes['dynamics'].pid

    def until(expected):
        deadline = time.monotonic() + 10
        while supervisor.suspended_processes() != expected:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    try:
        assert supervisor.suspended_processes() == {}
        os.kill(pid, signal.SIGSTOP)
        until({'dynamics': pid})
        assert supervisor.exit_codes() == {}
        os.kill(pid, signal.SIGCONT)
        until({})
        os.kill(pid, signal.SIGKILL)
        assert supervisor.processes['dynamics'].wait() == -signal.SIGKILL
        assert supervisor.suspended_processes() == {}
    finally:
        for process in supervisor.processes.values():
            process.kill()
            process.wait()
        supervisor.progress.close()
