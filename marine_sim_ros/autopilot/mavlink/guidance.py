# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Set-points of a vehicle that is guided: to places, by velocities, along paths, in attitudes.

Sources of the time-outs: ArduSub 4.5, ArduSub/mode_guided.cpp.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from marine_sim_ros.autopilot.mavlink.ned_frame import wrapped
from marine_sim_ros.autopilot.mavlink.paths import LEASH, Leg, Path, Speeds, Tracker
from marine_sim_ros.control.commander import HOLDS, Commander
from marine_sim_ros.control.setpoints import ATTITUDE, all_free
from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.core.state import State

__all__ = ['Course', 'Guide', 'Posture', 'Turn']

VELOCITY_TIMEOUT, ATTITUDE_TIMEOUT = 3.0, 1.0
"""s after which a velocity or an attitude that is not renewed counts as zero and level."""
MAX_STEP = 0.5
"""s; a target moves no farther in one step, however late it comes."""
_NONE = (math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class Turn:
    """How the vehicle turns.

    Attributes:
        yaw: in map, rad; NaN: the heading is held, or turns at ``rate``.
        rate: rad/s counterclockwise; with a yaw: as fast at most. NaN: as fast as it can.
    """

    yaw: float = math.nan
    rate: float = math.nan


@dataclass(frozen=True)
class Course:
    """Where to go, in map; NaN leaves an axis to the other, and both NaN hold it.

    The level axes are both given or both NaN.

    Attributes:
        position: m.
        velocity: m/s; beside a position it is the target's own.
        turn: how it turns meanwhile.
    """

    position: tuple[float, float, float] = _NONE
    velocity: tuple[float, float, float] = _NONE
    turn: Turn = field(default_factory=Turn)


@dataclass(frozen=True)
class Posture:
    """An attitude: roll, pitch, yaw in map (rad), and a climb rate, m/s."""

    angles: tuple[float, float, float]
    climb: float


class Guide:
    """Turns what is wanted into set-points (12,), step by step."""

    def __init__(self) -> None:
        """Hold where the first step is."""
        self._commander = Commander(armed=True, holds=HOLDS)
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

    def follow(self, path: Path, turn: Turn) -> None:
        """Follow a path from its beginning."""
        self._set(Course(tuple(path.at(math.inf).tolist()), turn=turn))
        self._tracker = Tracker(path)

    def turn(self, turn: Turn) -> None:
        """Turn otherwise, on the same way."""
        if isinstance(self._target, Course):
            self._target = Course(self._target.position, self._target.velocity, turn)
            self._slew = None

    def pose(self, posture: Posture) -> None:
        """Take an attitude and a climb rate."""
        self._set(posture)

    @property
    def end(self) -> np.ndarray | None:
        """Where the path ends (3,), or None."""
        return None if self._tracker is None else self._tracker.path.at(math.inf)

    @property
    def target(self) -> Course | Posture:
        """What was taken last."""
        return self._target

    @property
    def track_yaw(self) -> float:
        """Yaw along the path, rad; NaN: none."""
        tracker = self._tracker
        return math.nan if tracker is None else tracker.path.yaw(tracker.distance)

    def reached(self, state: State, radius: float) -> bool:
        """Return whether the path is flown to its end, within a radius in m."""
        if self._tracker is None or not self._tracker.finished:
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
            return self._posed(self._target, time, state)
        if self._tracker is not None:
            self._tracker.advance(dt, state.position, speeds)
        return self._on_course(self._target, time, dt, state)

    def _posed(self, posture: Posture, time: float, state: State) -> np.ndarray:
        late = time - self._since > ATTITUDE_TIMEOUT
        climb = 0.0 if late else posture.climb
        self._commander.drive(np.array([0.0, 0.0, climb, 0.0, 0.0, 0.0]), time)
        driven, wanted = self._commander.wanted(time, state), all_free()
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
        wanted = self._commander.wanted(time, state)
        if not level:
            wanted[[0, 1]], wanted[[6, 7]] = places[:2], np.nan
            self._forget_holds('station_keeping')
        if np.isfinite(places[2]):
            wanted[2], wanted[8] = places[2], np.nan
            self._forget_holds('auto_depth')
        if not math.isnan(course.turn.yaw):
            wanted[5], wanted[11] = self._slewed(course.turn, yaw, dt), np.nan
            self._forget_holds('auto_heading')
        return wanted

    def _forget_holds(self, *names: str) -> None:
        """Let an axis that is commanded be held where it is let go, not where it was before."""
        for name in names:
            self._commander.hold(name, True)

    def _slewed(self, turn: Turn, yaw: float, dt: float) -> float:
        """Return the yaw that is commanded on the way to that of a turn."""
        if math.isnan(turn.rate) or not turn.rate:
            return turn.yaw
        left = wrapped(turn.yaw - yaw) if self._slew is None else self._slew
        left = math.copysign(max(abs(left) - abs(turn.rate) * dt, 0.0), left)
        self._slew = left
        return wrapped(turn.yaw - left)
