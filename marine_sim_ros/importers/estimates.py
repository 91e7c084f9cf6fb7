# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Drag and added mass of a vehicle whose source has none: of the box around its shapes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import rotation_matrix, transport
from marine_sim_ros.importers.description import Hydrodynamics, Link, Sourced
from marine_sim_ros.importers.draft import Draft
from marine_sim_ros.importers.geometry import box_around, solid
from marine_sim_ros.model.geometry import shapes
from marine_sim_ros.model.geometry.added_mass import ellipsoid_added_mass

__all__ = ['box_drag', 'estimate_missing']

_CD = 1.0
"""Drag coefficient of a box broadside on; Hoerner (1965), ch. 3: 1.05 for a cube."""
_CREEP = 0.1
"""m/s and rad/s; below it the estimate damps linearly, so that nothing drifts for ever."""


def box_drag(edges: np.ndarray, density: float) -> np.ndarray:
    """Return the quadratic damping (6,) of a box along and about its axes through its centre.

    X = ½ ρ C_d A along an axis; K = ½ ρ C_d Σ h (l⁴ + b⁴)/32 about one, by strips of the faces
    that turn broadside on; C_d = 1. N·s²/m² and N·m·s²/rad².

    Args:
        edges: (3,) length, width and height, m.
        density: of the water, kg/m³.
    """
    half = 0.5 * density * _CD
    length, width, height = edges
    turning = [
        length * (width**4 + height**4),
        width * (height**4 + length**4),
        height * (length**4 + width**4),
    ]
    areas = [width * height, length * height, length * width]
    return np.array([*(half * a for a in areas), *(half * t / 32 for t in turning)])


def estimate_missing(draft: Draft) -> None:
    """Fill in damping and added mass where the source has no damping at all, and say so."""
    assert draft.water_density is not None
    terms = draft.hydrodynamics
    damped = terms is not None and any(
        matrix is not None and np.any(matrix.value)
        for matrix in (terms.linear, terms.quadratic, terms.modulus)
    )
    if damped:
        return
    low, high, which = _box(draft)
    edges, center = high - low, (low + high) / 2
    density = draft.water_density.value
    rule = f'no damping in the source: drag of the box of {which}, C_d {_CD:g}'
    quadratic = Sourced(np.diag(box_drag(edges, density)), rule, True)
    linear = Sourced(_CREEP * quadratic.value, rule, True)
    added = None if terms is None or not np.any(terms.added_mass.value) else terms.added_mass
    if added is None:
        own = _ellipsoid(draft, edges, density)
        arm = transport(center)
        added = Sourced(
            arm.T @ np.diag(own) @ arm, f'none in the source: ellipsoid as long as {which}', True
        )
        rule += '; added mass of the ellipsoid in it'
    draft.estimated = f'{rule}: {" x ".join(f"{e:.3g}" for e in edges)} m'
    draft.assume(draft.estimated)
    at = Sourced(center, f'centre of the box of {which}', True) if np.any(center) else None
    draft.hydrodynamics = Hydrodynamics(draft.water_density, added, linear, quadratic, None, at)


def _ellipsoid(draft: Draft, edges: np.ndarray, density: float) -> np.ndarray:
    """Return the added mass (6,) of the ellipsoid of the vehicle's displacement in a box.

    The box may hold arms and antennas: the ellipsoid keeps its proportions, and displaces what
    the vehicle weighs where that is less.
    """
    axes = edges / 2
    volume = 4 / 3 * np.pi * float(np.prod(axes))
    ratio = min(1.0, draft.mass / (density * volume))
    return ellipsoid_added_mass(axes * ratio ** (1 / 3), density)


def _box(draft: Draft) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the corners (3,) of the box of collisions, else visuals, else of the volume."""
    for kind in ('collisions', 'visuals'):
        found = [s for link in draft.links.values() for s in _solids(draft, link, kind)]
        if found:
            low, high = box_around(found)
            edge = 0.05 * float(np.max(high - low))  # a sheet has a thickness
            pad = np.maximum(edge - (high - low), 0.0) / 2
            return low - pad, high + pad, f'its {kind}'
    assert draft.water_density is not None
    volume = sum(v.volume.value for v in draft.volumes) or draft.mass / draft.water_density.value
    edge = volume ** (1 / 3)
    center = draft.center_of_mass()
    return center - edge / 2, center + edge / 2, 'a cube of its volume'


def _solids(draft: Draft, link: Link, kind: str) -> list[shapes.Shape]:
    """Return the solids of a link's collisions or visuals, in the base."""
    try:
        pose = draft.pose_of(link.name)
    except ModelError:
        return []
    found = []
    for shape in getattr(link, kind):
        try:
            made = solid(replace(shape, material=''), draft.folder, [])
        except ModelError:
            continue
        found.append(shapes.moved(made, rotation_matrix(pose.quaternion), pose.translation))
    return found
