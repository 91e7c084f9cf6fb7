# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Triangles cut at the surface: areas and centroids against closed forms and polygons."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros.core.spatial import skew
from marine_sim_ros.model.hull import lever_mobility
from marine_sim_ros.physics.panels import (
    cut_panels,
    dry_remainder,
    interpolate_cut,
    panel_wrenches,
    total_wrench,
)

height = st.floats(-2, 2).map(lambda h: round(h, 3))
three = st.tuples(height, height, height)
CORNERS = np.array([[0.1, 0.2, 0.5], [1.3, -0.1, -0.4], [0.2, 0.9, 0.3]])


def polygon_area_and_centroid(points):
    """By fans from the first point: an independent way to the same numbers."""
    area, moment = 0.0, np.zeros(3)
    for a, b in pairwise(points[1:]):
        piece = np.linalg.norm(np.cross(a - points[0], b - points[0])) / 2
        area += piece
        moment += piece * (points[0] + a + b) / 3
    return area, moment / area if area > 1e-12 else None


def clipped(corners, heights, sign):
    """Sutherland-Hodgman against one plane."""
    out = []
    for i in range(3):
        p, q, hp, hq = corners[i], corners[i - 2], sign * heights[i], sign * heights[i - 2]
        if hp <= 0:
            out.append(p)
        if (hp < 0 < hq) or (hq < 0 < hp):
            out.append(p + (q - p) * hp / (hp - hq))
    return out


def test_worked_example_13():
    corners = np.array([[0, 0, 0.5], [1, 0, -0.5], [0, 1, -0.5]])
    area = np.linalg.norm(np.cross(corners[1] - corners[0], corners[2] - corners[0])) / 2
    assert area == pytest.approx(0.866025, abs=5e-7)
    cut = cut_panels(corners[:, 2, None])
    assert area * cut.wet_fraction[0] == pytest.approx(0.649519, abs=5e-7)
    assert area * (1 - cut.wet_fraction[0]) == pytest.approx(0.866025 / 4, abs=5e-7)


@given(three)
def test_parts_are_those_of_a_clipped_polygon(heights):
    h = np.array(heights)
    whole, middle = polygon_area_and_centroid(CORNERS)
    cut = cut_panels(h[:, None])
    wet = cut.wet_fraction, interpolate_cut(cut.wet, cut.wet_fraction, CORNERS[..., None])
    dry = dry_remainder(CORNERS.mean(axis=0)[:, None], *wet)
    assert wet[0] + dry[0] == pytest.approx(1)
    moment = 0
    for (share, centers), sign in ((wet, 1), (dry, -1)):
        polygon = clipped(CORNERS, h, sign)
        if sign < 0 and np.all(h <= 0):
            polygon = []  # a corner on the surface counts as wet
        area, center = polygon_area_and_centroid(polygon) if len(polygon) > 2 else (0, None)
        assert share[0] == pytest.approx(area / whole, abs=1e-9)
        found = centers[:, 0]
        moment = moment + share[0] * found
        if center is not None and share[0] > 1e-6:
            assert found == pytest.approx(center, abs=1e-6)
    assert moment == pytest.approx(middle)  # the parts make up the whole


@given(three, st.permutations([0, 1, 2]))
def test_the_order_of_the_corners_does_not_matter(heights, order):
    h = np.array(heights)
    first, second = cut_panels(h[:, None]), cut_panels(h[order][:, None])
    assert second.wet_fraction == pytest.approx(first.wet_fraction)
    for i, j in enumerate(order):
        assert second.wet[i] == pytest.approx(first.wet[j])


def test_a_corner_on_the_surface_is_wet():
    cut = cut_panels(np.array([[0.0, -1, -1], [0.0, 0, 0], [0.0, 1, 1], [0.0, 0, 1]]).T)
    assert cut.wet_fraction == pytest.approx([1, 1, 0, 0])


def test_arms():
    rng = np.random.default_rng(1)
    points, forces = rng.normal(size=(2, 5, 3)), rng.normal(size=(2, 5, 3))
    found = panel_wrenches(points.swapaxes(1, 2), forces.swapaxes(1, 2))
    assert found[:, :3].swapaxes(1, 2) == pytest.approx(forces)
    assert found[:, 3:].swapaxes(1, 2) == pytest.approx(np.cross(points, forces))


def test_wrench_is_that_of_arms():
    rng = np.random.default_rng(3)
    points, forces = rng.normal(size=(2, 4, 3, 50))
    assert total_wrench(points, forces) == pytest.approx(
        panel_wrenches(points, forces).sum(axis=-1)
    )


def test_mobility_of_levers_bounds_every_decay():
    rng = np.random.default_rng(2)
    root = rng.normal(size=(6, 6))
    mass = root @ root.T + np.eye(6)
    points, weights = rng.normal(size=(7, 3)), rng.uniform(0, 2, 7)
    levers = [np.concatenate([np.eye(3), -skew(r)], axis=1) for r in points]
    damping = sum(w * h.T @ h for w, h in zip(weights, levers, strict=True))
    fastest = np.max(np.linalg.eigvals(np.linalg.solve(mass, damping)).real)
    bound = float(weights @ lever_mobility(points, np.linalg.inv(mass)))
    assert fastest <= bound
    assert bound == pytest.approx(np.trace(np.linalg.solve(mass, damping)))
