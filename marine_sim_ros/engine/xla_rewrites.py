# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Two rewrites that make compiled steps faster: values computed once, and sums of long rows.

The compiled engine (engine/compiled.py) passes its step through :func:`reuse_common_values`. XLA
computes a value again in every loop that uses it: in a batch, a damping matrix at each of its 36
uses, a control law for each thruster. Only some operations, such as a division, are computed once.
So a value that is expensive enough is divided by a 1.0 that the compiler does not know to be 1;
x / 1.0 is x to the bit. Newer versions of XLA replace a division by one number with products; so
the 1.0 is an array, with a number for each vehicle of a batch.

Rows are for engine/components.py, which takes vectors and matrices apart into their components: a
row is one component of all panels of a hull, or of all nodes of a wave. XLA adds up a row in
order, each addition waiting for the one before. Here a row is padded to a multiple of
``VECTOR_LANES`` with copies of its last number, cut into as many pieces, and the pieces are added
or compared in parallel. A row whose numbers are all equal is a single number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

__all__ = [
    'fill_row',
    'make_row',
    'reuse_common_values',
    'row_max',
    'row_min',
    'row_power',
    'row_sum',
]


# Common subexpressions: values of a batch that are used more than once are computed once.

MIN_SAVED_OPERATIONS = 8
"""Operations that storing a value must save."""
_FREE_OPERATIONS = {'broadcast_in_dim', 'convert_element_type', 'reshape', 'slice', 'squeeze'}
_DEDUPLICATED_OPERATIONS = {'atan2', 'cos', 'div', 'exp', 'log', 'sin', 'sqrt', 'tan', 'tanh'}
"""Operations that XLA does not compute again, unlike sums and products."""


def reuse_common_values(
    function: Callable[..., Any],
    one: jax.Array,
    batch: tuple[int, ...],
    min_saved: int = MIN_SAVED_OPERATIONS,
) -> Callable[..., Any]:
    """Return a function with equal values that recomputes few intermediate values.

    Args:
        function: function of trees of arrays, to be traced.
        one: () 1.0, computed from an argument of the program, so that it is no constant.
        batch: shape of the stored values after the axes of one vehicle: (N,); with () the function
            is returned unchanged.
        min_saved: operations saved by which a value is kept.
    """
    if not batch:
        return function

    def run(*arguments: Any) -> Any:
        traced, shapes = jax.make_jaxpr(function, return_shape=True)(*arguments)
        jaxpr = traced.jaxpr
        inputs = [v for eqn in jaxpr.eqns for v in eqn.invars] + jaxpr.outvars
        uses = Counter(v for v in inputs if not isinstance(v, Literal))
        values = dict(zip(jaxpr.constvars, traced.consts, strict=True))
        values |= zip(jaxpr.invars, jax.tree.leaves(arguments), strict=True)
        ones = _batch_ones(one, batch)
        repeated: dict[Any, frozenset[int]] = {}  # operations that each use would repeat

        def value(v: Any) -> Any:
            return v.val if isinstance(v, Literal) else values[v]

        for i, eqn in enumerate(jaxpr.eqns):
            functions, parameters = _bind_parameters(eqn)
            out = eqn.primitive.bind(*functions, *map(value, eqn.invars), **parameters)
            name = eqn.primitive.name
            variables = [v for v in eqn.invars if not isinstance(v, Literal)]
            repeated_by_input = [repeated.get(v, frozenset()) for v in variables]
            repeated_operations = frozenset(() if name in _FREE_OPERATIONS else (i,)).union(
                *repeated_by_input
            )
            outs = out if eqn.primitive.multiple_results else [out]
            for v, x in zip(eqn.outvars, outs, strict=True):
                values[v] = x
                if name in _DEDUPLICATED_OPERATIONS or x.shape[-1:] != batch:
                    continue
                if x.dtype == one.dtype and (uses[v] - 1) * len(repeated_operations) >= min_saved:
                    values[v] = x / ones
                else:
                    repeated[v] = repeated_operations
        return jax.tree.unflatten(jax.tree.structure(shapes), map(value, jaxpr.outvars))

    return run


