# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A real ``ros2 launch`` whose Gazebo dies; scripts stand in for its server and the bridge."""

import os
import re
import shutil
import signal
import time

import pytest

pytestmark = [
    pytest.mark.launch,
    pytest.mark.ros,
    pytest.mark.skipif(shutil.which('ros2') is None, reason='ros2: not on this machine'),
]
WAIT = '#!/bin/sh\ntrap "exit 0" INT TERM\nwhile :; do sleep 0.1; done\n'


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def gazebo(tmp_path, processes):
    """Return what sets the text of server and bridge, the first two on the paths."""
    index = tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    (index / 'ros_gz_bridge').touch()
    paths = {'PATH': tmp_path / 'bin', 'AMENT_PREFIX_PATH': tmp_path}
    for name, path in paths.items():
        processes.environment[name] = f'{path}{os.pathsep}{os.environ[name]}'

    def scripts(server, bridge):
        script(tmp_path / 'bin' / 'gz', server)
        script(tmp_path / 'lib' / 'ros_gz_bridge' / 'parameter_bridge', bridge)

    return scripts


def launch(processes, *arguments):
    return processes.start(
        'ros2',
        'launch',
        'marine_sim_ros',
        'sim.launch.py',
        'links:=false',
        *arguments,
        start_new_session=True,
    )


def ends(text):
    return f'#!/bin/sh\nsleep 2\n{text}\n'


@pytest.mark.parametrize(
    ('server', 'bridge', 'message'),
    [
        (ends('kill -SEGV $$'), WAIT, r'gz-\d+ has died with exit code -11; the launch ends'),
        (ends('exit 255'), WAIT, r'gz-\d+ has died with exit code 255'),
        (WAIT, ends('kill -KILL $$'), r'parameter_bridge-\d+ has died with exit code -9'),
    ],
    ids=['segmentation fault', 'error', 'no bridge'],
)
def test_a_dead_gazebo_is_a_failed_launch(processes, gazebo, server, bridge, message):
    gazebo(server, bridge)
    process = launch(processes, 'backend:=gazebo', 'delivery:=stock', 'environment:=shallow_sand')
    output, _ = process.communicate()
    assert re.search(message, output), output
    assert process.returncode == 1, output
    assert output.count('process started') == len(
        re.findall(r'finished cleanly|has died \[', output)
    )


def test_a_server_that_is_closed_ends_the_launch_well(processes, gazebo):
    gazebo(ends('exit 0'), WAIT)
    process = launch(processes, 'backend:=gazebo', 'delivery:=stock')
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert 'the launch ends' not in output


def test_an_interrupt_ends_the_launch_well(processes, gazebo):
    gazebo('#!/bin/sh\nwhile :; do sleep 0.1; done\n', WAIT)  # the signal itself ends the server
    process = launch(processes, 'backend:=gazebo', 'delivery:=stock')
    time.sleep(6)
    assert process.poll() is None, process.communicate()[0]
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all of them
    output, _ = process.communicate()
    assert process.returncode == 0, output


@pytest.mark.parametrize('composed', ['false', 'true'])
def test_a_killed_owner_of_the_state_is_a_failed_launch(processes, composed):
    name = 'composed' if composed == 'true' else 'dynamics'
    process = launch(processes, f'composed:={composed}')
    started = rf'\[{name}-\d+\]: process started with pid \[(\d+)\]'
    pid = next(found[1] for line in process.stdout if (found := re.search(started, line)))
    os.kill(int(pid), signal.SIGKILL)
    output, _ = process.communicate()
    assert f'{name}-' in output
    assert 'has died with exit code -9; the launch ends' in output
    assert process.returncode == 1, output
