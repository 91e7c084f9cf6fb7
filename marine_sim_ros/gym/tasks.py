# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tasks: keep a station below the surface or afloat, follow waypoints; all tasks by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import rotation_matrix, to_body
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.gym.task_model import (
    MAX_OBSERVED_RATE,
    MAX_OBSERVED_SPEED,
    Episode,
    StepJudgement,
    draw_current,
    effort,
    ground_height,
    length,
    next_goals,
)
from marine_sim_ros.gym.work_tasks import Docking, Inspection, PipeFollowing

__all__ = ['StationKeeping', 'SurfaceStationKeeping', 'TASKS', 'WaypointFollowing']


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
    depth, clearance = 5.0, 3.0
    max_distance = 5.0
    afloat = False

    def __init__(self, environment: Environment | None = None) -> None:
        """Place the station.

        Raises:
            ParameterError: the water is too shallow.
        """
        ground = ground_height(environment)
        if ground > -3.0:
            raise ParameterError(
                f'StationKeeping: the ground is {-ground:.3g} m deep; expected 3 m of water'
            )
        depth = self.depth if -ground >= self.depth + self.clearance else -ground / 2
        self.station = np.array([0.0, 0.0, -depth])

    def begin(self, rng: np.random.Generator) -> tuple[np.ndarray, float, Episode]:
        """Draw position (3,), yaw and episode of a start."""
        position = self.station + rng.uniform(-1.0, 1.0, 3)
        yaw = rng.uniform(-np.pi, np.pi)
        return position, yaw, Episode(draw_current(rng), self.station[None], np.zeros(()))

    def observe(self, state: State, episode: Episode) -> Array:
        """Observations (..., 15)."""
        xp, rotation = namespace(state.position), rotation_matrix(state.orientation)
        offset = to_body(state.orientation, next_goals(episode) - state.position)
        east, up = rotation[..., 0, :], rotation[..., 2, :]
        return xp.concat([offset, east, up, state.velocity], axis=-1)

    def judge(
        self, before: State, after: State, actions: Array, episode: Episode
    ) -> StepJudgement:
        """Judge a step with actions (..., n)."""
        del before
        observation = self.observe(after, episode)
        xp = namespace(observation)
        distance, level = length(observation[..., :3]), length(observation[..., 3:5])
        ahead = observation[..., 3] / xp.maximum(level, 1e-9 + xp.zeros_like(level))
        reward = xp.exp(-distance * distance) * (2 + ahead) / 3 - effort(actions)
        return StepJudgement(observation, reward, distance > self.max_distance, episode)


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
    length_scale, max_distance = 2.0, 15.0
    afloat = True

    def __init__(self, environment: Environment | None = None) -> None:
        """Float anywhere there is water.

        Raises:
            ParameterError: the water is too shallow.
        """
        if (ground := ground_height(environment)) > -1.0:
            raise ParameterError(
                f'SurfaceStationKeeping: the ground is {-ground:.3g} m deep; expected 1 m of water'
            )

    def begin(self, rng: np.random.Generator) -> tuple[np.ndarray, float, Episode]:
        """Draw position (3,), yaw and episode of a start."""
        position = np.append(rng.uniform(-3.0, 3.0, 2), 0.0)
        yaw = rng.uniform(-np.pi, np.pi)
        return position, yaw, Episode(draw_current(rng), np.zeros((1, 3)), np.zeros(()))

    def observe(self, state: State, episode: Episode) -> Array:
        """Observations (..., 15)."""
        xp, rotation = namespace(state.position), rotation_matrix(state.orientation)
        offset = (next_goals(episode) - state.position) * constant(xp, np.array([1.0, 1.0, 0.0]))
        parts = [to_body(state.orientation, offset), rotation[..., 0, :], rotation[..., 2, :]]
        return xp.concat([*parts, state.velocity], axis=-1)

    def judge(
        self, before: State, after: State, actions: Array, episode: Episode
    ) -> StepJudgement:
        """Judge a step with actions (..., n)."""
        del before
        observation = self.observe(after, episode)
        distance = length(observation[..., :3])
        reward = namespace(observation).exp(-((distance / self.length_scale) ** 2)) - effort(
            actions
        )
        ended = (distance > self.max_distance) | (observation[..., 8] < 0.0)
        return StepJudgement(observation, reward, ended, episode)


