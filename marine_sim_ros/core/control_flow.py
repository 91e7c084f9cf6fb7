# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Loops that end when they are done, and branches, for arrays that a compiler traces too.

A loop over arrays ends when these say so. NumPy can be asked; a compiler has no numbers yet and
needs the loop as a function. These are all that the core knows of it: what follows from
:mod:`marine_sim_ros.core.arrays` alone does not need them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from marine_sim_ros.core.arrays import NUMPY, Array, namespace

__all__ = ['cond', 'in_turn', 'while_loop', 'skip_unless', 'traced', 'without_gradient']

Search = TypeVar('Search')
Result = TypeVar('Result')


def traced(xp: Any) -> bool:
    """Return whether arrays of a namespace are traced, so that nobody can ask for their values."""
    return getattr(xp, '__name__', '') == 'jax.numpy'


def while_loop(
    xp: Any, unfinished: Callable[[Search], Array], body: Callable[[Search], Search], start: Search
) -> Search:
    """Return what is left of ``start`` when ``body`` was applied while it was unfinished.

    Args:
        xp: namespace of the arrays within.
        unfinished: condition () of the search state: True while the search goes on.
        body: one step; shapes and types stay.
        start: tuples of arrays.
    """
    if traced(xp):
        from jax import lax

        return lax.while_loop(unfinished, body, start)  # type: ignore[no-any-return]
    while unfinished(start):
        start = body(start)
    return start


def in_turn(xp: Any, count: int, body: Callable[[Search, Array], Search], start: Search) -> Search:
    """Return what ``body`` makes of ``start`` when it is applied with 0, 1, ... count − 1."""
    if traced(xp):
        from jax import lax

        numbers = xp.arange(count)
        return lax.scan(lambda now, i: (body(now, i), None), start, numbers)[0]  # type: ignore[no-any-return]
    for i in range(count):
        start = body(start, i)
    return start


def without_gradient(xp: Any, arrays: Result) -> Result:
    """Return the same arrays, through which no gradient goes."""
    if traced(xp):
        from jax import lax

        return lax.stop_gradient(arrays)  # type: ignore[no-any-return]
    return arrays


def skip_unless(
    condition: Array, short: Callable[[], Result], full: Callable[[], Result]
) -> Result:
    """Return what one of two functions does: ``short`` where a condition () holds, else ``full``.

    Only one of them is called where the library can tell at all; ``full`` must do for both cases.
    """
    xp = namespace(condition)
    if xp is NUMPY:
        return short() if condition else full()
    choose = getattr(xp, 'shortcut', None)
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
        function: expensive function.
        otherwise: result where it is not needed.
        arrays: arguments of both.
    """
    if traced(xp):
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
