# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Modules that lie in the working folder are never run by a process that the package starts."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processor import PATIENCE

from marine_sim_ros.core.processes import module_command

ROOT = Path(__file__).parents[1]
COMMAND = Path(sys.executable).with_name('marine_sim')
NAMES = (
    'marine_sim_ros/__init__', 'multiprocessing/__init__', 'numpy', 'rclpy', 'rosbags', 'runpy',
    'std_msgs/__init__', 'yaml',
)  # fmt: skip
PLANTED = "import os\nopen({marker!r}, 'a').write(__name__ + ' ')\nraise SystemExit(3)\n"
needs_command = pytest.mark.skipif(not COMMAND.is_file(), reason='marine_sim: not installed')


@pytest.fixture
def folder(tmp_path):
    """A folder with modules of somebody else, each of which leaves its name in a file."""
    result = tmp_path / 'shared'
    for name in NAMES:
        path = result / f'{name}.py'
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PLANTED.format(marker=str(tmp_path / 'ran')), encoding='utf-8')
    return result


def ran(folder):
    marker = folder.parent / 'ran'
    return marker.read_text() if marker.exists() else ''


SETTINGS = {
    'matplotlib': (
        'matplotlibrc', 'lines.linewidth: 33',
        'from marine_sim_ros.core.extras import require; require("matplotlib.figure", "x")',
        'import matplotlib; print(matplotlib.rcParams["lines.linewidth"] == 33)',
    ),
    'numba': (
        '.numba_config.yaml', 'cache_dir: /tmp',
        'from marine_sim_ros.core.extras import require; require("numba", "x")\n'
        'from marine_sim_ros.geometry import bvh_kernels',
        'from numba.core import config; config.reload_config(); print(config.CACHE_DIR == "/tmp")',
    ),
    'nicegui': (
        '.nicegui/storage-general.json', '{"left": 1}',
        'import marine_sim_ros.console.page',
        'from nicegui import app; print("left" in app.storage.general)',
    ),
    'rclpy': (
        'DEFAULT_FASTRTPS_PROFILES.xml',
        '<dds><log><use_default>false</use_default><consumer><class>FileConsumer</class><property>'
        '<name>filename</name><value>written</value></property></consumer></log></dds>',
        'import marine_sim_ros.ros',
        'import os, rclpy; rclpy.init(args=[]); rclpy.create_node("x"); '
        'print(os.path.exists("written"))',
    ),
}  # fmt: skip
"""File of the working folder, its text, how the package comes to the library, and whether the file
counts."""


@pytest.mark.parametrize('library', SETTINGS)
def test_settings_of_libraries_in_the_working_folder_do_not_count(library, tmp_path):
    pytest.importorskip(library)
    name, text, ours, look = SETTINGS[library]
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding='utf-8')
    own = tmp_path / 'own'
    own.mkdir()
    environment = {**os.environ, 'PYTHONPATH': str(own)}
    environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    for ours_too in ('SKIP_DEFAULT_XML_FILE', 'NICEGUI_STORAGE_PATH'):
        environment.pop(ours_too, None)

    def counts(*lines):
        (own / 'code.py').write_text('\n'.join(lines))
        command = module_command('code')
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.split()[-1]

    if counts(look) != 'True':
        pytest.skip(f'{library}: this version reads no such file')
    (tmp_path / 'written').unlink(missing_ok=True)
    assert counts(ours, look) == 'False'


def test_the_planted_modules_are_found_by_python_itself(folder):
    command = [sys.executable, '-c', 'import numpy']
    assert subprocess.run(command, cwd=folder, check=False).returncode == 3
    assert ran(folder).split() == ['numpy']


@pytest.mark.parametrize('python', ['here', '3.10', '3.12', '3.13'])
def test_a_module_is_run_without_the_working_folder(python, folder, tmp_path):
    own = tmp_path / 'own'
    own.mkdir()
    (own / 'told.py').write_text(
        'import json, sys\nprint(json.dumps([sys.path, sys.argv[1:], __name__]))\n'
    )
    command = module_command('told', 'a', '--b c')
    if python != 'here':
        found = sorted(Path.home().glob(f'.pyenv/versions/{python}.*/bin/python'))
        if not found:
            pytest.skip(f'python {python}: not installed')
        command[0] = str(found[0])
    environment = {**os.environ, 'PYTHONPATH': str(own)}
    environment.pop('PYTHONSAFEPATH', None)
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    path, words, name = __import__('json').loads(done.stdout)
    assert words == ['a', '--b c']
    assert name == '__main__'
    assert str(own) in path  # what the user has set stays
    assert not {'', '.', str(folder)} & set(path)
    assert path[-1] == str(ROOT)
    assert not ran(folder)


