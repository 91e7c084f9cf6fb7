# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""States of a run for a mission's score: of a recorded run, or collected from live messages."""

from __future__ import annotations

import json
import math
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.model.body_joints import body_topic, joint_topic

__all__ = [
    'LOADS',
    'MissionInputs',
    'MissionLog',
    'MissionStates',
    'durations',
    'parse_report',
    'report_event',
]

LOADS = ('contact', 'tether')
"""Forces used by penalties."""


@dataclass(frozen=True)
class MissionInputs:
    """Quantities beside motion and loads that the score of a mission depends on.

    Attributes:
        joints: names of the joints between bodies, by their child body.
        bodies: names of the free bodies whose positions count.
        thrusters: number of thrusters whose thrusts count; 0: they do not.
        reports: whether what the pilot reports counts.
    """

    joints: Mapping[str, Sequence[str]] = field(default_factory=dict)
    bodies: tuple[str, ...] = ()
    thrusters: int = 0
    reports: bool = False


@dataclass(frozen=True, eq=False)
class MissionStates:
    """States of a run over n ticks, the complete input of a score.

    Attributes:
        time: (n,) s.
        position: (n, 3) m, map.
        orientation: (n, 4) x, y, z, w.
        velocity: (n, 6) body, m/s and rad/s.
        loads: wrenches (n, 6) in the body frame by force, N and N m: ``contact`` and ``tether``,
            if present.
        joints: positions (n,) of joints between bodies by name, rad or m; 0 of a closed joint that
            does not move, NaN of an open or broken one.
        bodies: positions (n, 3) of free bodies by name, map, m.
        thrust: (n, k) thrusts, N; None: they do not count.
        reports: time, s, and text of what the pilot reported.
    """

    time: np.ndarray
    position: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    loads: Mapping[str, np.ndarray] = field(default_factory=dict)
    joints: Mapping[str, np.ndarray] = field(default_factory=dict)
    bodies: Mapping[str, np.ndarray] = field(default_factory=dict)
    thrust: np.ndarray | None = None
    reports: tuple[tuple[float, str], ...] = ()

    def part(self, first: int, end: int) -> MissionStates:
        """Return the ticks from ``first`` until before ``end``; all reports."""
        ticks = slice(first, end)
        return MissionStates(
            self.time[ticks],
            self.position[ticks],
            self.orientation[ticks],
            self.velocity[ticks],
            {name: rows[ticks] for name, rows in self.loads.items()},
            {name: rows[ticks] for name, rows in self.joints.items()},
            {name: rows[ticks] for name, rows in self.bodies.items()},
            None if self.thrust is None else self.thrust[ticks],
            self.reports,
        )

    def with_last_held(self) -> MissionStates:
        """Return the run with joints, bodies and thrusts of its last tick as at the tick before.

        In a live run those of the newest tick have not arrived.
        """
        if len(self.time) < 2:
            return self

        def hold(rows: np.ndarray) -> np.ndarray:
            return np.concatenate([rows[:-1], rows[-2:-1]])

        return replace(
            self,
            joints={name: hold(rows) for name, rows in self.joints.items()},
            bodies={name: hold(rows) for name, rows in self.bodies.items()},
            thrust=None if self.thrust is None else hold(self.thrust),
        )

    @property
    def rotation(self) -> np.ndarray:
        """(n, 3, 3) from the body frame to map."""
        return np.asarray(rotation_matrix(self.orientation))


def durations(time: np.ndarray) -> np.ndarray:
    """Return the time (n,) from each tick to the next, s; 0 for the last."""
    return np.append(np.diff(time), 0.0)


def report_event(time: float, target: str) -> str:
    """Return a pilot's report at a time, s, as an event of ``console/events``; JSON."""
    return json.dumps({'time': time, 'by': 'pilot', 'kind': 'report', 'text': target})


def parse_report(text: str) -> tuple[float, str] | None:
    """Return time, s, and target of an event of ``console/events``; None: it is no report."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get('kind') != 'report':
        return None
    time, target = found.get('time'), found.get('text')
    if isinstance(time, bool) or not isinstance(time, (int, float)) or not isinstance(target, str):
        return None
    return (float(time), target) if math.isfinite(time) else None


class _Rows:
    """Growing table of numbers by stamp, ns, in the order of time."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.stamps, self._numbers = array('q'), array('d')

    def append(self, stamp: int, numbers: Sequence[float]) -> None:
        if self.stamps and stamp <= self.stamps[-1]:  # the run was reset
            first_replaced = bisect_left(self.stamps, stamp)
            del self.stamps[first_replaced:], self._numbers[first_replaced * self.width :]
        self.stamps.append(stamp)
        self._numbers.extend(numbers[: self.width])

    def table(self, count: int) -> np.ndarray:
        """Return the first rows (count, width); zeros for rows that have not arrived."""
        result = np.zeros((count, self.width))
        values = np.array(self._numbers[: count * self.width]).reshape(-1, self.width)
        result[: len(values)] = values
        return result


