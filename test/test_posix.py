# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Commands on a system without what POSIX has, which is imitated: what needs no ROS works."""

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT

MODULES = ('fcntl', 'termios', 'tty', 'pty', 'resource', 'pwd', 'grp')
IMITATION = f"""
import os, signal, sys
import subprocess, tempfile  # the standard library's own use stays
sys.modules.update(dict.fromkeys({MODULES}))
for name in ('fork', 'geteuid', 'getuid', 'setsid', 'statvfs', 'killpg', 'O_NOFOLLOW',
             'O_NONBLOCK', 'O_CLOEXEC'):
    delattr(os, name)
for name in ('SIGPROF', 'SIGKILL', 'SIGHUP', 'setitimer', 'pthread_sigmask'):
    delattr(signal, name)
from marine_sim_ros.tools.main import main
for line in sys.stdin.read().splitlines():
    print('verb:', line, flush=True)
    print('verb:', line, file=sys.stderr, flush=True)
    try:
        main(line.split())
    except SystemExit as end:
        print('code:', end.code, flush=True)
"""


def printed(folder, *lines):
    """Return exit code, output and errors of each command, all run in one process."""
    done = subprocess.run(
        [sys.executable, '-c', IMITATION],
        input='\n'.join(lines),
        capture_output=True,
        encoding='cp1252',  # of Windows, where output goes to a file
        env={**os.environ, 'PYTHONIOENCODING': 'cp1252'},
        cwd=folder,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    rows = []
    parts = done.stdout.split('verb: ')[1:], done.stderr.split('verb: ')[1:]
    for line, out, error in zip(lines, *parts, strict=True):
        text, _, code = out.removeprefix(line).rpartition('code: ')
        rows.append((int(code), text, error.removeprefix(line).strip()))
    return rows


@pytest.mark.long
def test_simulate_doctor_validate_and_analyze_work(tmp_path):
    lines = [
        'simulate bluerov2 --scenario excitation --duration 1 --record out/run',
        'doctor bluerov2',
        'analyze out/run -o out/report',
        'validate bluerov2 --set coefficients:=maker',
        'demo --fast',
    ]
    for line, (code, _, error) in zip(lines, printed(tmp_path, *lines), strict=True):
        assert 'Traceback' not in error
        assert code in ((0, 1) if line.startswith('validate') else (0,)), (
            line,
            error,
        )  # 1: differs
    assert list((tmp_path / 'out/report').glob('*.html'))


@pytest.mark.parametrize('line', ['run bluerov2 --duration 1', 'bench', 'teleop bluerov2'])
def test_what_needs_the_graph_is_one_line(line, tmp_path):
    ((code, _, error),) = printed(tmp_path, line)
    assert code == 2
    assert error.count('\n') == 0
    assert f'ERROR: {line.split()[0]}' in error
    assert 'needs Linux or another POSIX system' in error


def test_progress_is_listed_where_nothing_names_the_user(tmp_path, monkeypatch):
    for name in ('LOGNAME', 'USER', 'LNAME', 'USERNAME'):
        monkeypatch.delenv(name, raising=False)
    ((code, text, error),) = printed(tmp_path, 'train --list')
    assert (code, error) == (0, '')
    assert 'first_flight' in text


def test_modules_of_posix_are_imported_in_functions():
    found = re.compile(rf'^(?:import|from) (?:{"|".join(MODULES)})\b', re.MULTILINE)
    for path in (ROOT / 'marine_sim_ros').rglob('*.py'):
        assert not found.search(path.read_text(encoding='utf-8')), path
