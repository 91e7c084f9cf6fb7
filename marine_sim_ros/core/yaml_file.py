# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""YAML files: reader with locations in errors, and the folders of configuration files."""

from __future__ import annotations

import math
import os
import re
import reprlib
from collections.abc import Callable, Mapping, Set
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import yaml

from marine_sim_ros.core.errors import (
    MarineSimError,
    ParameterError,
    expected_one_of,
    no_such_name,
)
from marine_sim_ros.core.files import expand_home, read_text_file, resource_folder
from marine_sim_ros.core.schema import REQUIRED, Field, Number, Truth, fields_of

__all__ = ['ConfigFiles', 'YamlReader', 'parse_yaml', 'short_text']


# Reader of the package's YAML files; errors name place, value and expectation.

Content = TypeVar('Content')

_WORD = re.compile('[A-Za-z0-9_.-]{1,64}')


_ANGLE = re.compile(r'\s*([-+]?(?:\d+\.?\d*|\.\d+))\s*(deg|°|rad)\s*')
_MAX_VALUES = 100_000
"""Values that a file may have."""


_BRIEF = reprlib.Repr()
_BRIEF.maxother = _BRIEF.maxstring = _BRIEF.maxlong = 80


def short_text(value: Any) -> str:
    """Return a short text of a value of any size, for one line of a message."""
    try:
        return _BRIEF.repr(value)
    except ValueError:  # Python refuses to write numbers of thousands of digits
        return f'an enormous {type(value).__name__}'


