# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Keeps mass properties between runs, by the content they follow from."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.model.mass.properties import MassProperties

__all__ = ['cache_folder', 'cached']

_SHAPES = {
    'mass': (),
    'center_of_mass': (3,),
    'inertia': (3, 3),
    'volume': (),
    'center_of_volume': (3,),
    'height': (),
}
_LARGEST = 10_000_000
"""Bytes; nothing of ours is nearly as large."""


def cache_folder() -> Path | None:
    """Return the folder of this user's results, which may not exist yet; None: there is no home.

    ``$XDG_CACHE_HOME/marine_sim_ros/mass``, else below ``~/.cache`` (XDG Base Directory
    Specification 0.8; relative values are ignored, as it demands).
    """
    given = os.environ.get('XDG_CACHE_HOME', '')
    try:
        base = Path(given) if os.path.isabs(given) else Path.home() / '.cache'
    except RuntimeError:
        return None
    return base / 'marine_sim_ros' / 'mass'


def cached(key: str, parts: int, compute: Callable[[], MassProperties]) -> MassProperties:
    """Return what is kept under a key, or else what is computed, which is then kept.

    A file that is damaged counts as none and is written anew. Where nothing can be kept, nothing
    is: that is no error.

    Args:
        key: names the content, as ``part_list.content_key`` does.
        parts: number of parts.
        compute: gives the result.
    """
    folder = cache_folder()
    path = folder / f'{key}.json' if folder else None
    found = _read(path, key, parts) if path else None
    if found is not None:
        return found
    result = compute()
    if path is not None:
        with contextlib.suppress(OSError):
            _write(path, key, result)
    return result


def _read(path: Path, key: str, parts: int) -> MassProperties | None:
    try:
        if path.stat().st_size > _LARGEST:
            return None
        content = json.loads(path.read_text(encoding='utf-8'))
        return _result(content, key, parts)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _result(content: dict[str, Any], key: str, parts: int) -> MassProperties:
    """Return the result of a file's content; whatever is odd about it raises."""
    if content['key'] != key:
        raise ValueError
    values: dict[str, Any] = {
        name: _numbers(content[name], shape)
        for name, shape in (*_SHAPES.items(), ('part_volumes', (parts,)))
    }
    warnings = content['warnings']
    if not all(isinstance(text, str) and text.isprintable() for text in warnings):
        raise ValueError
    for name, shape in _SHAPES.items():
        if not shape:
            values[name] = float(values[name])
    if min(values['mass'], values['volume'], values['height'], *values['part_volumes']) < 0:
        raise ValueError
    return MassProperties(**values, warnings=tuple(warnings))


def _numbers(content: Any, shape: tuple[int, ...]) -> np.ndarray:
    values = np.array(content, float)
    if values.shape != shape or not np.all(np.isfinite(values)):
        raise ValueError
    return values


def _write(path: Path, key: str, result: MassProperties) -> None:
    """Write a file in one step, so that no other process ever reads half of it."""
    content: dict[str, Any] = {'key': key, 'warnings': list(result.warnings)}
    for name in (*_SHAPES, 'part_volumes'):
        content[name] = np.asarray(getattr(result, name)).tolist()
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix='.', suffix='.json')
    try:
        with os.fdopen(handle, 'w', encoding='utf-8') as file:
            json.dump(content, file)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