@needs_command
@pytest.mark.parametrize(
    'words',
    [
        ('simulate', 'simple_rov', '--scenario', 'dive', '--duration', '0.05', '--record', 'r'),
        ('analyze', '../r', '-o', 'report', '--table', 'none'),
        ('sweep', 'SWEEP', '--out', 'sweep', '--workers', '2'),
        ('bench', '--help'),
        ('doctor', 'simple_rov'),
        ('export-sdf', 'simple_rov'),
        ('list', 'vehicles'),
    ],
    ids=lambda words: words[0],
)
def test_a_command_imports_nothing_from_the_working_folder(words, folder, tmp_path):
    if words[0] == 'analyze':
        make = ('simulate', 'simple_rov', '--scenario', 'dive', '--duration', '0.05')
        subprocess.run([COMMAND, *make, '--record', tmp_path / 'r'], check=False)
    if words[0] == 'sweep':
        pytest.importorskip('pyarrow', reason='pyarrow: not installed (extra sweep)')
        (tmp_path / 'plan.yaml').write_text(
            'vehicle: simple_rov\nscenario: dive\nengine: numpy\nruns: 2\nblock: 1\n'
            'duration: 0.05\nparameters: {vehicle.inertia.mass: {low: 1, high: 1, relative: true}}'
        )
        words = ('sweep', '../plan.yaml', *words[2:])
    done = subprocess.run(
        [COMMAND, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr  # 1: the dive is cut short
    assert not ran(folder)


@needs_command
@pytest.mark.ros
@pytest.mark.parametrize('how', ['separate', 'composed'])
def test_the_nodes_of_a_run_import_nothing_from_the_working_folder(
    processes, ros_environment, folder, how
):
    """Nodes of a run, and a recorder that the console starts in the middle of one."""
    words = ('run', 'bluerov2', '--scenario', 'dive', '--duration', '0.1', '--record', 'r')
    words += () if how == 'separate' else ('--composed',)
    process = processes.start(
        COMMAND, *words, '--real-time-factor', '0', cwd=folder, stdin=subprocess.DEVNULL
    )
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode in (0, 1), out
    assert not ran(folder)
    if how == 'composed':
        return
    recorder = processes.start(
        *module_command('marine_sim_ros.nodes.recorder', '--ros-args', '-p', 'directory:=again'),
        cwd=folder,
    )
    try:
        recorder.wait(3)
    except subprocess.TimeoutExpired:
        recorder.send_signal(signal.SIGINT)
    recorder.communicate(timeout=PATIENCE)
    assert not ran(folder)


@needs_command
@pytest.mark.ros
@pytest.mark.parametrize(
    'words', ['run bluerov2', 'demo --fast', 'teleop', 'experiment helix --graph']
)
def test_without_the_keys_of_sros2_a_command_is_one_line(
    words, processes, ros_environment, tmp_path
):
    processes.environment = {
        **ros_environment, 'ROS_SECURITY_ENABLE': 'true', 'ROS_SECURITY_STRATEGY': 'Enforce',
        'ROS_SECURITY_KEYSTORE': str(tmp_path),
    }  # fmt: skip
    process = processes.start(COMMAND, *words.split())
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert re.match(r'ERROR: [\w -]+: ROS_SECURITY_ENABLE is true, and ', out)
    assert out.count('\n') == 1


@needs_command
@pytest.mark.ros
@pytest.mark.parametrize('strategy', ['', 'enforce'])  # ROS knows Enforce alone
def test_security_that_is_not_enforced_is_told(strategy, processes, ros_environment, tmp_path):
    processes.environment = {
        **ros_environment, 'ROS_SECURITY_ENABLE': 'true', 'ROS_SECURITY_STRATEGY': strategy,
        'ROS_SECURITY_KEYSTORE': str(tmp_path),
    }  # fmt: skip
    process = processes.start(
        sys.executable,
        '-c',
        'from marine_sim_ros.core.ros_needed import require_ros as r; r("run")',
    )
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, out
    assert out.startswith('WARNING: ROS_SECURITY_ENABLE is true, and ROS_SECURITY_STRATEGY is not')
    assert out.count('\n') == 1
