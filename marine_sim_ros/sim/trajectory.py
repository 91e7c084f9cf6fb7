# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Trajectory of a run: the state of every tick, and a hash of its bytes."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.sensors.series import SensorRecord
from marine_sim_ros.sim.scenario import Scenario, end_of_ticks

__all__ = [
    'MotionSummary',
    'Outcome',
    'Trajectory',
    'TrajectoryHash',
    'end_text',
    'motion_text',
    'trajectory_hash',
]

_BLOCK_ROWS = 10_000
"""Ticks that are hashed at a time."""


class TrajectoryHash:
    """SHA-256 over the little-endian float64 of (t, p, q, v, ω) of every tick: 14 numbers each."""

    def __init__(self) -> None:
        """Start with no ticks."""
        self._hash = hashlib.sha256()
        self.ticks = 0

    def add(self, stamp: int, pose: tuple[float, ...], velocity: tuple[float, ...]) -> None:
        """Add a tick: stamp in ns, seven numbers of the pose, six of the body velocity."""
        self._hash.update(struct.pack('<14d', stamp / NANOSECONDS, *pose, *velocity))
        self.ticks += 1

    def add_ticks(self, stamps: np.ndarray, states: State) -> None:
        """Add ticks at once: stamps (n,) in ns, states (n, ...)."""
        for i in range(0, len(stamps), _BLOCK_ROWS):
            part = slice(i, i + _BLOCK_ROWS)
            rows = np.column_stack([stamps[part] / NANOSECONDS, *(x[part] for x in states)])
            self._hash.update(rows.astype('<f8').tobytes())
        self.ticks += len(stamps)

    def hexdigest(self) -> str:
        """Return the hash of the ticks so far."""
        return self._hash.hexdigest()


def trajectory_hash(stamps: np.ndarray, states: State) -> str:
    """Return the :class:`TrajectoryHash` of ticks at once: stamps (n,) in ns, states (n, ...)."""
    digest = TrajectoryHash()
    digest.add_ticks(stamps, states)
    return digest.hexdigest()


class MotionSummary:
    """Range of depths, greatest speed and last position of ticks."""

    def __init__(self) -> None:
        """Start with no ticks."""
        self._heights = (math.inf, -math.inf)
        self._speed = 0.0
        self._position: list[float] = [math.nan] * 3

    def add(self, pose: tuple[float, ...], velocity: tuple[float, ...]) -> None:
        """Add a tick: pose (7), body velocity (6)."""
        self._extend(pose[2], pose[2], math.hypot(*velocity[:3]), pose[:3])

    def add_ticks(self, states: State) -> None:
        """Add ticks at once: states (n, ...)."""
        if not len(states.position):
            return
        heights, linear = states.position[:, 2], states.velocity[:, :3]
        speed = math.sqrt(np.einsum('ij,ij->i', linear, linear).max())
        self._extend(float(heights.min()), float(heights.max()), speed, states.position[-1])

    def _extend(self, low: float, high: float, speed: float, position: Any) -> None:
        self._heights = min(self._heights[0], low), max(self._heights[1], high)
        self._speed = max(self._speed, speed)
        self._position = [float(x) for x in position]

    def content(self) -> dict[str, Any]:
        """Return the entries of a manifest: m in the map, m/s."""
        low, high = self._heights
        return {
            'depths_m': [-high, -low],
            'greatest_speed_m_s': self._speed,
            'last_position_m': self._position,
        }


def motion_text(content: Mapping[str, Any]) -> str:
    """Return the entries of :meth:`MotionSummary.content` in words, for who has seen nothing."""
    shallow, deep = content['depths_m']
    return (
        f'depth {shallow + 0.0:.2f} to {deep + 0.0:.2f} m, speed up to '
        f'{content["greatest_speed_m_s"]:.2f} m/s; {end_text(content["last_position_m"])}'
    )


def end_text(position: Sequence[float]) -> str:
    """Return the last position of a run (map, m) in words."""
    east, north, up = (round(x, 1) + 0.0 for x in position)
    return f'at the end east {east:.1f}, north {north:.1f}, up {up:.1f} m'


