# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Surface vessels of VRX: hulls of the Surface plugin, SimpleHydrodynamics.

Source: vrx, vrx_gz/src/{Surface,SimpleHydrodynamics}.cc.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.importers.description import Shape, Sourced
from marine_sim_ros.importers.draft import Draft, Plugin, number, origin_of, text_of
from marine_sim_ros.importers.gazebo_plugins import set_hydrodynamics
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.sdf.poses import Pose

__all__ = ['add_hulls', 'read_simple_hydrodynamics', 'read_surface', 'twin_hulls']

_SLENDER = 200
"""Length over radius; a longer hull would be cut into millions of voxels."""
_DENSITY = 997.7735
"""kg/m³, default of the plugins."""
_PAIRS = (('x', 'U'), ('y', 'V'), ('z', 'W'), ('k', 'P'), ('m', 'Q'), ('n', 'R'))
_ALONG_X = quaternion_from_rpy(0.0, np.pi / 2, 0.0)


def read_surface(plugin: Plugin, draft: Draft) -> None:
    """Take vrx::Surface: the lower half of a cylinder that floats, divided among its points."""
    reader = plugin.reader
    link = draft.known_link(reader, text_of(reader, 'link_name').replace('::', '/'))
    length = number(reader, 'hull_length', 4.9, 1e-3, 1e4).value
    radius = number(reader, 'hull_radius', 0.213, 1e-3, 1e4).value
    draft.water_density = number(reader, 'fluid_density', _DENSITY, 1.0, 2e4)
    points = [
        Reader(p, reader.source).numbers({3}) for p in reader.element.findall('points/point')
    ]
    if points:
        hulls = _cylinders(reader, points, length / len(points), radius)
    else:
        own = number(reader, 'vehicle_length', length, 1e-3, 1e4)
        width = number(reader, 'vehicle_width', None, 1e-3, 1e4)
        if width is None:
            raise reader.error('has no <points><point>, and no <vehicle_width>')
        hulls = twin_hulls(reader, own.value, width.value, radius)
    draft.assume(
        f'{origin_of(reader)}: the whole cylinder displaces; in the source no more than its '
        'lower half does'
    )
    add_hulls(reader, draft, link, hulls)


def twin_hulls(reader: Reader, length: float, width: float, radius: float) -> list[Shape]:
    """Return two hulls along x at y = ±width/2, each in two halves, for plugins without points."""
    halves = [(x, y) for x in (-1, 1) for y in (-1, 1)]
    points = [np.array([x * length / 4, y * width / 2, 0.0]) for x, y in halves]
    return _cylinders(reader, points, length / 2, radius)


def _cylinders(
    reader: Reader, points: list[np.ndarray], length: float, radius: float
) -> list[Shape]:
    """Return cylinders along x that touch points (3,) with their lowest line."""
    if length > _SLENDER * radius:
        raise reader.error(
            f'a hull of {length:g} m is more than {_SLENDER} times its radius {radius:g} m; '
            'expected a hull'
        )
    up, origin = np.array([0.0, 0.0, radius]), origin_of(reader)
    return [Shape('cylinder', (radius, length), Pose(p + up, _ALONG_X), origin) for p in points]


def add_hulls(reader: Reader, draft: Draft, link: str, hulls: list[Shape]) -> None:
    """Let shapes of a link float the vehicle in place of its own collisions."""
    if 'hull' not in draft.notes:
        for name, known in draft.links.items():
            if known.collisions:
                draft.drop(
                    f'collisions of link {name!r}: the hulls of {origin_of(reader)} replace them'
                )
                draft.links[name] = replace(known, collisions=())
    draft.notes['hull'] = True
    known = draft.links[link]
    draft.links[link] = replace(known, collisions=(*known.collisions, *hulls))


def read_simple_hydrodynamics(plugin: Plugin, draft: Draft) -> None:
    """Take vrx::SimpleHydrodynamics; its coefficients are positive where they damp."""
    reader = plugin.reader
    name = text_of(reader, 'link_name') or text_of(reader, 'bodyName') or draft.base
    link = draft.known_link(reader, name.replace('::', '/'))
    density = number(reader, 'waterDensity')
    if density is not None and draft.water_density is None:
        draft.water_density = Sourced(density.value, density.origin)
    added, linear, quadratic = (np.zeros((6, 6)) for _ in range(3))
    for i, (row, column) in enumerate(_PAIRS):
        for matrix, tag in (
            (added, f'{row}Dot{column}'),
            (linear, f'{row}{column}'),
            (quadratic, f'{row}{column}{column}'),
            (quadratic, f'{row}{column}abs{column}'),
        ):
            found = number(reader, tag)
            if found is not None:
                matrix[i, i] += abs(found.value)
    set_hydrodynamics(draft, reader, link, added, linear, quadratic, np.zeros((6, 6)))
