# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Meshes: there, in metres, and with their outside outwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.doctor.context import DescriptionContext
from marine_sim_ros.doctor.diagnostic import Diagnostic
from marine_sim_ros.doctor.extents import numbers
from marine_sim_ros.doctor.repairs import scaled_mesh
from marine_sim_ros.model.geometry.mesh_files import mesh_path, read_mesh
from marine_sim_ros.model.xml import Element

__all__ = ['inside_out', 'millimetres', 'readable_meshes']

FAR = 30.0
"""Times all else; a mesh that much larger is in another unit."""
AIRY = 10.0
"""Times the edge of a cube of the vehicle's mass and of 100 kg/m³; a WAM-V has 4."""
LONG = 20.0
"""m; of a mesh where no other size is known."""


def _meshes(context: DescriptionContext) -> list[tuple[Element, Any]]:
    result: list[tuple[Element, Any]] = []
    for element in context.root.iter('mesh'):
        if element.get('filename'):
            try:
                path = mesh_path(str(element.get('filename')), context.path.parent)
                result.append((element, read_mesh(path)))
            except ModelError as error:
                result.append((element, str(error)))
    return result


def readable_meshes(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Every mesh, also of visuals, is a file that can be read."""
    for element, mesh in _meshes(context):
        if isinstance(mesh, str):
            yield context.error(
                element, str(mesh), 'check the file name, and that the package is built'
            )


def _other_sizes(context: DescriptionContext) -> float:
    """Return the largest distance (m) that thrusters, joints and plain shapes tell of."""
    found = [
        np.abs(values).max()
        for tag, name, count in (
            ('origin', 'xyz', 3),
            ('box', 'size', 3),
            ('cylinder', 'length', 1),
        )
        for element in context.root.iter(tag)
        if (values := numbers(element.get(name), count)) is not None
    ]
    return float(max(found, default=0.0))


def _largest(context: DescriptionContext) -> float:
    """Return the length (m) that a vehicle of its mass hardly has."""
    if context.loaded is None:
        return np.inf
    return AIRY * float(np.cbrt(context.vehicle.inertia.mass / 100))


def millimetres(context: DescriptionContext) -> Iterator[Diagnostic]:
    """A mesh is about as large as the thrusters, joints and boxes around it."""
    other = _other_sizes(context)
    for element, mesh in _meshes(context):
        if isinstance(mesh, str):
            continue
        scale = numbers(element.get('scale'), 3)
        extents = mesh.extents * (np.ones(3) if scale is None else np.abs(scale))
        longest = float(np.max(extents))
        if longest < max(LONG, FAR * other):
            if longest > _largest(context):
                yield context.warning(
                    element,
                    f'is {longest:.4g} m long, of a vehicle of {context.vehicle.inertia.mass:.3g} '
                    'kg: it is likely in millimetres',
                    'add scale="0.001 0.001 0.001"',
                )
            continue
        against = f', all else within {other:.3g} m' if other else ''
        fits = scale is None and 0.1 * other < longest / 1000 < 10 * other
        yield context.error(
            element,
            f'is {longest:.4g} m long{against}: it is rather in millimetres',
            'add scale="0.001 0.001 0.001"',
            scaled_mesh(element) if fits else None,
        )


def inside_out(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Triangles are counter-clockwise seen from outside: the volume is positive."""
    for element, mesh in _meshes(context):
        if isinstance(mesh, str):
            continue
        scale = numbers(element.get('scale'), 3)
        mesh.merge_vertices(merge_tex=True, merge_norm=True)
        mirrored = scale is not None and np.prod(scale) < 0
        if mesh.is_watertight and mesh.volume * (-1 if mirrored else 1) < 0:
            yield context.warning(
                element,
                'is inside out; for the hull it is turned, other programs may not',
                'flip the normals in the program that made it',
            )
