# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""XML of vehicle descriptions: parsed without entities, errors with file and line."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from marine_sim_ros.core.errors import ModelError, expected_one_of
from marine_sim_ros.core.schema import REQUIRED, Field, Number, Truth, fields_of, schema_of
from marine_sim_ros.core.spatial import quaternion_from_rpy

__all__ = [
    'MAX_BYTES',
    'Element',
    'Reader',
    'DescriptionSource',
    'line_of',
    'parse',
    'place',
    'direction_along',
]

if TYPE_CHECKING:
    from lxml import etree

Element: TypeAlias = 'etree._Element'
T = TypeVar('T')

MAX_BYTES = 10_000_000
"""Bound of a description's size; the largest real URDFs are below 1 MB without meshes."""

MAX_ELEMENTS = 200_000
"""Elements of a description; a file of less than MAX_BYTES may have millions."""
MAX_DEPTH = 256
"""Levels of elements, a bound of libxml2."""


class DescriptionSource(str):
    """Source of a description whose lines may come from a xacro and its includes."""

    origins: Mapping[int, tuple[str, int]]

    def __new__(
        cls, path: str | Path, origins: Mapping[int, tuple[str, int]] | None = None
    ) -> DescriptionSource:
        """Return the name of a file; ``origins`` has file and line of lines of its text."""
        result = super().__new__(cls, path)
        result.origins = origins or {}
        return result

    def origin(self, line: int) -> tuple[str, int]:
        """Return the file and the line in which a line of the text was written."""
        return self.origins.get(line, (str(self), line))


def line_of(element: Element) -> int:
    """Return the line of an element in the text that was parsed; 0 where it is not known."""
    line: Any = element.sourceline
    return int(line or 0)


def place(source: str, element: Element) -> str:
    """Return ``file:line`` where an element of a description was written."""
    described = source if isinstance(source, DescriptionSource) else DescriptionSource(source)
    file, line = described.origin(line_of(element))
    return f'{file}:{line}'


_VERSION = re.compile(r'\A(\ufeff?<\?xml\s+version\s*=\s*["\'])(?!1\.)\d+\.\d+')
"""A version of XML that does not exist; xacro takes it for 1.0."""


def parse(text: str, source: str) -> Element:
    """Return the root element of a description.

    Args:
        source: source of the text, for messages.

    Raises:
        ModelError: empty, too large, malformed, nested deeper than libxml2 allows (256), or with a
            document type declaration (entities could pull in files or expand without end).
    """
    from lxml import etree

    data = _VERSION.sub(r'\g<1>1.0', text, count=1).encode('utf-8', 'surrogatepass')
    if len(data) > MAX_BYTES:
        raise ModelError(
            f'{source}: the description has {len(data) / 1e6:.0f} MB; '
            f'expected at most {MAX_BYTES / 1e6:.0f} MB of XML'
        )
    if not text.strip():
        raise ModelError(f'{source}: the description is empty; expected a URDF <robot> element')
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        reason = ' '.join(str(error).split())
        if 'Excessive depth' in reason:
            raise ModelError(f'{source}: elements are nested deeper than {MAX_DEPTH}') from None
        raise ModelError(f'{source}: not well-formed XML: {reason}') from None
    info: Any = root.getroottree().docinfo
    if info.doctype:
        raise ModelError(
            f'{source}: has a document type declaration (<!DOCTYPE ...>); expected none, '
            'because entities are not expanded'
        )
    if sum(1 for _ in root.iter()) > MAX_ELEMENTS:
        raise ModelError(f'{source}: has more than {MAX_ELEMENTS:,} elements')
    return root


NUMBER_BOUND = 1e12
"""Of any coefficient or coordinate; products of two of them are far from overflowing."""


def direction_along(vector: np.ndarray) -> np.ndarray | None:
    """Return the unit vector along a vector (3,); None: it is too short, or beyond all bounds."""
    if not np.max(np.abs(vector)) <= NUMBER_BOUND:  # false for NaN; squares may overflow
        return None
    length = float(np.linalg.norm(vector))
    return np.asarray(vector / length) if length > 1e-6 else None