class WaypointFollowing:
    """Pass five waypoints one after the other, each within 0.5 m.

    An episode starts at rest at (0, 0, −10) m, with any heading. Each waypoint is 2 to 5 m
    from the one before, within ±45° of the course so far, and up to 1 m up or down.

    Observation (15): vector to the next waypoint and to the one after it (at the last, the last
    again), m; up; velocity, m/s and rad/s.
    Reward: distance by which the step approached the waypoint, m, and 1 for passing it, less the
    effort 0.05 mean(a²).
    End: the last waypoint is passed, or the next one is farther than 10 m. Cut off after 600
    steps.
    """

    limits = np.repeat([12.0, 20.0, 1.0, MAX_OBSERVED_SPEED, MAX_OBSERVED_RATE], 3)
    steps = 600
    count = 5
    waypoint_radius = 0.5
    max_distance = 10.0
    start = np.array([0.0, 0.0, -10.0])
    afloat = False

    def __init__(self, environment: Environment | None = None) -> None:
        """Start at 10 m.

        Raises:
            ParameterError: the waypoints could be in the ground.
        """
        if (ground := ground_height(environment)) > -16.0:
            raise ParameterError(
                f'WaypointFollowing: the ground is {-ground:.3g} m deep; expected 16 m of water'
            )

    def begin(self, rng: np.random.Generator) -> tuple[np.ndarray, float, Episode]:
        """Draw position (3,), yaw and episode of a start."""
        yaw = rng.uniform(-np.pi, np.pi)
        course = rng.uniform(-np.pi, np.pi) + np.cumsum(
            rng.uniform(-np.pi / 4, np.pi / 4, self.count)
        )
        legs = rng.uniform(2.0, 5.0, self.count)
        steps = np.stack(
            [legs * np.cos(course), legs * np.sin(course), rng.uniform(-1.0, 1.0, self.count)],
            axis=1,
        )
        goals = self.start + np.cumsum(steps, axis=0)
        return self.start, yaw, Episode(draw_current(rng), goals, np.zeros(()))

    def observe(self, state: State, episode: Episode) -> Array:
        """Observations (..., 15)."""
        xp = namespace(state.position)
        offsets = [
            to_body(state.orientation, next_goals(episode, later) - state.position)
            for later in (0, 1)
        ]
        up = rotation_matrix(state.orientation)[..., 2, :]
        return xp.concat([*offsets, up, state.velocity], axis=-1)

    def judge(
        self, before: State, after: State, actions: Array, episode: Episode
    ) -> StepJudgement:
        """Judge a step with actions (..., n)."""
        goal = next_goals(episode)
        xp = namespace(goal)
        distance = length(goal - after.position)
        passed = xp.where(
            distance < self.waypoint_radius, xp.ones_like(distance), xp.zeros_like(distance)
        )
        progress = length(goal - before.position) - distance
        index = episode.next + passed
        done = index >= self.count
        index = xp.minimum(index, (self.count - 1) * xp.ones_like(index))
        following = episode._replace(next=index)
        return StepJudgement(
            self.observe(after, following),
            progress + passed - effort(actions),
            done | (distance > self.max_distance),
            following,
        )


TASKS: dict[str, Any] = {
    'StationKeeping': StationKeeping,
    'SurfaceStationKeeping': SurfaceStationKeeping,
    'WaypointFollowing': WaypointFollowing,
    'Docking': Docking,
    'PipeFollowing': PipeFollowing,
    'Inspection': Inspection,
}
"""Name of a task -> class of a :class:`~marine_sim_ros.gym.task_model.Task`, called with the
environment."""
