# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Results that are kept between the runs of one user."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from marine_sim_ros.core.posix import effective_user

__all__ = ['cache_folder', 'keep', 'kept_programs']


def cache_folder(kind: str) -> Path | None:
    """Return the folder of this user's results, which may not exist yet; None: there is none.

    ``$XDG_CACHE_HOME/marine_sim_ros/KIND``, else below ``~/.cache`` (XDG Base Directory
    Specification 0.8; relative values are ignored, as it demands). A folder in which another
    user can write is not used: a kept program would run as this user.
    """
    given = os.environ.get('XDG_CACHE_HOME', '')
    try:
        base = Path(given) if os.path.isabs(given) else Path.home() / '.cache'
    except RuntimeError:
        return None
    ours = base / 'marine_sim_ros'
    folders = (base, ours, ours / kind)
    return folders[-1] if base.is_absolute() and all(map(_is_safe, folders)) else None


def _is_safe(folder: Path) -> bool:
    """Return whether only this user and root can put files of theirs in the place of ours."""
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


def kept_programs() -> str:
    """Say where the compiled programs are kept."""
    folder = cache_folder('jax')
    if folder is None or not _is_writable(folder):
        return 'programs are not kept: no cache folder that only this user can write'
    return f'programs are kept in {folder}'


def _is_writable(folder: Path) -> bool:
    return os.access(next(p for p in (folder, *folder.parents) if p.exists()), os.W_OK)


def keep(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file in one step, so that no other process ever reads half of it.

    Where nothing can be kept, nothing is: that is no error.

    Args:
        path: the file.
        write: writes its content.
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
