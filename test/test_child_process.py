# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Processes that were started end, also those that do not want to."""

import os
import signal
import subprocess
import sys
import time

import pytest

from marine_sim_ros.core.processes import end_child

STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('ready', flush=True)
time.sleep(60)
"""
POLITE = "import time; print('ready', flush=True); time.sleep(60)"


@pytest.mark.parametrize(
    ('program', 'ask', 'grace', 'code'),
    [
        (POLITE, signal.SIGTERM, 60.0, -signal.SIGTERM),
        (STUBBORN, signal.SIGTERM, 0.5, -signal.SIGKILL),
        (STUBBORN, signal.SIGUSR1, 60.0, -signal.SIGUSR1),
    ],
)
def test_a_child_ends_as_it_is_asked_or_is_killed(program, ask, grace, code):
    child = subprocess.Popen([sys.executable, '-c', program], stdout=subprocess.PIPE)
    with child:
        assert child.stdout.readline() == b'ready\n'
        start = time.monotonic()
        assert end_child(child, grace, ask=ask) == code
        assert time.monotonic() - start < 30.0
        assert end_child(child, 0.5) == code  # it has ended already


NODE = """
from marine_sim_ros.core.processes import end_with_parent
end_with_parent()
print('runs', flush=True)
"""


@pytest.mark.skipif(sys.platform != 'linux', reason='only Linux tells of a parent')
@pytest.mark.parametrize('case', ['launch', 'prefix', 'killed', 'not waited for', 'words'])
def test_a_node_whose_launch_died_while_it_imported_ends(case):
    """`ros2 launch` does not handle SIGTERM; what it had just started ran on for ever."""
    dead = subprocess.Popen([sys.executable, '-c', ''])
    os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
    if case == 'killed':
        dead.wait()
    # The grandparent of a node behind a launch prefix is who started that.
    parent = {'launch': os.getpid(), 'prefix': os.getppid(), 'words': 'none'}.get(case, dead.pid)
    environment = {**os.environ, 'MARINE_SIM_PARENT': str(parent)}
    done = subprocess.run(
        [sys.executable, '-c', NODE], env=environment, capture_output=True, text=True, check=False
    )
    dead.wait()
    ends = case in ('killed', 'not waited for')
    assert (done.returncode, done.stdout) == ((-signal.SIGTERM, '') if ends else (0, 'runs\n'))
