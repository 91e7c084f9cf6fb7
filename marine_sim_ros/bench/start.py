# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What the command ``marine_sim run`` takes until its first odom."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable

from marine_sim_ros.bench.odometer import Odometer
from marine_sim_ros.bench.processes import cpu_seconds, memory_of_each
from marine_sim_ros.core.child_process import module_command

__all__ = ['start_rows']

COMMAND = ('run', 'bluerov2', '--scenario', 'dive', '--duration', '100000', '--namespace', 'bench')
SETTLED = 1.0
"""s after the first odom, when memory is looked at."""
_STARTED_TWICE = '_ROS_WHEELS_BOOTSTRAP_COMPLETE'
"""Set where Python has found the libraries of wheels and started anew, as it does for a user."""


def start_rows(add: Callable[[str, str, float], None]) -> None:
    """Measure a start in separate processes and a composed one.

    Args:
        add: takes name, format and value of a measurement.
    """
    environment = {name: text for name, text in os.environ.items() if name != _STARTED_TWICE}
    for kind, words, goal in (('separate processes', (), 1.5), ('composed', ('--composed',), 0.4)):
        with Odometer('/bench') as odometer:
            start = time.monotonic()
            process = subprocess.Popen(
                module_command('marine_sim_ros.tools.main', *COMMAND, *words),
                env=environment,
                stdout=subprocess.DEVNULL,
            )
            try:
                odometer.wait(60.0)
                clock, used = time.monotonic() - start, cpu_seconds([process.pid])
                time.sleep(SETTLED)
                memory = memory_of_each(process.pid)
            finally:
                process.terminate()
                process.wait()
        add(f'start, {kind}: to the first odom, s (goal {goal})', '.2f', clock)
        add(f'start, {kind}: CPU of all processes until then, s', '.2f', used)
        add(f'start, {kind}: memory of a node, MB', '.0f', max(held for held, _ in memory))
        add(f'start, {kind}: the same, shared pages divided', '.0f', max(own for _, own in memory))