class YamlReader:
    """One value of a file, and where it stands."""

    def __init__(self, where: str, value: Any, error: type[MarineSimError]) -> None:
        """Wrap a value; complaints are raised as ``error``."""
        self.where = where
        self.value = value
        self._error = error

    @property
    def stem(self) -> str:
        """Name of the file without folder and ending."""
        return Path(self.where).stem

    def error(self, message: str) -> MarineSimError:
        """Return a complaint about this value."""
        return self._error(f'{self.where}{message}')

    def mapping(self, known: Set[str], required: Set[str] = frozenset()) -> Mapping[str, Any]:
        """Return the value as a mapping of known keys."""
        if not isinstance(self.value, dict):
            raise self.error(f': expected a mapping with {", ".join(sorted(known))}')
        for key in self.value:
            if key not in known:
                raise self.error(f': unknown key {key!r}; {expected_one_of(key, sorted(known))}')
        for key in sorted(required - set(self.value)):
            raise self.error(f': {key!r} is missing')
        return self.value

    def names(self) -> list[str]:
        """Return the keys of a mapping whose keys are names of the user's choice."""
        if not isinstance(self.value, dict) or not all(isinstance(k, str) for k in self.value):
            raise self.error(f' is {short_text(self.value)}; expected a mapping of names')
        return list(self.value)

    def items(self) -> list[YamlReader]:
        """Return the elements of a list."""
        if not isinstance(self.value, list):
            raise self.error(f' is {short_text(self.value)}; expected a list')
        return [YamlReader(f'{self.where}[{i}]', v, self._error) for i, v in enumerate(self.value)]

    def child(self, key: str, default: Any = None) -> YamlReader:
        """Return the value below a key, or the default; the value is a mapping already."""
        value = self.value.get(key)
        where = (
            f'{self.where}: {key}'
            if self.where.endswith(('.yaml', '.yml'))
            else (f'{self.where}.{key}')
        )
        return YamlReader(where, default if value is None else value, self._error)

    def read(self, kind: type[Content], *others: str, **defaults: Any) -> Content:
        """Return the value, a mapping, as a dataclass that declares it (core/schema.py).

        Args:
            kind: dataclass; keys without a default must be there.
            *others: keys that are for people.
            **defaults: defaults that differ from those of its fields.
        """
        declared: Any = kind
        values = {f.name: defaults.get(name, f.default) for name, f in fields_of(declared).items()}
        required = {name for name, default in values.items() if default is REQUIRED}
        self.mapping({*values, *others}, required)
        return kind(**self.values(kind, **defaults))

    def values(self, kind: type, **defaults: Any) -> dict[str, Any]:
        """Return the values of the fields of a dataclass; other keys may stand beside.

        An empty key counts as not given.
        """
        return {
            name: self._field(setting, defaults.get(name, setting.default))
            for name, setting in fields_of(kind).items()
        }

    def field(self, setting: Field) -> Any:
        """Return the value of a declared field below its key, or its default."""
        return self._field(setting, setting.default)

    def _field(self, setting: Field, default: Any) -> Any:
        value = self.child(setting.name)
        if value.value is None and default is not REQUIRED:
            return default
        if setting.many:
            return tuple(item._convert(setting) for item in value.items())
        return value._convert(setting)

    def _convert(self, setting: Field) -> Any:
        if setting.read is not None:
            return setting.read(self)
        if setting.parts is not None:
            return self.read(setting.parts)
        if setting.choices:
            return self.choice(setting.choices)
        if isinstance(setting, Truth):
            return self.truth()
        return self._numbers(setting) if isinstance(setting, Number) else self.text()

    def _numbers(self, setting: Number) -> Any:
        if not setting.count:
            if isinstance(self.value, float) and self.value == setting.default:
                return self.value  # such as inf, beyond the limits of others
            if setting.whole:
                return self.integer(setting.low, setting.high, setting.unit)
            return self.number(setting.low, setting.high, setting.unit)
        if not isinstance(self.value, list) or len(self.value) != setting.count:
            expected = f'a list of {setting.count} numbers: {setting.help}'
            raise self.error(f' is {short_text(self.value)}; expected {expected}')
        numbers = [item.number(setting.low, setting.high, setting.unit) for item in self.items()]
        return np.array(numbers) if isinstance(setting.default, np.ndarray) else tuple(numbers)

    def number(self, low: float = -1e9, high: float = 1e9, unit: str = '') -> float:
        """Return a number within closed limits; the unit stands in the complaint."""
        good = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        if not good or not low <= self.value <= high:
            unit = f' {unit}' if unit else ''
            raise self.error(
                f' is {short_text(self.value)}; expected a number from {low:g} to {high:g}{unit}'
            )
        return float(self.value)

    def integer(self, low: float, high: float, unit: str = '') -> int:
        """Return a whole number within closed limits."""
        value = self.number(low, high, unit)
        if value != int(value):
            raise self.error(f' is {short_text(self.value)}; expected a whole number')
        return int(value)

    def vector(self, low: float = -1e9, high: float = 1e9) -> np.ndarray:
        """Return a list of three numbers within closed limits."""
        if not isinstance(self.value, list) or len(self.value) != 3:
            raise self.error(f' is {short_text(self.value)}; expected a list of three numbers')
        return np.array([r.number(low, high) for r in self.items()])

    def angle(self) -> float:
        """Return an angle in rad, of a number in rad or a text with a unit: ``90 deg``, ``90°``.

        A number beyond a whole turn is taken for degrees that were not named as such.
        """
        match = _ANGLE.fullmatch(self.value) if isinstance(self.value, str) else None
        if match:
            value = float(match[1])
            return value if match[2] == 'rad' else math.radians(value)
        good = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        if not good or not abs(self.value) <= math.tau:
            # Only of what a float holds: Python divides no integer of hundreds of digits.
            many = (
                f', {abs(self.value) / math.tau:.3g} turns'
                if good and abs(self.value) < 1e9
                else ''
            )
            raise self.error(
                f' is {short_text(self.value)}{many}; expected rad from -6.283 to 6.283, or '
                "degrees with their unit, such as '90 deg'"
            )
        return float(self.value)

    def angles(self) -> tuple[float, float, float]:
        """Return roll, pitch and yaw in rad, of a list of three angles."""
        if not isinstance(self.value, list) or len(self.value) != 3:
            raise self.error(f' is {short_text(self.value)}; expected a list of roll, pitch, yaw')
        roll, pitch, yaw = (item.angle() for item in self.items())
        return roll, pitch, yaw

    def span(self) -> tuple[float, float]:
        """Return the lowest and the highest of a list of two numbers; of a number, it twice."""
        if not isinstance(self.value, list):
            value = self.number()
            return value, value
        if len(self.value) != 2:
            raise self.error(f' is {self.value!r}; expected a number or a list [lowest, highest]')
        low, high = (r.number() for r in self.items())
        if low > high:
            raise self.error(f' is {self.value!r}; expected the lowest value first')
        return low, high

    def truth(self) -> bool:
        """Return true or false."""
        if not isinstance(self.value, bool):
            raise self.error(f' is {short_text(self.value)}; expected true or false')
        return self.value

    def text(self) -> str:
        """Return a text."""
        if not isinstance(self.value, str):
            raise self.error(f' is {short_text(self.value)}; expected a text')
        return self.value

    def word(self) -> str:
        """Return a name of letters, digits, dots, hyphens and underscores."""
        if not isinstance(self.value, str) or not _WORD.fullmatch(self.value):
            raise self.error(f' is {short_text(self.value)}; expected a word such as hard_sand')
        return self.value

    def choice(self, choices: tuple[str, ...]) -> str:
        """Return one of some words."""
        if self.value not in choices:
            raise self.error(
                f' is {short_text(self.value)}; {expected_one_of(self.value, choices)}'
            )
        return str(self.value)