def _batch_ones(one: jax.Array, batch: tuple[int, ...]) -> jax.Array:
    """Return a 1.0 for each vehicle that the compiler does not see as a broadcast scalar."""
    if not hasattr(jax, 'enable_x64'):  # before JAX 0.8 a scalar is enough, and costs 4 % less
        return one
    count = jax.lax.broadcasted_iota(one.dtype, batch, 0)
    return jnp.minimum(count + one, one)


def _bind_parameters(eqn: Any) -> tuple[Sequence[Any], dict[str, Any]]:
    """Return functions and parameters of an operation; from JAX 0.10 on, parameters hold both."""
    parameters = eqn.primitive.get_bind_params(eqn.params)
    return parameters if isinstance(parameters, tuple) else ((), parameters)


# Long rows of numbers, such as one over all panels of a hull, in a form that XLA vectorises.

VECTOR_LANES = 8
"""Numbers in a vector register: eight float64 of AVX-512."""
PRODUCTS = (1, 2, 3, 4)
"""Exponents for which a power is computed by repeated multiplication."""
Row = Any
"""A number, a JAX array (), or a JAX or NumPy array of a multiple of ``VECTOR_LANES``."""


def _row_length(length: int) -> int:
    return -(-length // VECTOR_LANES) * VECTOR_LANES


def make_row(numbers: Any) -> Row:
    """Return an array (n,) of NumPy or JAX as a row."""
    if isinstance(numbers, np.ndarray) and (numbers == numbers[0]).all():
        return numbers[0].item()
    padding = _row_length(len(numbers)) - len(numbers)
    pad = np.pad if isinstance(numbers, np.ndarray) else jnp.pad
    return pad(numbers, (0, padding), mode='edge') if padding else numbers


def fill_row(numbers: Row, length: int, dtype: Any) -> Any:
    """Return a row of a length as one array; a single number is broadcast."""
    return jnp.broadcast_to(jnp.asarray(numbers, dtype), (_row_length(length),))


def row_sum(numbers: Row, length: int) -> Row:
    """Return the sum of a row of a length."""
    if jnp.ndim(numbers) == 0:
        return numbers * length
    if len(numbers) > length:
        numbers = numbers * (np.arange(len(numbers)) < length)
    pieces = numbers.reshape(VECTOR_LANES, -1)
    sums = pieces @ jnp.ones_like(pieces[0])
    return sum((sums[i] for i in range(1, VECTOR_LANES)), sums[0])


def row_power(numbers: Row, exponents: Row) -> Row:
    """Return a^b of numbers a ≥ 0; XLA has vectors of products, exp and log, but not of powers."""
    if not isinstance(exponents, np.ndarray) or not np.isin(exponents, PRODUCTS).all():
        return jnp.where(exponents == 0, 1.0, jnp.exp(exponents * jnp.log(numbers)))
    result = numbers
    for exponent in range(2, int(exponents.max()) + 1):
        result = jnp.where(exponents >= exponent, result * numbers, result)
    return result


def _pairwise_reduction(pair: Callable[[Any, Any], Any]) -> Any:
    def apply(numbers: Row, length: int) -> Row:
        del length  # the padding repeats a number of the row, which changes no extremum
        if jnp.ndim(numbers) == 0:
            return numbers
        while (count := len(numbers)) > 1:
            size = -(-count // VECTOR_LANES)
            starts = (min(start, count - size) for start in range(0, count, size))
            numbers = reduce(pair, [numbers[start : start + size] for start in starts])
        return numbers[0]

    return apply


row_max, row_min = _pairwise_reduction(jnp.maximum), _pairwise_reduction(jnp.minimum)
