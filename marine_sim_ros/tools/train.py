# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lessons for pilots: choose one, read its briefing, fly it in the console, be debriefed.

Results are kept in a SQLite file in the user's data folder.
"""

from __future__ import annotations

import argparse
import csv
import getpass
import io
import re
import shlex
import sqlite3
import sys
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass, fields, replace
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import quote

from marine_sim_ros.analysis.debriefing import score_lines
from marine_sim_ros.analysis.figure_sheet import PageTable, write_table_pages
from marine_sim_ros.core.errors import ParameterError, RunError, expected_one_of
from marine_sim_ros.core.files import check_file, data_folder
from marine_sim_ros.core.processes import typed_command
from marine_sim_ros.core.ros_needed import require_ros
from marine_sim_ros.core.text import file_name, terminal_width, wrapped_columns
from marine_sim_ros.sim.mission import Mission, lessons, load_lesson, mission_names
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.tools.command_line import write_file
from marine_sim_ros.tools.mission import recorded_parts, score_recording, write_debriefing
from marine_sim_ros.tools.options import add_option, prepare_recording_folder

__all__ = [
    'Attempt',
    'ResultsFile',
    'add_arguments',
    'best_attempt',
    'check_pilot',
    'csv_text',
    'execute',
    'result_pages',
]

DT = 0.01
"""Default step, s: a bag half as large as with that of run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
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
        '--pdf', default='', metavar='FILE', help='the same as PDF, a page for each pilot'
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
    if options.pdf:
        write_table_pages(Path(options.pdf), result_pages(attempts))
        print(f'{len(attempts)} attempts written to {options.pdf}')
    if options.csv or options.pdf:
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
    except (ImportError, OSError, KeyError):  # no pwd; no such user, as in a container
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
    from marine_sim_ros.ros.node_graph import node_specs
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
    specs = node_specs(settings)
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
    others = [] if best is None or not Path(best.recording).is_dir() else [best.recording]
    compare = ''.join(f' --compare {shlex.quote(other)}' for other in others)
    print(f'debriefing page: {typed_command()} console {part}{compare}')
    return score.passed


# Results of pilots: a SQLite file in the user's data folder, progress by lesson, CSV.

_PILOT = re.compile(r"[^\W_][\w .'-]{0,39}")
_MAGIC = b'SQLite format 3\0'
_APPLICATION, _VERSION = 0x4D53494D, 1
"""In the header of a file of ours: bytes 68 to 71, and 60 to 63 (sqlite.org/fileformat)."""
_MAX_FILE_SIZE = 10**9
"""Bytes of a file of results."""
_TABLE = """CREATE TABLE attempts (
pilot TEXT NOT NULL, lesson TEXT NOT NULL, flown TEXT NOT NULL, score REAL NOT NULL,
medal TEXT NOT NULL, complete INTEGER NOT NULL, duration REAL NOT NULL, recording TEXT NOT NULL)"""


@dataclass(frozen=True)
class Attempt:
    """A flown lesson.

    Attributes:
        pilot: name of the pilot.
        lesson: name of the mission.
        flown: time of its end, ISO 8601, UTC.
        score: 0 to 100.
        medal: ``bronze``, ``silver``, ``gold`` or nothing.
        complete: whether all tasks had ended, or the limit was reached.
        duration: simulated time until the end of the mission, s.
        recording: folder of the bag.
    """

    pilot: str
    lesson: str
    flown: str
    score: float
    medal: str
    complete: bool
    duration: float
    recording: str


_COLUMNS = tuple(f.name for f in fields(Attempt))


def check_pilot(name: str) -> str:
    """Return the name of a pilot.

    Raises:
        ParameterError: a name that no table can show.
    """
    if not _PILOT.fullmatch(name):
        raise ParameterError(
            f"--pilot {name!r}: expected 1 to 40 letters, digits, spaces and .'-_, a letter or a "
            'digit first'
        )
    return name


def results_path() -> Path:
    """Return the file of this user's results.

    Raises:
        ParameterError: there is no folder that only this user can write.
    """
    folder = data_folder('pilots')
    if folder is None:
        raise ParameterError(
            'results: no data folder that only you can write; expected --results FILE, or a '
            'folder in XDG_DATA_HOME'
        )
    return folder / 'results.sqlite'


