# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The middleware (RMW) of this environment, found by its files, not by names of distributions."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ['fast_dds_library', 'fast_dds_version', 'uses_fast_dds']

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
