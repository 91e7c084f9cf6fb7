# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Scalarised arrays: small arrays as one traced number per element, for XLA to fuse.

A vehicle is a few vectors of three to six numbers. As JAX arrays, every product of them is a call
that costs more than its arithmetic. Unrolled, XLA turns a whole tick into few loops without calls,
over all vehicles of a batch. So a :class:`Components` is an array whose elements are Python
numbers
or JAX arrays, all of one shape: () for one vehicle, (N,) for a batch. The shape of the Components
is that of one vehicle, so the functions of the core run on them unchanged and do not see the
batch. Products and sums with the Python numbers 0 and 1 are simplified while tracing.

The panels and voxels of a hull are too many to be unrolled: the last axis of such Components is
inside their elements, which are rows (:mod:`marine_sim_ros.engine.xla_rewrites`). In ``data`` this
axis has length 1, so that operators need no second case, and it stays the last.

The functions follow the Python array API standard as far as the core uses it: ``namespace(array)``
of :mod:`marine_sim_ros.core.arrays` is the :class:`Namespace` of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from marine_sim_ros.engine.xla_rewrites import (
    fill_row,
    make_row,
    row_max,
    row_min,
    row_power,
    row_sum,
)

__all__ = [
    'Components',
    'Namespace',
    'components',
    'join_components',
    'mix_components',
    'accept_arrays',
]

Element = Any
"""A number, or a JAX array: of the batch's shape, or a row."""


def _is_number(x: Element) -> bool:
    return isinstance(x, float | int | bool)


def _add(a: Element, b: Element) -> Element:
    if _is_number(a) and a == 0:
        return b
    if _is_number(b) and b == 0:
        return a
    return a + b


def _subtract(a: Element, b: Element) -> Element:
    if _is_number(b) and b == 0:
        return a
    if _is_number(a) and a == 0:
        return -b
    return a - b


def _multiply(a: Element, b: Element) -> Element:
    for x, y in ((a, b), (b, a)):
        if _is_number(x):
            if x == 0:
                return 0.0
            if x == 1:
                return y
            if x == -1:
                return -y
    return a * b


def _divide(a: Element, b: Element) -> Element:
    if _is_number(a) and _is_number(b):
        return float(np.float64(a) / np.float64(b))
    if _is_number(a) and a == 0:
        return 0.0
    if isinstance(b, np.ndarray):
        return a * (1 / b)  # the inverse of a constant row is computed while tracing
    return a / b


def _power(a: Element, b: Element) -> Element:
    if not _is_number(a) and jnp.ndim(b):
        return row_power(a, b)
    if _is_number(b) and b == 2:
        return a * a
    if _is_number(b) and b == 0.5 and not _is_number(a):
        return jnp.sqrt(a)
    return a**b


def _invert(a: Element) -> Element:
    return (not a) if _is_number(a) else ~a


def _where(condition: Element, a: Element, b: Element) -> Element:
    if _is_number(condition):
        return a if condition else b
    if a is b or (_is_number(a) and _is_number(b) and (a == b or (a != a and b != b))):
        return a
    return jnp.where(condition, a, b)


def _unary(numeric: Callable[..., Any], traced: Callable[..., Any]) -> Any:
    """Return a unary function that is computed by NumPy for numbers and by JAX for JAX arrays."""

    def apply(a: Element) -> Element:
        return numeric(a).item() if _is_number(a) else traced(a)

    return np.frompyfunc(apply, 1, 1)


def _binary(numeric: Callable[..., Any], traced: Callable[..., Any]) -> Any:
    def apply(a: Element, b: Element) -> Element:
        return numeric(a, b).item() if _is_number(a) and _is_number(b) else traced(a, b)

    return np.frompyfunc(apply, 2, 1)


