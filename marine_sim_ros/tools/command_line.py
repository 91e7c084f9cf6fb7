# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Command line: parser with one-line errors, output of commands, files, progress bars."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from marine_sim_ros.core.errors import (
    ParameterError,
    RecordingError,
    escape_controls,
    nearest_name,
)

__all__ = [
    'Arguments',
    'Parser',
    'check_folder',
    'check_writable',
    'discard_output',
    'escape_unencodable_output',
    'flush_or_discard',
    'help_section',
    'print_error',
    'print_warnings',
    'progress_bar',
    'show_waiting',
    'write_file',
]


Arguments: TypeAlias = argparse.ArgumentParser | argparse._ArgumentGroup
"""Parser or group that an option can be added to."""
_SYNONYMS = {
    **dict.fromkeys(('compare', 'report', 'plot', 'graph', 'metrics', 'csv'), 'analyze'),
    **dict.fromkeys(('film', 'video', 'movie'), 'render'),
    **dict.fromkeys(('replay', 'play', 'view', 'show', 'gui'), 'console'),
    **dict.fromkeys(('record', 'start', 'launch', 'fly'), 'run'),
    **dict.fromkeys(('drive', 'joystick', 'gamepad', 'keyboard'), 'teleop'),
    **dict.fromkeys(('fit', 'calibrate', 'estimate'), 'identify'),
    **dict.fromkeys(('check', 'lint', 'diagnose'), 'doctor'),
    'convert': 'import',
}
"""Command names of other programs -> those of this one."""
_CHOICE = re.compile(r"invalid choice: '(.*)' \(choose from (.*)\)")


def _suggestion(word: str, names: Iterable[str]) -> str:
    """Return a hint at the name that is most like a word; empty where none is."""
    known = list(names)
    meant = _SYNONYMS.get(word.lower(), '')
    near = meant if meant in known else nearest_name(word, known)
    return f' (did you mean {near}?)' if near else ''


class _HelpAll(argparse.Action):
    """Prints all options, by sections."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if isinstance(parser, Parser):
            parser.tell_all()
        parser.print_help()
        parser.exit()


def help_section(parser: argparse.ArgumentParser, title: str) -> Arguments:
    """Return the section of --help-all with a title; the parser itself without one."""
    return parser.section(title) if title and isinstance(parser, Parser) else parser


class Parser(argparse.ArgumentParser):
    """Prints ``ERROR: COMMAND: what; where to look`` in place of the usage of all options.

    Options in a section are told by ``--help-all`` alone, which a parser with sections has.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        """Take what argparse takes."""
        super().__init__(*args, **settings)
        self._sections: dict[str, argparse._ArgumentGroup] = {}
        self._tells_all = False

    def section(self, title: str) -> argparse._ArgumentGroup:
        """Return the section with a title, which is made where there is none."""
        if not self._sections:
            self.add_argument(
                '--help-all', action=_HelpAll, nargs=0, default=argparse.SUPPRESS,
                help='show all options, by subject, and exit',
            )  # fmt: skip
        if title not in self._sections:
            self._sections[title] = self.add_argument_group(title)
        return self._sections[title]

    def tell_all(self) -> None:
        """Let the help tell all options."""
        self._tells_all = True

    def format_help(self) -> str:
        """Return the help: the usual options, unless all are to be told."""
        rare = [] if self._tells_all else self._rare()
        shown = [action.help for action in rare]
        for action in rare:
            action.help = argparse.SUPPRESS
        try:
            return super().format_help()
        finally:
            for action, text in zip(rare, shown, strict=True):
                action.help = text

    def _rare(self) -> list[argparse.Action]:
        return [action for group in self._sections.values() for action in group._group_actions]

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and which command tells more; exit with 2."""
        if found := _CHOICE.search(message):
            near = _suggestion(found[1], re.findall(r"[^\s',]+", found[2]))
            message = message.replace(f' (choose from {found[2]})', near) if near else message
        where = f'{self.prog.partition(" ")[2]}: '.removeprefix(': ')
        self.exit(2, f'ERROR: {where}{message}; see `{self.prog} --help`\n')

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Exit as :meth:`error` does, because of arguments that no option takes."""
        name, assigned, value = unknown[0].partition(':=')
        known = self._option_string_actions
        flag = '--' + name.replace('_', '-')
        if assigned and flag in known:  # written as for ros2 launch
            said = f'; expected {flag}' + (f' {value}' if known[flag].nargs != 0 else '')
        elif name.partition('=')[0] in known:  # it stands before the command that takes it
            said = f'; expected it after {self.prog.rpartition(" ")[2]}'
        elif '--record' in known and re.match('-o|--output', name):  # as for render and analyze
            said = '; expected --record FOLDER'
        else:
            said = _suggestion(name.partition('=')[0], known)
        self.error(f'unknown argument {unknown[0]}{said}')


