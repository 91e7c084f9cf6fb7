# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One grid for all parts: every cell has the number of the last part its centre lies in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.progress import Progress
from marine_sim_ros.model.mass.solids import Solid

__all__ = ['MAX_CELLS', 'LabelGrid', 'fill_grid']

MAX_CELLS = 500_000_000
"""Bytes, as long as there are fewer than 256 parts."""
_NUDGE = np.array([1.1e-4, 1.3e-4, 1.7e-4])
"""Of a cell: so far beside the centre is looked, so that a face through centres has one side, also
where a mesh has it in single precision."""
_CHUNK = 4_000_000
"""Cells that are compared at once; bounds the memory beside the grid."""


@dataclass(frozen=True, eq=False)
class LabelGrid:
    """Cubic cells whose faces lie at whole multiples of their edge.

    Attributes:
        size: edge of a cell, m.
        low: (3,) whole number of the first cell along x, y, z.
        labels: (nz, ny, nx) number of the part in a cell, from 1; 0 is none.
    """

    size: float
    low: np.ndarray
    labels: np.ndarray

    def middles(self, axis: int) -> np.ndarray:
        """Return the centres of the cells along x (0), y (1) or z (2), m."""
        return (self.low[axis] + np.arange(self.labels.shape[2 - axis]) + 0.5) * self.size


def fill_grid(solids: Sequence[Solid], size: float, progress: Progress) -> LabelGrid:
    """Return the grid with all solids put in, in their order, later ones over earlier ones.

    Args:
        solids: one solid or more.
        size: edge of a cell, m.
        progress: function that is called with the completed share.

    Raises:
        ModelError: more cells than fit into the memory of a small machine.
    """
    bounds = np.array([solid.bounds for solid in solids])
    low = np.floor(bounds[:, 0].min(axis=0) / size)
    counts = np.maximum(np.ceil(bounds[:, 1].max(axis=0) / size) - low, 1)
    if not np.prod(counts) <= MAX_CELLS:
        extent = ' x '.join(f'{e:.3g}' for e in counts * size)
        raise ModelError(
            f'voxel_size {size:g} m gives {np.prod(counts):.3g} voxels in {extent} m; '
            f'expected at most {MAX_CELLS:g}'
        )
    shape = tuple(int(n) for n in counts[::-1])
    labels = np.zeros(shape, np.min_scalar_type(len(solids)))
    grid = LabelGrid(size, low.astype(int), labels)
    for i, solid in enumerate(solids):
        _put(grid, solid, i + 1)
        progress((i + 1) / len(solids))
    return grid


def _put(grid: LabelGrid, solid: Solid, label: int) -> None:
    """Write a number into all cells of a solid."""
    size, shape = grid.size, np.array(grid.labels.shape[::-1])
    first = np.floor(solid.bounds[0] / size).astype(int) - grid.low
    last = np.ceil(solid.bounds[1] / size).astype(int) - grid.low
    x0, y0, z0 = np.clip(first, 0, shape)
    x1, y1, z1 = np.clip(last, 0, shape)
    block = grid.labels[z0:z1, y0:y1, x0:x1]
    if not block.size:
        return
    y = grid.middles(1)[y0:y1] + _NUDGE[1] * size
    z = grid.middles(2)[z0:z1] + _NUDGE[2] * size
    column = np.arange(block.shape[2], dtype=np.int32)
    rows = max(1, _CHUNK // (block.shape[1] * block.shape[2]))
    for k in range(0, len(z), rows):
        enters, leaves = solid.spans(y[None, :], z[k : k + rows, None])
        for enter, leave in zip(enters, leaves, strict=True):
            # The first cell whose looked-at point lies at or beyond the crossing.
            begin, end = (
                np.clip(
                    np.ceil(x / size - 0.5 - _NUDGE[0] - grid.low[0] - x0), 0, len(column)
                ).astype(np.int32)[..., None]
                for x in (enter, leave)
            )
            np.putmask(block[k : k + rows], (column >= begin) & (column < end), label)
