# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Run a manoeuvre with set-points, and compare it with published results."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from marine_sim_ros.analysis.bathymetry import write_bathymetry
from marine_sim_ros.analysis.evaluation import (
    PICTURES,
    ExperimentRun,
    draw_pictures,
    evaluate_run,
    report_markdown,
    run_of_bag,
    run_of_trajectory,
)
from marine_sim_ros.analysis.experiments import (
    COMPARISON_COLUMNS,
    ComparedQuantity,
    Experiment,
    compare_metrics,
    experiment_names,
    load_experiment,
    plain_comparison,
)
from marine_sim_ros.analysis.survey_report import survey_line, write_survey_report
from marine_sim_ros.bags.trajectory_writer import write_recording
from marine_sim_ros.core.errors import MarineSimError, ParameterError
from marine_sim_ros.core.ros_needed import require_ros
from marine_sim_ros.core.text import json_text, open_terminal
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.model import library
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import Scenario, load_scenario
from marine_sim_ros.sim.simulation import simulate
from marine_sim_ros.tools.command_line import (
    print_error,
    print_warnings,
    progress_bar,
    show_waiting,
    write_file,
)
from marine_sim_ros.tools.options import add_option, parse_set_options, prepare_recording_folder

__all__ = ['add_arguments', 'execute', 'print_comparisons']

FILES = ('metrics.json', 'report.md', *PICTURES)
"""Files in DIR besides the bag and its manifest."""


class RunFailed(MarineSimError):
    """The run itself did not come to its end; exit code 1."""


@dataclass(frozen=True)
class _Plan:
    """Parts of the run of an experiment."""

    experiment: Experiment
    vehicle: Vehicle
    scenario: Scenario
    settings: RunOptions
    environment: Environment | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    known = ', '.join(experiment_names())
    parser.add_argument('experiment', metavar='NAME', help=f'{known}, or a YAML file')
    add_option(parser, 'vehicle', empty="the experiment's")
    add_option(parser, 'vehicle_arguments')
    add_option(parser, 'controller', empty="the scenario's (not with --graph)")
    add_option(parser, 'record')
    add_option(parser, 'overwrite')
    parser.add_argument('--graph', action='store_true', help='run it through the node graph')


def execute(options: argparse.Namespace) -> int:
    """Run it; 0 within the required bands, 1 outside them or when the run failed."""
    if options.graph:
        require_ros('experiment --graph')
    plan = _plan(options)
    if options.record:
        own = (*FILES, *_survey_names(plan.experiment))
        prepare_recording_folder(options.record, overwrite=options.overwrite, own_files=own)
    try:
        if options.record:
            return _run(plan, Path(options.record), graph=options.graph, keep=True)
        with tempfile.TemporaryDirectory(prefix='marine_sim_') as folder:
            return _run(plan, Path(folder) / 'run', graph=options.graph, keep=False)
    except RunFailed as error:
        print_error(error)
        return 1


def _plan(options: argparse.Namespace) -> _Plan:
    """Return the run of an experiment; all input errors are raised here.

    Raises:
        MarineSimError: one line with what, where, and what was expected.
    """
    given = parse_set_options(options.vehicle_arguments)
    if options.controller and options.graph:
        raise ParameterError('--controller: the graph follows the scenario; expected no --graph')
    experiment = load_experiment(options.experiment)
    if experiment.sensors and options.graph:
        raise ParameterError(
            f'experiment {experiment.name}: adds sensors to the vehicle; expected no --graph'
        )
    environment = run_environment(experiment.environment) if experiment.environment else None
    scenario = load_scenario(experiment.scenario).located(environment)
    if options.controller:
        scenario = replace(scenario, controller=options.controller)
    name = options.vehicle or experiment.vehicle
    own = {} if options.vehicle else library.parse_xacro_arguments(experiment.arguments)
    arguments = {**own, **given}
    with progress_bar('building') as told:
        vehicle = load_vehicle(name, progress=told, **arguments)
        if experiment.sensors:
            more = ''.join(sensor.element() for sensor in experiment.sensors)
            vehicle = load_vehicle(more.join(_around_end(vehicle.urdf)), progress=told)
    if not options.graph:  # else a node tells
        print_warnings(vehicle.warnings)
    scenario.check(vehicle)
    moments = [time for _, time in experiment.moments]
    least = max([experiment.window, experiment.turn_from, *moments])
    if scenario.duration < least:
        raise ParameterError(
            f'experiment {experiment.name}: scenario {scenario.name} lasts '
            f'{scenario.duration:g} s; expected at least {least:g} s to judge it'
        )
    settings = RunOptions(
        vehicle=name,
        vehicle_arguments=tuple(f'{k}:={v}' for k, v in arguments.items()),
        scenario=experiment.scenario,
        controller=options.controller,
        real_time_factor=0.0,
        environment=experiment.environment,
    )
    return _Plan(experiment, vehicle, scenario, settings, environment)


def _around_end(urdf: str) -> tuple[str, str]:
    """Return a description before the end of its robot, and from there on."""
    end = urdf.rindex('</robot')
    return urdf[:end], urdf[end:]


def _survey_names(experiment: Experiment) -> tuple[str, ...]:
    """Return the names of the files of a survey."""
    return tuple(
        name.format(sensor.type)
        for sensor in experiment.sensors
        for name in ('survey_run_{}.png', 'bathymetry_run_{}.png', 'bathymetry_run_{}.xyz')
    )


