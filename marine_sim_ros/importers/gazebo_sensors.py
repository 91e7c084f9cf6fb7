# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""<sensor> elements of SDF and of <gazebo> blocks.

Source: SDFormat 1.11 specification, <sensor>; gz-sensors, src/GaussianNoiseModel.cc and
DopplerVelocityLog.cc. Gazebo's σ is that of one reading; our densities are σ/√rate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from marine_sim_ros.importers.description import Sourced
from marine_sim_ros.importers.draft import Draft, number, origin_of, text_of
from marine_sim_ros.importers.sensors import IDEAL_DVL, IDEAL_RANGE, add_sensor, turned
from marine_sim_ros.model.xml import Reader

__all__ = ['find', 'read_sensors', 'scaled']

Values = dict[str, Sourced[Any] | None]
_NARROW = 0.2
"""rad; a scan that is no wider is one beam."""
_DEFAULT_RATE = 100.0
"""Hz, for densities of sensors that read in each step."""


def find(reader: Reader, path: str) -> Reader | None:
    """Return the first element at a path, whatever its namespaces, or None."""
    element: Any = reader.element
    for name in filter(None, path.split('/')):
        element = next((e for e in element if str(e.tag).rpartition('}')[2] == name), None)
        if element is None:
            return None
    return Reader(element, reader.source)


def scaled(value: Sourced[float] | None, factor: float, unit: str = '') -> Sourced[float] | None:
    """Return a value in our unit, or None."""
    if value is None:
        return None
    return replace(value, value=value.value * factor, origin=value.origin + unit)


def _rate(reader: Reader) -> Sourced[float] | None:
    return number(reader, 'update_rate', None, 0.0, 1e9)


def _term(reader: Reader, path: str, name: str) -> Sourced[float] | None:
    """Return a number of the <noise> at a path, or None; one of type none has none."""
    noise = find(reader, f'{path}/noise')
    if noise is None or noise.element.get('type') == 'none':
        return None
    return number(noise, name, None, -1e9, 1e9)


def _axes(reader: Reader, path: str, name: str, draft: Draft) -> Sourced[float] | None:
    """Return the number of three axes' <noise>, the largest where they differ, or None."""
    given = [_term(reader, f'{path}/{axis}', name) for axis in 'xyz']
    found = [value for value in given if value is not None]
    if not found:
        return None
    largest = max(found, key=lambda value: abs(value.value))
    if len(found) < 3 or min(abs(v.value) for v in found) < abs(largest.value):
        draft.assume(f'{largest.origin}: the largest {name} of its axes, for all of them')
    return replace(largest, value=abs(largest.value))


def _imu(reader: Reader, draft: Draft) -> Values:
    rate = _rate(reader)
    hertz = rate.value if rate is not None and rate.value > 0 else _DEFAULT_RATE
    values: Values = {}
    for ours, path in (
        ('gyro', 'imu/angular_velocity'),
        ('accelerometer', 'imu/linear_acceleration'),
    ):
        sigma = _axes(reader, path, 'stddev', draft)
        values[f'{ours}_noise'] = scaled(sigma, hertz**-0.5, f': σ/√({hertz:g} Hz)')
        values[f'{ours}_bias'] = _axes(reader, path, 'bias_stddev', draft)
        values[f'{ours}_random_walk'] = _axes(reader, path, 'dynamic_bias_stddev', draft)
        for name in ('bias_mean', 'dynamic_bias_correlation_time'):
            lost = _axes(reader, path, name, draft)
            if lost is not None and lost.value:
                draft.drop(f'{lost.origin}: <{name}> of an IMU')
    if text_of(reader, 'imu/enable_orientation', 'true').lower() not in ('false', '0'):
        values['orientation'] = Sourced(1.0, 'an IMU of Gazebo has its attitude too')
    return values


def _magnetometer(reader: Reader, draft: Draft) -> Values:
    return {'noise': _axes(reader, 'magnetometer', 'stddev', draft)}


def _gps(reader: Reader, draft: Draft) -> Values:
    del draft
    tag = 'navsat' if find(reader, 'navsat') else 'gps'
    return {
        f'{way}_noise': _term(reader, f'{tag}/position_sensing/{way}', 'stddev')
        for way in ('horizontal', 'vertical')
    }


def _barometer(reader: Reader, draft: Draft) -> Values:
    draft.assume(f'{origin_of(reader)}: a pressure sensor of air measures the water too here')
    sigma = _term(reader, 'air_pressure/pressure', 'stddev')
    return {'variance': scaled(sigma, 0.0 if sigma is None else sigma.value, ', squared')}


