# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A terrain as a mesh.

Not as <heightmap>: gz-physics 7 sets DART's samples size/n apart instead of size/(n − 1), so the
ground that is drawn and the ground that is touched would not be the same.

With a normal at each corner: gz-physics 7 leaves out a mesh that has fewer normals than vertices,
and DART then ends the server.
"""

from __future__ import annotations

import numpy as np

from marine_sim_ros.scene.terrain import HeightMap

__all__ = ['terrain_obj']


def _normals(terrain: HeightMap) -> list[list[float]]:
    """Return the unit normals of all corners, in the order of the vertices."""
    slope_y, slope_x = np.gradient(terrain.heights, terrain.spacing)
    normals = np.stack([-slope_x, -slope_y, np.ones_like(slope_x)], axis=-1).reshape(-1, 3)
    unit: list[list[float]] = (normals / np.linalg.norm(normals, axis=1, keepdims=True)).tolist()
    return unit


def terrain_obj(terrain: HeightMap) -> str:
    """Return a terrain as Wavefront OBJ in map, heights to the millimetre.

    Every cell of the grid is one face of four corners, counter-clockwise from above; within it the
    ground is flat on both sides of a diagonal, where the terrain is bilinear. The normal at a
    corner, [−∂h/∂x, −∂h/∂y, 1] of unit length, is of central differences. The mesh ends where the
    grid does.
    """
    rows, columns = terrain.heights.shape
    x, y = (
        [f'{v:.10g}' for v in terrain.origin[i] + terrain.spacing * np.arange(n)]
        for i, n in enumerate((columns, rows))
    )
    lines = ['o terrain']
    for j, row in enumerate(np.round(terrain.heights, 3) + 0.0):
        lines += [f'v {x[i]} {y[j]} {z:.10g}' for i, z in enumerate(row)]
    lines += [f'vn {nx:.3f} {ny:.3f} {nz:.3f}' for nx, ny, nz in _normals(terrain)]
    corner = [f'{a}//{a}' for a in range(rows * columns + 1)]
    for j in range(rows - 1):
        first = j * columns + 1
        lines += [
            f'f {corner[a]} {corner[a + 1]} {corner[a + columns + 1]} {corner[a + columns]}'
            for a in range(first, first + columns - 1)
        ]
    return '\n'.join(lines) + '\n'
