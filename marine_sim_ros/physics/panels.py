# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Cuts hull panels at the water surface into a wet and a dry part.

Arrays over panels have the panel last, (..., 3, n) for vectors: sums over few components of many
panels are fast that way.
"""

from __future__ import annotations

from typing import NamedTuple

from marine_sim_ros.arrays import Array, namespace

__all__ = ['Cut', 'arms', 'cut_panels', 'interpolate']


class Cut(NamedTuple):
    """Shares of triangles under and above water, as weights of their corners.

    The weights of a part sum to its share of the triangle's area, and weigh the corners so that
    a linear field's mean over the part is Σ weight · corner value / share.

    Attributes:
        wet: three arrays (...), one per corner.
        dry: three arrays (...).
    """

    wet: tuple[Array, Array, Array]
    dry: tuple[Array, Array, Array]

    @property
    def wet_share(self) -> Array:
        """(...) 0 to 1."""
        return self.wet[0] + self.wet[1] + self.wet[2]

    @property
    def dry_share(self) -> Array:
        """(...) 0 to 1."""
        return self.dry[0] + self.dry[1] + self.dry[2]


def cut_panels(heights: Array) -> Cut:
    """Cut triangles where the height of their corners above the water changes sign.

    One corner is on the other side than the two others; the edges from it are cut at
    t = h_a/(h_a − h_b), which leaves a tip of t_b t_c of the area with its own centroid, and the
    rest. Exact for a surface that is plane across the triangle; a corner on it counts as wet.

    Args:
        heights: (..., 3, n) of the corners above the water, m: corner, triangle.
    """
    xp = namespace(heights)
    h0, h1, h2 = heights[..., 0, :], heights[..., 1, :], heights[..., 2, :]
    wet0, wet1, wet2 = h0 <= 0, h1 <= 0, h2 <= 0
    differ01, differ12, differ20 = wet0 != wet1, wet1 != wet2, wet2 != wet0
    odd0, odd1, odd2 = differ01 & differ20, differ01 & differ12, differ12 & differ20
    mixed = odd0 | odd1 | odd2
    # The odd corner a, and b, c after it.
    ha = xp.where(odd1, h1, xp.where(odd2, h2, h0))
    hb = xp.where(odd1, h2, xp.where(odd2, h0, h1))
    hc = xp.where(odd1, h0, xp.where(odd2, h1, h2))
    one = xp.ones_like(ha)
    tb = ha / xp.where(mixed, ha - hb, one)
    tc = ha / xp.where(mixed, ha - hc, one)
    third = tb * tc / 3
    b, c = third * tb, third * tc
    a = 3 * third - b - c
    # From a, b, c back to the corners 0, 1, 2.
    tip = (
        xp.where(odd1, c, xp.where(odd2, b, a)),
        xp.where(odd1, a, xp.where(odd2, c, b)),
        xp.where(odd1, b, xp.where(odd2, a, c)),
    )
    apex_wet = ha <= 0
    whole = xp.where(wet0, one / 3, 0 * one)
    wet = [xp.where(mixed, xp.where(apex_wet, weight, 1 / 3 - weight), whole) for weight in tip]
    dry = [1 / 3 - weight for weight in wet]
    return Cut((wet[0], wet[1], wet[2]), (dry[0], dry[1], dry[2]))


def interpolate(weights: tuple[Array, Array, Array], share: Array, values: Array) -> Array:
    """Return the mean (..., k, n) over each part of a field at the corners (..., 3, k, n).

    Where a part is empty the corners' mean stands in, so that everything stays finite.
    """
    xp = namespace(share)
    empty = share < 1e-12
    scale = 1 / xp.where(empty, xp.ones_like(share), share)
    third = xp.ones_like(share) / 3
    w0, w1, w2 = (xp.where(empty, third, w * scale)[..., None, :] for w in weights)
    return w0 * values[..., 0, :, :] + w1 * values[..., 1, :, :] + w2 * values[..., 2, :, :]


def arms(points: Array, vectors: Array) -> Array:
    """Return [v; r × v] (..., 6, n) of vectors (..., 3, n) at points (..., 3, n)."""
    xp = namespace(vectors)
    x, y, z = points[..., 0, :], points[..., 1, :], points[..., 2, :]
    u, v, w = vectors[..., 0, :], vectors[..., 1, :], vectors[..., 2, :]
    turn = xp.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=-2)
    return xp.concat([vectors + xp.zeros_like(turn), turn], axis=-2)
