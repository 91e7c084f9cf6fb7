# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""How a vehicle looks: its links with their shapes, joints, cameras, lights, thrusters."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.model.geometry.mesh_files import mesh_path, read_mesh
from marine_sim_ros.model.joints import MOVING
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.model.xml import Reader, parse
from marine_sim_ros.sdf.poses import Pose, read_origin
from marine_sim_ros.sdf.visuals import read_colours

__all__ = ['floats', 'vehicle_visuals']

_GREY = (0.6, 0.6, 0.62, 1.0)
_SIZES = {'box': ('size',), 'cylinder': ('radius', 'length'), 'sphere': ('radius',)}


def floats(values: np.ndarray) -> str:
    """Return numbers as base64 of little-endian float32, a third of the size of JSON."""
    return base64.b64encode(np.ascontiguousarray(values, '<f4').tobytes()).decode('ascii')


def _pose(pose: Pose) -> dict[str, Any]:
    return {'at': pose.translation.tolist(), 'turn': pose.quaternion.tolist()}


def _mesh(shape: Reader, base: Path | None) -> dict[str, Any]:
    mesh = read_mesh(mesh_path(shape.attribute('filename'), base))
    scale = shape.numbers({3}, shape.attribute('scale', '1 1 1'))
    corners = np.asarray(mesh.vertices)[np.asarray(mesh.faces)] * scale
    if np.prod(scale) < 0:
        corners = corners[:, ::-1]
    return {'kind': 'mesh', 'corners': floats(corners)}


def _shape(visual: Reader, base: Path | None) -> dict[str, Any]:
    geometry = visual.child('geometry')
    shapes = [] if geometry is None else geometry.children({*_SIZES, 'mesh'})
    if len(shapes) != 1:
        raise visual.error('has no geometry; expected <box>, <cylinder>, <sphere> or <mesh>')
    shape, kind = shapes[0], str(shapes[0].element.tag)
    if kind == 'mesh':
        return _mesh(shape, base)
    count = {3} if kind == 'box' else {1}
    size = [x for n in _SIZES[kind] for x in shape.numbers(count, shape.attribute(n)).tolist()]
    return {'kind': kind, 'size': size}


def _visuals(
    link: Reader, colours: dict[str, np.ndarray], base: Path | None, told: list[str]
) -> list[dict[str, Any]]:
    found = []
    for element in link.element.findall('visual'):
        visual = Reader(element, link.source)
        try:
            shape = _shape(visual, base)
        except ModelError as error:  # one lost mesh does not take the whole view away
            told.append(str(error))
            continue
        material = visual.child('material')
        colour: Any = _GREY
        if material is not None:
            own = read_colours(material).get(material.attribute('name', ''))
            named = colours.get(material.attribute('name', ''))
            colour = own if own is not None else named if named is not None else _GREY
        found.append({**shape, **_pose(read_origin(visual)), 'colour': list(map(float, colour))})
    return found


def _links(root: Reader, body: str, base: Path | None, told: list[str]) -> list[dict[str, Any]]:
    """Return all links, the body first, parents before children: each with its joint."""
    colours = read_colours(root)
    links = {e.get('name', ''): Reader(e, root.source) for e in root.element.findall('link')}
    children: dict[str, list[Reader]] = {}
    for element in root.element.findall('joint'):
        joint = Reader(element, root.source)
        parent = joint.child('parent')
        if parent is not None:
            children.setdefault(parent.attribute('link'), []).append(joint)
    result: list[dict[str, Any]] = []
    queue: list[tuple[str, str, Reader | None]] = [(body, '', None)]
    while queue:
        name, parent_name, by = queue.pop(0)
        entry: dict[str, Any] = {'name': name, 'parent': parent_name}
        if by is not None:
            entry |= _pose(read_origin(by))
            kind = by.attribute('type')
            if kind in MOVING:
                axis = by.child('axis')
                along = [1.0, 0.0, 0.0]
                if axis is not None:
                    along = axis.numbers({3}, axis.attribute('xyz')).tolist()
                entry['joint'] = {'name': by.attribute('name'), 'kind': kind, 'axis': along}
        if name in links:
            entry['visuals'] = _visuals(links[name], colours, base, told)
        result.append(entry)
        for joint in children.get(name, ()):
            child = joint.child('child')
            if child is not None:
                queue.append((child.attribute('link'), name, joint))
    return result


def vehicle_visuals(vehicle: Vehicle, base: Path | None = None) -> dict[str, Any]:
    """Return what a page needs to draw a vehicle; JSON.

    Args:
        vehicle: the vehicle, with its URDF.
        base: folder that relative mesh names start from.

    Raises:
        ModelError: its URDF cannot be read.
    """
    told: list[str] = []
    root = Reader(parse(vehicle.urdf, vehicle.name), vehicle.name)
    links = _links(root, vehicle.base_link, base, told)
    arm, thrusters, hull = vehicle.manipulator, vehicle.thrusters, vehicle.hull
    voxels = None if hull is None else hull.voxels
    return {
        'name': vehicle.name,
        'mass': vehicle.inertia.mass,
        'center_of_mass': vehicle.inertia.center_of_mass.tolist(),
        'links': links,
        'cameras': [e['name'] for e in links if 'camera' in e['name']],
        'lights': [e['name'] for e in links if 'light' in e['name']],
        'joints': []
        if arm is None
        else [
            {'name': n, 'lower': float(low), 'upper': float(high), 'slides': bool(s)}
            for n, low, high, s in zip(arm.names, arm.lower, arm.upper, arm.sliding, strict=True)
        ],
        'barometer': vehicle.barometer is not None,
        'thrusters': [
            {'name': n, 'at': p.tolist(), 'axis': a.tolist()}
            for n, p, a in zip(thrusters.names, thrusters.position, thrusters.axis, strict=True)
        ],
        'metered': bool(np.any(thrusters.power_of_thrust(np.ones(len(thrusters.names))))),
        'voxels': None
        if voxels is None
        else {
            'centers': floats(voxels.center),
            'size': float(np.median(np.linalg.norm(voxels.extent, axis=-1))),
        },
        'told': told,
    }
