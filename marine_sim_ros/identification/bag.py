# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Takes what a fit needs from a bag: every odometry and every command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from marine_sim_ros.analysis.bags.vehicle import Channel, VehicleRecord
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.identification.odometry_frames import check_frames, check_stamps
from marine_sim_ros.identification.samples import Samples, make_samples
from marine_sim_ros.identification.thrust import (
    Angles,
    Commands,
    commands_of_pwm,
    commands_of_thrust,
)
from marine_sim_ros.model.azimuths import AzimuthSet
from marine_sim_ros.model.fins import FinSet
from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['Collector', 'odometry_of', 'samples_of']

_WANTED = ('odom', 'thrusters/pwm', 'thrusters/state', 'fins/state', 'azimuths/state')
_PRESSURE = 'pressure'
"""Role of the topics of pressure, one for each barometer."""


class Collector:
    """Keeps every row of a vehicle's motion and thrust; it is a ``Rows``."""

    def __init__(self, record: VehicleRecord) -> None:
        """Start with nothing.

        Args:
            record: record of the vehicle, the source of the rows.
        """
        self.record = record
        self._parts: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}

    def __call__(
        self, channel: Channel, stamps: np.ndarray, receipts: np.ndarray, rows: np.ndarray
    ) -> None:
        """Take rows (n, k) of a channel with their stamps (n,) in ns."""
        if channel.name in _WANTED or channel.role == _PRESSURE:
            self._parts.setdefault(channel.name, []).append((stamps, rows))

    def get(self, name: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Return stamps (n,) in ns and rows (n, k) of a topic; None where there are none."""
        parts = self._parts.get(name)
        if not parts:
            return None
        return np.concatenate([s for s, _ in parts]), np.concatenate([r for _, r in parts])

    def pressure(self, first: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return times (k,), s after a stamp (ns), and pressures (k,), Pa; None: not recorded."""
        name = next((n for n in self._parts if n not in _WANTED), None)
        found = None if name is None else self.get(name)
        if found is None:
            return None
        stamps, rows = found
        return (stamps - first) / NANOSECONDS, rows[:, 0]


def odometry_of(collector: Collector) -> tuple[int, np.ndarray, np.ndarray] | None:
    """Return the first stamp, ns, and times (m,), s since then, and rows (m, 13) of ``odom``.

    Raises:
        ParameterError: stamps in another unit, or axes that are not those of REP 103.
    """
    odom = collector.get('odom')
    if odom is None:
        return None
    stamps, rows = odom
    first = int(stamps.min())
    time = (stamps - first) / NANOSECONDS
    check_stamps(time)
    check_frames(time, rows, collector.pressure(first))
    return first, time, rows


def samples_of(
    collector: Collector,
    vehicle: Vehicle,
    *,
    current: tuple[float, float, float],
    span: Sequence[float | None],
) -> Samples:
    """Return a run on an even grid, its first odometry at time 0.

    Thrust is that of the pulse widths; of a bag without them, that of ``thrusters/state``.

    Args:
        collector: collector of the bag.
        vehicle: the vehicle that made the bag.
        current: velocity of the water in ``map``, m/s.
        span: begin and end of the used part, s since the first odometry; None: the whole run.

    Raises:
        ParameterError: no odometry, no thrust, or nothing within the span.
    """
    odom = odometry_of(collector)
    if odom is None:
        raise ParameterError('the bag has no odom; expected nav_msgs/Odometry, or --map odom:=...')
    first, time, rows = odom
    low, high = span
    inside = (time >= (-np.inf if low is None else low)) & (
        time <= (np.inf if high is None else high)
    )
    if not inside.any():
        raise ParameterError(
            f'no odometry between {low or 0:g} and {high or np.inf:g} s; '
            f'expected times within the {time.max():g} s of the bag'
        )
    return make_samples(
        vehicle, time[inside], rows[inside], _commands(collector, vehicle, first), current
    )


def _commands(collector: Collector, vehicle: Vehicle, first: int) -> Commands:
    pwm, state = collector.get('thrusters/pwm'), collector.get('thrusters/state')
    if pwm is not None:
        stamps, rows = pwm
        made = commands_of_pwm((stamps - first) / NANOSECONDS, rows, vehicle.thrusters)
    elif state is not None:
        stamps, rows = state
        made = commands_of_thrust((stamps - first) / NANOSECONDS, rows, vehicle.thrusters)
    else:
        raise ParameterError(
            'the bag has neither thrusters/pwm nor thrusters/state; expected one of them, '
            'or --map thrusters/pwm:=...'
        )
    return replace(
        made,
        azimuths=_angles(collector, 'azimuths/state', vehicle.thrusters.azimuths, first),
        fins=_angles(collector, 'fins/state', vehicle.fins, first),
    )


def _angles(
    collector: Collector, name: str, described: AzimuthSet | FinSet | None, first: int
) -> Angles | None:
    """Return recorded angles; None where there are none.

    Raises:
        ParameterError: of another number of joints.
    """
    found = collector.get(name)
    if found is None or described is None:
        return None
    stamps, rows = found
    if rows.shape[1] != len(described):
        raise ParameterError(f'{name} has {rows.shape[1]} angles; expected {len(described)}')
    order = np.argsort(stamps, kind='stable')
    return Angles((stamps[order] - first) / NANOSECONDS, rows[order])
