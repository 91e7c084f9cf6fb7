# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A forgotten `source` or activation ends in one line with the remedy, and exit code 2."""

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT
from missing import ROS, python_without

from marine_sim_ros.core.ros_needed import CORE

AS_NODE = "import runpy; runpy.run_module('marine_sim_ros.nodes.{}', run_name='__main__')"
"""Where ``python -m`` has set sys.argv as it does before it looks for the module."""


def line_of(done):
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith('ERROR: '), done.stderr
    assert done.stderr.count('\n') == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize('verb', ['run', 'simulate', 'doctor', 'teleop'])
def test_another_python_is_named_with_the_remedy(verb):
    code = f'from marine_sim_ros.tools.main import main\nmain([{verb!r}, "bluerov2"])'
    line = line_of(python_without([*CORE, *ROS], code))
    assert re.match(
        rf'ERROR: this Python \({sys.executable}\) has no \w+; expected .*activate', line
    )


@pytest.mark.parametrize('node', ['dynamics', 'composed', 'console'])
@pytest.mark.parametrize('lacking', ['rclpy', 'numpy'])
def test_so_it_is_for_a_node(node, lacking):
    code = "sys.argv = ['-m']\n" + AS_NODE.format(node)
    line = line_of(python_without([lacking], code))
    assert f'this Python ({sys.executable}) has no {lacking}; expected ' in line


def test_the_ros_of_another_python_is_named(tmp_path):
    (tmp_path / 'rclpy').mkdir()
    for name in ('__init__.py', '_rclpy_pybind11.cpython-39-x86_64-linux-gnu.so'):
        (tmp_path / 'rclpy' / name).touch()
    done = subprocess.run(
        [sys.executable, '-m', 'marine_sim_ros.tools.main', 'run', 'bluerov2'],
        env={**os.environ, 'PYTHONPATH': f'{tmp_path}{os.pathsep}{ROOT}'},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert f'{tmp_path / "rclpy"} is that of another Python' in line_of(done)


def test_the_command_of_a_workspace_that_is_not_sourced(tmp_path):
    done = subprocess.run(
        [sys.executable, '-I', '-S', str(ROOT / 'bin' / 'marine_sim'), 'run', 'bluerov2'],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert '. install/setup.bash' in line_of(done)
