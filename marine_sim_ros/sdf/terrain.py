# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A terrain as a mesh.

Not as <heightmap>: gz-physics 7 sets DART's samples size/n apart instead of size/(n − 1), so the
ground that is drawn and the ground that is touched would not be the same.
"""

from __future__ import annotations

import numpy as np

from marine_sim_ros.scene.terrain import HeightMap

__all__ = ['terrain_obj']


def terrain_obj(terrain: HeightMap) -> str:
    """Return a terrain as Wavefront OBJ in map, heights to the millimetre.

    Every cell of the grid is one face of four corners, counter-clockwise from above; within it the
    ground is flat on both sides of a diagonal, where the terrain is bilinear. The mesh ends where
    the grid does.
    """
    rows, columns = terrain.heights.shape
    x, y = (
        [f'{v:.10g}' for v in terrain.origin[i] + terrain.spacing * np.arange(n)]
        for i, n in enumerate((columns, rows))
    )
    lines = ['o terrain']
    for j, row in enumerate(np.round(terrain.heights, 3) + 0.0):
        lines += [f'v {x[i]} {y[j]} {z:.10g}' for i, z in enumerate(row)]
    for j in range(rows - 1):
        first = j * columns + 1
        lines += [
            f'f {a} {a + 1} {a + columns + 1} {a + columns}'
            for a in range(first, first + columns - 1)
        ]
    return '\n'.join(lines) + '\n'
