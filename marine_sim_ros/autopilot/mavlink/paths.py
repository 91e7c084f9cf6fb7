# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Paths in map that a target point moves along, as fast as it may and the vehicle follows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

__all__ = ['Circle', 'Leg', 'Path', 'Speeds', 'Tracker']

LEASH = 2.0
"""m that the target point is ahead of the vehicle at most."""
CHORD = 0.25
"""The same on a circle, as a fraction of the radius: what lags by it is 3 % of it inside."""


@dataclass(frozen=True)
class Speeds:
    """Upper bounds of the target point's speed, m/s."""

    level: float
    up: float
    down: float

    def along(self, direction: np.ndarray) -> float:
        """Return the speed along a unit vector (3,) at which no bound is exceeded."""
        level = float(np.hypot(direction[0], direction[1]))
        climb = float(direction[2])
        bounds = [self.level / level] if level > 0 else []
        if climb:
            bounds.append(self.up / climb if climb > 0 else self.down / -climb)
        return min(bounds, default=self.level)


class Path(Protocol):
    """A curve by the distance along it."""

    @property
    def length(self) -> float:
        """Length, m."""

    @property
    def leash(self) -> float:
        """How far the target point is ahead of the vehicle at most, m."""

    def at(self, distance: float) -> np.ndarray:
        """Return the point (3,) in map."""

    def direction(self, distance: float) -> np.ndarray:
        """Return the unit tangent (3,)."""

    def yaw(self, distance: float) -> float:
        """Return the yaw of a vehicle that flies it, rad; NaN: any."""


@dataclass(frozen=True, eq=False)
class Leg:
    """A straight line."""

    start: np.ndarray
    end: np.ndarray

    leash = LEASH

    @property
    def length(self) -> float:
        """Length, m."""
        return float(np.linalg.norm(self.end - self.start))

    def at(self, distance: float) -> np.ndarray:
        """Return the point (3,) in map."""
        return self.end if distance >= self.length else self.start + distance * self.direction(0)

    def direction(self, distance: float) -> np.ndarray:
        """Return the unit tangent (3,)."""
        del distance
        away = self.end - self.start
        return np.asarray(away / max(self.length, 1e-9))

    def yaw(self, distance: float) -> float:
        """Return the yaw along it, rad; NaN: it is shorter than 1 m from above."""
        del distance
        x, y, _ = (self.end - self.start).tolist()
        return math.atan2(y, x) if math.hypot(x, y) > 1.0 else math.nan


@dataclass(frozen=True, eq=False)
class Circle:
    """Turns about a centre (3,), m, from an angle (rad); counterclockwise where ``sense`` is 1."""

    centre: np.ndarray
    radius: float
    angle: float
    turns: float
    sense: int

    @property
    def length(self) -> float:
        """Length, m."""
        return 2 * math.pi * self.radius * self.turns

    @property
    def leash(self) -> float:
        """How far the target point is ahead of the vehicle at most, m."""
        return min(LEASH, CHORD * self.radius)

    def _angle(self, distance: float) -> float:
        return self.angle + self.sense * distance / self.radius

    def at(self, distance: float) -> np.ndarray:
        """Return the point (3,) in map."""
        a = self._angle(min(distance, self.length))
        return self.centre + self.radius * np.array([math.cos(a), math.sin(a), 0.0])

    def direction(self, distance: float) -> np.ndarray:
        """Return the unit tangent (3,)."""
        a = self._angle(distance)
        return self.sense * np.array([-math.sin(a), math.cos(a), 0.0])

    def yaw(self, distance: float) -> float:
        """Return the yaw towards the centre, as ArduSub circles."""
        return self._angle(distance) + math.pi


class Tracker:
    """The target point on a path."""

    def __init__(self, path: Path) -> None:
        """Start at its beginning."""
        self.path = path
        self.distance = 0.0

    @property
    def point(self) -> np.ndarray:
        """The target point (3,) in map."""
        return self.path.at(self.distance)

    @property
    def finished(self) -> bool:
        """Whether the target point is at the end."""
        return self.distance >= self.path.length

    def advance(self, dt: float, position: np.ndarray, speeds: Speeds) -> None:
        """Move the target point for a time (s), unless the vehicle is a leash behind it."""
        if np.linalg.norm(self.point - position) < self.path.leash:
            step = dt * speeds.along(self.path.direction(self.distance))
            self.distance = min(self.distance + step, self.path.length)
