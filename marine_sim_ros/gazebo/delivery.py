# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The two ways a wrench gets to Gazebo, and which of them a machine can go."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from marine_sim_ros.errors import ParameterError

__all__ = ['DELIVERIES', 'IN_SERVER', 'STOCK', 'chosen_delivery', 'missing_for_in_server']

IN_SERVER, STOCK = 'in_server', 'stock'
DELIVERIES = ('auto', IN_SERVER, STOCK)

_LOADER = 'libgz-sim-python-system-loader-system.so'
_MODULES = ('gz.sim8', 'gz.transport13', 'gz.msgs10', 'gz.math7', 'sdformat14')


def _plugin_folders() -> list[Path]:
    """Return where gz-sim 8 may have its systems."""
    named = os.environ.get('GZ_SIM_SYSTEM_PLUGIN_PATH', '').split(os.pathsep)
    program = shutil.which('gz')
    prefixes = [Path('/usr')] + ([Path(program).resolve().parent.parent] if program else [])
    for prefix in filter(None, os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)):
        prefixes.append(Path(prefix) / 'opt' / 'gz_sim_vendor')
    patterns = ('lib/gz-sim-8/plugins', 'lib/*/gz-sim-8/plugins')
    found = [folder for prefix in prefixes for p in patterns for folder in prefix.glob(p)]
    return [*(Path(n) for n in named if n), *found]


def _has(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:
        return False


def missing_for_in_server() -> list[str]:
    """Return what the in-server way needs and this machine has not."""
    found = any((folder / _LOADER).is_file() for folder in _plugin_folders())
    missing = [] if found else [f'the system {_LOADER}']
    return missing + [f'the Python module {m}' for m in _MODULES if not _has(m)]


def chosen_delivery(asked: str) -> tuple[str, str]:
    """Return ``in_server`` or ``stock``, and why, in words for the user.

    Args:
        asked: one of ``DELIVERIES``; ``auto`` takes ``in_server`` where all it needs is there.

    Raises:
        ParameterError: another word.
    """
    if asked not in DELIVERIES:
        raise ParameterError(f'delivery:={asked}; expected one of: {", ".join(DELIVERIES)}')
    if asked != 'auto':
        return asked, 'as asked'
    missing = missing_for_in_server()
    if missing:
        return STOCK, f'{", ".join(missing)}: not found'
    return IN_SERVER, 'its loader and modules are here'
