# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Settings: name, unit, range, default and meaning of each value, declared once.

A :func:`declaration` whose fields come from :func:`number`, :func:`choice`, :func:`text`,
:func:`nested` and :func:`special` declares an XML element or a YAML mapping. ``Reader.read``
(model/xml.py) and ``YamlReader.read`` (core/yaml_file.py) read it, doctor checks names by it, and
options of a run and parameters of nodes are settings too (docs/explanation/decisions/schema.md).

:func:`number_at` and :func:`replace_number` reach a number of nested records by its path:
``damping.linear[0,0]``, ``thrusters.lag[0:4]``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import (
    MISSING,
    FrozenInstanceError,
    dataclass,
    field,
    fields,
    is_dataclass,
    replace,
)
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np

from marine_sim_ros.core.errors import ParameterError, expected_one_of

__all__ = [
    'ElementSchema',
    'Field',
    'Number',
    'REQUIRED',
    'Setting',
    'Truth',
    'check_ranges',
    'choice',
    'declaration',
    'fields_of',
    'nested',
    'number',
    'number_at',
    'numbers_of',
    'replace_number',
    'schema_of',
    'special',
    'text',
    'truth',
    'typed_number',
    'typed_text',
]


# Dataclasses that declare settings: an element of XML, a mapping of YAML, options of a command.

Kind = TypeVar('Kind')


def _set_once(self: Any, name: str, value: Any) -> None:
    if name in vars(self) or name not in type(self).__dataclass_fields__:
        raise FrozenInstanceError(f'cannot assign to field {name!r}')
    object.__setattr__(self, name, value)


def _refuse_deletion(self: Any, name: str) -> None:
    raise FrozenInstanceError(f'cannot delete field {name!r}')


def _compared(record: Any) -> tuple[Any, ...]:
    return tuple(getattr(record, f.name) for f in fields(record) if f.compare)


