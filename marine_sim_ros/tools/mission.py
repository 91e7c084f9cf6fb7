# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fly a mission with a scripted pilot, or take a recorded run of it, and score it."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from marine_sim_ros.analysis.debriefing import (
    debriefing_figure,
    mission_run_of_bag,
    mission_run_of_trajectory,
    score_lines,
)
from marine_sim_ros.bags.description import recorded_parameters
from marine_sim_ros.bags.reading import bag_path, read_bag
from marine_sim_ros.bags.storage import recording_parts
from marine_sim_ros.bags.trajectory_writer import write_recording
from marine_sim_ros.core.errors import ParameterError, RunError
from marine_sim_ros.core.ros_needed import require_ros
from marine_sim_ros.core.text import json_text
from marine_sim_ros.model.library import vehicle_of
from marine_sim_ros.sim.mission import (
    LIVE_SCORE,
    MISSIONS,
    Mission,
    MissionScore,
    check_lesson,
    inputs_of_mission,
    lesson_options,
    load_mission,
    mission_names,
    score_content,
    score_mission,
)
from marine_sim_ros.sim.mission_states import MissionStates
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.run_setup import environment_from_options
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import simulate
from marine_sim_ros.tools.command_line import (
    print_warnings,
    progress_bar,
    show_waiting,
    write_file,
)
from marine_sim_ros.tools.options import add_option, prepare_recording_folder

__all__ = ['add_arguments', 'execute', 'recorded_parts', 'score_recording', 'write_debriefing']

FILES = ('score.json', 'debriefing.png', LIVE_SCORE)
"""Files in DIR besides the bag and its manifest."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    known = ', '.join(mission_names())
    parser.add_argument('mission', metavar='NAME', help=f'{known}, or a YAML file')
    add_option(parser, 'scenario', empty="the mission's scripted pilot")
    parser.add_argument(
        '--bag', default='', metavar='BAG', help='score a recorded run; fly nothing'
    )
    parser.add_argument(
        '--graph', action='store_true', help='fly it through the node graph (needs ROS)'
    )
    parser.add_argument(
        '--composed', action='store_true', help='with --graph: all nodes in one process'
    )
    parser.add_argument('--briefing', action='store_true', help='print the briefing; fly nothing')
    add_option(parser, 'dt')
    add_option(parser, 'record')
    add_option(parser, 'overwrite')


def execute(options: argparse.Namespace) -> int:
    """Score a run; 0 with a medal, 1 without."""
    mission = load_mission(options.mission)
    _check(options)
    if options.briefing:
        print(f'{mission.title}\n\n{mission.briefing.strip()}')
        if mission.picture:
            print(f'\npicture {MISSIONS.path(options.mission).with_name(mission.picture)}')
        return 0
    if options.bag:
        run = _read_recording(mission, options.bag)
    else:
        settings = lesson_options(
            RunOptions(
                vehicle=mission.vehicle,
                scenario=options.scenario or mission.scenario,
                record=options.record,
                lesson=options.mission,
                dt=options.dt,
                real_time_factor=0.0,
            )
        )
        if options.record:
            prepare_recording_folder(options.record, overwrite=options.overwrite, own_files=FILES)
        check_lesson(settings)
        fly = _through_nodes if options.graph else _in_process
        run = fly(settings, options)
    score = score_mission(mission, run)
    print(score_lines(mission, score))
    if options.record:
        write_debriefing(Path(options.record), mission, score, run)
    return 0 if score.passed else 1


def _check(options: argparse.Namespace) -> None:
    """Refuse options that contradict each other.

    Raises:
        ParameterError: two that do.
    """
    others = [n for n in ('scenario', 'graph', 'record') if getattr(options, n)]
    if options.bag and others:
        raise ParameterError(
            f'mission: has --bag and --{others[0]}; expected a recorded run or a new one'
        )
    if options.composed and not options.graph:
        raise ParameterError('mission: --composed: has no effect here; expected --graph with it')
    if options.graph:
        require_ros('mission --graph')


def _in_process(settings: RunOptions, options: argparse.Namespace) -> MissionStates:
    with progress_bar('building') as told:
        vehicle = vehicle_of(settings.named_vehicle(), told)
    print_warnings(vehicle.warnings)
    scenario = load_scenario(settings.scenario)
    environment = environment_from_options(settings)
    with progress_bar('simulating') as told:
        trajectory = simulate(
            vehicle, scenario, environment=environment, dt=settings.dt, progress=told
        )
    if settings.record:
        with progress_bar('writing the bag') as told:
            write_recording(Path(options.record), vehicle, settings, trajectory, told)
    print(f'trajectory_sha256 {trajectory.sha256}')
    return mission_run_of_trajectory(trajectory)


def _through_nodes(settings: RunOptions, options: argparse.Namespace) -> MissionStates:
    """Run the node graph, and return the states of its recording.

    Raises:
        RunError: the nodes did not come to the end of the run.
    """
    from dataclasses import replace

    from marine_sim_ros.ros.node_graph import node_specs
    from marine_sim_ros.tools.graph_run import run_graph

    with tempfile.TemporaryDirectory(prefix='marine_sim_') as kept:
        folder = Path(options.record or Path(kept) / 'run')
        settings = replace(settings, record=str(folder))
        code = run_graph(settings, node_specs(settings), composed=options.composed, summary=False)
        try:
            manifest = json.loads((folder / 'manifest.json').read_text(encoding='utf-8'))
        except OSError:
            raise RunError(f'the nodes recorded nothing; their exit code is {code}') from None
        ticks = round(load_scenario(settings.scenario).duration / settings.dt) + 1
        if manifest['ticks'] != ticks:
            raise RunError(f'the run has {manifest["ticks"]} ticks; expected {ticks}')
        print(f'trajectory_sha256 {manifest["trajectory_sha256"]}')
        run, _ = score_recording(load_mission(settings.lesson), folder, folder)
        return run


def recorded_parts(folder: Path) -> list[Path]:
    """Return the folders of a recording's finished parts: a reset begins another one."""
    return [p for p in (folder, *recording_parts(folder)) if (p / 'manifest.json').is_file()]


