# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Terrain in a file: the same answers as in memory, and bounded memory."""

import numpy as np
import pytest

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.environment.reader import parse_environment
from marine_sim_ros.scene import bathymetry, height_file
from marine_sim_ros.scene.bathymetry import map_heights
from marine_sim_ros.scene.rays import cast_rays
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.scene.terrain import HeightMap, ridges


def rough(rows, columns, seed=1):
    random = np.random.default_rng(seed)
    return (-20 + random.normal(size=(rows, columns)).cumsum(axis=0) * 0.3).astype('<f4')


@pytest.fixture
def pair(tmp_path, monkeypatch):
    """The same heights in a file that is read in bands, and in memory."""
    monkeypatch.setattr(bathymetry, 'MAX_POINTS', 100)
    monkeypatch.setattr(height_file, '_BAND', 700)
    heights = rough(93, 71)
    np.save(tmp_path / 'terrain.npy', heights)
    map_heights.cache_clear()
    in_file = map_heights(tmp_path / 'terrain.npy', (-30.0, -50.0), 1.5, 'sand')
    assert in_file.in_file
    return in_file, HeightMap(np.array([-30.0, -50.0]), 1.5, heights, 'sand')


def test_a_terrain_in_a_file_is_that_in_memory_to_the_bit(pair):
    in_file, in_memory = pair
    random = np.random.default_rng(2)
    x, y = random.uniform(-60, 120, 400), random.uniform(-80, 130, 400)
    points = np.stack([x, y, random.uniform(-30, 5, 400)], axis=-1)
    for a, b in zip(in_file.surfaces(points), in_memory.surfaces(points), strict=True):
        assert a.tobytes() == b.tobytes()
    for name in ('highest', 'lowest', 'max_slope'):
        assert getattr(in_file, name) == getattr(in_memory, name)
    assert in_file.mean_height == pytest.approx(in_memory.mean_height, rel=1e-12)
    for a, b in zip(ridges(in_file, 6, points), ridges(in_memory, 6, points), strict=True):
        assert np.asarray(a, float).tobytes() == np.asarray(b, float).tobytes()
    down = random.normal(size=(400, 3)) + np.array([0.0, 0.0, -1.0])
    down /= np.linalg.norm(down, axis=1)[:, None]
    hits = [cast_rays(Scene((), t, ()), points, down, 200.0) for t in pair]
    assert np.isfinite(hits[1].distance).mean() > 0.3
    assert hits[0].distance.tobytes() == hits[1].distance.tobytes()


def test_a_window_holds_the_place_and_stays_the_same_within_a_tile(pair):
    in_file, in_memory = pair
    for x, y in ((-29.0, -49.0), (20.0, 10.0), (74.9, 88.0), (300.0, -900.0)):
        window = in_file.window(x, y, 16)
        assert not window.in_file
        assert window.heights.size <= 49**2
        place = np.array(x), np.array(y)
        assert window.height(*place) == pytest.approx(in_memory.height(*place), abs=1e-9)
    assert in_file.window(20.0, 10.0, 16) is in_file.window(20.1, 10.1, 16)


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        (b'', 'not a NumPy array'),
        (b'\x93NUMPY\x01\x00\x10\x00(((((((((((((((', 'not a NumPy array'),
        (np.zeros(5, '<f4'), 'not heights'),
        (np.zeros((3, 3)), 'not heights'),
        (np.full((3, 3), np.nan, '<f4'), 'expected one at each point'),
        (np.full((3, 3), 1e9, '<f4'), 'expected one at each point'),
    ],
)
def test_what_is_no_terrain_is_refused_in_one_line(tmp_path, content, message, monkeypatch):
    monkeypatch.setattr(bathymetry, 'MAX_POINTS', 1)
    path = tmp_path / 'terrain.npy'
    path.write_bytes(content) if isinstance(content, bytes) else np.save(path, content)
    text = 'terrain: {file: terrain.npy, corner: [0, 0], spacing: 1.0}'
    with pytest.raises(ParameterError, match=message) as error:
        parse_environment(text, str(tmp_path / 'site.yaml'))
    assert '\n' not in str(error.value)
