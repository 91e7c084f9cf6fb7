# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts of a scene's edges and spheres with a vehicle's convex bodies: place, gap, normal.

The contact points of a vehicle (model/contact_points.py) miss an edge that passes between them.

A body is a·p ≤ b for its faces: f(p) = max (a·p − b) says how far out a point is, negative inside.
Along an edge p(t) = p₀ + t e, 0 ≤ t ≤ 1, every a·p − b is a line c + t d, and f their convex
upper envelope: its least value, the deepest point of the edge, is where a falling line meets a
rising one. Cutting planes find it exactly, in as many steps as there are faces at most. Across
the two lines the combination without slope,

    n = (d₂ a₁ − d₁ a₂)/(d₂ − d₁),        d₁ < 0 < d₂,

stands upright on the edge and on the vehicle's own edge between the two faces: the direction in
which both part first, after f/|n|. At an end of the edge, its corner, n is the face there. An edge
that lies on a face has no deepest point; it touches with both ends of where f is within 1 mm of
its least value, so that what lies on it does not tip.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace, while_loop
from marine_sim_ros.model.contact import Solids

__all__ = ['ContactGeometry', 'edge_contacts', 'edges_within', 'sphere_contacts']

_CONTACT_BAND = 1e-3
"""m; how far from the deepest point an edge still touches."""
_MAX_CUTS = 12
"""Steps of the search; a body of few faces needs three or four."""
_MIN_NORMAL = 0.3
"""|n| below which two faces are nearly opposite, and one of them counts alone."""


class ContactGeometry(NamedTuple):
    """Where surfaces, edges or spheres and the vehicle are to each other, c pairs; body frame.

    Attributes:
        gap: (..., c) m, negative within.
        normal: (..., c, 3) out of the surface, into the vehicle.
        point: (..., c, 3) of the body that is nearest to the surface, m.
    """

    gap: Array
    normal: Array
    point: Array


class _ActiveLines(NamedTuple):
    """The lines that are largest somewhere: which face, c and d, all (..., f, n)."""

    face: Array
    start: Array
    slope: Array


def _one_hot(face: Array, count: int, kind: object) -> Array:
    """Return 1 (..., count) in the place of a number, 0 elsewhere."""
    xp = namespace(face)
    return xp.astype(constant(xp, np.arange(count)) == face[..., None], kind)


def _largest_line(c: Array, d: Array, t: Array) -> _ActiveLines:
    """Return the index of the line (..., f, n, h) that is largest at t (..., f, n)."""
    xp = namespace(c)
    best = xp.argmax(c + t[..., None] * d, axis=-1)
    chosen = _one_hot(best, c.shape[-1], c.dtype)
    return _ActiveLines(best, xp.sum(chosen * c, axis=-1), xp.sum(chosen * d, axis=-1))


def _normals(solids: Solids, face: Array, kind: object) -> Array:
    """Return the normals (..., f, n, 3) of faces (..., f, n)."""
    xp = namespace(face)
    chosen = _one_hot(face, solids.offset.shape[-1], kind)
    return (chosen[..., None, :] @ constant(xp, solids.normal))[..., 0, :]


def _pick_lines(condition: Array, a: _ActiveLines, b: _ActiveLines) -> _ActiveLines:
    xp = namespace(condition)
    return _ActiveLines(*(xp.where(condition, x, y) for x, y in zip(a, b, strict=True)))


def _minimum_between(low: _ActiveLines, high: _ActiveLines) -> Array:
    """Return the place of the least value between the ends, or on a line without slope."""
    return (low.slope < 0) & (high.slope >= 0)


def _intersection(low: _ActiveLines, high: _ActiveLines) -> Array:
    """Return where a falling and a rising line meet; an end where one does not fall or rise."""
    xp = namespace(low.start)
    zero, one = xp.zeros_like(low.start), xp.ones_like(low.start)
    both = _minimum_between(low, high)
    t = (high.start - low.start) / xp.where(both, low.slope - high.slope, one)
    return xp.where(both, xp.clip(t, 0.0, 1.0), xp.where(low.slope >= 0, zero, one))


class _Deepest(NamedTuple):
    """The deepest points of edges in bodies, (..., f, n).

    Attributes:
        value: the largest line there.
        start: c and
        slope: d of the combination of two lines without slope, or of the one at an edge's end.
        normal: (..., 3) of it, not of length 1.
    """

    value: Array
    start: Array
    slope: Array
    normal: Array


class _Cuts(NamedTuple):
    """A search of deepest points: between which lines they are, and whether it goes on."""

    steps: int
    low: _ActiveLines
    high: _ActiveLines
    going: Array


