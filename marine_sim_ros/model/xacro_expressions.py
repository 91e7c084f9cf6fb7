# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Evaluates the expressions of a xacro file: numbers, texts, lists, and the functions it lists.

An expression is a small subset of Python that is interpreted here, node by node: a description
that somebody sends can compute, and reach nothing else. Values are plain data; there is no
attribute but the items of a mapping and a few methods of texts, lists and mappings.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import time
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from marine_sim_ros.core.errors import ModelError

__all__ = ['MATH', 'MAX_SIZE', 'PYTHON', 'Budget', 'Function', 'RefusedExpression', 'evaluate']

MAX_LENGTH = 20_000
"""Characters of an expression; the longest of the shipped vehicles has 2,400."""
MAX_BITS = 4096
"""Bits of a whole number."""
MAX_SIZE = 1_000_000
"""Characters and elements of a value, those within it included."""
MAX_WORK = 2_000_000
"""Bounds of an expansion: evaluation steps; characters and elements of results."""
MAX_SECONDS = 10.0
"""Bound of an expansion's processor time, s; the largest shipped vehicle takes below 1 s."""
_CLOCK = 1000
"""Steps between two looks at the clock."""
_ITERATION = 5
"""Work of an element of a comprehension, besides that of its expressions."""
_MAX_COMBINATORICS = 300
_MAX_DIGITS = 1000
_MAX_FIELD = 1000


class RefusedExpression(ModelError):
    """Valid Python expression that a description may not use."""


class Budget:
    """Remaining work of an expansion, counted so that a file always fails at the same point."""

    def __init__(self) -> None:
        self._work = 0
        self._end = time.process_time() + MAX_SECONDS

    def spend(self, work: int = 1) -> None:
        """Count work; raises ModelError when the bound is exceeded."""
        before, self._work = self._work, self._work + work
        if self._work > MAX_WORK:
            raise ModelError(f'its expansion takes more than {MAX_WORK:,} steps')
        if self._work // _CLOCK != before // _CLOCK:
            self.check_time()

    def check_time(self) -> None:
        """Raise ModelError when the bound of processor time is exceeded."""
        if time.process_time() > self._end:
            raise ModelError(f'its expansion takes more than {MAX_SECONDS:g} s of processor time')


class Function:
    """Function that expressions may call, without access to its attributes."""

    def __init__(self, name: str, call: Callable[..., Any]) -> None:
        self.name, self.call = name, call

    def __repr__(self) -> str:
        """Return the name, as a description may print it."""
        return f'<function {self.name}>'


def evaluate(text: str, names: Mapping[str, Any], budget: Budget, spaces: Any = ()) -> Any:
    """Return the value of an expression.

    Args:
        text: the expression.
        names: values, functions and namespaces by their names.
        budget: work that is left.
        spaces: types of namespaces, mappings whose items an expression reads as attributes.

    Raises:
        RefusedExpression: it uses what a description may not, or would take too much.
        NameError, TypeError, ValueError, ...: as Python does.
    """
    text = text.strip()
    if len(text) > MAX_LENGTH:
        raise RefusedExpression(f'has {len(text)} characters; expected at most {MAX_LENGTH}')
    try:
        tree = ast.parse(text, mode='eval')
        return _Evaluation(names, budget, spaces).value(tree.body)
    except (RecursionError, MemoryError):
        raise RefusedExpression('is nested too deeply') from None


# ---- bounds ------------------------------------------------------------------------------------


def _weight(value: Any, left: int) -> int:
    """Return the size of a value in characters and elements; counting ends beyond ``left``."""
    if isinstance(value, str):
        return 1 + len(value)
    if isinstance(value, int):
        return 1 + value.bit_length() // 4
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    elif not isinstance(value, list | tuple | set):
        return 1
    total = 1 + len(value)
    for element in value:
        if total > left:
            break
        total += _weight(element, left - total)
    return total


def _check_value(value: Any, budget: Budget) -> Any:
    """Return a value that was computed; raises RefusedExpression where it is too large."""
    if isinstance(value, int):
        _check_bits(value.bit_length())
    weight = _weight(value, MAX_SIZE)
    _check_size(weight)
    budget.spend(weight)
    return value


