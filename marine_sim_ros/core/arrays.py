# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Array namespaces of NumPy and JAX, and loops and branches that a compiler traces.

The number of iterations of a loop may depend on its arrays. NumPy has their values; a tracing
compiler has none yet, and needs the loop as a function. The functions of this module make this
distinction, so that code which calls them is the same for every array library.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from types import ModuleType
from typing import Any, TypeAlias, TypeVar

import numpy as np

__all__ = [
    'Array',
    'NUMPY',
    'cond',
    'constant',
    'counted_loop',
    'is_numeric',
    'is_single_vector',
    'is_traced',
    'known_vector',
    'matvec',
    'namespace',
    'host_call',
    'remember_vectors',
    'rows',
    'skip_unless',
    'update_rows',
    'while_any_row',
    'while_loop',
    'with_gradient',
    'without_gradient',
]


# NumPy with the names of the Python array API standard, which NumPy 1.26 lacks.


def _vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Return Σ x₁ᵢ x₂ᵢ along an axis, added up by the same routine as NumPy 2's."""
    if axis != -1:
        x1, x2 = np.moveaxis(x1, axis, -1), np.moveaxis(x2, axis, -1)
    return (np.conj(x1)[..., None, :] @ x2[..., None])[..., 0, 0]


def _cumulative_sum(x: Any, /, *, axis: int = -1) -> Any:
    return np.cumsum(x, axis)


_LACKING = {
    'acos': np.arccos,
    'asin': np.arcsin,
    'argsort': lambda x, /, *, axis=-1, stable=True: np.argsort(x, axis, kind='stable'),
    'atan': np.arctan,
    'atan2': np.arctan2,
    'bool': np.bool_,
    'concat': np.concatenate,
    'cumulative_sum': _cumulative_sum,
    'permute_dims': np.transpose,
    'pow': np.power,
    'vecdot': _vecdot,
}


