# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads files that others wrote: regular files only, and no more than a bound of bytes."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path

from marine_sim_ros.core.errors import MarineSimError

__all__ = [
    'MAX_TEXT_BYTES',
    'check_archive',
    'check_file',
    'expand_home',
    'read_file',
    'read_text_file',
]

MAX_TEXT_BYTES = 2_000_000
"""Largest configuration file: the 100,000 values that a YAML file may have take less."""

_KINDS = {
    stat.S_IFDIR: 'a folder',
    stat.S_IFCHR: 'a device',
    stat.S_IFBLK: 'a device',
    stat.S_IFIFO: 'a pipe',
    stat.S_IFSOCK: 'a socket',
}


def expand_home(path: str | Path) -> Path:
    """Return a path with its ``~`` replaced; as it is where that user has no home."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def check_file(path: Path, limit: int, error: type[MarineSimError]) -> None:
    """Refuse what is no regular file of a size up to ``limit`` bytes.

    Devices and pipes have no end: ``/dev/zero`` would be read until the memory is full.

    Raises:
        MarineSimError: of the given kind.
    """
    try:
        status = path.stat()
    except OSError as problem:
        raise error(f'{_name(path)}: cannot be read: {problem.strerror}') from None
    except ValueError:
        raise error(f'{_name(path)}: is no name of a file') from None
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), 'no regular file')
        raise error(f'{_name(path)}: is {kind}; expected a regular file')
    if status.st_size > limit:
        raise _too_large(path, status.st_size, limit, error)


def check_archive(path: Path, limit: int, error: type[MarineSimError]) -> None:
    """Refuse what is no ZIP file (such as NPZ) of up to ``limit`` bytes, packed and unpacked.

    Raises:
        MarineSimError: of the given kind.
    """
    check_file(path, limit, error)
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (OSError, ValueError, zipfile.BadZipFile) as problem:
        raise error(f'{_name(path)}: cannot be read: {problem}') from None
    if size > limit:
        raise _too_large(path, size, limit, error)


def read_file(path: Path, limit: int, error: type[MarineSimError]) -> bytes:
    """Return the content of a regular file of up to ``limit`` bytes.

    Raises:
        MarineSimError: of the given kind: it cannot be read, is no regular file, or is larger.
    """
    check_file(path, limit, error)
    try:
        with path.open('rb') as file:
            content = file.read(limit + 1)  # files of /proc have no size
    except OSError as problem:
        raise error(f'{_name(path)}: cannot be read: {problem.strerror}') from None
    if len(content) > limit:
        raise _too_large(path, len(content), limit, error)
    return content


def read_text_file(
    path: Path, error: type[MarineSimError], limit: int = MAX_TEXT_BYTES, *, mark: bool = False
) -> str:
    """Return the text of a regular file in UTF-8; with ``mark``, a byte-order mark is left out.

    Raises:
        MarineSimError: of the given kind: see :func:`read_file`, or it is not UTF-8.
    """
    content = read_file(path, limit, error)
    try:
        text = content.decode('utf-8-sig' if mark else 'utf-8')
    except UnicodeDecodeError as problem:
        raise error(f'{_name(path)}: not UTF-8 text: {problem}') from None
    return text.replace('\r\n', '\n').replace('\r', '\n')  # as files opened as text have it


def _too_large(path: Path, size: int, limit: int, error: type[MarineSimError]) -> MarineSimError:
    return error(f'{_name(path)}: has {size / 1e6:.3g} MB; expected at most {limit / 1e6:.3g} MB')


def _name(path: Path) -> str:
    return str(path)[:300]
