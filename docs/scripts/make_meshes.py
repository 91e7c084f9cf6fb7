# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the shipped hull mesh: ``.venv/bin/python docs/scripts/make_meshes.py``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import trimesh

FILE = Path(__file__).resolve().parents[2] / 'urdf/meshes/surface_vessel_hull.dae'
LENGTH, BEAM, DEPTH, DRAUGHT = 1.2, 0.4, 0.25, 0.15  # m; z = 0 is the design waterline
STATIONS, HEIGHTS, DECK = 30, 9, 3


def ring(s: float) -> np.ndarray:
    """Return the points of a closed section at s, 0 the transom and 1 the stem.

    Round bilges aft become a V at the bow; the waterlines are parabolas from midship on; the
    keel rises towards the stem.
    """
    ahead = max(0.0, 2 * s - 1)
    half = BEAM / 2 * (0.86 + 0.14 * min(1.0, 2 * s) ** 0.8) * max(1 - ahead**2.2, 0.015)
    keel = -DRAUGHT + 0.6 * DRAUGHT * ahead**4
    height = np.linspace(0, 1, HEIGHTS) ** 1.6  # denser at the bilge
    fullness = 0.28 + 0.55 * ahead**1.5
    y = half * height**fullness
    z = keel + (DEPTH - DRAUGHT + 0.03 * ahead**2 - keel) * height
    side = np.stack([y, z], axis=1)
    deck = np.stack([np.linspace(half, -half, DECK + 2)[1:-1], np.full(DECK, z[-1])], axis=1)
    outline = np.concatenate([side, deck, side[:0:-1] * [-1, 1]])
    x = np.full(len(outline), LENGTH * (s - 0.5))
    return np.column_stack([x, outline])


def hull() -> trimesh.Trimesh:
    """Return the closed hull: sections joined, transom and stem closed by fans."""
    rings = [ring(s) for s in np.linspace(0, 1, STATIONS)]
    count = len(rings[0])
    vertices = np.concatenate([*rings, [rings[0].mean(axis=0), rings[-1].mean(axis=0)]])
    faces = []
    for i in range(STATIONS - 1):
        for j in range(count):
            a, b = i * count + j, i * count + (j + 1) % count
            c, d = a + count, b + count
            faces += [(a, c, b), (b, c, d)]
    last = (STATIONS - 1) * count
    for j in range(count):
        k = (j + 1) % count
        faces += [(j, k, len(vertices) - 2), (last + k, last + j, len(vertices) - 1)]
    mesh = trimesh.Trimesh(vertices, faces)
    mesh.fix_normals()
    return mesh


def main() -> None:
    """Write the file and print what it encloses."""
    mesh = hull()
    assert mesh.is_watertight
    assert mesh.volume > 0
    content = mesh.export(file_type='dae')
    assert isinstance(content, bytes)
    text = content.decode()
    # The same bytes every time, and the axis that ROS has up.
    text = re.sub(r'<(created|modified)>[^<]*<', r'<\1>2026-01-01T00:00:00<', text)
    names: dict[str, str] = {}  # trimesh's are random; in XML no two may be the same
    text = re.sub(
        r'[0-9a-f]{32}', lambda m: names.setdefault(m[0], f'hull{len(names)}'), text
    ).replace('>Y_UP<', '>Z_UP<')
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text, encoding='utf-8')
    sys.stdout.write(
        f'{FILE.name}: {len(mesh.faces)} triangles, {mesh.volume:.5f} m³, {mesh.area:.4f} m², '
        f'centre {mesh.center_mass.round(4).tolist()} m\n'
    )


if __name__ == '__main__':
    main()
