# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reader of hulls: which parts have one, drag, buoyancy, added mass."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.files import load_or_compute
from marine_sim_ros.geometry.shapes import Shape, move_shape
from marine_sim_ros.model.added_mass import (
    MAX_PANELS,
    PANEL_METHOD,
    TARGET_PANELS,
    Buoyancy,
    Inertia,
    PanelSolution,
    estimate_added_mass,
    panel_mesh,
    solve_panels,
)
from marine_sim_ros.model.collisions import (
    Collision,
    build_panels,
    build_voxels,
    displaced_volumes,
    material_inertia,
    read_collisions,
)
from marine_sim_ros.model.hull import Hull, VoxelSet
from marine_sim_ros.model.hull_parameters import HullSettings, read_hull_settings
from marine_sim_ros.model.hydrodynamics import PANELS, added_mass_method
from marine_sim_ros.model.vehicle import Frame
from marine_sim_ros.model.xml import Reader

__all__ = ['CACHE_KIND', 'read_hull']


# Reader of added_mass="panels": source panels on the collisions, cached between runs.

CACHE_KIND = 'added_mass'
"""Name of the folder of cached results."""
_ROUNDING = 1e-3
"""Share of the largest number by which an eigenvalue may be negative."""


class PanelAddedMass(NamedTuple):
    """Added mass by source panels.

    Attributes:
        added_mass: (6, 6) about the origin of the body frame; kg, kg·m, kg·m².
        note: what was computed, in one line.
        warnings: what was made simpler.
    """

    added_mass: np.ndarray
    note: str
    warnings: tuple[str, ...]


class _Result(NamedTuple):
    solution: PanelSolution
    tolerance: float


def panel_added_mass(
    parts: Sequence[Collision], density: float, root: Reader, progress: Callable[[float], None]
) -> PanelAddedMass:
    """Return the added mass of all collisions together, in unbounded water.

    Args:
        parts: collisions of the vehicle.
        density: of the water, kg/m³.
        root: the <robot> element, for messages.
        progress: function that is called with the completed share, 0 to 1, if there is work.

    Raises:
        ModelError: no collision, a surface that encloses nothing, or too many triangles.
    """
    if not parts:
        raise root.error('added_mass="panels" needs a <collision> to put panels on')
    shapes = [move_shape(c.shape, c.rotation, c.translation) for c in parts]
    try:
        result = load_or_compute(
            CACHE_KIND,
            f'{_cache_key(shapes)}.json',
            lambda: _solve(shapes, progress),
            load=_from_json,
            dump=_to_json,
        )
    except ModelError as error:
        reader = parts[0].reader if len(parts) == 1 else root
        raise reader.error(f'added_mass="panels": {error}') from None
    solution, tolerance = result
    matrix = density * solution.matrix
    numbers = ' '.join(f'{x:.3g}' for x in np.diag(matrix))
    note = (
        f'added mass of {solution.panels} source panels in unbounded water: {numbers} kg and '
        f'kg·m² (surge to yaw), and couplings; A and Aᵀ differ by {solution.asymmetry:.2g} of the '
        'largest'
    )
    warnings: tuple[str, ...] = ()
    if tolerance:
        warnings = (
            root.warning(
                f'has collisions of too many triangles for added_mass="panels"; for it they were '
                f'simplified within {1000 * tolerance:.2g} mm'
            ),
        )
    return PanelAddedMass(matrix, note, warnings)


def _cache_key(shapes: Sequence[Shape]) -> str:
    """Return the SHA-256 of all that the result follows from."""
    digest = hashlib.sha256(f'{PANEL_METHOD} {TARGET_PANELS} {MAX_PANELS}'.encode())
    for shape in shapes:
        faces = np.ascontiguousarray(shape.faces, np.int64)
        digest.update(np.ascontiguousarray(shape.vertices, float).tobytes() + faces.tobytes())
    return digest.hexdigest()


def _solve(shapes: Sequence[Shape], progress: Callable[[float], None]) -> _Result:
    corners, tolerance = panel_mesh(shapes)
    solution = solve_panels(corners, progress)
    if not solution.min_eigenvalue > -_ROUNDING:
        raise ModelError(
            'the equations have no physical solution: some motion would gain energy from '
            'nothing; expected a closed surface without walls that are nearly in one place'
        )
    return _Result(solution, tolerance)


def _to_json(result: _Result) -> bytes:
    solution, tolerance = result
    content = {
        'matrix': solution.matrix.tolist(),
        'asymmetry': solution.asymmetry,
        'least': solution.min_eigenvalue,
        'panels': solution.panels,
        'tolerance': tolerance,
    }
    return json.dumps(content).encode()


def _from_json(text: bytes) -> _Result:
    """Return the result of a file's content; raises for any unexpected content."""
    content = json.loads(text)
    matrix = np.array(content['matrix'], float)
    numbers = [float(content[name]) for name in ('asymmetry', 'least', 'panels', 'tolerance')]
    asymmetry, min_eigenvalue, panels, tolerance = numbers
    sound = matrix.shape == (6, 6) and np.array_equal(matrix, matrix.T)
    if not (sound and np.all(np.isfinite([*matrix.flat, *numbers]))):
        raise ValueError
    if min(asymmetry, panels, tolerance) < 0:
        raise ValueError
    solution = PanelSolution(matrix, asymmetry, min_eigenvalue, int(panels))
    return _Result(solution, tolerance)


# Decides which parts of a vehicle get a hull model, and reads them.

FRESH_WATER = 1000.0
"""kg/m³; default for vehicles without a water density."""


@dataclass(frozen=True, eq=False)
class HullReading:
    """Properties that follow from the collisions of a description.

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
    """Raise for this package's elements in places where they are not read."""
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
    drags = settings.is_described or in_collision or not _lumped_drag(hydrodynamics)
    lumped = any(root.element.find(tag) is not None for tag in ('buoyancy', 'mass_from_parts'))
    floats = not lumped and (material or drags)
    method = added_mass_method(hydrodynamics)
    has_density = hydrodynamics is not None or material
    density = settings.values['water_density'] if has_density else FRESH_WATER
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
        added_mass_result = panel_added_mass(parts, density, root, progress)
        added_mass = added_mass_result.added_mass
        notes.append(hydrodynamics.warning(added_mass_result.note))
        warnings.extend(added_mass_result.warnings)
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
    """Return the added mass of an ellipsoid with the second moments of all collisions."""
    shapes = [c.shape for c in parts]
    volume = sum(s.volume for s in shapes)
    if volume <= 0:
        raise root.error('added_mass="estimate" needs a <collision> to estimate from')
    centers = [c.rotation @ c.shape.center + c.translation for c in parts]
    center = sum(s.volume * r for s, r in zip(shapes, centers, strict=True)) / volume
    second = np.zeros((3, 3))
    for part, r in zip(parts, centers, strict=True):
        tensor = part.rotation @ part.shape.second_moment @ part.rotation.T
        second = second + tensor + part.shape.volume * np.outer(r - center, r - center)
    return estimate_added_mass(volume, np.asarray(center), second, density)
