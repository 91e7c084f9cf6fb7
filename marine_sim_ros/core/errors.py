# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Errors of the package, and hints in their messages: nearest names, escaped text."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

__all__ = [
    'MarineSimError',
    'MissingPackageError',
    'ModelError',
    'ParameterError',
    'RecordingError',
    'RunError',
    'ScenarioError',
    'did_you_mean',
    'escape_controls',
    'exit_code',
    'expected_one_of',
    'nearest_name',
    'no_file',
    'no_such_name',
    'path_fault',
]


# Foreign text on a terminal or in a log, with control characters escaped.


def escape_controls(text: str) -> str:
    r"""Return a text with control characters, except line ends and tabs, written as ``\x1b``.

    Those would colour or clear a terminal, set its title, or reverse the reading direction.
    """
    if text.isprintable():
        return text
    return ''.join(c if c.isprintable() or c in '\n\t' else ascii(c)[1:-1] for c in text)


# Suggestions for a name that does not exist.


def nearest_name(word: str, names: Iterable[str], likeness: float = 0.6) -> str:
    """Return the name most similar to a word; '' if none is similar.

    Args:
        likeness: ratio of difflib, 0 to 1, that a name has at least.
    """
    from difflib import get_close_matches  # only a mistake needs it

    by_lower = {name.lower(): name for name in names}
    near = get_close_matches(word.lower(), list(by_lower), 1, likeness)
    return by_lower[near[0]] if near else ''


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return "did you mean NAME? " of the nearest name; empty where none is like the word."""
    near = nearest_name(word, names)
    return f'did you mean {near!r}? ' if near else ''


def expected_one_of(word: object, names: Iterable[str]) -> str:
    """Return "did you mean NAME? expected one of: NAMES", in the order of the names."""
    options = list(names)
    hint = did_you_mean(word, options) if isinstance(word, str) else ''
    return f'{hint}expected one of: {", ".join(options) or "none"}'


# Messages about a path that is no file: a folder's files, or the nearest name.

_MAX_COMPARED_NAMES = 10_000
"""Names of a folder that are compared."""
_FIRST = ('model.sdf', 'model.urdf', 'robot.urdf', 'robot.urdf.xacro')


def path_fault(path: Path, suffixes: tuple[str, ...]) -> tuple[str, str]:
    """Return the reason why a path is no file of some suffixes, and a suggestion or nothing.

    Args:
        path: path of no regular file.
        suffixes: suffixes of the files that are looked for in a folder, such as ``.urdf``.
    """
    if path.is_dir():
        matching_files = [n for n in _names(path) if n.endswith(suffixes) and (path / n).is_file()]
        matching_files.sort(key=lambda n: (_FIRST.index(n) if n in _FIRST else len(_FIRST), n))
        if not matching_files:
            return f'is a folder without a description ({", ".join(suffixes)})', ''
        count_note = f' ({len(matching_files)} files)' if len(matching_files) > 1 else ''
        return 'is a folder', f'did you mean {path / matching_files[0]}?{count_note}'
    parts = path.parts
    for count in range(1, len(parts) + 1):
        existing_folder = Path(*parts[:count])
        if existing_folder.exists():
            continue
        folder = existing_folder.parent
        near = _nearest_file(existing_folder.name, _names(folder), suffixes)
        what = (
            'is no file'
            if existing_folder == path
            else f'is no file: there is no folder {existing_folder}'
        )
        return what, f'did you mean {folder / near}?' if near else ''
    return 'is no file', ''


def no_file(path: Path, suffixes: tuple[str, ...]) -> str:
    """Return the reason why a path is no file of some suffixes, with a suggestion."""
    return '; '.join(filter(None, path_fault(path, suffixes)))


def no_such_name(
    kind: str, word: str, names: Iterable[str], path: Path, suffixes: tuple[str, ...],
    *, listed: bool = True,
) -> str:  # fmt: skip
    """Return the reason why a word names no file of a kind: the nearest name, or else all names.

    Args:
        kind: what the file is, such as ``scenario``.
        path: the word as a path.
        suffixes: suffixes of such files.
        listed: `marine_sim list` lists this kind.
    """
    options = list(names)
    is_path = '/' in word or word.endswith(suffixes)
    reason, near = ('', '') if path.is_dir() else path_fault(path, suffixes)
    hints = [f'{near} ' if near else '', did_you_mean(_stem(path.name, suffixes), options)]
    hint = next(filter(None, hints if is_path else reversed(hints)), '')
    expected = f'expected a path or one of: {", ".join(options)}'
    if (hint or is_path) and listed:
        expected = f'expected a path or a name of `marine_sim list {kind}s`'
    if not reason or not is_path:
        reason = f'is neither a file nor a shipped {kind}'
    return f'{kind} {word!r} {reason}; {hint}{expected}'


def _stem(name: str, suffixes: tuple[str, ...]) -> str:
    """Return the name of a file without the longest of some suffixes that it has."""
    return name[: -max((len(s) for s in suffixes if name.endswith(s)), default=0) or None]


def _nearest_file(word: str, names: Iterable[str], suffixes: tuple[str, ...]) -> str:
    """Return the nearest name; of a word with a suffix, by the stems of those that have one."""
    if not word.endswith(suffixes):
        return nearest_name(word, names)
    by_stem = {_stem(name, suffixes): name for name in names if name.endswith(suffixes)}
    return by_stem.get(nearest_name(_stem(word, suffixes), by_stem), '')


def _names(folder: Path) -> list[str]:
    try:
        return sorted(islice((entry.name for entry in os.scandir(folder)), _MAX_COMPARED_NAMES))
    except OSError:
        return []


# Errors of the package, under one base class.


class MarineSimError(Exception):
    """Base of all errors that a user can fix: one line saying what, where, what was expected."""

    def __str__(self) -> str:
        """Return the message with control characters escaped, since it may quote foreign names."""
        return escape_controls(super().__str__())


class MissingPackageError(MarineSimError):
    """A feature needs a Python package that is not installed."""


class ModelError(MarineSimError):
    """A vehicle description cannot be used."""


class ParameterError(MarineSimError):
    """A parameter or an argument is out of its range."""


class ScenarioError(MarineSimError):
    """A scenario file cannot be used."""


class RecordingError(MarineSimError):
    """A recording could not be written or read."""


class RunError(MarineSimError):
    """A run did not come to its end, although its input was valid."""


_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)


def exit_code(error: MarineSimError) -> int:
    """Return 1 if a run or the disk failed, and 2 for invalid input."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, RunError) or getattr(cause, 'errno', None) in _DISK:
            return 1
        cause = cause.__cause__ or cause.__context__
    return 2
