# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""URDF and xacro with <gazebo> blocks -> links, joints and plugins."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.importers.bodies import choose_base, grow_tree, read_pose
from marine_sim_ros.importers.builder import Options, Plugin, VehicleBuilder, origin_of
from marine_sim_ros.importers.description import (
    ImportedJoint,
    ImportedLink,
    ImportedShape,
    Inertial,
    Sourced,
)
from marine_sim_ros.importers.other_plugins import add_link_water
from marine_sim_ros.model.elements import URDF_ELEMENTS, robot_elements
from marine_sim_ros.model.foreign import has_orca3_plugins
from marine_sim_ros.model.kinematics import MAX_PART_DISTANCE, read_origin_pose
from marine_sim_ros.model.xml import Element, Reader, direction_along

__all__ = ['read_urdf']

_DAMPING_OF_ENGINE = ('velocity_decay', 'linear_damping', 'angular_damping', 'dampingFactor')


def read_urdf(
    root: Element, source: str, path: Path, options: Options
) -> tuple[VehicleBuilder, list[Plugin]]:
    """Return the vehicle of a URDF (xacro expanded) with the plugins that act on it.

    Args:
        source: name of the file, for messages.
        options: what to take.

    Raises:
        ModelError: anything in it that cannot be used.
    """
    ours = sorted({e.tag for e in root if e.tag in robot_elements()})
    if has_orca3_plugins(root) or ours:
        what = f'<{ours[0]}>' if ours else 'plugins of Orca3'
        raise ModelError(
            f'{path}: has {what}, so it needs no import; expected marine_sim run {path}'
        )
    builder = VehicleBuilder(
        str(root.get('name') or path.stem), str(path), 'URDF', path.parent, options
    )
    colours = _colours(root, source)
    for element in root.findall('link'):
        link = _link(Reader(element, source), colours)
        if link.name in builder.links:
            raise Reader(element, source).error('a second link of this name')
        builder.links[link.name] = link
    for element in root.findall('joint'):
        joint = _joint(Reader(element, source), builder)
        builder.joints[joint.name] = joint
    for element in root:
        if element.tag not in URDF_ELEMENTS:
            builder.drop_element(element, source, 'is not read')
    builder.base = choose_base(builder)
    grow_tree(builder)
    if builder.mass <= 0:
        base = next(e for e in root.findall('link') if e.get('name') == builder.base)
        raise Reader(base, source).error('no link has a mass; expected <inertial> with <mass>')
    for element in root.findall('link'):
        add_link_water(Reader(element, source), builder)
    return builder, _plugins(root, source, builder)


def _plugins(root: Element, source: str, builder: VehicleBuilder) -> list[Plugin]:
    result = []
    for gazebo in root.findall('gazebo'):
        reference = str(gazebo.get('reference', ''))
        for plugin in gazebo.iter('plugin'):
            result.append(Plugin(Reader(plugin, source), reference))
        for sensor in gazebo.findall('sensor'):
            reader = Reader(sensor, source)
            pose = read_pose(reader)[0]
            builder.notes.setdefault('sensors', []).append((reference, reader, pose))
        for mass in gazebo.iter('fluid_added_mass'):
            builder.notes.setdefault('fluid_added_mass', {})[reference] = Reader(mass, source)
        for element in gazebo.iter(*_DAMPING_OF_ENGINE):
            if next(element.iterancestors('plugin'), None) is not None:
                continue  # a term of the plugin
            builder.drop_element(element, source, 'damping of the physics engine is not read')
    return result


def _colours(root: Element, source: str) -> dict[str, tuple[float, ...]]:
    result = {}
    for material in root.iter('material'):
        colour = material.find('color')
        if colour is not None and material.get('name'):
            reader = Reader(colour, source)
            values = reader.numbers({4}, reader.attribute('rgba', '0.7 0.7 0.7 1'))
            result[str(material.get('name'))] = tuple(float(np.clip(v, 0, 1)) for v in values)
    return result


def _link(reader: Reader, colours: dict[str, tuple[float, ...]]) -> ImportedLink:
    return ImportedLink(
        reader.attribute('name'),
        _inertial(reader),
        _shapes(reader, 'visual', colours),
        _shapes(reader, 'collision', {}),
    )


