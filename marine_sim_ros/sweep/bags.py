# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Bags of a sweep's runs, each as ``marine_sim sweep --run N --record`` writes it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from marine_sim_ros.bags.trajectory_writer import write_recording
from marine_sim_ros.core.errors import ParameterError, RecordingError
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.trajectory import Trajectory
from marine_sim_ros.sweep.change import Case
from marine_sim_ros.sweep.plan import Plan
from marine_sim_ros.sweep.report import worst_runs
from marine_sim_ros.sweep.runs import case_of, seed_of, simulated

__all__ = ['chosen_runs', 'parse_choice', 'run_alone', 'write_bag', 'write_bags']


def parse_choice(text: str) -> int | None:
    """Return how many of the worst runs ``worst:N`` asks for; None: ``all``.

    Raises:
        ParameterError: it is neither.
    """
    if text == 'all':
        return None
    word, _, number = text.partition(':')
    if word != 'worst' or not number.isascii() or not number.isdigit() or int(number) < 1:
        raise ParameterError(f"--bags is {text!r}; expected 'all', or as in 'worst:3'")
    return int(number)


def chosen_runs(columns: Mapping[str, np.ndarray], metric: str, count: int | None) -> list[int]:
    """Return the numbers of so many runs, the worst by a metric first; None: of all."""
    rows = worst_runs(columns, metric, len(columns['run']) if count is None else count)
    return [int(columns['run'][row]) for row in rows]


def run_alone(plan: Plan, run: int) -> tuple[Case, Trajectory]:
    """Return what a run consists of and its trajectory, by NumPy, as long as that is finite.

    Raises:
        MarineSimError: there is no such run.
    """
    case = case_of(plan, run)
    return case, simulated(plan, run, case)


def write_bag(folder: Path, plan: Plan, run: int, case: Case, trajectory: Trajectory) -> None:
    """Write the bag and the manifest of a run into a new folder.

    Raises:
        RecordingError: the folder cannot be written.
    """
    settings = RunOptions(
        vehicle=plan.vehicle,
        scenario=plan.scenario,
        environment=plan.environment,
        dt=plan.dt,
        vehicle_arguments=tuple(f'{name}:={value}' for name, value in plan.arguments),
        seed=seed_of(plan, run),
    )
    write_recording(folder, case.vehicle, settings, trajectory, sweep=plan.text(), run=str(run))


def write_bags(
    folder: Path,
    plan: Plan,
    runs: Sequence[int],
    progress: Callable[[float], None] = lambda share: None,
) -> int:
    """Write the bags of runs that are not there yet, and return how many those were.

    Each is there as a whole or not at all: ``folder/run-000017`` with ``bag`` and
    ``manifest.json``.

    Raises:
        MarineSimError: a run that cannot be simulated, or a folder that cannot be written.
    """
    missing = [run for run in runs if not (folder / f'run-{run:06d}').exists()]
    for i, run in enumerate(missing):
        draft = folder / f'.run-{run:06d}.tmp'
        try:
            shutil.rmtree(draft, ignore_errors=True)
            write_bag(draft, plan, run, *run_alone(plan, run))
            os.replace(draft, folder / f'run-{run:06d}')
        except OSError as error:
            raise RecordingError(f'{folder}: cannot be written: {error.strerror}') from None
        progress((i + 1) / len(missing))
    return len(missing)
