# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bars of long work: seen on a terminal, and free where the work is quick."""

import os
import subprocess
import sys

import pytest

QUICK = """
import sys
from marine_sim_ros.tools.progress import bar
with bar('building') as told:
    {work}
print('rich' in sys.modules)
"""


def _run(work: str, **variables: str) -> tuple[str, str]:
    free = {k: v for k, v in os.environ.items() if k not in ('FORCE_COLOR', 'TTY_COMPATIBLE')}
    done = subprocess.run(
        [sys.executable, '-c', QUICK.format(work=work)],
        env={**free, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip(), done.stderr


@pytest.mark.parametrize('variables', [{}, {'FORCE_COLOR': '1'}])
def test_quick_work_needs_no_rich(variables):
    """Its import would come before the nodes of a run, and into each of them."""
    assert _run('pass', **variables) == ('False', '')


def test_long_work_shows_its_share_on_a_terminal_only():
    imported, shown = _run('told(0.5); told(1.0)', FORCE_COLOR='1')
    assert imported == 'True'
    assert 'building' in shown
    assert '0:00:00' in shown
    assert _run('told(0.5)') == ('False', '')