def _find_deepest(solids: Solids, c: Array, d: Array, wanted: Array | None = None) -> _Deepest:
    """Return the place where the largest of the lines (..., f, n, h) is least.

    The search goes on for as long as one of the wanted ones (..., f, n) needs it; None: of all.
    """
    xp = namespace(c)
    zero = xp.zeros_like(c[..., 0])

    def cut(now: _Cuts) -> _Cuts:
        low, high = now.low, now.high
        t, between = _intersection(low, high), _minimum_between(low, high)
        line = _largest_line(c, d, t)
        off = line.start - high.start + t * (line.slope - high.slope)
        above = between & (off > 1e-12)
        going = xp.any(above if wanted is None else above & wanted)
        falls, between = line.slope < 0, between & going
        return _Cuts(
            now.steps + 1,
            _pick_lines(falls & between, line, low),
            _pick_lines(~falls & between, line, high),
            going,
        )

    begun = _Cuts(0, _largest_line(c, d, zero), _largest_line(c, d, zero + 1), xp.any(zero == 0))
    found = while_loop(xp, lambda now: (now.steps < _MAX_CUTS) & now.going, cut, begun)
    low, high = found.low, found.high
    t, both = _intersection(low, high), _minimum_between(low, high)
    value = xp.max(c + t[..., None] * d, axis=-1)
    apart = xp.where(both, high.slope - low.slope, zero + 1)
    share = xp.where(both, high.slope / apart, xp.where(low.slope >= 0, zero + 1, zero))
    first, second = (_normals(solids, line.face, c.dtype) for line in (low, high))
    normal = share[..., None] * first + (1 - share)[..., None] * second
    share = xp.where(xp.vecdot(normal, normal) < _MIN_NORMAL**2, xp.round(share), share)
    return _Deepest(
        value,
        share * low.start + (1 - share) * high.start,
        share * low.slope + (1 - share) * high.slope,
        share[..., None] * first + (1 - share)[..., None] * second,
    )


def _interval_below(c: Array, d: Array, level: Array) -> tuple[Array, Array]:
    """Return from where to where (..., f, n) all lines are below a level, within 0 to 1."""
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
    solids: Solids, rotation: Array, start: Array, along: Array, within: Array
) -> Array:
    """Return the edges (..., f) that may be within a distance (m) of a body: no other is.

    An edge that is all beyond one face is beyond the body: f ≥ max over faces of min over t.

    Args:
        solids: solids of the vehicle.
        rotation: R (..., 3, 3) of the body.
        start: (..., f, 3) of the edges from the body's place, map, m.
        along: (..., f, 3) from start to end, m.
        within: m.
    """
    xp = namespace(start)
    c, d = _lines(solids, start, along, rotation @ constant(xp, solids.columns))
    least = xp.max(c + xp.minimum(d, 0.0), axis=-1)
    return (least[..., 0] if len(solids) == 1 else xp.min(least, axis=-1)) < within


def edge_contacts(
    solids: Solids, start: Array, along: Array, wanted: Array | None = None
) -> ContactGeometry:
    """Return 2 f n places of contact of f edges and n bodies, edge by edge, body by body.

    Args:
        solids: solids of the vehicle.
        start: (..., f, 3) of the edges, body frame, m.
        along: (..., f, 3) from start to end, m.
        wanted: (..., f) whose meetings matter; None: all.
    """
    xp = namespace(start)
    c, d = _lines(solids, start, along)
    line = _find_deepest(solids, c, d, None if wanted is None else wanted[..., None])
    length = xp.sqrt(xp.vecdot(line.normal, line.normal))
    outward = line.normal / length[..., None]
    gaps, points = [], []
    for t in _interval_below(c, d, line.value + _CONTACT_BAND):
        gap = (line.start + t * line.slope) / length
        place = start[..., None, :] + t[..., None] * along[..., None, :]
        gaps.append(gap)
        points.append(place - gap[..., None] * outward)
    flat = (*start.shape[:-2], -1)
    return ContactGeometry(
        xp.reshape(xp.stack(gaps, axis=-1), flat),
        xp.reshape(xp.stack([-outward, -outward], axis=-2), (*flat, 3)),
        xp.reshape(xp.stack(points, axis=-2), (*flat, 3)),
    )


def sphere_contacts(solids: Solids, center: Array, radius: Array) -> ContactGeometry:
    """Return b n places of contact of b spheres and n bodies, sphere by sphere.

    The direction n is from a box's nearest point to the middle m, for other bodies about that:
    Σ max(0, aᵢ·m − bᵢ) aᵢ. Tested is the sphere's point m − r n, so that none is felt that is
    not there.

    Args:
        solids: solids of the vehicle.
        center: (..., b, 3) m, body frame.
        radius: (b,) r in m.
    """
    xp = namespace(center)
    excess, _ = _lines(solids, center, center)
    outside = xp.maximum(excess, xp.zeros_like(excess))
    nearest = _one_hot(xp.argmax(excess, axis=-1), excess.shape[-1], excess.dtype)
    away = xp.max(excess, axis=-1, keepdims=True) > 0
    weight = xp.where(away, outside, nearest)
    normal = (weight[..., None, :] @ constant(xp, solids.normal))[..., 0, :]
    length = xp.sqrt(xp.vecdot(normal, normal))[..., None]
    normal, weight = normal / length, weight / length
    size = constant(xp, radius)[:, None, None]
    point = center[..., None, :] - size * normal
    # Of that point, as in ``excess``; the faces of n alone say how far both are from parting.
    depth = (
        excess
        - size
        * (normal[..., None, :] @ xp.matrix_transpose(constant(xp, solids.normal)))[..., 0, :]
    )
    furthest, parting = xp.max(depth, axis=-1), xp.sum(weight * depth, axis=-1)
    gap = xp.where(furthest > 0, xp.maximum(furthest, parting), parting)
    flat = (*center.shape[:-2], -1)
    return ContactGeometry(
        xp.reshape(gap, flat),
        xp.reshape(-normal, (*flat, 3)),
        xp.reshape(point - gap[..., None] * normal, (*flat, 3)),
    )
