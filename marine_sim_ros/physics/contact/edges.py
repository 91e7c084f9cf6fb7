# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts of a scene's edges and spheres with a vehicle's convex bodies: point, gap, normal.

The contact points of a vehicle (model/contact_points.py) miss an edge that passes between them.

A body is a·p ≤ b for its faces: f(p) = max (a·p − b) is a signed distance, negative inside.
Along an edge p(t) = p₀ + t e, 0 ≤ t ≤ 1, every a·p − b is a line c + t d, and f their convex
upper envelope: its minimum, the deepest point of the edge, is where a descending line meets an
ascending one. Cutting planes find it exactly, in at most as many steps as there are faces. The
combination of the two lines without slope,

    n = (d₂ a₁ − d₁ a₂)/(d₂ − d₁),        d₁ < 0 < d₂,

is normal to the edge and to the vehicle's edge between the two faces: the direction of
shortest separation, f/|n|. At an end of the edge n is the normal of the face there. An edge that
lies on a face has no single deepest point; it touches with both ends of the interval where f is
within 1 mm of its minimum, so that a body resting on it does not tip.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace, while_loop
from marine_sim_ros.model.contact import Solids

__all__ = ['EDGE_SEARCH', 'ContactGeometry', 'edge_contacts', 'edges_within', 'sphere_contacts']

_CONTACT_BAND = 1e-3
"""Depth above the deepest point within which an edge counts as touching, m."""
_MAX_CUTS = 12
"""Steps of the search; a body of few faces needs three or four."""
_MIN_NORMAL = 0.3
"""|n| below which two faces are nearly opposite, and only one of them is used."""
EDGE_SEARCH = _MAX_CUTS, _CONTACT_BAND, _MIN_NORMAL
"""What the kernels need of these."""


class ContactGeometry(NamedTuple):
    """Gaps, normals and points of c pairs of surface and vehicle, body frame.

    Attributes:
        gap: (..., c) m, negative in penetration.
        normal: (..., c, 3) out of the surface, into the vehicle.
        point: (..., c, 3) of the body that is nearest to the surface, m.
    """

    gap: Array
    normal: Array
    point: Array


class _ActiveLines(NamedTuple):
    """Lines of the upper envelope: face, c and d, all (..., f, n)."""

    face: Array
    start: Array
    slope: Array


def _one_hot(face: Array, count: int, dtype: object) -> Array:
    """Return 1 (..., count) in the place of a number, 0 elsewhere."""
    xp = namespace(face)
    return xp.astype(constant(xp, np.arange(count)) == face[..., None], dtype)


def _largest_line(c: Array, d: Array, t: Array) -> _ActiveLines:
    """Return the line of (..., f, n, h) that is largest at t (..., f, n)."""
    xp = namespace(c)
    best = xp.argmax(c + t[..., None] * d, axis=-1)
    chosen = _one_hot(best, c.shape[-1], c.dtype)
    return _ActiveLines(best, xp.sum(chosen * c, axis=-1), xp.sum(chosen * d, axis=-1))


def _normals(solids: Solids, face: Array, dtype: object) -> Array:
    """Return the normals (..., f, n, 3) of faces (..., f, n)."""
    xp = namespace(face)
    chosen = _one_hot(face, solids.offset.shape[-1], dtype)
    return (chosen[..., None, :] @ constant(xp, solids.normal))[..., 0, :]


def _pick_lines(condition: Array, a: _ActiveLines, b: _ActiveLines) -> _ActiveLines:
    xp = namespace(condition)
    return _ActiveLines(*(xp.where(condition, x, y) for x, y in zip(a, b, strict=True)))


def _minimum_between(falling: _ActiveLines, rising: _ActiveLines) -> Array:
    """Whether the minimum is between the ends, where a line descends and the other does not."""
    return (falling.slope < 0) & (rising.slope >= 0)


def _intersection(falling: _ActiveLines, rising: _ActiveLines) -> Array:
    """Return t where a descending and an ascending line meet; an end if there is no such pair."""
    xp = namespace(falling.start)
    zero, one = xp.zeros_like(falling.start), xp.ones_like(falling.start)
    is_minimum = _minimum_between(falling, rising)
    t = (rising.start - falling.start) / xp.where(is_minimum, falling.slope - rising.slope, one)
    return xp.where(is_minimum, xp.clip(t, 0.0, 1.0), xp.where(falling.slope >= 0, zero, one))


