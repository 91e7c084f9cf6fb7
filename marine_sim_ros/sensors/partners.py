# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Far ends that acoustic sensors measure range and bearing of, and other vehicles of the fleet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.registry import SENSORS
from marine_sim_ros.core.schema import declaration, number, special
from marine_sim_ros.core.spatial import in_map, quaternion_product, rotation_matrix
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.rays import bends_sound, bent_paths
from marine_sim_ros.model.library import vehicle_of
from marine_sim_ros.model.sensors import read_frame_name
from marine_sim_ros.model.vehicle import Sensor
from marine_sim_ros.sensors.noise import add_lasting_errors, mounting_error, white_noise

__all__ = [
    'FarEnd',
    'carried_pose',
    'check_partners',
    'disturb_polar',
    'partner_of',
    'polar_of',
    'sees_others',
    'unit_vector',
    'sound_way',
]


@declaration(frozen=True)
class FarEnd:
    """Parameters of range and bearing, and the carrier of the far end.

    The carrier is none, or a vehicle of the fleet and a frame of it.
    """

    vehicle: str = special(
        read_frame_name,
        '',
        'vehicle of the fleet that carries the transceiver or beacon; none: it is fixed in map',
    )
    frame: str = special(
        read_frame_name,
        '',
        'link of that vehicle in whose axes the transceiver or beacon has its place; '
        'none: its base_link',
    )
    range_noise: float = number(0.0, 0.0, 1e3, 'm', 'standard deviation of the range')
    range_bias: float = number(0.0, 0.0, 1e3, 'm', 'standard deviation of its constant bias')
    range_scale_error: float = number(
        0.0, 0.0, 1.0, '', 'standard deviation of the error of scale of the range'
    )
    bearing_noise: float = number(
        0.0, 0.0, 1.0, 'rad', 'standard deviation of azimuth and elevation'
    )
    misalignment: float = number(
        0.0, 0.0, 1.0, 'rad', 'standard deviation of the mounting angles of its array, per axis'
    )
    max_range: float = number(0.0, 0.0, 1e5, 'm', 'greatest range; 0: no limit')
    sound_speed: float = number(1500.0, 1000.0, 2000.0, 'm/s', 'speed of sound in uniform water')
    assumed_sound_speed: float = number(
        1500.0, 1000.0, 2000.0, 'm/s', 'speed of sound that it takes for true'
    )

    def __post_init__(self) -> None:
        """Check that a frame has a vehicle.

        Raises:
            ValueError: it has none.
        """
        if self.frame and not self.vehicle:
            raise ValueError(f'<frame> is {self.frame!r} without a <vehicle>; expected both')


def partner_of(sensor: Sensor) -> str:
    """Return the name of the vehicle that carries a sensor's far end, or an empty text."""
    return sensor.spec.vehicle.strip('/') if isinstance(sensor.spec, FarEnd) else ''


def sees_others(sensor: Sensor) -> bool:
    """Return whether the readings of a sensor depend on other vehicles."""
    kind = SENSORS.get(sensor.kind)
    return bool(partner_of(sensor)) or (kind is not None and kind.sees)


def carried_pose(
    spec: FarEnd, point: tuple[float, ...], environment: Environment
) -> tuple[np.ndarray, np.ndarray]:
    """Return position (3,), m, and quaternion (4,) in map of a point of the carrier.

    NaN where the environment does not have the carrier.

    Args:
        point: in the axes of its frame, m.
        environment: with the other vehicles.
    """
    name = spec.vehicle.strip('/')
    body = next((b for b in environment.bodies if b.name.strip('/') == name), None)
    if body is None:
        return np.full(3, np.nan), np.full(4, np.nan)
    local, orientation = np.array(point), body.orientation
    if spec.frame:
        frame_position, frame_orientation = body.frames[spec.frame]
        local, orientation = (
            frame_position + rotation_matrix(frame_orientation) @ local,
            quaternion_product(orientation, frame_orientation),
        )
    return in_map(body.position, body.orientation, local[None, :])[0], orientation


def sound_way(
    environment: Environment, begin: np.ndarray, end: np.ndarray, default: float
) -> tuple[np.ndarray, Any]:
    """Return the vector (..., 3) from a place to where sound from another one seems to come from.

    Its length is the straight distance, and the second value the mean speed over that, m/s. Where
    no sound arrives without a reflection both are NaN.

    Args:
        environment: water at a time.
        begin: (..., 3) map, m.
        end: (..., 3) likewise.
        default: speed of sound in uniform water, m/s.
    """
    away = end - begin
    if not bends_sound(environment):
        return away, environment.mean_sound_speed(begin + 0.0 * away, end + 0.0 * away, default)
    delay, direction = bent_paths(environment, begin, end)
    distance = np.linalg.norm(away, axis=-1)
    return distance[..., None] * direction, distance / np.where(delay > 0, delay, np.nan)


