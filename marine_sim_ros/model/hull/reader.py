# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Decides which parts of a vehicle get a hull model, and reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.model.collisions import Collision, read_collisions
from marine_sim_ros.model.extensions import PANELS, added_mass_method
from marine_sim_ros.model.geometry.added_mass import estimate_added_mass
from marine_sim_ros.model.hull.builder import (
    build_panels,
    build_voxels,
    displaced_volumes,
    material_inertia,
)
from marine_sim_ros.model.hull.hull import Hull, VoxelSet
from marine_sim_ros.model.hull.panel_reader import read_panels
from marine_sim_ros.model.hull.settings import HullSettings, read_hull_settings
from marine_sim_ros.model.vehicle import Buoyancy, Frame, Inertia
from marine_sim_ros.model.xml import Reader

__all__ = ['HullReading', 'read_hull']

FRESH_WATER = 1000.0
"""kg/m³, of vehicles that say nothing of their water."""


@dataclass(frozen=True, eq=False)
class HullReading:
    """What the collisions of a description say.

    Attributes:
        water_density: kg/m³, that the vehicle is trimmed for.
        hull: panels and voxels, or None.
        buoyancy: total buoyancy of the voxels, or None.
        added_mass: (6, 6) from the collisions, or None.
        inertias: inertias, in the body frame, of links with mass from materials.
        warnings: repairs, and values that are unusual.
        notes: what was computed.
    """

    water_density: float
    hull: Hull | None = None
    buoyancy: Buoyancy | None = None
    added_mass: np.ndarray | None = None
    inertias: Mapping[str, Inertia] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def _refuse_lost_tags(root: Reader) -> None:
    """Raise for our elements where nobody would read them."""
    for tag in ('hydrodynamics', 'buoyancy_material'):
        for element in root.element.iter(tag):
            parent: Any = element.getparent()
            if parent.tag not in ('robot', 'collision'):
                raise Reader(element, root.source).error(
                    f'stands in <{parent.tag}>; expected in <robot> or in <collision>'
                )


def _lumped_drag(hydrodynamics: Reader | None) -> bool:
    return hydrodynamics is None or any(
        hydrodynamics.child(f'{kind}_damping') is not None
        for kind in ('linear', 'quadratic', 'modulus')
    )


def read_hull(
    robot: Any,
    root: Reader,
    frames: Mapping[str, Frame],
    base: Path | None,
    progress: Callable[[float], None],
) -> HullReading:
    """Return the hull model of a description.

    Panels drag where <hydrodynamics> has any of the hull's parameters, at robot level or in a
    collision, or where it gives no damping. Voxels float where there is neither <buoyancy> nor
    <mass_from_parts>, and a material, or panels that drag.

    Args:
        robot: robot of urdf_parser_py.
        root: the <robot> element.
        frames: frames of all links.
        base: folder that relative mesh names start from.
        progress: function that is called with the completed share of long work, 0 to 1.

    Raises:
        ModelError: one line with file, line, element, and what was expected.
    """
    hydrodynamics = root.child('hydrodynamics')
    warnings: list[str] = []
    settings = read_hull_settings(hydrodynamics, HullSettings(), warnings)
    collisions = [c for link in root.element.findall('link') for c in link.findall('collision')]
    _refuse_lost_tags(root)
    in_collision = any(c.find('hydrodynamics') is not None for c in collisions)
    material = any(c.find('buoyancy_material') is not None for c in collisions)
    drags = settings.given or in_collision or not _lumped_drag(hydrodynamics)
    lumped = any(root.element.find(tag) is not None for tag in ('buoyancy', 'mass_from_parts'))
    floats = not lumped and (material or drags)
    method = added_mass_method(hydrodynamics)
    known = hydrodynamics is not None or material
    density = settings.values['water_density'] if known else FRESH_WATER
    if not (drags or material or method):
        return HullReading(density, warnings=tuple(warnings))
    parts = read_collisions(robot, root, frames, settings, base=base, warnings=warnings)
    if not parts:
        warnings.append(
            root.warning('has no <collision>, so it has no hull: it neither floats nor drags')
        )
    inertias = _material_inertias(robot, parts, density)
    voxels = None
    if floats:
        volumes = _volumes(robot, parts, inertias, density)
        warnings.extend(
            part.reader.warning(f'displaces nothing: link {part.link!r} has no mass')
            for part, volume in zip(parts, volumes, strict=True)
            if volume == 0
        )
        voxels = build_voxels(parts, volumes)
    if material and not floats:
        warnings.append(root.warning('<buoyancy_material> only gives mass beside <buoyancy>'))
    panels = build_panels(parts) if drags else None
    added_mass, notes = None, []
    if method == PANELS:
        assert hydrodynamics is not None
        found = read_panels(parts, density, root, progress)
        added_mass = found.added_mass
        notes.append(hydrodynamics.warning(found.note))
        warnings.extend(found.warnings)
    elif method:
        added_mass = _estimate(parts, density, root)
    return HullReading(
        density,
        hull=Hull(panels, voxels, density) if panels or voxels else None,
        buoyancy=_summary(voxels, density) if voxels else None,
        added_mass=added_mass,
        inertias=inertias,
        warnings=tuple(warnings),
        notes=tuple(notes),
    )


def _material_inertias(
    robot: Any, parts: Sequence[Collision], density: float
) -> dict[str, Inertia]:
    result = {}
    for link in robot.links:
        inertia = material_inertia(parts, link.name, density) if link.inertial is None else None
        if inertia is not None:
            result[link.name] = inertia
    return result


def _volumes(
    robot: Any, parts: Sequence[Collision], inertias: Mapping[str, Inertia], density: float
) -> np.ndarray:
    masses = {k.name: float(k.inertial.mass or 0) for k in robot.links if k.inertial is not None}
    masses |= {name: inertia.mass for name, inertia in inertias.items()}
    return displaced_volumes(parts, masses, density)


def _summary(voxels: VoxelSet, density: float) -> Buoyancy:
    z = voxels.center[:, 2]
    half = np.abs(voxels.extent[:, :, 2]).sum(axis=1) / 2
    height = float(np.max(z + half) - np.min(z - half))
    return Buoyancy(voxels.total_volume, voxels.centroid, height, density)


def _estimate(parts: Sequence[Collision], density: float, root: Reader) -> np.ndarray:
    """Return the added mass of an ellipsoid as large and as long as all collisions together."""
    shapes = [c.shape for c in parts]
    volume = sum(s.volume for s in shapes)
    if volume <= 0:
        raise root.error('added_mass="estimate" needs a <collision> to estimate from')
    centers = [c.rotation @ c.shape.center + c.translation for c in parts]
    center = sum(s.volume * r for s, r in zip(shapes, centers, strict=True)) / volume
    second = np.zeros((3, 3))
    for part, r in zip(parts, centers, strict=True):
        turned = part.rotation @ part.shape.second_moment @ part.rotation.T
        second = second + turned + part.shape.volume * np.outer(r - center, r - center)
    return estimate_added_mass(volume, np.asarray(center), second, density)