class Reader:
    """Reads one element of our extensions; every complaint names the file, line and element."""

    def __init__(self, element: Element, source: str) -> None:
        """Wrap an element that came from a source."""
        self.element = element
        self.source = source

    @property
    def name(self) -> str:
        """The element as a person would point at it."""
        label = self.element.get('name')
        return f'<{self.element.tag} name="{label}">' if label else f'<{self.element.tag}>'

    @property
    def line(self) -> int:
        """Line of the element in its file."""
        return line_of(self.element)

    def error(self, message: str) -> ModelError:
        """Return a ModelError about this element."""
        return ModelError(f'{place(self.source, self.element)}: {self.name}: {message}')

    def warning(self, message: str) -> str:
        """Return the text of a warning about this element."""
        return str(self.error(message))

    def children(
        self, names: Collection[str], otherwise: str = 'expected no element in it'
    ) -> list[Reader]:
        """Return the children, all of which must have known names.

        Args:
            otherwise: what is expected where there is none.
        """
        result = []
        for child in self.element:
            if child.tag not in names:
                expected = expected_one_of(child.tag, sorted(names)) if names else otherwise
                raise ModelError(
                    f'{place(self.source, child)}: unknown element <{child.tag}> in '
                    f'{self.name}; {expected}'
                )
            result.append(Reader(child, self.source))
        return result

    def read(self, kind: type[T], **defaults: Any) -> T:
        """Read the element as a dataclass that declares it (core/schema.py).

        Args:
            kind: dataclass; its field ``reader``, if it has one, is this reader.
            **defaults: defaults that differ from those of its fields.

        Raises:
            ModelError: a child that it does not declare, or a value that cannot be used.
        """
        declared: Any = kind
        schema = schema_of(declared)
        names = ', '.join(sorted(schema.attributes)) or 'none'
        self.children(schema.children, f'expected attributes alone: {names}')
        reader_argument = (
            {'reader': self} if 'reader' in getattr(kind, '__dataclass_fields__', ()) else {}
        )
        return kind(**reader_argument, **self.values(kind, **defaults))

    def values(self, kind: type, **defaults: Any) -> dict[str, Any]:
        """Return the values of the fields of a dataclass; other children may stand beside."""
        return {
            name: self._value(spec, defaults.get(name, spec.default))
            for name, spec in fields_of(kind).items()
        }

    def _value(self, spec: Field, default: Any) -> Any:
        if spec.many:
            elements = self.element.findall(spec.name)
            return tuple(_convert(Reader(e, self.source), spec) for e in elements)
        if spec.place == 'content':
            return _convert(self, spec)
        if spec.place == 'attribute':
            if default is not REQUIRED and self.element.get(spec.name) is None:
                return default
            return self._attribute_value(spec, self.attribute(spec.name))
        child = self.child(spec.name)
        if child is None and default is REQUIRED:
            raise self.error(f'has no <{spec.name}>; expected one in {spec.unit}')
        return default if child is None else _convert(child, spec)

    def _attribute_value(self, spec: Field, text: str) -> Any:
        if spec.choices and text not in spec.choices:
            raise self.error(f'{spec.name} is {text!r}; {expected_one_of(text, spec.choices)}')
        if isinstance(spec, Truth):
            return self._truth(text, f'{spec.name} is')
        if spec.read is None and not isinstance(spec, Number):
            return text
        try:
            return _convert(self, spec, text)
        except ModelError as error:
            raise ModelError(f'{error} in attribute {spec.name!r}') from None

    def _truth(self, text: str, subject: str) -> bool:
        lowered = text.strip().lower()
        if lowered not in ('true', 'false'):
            raise self.error(f'{subject} {text.strip()!r}; expected true or false')
        return lowered == 'true'

    def child(self, name: str) -> Reader | None:
        """Return the only child of a name, or None; two of them are an error."""
        elements = self.element.findall(name)
        if len(elements) > 1:
            raise Reader(elements[1], self.source).error(
                f'given twice in {self.name}; expected once'
            )
        return Reader(elements[0], self.source) if elements else None

    def first(self, path: str) -> Reader | None:
        """Return the first element at a path, or None; of several, other simulators read it."""
        element = self.element.find(path)
        return None if element is None else Reader(element, self.source)

    def value_of(self, name: str, read: Callable[[Reader], T], default: T) -> T:
        """Return a child, read by ``read``, or the default."""
        child = self.child(name)
        return default if child is None else read(child)

    def attribute(self, name: str, default: str | None = None) -> str:
        """Return an attribute's text; without a default it must be there."""
        text = self.element.get(name, default)
        if text is None:
            raise self.error(f'attribute {name!r} is missing')
        return str(text)

    def numbers(self, count: Collection[int], text: str | None = None) -> np.ndarray:
        """Return the finite numbers in a text (default: the element's own)."""
        text = (self.element.text or '') if text is None else text
        try:
            values = np.array([float(part) for part in text.split()])
        except ValueError:
            raise self.error(f'is {_short(text)}; expected numbers') from None
        if len(values) not in count or not np.all(np.isfinite(values)):
            counts = ' or '.join(str(n) for n in sorted(count))
            raise self.error(f'is {_short(text)}; expected {counts} finite number(s)')
        return values

    def number(self, low: float = -np.inf, high: float = np.inf, text: str | None = None) -> float:
        """Return one finite number within closed limits."""
        value = float(self.numbers({1}, text)[0])
        if not low <= value <= high:
            raise self.error(f'is {value:g}; expected {low:g} to {high:g}')
        return value

    def attribute_number(
        self, name: str, default: float, low: float = -np.inf, high: float = np.inf
    ) -> float:
        """Return a number of an attribute."""
        text = self.element.get(name)
        if text is None:
            return default
        try:
            return self.number(low, high, str(text))
        except ModelError as error:
            raise ModelError(f'{error} in attribute {name!r}') from None

    def vector(self) -> np.ndarray:
        """Return the element's three numbers."""
        values = self.numbers({3})
        if np.max(np.abs(values)) > NUMBER_BOUND:
            raise self.error(f'has a number beyond {NUMBER_BOUND:g}')
        return values

    def pose(self) -> tuple[np.ndarray, np.ndarray]:
        """Return translation (3,) and quaternion (4,) of the attributes xyz and rpy."""
        xyz, rpy = (self.numbers({3}, self.attribute(name, '0 0 0')) for name in ('xyz', 'rpy'))
        return xyz, quaternion_from_rpy(*rpy)

    def direction(self, text: str | None = None) -> np.ndarray:
        """Return the unit vector (3,) along the numbers in a text (default: the element's own)."""
        values = self.numbers({3}, text)
        direction = direction_along(values)
        if direction is None:
            raise self.error(f'is {values.tolist()}; expected a direction')
        return direction

    def matrix6(self) -> np.ndarray:
        """Return a matrix (6, 6) with non-negative diagonal, from 6 or 36 numbers by row."""
        values = self.numbers({6, 36})
        if np.max(np.abs(values)) > NUMBER_BOUND:
            raise self.error(f'has a number beyond {NUMBER_BOUND:g}')
        matrix = np.diag(values) if len(values) == 6 else values.reshape(6, 6)
        if np.any(np.diag(matrix) < 0):
            raise self.error(
                'has a negative number on the diagonal; expected positive coefficients '
                "(a force that opposes the motion), unlike the literature's X_u < 0"
            )
        return matrix


