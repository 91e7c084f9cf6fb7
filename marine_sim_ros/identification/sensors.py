# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A simulated run as imperfect sensors tell it: what a fit could find of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marine_sim_ros.core.spatial import quaternion_product, rotation_vector_quaternion
from marine_sim_ros.sim.trajectory import Trajectory

__all__ = ['Noise', 'noisy_odometry']


@dataclass(frozen=True)
class Noise:
    """Standard deviations of white noise on every sample.

    Attributes:
        position: m.
        attitude: rad.
        linear: m/s, as of a Doppler log.
        angular: rad/s, as of cheap gyros.
    """

    position: float = 0.02
    attitude: float = 0.003
    linear: float = 0.02
    angular: float = 0.01


def noisy_odometry(run: Trajectory, seed: int, noise: Noise | None = None) -> np.ndarray:
    """Return odometry (n, 13): position, quaternion x y z w, body velocity, each with noise."""
    noise = noise or Noise()
    rng, n = np.random.default_rng(seed), len(run.stamp)
    turn = rotation_vector_quaternion(rng.normal(0, noise.attitude, (n, 3)))
    return np.column_stack(
        [
            run.position + rng.normal(0, noise.position, (n, 3)),
            quaternion_product(run.orientation, turn),
            run.velocity[:, :3] + rng.normal(0, noise.linear, (n, 3)),
            run.velocity[:, 3:] + rng.normal(0, noise.angular, (n, 3)),
        ]
    )
