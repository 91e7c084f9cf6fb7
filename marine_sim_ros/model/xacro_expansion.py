# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads a vehicle file and expands xacro."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree

from marine_sim_ros.core.errors import ModelError, expected_one_of
from marine_sim_ros.core.files import read_text_file
from marine_sim_ros.core.packages import RosPackageError
from marine_sim_ros.model import xml
from marine_sim_ros.model.kinematics import base_link_of, reroot
from marine_sim_ros.model.xacro_expressions import RefusedExpression
from marine_sim_ros.model.xacro_rules import XacroRules, innermost_error

__all__ = ['BASE_ARGUMENT', 'Description', 'expand_description', 'read_description']

_DECLARED = re.compile(r'<xacro:arg\s[^>]*?\bname\s*=\s*["\']([^"\']+)["\']')
_USED = re.compile(r'\$\(arg\s+([^\s)]+)\s*\)|\bxacro\.arg\(\s*["\']([^"\']+)["\']\s*\)')
BASE_ARGUMENT = 'base_link'
"""Argument that names the body's link, whether the file has xacro or not (--base-link)."""
_MARK = 'marine_sim_ros_origin'
"""Attribute that carries an element's number in the table of origins through the expansion."""


class Description(NamedTuple):
    """A vehicle file.

    Attributes:
        text: URDF, xacro expanded.
        source: the file's name, which knows where each line of the text is from.
        expanded: whether the file has xacro, so that its lines are not those of the text.
        base_link: name of the body's link that an argument ``base_link`` gives; empty: none.
        skipped: what was left out because a package is not installed.
    """

    text: str
    source: xml.DescriptionSource
    expanded: bool
    base_link: str = ''
    skipped: tuple[str, ...] = ()


def read_description(path: Path, arguments: Mapping[str, str]) -> str:
    """Return the URDF text of a file with the body at the root of its tree.

    Raises:
        ModelError: see :func:`expand_description` and :func:`~.base.reroot`.
    """
    text, source, _, base_link, _ = expand_description(path, arguments)
    root = xml.parse(text, source)
    is_rerooted = reroot(root, source, base_link_of(root, source, base_link))
    return etree.tostring(root, encoding='unicode') if is_rerooted else text


def expand_description(
    path: Path, arguments: Mapping[str, str], *, skip_missing: bool | None = None
) -> Description:
    """Return the text of a file, its xacro expanded with ``name:=value`` arguments.

    Args:
        arguments: values of xacro arguments.
        skip_missing: whether includes from packages that are not installed are left out; None:
            no, and the error does not offer it.

    Raises:
        ModelError: the file cannot be read, is not text, or xacro rejects it.
    """
    text = _read(path)
    base_link = str(arguments.get(BASE_ARGUMENT, ''))
    if path.suffix == '.xacro' or 'xacro' in xml.parse(text, str(path)).nsmap:
        return _Expansion(path, skip_missing).run(arguments)._replace(base_link=base_link)
    arguments = {k: v for k, v in arguments.items() if k != BASE_ARGUMENT}
    if arguments:
        raise ModelError(
            f'{path}: has no xacro, so it takes no arguments; '
            f'got {", ".join(f"{k}:={v}" for k, v in arguments.items())}'
        )
    return Description(text, xml.DescriptionSource(path), False, base_link)


def _read(path: Path) -> str:
    return read_text_file(path, ModelError, xml.MAX_BYTES, mark=True)


