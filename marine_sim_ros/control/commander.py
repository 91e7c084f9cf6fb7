# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Arbitration of an operator's commands to set-points: pose, path, velocity, wrench, holds.

Independent of ROS. The last command wins: a pose, a path, a velocity, a wrench or set-points. A
velocity that is not renewed for ``TIMEOUT`` counts as zero, so that an armed vehicle without
commands stops. Disarmed, all set-points are free.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence

import numpy as np

from marine_sim_ros.control.controller_model import (
    ATTITUDE,
    POSITION,
    SETPOINT_QUANTITIES,
    empty_setpoints,
)
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import rotation_matrix, rpy_from_quaternion
from marine_sim_ros.core.state import State

__all__ = ['CLOSED_LOOPS', 'TIMEOUT', 'Commander']

TIMEOUT = 0.5
"""Validity of a velocity, a wrench or set-points, s of simulation time."""
ARRIVED = 0.3
"""Distance, m, to a waypoint at which the next one becomes the target."""
STOPPING = 1.5
"""Stopping time, s: a hold is set this far ahead at the present velocity."""
CLOSED_LOOPS = {
    'auto_depth': (('z',), ('heave',)),
    'auto_heading': (('yaw',), ('yaw_rate',)),
    'station_keeping': (('x', 'y'), ('surge', 'sway')),
}
"""Name -> pose quantities that are held while these speeds are zero. Source: thesis, section 4-1-1
and 6-3-2."""


def _quantity_indices(names: Collection[str]) -> list[int]:
    return [SETPOINT_QUANTITIES.index(name) for name in names]


