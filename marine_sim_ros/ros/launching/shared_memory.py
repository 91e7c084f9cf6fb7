# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Files of Fast DDS in /dev/shm: removes what no process holds, and looks for room there.

A participant has a segment ``fastrtps_<id>`` and ports ``fastrtps_port<n>`` with a mutex
``sem.fastrtps_port<n>_mutex`` (``fastdds_...`` from Fast DDS 3 on); it holds a flock on
``<name>_el`` (``_sl`` of a port that readers share). A process that is killed leaves all of them;
the kernel frees its locks.
"""

from __future__ import annotations

import os
import re
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.posix import effective_user
from marine_sim_ros.ros.launching.middleware import uses_fast_dds

__all__ = ['make_room', 'remove_stale']

FOLDER = Path('/dev/shm')
YOUNGEST = 1.0
"""s; a younger file may be of a process that has not locked it yet."""
ROOM = 1e6
"""Bytes; a process takes 0.7 MB. Where Fast DDS gets no segment it uses UDP, but where it gets one
without pages behind it the process dies of SIGBUS."""
_NAME = re.compile(r'(?:sem\.)?(fast(?:rtps|dds)_(?:port\d+|[0-9a-f]{16}))(_el|_sl|_mutex)?')


def remove_stale(folder: Path = FOLDER) -> int:
    """Remove this user's files that no living process holds; return how many."""
    groups: dict[str, list[Path]] = defaultdict(list)
    with suppress(OSError):
        for path in folder.iterdir():
            if match := _NAME.fullmatch(path.name):
                groups[match[1]].append(path)
    stale = [paths for paths in groups.values() if _may_be_stale(paths)]
    mapped = _mapped(folder) if stale else frozenset()
    removed = 0
    for path in (path for paths in stale if mapped.isdisjoint(paths) for path in paths):
        with suppress(OSError):
            path.unlink()
            removed += 1
    return removed


def _may_be_stale(paths: Iterable[Path]) -> bool:
    """Return whether files are this user's, not new, and without a lock that is held."""
    newest = time.time() - YOUNGEST
    try:
        return all(
            (status := path.stat()).st_uid == effective_user()
            and status.st_ctime < newest
            and not (path.name.endswith(('_el', '_sl')) and _locked(path))
            for path in paths
        )
    except OSError:  # another process removes them
        return False


def _locked(path: Path) -> bool:
    import fcntl

    with path.open('rb') as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def _mapped(folder: Path) -> frozenset[Path]:
    """Return the files in a folder that processes have mapped, where they can be looked at."""
    found: set[Path] = set()
    for maps in Path('/proc').glob('[0-9]*/maps'):
        with suppress(OSError):
            for line in maps.read_text(errors='replace').splitlines():
                name = line.partition(f' {folder}/')[2]
                if name:
                    found.add(folder / name)
    return frozenset(found)


@cache
def make_room() -> None:
    """Remove what no process holds, once.

    Raises:
        MarineSimError: too little is left, of which a process would die.
    """
    if not uses_fast_dds():
        return
    remove_stale()
    try:
        status = os.statvfs(FOLDER)
    except OSError:  # no Linux
        return
    room = status.f_bavail * status.f_frsize
    if room < ROOM:
        raise MarineSimError(
            f'{FOLDER} has {room / 1e6:.1f} MB left for the shared memory of DDS; expected '
            f'{ROOM / 1e6:.0f} MB or more: remove what fills it, or give it more, as of '
            'docker run --shm-size=64m'
        )
