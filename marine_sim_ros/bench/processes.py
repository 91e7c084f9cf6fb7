# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Processor time and memory of processes and their descendants."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from marine_sim_ros.core.extras import require

__all__ = ['cpu_seconds', 'memory_of_each', 'resident_memory']


def _sum(pids: Iterable[int], number: Callable[[Any], float]) -> float:
    """Return the sum of a number over processes and their descendants that are still there."""
    psutil = require('psutil', 'bench')
    family: set[Any] = set()
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            leader = psutil.Process(pid)
            family |= {leader, *leader.children(recursive=True)}
    total = 0.0
    for process in family:
        with suppress(psutil.NoSuchProcess):
            total += number(process)
    return total


def cpu_seconds(pids: Iterable[int]) -> float:
    """Return the processor time that processes have taken, s."""

    def process_seconds(process: Any) -> float:
        times = process.cpu_times()
        return float(times.user + times.system)

    return _sum(pids, process_seconds)


def resident_memory(pids: Iterable[int]) -> float:
    """Return the memory that processes hold, MB."""
    return _sum(pids, lambda process: process.memory_info().rss / 1e6)


def memory_of_each(parent: int) -> list[tuple[float, float]]:
    """Return the memory of each child of a process, MB: all of it, and with shared pages divided.

    The second needs Linux.
    """
    psutil = require('psutil', 'bench')
    told = [child.memory_full_info() for child in psutil.Process(parent).children(recursive=True)]
    return [(memory.rss / 1e6, memory.pss / 1e6) for memory in told]
