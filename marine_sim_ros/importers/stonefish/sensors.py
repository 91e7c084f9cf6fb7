# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sensors of Stonefish scenarios.

Source: stonefish, Library/src/core/ScenarioParser.cpp and sensors/. Cameras and sonars look along
z of their frame with x to the right; a DVL's beams point along −z, or z by beam_positive_z. Noises
are standard deviations of one reading.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from marine_sim_ros.importers.description import Sourced
from marine_sim_ros.importers.draft import Draft, origin_of
from marine_sim_ros.importers.sensors import IDEAL_DVL, Values, add_sensor, axes_frame, scale_value
from marine_sim_ros.importers.stonefish.parts import mesh_pose_in_ned, ned_pose
from marine_sim_ros.model.xml import Reader

__all__ = ['read_sensor']

_DEFAULT_RATE = 100.0
"""Hz, for densities of an IMU that reads in each step."""


def _number(
    reader: Reader, tag: str, name: str, default: float | None = None
) -> Sourced[float] | None:
    """Return an attribute of a child, the largest of three numbers, or None."""
    child = reader.child(tag)
    if child is None or child.element.get(name) is None:
        if default is None:
            return None
        return Sourced(default, f'default of the simulator: {name} is not given')
    values = child.numbers({1, 3}, child.attribute(name))
    return Sourced(float(np.max(np.abs(values))), f'{origin_of(child)}, {name}')


def _rate(reader: Reader) -> Sourced[float] | None:
    """Return the rate in Hz; a negative one is that of the simulation."""
    if reader.element.get('rate') is None:
        return None
    return Sourced(max(reader.attribute_number('rate', 0.0), 0.0), origin_of(reader))


def _pressure(reader: Reader, draft: Draft) -> Values:
    del draft
    sigma = _number(reader, 'noise', 'pressure', 0.0)
    return {'variance': scale_value(sigma, 0.0 if sigma is None else sigma.value, ', squared')}


def _imu(reader: Reader, draft: Draft) -> Values:
    rate = _rate(reader)
    hertz = rate.value if rate is not None and rate.value > 0 else _DEFAULT_RATE
    values: Values = {'orientation': Sourced(1.0, 'an IMU of Stonefish has its attitude too')}
    for ours, theirs in (('gyro', 'angular_velocity'), ('accelerometer', 'linear_acceleration')):
        sigma = _number(reader, 'noise', theirs)
        values[f'{ours}_noise'] = scale_value(sigma, hertz**-0.5, f': σ/√({hertz:g} Hz)')
        values[f'{ours}_range'] = _number(reader, 'range', theirs)
    values['orientation_noise'] = _number(reader, 'noise', 'angle')
    drift = _number(reader, 'noise', 'yaw_drift')
    if drift is not None and drift.value:
        draft.drop(f'{drift.origin}: the drift of an attitude')
    return values


def _dvl(reader: Reader, draft: Draft) -> Values:
    share = _number(reader, 'noise', 'velocity_percent')
    if share is not None and share.value:
        draft.drop(f'{share.origin}: a noise that grows with the velocity')
    error = _number(reader, 'noise', 'altitude')
    if error is not None and error.value:
        draft.drop(f'{error.origin}: σ {error.value:g} m of the altitude; ours is a share of it')
    draft.assume(f'{origin_of(reader)}: four beams 45° from ahead')
    return {
        'beam_angle': _number(reader, 'specs', 'beam_angle', 30.0),
        'min_altitude': _number(reader, 'range', 'altitude_min'),
        'max_altitude': _number(reader, 'range', 'altitude_max'),
        'max_velocity': _number(reader, 'range', 'velocity'),
        'velocity_noise': _number(reader, 'noise', 'velocity'),
    }


def _gps(reader: Reader, draft: Draft) -> Values:
    del draft
    sigma = _number(reader, 'noise', 'ned_position')
    return {'horizontal_noise': sigma, 'vertical_noise': sigma}


