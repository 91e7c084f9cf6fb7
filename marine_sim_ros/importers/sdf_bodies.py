# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Poses, masses and shapes of SDF's links."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.importers.description import Inertial, Shape, Sourced
from marine_sim_ros.importers.draft import Draft, number, origin_of, text_of
from marine_sim_ros.model.kinematics import FARTHEST
from marine_sim_ros.model.packages import package_folder
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.sdf.poses import IDENTITY, Pose

__all__ = ['read_inertial', 'read_pose', 'read_shape']


def read_pose(reader: Reader) -> tuple[Pose, str]:
    """Return the <pose> of an element, and the frame that it is relative to."""
    pose = reader.first('pose')
    if pose is None:
        return IDENTITY, ''
    given = pose.element
    relative = str(given.get('relative_to', given.get('frame', '')))
    if not (given.text or '').strip():
        return IDENTITY, relative
    if given.get('rotation_format') == 'quat_xyzw':
        values = pose.numbers({7})
        length = float(np.linalg.norm(values[3:]))
        if not length > 0:
            raise pose.error('has a quaternion of length 0')
        turn = values[3:] / length
    else:
        values = pose.numbers({6})
        degrees = str(given.get('degrees', '')).lower() in ('true', '1')
        turn = quaternion_from_rpy(*(np.radians(values[3:]) if degrees else values[3:]))
    if np.any(np.abs(values[:3]) > FARTHEST):
        raise pose.error(f'is beyond {FARTHEST:g} m')
    return Pose(values[:3], turn), relative


def read_inertial(reader: Reader, draft: Draft) -> Inertial:
    """Return the <inertial> of a link; a link without one weighs 1 kg in SDF."""
    inertial = reader.first('inertial')
    label = f'link {reader.attribute("name")!r}'
    if inertial is None:
        rule = f'{label} has no <inertial>: 1 kg and 1 kg·m², the default of SDF'
        draft.assume(rule)
        return Inertial(Sourced(1.0, rule), IDENTITY, Sourced(np.eye(3), rule))
    mass = number(inertial, 'mass', 1.0, 0.0, 1e9)
    moments = inertial.first('inertia')
    values = dict.fromkeys(('ixx', 'iyy', 'izz'), 1.0) | dict.fromkeys(('ixy', 'ixz', 'iyz'), 0.0)
    origin = 'default of SDF: <inertia> is not given'
    if moments is not None:
        origin = origin_of(moments)
        for name in values:
            found = number(moments, name)
            values[name] = values[name] if found is None else found.value
    tensor = np.array(
        [
            [values['ixx'], values['ixy'], values['ixz']],
            [values['ixy'], values['iyy'], values['iyz']],
            [values['ixz'], values['iyz'], values['izz']],
        ]
    )
    return Inertial(mass, read_pose(inertial)[0], Sourced(tensor, origin))


def read_shape(reader: Reader, folder: Path, draft: Draft) -> Shape | None:
    """Return a visual or collision, or None with a note."""
    geometry = reader.element.find('geometry')
    inner = None if geometry is None else next((g for g in geometry), None)
    if inner is None or inner.tag == 'empty':
        return None
    shape = Reader(inner, reader.source)
    pose, origin = read_pose(reader)[0], origin_of(reader)
    colour = _colour(reader)
    if inner.tag == 'box':
        size = shape.value_of('size', lambda r: r.numbers({3}), np.ones(3))
        return Shape('box', tuple(map(float, size)), pose, origin, colour=colour)
    if inner.tag in ('cylinder', 'capsule', 'sphere', 'ellipsoid'):
        return _round(shape, pose, origin, colour, draft)
    if inner.tag == 'mesh':
        scale = shape.value_of('scale', lambda r: r.numbers({1, 3}), np.ones(3))
        scale = np.ones(3) * scale
        uri = _mesh_uri(text_of(shape, 'uri'), folder)
        return Shape('mesh', tuple(map(float, scale)), pose, origin, uri, colour)
    draft.drop(f'{origin}: a <{inner.tag}> is no shape of a vehicle here')
    return None


def _round(shape: Reader, pose: Pose, origin: str, colour: Any, draft: Draft) -> Shape | None:
    radius = number(shape, 'radius', 0.5, 1e-6, FARTHEST)
    if shape.element.tag == 'sphere':
        return Shape('sphere', (radius.value,), pose, origin, colour=colour)
    if shape.element.tag == 'cylinder':
        length = number(shape, 'length', 1.0, 1e-6, FARTHEST)
        return Shape('cylinder', (radius.value, length.value), pose, origin, colour=colour)
    if shape.element.tag == 'capsule':
        length = number(shape, 'length', 1.0, 1e-6, FARTHEST)
        same = length.value + 4 / 3 * radius.value
        draft.assume(f'{origin}: a capsule is a cylinder of the same radius and volume here')
        return Shape('cylinder', (radius.value, same), pose, origin, colour=colour)
    radii = shape.value_of('radii', lambda r: r.numbers({3}), np.ones(3))
    edges = tuple(float(x) for x in 2 * radii * (np.pi / 6) ** (1 / 3))
    draft.assume(f'{origin}: an ellipsoid is a box of the same proportions and volume here')
    return Shape('box', edges, pose, origin, colour=colour)


def _colour(reader: Reader) -> tuple[float, float, float, float] | None:
    element = reader.element.find('material/diffuse')
    if element is None:
        return None
    try:
        values = [float(word) for word in (element.text or '').split()]
    except ValueError:
        return None
    if len(values) not in (3, 4) or not all(0 <= v <= 1 for v in values):
        return None
    return (values[0], values[1], values[2], values[3] if len(values) == 4 else 1.0)


def _mesh_uri(uri: str, folder: Path) -> str:
    """Return a mesh's URI that our reader finds: of a file where it is there, else as it is."""
    if uri.startswith('file://'):
        name = uri.removeprefix('file://')
        return uri if name.startswith('/') else (folder / name).resolve().as_uri()
    name = uri.partition('://')[2] if '://' in uri else uri
    package, _, below = name.partition('/')
    places = [folder / name, *(parent / name for parent in folder.resolve().parents[:4])]
    with contextlib.suppress(ModelError):
        places.insert(0, package_folder(package, folder) / below)
    for place in places:
        if place.is_file():
            return place.resolve().as_uri()
    return uri if '://' not in uri else uri.replace('model://', 'package://')
