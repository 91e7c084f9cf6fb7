# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads the sensors of a vehicle: <sensor type="">, and elements of a kind's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ModelError, expected_one_of
from marine_sim_ros.core.registry import SENSORS
from marine_sim_ros.core.schema import ElementSchema, Field, Number, numbers_of, schema_of
from marine_sim_ros.core.spatial import quaternion_product, rotation_matrix
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.core.yaml_file import ConfigFiles, YamlReader
from marine_sim_ros.model.kinematics import OriginElement, base_name, body_frame, read_origin_pose
from marine_sim_ros.model.vehicle import Frame, Sensor
from marine_sim_ros.model.xml import Element, Reader

__all__ = [
    'SENSOR_ELEMENT',
    'Mounting',
    'element_schema',
    'is_foreign',
    'read_frame_name',
    'read_preset',
    'read_sensors',
]

SENSOR_ELEMENT = 'sensor'
COMMON = {'type', 'name', 'link', 'rate', 'latency', 'preset'}
"""Attributes of every <sensor>."""
MAX_RATE, MIN_RATE, MAX_LATENCY = 1e5, 1e-3, 60.0
"""Hz, Hz but for 0, and s."""
_OPTICAL = np.array([-0.5, 0.5, -0.5, 0.5])
"""Turn of an optical frame (z ahead, x right, y down) in one with x ahead, y left, z up."""


class Mounting(NamedTuple):
    """What a sensor's description refers to.

    Attributes:
        frames: links that are fixed to the body, by name.
        fluid_density: water density for which the vehicle is trimmed, kg/m³.
        place: frame of the sensor.
        preset: parameters of its preset, by name.
    """

    frames: dict[str, Frame]
    fluid_density: float
    place: Frame = body_frame()
    preset: Mapping[str, Any] = {}

    def frame(self, reader: Reader) -> Frame:
        """Return the link that an element's attribute ``link`` names; default: the body's.

        Raises:
            ModelError: a link that is unknown.
        """
        link = reader.attribute('link', base_name(self.frames))
        if link not in self.frames:
            expected = expected_one_of(link, sorted(self.frames))
            raise reader.error(f'link {link!r} is unknown; {expected}')
        return self.frames[link]


def is_foreign(element: Element) -> bool:
    """Return whether a <sensor> is one of URDF's own proposal, which names a <parent link="">."""
    return bool(element.tag == SENSOR_ELEMENT and element.find('parent') is not None)


def read_sensors(root: Reader, mounting: Mounting) -> tuple[Sensor, ...]:
    """Return the sensors of a <robot>, in the order of its elements.

    A sensor is called by its attribute ``name``; without one by its kind.

    Raises:
        ModelError: an element that cannot be used, or two sensors of one name.
    """
    result: dict[str, Sensor] = {}
    for element in root.element:
        reader = Reader(element, root.source)
        if element.tag != SENSOR_ELEMENT:
            kind = SENSORS.with_element(element.tag)
        else:
            kind = None if is_foreign(element) else _kind(reader)
        if kind is None:
            continue
        sensor = _read_sensor(reader, kind, mounting)
        if sensor.name in result:
            raise reader.error(
                f'a second sensor is called {sensor.name!r}; expected names of their own '
                '(attribute name)'
            )
        result[sensor.name] = sensor
    return tuple(result.values())


def _kind(reader: Reader) -> Any:
    name = reader.attribute('type')
    if name not in SENSORS:
        raise reader.error(f'type {name!r} is unknown; {expected_one_of(name, SENSORS)}')
    return SENSORS[name]


def _read_sensor(reader: Reader, kind: Any, mounting: Mounting) -> Sensor:
    name = reader.attribute('name', kind.name)
    if not name.isidentifier():
        raise reader.error(f'name is {name!r}; expected letters, digits and underscores')
    text = reader.element.get('preset')
    try:
        preset = {} if text is None else read_preset(str(text), kind)
    except ModelError as error:
        raise reader.error(str(error)) from None
    rate = reader.attribute_number('rate', preset.get('rate', kind.rate), kind.slowest, MAX_RATE)
    if 0 < rate < MIN_RATE:
        raise reader.error(f'rate is {rate:g}; expected 0 (every tick) or {MIN_RATE:g} Hz or more')
    latency = reader.attribute_number('latency', preset.get('latency', 0.0), 0.0, MAX_LATENCY)
    link = mounting.frame(reader)
    frame = _sensor_frame(reader, link, name)
    if kind.optical:
        quaternion = quaternion_product(frame.quaternion, _OPTICAL)
        frame = Frame(f'{name}_optical_frame', link.name, frame.translation, quaternion)
    bare = _drop_origin(reader)
    mounting = mounting._replace(place=frame, preset=preset)
    if kind.read is not None:
        spec = kind.read(bare, mounting)
    else:
        spec = None if kind.spec is None else _read_spec(bare, kind.spec, preset)
        _check_children(bare, kind)
    return Sensor(
        kind.name,
        name,
        spec,
        frame,
        round(NANOSECONDS / rate) if rate else 0,
        round(latency * NANOSECONDS),
        frame is not link,
    )


