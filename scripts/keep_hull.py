# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Writes what follows from the mesh of a shipped hull beside it: keep_hull.py MESH VOXEL_SIZE.

Needs trimesh, pycollada and manifold3d. VOXEL_SIZE in m is that of the vehicle's description.
"""

import sys
from pathlib import Path

import numpy as np

from marine_sim_ros.geometry.mesh_files import save_sidecar, sidecar_path
from marine_sim_ros.geometry.meshes import cell_counts, load_mesh, voxelise


def main():
    """Compute anew and write."""
    mesh, size = Path(sys.argv[1]), float(sys.argv[2])
    sidecar_path(mesh).unlink(missing_ok=True)
    shape = load_mesh(str(mesh), np.ones(3))
    if shape.warnings:
        sys.exit('\n'.join(shape.warnings))
    found = voxelise(shape, size)
    cells = cell_counts(shape, size), found.center, found.volume, found.extent
    save_sidecar(mesh, shape, cells)
    print(f'{sidecar_path(mesh)}: {len(shape.faces)} triangles, {len(found.volume)} cells')


if __name__ == '__main__':
    main()
