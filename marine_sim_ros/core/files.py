# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Files: bounded reading, the package's own resources, the user's cache, POSIX differences.

Modules of POSIX (fcntl, termios, tty, resource, pwd) are imported in the functions that need them,
so that this module can be imported on Windows.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import signal
import stat
import zipfile
import zlib
from collections.abc import Callable
from errno import ENOENT
from pathlib import Path
from typing import IO, Any, TypeVar

from marine_sim_ros.core.errors import MarineSimError, ParameterError, path_fault

__all__ = [
    'MAX_TEXT_BYTES',
    'SIGPROF',
    'cache_folder',
    'load_or_compute',
    'check_archive',
    'check_file',
    'data_folder',
    'effective_user',
    'expand_home',
    'open_flags',
    'program_folder',
    'read_file',
    'read_text_file',
    'replace_file',
    'require_posix',
    'resource_folder',
]


# Features of POSIX systems that Windows lacks.

SIGPROF: int = getattr(signal, 'SIGPROF', 27)
"""Number of the signal SIGPROF; unused on Windows."""


def require_posix(what: str) -> None:
    """Raise ParameterError where the system is no POSIX system.

    Args:
        what: command or option that needs it.
    """
    if importlib.util.find_spec('fcntl') is None:
        raise ParameterError(
            f'{what} needs Linux or another POSIX system, and this Python has no fcntl; '
            'simulate, validate, doctor and analyze work here'
        )


def effective_user() -> int:
    """Return the number of the user of this process; 0 on Windows, as all its files have."""
    return os.geteuid() if hasattr(os, 'geteuid') else 0


def open_flags(*names: str) -> int:
    """Return flags of ``os.open``, without those that this system does not have."""
    result = 0
    for name in names:
        result |= getattr(os, name, 0)
    return result


# Bounded reading of foreign files: regular files only, up to a number of bytes.

MAX_TEXT_BYTES = 2_000_000
"""Largest configuration file: the 100,000 values that a YAML file may have take less."""

