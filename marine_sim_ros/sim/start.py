# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What is odd about the place where a vehicle starts."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.scene.geographic import outside

__all__ = ['start_warnings']

AIRBORNE_HEIGHT = 1.0
"""m above the surface from which on a start is told of."""


def start_warnings(environment: Environment, position: np.ndarray) -> list[str]:
    """Return a line each where a vehicle starts in the air, below the ground, or off the terrain.

    Args:
        environment: its scene has the ground.
        position: (3,) of the origin in map, m.
    """
    east, north, up = (float(value) for value in position)
    if up > AIRBORNE_HEIGHT:
        return [
            f'the vehicle starts {up:g} m above the surface and falls, for z points up; expected '
            f'z {-up:g} for that depth'
        ]
    if environment.scene is None:
        return []
    ground = environment.scene.ground(east, north)
    name = environment.name or 'without a name'
    terrain, result = environment.scene.terrain, []
    if terrain is not None and outside(terrain, np.asarray(position)[:2]) > 1:
        (west, south), (far_east, far_north) = terrain.extent
        result.append(
            f'the vehicle starts at x {east:g}, y {north:g} m, farther from the terrain of '
            f'environment {name} than that is wide (x {west:g} to {far_east:g}, y {south:g} to '
            f'{far_north:g} m); expected a start on it: beyond, the heights of its edge go on'
        )
    if up >= ground:
        return result
    return [
        *result,
        f'the vehicle starts {ground - up:.2f} m below the ground of environment '
        f'{name}, at {up:g} m; expected above {ground:.2f} m: '
        'contact will push it out',
    ]
