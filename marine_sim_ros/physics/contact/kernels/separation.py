# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled choice of normals that separate two bodies whose faces are flush."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.physics.contact.kernels import (
    BOX,
    CYLINDER,
    IS_POINT,
    OTHER,
    PLANE,
    SHAPE,
    SURFACE,
)
from marine_sim_ros.physics.contact.kernels.algebra import dot, inner_kernel, turn, turn_back

__all__ = ['keep_contacts', 'separate_contacts']

_DEEP_OVERLAP = 0.5
"""Overlap along a normal that cannot separate two shapes, relative to the thinner one."""
_SHALLOW_OVERLAP = 0.1
"""Overlap along a normal that separates them."""
_SAME_OVERLAP = 1e-6
"""Difference of overlaps that is rounding."""


@inner_kernel
def _overlap(direction, points, radius, shapes, shape, surface, pose, scratch):
    """Return the overlap of a shape and a surface along a direction, and the surface's top.

    The overlap is relative to the thinner of the two.

    Args:
        direction: (3,) out of the surface, in the frame of the shape.
        points: (m, 3) of the first body.
        radius: (m,) likewise.
        shapes: (m,) likewise.
        shape: which of its shapes.
        surface: kind, half edges, position and rotation of the surface.
        pose: (4, 3) of the first body in the frame of the second.
        scratch: (2, 3).
    """
    kind, half, position, rotation = surface
    low, high = np.inf, -np.inf
    for i in range(len(points)):
        if shapes[i] == shape:
            along = dot(direction, points[i])
            low, high = min(low, along - radius[i]), max(high, along + radius[i])
    in_scene, local = scratch[0], scratch[1]
    turn(pose[:3], direction, in_scene)
    turn_back(rotation, in_scene, local)
    extent = half[0]
    if kind == BOX:
        extent = abs(local[0]) * half[0] + abs(local[1]) * half[1] + abs(local[2]) * half[2]
    elif kind == CYLINDER:
        across = np.sqrt(local[0] * local[0] + local[1] * local[1])
        extent = across * half[1] + abs(local[2]) * half[2]
    top = extent
    for i in range(3):
        top += in_scene[i] * (position[i] - pose[3, i])
    return (top - low) / max(min(high - low, 2.0 * extent), 1e-9), top


@inner_kernel
def _best_face(points, radius, shapes, shape, surface, pose, scratch, face):
    """Return least overlap and top of a surface's flat faces, and write that face's normal."""
    kind, _, _, rotation = surface
    least, top = np.inf, 0.0
    normal = scratch[2]
    axes = 3 if kind == BOX else (1 if kind == CYLINDER else 0)
    for i in range(2 * axes):
        axis, sign = 3 - axes + i % axes, 1.0 if i < axes else -1.0
        turn_back(pose[:3], rotation[:, axis], normal)
        for j in range(3):
            normal[j] *= sign
        fraction, of_face = _overlap(normal, points, radius, shapes, shape, surface, pose, scratch)
        if fraction < least:
            least, top = fraction, of_face
            face[:] = normal
    return least, top


@inner_kernel
def _separate_shape(points, radius, shapes, shape, number, surface, pose, labels, values, kept):
    """Correct the contacts of one shape and one surface, or clear their marks."""
    scratch, face = np.empty((3, 3)), np.empty(3)
    fractions, least, found = np.zeros(len(values)), np.inf, False
    for c in range(len(values)):
        if labels[c, SURFACE] == number and labels[c, SHAPE] == shape:
            found = True
            fractions[c], _ = _overlap(
                values[c, 1:4], points, radius, shapes, shape, surface, pose, scratch
            )
            least = min(least, fractions[c])
    if not found:
        return
    least_of_faces, top = _best_face(points, radius, shapes, shape, surface, pose, scratch, face)
    # Where an edge on an edge separates them more than any face, no face is meant.
    has_face = least_of_faces < min(_SHALLOW_OVERLAP, least + _SAME_OVERLAP)
    for c in range(len(values)):
        if not fractions[c] > _DEEP_OVERLAP:
            continue
        if has_face and labels[c, IS_POINT]:
            values[c, 0] = dot(values[c, 4:7], face) - top
            values[c, 1:4] = face
        elif has_face or least < _SHALLOW_OVERLAP:
            kept[c] = False


@inner_kernel
def _needs_separation(values):
    """Whether the normals of contacts differ by more than those of one flat side."""
    if len(values) < 2:
        return False
    for i in range(3):
        low, high = np.inf, -np.inf
        for c in range(len(values)):
            low, high = min(low, values[c, 1 + i]), max(high, values[c, 1 + i])
        if high - low >= 0.5:
            return True
    return False


@inner_kernel
def keep_contacts(kept, labels, values):
    """Move some contacts to the front; return how many."""
    count = 0
    for c in range(len(values)):
        if kept[c]:
            for i in range(7):
                values[count, i] = values[c, i]
            for i in range(labels.shape[1]):
                labels[count, i] = labels[c, i]
            count += 1
    return count


@inner_kernel
def separate_contacts(solids, points, pose, one, other, labels, values):
    """Return how many contacts have normals that separate two bodies; they are moved to the front.

    Where faces of two shapes are flush, as in a stack of equal crates, the nearest face to a point
    on the rim can be the one beside it: the last digit decides. Along the normal n of that face
    the shapes overlap by their whole size, o = max n·q − min n·p over points q of the surface and
    p of the body. Such a point gets the face of least overlap; such an edge is left out. Planes
    are left as they are.

    Args:
        solids: :class:`~marine_sim_ros.physics.contact.solid_tables.SolidTables`.
        points: (m, 3) of all bodies, each in its frame.
        pose: (4, 3) R of the one in the frame of the other, and its place.
        one: number of the first body.
        other: number of the second, or of the scene.
        labels: (c, 4) integers of contacts.
        values: (c, 7) gap, normal and point of contacts, in the frame of the first.
    """
    if not _needs_separation(values):
        return len(values)
    kept = np.ones(len(values), np.bool_)
    first, end = solids.point_first[one], solids.point_first[one + 1]
    shapes, start = solids.point_shape[first:end], solids.surface_first[other]
    most = 0
    for i in range(len(shapes)):
        most = max(most, shapes[i])
    for k in range(solids.surface_first[other + 1] - start):
        kind = solids.surface_kind[start + k]
        if kind in (PLANE, OTHER):
            continue
        surface = (
            kind,
            solids.surface_half[start + k],
            solids.surface_position[start + k],
            solids.surface_rotation[start + k],
        )
        for shape in range(most + 1):
            _separate_shape(
                points[first:end], solids.point_radius[first:end], shapes, shape, k, surface,
                pose, labels, values, kept,
            )  # fmt: skip
    return keep_contacts(kept, labels, values)