_FILE_KINDS = {
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
    """Refuse a path that is no regular file of up to ``limit`` bytes.

    Devices and pipes have no end: ``/dev/zero`` would be read until the memory is full.

    Raises:
        MarineSimError: of the given kind.
    """
    try:
        status = path.stat()
    except OSError as problem:
        near = path_fault(path, ())[1] if problem.errno == ENOENT else ''
        hint = f'; {near}' if near else ''
        raise error(f'{_name(path)}: cannot be read: {problem.strerror}{hint}') from None
    except ValueError:
        raise error(f'{_name(path)}: is no name of a file') from None
    if not stat.S_ISREG(status.st_mode):
        kind = _FILE_KINDS.get(stat.S_IFMT(status.st_mode), 'no regular file')
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
        raise error(
            f'{_name(path)}: not UTF-8 text: byte {content[problem.start]:#04x} at '
            f'{problem.start}; expected a text file'
        ) from None
    return text.replace('\r\n', '\n').replace('\r', '\n')  # as files opened as text have it


def _too_large(path: Path, size: int, limit: int, error: type[MarineSimError]) -> MarineSimError:
    return error(f'{_name(path)}: has {size / 1e6:.3g} MB; expected at most {limit / 1e6:.3g} MB')


def _name(path: Path) -> str:
    return str(path)[:300]


# Resources of the package: in the source, or installed by pip or colcon.


def resource_folder(name: str) -> Path:
    """Return the folder ``urdf``, ``config``, ``worlds`` or ``launch``.

    It lies beside the package in the source (a checkout, an editable installation, colcon with
    ``--symlink-install``), in the package where pip installed it, and in the ament index where
    colcon did.

    Raises:
        MarineSimError: it is in none of these places.
    """
    package = Path(__file__).resolve().parents[1]
    beside, within = package.parent, package / 'share'
    # Beside an installed package lie the packages of others, which may have such a name.
    checkout = (beside / 'package.xml').is_file()
    for folder in (within / name, *([beside / name] if checkout else [])):
        if folder.is_dir():
            return folder
    try:
        from ament_index_python.packages import get_package_share_directory

        share_folder = Path(get_package_share_directory('marine_sim_ros')) / name
        if share_folder.is_dir():
            return share_folder
    except (ImportError, LookupError, ValueError, OSError):  # OSError: no AMENT_PREFIX_PATH
        pass
    raise MarineSimError(
        f'the folder {name!r} of marine_sim_ros is not installed; expected it in {within}, in '
        f'{beside} (a checkout), or in the ament index (source the workspace)'
    )


# Cache folder of a user.


def cache_folder(kind: str) -> Path | None:
    """Return the folder of this user's results, which may not exist yet; None: there is none.

    ``$XDG_CACHE_HOME/marine_sim_ros/KIND``, else below ``~/.cache`` (XDG Base Directory
    Specification 0.8; relative values are ignored, as it demands). A folder in which another
    user can write is not used: a kept program would run as this user.
    """
    return _user_folder('XDG_CACHE_HOME', '.cache', kind)


def data_folder(kind: str) -> Path | None:
    """Return the folder of this user's own data, which may not exist yet; None: there is none.

    ``$XDG_DATA_HOME/marine_sim_ros/KIND``, else below ``~/.local/share``, as ``cache_folder``.
    """
    return _user_folder('XDG_DATA_HOME', '.local/share', kind)


def _user_folder(variable: str, default: str, kind: str) -> Path | None:
    configured = os.environ.get(variable, '')
    try:
        base = Path(configured) if os.path.isabs(configured) else Path.home() / default
    except RuntimeError:
        return None
    ours = base / 'marine_sim_ros'
    folders = (base, ours, ours / kind)
    return folders[-1] if base.is_absolute() and all(map(_is_safe, folders)) else None


def _is_safe(folder: Path) -> bool:
    """Return whether only this user and root can write or replace files in a folder."""
    try:
        status = folder.stat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    open_to_all = status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX
    return (
        stat.S_ISDIR(status.st_mode) and status.st_uid in (0, effective_user()) and not open_to_all
    )


def program_folder() -> str:
    """Return a message about the folder of the compiled programs."""
    folder = cache_folder('jax')
    if folder is None or not _is_writable(folder):
        return 'programs are not kept: no cache folder that only this user can write'
    return f'programs are kept in {folder}'


def _is_writable(folder: Path) -> bool:
    try:  # what the rights allow, a file system may refuse
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


Result = TypeVar('Result')
_DAMAGED = (
    OSError,
    ValueError,
    TypeError,
    LookupError,
    EOFError,
    RecursionError,
    zipfile.BadZipFile,
    zlib.error,
)
"""Errors of readers of JSON and of NumPy's files where a file is damaged."""


def load_or_compute(
    kind: str,
    name: str,
    compute: Callable[[], Result],
    *,
    load: Callable[[bytes], Result],
    dump: Callable[[Result], bytes],
    limit: int = 10_000_000,
) -> Result:
    """Return the content of the cache under a name, or else compute it and keep it.

    A file starts with the SHA-256 of the rest. One that is damaged, larger than ``limit`` (bytes)
    or another user's counts as none and is written anew. Without a cache folder nothing is kept:
    that is no error.

    Args:
        kind: as of :func:`cache_folder`.
        name: name of the file, with the digest of all that the result follows from.
        compute: function that computes the result.
        load: function from the content of a file to the result; raises for what is odd about it.
        dump: its inverse.
        limit: maximum size of a file, bytes.
    """
    folder = cache_folder(kind)
    if folder is None:
        return compute()
    path = folder / name
    with contextlib.suppress(*_DAMAGED):
        content = _read_cached(path, limit)
        if content is not None:
            return load(content)
    result = compute()
    content = dump(result)
    write_atomically(path, lambda file: file.write(hashlib.sha256(content).digest() + content))
    return result


def _read_cached(path: Path, limit: int) -> bytes | None:
    """Return the content of a cache file; None: it is damaged, too large, or another user's."""
    status = path.stat()
    ours = stat.S_ISREG(status.st_mode) and status.st_uid in (0, effective_user())
    if not ours or status.st_size > limit:
        return None
    content = path.read_bytes()
    size = hashlib.sha256().digest_size
    return content[size:] if hashlib.sha256(content[size:]).digest() == content[:size] else None


def replace_file(path: Path, content: bytes) -> None:
    """Write a file in one stroke: a process that dies leaves the old one, or none.

    Raises:
        OSError: it cannot be written.
    """
    draft = path.with_name(f'{path.name}.{os.getpid()}.tmp')
    draft.write_bytes(content)
    os.replace(draft, path)


def write_atomically(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file in one step, so that no other process ever reads half of it.

    Where nothing can be kept, nothing is: that is no error.
    """
    import tempfile  # not for every start

    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix='.', suffix=path.suffix)
        try:
            with os.fdopen(handle, 'wb') as file:
                write(file)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
