# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Descriptions for other simulators: Orca3 plugins, plugins that nothing reads.

Source: Orca3 plugin documentation; default drag from the box it describes (0.457 x 0.338 x
0.254 m, Cd 0.8, 0.95, 0.95: c = ½ ρ A Cd).
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.model import xml
from marine_sim_ros.model.added_mass import Buoyancy
from marine_sim_ros.model.elements import has_own_elements
from marine_sim_ros.model.kinematics import base_name
from marine_sim_ros.model.propulsion import (
    ThrusterSpec,
    dead_zone_curve,
    thruster_axis,
    thruster_set,
)
from marine_sim_ros.model.sensors import is_foreign
from marine_sim_ros.model.vehicle import Barometer, Damping, Frame, Sensor, ThrusterSet, Vehicle
from marine_sim_ros.model.xml import Element, Reader, place

__all__ = ['apply_orca3_plugins', 'check_native', 'has_orca3_plugins', 'plugin_warnings']


# Reads the <gazebo><plugin filename="libOrca...Plugin.so"> blocks of an Orca3 URDF.

LINEAR_DRAG = np.array([34.2378, 54.9716, 73.1512])
ANGULAR_DRAG = np.full(3, 3.988)
_PREFIX = 'libOrca'


def is_orca3(plugin: Element) -> bool:
    """Return whether a <plugin> is one of Orca3's."""
    return _PREFIX in (plugin.get('filename') or '')


def _orca3_plugins(robot: Element) -> list[tuple[Element, Element]]:
    return [
        (gazebo, plugin)
        for gazebo in robot.findall('gazebo')
        for plugin in gazebo.iter('plugin')
        if is_orca3(plugin)
    ]


def has_orca3_plugins(robot: Element) -> bool:
    """Return whether a robot carries any Orca3 plugin."""
    return bool(_orca3_plugins(robot))


def _number(reader: Reader, name: str, default: float, low: float, high: float) -> float:
    return reader.value_of(name, lambda r: r.number(low, high), default)


def _unknown_tags(reader: Reader, names: set[str]) -> list[str]:
    """Return a warning for each tag the plugin would ignore without a word."""
    warnings = []
    for child in reader.element:
        if child.tag not in names:
            hint = next((k for k in sorted(names) if child.tag.strip('_') == k), None)
            suggestion = (
                f'; did you mean <{hint}>?' if hint else f'; known: {", ".join(sorted(names))}'
            )
            warnings.append(
                f'{place(reader.source, child)}: <{child.tag}> in {reader.name} '
                f'is unknown and ignored{suggestion}'
            )
    return warnings


def _check_base_link(reader: Reader, base: str) -> None:
    child = reader.child('base_link')
    name = (child.element.text or '').strip() if child else base
    if name != base:
        raise reader.error(f'<base_link> is {name!r}; expected {base!r}, the body')


def _thrusters(reader: Reader, base: str) -> tuple[ThrusterSet, list[str]]:
    warnings = _unknown_tags(reader, {'base_link', 'thrust_dz_pwm', 'thruster', 'ros'})
    _check_base_link(reader, base)
    dead_zone = _number(reader, 'thrust_dz_pwm', 35.0, 0.0, 399.0)
    specs = []
    for index, element in enumerate(reader.element.findall('thruster')):
        thruster = Reader(element, reader.source)
        warnings += _unknown_tags(thruster, {'pos_force', 'neg_force', 'origin'})
        forward = _number(thruster, 'pos_force', 50.0, -1e5, 1e5)
        reverse = _number(thruster, 'neg_force', 40.0, -1e5, 1e5)
        if forward * reverse < 0:
            raise thruster.error(
                f'pos_force {forward:g} and neg_force {reverse:g} differ in sign; expected both '
                'positive, or both negative for a reversed propeller'
            )
        position, axis = thruster_axis(thruster)
        sign = -1.0 if forward < 0 or reverse < 0 else 1.0
        specs.append(
            ThrusterSpec(
                name=thruster.attribute('name', f'thruster_{index + 1}'),
                position=position,
                # A negative force along z is the positive force along −z.
                axis=sign * axis,
                curve=dead_zone_curve(abs(forward), abs(reverse), dead_zone),
                handedness=sign,
            )
        )
    return thruster_set(specs), warnings


