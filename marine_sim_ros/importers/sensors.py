# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sensors of SDF, <gazebo> blocks, UUV Simulator and Plankton.

Sources: SDFormat 1.11 specification, <sensor>; gz-sensors, src/GaussianNoiseModel.cc and
DopplerVelocityLog.cc. Gazebo's σ is that of one reading; our densities are σ/√rate.
UUV Simulator: uuv_simulator, uuv_sensor_plugins/uuv_sensor_ros_plugins: ROSBasePlugin (a noise is
<noise_amplitude>, by default 0, times its σ), SubseaPressureROSPlugin, IMUROSPlugin, DVLROSPlugin,
MagnetometerROSPlugin. Its GPS and cameras are <sensor> elements.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from marine_sim_ros.core.registry import SENSORS
from marine_sim_ros.core.schema import numbers_of
from marine_sim_ros.core.spatial import matrix_quaternion, rotation_matrix
from marine_sim_ros.importers.builder import (
    Plugin,
    VehicleBuilder,
    origin_of,
    read_number,
    read_text,
)
from marine_sim_ros.importers.description import ImportedSensor, Sourced
from marine_sim_ros.model.kinematics import IDENTITY, Pose
from marine_sim_ros.model.xml import Reader

__all__ = [
    'IDEAL_DVL',
    'UUV_READERS',
    'add_sensor',
    'axes_frame',
    'add_gazebo_sensors',
    'scale_value',
]


# Sensor of another simulator added to a vehicle, if our sensor can have its numbers.

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


def axes_frame(pose: Pose, x: str, z: str) -> Pose:
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
    builder: VehicleBuilder,
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
        reader: the element that it is from.
        pose: pose of our sensor's frame in the link.
        name: its name in the source; empty: that of the kind.
        rate: Hz, 0: each step.
        values: parameters by our names; None: not given.
        ideal: parameters that are 0 where ``values`` does not give them.
    """
    where = f'{origin_of(reader)}: sensor {name or kind!r}'
    if kind in _PICTURES and not builder.options.cameras:
        builder.drop(f'{where} of type {kind!r} draws pictures; give --cameras to take it')
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
            builder.drop(
                f'{where}: {key} {numbers} of {value.origin}; expected '
                f'{known[key].low:g} to {known[key].high:g} {known[key].unit}'.rstrip()
            )
            continue
        taken[key] = value
    slowest = SENSORS[kind].slowest
    if rate is not None and not slowest <= rate.value <= _FASTEST:
        builder.assume(
            f'{where}: rate {rate.value:g} of {rate.origin}; {SENSORS[kind].rate:g} Hz here'
        )
        rate = None
    label = _unique(builder, name or kind)
    builder.sensors.append(ImportedSensor(kind, label, link, pose, rate, taken, origin_of(reader)))


def _unique(builder: VehicleBuilder, name: str) -> str:
    """Return a name that a topic takes, and no other sensor or link frame has."""
    plain = re.sub(r'\W+', '_', name, flags=re.ASCII).strip('_') or 'sensor'
    plain = plain if plain.isidentifier() else f'sensor_{plain}'
    names = {sensor.name for sensor in builder.sensors}
    frames = {frame for n in builder.links for frame in (n.removesuffix('_frame'),) if n != frame}
    label, count = plain, 1
    while label in names or label in frames:
        count += 1
        label = f'{plain}_{count}'
    return label


# <sensor> elements of SDF and of <gazebo> blocks.

Values = dict[str, Sourced[Any] | None]
_NARROW = 0.2
"""rad; a scan that is no wider is one beam."""
_DEFAULT_RATE = 100.0
"""Hz, for densities of sensors that read in each step."""


def find_element(reader: Reader, path: str) -> Reader | None:
    """Return the first element at a path, whatever its namespaces, or None."""
    element: Any = reader.element
    for name in filter(None, path.split('/')):
        element = next((e for e in element if str(e.tag).rpartition('}')[2] == name), None)
        if element is None:
            return None
    return Reader(element, reader.source)


def scale_value(
    value: Sourced[float] | None, factor: float, unit: str = ''
) -> Sourced[float] | None:
    """Return a value in our unit, or None."""
    if value is None:
        return None
    return replace(value, value=value.value * factor, origin=value.origin + unit)


def _rate(reader: Reader) -> Sourced[float] | None:
    return read_number(reader, 'update_rate', None, 0.0, 1e9)


def _term(reader: Reader, path: str, name: str) -> Sourced[float] | None:
    """Return a number of the <noise> at a path, or None; one of type none has none."""
    noise = find_element(reader, f'{path}/noise')
    if noise is None or noise.element.get('type') == 'none':
        return None
    return read_number(noise, name, None, -1e9, 1e9)


def _axes(reader: Reader, path: str, name: str, builder: VehicleBuilder) -> Sourced[float] | None:
    """Return the number of three axes' <noise>, the largest where they differ, or None."""
    terms = [_term(reader, f'{path}/{axis}', name) for axis in 'xyz']
    found = [value for value in terms if value is not None]
    if not found:
        return None
    largest = max(found, key=lambda value: abs(value.value))
    if len(found) < 3 or min(abs(v.value) for v in found) < abs(largest.value):
        builder.assume(f'{largest.origin}: the largest {name} of its axes, for all of them')
    return replace(largest, value=abs(largest.value))


