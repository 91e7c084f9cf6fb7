# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads a vehicle file and expands xacro."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.model import xml
from marine_sim_ros.model.base import base_link_of, reroot
from marine_sim_ros.model.packages import package_folder

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
    """

    text: str
    source: xml.Source
    expanded: bool
    base_link: str = ''


def read_description(path: Path, arguments: Mapping[str, str]) -> str:
    """Return the URDF text of a file with the body at the root of its tree.

    Raises:
        ModelError: see :func:`expand_description` and :func:`~.base.reroot`.
    """
    text, source, _, wanted = expand_description(path, arguments)
    root = xml.parse(text, source)
    turned = reroot(root, source, base_link_of(root, source, wanted))
    return etree.tostring(root, encoding='unicode') if turned else text


def expand_description(path: Path, arguments: Mapping[str, str]) -> Description:
    """Return what stands in a file, its xacro expanded with ``name:=value`` arguments.

    Raises:
        ModelError: the file cannot be read, is not text, or xacro rejects it.
    """
    text = _read(path)
    wanted = str(arguments.get(BASE_ARGUMENT, ''))
    if path.suffix == '.xacro' or re.search(r'\bxmlns:xacro\s*=', text):
        return _Expansion(path).run(arguments)._replace(base_link=wanted)
    arguments = {k: v for k, v in arguments.items() if k != BASE_ARGUMENT}
    if arguments:
        raise ModelError(
            f'{path}: has no xacro, so it takes no arguments; '
            f'got {", ".join(f"{k}:={v}" for k, v in arguments.items())}'
        )
    return Description(text, xml.Source(path), False, wanted)


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > xml.MAX_BYTES:
            raise ModelError(
                f'{path}: the description has {path.stat().st_size / 1e6:.0f} MB; '
                f'expected at most {xml.MAX_BYTES / 1e6:.0f} MB of XML'
            )
        return path.read_text(encoding='utf-8-sig')
    except UnicodeDecodeError as error:
        raise ModelError(f'{path}: not UTF-8 text: {error}') from None
    except OSError as error:
        raise ModelError(f'{path}: cannot be read: {error.strerror}') from None


class _Expansion:
    """One expansion of a file and of those that it includes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.texts: dict[str, str] = {}
        self.origins: list[tuple[str, int]] = []

    def run(self, arguments: Mapping[str, str]) -> Description:
        """Return the expanded file; raises ModelError."""
        import xacro
        import xacro.substitution_args

        with _hooked(xacro, self):
            try:
                document = xacro.process_file(str(self.path), mappings=dict(arguments))
            except Exception as error:  # xacro raises many unrelated types
                raise self._refusal(error, xacro.filestack, arguments) from None
        known = self._arguments()
        for name in arguments:
            if name not in known and name != BASE_ARGUMENT:
                raise ModelError(
                    f'{self.path}: unknown xacro argument {name!r}; '
                    f'expected one of: {", ".join(sorted(known)) or "none"}'
                )
        text, origins = self._text(document)
        return Description(text, xml.Source(self.path, origins), True)

    def parse(self, document: Any, filename: str) -> Any:
        """Mark the elements of a file that xacro has just parsed with where they stand."""
        text = self.texts[filename]
        plain = (e for e in xml.parse(text, filename).iter() if isinstance(e.tag, str))
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
            for found in pattern.findall(re.sub('<!--.*?-->', '', text, flags=re.DOTALL))
            for name in ((found,) if isinstance(found, str) else found)
            if name
        }

    def _refusal(
        self, error: Exception, stack: list[str] | None, arguments: Mapping[str, str]
    ) -> ModelError:
        """Return what to say of an error of xacro's."""
        file = stack[-1] if stack else str(self.path)
        included = '' if file == str(self.path) else f' (included from {self.path})'
        cause: Any = error
        while getattr(cause, 'exc', None) is not None:
            cause = cause.exc
        message = ' '.join(str(error).split()) or type(error).__name__
        if isinstance(cause, ModelError):
            message = str(cause)
            if message.startswith(file):
                return ModelError(message + included)
            return ModelError(f'{file}: {message}{included}')
        if type(cause).__name__ == 'XacroException':  # xacro.fatal, without its Python expression
            message = ' '.join(str(cause).split())
        if type(cause).__name__ == 'ArgException':
            name = str(cause)
            given = f'; got {", ".join(sorted(arguments))}' if arguments else ''
            return ModelError(
                f'{file}: xacro argument {name!r} has no default; '
                f'expected {name}:=VALUE (--set {name}:=VALUE){given}{included}'
            )
        return ModelError(f'{file}: xacro: {message}{included}')

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


@contextmanager
def _hooked(xacro: Any, expansion: _Expansion) -> Iterator[None]:
    """Let xacro read files and find packages by our rules; it has no other way in.

    Most texts have no ``$``: xacro's lexer returns them as they are, and takes a sixth of an
    expansion's time for it.
    """
    parse, find, evaluate = xacro.parse, xacro.substitution_args._eval_find, xacro.eval_text
    functions = xacro.substitution_args._eval_dict

    def marked(given: Any, filename: str | None = None) -> Any:
        if given is None and filename is not None and Path(filename).is_file():
            expansion.texts[filename] = _read(Path(filename))
            xml.parse(expansion.texts[filename], filename)  # refuses entities, which xacro expands
            return expansion.parse(parse(given, filename), filename)
        return parse(given, filename)

    def found(package: str) -> str:
        return str(package_folder(package, expansion.path.parent))

    def evaluated(text: str, symbols: Any) -> Any:
        return evaluate(text, symbols) if '$' in text else text

    xacro.parse, xacro.substitution_args._eval_find, xacro.eval_text = marked, found, evaluated
    functions['find'] = found
    try:
        yield
    finally:
        xacro.parse, xacro.substitution_args._eval_find, xacro.eval_text = parse, find, evaluate
        functions['find'] = find