_ADD = np.frompyfunc(_add, 2, 1)
_SUBTRACT = np.frompyfunc(_subtract, 2, 1)
_MULTIPLY = np.frompyfunc(_multiply, 2, 1)
_DIVIDE = np.frompyfunc(_divide, 2, 1)
_POWER = np.frompyfunc(_power, 2, 1)
_INVERT = np.frompyfunc(_invert, 1, 1)
_WHERE = np.frompyfunc(_where, 3, 1)
_MAXIMUM = _binary(np.maximum, jnp.maximum)
_MINIMUM = _binary(np.minimum, jnp.minimum)
_MODULO = _binary(np.mod, jnp.mod)
_AND = _binary(np.logical_and, jnp.logical_and)
_OR = _binary(np.logical_or, jnp.logical_or)


def _number_array(values: Any) -> np.ndarray:
    """Return an object array of Python's numbers."""
    array = np.asarray(values)
    out = np.empty(array.shape, object)
    out[...] = array.tolist() if array.shape else array.item()
    return out


def _as_components(x: Any) -> Components:
    """Return Components of Components, of a NumPy array, or of one element."""
    if isinstance(x, Components):
        return x
    if isinstance(x, np.ndarray | np.generic | float | int):
        return Components(_number_array(x))
    return Components(_element_cell(x))


def _elements_of(x: Any) -> np.ndarray:
    """Return the elements of Components, of a NumPy array, or of one element."""
    return _as_components(x).data


def _row_length(arrays: Sequence[Components]) -> int | None:
    """Return the row length of the operands of one operation; None: no operand has rows."""
    return next((a.length for a in arrays if a.length is not None), None)


def _element_cell(x: Element) -> np.ndarray:
    """Return an object array () of one element.

    ``np.array(x, object)`` would convert a JAX array into an array of its numbers.
    """
    out = np.empty(1, object)
    out[0] = x
    return out.reshape(())


def _wrap_elements(x: Any, length: int | None = None) -> Components:
    """Return Components of an object array, or of one element that NumPy has unpacked."""
    return Components(x if isinstance(x, np.ndarray) else _element_cell(x), length)


def _elementwise(function: Any, *arguments: Any) -> Components:
    """Return a function of the elements of all arguments."""
    arrays = [_as_components(a) for a in arguments]
    return _wrap_elements(function(*(a.data for a in arrays)), _row_length(arrays))


def _operator(function: Any) -> Callable[[Components, Any], Components]:
    return lambda self, other: _elementwise(function, self, other)


def _reflected_operator(function: Any) -> Callable[[Components, Any], Components]:
    return lambda self, other: _elementwise(function, other, self)


def _compare(numeric: Callable[..., Any], traced: Callable[..., Any]) -> Any:
    return _operator(_binary(numeric, traced))


class Components:
    """An array of elements, see the module.

    Attributes:
        data: NumPy object array.
        length: length of the last axis where the elements are rows, or None.
    """

    __slots__ = ('data', 'length')
    __array_ufunc__ = None  # NumPy arrays leave operators with Components to this class

    def __init__(self, data: np.ndarray, length: int | None = None) -> None:
        """Take an object array."""
        self.data = data
        self.length = length

    def __array_namespace__(self, api_version: str | None = None) -> type[Namespace]:
        """Return the functions for these arrays."""
        return Namespace

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one vehicle's array."""
        return self.data.shape if self.length is None else (*self.data.shape[:-1], self.length)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.data.ndim

    @property
    def T(self) -> Components:
        """Transpose: the axes reversed."""
        return Components(self.data.T)

    def __getitem__(self, key: Any) -> Components:
        """Return a part; always Components."""
        return _wrap_elements(self.data[key], self.length)

    def __len__(self) -> int:
        """Return the length of the first axis."""
        return self.shape[0]

    def __repr__(self) -> str:
        """Return the elements."""
        return f'Components({self.data!r})'

    __add__, __radd__ = _operator(_ADD), _reflected_operator(_ADD)
    __sub__, __rsub__ = _operator(_SUBTRACT), _reflected_operator(_SUBTRACT)
    __mul__, __rmul__ = _operator(_MULTIPLY), _reflected_operator(_MULTIPLY)
    __truediv__, __rtruediv__ = _operator(_DIVIDE), _reflected_operator(_DIVIDE)
    __pow__ = _operator(_POWER)
    __mod__ = _operator(_MODULO)
    __and__, __rand__ = _operator(_AND), _reflected_operator(_AND)
    __or__, __ror__ = _operator(_OR), _reflected_operator(_OR)
    __lt__ = _compare(np.less, jnp.less)
    __le__ = _compare(np.less_equal, jnp.less_equal)
    __gt__ = _compare(np.greater, jnp.greater)
    __ge__ = _compare(np.greater_equal, jnp.greater_equal)
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> Components:  # type: ignore[override]
        """Compare by element."""
        return _compare(np.equal, jnp.equal)(self, other)

    def __ne__(self, other: object) -> Components:  # type: ignore[override]
        """Compare by element."""
        return _compare(np.not_equal, jnp.not_equal)(self, other)

    def __neg__(self) -> Components:
        """Return −x."""
        return _wrap_elements(np.negative(self.data), self.length)

    def __invert__(self) -> Components:
        """Return not x."""
        return _wrap_elements(_INVERT(self.data), self.length)

    def __matmul__(self, other: Any) -> Components:
        """Return the matrix product."""
        return _matmul(self, _as_components(other))

    def __rmatmul__(self, other: Any) -> Components:
        """Return the matrix product."""
        return _matmul(_as_components(other), self)