class _Expansion:
    """One expansion of a file and of those that it includes."""

    def __init__(self, path: Path, skip_missing: bool | None) -> None:
        self.path, self.skip_missing = path, skip_missing
        self.texts: dict[str, str] = {}
        self.origins: list[tuple[str, int]] = []

    def run(self, arguments: Mapping[str, str]) -> Description:
        """Return the expanded file; raises ModelError."""
        import xacro
        import xacro.substitution_args

        rules = XacroRules(self.path, self.parse, skip_missing=bool(self.skip_missing))
        with rules.applied_to(xacro):
            try:
                document = xacro.process_file(str(self.path), mappings=dict(arguments))
            except Exception as error:  # xacro raises many unrelated types
                raise self._refusal(error, xacro.filestack, rules.failed, arguments) from None
        declared = self._arguments()
        for name in arguments:
            if name not in declared and name != BASE_ARGUMENT:
                raise ModelError(
                    f'{self.path}: unknown xacro argument {name!r}; '
                    f'{expected_one_of(name, sorted(declared))}'
                )
        text, origins = self._text(document)
        skipped = dict.fromkeys(f'{self._location(what)}: {why}' for what, why in rules.skipped)
        return Description(
            text, xml.DescriptionSource(self.path, origins), True, skipped=tuple(skipped)
        )

    def parse(self, parse: Callable[[str], Any], filename: str) -> Any:
        """Return a parsed file whose elements are marked with their file and line."""
        text = self.texts[filename] = _read(Path(filename))
        root = xml.parse(text, filename)  # refuses entities, which xacro expands
        document = parse(text)
        plain = (e for e in root.iter() if isinstance(e.tag, str))
        for element, read in zip(document.getElementsByTagName('*'), plain, strict=True):
            if not element.tagName.startswith('xacro:'):
                element.setAttribute(_MARK, str(len(self.origins)))
                self.origins.append((filename, xml.line_of(read)))
        return document

    def _arguments(self) -> set[str]:
        """Return the arguments that the files declare or use."""
        return {
            name
            for text in self.texts.values()
            for pattern in (_DECLARED, _USED)
            for match in pattern.findall(re.sub('<!--.*?-->', '', text, flags=re.DOTALL))
            for name in ((match,) if isinstance(match, str) else match)
            if name
        }

    def _refusal(
        self, error: Exception, stack: list[str] | None, failed: str, arguments: Mapping[str, str]
    ) -> ModelError:
        """Return the text for an error of xacro's."""
        file = stack[-1] if stack and stack[-1] else str(self.path)
        included = '' if file == str(self.path) else f' (included from {self.path})'
        cause: Any = innermost_error(error)
        if isinstance(cause, ModelError) and str(cause).startswith(file):
            return ModelError(str(cause) + included)
        line = self._line(file, failed)
        location = f'{file}:{line}' if line else file
        if type(cause).__name__ == 'ArgException':
            name = str(cause)
            passed_arguments = f'; got {", ".join(sorted(arguments))}' if arguments else ''
            return ModelError(
                f'{location}: xacro argument {name!r} has no default; '
                f'expected {name}:=VALUE (--set {name}:=VALUE){passed_arguments}{included}'
            )
        offer = '; or --skip-missing, to leave out what it holds'
        missing = isinstance(cause, (RosPackageError, FileNotFoundError))
        offer = offer if self.skip_missing is False and missing else ''
        return ModelError(f'{location}: {_reason(error, cause, failed)}{offer}{included}')

    def _location(self, what: str) -> str:
        """Return file, line and name of an include by its file name, or of a call by its tag."""
        call = what.startswith('xacro:')
        for file, text in self.texts.items():
            for element in xml.parse(text, file).iter():
                tag = element.tag.rpartition('}')[2] if isinstance(element.tag, str) else ''
                if f'xacro:{tag}' == what if call else element.get('filename') == what:
                    name = what if call else 'xacro:include'
                    return f'{Path(file).name}:{xml.line_of(element)} <{name}>'
        return f'<{what}>'

    def _line(self, file: str, text: str) -> int:
        """Return the first line of an element with a text; 0: none."""
        for element in xml.parse(self.texts[file], file).iter() if file in self.texts else ():
            texts = [*element.attrib.values(), element.text or '', element.tail or '']
            if text and any(text in candidate for candidate in texts):
                return xml.line_of(element)
        return 0

    def _text(self, document: Any) -> tuple[str, dict[int, tuple[str, int]]]:
        """Return the document as text, and where each of its lines is from."""
        where: list[tuple[str, int]] = []
        near = (str(self.path), 0)
        for element in document.getElementsByTagName('*'):
            if element.hasAttribute(_MARK):
                near = self.origins[int(element.getAttribute(_MARK))]
                element.removeAttribute(_MARK)
            where.append(near)
        text = str(document.toprettyxml(indent='  '))
        elements = (e for e in xml.parse(text, str(self.path)).iter() if isinstance(e.tag, str))
        return text, {
            xml.line_of(element): origin for element, origin in zip(elements, where, strict=True)
        }


def _reason(error: Exception, cause: Exception, failed: str) -> str:
    """Return the fault, in one line."""
    if isinstance(cause, RefusedExpression):
        text = ' '.join(failed.split())
        shown = text if len(text) <= 80 else text[:77] + '...'
        return f'xacro: {shown!r} {cause} (--trust: run expressions as Python, of whom you trust)'
    if isinstance(cause, RecursionError):
        return 'xacro: macros or properties are nested without end; expected an end'
    if isinstance(cause, ModelError):
        return str(cause)
    source_error = (
        cause if type(cause).__name__ == 'XacroException' else error
    )  # without its Python
    return f'xacro: {" ".join(str(source_error).split()) or type(error).__name__}'
