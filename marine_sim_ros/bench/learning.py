# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a step of learning environments costs."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from marine_sim_ros.bench.engine_solid import least_cpu_seconds

__all__ = ['learning_rows']

TASK = 'marine_sim_ros/StationKeeping-v0'
COUNT = 1000
STEPS = 10
"""Of each measurement; an environment's step is ten ticks."""


def learning_rows() -> Iterator[tuple[str, str, float]]:
    """Yield name, format and value of every measurement; none without Gymnasium."""
    if find_spec('gymnasium') is None:
        return
    from marine_sim_ros.gym import gymnasium

    many = gymnasium.make_vec(TASK, num_envs=COUNT, vehicle='bluerov2_heavy')
    many.action_space.seed(0)
    many.reset(seed=0)
    actions = [many.action_space.sample() for _ in range(STEPS)]
    cost = least_cpu_seconds(lambda: [many.step(action) for action in actions]) / STEPS / COUNT
    many.close()
    yield f'each of {COUNT:,} station keepers: CPU µs of a step of ten ticks', '.2f', 1e6 * cost
