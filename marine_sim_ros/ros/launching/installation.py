# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Installed parts of a machine: middleware, DDS profile, shared memory, gamepads.

A participant has a segment ``fastrtps_<id>`` and ports ``fastrtps_port<n>`` with a mutex
``sem.fastrtps_port<n>_mutex`` (``fastdds_...`` from Fast DDS 3 on); it holds a flock on
``<name>_el`` (``_sl`` of a port that readers share). A killed process leaves all of these files;
the kernel frees its locks.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from marine_sim_ros.core.errors import MarineSimError, ParameterError
from marine_sim_ros.core.extras import ros_packages
from marine_sim_ros.core.files import effective_user, resource_folder

__all__ = [
    'check_joy',
    'dds_profile',
    'fast_dds_library',
    'fast_dds_version',
    'has_joy',
    'free_shared_memory',
    'no_joy',
    'remove_stale',
    'uses_fast_dds',
]


# Middleware (RMW) of this environment, found by its files.

_LIBRARIES = {'libfastdds.so': 3, 'libfastrtps.so': 2}
"""Major version of Fast DDS by the name of its library; later versions keep the first name."""


def uses_fast_dds() -> bool:
    """Return whether nodes use Fast DDS, the default of every distribution."""
    return (os.environ.get('RMW_IMPLEMENTATION') or 'rmw_fastrtps').startswith('rmw_fastrtps')


def fast_dds_library() -> Path | None:
    """Return the library of Fast DDS that the loader finds first, or None."""
    for folder in _folders():
        for name in _LIBRARIES:
            if (path := folder / name).exists():
                return path
    return None


def fast_dds_version() -> int | None:
    """Return the major version of Fast DDS, or None where its library is not found."""
    library = fast_dds_library()
    return _LIBRARIES[library.name] if library else None


def _folders() -> Iterator[Path]:
    """Yield the folders of libraries: those of the loader, then those of the ROS prefixes."""
    for name in os.environ.get('LD_LIBRARY_PATH', '').split(os.pathsep):
        if name:
            yield Path(name)
    for name in (*os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep), sys.prefix):
        if name:
            library = Path(name) / 'lib'
            yield library
            yield from sorted(library.glob('*-linux-gnu'))


# Fast DDS profile of a run: config/dds/fast_dds_*.xml.

_VARIABLES = {2: 'FASTRTPS_DEFAULT_PROFILES_FILE', 3: 'FASTDDS_DEFAULT_PROFILES_FILE'}
"""By the major version of Fast DDS, each of which refuses the spelling of the other."""
_LOCAL = ('DEFAULT_FASTRTPS_PROFILES.xml', 'DEFAULT_FASTDDS_PROFILES.xml')
"""Files that Fast DDS reads in the folder where a process starts."""


def dds_profile() -> dict[str, str]:
    """Return the environment for nodes to find each other soon, and to send few heartbeats.

    Empty for other middleware, where no Fast DDS is found, and where the user has profiles.
    """
    own = any(os.environ.get(name) for name in _VARIABLES.values())
    if own or any(Path(name).exists() for name in _LOCAL) or not uses_fast_dds():
        return {}
    version = fast_dds_version()
    if version is None:
        return {}
    return {_VARIABLES[version]: str(resource_folder('config') / f'dds/fast_dds_{version}.xml')}


# Files of Fast DDS in /dev/shm: removal of stale ones, and free space.

FOLDER = Path('/dev/shm')
MIN_AGE = 1.0
"""s; a younger file may be of a process that has not locked it yet."""
MIN_FREE_SPACE = 1e6
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
    mapped = _mapped_files(folder) if stale else frozenset()
    removed = 0
    for path in (path for paths in stale if mapped.isdisjoint(paths) for path in paths):
        with suppress(OSError):
            path.unlink()
            removed += 1
    return removed


def _may_be_stale(paths: Iterable[Path]) -> bool:
    """Return whether files are this user's, not new, and without a lock that is held."""
    newest = time.time() - MIN_AGE
    try:
        return all(
            (status := path.stat()).st_uid == effective_user()
            and status.st_ctime < newest
            and not (path.name.endswith(('_el', '_sl')) and _is_locked(path))
            for path in paths
        )
    except OSError:  # another process removes them
        return False


def _is_locked(path: Path) -> bool:
    import fcntl

    with path.open('rb') as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def _mapped_files(folder: Path) -> frozenset[Path]:
    """Return the files in a folder that processes have mapped, as far as /proc is readable."""
    files: set[Path] = set()
    for maps in Path('/proc').glob('[0-9]*/maps'):
        with suppress(OSError):
            for line in maps.read_text(errors='replace').splitlines():
                name = line.partition(f' {folder}/')[2]
                if name:
                    files.add(folder / name)
    return frozenset(files)


@cache
def free_shared_memory() -> None:
    """Remove stale shared memory of DDS, once; check that enough is free.

    Raises:
        MarineSimError: too little is free; without it a process crashes.
    """
    if not uses_fast_dds():
        return
    remove_stale()
    try:
        status = os.statvfs(FOLDER)
    except OSError:  # no Linux
        return
    free = status.f_bavail * status.f_frsize
    if free < MIN_FREE_SPACE:
        raise MarineSimError(
            f'{FOLDER} has {free / 1e6:.1f} MB left for the shared memory of DDS; expected '
            f'{MIN_FREE_SPACE / 1e6:.0f} MB or more: remove what fills it, or give it more, as of '
            'docker run --shm-size=64m'
        )


# Check that the ROS 2 package joy (gamepads) is installed; imports no launch.


@cache
def has_joy() -> bool:
    """Return whether the ROS package joy is installed."""
    try:
        from ament_index_python.packages import get_package_prefix

        get_package_prefix('joy')
    except (ImportError, LookupError, ValueError):  # no index; no such package; no path of it
        return False
    return True


def no_joy() -> str:
    """Return the message that joy is missing, with the remedies."""
    return (
        'the ROS package joy, which reads gamepads, is not installed (PyPI does not have it); '
        f'expected `apt install {ros_packages("joy")}` (rosdep key joy), `marine_sim teleop '
        '--gamepad` with pygame (`pip install pygame-ce`), or the gamepad on the page of the '
        'console, where the browser reads it'
    )


def check_joy() -> None:
    """Raise ParameterError if joy is not installed."""
    if not has_joy():
        raise ParameterError(f'joy:=true: {no_joy()} (console:=true)')
