# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What is to be done: how an episode starts, what is seen, what is good, and when it ends.

An action has a number from −1 to 1 for each thruster: 1500 + 400 a µs for a tenth of a second.
Each episode has a steady horizontal current of its own, up to 0.3 m/s, which is not observed.
Vectors are in the body frame (FLU). Functions take and return N vehicles at once.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.engine.stepper import Bodies

__all__ = [
    'TASKS',
    'Episode',
    'Judged',
    'StationKeeping',
    'Task',
    'WaypointFollowing',
    'next_goals',
]

FASTEST = 0.3
"""m/s, of the current."""
FASTEST_MOVE, FASTEST_TURN = 10.0, 20.0
"""m/s and rad/s that are observed at most."""
EFFORT = 0.05
"""Reward that all thrusters at their limits cost per step."""


class Episode(NamedTuple):
    """What an episode of each of N vehicles has.

    Attributes:
        current: (N, 3) m/s, map.
        goals: (N, k, 3) places to be, one after the other, m, map.
        next: (N,) which of them comes next.
    """

    current: np.ndarray
    goals: np.ndarray
    next: np.ndarray


class Judged(NamedTuple):
    """What comes of a step: observation (N, m), reward (N,), end (N,), and the episode then."""

    observation: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    episode: Episode


class Task(Protocol):
    """A task."""

    limits: np.ndarray
    """(m,) of what is observed, either way; what is beyond is cut."""
    steps: int
    """After so many steps an episode is cut off."""

    def begin(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, Episode]:
        """Return position (3,), yaw () and episode, without the axis of vehicles, of a start."""

    def observe(self, bodies: Bodies, episode: Episode) -> np.ndarray:
        """Return observations (N, m)."""

    def judge(
        self, before: Bodies, after: Bodies, actions: np.ndarray, episode: Episode
    ) -> Judged:
        """Return what comes of a step with actions (N, n)."""


def _current(rng: np.random.Generator) -> np.ndarray:
    speed, way = rng.uniform(0.0, FASTEST), rng.uniform(-np.pi, np.pi)
    return np.array([speed * np.cos(way), speed * np.sin(way), 0.0])


def _seen_from(bodies: Bodies, points: np.ndarray) -> np.ndarray:
    """Return vectors (N, 3) from vehicles to points (N, 3) in map, in the body frame."""
    away = points - bodies.position
    return np.asarray((away[:, None, :] @ rotation_matrix(bodies.orientation))[:, 0])


def next_goals(episode: Episode, later: int = 0) -> np.ndarray:
    """Return the goal (N, 3) that comes next, or so many later; the last one again after it."""
    place = np.minimum(episode.next + later, episode.goals.shape[1] - 1)
    return episode.goals[np.arange(len(place)), place]


def _effort(actions: np.ndarray) -> np.ndarray:
    return EFFORT * np.mean(np.square(actions), axis=1)


class StationKeeping:
    """Stay at (0, 0, −5) m in map, upright and heading east.

    An episode starts at rest within 1 m of it on each axis, with any heading.

    Observation (15): vector to the station, m; the station's axes x and z, that is east and up;
    velocity, m/s and rad/s.
    Reward: exp(−|e|²) of the distance e in m, times (2 + cos φ) / 3 of the heading error φ and
    less the effort 0.05 mean(a²): about 1 for each step at the station.
    End: farther than 5 m from it. Cut off after 300 steps.
    """

    limits = np.repeat([6.0, 1.0, 1.0, FASTEST_MOVE, FASTEST_TURN], 3)
    steps = 300
    station = np.array([0.0, 0.0, -5.0])
    farthest = 5.0

    def begin(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, Episode]:
        """Return position (3,), yaw () and episode, without the axis of vehicles, of a start."""
        position = self.station + rng.uniform(-1.0, 1.0, 3)
        yaw = np.asarray(rng.uniform(-np.pi, np.pi))
        return position, yaw, Episode(_current(rng), self.station[None], np.asarray(0))

    def observe(self, bodies: Bodies, episode: Episode) -> np.ndarray:
        """Return observations (N, 15)."""
        rotation = rotation_matrix(bodies.orientation)
        return np.concatenate(
            [
                _seen_from(bodies, next_goals(episode)),
                rotation[:, 0],
                rotation[:, 2],
                bodies.velocity,
            ],
            axis=1,
        )

    def judge(
        self, before: Bodies, after: Bodies, actions: np.ndarray, episode: Episode
    ) -> Judged:
        """Return what comes of a step with actions (N, n)."""
        del before
        seen = self.observe(after, episode)
        distance = np.linalg.norm(seen[:, :3], axis=1)
        ahead = seen[:, 3] / np.maximum(np.hypot(seen[:, 3], seen[:, 4]), 1e-9)
        reward = np.exp(-np.square(distance)) * (2 + ahead) / 3 - _effort(actions)
        return Judged(seen, reward, distance > self.farthest, episode)


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

    limits = np.repeat([12.0, 20.0, 1.0, FASTEST_MOVE, FASTEST_TURN], 3)
    steps = 600
    count = 5
    near = 0.5
    farthest = 10.0
    start = np.array([0.0, 0.0, -10.0])

    def begin(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, Episode]:
        """Return position (3,), yaw () and episode, without the axis of vehicles, of a start."""
        yaw = rng.uniform(-np.pi, np.pi)
        way = rng.uniform(-np.pi, np.pi) + np.cumsum(
            rng.uniform(-np.pi / 4, np.pi / 4, self.count)
        )
        legs = rng.uniform(2.0, 5.0, self.count)
        steps = np.stack(
            [legs * np.cos(way), legs * np.sin(way), rng.uniform(-1.0, 1.0, self.count)], axis=1
        )
        goals = self.start + np.cumsum(steps, axis=0)
        return self.start, np.asarray(yaw), Episode(_current(rng), goals, np.asarray(0))

    def observe(self, bodies: Bodies, episode: Episode) -> np.ndarray:
        """Return observations (N, 15)."""
        return np.concatenate(
            [
                _seen_from(bodies, next_goals(episode)),
                _seen_from(bodies, next_goals(episode, 1)),
                rotation_matrix(bodies.orientation)[:, 2],
                bodies.velocity,
            ],
            axis=1,
        )

    def judge(
        self, before: Bodies, after: Bodies, actions: np.ndarray, episode: Episode
    ) -> Judged:
        """Return what comes of a step with actions (N, n)."""
        goal = next_goals(episode)
        distance = np.linalg.norm(goal - after.position, axis=1)
        passed = distance < self.near
        nearer = np.linalg.norm(goal - before.position, axis=1) - distance
        following = episode._replace(next=episode.next + passed)
        done = following.next >= self.count
        following = following._replace(next=np.minimum(following.next, self.count - 1))
        return Judged(
            self.observe(after, following),
            nearer + passed - _effort(actions),
            done | (distance > self.farthest),
            following,
        )


TASKS: dict[str, Task] = {
    'StationKeeping': StationKeeping(),
    'WaypointFollowing': WaypointFollowing(),
}
