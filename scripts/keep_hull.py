# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Writes what follows from the mesh of a shipped hull beside it: keep_hull.py MESH VOXEL_SIZE.

Needs trimesh, pycollada and manifold3d. VOXEL_SIZE in m is that of the vehicle's description.
"""

import sys
from pathlib import Path

import numpy as np

from marine_sim_ros.model.geometry.kept_hull import hull_path, keep_hull
from marine_sim_ros.model.geometry.meshes import load_mesh
from marine_sim_ros.model.geometry.voxels import cell_counts, voxelise


def main():
    """Compute anew and write."""
    mesh, size = Path(sys.argv[1]), float(sys.argv[2])
    hull_path(mesh).unlink(missing_ok=True)
    shape = load_mesh(str(mesh), np.ones(3))
    if shape.warnings:
        sys.exit('\n'.join(shape.warnings))
    found = voxelise(shape, size)
    cells = cell_counts(shape, size), found.center, found.volume, found.extent
    keep_hull(mesh, shape, cells)
    print(f'{hull_path(mesh)}: {len(shape.faces)} triangles, {len(found.volume)} cells')


if __name__ == '__main__':
    main()
