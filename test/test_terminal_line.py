# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lines of nodes stand beside no progress bar on a terminal."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

TALK = """
import subprocess, sys
from marine_sim_ros.ros.launching.supervisor import process_environment
from marine_sim_ros.tools.command_line import progress_bar
NODE = '''
import sys, rclpy.logging
rclpy.init()
rclpy.logging.get_logger('odom').warning('silent for 1 s')
from marine_sim_ros.core.progress import own_line_text
sys.stderr.write(own_line_text('ERROR: no more\\\\n', sys.stderr))
'''
with progress_bar('running', transient=False, quiet=0.0) as tell:
    for i in range(3):
        tell(i / 3)
        subprocess.run([sys.executable, '-c', NODE], env=process_environment(), check=True)
    tell(1.0)
"""


def rows_of(text):
    """Return the rows of a terminal after a text, of which CR, LF, EL 2 and CUU are done."""
    rows, row, column = [''], 0, 0
    for part in re.findall(r'\x1b\[[\d;?]*[A-Za-z]|\r|\n|[^\x1b\r\n]+', text):
        if part == '\n':
            row += 1
            rows += [''] * (row + 1 - len(rows))
        elif part == '\r':
            column = 0
        elif part == '\x1b[2K':
            rows[row] = ''
        elif part == '\x1b[1A':
            row -= 1
        elif not part.startswith('\x1b'):
            rows[row] = rows[row][:column].ljust(column) + part + rows[row][column + len(part) :]
            column += len(part)
    return rows


def test_a_terminal_in_small():
    assert rows_of('bar 10\rBAR\n\rnext\r\x1b[2Kx') == ['BAR 10', 'x']


def shown(code):
    screen, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 100, 0, 0))
    child = subprocess.Popen([sys.executable, '-c', code], stdout=end, stderr=end)
    os.close(end)
    told = b''
    try:
        while part := os.read(screen, 4096):
            told += part
    except OSError:  # EIO: the other end is closed
        pass
    os.close(screen)
    assert child.wait(timeout=60) == 0, told.decode()
    return told.decode()


@pytest.mark.ros
def test_the_log_of_a_node_and_an_error_have_their_own_lines(ros_environment, monkeypatch):
    for name, value in ros_environment.items():
        monkeypatch.setenv(name, value)
    rows = [row.strip() for row in rows_of(shown(TALK)) if row.strip()]
    logs = [row for row in rows if 'silent for 1 s' in row]
    assert len(logs) == 3
    assert all(re.fullmatch(r'\[WARN\] \[[\d.]+\] \[odom\]: silent for 1 s', row) for row in logs)
    assert rows.count('ERROR: no more') == 3
    assert sum('running' in row for row in rows) == 1


def test_a_pipe_gets_no_escapes(ros_environment):
    code = (
        'import sys; from marine_sim_ros.core.progress import log_format, own_line_text; '
        'print(log_format({}, sys.stdout), own_line_text("x", sys.stdout))'
    )
    done = subprocess.run(
        [sys.executable, '-c', code], env=ros_environment, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout == '{} x\n'
