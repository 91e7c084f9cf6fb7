# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Adds a sensor of another simulator to a vehicle, if ours can have its numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from marine_sim_ros.core.numbers import numbers_of
from marine_sim_ros.core.registry import SENSORS
from marine_sim_ros.core.spatial import matrix_quaternion
from marine_sim_ros.importers.description import Sensor, Sourced
from marine_sim_ros.importers.draft import Draft, origin_of
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.sdf.poses import Pose

__all__ = ['IDEAL_DVL', 'IDEAL_RANGE', 'add_sensor', 'turned']

_PICTURES = ('camera', 'imaging_sonar')
_FASTEST = 1e5
IDEAL_DVL = (
    'velocity_noise',
    'velocity_noise_rate',
    'scale_error',
    'range_noise',
    'dropout',
    'heading_drift',
)
"""Errors of our DVL that other simulators do not have."""
IDEAL_RANGE = ('resolution', 'range_noise')
"""Errors of our altimeter that other simulators do not have."""


def turned(pose: Pose, x: str, z: str) -> Pose:
    """Return a frame at the same place with its x and z axes along axes of a pose.

    Args:
        pose: the frame of the source's sensor.
        x: our x axis in it: ``x``, ``-x``, ``y``, ...
        z: our z axis in it.
    """
    ahead, up = (np.eye(3)['xyz'.index(a[-1])] * (-1 if a[0] == '-' else 1) for a in (x, z))
    turn = matrix_quaternion(np.stack([ahead, np.cross(up, ahead), up], 1))
    return pose.then(Pose(np.zeros(3), turn))


def add_sensor(
    draft: Draft,
    kind: str,
    reader: Reader,
    link: str,
    pose: Pose,
    *,
    name: str,
    rate: Sourced[float] | None,
    values: Mapping[str, Sourced[Any] | None],
    ideal: tuple[str, ...],
) -> None:
    """Add a sensor; what of it cannot be taken over is noted.

    Args:
        draft: the vehicle.
        kind: name of our kind.
        reader: the element that it is from.
        link: link that carries it.
        pose: pose of our sensor's frame in the link.
        name: its name in the source; empty: that of the kind.
        rate: Hz, 0: each step.
        values: parameters by our names; None: not given.
        ideal: parameters that are 0 where ``values`` does not give them.
    """
    where = f'{origin_of(reader)}: sensor {name or kind!r}'
    if kind in _PICTURES and not draft.options.cameras:
        draft.drop(f'{where} of type {kind!r} draws pictures; give --cameras to take it')
        return
    known = numbers_of(SENSORS[kind].spec)
    taken: dict[str, Sourced[Any]] = {}
    none = Sourced(0.0, 'none in the source')
    for key in (*values, *(k for k in ideal if values.get(k) is None)):
        value = values.get(key) or (none if key in ideal else None)
        if value is None:
            continue
        if not np.all(
            (known[key].low <= np.asarray(value.value)) & (value.value <= known[key].high)
        ):
            numbers = ' '.join(f'{number:g}' for number in np.ravel(value.value))
            draft.drop(
                f'{where}: {key} {numbers} of {value.origin}; expected '
                f'{known[key].low:g} to {known[key].high:g} {known[key].unit}'.rstrip()
            )
            continue
        taken[key] = value
    slowest = SENSORS[kind].slowest
    if rate is not None and not slowest <= rate.value <= _FASTEST:
        draft.assume(
            f'{where}: rate {rate.value:g} of {rate.origin}; {SENSORS[kind].rate:g} Hz here'
        )
        rate = None
    label = _unique(draft, name or kind)
    draft.sensors.append(Sensor(kind, label, link, pose, rate, taken, origin_of(reader)))


def _unique(draft: Draft, name: str) -> str:
    """Return a name that a topic takes, and no other sensor or link frame has."""
    plain = re.sub(r'\W+', '_', name, flags=re.ASCII).strip('_') or 'sensor'
    plain = plain if plain.isidentifier() else f'sensor_{plain}'
    names = {sensor.name for sensor in draft.sensors}
    frames = {frame for n in draft.links for frame in (n.removesuffix('_frame'),) if n != frame}
    label, count = plain, 1
    while label in names or label in frames:
        count += 1
        label = f'{plain}_{count}'
    return label
