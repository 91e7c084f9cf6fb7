# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gazebo's Python modules, whose names have another number in each release.

Harmonic has gz.sim8 and gz.msgs10, Ionic gz.sim9 and gz.msgs11, Jetty gz.sim and gz.msgs. The
newest that is installed is taken, a name without a number before all others. Gazebo's server
imports this module too, so that it needs the standard library alone.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ['binding', 'binding_name', 'message']


def binding_name(stem: str) -> str:
    """Return the full name of a module, such as gz.sim8.

    Args:
        stem: its name without a number: gz.sim, gz.transport, gz.msgs, gz.math or sdformat.

    Raises:
        ImportError: it is not installed with any number.
    """
    package, _, name = stem.rpartition('.')
    try:
        folders = import_module(package).__path__ if package else sys.path
    except ModuleNotFoundError:
        folders = []
    pattern = re.compile(rf'{name}(\d*)(?:\.py|(?:\.[\w-]+)*\.(?:so|pyd))?')
    suffixes = {match[1] for entry in _entries(folders) if (match := pattern.fullmatch(entry))}
    if not suffixes:
        raise ModuleNotFoundError(f'no Python module {stem}, with or without a number')
    return stem + max(suffixes, key=lambda number: int(number) if number else sys.maxsize)


def binding(stem: str, submodule: str = '') -> Any:
    """Import a module by its name without a number, or a submodule of it.

    Raises:
        ImportError: it is not installed, or something that it needs.
    """
    return import_module('.'.join(filter(None, (binding_name(stem), submodule))))


def message(name: str, module: str = '') -> Any:
    """Return the class of a message of gz.msgs, such as StringMsg.

    Args:
        module: name of its file before ``_pb2``, where that is not the class's in small letters.

    Raises:
        ImportError: it is not installed.
    """
    return getattr(binding('gz.msgs', f'{module or name.lower()}_pb2'), name)


def _entries(folders: Any) -> list[str]:
    """Return the names of files in folders; a path of Python may name what is none."""
    return [p.name for folder in map(Path, folders) if folder.is_dir() for p in folder.iterdir()]
