# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Results of pilots: a SQLite file in the user's data folder, progress by lesson, CSV."""

from __future__ import annotations

import csv
import io
import re
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from urllib.parse import quote

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.files import check_file, data_folder

__all__ = ['Attempt', 'ResultsFile', 'best_attempt', 'check_pilot', 'csv_text', 'results_path']

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


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    return f"'{value}" if isinstance(value, str) and value.startswith(tuple('=+-@')) else value
