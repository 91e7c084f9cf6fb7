# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tiles of a picture against rays: none misses what is in it, and few have what is not."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.scene.rays import cast_rays
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors.camera.lenses import PLUMB_BOB, Lens
from marine_sim_ros.sensors.camera.render_input import tiles_of

SIDE = 8


@pytest.mark.parametrize('size', [[1.0, 0.8, 0.6], [0.5, 30.0, 0.5], [0.02, 0.02, 3.0]])
def test_no_tile_misses_a_box_and_few_have_one_in_vain(size):
    lens = Lens(160, 120, np.radians(80.0), PLUMB_BOB, (0.0,) * 5)
    across, down = np.meshgrid(np.arange(160), np.arange(120))
    rays = lens.directions(np.stack([across, down], axis=-1).astype(float))
    tiles, rng = tiles_of(rays, SIDE), np.random.default_rng(5)
    listed = hit = 0
    for _ in range(30):
        turn, own = Rotation.random(random_state=rng), Rotation.random(random_state=rng)
        place = turn.apply(rng.uniform([-3, -2, 2], [3, 2, 9]))
        box = Obstacle('box', 'box', size, place, own.as_quat())
        met = np.isfinite(
            cast_rays(
                Scene(obstacles=(box,)), np.zeros(3), turn.apply(rays.reshape(-1, 3)), 200.0
            )[0]
        )
        met = met.reshape(15, SIDE, 20, SIDE).any(axis=(1, 3)).reshape(-1)
        axes, halves = own.as_matrix().T[None], np.array([size]) / 2
        seen = tiles.sees(turn.as_matrix(), place[None], axes, halves)[:, 0]
        assert not np.any(met & ~seen)
        listed, hit = listed + seen.sum(), hit + met.sum()
    assert hit > 100
    assert listed < 2.0 * hit
