# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Output of verbs: warnings and errors on standard error, files, closed pipes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from marine_sim_ros.core.errors import RecordingError, escape_controls

__all__ = [
    'check_writable',
    'discard_output',
    'flush_or_discard',
    'print_error',
    'print_warnings',
    'write_file',
]


# Standard output after its reader has closed it.


def discard_output() -> None:
    """Let the interpreter flush at its end without a further error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def flush_or_discard() -> None:
    """Write what is left for a terminal that may be gone."""
    try:
        sys.stdout.flush()
    except OSError:
        discard_output()


# Output of verbs: warnings on standard error, and requested files.


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


def check_writable(path: Path, option: str, *, parents: bool = False) -> None:
    """Check, before the work, that a file can be written; ``parents``: with missing folders.

    Raises:
        RecordingError: it cannot be written.
    """
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
