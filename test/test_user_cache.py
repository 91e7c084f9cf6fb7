# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Caches and log files are optional, and nobody else can put anything in them."""

import os
import subprocess
import sys

import pytest
from cache_files import read_cached, write_cached

from marine_sim_ros.core import files
from marine_sim_ros.core.files import cache_folder, expand_home, load_or_compute, program_folder


@pytest.fixture
def base(monkeypatch, tmp_path):
    folder = tmp_path / 'cache'
    folder.mkdir(mode=0o700)
    monkeypatch.setenv('XDG_CACHE_HOME', str(folder))
    return folder


@pytest.mark.parametrize('part', ['.', 'marine_sim_ros', 'marine_sim_ros/jax'])
def test_folders_that_others_can_write_are_not_used(base, part):
    folder = base / part
    folder.mkdir(parents=True, exist_ok=True)
    assert cache_folder('jax') == base / 'marine_sim_ros' / 'jax'
    folder.chmod(0o777)
    assert cache_folder('jax') is None
    assert 'programs are not kept' in program_folder()
    folder.chmod(0o1777)  # as /tmp: nobody else replaces what is there
    assert cache_folder('jax') is not None


def test_folders_of_another_user_are_not_used(base, monkeypatch):
    owner = base.stat().st_uid
    monkeypatch.setattr(files.os, 'geteuid', lambda: owner + 1)
    assert (cache_folder('jax') is None) is (owner != 0)  # root may write anywhere


@pytest.mark.parametrize('kind', ['file', 'link'])
def test_what_is_no_folder_is_not_used(base, kind):
    (base / 'marine_sim_ros').mkdir()
    path = base / 'marine_sim_ros' / 'jax'
    if kind == 'file':
        path.write_text('')
    else:
        path.symlink_to(path)
    assert cache_folder('jax') is None


@pytest.mark.skipif(not os.path.isdir('/proc/self'), reason='/proc: not on this system')
def test_programs_are_not_kept_where_no_folder_can_be_made(monkeypatch):
    monkeypatch.setenv('XDG_CACHE_HOME', '/proc/none')
    assert 'programs are not kept' in program_folder()


def test_no_home(monkeypatch, tmp_path):
    monkeypatch.delenv('XDG_CACHE_HOME', raising=False)
    monkeypatch.setenv('HOME', 'relative')
    assert cache_folder('jax') is None
    monkeypatch.setenv('HOME', str(tmp_path))
    assert expand_home('~/pool.yaml') == tmp_path / 'pool.yaml'
    assert str(expand_home('~no_such_user/pool.yaml')) == '~no_such_user/pool.yaml'


@pytest.mark.ros
@pytest.mark.parametrize('home', ['', '/proc', '/dev/null'])
def test_rcl_starts_without_a_folder_for_logs(home, tmp_path):
    environment = {k: v for k, v in os.environ.items() if k not in ('HOME', 'ROS_LOG_DIR')}
    environment |= {'HOME': home} if home else {}
    started = (
        'import rclpy; from marine_sim_ros.ros.base.internals import log_arguments; '
        'rclpy.init(args=log_arguments()); rclpy.shutdown()'
    )
    command = [sys.executable, '-c', started]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, '')


def test_a_changed_file_of_the_cache_counts_as_none(base):
    made = []

    def result():
        made.append(1)
        return load_or_compute(
            'kind', 'x', lambda: 1234.5, load=float, dump=lambda x: str(x).encode()
        )

    assert [result(), result()] == [1234.5] * 2
    path = cache_folder('kind') / 'x'
    content = read_cached(path)
    write_cached(path, b'1235.5')  # as the package would write it
    assert result() == 1235.5
    for damaged in (content, b'', path.read_bytes()[:-1], path.read_bytes().replace(b'5', b'6')):
        path.write_bytes(damaged)  # a number with another digit is a number
        assert result() == 1234.5
    path.unlink()
    os.mkfifo(path)  # nobody writes to it
    assert result() == 1234.5


@pytest.mark.skipif(os.geteuid() != 0, reason='needs root to give a file to another user')
def test_a_file_of_another_user_counts_as_none(base):
    def result():
        return load_or_compute('kind', 'x', lambda: 1.0, load=float, dump=lambda x: b'1.0')

    assert result() == 1.0
    path = cache_folder('kind') / 'x'
    write_cached(path, b'2.0')
    os.chown(path, 12345, 12345)
    assert result() == 1.0
    assert path.stat().st_uid == 0
