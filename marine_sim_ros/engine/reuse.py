# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Values of a batch that are used more than once are computed once.

XLA fuses a value into every loop that uses it, and computes it again there: of a batch, a damping
matrix for each of its 36 uses, a controller's law for each thruster. It does not repeat a
division, and has no other way to be told. So a value that is worth it is divided by a 1.0 that the
compiler does not know; x / 1.0 is x to the bit. Newer versions of XLA turn a division by one
scalar into products with its inverse, which they repeat: so each vehicle has a 1.0 of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Literal

__all__ = ['computed_once']

WORTH = 8
"""Operations saved by which a value is kept."""
_FREE = {'broadcast_in_dim', 'convert_element_type', 'reshape', 'slice', 'squeeze'}
_NEVER_REPEATED = {'atan2', 'cos', 'div', 'exp', 'log', 'sin', 'sqrt', 'tan', 'tanh'}
"""XLA computes them once anyway."""


def computed_once(
    function: Callable[..., Any], one: jax.Array, batch: tuple[int, ...], worth: int = WORTH
) -> Callable[..., Any]:
    """Return a function of the same values, in which few of them are computed again.

    Args:
        function: function of trees of arrays, to be traced.
        one: () 1.0, computed from an argument of the program, so that it is no constant.
        batch: shape of what is kept, behind the axes of one vehicle: (N,); with () nothing is.
        worth: operations saved by which a value is kept.
    """
    if not batch:
        return function

    def run(*arguments: Any) -> Any:
        traced, shapes = jax.make_jaxpr(function, return_shape=True)(*arguments)
        jaxpr = traced.jaxpr
        wanted = [v for eqn in jaxpr.eqns for v in eqn.invars] + jaxpr.outvars
        uses = Counter(v for v in wanted if not isinstance(v, Literal))
        values = dict(zip(jaxpr.constvars, traced.consts, strict=True))
        values |= zip(jaxpr.invars, jax.tree.leaves(arguments), strict=True)
        ones = _separate_ones(one, batch)
        repeated: dict[Any, frozenset[int]] = {}  # operations that each use would repeat

        def value(v: Any) -> Any:
            return v.val if isinstance(v, Literal) else values[v]

        for i, eqn in enumerate(jaxpr.eqns):
            functions, parameters = _bind_parameters(eqn)
            out = eqn.primitive.bind(*functions, *map(value, eqn.invars), **parameters)
            name = eqn.primitive.name
            read = [v for v in eqn.invars if not isinstance(v, Literal)]
            below = [repeated.get(v, frozenset()) for v in read]
            work = frozenset(() if name in _FREE else (i,)).union(*below)
            outs = out if eqn.primitive.multiple_results else [out]
            for v, x in zip(eqn.outvars, outs, strict=True):
                values[v] = x
                if name in _NEVER_REPEATED or x.shape[-1:] != batch:
                    continue
                if x.dtype == one.dtype and (uses[v] - 1) * len(work) >= worth:
                    values[v] = x / ones
                else:
                    repeated[v] = work
        return jax.tree.unflatten(jax.tree.structure(shapes), map(value, jaxpr.outvars))

    return run


def _separate_ones(one: jax.Array, batch: tuple[int, ...]) -> jax.Array:
    """Return 1.0 for each vehicle, in a form that is no broadcast scalar to the compiler."""
    if not hasattr(jax, 'enable_x64'):  # before JAX 0.8 a scalar serves, and costs 4 % less
        return one
    count = jax.lax.broadcasted_iota(one.dtype, batch, 0)
    return jnp.minimum(count + one, one)


def _bind_parameters(eqn: Any) -> tuple[Sequence[Any], dict[str, Any]]:
    """Return functions and parameters of an operation; from JAX 0.10 on, parameters hold both."""
    found = eqn.primitive.get_bind_params(eqn.params)
    return found if isinstance(found, tuple) else ((), found)