# Standard output whose encoding lacks a character, and after its reader has closed it.


def escape_unencodable_output() -> None:
    """Print characters that the encoding lacks as escapes, as standard error does.

    On Windows, output to a file is cp1252, which has no superscript minus.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors='backslashreplace')


def discard_output() -> None:
    """Let the interpreter flush at its end without a further error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def flush_or_discard() -> None:
    """Write what is left for a terminal that may be gone."""
    try:
        sys.stdout.flush()
    except OSError:
        discard_output()


# Output of commands: warnings on standard error, and requested files.


def print_warnings(texts: Iterable[str]) -> None:
    """Print each warning once."""
    for text in dict.fromkeys(texts):
        print(escape_controls(f'WARNING: {text}'), file=sys.stderr)


def print_error(error: BaseException | str) -> None:
    """Print what went wrong in one line, which is never empty."""
    if isinstance(error, OSError):
        place = f'{error.filename}: ' if error.filename else ''
        text = f'{place}{error.strerror or error}'
    else:
        text = str(error)
    line = ' '.join(text.split('\n')).strip() or type(error).__name__
    print(f'ERROR: {escape_controls(line)}', file=sys.stderr)


def check_writable(
    path: Path, option: str, *, parents: bool = False, source: Path | None = None
) -> None:
    """Check, before the work, that a file can be written; ``parents``: with missing folders.

    Args:
        path: path of the file.
        option: option that names it.
        parents: whether folders that are missing will be made.
        source: file that the command reads, which it must not replace.

    Raises:
        ParameterError: it is the source.
        RecordingError: it cannot be written.
    """
    if source is not None and path.exists() and source.exists() and path.samefile(source):
        raise ParameterError(f'{option} {path}: is the file that is read; expected another file')
    try:
        if path.is_file() or path.is_dir():
            path.open('ab').close()
        elif not path.exists():  # else a pipe or a device: to open it has an effect
            missing_too = path.parents if parents else path.parents[:1]
            folder = next(filter(Path.exists, missing_too), path.parent)
            from tempfile import TemporaryFile  # not for every start

            TemporaryFile(dir=folder).close()
    except OSError as error:
        raise _write_error(path, option, error) from None


def check_folder(path: Path, option: str) -> None:
    """Check that a folder to write is no file; it may be missing.

    Raises:
        ParameterError: it is a file.
    """
    if path.exists() and not path.is_dir():
        raise ParameterError(f'{option} {path}: is a file; expected a folder')


def write_file(
    path: Path, content: str | bytes, option: str = '', *, parents: bool = False
) -> None:
    """Write a file, which an option names; ``parents``: with the folders that are missing.

    Raises:
        RecordingError: it cannot be written.
    """
    try:
        if parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise _write_error(path, option, error) from None


def _write_error(path: Path, option: str, error: OSError) -> RecordingError:
    where = f'{option} {path}'.lstrip()
    return RecordingError(f'{where}: cannot be written: {error.strerror}')


# Progress bars on a terminal; elsewhere a line where work takes more than a day.

MIN_DURATION = 0.5
"""s of wall time in which work is quick, and has no bar."""
ESTIMATE_DELAY = 5.0
"""s of wall time after which the rate is known."""
QUICK_REPORT, FIRST_PART = 1.0, 0.02
"""Wall time (s) and completed fraction up to which a first report is where the rate counts from:
what was done before, or the time of a start, says nothing about the rate."""
EARLY = 30.0
"""s of wall time in which less than that fraction says nothing about the rate either."""
DAY = 86400.0
"""s; longer work is warned of where no bar shows it."""


def _is_terminal() -> bool:
    """Return whether standard error is a terminal, without an import of rich."""
    forced = any(os.environ.get(name) for name in ('FORCE_COLOR', 'TTY_COMPATIBLE'))
    return forced or sys.stderr.isatty()


def _terminal() -> Any:
    """Return rich's console of standard error, or None where it is no terminal."""
    if not _is_terminal():
        return None
    from marine_sim_ros.core.text import open_terminal

    console = open_terminal(stderr=True)
    return console if console.is_terminal else None


