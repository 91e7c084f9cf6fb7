# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Stonefish's actuators and sensors as elements of our description.

Source: stonefish, Library/src/actuators/Rudder.cpp and VariableBuoyancy.cpp. A rudder turns about
the z axis of its frame, which points down; its lift is ½ ρ A C_L α u² up to the stall and none
beyond, its drag α times as much. Ballast weighs as much as the water in it.

Source: stonefish, Library/src/core/ScenarioParser.cpp and sensors/. Cameras and sonars look along
z of their frame with x to the right; a DVL's beams point along −z, or z by beam_positive_z. Noises
are standard deviations of one reading.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.geometry import shapes
from marine_sim_ros.geometry.mesh_files import mesh_path, read_mesh
from marine_sim_ros.importers.builder import VehicleBuilder, origin_of
from marine_sim_ros.importers.description import Bladder, Fin, Sourced, Thruster
from marine_sim_ros.importers.sensors import IDEAL_DVL, Values, add_sensor, axes_frame, scale_value
from marine_sim_ros.importers.stonefish.parts import find_mesh, mesh_pose_in_ned, ned_pose
from marine_sim_ros.importers.thrusters import pose_along, sampled_curve, thrust_limit
from marine_sim_ros.model.kinematics import IDENTITY, Pose
from marine_sim_ros.model.xml import Reader

__all__ = ['ThrusterReader', 'add_ballast', 'add_rudder', 'add_stonefish_sensor']


# Thrusters of a Stonefish robot: thrust models as curves over pulse width.


