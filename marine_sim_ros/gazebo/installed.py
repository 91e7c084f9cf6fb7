# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where a machine has the parts of Gazebo and of ros_gz_bridge."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

__all__ = ['bridge_program', 'has_module', 'plugin_folders']


def _paths(variable: str) -> list[Path]:
    return [Path(p) for p in os.environ.get(variable, '').split(os.pathsep) if p]


def _prefixes() -> Iterator[Path]:
    """Yield where gz-sim 8 may be installed."""
    yield Path('/usr')
    if program := shutil.which('gz'):
        yield Path(program).resolve().parent.parent
    for prefix in _paths('AMENT_PREFIX_PATH'):
        yield prefix / 'opt' / 'gz_sim_vendor'


def plugin_folders() -> list[Path]:
    """Return where gz-sim 8 may have its systems."""
    patterns = ('lib/gz-sim-8/plugins', 'lib/*/gz-sim-8/plugins')
    found = [folder for prefix in _prefixes() for p in patterns for folder in prefix.glob(p)]
    return [*_paths('GZ_SIM_SYSTEM_PLUGIN_PATH'), *found]


def has_module(name: str) -> bool:
    """Return whether a Python module can be imported."""
    try:
        return find_spec(name) is not None
    except ImportError:
        return False


def bridge_program() -> Path | None:
    """Return ros_gz_bridge's program in the workspaces that are sourced, or None."""
    for prefix in _paths('AMENT_PREFIX_PATH'):
        path = prefix / 'lib' / 'ros_gz_bridge' / 'parameter_bridge'
        if path.is_file():
            return path
    return None