def parse_yaml(
    text: str,
    name: str,
    error: type[MarineSimError],
    loader_type: type[yaml.SafeLoader] = yaml.SafeLoader,
) -> Any:
    """Return the content of a YAML text; the type of loader may know more tags.

    Raises:
        MarineSimError: of the given kind, when it is not YAML, has a key twice in one mapping, or
            more than 100,000 values when all aliases are written out.
    """
    try:
        loader = loader_type(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _size(node, {}, name, error)
            return loader.construct_document(node)
        finally:
            loader.dispose()  # type: ignore[no-untyped-call]
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        place = f':{mark.line + 1}:{mark.column + 1}' if mark else ''
        found = '; '.join(filter(None, (problem.context, problem.problem)))
        raise error(f'{name}{place}: not valid YAML: {" ".join(found.split())}') from None
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        raise error(f'{name}: not valid YAML: {" ".join(str(problem).split())}') from None


def _size(node: yaml.Node, known: dict[int, int], name: str, error: type[MarineSimError]) -> int:
    """Return the number of values of a node with all aliases written out.

    Raises:
        MarineSimError: of the given kind: too many, endless, or a key twice.
    """
    if isinstance(node, yaml.ScalarNode):
        return 1
    line = f'{name}:{node.start_mark.line + 1}'
    if id(node) in known:
        if known[id(node)] == 0:
            raise error(f'{line}: an alias stands for what it is in; expected an end')
        return known[id(node)]
    known[id(node)] = 0
    below = node.value
    if isinstance(node, yaml.MappingNode):
        _no_key_twice(node, name, error)
        below = [part for pair in node.value for part in pair]
    count = 1 + sum(_size(part, known, name, error) for part in below)
    if count > _MAX_VALUES:
        raise error(f'{line}: {count} values, aliases written out; expected up to {_MAX_VALUES}')
    known[id(node)] = count
    return count


def _no_key_twice(node: yaml.MappingNode, name: str, error: type[MarineSimError]) -> None:
    seen: dict[tuple[str, str], int] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        line, what = key.start_mark.line + 1, (key.tag, key.value)
        if what in seen:
            raise error(
                f'{name}:{line}: {short_text(key.value)} is in line {seen[what]} too; '
                'expected it once'
            )
        seen[what] = line


# Registry of the YAML files in ``config``: find, parse and read.


_UNLISTED = ('identification', 'recordings', 'sensors', 'validation')
"""Folders whose files `marine_sim list` does not list."""


class ConfigFiles(Generic[Content]):
    """The files of one kind: those shipped in a folder of ``config``, and the user's own."""

    def __init__(
        self,
        folder: str,
        read: Callable[[YamlReader], Content],
        error: type[MarineSimError] = ParameterError,
        kind: str = '',
    ) -> None:
        """Name the folder below ``config``, the reader of a file's content and its error.

        Messages call such a file by ``kind``; empty: by the name of the folder.
        """
        self.folder, self.kind = folder, kind or folder.removesuffix('s')
        self._read, self._error = read, error

    def names(self) -> list[str]:
        """Return the names of the files that are shipped."""
        return sorted(p.stem for p in (resource_folder('config') / self.folder).glob('*.yaml'))

    def path(self, name_or_path: str | Path) -> Path:
        """Return the path of a shipped file by its name, or the path itself."""
        path = resource_folder('config') / self.folder / f'{name_or_path}.yaml'
        if '/' in str(name_or_path) or not path.is_file():
            path = expand_home(name_or_path)
        return path

    def load(self, name_or_path: str | Path) -> Content:
        """Return the content of a file, by its shipped name or by its path.

        Raises:
            MarineSimError: of this kind of file: it cannot be found, read or used.
        """
        path = self.path(name_or_path)
        if path.is_dir() or not os.path.exists(path):
            listed = self.folder not in _UNLISTED
            word, names = str(name_or_path), self.names()
            raise self._error(
                no_such_name(self.kind, word, names, path, ('.yaml',), listed=listed)
            )
        return self.parse(read_text_file(path, self._error), str(path))

    def parse(self, text: str, name: str) -> Content:
        """Return the content of a YAML text; the name stands in the messages.

        Raises:
            MarineSimError: of this kind of file: one line with what, where, and what was expected.
        """
        return self._read(YamlReader(name, parse_yaml(text, name, self._error), self._error))