def _buoyancy(reader: Reader, base: str) -> tuple[Buoyancy, list[str]]:
    names = {'base_link', 'center_of_volume', 'fluid_density', 'height', 'volume'}
    _check_base_link(reader, base)
    return Buoyancy(
        _number(reader, 'volume', 0.01, 0.0, 1e6),
        reader.value_of('center_of_volume', Reader.vector, np.zeros(3)),
        _number(reader, 'height', 0.25, 1e-6, 1e3),
        _number(reader, 'fluid_density', 997.0, 0.0, 2e4),
    ), _unknown_tags(reader, names)


def _drag(reader: Reader, base: str) -> tuple[Damping, list[str]]:
    names = {'base_link', 'center_of_mass', 'linear_drag', 'angular_drag'}
    _check_base_link(reader, base)
    linear = reader.value_of('linear_drag', Reader.vector, LINEAR_DRAG)
    angular = reader.value_of('angular_drag', Reader.vector, ANGULAR_DRAG)
    if np.any(linear < 0) or np.any(angular < 0):
        raise reader.error('has negative drag; expected coefficients that oppose the motion')
    return Damping(
        np.zeros((6, 6)),
        np.diag(np.concatenate([linear, angular])),
        reader.value_of('center_of_mass', Reader.vector, np.zeros(3)),
    ), _unknown_tags(reader, names)


def _barometer(reader: Reader, link: str, frames: dict[str, Frame]) -> tuple[Barometer, list[str]]:
    """Return the barometer, which reads the pressure at z_link − z_link(0) − offset.

    Gazebo's altimeter counts from where the link is when the model is put in, with base_link at
    z = 0, and the plugin subtracts ``baro_link_to_base_link_z``. Only with the offset
    z_base − z_link, as its source describes it, that is the height of the sensor.
    """
    names = {
        'atmospheric_pressure',
        'baro_link_to_base_link_z',
        'fluid_density',
        'variance',
        'ros',
    }
    if link not in frames:
        raise reader.error(f'<gazebo reference="{link}"> names no link')
    warnings = _unknown_tags(reader, names)
    height = float(frames[link].translation[2])
    offset = _number(reader, 'baro_link_to_base_link_z', 0.0, -100.0, 100.0)
    if abs(offset + height) > 1e-9:
        lower = 'below' if offset + height > 0 else 'above'
        warnings.append(
            reader.warning(
                f'reads the pressure {abs(offset + height):.3g} m {lower} {link}, as the plugin '
                f'does with baro_link_to_base_link_z {offset:g}; expected {-height + 0.0:g}, z of '
                f'base_link less z of {link}'
            )
        )
    return Barometer(
        link,
        frames[link].translation,
        _number(reader, 'atmospheric_pressure', 101300.0, 0.0, 1e9),
        _number(reader, 'fluid_density', 997.0, 0.0, 2e4),
        _number(reader, 'variance', 40000.0, 0.0, 1e12),
        reference_offset=-height - offset,
    ), warnings


