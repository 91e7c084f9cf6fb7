# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Cuts hull panels at the water surface into a wet and a dry part.

Arrays over panels have the panel last, (..., 3, n) for vectors: sums over few components of many
panels are fast that way.
"""

from __future__ import annotations

from typing import NamedTuple

from marine_sim_ros.core.arrays import Array, namespace

__all__ = ['Cut', 'arms', 'cut_panels', 'interpolate', 'remainder', 'wrench_at']


class Cut(NamedTuple):
    """Parts of triangles that are under water, as weights of their corners.

    The weights of a part sum to its share of the triangle's area, and weigh the corners so that
    a linear field's mean over the part is Σ weight · corner value / share. What is above water
    has the weights 1/3 − w.

    Attributes:
        wet: three arrays (...), one per corner.
    """

    wet: tuple[Array, Array, Array]

    @property
    def wet_share(self) -> Array:
        """(...) 0 to 1."""
        return self.wet[0] + self.wet[1] + self.wet[2]


def cut_panels(heights: Array) -> Cut:
    """Cut triangles where the height of their corners above the water changes sign.

    An edge from a to b is cut at t_ab = h_a/(h_a − h_b). One corner is on the other side than the
    two others; the edges from it are cut, which leaves a tip of t_ab t_ac of the area with its own
    centroid, and the rest. Exact for a surface that is plane across the triangle; a corner on it
    counts as wet.

    Args:
        heights: (..., 3, n) of the corners above the water, m: corner, triangle.
    """
    xp = namespace(heights)
    h = heights[..., 0, :], heights[..., 1, :], heights[..., 2, :]
    wet = [height <= 0 for height in h]
    none = xp.zeros_like(h[0])
    after, before = [], []  # t of the edges to the next corner, and of those to the one before
    for i, k in ((0, 1), (1, 2), (2, 0)):
        cut = wet[i] != wet[k]
        t = h[i] / xp.where(cut, h[i] - h[k], none + 1)
        after.append(xp.where(cut, t, none))
        before.append(xp.where(cut, 1 - t, none))
    before = [before[2], before[0], before[1]]
    tips = [a * b / 3 for a, b in zip(after, before, strict=True)]  # all but one are 0
    shares = [tip * t for tip, t in zip(tips, after, strict=True)]  # of the next corners
    others = [tip * t for tip, t in zip(tips, before, strict=True)]
    mostly_wet = (wet[0] & wet[1]) | (wet[1] & wet[2]) | (wet[2] & wet[0])
    weights = []
    for i in range(3):
        own = 3 * tips[i] - shares[i] - others[i]
        weight = own + shares[i - 1] + others[i - 2]
        weights.append(xp.where(mostly_wet, 1 / 3 - weight, weight))
    return Cut((weights[0], weights[1], weights[2]))


_EMPTY = 1e-12
"""Share of a part that is nothing but rounding."""


def interpolate(weights: tuple[Array, Array, Array], share: Array, values: Array) -> Array:
    """Return the mean (..., k, n) over each part of a field at the corners (..., 3, k, n).

    Where a part is empty the corners' mean stands in, so that everything stays finite.
    """
    xp = namespace(share)
    empty = share < _EMPTY
    third = xp.ones_like(share) / 3
    w0, w1, w2 = (xp.where(empty, third, w)[..., None, :] for w in weights)
    total = w0 * values[..., 0, :, :] + w1 * values[..., 1, :, :] + w2 * values[..., 2, :, :]
    return total / xp.where(empty, xp.ones_like(share), share)[..., None, :]


def remainder(middle: Array, share: Array, center: Array) -> tuple[Array, Array]:
    """Return the share (..., n) and the centre (..., 3, n) of what a part leaves of triangles.

    Where it leaves nothing the triangle's centre stands in.

    Args:
        middle: (..., 3, n) centres of the triangles.
        share: (..., n) of the part.
        center: (..., 3, n) of the part.
    """
    xp = namespace(share)
    left = 1 - share
    empty = (left < _EMPTY)[..., None, :]
    rest = xp.where(empty, middle, middle - share[..., None, :] * center)
    return left, rest / xp.where(empty, xp.ones_like(rest), left[..., None, :])


def arms(points: Array, vectors: Array) -> Array:
    """Return [v; r × v] (..., 6, n) of vectors (..., 3, n) at points (..., 3, n)."""
    xp = namespace(vectors)
    x, y, z = points[..., 0, :], points[..., 1, :], points[..., 2, :]
    u, v, w = vectors[..., 0, :], vectors[..., 1, :], vectors[..., 2, :]
    turn = xp.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=-2)
    return xp.concat([vectors + xp.zeros_like(turn), turn], axis=-2)


def wrench_at(points: Array, forces: Array) -> Array:
    """Return Σ [f; r × f] (..., 6) of forces (..., 3, n) at points (..., 3, n)."""
    dot = namespace(forces).vecdot
    x, y, z = points[..., 0, :], points[..., 1, :], points[..., 2, :]
    u, v, w = forces[..., 0, :], forces[..., 1, :], forces[..., 2, :]
    xp = namespace(forces)
    torque = (dot(y, w) - dot(z, v), dot(z, u) - dot(x, w), dot(x, v) - dot(y, u))
    return xp.concat([xp.sum(forces, axis=-1), xp.stack(torque, axis=-1)], axis=-1)
