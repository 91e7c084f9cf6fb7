# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Run the node graph of a vehicle or a fleet: one process per node, in lockstep."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marine_sim_ros.core.errors import MarineSimError, ParameterError
from marine_sim_ros.core.progress import ReportProgress
from marine_sim_ros.core.ros_needed import require_ros
from marine_sim_ros.core.startup import paused_garbage_collection
from marine_sim_ros.model.library import vehicle_path
from marine_sim_ros.ros.launching.fork import read_vehicles
from marine_sim_ros.sim.mission import lesson_options, load_mission
from marine_sim_ros.sim.options import OPTIONS, RunOptions
from marine_sim_ros.tools.command_line import print_warnings, progress_bar
from marine_sim_ros.tools.options import (
    add_run_arguments,
    prepare_recording_folder,
    read_run_options,
)

if TYPE_CHECKING:
    from marine_sim_ros.ros.launching.supervisor import Supervisor
    from marine_sim_ros.ros.node_graph import NodeSpec

__all__ = ['add_arguments', 'execute']

AUTOPILOT_OPTIONS = {
    'ardusub': 'ardusub',
    'px4': 'px4',
    'autopilot_address': 'ardusub or px4',
    'navigation': 'ardusub or px4',
    'ground_station': 'ardusub or mavlink',
    'ground_station_key': 'mavlink',
    'mission': 'mavlink',
}
"""Options that need an autopilot, and which."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    add_run_arguments(parser, graph=True)


def execute(options: argparse.Namespace) -> int:
    """Run until the end of the scenario, a failure, or a signal."""
    if options.vehicle:
        vehicle_path(options.vehicle)  # a mistyped name is named before a missing package
    require_ros('run')
    warnings: list[str] = []
    try:
        with paused_garbage_collection(), progress_bar('building', forks=True) as told:
            runs, supervisor = _runs(options, told)
            # Imported while a fork reads the vehicle, and so not at the top.
            from marine_sim_ros.ros.node_graph import fleet_node_specs
            from marine_sim_ros.tools.graph_run import recordings, run_graph

            folders = recordings(runs, options.processes)
            specs = fleet_node_specs(runs, told, warnings.extend)
    except MarineSimError:
        print_warnings(warnings)  # else the owner of the state logs them
        raise
    settings = runs[0]
    if not options.only:  # another machine may run the vehicle that is meant
        _check_effect(settings, specs)
    for folder in folders:
        prepare_recording_folder(folder, overwrite=options.overwrite)
    if not options.fleet:
        _print_console_defaults(lesson_options(read_run_options(options)), settings)
    code = run_graph(
        settings,
        specs,
        composed=options.composed,
        followers=runs[1:],
        processes=options.processes,
        supervisor=supervisor,
    )
    if settings.lesson and settings.record and code == 0 and not options.only:
        from marine_sim_ros.sim.fleet import split_runs

        _debrief([run for part in split_runs(runs, options.processes) for run in part])
    return code


def _debrief(runs: Sequence[RunOptions]) -> None:
    """Print the scores of the pilots of a recorded lesson, and write their debriefings."""
    from marine_sim_ros.analysis.debriefing import score_lines
    from marine_sim_ros.tools.mission import recorded_parts, score_recording, write_debriefing

    mission, team = load_mission(runs[0].lesson), {}
    for run in runs:
        name = run.namespace if run.neighbours else ''
        for part in recorded_parts(Path(run.record)):
            states, score = score_recording(mission, Path(run.record), part, name)
            if score is not None:
                print(f'{name}\n' if name else '', score_lines(mission, score), sep='')
                write_debriefing(part / name, mission, score, states)
                team[name] = score.score
    if len(team) > 1:
        pilots = ', '.join(f'{name} {points:.1f}' for name, points in team.items())
        print(f'team: {sum(team.values()) / len(team):.1f} of 100, the mean of {pilots}')


def _runs(
    options: argparse.Namespace, told: ReportProgress
) -> tuple[tuple[RunOptions, ...], Supervisor | None]:
    """Return the options of each vehicle, and have their vehicles read.

    What has begun to start composed nodes meanwhile is returned too.
    """
    if bool(options.vehicle) == bool(options.fleet):
        raise ParameterError('run: expected either VEHICLE or --fleet FILE')
    settings = read_run_options(options)
    if options.vehicle:
        settings = lesson_options(settings)
    if settings.console:
        from marine_sim_ros.console.page.links import require_pages

        require_pages()  # before anything is started
    prepared: list[Supervisor] = []

    def read(runs: Sequence[RunOptions]) -> None:
        def prepare() -> None:
            if options.composed or options.processes > 1:
                from marine_sim_ros.ros.launching.supervisor import Supervisor

                prepared.append(Supervisor())
                prepared[0].prepare(min(options.processes, len(runs)))  # more are refused later

        read_vehicles([run.named_vehicle() for run in runs], told, prepare)

    if options.vehicle:
        read([settings])
    from marine_sim_ros.sim.fleet import select_fleet_runs

    selected = select_fleet_runs(settings, options.fleet, options.only)
    runs = tuple(_with_console_defaults(lesson_options(run)) for run in selected)
    if options.fleet:
        read(runs)
    return runs, prepared[0] if prepared else None


CONSOLE_DEFAULTS = {'controller': ('modern', 'none'), 'environment': ('shallow_sand', 'still')}
"""Defaults of a run with a console and without a scenario, and the value that leaves each out."""


def _with_console_defaults(run: RunOptions) -> RunOptions:
    """Return a run with what a pilot at the console expects, where nothing else was asked for.

    That is a controller, without which neither joystick mode nor auto depth works, and a bottom to
    see. A scenario or an autopilot steers by itself, and keeps its water; so does a lesson.
    """
    if run.console and not (run.scenario or run.autopilot):
        added: dict[str, Any] = {
            name: used
            for name, (used, _) in CONSOLE_DEFAULTS.items()
            if not (getattr(run, name) or (name == 'environment' and run.lesson))
        }
        run = replace(run, **added)
    return replace(run, controller='') if run.controller == 'none' else run


def _print_console_defaults(given: RunOptions, run: RunOptions) -> None:
    """Say what a run has besides what was asked for, and what leaves it out."""
    added = {
        name: without
        for name, (_, without) in CONSOLE_DEFAULTS.items()
        if getattr(run, name) and not getattr(given, name)
    }
    if added:
        have = ', '.join(f'{name} {getattr(run, name)}' for name in added)
        leave = ' '.join(f'--{name} {without}' for name, without in added.items())
        print(f'for the console: {have}; without: {leave}', flush=True)


def _check_effect(settings: RunOptions, specs: Sequence[NodeSpec]) -> None:
    """Refuse an option of an autopilot that no node of the run takes."""
    for name, kind in AUTOPILOT_OPTIONS.items():
        given, known = getattr(settings, name), OPTIONS[name]
        if given != known.default and not any(name in spec.parameters for spec in specs):
            raise ParameterError(
                f'{known.flag} {given}: has no effect here; expected --autopilot {kind} with it'
            )
