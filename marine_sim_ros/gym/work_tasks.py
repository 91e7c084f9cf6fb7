# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tasks of work: dock, follow a pipe, inspect a pile.

Dock, pipe and pile are geometry of the task; they are not solid. All observe 15 numbers, in the
body frame: two vectors, the direction up, and the velocity, m/s and rad/s.
"""

from __future__ import annotations

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

__all__ = ['Docking', 'Inspection', 'PipeFollowing']

_LEVEL = np.array([1.0, 1.0, 0.0])


def _check_depth(task: object, environment: Environment | None, depth: float) -> None:
    """Raise ParameterError where the water at the origin is less deep than the task needs."""
    if (ground := ground_height(environment)) > -depth:
        raise ParameterError(
            f'{type(task).__name__}: the ground is {-ground:.3g} m deep; expected {depth:g} m of '
            'water'
        )


def _observation(state: State, first: Array, second: Array) -> Array:
    """Return two vectors (..., 3) of map in the body frame, up, and the velocity."""
    xp = namespace(state.position)
    vectors = [to_body(state.orientation, vector) for vector in (first, second)]
    up = rotation_matrix(state.orientation)[..., 2, :]
    return xp.concat([*vectors, up, state.velocity], axis=-1)


def _dot(a: Array, b: Array) -> Array:
    return namespace(a).sum(a * b, axis=-1)


def _ahead(state: State) -> Array:
    """Body x axis (..., 3) in map."""
    return rotation_matrix(state.orientation)[..., :, 0]


def _one_where(condition: Array, like: Array) -> Array:
    xp = namespace(like)
    return xp.where(condition, xp.ones_like(like), xp.zeros_like(like))


def _advance(episode: Episode, passed: Array) -> tuple[Episode, Array]:
    """Return the episode after a goal was passed, 1.0 or 0.0, and whether it was the last."""
    xp, count = namespace(passed), episode.goals.shape[-2]
    index = episode.next + passed
    last = xp.minimum(index, (count - 1) * xp.ones_like(index))
    return episode._replace(next=last), index >= count


class Docking:
    """Enter a dock along its axis, slowly and aligned.

    The entrance is at a depth of 5 m and has a radius of 0.3 m; its axis is level, and has any
    direction. An episode starts at rest 3 to 6 m before it, up to 2 m to the side, 1 m up or down,
    with a heading within ±90° of the axis.

    Observation (15): vector to the entrance, m; the dock's axis, inwards; up; velocity.
    Reward: decrease of |e| + b / 2 + (1 − cos φ) / 2 in the step, with the vector e to the
    entrance, m, the distance b from the axis, m, and the heading error φ; 10 for docking, −5 for
    hitting the frame; less the effort 0.05 mean(a²).
    End: docked (at the plane of the entrance within 0.3 m of the axis, 15° and 0.3 m/s), or in the
    plane but not so, or farther than 10 m. Cut off after 400 steps.
    """

    limits = np.repeat([12.0, 1.0, 1.0, MAX_OBSERVED_SPEED, MAX_OBSERVED_RATE], 3)
    steps = 400
    afloat = False
    entrance = np.array([0.0, 0.0, -5.0])
    radius, max_speed, max_distance = 0.3, 0.3, 10.0
    min_cosine = np.cos(np.radians(15.0))
    bonus, penalty = 10.0, 5.0

    def __init__(self, environment: Environment | None = None) -> None:
        """Place the dock.

        Raises:
            ParameterError: the water is too shallow.
        """
        _check_depth(self, environment, 8.0)

    def begin(self, rng: np.random.Generator) -> tuple[np.ndarray, float, Episode]:
        """Draw position (3,), yaw and episode of a start."""
        course = rng.uniform(-np.pi, np.pi)
        axis = np.array([np.cos(course), np.sin(course), 0.0])
        side = np.array([-axis[1], axis[0], 0.0])
        offset = -rng.uniform(3.0, 6.0) * axis + rng.uniform(-2.0, 2.0) * side
        offset[2] = rng.uniform(-1.0, 1.0)
        yaw = course + rng.uniform(-np.pi / 2, np.pi / 2)
        goals = np.stack([self.entrance, self.entrance + axis])
        return self.entrance + offset, yaw, Episode(draw_current(rng), goals, np.zeros(()))

    def observe(self, state: State, episode: Episode) -> Array:
        """Observations (..., 15)."""
        entrance, inside = episode.goals[..., 0, :], episode.goals[..., 1, :]
        return _observation(state, entrance - state.position, inside - entrance)

    def _errors(self, state: State, episode: Episode) -> tuple[Array, Array, Array, Array]:
        """Return distance to the entrance and its plane, distance from the axis, and cos φ."""
        entrance = episode.goals[..., 0, :]
        axis = episode.goals[..., 1, :] - entrance
        offset = entrance - state.position
        before = _dot(offset, axis)
        beside = length(offset - before[..., None] * axis)
        return length(offset), before, beside, _dot(_ahead(state), axis)

    def judge(
        self, before: State, after: State, actions: Array, episode: Episode
    ) -> StepJudgement:
        """Judge a step with actions (..., n)."""
        far, _, beside, cosine = self._errors(before, episode)
        old = far + beside / 2 + (1 - cosine) / 2
        far, left, beside, cosine = self._errors(after, episode)
        reached = left < 0.0
        slow = length(after.velocity[..., :3]) < self.max_speed
        docked = reached & (beside < self.radius) & (cosine > self.min_cosine) & slow
        bonus = (self.bonus + self.penalty) * _one_where(docked, far)
        bonus = bonus - self.penalty * _one_where(reached, far)
        reward = old - (far + beside / 2 + (1 - cosine) / 2) + bonus - effort(actions)
        ended = reached | (far > self.max_distance)
        return StepJudgement(self.observe(after, episode), reward, ended, episode)


class PipeFollowing:
    """Follow a pipe of six straight pieces, 1.5 m above it.

    The pipe starts at (0, 0, −10) m; its pieces are 3 to 5 m long, and bend by up to 25° at their
    ends. An episode starts at rest 1.5 m above its start, up to 0.5 m to the side, with a heading
    within ±45° of its first piece.

    Observation (15): vectors to the places 1.5 m above the end of this piece and of the next (at
    the last, the last again), m; up; velocity.
    Reward: metres of pipe that the step advanced, times exp(−(b/0.5)²) of the distance b in m from
    the line 1.5 m above it, less the effort 0.05 mean(a²).
    End: the end of the pipe, or farther than 3 m from that line. Cut off after 600 steps.
    """

    limits = np.repeat([12.0, 20.0, 1.0, MAX_OBSERVED_SPEED, MAX_OBSERVED_RATE], 3)
    steps = 600
    afloat = False
    start = np.array([0.0, 0.0, -10.0])
    height = np.array([0.0, 0.0, 1.5])
    pieces, width, max_distance = 6, 0.5, 3.0

    def __init__(self, environment: Environment | None = None) -> None:
        """Lay the pipe in water of 12 m.

        Raises:
            ParameterError: the water is too shallow.
        """
        _check_depth(self, environment, 12.0)

    def begin(self, rng: np.random.Generator) -> tuple[np.ndarray, float, Episode]:
        """Draw position (3,), yaw and episode of a start."""
        bends = np.radians(rng.uniform(-25.0, 25.0, self.pieces - 1))
        course = rng.uniform(-np.pi, np.pi) + np.append(0.0, np.cumsum(bends))
        along = rng.uniform(3.0, 5.0, self.pieces)
        steps = along[:, None] * np.stack([np.cos(course), np.sin(course), 0 * course], axis=1)
        ends = self.start + np.append(np.zeros((1, 3)), np.cumsum(steps, axis=0), axis=0)
        side = rng.uniform(-0.5, 0.5) * np.array([-np.sin(course[0]), np.cos(course[0]), 0.0])
        yaw = course[0] + rng.uniform(-np.pi / 4, np.pi / 4)
        episode = Episode(draw_current(rng), ends, np.ones(()))
        return self.start + self.height + side, yaw, episode

    def observe(self, state: State, episode: Episode) -> Array:
        """Observations (..., 15)."""
        xp = namespace(state.position)
        above = constant(xp, self.height) - state.position
        return _observation(state, next_goals(episode) + above, next_goals(episode, 1) + above)

    def _position(self, state: State, episode: Episode) -> tuple[Array, Array, Array]:
        """Return metres along this piece, its length, and the distance from the line above it."""
        begin = next_goals(episode, -1)
        piece = next_goals(episode) - begin
        size = length(piece)
        course = piece / size[..., None]
        offset = state.position - begin - constant(namespace(size), self.height)
        along = _dot(offset, course)
        return along, size, length(offset - along[..., None] * course)

    def judge(
        self, before: State, after: State, actions: Array, episode: Episode
    ) -> StepJudgement:
        """Judge a step with actions (..., n)."""
        earlier, *_ = self._position(before, episode)
        along, size, beside = self._position(after, episode)
        following, done = _advance(episode, _one_where(along >= size, along))
        near = namespace(beside).exp(-((beside / self.width) ** 2))
        return StepJudgement(
            self.observe(after, following),
            (along - earlier) * near - effort(actions),
            done | (beside > self.max_distance),
            following,
        )


class Inspection:
    """Look at eight points of a pile, one after the other, from 1.5 m.

    The pile stands at the origin with a radius of 0.5 m. The points are 45° apart around it, in
    one sense or the other, from a random one on, at depths of 3 to 7 m that differ by up to 0.5 m.
    An episode starts at rest 2 to 3 m from the first point's place, with any heading.

    Observation (15): vectors to the place 1.5 m before the next point and to the point itself, m;
    up; velocity.
    Reward: metres by which the step approached that place and half the increase of the cosine of
    the angle between the body's x axis and the point, 1 for each point that is seen, less the
    effort 0.05 mean(a²). A point is seen within 0.4 m of its place and 15° of the x axis.
    End: all are seen, the vehicle is within 0.4 m of the pile (−5), or farther than 8 m from the
    place. Cut off after 600 steps.
    """

    limits = np.repeat([10.0, 12.0, 1.0, MAX_OBSERVED_SPEED, MAX_OBSERVED_RATE], 3)
    steps = 600
    afloat = False
    count, radius, stand_off = 8, 0.5, 1.5
    tolerance, clearance, max_distance, penalty = 0.4, 0.4, 8.0, 5.0
    min_cosine = np.cos(np.radians(15.0))

    def __init__(self, environment: Environment | None = None) -> None:
        """Place the pile in water of 9 m.

        Raises:
            ParameterError: the water is too shallow.
        """
        _check_depth(self, environment, 9.0)

    def begin(self, rng: np.random.Generator) -> tuple[np.ndarray, float, Episode]:
        """Draw position (3,), yaw and episode of a start."""
        sense = rng.choice([-1.0, 1.0])
        angle = rng.uniform(-np.pi, np.pi) + sense * np.arange(self.count) * np.pi / 4
        normal = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
        depth = np.clip(
            rng.uniform(3.5, 6.5) + np.cumsum(rng.uniform(-0.5, 0.5, self.count)), 3.0, 7.0
        )
        goals = self.radius * normal - depth[:, None] * np.array([0.0, 0.0, 1.0])
        place = goals[0] + (self.stand_off + rng.uniform(2.0, 3.0)) * normal[0]
        yaw = rng.uniform(-np.pi, np.pi)
        return place, yaw, Episode(draw_current(rng), goals, np.zeros(()))

    def _vectors(self, state: State, episode: Episode) -> tuple[Array, Array]:
        """Return the vectors (..., 3) to the place before the next point, and to the point."""
        point = next_goals(episode)
        normal = point * constant(namespace(point), _LEVEL) / self.radius
        return point + self.stand_off * normal - state.position, point - state.position

    def observe(self, state: State, episode: Episode) -> Array:
        """Observations (..., 15)."""
        return _observation(state, *self._vectors(state, episode))

    def _errors(self, state: State, episode: Episode) -> tuple[Array, Array]:
        """Return distance from the place, and the cosine between the x axis and the point."""
        to_place, to_point = self._vectors(state, episode)
        return length(to_place), _dot(_ahead(state), to_point) / (length(to_point) + 1e-9)

    def judge(
        self, before: State, after: State, actions: Array, episode: Episode
    ) -> StepJudgement:
        """Judge a step with actions (..., n)."""
        far_before, cosine_before = self._errors(before, episode)
        far, cosine = self._errors(after, episode)
        seen = _one_where((far < self.tolerance) & (cosine > self.min_cosine), far)
        level = length(after.position * constant(namespace(far), _LEVEL))
        hit = level < self.radius + self.clearance
        following, done = _advance(episode, seen)
        progress = far_before - far + (cosine - cosine_before) / 2
        reward = progress + seen - self.penalty * _one_where(hit, far) - effort(actions)
        ended = done | hit | (far > self.max_distance)
        return StepJudgement(self.observe(after, following), reward, ended, following)
