# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A Stonefish scenario with its includes, arguments and sums written out."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.importers.draft import origin_of
from marine_sim_ros.importers.lenient import IncludedFiles
from marine_sim_ros.model.packages import package_folder
from marine_sim_ros.model.xml import Element, Reader

__all__ = ['ScenarioFiles']

_DEEPEST = 10
_LONGEST = 100_000
"""Characters of an attribute with its arguments written out."""
_ARG = re.compile(r'\$\(arg\s+([^)\s]+)\s*\)')
_SUM = re.compile(r'\$\{([^}]{1,200})\}')
_FIND = re.compile(r'\$\(find\s+([^)\s]+)\s*\)')

_FUNCTIONS: dict[str, Callable[[float], float]] = {
    'abs': abs,
    'acos': math.acos,
    'asin': math.asin,
    'atan': math.atan,
    'ceil': math.ceil,
    'cos': math.cos,
    'exp': math.exp,
    'floor': math.floor,
    'ln': math.log,
    'log': math.log10,
    'log10': math.log10,
    'sin': math.sin,
    'sqrt': math.sqrt,
    'tan': math.tan,
}
"""Of tinyexpr, which Stonefish evaluates with."""
_CONSTANTS = {'pi': math.pi, 'e': math.e}
_OPERATORS: dict[type, Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: math.fmod,
    ast.Pow: math.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def _evaluated(text: str, reader: Reader) -> str:
    """Return the value of an expression of numbers, pi, e, + - * / % ^, brackets and functions."""

    def value(node: ast.AST) -> float:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return float(node.value)
        if isinstance(node, ast.Name) and node.id in _CONSTANTS:
            return _CONSTANTS[node.id]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return float(_FUNCTIONS[node.func.id](*map(value, node.args)))
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.operand))
        raise ValueError

    try:
        tree = ast.parse(text.strip().replace('**', '?').replace('^', '**'), mode='eval')
        return repr(value(tree.body))
    except (SyntaxError, ValueError, TypeError, LookupError, ArithmeticError, RecursionError):
        raise reader.error(
            f'${{{text[:40]}}} cannot be evaluated; expected numbers, pi, + - * / % ^, brackets '
            f'and {", ".join(_FUNCTIONS)}'
        ) from None


class ScenarioFiles:
    """Reads a scenario and what it includes, arguments replaced."""

    def __init__(self, source: str, path: Path, arguments: Mapping[str, str]) -> None:
        self.source, self.path, self.arguments = source, path, dict(arguments)
        self.missing: list[str] = []
        self._files = IncludedFiles()

    def fill(self, root: Element) -> None:
        """Replace arguments in the scenario, and put in what it includes."""
        self._replace(root, self.source, self.arguments)
        self._include(root, self.source, self.arguments, 0)

    def _replace(self, root: Element, source: str, arguments: Mapping[str, str]) -> None:
        for element in root.iter():
            if not isinstance(element.tag, str):
                continue
            for key, value in list(element.attrib.items()):
                text = str(value)
                if '$' not in text:
                    continue
                element.set(key, self._filled(text, Reader(element, source), arguments))

    def _filled(self, text: str, reader: Reader, arguments: Mapping[str, str]) -> str:
        def argument(match: re.Match[str]) -> str:
            name = match[1]
            if name not in arguments and name in ('robot_name', 'vehicle_name', 'name'):
                return self.path.stem
            return arguments.get(name, match[0])  # a number that is needed will say so

        def folder(match: re.Match[str]) -> str:
            try:
                return str(package_folder(match[1], self.path.parent))
            except ModelError as error:
                self.missing.append(f'{origin_of(reader)}: {error}')
                return match[0]

        longest = max(map(len, arguments.values()), default=0)
        if len(text) + text.count('$') * longest > _LONGEST:
            raise reader.error(f'an attribute is longer than {_LONGEST} characters')
        filled = _FIND.sub(folder, _ARG.sub(argument, text))
        return _SUM.sub(lambda m: _evaluated(m[1], reader), filled)

    def _include(
        self, root: Element, source: str, arguments: Mapping[str, str], depth: int
    ) -> None:
        if depth > _DEEPEST:
            raise ModelError(f'{source}: includes are nested deeper than {_DEEPEST}')
        for include in list(root.iter('include')):
            reader = Reader(include, source)
            name = reader.attribute('file')
            file = self._find(name, Path(source).parent)
            if file is None:
                self.missing.append(
                    f'{origin_of(reader)}: {name!r} is not there; expected --package-path FOLDER'
                )
                continue
            given = {str(a.get('name')): str(a.get('value')) for a in include.findall('arg')}
            inner = self._files.parse(file, origin_of(reader))
            self._replace(inner, str(file), {**arguments, **given})
            self._include(inner, str(file), {**arguments, **given}, depth + 1)
            parent = include.getparent()
            for child in list(inner):
                child.set('_source', str(child.get('_source', file)))
                if parent is not None:
                    parent.append(child)

    def _find(self, name: str, folder: Path) -> Path | None:
        places = (
            [Path(name)]
            if name.startswith('/')
            else [base / name for base in (folder, *folder.parents[:3])]
        )
        return next((p for p in places if p.is_file()), None)
