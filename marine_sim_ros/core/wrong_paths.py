# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What to say of a path that is no file: a folder and the files in it, or the nearest name."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

from marine_sim_ros.core.choices import nearest

__all__ = ['no_file']

_MOST = 10_000
"""Names of a folder that are compared."""
_FIRST = ('model.sdf', 'model.urdf', 'robot.urdf', 'robot.urdf.xacro')


def no_file(path: Path, suffixes: tuple[str, ...]) -> str:
    """Return why a path is no file of some suffixes, and what may have been meant.

    Args:
        path: path of no regular file.
        suffixes: suffixes of the files that are looked for in a folder, such as ``.urdf``.
    """
    if path.is_dir():
        found = [n for n in _names(path) if n.endswith(suffixes) and (path / n).is_file()]
        found.sort(key=lambda n: (_FIRST.index(n) if n in _FIRST else len(_FIRST), n))
        if not found:
            return f'is a folder without a description ({", ".join(suffixes)})'
        more = f' ({len(found)} files)' if len(found) > 1 else ''
        return f'is a folder; did you mean {path / found[0]}?{more}'
    parts = path.parts
    for count in range(1, len(parts) + 1):
        here = Path(*parts[:count])
        if here.exists():
            continue
        folder = here.parent
        near = nearest(here.name, _names(folder))
        hint = f'; did you mean {folder / near}?' if near else ''
        what = 'is no file' if here == path else f'is no file: there is no folder {here}'
        return what + hint
    return 'is no file'


def _names(folder: Path) -> list[str]:
    try:
        return sorted(islice((entry.name for entry in os.scandir(folder)), _MOST))
    except OSError:
        return []
