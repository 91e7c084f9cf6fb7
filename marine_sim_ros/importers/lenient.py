# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""XML as other simulators' parsers take it: two hyphens in comments, prefixes not declared."""

from __future__ import annotations

import re
from pathlib import Path

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.model import xml
from marine_sim_ros.model.xml import Element

__all__ = ['parse_file']

_COMMENT = re.compile(r'<!--.*?-->', re.DOTALL)
_PREFIX = re.compile(r'[<\s/]([A-Za-z_][\w.-]*):[A-Za-z_]')
_DECLARED = re.compile(r'xmlns:([A-Za-z_][\w.-]*)\s*=')
_ROOT = re.compile(r'<([A-Za-z_][\w.-]*)(?=[\s/>])')


def _lenient(text: str) -> str:
    """Return the text without comments, line breaks kept, with its prefixes declared."""
    text = _COMMENT.sub(lambda match: '\n' * match[0].count('\n'), text)
    inside = ' '.join(re.findall(r'<[^>]*>', text))
    known = {*_DECLARED.findall(text), 'xml', 'xmlns'}
    missing = sorted(set(_PREFIX.findall(inside)) - known)
    if not missing:
        return text
    names = ''.join(f' xmlns:{prefix}="urn:{prefix}"' for prefix in missing)
    return _ROOT.sub(lambda match: f'<{match[1]}{names}', text, count=1)


def parse_file(path: Path) -> Element:
    """Return the root element of a file of another simulator.

    Raises:
        ModelError: it cannot be read, or is no XML even so.
    """
    try:
        if path.stat().st_size > xml.MAX_BYTES:
            raise ModelError(
                f'{path}: has {path.stat().st_size / 1e6:.0f} MB; expected at most '
                f'{xml.MAX_BYTES / 1e6:.0f} MB of XML'
            )
        text = path.read_text(encoding='utf-8-sig')
    except UnicodeDecodeError as error:
        raise ModelError(f'{path}: not UTF-8 text: {error}') from None
    except OSError as error:
        raise ModelError(f'{path}: cannot be read: {error.strerror}') from None
    return xml.parse(_lenient(text), str(path))
