# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""XML as other simulators' parsers take it: two hyphens in comments, prefixes not declared."""

from __future__ import annotations

import re
from pathlib import Path

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.files import read_text_file
from marine_sim_ros.importers.templates import refuse_template
from marine_sim_ros.model import xml
from marine_sim_ros.model.xml import Element

__all__ = ['IncludedFiles', 'parse_file', 'read_lenient']

MAX_INCLUDES = 200
"""Files that a model may include, those within included ones counted each time."""

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


class IncludedFiles:
    """Reads what a file includes; small files must not stand for millions of elements."""

    def __init__(self) -> None:
        self._files = self._elements = 0

    def parse(self, file: Path, where: str) -> Element:
        """Return the root element of an included file.

        Args:
            file: the file.
            where: place of what includes it, for messages.

        Raises:
            ModelError: it cannot be read, or there are too many.
        """
        self._files += 1
        if self._files > MAX_INCLUDES:
            raise ModelError(
                f'{where}: more than {MAX_INCLUDES} files are included; expected an end (do files '
                'include each other?)'
            )
        root = parse_file(file)
        self._elements += sum(1 for _ in root.iter())
        if self._elements > xml.MAX_ELEMENTS:
            raise ModelError(f'{where}: more than {xml.MAX_ELEMENTS:,} elements are included')
        return root


def parse_file(path: Path) -> Element:
    """Return the root element of a file of another simulator.

    Raises:
        ModelError: it cannot be read, is a template, or is no XML even so.
    """
    return xml.parse(read_lenient(path), str(path))


def read_lenient(path: Path) -> str:
    """Return the text of a file of another simulator, which is no template.

    Raises:
        ModelError: it cannot be read, or is a template.
    """
    text = _lenient(read_text_file(path, ModelError, xml.MAX_BYTES, mark=True))
    refuse_template(path, text)
    return text
