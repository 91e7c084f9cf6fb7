# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A recorded motion with its pulse widths, from whatever file it came."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import to_body, up_in_body
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.identification.bag import Collector, odometry_of

__all__ = ['Recording', 'checked', 'recording_of_bag']

_TICK = 0.05
"""s; a recording with more samples is thinned to this."""
_OFF = 0.8
"""1/s; an attitude that changes otherwise than the angular velocity says is an outlier beyond."""
_LEAST = 20


@dataclass(frozen=True, eq=False)
class Recording:
    """n samples of a motion.

    Attributes:
        name: display name.
        time: (n,) rising, s.
        orientation: (n, 4) body FLU to map ENU; the heading counts for nothing.
        velocity: (n, 6) through the water, body FLU, m/s and rad/s.
        pwm: (n, k) pulse widths of the thrusters, µs; (n, m, k) of m times each.
        held: whether a pulse width holds until the next; else they were interpolated.
        edges: (n, m) times of ``pwm``; None where it is that of the samples.
    """

    name: str
    time: np.ndarray
    orientation: np.ndarray
    velocity: np.ndarray
    pwm: np.ndarray
    held: bool = True
    edges: np.ndarray | None = None

    def __len__(self) -> int:
        """Return n."""
        return len(self.time)

    @property
    def sent(self) -> np.ndarray:
        """(n,) or (n, m) times of the pulse widths, s."""
        return self.time if self.edges is None else self.edges

    @property
    def up(self) -> np.ndarray:
        """(n, 3) the upward direction in the body: all of an attitude that forces depend on."""
        return np.asarray(up_in_body(self.orientation))

    @property
    def trusted(self) -> np.ndarray:
        """(n,) whether the attitude changes as the angular velocity says: d up/dt = −ω x up."""
        rate = np.gradient(self.up, self.time, axis=0)
        expected = -np.cross(self.velocity[:, 3:], self.up)
        return np.asarray(np.abs(rate - expected).max(axis=1) < _OFF)


def checked(recording: Recording) -> Recording:
    """Return a recording without samples that cannot be used, thinned where it is dense.

    Raises:
        ParameterError: too little is left.
    """
    parts = (recording.time, recording.orientation, recording.velocity, recording.pwm)
    finite = np.all(
        [np.isfinite(p).reshape(len(recording), -1).all(axis=1) for p in parts], axis=0
    )
    rows = np.flatnonzero(finite & (np.diff(recording.time, prepend=-np.inf) > 0))
    if len(rows) < _LEAST:
        raise ParameterError(
            f'{recording.name}: {len(rows)} of {len(recording)} samples have rising time, '
            f'attitude, velocity and pulse widths; expected {_LEAST} or more'
        )
    tick = float(np.median(np.diff(recording.time[rows])))
    rows = rows[:: max(1, round(_TICK / tick))]
    time, orientation, velocity, pwm = (p[rows] for p in parts)
    edges = None if recording.edges is None else recording.edges[rows]
    return Recording(recording.name, time, orientation, velocity, pwm, recording.held, edges)


def recording_of_bag(
    collector: Collector, name: str, current: tuple[float, float, float]
) -> Recording:
    """Return what a bag has in ``odom`` and ``thrusters/pwm``.

    Args:
        collector: collector of the bag.
        name: display name.
        current: velocity of the water in ``map``, m/s; taken off.

    Raises:
        ParameterError: one of them is missing, or too short.
    """
    odom, sent = odometry_of(collector), collector.get('thrusters/pwm')
    if odom is None or sent is None:
        raise ParameterError(
            f'{name}: has no {"odom" if odom is None else "thrusters/pwm"}; expected both'
        )
    first, time, moved = odom
    order = np.argsort(time, kind='stable')
    at, pwm = (sent[0] - first) / NANOSECONDS, sent[1]
    # A pulse width holds until the next: that of the message before.
    held = np.clip(np.searchsorted(at, time[order], side='right') - 1, 0, len(at) - 1)
    orientation = moved[order, 3:7]
    drift = np.asarray(to_body(orientation, np.broadcast_to(current, (len(orientation), 3))))
    velocity = np.column_stack([moved[order, 7:10] - drift, moved[order, 10:13]])
    return checked(Recording(name, time[order], orientation, velocity, pwm[held]))