def _sensor_frame(reader: Reader, link: Frame, name: str) -> Frame:
    """Return the frame of the link, or of the sensor's <origin> on it."""
    if reader.child('origin') is None:
        return link
    pose = read_origin_pose(reader)
    return Frame(
        f'{name}_frame',
        link.name,
        link.translation + rotation_matrix(link.quaternion) @ pose.translation,
        quaternion_product(link.quaternion, pose.quaternion),
    )


def _drop_origin(reader: Reader) -> Reader:
    """Return a reader of the parameters of a kind of sensor."""
    element = deepcopy(reader.element)
    for origin in element.findall('origin'):
        element.remove(origin)
    return Reader(element, reader.source)


def _check_children(reader: Reader, kind: Any) -> None:
    """Raise for unknown attributes and elements."""
    names = set() if kind.spec is None else set(schema_of(kind.spec).children)
    for child in reader.element:
        if child.tag not in names:
            expected = expected_one_of(child.tag, sorted({*names, 'origin'}))
            raise Reader(child, reader.source).error(
                f'is unknown in a sensor of type {kind.name}; {expected}'
            )
    for name in sorted({str(a) for a in reader.element.attrib} - COMMON):
        raise reader.error(
            f'attribute {name!r} is unknown; {expected_one_of(name, sorted(COMMON))}'
        )


def _read_spec(reader: Reader, spec: type, preset: Mapping[str, Any]) -> Any:
    """Return the parameters of a sensor: of its elements, its preset, or the defaults."""
    try:
        return spec(**reader.values(spec, **preset))
    except ValueError as error:
        raise reader.error(str(error)) from None


def read_frame_name(reader: Reader) -> str:
    """Return the name of a vehicle or link in an element, or an empty text."""
    name = (reader.element.text or '').strip().strip('/')
    if len(reader.element) or not re.fullmatch(r'[\w./-]*', name):
        raise reader.error(f'is {name[:80]!r}; expected the name of a vehicle or link')
    return name


def element_schema(kind: Any) -> ElementSchema:
    """Return the element's names of a kind of sensor that has an own element."""
    children = {'origin': schema_of(OriginElement), **schema_of(kind.spec).children}
    return ElementSchema(frozenset(COMMON - {'type'}), children)


def read_preset(name_or_path: str, kind: Any) -> dict[str, Any]:
    """Read a preset of a kind of sensor: its rate (Hz), latency (s) and parameters.

    Args:
        name_or_path: file of ``config/sensors`` without its ending, or a path.
        kind: SensorModel.

    Raises:
        ModelError: it cannot be found, read or used, or is of another kind.
    """
    return ConfigFiles('sensors', partial(_preset, kind=kind), ModelError).load(name_or_path)


def _preset(root: YamlReader, *, kind: Any) -> dict[str, Any]:
    numbers = {} if kind.spec is None else numbers_of(kind.spec)
    if isinstance(root.value, dict) and root.value.get('type') != kind.name:
        other = root.value.get('type')
        raise root.error(f': is of type {other!r}; expected a preset of type {kind.name!r}')
    root.mapping(
        {'description', 'source', 'type', 'rate', 'latency', *numbers}, {'type', 'source'}
    )
    ranges: dict[str, Field] = {
        'rate': Number('rate', 0.0, 'readings per second', 0.0, MAX_RATE, unit='Hz'),
        'latency': Number('latency', 0.0, 'latency', 0.0, MAX_LATENCY, unit='s'),
        **numbers,
    }
    keys = root.value.keys() - {'description', 'source', 'type'}
    return {key: root.field(ranges[key]) for key in keys}
