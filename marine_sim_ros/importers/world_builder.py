# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Links and joints of SDF -> fields of free bodies and their joints in an environment file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.importers.description import ImportedShape, Inertial
from marine_sim_ros.model.kinematics import Pose
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.scene.bodies import homogeneous_moments
from marine_sim_ros.scene.meshes import SHEET_THICKNESS, load_obstacle_mesh
from marine_sim_ros.scene.obstacles import Obstacle

__all__ = ['axis_fields', 'extent', 'numbers', 'plain_body', 'sizes']

_ENDLESS = 1e15
"""rad or m; a stop beyond is none."""


def plain_body(inertial: Inertial, shapes: Sequence[ImportedShape]) -> dict[str, Any] | None:
    """Return shape and mass of a homogeneous body of one primitive in its middle, or None."""
    shape = shapes[0]
    middles = np.concatenate([p.translation for p in (shape.pose, inertial.pose)])
    turns = np.concatenate([p.quaternion[:3] for p in (shape.pose, inertial.pose)])
    if len(shapes) > 1 or shape.kind == 'mesh' or np.abs([*middles, *turns]).max() > 1e-9:
        return None
    mass = inertial.mass.value
    moments = homogeneous_moments(Obstacle('', shape.kind, _edges(shape), np.zeros(3)), mass)
    if not np.allclose(inertial.tensor.value, np.diag(moments), rtol=1e-6, atol=1e-12):
        return None
    return {'shape': shape.kind, **sizes(shape), 'mass': mass}


def _edges(shape: ImportedShape) -> np.ndarray:
    """Return the edges (3,) of the box around a primitive in its own axes, m."""
    if shape.kind == 'box':
        return np.array(shape.size)
    diameter = 2 * shape.size[0]
    return np.array([diameter, diameter, shape.size[1] if shape.kind == 'cylinder' else diameter])


def axis_fields(axis: Reader, pose: Pose) -> dict[str, Any]:
    """Return axis, stops, friction, damping and spring of a joint whose frame is at a pose."""
    element = axis.element.find('xyz')
    if element is not None and element.get('expressed_in'):
        raise axis.error('is expressed in another frame; expected that of the joint')
    along = axis.value_of('xyz', Reader.direction, np.array([0.0, 0.0, 1.0]))
    result: dict[str, Any] = {'axis': numbers(rotation_matrix(pose.quaternion) @ along)}
    limit, dynamics = axis.first('limit'), axis.first('dynamics')
    if limit is not None:
        ends = [
            limit.value_of(n, Reader.number, d) for n, d in (('lower', -1e16), ('upper', 1e16))
        ]
        stops = [float(end) if abs(end) < _ENDLESS else None for end in ends]
        if any(stop is not None for stop in stops):
            result['limits'] = stops
    for ours, name in (
        ('friction', 'friction'),
        ('damping', 'damping'),
        ('stiffness', 'spring_stiffness'),
        ('rest', 'spring_reference'),
    ):
        value = 0.0 if dynamics is None else dynamics.value_of(name, Reader.number, 0.0)
        if value:
            result[ours] = float(value)
    return result


def sizes(shape: ImportedShape) -> dict[str, Any]:
    """Return the sizes of a primitive by their keys in an environment file, m."""
    if shape.kind == 'box':
        return {'size': numbers(shape.size)}
    return dict(zip(('radius', 'length'), map(float, shape.size), strict=False))


def extent(shapes: Sequence[ImportedShape], meshes: Mapping[str, Path]) -> np.ndarray:
    """Return the edges (3,) of the box around shapes, in the axes of their link, m.

    Args:
        shapes: primitives and meshes.
        meshes: files of the meshes by their name.
    """
    corners = []
    for shape in shapes:
        center = np.zeros(3)
        if shape.kind == 'mesh':
            path = meshes[Path(shape.uri).name]
            x, y, z = shape.size
            mesh = load_obstacle_mesh(path, (x, y, z), 'z', SHEET_THICKNESS)
            center, edges = mesh.center, np.ptp(mesh.surface.vertices, axis=0)
        else:
            edges = _edges(shape)
        signs = np.array(list(product((-0.5, 0.5), repeat=3)))
        rotation = rotation_matrix(shape.pose.quaternion)
        corners.append(shape.pose.translation + (center + signs * edges) @ rotation.T)
    return np.asarray(np.ptp(np.concatenate(corners), axis=0))


def numbers(values: Any) -> list[float]:
    """Return numbers as YAML writes them."""
    return [float(v) for v in values]