def _camera(reader: Reader, draft: Draft) -> Values:
    del draft
    camera = find(reader, 'camera') or reader
    image = find(camera, 'image') or camera
    values: Values = {
        'width': number(image, 'width', 320.0, 1.0, 1e6),
        'height': number(image, 'height', 240.0, 1.0, 1e6),
        'field_of_view': scaled(
            number(camera, 'horizontal_fov', 1.047, 0.0, 7.0), 180 / np.pi, ', rad'
        ),
        'noise': scaled(_term(camera, '', 'stddev'), 255.0, ', a share of 255'),
    }
    lens = find(camera, 'distortion')
    if lens is not None:
        terms = [number(lens, tag, 0.0, -1e9, 1e9) for tag in ('k1', 'k2', 'p1', 'p2', 'k3')]
        numbers = np.array([term.value for term in terms if term is not None])
        values['distortion'] = Sourced(numbers, origin_of(lens))
    kind = reader.attribute('type', '')
    if kind != 'camera':
        values['depth'] = Sourced(1.0, f'type {kind}')
    return values


def _dvl(reader: Reader, draft: Draft) -> Values:
    dvl = find(reader, 'dvl') or reader
    arrangement = find(dvl, 'arrangement')
    unit = 1.0
    if arrangement is None or arrangement.element.get('degrees', 'false') not in ('true', '1'):
        unit = 180 / np.pi
    first = None if arrangement is None else find(arrangement, 'beam')
    tilt = None if first is None else number(first, 'tilt', None, -1e3, 1e3)
    angle = scaled(tilt, unit)
    if angle is not None:
        angle = replace(angle, value=abs(angle.value))
    draft.assume(f'{origin_of(reader)}: four beams 45° from ahead, tilted as the first is')
    down = np.cos(np.radians(angle.value)) if angle is not None else 1.0
    return {
        'beam_angle': angle,
        'velocity_noise': _term(dvl, 'tracking/bottom_mode', 'stddev'),
        'min_altitude': scaled(number(dvl, 'minimum_range'), down, ', down'),
        'max_altitude': scaled(number(dvl, 'maximum_range'), down, ', down'),
    }


def _range(reader: Reader, draft: Draft) -> Values | None:
    """Return the values of an altimeter, or None for a scan that is wider than one beam."""
    ray = find(reader, 'ray') or find(reader, 'lidar') or reader
    widths = []
    for way in ('horizontal', 'vertical'):
        scan = find(ray, f'scan/{way}')
        ends = [0.0, 0.0]
        if scan is not None and text_of(scan, 'samples', '1') != '1':
            found = [number(scan, tag, 0.0, -1e3, 1e3) for tag in ('min_angle', 'max_angle')]
            ends = [end.value for end in found if end is not None]
        widths.append(ends[1] - ends[0])
    if max(widths) > _NARROW:
        return None
    if (sigma := _term(ray, '', 'stddev')) is not None and sigma.value:
        draft.drop(f'{sigma.origin}: σ {sigma.value:g} m of a range; ours is a share of it')
    span = find(ray, 'range') or ray
    width = max(np.degrees(max(widths)), 0.1)
    return {
        'min_range': number(span, 'min', None, 0.0, 1e9),
        'max_range': number(span, 'max', None, 0.0, 1e9),
        'beam_width': Sourced(float(width), f'{origin_of(ray)}: the width of its scan'),
    }


_READERS: dict[str, tuple[str, Callable[[Reader, Draft], Values | None]]] = {
    'imu': ('imu', _imu),
    'magnetometer': ('magnetometer', _magnetometer),
    'navsat': ('gps', _gps),
    'gps': ('gps', _gps),
    'air_pressure': ('barometer', _barometer),
    'camera': ('camera', _camera),
    'depth': ('camera', _camera),
    'depth_camera': ('camera', _camera),
    'rgbd_camera': ('camera', _camera),
    'ray': ('altimeter', _range),
    'gpu_ray': ('altimeter', _range),
    'lidar': ('altimeter', _range),
    'gpu_lidar': ('altimeter', _range),
    'dvl': ('dvl', _dvl),
}
"""Type in SDF -> our kind, and the reader of its numbers."""
_IDEAL = {'barometer': ('variance',), 'dvl': IDEAL_DVL, 'altimeter': IDEAL_RANGE}
_WHY = {
    'altimeter': "Gazebo's measures the height above its start, ours the range to the bottom",
    'custom': 'a type of its own',
}


def read_sensors(draft: Draft) -> None:
    """Take the <sensor> elements; those that no sensor of ours stands for are named."""
    for link, reader, pose in draft.notes.get('sensors', []):
        name, kind = reader.attribute('name', ''), reader.attribute('type', '')
        if link in draft.notes.get('beams', ()):
            continue  # a DVL's, which has it
        if kind == 'custom':
            kind = next((str(v) for k, v in reader.element.items() if k.endswith('}type')), kind)
        where = f'{origin_of(reader)}: sensor {name!r} of type {kind!r} on {link!r}'
        ours, read = _READERS.get(kind, ('', None))
        values = None if read is None else read(reader, draft)
        if values is None:
            why = _WHY.get(kind) or ('a wide scan' if read else 'no sensor of ours')
            draft.drop(f'{where} is noted only: {why}')
            continue
        frame = turned(pose, 'x', '-z') if ours == 'dvl' else pose
        add_sensor(
            draft,
            ours,
            reader,
            link,
            frame,
            name=name,
            rate=_rate(reader),
            values=values,
            ideal=_IDEAL.get(ours, ()),
        )
