# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Metrics of a run: a few numbers of its states."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.core.state import State
from marine_sim_ros.sim.scenario import Scenario

__all__ = ['METRICS', 'metrics']

METRICS = (
    'finite',
    'as_expected',
    'end_x',
    'end_y',
    'end_z',
    'min_depth',
    'max_depth',
    'path_length',
    'max_speed',
    'max_tilt',
)
"""Columns of the dataset; m, m/s and rad."""


def metrics(time: np.ndarray, states: State, scenario: Scenario) -> dict[str, np.ndarray]:
    """Return the METRICS (N,) of states (t, N, ...) at times (t,) in s.

    The tilt is the angle between the body's and the map's upward direction. What a run that is
    not finite ended with is NaN.
    """
    position, orientation, velocity = states
    finite = np.isfinite(np.sum(position, axis=(0, 2)) + np.sum(velocity, axis=(0, 2)))
    x, y = orientation[..., 0], orientation[..., 1]
    upright = np.clip(1 - 2 * (x * x + y * y), -1.0, 1.0)
    held = [all(ok for ok, _ in scenario.verdicts(time, z)) for z in position[..., 2].T]
    found = {
        'end_x': position[-1, :, 0],
        'end_y': position[-1, :, 1],
        'end_z': position[-1, :, 2],
        'min_depth': -position[..., 2].max(axis=0),
        'max_depth': -position[..., 2].min(axis=0),
        'path_length': np.linalg.norm(np.diff(position, axis=0), axis=-1).sum(axis=0),
        'max_speed': np.linalg.norm(velocity[..., :3], axis=-1).max(axis=0),
        'max_tilt': np.arccos(upright).max(axis=0),
    }
    numbers = {name: np.where(finite, values, np.nan) for name, values in found.items()}
    return {'finite': finite, 'as_expected': np.array(held) & finite, **numbers}
