# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The pulse widths of a bag or log as a scenario: the model does what the vehicle was told."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.identification.bag import Collector, odometry_of
from marine_sim_ros.identification.thrust import pulses_of
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.thrusters import PWM_NEUTRAL
from marine_sim_ros.sim.scenario import Scenario, Segment

__all__ = ['recorded_scenario']

_STICKS = (0.0,) * 6
_UNUSED = ('fins/state', 'azimuths/state')


def recorded_scenario(
    collector: Collector, name: str, vehicle: Vehicle, suggestion: str = ''
) -> tuple[Scenario, list[str]]:
    """Return a scenario that sends a recording's pulse widths, and notes on what it leaves out.

    It begins at the first odometry, with its position, attitude and velocity; what is not known
    of them is 0. A pulse width holds until the next one.

    Args:
        collector: collector of the bag, already filled.
        name: display name of the bag.
        vehicle: the vehicle that shall do the same.
        suggestion: topics of the bag that may be meant, where one is missing.

    Raises:
        ParameterError: no pulse widths, or fewer than the vehicle has thrusters.
    """
    sent, odom = collector.get('thrusters/pwm'), odometry_of(collector)
    if sent is None:
        raise ParameterError(
            f'{name}: has no thrusters/pwm to replay; expected it, or a topic that means it, of: '
            f'{suggestion or "none here"}'
        )
    stamps, rows = sent
    order = np.argsort(stamps, kind='stable')
    pulses = pulses_of(rows[order], vehicle.thrusters)
    first = int(stamps.min()) if odom is None else odom[0]
    time = (stamps[order] - first) / NANOSECONDS
    end = float(time[-1] if odom is None else max(time[-1], odom[1].max()))
    notes = [f'{topic} is not replayed' for topic in _UNUSED if collector.get(topic) is not None]
    start = _start(None if odom is None else odom[2][int(odom[1].argmin())], notes)
    if odom is None and suggestion:
        notes.append(f'its motion may be among: {suggestion}')
    position, rpy, velocity = start
    return (
        Scenario(
            name=name,
            description=f'pulse widths of {name}',
            duration=end,
            position=position,
            rpy=rpy,
            velocity=velocity,
            segments=_segments(time, pulses),
            expectations=(),
        ),
        notes,
    )


def _segments(time: np.ndarray, pulses: np.ndarray) -> tuple[Segment, ...]:
    """Return a segment for each change; before the first, or from 0 on, the thrusters rest."""
    begun = np.searchsorted(time, 0.0, side='right') - 1
    if begun >= 0:  # what was sent last before the start holds there
        time, pulses = time[begun:].copy(), pulses[begun:]
        time[0] = 0.0
    changed = np.concatenate([[True], np.any(pulses[1:] != pulses[:-1], axis=1)])
    found = [
        Segment(float(at), _STICKS, None, tuple(map(float, row)))
        for at, row in zip(time[changed], pulses[changed], strict=True)
    ]
    if found[0].start > 0.0:
        found.insert(0, Segment(0.0, _STICKS, None, (float(PWM_NEUTRAL),) * pulses.shape[1]))
    return tuple(found)


def _start(
    row: np.ndarray | None, notes: list[str]
) -> tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, ...]]:
    """Return position, roll, pitch and yaw, and velocity of an odometry; 0 where unknown."""
    if row is None:
        notes.append('there is no odom: the model begins at rest at the surface')
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0,) * 6
    known = np.isfinite(row)
    parts = {'position': slice(0, 3), 'attitude': slice(3, 7), 'velocity': slice(7, 13)}
    missing = [name for name, part in parts.items() if not known[part].all()]
    if missing:
        notes.append(f'odom does not tell all of {", ".join(missing)}: 0 where it does not')
    filled = np.where(known, row, 0.0)
    turned = known[3:7].all() and abs(float(np.linalg.norm(row[3:7])) - 1) < 0.1
    rpy = rpy_from_quaternion(row[3:7]) if turned else np.zeros(3)
    x, y, z = map(float, filled[:3])
    roll, pitch, yaw = map(float, rpy)
    return (x, y, z), (roll, pitch, yaw), tuple(map(float, filled[7:13]))
