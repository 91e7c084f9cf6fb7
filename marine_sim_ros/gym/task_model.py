# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Task model: start of an episode, observations, rewards and end, and what tasks share.

An action has a number from −1 to 1 for each thruster: 1500 + 400 a µs for a tenth of a second.
Each episode has a steady horizontal current of its own, up to 0.3 m/s, which is not observed.
Vectors are in the body frame (FLU). Functions of a step follow the array API and broadcast over
leading axes: they are compiled with the vehicle, and run with NumPy where an episode begins.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from marine_sim_ros.core.arrays import Array, namespace
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment

__all__ = [
    'Episode',
    'MAX_CURRENT',
    'MAX_OBSERVED_RATE',
    'MAX_OBSERVED_SPEED',
    'StepJudgement',
    'Task',
    'draw_current',
    'effort',
    'ground_height',
    'length',
    'next_goals',
]

MAX_CURRENT = 0.3
"""Largest speed of an episode's current, m/s."""
MAX_OBSERVED_SPEED, MAX_OBSERVED_RATE = 10.0, 20.0
"""Observed speeds are clipped to these, m/s and rad/s."""
EFFORT_COST = 0.05
"""Cost per step of all thrusters at full effort."""


class Episode(NamedTuple):
    """State of an episode.

    Attributes:
        current: (..., 3) m/s, map.
        goals: (..., k, 3) positions to pass in this order, m, map.
        next: (...) index of the next goal.
    """

    current: Array
    goals: Array
    next: Array


class StepJudgement(NamedTuple):
    """Result of a step: observation (..., m), reward, end (...), and the episode after it."""

    observation: Array
    reward: Array
    terminated: Array
    episode: Episode


class Task(Protocol):
    """Start, observation, reward and end of an episode."""

    limits: np.ndarray
    """(m,) largest magnitude of each observed number; observations are clipped to it."""
    steps: int
    """Steps after which an episode is truncated."""
    afloat: bool
    """Whether an episode starts at the water's surface, with heights relative to it."""

    def begin(self, rng: np.random.Generator) -> tuple[np.ndarray, float, Episode]:
        """Draw position (3,), yaw and episode of a start."""

    def observe(self, state: State, episode: Episode) -> Array:
        """Observations (..., m)."""

    def judge(
        self, before: State, after: State, actions: Array, episode: Episode
    ) -> StepJudgement:
        """Judge a step with actions (..., n)."""


def draw_current(rng: np.random.Generator) -> np.ndarray:
    """Draw a horizontal current (3,), m/s, map."""
    speed, direction = rng.uniform(0.0, MAX_CURRENT), rng.uniform(-np.pi, np.pi)
    return np.array([speed * np.cos(direction), speed * np.sin(direction), 0.0])


def next_goals(episode: Episode, later: int = 0) -> Array:
    """Goal (..., 3) that is next, or the one ``later`` goals after it; the last where none is."""
    xp = namespace(episode.goals)
    goal, index = episode.goals[..., 0, :], (episode.next + later)[..., None]
    for i in range(1, episode.goals.shape[-2]):
        goal = xp.where(index >= i, episode.goals[..., i, :], goal)
    return goal


def effort(actions: Array) -> Array:
    """Cost (...) of actions (..., n)."""
    xp = namespace(actions)
    return EFFORT_COST * xp.sum(actions * actions, axis=-1) / actions.shape[-1]


def length(vector: Array) -> Array:
    """Length (...) of vectors (..., 3)."""
    xp = namespace(vector)
    return xp.sqrt(xp.sum(vector * vector, axis=-1))


def ground_height(environment: Environment | None) -> float:
    """Height of the ground at the origin, m; −∞ without one."""
    scene = None if environment is None else environment.scene
    return -np.inf if scene is None else scene.ground(0.0, 0.0)
