# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One vehicle as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np

from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.gym.fleet import Fleet
from marine_sim_ros.gym.vector import spaces_of
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sensors import Readings

__all__ = ['OneVehicle']


class OneVehicle(gymnasium.Env[np.ndarray, np.ndarray]):
    """A vehicle with a task of :mod:`marine_sim_ros.gym.tasks`."""

    metadata: ClassVar[dict[str, Any]] = {'render_modes': []}

    def __init__(
        self,
        *,
        task: str,
        vehicle: str | Vehicle = 'bluerov2_heavy',
        observe: str = 'state',
        environment: str | Environment = '',
        render_mode: None = None,
    ) -> None:
        """Compile; nothing is rendered. ``observe`` is ``state`` or ``sensors``.

        Raises:
            MarineSimError: no such task, vehicle or environment, or one that is more than a few
                numbers.
        """
        self.render_mode = render_mode
        self._fleet = Fleet(task, vehicle, 1, observe, environment)
        self.observation_space, self.action_space = spaces_of(self._fleet)

    @property
    def readings(self) -> Mapping[str, Readings]:
        """Each sensor's newest reading by quantity (1, ...); nothing with ``observe='state'``."""
        return self._fleet.readings

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode; with a seed it is always the same."""
        super().reset(seed=seed)
        self._fleet.begin([self.np_random])
        return self._fleet.observed()[0], {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Do an action (n,) for a tenth of a second."""
        judged, cut = self._fleet.step(np.asarray(action)[None])
        seen = judged.observation[0]
        return seen, float(judged.reward[0]), bool(judged.terminated[0]), bool(cut[0]), {}
