# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lines with fewer points: they stay where they were, to what a screen shows."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from marine_sim_ros.analysis.report.plotly_charts import simplify_curve, simplify_polyline


def distances(points, line):
    """Return the distance of each point from the nearest part of a line."""
    start, along = line[:-1], np.diff(line, axis=0)
    since = points[:, None] - start
    share = np.clip((since * along).sum(-1) / (along**2).sum(-1), 0.0, 1.0)
    return np.linalg.norm(since - share[..., None] * along, axis=-1).min(axis=1)


def test_turns_of_a_lawn_mower_stay_within_half_a_pixel():
    """Forty lanes of 100 m with turns of 1 m: a pixel of a plot 1280 wide is 0.08 m."""
    time = np.linspace(0, 40, 80_000, endpoint=False)
    lane, along = np.divmod(time, 1.0)
    turn = np.clip((along - 0.9) / 0.1, 0.0, 1.0)
    x = np.where(lane % 2, 1.0, -1.0) * 50 * np.cos(np.pi * np.clip(along / 0.9, 0, 1))
    x += np.where(lane % 2, -1.0, 1.0) * np.sin(np.pi * turn)
    path = np.column_stack([x, 2.5 * (lane + turn), np.zeros_like(x)])
    few = simplify_polyline(path, 2000)
    assert len(few) <= 2000
    assert distances(path[::40], few).max() < 0.04
    strided = path[::40]
    assert distances(path[7::40], strided).max() > 2 * distances(path[7::40], few).max()


def test_short_lines_and_points_stay():
    line = np.random.default_rng(0).normal(size=(100, 3))
    assert simplify_polyline(line, 100) is line
    assert len(simplify_polyline(np.zeros((5000, 3)), 100)) == 2
    assert len(simplify_polyline(np.random.default_rng(0).normal(size=(3000, 3)), 100)) <= 100


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 2**32 - 1), st.integers(3, 400), st.sampled_from([0.0, 1e-3, 0.3]))
def test_a_curve_of_its_corners_looks_the_same(seed, count, noise):
    rng = np.random.default_rng(seed)
    x = np.cumsum(rng.choice([0.0, 0.01, 0.1], count))
    y = np.interp(x, np.sort(rng.uniform(0, x[-1] + 1, 6)), rng.uniform(0, 1, 6))
    y += noise * rng.normal(size=count) * (rng.random(count) < 0.1)
    kept = simplify_curve(x, y)
    assert kept[0]
    assert kept[-1]
    for first, last in pairwise(np.flatnonzero(kept)):
        between = np.arange(first + 1, last)
        line = np.interp(x[between], x[[first, last]], y[[first, last]])
        assert np.all(np.abs(line - y[between]) <= 1 / 8000 + 1e-9)


def test_a_straight_line_and_a_long_rest_need_few_points():
    x = np.linspace(0, 10, 4001)
    assert simplify_curve(x, 0.2 * x / 10).sum() == 2
    assert simplify_curve(x, np.where(x < 5, 0.0, 1.0)).sum() == 4
    assert simplify_curve(x, np.sin(x) / 2).sum() < 400