def _imu(reader: Reader, builder: VehicleBuilder) -> Values:
    rate = _rate(reader)
    hertz = rate.value if rate is not None and rate.value > 0 else _DEFAULT_RATE
    values: Values = {}
    for ours, path in (
        ('gyro', 'imu/angular_velocity'),
        ('accelerometer', 'imu/linear_acceleration'),
    ):
        sigma = _axes(reader, path, 'stddev', builder)
        values[f'{ours}_noise'] = scale_value(sigma, hertz**-0.5, f': σ/√({hertz:g} Hz)')
        values[f'{ours}_bias'] = _axes(reader, path, 'bias_stddev', builder)
        values[f'{ours}_random_walk'] = _axes(reader, path, 'dynamic_bias_stddev', builder)
        for name in ('bias_mean', 'dynamic_bias_correlation_time'):
            terms = _axes(reader, path, name, builder)
            if terms is not None and terms.value:
                builder.drop(f'{terms.origin}: <{name}> of an IMU')
    if read_text(reader, 'imu/enable_orientation', 'true').lower() not in ('false', '0'):
        values['orientation'] = Sourced(1.0, 'an IMU of Gazebo has its attitude too')
    return values


def _magnetometer(reader: Reader, builder: VehicleBuilder) -> Values:
    return {'noise': _axes(reader, 'magnetometer', 'stddev', builder)}


def _gps(reader: Reader, builder: VehicleBuilder) -> Values:
    del builder
    tag = 'navsat' if find_element(reader, 'navsat') else 'gps'
    return {
        f'{way}_noise': _term(reader, f'{tag}/position_sensing/{way}', 'stddev')
        for way in ('horizontal', 'vertical')
    }


def _barometer(reader: Reader, builder: VehicleBuilder) -> Values:
    builder.assume(f'{origin_of(reader)}: a pressure sensor of air measures the water too here')
    sigma = _term(reader, 'air_pressure/pressure', 'stddev')
    return {'variance': scale_value(sigma, 0.0 if sigma is None else sigma.value, ', squared')}


def _camera(reader: Reader, builder: VehicleBuilder) -> Values:
    del builder
    camera = find_element(reader, 'camera') or reader
    image = find_element(camera, 'image') or camera
    values: Values = {
        'width': read_number(image, 'width', 320.0, 1.0, 1e6),
        'height': read_number(image, 'height', 240.0, 1.0, 1e6),
        'field_of_view': scale_value(
            read_number(camera, 'horizontal_fov', 1.047, 0.0, 7.0), 180 / np.pi, ', rad'
        ),
        'noise': scale_value(_term(camera, '', 'stddev'), 255.0, ', a share of 255'),
    }
    lens = find_element(camera, 'distortion')
    if lens is not None:
        terms = [read_number(lens, tag, 0.0, -1e9, 1e9) for tag in ('k1', 'k2', 'p1', 'p2', 'k3')]
        numbers = np.array([term.value for term in terms if term is not None])
        values['distortion'] = Sourced(numbers, origin_of(lens))
    kind = reader.attribute('type', '')
    if kind != 'camera':
        values['depth'] = Sourced(1.0, f'type {kind}')
    return values


def _dvl(reader: Reader, builder: VehicleBuilder) -> Values:
    dvl = find_element(reader, 'dvl') or reader
    arrangement = find_element(dvl, 'arrangement')
    unit = 1.0
    if arrangement is None or arrangement.element.get('degrees', 'false') not in ('true', '1'):
        unit = 180 / np.pi
    first = None if arrangement is None else find_element(arrangement, 'beam')
    tilt = None if first is None else read_number(first, 'tilt', None, -1e3, 1e3)
    angle = scale_value(tilt, unit)
    if angle is not None:
        angle = replace(angle, value=abs(angle.value))
    builder.assume(f'{origin_of(reader)}: four beams 45° from ahead, tilted as the first is')
    down = np.cos(np.radians(angle.value)) if angle is not None else 1.0
    return {
        'beam_angle': angle,
        'velocity_noise': _term(dvl, 'tracking/bottom_mode', 'stddev'),
        'min_altitude': scale_value(read_number(dvl, 'minimum_range'), down, ', down'),
        'max_altitude': scale_value(read_number(dvl, 'maximum_range'), down, ', down'),
    }


