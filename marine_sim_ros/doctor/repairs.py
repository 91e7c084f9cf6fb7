# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Repairs of a description: changes with one right answer, written byte by byte."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.doctor.context import DescriptionContext, Diagnostic, Edit, finite_numbers
from marine_sim_ros.model.xml import Element

__all__ = [
    'apply_edits',
    'attributes_to_elements',
    'flip_signs',
    'relative_density',
    'rename_element',
    'scale_mesh',
]


# Repairs with exactly one right answer.


def flip_signs(element: Element) -> Edit | None:
    """Turn the signs of a diagonal whose numbers are all negative or zero."""
    words = (element.text or '').split()
    values = finite_numbers(element.text, 6)
    if values is None or values.max() > 0 or len(element):
        return None
    text = ' '.join(w.lstrip('-') for w in words)
    return Edit(element, f'<{element.tag}> is {text}: signs turned', text=text)


def attributes_to_elements(element: Element, names: list[str]) -> Edit | None:
    """Make elements of attributes that nobody reads; None where an element is there already."""
    if any(element.find(name) is not None for name in names):
        return None
    values = {name: str(element.get(name)) for name in names}
    return Edit(
        element,
        f'<{element.tag}>: attributes {", ".join(names)} made elements',
        attributes=dict.fromkeys(names),
        children=values,
    )


def rename_element(element: Element, tag: str) -> Edit:
    """Give an element the name that was meant."""
    return Edit(element, f'<{element.tag}> is now <{tag}>', tag=tag)


def scale_mesh(element: Element, *also: Element) -> Edit:
    """Read a mesh as millimetres, wherever it is used."""
    told = f'mesh {element.get("filename")} scaled to metres'
    return Edit(element, told, attributes={'scale': '0.001 0.001 0.001'}, also=also)


def relative_density(element: Element, value: float) -> Edit:
    """Give a density in kg/m³ relative to water."""
    text = f'{value / 1000:g}'
    return Edit(element, f'<density> {value:g} kg/m³ is now {text}', attributes={'value': text})


# Edits of a description that leave all other bytes unchanged.

_ATTRIBUTE = r'\s+{}\s*=\s*("[^"]*"|\'[^\']*\')'


class _Spans:
    """Byte offsets of every element, in the order of the document."""

    def __init__(self, content: bytes) -> None:
        self.start: list[int] = []
        self.close: list[int] = []
        self._open: list[int] = []
        self._parser: Any = expat.ParserCreate('utf-8')
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._end
        self._parser.Parse(content, True)

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        del name, attributes
        self._open.append(len(self.start))
        self.start.append(self._parser.CurrentByteIndex)
        self.close.append(-1)

    def _end(self, name: str) -> None:
        del name
        self.close[self._open.pop()] = self._parser.CurrentByteIndex


def _tag_end(content: bytes, start: int) -> int:
    """Return the end of the start tag at an offset: one past its '>'."""
    quote = 0
    for offset in range(start, len(content)):
        byte = content[offset]
        if quote:
            quote = 0 if byte == quote else quote
        elif byte in b'"\'':
            quote = byte
        elif byte == ord('>'):
            return offset + 1
    raise AssertionError('the description was parsed before')


def _with_attribute(tag: str, key: str, value: str | None) -> str:
    """Return a start tag with an attribute of a new value, or without it."""
    new = '' if value is None else f' {key}={quoteattr(value)}'
    old = re.search(_ATTRIBUTE.format(re.escape(key)), tag)
    if old is not None:
        return tag[: old.start()] + new + tag[old.end() :]
    end = re.search(r'\s*/?>$', tag)
    assert end is not None
    return tag[: end.start()] + new + tag[end.start() :]


def _changed_tag(tag: str, edit: Edit) -> str:
    """Return a start tag with the edit's name, attributes and children."""
    name = str(edit.element.tag)
    if edit.tag:
        tag = tag.replace(f'<{name}', f'<{edit.tag}', 1)
        name = edit.tag
    for key, value in edit.attributes.items():
        tag = _with_attribute(tag, key, value)
    if not edit.children:
        return tag
    inside = ''.join(f'<{key}>{escape(value)}</{key}>' for key, value in edit.children.items())
    if tag.endswith('/>'):
        return f'{tag[:-2].rstrip()}>{inside}</{name}>'
    return tag + inside


def apply_edits(
    context: DescriptionContext, findings: Iterable[Diagnostic]
) -> tuple[bytes, list[str]]:
    """Return the file with all edits that findings have, and what they are.

    Raises:
        ParameterError: the file is a xacro: what stands in it is not what was examined.
    """
    if context.expanded:
        raise ParameterError(
            f'--fix: {context.path} is a xacro file; expected a URDF: expand it first, or edit it '
            'by hand'
        )
    content = context.path.read_bytes()
    edits = [f.edit for f in findings if f.edit is not None]
    elements = [e for e in context.root.iter() if isinstance(e.tag, str)]
    try:
        spans = _Spans(content)
    except expat.ExpatError as error:  # it is stricter than libxml2 with names
        raise ParameterError(f'--fix: {context.path} cannot be edited: {error}') from None
    changes: list[tuple[int, int, str]] = []
    changed = [(edit, e) for edit in edits for e in (edit.element, *edit.also)]
    for edit, element in changed:
        index = elements.index(element)
        start, close = spans.start[index], spans.close[index]
        end = _tag_end(content, start)
        changes.append((start, end, _changed_tag(content[start:end].decode(), edit)))
        if content[start:end].endswith(b'/>'):
            continue
        if edit.text is not None:
            changes.append((end, close, escape(edit.text)))
        if edit.tag:
            closing = _tag_end(content, close)
            changes.append((close, closing, f'</{edit.tag}>'))
    for start, end, text in sorted(changes, reverse=True):
        content = content[:start] + text.encode() + content[end:]
    return content, [edit.tells for edit in edits]
