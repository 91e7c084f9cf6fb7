# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Results of a sweep: Parquet dataset, report, and bags of chosen runs."""

from __future__ import annotations

import math
import os
import shlex
import shutil
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.bags.trajectory_writer import write_recording
from marine_sim_ros.core.errors import ParameterError, RecordingError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.files import replace_file
from marine_sim_ros.core.text import markdown_row, markdown_text
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.trajectory import Trajectory
from marine_sim_ros.sweep.plan import METRICS, SweepParameter, SweepPlan
from marine_sim_ros.sweep.runs import RunCase, case_of, seed_of, simulate_case

__all__ = [
    'SweepDataset',
    'parse_choice',
    'run_alone',
    'select_runs',
    'write_run_bag',
    'write_run_bags',
    'write_sweep_report',
]


# Dataset of a sweep: one Parquet file per block, complete or absent.


class SweepDataset:
    """The folder of a sweep: ``plan.json`` and ``runs/part-*.parquet``, one row per run."""

    def __init__(self, folder: Path, plan: SweepPlan) -> None:
        """Open a folder, or make it.

        Raises:
            RecordingError: it cannot be written.
            ParameterError: it holds another sweep, or other files.
        """
        self.folder = folder
        self._parts = folder / 'runs'
        note = folder / 'plan.json'
        try:
            if note.is_file():
                if note.read_text(encoding='utf-8') != plan.to_json():
                    raise ParameterError(
                        f'{folder}: holds another sweep (see plan.json); expected a new folder'
                    )
            elif folder.exists() and any(folder.iterdir()):
                raise ParameterError(f'{folder}: has other files; expected a new folder')
            self._parts.mkdir(parents=True, exist_ok=True)
            replace_file(note, plan.to_json().encode())
        except OSError as error:
            raise RecordingError(f'{folder}: cannot be written: {error.strerror}') from None

    def part(self, number: int) -> Path:
        """Return the file of a block."""
        return self._parts / f'part-{number:06d}.parquet'

    def missing_blocks(self, count: int) -> list[int]:
        """Return the numbers of the missing blocks."""
        return [i for i in range(count) if not self.part(i).is_file()]

    def add(self, number: int, columns: Mapping[str, np.ndarray]) -> None:
        """Write a block.

        Raises:
            RecordingError: it cannot be written.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        sink = pa.BufferOutputStream()
        pq.write_table(pa.table(dict(columns)), sink)
        try:
            replace_file(self.part(number), sink.getvalue().to_pybytes())
        except OSError as error:
            raise RecordingError(f'{self.folder}: cannot be written: {error.strerror}') from None

    def columns(self) -> dict[str, np.ndarray]:
        """Return all rows that are there, in the order of the runs."""
        import pyarrow.parquet as pq

        table = pq.read_table(self._parts).sort_by('run')
        return {name: table[name].to_numpy() for name in table.column_names}


# Report of a sweep: distributions, and the worst runs with the commands that repeat them.

_WORST = 10
_QUANTILES = (0.0, 0.05, 0.5, 0.95, 1.0)
_TRUTHS = ('finite', 'as_expected')
_UNITS = {'max_speed': 'm/s', 'max_tilt': 'rad'}


def worst_runs(columns: Mapping[str, np.ndarray], metric: str, count: int = _WORST) -> np.ndarray:
    """Return row numbers, the worst first: runs that are not finite, then the highest values."""
    values = np.where(columns['finite'], columns[metric].astype(float), np.inf)
    return np.argsort(-values, kind='stable')[:count]


def _distributions(columns: Mapping[str, np.ndarray]) -> list[str]:
    names = [m for m in METRICS if m not in _TRUTHS]
    lines = [
        markdown_row(['', 'least', '5 %', 'median', '95 %', 'most']),
        markdown_row(['---'] * 6),
    ]
    for name in names:
        values = columns[name][np.isfinite(columns[name])]
        cells = ['–'] * 5
        if len(values):
            cells = [f'{q:.4g}' for q in np.quantile(values, _QUANTILES)]
        lines.append(markdown_row([f'{name}, {_UNITS.get(name, "m")}', *cells]))
    return lines


def write_sweep_report(
    folder: Path, name: str, plan: SweepPlan, columns: Mapping[str, np.ndarray]
) -> None:
    """Write ``report.md`` and ``distributions.png``.

    Args:
        folder: folder of the sweep.

    Raises:
        RecordingError: they cannot be written.
    """
    count = len(columns['run'])
    lost, unmet = (int(np.sum(~columns[t])) for t in _TRUTHS)
    numbers = [p.name for p in plan.parameters]
    lines = [
        f'# {markdown_text(plan.description or name)}',
        '',
        f'{count:,} runs of {markdown_text(plan.vehicle)} in {markdown_text(plan.scenario)}, '
        f'{plan.method}, seed {plan.seed}.',
        f'{lost:,} runs did not stay finite; {unmet:,} missed an expectation of the scenario.',
        '',
        *_distributions(columns),
        '',
        '![Distributions](distributions.png)',
        '',
        f'## The runs of highest {plan.worst}',
        '',
        markdown_row(['run', 'seed', plan.worst, *numbers]),
        markdown_row(['---'] * (3 + len(numbers))),
    ]
    for i in worst_runs(columns, plan.worst):
        cells = [f'{columns[n][i]:.5g}' for n in (plan.worst, *numbers)]
        lines.append(markdown_row([str(columns['run'][i]), str(columns['seed'][i]), *cells]))
    again = f'marine_sim sweep {shlex.quote(name)} --run N --record DIR'
    lines += ['', 'One of them alone:', '', *(f'    {line}' for line in again.splitlines()), '']
    try:
        (folder / 'report.md').write_text('\n'.join(lines), encoding='utf-8')
        _draw(folder / 'distributions.png', plan, columns)
    except OSError as error:
        raise RecordingError(f'{folder}: cannot be written: {error.strerror}') from None


def _draw(path: Path, plan: SweepPlan, columns: Mapping[str, np.ndarray]) -> None:
    """Draw a histogram of every metric, and the worst one over each parameter."""
    Figure = require('matplotlib.figure', 'report of a sweep').Figure

    shown = [m for m in METRICS if m not in _TRUTHS]
    width = 4
    above = -(-len(shown) // width)
    rows = above + -(-len(plan.parameters) // width)
    figure = Figure(figsize=(13.0, 2.7 * rows), layout='constrained')
    axes = figure.subplots(rows, width, squeeze=False)
    for axis in axes.flat:
        axis.set_visible(False)
    for axis, name in zip(axes[:above].flat, shown, strict=False):
        _draw_histogram(axis, name, columns[name])
    for axis, parameter in zip(axes[above:].flat, plan.parameters, strict=False):
        _draw_scatter(axis, parameter, plan.worst, columns)
    figure.suptitle(f'{len(columns["run"]):,} runs of {plan.vehicle} in {plan.scenario}')
    figure.savefig(path, dpi=90)


def _metric_text(name: str) -> str:
    return f'{name}, {_UNITS.get(name, "m")}' if name not in _TRUTHS else name


def _draw_histogram(axis: Any, name: str, column: np.ndarray) -> None:
    """Draw the distribution of a metric; one value of all runs is a text."""
    values = column[np.isfinite(column)]
    axis.set_visible(True)
    axis.set_xlabel(_metric_text(name))
    spread = np.ptp(values) if len(values) else 0.0
    if spread <= 1e-6 * max(1.0, float(np.max(np.abs(values), initial=0.0))):
        text = f'{values[0]:.4g} in all runs' if len(values) else 'no finite run'
        axis.text(0.5, 0.5, text, ha='center', va='center', transform=axis.transAxes)
        axis.set(xticks=[], yticks=[])
        return
    axis.hist(values, bins=min(50, math.ceil(2 * np.cbrt(len(values)))), color='tab:blue')
    axis.set_ylabel('runs')
    axis.locator_params(axis='x', nbins=3)
    axis.locator_params(axis='y', nbins=5, integer=True)


def _draw_scatter(
    axis: Any, parameter: SweepParameter, metric: str, columns: Mapping[str, np.ndarray]
) -> None:
    """Draw a metric over a parameter."""
    axis.set_visible(True)
    few = len(columns['run']) <= 300
    axis.plot(
        columns[parameter.name], columns[metric], '.', color='tab:orange', markeredgewidth=0,
        markersize=5 if few else 3, alpha=0.8 if few else 0.3,
    )  # fmt: skip
    lines = textwrap.wrap(parameter.name, 36) + ['× described'] * parameter.relative
    axis.set_xlabel('\n'.join(lines), fontsize=9)
    axis.set_ylabel(_metric_text(metric))
    axis.locator_params(nbins=5)


# Bags of a sweep's runs, each as ``marine_sim sweep --run N --record`` writes it.


def parse_choice(text: str) -> int | None:
    """Return the number N of ``worst:N``; None for ``all``.

    Raises:
        ParameterError: it is neither.
    """
    if text == 'all':
        return None
    word, _, number = text.partition(':')
    if word != 'worst' or not number.isascii() or not number.isdigit() or int(number) < 1:
        raise ParameterError(f"--bags is {text!r}; expected 'all', or as in 'worst:3'")
    return int(number)


def select_runs(columns: Mapping[str, np.ndarray], metric: str, count: int | None) -> list[int]:
    """Return the numbers of so many runs, the worst by a metric first; None: of all."""
    rows = worst_runs(columns, metric, len(columns['run']) if count is None else count)
    return [int(columns['run'][row]) for row in rows]


def run_alone(plan: SweepPlan, run: int) -> tuple[RunCase, Trajectory]:
    """Return the parts of a run and its NumPy trajectory, up to its last finite state.

    Raises:
        MarineSimError: there is no such run.
    """
    case = case_of(plan, run)
    return case, simulate_case(plan, run, case)


def write_run_bag(
    folder: Path, plan: SweepPlan, run: int, case: RunCase, trajectory: Trajectory
) -> None:
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
    write_recording(folder, case.vehicle, settings, trajectory, sweep=plan.to_json(), run=str(run))


def write_run_bags(
    folder: Path,
    plan: SweepPlan,
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
            write_run_bag(draft, plan, run, *run_alone(plan, run))
            os.replace(draft, folder / f'run-{run:06d}')
        except OSError as error:
            raise RecordingError(f'{folder}: cannot be written: {error.strerror}') from None
        progress((i + 1) / len(missing))
    return len(missing)