def _run(plan: _Plan, folder: Path, *, graph: bool, keep: bool) -> int:
    run, digest = _through_nodes(plan, folder) if graph else _in_process(plan, folder, keep=keep)
    metrics = evaluate_run(plan.experiment, plan.vehicle, run)
    maps: list[Path] = []
    if plan.experiment.analysis == 'survey':
        maps, surveyed = _survey(plan, folder)
        metrics |= surveyed
    compared = compare_metrics(plan.experiment.rows, metrics)
    if keep:
        _write(plan, folder, run, metrics, compared, digest, maps)
    print_comparisons(compared, f'{plan.experiment.title}: {plan.vehicle.name}')
    for name, found in metrics.get('survey', {}).items():
        print(survey_line(name, found))
    for note in metrics['notes']:
        print(note)
    print(f'trajectory_sha256 {digest}')
    if keep:
        print(f'report    {folder / "report.md"}')
    return 0 if all(c.within is not False for c in compared) else 1


def _in_process(plan: _Plan, folder: Path, *, keep: bool) -> tuple[ExperimentRun, str]:
    with progress_bar('simulating') as told:
        trajectory = simulate(
            plan.vehicle, plan.scenario, environment=plan.environment, progress=told
        )
    if keep or plan.experiment.analysis == 'survey':
        with progress_bar('writing the bag') as told:
            write_recording(folder, plan.vehicle, plan.settings, trajectory, told)
    return run_of_trajectory(trajectory), trajectory.sha256


def _survey(plan: _Plan, folder: Path) -> tuple[list[Path], dict[str, Any]]:
    """Return the pictures of a recorded survey, and its entries of metrics.json."""
    around = plan.environment or Environment()
    where = str(folder), f'/{plan.vehicle.name}', plan.vehicle
    area = np.array(plan.experiment.area) if plan.experiment.area else None
    with show_waiting('evaluating the survey'):
        maps, survey = write_survey_report(*where, around, folder, 'run', area)
        grids, bathymetry = write_bathymetry(*where, around.scene, folder, 'run')
    return [*maps, *(p for p in grids if p.suffix == '.png')], {
        'survey': survey,
        'bathymetry': bathymetry,
    }


def _through_nodes(plan: _Plan, folder: Path) -> tuple[ExperimentRun, str]:
    from marine_sim_ros.tools.graph_run import run_graph

    # 1 may only be an expectation of the scenario that does not hold: the bands decide here.
    settings = replace(plan.settings, record=str(folder))
    code = run_graph(settings, node_specs(settings), summary=False)
    try:
        manifest = json.loads((folder / 'manifest.json').read_text(encoding='utf-8'))
    except OSError:
        raise RunFailed(f'the nodes recorded nothing; their exit code is {code}') from None
    ticks = round(plan.scenario.duration / plan.settings.dt) + 1
    if manifest['ticks'] != ticks:
        raise RunFailed(f'the run has {manifest["ticks"]} ticks; expected {ticks}')
    return run_of_bag(folder / 'bag', manifest['parameters']['namespace']), str(
        manifest['trajectory_sha256']
    )


def _write(
    plan: _Plan,
    folder: Path,
    run: ExperimentRun,
    metrics: Mapping[str, Any],
    compared: Sequence[ComparedQuantity],
    digest: str,
    maps: Sequence[Path],
) -> None:
    content = {
        **metrics,
        'within_bands': all(c.within is not False for c in compared),
        'trajectory_sha256': digest,
    }
    facts = {
        'scenario': plan.scenario.name,
        'controller': plan.scenario.controller if plan.scenario.closed_loop else 'none',
        'vehicle arguments': ' '.join(plan.settings.vehicle_arguments) or 'none',
        'step': f'{plan.settings.dt:g} s',
        'ticks': str(len(run.time)),
        'trajectory_sha256': f'`{digest}`',
        **{name: survey_line(name, found) for name, found in metrics.get('survey', {}).items()},
    }
    with show_waiting('drawing the report'):
        pictures = [*draw_pictures(folder, plan.experiment, plan.vehicle, run, metrics), *maps]
    text = report_markdown(plan.experiment, metrics, compared, pictures, facts=facts)
    numbers = json_text(content, indent=2)
    write_file(folder / 'metrics.json', numbers + '\n')
    write_file(folder / 'report.md', text)


# Tables of comparisons: coloured on a terminal, plain columns in a pipe.

_STYLES = {'better': 'green', 'as printed': 'cyan', 'worse': 'yellow', 'differs': 'yellow'}


def print_comparisons(
    comparisons: Sequence[ComparedQuantity], title: str, console: Console | None = None
) -> None:
    """Print the table to standard output, or to another console."""
    console = console or open_terminal()
    if not console.is_terminal:
        print(plain_comparison(comparisons), file=console.file)
        return
    table = Table(title=title, title_justify='left', header_style='bold')
    for i, name in enumerate(COMPARISON_COLUMNS):
        table.add_column(name, justify='right' if i in (1, 2) else 'left')
    for c in comparisons:
        quantity, printed, simulated, unit, verdict, required, state = c.cells()
        style = _STYLES.get(verdict)
        end = {True: 'green', False: 'bold red'}.get(bool(c.within)) if state else None
        table.add_row(
            quantity,
            printed,
            simulated,
            unit,
            Text(verdict, style or ''),
            required,
            Text(state, end or ''),
        )
    console.print(table)