def _convert(reader: Reader, spec: Field, text: str | None = None) -> Any:
    """Return the value of an element, or of the text of one of its attributes."""
    if spec.read is not None:
        return spec.read(reader) if text is None else spec.read(text)
    if spec.parts is not None:
        return reader.read(spec.parts)
    if not isinstance(spec, Number):
        return _convert_text(reader, spec)
    if not spec.count:
        value = reader.number(spec.low, spec.high, text)
        if spec.whole and value != int(value):
            raise reader.error(f'is {value:g}; expected a whole number')
        return int(value) if spec.whole else value
    values = reader.numbers({spec.count}, text)
    for value in values:
        if not spec.low <= value <= spec.high:
            raise reader.error(f'has {value:g}; expected {spec.low:g} to {spec.high:g}')
    return values if isinstance(spec.default, np.ndarray) else tuple(values.tolist())


def _convert_text(reader: Reader, spec: Field) -> Any:
    text = (reader.element.text or '').strip()
    if isinstance(spec, Truth):
        return reader._truth(text, 'is')
    if spec.choices and text not in spec.choices:
        raise reader.error(f'is {text[:40]!r}; {expected_one_of(text, spec.choices)}')
    return text


def _short(text: str) -> str:
    text = ' '.join(text.split())
    return repr(text if len(text) <= 40 else text[:37] + '...')