class ResultsFile:
    """A file of results. It is created by the first attempt; a foreign one is never opened."""

    def __init__(self, path: Path) -> None:
        """Name the file."""
        self.path = path

    def read(self) -> list[Attempt]:
        """Return all attempts in the order of time.

        Raises:
            ParameterError: the file is foreign, damaged or cannot be read.
        """
        if not self._exists():
            return []
        query = f'SELECT {", ".join(_COLUMNS)} FROM attempts ORDER BY flown, rowid'
        try:
            with closing(self._open('ro')) as file:
                rows = file.execute(query).fetchall()
            return [self._attempt(row) for row in rows]
        except (sqlite3.Error, TypeError, ValueError) as error:
            raise self._error(f'cannot be read: {error}') from None

    def add(self, attempt: Attempt) -> None:
        """Add an attempt.

        Raises:
            ParameterError: as of ``read``, or the file cannot be written.
        """
        marks = ', '.join('?' for _ in _COLUMNS)
        new = not self._exists()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._open('rwc' if new else 'rw')) as file, file:
                file.execute('BEGIN IMMEDIATE')
                if new:
                    file.execute(f'PRAGMA application_id = {_APPLICATION}')
                    file.execute(f'PRAGMA user_version = {_VERSION}')
                    file.execute(_TABLE)
                file.execute(f'INSERT INTO attempts VALUES ({marks})', astuple(attempt))
        except (sqlite3.Error, OSError) as error:
            raise self._error(f'cannot be written: {error}') from None

    def _exists(self) -> bool:
        """Return whether the file has results; refuse a foreign one by its first bytes."""
        try:
            if not self.path.stat().st_size:
                return False
        except FileNotFoundError:
            return False
        except (OSError, ValueError) as error:
            raise self._error(f'cannot be read: {error}') from None
        check_file(self.path, _MAX_FILE_SIZE, ParameterError)
        try:
            with open(self.path, 'rb') as file:
                head = file.read(100)
        except OSError as error:
            raise self._error(f'cannot be read: {error.strerror}') from None
        if not head.startswith(_MAGIC) or int.from_bytes(head[68:72], 'big') != _APPLICATION:
            raise self._error('has no results of pilots')
        if (version := int.from_bytes(head[60:64], 'big')) != _VERSION:
            raise self._error(f'has version {version} of the results, not {_VERSION}')
        return True

    def _open(self, mode: str) -> sqlite3.Connection:
        """Return a connection to a file whose content was checked."""
        address = f'file:{quote(str(self.path.absolute()))}?mode={mode}'
        file = sqlite3.connect(address, uri=True, timeout=5.0, isolation_level=None)
        try:
            file.execute('PRAGMA trusted_schema = OFF')  # no function of a foreign schema runs
            if mode != 'rwc':
                self._check(file)
        except BaseException:
            file.close()
            raise
        return file

    def _check(self, file: sqlite3.Connection) -> None:
        """Refuse a damaged file, and one with triggers, views or another table."""
        damage = file.execute('PRAGMA quick_check(1)').fetchone()[0]
        if damage != 'ok':
            raise self._error(f'is damaged: {" ".join(str(damage).split())}')
        if file.execute('SELECT sql FROM sqlite_master').fetchall() != [(_TABLE,)]:
            raise self._error('has other tables than results of pilots')

    def _attempt(self, row: Sequence[object]) -> Attempt:
        values = dict(zip(_COLUMNS, row, strict=True))
        for f in fields(Attempt):
            kind = {'str': str, 'float': float, 'bool': int}[str(f.type)]
            if not isinstance(values[f.name], kind):
                raise ValueError(f'{f.name} is {values[f.name]!r}')
        return Attempt(**{**values, 'complete': bool(values['complete'])})  # type: ignore[arg-type]

    def _error(self, text: str) -> ParameterError:
        return ParameterError(
            f'{self.path}: {text}; expected a file of `marine_sim train`: move it away, or name '
            'another one with --results'
        )


def best_attempt(attempts: Iterable[Attempt], pilot: str, lesson: str) -> Attempt | None:
    """Return a pilot's attempt of a lesson with the highest score, the first of several."""
    own = [a for a in attempts if (a.pilot, a.lesson) == (pilot, lesson)]
    return max(own, key=lambda attempt: attempt.score, default=None)


def csv_text(attempts: Iterable[Attempt]) -> str:
    """Return attempts as CSV with a header; no cell begins as a formula of a spreadsheet."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator='\n')
    rows.writerow(_COLUMNS)
    for attempt in attempts:
        rows.writerow([_cell(value) for value in astuple(attempt)])
    return text.getvalue()


def result_pages(attempts: Sequence[Attempt]) -> list[PageTable]:
    """Return a table for each pilot, with the newest attempt first."""
    head = ('flown, UTC', 'lesson', 'score', 'medal', 'complete', 'time, s', 'recording')
    pilots = dict.fromkeys(attempt.pilot for attempt in attempts)
    pages = []
    for pilot in pilots:
        own = [a for a in reversed(attempts) if a.pilot == pilot]
        rows = [
            (
                a.flown[:19].replace('T', ' '), a.lesson, f'{a.score:.1f}', a.medal or '–',
                'yes' if a.complete else 'no', f'{a.duration:.1f}', a.recording,
            )
            for a in own
        ]  # fmt: skip
        best = {a.lesson for a in own if a.medal}
        title = f'{pilot}: {len(own)} attempts, {len(best)} lessons passed'
        pages.append(PageTable(title, head, rows, (2.0, 2.4, 0.8, 0.8, 1.0, 0.9, 3.6)))
    return pages


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    return f"'{value}" if isinstance(value, str) and value.startswith(tuple('=+-@')) else value