class _DeepestPoint(NamedTuple):
    """The deepest points of edges in bodies, (..., f, n).

    Attributes:
        value: the largest line there.
        start: c and
        slope: d of the combination of two lines without slope, or of the one at an edge's end.
        normal: (..., 3) normal of that line, not of unit length.
    """

    value: Array
    start: Array
    slope: Array
    normal: Array


class _CutState(NamedTuple):
    """State of the search of deepest points: the two lines, and whether it is unfinished."""

    steps: int
    low: _ActiveLines
    high: _ActiveLines
    unfinished: Array


def _find_deepest(
    solids: Solids, c: Array, d: Array, needed: Array | None = None
) -> _DeepestPoint:
    """Return the minimum of the upper envelope of lines (..., f, n, h).

    The search ends when the needed ones (..., f, n) have converged; None: all.
    """
    xp = namespace(c)
    zero = xp.zeros_like(c[..., 0])

    def cut(cuts: _CutState) -> _CutState:
        low, high = cuts.low, cuts.high
        t, between = _intersection(low, high), _minimum_between(low, high)
        line = _largest_line(c, d, t)
        excess = line.start - high.start + t * (line.slope - high.slope)
        above = between & (excess > 1e-12)
        going = xp.any(above if needed is None else above & needed)
        falls, between = line.slope < 0, between & going
        return _CutState(
            cuts.steps + 1,
            _pick_lines(falls & between, line, low),
            _pick_lines(~falls & between, line, high),
            going,
        )

    start = _CutState(
        0, _largest_line(c, d, zero), _largest_line(c, d, zero + 1), xp.any(zero == 0)
    )
    end = while_loop(xp, lambda cuts: (cuts.steps < _MAX_CUTS) & cuts.unfinished, cut, start)
    low, high = end.low, end.high
    t, is_minimum = _intersection(low, high), _minimum_between(low, high)
    value = xp.max(c + t[..., None] * d, axis=-1)
    slope_difference = xp.where(is_minimum, high.slope - low.slope, zero + 1)
    weight = xp.where(
        is_minimum, high.slope / slope_difference, xp.where(low.slope >= 0, zero + 1, zero)
    )
    first, second = (_normals(solids, line.face, c.dtype) for line in (low, high))
    normal = weight[..., None] * first + (1 - weight)[..., None] * second
    weight = xp.where(xp.vecdot(normal, normal) < _MIN_NORMAL**2, xp.round(weight), weight)
    return _DeepestPoint(
        value,
        weight * low.start + (1 - weight) * high.start,
        weight * low.slope + (1 - weight) * high.slope,
        weight[..., None] * first + (1 - weight)[..., None] * second,
    )


def _interval_below(c: Array, d: Array, level: Array) -> tuple[Array, Array]:
    """Return the interval (..., f, n) in 0 to 1 in which all lines are below a level."""
    xp = namespace(c)
    one = xp.ones_like(c)
    cut = (level[..., None] - c) / xp.where(d == 0, one, d)
    low = xp.max(xp.where(d < 0, cut, 0 * one), axis=-1)
    high = xp.min(xp.where(d > 0, cut, one), axis=-1)
    return xp.clip(low, 0.0, 1.0), xp.clip(high, 0.0, 1.0)


def _lines(
    solids: Solids, start: Array, along: Array, faces: Array | None = None
) -> tuple[Array, Array]:
    """Return c and d (..., f, n, h) of edges (..., f, 3); ``faces``: as they are turned."""
    xp = namespace(start)
    shape = (*start.shape[:-1], *solids.offset.shape)
    faces = constant(xp, solids.columns) if faces is None else faces
    c = xp.reshape(start @ faces, shape) - constant(xp, solids.offset)
    return c, xp.reshape(along @ faces, shape)