class ThrusterReader:
    """Adds thrusters to a builder."""

    def __init__(self, builder: VehicleBuilder, density: float) -> None:
        """Add to a builder, in water of a density (kg/m³)."""
        self.builder, self.density = builder, density

    def read(self, reader: Reader) -> None:
        """Add the thruster of an element of type thruster, simple_thruster or push."""
        if reader.attribute('type') == 'thruster':
            self._thruster(reader)
        else:
            self._simple_thruster(reader)

    def _simple_thruster(self, reader: Reader) -> None:
        specs = reader.child('specs')
        ends = [0.0, 0.0]
        if specs is not None:
            names = ('lower_thrust_limit', 'upper_thrust_limit')
            if reader.attribute('type') == 'push':
                names = ('lower_limit', 'upper_limit')
            ends = [specs.attribute_number(tag, 0.0, -1e9, 1e9) for tag in names]
        if not ends[0] < ends[1]:
            limit = thrust_limit(self.builder, reader.attribute('name')).value
            ends = [-limit, limit]
        inverted = specs is not None and specs.attribute('inverted', 'false') == 'true'
        low, high = min(ends[0], 0.0), max(ends[1], 0.0)
        if inverted:
            self._add_thruster(reader, lambda f: -f, -high, -low, speed=False)
        else:
            self._add_thruster(reader, lambda f: f, low, high, speed=False)

    def _thruster(self, reader: Reader) -> None:
        specs, model = reader.child('specs'), reader.child('thrust_model')
        propeller = reader.child('propeller')
        if specs is not None and propeller is not None and specs.element.get('max_rpm'):
            self._old_thruster(reader, specs, propeller)
            return
        if specs is None or model is None or propeller is None:
            raise reader.error('expected <specs>, <propeller> and <thrust_model>')
        limit = specs.attribute_number('max_setpoint', 0.0, 0.0, 1e6)
        diameter = propeller.attribute_number('diameter', 0.0, 0.0, 10.0)
        right = propeller.attribute('right', 'true').lower() in ('true', '1')
        thrust_of = self._model(model, diameter)
        inverted = specs.attribute('inverted_setpoint', 'false').lower() in ('true', '1')
        ratio = None
        if model.attribute('type') == 'fluid_dynamics':
            ratio = Sourced(1.0, f'{origin_of(model)}: k_T(J) = k_T (1 − J)')
        self._add_thruster(
            reader,
            thrust_of if right != inverted else lambda c: thrust_of(-c),
            -limit,
            limit,
            direction='cw' if right else 'ccw',
            diameter=Sourced(diameter, origin_of(propeller)) if diameter > 0 else None,
            time_constant=self._lag(reader),
            zero_thrust_advance_ratio=ratio,
        )

    def _old_thruster(self, reader: Reader, specs: Reader, propeller: Reader) -> None:
        """Take a thruster of Stonefish before 1.4: k_T and the largest rpm."""
        constant = specs.attribute_number('thrust_coeff', 0.0, 0.0, 1e3)
        astern = specs.attribute_number('thrust_coeff_backward', constant, 0.0, 1e3)
        limit = specs.attribute_number('max_rpm', 0.0, 0.0, 1e6) * np.pi / 30
        diameter = propeller.attribute_number('diameter', 0.0, 0.0, 10.0)
        right = propeller.attribute('right', 'true').lower() in ('true', '1')
        inverted = specs.attribute('inverted', 'false').lower() in ('true', '1')
        thrust_of = self._propeller(diameter, constant, astern)
        self._add_thruster(
            reader,
            (lambda c: thrust_of(-c)) if inverted else thrust_of,
            -limit,
            limit,
            direction='cw' if right else 'ccw',
            diameter=Sourced(diameter, origin_of(propeller)) if diameter > 0 else None,
            zero_thrust_advance_ratio=Sourced(1.0, f'{origin_of(specs)}: k_T(J) = k_T (1 − J)'),
        )

    def _lag(self, reader: Reader) -> Sourced[float] | None:
        dynamics = reader.child('rotor_dynamics')
        kind = '' if dynamics is None else dynamics.attribute('type', '')
        if dynamics is None or kind == 'zero_order':
            return None
        if kind == 'first_order':
            constant = dynamics.child('time_constant')
            if constant is None:
                return None
            value = constant.attribute_number('value', 0.0, 0.0, 60.0)
            return Sourced(value, origin_of(constant))
        self.builder.drop(f'{origin_of(dynamics)}: {kind} dynamics of a rotor; it follows at once')
        return None

    def _model(self, model: Reader, diameter: float) -> Callable[[float], float]:
        kind = model.attribute('type')

        def value(tag: str, attribute: str = 'value') -> float:
            element = model.child(tag)
            if element is None:
                raise model.error(f'has no <{tag}>')
            return element.attribute_number(attribute, 0.0, -1e9, 1e9)

        if kind == 'quadratic':
            constant = value('thrust_coeff')
            return lambda w: constant * w * abs(w)
        if kind == 'deadband':
            ahead, astern = value('thrust_coeff', 'forward'), value('thrust_coeff', 'reverse')
            low, high = value('deadband', 'lower'), value('deadband', 'upper')
            return lambda w: (
                astern * min(w * abs(w) - low, 0.0) + ahead * max(w * abs(w) - high, 0.0)
            )
        if kind == 'linear_interpolation':
            tables = []
            for tag in ('input', 'output'):
                element = model.child(tag)
                if element is None:
                    raise model.error(f'has no <{tag}>')
                tables.append(element.numbers(set(range(1, 2001)), element.attribute('value')))
            if len(tables[0]) != len(tables[1]):
                raise model.error('expected as many numbers in <input> as in <output>')
            order = np.argsort(tables[0], kind='stable')
            at, thrust = tables[0][order], tables[1][order]
            return lambda w: float(np.interp(w, at, thrust))
        if kind == 'fluid_dynamics':
            ahead, astern = value('thrust_coeff', 'forward'), value('thrust_coeff', 'reverse')
            return self._propeller(diameter, ahead, astern)
        raise model.error(
            f'type {kind!r}; expected quadratic, deadband, linear_interpolation or fluid_dynamics'
        )

    def _propeller(self, diameter: float, ahead: float, astern: float) -> Callable[[float], float]:
        """Return the thrust of a rotor speed, k_T ρ D⁴ n |n| with k_T ahead and astern."""
        factor = self.density * diameter**4 / (2 * np.pi) ** 2
        return lambda w: factor * (ahead if w >= 0 else astern) * w * abs(w)

    def _add_thruster(
        self,
        reader: Reader,
        thrust_of: Callable[[float], float],
        low: float,
        high: float,
        *,
        speed: bool = True,
        **details: Any,
    ) -> None:
        """Add a thruster with the thrust of a set-point from low to high, and its details."""
        if not low < high:
            raise reader.error('has no range of set-points')
        curve, mirrored = sampled_curve(thrust_of, low, high, speed=speed)
        pose = self._place(reader)
        axis = rotation_matrix(pose.quaternion)[:, 0]
        self.builder.add_thruster(
            Thruster(
                reader.attribute('name').replace('/', '_'),
                pose_along(pose.translation, -axis if mirrored else axis),
                Sourced(curve, origin_of(reader)),
                link=self.builder.named_link(reader, 'link'),
                **details,
            )
        )

    def _place(self, reader: Reader) -> Pose:
        """Return the frame of an actuator in the base; its thrust is along x."""
        link = self.builder.named_link(reader, 'link')
        return self.builder.pose_of(link).then(ned_pose(reader.child('origin')))


