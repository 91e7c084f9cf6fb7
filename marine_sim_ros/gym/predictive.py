# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Predictive control of the tasks for learning, as a baseline: sampled plans in the compiled step.

Model predictive path integral control: plans are drawn about the last one, each is simulated, and
the next plan is their mean, weighted by e^(R/λ) with the sum R of their rewards. Source: Williams,
Aldrich & Theodorou (2017), Model predictive path integral control.
"""

from __future__ import annotations

import numpy as np

from marine_sim_ros.gym.episodes import Episodes
from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['PredictiveControl']


class PredictiveControl:
    """Actions for a vehicle of :class:`Episodes` by simulated plans.

    It knows the vehicle's model, state and episode with its current, which policies do not see:
    an upper bound for them rather than a competitor.
    """

    def __init__(
        self,
        task: str,
        vehicle: str | Vehicle,
        *,
        environment: str = '',
        plans: int = 128,
        horizon: int = 12,
        spread: float = 0.3,
        temperature: float = 0.1,
        seed: int = 0,
    ) -> None:
        """Compile the step of the plans.

        Args:
            plans: number of plans of a step.
            horizon: steps of a plan, 0.1 s each.
            spread: standard deviation of the actions of plans.
            temperature: λ over the standard deviation of R.
            seed: of the plans.

        Raises:
            MarineSimError: as :class:`Episodes`.
        """
        self._model = Episodes(task, vehicle, plans, environment=environment)
        self._spread, self._temperature = spread, temperature
        self._rng = np.random.default_rng(seed)
        self._plan = np.zeros((horizon, self._model.thrusters))

    def begin(self) -> None:
        """Forget the last plan, for a new episode."""
        self._plan = np.zeros_like(self._plan)

    def act(self, episodes: Episodes, row: int = 0) -> np.ndarray:
        """Return the action (n,) of a vehicle of episodes of the same task and vehicle."""
        self._model.copy_from(episodes, row)
        count = len(self._model.steps)
        noise = self._rng.standard_normal((count, *self._plan.shape))
        noise[0] = 0.0  # the last plan is one of them
        plans = np.clip(self._plan + self._spread * noise, -1.0, 1.0)
        total, alive = np.zeros(count), np.ones(count, bool)
        for step in range(len(self._plan)):
            result = self._model.step(plans[:, step])
            total += np.where(alive, result.reward, 0.0)
            alive &= ~result.terminated
        scale = max(self._temperature * float(total.std()), 1e-12)
        weights = np.exp((total - total.max()) / scale)
        self._plan = np.tensordot(weights / weights.sum(), plans, axes=1)
        action = self._plan[0].copy()
        self._plan = np.concatenate([self._plan[1:], self._plan[-1:]])
        return action