def _inertial(link: Reader) -> Inertial | None:
    inertial = link.first('inertial')
    mass = None if inertial is None else inertial.child('mass')
    if inertial is None or mass is None:
        return None
    moments = inertial.child('inertia')
    tensor = np.zeros((3, 3))
    if moments is not None:
        for i, a in enumerate('xyz'):
            for j, b in enumerate('xyz'):
                key = 'i' + ''.join(sorted(a + b))
                tensor[i, j] = moments.attribute_number(key, 0.0, -1e17, 1e17)
    return Inertial(
        Sourced(mass.attribute_number('value', 0.0, 0.0, 1e9), origin_of(mass)),
        read_origin_pose(inertial),
        Sourced(tensor, origin_of(moments or inertial)),
    )


def _shapes(
    link: Reader, tag: str, colours: dict[str, tuple[float, ...]]
) -> tuple[ImportedShape, ...]:
    result = []
    for element in link.element.findall(tag):
        reader = Reader(element, link.source)
        geometry = element.find('geometry')
        inner = None if geometry is None else next((g for g in geometry), None)
        if inner is None:
            continue
        shape = Reader(inner, link.source)
        kind, size, uri = _size(shape)
        named = element.find('material')
        colour = None if named is None else colours.get(str(named.get('name')))
        result.append(
            ImportedShape(kind, size, read_origin_pose(reader), origin_of(reader), uri, colour)  # type: ignore[arg-type]
        )
    return tuple(result)


def _size(shape: Reader) -> tuple[str, tuple[float, ...], str]:
    """Return kind, size and URI of a geometry."""
    tag = str(shape.element.tag)
    if tag == 'box':
        values = shape.numbers({3}, shape.attribute('size'))
    elif tag == 'cylinder':
        values = shape.numbers({2}, f'{shape.attribute("radius")} {shape.attribute("length")}')
    elif tag == 'sphere':
        values = shape.numbers({1}, shape.attribute('radius'))
    elif tag == 'mesh':
        scale = shape.numbers({1, 3}, shape.attribute('scale', '1 1 1'))
        return 'mesh', tuple(float(x) for x in np.ones(3) * scale), shape.attribute('filename')
    else:
        raise shape.error('is no shape; expected <box>, <cylinder>, <sphere> or <mesh>')
    if np.any(np.abs(values) > MAX_PART_DISTANCE) or np.any(values <= 0):
        raise shape.error(f'has the size {values.tolist()}; expected positive lengths in m')
    return tag, tuple(float(x) for x in values), ''


def _first_child(reader: Reader, tag: str, builder: VehicleBuilder) -> Reader | None:
    """Return the first child of a tag, as URDF readers take it; a second one is named."""
    found = reader.element.findall(tag)
    if len(found) > 1:
        builder.assume(
            f'{origin_of(Reader(found[1], reader.source))}: a second <{tag}>; the first counts'
        )
    return reader.first(tag)


def _joint(reader: Reader, builder: VehicleBuilder) -> ImportedJoint:
    parent, child = (builder.named_link(reader, tag, 'link') for tag in ('parent', 'child'))
    kind = reader.attribute('type')
    axis = _first_child(reader, 'axis', builder)
    along = np.array([1.0, 0.0, 0.0])
    if axis is not None:
        along = axis.numbers({3}, axis.attribute('xyz', '1 0 0'))
    limit = _first_child(reader, 'limit', builder)
    lower = upper = 0.0
    velocity = 1.0
    if limit is not None:
        lower, upper = limit.attribute_number('lower', 0.0), limit.attribute_number('upper', 0.0)
        velocity = limit.attribute_number('velocity', 0.0)
    if kind not in ('fixed', 'revolute', 'continuous', 'prismatic'):
        builder.drop(f'{origin_of(reader)}: {kind} joints are fixed here')
        kind = 'fixed'
    if kind in ('revolute', 'prismatic') and (lower == upper == 0.0 or velocity <= 0):
        kind = 'fixed'
    if axis is not None and kind != 'fixed' and direction_along(along) is None:
        raise axis.error(f'is {along.tolist()}; expected a direction')
    return ImportedJoint(
        reader.attribute('name'),
        kind,
        parent,
        child,
        read_origin_pose(reader),
        (float(along[0]), float(along[1]), float(along[2])),
        lower,
        upper,
        velocity,
        origin_of(reader),
    )
