# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""How the vehicles of a bag moved: poses, joints and rotors at any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from marine_sim_ros.analysis.bags.reading import Bag, read
from marine_sim_ros.analysis.bags.vehicle import Channel, VehicleRecord
from marine_sim_ros.core.errors import RecordingError
from marine_sim_ros.core.spatial import normalized
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.core.state import State
from marine_sim_ros.model.vehicle import ThrusterSet

__all__ = ['Motion', 'read_motion']

_UNIT = 0.1
"""Of a quaternion's length from 1, at most."""
_JOINT = '_position'
"""What ends the labels of joints."""
_THRUST, _SPEED = '_thrust_N', '_rotor_rad_s'
"""What ends those of thrusters."""
_SAME = 1e-6
"""s; stamps so near are the same one: those of pictures are sums of a period."""


@dataclass
class Motion:
    """Recorded poses, joints and rotors of a vehicle; stamps (n,) in s, each in order."""

    _poses: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    _joints: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    _rotors: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    _names: tuple[str, ...] = ()
    _labels: tuple[str, ...] = ()
    stamps: np.ndarray = field(default_factory=lambda: np.zeros(0))
    poses: np.ndarray = field(default_factory=lambda: np.zeros((0, 7)))

    def __call__(
        self, channel: Channel, stamps: np.ndarray, receipts: np.ndarray, rows: np.ndarray
    ) -> None:
        """Take rows of a bag as they come."""
        del receipts
        if channel.role == 'odom':
            # False for NaN too: such a message has no attitude.
            unit = np.abs(np.linalg.norm(rows[:, 3:7], axis=1) - 1) < _UNIT
            good = unit & np.all(np.isfinite(rows[:, :3]), axis=1)
            self._poses.append((stamps[good] / NANOSECONDS, rows[good, :7]))
        elif channel.role == 'joints':
            self._names = tuple(label.removesuffix(_JOINT) for label in channel.labels)
            self._joints.append((stamps / NANOSECONDS, rows))
        elif channel.role == 'thrust':
            self._labels = tuple(channel.labels)
            self._rotors.append((stamps / NANOSECONDS, rows))

    def finish(self) -> None:
        """Put what was taken in order."""
        if self._poses:
            self.stamps, self.poses = _in_order(self._poses)
        self._joints = [_in_order(self._joints)] if self._joints else []
        self._rotors = [_in_order(self._rotors)] if self._rotors else []

    def state(self, time: float) -> State:
        """Return place and attitude at a stamp in s, between the two next to it; at rest."""
        last = len(self.stamps) - 1
        i = int(np.clip(np.searchsorted(self.stamps, time, side='right') - 1, 0, max(last - 1, 0)))
        a, b = self.poses[i], self.poses[min(i + 1, last)]
        span = self.stamps[min(i + 1, last)] - self.stamps[i]
        share = float(np.clip((time - self.stamps[i]) / span, 0.0, 1.0)) if span > 0 else 0.0
        other = b[3:] if a[3:] @ b[3:] >= 0 else -b[3:]
        turn = normalized((1 - share) * a[3:] + share * other)
        return State(a[:3] + share * (b[:3] - a[:3]), np.asarray(turn), np.zeros(6))

    def joints(self, time: float) -> dict[str, float]:
        """Return the newest positions of the joints at a stamp in s, rad or m."""
        if not self._joints:
            return {}
        found = zip(self._names, _newest(*self._joints[0], time).tolist(), strict=True)
        return {name: value for name, value in found if np.isfinite(value)}

    def rotors(self, time: float, thrusters: ThrusterSet) -> np.ndarray | None:
        """Return the newest speeds (n,) of rotors at a stamp in s, rad/s; None: none is recorded.

        A speed that is not recorded is that of the thrust; of a thruster that is not, it is 0.
        """
        if not self._rotors:
            return None
        values = _newest(*self._rotors[0], time).tolist()
        known = dict(zip(self._labels, values, strict=True))
        thrust, speed = (
            np.array([known.get(f'{name}{end}', np.nan) for name in thrusters.names])
            for end in (_THRUST, _SPEED)
        )
        bollard = np.asarray(thrusters.speed_of_thrust(np.nan_to_num(thrust)))
        return np.where(np.isfinite(speed), speed, bollard)

    def column(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return stamps (m,) in s, and the values (m,) there of one of the joints' names."""
        if not self._joints or name not in self._names:
            return np.zeros(0), np.zeros(0)
        stamps, rows = self._joints[0]
        values = rows[:, self._names.index(name)]
        known = np.isfinite(values)
        return stamps[known], values[known]


def _newest(stamps: np.ndarray, rows: np.ndarray, time: float) -> np.ndarray:
    """Return the newest row at a stamp in s; the first one before it."""
    return np.asarray(rows[max(int(np.searchsorted(stamps, time + _SAME, side='right')) - 1, 0)])


def _in_order(blocks: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    stamps = np.concatenate([block[0] for block in blocks])
    order = np.argsort(stamps, kind='stable')
    return stamps[order], np.concatenate([block[1] for block in blocks])[order]


def read_motion(text: str, maps: Mapping[str, str]) -> tuple[Bag, dict[str, Motion]]:
    """Return a bag and how its vehicles moved, by namespace.

    Args:
        text: path of a bag, of a recording's folder, or of a file.
        maps: theirs -> ours, as ``parse_maps`` gives it.

    Raises:
        RecordingError: it cannot be read, or no vehicle has an odometry.
    """
    motions: dict[str, Motion] = {}

    def sink(record: VehicleRecord) -> Motion:
        return motions.setdefault(record.name, Motion())

    bag = read(text, maps=maps, rows=sink)
    for motion in motions.values():
        motion.finish()
    found = {name: motion for name, motion in motions.items() if len(motion.stamps)}
    if not found:
        raise RecordingError(f'{text}: has no odom; expected a recorded run, or --map odom:=TOPIC')
    return bag, found
