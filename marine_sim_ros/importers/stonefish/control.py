# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rudders and variable ballast of a Stonefish robot.

Source: stonefish, Library/src/actuators/Rudder.cpp and VariableBuoyancy.cpp. A rudder turns about
the z axis of its frame, which points down; its lift is ½ ρ A C_L α u² up to the stall and none
beyond, its drag α times as much. Ballast weighs as much as the water in it.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.importers.bladders import add_bladder
from marine_sim_ros.importers.description import GRAVITY, Fin, Sourced
from marine_sim_ros.importers.draft import Draft, origin_of
from marine_sim_ros.importers.stonefish.frames import in_ned, ned_pose
from marine_sim_ros.importers.stonefish.parts import find_mesh
from marine_sim_ros.model.geometry import shapes
from marine_sim_ros.model.geometry.mesh_files import mesh_path, read_mesh
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.sdf.poses import IDENTITY, Pose

__all__ = ['read_ballast', 'read_rudder']

_DROP = -1e6
"""1/rad, slope of a lift that ends at once."""


def read_rudder(draft: Draft, reader: Reader) -> None:
    """Take a rudder as a fin that turns about the z axis of its frame."""
    specs, where = reader.child('specs'), origin_of(reader)
    if specs is None:
        raise reader.error('has no <specs>')
    area = specs.attribute_number('area', 0.0, 1e-8, 1e4)
    slope = specs.attribute_number('lift_coeff', 0.0, 1e-6, 1e4)
    stall = specs.attribute_number('stall_angle', math.pi / 4, 1e-3, math.pi / 2)
    most = specs.attribute_number('max_angle', 0.0, 0.0, math.pi / 2)
    if specs.attribute_number('max_angular_rate', 0.0, 0.0, 1e6):
        draft.drop(f'{where}: max_angular_rate: the rudder follows at once here')
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
    link = draft.named_link(reader, 'link')
    pose = draft.pose_of(link).then(ned_pose(reader.child('origin')))
    if specs.attribute('inverted', 'false').lower() not in ('true', '1'):
        pose = in_ned(pose)  # a positive angle turns about an axis that points down
    limits = Sourced((-most, most), f'{origin}: max_angle')
    draft.fins.append(Fin(reader.attribute('name').replace('/', '_'), pose, values, limits))


def read_ballast(draft: Draft, reader: Reader, path: Path, density: float) -> None:
    """Take a variable buoyancy system at its initial volume; it weighs as the water in it."""
    volume, where = reader.child('volume'), origin_of(reader)
    meshes = [] if volume is None else volume.element.findall('mesh')
    if volume is None or len(meshes) < 2:
        raise reader.error('expected a <volume initial="..."> with two or more <mesh>')
    try:
        states = sorted(
            (_state(Reader(m, reader.source), path) for m in meshes), key=lambda state: state[0]
        )
    except ModelError as error:
        draft.drop(f'{where}: the ballast is left out: {error}')
        return
    sizes = np.array([size for size, _ in states])
    centers = np.array([center for _, center in states])
    first = float(np.clip(volume.attribute_number('initial', 0.0, 0.0, 1e6), sizes[0], sizes[-1]))
    center = np.array([np.interp(first, sizes, centers[:, i]) for i in range(3)])
    frame = in_ned(ned_pose(reader.child('origin')))
    place = frame.then(Pose(center, IDENTITY.quaternion)).translation
    ends = ' to '.join(f'{-density * GRAVITY * v:+.3g}' for v in (sizes[-1], sizes[0]))
    link = draft.named_link(reader, 'link')
    add_bladder(draft, link, -density * first, where, ends, place)


def _state(reader: Reader, path: Path) -> tuple[float, np.ndarray]:
    """Return volume and centre of a mesh."""
    uri = find_mesh(reader.attribute('filename'), path)
    mesh = read_mesh(mesh_path(uri, path.parent))
    made = shapes.shape_of(np.array(mesh.vertices, float), np.array(mesh.faces))
    if not abs(made.volume) > 0:
        raise ModelError(f'{uri}: the mesh encloses no volume')
    return abs(made.volume), made.center