def _is_equal(self: Any, other: Any) -> bool:
    return _compared(self) == _compared(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _show(self: Any) -> str:
    shown = (f'{f.name}={getattr(self, f.name)!r}' for f in fields(self) if f.repr)
    return f'{type(self).__qualname__}({", ".join(shown)})'


_METHODS: Mapping[str, Callable[..., Any]] = {
    '__setattr__': _set_once,
    '__delattr__': _refuse_deletion,
    '__eq__': _is_equal,
    '__hash__': _hash,
    '__repr__': _show,
}

if TYPE_CHECKING:
    from dataclasses import dataclass as declaration
else:

    def declaration(*, frozen: bool, kw_only: bool = False) -> Callable[[type[Kind]], type[Kind]]:
        """Return a decorator that makes a frozen dataclass.

        ``dataclass`` compiles six methods for each class; this one compiles ``__init__``, and the
        others are written once. With it a program starts in a tenth less time. Classes that are
        derived from a declaration are declarations, too.
        """
        assert frozen, 'declarations are frozen'

        def declare(kind: type[Kind]) -> type[Kind]:
            for name in _METHODS.keys() - vars(kind).keys():
                setattr(kind, name, _METHODS[name])
            return dataclass(kw_only=kw_only, eq=False, repr=False)(kind)

        return declare


def typed_number(value: float) -> str:
    """Return a number as a user would type it: ``0.000001`` and ``1e9``."""
    if isinstance(value, int):
        return str(value)
    if value == 0 or 1e-6 <= abs(value) < 1e6:
        return f'{value:.6f}'.rstrip('0').rstrip('.')
    return f'{value:g}'.replace('e+0', 'e')


def typed_text(value: Any) -> str:
    """Return a value as it is typed: numbers without exponents, lists with spaces between.

    None, NaN, REQUIRED and a record stand for no value, and give an empty text.
    """
    if value is None or value is MISSING or (isinstance(value, float) and math.isnan(value)):
        return ''
    if is_dataclass(value):
        return ''
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ' '.join(filter(None, map(typed_text, value)))
    return typed_number(value) if isinstance(value, int | float) else str(value)


@declaration(frozen=True)
class Setting:
    """A value that a user may set: in a file, on a command line, in a launch file, on a node.

    Attributes:
        name: the name, in snake_case.
        default: the value where the user gives none; NaN: none that is a number.
        help: effect of the setting, without unit, default and range.
        low: the least value; of each element where the value is a list.
        high: the greatest value, likewise.
        choices: the values that are possible, likewise; empty: any.
        unit: the unit; empty: none.
        empty: what an empty text or list means, or 0 where the value is a number; empty: nothing
            of its own.
    """

    name: str
    default: Any
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    unit: str = ''
    empty: str = ''

    @property
    def empty_text(self) -> str:
        """The value for which ``empty`` holds: ``0``, ``0 0 0``, ``empty`` or ``default``."""
        parts = self.default if isinstance(self.default, list | tuple) else (self.default,)
        numbers = [part for part in parts if isinstance(part, int | float)]
        return ' '.join('0' for _ in numbers) or ('empty' if self.default_text else 'default')

    @property
    def text(self) -> str:
        """What the setting does, its unit, and what an empty value means."""
        unit = f', {self.unit}' if self.unit else ''
        return f'{self.help}{unit}' + (f'; {self.empty_text}: {self.empty}' if self.empty else '')

    @property
    def range(self) -> str:
        """The values that are possible, in words; empty where there is no bound."""
        if self.choices:
            return 'one of: ' + ', '.join(self.choices)
        if self.low is None or self.high is None:
            return ''
        return f'{typed_number(self.low)} to {typed_number(self.high)}'

    @property
    def default_text(self) -> str:
        """The default as a user would type it; empty where there is none."""
        return typed_text(self.default)

    def refusal(self, value: Any) -> str:
        """Return the error of a value of the setting, as ``is 2; expected 0 to 1 s``, or ''.

        Empty texts in a list are passed over: an empty list of ROS has no type.
        """
        value = value.tolist() if isinstance(value, np.ndarray) else value
        parts: Iterable[Any] = value if isinstance(value, list | tuple) else (value,)
        for part in parts:
            if self.choices and part not in self.choices and (part or part is value):
                return f'is {part!r}; expected {self.range}'
            if not isinstance(part, int | float) or self.low is None or self.high is None:
                continue
            if not self.low <= part <= self.high:
                unit = f' {self.unit}' if self.unit else ''
                return f'is {part:g}; expected {self.range}{unit}'
        return ''


# Fields of declarations.

REQUIRED: Any = MISSING
"""Default of a field that must be given."""

Place: TypeAlias = Literal['element', 'attribute', 'content']
"""Location of a value in XML: child element, attribute, or text of the element itself."""


@declaration(frozen=True)
class Field(Setting):
    """A setting that is a field of a dataclass.

    Attributes:
        place: where XML has it; in YAML it is always a key.
        parts: dataclass of a child that has attributes or children of its own.
        many: whether the child may stand several times; the value is then a tuple.
        read: function of the reader of the value, in place of its type's own.
    """

    place: Place = 'element'
    parts: type | None = None
    many: bool = False
    read: Callable[[Any], Any] | None = None


@declaration(frozen=True)
class Number(Field):
    """A field that is a number, or a tuple or array of numbers, within closed limits.

    Attributes:
        size: count of numbers; 0: a single number, or as many as the default has.
        whole: whether the number is an integer.
    """

    low: float = -math.inf
    high: float = math.inf
    size: int = 0
    whole: bool = False

    @property
    def count(self) -> int:
        """Count of numbers; 0: a single number."""
        parts = isinstance(self.default, tuple | np.ndarray)
        return self.size or (len(self.default) if parts else 0)

    @property
    def range(self) -> str:
        """The values that are possible, in words; empty where there is no bound."""
        if not math.isfinite(self.high):
            return f'at least {typed_number(self.low)}' if math.isfinite(self.low) else ''
        return super().range if math.isfinite(self.low) else f'at most {typed_number(self.high)}'


@declaration(frozen=True)
class Truth(Field):
    """A field that is true or false."""


def _field(setting: Field) -> Any:
    metadata = {'setting': setting}
    if setting.default is not REQUIRED and type(setting.default).__hash__ is None:
        return field(default_factory=lambda: setting.default, metadata=metadata)  # an array
    return field(default=setting.default, metadata=metadata)


def number(
    default: Any, low: float, high: float, unit: str, about: str, *, name: str = '',
    place: Place = 'element', size: int = 0, whole: bool = False,
) -> Any:  # fmt: skip
    """Return a field of a dataclass that is a number, or a tuple or array of numbers.

    Args:
        default: default value, or a tuple or array of them; NaN: no default; REQUIRED: it must be
            given.
        low: least value.
        high: greatest value.
        unit: empty for a fraction.
        about: description of the number.
        name: its name in files, where the field has another one.
        place: where XML has it.
        size: count of numbers of a tuple whose default does not tell it; 0: a single number.
        whole: whether it is an integer.
    """
    return _field(
        Number(name, default, about, low, high, unit=unit, place=place, size=size, whole=whole)
    )


def text(about: str, default: Any = '', *, name: str = '', place: Place = 'element') -> Any:
    """Return a field of a dataclass that is a text, such as a name; by default it is empty."""
    return _field(Field(name, default, about, place=place))


def choice(
    choices: tuple[str, ...], about: str, default: Any = None, *, name: str = '',
    place: Place = 'element',
) -> Any:  # fmt: skip
    """Return a field of a dataclass that is one of some words, the first by default."""
    default = choices[0] if default is None else default
    return _field(Field(name, default, about, choices=choices, place=place))


def truth(default: bool, about: str, *, place: Place = 'element') -> Any:
    """Return a field of a dataclass that is true or false."""
    return _field(Truth('', default, about, place=place))


def nested(
    parts: type,
    about: str = '',
    *,
    name: str = '',
    default: Any = None,
    many: bool = False,
    read: Callable[[Any], Any] | None = None,
) -> Any:
    """Return a field of a dataclass that is a child with attributes or children of its own.

    Args:
        parts: dataclass that declares them.
        about: description of the child.
        name: its name in files, where the field has another one.
        default: value where the child is not there; REQUIRED: it must be there.
        many: whether it may stand several times.
        read: function of the child's reader; None: the value is an instance of ``parts``.
    """
    default = () if many and default is None else default
    return _field(Field(name, default, about, parts=parts, many=many, read=read))


def special(
    read: Callable[[Any], Any], default: Any, about: str, *, name: str = '', unit: str = '',
    place: Place = 'element', low: float | None = None, high: float | None = None,
) -> Any:  # fmt: skip
    """Return a field of a dataclass that a function of a reader reads, such as a table."""
    return _field(Field(name, default, about, low, high, unit=unit, place=place, read=read))


@cache
def fields_of(kind: type) -> Mapping[str, Field]:
    """Return the declared fields of a dataclass, by the name of the field."""
    settings = {f.name: f.metadata['setting'] for f in fields(kind) if 'setting' in f.metadata}
    return {
        name: replace(setting, name=setting.name or name) for name, setting in settings.items()
    }


def numbers_of(kind: type) -> dict[str, Number]:
    """Return the fields of a dataclass that are numbers, by name."""
    return {name: f for name, f in fields_of(kind).items() if isinstance(f, Number)}


def check_ranges(record: Any) -> None:
    """Check the fields of an instance of a declaration, such as one that Python code has made.

    Raises:
        ParameterError: a value out of the range of its field.
    """
    kind: Any = type(record)
    for name, setting in fields_of(kind).items():
        if reason := setting.refusal(getattr(record, name)):
            raise ParameterError(f'{name} {reason}')


@declaration(frozen=True)
class ElementSchema:
    """The names that an XML element may have in it.

    Attributes:
        attributes: names of its attributes.
        children: schemas of its children, by name.
    """

    attributes: frozenset[str] = frozenset()
    children: Mapping[str, ElementSchema] = field(default_factory=dict)


@cache
def schema_of(kind: type) -> ElementSchema:
    """Return the names that the fields of a dataclass declare."""
    settings = fields_of(kind).values()
    children = (f for f in settings if f.place == 'element')
    return ElementSchema(
        frozenset(f.name for f in settings if f.place == 'attribute'),
        {f.name: schema_of(f.parts) if f.parts else ElementSchema() for f in children},
    )


_AXIS = r' *(?:\d+|\d*:\d*) *'
_PART = re.compile(rf'(\w+)(?:\[({_AXIS}(?:,{_AXIS})*)\])?', re.ASCII)

_Index: TypeAlias = tuple[int | slice | None, ...]


def _index_of(text: str) -> _Index:
    """Return the index written as ``2``, ``0:4`` or ``0,0``."""
    axes = [[int(end) if end.strip() else None for end in a.split(':')] for a in text.split(',')]
    return tuple(axis[0] if len(axis) == 1 else slice(*axis) for axis in axes)


def _named_values(record: Any) -> Mapping[str, Any]:
    if isinstance(record, dict):
        return record
    if not is_dataclass(record):
        return {}
    values = {f.name: getattr(record, f.name) for f in fields(record)}
    return {name: value for name, value in values.items() if value is not None}


def _walk(record: Any, path: str, name: str) -> tuple[list[tuple[Any, str]], Any, _Index | None]:
    """Return records and fields from the outermost, the last value, and the index in it."""
    steps, index = [], None
    for part in path.split('.'):
        match, values = _PART.fullmatch(part), _named_values(record)
        if match is None or match[1] not in values or index is not None:
            names = () if index is not None else sorted(values)
            raise ParameterError(f'{name}: {part!r} is unknown; {expected_one_of(part, names)}')
        steps.append((record, match[1]))
        record, index = values[match[1]], _index_of(match[2]) if match[2] else None
    return steps, record, index


def _select(value: Any, index: _Index | None, name: str) -> Any:
    """Return the number, or the numbers of an array, that an index selects."""
    if index is None:
        is_number = isinstance(value, float | int) and not isinstance(value, bool)
        if not is_number and (isinstance(value, bool) or getattr(value, 'ndim', None) != 0):
            raise ParameterError(f'{name} is no single number; expected an index, as in {name}[0]')
        return value
    try:
        array = value if hasattr(value, 'ndim') else np.asarray(value, float)
    except (TypeError, ValueError):
        raise ParameterError(f'{name} has no numbers; expected an array of numbers') from None
    try:
        count = np.broadcast_to(0, array.shape)[index].size
    except IndexError:
        count = 0
    if not count or len(index) != array.ndim:
        raise ParameterError(f'{name} is outside of shape {array.shape}; expected an index in it')
    return array[index]


def number_at(record: Any, path: str) -> float:
    """Return the number at a path, or the first one of a range.

    Args:
        record: a dataclass or a dict, with others in it.
        path: fields with dots between; at the end an index where there is an array.

    Raises:
        ParameterError: it leads to no number.
    """
    _, value, index = _walk(record, path, path)
    return float(np.ravel(_select(value, index, path))[0])


def replace_number(
    record: Any, path: str, change: Callable[[Any], Any], *, name: str = '', xp: Any = np
) -> Any:
    """Return a record with the number, or the range of numbers, at a path changed.

    Args:
        record: a dataclass or a dict, with others in it.
        path: path of :func:`number_at`.
        change: function from the old numbers to the new ones.
        name: name of the path in errors; default: the path.
        xp: ``numpy`` or ``jax.numpy``; new numbers may be traced by the latter.

    Raises:
        ParameterError: it leads to no number.
    """
    name = name or path
    steps, old, index = _walk(record, path, name)
    new = change(_select(old, index, name))
    if index is not None and xp is np:
        array = np.array(old, float)
        array[index] = new
        new = tuple(array.tolist()) if isinstance(old, tuple) else array
    elif index is not None:
        new = xp.asarray(old).at[index].set(new)
    for outer, key in reversed(steps):
        new = {**outer, key: new} if isinstance(outer, dict) else replace(outer, **{key: new})
    return new
