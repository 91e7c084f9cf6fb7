# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""File names for names that come from outside, such as topics and vehicles of a recording."""

from __future__ import annotations

import re
from collections.abc import Container
from hashlib import sha256

__all__ = ['file_name']

_PLAIN = re.compile(r'[A-Za-z0-9_]+(/[A-Za-z0-9_]+)*')
_DEVICES = re.compile(r'(?i:con|prn|aux|nul|com\d|lpt\d)')
"""Names that are no files on other systems, which may unpack what is written here."""
_LONGEST, _READABLE = 100, 40
"""Characters of a name that is taken as it is, and of another one before its digest."""


def file_name(name: str, taken: Container[str] = ()) -> str:
    """Return a file name, without its suffix, that lies in its folder and is of this name alone.

    A name of letters, digits and underscores stays as it is, with an underscore for each slash.
    Any other, or one whose file name is taken, ends with a dash and a digest of it.

    Args:
        name: any text.
        taken: file names that others have.
    """
    plain = name.replace('/', '_')
    usable = _PLAIN.fullmatch(name) and len(name) <= _LONGEST and not _DEVICES.fullmatch(plain)
    if usable and plain not in taken:
        return plain
    digest = sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:16]
    readable = re.sub('[^A-Za-z0-9_]+', '_', name)[:_READABLE].strip('_')
    return f'{readable}-{digest}'