def _camera(reader: Reader, draft: Draft) -> Values:
    del draft
    values: Values = {
        'width': _number(reader, 'specs', 'resolution_x'),
        'height': _number(reader, 'specs', 'resolution_y'),
        'field_of_view': _number(reader, 'specs', 'horizontal_fov'),
    }
    if reader.attribute('type') == 'depthcamera':
        values['depth'] = Sourced(1.0, 'type depthcamera')
    return values


def _sonar(reader: Reader, draft: Draft) -> Values:
    """Return the common values of a forward-looking and a scanning sonar."""
    for name in ('multiplicative', 'additive'):
        noise = _number(reader, 'noise', name)
        if noise is not None and noise.value:
            draft.drop(f'{noise.origin}: a noise of pixels; ours is in dB beside a reflector')
    return {
        'min_range': _number(reader, 'settings', 'range_min'),
        'max_range': _number(reader, 'settings', 'range_max'),
    }


def _fls(reader: Reader, draft: Draft) -> Values:
    return {
        'beams': _number(reader, 'specs', 'beams'),
        'bins': _number(reader, 'specs', 'bins'),
        'aperture': _number(reader, 'specs', 'horizontal_fov'),
        'beam_height': _number(reader, 'specs', 'vertical_fov'),
        **_sonar(reader, draft),
    }


def _msis(reader: Reader, draft: Draft) -> Values:
    values = {
        'step': _number(reader, 'specs', 'step'),
        'samples': _number(reader, 'specs', 'bins'),
        'beam_width': _number(reader, 'specs', 'horizontal_beam_width'),
        'beam_height': _number(reader, 'specs', 'vertical_beam_width'),
        **_sonar(reader, draft),
    }
    settings = reader.child('settings')
    if settings is not None:
        low, high = (
            settings.attribute_number(f'rotation_{end}', default, -1e3, 1e3)
            for end, default in (('min', -180.0), ('max', 180.0))
        )
        values['sector'] = Sourced(high - low, origin_of(settings))
        if low != -high:
            draft.drop(f'{origin_of(settings)}: a sector that is not about ahead is turned there')
    return values


_READERS: dict[str, tuple[str, Callable[[Reader, Draft], Values], tuple[str, str]]] = {
    'pressure': ('barometer', _pressure, ('x', '-z')),
    'imu': ('imu', _imu, ('x', '-z')),
    'gps': ('gps', _gps, ('x', '-z')),
    'dvl': ('dvl', _dvl, ('x', '-z')),
    'camera': ('camera', _camera, ('z', '-y')),
    'depthcamera': ('camera', _camera, ('z', '-y')),
    'fls': ('imaging_sonar', _fls, ('-y', 'z')),
    'msis': ('scanning_sonar', _msis, ('z', '-y')),
}
"""Type -> our kind, the reader of its numbers, and our x and z axes in its NED frame."""


def read_sensor(draft: Draft, reader: Reader) -> None:
    """Take a <sensor> of a robot; one that no sensor of ours stands for is named."""
    kind, name = reader.attribute('type', ''), reader.attribute('name', '')
    if kind not in _READERS:
        where = f'{origin_of(reader)}: sensor {name!r} of type {kind!r}'
        draft.drop(f'{where} is noted only: no sensor of ours')
        return
    link = draft.named_link(reader, 'link')
    ours, read, (x, z) = _READERS[kind]
    frame = mesh_pose_in_ned(ned_pose(reader.child('origin')))
    specs = reader.child('specs')
    if ours == 'dvl' and specs is not None and specs.attribute('beam_positive_z', '') == 'true':
        x, z = 'x', 'z'
    add_sensor(
        draft,
        ours,
        reader,
        link,
        axes_frame(frame, x, z),
        name=name,
        rate=_rate(reader),
        values=read(reader, draft),
        ideal=IDEAL_DVL if ours == 'dvl' else (),
    )
