# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tasks: start of an episode, observations, rewards and end.

An action has a number from −1 to 1 for each thruster: 1500 + 400 a µs for a tenth of a second.
Each episode has a steady horizontal current of its own, up to 0.3 m/s, which is not observed.
Vectors are in the body frame (FLU). Functions of a step follow the array API and broadcast over
leading axes: they are compiled with the vehicle, and run with NumPy where an episode begins.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import rotation_matrix, to_body
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment

__all__ = [
    'Episode',
    'StationKeeping',
    'SurfaceStationKeeping',
    'TASKS',
    'Task',
    'WaypointFollowing',
    'next_goals',
]

MAX_CURRENT = 0.3
"""m/s, of the current."""
MAX_OBSERVED_SPEED, MAX_OBSERVED_RATE = 10.0, 20.0
"""m/s and rad/s that are observed at most."""
EFFORT_COST = 0.05
"""Reward that all thrusters at their limits cost per step."""


class Episode(NamedTuple):
    """State of an episode.

    Attributes:
        current: (..., 3) m/s, map.
        goals: (..., k, 3) places to be, one after the other, m, map.
        next: (...) which of them comes next.
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
    """A task."""

    limits: np.ndarray
    """(m,) of what is observed, either way; what is beyond is cut."""
    steps: int
    """After so many steps an episode is cut off."""
    afloat: bool
    """Whether a start is on the surface of the water: heights are above it."""

    def begin(self, rng: np.random.Generator) -> tuple[np.ndarray, float, Episode]:
        """Return position (3,), yaw and episode of a start."""

    def observe(self, state: State, episode: Episode) -> Array:
        """Return observations (..., m)."""

    def judge(
        self, before: State, after: State, actions: Array, episode: Episode
    ) -> StepJudgement:
        """Return observation, reward, end and episode after a step with actions (..., n)."""


def _current(rng: np.random.Generator) -> np.ndarray:
    speed, way = rng.uniform(0.0, MAX_CURRENT), rng.uniform(-np.pi, np.pi)
    return np.array([speed * np.cos(way), speed * np.sin(way), 0.0])


def next_goals(episode: Episode, later: int = 0) -> Array:
    """Return the goal (..., 3) that comes next, or so many later; the last one again after it."""
    xp = namespace(episode.goals)
    found, place = episode.goals[..., 0, :], (episode.next + later)[..., None]
    for i in range(1, episode.goals.shape[-2]):
        found = xp.where(place >= i, episode.goals[..., i, :], found)
    return found


def _effort(actions: Array) -> Array:
    xp = namespace(actions)
    return EFFORT_COST * xp.sum(actions * actions, axis=-1) / actions.shape[-1]


def _length(vector: Array) -> Array:
    xp = namespace(vector)
    return xp.sqrt(xp.sum(vector * vector, axis=-1))


def _ground(environment: Environment | None) -> float:
    scene = None if environment is None else environment.scene
    return -np.inf if scene is None else scene.ground(0.0, 0.0)


class StationKeeping:
    """Stay at (0, 0, −5) m in map, upright and heading east.

    Where the ground below is less than 8 m deep, the station is half-way down to it. An episode
    starts at rest within 1 m of the station on each axis, with any heading.

    Observation (15): vector to the station, m; the station's axes x and z, that is east and up;
    velocity, m/s and rad/s.
    Reward: exp(−|e|²) of the distance e in m, times (2 + cos φ) / 3 of the heading error φ and
    less the effort 0.05 mean(a²): about 1 for each step at the station.
    End: farther than 5 m from it. Cut off after 300 steps.
    """

    limits = np.repeat([6.0, 1.0, 1.0, MAX_OBSERVED_SPEED, MAX_OBSERVED_RATE], 3)
    steps = 300
    depth, room = 5.0, 3.0
    farthest = 5.0
    afloat = False

    def __init__(self, environment: Environment | None = None) -> None:
        """Place the station.

        Raises:
            ParameterError: the water is too shallow.
        """
        ground = _ground(environment)
        if ground > -3.0:
            raise ParameterError(
                f'StationKeeping: the ground is {-ground:.3g} m deep; expected 3 m of water'
            )
        depth = self.depth if -ground >= self.depth + self.room else -ground / 2
        self.station = np.array([0.0, 0.0, -depth])

    def begin(self, rng: np.random.Generator) -> tuple[np.ndarray, float, Episode]:
        """Return position (3,), yaw and episode of a start."""
        position = self.station + rng.uniform(-1.0, 1.0, 3)
        yaw = rng.uniform(-np.pi, np.pi)
        return position, yaw, Episode(_current(rng), self.station[None], np.zeros(()))

    def observe(self, state: State, episode: Episode) -> Array:
        """Return observations (..., 15)."""
        xp, rotation = namespace(state.position), rotation_matrix(state.orientation)
        away = to_body(state.orientation, next_goals(episode) - state.position)
        east, up = rotation[..., 0, :], rotation[..., 2, :]
        return xp.concat([away, east, up, state.velocity], axis=-1)

    def judge(
        self, before: State, after: State, actions: Array, episode: Episode
    ) -> StepJudgement:
        """Return observation, reward, end and episode after a step with actions (..., n)."""
        del before
        seen = self.observe(after, episode)
        xp = namespace(seen)
        distance, level = _length(seen[..., :3]), _length(seen[..., 3:5])
        ahead = seen[..., 3] / xp.maximum(level, 1e-9 + xp.zeros_like(level))
        reward = xp.exp(-distance * distance) * (2 + ahead) / 3 - _effort(actions)
        return StepJudgement(seen, reward, distance > self.farthest, episode)


class SurfaceStationKeeping:
    """Stay at (0, 0) in map, afloat, whatever the waves do to heave, roll and pitch.

    A boat with thrusters at the stern alone cannot go sideways, nor keep a place and a heading
    at once where a current comes from abeam: the heading is free, so that it can point into the
    current. An episode starts at rest on the surface within 3 m of the place, with any heading.

    Observation (15): vector to the place on the level of the origin, m; east and up; velocity, m/s
    and rad/s.
    Reward: exp(−|e/2|²) of the horizontal distance e in m, less the effort 0.05 mean(a²).
    End: farther than 15 m from it, or capsized (the z axis points down). Cut off after 600 steps.
    """

    limits = np.repeat([20.0, 1.0, 1.0, MAX_OBSERVED_SPEED, MAX_OBSERVED_RATE], 3)
    steps = 600
    near, farthest = 2.0, 15.0
    afloat = True

    def __init__(self, environment: Environment | None = None) -> None:
        """Float anywhere there is water.

        Raises:
            ParameterError: the water is too shallow.
        """
        if (ground := _ground(environment)) > -1.0:
            raise ParameterError(
                f'SurfaceStationKeeping: the ground is {-ground:.3g} m deep; expected 1 m of water'
            )

    def begin(self, rng: np.random.Generator) -> tuple[np.ndarray, float, Episode]:
        """Return position (3,), yaw and episode of a start."""
        position = np.append(rng.uniform(-3.0, 3.0, 2), 0.0)
        yaw = rng.uniform(-np.pi, np.pi)
        return position, yaw, Episode(_current(rng), np.zeros((1, 3)), np.zeros(()))

    def observe(self, state: State, episode: Episode) -> Array:
        """Return observations (..., 15)."""
        xp, rotation = namespace(state.position), rotation_matrix(state.orientation)
        away = (next_goals(episode) - state.position) * constant(xp, np.array([1.0, 1.0, 0.0]))
        parts = [to_body(state.orientation, away), rotation[..., 0, :], rotation[..., 2, :]]
        return xp.concat([*parts, state.velocity], axis=-1)

    def judge(
        self, before: State, after: State, actions: Array, episode: Episode
    ) -> StepJudgement:
        """Return observation, reward, end and episode after a step with actions (..., n)."""
        del before
        seen = self.observe(after, episode)
        distance = _length(seen[..., :3])
        reward = namespace(seen).exp(-((distance / self.near) ** 2)) - _effort(actions)
        ended = (distance > self.farthest) | (seen[..., 8] < 0.0)
        return StepJudgement(seen, reward, ended, episode)


class WaypointFollowing:
    """Pass five waypoints one after the other, each within 0.5 m.

    An episode starts at rest at (0, 0, −10) m, with any heading. Each waypoint is 2 to 5 m
    from the one before and within ±45° of the way so far, up to 1 m up or down.

    Observation (15): vector to the next waypoint and to the one after it (at the last, the last
    again), m; up; velocity, m/s and rad/s.
    Reward: metres by which the step came nearer to the waypoint, and 1 for passing it, less the
    effort 0.05 mean(a²).
    End: the last waypoint is passed, or the next one is farther than 10 m. Cut off after 600
    steps.
    """

    limits = np.repeat([12.0, 20.0, 1.0, MAX_OBSERVED_SPEED, MAX_OBSERVED_RATE], 3)
    steps = 600
    count = 5
    near = 0.5
    farthest = 10.0
    start = np.array([0.0, 0.0, -10.0])
    afloat = False

    def __init__(self, environment: Environment | None = None) -> None:
        """Start at 10 m.

        Raises:
            ParameterError: the waypoints could be in the ground.
        """
        if (ground := _ground(environment)) > -16.0:
            raise ParameterError(
                f'WaypointFollowing: the ground is {-ground:.3g} m deep; expected 16 m of water'
            )

    def begin(self, rng: np.random.Generator) -> tuple[np.ndarray, float, Episode]:
        """Return position (3,), yaw and episode of a start."""
        yaw = rng.uniform(-np.pi, np.pi)
        way = rng.uniform(-np.pi, np.pi) + np.cumsum(
            rng.uniform(-np.pi / 4, np.pi / 4, self.count)
        )
        legs = rng.uniform(2.0, 5.0, self.count)
        steps = np.stack(
            [legs * np.cos(way), legs * np.sin(way), rng.uniform(-1.0, 1.0, self.count)], axis=1
        )
        goals = self.start + np.cumsum(steps, axis=0)
        return self.start, yaw, Episode(_current(rng), goals, np.zeros(()))

    def observe(self, state: State, episode: Episode) -> Array:
        """Return observations (..., 15)."""
        xp = namespace(state.position)
        ways = [next_goals(episode, later) - state.position for later in (0, 1)]
        away = [to_body(state.orientation, way) for way in ways]
        up = rotation_matrix(state.orientation)[..., 2, :]
        return xp.concat([*away, up, state.velocity], axis=-1)

    def judge(
        self, before: State, after: State, actions: Array, episode: Episode
    ) -> StepJudgement:
        """Return observation, reward, end and episode after a step with actions (..., n)."""
        goal = next_goals(episode)
        xp = namespace(goal)
        distance = _length(goal - after.position)
        passed = xp.where(distance < self.near, xp.ones_like(distance), xp.zeros_like(distance))
        nearer = _length(goal - before.position) - distance
        following = episode.next + passed
        done = following >= self.count
        following = xp.minimum(following, (self.count - 1) * xp.ones_like(following))
        then = episode._replace(next=following)
        return StepJudgement(
            self.observe(after, then),
            nearer + passed - _effort(actions),
            done | (distance > self.farthest),
            then,
        )


TASKS: dict[str, Any] = {
    'StationKeeping': StationKeeping,
    'SurfaceStationKeeping': SurfaceStationKeeping,
    'WaypointFollowing': WaypointFollowing,
}
"""Name of a task -> what makes it for an environment, a :class:`Task`."""
