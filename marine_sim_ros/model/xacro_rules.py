# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What an expansion by xacro may do: its expressions, the files it reads, how far it unfolds.

The library calls the functions of its modules by their names; for the time of an expansion those
with which a description could reach out of itself are replaced by ours.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from marine_sim_ros.core.errors import ModelError, escape_controls
from marine_sim_ros.core.files import read_text_file
from marine_sim_ros.core.packages import (
    ReadableFolders,
    RosPackageError,
    is_trusted,
    package_around,
    package_folder,
)
from marine_sim_ros.core.yaml_file import parse_yaml
from marine_sim_ros.model.xacro_expressions import (
    MATH,
    MAX_SIZE,
    PYTHON,
    Budget,
    Function,
    RefusedExpression,
    evaluate,
)

__all__ = ['XacroRules', 'innermost_error']

MAX_MACRO_DEPTH = 200
"""Macros that call each other, as one that calls itself for each row of a table does."""
MAX_INCLUDE_DEPTH = 40
"""Files that include each other."""
MAX_INCLUDES = 1000
"""Files that an expansion reads."""
_MACRO = 200
"""Work of a macro call, in steps of an expression."""
_DIRECT = (
    *('list', 'dict', 'map', 'len', 'str', 'float', 'int', 'bool', 'min', 'max', 'round'),
    *('sorted', 'range'),
)
"""Functions of Python that need no namespace."""
_UNITS = {
    '!radians': 1.0,
    '!degrees': 3.141592653589793 / 180,
    '!meters': 1.0,
    '!millimeters': 0.001,
    '!foot': 0.3048,
    '!inches': 0.0254,
}


def innermost_error(error: BaseException) -> BaseException:
    """Return the error that xacro's own wraps."""
    while getattr(error, 'exc', None) is not None:
        error = error.exc  # type: ignore[attr-defined]
    return error


