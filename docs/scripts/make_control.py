# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the experiments and writes their table and picture into control.md.

``.venv/bin/python docs/scripts/make_control.py``
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from marks import between

from marine_sim_ros import load_vehicle
from marine_sim_ros.analysis.evaluation import draw_pictures, evaluate_run, run_of_trajectory
from marine_sim_ros.analysis.experiments import (
    ComparedQuantity,
    compare_metrics,
    experiment_names,
    load_experiment,
)
from marine_sim_ros.model.library import parse_xacro_arguments
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import simulate

DOCS = Path(__file__).resolve().parent.parent
PAGE = DOCS / 'reference' / 'control.md'
SHOWN = 'heading_step'


def results(name: str, folder: Path | None = None) -> list[ComparedQuantity]:
    """Run an experiment; return its rows, and draw it where a folder is given."""
    experiment = load_experiment(name)
    arguments = parse_xacro_arguments(experiment.arguments)
    vehicle = load_vehicle(experiment.vehicle, **arguments)
    run = run_of_trajectory(simulate(vehicle, load_scenario(experiment.scenario)))
    metrics = evaluate_run(experiment, vehicle, run)
    if folder is not None:
        draw_pictures(folder, experiment, vehicle, run, metrics)
    return compare_metrics(experiment.rows, metrics)


def table() -> str:
    """Return the rows of all experiments in Markdown."""
    lines = ['| experiment | quantity | thesis | here | |', '|---|---|---|---|---|']
    for name in experiment_names():
        if load_experiment(name).analysis == 'survey':
            continue  # sensors.md has surveys
        for row in results(name):
            quantity, printed, simulated, unit, verdict, *_ = row.cells()
            cells = (f'`{name}`', quantity, printed, f'{simulated} {unit}', verdict)
            lines.append('| ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines)


def main() -> None:
    """Make everything."""
    with tempfile.TemporaryDirectory() as folder:
        results(SHOWN, Path(folder))
        shutil.copy(Path(folder) / 'pose.png', DOCS / 'pictures' / f'{SHOWN}.png')
    page = PAGE.read_text(encoding='utf-8')
    PAGE.write_text(between(page, 'results', table()), encoding='utf-8')


if __name__ == '__main__':
    main()
