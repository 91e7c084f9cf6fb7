# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Files of DDS in /dev/shm: none stays after an end, none of a living process is removed."""

import fcntl
import mmap
import os
import re
import time
from pathlib import Path

import psutil
import pytest
from graph import STEP, Watcher

from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.ros.launching import installation
from marine_sim_ros.ros.launching.installation import FOLDER, free_shared_memory, remove_stale

SEGMENT, OTHER = 'fastrtps_0123456789abcdef', 'fastrtps_fedcba9876543210'
PORT = 'fastrtps_port7412'


@pytest.fixture
def old(monkeypatch):
    """Let every file count as old."""
    monkeypatch.setattr(installation, 'MIN_AGE', -1.0)


def fill(folder, *names):
    for name in names:
        (folder / name).write_bytes(bytes(4096))


def left(folder):
    return sorted(path.name for path in folder.iterdir())


def test_files_of_fast_dds_3_are_known(tmp_path, old):
    names = ['fastdds_0123456789abcdef', 'fastdds_port7412', 'fastdds_port7412_el']
    fill(tmp_path, *names, 'sem.fastdds_port7412_mutex', 'fastcdr_port7412')
    assert remove_stale(tmp_path) == 4
    assert left(tmp_path) == ['fastcdr_port7412']


def test_all_files_of_a_process_that_was_killed_are_removed(tmp_path, old):
    fill(tmp_path, SEGMENT, f'{SEGMENT}_el', PORT, f'{PORT}_el', f'sem.{PORT}_mutex')
    fill(tmp_path, 'fastrtps_port7413', 'sem.fastrtps_port7413_mutex')  # a writer's: no lock
    assert remove_stale(tmp_path) == 7
    assert left(tmp_path) == []


def test_files_of_others_stay(tmp_path, old):
    names = ['fastrtps_short', 'psm_1', f'{SEGMENT}.txt', 'sem.add_other', 'fastrtps_portx_el']
    fill(tmp_path, *names)
    assert remove_stale(tmp_path) == 0
    assert left(tmp_path) == sorted(names)


@pytest.mark.parametrize('suffix', ['_el', '_sl'])
def test_what_a_process_has_locked_stays(tmp_path, old, suffix):
    fill(tmp_path, SEGMENT, f'{SEGMENT}{suffix}', OTHER, f'{OTHER}_el')
    with (tmp_path / f'{SEGMENT}{suffix}').open() as file:
        fcntl.flock(file, fcntl.LOCK_EX if suffix == '_el' else fcntl.LOCK_SH)
        assert remove_stale(tmp_path) == 2
        assert left(tmp_path) == [SEGMENT, f'{SEGMENT}{suffix}']
    assert remove_stale(tmp_path) == 2


def test_what_a_process_has_mapped_stays(tmp_path, old):
    fill(tmp_path, PORT, f'sem.{PORT}_mutex', OTHER)
    with (tmp_path / PORT).open('r+b') as file, mmap.mmap(file.fileno(), 4096):
        assert remove_stale(tmp_path) == 1
        assert left(tmp_path) == [PORT, f'sem.{PORT}_mutex']


def test_what_is_new_or_of_another_user_stays(tmp_path, monkeypatch):
    fill(tmp_path, SEGMENT)
    assert remove_stale(tmp_path) == 0
    monkeypatch.setattr(installation, 'MIN_AGE', -1.0)
    monkeypatch.setattr(os, 'geteuid', lambda: os.getuid() + 1)
    assert remove_stale(tmp_path) == 0
    monkeypatch.undo()
    assert left(tmp_path) == [SEGMENT]


def test_a_folder_that_is_not_there_is_none_to_clean(tmp_path):
    assert remove_stale(tmp_path / 'none') == 0


def test_a_full_memory_gives_one_line(monkeypatch):
    status = os.statvfs('/')
    full = os.statvfs_result((*status[:3], 0, 0, *status[5:]))
    monkeypatch.setattr(os, 'statvfs', lambda path: full)
    free_shared_memory.cache_clear()
    with pytest.raises(MarineSimError, match=r'^/dev/shm has 0\.0 MB left .* expected 1 MB'):
        free_shared_memory()


def held(pid):
    """Return the files of DDS that a process has mapped."""
    try:
        maps = Path(f'/proc/{pid}/maps').read_text()
    except OSError:  # it has ended, or is another user's
        return set()
    return {FOLDER / name for name in re.findall('/dev/shm/(.*fast(?:rtps|dds)_.*)', maps)}


def started(process):
    """Return the files of a run's composed process, when it has some, and its id."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for child in psutil.Process(process.pid).children(recursive=True):
            if files := held(child.pid):
                return files, child
        time.sleep(0.1)
    raise AssertionError('no segment')


@pytest.mark.ros
def test_nothing_stays_of_runs_that_end_or_are_killed(processes, monkeypatch):
    watcher = Watcher()
    try:
        own = held(os.getpid())
        assert own
        run = ('run', 'bluerov2', '--dt', STEP, '--composed')
        killed = processes.marine_sim(*run)
        files, child = started(killed)
        child.kill()
        killed.communicate()
        failing = processes.marine_sim(*run, '--scenario', 'dive', '--duration', 1)
        more, _ = started(failing)
        failing.communicate()
        assert failing.returncode == 1  # its expectations do not hold
        # Others that live, the watcher or a graph beside this one, may hold a port of theirs.
        living = {path for pid in psutil.pids() for path in held(pid)}
        assert not [path for path in files | more if path.exists() and path not in living]
        assert all(path.exists() for path in own)
    finally:
        watcher.close()
