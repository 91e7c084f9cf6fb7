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


def observation_and_action_space(episodes: Episodes) -> tuple[spaces.Box, spaces.Box]:
    """Observation space and action space of one vehicle."""
    limits = episodes.limits.astype(np.float32)
    return (
        spaces.Box(-limits, limits, dtype=np.float32),
        spaces.Box(-1.0, 1.0, (episodes.thrusters,), np.float32),
    )


class ManyVehicles(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
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
    ) -> tuple[np.ndarray, dict[str, Any]]:
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
        return self._episodes.observe(), {}

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
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
        return observation, reward, terminated, truncated, {}

    def _step_and_begin(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        last, reward, terminated, truncated = self._episodes.step(actions)
        ended = terminated | truncated
        if not ended.any():
            return last, reward, terminated, truncated, {}
        self._episodes.begin_some(ended, self._rngs)
        observation = last.copy()
        observation[ended] = self._episodes.observe(ended)
        info = {'final_obs': last, '_final_obs': ended}
        return observation, reward, terminated, truncated, info


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
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode; equal seeds give equal episodes."""
        super().reset(seed=seed)
        self._episodes.begin([self.np_random])
        return self._episodes.observe()[0], {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Apply an action (n,) for 0.1 s."""
        observation, reward, terminated, truncated = (
            x[0] for x in self._episodes.step(np.asarray(action)[None])
        )
        return (
            np.ascontiguousarray(observation),
            float(reward),
            bool(terminated),
            bool(truncated),
            {},
        )
