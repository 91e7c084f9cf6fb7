# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Report of a sweep: distributions, and the worst runs with the commands that repeat them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from marine_sim_ros.core.columns import markdown_row, markdown_text
from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.extras import require
from marine_sim_ros.sweep.metrics import METRICS
from marine_sim_ros.sweep.plan import Plan

__all__ = ['FILES', 'write_report']

FILES = ('report.md', 'distributions.png')
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


def write_report(folder: Path, name: str, plan: Plan, columns: Mapping[str, np.ndarray]) -> None:
    """Write ``report.md`` and ``distributions.png``.

    Args:
        folder: folder of the sweep.
        name: name of the sweep.
        plan: plan of the sweep.
        columns: columns of the dataset.

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


def _draw(path: Path, plan: Plan, columns: Mapping[str, np.ndarray]) -> None:
    """Draw a histogram of every metric, and the worst one over each parameter."""
    Figure = require('matplotlib.figure', 'report of a sweep').Figure

    shown = [m for m in METRICS if m not in _TRUTHS]
    numbers = [p.name for p in plan.parameters]
    width = 4
    rows = -(-len(shown) // width) + -(-len(numbers) // width)
    figure = Figure(figsize=(12.0, 2.6 * rows), layout='constrained')
    axes = figure.subplots(rows, width, squeeze=False)
    for axis in axes.flat:
        axis.set_visible(False)
    for axis, name in zip(axes.flat, shown, strict=False):
        axis.set_visible(True)
        values = columns[name][np.isfinite(columns[name])]
        axis.hist(values, bins=40, color='tab:blue')
        axis.set_xlabel(f'{name}, {_UNITS.get(name, "m")}')
        axis.set_ylabel('runs')
    below = axes[-(-len(shown) // width) :]
    for axis, name in zip(below.flat, numbers, strict=False):
        axis.set_visible(True)
        axis.plot(columns[name], columns[plan.worst], '.', markersize=2, color='tab:orange')
        axis.set_xlabel(name, fontsize=8)
        axis.set_ylabel(plan.worst)
    figure.savefig(path, dpi=90)