class MissionLog:
    """States of a live run, collected from the messages of its ticks.

    A tick is complete when its state, and the loads and joints of all earlier ticks have arrived,
    in any order of topics. Those of the newest tick do not enter a score.
    """

    def __init__(self, loads: Iterable[str], inputs: MissionInputs | None = None) -> None:
        """Start without ticks.

        Args:
            loads: forces of the run, of which LOADS are stored.
            inputs: what counts beside them.
        """
        inputs = inputs or MissionInputs()
        self._states = _Rows(13)
        self._loads = {name: _Rows(6) for name in LOADS if name in loads}
        self._joint_names = inputs.joints
        self._joints = {body: _Rows(len(names)) for body, names in inputs.joints.items()}
        self._bodies = {body: _Rows(3) for body in inputs.bodies}
        self._thrust = _Rows(inputs.thrusters) if inputs.thrusters else None
        self._reports: list[tuple[float, str]] = []

    def take_state(self, stamp: int, numbers: Sequence[float]) -> None:
        """Add pose and velocity (13,) at a stamp, ns."""
        self._states.append(stamp, numbers)

    def take_load(self, name: str, stamp: int, numbers: Sequence[float]) -> None:
        """Add the wrench (6,) of a force at a stamp, ns."""
        self._loads[name].append(stamp, numbers)

    def take_joints(self, body: str, stamp: int, positions: Sequence[float]) -> None:
        """Add the positions of the joints of a body at a stamp, ns."""
        self._joints[body].append(stamp, positions)

    def take_body(self, body: str, stamp: int, position: Sequence[float]) -> None:
        """Add the position (3,) of a free body at a stamp, ns."""
        self._bodies[body].append(stamp, position)

    def take_thrust(self, stamp: int, thrust: Sequence[float]) -> None:
        """Add the thrusts (k,) at a stamp, ns."""
        assert self._thrust is not None
        self._thrust.append(stamp, thrust)

    def take_report(self, time: float, text: str) -> None:
        """Add what the pilot reported at a time, s."""
        self._reports.append((time, text))

    @property
    def newest(self) -> int:
        """Stamp of the newest state, ns; −1 before the first."""
        return self._states.stamps[-1] if self._states.stamps else -1

    def stamp(self, tick: int) -> int:
        """Return the stamp of a tick, ns."""
        return self._states.stamps[tick]

    @property
    def ticks(self) -> int:
        """Number of complete ticks."""
        counts = [len(rows.stamps) + 1 for rows in self._answers().values()]
        return min([len(self._states.stamps), *counts])

    def _answers(self) -> dict[str, _Rows]:
        """Return the rows of the messages that answer a state, by topic."""
        thrust = {} if self._thrust is None else {'thrusters/state': self._thrust}
        return (
            {f'wrench/{name}': rows for name, rows in self._loads.items()}
            | {joint_topic(body): rows for body, rows in self._joints.items()}
            | {body_topic(body): rows for body, rows in self._bodies.items()}
            | thrust
        )

    def states(self) -> MissionStates:
        """Return the complete ticks.

        Raises:
            RecordingError: a message of a tick was lost; a score without it would be wrong.
        """
        count = self.ticks
        stamps = np.array(self._states.stamps[:count], dtype=np.int64)
        for topic, rows in self._answers().items():
            missing = stamps[:-1] != np.array(rows.stamps[: max(count - 1, 0)], dtype=np.int64)
            if missing.any():
                missing_time = stamps[int(np.argmax(missing))] / NANOSECONDS
                raise RecordingError(
                    f'{topic} at {missing_time:g} s was lost; expected every tick'
                )
        if len(steps := np.diff(stamps)) and steps.max() > steps.min():
            missing_time = stamps[int(np.argmax(steps))] / NANOSECONDS
            raise RecordingError(f'odom after {missing_time:g} s was lost; expected every tick')
        state = self._states.table(count)
        loads = {name: rows.table(count) for name, rows in self._loads.items()}
        joints = {
            name: column
            for body, names in self._joint_names.items()
            for name, column in zip(names, self._joints[body].table(count).T, strict=True)
        }
        return MissionStates(
            stamps / NANOSECONDS,
            state[:, :3],
            state[:, 3:7],
            state[:, 7:13],
            loads,
            joints,
            {body: rows.table(count) for body, rows in self._bodies.items()},
            None if self._thrust is None else self._thrust.table(count),
            tuple(self._reports),
        )
