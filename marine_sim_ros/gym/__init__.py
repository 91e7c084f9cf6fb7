# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gymnasium environments over the compiled engine: stations, waypoints, docks, pipes, piles.

Importing this package registers ``marine_sim_ros/StationKeeping-v0`` and the other tasks of
:data:`~marine_sim_ros.gym.tasks.TASKS`, for ``gymnasium.make`` and ``gymnasium.make_vec``. It
needs the extra ``rl`` (Gymnasium and JAX). Observations, actions and rewards are described in
:mod:`marine_sim_ros.gym.tasks` and :mod:`marine_sim_ros.gym.work_tasks`.
"""

from __future__ import annotations

from marine_sim_ros.core.extras import require

gymnasium = require('gymnasium', 'marine_sim_ros.gym')

from marine_sim_ros.gym.tasks import TASKS  # noqa: E402

__all__ = ['GYM_ENVIRONMENTS', 'register']

GYM_ENVIRONMENTS = {f'marine_sim_ros/{name}-v0': name for name in TASKS}
"""Name that Gymnasium knows -> task."""


def register() -> None:
    """Register the environments with Gymnasium, but for those that are registered already."""
    for identifier, task in GYM_ENVIRONMENTS.items():
        if identifier not in gymnasium.registry:
            gymnasium.register(
                id=identifier,
                entry_point='marine_sim_ros.gym.environments:OneVehicle',
                vector_entry_point='marine_sim_ros.gym.environments:ManyVehicles',
                kwargs={'task': task},
            )


register()