class Outcome:
    """Outcome of a run in bounded memory: verdicts, hash, motion and duration.

    Attributes:
        span: time from the first tick to the last, s.
        motion: summary of the motion.
        beyond_data: warning that the vehicle left the data of the water, or empty.
    """

    def __init__(self, scenario: Scenario, environment: Environment | None = None) -> None:
        """Start with no ticks of a scenario."""
        self._environment, self.beyond_data = environment, ''
        self._scenario = scenario
        self._hash = TrajectoryHash()
        self.motion = MotionSummary()
        empty = np.empty(0)
        self._depths = scenario.depth_ranges(empty, empty)
        self._first = self.span = 0.0
        self._newest = empty

    def add(self, stamps: np.ndarray, states: State) -> None:
        """Add ticks: their stamps (n,) in ns, and their states (n, ...)."""
        time = stamps / NANOSECONDS
        if not self.ticks:
            self._first = float(time[0])
        self.span = float(time[-1]) - self._first
        self._newest = np.concatenate([self._newest, time[-2:]])[-2:]
        self._hash.add_ticks(stamps, states)
        self.motion.add_ticks(states)
        if self._environment is not None and not self.beyond_data:
            self.beyond_data = self._environment.beyond_data(states.position, time)
        ranges = self._scenario.depth_ranges(time, states.position[:, 2])
        shallowest = np.minimum(self._depths[:, 0], ranges[:, 0])
        self._depths = np.column_stack([shallowest, np.maximum(self._depths[:, 1], ranges[:, 1])])

    @property
    def ticks(self) -> int:
        """Number of ticks."""
        return self._hash.ticks

    @property
    def verdicts(self) -> list[tuple[bool, str]]:
        """For each expectation whether it is met, and a message."""
        return self._scenario.verdicts_of(self._depths, end_of_ticks(self._newest))

    @property
    def sha256(self) -> str:
        """Hash over all ticks."""
        return self._hash.hexdigest()


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Arrays over n ticks.

    Attributes:
        stamp: (n,) simulation time, ns.
        position: (n, 3) m, map.
        orientation: (n, 4) x, y, z, w.
        velocity: (n, 6) body, m/s and rad/s.
        pwm: (n, k) µs, the command at each tick.
        thrust: (n, k) N.
        wrench: (n, 6) total, weight included.
        sources: name -> (n, 6).
        sensors: readings (m, ...) by quantity with their stamps, noise included, by the sensor's
            name; m is n for a sensor without a rate.
        sha256: hash over all ticks; for a part of a run, over this and all previous parts.
        actuators: (n, ...) states by the name of the actuator, as
            :attr:`~marine_sim_ros.sim.step.StepOutput.actuators`.
        commands: (n, k) of the steered actuators, by name; those of a compiled run are missing.
        power: (n, k) electrical power of the thrusters, W; None: not recorded.
        targets: (n, 12) as ``SETPOINT_QUANTITIES``, NaN where free; None: the run
            has none.
        cable: (n, m, 3) points along the tether, from the vehicle, map, m; None: there is none.
        tension: (n, 2) its pull on the vehicle and on the anchor, N.
        bodies: states (n, ...) of the free bodies, by namespace.
        body_joints: names and positions (n, k) of the joints of each, by namespace.
        body_cables: (n, m, 3) points along the tethers of bodies, map, m, by namespace.
        reports: stamp, ns, and text of what the pilot reported at these ticks.
    """

    stamp: np.ndarray
    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    pwm: np.ndarray
    thrust: np.ndarray
    wrench: np.ndarray
    sources: dict[str, np.ndarray]
    sensors: SensorRecord
    sha256: str
    actuators: Mapping[str, np.ndarray]
    commands: Mapping[str, np.ndarray] = field(default_factory=dict)
    targets: np.ndarray | None = None
    power: np.ndarray | None = None
    cable: np.ndarray | None = None
    tension: np.ndarray | None = None
    bodies: Mapping[str, State] = field(default_factory=dict)
    body_joints: Mapping[str, tuple[list[str], np.ndarray]] = field(default_factory=dict)
    body_cables: Mapping[str, np.ndarray] = field(default_factory=dict)
    reports: tuple[tuple[int, str], ...] = ()

    @property
    def states(self) -> State:
        """States (n, ...)."""
        return State(self.position, self.orientation, self.velocity)

    @property
    def pressure(self) -> np.ndarray:
        """(n,) readings of the sensor named barometer, Pa; NaN at ticks without one."""
        result = np.full(len(self.stamp), np.nan)
        readings = self.sensors.get('barometer')
        if readings is not None and 'pressure' in readings:
            result[np.searchsorted(self.stamp, readings.stamp)] = readings['pressure']
        return result

    @property
    def time(self) -> np.ndarray:
        """(n,) simulation time, s."""
        return self.stamp / NANOSECONDS

    @property
    def z(self) -> np.ndarray:
        """(n,) height in map, m."""
        return self.position[:, 2]
