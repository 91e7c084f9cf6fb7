# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A compiled function of many vehicles, a column of numbers for each, in blocks by threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from marine_sim_ros.engine.availability import precision, wait_for_programs
from marine_sim_ros.engine.batch import BLOCK
from marine_sim_ros.engine.compiled import compiled

__all__ = ['Columns']

SHARE = 128
"""Vehicles that are worth a thread of their own."""
GROUP = 32
"""Vehicles whose arrays go together: where none of them is near the ground, contact costs none."""


class Columns:
    """A function of columns (k, N), compiled."""

    def __init__(
        self,
        function: Callable[..., Any],
        widths: Sequence[int],
        size: int,
        *,
        written_out: bool,
        together: bool,
    ) -> None:
        """Compile.

        Args:
            function: ``function(one, *columns)`` of a 1.0 that no compiler knows and columns
                (k, *batch); returns a tuple of columns.
            widths: numbers k of each column.
            size: N that are worked on at a time as a rule; others are possible.
            written_out: whether it computes with
                :class:`~marine_sim_ros.engine.components.Components`.
            together: whether it is traced for a batch at once.
        """
        wait_for_programs()
        cores = max(os.cpu_count() or 1, 1)
        threads = min(cores, max(size // SHARE, 1))
        self._block = min(BLOCK, -(-size // threads))
        self._map = ThreadPoolExecutor(threads).map if threads > 1 else map
        run = function if together else _each(function, None if written_out else GROUP)
        shapes = [np.zeros((k, self._block)) for k in widths]
        with precision('float64'):
            lowered = jax.jit(run).lower(1.0, *shapes)
            self._compiled = compiled(lowered)

    def __call__(self, *columns: np.ndarray) -> list[np.ndarray]:
        """Return what the function makes of columns (k, N), each (m, N)."""
        count, size = columns[0].shape[1], self._block

        def block(start: int) -> list[np.ndarray]:
            if start + size <= count:
                given = [x[:, start : start + size] for x in columns]
            else:  # filled up with the last one
                rows = np.minimum(np.arange(start, start + size), count - 1)
                given = [x[:, rows] for x in columns]
            with precision('float64'):
                return [np.asarray(x) for x in self._compiled(1.0, *given)]

        parts = list(self._map(block, range(0, count, size)))
        return [np.concatenate(p, axis=1)[:, :count] for p in zip(*parts, strict=True)]


def _each(function: Callable[..., Any], group: int | None) -> Callable[..., Any]:
    """Return a function of columns (k, N) of one of columns (k,), for some vehicles at a time.

    Args:
        function: function of a 1.0 and columns.
        group: how many at a time; None: one after the other, each through its own conditions.
    """

    def run(one: jax.Array, *columns: jax.Array) -> Any:
        rows = tuple(jnp.moveaxis(x, -1, 0) for x in columns)
        found = jax.lax.map(lambda own: function(one, *own), rows, batch_size=group)
        return jax.tree.map(lambda x: jnp.moveaxis(x, 0, -1), found)

    return run