def _reduction(
    function: Any,
    row_function: Any,
    x: Components,
    axis: int | None,
    *,
    keepdims: bool,
    empty: float,
) -> Components:
    """Return the reduction of the elements along an axis, such as a sum.

    Args:
        function: function of two elements.
        row_function: function of a row and its length.
        x: array.
        keepdims: leave an axis of length 1.
        empty: result for no elements.
    """
    data = x.data
    if x.length is not None and axis in (None, -1, data.ndim - 1):
        reduced_rows = np.frompyfunc(row_function, 2, 1)(data, x.length)
        reduced = Components(reduced_rows if keepdims or axis is None else reduced_rows[..., 0])
        if axis is not None:
            return reduced
        return _reduction(function, row_function, reduced, None, keepdims=keepdims, empty=empty)
    if axis is None:
        data, axis = data.reshape(-1), 0
    if data.shape[axis] == 0:
        out = _number_array(np.full(np.delete(data.shape, axis), empty))
        return _wrap_elements(np.expand_dims(out, axis) if keepdims else out)
    return _wrap_elements(function.reduce(data, axis=axis, keepdims=keepdims), x.length)


def _sum(x: Components, axis: int | None = None, *, keepdims: bool = False) -> Components:
    return _reduction(_ADD, row_sum, x, axis, keepdims=keepdims, empty=0.0)


def _matmul(a: Components, b: Components) -> Components:
    """Return a @ b; only b may consist of rows."""
    assert a.length is None
    if b.ndim == 1:
        return _sum(_elementwise(_MULTIPLY, a, b), -1)
    if a.ndim == 1:
        return _sum(_elementwise(_MULTIPLY, a[..., :, None], b), -2)
    return _sum(_elementwise(_MULTIPLY, a[..., :, :, None], b[..., None, :, :]), -2)


