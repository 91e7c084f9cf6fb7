# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads a vehicle file and expands xacro."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.model import xml

__all__ = ['read_description']


def read_description(path: Path, arguments: Mapping[str, str]) -> str:
    """Return the URDF text of a file, its xacro expanded with ``name:=value`` arguments.

    Raises:
        ModelError: the file cannot be read, is not text, or xacro rejects it.
    """
    try:
        if path.stat().st_size > xml.MAX_BYTES:
            raise ModelError(
                f'{path}: the description has {path.stat().st_size / 1e6:.0f} MB; '
                f'expected at most {xml.MAX_BYTES / 1e6:.0f} MB of XML'
            )
        text = path.read_text(encoding='utf-8-sig')
    except UnicodeDecodeError as error:
        raise ModelError(f'{path}: not UTF-8 text: {error}') from None
    except OSError as error:
        raise ModelError(f'{path}: cannot be read: {error.strerror}') from None
    if path.suffix != '.xacro' and 'http://www.ros.org/wiki/xacro' not in text[:4096]:
        if arguments:
            raise ModelError(
                f'{path}: has no xacro, so it takes no arguments; '
                f'got {", ".join(f"{k}:={v}" for k, v in arguments.items())}'
            )
        return text
    return _expand(path, text, arguments)


def _expand(path: Path, text: str, arguments: Mapping[str, str]) -> str:
    import xacro

    root = xml.parse(text, str(path))  # refuses entities before xacro's own parser sees them
    declared = {str(e.get('name', '')) for e in root.iter('{http://www.ros.org/wiki/xacro}arg')}
    for name in arguments:
        if name not in declared:
            raise ModelError(
                f'{path}: unknown xacro argument {name!r}; '
                f'expected one of: {", ".join(sorted(declared)) or "none"}'
            )
    try:
        document = xacro.process_file(str(path), mappings=dict(arguments))
    except Exception as error:  # xacro raises many unrelated types
        message = ' '.join(str(error).split()) or type(error).__name__
        raise ModelError(f'{path}: xacro: {message}') from None
    return str(document.toprettyxml(indent='  '))
