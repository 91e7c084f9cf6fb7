# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Causes of runs that are slower than real time, and what to change."""

from __future__ import annotations

from contextlib import suppress

from marine_sim_ros.core.errors import MissingPackageError
from marine_sim_ros.core.extras import require
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sensors import SENSORS
from marine_sim_ros.sim.options import RunOptions

__all__ = ['ProcessorLoad', 'slow_cause']

BUSY = 0.5
"""Fraction of all processors that other programs use, above which they are the cause."""
MANY_TRIANGLES = 1500
"""Of a hull; fewer take less than a step of real time on a usual machine."""


class ProcessorLoad:
    """Fraction of the processors that programs other than this run use."""

    def __init__(self) -> None:
        """Begin to measure; without psutil nothing is known."""
        self._last: tuple[float, float, float] | None = None
        self.others()

    def others(self) -> float:
        """Return the fraction since the last call, 0 to 1; 0 where it is not known."""
        try:
            psutil = require('psutil', 'load of the processors')
        except MissingPackageError:
            return 0.0
        times = psutil.cpu_times()
        total = sum(times[:8])  # Linux counts the time of guests in that of users
        own = 0.0
        for process in (me := psutil.Process(), *me.children(recursive=True)):
            with suppress(psutil.Error):
                own += sum(process.cpu_times()[:2])
        now, last = (total, times.idle, own), self._last
        self._last = now
        if last is None or total <= last[0]:
            return 0.0
        span, idle, mine = (a - b for a, b in zip(now, last, strict=True))
        return min(max((span - idle - mine) / span, 0.0), 1.0)


def slow_cause(vehicle: Vehicle, run: RunOptions, *, composed: bool, others: float) -> str:
    """Return the most likely cause of a slow run, and what to change.

    Args:
        vehicle: vehicle of the run, or the first one.
        composed: whether all nodes are in one process.
        others: fraction of the processors that other programs use.
    """
    if others > BUSY:
        return f'other programs use {100 * others:.0f} % of the processors; end some of them'
    hull = vehicle.hull
    panels = 0 if hull is None or hull.panels is None else len(hull.panels.faces)
    if panels > MANY_TRIANGLES:
        return f'{panels:,} triangles of the hull; give <max_triangles>1000</max_triangles>'
    pictures = [s.name for s in vehicle.sensors if SENSORS[s.kind].executable == 'sensor']
    if pictures:
        return (
            f'pictures of {", ".join(pictures)}; give fewer pixels or a lower rate, or a GPU to '
            'cameras'
        )
    if not (composed or run.one_process):
        return 'each node is a process of its own; add --composed'
    if run.engine != 'jax':
        return f'{1 / run.dt:.0f} steps a second of NumPy; add --engine jax, or a longer --dt'
    return f'{1 / run.dt:.0f} steps a second; give a longer --dt'