def _reduction(function: Any) -> Any:
    def reduce(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
        return function.reduce(x, axis=axis, keepdims=keepdims)

    return reduce


def _zeros_like(x: Any, /, *, dtype: Any = None) -> Any:
    shape = getattr(x, 'shape', None)
    if shape is None:
        return np.zeros_like(x, dtype)
    return np.zeros(shape, x.dtype if dtype is None else dtype)


def _ones_like(x: Any, /, *, dtype: Any = None) -> Any:
    shape = getattr(x, 'shape', None)
    if shape is None:
        return np.ones_like(x, dtype)
    ones = np.empty(shape, x.dtype if dtype is None else dtype)
    ones.fill(1)
    return ones


def _clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    if min is None or max is None:
        return np.clip(x, min, max)
    return np.minimum(np.maximum(x, min), max)


def _stack(arrays: Any, /, *, axis: int = 0) -> Any:
    if axis in (0, -1 - getattr(arrays[0], 'ndim', 0)):
        return np.array(arrays)  # a third of the time
    return np.stack(arrays, axis)


_SHORTER = {
    'all': _reduction(np.logical_and),
    'any': _reduction(np.logical_or),
    'astype': lambda x, dtype, /, *, copy=True: x.astype(dtype, copy=copy),
    'matrix_transpose': lambda x, /: x.swapaxes(-1, -2),
    'clip': _clip,
    'max': _reduction(np.maximum),
    'min': _reduction(np.minimum),
    'ones_like': _ones_like,
    'reshape': lambda x, shape, /: x.reshape(shape),
    'stack': _stack,
    'sum': _reduction(np.add),
    'take': lambda x, indices, /, *, axis=None: x.take(indices, axis),
    'zeros_like': _zeros_like,
}
"""Functions without the microsecond in which NumPy's own ones inspect arguments; 1.26 lacks two of
them."""


_OWN = {
    'rows': lambda value: value,
    'shortcut': lambda condition, short, full: short() if condition else full(),
}
"""Operations outside of the standard: see :func:`rows` and :func:`skip_unless`."""


def _standard() -> ModuleType:
    module = ModuleType('numpy')
    lacking = {} if hasattr(np, 'vecdot') else _LACKING
    module.__dict__.update(vars(np) | lacking | _SHORTER | _OWN)
    return module


NUMPY = _standard()
"""NumPy with all names of the standard that the package uses, frequent ones without detours."""


# Array library of a computation.

Array: TypeAlias = Any
"""An array of any library that follows the Python array API standard."""


def namespace(array: Array, *others: Array) -> ModuleType:
    """Return the array API namespace of an array: NUMPY, or what JAX and others name.

    A Python number has that of the first of the others that is an array, or NUMPY.
    """
    if type(array) is np.ndarray:
        return NUMPY  # the common case, and the cheapest test for it
    if isinstance(array, np.ndarray | np.generic):
        return NUMPY
    if isinstance(array, int | float):
        return namespace(*others) if others else NUMPY
    return array.__array_namespace__()  # type: ignore[no-any-return]


def constant(xp: ModuleType, value: np.ndarray) -> Array:
    """Return a constant NumPy array as an array of namespace ``xp``."""
    return value if xp is NUMPY else xp.asarray(value)


def rows(xp: ModuleType, value: Array) -> Array:
    """Return a constant array (..., n) of something a vehicle has many of, as one of ``xp``."""
    return getattr(xp, 'rows', xp.asarray)(value)


_NUMERIC = np.ndarray, np.generic, int, float


def is_numeric(values: Any) -> bool:
    """Return whether values are Python's or NumPy's, so that they are known while code runs."""
    return isinstance(values, _NUMERIC)


def is_single_vector(values: Array) -> bool:
    """Return whether values are one vector (n,) of NumPy, for which there are shorter ways."""
    return type(values) is np.ndarray and values.ndim == 1


def matvec(matrix: Array, vector: Array) -> Array:
    """Multiply matrices (..., m, n) by vectors (..., n); returns (..., m)."""
    if is_single_vector(vector):
        return matrix.dot(vector)  # half the time of matmul
    if vector.ndim == 1:
        return matrix @ vector
    return (matrix @ vector[..., None])[..., 0]


def known_vector(vectors: Array) -> np.ndarray | None:
    """Return the single vector that an array (..., n) repeats; None: several, or traced ones."""
    if not is_numeric(vectors) or not vectors.size:
        return None
    first = vectors.reshape(-1, vectors.shape[-1])[0]
    return first if vectors.ndim == 1 or (vectors == first).all() else None


Answer = TypeVar('Answer')


def remember_vectors(
    function: Callable[..., Answer], *, shared: bool = False
) -> Callable[..., Answer]:
    """Cache the results of a function for its latest NumPy vectors, with the same other arguments.

    Forces ask for the same attitude, velocity or pairs in one tick. The vector (n,) comes first;
    other arguments are hashable. Each caller has an array of its own, to write to; with ``shared``
    all have the same one, and nobody can write into it.
    """

    @lru_cache(maxsize=128)
    def latest(numbers: bytes, kind: np.dtype, *others: Any) -> Answer:
        answer = function(np.frombuffer(numbers, kind), *others)
        if shared and isinstance(answer, np.ndarray):
            answer.setflags(write=False)
        return answer

    @wraps(function)
    def remembering(vector: Array, *others: Any) -> Answer:
        if not is_single_vector(vector):
            return function(vector, *others)
        found: Any = latest(vector.tobytes(), vector.dtype, *others)
        copies = not shared and isinstance(found, np.ndarray)
        return found.copy() if copies else found  # type: ignore[no-any-return]

    return remembering


# Loops and branches for arrays, also while a compiler traces them.

Search = TypeVar('Search')
RowTuple = TypeVar('RowTuple', bound=tuple[Any, ...])
Result = TypeVar('Result')


def is_traced(xp: Any) -> bool:
    """Return whether arrays of a namespace are traced, so that their values are unknown."""
    return getattr(xp, '__name__', '') == 'jax.numpy'


def while_loop(
    xp: Any,
    unfinished: Callable[[Search], Array],
    body: Callable[[Search], Search],
    start: Search,
    *,
    unrolled: int = 0,
) -> Search:
    """Return the state after applying ``body`` to ``start`` while the condition holds.

    Args:
        xp: namespace of the arrays within.
        unfinished: condition () of the search state: True while the search goes on.
        body: one step; shapes and types stay.
        start: tuples of arrays.
        unrolled: steps in scalarised programs, which have no loops; 0: it is not for these.
    """
    if is_traced(xp):
        from jax import lax

        return lax.while_loop(unfinished, body, start)  # type: ignore[no-any-return]
    if unrolled and (unroll := getattr(xp, 'unroll', None)):
        return unroll(unrolled, body, start)  # type: ignore[no-any-return]
    while unfinished(start):
        start = body(start)
    return start


def counted_loop(
    xp: Any, count: int, body: Callable[[Search, Array], Search], start: Search
) -> Search:
    """Return the state after applying ``body`` to ``start`` with 0, 1, ... count − 1."""
    if is_traced(xp):
        from jax import lax

        numbers = xp.arange(count)
        return lax.scan(lambda now, i: (body(now, i), None), start, numbers)[0]  # type: ignore[no-any-return]
    for i in range(count):
        start = body(start, i)
    return start


def update_rows(
    mask: Array, values: RowTuple, function: Callable[..., RowTuple], *arguments: Any
) -> RowTuple:
    """Return values with those of a function in the rows that a mask selects.

    NumPy calls the function with these rows only, other libraries with all.

    Args:
        mask: truths (r,).
        values: named tuple of arrays (r, ...).
        function: function of the arguments that returns such a tuple; each row by itself.
        arguments: named tuples of arrays (r, ...).
    """
    if not is_numeric(mask):
        xp = namespace(mask)
        pairs = zip(function(*arguments), values, strict=True)
        return type(values)(*(xp.where(mask, new, old) for new, old in pairs))
    result = type(values)(*(np.array(x) for x in values))
    index = np.flatnonzero(mask)
    _store_rows(result, index, function(*(_take_rows(x, index) for x in arguments)))
    return result


def while_any_row(
    unfinished: Callable[[Any, RowTuple], Array],
    body: Callable[[Any, RowTuple], RowTuple],
    constants: Any,
    start: RowTuple,
) -> RowTuple:
    """Return rows after applying ``body`` to each of them while its condition holds.

    Args:
        unfinished: function of constants and rows: truths (r,).
        body: function of constants and rows that returns the next rows; each row by itself.
        constants: named tuple of arrays (r, ...) that the loop does not change.
        start: named tuple of arrays (r, ...).
    """
    if not is_numeric(start[0]):
        xp = namespace(start[0])
        return while_loop(
            xp,
            lambda rows: xp.any(unfinished(constants, rows)),
            lambda rows: update_rows(unfinished(constants, rows), rows, body, constants, rows),
            start,
        )
    result = type(start)(*(np.array(x) for x in start))
    active = np.flatnonzero(unfinished(constants, start))
    while active.size:
        fixed, now = _take_rows(constants, active), _take_rows(result, active)
        now = body(fixed, now)
        _store_rows(result, active, now)
        active = active[unfinished(fixed, now)]
    return result


def _take_rows(values: RowTuple, index: np.ndarray) -> RowTuple:
    return type(values)(*(x[index] for x in values))


def _store_rows(values: RowTuple, index: np.ndarray, new: RowTuple) -> None:
    for target, numbers in zip(values, new, strict=True):
        target[index] = numbers


def host_call(
    function: Callable[..., tuple[np.ndarray, ...]],
    shapes: tuple[tuple[int, ...], ...],
    *arrays: Array,
    machine_code: Callable[[], str | None] | None = None,
) -> tuple[Array, ...]:
    """Return the result of a NumPy function, also for traced arrays.

    A compiled program calls back into Python for it, or calls machine code that does the same.
    Gradients do not pass through.

    Args:
        function: takes and returns NumPy arrays; all arguments may have the same additional
            leading dimensions, those of a batch.
        shapes: shapes of the results, without a batch.
        arrays: arguments.
        machine_code: returns the name under which XLA knows a function of float64 arrays that
            does the same; None: it knows none.
    """
    xp = namespace(*arrays)
    if not is_traced(xp):
        return function(*(np.asarray(array) for array in arrays))
    import jax

    inputs = without_gradient(xp, tuple(xp.asarray(array) for array in arrays))
    number = np.dtype(inputs[0].dtype)
    if machine_code and number == np.float64 and jax.default_backend() == 'cpu':
        target = machine_code()
        if target:
            kinds = tuple(jax.ShapeDtypeStruct(shape, number) for shape in shapes)
            query = jax.ffi.ffi_call(target, kinds, vmap_method='broadcast_all')
            return tuple(query(*(x.astype(number) for x in inputs)))
    # JAX may call from a thread of its own, in which it rounds float64 to float32; bits it keeps.
    bits = np.dtype((np.uint32, 2)) if number == np.float64 else number
    passed = tuple(jax.lax.bitcast_convert_type(x.astype(number), bits.base) for x in inputs)
    results = tuple(jax.ShapeDtypeStruct((*shape, *bits.shape), bits.base) for shape in shapes)

    def call(*values: Any) -> tuple[np.ndarray, ...]:
        arrays = (_joined(np.asarray(value), number) for value in values)
        found = function(*(np.asarray(array, float) for array in arrays))
        return tuple(_split(np.asarray(array, number), bits) for array in found)

    found = jax.pure_callback(call, results, *passed, vmap_method='broadcast_all')
    return tuple(jax.lax.bitcast_convert_type(x, number) for x in found)


def _split(numbers: np.ndarray, bits: np.dtype[Any]) -> np.ndarray:
    """Return the bits of numbers, along a further last axis where they are of another size."""
    return np.ascontiguousarray(numbers[..., None]).view(bits.base) if bits.shape else numbers


def _joined(bits: np.ndarray, number: np.dtype[Any]) -> np.ndarray:
    """Return the numbers of such bits."""
    return bits if bits.dtype == number else np.ascontiguousarray(bits).view(number)[..., 0]


def without_gradient(xp: Any, arrays: Result) -> Result:
    """Return the same arrays, through which no gradient goes."""
    if is_traced(xp):
        from jax import lax

        return lax.stop_gradient(arrays)  # type: ignore[no-any-return]
    return arrays


def with_gradient(value: Array, gradient: Array, variable: Array) -> Array:
    """Return a value (...) whose derivative by a vector (..., n) is a gradient (..., n)."""
    xp = namespace(variable)
    if is_traced(xp):
        return value + xp.vecdot(gradient, variable - without_gradient(xp, variable))
    return value


def skip_unless(
    condition: Array, short: Callable[[], Result], full: Callable[[], Result]
) -> Result:
    """Return the result of ``short`` where a condition () holds, else that of ``full``.

    Only one of them is called where the library can tell at all; ``full`` must do for both cases.
    """
    choose = getattr(namespace(condition), 'shortcut', None)
    return full() if choose is None else choose(condition, short, full)


def cond(
    xp: Any,
    needed: Array,
    function: Callable[..., Any],
    otherwise: Callable[..., Any],
    *arrays: Array,
) -> Any:
    """Return ``function(*arrays)`` where it is needed, else ``otherwise(*arrays)``.

    In a compiled batch the function is called as soon as one vehicle needs it, and not at all
    where none does. Both know nothing traced but their arguments, and return tuples of arrays.

    Args:
        xp: namespace of the arrays.
        needed: a truth ().
        otherwise: result where it is not needed.
        arrays: arguments of both.
    """
    if is_traced(xp):
        return _compiled_either(function, otherwise)(needed, *arrays)
    return function(*arrays) if needed else otherwise(*arrays)


def _compiled_either(
    function: Callable[..., Any], otherwise: Callable[..., Any]
) -> Callable[..., Any]:
    import jax
    from jax.custom_batching import custom_vmap

    @custom_vmap  # type: ignore[untyped-decorator]
    def branch(needed: Array, *arrays: Array) -> Any:
        return jax.lax.cond(needed, function, otherwise, *arrays)

    @branch.def_vmap  # type: ignore[untyped-decorator]
    def rule(size: int, batched: Any, needed: Array, *arrays: Array) -> tuple[Any, Any]:
        axes = jax.tree.map(lambda of_batch: 0 if of_batch else None, tuple(batched[1:]))
        for_all, for_none = (jax.vmap(f, axes, axis_size=size) for f in (function, otherwise))

        def for_some(*given: Array) -> Any:
            return jax.tree.map(
                lambda a, b: jax.numpy.where(needed.reshape(-1, *(1,) * (a.ndim - 1)), a, b),
                for_all(*given),
                for_none(*given),
            )

        if batched[0]:
            result = jax.lax.cond(jax.numpy.any(needed), for_some, for_none, *arrays)
        else:
            result = jax.lax.cond(needed, for_all, for_none, *arrays)
        return result, jax.tree.map(lambda _: True, result)

    return branch  # type: ignore[no-any-return]
