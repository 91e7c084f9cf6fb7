# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A run as its analysis takes it: from a trajectory, or from a recorded bag."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.analysis.bags.reading import opened
from marine_sim_ros.analysis.bags.roles import numbers_of
from marine_sim_ros.control.attitude import level_velocity
from marine_sim_ros.control.setpoints import QUANTITIES
from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.spatial import rotation_matrix, rpy_from_quaternion
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.sim.trajectory import Trajectory

__all__ = ['Run', 'from_trajectory', 'read_bag']


@dataclass(frozen=True, eq=False)
class Run:
    """Arrays over n ticks, of a vehicle with k thrusters.

    Attributes:
        time: (n,) s.
        position: (n, 3) m, map.
        orientation: (n, 4) x, y, z, w.
        velocity: (n, 6) body, m/s and rad/s.
        pwm: (n, k) µs.
        thrust: (n, k) N; NaN where it was not recorded.
        targets: (n, 12) set-points, NaN: free.
        joints: (n, j) positions of the arm's joints, rad or m; j is 0 where none was recorded.
    """

    time: np.ndarray
    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    pwm: np.ndarray
    thrust: np.ndarray
    targets: np.ndarray
    joints: np.ndarray

    @property
    def rpy(self) -> np.ndarray:
        """(n, 3) roll, pitch, yaw, rad."""
        return np.asarray(rpy_from_quaternion(self.orientation))

    @property
    def map_velocity(self) -> np.ndarray:
        """(n, 3) over ground, m/s, map."""
        rotation = rotation_matrix(self.orientation)
        return np.asarray((rotation @ self.velocity[:, :3, None])[..., 0])

    @property
    def controlled_velocity(self) -> np.ndarray:
        """(n, 6) as set-points have it: ahead, to port, up in the level frame; body turn rates."""
        level = level_velocity(self.orientation, self.velocity)
        return np.column_stack([level, self.velocity[:, 3:]])


def from_trajectory(trajectory: Trajectory) -> Run:
    """Return a run of ``simulate``."""
    targets = trajectory.targets
    if targets is None:
        targets = np.full((len(trajectory.stamp), len(QUANTITIES)), np.nan)
    return Run(
        trajectory.time,
        trajectory.position,
        trajectory.orientation,
        trajectory.velocity,
        trajectory.pwm,
        trajectory.thrust,
        targets,
        trajectory.joints,
    )


def read_bag(folder: Path, namespace: str) -> Run:
    """Return a recorded run.

    Commands, thrusts, set-points and joints are those that hold at the stamp of each odom.

    Raises:
        RecordingError: not a bag, or a bag without the topics of a run.
    """
    wanted = {f'{namespace}/{t}': t for t in _NUMBERS}
    rows: dict[str, list[tuple[int, tuple[float, ...]]]] = {t: [] for t in wanted.values()}
    with opened(folder, str(folder)) as reader:
        connections = [c for c in reader.connections if c.topic in wanted]
        # No connections at all would mean every one.
        for connection, stamp, data in reader.messages(connections) if connections else ():
            message = reader.deserialize(data, connection.msgtype)
            topic = wanted[connection.topic]
            rows[topic].append((stamp, _NUMBERS[topic](message)))
    for topic in ('odom', 'thrusters/pwm'):
        if not rows[topic]:
            raise RecordingError(f'{folder}: has no {namespace}/{topic}; expected a recorded run')
    stamps, odom = _columns(rows['odom'])
    stamps, first = np.unique(stamps, return_index=True)
    odom = odom[first]
    commands = rows['thrusters/pwm']
    if len(commands) == len(stamps):
        # One for every odom, without a stamp of their own: the recorder may have heard one late.
        commands = [(int(s), c) for s, (_, c) in zip(stamps, commands, strict=True)]
    pwm = _held(commands, stamps)

    def known(topic: str, otherwise: np.ndarray) -> np.ndarray:
        return _held(rows[topic], stamps) if rows[topic] else otherwise

    n = len(stamps)
    return Run(
        time=stamps / NANOSECONDS,
        position=odom[:, :3],
        orientation=odom[:, 3:7],
        velocity=odom[:, 7:],
        pwm=pwm,
        thrust=known('thrusters/state', np.full_like(pwm, np.nan)),
        targets=known('controller/setpoints', np.full((n, len(QUANTITIES)), np.nan)),
        joints=known('joint_states', np.zeros((n, 0))),
    )


_NUMBERS: dict[str, Callable[[Any], tuple[float, ...]]] = {
    'odom': numbers_of('odom', 'nav_msgs/msg/Odometry'),
    'thrusters/pwm': lambda m: tuple(map(float, m.data)),
    'thrusters/state': lambda m: tuple(map(float, m.effort)),
    'controller/setpoints': lambda m: tuple(map(float, m.position)),
    'joint_states': lambda m: tuple(map(float, m.position)),
}


def _columns(rows: list[tuple[int, tuple[float, ...]]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([s for s, _ in rows]), np.array([v for _, v in rows], float)


def _held(rows: list[tuple[int, tuple[float, ...]]], stamp: np.ndarray) -> np.ndarray:
    """Return the newest row (k,) at each stamp; before the first, the first."""
    width = len(rows[0][1])
    at, values = _columns([r for r in rows if len(r[1]) == width])
    order = np.argsort(at, kind='stable')
    newest = np.searchsorted(at[order], stamp, side='right') - 1
    return np.asarray(values[order][np.maximum(newest, 0)])