def _check_bits(bits: float) -> None:
    if bits > MAX_BITS:
        raise RefusedExpression(
            f'gives a whole number of {bits:.3g} bits; expected at most {MAX_BITS}'
        )


def _check_size(size: float) -> None:
    if size > MAX_SIZE:
        raise RefusedExpression(
            f'gives a value of {size:.3g} characters or elements; expected at most {MAX_SIZE:,}'
        )


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and b > 0:
        _check_bits(a.bit_length() * b if abs(a) > 1 else 0)
    result = a**b
    if isinstance(result, complex):
        raise RefusedExpression('gives a complex number; expected a real one')
    return result


def _times(a: Any, b: Any) -> Any:
    for sequence, count in ((a, b), (b, a)):
        if isinstance(sequence, str | list | tuple) and isinstance(count, int):
            _check_size(_weight(sequence, MAX_SIZE) * count)
    return a * b


def _left_shift(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        _check_bits(a.bit_length() + b)
    return a << b


_FIELD = re.compile(r'%(?:\([^)]*\))?[-#0 +]*(\*|\d*)(?:\.(\*|\d*))?')


def _modulo(a: Any, b: Any) -> Any:
    if isinstance(a, str):
        fields = _FIELD.findall(a)
        _check_size(len(a) + len(fields) * _weight(b, MAX_SIZE))
        for width in (w for field in fields for w in field if w):
            if width == '*' or len(width) > 4 or int(width) > _MAX_FIELD:
                raise RefusedExpression(f'has a field of the width {width[:20]}')
    return a % b


# ---- functions ---------------------------------------------------------------------------------


def _range(*limits: int) -> list[int]:
    numbers = range(*limits)
    _check_size(len(numbers))
    return list(numbers)


def _int(value: Any = 0, *base: int) -> int:
    if isinstance(value, str) and len(value) > _MAX_DIGITS:
        raise RefusedExpression(f'reads a number of {len(value)} digits')
    return int(value, *base)


def _round(value: Any, digits: Any = None) -> Any:
    if isinstance(digits, int) and abs(digits) > _MAX_DIGITS:
        raise RefusedExpression(f'rounds to {digits} digits')
    return round(value, digits)


def _sum(values: Iterable[Any], start: Any = 0) -> Any:
    total = start
    for value in values:
        if not isinstance(value, int | float) or not isinstance(total, int | float):
            raise TypeError('sum() of other values than numbers')
        total = total + value
    return total


def _product(values: Iterable[Any]) -> Any:
    total: Any = 1
    for value in values:
        if not isinstance(value, int | float):
            raise TypeError('prod() of other values than numbers')
        total = total * value
        if isinstance(total, int):
            _check_bits(total.bit_length())
    return total


def _combinatorics(call: Callable[..., int]) -> Callable[..., int]:
    def bounded_call(*numbers: int) -> int:
        for number in numbers:
            if number > _MAX_COMBINATORICS:
                raise RefusedExpression(
                    f'{call.__name__}({number}); expected up to {_MAX_COMBINATORICS}'
                )
        return call(*numbers)

    return bounded_call


def _zip(*sequences: Any) -> list[Any]:
    if sequences:
        _check_size(len(sequences) * min(map(len, sequences)))
    return list(zip(*sequences, strict=False))


def _map(call: Any, *sequences: Any) -> list[Any]:
    result, size = [], 0
    for values in _zip(*sequences):
        result.append(_callable(call)(*values))
        size += _weight(result[-1], MAX_SIZE)
        _check_size(size)
    return result


def _filter(call: Any, values: Iterable[Any]) -> list[Any]:
    chosen = bool if call is None else _callable(call)
    return [value for value in values if chosen(value)]


def _callable(value: Any) -> Callable[..., Any]:
    if not isinstance(value, Function):
        raise TypeError(f'{type(value).__name__!r} object is not callable')
    return value.call


def _functions(**calls: Callable[..., Any]) -> dict[str, Function]:
    return {name: Function(name, call) for name, call in calls.items()}


PYTHON: Mapping[str, Any] = {
    **_functions(
        list=list,
        dict=dict,
        map=_map,
        len=len,
        str=str,
        float=float,
        int=_int,
        bool=bool,
        min=min,
        max=max,
        round=_round,
        sorted=sorted,
        range=_range,
        abs=abs,
        all=all,
        any=any,
        divmod=divmod,
        enumerate=lambda *a: list(enumerate(*a)),
        filter=_filter,
        ord=ord,
        repr=repr,
        reversed=lambda a: list(reversed(a)),
        set=set,
        sum=_sum,
        tuple=tuple,
        zip=_zip,
    ),
    'True': True,
    'False': False,
}
"""Python's functions that xacro documents, those that read data only."""

_GROWING = {'factorial', 'comb', 'perm'}
_UNBOUNDED = {'prod', 'lcm'}

MATH: Mapping[str, Any] = {
    name: Function(name, _combinatorics(value) if name in _GROWING else value)
    if callable(value)
    else value
    for name, value in vars(math).items()
    if not name.startswith('_') and name not in _UNBOUNDED
} | _functions(prod=_product)
"""Functions and constants of Python's ``math``."""


def _replace(text: str, old: str, new: str) -> str:
    _check_size(len(text) + text.count(old) * len(new))
    return text.replace(old, new)


def _join(separator: str, texts: Iterable[str]) -> str:
    texts = list(texts)
    _check_size(len(separator) * len(texts) + sum(map(len, texts)))
    return separator.join(texts)


_TEXT_METHODS: Mapping[str, Callable[..., Any]] = {
    'replace': _replace,
    'join': _join,
    **{
        name: getattr(str, name)
        for name in (
            *('split', 'rsplit', 'splitlines', 'strip', 'lstrip', 'rstrip'),
            *('lower', 'upper', 'title', 'capitalize', 'startswith', 'endswith'),
            *('find', 'rfind', 'index', 'count', 'isdigit', 'isalpha', 'isalnum', 'isspace'),
        )
    },
}
_LIST_METHODS: Mapping[str, Callable[..., Any]] = {
    name: lambda value, *a, name=name: getattr(list(value), name)(*a)
    for name in ('index', 'count', 'copy')
}
_DICT_METHODS: Mapping[str, Callable[..., Any]] = {
    'get': dict.get,
    'keys': lambda value: list(dict.keys(value)),
    'values': lambda value: list(dict.values(value)),
    'items': lambda value: list(dict.items(value)),
    'copy': dict.copy,
}


def _method(value: Any, name: str) -> Callable[..., Any] | None:
    methods: Mapping[str, Callable[..., Any]] = {}
    if isinstance(value, str):
        methods = _TEXT_METHODS
    elif isinstance(value, list | tuple):
        methods = _LIST_METHODS
    elif isinstance(value, dict):
        methods = _DICT_METHODS
    call = methods.get(name)
    return None if call is None else lambda *a: call(value, *a)


# ---- the interpreter ---------------------------------------------------------------------------

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _times,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: _modulo,
    ast.Pow: _power,
    ast.LShift: _left_shift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
_COMPARISON: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


class _Evaluation(ast.NodeVisitor):
    """The evaluation of one expression."""

    def __init__(self, names: Mapping[str, Any], budget: Budget, spaces: Any) -> None:
        self._names, self._budget, self._spaces = names, budget, spaces

    def value(self, node: ast.AST) -> Any:
        """Return the value of a node: data or an allowed function."""
        result = self.visit(node)
        if self._spaces and isinstance(result, self._spaces):
            raise TypeError('a namespace is no value')
        return result

    def visit(self, node: ast.AST) -> Any:
        """Return the value of a node, which may be a namespace."""
        self._budget.spend()
        return super().visit(node)

    def generic_visit(self, node: ast.AST) -> Any:
        """Refuse syntax that descriptions do not need."""
        raise RefusedExpression(f'uses {_LABELS.get(type(node), type(node).__name__)}')

    def visit_Constant(self, node: ast.Constant) -> Any:
        if node.value is not None and not isinstance(node.value, bool | int | float | str):
            raise RefusedExpression(f'uses {node.value!r}')
        return node.value

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id.startswith('__'):
            raise RefusedExpression(f'uses the name {node.id}')
        try:
            return self._names[node.id]
        except KeyError:
            raise NameError(f'name {node.id!r} is not defined') from None

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        value = self.visit(node.value)
        if not node.attr.startswith('__') and isinstance(value, Mapping) and node.attr in value:
            return value[node.attr]
        raise RefusedExpression(f'uses the attribute .{node.attr}')

    def visit_Call(self, node: ast.Call) -> Any:
        call = None
        if isinstance(node.func, ast.Attribute):
            target = self.visit(node.func.value)
            if not (self._spaces and isinstance(target, self._spaces)):
                call = _method(target, node.func.attr)
        if call is None:
            call = _callable(self.visit(node.func))
        values = self._values(node.args)
        named = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise RefusedExpression('uses ** in a call')
            named[keyword.arg] = self.value(keyword.value)
        return _check_value(call(*values, **named), self._budget)

    def _values(self, nodes: Sequence[ast.expr]) -> list[Any]:
        result: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                result.extend(self.value(node.value))
            else:
                result.append(self.value(node))
        return result

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        apply = _BINARY.get(type(node.op))
        if apply is None:
            raise RefusedExpression('uses a product of matrices')
        return _check_value(apply(left, right), self._budget)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        return _UNARY[type(node.op)](self.value(node.operand))

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        is_or = isinstance(node.op, ast.Or)
        value = None
        for operand in node.values:
            value = self.value(operand)
            if bool(value) is is_or:
                break
        return value

    def visit_Compare(self, node: ast.Compare) -> Any:
        left = self.value(node.left)
        for comparison, operand in zip(node.ops, node.comparators, strict=True):
            right = self.value(operand)
            if not _COMPARISON[type(comparison)](left, right):
                return False
            left = right
        return True

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        return self.value(node.body if self.value(node.test) else node.orelse)

    def visit_List(self, node: ast.List) -> Any:
        return _check_value(self._values(node.elts), self._budget)

    def visit_Tuple(self, node: ast.Tuple) -> Any:
        return _check_value(tuple(self._values(node.elts)), self._budget)

    def visit_Set(self, node: ast.Set) -> Any:
        return _check_value(set(self._values(node.elts)), self._budget)

    def visit_Dict(self, node: ast.Dict) -> Any:
        result = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                raise RefusedExpression('uses ** in a mapping')
            result[self.value(key)] = self.value(value)
        return _check_value(result, self._budget)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        return self.value(node.value)[self.value(node.slice)]

    def visit_Slice(self, node: ast.Slice) -> slice:
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else self.value(part) for part in parts))

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> Any:
        return _check_value(self._comprehension(node.elt, node.generators), self._budget)

    visit_GeneratorExp = visit_ListComp

    def _comprehension(
        self, element: ast.expr, generators: Sequence[ast.comprehension]
    ) -> list[Any]:
        """Return the elements of a comprehension, with the scope of its names."""
        if not generators:
            return [self.value(element)]
        first, result, outer = generators[0], [], self._names
        size = 0
        try:
            for item in list(self.value(first.iter)):
                self._budget.spend(_ITERATION)
                self._names = ChainMap(_assigned_names(first.target, item), outer)  # type: ignore[arg-type]
                if all(self.value(test) for test in first.ifs):
                    values = self._comprehension(element, generators[1:])
                    size += _weight(values, MAX_SIZE)
                    _check_size(size)
                    result += values
        finally:
            self._names = outer
        return result


_LABELS: Mapping[type[ast.AST], str] = {
    ast.Lambda: 'lambda',
    ast.NamedExpr: ':=',
    ast.JoinedStr: 'a formatted text (f-string)',
    ast.SetComp: 'a set comprehension',
    ast.DictComp: 'a mapping comprehension',
    ast.Starred: '* outside a call or a list',
    ast.Await: 'await',
    ast.Yield: 'yield',
    ast.YieldFrom: 'yield',
}


def _assigned_names(target: ast.expr, value: Any) -> dict[str, Any]:
    """Return the names that an element of a comprehension gets."""
    if isinstance(target, ast.Name):
        return {target.id: value}
    if not isinstance(target, ast.Tuple | ast.List):
        raise RefusedExpression('assigns to what is no name')
    values = list(value)
    if len(values) != len(target.elts):
        raise ValueError(f'{len(values)} values for {len(target.elts)} names')
    result: dict[str, Any] = {}
    for inner, element in zip(target.elts, values, strict=True):
        result.update(_assigned_names(inner, element))
    return result
