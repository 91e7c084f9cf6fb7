# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Makes one closed surface of a few thousand triangles from shapes, for source panels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.extras import require
from marine_sim_ros.model.geometry.refinement import split_long_edges
from marine_sim_ros.model.geometry.shapes import Shape
from marine_sim_ros.model.geometry.voxels import solid_of

__all__ = ['MAX_PANELS', 'TARGET', 'panel_mesh']

MAX_PANELS = 3000
"""More take minutes, and gigabytes."""
TARGET = 2000
"""Panels into which a surface of fewer is split."""
_SIMPLER = tuple(0.001 * 2 ** (k / 2) for k in range(9))
"""Of the length of the body: how far the surface may move where there are too many triangles."""
_LOST = 0.1
"""Share of the volume that may be lost by it."""
_FINER = 0.9
_SLIVER = 1e-10
"""Area of a triangle that counts as none, as a share of the squared length of the body."""


def panel_mesh(shapes: Sequence[Shape]) -> tuple[np.ndarray, float]:
    """Return the corners (n, 3, 3) of the outside of all shapes together, in m.

    Shapes that overlap or touch become one; cavities, whose water moves with the body, are left
    out. More than MAX_PANELS triangles are simplified, and the largest distance in m by which that
    may move the surface is returned too (0: it was not). Of fewer, long edges are split until
    there are about TARGET.

    Args:
        shapes: closed shapes in one frame.

    Raises:
        ModelError: a surface that encloses no solid, or too many triangles to be made fewer.
    """
    if len(shapes) == 1 and len(shapes[0].faces) <= MAX_PANELS and _is_one_piece(shapes[0]):
        return _split(shapes[0].vertices, shapes[0].faces), 0.0
    solid, tolerance = _few_triangles(shapes)
    mesh = solid.to_mesh64()
    vertices = np.array(mesh.vert_properties)[:, :3]
    return _split(vertices, np.array(mesh.tri_verts, np.int64)), tolerance


def _is_one_piece(shape: Shape) -> bool:
    """Return whether all triangles hang together, so that there is no cavity."""
    label, before = np.arange(len(shape.vertices)), None
    while before is None or not np.array_equal(label, before):
        before = label.copy()
        np.minimum.at(label, shape.faces, before[shape.faces].min(axis=1)[:, None])
    return bool(np.ptp(label[shape.faces]) == 0)


def _few_triangles(shapes: Sequence[Shape]) -> tuple[Any, float]:
    """Return the outside as a solid of at most MAX_PANELS triangles, and the tolerance it took."""
    manifold3d = require('manifold3d', 'added mass of several shapes')
    solids = [solid_of(shape) for shape in shapes]
    if None in solids:
        raise ModelError(
            'the hull is not a manifold surface and encloses no solid; '
            'expected a closed surface without edges that more than two triangles share'
        )

    def outside(tolerance: float) -> Any:
        parts = [_simpler(s, tolerance) for s in solids] if tolerance else solids
        whole = manifold3d.Manifold.batch_boolean(parts, manifold3d.OpType.Add)
        bodies = [body for body in whole.decompose() if body.volume() > 0]
        made = manifold3d.Manifold.compose(bodies)
        return made.simplify(tolerance) if tolerance else made

    exact = outside(0.0)
    if exact.num_tri() <= MAX_PANELS:
        return exact, 0.0
    low, high = np.reshape(exact.bounding_box(), (2, 3))
    for share in _SIMPLER:
        tolerance = share * float(np.max(high - low))
        made = outside(tolerance)
        if abs(made.volume() - exact.volume()) > _LOST * exact.volume():
            break
        if made.num_tri() <= MAX_PANELS:
            return made, tolerance
    raise ModelError(
        f'the surface has {exact.num_tri()} triangles, and fewer would change its volume by more '
        f'than {_LOST:.0%}; expected at most {MAX_PANELS}: simplify it'
    )


def _simpler(solid: Any, tolerance: float) -> Any:
    """Return a solid of fewer triangles, grown about its middle to the volume that it had."""
    made = solid.simplify(tolerance)
    if made.volume() <= 0:
        return solid
    middle = np.reshape(solid.bounding_box(), (2, 3)).mean(axis=0)
    factor = (solid.volume() / made.volume()) ** (1 / 3)
    return made.translate(-middle).scale([factor] * 3).translate(middle)


def _split(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Return corners (n, 3, 3) with the longest edges split, up to TARGET triangles."""
    length = limit = float(np.max(np.ptp(vertices, axis=0)))
    corners = vertices[faces]
    while len(faces) <= TARGET:
        corners = vertices[faces]
        limit *= _FINER
        vertices, faces = split_long_edges(vertices, faces, limit)
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return corners[np.linalg.norm(across, axis=1) > _SLIVER * length**2]
