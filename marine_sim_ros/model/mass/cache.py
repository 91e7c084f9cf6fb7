# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Keeps mass properties between runs, by the content they follow from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.user_cache import cache_folder, keep
from marine_sim_ros.model.mass.properties import MassProperties

__all__ = ['cached']

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


def cached(key: str, parts: int, compute: Callable[[], MassProperties]) -> MassProperties:
    """Return what is kept under a key, or else what is computed, which is then kept.

    A file that is damaged counts as none and is written anew. Where nothing can be kept, nothing
    is: that is no error.

    Args:
        key: names the content, as ``part_list.content_key`` does.
        parts: number of parts.
        compute: gives the result.
    """
    folder = cache_folder('mass')
    path = folder / f'{key}.json' if folder else None
    found = _read(path, key, parts) if path else None
    if found is not None:
        return found
    result = compute()
    if path is not None:
        content: dict[str, Any] = {'key': key, 'warnings': list(result.warnings)}
        for name in (*_SHAPES, 'part_volumes'):
            content[name] = np.asarray(getattr(result, name)).tolist()
        keep(path, lambda file: file.write(json.dumps(content).encode()))
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
