# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Closed surfaces of fewer triangles, with the volume that they had."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from marine_sim_ros.model.geometry.shapes import Shape, shape_of
from marine_sim_ros.model.geometry.voxels import solid_of

__all__ = ['simplified']

_LEAST, _MOST = 1e-5, 0.05
"""Of the longest edge of the bounding box: the tolerances that are tried."""
_HALVINGS = 6


def simplified(shape: Shape, most: int, label: str) -> Shape:
    """Return a closed surface of at most so many triangles, which is told in its warnings.

    Edges are collapsed as far as no surface moves by more than a tolerance, the least that is
    enough; the result is scaled about its centre to the volume that it had. A surface that is no
    manifold, and one that does not get below ``most`` with a twentieth of its length, is left as
    it is, which is told too. Source: Manifold::Simplify of the manifold library.

    Args:
        shape: the surface.
        most: greatest number of triangles.
        label: what messages call it.
    """
    count = len(shape.faces)
    if count <= most:
        return shape
    solid = solid_of(shape)
    length = float(np.max(shape.extents))
    found = None if solid is None else _smallest_tolerance(solid, length, most)
    if found is None:
        text = (
            f'{label}: {count} triangles cannot be simplified to {most}; each one is a panel: '
            'expect a slow run'
        )
        return replace(shape, warnings=(*shape.warnings, text))
    part, tolerance = found
    mesh = part.to_mesh64()
    made = shape_of(np.array(mesh.vert_properties)[:, :3], np.array(mesh.tri_verts, np.int64))
    factor = (shape.volume / made.volume) ** (1 / 3)
    vertices = shape.center + factor * (made.vertices - made.center)
    text = (
        f'{label}: {count} triangles were simplified to {len(made.faces)}: no surface moved by '
        f'more than {tolerance:.2g} m; {made.volume:.4g} m³ were scaled to {shape.volume:.4g} m³'
    )
    return shape_of(vertices, made.faces, (*shape.warnings, text))


def _smallest_tolerance(solid: Any, length: float, most: int) -> tuple[Any, float] | None:
    """Return a solid of few triangles and its tolerance in m, or None."""
    low, high = np.log(_LEAST * length), np.log(_MOST * length)
    found = None
    for _ in range(_HALVINGS + 1):
        # The greatest first: it says whether there is a way at all.
        tolerance = float(np.exp(high if found is None else (low + high) / 2))
        part = solid.simplify(tolerance)
        enough = part.num_tri() <= most and part.volume() > 0
        if found is None and not enough:
            return None
        if enough:
            found, high = (part, tolerance), np.log(tolerance)
        else:
            low = np.log(tolerance)
    return found