def _range(reader: Reader, builder: VehicleBuilder) -> Values | None:
    """Return the values of an altimeter, or None for a scan that is wider than one beam."""
    ray = find_element(reader, 'ray') or find_element(reader, 'lidar') or reader
    widths = []
    for way, usual in (('horizontal', '640'), ('vertical', '1')):  # the defaults of SDF
        scan = find_element(ray, f'scan/{way}')
        ends = [0.0, 0.0]
        if scan is not None and read_text(scan, 'samples', usual) != '1':
            found = [read_number(scan, tag, 0.0, -1e3, 1e3) for tag in ('min_angle', 'max_angle')]
            ends = [end.value for end in found if end is not None]
        widths.append(ends[1] - ends[0])
    if max(widths) > _NARROW:
        return None
    if (sigma := _term(ray, '', 'stddev')) is not None and sigma.value:
        builder.drop(f'{sigma.origin}: σ {sigma.value:g} m of a range; ours is a share of it')
    span = find_element(ray, 'range') or ray
    width = max(np.degrees(max(widths)), 0.1)
    return {
        'min_range': read_number(span, 'min', None, 0.0, 1e9),
        'max_range': read_number(span, 'max', None, 0.0, 1e9),
        'beam_width': Sourced(float(width), f'{origin_of(ray)}: the width of its scan'),
    }


_SDF_READERS: dict[str, tuple[str, Callable[[Reader, VehicleBuilder], Values | None]]] = {
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


def add_gazebo_sensors(builder: VehicleBuilder) -> None:
    """Take the <sensor> elements; those that no sensor of ours stands for are named."""
    for link, reader, pose in builder.notes.get('sensors', []):
        name, kind = reader.attribute('name', ''), reader.attribute('type', '')
        if link in builder.notes.get('beams', ()):
            continue  # a DVL's, which has it
        if kind == 'custom':
            kind = next((str(v) for k, v in reader.element.items() if k.endswith('}type')), kind)
        where = f'{origin_of(reader)}: sensor {name!r} of type {kind!r} on {link!r}'
        ours, read = _SDF_READERS.get(kind, ('', None))
        values = None if read is None else read(reader, builder)
        if values is None:
            why = _WHY.get(kind) or ('a wide scan' if read else 'no sensor of ours')
            builder.drop(f'{where} is noted only: {why}')
            continue
        frame = axes_frame(pose, 'x', '-z') if ours == 'dvl' else pose
        add_sensor(
            builder,
            ours,
            reader,
            link,
            frame,
            name=name,
            rate=_rate(reader),
            values=values,
            ideal=_IDEAL.get(ours, ()),
        )


# Sensor plugins of UUV Simulator and Plankton: pressure, IMU, DVL, magnetometer.

_SCATTERED = 0.3
"""Length of a mean direction; beams that are 73° from it have it."""
_TESLA = 1e-6
"""T per µT."""


def _sigma(reader: Reader, name: str, default: float = 0.0) -> Sourced[float]:
    """Return the standard deviation of a noise: its amplitude times its σ."""
    sigma = read_number(reader, name, default, 0.0, 1e9)
    amplitude = read_number(reader, 'noise_amplitude', 0.0, 0.0, 1e9)
    return Sourced(sigma.value * amplitude.value, f'{sigma.origin} · <noise_amplitude>')


def _add(
    plugin: Plugin,
    builder: VehicleBuilder,
    kind: str,
    values: Values,
    pose: Pose = IDENTITY,
    ideal: tuple[str, ...] = (),
) -> None:
    reader = plugin.reader
    link = read_text(reader, 'link_name', plugin.reference)
    if link not in builder.links:
        builder.drop(f'{origin_of(reader)}: a sensor on link {link!r}, which is not there')
        return
    if reader.element.find('noise_sigma') is not None or kind == 'imu':
        amplitude = read_number(reader, 'noise_amplitude', 0.0)
        if amplitude is not None and not amplitude.value:
            builder.assume(
                f'{origin_of(reader)}: a {kind} without noise: its <noise_amplitude> is 0 or not '
                'given'
            )
    name = read_text(reader, 'sensor_topic', kind)
    rate = read_number(reader, 'update_rate', 30.0, 0.0, 1e9)
    add_sensor(builder, kind, reader, link, pose, name=name, rate=rate, values=values, ideal=ideal)


def _read_pressure(plugin: Plugin, builder: VehicleBuilder) -> None:
    reader = plugin.reader
    sigma = _sigma(reader, 'noise_sigma')
    surface = read_number(reader, 'standard_pressure', 101.325, 0.0, 1e6)
    _add(
        plugin,
        builder,
        'barometer',
        {
            'variance': Sourced((1000 * sigma.value) ** 2, f'{sigma.origin}, kPa'),
            'atmospheric_pressure': scale_value(surface, 1000.0, ', kPa'),
        },
    )


def _read_imu(plugin: Plugin, builder: VehicleBuilder) -> None:
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
    _add(plugin, builder, 'imu', values)


def _beam(builder: VehicleBuilder, link: str, beam: str) -> np.ndarray:
    """Return the direction (3,) of a beam, x of its link, in the axes of another link."""
    inner = builder.pose_of(link).relative(builder.pose_of(beam))
    return np.asarray(rotation_matrix(inner.quaternion))[:, 0]


def _dvl_frame(builder: VehicleBuilder, link: str, axis: np.ndarray) -> Pose:
    """Return our frame of a DVL in its link: z along an axis (3,), x as far ahead as it can be."""
    turn = builder.rotation_of(link)
    for candidate in (np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])):
        ahead = turn.T @ candidate
        ahead = ahead - (ahead @ axis) * axis
        length = float(np.linalg.norm(ahead))
        if length > 0.5:
            break
    ahead = ahead / length
    columns = np.stack([ahead, np.cross(axis, ahead), axis], axis=1)
    return Pose(np.zeros(3), np.asarray(matrix_quaternion(columns)))


