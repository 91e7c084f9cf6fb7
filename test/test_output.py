# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Commands whose terminal is gone end as if it were there."""

import os
import pty
import subprocess
import sys

import pytest

WRITER = """
import sys
from marine_sim_ros.tools.command_line import flush_or_discard
sys.stdin.readline()
sys.stdout.write('not written yet')
{last}
"""


@pytest.mark.parametrize(('last', 'code'), [('', 120), ('flush_or_discard()', 0)])
def test_what_a_lost_terminal_did_not_get_is_no_failure(last, code):
    """Python's own exit code for it is 120."""
    screen, end = pty.openpty()
    writer = subprocess.Popen(
        [sys.executable, '-c', WRITER.format(last=last)],
        stdin=subprocess.PIPE,
        stdout=end,
        stderr=subprocess.DEVNULL,
        env={k: v for k, v in os.environ.items() if k != 'PYTHONUNBUFFERED'},
    )
    os.close(end)
    os.close(screen)
    writer.communicate(b'\n', timeout=60)
    assert writer.returncode == code
