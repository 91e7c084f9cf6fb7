# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Repairs of a description that have one right answer, and their edits of the file.

All other bytes of the file stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
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
    'mesh_scale',
    'relative_density',
    'rename_element',
    'scale_mesh',
]


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


def mesh_scale(metres: float) -> str:
    """Return the ``scale`` of a mesh in a unit of so many metres."""
    return ' '.join([f'{metres:g}'] * 3)


def scale_mesh(metres: float, element: Element, *also: Element) -> Edit:
    """Read a mesh in a unit of so many metres, wherever it is used."""
    description = f'mesh {element.get("filename")} scaled to metres'
    return Edit(element, description, attributes={'scale': mesh_scale(metres)}, also=also)


def relative_density(element: Element, value: float) -> Edit:
    """Give a density in kg/m³ relative to water."""
    text = f'{value / 1000:g}'
    return Edit(element, f'<density> {value:g} kg/m³ is now {text}', attributes={'value': text})


# Edits of a description that leave all other bytes unchanged.

_ATTRIBUTE = r'\s+{}\s*=\s*("[^"]*"|\'[^\']*\')'


class _ElementSpans:
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


def _edited_start_tag(tag: str, name: str, edits: Sequence[Edit]) -> str:
    """Return a start tag with the edits' name, attributes and children."""
    children: dict[str, str] = {}
    for edit in edits:
        if edit.tag:
            tag = tag.replace(f'<{name}', f'<{edit.tag}', 1)
            name = edit.tag
        for key, value in edit.attributes.items():
            tag = _with_attribute(tag, key, value)
        children |= edit.children
    if not children:
        return tag
    inside = ''.join(f'<{key}>{escape(value)}</{key}>' for key, value in children.items())
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
        spans = _ElementSpans(content)
    except expat.ExpatError as error:  # it is stricter than libxml2 with names
        raise ParameterError(f'--fix: {context.path} cannot be edited: {error}') from None
    edits_by_element: dict[int, list[Edit]] = {}
    for edit in edits:
        for element in (edit.element, *edit.also):
            edits_by_element.setdefault(elements.index(element), []).append(edit)
    changes: list[tuple[int, int, str]] = []
    for index, element_edits in edits_by_element.items():
        start, close = spans.start[index], spans.close[index]
        end = _tag_end(content, start)
        tag, name = content[start:end].decode(), str(elements[index].tag)
        changes.append((start, end, _edited_start_tag(tag, name, element_edits)))
        if tag.endswith('/>'):
            continue
        for text in [e.text for e in element_edits if e.text is not None][-1:]:
            changes.append((end, close, escape(text)))
        for new_name in [e.tag for e in element_edits if e.tag][-1:]:
            changes.append((close, _tag_end(content, close), f'</{new_name}>'))
    for start, end, text in sorted(changes, reverse=True):
        content = content[:start] + text.encode() + content[end:]
    return content, [edit.description for edit in edits]