def edges_within(
    solids: Solids, rotation: Array, start: Array, along: Array, distance: Array
) -> Array:
    """Return a mask (..., f) of edges that may be within a distance (m) of a body.

    A lower bound of the distance is that beyond a single face: f ≥ max over faces of min over t.

    Args:
        solids: solids of the vehicle.
        rotation: R (..., 3, 3) of the body.
        start: (..., f, 3) of the edges from the body's place, map, m.
        along: (..., f, 3) from start to end, m.
        distance: m.
    """
    xp = namespace(start)
    c, d = _lines(solids, start, along, rotation @ constant(xp, solids.columns))
    lower_bound = xp.max(c + xp.minimum(d, 0.0), axis=-1)
    return (lower_bound[..., 0] if len(solids) == 1 else xp.min(lower_bound, axis=-1)) < distance


def edge_contacts(
    solids: Solids, start: Array, along: Array, needed: Array | None = None, kernels: Any = None
) -> ContactGeometry:
    """Return 2 f n contacts of f edges and n bodies, edge by edge, body by body.

    Args:
        solids: solids of the vehicle.
        start: (..., f, 3) of the edges, body frame, m.
        along: (..., f, 3) from start to end, m.
        needed: (..., f) edges whose contacts are used; None: all.
        kernels: :mod:`~marine_sim_ros.physics.contact.kernels.edges`, the same for NumPy's
            arrays (f, 3) in a tenth of the time; None: it is not to be loaded.
    """
    xp = namespace(start)
    c, d = _lines(solids, start, along)
    if kernels is not None:
        line = kernels.find_deepest_points(c, d, solids.normal, *EDGE_SEARCH)
        length = xp.sqrt(xp.vecdot(line[..., 2:5], line[..., 2:5]))
        return ContactGeometry(*kernels.contact_points(start, along, line, length))
    line = _find_deepest(solids, c, d, None if needed is None else needed[..., None])
    length = xp.sqrt(xp.vecdot(line.normal, line.normal))
    outward = line.normal / length[..., None]
    gaps, points = [], []
    for t in _interval_below(c, d, line.value + _CONTACT_BAND):
        gap = (line.start + t * line.slope) / length
        edge_point = start[..., None, :] + t[..., None] * along[..., None, :]
        gaps.append(gap)
        points.append(edge_point - gap[..., None] * outward)
    flat = (*start.shape[:-2], -1)
    return ContactGeometry(
        xp.reshape(xp.stack(gaps, axis=-1), flat),
        xp.reshape(xp.stack([-outward, -outward], axis=-2), (*flat, 3)),
        xp.reshape(xp.stack(points, axis=-2), (*flat, 3)),
    )


def sphere_contacts(solids: Solids, center: Array, radius: Array) -> ContactGeometry:
    """Return b n contacts of b spheres and n bodies, sphere by sphere.

    The direction n = Σ max(0, aᵢ·m − bᵢ) aᵢ is from a box's nearest point to the centre m; for
    other bodies this is approximate. The gap is that of the sphere's point m − r n, so that an
    approximate n gives no false contact.

    Args:
        solids: solids of the vehicle.
        center: (..., b, 3) m, body frame.
        radius: (b,) r in m.
    """
    xp = namespace(center)
    excess, _ = _lines(solids, center, center)
    outside = xp.maximum(excess, xp.zeros_like(excess))
    nearest = _one_hot(xp.argmax(excess, axis=-1), excess.shape[-1], excess.dtype)
    is_outside = xp.max(excess, axis=-1, keepdims=True) > 0
    weight = xp.where(is_outside, outside, nearest)
    normal = (weight[..., None, :] @ constant(xp, solids.normal))[..., 0, :]
    length = xp.sqrt(xp.vecdot(normal, normal))[..., None]
    normal, weight = normal / length, weight / length
    radius_column = constant(xp, radius)[:, None, None]
    point = center[..., None, :] - radius_column * normal
    # Excess of that point; the faces that make up n give the distance to separation.
    depth = (
        excess
        - radius_column
        * (normal[..., None, :] @ xp.matrix_transpose(constant(xp, solids.normal)))[..., 0, :]
    )
    max_depth, separation = xp.max(depth, axis=-1), xp.sum(weight * depth, axis=-1)
    gap = xp.where(max_depth > 0, xp.maximum(max_depth, separation), separation)
    flat = (*center.shape[:-2], -1)
    return ContactGeometry(
        xp.reshape(gap, flat),
        xp.reshape(-normal, (*flat, 3)),
        xp.reshape(point - gap[..., None] * normal, (*flat, 3)),
    )