def _solve_by_elimination(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return X of A X = B by Gaussian elimination without pivoting.

    This is stable for mass matrices with damping, whose symmetric part is positive definite (Golub
    and Van Loan 2013, section 4.4.3). Constant zeros cost no operations.
    """
    a, x, n = matrix.copy(), right.copy(), len(matrix)
    for i in range(n):
        inverse = _divide(1.0, a[i, i])
        a[i, i] = inverse
        for j in range(i + 1, n):
            factor = _element_cell(_multiply(a[j, i], inverse))
            a[j, i + 1 :] = _SUBTRACT(a[j, i + 1 :], _MULTIPLY(factor, a[i, i + 1 :]))
            x[j] = _SUBTRACT(x[j], _MULTIPLY(factor, x[i]))
    for i in reversed(range(n)):
        for j in range(i + 1, n):
            x[i] = _SUBTRACT(x[i], _MULTIPLY(a[i, j : j + 1], x[j]))
        x[i] = _MULTIPLY(x[i], a[i, i : i + 1])
    return x


class _Linalg:
    @staticmethod
    def solve(a: Any, b: Any) -> Components:
        """Return A⁻¹ B of one matrix with a positive definite symmetric part."""
        return Components(_solve_by_elimination(_elements_of(a), _elements_of(b)))

    @staticmethod
    def inv(a: Any) -> Components:
        """Return A⁻¹ of one matrix with a positive definite symmetric part."""
        matrix = _elements_of(a)
        return Components(_solve_by_elimination(matrix, _number_array(np.eye(len(matrix)))))


def _function(ufunc: Any) -> Any:
    def apply(*arguments: Any) -> Components:
        with np.errstate(all='ignore'):  # values that a later where() does not select
            return _elementwise(ufunc, *arguments)

    return staticmethod(apply)


class Namespace:
    """Array functions of Components: the part of the Python array API that the core uses."""

    linalg = _Linalg
    inf = float('inf')
    pi = float(np.pi)
    float64 = np.float64

    sqrt = _function(_unary(np.sqrt, jnp.sqrt))
    exp = _function(_unary(np.exp, jnp.exp))
    log10 = _function(_unary(np.log10, jnp.log10))
    sin = _function(_unary(np.sin, jnp.sin))
    cos = _function(_unary(np.cos, jnp.cos))
    asin = _function(_unary(np.arcsin, jnp.arcsin))
    abs = _function(_unary(np.abs, jnp.abs))
    sign = _function(_unary(np.sign, jnp.sign))
    round = _function(_unary(np.rint, jnp.rint))
    floor = _function(_unary(np.floor, jnp.floor))
    isnan = _function(_unary(np.isnan, jnp.isnan))
    atan2 = _function(_binary(np.arctan2, jnp.arctan2))
    maximum, minimum = _function(_MAXIMUM), _function(_MINIMUM)
    where = _function(_WHERE)

    @staticmethod
    def asarray(x: Any, **_: Any) -> Components:
        """Return Components of an array or of one element."""
        return _as_components(x)

    @staticmethod
    def rows(x: Any) -> Components:
        """Return Components of a NumPy or JAX array with its last axis inside the elements."""
        out = np.empty((*x.shape[:-1], 1), object)
        for index in np.ndindex(x.shape[:-1]):
            out[(*index, 0)] = make_row(x[index])
        return Components(out, x.shape[-1])

    @staticmethod
    def clip(x: Any, low: Any, high: Any) -> Components:
        """Return x within its limits."""
        return Namespace.minimum(Namespace.maximum(x, low), high)

    @staticmethod
    def full_like(x: Components, value: float) -> Components:
        """Return one number in the shape of an array."""
        return Components(_number_array(np.full(x.data.shape, value)), x.length)

    @staticmethod
    def zeros_like(x: Components) -> Components:
        """Return zeros."""
        return Namespace.full_like(x, 0.0)

    @staticmethod
    def ones_like(x: Components) -> Components:
        """Return ones."""
        return Namespace.full_like(x, 1.0)

    @staticmethod
    def concat(arrays: Sequence[Any], axis: int = 0) -> Components:
        """Join arrays along an axis."""
        parts = [_as_components(a) for a in arrays]
        return Components(np.concatenate([a.data for a in parts], axis=axis), _row_length(parts))

    @staticmethod
    def stack(arrays: Sequence[Any], axis: int = 0) -> Components:
        """Join arrays along a new axis."""
        parts = [_as_components(a) for a in arrays]
        return Components(np.stack([a.data for a in parts], axis=axis), _row_length(parts))

    @staticmethod
    def unroll(count: int, body: Callable[[Any], Any], start: Any) -> Any:
        """Return the state after as many steps, in place of a loop."""
        for _ in range(count):
            start = body(start)
        return start

    @staticmethod
    def shortcut(condition: Any, short: Callable[[], Any], full: Callable[[], Any]) -> Any:
        """Return the result of one of two functions, and call only that one."""
        value = _elements_of(condition).item()
        if _is_number(value):
            return short() if value else full()
        batch = jnp.shape(value)  # a batch takes the shortcut only if all its vehicles may
        return jax.lax.cond(
            jnp.all(value),
            lambda: _as_jax_components(short(), batch),
            lambda: _as_jax_components(full(), batch),
        )

    @staticmethod
    def reshape(x: Components, shape: tuple[int, ...]) -> Components:
        """Return the same elements in another shape."""
        return Components(x.data.reshape(shape))

    @staticmethod
    def matrix_transpose(x: Any) -> Components:
        """Exchange the last two axes."""
        return Components(np.swapaxes(_elements_of(x), -1, -2))

    @staticmethod
    def take(x: Any, indices: Any, axis: int = 0) -> Components:
        """Return elements by index; by traced indices those of a table (n,) of numbers."""
        index, elements = _as_components(indices), _elements_of(x)
        if all(map(_is_number, index.data.flat)):
            return Components(np.take(elements, index.data.astype(int), axis=axis))
        table = elements.astype(float)
        assert table.ndim == 1

        def look_up(i: Element) -> Element:
            if _is_number(i):
                return float(table[int(i)])
            return jnp.take(
                jnp.asarray(table, jnp.result_type(float)), i.astype(jnp.int32), mode='clip'
            )

        return _elementwise(np.frompyfunc(look_up, 1, 1), index)

    @staticmethod
    def searchsorted(nodes: Any, x: Any, *, side: Any = 'left') -> Components:
        """Return the indices at which numbers go among ascending constant nodes (n,)."""
        table = _elements_of(nodes).astype(float)

        def search(a: Element) -> Element:
            if _is_number(a):
                return int(np.searchsorted(table, a, side))
            # Written out, the search is fused; a loop would be a call for each vehicle.
            return jnp.searchsorted(jnp.asarray(table, a.dtype), a, side, method='scan_unrolled')

        return _elementwise(np.frompyfunc(search, 1, 1), x)

    @staticmethod
    def sum(x: Any, axis: Any = None, *, keepdims: bool = False) -> Components:
        """Add up along an axis."""
        return _sum(_as_components(x), axis, keepdims=keepdims)

    @staticmethod
    def max(x: Any, axis: Any = None, *, keepdims: bool = False) -> Components:
        """Return the largest along an axis."""
        return _reduction(
            _MAXIMUM, row_max, _as_components(x), axis, keepdims=keepdims, empty=-np.inf
        )

    @staticmethod
    def min(x: Any, axis: Any = None, *, keepdims: bool = False) -> Components:
        """Return the smallest along an axis."""
        return _reduction(
            _MINIMUM, row_min, _as_components(x), axis, keepdims=keepdims, empty=np.inf
        )

    @staticmethod
    def any(x: Any, axis: Any = None) -> Components:
        """Return whether any is true."""
        return _reduction(_OR, row_max, _as_components(x), axis, keepdims=False, empty=False)

    @staticmethod
    def all(x: Any, axis: Any = None) -> Components:
        """Return whether all are true."""
        return _reduction(_AND, row_min, _as_components(x), axis, keepdims=False, empty=True)

    @staticmethod
    def vecdot(a: Any, b: Any) -> Components:
        """Return Σ a b over the last axis."""
        return _sum(_elementwise(_MULTIPLY, a, b), -1)


def _as_jax_components(tree: Any, batch: tuple[int, ...]) -> Any:
    """Return a tree with all elements as JAX arrays: both branches of a condition must agree.

    Elements that are the same for all vehicles of a batch () or (N,) are repeated.
    """
    dtype = jnp.result_type(float)

    def convert(x: Components) -> Components:
        out = np.empty(x.data.shape, object)
        for index, element in np.ndenumerate(x.data):
            if x.length is None:
                array = jnp.asarray(element, dtype)
                out[index] = jnp.broadcast_to(array, batch) if not array.ndim else array
            else:
                out[index] = fill_row(element, x.length, dtype)
        return Components(out, x.length)

    return jax.tree.map(convert, tree, is_leaf=lambda x: isinstance(x, Components))


def components(array: Any, axes: int) -> Components:
    """Return Components of a JAX array whose first ``axes`` axes are one vehicle's.

    The axes after them are the batch: () or (N,).
    """
    shape = array.shape[:axes]
    out = np.empty(shape, object)
    for index in np.ndindex(shape):
        out[index] = array[index]
    return Components(out)


def mix_components(
    base: np.ndarray, varying: np.ndarray, elements: Sequence[Element]
) -> Components:
    """Return Components of an array of constants with the varying elements replaced."""
    out = _number_array(base)
    for index, element in zip(np.argwhere(varying), elements, strict=True):
        out[tuple(index)] = element
    return Components(out)


def join_components(value: Components, batch: tuple[int, ...], dtype: Any) -> jax.Array:
    """Return Components as a JAX array with the batch last: one vehicle's axes, then N."""
    flat = [jnp.broadcast_to(jnp.asarray(x, dtype), batch) for x in value.data.reshape(-1)]
    if not flat:
        return jnp.zeros((*value.shape, *batch), dtype)
    return jnp.stack(flat).reshape((*value.shape, *batch))


def _as_numpy(value: Any) -> Any:
    """Return Components without traced elements as a NumPy array; other values unchanged."""
    if isinstance(value, Components) and all(map(_is_number, value.data.flat)):
        return value.data.astype(float)
    return value


def accept_arrays(function: Callable[..., Any], *arguments: Any, needed: Any = True) -> Any:
    """Call a function of one vehicle's arrays with arrays or with Components.

    Components are passed as JAX arrays, mapped over the vehicles of a batch (``jax.vmap``), and
    the result, one array or a tuple of them, comes back as Components. If no vehicle of the batch
    needs the result, the function is not called and the result is zeros.

    Args:
        function: function of arrays of one type.
        arguments: arrays, Components, or numbers.
        needed: () whether the result matters.
    """
    if not any(isinstance(a, Components) for a in arguments):
        return _or_zeros(needed, function, arguments)
    elements = [x for a in arguments if isinstance(a, Components) for x in a.data.flat]
    traced = [x for x in elements if not _is_number(x)]
    batch = jnp.broadcast_shapes(*(jnp.shape(x) for x in traced))
    dtype = jnp.result_type(*traced) if traced else jnp.result_type(float)
    inputs, axes = [], []
    for a in map(_as_numpy, arguments):
        is_components = isinstance(a, Components)
        inputs.append(join_components(a, batch, dtype) if is_components else jnp.asarray(a, dtype))
        axes.append(-1 if is_components and batch else None)
    batched = jax.vmap(function, tuple(axes), -1) if batch else function
    needed_value = needed.data.item() if isinstance(needed, Components) else needed
    result = _or_zeros(needed_value, batched, inputs)
    outputs = [components(x, x.ndim - len(batch)) for x in jax.tree.leaves(result)]
    return tuple(outputs) if isinstance(result, tuple) else outputs[0]


def _or_zeros(needed: Any, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Return the function's value, or zeros of the same shapes if it is not needed."""
    if _is_number(needed):
        return function(*arguments)
    shapes = jax.eval_shape(function, *arguments)

    def zeros() -> Any:
        return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)

    return jax.lax.cond(jnp.any(needed), lambda: function(*arguments), zeros)


def _flatten(value: Components) -> tuple[tuple[Element, ...], Any]:
    return tuple(value.data.reshape(-1)), (value.data.shape, value.length)


def _unflatten(form: Any, elements: Sequence[Element]) -> Components:
    shape, length = form
    out = np.empty(len(elements), object)
    for i, element in enumerate(elements):
        out[i] = element
    return Components(out.reshape(shape), length)


jax.tree_util.register_pytree_node(Components, _flatten, _unflatten)