class Commander:
    """Converts commands to set-points (12,)."""

    def __init__(
        self,
        *,
        armed: bool = False,
        level: Collection[str] = ('roll', 'pitch'),
        holds: Collection[str] = (),
    ) -> None:
        """Start without commands.

        Args:
            armed: whether the thrusters may turn.
            level: angles held at zero in joystick mode.
            holds: members of ``CLOSED_LOOPS`` to switch on; empty names are ignored.

        Raises:
            ParameterError: a hold that does not exist.
        """
        self.armed = armed
        self.mode = 'velocity'
        self.holds = {name for name in holds if name}
        if unknown := self.holds - set(CLOSED_LOOPS):
            raise ParameterError(
                f'holds: {sorted(unknown)}; expected some of: {", ".join(CLOSED_LOOPS)}'
            )
        self.free: tuple[str, ...] = ()
        self._wrench = np.zeros(6)
        self._level = _quantity_indices(level)
        self._pose = empty_setpoints()
        self._speeds = np.zeros(6)
        self._valid_until = -np.inf
        self._hold_targets: dict[str, np.ndarray] = {}
        self._path: deque[np.ndarray] = deque()

    def arm(self, on: bool) -> None:
        """Arm or disarm; either way old commands are forgotten."""
        self.armed = on
        self.forget()

    def forget(self) -> None:
        """Forget all commands."""
        self._take_over('velocity')
        self._hold_targets.clear()
        self._valid_until = -np.inf

    def _take_over(self, mode: str) -> None:
        """Switch to another kind of command; holds get new targets after it."""
        self.mode = mode
        self._path.clear()
        if mode != 'velocity':
            self._hold_targets.clear()

    def hold(self, name: str, on: bool) -> None:
        """Switch auto depth, auto heading or station keeping."""
        (self.holds.add if on else self.holds.discard)(name)
        self._hold_targets.pop(name, None)

    def go(self, pose: np.ndarray) -> None:
        """Command a pose (6,): x, y, z, roll, pitch, yaw; NaN leaves one free."""
        self._take_over('pose')
        self._pose = empty_setpoints()
        self._pose[:6] = pose

    def follow(self, poses: Sequence[np.ndarray]) -> None:
        """Command waypoints (6,) one after the other; the last one is held."""
        self._take_over('path')
        self._path.extend(np.asarray(p, float) for p in poses)
        if not self._path:
            self.forget()

    def drive(self, speeds: np.ndarray, time: float) -> None:
        """Command a body velocity (6,), m/s and rad/s, at a time (s)."""
        self._take_over('velocity')
        self._speeds, self._valid_until = np.asarray(speeds, float), time + TIMEOUT

    def push(self, wrench: np.ndarray, time: float) -> None:
        """Command a wrench (6,) about base_link in the body frame at a time (s)."""
        self._take_over('wrench')
        self._wrench, self._valid_until = np.asarray(wrench, float), time + TIMEOUT

    def aim(self, targets: np.ndarray, time: float) -> None:
        """Command set-points (12,), NaN where free, at a time (s)."""
        self._take_over('setpoints')
        self._pose, self._valid_until = np.array(targets, float), time + TIMEOUT

    @property
    def wrench(self) -> np.ndarray:
        """The wrench (6,) that was commanded, without the axes that are free."""
        free = [
            bool({SETPOINT_QUANTITIES[axis], SETPOINT_QUANTITIES[axis + 6]} & set(self.free))
            for axis in range(6)
        ]
        return np.where(free, 0.0, self._wrench)

    def stale(self, time: float) -> bool:
        """Return whether the last command has expired at a time (s)."""
        return self.mode in ('velocity', 'wrench', 'setpoints') and time > self._valid_until

    def active_setpoints(self, time: float, state: State) -> np.ndarray:
        """Return the set-points (12,) of a time (s), NaN where free."""
        if not self.armed or (self.mode == 'wrench' and not self.stale(time)):
            return empty_setpoints()
        if self.mode == 'path':
            result = self._next_waypoint(state)
        elif self.mode == 'pose' or (self.mode == 'setpoints' and not self.stale(time)):
            result = self._pose.copy()
        else:
            result = self._speed_setpoints(time, state)
        result[_quantity_indices(self.free)] = np.nan
        return result

    def _next_waypoint(self, state: State) -> np.ndarray:
        while len(self._path) > 1 and self._distance(self._path[0], state) < ARRIVED:
            self._path.popleft()
        result = empty_setpoints()
        result[:6] = self._path[0]
        return result

    @staticmethod
    def _distance(pose: np.ndarray, state: State) -> float:
        offset = np.nan_to_num(pose[POSITION] - state.position)
        return float(np.linalg.norm(offset))

    def _speed_setpoints(self, time: float, state: State) -> np.ndarray:
        speeds = np.zeros(6) if self.stale(time) else self._speeds
        result = empty_setpoints()
        result[6:] = speeds
        for index in self._level:
            if speeds[index] == 0:
                result[index], result[index + 6] = 0.0, np.nan
        for name, (pose_quantities, speed_quantities) in CLOSED_LOOPS.items():
            can_hold = name in self.holds and not np.any(
                result[_quantity_indices(speed_quantities)]
            )
            if not can_hold:
                self._hold_targets.pop(name, None)
                continue
            if name not in self._hold_targets:
                self._hold_targets[name] = self._stop_at(state)[_quantity_indices(pose_quantities)]
            result[_quantity_indices(pose_quantities)] = self._hold_targets[name]
            result[_quantity_indices(speed_quantities)] = np.nan
        return result

    @staticmethod
    def _stop_at(state: State) -> np.ndarray:
        """Return the approximate pose (6,) at which the vehicle comes to rest."""
        pose = np.zeros(6)
        drift = rotation_matrix(state.orientation) @ state.velocity[:3]
        pose[POSITION] = state.position + STOPPING * drift
        # A vehicle under water is not held above the surface.
        pose[2] = min(pose[2], max(float(state.position[2]), 0.0))
        pose[ATTITUDE] = rpy_from_quaternion(state.orientation)
        pose[5] += STOPPING / 2 * state.velocity[5]
        return pose
