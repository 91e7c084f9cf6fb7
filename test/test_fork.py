# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes as forks of the process that starts them."""

import subprocess
import sys

import psutil
import pytest
from graph import Watcher

HEAD = """
import os, signal, subprocess, sys, threading, time
from pathlib import Path
from marine_sim_ros.ros.fork import Fork, can_fork, import_shared
"""


def printed(script, environment=None):
    done = subprocess.run(
        [sys.executable, '-c', HEAD + script],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr


def test_a_process_with_threads_does_not_fork():
    told, _ = printed(
        'before = can_fork()\n'
        'over = threading.Event(); threading.Thread(target=over.wait).start()\n'
        'print(before, can_fork()); over.set()'
    )
    assert told.split() == ['True', 'False']


def test_an_import_that_fails_is_exit_code_1_with_its_traceback():
    told, errors = printed("print(Fork('lost', 'no_such_node', [], {}).wait())")
    assert told.strip() == '1'
    assert "No module named 'marine_sim_ros.nodes.no_such_node'" in errors


NODE = """
import_shared()
assert can_fork()
signal.signal(signal.SIGTERM, lambda *_: print('the parent was meant'))
"""


@pytest.mark.ros
def test_exit_codes_signals_and_waiting(ros_environment):
    told, errors = printed(
        NODE + "print(Fork('drag', 'drag', ['--ros-args', '-p', 'vehicle:=nothing'], {}).wait())\n"
        "one = Fork('drag', 'drag', ['--ros-args', '-p', 'vehicle:=bluerov2'], {})\n"
        'try: one.wait(0.01)\n'
        "except subprocess.TimeoutExpired: print('runs')\n"
        'one.terminate(); print(one.wait() in (0, -signal.SIGTERM)); one.terminate()\n'
        "one = Fork('drag', 'drag', ['--ros-args', '-p', 'vehicle:=bluerov2'], {})\n"
        'one.kill(); print(one.wait(), one.returncode, one.poll())',
        ros_environment,
    )
    assert told.split() == ['2', 'runs', 'True', '-9', '-9', '-9']
    assert "vehicle 'nothing' is neither a file nor a shipped vehicle" in errors


@pytest.mark.ros
def test_each_node_of_a_run_is_a_process_with_its_name(processes):
    from nav_msgs.msg import Odometry

    watcher = Watcher()
    watcher.listen('odom', Odometry)
    run = processes.marine_sim('run', 'bluerov2')
    try:
        watcher.until(lambda: watcher.seen['odom'][-1])
        nodes = psutil.Process(run.pid).children(recursive=True)
        assert {node.name() for node in nodes} == {
            'thrusters', 'buoyancy', 'drag', 'barometer', 'sensors', 'dynamics',
        }  # fmt: skip
        assert all(node.ppid() == run.pid for node in nodes)
    finally:
        watcher.close()
