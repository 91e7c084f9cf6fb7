# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""One vehicle as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np

from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.gym.episodes import Episodes
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
        contact: bool = True,
        render_mode: None = None,
    ) -> None:
        """Compile; nothing is rendered.

        The arguments are those of :class:`~marine_sim_ros.gym.episodes.Episodes`.

        Raises:
            MarineSimError: no such task, vehicle or environment, or a task that is not possible
                in the environment.
        """
        self.render_mode = render_mode
        self._episodes = Episodes(task, vehicle, 1, observe, environment, contact)
        self.observation_space, self.action_space = spaces_of(self._episodes)

    @property
    def readings(self) -> Mapping[str, Readings]:
        """Each sensor's newest reading by quantity (1, ...); nothing with ``observe='state'``."""
        return self._episodes.readings

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode; with a seed it is always the same."""
        super().reset(seed=seed)
        self._episodes.begin([self.np_random])
        return self._episodes.observed()[0], {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Do an action (n,) for a tenth of a second."""
        seen, reward, ended, cut = (x[0] for x in self._episodes.step(np.asarray(action)[None]))
        return np.ascontiguousarray(seen), float(reward), bool(ended), bool(cut), {}
