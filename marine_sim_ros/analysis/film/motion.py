# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""How the vehicles of a bag moved: poses and joints at any time."""

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

__all__ = ['Motion', 'read_motion']

_UNIT = 0.1
"""Of a quaternion's length from 1, at most."""
_JOINT = '_position'
"""What ends the labels of joints."""


@dataclass
class Motion:
    """Recorded poses and joints of a vehicle; stamps (n,) in s, each in order."""

    _poses: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    _joints: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    _names: tuple[str, ...] = ()
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

    def finish(self) -> None:
        """Put what was taken in order."""
        if self._poses:
            self.stamps, self.poses = _in_order(self._poses)
        self._joints = [_in_order(self._joints)] if self._joints else []

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
        stamps, rows = self._joints[0]
        row = rows[max(int(np.searchsorted(stamps, time, side='right')) - 1, 0)]
        found = zip(self._names, row.tolist(), strict=True)
        return {name: value for name, value in found if np.isfinite(value)}


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