def score_recording(
    mission: Mission, folder: Path, part: Path, pilot: str = ''
) -> tuple[MissionStates, MissionScore | None]:
    """Return the states of a flown mission, and its score; None: it was not begun.

    Args:
        folder: of the run, with the score that was shown during its last part.
        part: of the recording that is scored, from :func:`recorded_parts`.
        pilot: namespace of the vehicle in a recording of a fleet.

    Raises:
        RunError: the score that was shown is not that of the bag.
    """
    namespace = f'/{pilot}'
    if not pilot:
        manifest = json.loads((part / 'manifest.json').read_text(encoding='utf-8'))
        namespace = manifest['parameters']['namespace']
    with show_waiting('reading the recording'):
        run = mission_run_of_bag(part / 'bag', namespace, inputs_of_mission(mission))
    if len(run.time) < 2:
        return run, None
    if part == recorded_parts(folder)[-1]:
        _check_live_score(folder / pilot / LIVE_SCORE, mission, run)
    return run, score_mission(mission, run)


def _check_live_score(path: Path, mission: Mission, run: MissionStates) -> None:
    """Compare the score that was shown during a recorded run with that of its bag.

    Raises:
        RunError: they differ, or there is none.
    """
    try:
        live = json.loads(path.read_text(encoding='utf-8'))
    except (OSError, ValueError):
        raise RunError(f'{path}: no live score; expected one beside the bag') from None
    found = {**score_content(mission, score_mission(mission, run)), 'time': float(run.time[-1])}
    if live != json.loads(json_text(found)):
        raise RunError(
            f'{path}: score {live.get("score")!r}; expected {found["score"]!r}, that of the bag'
        )


def _read_recording(mission: Mission, path: str) -> MissionStates:
    """Return the states of a recording of a mission's vehicle.

    Raises:
        ParameterError: a recording of several vehicles, or of another vehicle or environment.
    """
    with show_waiting('reading the recording'):
        bag = read_bag(path, label=path)
    if len(bag.vehicles) != 1:
        raise ParameterError(
            f'--bag {path}: has the vehicles {", ".join(bag.vehicles)}; expected one'
        )
    name = next(iter(bag.vehicles))
    recorded = recorded_parameters(bag_path(path), name, alone=True)
    for key in ('vehicle', 'environment'):
        if key in recorded and recorded[key] != getattr(mission, key):
            raise ParameterError(
                f'--bag {path}: was flown with {key} {recorded[key] or "(none)"}; expected '
                f'{getattr(mission, key) or "(none)"}, that of mission {mission.name}'
            )
    if 'vehicle' in recorded:
        used = recorded.get('vehicle_arguments', ())
        if missing := [a for a in mission.arguments if a not in used]:
            raise ParameterError(
                f'--bag {path}: was flown without {" ".join(missing)}; expected the arguments of '
                f'mission {mission.name}'
            )
    return mission_run_of_bag(bag_path(path), f'/{name}', inputs_of_mission(mission))


def write_debriefing(
    folder: Path, mission: Mission, score: MissionScore, run: MissionStates
) -> None:
    """Write score.json and the picture of the debriefing beside a bag."""
    content = score_content(mission, score)
    write_file(folder / 'score.json', json_text(content, indent=2) + '\n')
    with show_waiting('drawing the debriefing'):
        debriefing_figure(folder / 'debriefing.png', mission, score, run)
    print(f'debriefing {folder / "debriefing.png"}')
