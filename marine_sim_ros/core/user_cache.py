# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Results that are kept between the runs of one user."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

__all__ = ['cache_folder', 'keep']


def cache_folder(kind: str) -> Path | None:
    """Return the folder of this user's results, which may not exist yet; None: there is no home.

    ``$XDG_CACHE_HOME/marine_sim_ros/KIND``, else below ``~/.cache`` (XDG Base Directory
    Specification 0.8; relative values are ignored, as it demands).
    """
    given = os.environ.get('XDG_CACHE_HOME', '')
    try:
        base = Path(given) if os.path.isabs(given) else Path.home() / '.cache'
    except RuntimeError:
        return None
    return base / 'marine_sim_ros' / kind


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
