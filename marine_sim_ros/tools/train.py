# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lessons for pilots: choose one, read its briefing, fly it in the console, be debriefed."""

from __future__ import annotations

import argparse
import getpass
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from marine_sim_ros.analysis.debriefing import score_lines
from marine_sim_ros.core.errors import RunError, expected_one_of
from marine_sim_ros.core.processes import typed_command
from marine_sim_ros.core.ros_needed import require_ros
from marine_sim_ros.core.text import file_name, terminal_width, wrapped_columns
from marine_sim_ros.sim.mission import Mission, lessons, load_lesson, mission_names
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.tools.mission import recorded_parts, score_recording, write_debriefing
from marine_sim_ros.tools.options import add_option, prepare_recording_folder
from marine_sim_ros.tools.pilot_results import (
    Attempt,
    ResultsFile,
    best_attempt,
    check_pilot,
    csv_text,
    results_path,
)
from marine_sim_ros.tools.reporting import write_file

__all__ = ['add_arguments', 'execute']

DT = 0.01
"""Default step, s: a bag half as large as with that of run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    known = ', '.join(mission_names())
    parser.add_argument(
        'lesson', nargs='?', default='', metavar='LESSON',
        help=f'{known}, or a YAML file (default: the list to choose from)',
    )  # fmt: skip
    parser.add_argument('--list', action='store_true', help='print lessons with progress; no run')
    parser.add_argument('--pilot', default='', metavar='NAME', help='pilot (default: your login)')
    parser.add_argument(
        '--csv', default='', metavar='FILE', help='write the results of all pilots as CSV; no run'
    )
    parser.add_argument(
        '--results', default='', metavar='FILE',
        help='SQLite file of results (default: pilots/results.sqlite in your data folder)',
    )  # fmt: skip
    add_option(parser, 'scenario', empty='you fly; a scripted pilot flies a scenario')
    parser.add_argument(
        '--console', action=argparse.BooleanOptionalAction, default=True,
        help='serve the console; without it another program steers (default: with it)',
    )  # fmt: skip
    for name in ('console_port', 'real_time_factor', 'dt'):
        add_option(parser, name)
    parser.set_defaults(dt=DT)
    parser.add_argument(
        '--record', default='', metavar='DIR',
        help='folder of bag, score and debriefing (default: out/PILOT_LESSON_TIME)',
    )  # fmt: skip


def execute(options: argparse.Namespace) -> int:
    """Fly lessons; 0 with a medal, or where nothing was to be flown, 1 without a medal."""
    pilot = check_pilot(options.pilot or _login())
    results = ResultsFile(Path(options.results) if options.results else results_path())
    attempts = results.read()
    if options.csv:
        write_file(Path(options.csv), csv_text(attempts))
        print(f'{len(attempts)} attempts written to {options.csv}')
        return 0
    if options.lesson and not options.list:
        return _fly(options, options.lesson, pilot, results)
    print(progress_table(attempts, pilot))
    if options.list or not sys.stdin.isatty():
        print(f'fly one: {typed_command()} train LESSON')
        return 0
    while name := _choose():
        _fly(options, name, pilot, results)
        print(progress_table(results.read(), pilot))
    return 0


def _login() -> str:
    """Return the user's name as that of a pilot."""
    try:
        name = re.sub(r"[^\w .'-]", '', getpass.getuser())[:40].lstrip("_ .'-")
    except (OSError, KeyError):  # no such user, as in a container
        name = ''
    return name or 'pilot'


def progress_table(attempts: Sequence[Attempt], pilot: str) -> str:
    """Return the lessons with the best medal and score, and the number of attempts, of a pilot."""
    rows = [('', 'lesson', 'medal', 'best', 'attempts', 'task')]
    for i, lesson in enumerate(lessons(), 1):
        best = best_attempt(attempts, pilot, lesson.name)
        count = sum((a.pilot, a.lesson) == (pilot, lesson.name) for a in attempts)
        medal, score = ('', '') if best is None else (best.medal or 'none', f'{best.score:.1f}')
        row = (str(i), lesson.name, medal, score, str(count or ''), lesson.description)
        rows.append(row)
    return f'pilot {pilot}\n' + '\n'.join(wrapped_columns(rows, terminal_width()))


def _choose() -> str:
    """Ask for a lesson until there is one; empty: none."""
    names = [lesson.name for lesson in lessons()]
    while True:
        try:
            answer = input(f'lesson, by number (1 to {len(names)}) or name (empty: end): ').strip()
        except (EOFError, KeyboardInterrupt):
            print()
            return ''
        if answer.isdecimal() and 0 < int(answer) <= len(names):
            return names[int(answer) - 1]
        if not answer or answer in names:
            return answer
        print(f'{answer!r}: {expected_one_of(answer, names)}')


def _fly(options: argparse.Namespace, name: str, pilot: str, results: ResultsFile) -> int:
    """Run a lesson, keep its result and print the debriefing."""
    from marine_sim_ros.console.page.links import require_pages
    from marine_sim_ros.ros.node_graph import describe
    from marine_sim_ros.tools.graph_run import run_graph

    mission = load_lesson(name)  # a mistyped name is named before a missing package
    require_ros('train')
    if options.console:
        require_pages()
    now = datetime.now(timezone.utc)
    stem = f'{file_name(pilot.replace(" ", "_"))}_{file_name(mission.name)}_{now:%Y%m%d_%H%M%S}'
    folder = Path(options.record or f'out/{stem}')
    settings = RunOptions(
        vehicle=mission.vehicle, lesson=name, scenario=options.scenario, record=str(folder),
        controller='' if options.scenario else 'modern', duration=mission.limit or 0.0,
        start_paused=options.console and not options.scenario,
        console=options.console, console_port=options.console_port,
        real_time_factor=options.real_time_factor, dt=options.dt,
    )  # fmt: skip
    if options.scenario:
        settings = replace(settings, duration=0.0)
    specs = describe(settings)
    prepare_recording_folder(str(folder), overwrite=False)
    print(f'\n{mission.title}\n\n{mission.briefing.strip()}\n')
    if options.console:
        print('Open the first link; take control, arm, and press Start in the tab Lesson.')
    code = run_graph(settings, specs, composed=True, summary=False)
    parts = recorded_parts(folder)
    if not parts:
        raise RunError(f'{name}: nothing was recorded; the exit code of the run is {code}')
    passed = []
    for number, part in enumerate(parts, 1):  # a reset begins another try
        if len(parts) > 1:
            print(f'try {number} of {len(parts)}')
        passed.append(_debrief(mission, pilot, folder, part, results))
    return 0 if any(passed) else 1


def _debrief(
    mission: Mission, pilot: str, folder: Path, part: Path, results: ResultsFile
) -> bool:  # fmt: skip
    """Score a try, add it to the results and print what came of it; return whether it passed."""
    run, score = score_recording(mission, folder, part)
    if score is None:
        print('The lesson was not begun; nothing is kept of it.')
        return False
    best = best_attempt(results.read(), pilot, mission.name)
    flown = datetime.now(timezone.utc).isoformat(timespec='seconds')
    duration = score.ended - float(run.time[0])
    results.add(
        Attempt(
            pilot, mission.name, flown, score.score, score.medal, score.complete, duration,
            str(part.absolute()),
        )
    )  # fmt: skip
    print(score_lines(mission, score))
    if best is not None:
        word = 'a new best' if score.score > best.score else 'your best stays'
        print(
            f'{word}: {max(best.score, score.score):.1f}, before {best.score:.1f} ({best.flown})'
        )
    write_debriefing(part, mission, score, run)
    print(f'replay: {typed_command()} console {part}')
    return score.passed