# Rudders and variable ballast of a Stonefish robot.

_DROP = -1e6
"""1/rad, slope of a lift that ends at once."""


def add_rudder(builder: VehicleBuilder, reader: Reader) -> None:
    """Take a rudder as a fin that turns about the z axis of its frame."""
    specs, where = reader.child('specs'), origin_of(reader)
    if specs is None:
        raise reader.error('has no <specs>')
    area = specs.attribute_number('area', 0.0, 1e-8, 1e4)
    slope = specs.attribute_number('lift_coeff', 0.0, 1e-6, 1e4)
    if not (area > 0 and slope > 0):
        raise specs.error('expected area and lift_coeff above 0')
    stall = specs.attribute_number('stall_angle', math.pi / 4, 1e-3, math.pi / 2)
    limit = specs.attribute_number('max_angle', 0.0, 0.0, math.pi / 2)
    if specs.attribute_number('max_angular_rate', 0.0, 0.0, 1e6):
        builder.drop(f'{where}: max_angular_rate: the rudder follows at once here')
    origin = origin_of(specs)
    values = {
        'area': Sourced(area, origin),
        'lift_slope': Sourced(slope, f'{origin}: lift_coeff'),
        'zero_lift_drag': Sourced(0.0, 'the source has none'),
        'induced_drag': Sourced(1 / slope, f'{origin}: lift_coeff α², which its code has'),
        'stall_angle': Sourced(stall, origin),
        'stall_lift_slope': Sourced(_DROP, 'no lift beyond the stall'),
        'stall_drag_slope': Sourced(slope * (math.pi / 2 + stall), 'to lift_coeff α² at 90°'),
    }
    link = builder.named_link(reader, 'link')
    pose = builder.pose_of(link).then(ned_pose(reader.child('origin')))
    if specs.attribute('inverted', 'false').lower() not in ('true', '1'):
        pose = mesh_pose_in_ned(pose)  # a positive angle turns about an axis that points down
    limits = Sourced((-limit, limit), f'{origin}: max_angle')
    builder.add_fin(Fin(reader.attribute('name').replace('/', '_'), pose, values, limits))


_STROKE_TIME = 10.0
"""s; of ballast whose flow rate the source leaves to its commands."""


def add_ballast(builder: VehicleBuilder, reader: Reader, path: Path, density: float) -> None:
    """Take a variable buoyancy system; it weighs as the water in it."""
    volume, where = reader.child('volume'), origin_of(reader)
    meshes = [] if volume is None else volume.element.findall('mesh')
    if volume is None or len(meshes) < 2:
        raise reader.error('expected a <volume initial="..."> with two or more <mesh>')
    try:
        states = sorted(
            (_state(Reader(m, reader.source), path) for m in meshes), key=lambda state: state[0]
        )
    except ModelError as error:
        builder.drop(f'{where}: the ballast is left out: {error}')
        return
    sizes = np.array([size for size, _ in states])
    centers = np.array([center for _, center in states])
    first = float(np.clip(volume.attribute_number('initial', 0.0, 0.0, 1e6), sizes[0], sizes[-1]))
    center = np.array([np.interp(first, sizes, centers[:, i]) for i in range(3)])
    frame = mesh_pose_in_ned(ned_pose(reader.child('origin')))
    place = frame.then(Pose(center, IDENTITY.quaternion)).translation
    rate = Sourced(density * float(np.ptp(sizes)) / _STROKE_TIME, 'the whole range in 10 s', True)
    builder.add_bladder(
        Bladder(
            reader.attribute('name', 'ballast').replace('/', '_'),
            builder.named_link(reader, 'link'),
            place,
            -density * first,
            -density * float(sizes[-1]),
            -density * float(sizes[0]),
            rate,
            where,
        )
    )


def _state(reader: Reader, path: Path) -> tuple[float, np.ndarray]:
    """Return volume and centre of a mesh."""
    uri = find_mesh(reader.attribute('filename'), path)
    mesh = read_mesh(mesh_path(uri, path.parent))
    made = shapes.shape_of(np.array(mesh.vertices, float), np.array(mesh.faces))
    if not abs(made.volume) > 0:
        raise ModelError(f'{uri}: the mesh encloses no volume')
    return abs(made.volume), made.center


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


def _pressure(reader: Reader, builder: VehicleBuilder) -> Values:
    del builder
    sigma = _number(reader, 'noise', 'pressure', 0.0)
    return {'variance': scale_value(sigma, 0.0 if sigma is None else sigma.value, ', squared')}


