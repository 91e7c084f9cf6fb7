# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sensor plugins of UUV Simulator and Plankton: pressure, IMU, DVL, magnetometer.

Source: uuv_simulator, uuv_sensor_plugins/uuv_sensor_ros_plugins: ROSBasePlugin (a noise is
<noise_amplitude>, by default 0, times its σ), SubseaPressureROSPlugin, IMUROSPlugin, DVLROSPlugin,
MagnetometerROSPlugin. Its GPS and cameras are <sensor> elements.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from marine_sim_ros.core.spatial import matrix_quaternion, rotation_matrix
from marine_sim_ros.importers.description import Sourced
from marine_sim_ros.importers.draft import Draft, Plugin, number, origin_of, text_of
from marine_sim_ros.importers.gazebo_sensors import Values, find, scaled
from marine_sim_ros.importers.sensors import IDEAL_DVL, add_sensor, turned
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.sdf.poses import IDENTITY, Pose

__all__ = ['READERS']

_SCATTERED = 0.3
"""Length of a mean direction; beams that are 73° from it have it."""
_TESLA = 1e-6
"""T per µT."""


def _sigma(reader: Reader, name: str, default: float = 0.0) -> Sourced[float]:
    """Return the standard deviation of a noise: its amplitude times its σ."""
    sigma = number(reader, name, default, 0.0, 1e9)
    amplitude = number(reader, 'noise_amplitude', 0.0, 0.0, 1e9)
    return Sourced(sigma.value * amplitude.value, f'{sigma.origin} · <noise_amplitude>')


def _add(
    plugin: Plugin,
    draft: Draft,
    kind: str,
    values: Values,
    pose: Pose = IDENTITY,
    ideal: tuple[str, ...] = (),
) -> None:
    reader = plugin.reader
    link = text_of(reader, 'link_name', plugin.reference)
    if link not in draft.links:
        draft.drop(f'{origin_of(reader)}: a sensor on link {link!r}, which is not there')
        return
    if reader.element.find('noise_sigma') is not None or kind == 'imu':
        amplitude = number(reader, 'noise_amplitude', 0.0)
        if amplitude is not None and not amplitude.value:
            draft.assume(
                f'{origin_of(reader)}: a {kind} without noise: its <noise_amplitude> is 0 or not '
                'given'
            )
    name = text_of(reader, 'sensor_topic', kind)
    rate = number(reader, 'update_rate', 30.0, 0.0, 1e9)
    add_sensor(draft, kind, reader, link, pose, name=name, rate=rate, values=values, ideal=ideal)


def _read_pressure(plugin: Plugin, draft: Draft) -> None:
    reader = plugin.reader
    sigma = _sigma(reader, 'noise_sigma')
    surface = number(reader, 'standard_pressure', 101.325, 0.0, 1e6)
    _add(
        plugin,
        draft,
        'barometer',
        {
            'variance': Sourced((1000 * sigma.value) ** 2, f'{sigma.origin}, kPa'),
            'atmospheric_pressure': scaled(surface, 1000.0, ', kPa'),
        },
    )


def _read_imu(plugin: Plugin, draft: Draft) -> None:
    reader = plugin.reader
    values: Values = {}
    for ours, theirs, density, walk, bias in (
        ('gyro', 'gyroscope', 3.394e-4, 3.8785e-5, 8.7e-3),
        ('accelerometer', 'accelerometer', 4e-3, 6e-3, 0.1960),
    ):
        drift = 'gyroscope_bias_random_walk' if ours == 'gyro' else 'accelerometer_random_walk'
        values |= {
            f'{ours}_noise': _sigma(reader, f'{theirs}_noise_density', density),
            f'{ours}_random_walk': _sigma(reader, drift, walk),
            f'{ours}_bias': _sigma(reader, f'{theirs}_turn_on_bias_sigma', bias),
        }
    angle = _sigma(reader, 'orientation_noise', 0.5)
    values |= {
        'orientation': Sourced(1.0, 'its IMU has its attitude too'),
        'orientation_noise': angle,
    }
    _add(plugin, draft, 'imu', values)


def _beam(draft: Draft, link: str, beam: str) -> np.ndarray:
    """Return the direction (3,) of a beam, x of its link, in the axes of another link."""
    inner = draft.pose_of(link).seen(draft.pose_of(beam))
    return np.asarray(rotation_matrix(inner.quaternion))[:, 0]


def _looking(draft: Draft, link: str, axis: np.ndarray) -> Pose:
    """Return our frame of a DVL in its link: z along an axis (3,), x as far ahead as it can be."""
    turn = draft.rotation_of(link)
    for candidate in (np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])):
        ahead = turn.T @ candidate
        ahead = ahead - (ahead @ axis) * axis
        length = float(np.linalg.norm(ahead))
        if length > 0.5:
            break
    ahead = ahead / length
    columns = np.stack([ahead, np.cross(axis, ahead), axis], axis=1)
    return Pose(np.zeros(3), np.asarray(matrix_quaternion(columns)))


def _read_dvl(plugin: Plugin, draft: Draft) -> None:
    """Take a DVL, which looks along the mean x axis of its beams, else along x of its link."""
    reader = plugin.reader
    link = text_of(reader, 'link_name', plugin.reference)
    beams = [text_of(reader, f'beam_link_name_{i}') for i in range(4)]
    values: Values = {'velocity_noise': _sigma(reader, 'noise_sigma')}
    axis, frame = np.array([1.0, 0.0, 0.0]), turned(IDENTITY, 'z', 'x')
    known = [beam for beam in beams if beam in draft.links]
    if link in draft.links and known:
        directions = np.array([_beam(draft, link, beam) for beam in known])
        axis = directions.mean(axis=0) if len(known) > 1 else axis
        length = float(np.linalg.norm(axis))
        if length < _SCATTERED:
            draft.drop(f'{origin_of(reader)}: the beams of the DVL look in no common direction')
            return
        axis = axis / length
        ahead = float(np.clip(np.mean(directions @ axis), -1.0, 1.0))
        values['beam_angle'] = Sourced(
            float(np.degrees(np.arccos(ahead))),
            f'{origin_of(reader)}: angle of its beams to their mean direction',
        )
        frame = _looking(draft, link, axis)
        draft.assume(f'{origin_of(reader)}: four beams 45° from ahead, about their mean direction')
        for name, sensor, _ in draft.notes.get('sensors', []):
            span = find(sensor, 'ray/range') if name == beams[0] else None
            if span is not None:
                for ours, tag in (('min_altitude', 'min'), ('max_altitude', 'max')):
                    values[ours] = scaled(number(span, tag), ahead, ', down')
    draft.notes.setdefault('beams', set()).update(beams)
    _add(plugin, draft, 'dvl', values, frame, IDEAL_DVL)


def _read_magnetometer(plugin: Plugin, draft: Draft) -> None:
    reader = plugin.reader
    sigma = max(
        (_sigma(reader, 'noise_xy', 1.0), _sigma(reader, 'noise_z', 1.4)),
        key=lambda noise: noise.value,
    )
    draft.drop(f'{origin_of(reader)}: its field; ours is that of the place')
    _add(plugin, draft, 'magnetometer', {'noise': scaled(sigma, _TESLA, ', µT')})


READERS: tuple[tuple[str, Callable[[Plugin, Draft], None]], ...] = (
    (r'pressure', _read_pressure),
    (r'uuv_gazebo_ros_imu', _read_imu),
    (r'uuv_gazebo_ros_dvl', _read_dvl),
    (r'uuv_gazebo_ros_magnetometer', _read_magnetometer),
)
"""Pattern of name and library -> reader."""