def apply_orca3_plugins(
    vehicle: Vehicle, robot: Element, frames: dict[str, Frame], source: str
) -> Vehicle:
    """Return the vehicle with the properties of its Orca3 plugins.

    Raises:
        ModelError: an Orca3 plugin this package does not know, or one that is given twice.
    """
    kinds: set[str] = set()
    base = base_name(frames)
    for gazebo, element in _orca3_plugins(robot):
        kind = str(element.get('filename')).split(_PREFIX)[1].removesuffix('Plugin.so')
        reader = Reader(element, source)
        if kind in kinds:
            raise reader.error(f'a second {_PREFIX}{kind}Plugin.so; expected one')
        kinds.add(kind)
        if kind == 'Thruster':
            part, warnings = _thrusters(reader, base)
            vehicle = replace(vehicle, thrusters=part)
        elif kind == 'Buoyancy':
            volume, warnings = _buoyancy(reader, base)
            vehicle = replace(vehicle, buoyancy=volume)
        elif kind == 'Drag':
            damping, warnings = _drag(reader, base)
            vehicle = replace(vehicle, damping=damping)
        elif kind == 'Barometer':
            link = gazebo.get('reference') or base
            sensor, warnings = _barometer(reader, link, frames)
            vehicle = replace(
                vehicle,
                sensors=(*vehicle.sensors, Sensor('barometer', 'barometer', sensor, frames[link])),
            )
        else:
            raise ModelError(
                f'{place(source, element)}: unknown plugin {element.get("filename")!r}; '
                'expected libOrcaThruster-, Buoyancy-, Drag- or BarometerPlugin.so'
            )
        vehicle = replace(vehicle, warnings=(*vehicle.warnings, *warnings))
    return vehicle


# Gazebo plugins of a description that are not read.

IMPORT_HINT = 'marine_sim import reads plugins of Gazebo, UUV Simulator and VRX'
READ_ELEMENTS = (
    'libOrca…Plugin.so, <thrusters>, <buoyancy>, <hydrodynamics>, <barometer> and '
    '<sensor type="" link="">'
)


def foreign_plugins(robot: Element) -> list[Element]:
    """Return the <gazebo> plugins of a robot that are not Orca3's."""
    return [p for p in robot.iterfind('gazebo//plugin') if not is_orca3(p)]


def plugin_warnings(robot: Element, source: str) -> tuple[str, ...]:
    """Return a warning with file, line and name for each plugin and sensor that is not read."""
    sensors = tuple(
        Reader(sensor, source).warning(f'is ignored: marine_sim_ros reads {READ_ELEMENTS}')
        for sensor in robot.findall('sensor')
        if is_foreign(sensor)
    )
    return sensors + tuple(
        Reader(plugin, source).warning(
            f'plugin {plugin.get("filename", "without a filename")} is ignored: '
            f'marine_sim_ros reads {READ_ELEMENTS}; {IMPORT_HINT}'
        )
        for plugin in foreign_plugins(robot)
    )


# Descriptions for other simulators, which fall here until they are imported.

_WATER = re.compile(
    r'underwater_object|uuv_|usv_|hydrodynamics|buoyancy|thruster|lift-?drag|motor_?model|'
    r'freefloating|vrx::surface|libsurface|wave_?sim|gz-waves',
    re.IGNORECASE,
)
"""Of plugins that float, drag or push a vehicle in Gazebo."""


def check_native(path: Path, robot: xml.Element) -> None:
    """Refuse a URDF whose water only plugins of another simulator describe.

    Args:
        robot: the <robot>, xacro expanded.

    Raises:
        ModelError: it has none of our elements, and such plugins or a <buoyancy> in a link.
    """
    if has_orca3_plugins(robot) or has_own_elements(robot):
        return
    plugins = (
        (p, f'{p.get("name", "")} {p.get("filename", "")}'.strip())
        for gazebo in robot.findall('gazebo')
        for p in gazebo.iter('plugin')
    )
    plugin_label = next((label for _, label in plugins if _WATER.search(label)), '')
    if not plugin_label and robot.find('link/buoyancy') is not None:
        plugin_label = '<buoyancy> in a <link>'
    if plugin_label:
        written = path.name.removesuffix('.xacro').removesuffix('.urdf')
        raise ModelError(
            f'{path}: its water is described for another simulator ({plugin_label[:120]}), and '
            'without '
            f'it the vehicle falls; import it first: marine_sim import {path} -o '
            f'{written}_imported.urdf'
        )