def _imu(reader: Reader, builder: VehicleBuilder) -> Values:
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
        builder.drop(f'{drift.origin}: the drift of an attitude')
    return values


def _dvl(reader: Reader, builder: VehicleBuilder) -> Values:
    percent = _number(reader, 'noise', 'velocity_percent')
    if percent is not None and percent.value:
        builder.drop(f'{percent.origin}: a noise that grows with the velocity')
    error = _number(reader, 'noise', 'altitude')
    if error is not None and error.value:
        builder.drop(f'{error.origin}: σ {error.value:g} m of the altitude; ours is a share of it')
    builder.assume(f'{origin_of(reader)}: four beams 45° from ahead')
    return {
        'beam_angle': _number(reader, 'specs', 'beam_angle', 30.0),
        'min_altitude': _number(reader, 'range', 'altitude_min'),
        'max_altitude': _number(reader, 'range', 'altitude_max'),
        'max_velocity': _number(reader, 'range', 'velocity'),
        'velocity_noise': _number(reader, 'noise', 'velocity'),
    }


def _gps(reader: Reader, builder: VehicleBuilder) -> Values:
    del builder
    sigma = _number(reader, 'noise', 'ned_position')
    return {'horizontal_noise': sigma, 'vertical_noise': sigma}


def _camera(reader: Reader, builder: VehicleBuilder) -> Values:
    del builder
    values: Values = {
        'width': _number(reader, 'specs', 'resolution_x'),
        'height': _number(reader, 'specs', 'resolution_y'),
        'field_of_view': _number(reader, 'specs', 'horizontal_fov'),
    }
    if reader.attribute('type') == 'depthcamera':
        values['depth'] = Sourced(1.0, 'type depthcamera')
    return values


def _sonar(reader: Reader, builder: VehicleBuilder) -> Values:
    """Return the common values of a forward-looking and a scanning sonar."""
    for name in ('multiplicative', 'additive'):
        noise = _number(reader, 'noise', name)
        if noise is not None and noise.value:
            builder.drop(f'{noise.origin}: a noise of pixels; ours is in dB beside a reflector')
    return {
        'min_range': _number(reader, 'settings', 'range_min'),
        'max_range': _number(reader, 'settings', 'range_max'),
    }


def _fls(reader: Reader, builder: VehicleBuilder) -> Values:
    return {
        'beams': _number(reader, 'specs', 'beams'),
        'bins': _number(reader, 'specs', 'bins'),
        'aperture': _number(reader, 'specs', 'horizontal_fov'),
        'beam_height': _number(reader, 'specs', 'vertical_fov'),
        **_sonar(reader, builder),
    }


def _msis(reader: Reader, builder: VehicleBuilder) -> Values:
    values = {
        'step': _number(reader, 'specs', 'step'),
        'samples': _number(reader, 'specs', 'bins'),
        'beam_width': _number(reader, 'specs', 'horizontal_beam_width'),
        'beam_height': _number(reader, 'specs', 'vertical_beam_width'),
        **_sonar(reader, builder),
    }
    settings = reader.child('settings')
    if settings is not None:
        low, high = (
            settings.attribute_number(f'rotation_{end}', default, -1e3, 1e3)
            for end, default in (('min', -180.0), ('max', 180.0))
        )
        values['sector'] = Sourced(high - low, origin_of(settings))
        if low != -high:
            builder.drop(
                f'{origin_of(settings)}: a sector that is not about ahead is turned there'
            )
    return values


_READERS: dict[str, tuple[str, Callable[[Reader, VehicleBuilder], Values], tuple[str, str]]] = {
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


def add_stonefish_sensor(builder: VehicleBuilder, reader: Reader) -> None:
    """Take a <sensor> of a robot; one that no sensor of ours stands for is named."""
    kind, name = reader.attribute('type', ''), reader.attribute('name', '')
    if kind not in _READERS:
        where = f'{origin_of(reader)}: sensor {name!r} of type {kind!r}'
        builder.drop(f'{where} is noted only: no sensor of ours')
        return
    link = builder.named_link(reader, 'link')
    ours, read, (x, z) = _READERS[kind]
    frame = mesh_pose_in_ned(ned_pose(reader.child('origin')))
    specs = reader.child('specs')
    if ours == 'dvl' and specs is not None and specs.attribute('beam_positive_z', '') == 'true':
        x, z = 'x', 'z'
    add_sensor(
        builder,
        ours,
        reader,
        link,
        axes_frame(frame, x, z),
        name=name,
        rate=_rate(reader),
        values=read(reader, builder),
        ideal=IDEAL_DVL if ours == 'dvl' else (),
    )
