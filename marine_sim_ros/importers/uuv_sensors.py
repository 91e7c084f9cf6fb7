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

from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.importers.description import Sourced
from marine_sim_ros.importers.draft import Draft, Plugin, number, origin_of, text_of
from marine_sim_ros.importers.gazebo_sensors import Values, find, scaled
from marine_sim_ros.importers.sensors import IDEAL_DVL, add_sensor, turned
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.sdf.poses import IDENTITY, Pose

__all__ = ['READERS']

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


def _read_dvl(plugin: Plugin, draft: Draft) -> None:
    """Take a DVL, which looks along x of its link; its beams are links with a ray sensor."""
    reader = plugin.reader
    link = text_of(reader, 'link_name', plugin.reference)
    beams = [text_of(reader, f'beam_link_name_{i}') for i in range(4)]
    values: Values = {'velocity_noise': _sigma(reader, 'noise_sigma')}
    if link in draft.links and beams[0] in draft.links:
        inner = draft.pose_of(link).seen(draft.pose_of(beams[0]))
        ahead = float(np.clip(rotation_matrix(inner.quaternion)[0, 0], -1.0, 1.0))
        values['beam_angle'] = Sourced(
            float(np.degrees(np.arccos(ahead))), f'{origin_of(reader)}: pose of its first beam'
        )
        draft.assume(f'{origin_of(reader)}: four beams 45° from ahead, tilted as the first is')
        for name, sensor, _ in draft.notes.get('sensors', []):
            span = find(sensor, 'ray/range') if name == beams[0] else None
            if span is not None:
                for ours, tag in (('min_altitude', 'min'), ('max_altitude', 'max')):
                    values[ours] = scaled(number(span, tag), ahead, ', down')
    draft.notes.setdefault('beams', set()).update(beams)
    _add(plugin, draft, 'dvl', values, turned(IDENTITY, 'z', 'x'), IDEAL_DVL)


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
