# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gymnasium environments of one vehicle and of a vector of vehicles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.gym.episodes import Episodes
from marine_sim_ros.gym.randomization import RandomPlan
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.sensors import Readings

__all__ = ['ManyVehicles', 'OneVehicle']


# Gymnasium vector environment of many vehicles in one compiled call.


Observation = np.ndarray | dict[str, np.ndarray]
"""Numbers (N, m); or ``numbers`` (N, k) and pictures (N, ...) by the name of their sensor."""


def observation_and_action_space(
    episodes: Episodes,
) -> tuple[spaces.Box | spaces.Dict, spaces.Box]:
    """Observation space and action space of one vehicle."""
    limits = episodes.limits.astype(np.float32)
    actions = spaces.Box(-1.0, 1.0, (episodes.thrusters,), np.float32)
    if not episodes.pictures:
        return spaces.Box(-limits, limits, dtype=np.float32), actions
    limits = _numbers(episodes, limits[None])[0]
    parts: dict[str, spaces.Space[Any]] = {
        name: spaces.Box(0, 255, shape, np.uint8) for name, (_, shape) in episodes.pictures.items()
    }
    numbers = spaces.Box(-limits, limits, dtype=np.float32)
    return spaces.Dict({'numbers': numbers, **parts}), actions


def _numbers(episodes: Episodes, observation: np.ndarray) -> np.ndarray:
    """Columns (N, k) that are no pictures."""
    kept = np.ones(observation.shape[1], bool)
    for columns, _ in episodes.pictures.values():
        kept[columns] = False
    return observation[:, kept]


def _arrange(episodes: Episodes, observation: np.ndarray) -> Observation:
    """Observation with its pictures apart, where the episodes have them so."""
    if not episodes.pictures:
        return observation
    parts = {
        name: observation[:, columns].reshape(-1, *shape).astype(np.uint8)
        for name, (columns, shape) in episodes.pictures.items()
    }
    return {'numbers': _numbers(episodes, observation), **parts}


