# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Guidance: NED frame of MAVLink, paths with a moving target point, set-points.

Sources of the time-outs: ArduSub 4.5, ArduSub/mode_guided.cpp.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from marine_sim_ros.autopilot.conventions import enu, geographic_state, ned
from marine_sim_ros.control.commander import CLOSED_LOOPS, Commander
from marine_sim_ros.control.controller_model import ATTITUDE, empty_setpoints
from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.core.state import State

__all__ = [
    'CirclePath',
    'Course',
    'Guide',
    'HeadingTurn',
    'NedFrame',
    'Path',
    'Posture',
    'Speeds',
    'wrap_heading',
]


# Coordinates of MAVLink: map to and from north-east-down, latitude and longitude.


def wrap_heading(angle: float) -> float:
    """Return an angle (rad) in −π to π."""
    return math.remainder(angle, 2 * math.pi)


class NedFrame:
    """North, east, down from the origin of map, which is home."""

    def __init__(self, origin: Origin) -> None:
        """Use the place and the heading of map."""
        self.origin = origin

    def state(self, state: State) -> State:
        """Return a state in map as one in east, north, up."""
        return geographic_state(state, self.origin)

    def ned(self, vector: np.ndarray) -> tuple[float, float, float]:
        """Return north, east, down of a vector (3,) in map."""
        return ned(self.origin.enu(vector))

    def in_map(self, vector: tuple[float, float, float] | np.ndarray) -> np.ndarray:
        """Return the vector (3,) in map of one north, east, down.

        NaN in its level axes makes both NaN, and NaN in the third axis the third.
        """
        given = np.asarray(vector, float)
        result = np.array(self.origin.in_map(enu(np.nan_to_num(given))))
        if np.any(np.isnan(given[:2])):
            result[:2] = np.nan
        if np.isnan(given[2]):
            result[2] = np.nan
        return result

    def compass(self, yaw: float) -> float:
        """Return the compass heading (rad, −π to π) of a yaw in map."""
        return wrap_heading(math.pi / 2 + math.radians(self.origin.heading) - yaw)

    def yaw(self, compass: float) -> float:
        """Return the yaw in map (rad, −π to π) of a compass heading."""
        return self.compass(compass)

    def heading(self, state: State) -> float:
        """Return the compass heading (rad) of a state in map."""
        return self.compass(float(rpy_from_quaternion(state.orientation)[2]))

    def place(self, position: np.ndarray) -> tuple[float, float]:
        """Return latitude and longitude, degrees, of a position (3,) in map."""
        return self.origin.place(*self.origin.enu(position)[:2].tolist())

    def position(self, latitude: float, longitude: float, altitude: float) -> np.ndarray:
        """Return the position (3,) in map of a place in degrees, m above the surface."""
        east, north = self.origin.offset(latitude, longitude)
        return self.in_map((north, east, -altitude))


# Paths in map, and the target point that moves along them ahead of the vehicle.

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

    def speed_along(self, direction: np.ndarray) -> float:
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
        """Maximum distance of the target point ahead of the vehicle, m."""

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
class CirclePath:
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
        """Maximum distance of the target point ahead of the vehicle, m."""
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
    def is_finished(self) -> bool:
        """Whether the target point is at the end."""
        return self.distance >= self.path.length

    def advance(self, dt: float, position: np.ndarray, speeds: Speeds) -> None:
        """Move the target point for a time (s), unless the vehicle is a leash behind it."""
        if np.linalg.norm(self.point - position) < self.path.leash:
            step = dt * speeds.speed_along(self.path.direction(self.distance))
            self.distance = min(self.distance + step, self.path.length)


# Set-points of guided mode: positions, velocities, paths, attitudes.