class XacroRules:
    """The rules of one expansion.

    Attributes:
        failed: the text that could not be evaluated, the innermost one; empty: none.
        skipped: what was left out: the text of an include or the tag of a macro call, and why.
    """

    def __init__(
        self, path: Path, parse: Callable[[Any, str], Any], *, skip_missing: bool = False
    ) -> None:
        """Bind the rules to a description.

        Args:
            path: the description.
            parse: takes a parsed document and its file.
            skip_missing: whether includes from packages that are not installed are left out, and
                calls of the macros that they would define.
        """
        self.failed = ''
        self.skipped: list[tuple[str, str]] = []
        self._skips = skip_missing
        self._path, self._parse = path, parse
        self._folders = ReadableFolders(path)
        self._budget = Budget()
        self._depth = self._files = 0

    @contextmanager
    def applied_to(self, xacro: Any) -> Iterator[None]:
        """Apply the rules to the library while the context lasts."""
        arguments, warning = xacro.substitution_args, xacro.warning
        replaced: list[tuple[Any, str, Any]] = [
            (xacro, 'parse', self._parser(xacro)),
            (xacro, 'eval_text', self._evaluator(xacro.eval_text)),
            (xacro, 'handle_macro_call', self._caller(xacro)),
            (xacro, 'get_include_files', self._includes(xacro)),
            (xacro, 'warning', lambda *t: warning(escape_controls(' '.join(map(str, t))))),
            (arguments, '_eval_find', self._find),
            (arguments, '_eval_dict', {**arguments._eval_dict, 'find': self._find}),
        ]
        if not is_trusted():
            spaces = (xacro.NameSpace,)
            replaced += [
                (xacro, '_global_symbols', self._symbols(xacro)),
                (xacro, 'safe_eval', lambda t, g, _=None: evaluate(t, g, self._budget, spaces)),
                (arguments, '_eval', self._substitution(arguments)),
            ]
        before = [(module, name, getattr(module, name)) for module, name, _ in replaced]
        for module, name, value in replaced:
            setattr(module, name, value)
        try:
            yield
        finally:
            for module, name, value in before:
                setattr(module, name, value)

    # ---- texts and expressions -----------------------------------------------------------------

    def _evaluator(self, evaluate_text: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
        """Return the function for each text of a document.

        Most texts have no ``$``: xacro's lexer returns them as they are, and takes a sixth of an
        expansion's time for it.
        """

        def evaluate_element(text: str, symbols: Any) -> Any:
            self._budget.spend(1 + len(text) // 16)
            if '$' not in text:
                return text
            try:
                result = evaluate_text(text, symbols)
                if isinstance(result, str) and len(result) > max(MAX_SIZE, len(text)):
                    raise RefusedExpression(f'gives a text of {len(result)} characters')
            except Exception:
                self.failed = self.failed or text
                raise
            return result

        return evaluate_element

    def _substitution(self, arguments: Any) -> Callable[[str, Any], str]:
        """Return the function for ``$(eval ...)``."""

        def substitute(text: str, context: Mapping[str, Any]) -> str:
            xacro_arguments = context.get('arg', {})

            def argument(name: str) -> Any:
                return arguments.convert_value(
                    arguments._eval_arg(name, args=xacro_arguments), 'auto'
                )

            functions = {
                **{name: PYTHON[name] for name in ('list', 'dict', 'map', 'str', 'float', 'int')},
                **MATH,
                'true': True,
                'false': False,
                'arg': Function('arg', argument),
                'find': Function('find', self._find),
                'env': Function('env', arguments._eval_env),
                'optenv': Function('optenv', arguments._eval_optenv),
            }
            values = {name: argument(name) for name in xacro_arguments if name not in functions}
            return str(evaluate(text, {**values, **functions}, self._budget))

        return substitute

    def _symbols(self, xacro: Any) -> dict[str, Any]:
        """Return the names that every expression knows."""

        def space(functions: Mapping[str, Any]) -> Any:
            result = xacro.NameSpace()
            result.update(functions)
            return result

        def message(show: Callable[[str], Any]) -> Callable[..., str]:
            def show_texts(*texts: Any, **_: Any) -> str:
                show(escape_controls(' '.join(map(str, texts)))[:MAX_SIZE])
                return ''

            return show_texts

        def fatal(*texts: Any) -> None:
            raise xacro.XacroException(' '.join(map(str, texts)))

        def argument(name: str) -> Any:
            return xacro.substitution_args_context['arg'][name]

        files = {
            'load_yaml': self._yaml(xacro),
            'abs_filename': xacro.abs_filename_spec,
            'dotify': dict,
        }
        calls = {
            **files,
            'arg': argument,
            'fatal': fatal,
            'tokenize': _tokenize,
            'print_location': lambda: '',
            **{name: message(getattr(xacro, name)) for name in ('message', 'warning', 'error')},
        }
        functions = {name: Function(name, call) for name, call in calls.items()}
        return {
            **MATH,
            **{name: PYTHON[name] for name in (*_DIRECT, 'True', 'False')},
            **{name: functions[name] for name in files},
            'math': space(MATH),
            'python': space(PYTHON),
            'xacro': space(functions),
        }

    # ---- macros --------------------------------------------------------------------------------

    def _caller(self, xacro: Any) -> Callable[..., bool]:
        """Return the function that xacro calls for each element, whether a macro or not."""
        call = xacro.handle_macro_call

        def call_macro(node: Any, macros: Any, symbols: Any) -> bool:
            self._budget.spend()
            if not node.tagName.startswith('xacro:'):
                return False
            self._budget.spend(_MACRO)
            self._budget.check_time()
            if self._depth >= MAX_MACRO_DEPTH:
                raise ModelError(
                    f'<{node.tagName}>: macros call each other more than {MAX_MACRO_DEPTH} deep; '
                    'expected an end'
                )
            self._depth += 1
            try:
                return call(node, macros, symbols)
            except xacro.XacroException as error:
                if not self.skipped or not str(error).startswith('unknown macro name'):
                    raise
                self.skipped.append((node.tagName, 'its macro is in a package that is not there'))
                xacro.replace_node(node, by=None)
                return True
            finally:
                self._depth -= 1

        return call_macro

    # ---- files ---------------------------------------------------------------------------------

    def _find(self, package: str) -> str:
        folder = package_folder(package, self._path.parent)
        self._folders.add_package(package, folder)
        return str(folder)

    def _open(self, stack: list[str], filename: str) -> Path:
        """Return the path of an allowed file, and count it."""
        path = Path(filename)
        if filename != str(self._path):
            self._folders.check(path)
        self._files += 1
        if len(stack) > MAX_INCLUDE_DEPTH or self._files > MAX_INCLUDES:
            last = ' -> '.join(Path(file).name for file in stack[-3:] if file)
            limit = f'{MAX_INCLUDE_DEPTH} deep' if self._files <= MAX_INCLUDES else MAX_INCLUDES
            raise ModelError(f'more files are included than {limit} ({last}); expected an end')
        return path

    def _parser(self, xacro: Any) -> Callable[..., Any]:
        parse = xacro.parse

        def parse_document(document: Any, filename: str | None = None) -> Any:
            if document is None and filename is not None and Path(filename).exists():
                path = self._open(xacro.filestack, filename)
                return self._parse(lambda text: parse(text, filename), str(path))
            return parse(document, filename)

        return parse_document

    def _includes(self, xacro: Any) -> Callable[[str, Any], Iterator[str]]:
        """Return the function that yields the files of an include, which may have wildcards."""

        def find_includes(spec: str, symbols: Any) -> Iterator[str]:
            try:
                name = xacro.abs_filename_spec(str(xacro.eval_text(spec, symbols)))
            except Exception as error:  # xacro wraps it
                cause = innermost_error(error)
                if not self._skips or not isinstance(cause, RosPackageError):
                    raise
                self.skipped.append((spec, str(cause).partition(';')[0]))
                return
            if not glob.has_magic(name):
                yield from self._existing_file(spec, name) if self._skips else (name,)
                return
            folder = Path(name).parent
            if glob.has_magic(str(folder)):
                raise ModelError(f'{name}: expected wildcards in the name of a file only')
            self._folders.check(folder)
            files = sorted(glob.glob(name))
            if not files:
                xacro.warning(escape_controls(xacro.include_no_matches_msg.format(name)))
            yield from files

        return find_includes

    def _existing_file(self, spec: str, name: str) -> Iterator[str]:
        """Yield an included file, or the only one of its name in its package; note it if lost."""
        path = Path(name)
        if path.exists():
            yield name
            return
        package = package_around(path.parent)
        moved = [] if package is None else sorted(package[1].rglob(glob.escape(path.name)))
        if len(moved) == 1:
            self.skipped.append((spec, f'is not there; {moved[0].name} of its package is taken'))
            yield str(moved[0])
            return
        self.skipped.append((spec, f'{path.name!r} is not in its package'))

    def _yaml(self, xacro: Any) -> Callable[[str], Any]:
        class Loader(yaml.SafeLoader):
            """Reads numbers with a unit, too."""

        def unit(factor: float) -> Callable[[Any, Any], float]:
            def read(loader: Any, node: Any) -> float:
                text = str(loader.construct_scalar(node))
                return float(evaluate(text, {**MATH, **PYTHON}, self._budget)) * factor

            return read

        for tag, factor in _UNITS.items():
            Loader.add_constructor(tag, unit(factor))

        def load(filename: str) -> Any:
            path = self._open(xacro.filestack, xacro.abs_filename_spec(filename))
            text = read_text_file(path, ModelError, mark=True)
            return parse_yaml(text, str(path), ModelError, Loader)

        return load


def _tokenize(text: str, sep: str = ',; ', skip_empty: bool = True) -> list[str]:
    items = re.split(f'[{re.escape(sep)}]', text)
    return [item for item in items if item or not skip_empty]
