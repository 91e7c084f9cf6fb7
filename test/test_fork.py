# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes as forks of the process that starts them."""

import os
import subprocess
import sys

import psutil
import pytest
from fork_server import COMMAND, forked
from graph import Watcher

HEAD = """
import os, signal, subprocess, sys, threading, time
from pathlib import Path
from marine_sim_ros.ros.launching.fork import Fork, can_fork, import_shared
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


EARLY = """
from marine_sim_ros.model.library import known_vehicles, vehicle_of
from marine_sim_ros.ros.launching.fork import EarlyFork
import_shared()
early = EarlyFork('drag', {})
"""


@pytest.mark.ros
def test_a_process_that_is_in_the_graph_early_has_the_vehicles_that_were_read_since(
    ros_environment,
):
    """A description that is gone when it starts is not asked for."""
    told, errors = printed(
        EARLY + 'import tempfile; from marine_sim_ros.core.files import resource_folder\n'
        "text = (resource_folder('urdf') / 'simple_rov.urdf').read_text()\n"
        "gone = Path(tempfile.mkdtemp(), 'own.urdf'); gone.write_text(text)\n"
        "vehicle_of({'vehicle': str(gone)}); gone.unlink()\n"
        "early.begin('drag', ['--ros-args', '-p', f'vehicle:={gone}'])\n"
        'try: early.wait(5)\n'
        "except subprocess.TimeoutExpired: print('runs')\n"
        "name = Path(f'/proc/{early.pid}/comm').read_text().strip()\n"
        'early.terminate(); print(name, early.wait() in (0, -signal.SIGTERM))',
        ros_environment,
    )
    assert told.split() == ['runs', 'drag', 'True'], errors


@pytest.mark.ros
def test_without_words_it_ends_and_says_nothing(ros_environment):
    assert printed(EARLY + 'early.leave(); print(early.wait())', ros_environment) == ('0\n', '')
    # Nor does it outlive a command that found bad input meanwhile: this waits for its output.
    assert printed(EARLY + 'os._exit(0)', ros_environment) == ('', '')


@pytest.mark.ros
def test_no_node_is_left_of_a_composed_run_that_was_early(processes):
    from nav_msgs.msg import Odometry

    watcher = Watcher()
    watcher.listen('odom', Odometry)
    processes.start(sys.executable, '-m', COMMAND, 'run', 'bluerov2', '--composed')
    try:
        watcher.until(lambda: watcher.seen['odom'][-1])
        watcher.until(lambda: 'dynamics' in watcher.node.get_node_names())
        watcher.until(lambda: not any('early' in n for n in watcher.node.get_node_names()))
    finally:
        watcher.close()


@pytest.mark.ros
def test_each_node_of_a_run_is_a_process_with_its_name(processes):
    from nav_msgs.msg import Odometry

    watcher = Watcher()
    watcher.listen('odom', Odometry)
    run = processes.start(sys.executable, '-m', COMMAND, 'run', 'bluerov2')
    try:
        watcher.until(lambda: watcher.seen['odom'][-1])
        nodes = psutil.Process(run.pid).children(recursive=True)
        assert {node.name() for node in nodes} == {
            'thrusters',
            'buoyancy',
            'drag',
            'barometer',
            'sensors',
            'dynamics',
        }
        assert all(node.ppid() == run.pid for node in nodes)
    finally:
        watcher.close()


# ---- what tests start --------------------------------------------------------------------------


def test_a_command_of_a_test_is_its_child_with_a_folder_and_variables_of_its_own(tmp_path):
    own = dict(os.environ, COLUMNS='64', ONLY='this')
    command = ('simulate', 'bluerov2', '--scenario', 'dive', '--duration', 60, '--record', 'run')
    process = forked(COMMAND, command, own, folder=tmp_path)
    seen = psutil.Process(process.pid)
    assert seen.ppid() == os.getpid()
    while not (tmp_path / 'run').exists():
        assert process.poll() is None, process.communicate()
    assert seen.cwd() == str(tmp_path)
    assert os.getsid(process.pid) == process.pid
    with pytest.raises(subprocess.TimeoutExpired):
        process.communicate(timeout=0.01)
    process.kill()
    assert process.wait() == -9
    assert 'ONLY' not in os.environ


@pytest.mark.parametrize(('verb', 'code', 'said'), [('list', 0, 'bluerov2'), ('fly', 2, 'fly')])
def test_a_command_of_a_test_has_its_output_and_its_exit_code(verb, code, said):
    process = forked(COMMAND, [verb, 'vehicles'], os.environ)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == code
    assert said in output
    assert 'Traceback' not in output


def test_what_an_interpreter_reads_as_it_starts_is_that_of_the_command(tmp_path):
    (tmp_path / 'told.py').write_text("print(hash('a word'))")
    for seed in (
        '7',
        '8',
    ):  # a library may change a variable in the midst of the tests, as cv2 does
        own = {**os.environ, 'PYTHONHASHSEED': seed, 'LD_LIBRARY_PATH': f'/nowhere/{seed}'}
        told, _ = forked('told', [], own, folder=tmp_path).communicate(timeout=60)
        command = [sys.executable, tmp_path / 'told.py']
        assert told.encode() == subprocess.check_output(command, env=own)