class ManyVehicles(VectorEnv[Observation, np.ndarray, np.ndarray]):
    """N vehicles, each with an episode of its own.

    Vehicle i of a vector that was reset with a seed s does what a single environment does that was
    reset with s + i. An ended episode restarts in the step after it, whatever the action
    (``AutoresetMode.NEXT_STEP``), or in the same step (``SAME_STEP``), which then returns
    the first observation of the new episode and has the last one of the old in
    ``info['final_obs']``.
    """

    metadata: dict[str, Any] = {'render_modes': []}  # noqa: RUF012, as Gymnasium has it

    def __init__(
        self,
        num_envs: int = 1,
        *,
        task: str,
        vehicle: str | Vehicle = 'bluerov2_heavy',
        observe: str = 'state',
        environment: str | Environment = '',
        contact: bool = True,
        randomization: str | RandomPlan = '',
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: None = None,
    ) -> None:
        """Compile; nothing is rendered.

        The arguments are those of :class:`~marine_sim_ros.gym.episodes.Episodes`, and when an
        ended episode restarts.

        Raises:
            MarineSimError: no such task, vehicle or environment, or a task that is not possible
                in the environment.
        """
        if num_envs < 1:
            raise ParameterError(f'num_envs is {num_envs}; expected at least 1')
        self.metadata = {**self.metadata, 'autoreset_mode': _autoreset_mode(autoreset_mode)}
        self.num_envs, self.render_mode = num_envs, render_mode
        self._episodes = Episodes(
            task, vehicle, num_envs, observe, environment, contact, randomization
        )
        self.single_observation_space, self.single_action_space = observation_and_action_space(
            self._episodes
        )
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._rngs = [np_random(None)[0] for _ in range(num_envs)]
        self._ended = np.zeros(num_envs, bool)

    @property
    def readings(self) -> Mapping[str, Readings]:
        """Each sensor's newest reading by quantity (N, ...); nothing with ``observe='state'``."""
        return self._episodes.readings

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, dict[str, Any]]:
        """Start all episodes; seed s gives vehicle i the seed s + i, a sequence one for each."""
        if isinstance(seed, int | np.integer):
            seed = [int(seed) + i for i in range(self.num_envs)]
        if seed is not None:
            self._rngs = [
                rng if one is None else np_random(one)[0]
                for rng, one in zip(self._rngs, seed, strict=True)
            ]
        self._episodes.begin(self._rngs)
        self._ended = np.zeros(self.num_envs, bool)
        return _arrange(self._episodes, self._episodes.observe()), {}

    def step(
        self, actions: np.ndarray
    ) -> tuple[Observation, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Apply actions (N, n) for 0.1 s."""
        if self.metadata['autoreset_mode'] is AutoresetMode.SAME_STEP:
            return self._step_and_begin(actions)
        restarting = self._ended
        observation, reward, terminated, truncated = self._episodes.step(actions)
        if restarting.any():
            self._episodes.begin_some(restarting, self._rngs)
            observation[restarting] = self._episodes.observe(restarting)
            reward[restarting] = 0.0
            terminated[restarting] = truncated[restarting] = False
        self._ended = terminated | truncated
        return _arrange(self._episodes, observation), reward, terminated, truncated, {}

    def _step_and_begin(
        self, actions: np.ndarray
    ) -> tuple[Observation, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        last, reward, terminated, truncated = self._episodes.step(actions)
        ended = terminated | truncated
        if not ended.any():
            return _arrange(self._episodes, last), reward, terminated, truncated, {}
        self._episodes.begin_some(ended, self._rngs)
        observation = last.copy()
        observation[ended] = self._episodes.observe(ended)
        info = {'final_obs': _arrange(self._episodes, last), '_final_obs': ended}
        return _arrange(self._episodes, observation), reward, terminated, truncated, info


def _autoreset_mode(name: str | AutoresetMode) -> AutoresetMode:
    modes = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)
    try:
        mode = AutoresetMode(name)
    except ValueError:
        mode = None
    if mode not in modes:
        expected = ' or '.join(m.value for m in modes)
        raise ParameterError(f'autoreset_mode is {name!r}; expected {expected}')
    return mode


# One vehicle as a Gymnasium environment.


class OneVehicle(gymnasium.Env[Observation, np.ndarray]):
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
        randomization: str | RandomPlan = '',
        render_mode: None = None,
    ) -> None:
        """Compile; nothing is rendered.

        The arguments are those of :class:`~marine_sim_ros.gym.episodes.Episodes`.

        Raises:
            MarineSimError: no such task, vehicle or environment, or a task that is not possible
                in the environment.
        """
        self.render_mode = render_mode
        self._episodes = Episodes(task, vehicle, 1, observe, environment, contact, randomization)
        self.observation_space, self.action_space = observation_and_action_space(self._episodes)

    @property
    def readings(self) -> Mapping[str, Readings]:
        """Each sensor's newest reading by quantity (1, ...); nothing with ``observe='state'``."""
        return self._episodes.readings

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode; equal seeds give equal episodes."""
        super().reset(seed=seed)
        self._episodes.begin([self.np_random])
        return self._row(self._episodes.observe()), {}

    def _row(self, observation: np.ndarray) -> Observation:
        """Observation of the one vehicle."""
        arranged = _arrange(self._episodes, observation)
        if isinstance(arranged, dict):
            return {name: part[0] for name, part in arranged.items()}
        return np.ascontiguousarray(arranged[0])

    def step(self, action: np.ndarray) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Apply an action (n,) for 0.1 s."""
        result = self._episodes.step(np.asarray(action)[None])
        return (
            self._row(result.observation),
            float(result.reward[0]),
            bool(result.terminated[0]),
            bool(result.truncated[0]),
            {},
        )
