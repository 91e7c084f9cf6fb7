# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The vector environment as Stable-Baselines3 and SBX, its learners in JAX, take one.

It needs the package stable-baselines3, which no extra installs: it brings PyTorch.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

import marine_sim_ros.gym  # noqa: F401, which registers the environments
from marine_sim_ros.control.policy import Policy
from marine_sim_ros.core.extras import require

require('stable_baselines3', 'marine_sim_ros.gym.stable_baselines')

from stable_baselines3.common.vec_env import VecEnv  # noqa: E402

__all__ = ['VehiclePool', 'policy_of']


class VehiclePool(VecEnv):
    """N vehicles of a registered task."""

    def __init__(
        self, task: str = 'StationKeeping', num_envs: int = 64, *, seed: int = 0, **options: Any
    ) -> None:
        """Compile.

        Args:
            task: name in :data:`~marine_sim_ros.gym.tasks.TASKS`.
            num_envs: N.
            seed: seed of the first reset; vehicle i has seed + i.
            options: arguments of :class:`~marine_sim_ros.gym.environments.ManyVehicles`.

        Raises:
            MarineSimError: as ``ManyVehicles``.
        """
        self.pool = gymnasium.make_vec(
            f'marine_sim_ros/{task}-v0', num_envs, autoreset_mode='SameStep', **options
        )
        self._seed: int | None = seed
        self._actions = np.zeros(self.pool.action_space.shape)
        super().__init__(
            num_envs, self.pool.single_observation_space, self.pool.single_action_space
        )

    def reset(self) -> Any:
        """Start all episodes; with the seed the first time."""
        observation, _ = self.pool.reset(seed=self._seed)
        self._seed = None
        return observation

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Set the seed of the next reset; None: it stays."""
        self._seed = self._seed if seed is None else seed
        return [None if seed is None else seed + i for i in range(self.num_envs)]

    def step_async(self, actions: np.ndarray) -> None:
        """Take the actions (N, n)."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Return observations, rewards, ends and infos after the actions."""
        observation, reward, terminated, truncated, info = self.pool.step(self._actions)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(terminated | truncated):
            infos[i] = {
                'terminal_observation': _row(info['final_obs'], i),
                'TimeLimit.truncated': bool(truncated[i] and not terminated[i]),
            }
        return observation, reward.astype(np.float32), terminated | truncated, infos

    def close(self) -> None:
        """Release nothing: nothing is open."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the pool, the same for each vehicle."""
        value = getattr(self.pool, attr_name, None)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuse: vehicles have no attributes of their own."""
        raise NotImplementedError(attr_name)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **more: Any) -> Any:
        """Refuse: the vehicles are not objects of their own."""
        raise NotImplementedError(method_name)

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return that no vehicle is wrapped."""
        return [False for _ in self._get_indices(indices)]


def _row(observation: Any, i: Any) -> Any:
    """Return the observation of a vehicle, of an array or of a dict of arrays."""
    if isinstance(observation, dict):
        return {name: part[i] for name, part in observation.items()}
    return observation[i]


def policy_of(agent: Any, vehicle: str) -> Policy:
    """Return the network of a PPO or A2C agent with the policy ``MlpPolicy``, without its noise.

    Args:
        agent: an agent of Stable-Baselines3.
        vehicle: name of the vehicle that it was trained with.
    """
    hidden = [layer for layer in agent.policy.mlp_extractor.policy_net if hasattr(layer, 'weight')]
    layers = [*hidden, agent.policy.action_net]
    return Policy(
        vehicle,
        tuple(layer.weight.detach().numpy().astype(float) for layer in layers),
        tuple(layer.bias.detach().numpy().astype(float) for layer in layers),
    )