VELOCITY_TIMEOUT, ATTITUDE_TIMEOUT = 3.0, 1.0
"""s after which a velocity or an attitude that is not renewed counts as zero and level."""
MAX_STEP = 0.5
"""s; a target moves no farther in one step, however late it comes."""
_NONE = (math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class HeadingTurn:
    """Heading control of the vehicle.

    Attributes:
        yaw: in map, rad; NaN: the heading is held, or turns at ``rate``.
        rate: rad/s counterclockwise; with a yaw: as fast at most. NaN: as fast as it can.
    """

    yaw: float = math.nan
    rate: float = math.nan


@dataclass(frozen=True)
class Course:
    """Target in map; an axis that is NaN in position and velocity is held.

    The level axes are both given or both NaN.

    Attributes:
        position: m.
        velocity: m/s; beside a position it is the target's own.
        turn: how it turns meanwhile.
    """

    position: tuple[float, float, float] = _NONE
    velocity: tuple[float, float, float] = _NONE
    turn: HeadingTurn = field(default_factory=HeadingTurn)


@dataclass(frozen=True)
class Posture:
    """An attitude: roll, pitch, yaw in map (rad), and a climb rate, m/s."""

    angles: tuple[float, float, float]
    climb: float


class Guide:
    """Turns what is wanted into set-points (12,), step by step."""

    def __init__(self) -> None:
        """Hold where the first step is."""
        self._commander = Commander(armed=True, holds=CLOSED_LOOPS)
        self._target: Course | Posture = Course()
        self._since, self._time = 0.0, 0.0
        self._tracker: Tracker | None = None
        self._slew: float | None = None
        """rad that the commanded yaw is from that of the turn."""

    def hold(self) -> None:
        """Stop, and hold there."""
        self._commander.forget()
        self._set(Course())

    def _set(self, target: Course | Posture) -> None:
        self._target, self._tracker, self._slew = target, None, None
        self._since = self._time

    def go(self, course: Course, state: State) -> None:
        """Take a course; the way to a position is straight, from the last target or from here."""
        self._since = self._time
        if course == self._target:
            return
        start, last = np.asarray(state.position, float), self._tracker
        if last is not None and np.linalg.norm(last.point - start) < LEASH:
            start = last.point
        slew, before = self._slew, self._target
        self._set(course)
        if isinstance(before, Course) and before.turn == course.turn:
            self._slew = slew
        ends = np.asarray(course.position, float)
        if np.any(np.isfinite(ends)) and not np.any(np.isfinite(course.velocity)):
            self._tracker = Tracker(Leg(start, np.where(np.isfinite(ends), ends, start)))

    def follow(self, path: Path, turn: HeadingTurn) -> None:
        """Follow a path from its beginning."""
        self._set(Course(tuple(path.at(math.inf).tolist()), turn=turn))
        self._tracker = Tracker(path)

    def turn(self, turn: HeadingTurn) -> None:
        """Turn otherwise, on the same way."""
        if isinstance(self._target, Course):
            self._target = Course(self._target.position, self._target.velocity, turn)
            self._slew = None

    def pose(self, posture: Posture) -> None:
        """Take an attitude and a climb rate."""
        self._set(posture)

    @property
    def end(self) -> np.ndarray | None:
        """End of the path (3,), or None."""
        return None if self._tracker is None else self._tracker.path.at(math.inf)

    @property
    def target(self) -> Course | Posture:
        """The last accepted target."""
        return self._target

    @property
    def track_yaw(self) -> float:
        """Yaw along the path, rad; NaN: none."""
        tracker = self._tracker
        return math.nan if tracker is None else tracker.path.yaw(tracker.distance)

    def has_arrived(self, state: State, radius: float) -> bool:
        """Return whether the path is flown to its end, within a radius in m."""
        if self._tracker is None or not self._tracker.is_finished:
            return False
        return bool(np.linalg.norm(self._tracker.point - state.position) < radius)

    def step(self, time: float, state: State, speeds: Speeds) -> np.ndarray:
        """Return the set-points (12,) of a time (s)."""
        dt = min(max(time - self._time, 0.0), MAX_STEP)
        if time < self._time:  # the run was reset
            self.hold()
            self._since = time
        self._time = time
        if isinstance(self._target, Posture):
            return self._posture_setpoints(self._target, time, state)
        if self._tracker is not None:
            self._tracker.advance(dt, state.position, speeds)
        return self._on_course(self._target, time, dt, state)

    def _posture_setpoints(self, posture: Posture, time: float, state: State) -> np.ndarray:
        late = time - self._since > ATTITUDE_TIMEOUT
        climb = 0.0 if late else posture.climb
        self._commander.drive(np.array([0.0, 0.0, climb, 0.0, 0.0, 0.0]), time)
        driven, wanted = self._commander.active_setpoints(time, state), empty_setpoints()
        self._forget_holds('station_keeping', 'auto_heading')
        wanted[[2, 8]] = driven[[2, 8]]
        angles = np.array(posture.angles)
        wanted[ATTITUDE] = np.where([late, late, False], 0.0, angles)
        return wanted

    def _on_course(self, course: Course, time: float, dt: float, state: State) -> np.ndarray:
        elapsed = min(time - self._since, VELOCITY_TIMEOUT)
        velocity = np.nan_to_num(np.asarray(course.velocity, float))
        places = np.asarray(course.position, float)
        if self._tracker is not None:
            places = np.where(np.isfinite(places), self._tracker.point, places)
        else:
            places = places + velocity * elapsed
        if time - self._since > VELOCITY_TIMEOUT:
            velocity = np.zeros(3)
        yaw = float(rpy_from_quaternion(state.orientation)[2])
        c, s = math.cos(yaw), math.sin(yaw)
        level = not np.any(np.isfinite(places[:2]))
        vx, vy = velocity[:2] * level
        vz = velocity[2] * bool(np.isnan(places[2]))
        rate = 0.0 if math.isnan(course.turn.rate) else course.turn.rate
        rate = rate if math.isnan(course.turn.yaw) else 0.0
        driven = [c * vx + s * vy, c * vy - s * vx, vz, 0.0, 0.0, rate]
        self._commander.drive(np.array(driven), time)
        wanted = self._commander.active_setpoints(time, state)
        if not level:
            wanted[[0, 1]], wanted[[6, 7]] = places[:2], np.nan
            self._forget_holds('station_keeping')
        if np.isfinite(places[2]):
            wanted[2], wanted[8] = places[2], np.nan
            self._forget_holds('auto_depth')
        if not math.isnan(course.turn.yaw):
            wanted[5], wanted[11] = self._slew_yaw(course.turn, yaw, dt), np.nan
            self._forget_holds('auto_heading')
        return wanted

    def _forget_holds(self, *names: str) -> None:
        """Let an axis that is commanded be held where it is let go, not where it was before."""
        for name in names:
            self._commander.hold(name, True)

    def _slew_yaw(self, turn: HeadingTurn, yaw: float, dt: float) -> float:
        """Return the yaw that is commanded on the way to that of a turn."""
        if math.isnan(turn.rate) or not turn.rate:
            return turn.yaw
        left = wrap_heading(turn.yaw - yaw) if self._slew is None else self._slew
        left = math.copysign(max(abs(left) - abs(turn.rate) * dt, 0.0), left)
        self._slew = left
        return wrap_heading(turn.yaw - left)
