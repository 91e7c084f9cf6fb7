# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fleets: several vehicles with a task each in one water, by the parallel API of PettingZoo.

It needs the package pettingzoo, which no extra installs. Vehicles may be of different kinds. They
have the same current, do not touch and leave no wake; those that come too close end their episode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.utils.seeding import np_random

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import to_body
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.gym.environments import observation_and_action_space
from marine_sim_ros.gym.episodes import Episodes
from marine_sim_ros.gym.randomization import RandomPlan
from marine_sim_ros.gym.task_model import draw_current
from marine_sim_ros.model.vehicle import Vehicle

require('pettingzoo', 'marine_sim_ros.gym.fleets')

from pettingzoo import ParallelEnv  # noqa: E402

__all__ = ['FleetEnv']

FLEET_TASKS = ('StationKeeping', 'WaypointFollowing', 'Docking', 'PipeFollowing')
"""Tasks whose goals can be moved."""
SIGHT = 50.0
"""Observed distances of others are clipped to this, m."""
COLLISION = -5.0
"""Reward of coming too close."""


class FleetEnv(ParallelEnv):
    """Vehicles ``vehicle_0``, ``vehicle_1``, …, their tasks side by side.

    Observation: that of the task, and of each other vehicle, in their order, the vector to it in
    the body frame, m; (0, 0, 0) once its episode has ended.
    """

    metadata = {'name': 'marine_sim_ros_fleet', 'render_modes': []}  # noqa: RUF012, as PettingZoo

    def __init__(
        self,
        vehicles: Sequence[str | Vehicle] = ('bluerov2', 'bluerov2_heavy'),
        *,
        task: str = 'StationKeeping',
        spacing: float = 3.0,
        clearance: float = 0.8,
        environment: str | Environment = '',
        randomization: str | RandomPlan = '',
    ) -> None:
        """Compile a program for each kind of vehicle.

        Args:
            vehicles: shipped names, paths or vehicles; equal ones share a program.
            task: one of ``FLEET_TASKS``, the same for all.
            spacing: distance of neighbouring tasks, north of each other, m.
            clearance: distance below which both vehicles end, m.
            environment: as of :class:`~marine_sim_ros.gym.episodes.Episodes`.
            randomization: likewise.

        Raises:
            MarineSimError: as ``Episodes``, or fewer than two vehicles.
        """
        if len(vehicles) < 2:
            raise ParameterError(f'fleet: {len(vehicles)} vehicles; expected at least 2')
        if task not in FLEET_TASKS:
            raise ParameterError(
                f'fleet: task is {task!r}; expected one of: {", ".join(FLEET_TASKS)}'
            )
        self.possible_agents = [f'vehicle_{i}' for i in range(len(vehicles))]
        self.agents: list[str] = []
        self.render_mode = None
        self._clearance = clearance
        self._stations = spacing * np.outer(np.arange(len(vehicles)), [0.0, 1.0, 0.0])
        kinds = list(dict.fromkeys(vehicles))
        self._rows = [np.flatnonzero([v is k or v == k for v in vehicles]) for k in kinds]
        self._groups = [
            Episodes(task, kind, len(rows), environment=environment, randomization=randomization)
            for kind, rows in zip(kinds, self._rows, strict=True)
        ]
        self._spaces: dict[str, tuple[spaces.Box, spaces.Box]] = {}
        for group, rows in zip(self._groups, self._rows, strict=True):
            own, action = observation_and_action_space(group)
            high = np.append(own.high, np.full(3 * (len(vehicles) - 1), SIGHT, np.float32))
            for i in rows:
                seen = spaces.Box(-high, high, dtype=np.float32)
                act = spaces.Box(action.low, action.high, dtype=np.float32)
                self._spaces[self.possible_agents[i]] = seen, act
        self._rng = np_random(None)[0]

    def observation_space(self, agent: str) -> spaces.Box:
        """Return the observation space of an agent."""
        return self._spaces[agent][0]

    def action_space(self, agent: str) -> spaces.Box:
        """Return the action space of an agent, (n,) from −1 to 1."""
        return self._spaces[agent][1]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, dict[str, Any]]]:
        """Start the episodes of all; equal seeds give equal episodes."""
        if seed is not None:
            self._rng = np_random(seed)[0]
        current = draw_current(self._rng)
        seeds = self._rng.integers(2**63, size=len(self.possible_agents))
        for group, rows in zip(self._groups, self._rows, strict=True):
            rngs = [np.random.default_rng(int(seeds[i])) for i in rows]
            group.begin(rngs, self._stations[rows], current)
        self.agents = list(self.possible_agents)
        own = self._by_row([group.observe() for group in self._groups])
        return self._observations(own), {agent: {} for agent in self.agents}

    def step(
        self, actions: dict[str, np.ndarray]
    ) -> tuple[
        dict[str, np.ndarray],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Apply the actions of the agents that are left for 0.1 s."""
        results = []
        for group, rows in zip(self._groups, self._rows, strict=True):
            none = np.zeros(group.thrusters)
            names = [self.possible_agents[i] for i in rows]
            results.append(group.step(np.stack([actions.get(name, none) for name in names])))
        own, reward, terminated, truncated = (
            self._by_row([result[i] for result in results]) for i in range(4)
        )
        close = self._too_close()
        observations = self._observations(own)
        left = {agent: self.possible_agents.index(agent) for agent in self.agents}
        ended = {agent: bool(terminated[i] or close[i]) for agent, i in left.items()}
        cut = {agent: bool(truncated[i]) for agent, i in left.items()}
        rewards = {a: float(reward[i]) + COLLISION * bool(close[i]) for a, i in left.items()}
        infos: dict[str, dict[str, Any]] = {
            agent: {'too_close': bool(close[i])} for agent, i in left.items()
        }
        self.agents = [agent for agent in self.agents if not (ended[agent] or cut[agent])]
        return observations, rewards, ended, cut, infos

    def _by_row(self, values: Sequence[np.ndarray]) -> list[Any]:
        """Return values of groups in the order of the vehicles."""
        result: list[Any] = [None] * len(self.possible_agents)
        for rows, group_values in zip(self._rows, values, strict=True):
            for i, value in zip(rows, group_values, strict=True):
                result[i] = value
        return result

    def _states(self) -> State:
        """States (N, ...) of all vehicles."""
        parts = [self._by_row(list(x)) for x in zip(*(g.state for g in self._groups), strict=True)]
        return State(*map(np.stack, parts))

    def _active(self) -> np.ndarray:
        return np.array([agent in self.agents for agent in self.possible_agents])

    def _too_close(self) -> np.ndarray:
        """Return which (N,) vehicles are closer than the clearance to another that is left."""
        position, active = self._states().position, self._active()
        distance = np.linalg.norm(position[:, None] - position[None], axis=-1)
        near = (distance < self._clearance) & active[:, None] & active[None]
        np.fill_diagonal(near, False)
        return np.asarray(near.any(axis=1))

    def _observations(self, own: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        states, active = self._states(), self._active()
        result = {}
        for agent in self.agents:
            i = self.possible_agents.index(agent)
            offsets = np.delete(states.position - states.position[i], i, axis=0)
            offsets = to_body(states.orientation[i], offsets) * np.delete(active, i)[:, None]
            others = np.clip(offsets, -SIGHT, SIGHT).reshape(-1).astype(np.float32)
            result[agent] = np.concatenate([own[i], others])
        return result
