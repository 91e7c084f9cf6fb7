# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mass, volume, their centres and the inertia tensor of what a grid holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marine_sim_ros.core.progress import Progress, no_progress
from marine_sim_ros.model.mass.grid import LabelGrid, fill_grid
from marine_sim_ros.model.mass.part_list import Part
from marine_sim_ros.model.mass.solids import solid_of_part

__all__ = ['METHOD', 'MassProperties', 'assemble', 'grid_of_parts', 'properties_of_grid']

METHOD = 'spans-1'
"""Names the way these numbers are computed: change it with them, and old results are not used."""


@dataclass(frozen=True, eq=False)
class MassProperties:
    """What follows from parts in a grid; n parts.

    Attributes:
        mass: kg.
        center_of_mass: (3,) m.
        inertia: (3, 3) about the centre of mass, body axes, kg·m².
        volume: displaced volume, m³.
        center_of_volume: (3,) m.
        height: height from the lowest to the highest cell that displaces water, m.
        part_volumes: (n,) left to each part by those that follow it, m³.
        warnings: warnings about the parts.
    """

    mass: float
    center_of_mass: np.ndarray
    inertia: np.ndarray
    volume: float
    center_of_volume: np.ndarray
    height: float
    part_volumes: np.ndarray
    warnings: tuple[str, ...] = ()


def assemble(
    parts: Sequence[Part], voxel_size: float, progress: Progress = no_progress
) -> MassProperties:
    """Return the mass properties of parts put into one grid, later ones over earlier ones.

    Args:
        parts: parts in the order of the list.
        voxel_size: edge of the cells, m.
        progress: function that is called with the completed share.

    Raises:
        ModelError: a mesh that cannot be used, or too many cells.
    """
    grid, warnings = grid_of_parts(parts, voxel_size, lambda share: progress(share / 2))
    return properties_of_grid(grid, parts, warnings, lambda share: progress((1 + share) / 2))


def grid_of_parts(
    parts: Sequence[Part], voxel_size: float, progress: Progress = no_progress
) -> tuple[LabelGrid, tuple[str, ...]]:
    """Return the grid of parts and what was repaired of their meshes; raises as assemble."""
    solids = [solid_of_part(part) for part in parts]
    warnings = tuple(text for solid in solids for text in solid.warnings)
    return fill_grid(solids, voxel_size, progress), warnings


def properties_of_grid(
    grid: LabelGrid,
    parts: Sequence[Part],
    warnings: tuple[str, ...] = (),
    progress: Progress = no_progress,
) -> MassProperties:
    """Return the mass properties of a filled grid.

    M = Σ m_i, G = Σ m_i r_i / M, V = Σ v_i, B = Σ v_i r_i / V, I = Σ m_i (r² E − r rᵀ) about G.
    Cells count as points. A body that lies anyhow in the grid is met without bias that way; one
    of whole cells lacks their own inertia, M h²/6 E, but adding it makes every other one worse.
    Cells of flooded parts weigh but do not displace. Source: thesis "Real-Time ROV Motion
    Simulator", equations 3-1 to 3-5; flooding is ours.

    Args:
        grid: label grid, which numbers the parts from 1.
        parts: parts in the order of the list.
        warnings: list to which warnings are appended.
        progress: function that is called with the completed share.
    """
    cell = grid.size**3
    weight = np.array([0.0, *(part.density * cell for part in parts)])
    displaced = np.array([0.0, *(0.0 if part.flooded else cell for part in parts)])
    middle = [(grid.middles(axis)[0] + grid.middles(axis)[-1]) / 2 for axis in range(3)]
    x, y, z = (grid.middles(axis) - middle[axis] for axis in range(3))
    slabs = len(grid.labels)
    masses, volumes = np.zeros((slabs, 3, 3)), np.zeros((slabs, 3, 3))
    counts = np.zeros(len(weight), int)
    for k, labels in enumerate(grid.labels):
        counts += np.bincount(labels.reshape(-1), minlength=len(counts))
        masses[k] = _moments(weight[labels], x, y)
        volumes[k] = _moments(displaced[labels], x, y)
        progress((k + 1) / slabs)
    powers = np.stack([np.ones_like(z), z, z**2])
    mass, center, second = _centered(np.tensordot(powers, masses, 1), np.array(middle))
    volume, center_of_volume, _ = _centered(np.tensordot(powers, volumes, 1), np.array(middle))
    wet = np.flatnonzero(volumes[:, 0, 0])
    part_volumes = counts[1:] * cell
    lost = tuple(
        f'part {part.name!r} has no voxel of {grid.size:g} m: it is thinner, or later parts '
        'cover it'
        for part, found in zip(parts, part_volumes, strict=True)
        if not found
    )
    return MassProperties(
        mass,
        center,
        np.trace(second) * np.eye(3) - second,
        volume,
        center_of_volume,
        float(np.ptp(wet) + 1) * grid.size if len(wet) else 0.0,
        part_volumes,
        warnings + lost,
    )


def _moments(values: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return (3, 3) the sums of values (ny, nx) times y to the power of the row, x of the column.

    Up to the second order, the others are 0. By sums and not as a product of matrices: on a busy
    machine the threads of a BLAS made this thirty times slower.
    """
    rows, columns = values.sum(axis=1), values.sum(axis=0)
    first = np.einsum('yx,x->y', values, x)
    return np.array(
        [
            [rows.sum(), columns @ x, columns @ x**2],
            [rows @ y, first @ y, 0.0],
            [rows @ y**2, 0.0, 0.0],
        ]
    )


def _centered(moments: np.ndarray, middle: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the total, its centre (3,) and its second moment (3, 3) about that.

    Args:
        moments: (3, 3, 3) of powers of z, y, x, up to the second order.
        middle: (3,) from which they were taken.
    """
    total = float(moments[0, 0, 0])
    if total <= 0:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    first = np.array([moments[0, 0, 1], moments[0, 1, 0], moments[1, 0, 0]])
    xy, xz, yz = moments[0, 1, 1], moments[1, 0, 1], moments[1, 1, 0]
    second = np.array(
        [[moments[0, 0, 2], xy, xz], [xy, moments[0, 2, 0], yz], [xz, yz, moments[2, 0, 0]]]
    )
    return total, middle + first / total, second - np.outer(first, first) / total
