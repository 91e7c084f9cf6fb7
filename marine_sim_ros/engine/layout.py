# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Trees of arrays, such as a vehicle's memory, as one column of numbers."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ['Layout', 'packed', 'row_of']


class Layout:
    """How a tree of numbers lies in one column of them.

    Attributes:
        size: length of the column.
        key: structure and shapes, to compare by.
    """

    def __init__(self, tree: Any) -> None:
        """Take the shapes of a tree of arrays, without a batch."""
        leaves, self._structure = jax.tree.flatten(tree)
        self._parts: list[tuple[int, int, tuple[int, ...], bool]] = []
        self.size = 0
        for x in leaves:
            end = self.size + math.prod(x.shape)
            self._parts.append((self.size, end, tuple(x.shape), x.dtype == bool))
            self.size = end
        self._truths = [i for i, (*_, truth) in enumerate(self._parts) if truth]
        self.key = self._structure, tuple(self._parts)

    def unpacked(self, column: Any) -> Any:
        """Return the tree of a column (size, *batch) of NumPy or JAX, the batch's axis last."""
        batch = column.shape[1:]
        leaves = [
            column[start:end] if len(shape) == 1 else column[start:end].reshape((*shape, *batch))
            for start, end, shape, _ in self._parts
        ]
        for i in self._truths:
            leaves[i] = leaves[i] > 0.5
        return jax.tree.unflatten(self._structure, leaves)


def packed(tree: Any, batch: tuple[int, ...] = ()) -> jax.Array:
    """Return the numbers of a tree of arrays in one column (size, *batch)."""
    flat = [jnp.asarray(x).astype(float).reshape(-1, *batch) for x in jax.tree.leaves(tree)]
    return jnp.concatenate(flat)


def row_of(tree: Any) -> np.ndarray:
    """Return the numbers of a tree of NumPy arrays in one row, as a layout of it has them."""
    return np.concatenate([np.asarray(x, float).reshape(-1) for x in jax.tree.leaves(tree)])
