# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Wheel and sdist; the wheel alone in an empty environment; the folders of a workspace."""

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

FOLDERS = ('launch', 'config', 'urdf', 'worlds')
NODES = sorted(p.stem for p in (ROOT / 'marine_sim_ros' / 'nodes').glob('[a-z]*.py'))
OFFLINE = ('ConnectionError', 'Temporary failure in name resolution', 'No matching distribution')

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group('wheel'), pytest.mark.timeout(1200)]


def ran(*command, **options):
    """Return what a command printed."""
    done = subprocess.run(
        [str(c) for c in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def clean():
    """Return the variables of a user who knows nothing of this checkout."""
    hidden = ('PYTHONPATH', 'AMENT_PREFIX_PATH', '_ROS_WHEELS_BOOTSTRAP_COMPLETE')
    return {name: value for name, value in os.environ.items() if name not in hidden}


def files(folder):
    """Return the files below a folder, and what is in them."""
    found = (p for p in folder.rglob('*') if p.is_file() and '__pycache__' not in p.parts)
    return {str(p.relative_to(folder)): p.read_bytes() for p in found}


@pytest.fixture(scope='module')
def source(tmp_path_factory):
    """A copy of the source, which builds write to."""
    folder = tmp_path_factory.mktemp('source')
    for name in (
        'setup.py',
        'setup.cfg',
        'pyproject.toml',
        'MANIFEST.in',
        'package.xml',
        'README.md',
        'LICENSE',
        'CHANGELOG.md',
    ):
        shutil.copy(ROOT / name, folder / name)
    for name in (*FOLDERS, 'bin', 'resource', 'marine_sim_ros', 'docs/scripts', 'test'):
        ignored = shutil.ignore_patterns('__pycache__')
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    shutil.rmtree(folder / 'worlds' / 'meshes', ignore_errors=True)  # a clone has none
    return folder


@pytest.fixture(scope='module')
def built(source):
    """The folder with sdist and wheel, the wheel made from the sdist."""
    pytest.importorskip('build')
    target = source.parent / 'dist'
    ran(sys.executable, '-m', 'build', '--no-isolation', '--outdir', target, source, env=clean())
    return target


def wheel(built):
    return next(built.glob('*.whl'))


def test_pypi_would_take_them(built):
    pytest.importorskip('twine')
    said = ran(sys.executable, '-m', 'twine', 'check', '--strict', *built.iterdir())
    assert said.count('PASSED') == 2


def test_the_wheel_holds_the_package_and_the_folders(source, built):
    with zipfile.ZipFile(wheel(built)) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    expected = {f'marine_sim_ros/{k}': v for k, v in files(ROOT / 'marine_sim_ros').items()}
    for top in FOLDERS:
        for name, content in files(source / top).items():
            expected[f'marine_sim_ros/share/{top}/{name}'] = content
    assert 'marine_sim_ros/share/worlds/meshes/sand.obj' in expected
    inside = {k: v for k, v in found.items() if '.dist-info/' not in k}
    assert set(inside) == set(expected)
    assert inside == expected


def test_the_sdist_holds_what_a_wheel_is_made_from(built):
    with tarfile.open(next(built.glob('*.tar.gz'))) as archive:
        found = {name.partition('/')[2] for name in archive.getnames()}
    for top in (*FOLDERS, 'bin', 'resource'):
        assert {f'{top}/{name}' for name in files(ROOT / top)} <= found
    assert 'package.xml' in found
    assert {'CHANGELOG.md', 'test/conftest.py', 'marine_sim_ros/py.typed'} <= found
    assert not any('__pycache__' in name for name in found)


def test_pip_puts_one_command_on_the_path(built):
    with zipfile.ZipFile(wheel(built)) as archive:
        name = next(n for n in archive.namelist() if n.endswith('entry_points.txt'))
        commands = archive.read(name).decode().split('\n')
        assert not any('.data/' in n for n in archive.namelist())
    assert [c for c in commands if '=' in c] == ['marine_sim = marine_sim_ros.tools.main:main']


@pytest.fixture(scope='module')
def alone(built):
    """The bin folder of an environment that has the wheel and what it asks for."""
    folder = built.parent / 'alone'
    venv.EnvBuilder(symlinks=True).create(folder)
    pip = (sys.executable, '-m', 'pip', '--python', folder / 'bin' / 'python')
    command = [*pip, 'install', '--no-compile', wheel(built)]
    done = subprocess.run(command, capture_output=True, text=True, env=clean())
    if done.returncode and any(sign in done.stderr for sign in OFFLINE):
        pytest.skip(f'no package index: {done.stderr.strip().splitlines()[-1]}')
    assert done.returncode == 0, done.stderr
    return folder / 'bin'


def test_the_wheel_alone_serves_from_any_folder(alone, tmp_path):
    def marine_sim(*arguments, **options):
        return ran(alone / 'marine_sim', *arguments, cwd=tmp_path, env=clean(), **options)

    assert marine_sim('--version').startswith('marine_sim ')
    assert '0 errors' in marine_sim('doctor', 'bluerov2')
    command = ('simulate', 'bluerov2', '--scenario', 'dive', '--record', 'dive')
    digest = marine_sim(*command).split()[-1]
    marine_sim('analyze', 'dive', '-o', 'report')
    assert (tmp_path / 'report' / 'report.html').stat().st_size > 10**6
    maker = ('--set', 'coefficients:=maker')
    assert 'reproduces 9 of 9' in marine_sim('validate', 'bluerov2', *maker)
    marine_sim('export-sdf', 'bluerov2', '-o', 'model.sdf')
    assert '<sdf' in (tmp_path / 'model.sdf').read_text(encoding='utf-8')
    code = (
        'from marine_sim_ros import load_scenario, load_vehicle, simulate\n'
        'from marine_sim_ros.sweep.plan import load_plan\n'
        'load_plan("dive")\n'
        'print(simulate(load_vehicle("bluerov2"), load_scenario("dive")).sha256)'
    )
    assert ran(alone / 'python', '-c', code, cwd=tmp_path, env=clean()).strip() == digest


@pytest.mark.parametrize(
    ('command', 'what'),
    [
        (['marine_sim', 'run', 'bluerov2'], 'run'),
        (['marine_sim', 'bench'], 'bench without --steps-only'),
        (['python', '-m', 'marine_sim_ros.nodes.drag'], 'a node'),
    ],
)
def test_the_wheel_alone_says_in_one_line_that_there_is_no_ros(alone, tmp_path, command, what):
    done = subprocess.run(
        [str(alone / command[0]), *command[1:]],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=clean(),
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f'ERROR: {what} needs ROS 2, and')
    assert done.stderr.count('\n') == 1


EACH_NODE = """
import os, runpy, sys, marine_sim_ros
for name in sys.argv[1:]:
    if not (pid := os.fork()):
        sys.argv = ['-m']  # what it is before Python looks for the module
        runpy.run_module('marine_sim_ros.nodes.' + name, run_name='__main__')
        os._exit(0)
    print(name, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


def test_every_node_of_the_wheel_alone_says_in_one_line_that_there_is_no_ros(alone, tmp_path):
    said = ran(alone / 'python', '-c', EACH_NODE, *NODES, cwd=tmp_path, env=clean()).splitlines()
    assert said[1::2] == [f'{node} 2' for node in NODES]
    assert len(said) == 2 * len(NODES)
    assert all(line.startswith('ERROR: a node needs ROS 2, and') for line in said[::2])


def test_the_wheel_leaves_short_names_to_others(alone):
    assert not {p.name for p in alone.iterdir()} & set(NODES)


def test_a_workspace_has_the_folders_and_the_executables(source, tmp_path):
    # The command of colcon's ament_python task.
    prefix, build = tmp_path / 'install', tmp_path / 'build'
    build.mkdir()
    ran(
        sys.executable,
        'setup.py',
        'egg_info',
        '--egg-base',
        build,
        'build',
        '--build-base',
        build / 'build',
        'install',
        '--prefix',
        prefix,
        '--record',
        build / 'install.log',
        '--install-scripts',
        prefix / 'lib' / 'marine_sim_ros',
        '--single-version-externally-managed',
        'install_data',
        cwd=source,
        env=clean(),
    )
    share = prefix / 'share' / 'marine_sim_ros'
    for top in FOLDERS:
        assert files(share / top) == files(ROOT / top)
    assert (prefix / 'share/ament_index/resource_index/packages/marine_sim_ros').is_file()
    programs = prefix / 'lib' / 'marine_sim_ros'
    assert sorted(p.name for p in programs.iterdir()) == sorted([*NODES, 'marine_sim'])
    for path in (*programs.iterdir(), prefix / 'bin' / 'marine_sim'):
        assert os.access(path, os.X_OK)
        assert path.read_text(encoding='utf-8').startswith('#!/usr/bin/env python3\n')
    library = next(prefix.rglob('marine_sim_ros/__init__.py')).parent
    assert not (library / 'share').exists()  # it is there once

    environment = clean() | {
        'PYTHONPATH': str(library.parent),
        'AMENT_PREFIX_PATH': str(prefix),
        'PATH': f'{Path(sys.executable).parent}{os.pathsep}{os.environ["PATH"]}',
    }
    said = ran(prefix / 'bin' / 'marine_sim', '--version', cwd=tmp_path, env=environment)
    assert said.startswith('marine_sim ')
    where = 'import marine_sim_ros; print(marine_sim_ros.__file__)'
    found = ran(sys.executable, '-c', where, cwd=tmp_path, env=environment).strip()
    assert Path(found).parent == library
