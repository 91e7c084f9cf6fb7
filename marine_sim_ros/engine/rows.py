# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Long rows of numbers, such as one over all panels of a hull, in a form that XLA is fast on.

A row is one array, filled up to whole ``LANES`` with copies of its last number, or a single number
where all are the same. XLA keeps to the order in which a row is added up, so that each addition
waits for the one before it. Here a row is cut in ``LANES`` pieces that are added up, or compared,
side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

__all__ = ['LANES', 'filled_up', 'largest', 'row', 'smallest', 'total']

LANES = 8

Row = Any
"""A number, a JAX array () or one of a whole number of ``LANES``."""


def _size(length: int) -> int:
    return -(-length // LANES) * LANES


def row(numbers: Any) -> Row:
    """Return an array (n,) of NumPy or JAX as a row."""
    if isinstance(numbers, np.ndarray) and (numbers == numbers[0]).all():
        return numbers[0].item()
    missing = _size(len(numbers)) - len(numbers)
    return jnp.pad(numbers, (0, missing), mode='edge') if missing else jnp.asarray(numbers)


def filled_up(numbers: Row, length: int, dtype: Any) -> Any:
    """Return a row of a length as one array, without numbers that stand for all."""
    return jnp.broadcast_to(jnp.asarray(numbers, dtype), (_size(length),))


def total(numbers: Row, length: int) -> Row:
    """Return the sum of a row of a length."""
    if jnp.ndim(numbers) == 0:
        return numbers * length
    if len(numbers) > length:
        numbers = numbers * (np.arange(len(numbers)) < length)
    pieces = numbers.reshape(LANES, -1)
    return jnp.sum(pieces @ jnp.ones_like(pieces[0]))


def _pairwise(pair: Callable[[Any, Any], Any], rest: Callable[[Any], Any]) -> Any:
    def apply(numbers: Row, length: int) -> Row:
        del length  # what a row is filled up with is one of its own
        if jnp.ndim(numbers) == 0:
            return numbers
        pieces = list(numbers.reshape(LANES, -1))
        while len(pieces) > 1:
            pieces = [pair(*two) for two in zip(pieces[::2], pieces[1::2], strict=True)]
        return rest(pieces[0])

    return apply


largest = _pairwise(jnp.maximum, jnp.max)
smallest = _pairwise(jnp.minimum, jnp.min)
