# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The controller of docs/how-to/write-a-controller.md holds its depth, as an entry point."""

import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT
from doc_blocks import blocks_of

tomllib = pytest.importorskip('tomllib', reason='new in Python 3.11')
PAGE = ROOT / 'docs' / 'how-to' / 'write-a-controller.md'


def test_the_controller_of_the_page_runs_as_installed(tmp_path):
    for block in blocks_of(PAGE):
        if 'file' in block.clauses:
            (tmp_path / block.clauses['file']).write_text(block.text)
    project = tomllib.loads((tmp_path / 'pyproject.toml').read_text())['project']
    info = tmp_path / f'{project["name"]}-{project["version"]}.dist-info'  # as pip writes it
    info.mkdir()
    (info / 'METADATA').write_text('Metadata-Version: 2.1\nName: depth_pd\nVersion: 0.1.0\n')
    lines = [
        f'[{group}]\n' + '\n'.join(f'{name} = {value}' for name, value in points.items())
        for group, points in project['entry-points'].items()
    ]
    (info / 'entry_points.txt').write_text('\n'.join(lines))

    def marine_sim(*words):
        done = subprocess.run(
            [sys.executable, '-m', 'marine_sim_ros.tools.main', *words],
            cwd=tmp_path,
            env={**os.environ, 'PYTHONPATH': f'{tmp_path}{os.pathsep}{ROOT}'},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    held = marine_sim('simulate', 'bluerov2_heavy', '--scenario', 'hold.yaml', '--dt', '0.02')
    assert 'holds:' in held
    listed = json.loads(marine_sim('list', 'controllers', '--json'))
    assert listed['depth_pd'].endswith('(a law, for a controller file with law: depth_pd)')
    programs = {'ardusub', 'px4', 'ros2_control'}
    assert set(listed) == {'modern', 'thesis', 'glide', 'profile', 'policy', 'depth_pd'} | programs
