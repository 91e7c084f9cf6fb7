# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where a machine has the parts of Gazebo and of ros_gz_bridge."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from marine_sim_ros.gazebo.system.marine_sim_bindings import binding_name

__all__ = ['bridge_program', 'has_binding', 'has_module', 'plugin_folders']


def _paths(variable: str) -> list[Path]:
    return [Path(p) for p in os.environ.get(variable, '').split(os.pathsep) if p]


def _prefixes() -> Iterator[Path]:
    """Yield where gz-sim may be installed."""
    yield Path('/usr')
    if program := shutil.which('gz'):
        yield Path(program).resolve().parent.parent
    for prefix in _paths('AMENT_PREFIX_PATH'):
        yield prefix / 'opt' / 'gz_sim_vendor'


def plugin_folders() -> list[Path]:
    """Return where gz-sim, of any release, may have its systems."""
    patterns = ('lib/gz-sim*/plugins', 'lib/*/gz-sim*/plugins')
    found = [folder for prefix in _prefixes() for p in patterns for folder in prefix.glob(p)]
    return [*_paths('GZ_SIM_SYSTEM_PLUGIN_PATH'), *found]


def has_binding(stem: str) -> bool:
    """Return whether a Python module of Gazebo is installed, named without its number."""
    try:
        return bool(binding_name(stem))
    except ImportError:
        return False


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