def polar_of(away: np.ndarray) -> np.ndarray:
    """Return range, m, azimuth from x towards y and elevation towards z of vectors (..., 3)."""
    level = away[..., 0] ** 2 + away[..., 1] ** 2
    parts = [
        np.sqrt(np.sum(away * away, axis=-1)),
        np.arctan2(away[..., 1], away[..., 0]),
        np.arctan2(away[..., 2], np.sqrt(level)),
    ]
    return np.stack(parts, axis=-1)


def unit_vector(polar: np.ndarray) -> np.ndarray:
    """Return the unit vectors (..., 3) of range, azimuth and elevation (..., 3)."""
    azimuth, elevation = polar[..., 1], polar[..., 2]
    level = np.cos(elevation)
    parts = [level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)]
    return np.stack(parts, axis=-1)


def disturb_polar(
    sensor: Sensor, polar: np.ndarray, stamps: int | np.ndarray, seed: int
) -> np.ndarray:
    """Return range, azimuth and elevation (..., 3) with noise and the errors of the run."""
    spec, name = sensor.spec, sensor.name
    distance = add_lasting_errors(sensor, 'range', polar[..., 0], stamps, seed)
    angles = polar[..., 1:]
    if spec.misalignment:
        misaligned = unit_vector(polar) @ mounting_error(seed, name, spec.misalignment)
        angles = polar_of(misaligned)[..., 1:]
    noise = np.array([spec.range_noise, spec.bearing_noise, spec.bearing_noise])
    polar = np.concatenate([distance[..., None], angles], axis=-1)
    return np.asarray(polar + white_noise(seed, name, stamps, noise))


def check_partners(
    sensors: Iterable[Sensor], namespace: str, neighbours: Mapping[str, Any]
) -> None:
    """Check that the far ends of sensors are at other vehicles of the run.

    Args:
        namespace: its namespace, such as ``/scout_1``; empty: none.
        neighbours: ``vehicle`` and ``vehicle_arguments`` of the others by their namespaces.

    Raises:
        ParameterError: a far end is at the vehicle itself, at none of the run, or in a frame that
            the other vehicle does not have; several modems, or of another rate than another's.
    """
    sensors = tuple(sensors)
    _check_modems([s for s in sensors if _is_modem(s)], namespace, neighbours)
    names = ', '.join(other.strip('/') for other in neighbours) or '(a fleet with it, --fleet)'
    for sensor in sensors:
        partner = partner_of(sensor)
        if not partner:
            continue
        start = f'sensor {sensor.name} of {namespace.strip("/") or "the vehicle"}: '
        if partner == namespace.strip('/'):
            raise ParameterError(
                f'{start}its <vehicle> is the vehicle itself; expected one of: {names}'
            )
        if '/' + partner not in neighbours:
            raise ParameterError(
                f'{start}its <vehicle> is {partner!r}, which is not in this run; expected one of: '
                f'{names}'
            )
        if frame := sensor.spec.frame:
            other = vehicle_of(neighbours['/' + partner])
            known = [other.base_link, *(f.name for f in other.frames)]
            if frame not in known:
                raise ParameterError(
                    f'{start}its <frame> is {frame!r}, which {partner} does not have; expected '
                    f'one of: {", ".join(known)}'
                )


def _is_modem(sensor: Sensor) -> bool:
    kind = SENSORS.get(sensor.kind)
    return kind is not None and 'outbox' in kind.needs


def _check_modems(modems: Sequence[Sensor], namespace: str, neighbours: Mapping[str, Any]) -> None:
    """Check that the modems of a run compute the same network: one each, at the same ticks."""
    if not modems:
        return
    start = f'sensor {modems[-1].name} of {namespace.strip("/") or "the vehicle"}: '
    if len(modems) > 1:
        raise ParameterError(f'{start}it has {len(modems)} modems; expected one')
    for name, other in neighbours.items():
        for modem in (s for s in vehicle_of(other).sensors if s.kind == modems[0].kind):
            if modem.period != modems[0].period:
                raise ParameterError(
                    f'{start}it works every {modems[0].period / NANOSECONDS:g} s, and that of '
                    f'{name.strip("/")} every {modem.period / NANOSECONDS:g} s; expected one rate '
                    'for all modems of a run'
                )
