# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What is odd about the place where a vehicle starts."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.environment.environment import Environment

__all__ = ['start_warnings']


def start_warnings(environment: Environment, position: np.ndarray) -> list[str]:
    """Return one line where the origin of a vehicle starts below the ground, or nothing.

    Args:
        environment: its scene has the ground.
        position: (3,) of the origin in map, m.
    """
    if environment.scene is None:
        return []
    east, north, up = (float(value) for value in position)
    ground = environment.scene.ground(east, north)
    if up >= ground:
        return []
    return [
        f'the vehicle starts {ground - up:.2f} m below the ground of environment '
        f'{environment.name or "without a name"}, at {up:g} m; expected above {ground:.2f} m: '
        'contact will push it out'
    ]
