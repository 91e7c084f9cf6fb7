# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Maps of a scene at a depth, for Nav2's map server."""

import numpy as np
import pytest
import yaml
from conftest import marine_sim

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.environment.reader import load_environment, parse_environment
from marine_sim_ros.tools.export_map import occupancy_map

SEA = """
seabed: {depth: 6, material: sand}
obstacles:
  - {name: pile, shape: cylinder, position: [2, 1, -3], radius: 0.5, length: 6}
  - {name: box, shape: box, position: [-3, -2, -5], size: [2, 1, 2]}
"""


def load(folder):
    """Return occupancy by cell (x, y), as map_io.cpp of nav2_map_server reads the files."""
    told = yaml.safe_load((folder / 'map.yaml').read_text())
    head, size, most, data = (folder / told['image']).read_bytes().split(b'\n', 3)
    width, height = map(int, size.split())
    assert (head, most, len(data)) == (b'P5', b'255', width * height)
    shade = np.frombuffer(data, np.uint8).reshape(height, width) / 255
    assert told['negate'] == 0
    occupied = 1 - shade > told['occupied_thresh']
    assert (occupied | (1 - shade < told['free_thresh'])).all()
    grid = np.zeros((height, width), bool)
    for y in range(height):
        grid[height - y - 1] = occupied[y]
    x0, y0, yaw = told['origin']
    assert yaw == 0
    x, y = (
        start + told['resolution'] * (np.arange(n) + 0.5)
        for start, n in ((x0, width), (y0, height))
    )
    return grid, x, y


def test_the_files_of_a_map_server_have_the_obstacles_of_the_depth(tmp_path):
    sea = tmp_path / 'sea.yaml'
    sea.write_text(SEA)
    for depth, has_box in ((2.0, False), (5.0, True)):
        folder = tmp_path / f'{depth:g}'
        code, told = marine_sim(
            'export-map', sea, '-o', folder, '--depth', depth, '--resolution', 0.1,
            '--area', -6, 5, -4, 3,
        )  # fmt: skip
        assert code == 0, told
        grid, x, y = load(folder)
        assert grid.shape == (70, 110)
        east, north = np.meshgrid(x, y)
        reach = 0.1 / np.sqrt(2)
        pile = np.hypot(east - 2, north - 1) - 0.5
        away = np.stack([np.abs(east + 3) - 1, np.abs(north + 2) - 0.5])
        box = np.hypot(*np.maximum(away, 0)) + np.minimum(away.max(axis=0), 0)
        wanted = (pile < reach) | (has_box & (box < reach))
        unsure = (np.abs(pile - reach) < 0.03) | (np.abs(box - reach) < 1e-6)
        assert (grid == wanted)[~unsure].all()
        assert grid.any()


def test_below_the_seabed_all_is_occupied_and_the_area_is_that_of_the_ground():
    scene = load_environment('jetty').scene
    grid = occupancy_map(scene, 0.5, 0.5)
    assert 0 < grid.occupied.mean() < 0.5
    pile = occupancy_map(scene, 1.0, 0.1, (6.3, 6.5, 7.9, 8.1))
    assert pile.occupied.all()  # inside a mesh
    assert occupancy_map(scene, 500.0, 2.0).occupied.all()


def test_what_has_no_map_is_one_line():
    with pytest.raises(ParameterError, match='nothing solid'):
        occupancy_map(None, 1.0, 0.1)
    scene = parse_environment(SEA, 'sea').scene
    with pytest.raises(ParameterError, match='cells of'):
        occupancy_map(scene, 1.0, 0.001, (0.0, 100.0, 0.0, 100.0))
    with pytest.raises(ParameterError, match='XMIN below XMAX'):
        occupancy_map(scene, 1.0, 0.1, (1.0, 0.0, 0.0, 1.0))