def _read_dvl(plugin: Plugin, builder: VehicleBuilder) -> None:
    """Take a DVL, which looks along the mean x axis of its beams, else along x of its link."""
    reader = plugin.reader
    link = read_text(reader, 'link_name', plugin.reference)
    beams = [read_text(reader, f'beam_link_name_{i}') for i in range(4)]
    values: Values = {'velocity_noise': _sigma(reader, 'noise_sigma')}
    axis, frame = np.array([1.0, 0.0, 0.0]), axes_frame(IDENTITY, 'z', 'x')
    beam_links = [beam for beam in beams if beam in builder.links]
    if link in builder.links and beam_links:
        directions = np.array([_beam(builder, link, beam) for beam in beam_links])
        axis = directions.mean(axis=0) if len(beam_links) > 1 else axis
        length = float(np.linalg.norm(axis))
        if length < _SCATTERED:
            builder.drop(f'{origin_of(reader)}: the beams of the DVL look in no common direction')
            return
        axis = axis / length
        ahead = float(np.clip(np.mean(directions @ axis), -1.0, 1.0))
        values['beam_angle'] = Sourced(
            float(np.degrees(np.arccos(ahead))),
            f'{origin_of(reader)}: angle of its beams to their mean direction',
        )
        frame = _dvl_frame(builder, link, axis)
        builder.assume(
            f'{origin_of(reader)}: four beams 45° from ahead, about their mean direction'
        )
        for name, sensor, _ in builder.notes.get('sensors', []):
            span = find_element(sensor, 'ray/range') if name == beams[0] else None
            if span is not None:
                for ours, tag in (('min_altitude', 'min'), ('max_altitude', 'max')):
                    values[ours] = scale_value(read_number(span, tag), ahead, ', down')
    builder.notes.setdefault('beams', set()).update(beams)
    _add(plugin, builder, 'dvl', values, frame, IDEAL_DVL)


def _read_magnetometer(plugin: Plugin, builder: VehicleBuilder) -> None:
    reader = plugin.reader
    sigma = max(
        (_sigma(reader, 'noise_xy', 1.0), _sigma(reader, 'noise_z', 1.4)),
        key=lambda noise: noise.value,
    )
    builder.drop(f'{origin_of(reader)}: its field; ours is that of the place')
    _add(plugin, builder, 'magnetometer', {'noise': scale_value(sigma, _TESLA, ', µT')})


UUV_READERS: tuple[tuple[str, Callable[[Plugin, VehicleBuilder], None]], ...] = (
    (r'(?<!air[-_])pressure', _read_pressure),
    (r'uuv_gazebo_ros_imu', _read_imu),
    (r'uuv_gazebo_ros_dvl', _read_dvl),
    (r'uuv_gazebo_ros_magnetometer', _read_magnetometer),
)
"""Pattern of name and library -> reader."""