@contextmanager
def progress_bar(
    description: str,
    total: float | None = 1.0,
    *,
    transient: bool = True,
    quiet: float = MIN_DURATION,
    forks: bool = False,
) -> Iterator[Callable[..., None]]:
    """Yield a function that takes the completed share, and perhaps another text, for a bar.

    The bar shows the share, the time that has passed and what is left. It appears by itself, so
    that long work has one before its first report. What is quick makes none, and imports no rich.
    Without a terminal, a warning says once what is left if that is more than a day.

    Args:
        description: text in front of the bar.
        total: the value at the end; None where it is unknown: a spinner, and no bar.
        transient: whether the bar goes when the work is done.
        quiet: wall time until the bar appears, s.
        forks: whether this process forks meanwhile, so that no thread may be in an import: the
            bar appears with a report.
    """
    bar = _Bar(description, total, transient=transient)
    timer = threading.Timer(quiet, bar.show)
    timer.daemon = True
    if not forks and bar.wanted:
        timer.start()

    estimated = bar.wanted

    def tell(done: float, text: str = '') -> None:
        nonlocal estimated
        passed = time.monotonic() - bar.began
        if passed >= quiet:
            bar.show()
        bar.move(done, text or description)
        left = None if estimated or passed < ESTIMATE_DELAY else bar.remaining()
        if left is not None:
            estimated = True
            if left > DAY:
                print_warnings([f'{description} takes about {left / DAY:.3g} days more'])

    try:
        yield tell
    finally:
        timer.cancel()
        bar.close()


class _Bar:
    """A bar that is shown once, by whichever thread comes first."""

    def __init__(self, description: str, total: float | None, *, transient: bool) -> None:
        self.began = time.monotonic()
        self.wanted = _is_terminal()
        self._lock = threading.Lock()
        self._total, self._transient = total, transient
        self._now: dict[str, Any] = {'completed': 0.0, 'description': description}
        self._origin: tuple[float, float] | None = None
        self._progress: Any = None

    def show(self) -> None:
        """Show it where there is a terminal."""
        with self._lock:
            if not self.wanted:
                return
            self.wanted = False
            if (console := _terminal()) is None:
                return  # rich before 13.8 prints a blank line for a disabled bar
            self._progress = _columns(console, self._total, transient=self._transient)
            self._progress.add_task('', total=self._total, origin=self._origin)
            self._progress.tasks[0].start_time = self.began
            self._progress.update(0, **self._now)
            self._progress.start()

    def move(self, completed: float, description: str) -> None:
        """Show how much is done."""
        with self._lock:
            if self._origin is None:
                passed = time.monotonic() - self.began
                early = passed < QUICK_REPORT or completed <= FIRST_PART * (self._total or 1.0)
                self._origin = (self.began + passed, completed) if early else (self.began, 0.0)
            self._now = {
                'completed': completed,
                'description': description,
                'origin': self._origin,
            }
            if self._progress is not None:
                self._progress.update(0, **self._now)

    def remaining(self) -> float | None:
        """Return the remaining time, s; None: not known yet."""
        return remaining_time(time.monotonic(), self._origin, self._now['completed'], self._total)

    def close(self) -> None:
        """Show no more."""
        with self._lock:
            self.wanted = False
            if self._progress is not None:
                self._progress.stop()


def remaining_time(
    now: float, origin: tuple[float, float] | None, completed: float, total: float | None
) -> float | None:
    """Return the remaining time by the mean rate since the origin, s; None: not known yet.

    Args:
        now: wall time, s.
        origin: wall time (s) and completed work from which the rate counts.
        completed: work that is done.
        total: work at the end.
    """
    if total is None or completed >= total:
        return 0.0
    if origin is None or completed <= origin[1]:
        return None
    if completed - origin[1] < FIRST_PART * total and now - origin[0] < EARLY:
        return None
    return (now - origin[0]) * (total - completed) / (completed - origin[1])


def _columns(console: Any, total: float | None, *, transient: bool) -> Any:
    """Return rich's progress with our columns; without a total they draw no bar."""
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        SpinnerColumn,
        Task,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.text import Text

    class RemainingColumn(ProgressColumn):
        """Remaining time by the mean rate; rich's own is short after a few quick reports."""

        def render(self, task: Task) -> Text:
            left = remaining_time(
                task.get_time(), task.fields['origin'], task.completed, task.total
            )
            return Text(f'left {"-:--:--" if left is None else timedelta(seconds=round(left))}')

    text, passed = TextColumn('{task.description}', markup=False), TimeElapsedColumn()
    if total is None:
        return Progress(text, SpinnerColumn(), passed, console=console, transient=transient)
    columns = (text, BarColumn(), TaskProgressColumn(), passed, RemainingColumn())
    return Progress(*columns, console=console, transient=transient)


@contextmanager
def show_waiting(description: str) -> Iterator[None]:
    """Show on a terminal that something takes a while."""
    console = _terminal()
    if console is None:
        yield
        return
    from rich.text import Text

    with console.status(Text(description)):
        yield
