# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mass properties of parts on a grid, their cache, and the reader of <mass_from_parts>."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.files import load_or_compute
from marine_sim_ros.core.progress import ReportProgress, no_progress
from marine_sim_ros.core.schema import REQUIRED, declaration, number, text
from marine_sim_ros.model.added_mass import Buoyancy, Inertia
from marine_sim_ros.model.parts import (
    Solid,
    SolidPart,
    content_key,
    load_parts,
    part_files,
    solid_of_part,
)
from marine_sim_ros.model.xml import Reader

__all__ = [
    'GRID_METHOD',
    'LabelGrid',
    'MAX_CELLS',
    'MassElement',
    'MassProperties',
    'assemble',
    'grid_of_parts',
    'properties_of_grid',
    'read_mass_from_parts',
]


# One grid for all parts: every cell has the number of the last part its centre lies in.

MAX_CELLS = 500_000_000
"""Type of cells: a byte, for up to 255 parts."""
_NUDGE = np.array([1.1e-4, 1.3e-4, 1.7e-4])
"""Offset of the sample point from a cell's centre, as a fraction of the cell, so that a face
through centres has one side, also for a mesh in single precision."""
_CHUNK = 4_000_000
"""Cells that are compared at once, to bound memory."""


@dataclass(frozen=True, eq=False)
class LabelGrid:
    """Grid of cubic cells; faces are at integer multiples of their edge.

    Attributes:
        size: edge of a cell, m.
        low: (3,) whole number of the first cell along x, y, z.
        labels: (nz, ny, nx) number of the part in a cell, from 1; 0 is none.
    """

    size: float
    low: np.ndarray
    labels: np.ndarray

    def middles(self, axis: int) -> np.ndarray:
        """Return the centres of the cells along x (0), y (1) or z (2), m."""
        return (self.low[axis] + np.arange(self.labels.shape[2 - axis]) + 0.5) * self.size


def fill_grid(solids: Sequence[Solid], size: float, progress: ReportProgress) -> LabelGrid:
    """Return the grid with all solids put in, in their order, later ones over earlier ones.

    Args:
        solids: one solid or more.
        size: edge of a cell, m.
        progress: function that is called with the completed share.

    Raises:
        ModelError: more cells than fit into the memory of a small machine.
    """
    bounds = np.array([solid.bounds for solid in solids])
    low = np.floor(bounds[:, 0].min(axis=0) / size)
    counts = np.maximum(np.ceil(bounds[:, 1].max(axis=0) / size) - low, 1)
    if not np.prod(counts) <= MAX_CELLS:
        extent = ' x '.join(f'{e:.3g}' for e in counts * size)
        raise ModelError(
            f'voxel_size {size:g} m gives {np.prod(counts):.3g} voxels in {extent} m; '
            f'expected at most {MAX_CELLS:g}'
        )
    shape = tuple(int(n) for n in counts[::-1])
    labels = np.zeros(shape, np.min_scalar_type(len(solids)))
    grid = LabelGrid(size, low.astype(int), labels)
    for i, solid in enumerate(solids):
        _put_solid(grid, solid, i + 1)
        progress((i + 1) / len(solids))
    return grid


def _put_solid(grid: LabelGrid, solid: Solid, label: int) -> None:
    """Write a number into all cells of a solid."""
    size, shape = grid.size, np.array(grid.labels.shape[::-1])
    first = np.floor(solid.bounds[0] / size).astype(int) - grid.low
    last = np.ceil(solid.bounds[1] / size).astype(int) - grid.low
    x0, y0, z0 = np.clip(first, 0, shape)
    x1, y1, z1 = np.clip(last, 0, shape)
    block = grid.labels[z0:z1, y0:y1, x0:x1]
    if not block.size:
        return
    y = grid.middles(1)[y0:y1] + _NUDGE[1] * size
    z = grid.middles(2)[z0:z1] + _NUDGE[2] * size
    column = np.arange(block.shape[2], dtype=np.int32)
    rows = max(1, _CHUNK // (block.shape[1] * block.shape[2]))
    for k in range(0, len(z), rows):
        enters, leaves = solid.spans(y[None, :], z[k : k + rows, None])
        for enter, leave in zip(enters, leaves, strict=True):
            # The first cell whose sample point lies at or beyond the crossing.
            begin, end = (
                np.clip(
                    np.ceil(x / size - 0.5 - _NUDGE[0] - grid.low[0] - x0), 0, len(column)
                ).astype(np.int32)[..., None]
                for x in (enter, leave)
            )
            np.putmask(block[k : k + rows], (column >= begin) & (column < end), label)


# Mass, volume, centres and inertia tensor of a grid.

GRID_METHOD = 'spans-1'
"""Version of this computation: change it with the code, so that cached results are not used."""


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
    parts: Sequence[SolidPart], voxel_size: float, progress: ReportProgress = no_progress
) -> MassProperties:
    """Return the mass properties of parts put into one grid, later ones over earlier ones.

    Args:
        parts: parts in the order of the list.
        voxel_size: edge of the cells, m.
        progress: function that is called with the completed share.

    Raises:
        ModelError: a mesh that cannot be used, or too many cells.
    """
    grid, warnings = grid_of_parts(parts, voxel_size, lambda fraction: progress(fraction / 2))
    return properties_of_grid(grid, parts, warnings, lambda fraction: progress((1 + fraction) / 2))


def grid_of_parts(
    parts: Sequence[SolidPart], voxel_size: float, progress: ReportProgress = no_progress
) -> tuple[LabelGrid, tuple[str, ...]]:
    """Return the grid of parts, and warnings about repairs of meshes; raises as assemble."""
    solids = [solid_of_part(part) for part in parts]
    warnings = tuple(text for solid in solids for text in solid.warnings)
    return fill_grid(solids, voxel_size, progress), warnings


def properties_of_grid(
    grid: LabelGrid,
    parts: Sequence[SolidPart],
    warnings: tuple[str, ...] = (),
    progress: ReportProgress = no_progress,
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
    mass, center, second = _central_moments(np.tensordot(powers, masses, 1), np.array(middle))
    volume, center_of_volume, _ = _central_moments(
        np.tensordot(powers, volumes, 1), np.array(middle)
    )
    wet = np.flatnonzero(volumes[:, 0, 0])
    part_volumes = counts[1:] * cell
    missing_warnings = tuple(
        f'part {part.name!r} has no voxel of {grid.size:g} m: it is thinner, or later parts '
        'cover it'
        for part, part_volume in zip(parts, part_volumes, strict=True)
        if not part_volume
    )
    return MassProperties(
        mass,
        center,
        np.trace(second) * np.eye(3) - second,
        volume,
        center_of_volume,
        float(np.ptp(wet) + 1) * grid.size if len(wet) else 0.0,
        part_volumes,
        warnings + missing_warnings,
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


def _central_moments(
    moments: np.ndarray, middle: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
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


# Keeps mass properties between runs, by the content they follow from.

_SHAPES = {
    'mass': (),
    'center_of_mass': (3,),
    'inertia': (3, 3),
    'volume': (),
    'center_of_volume': (3,),
    'height': (),
}


def _to_json(result: MassProperties, key: str) -> bytes:
    content: dict[str, Any] = {'key': key, 'warnings': list(result.warnings)}
    for name in (*_SHAPES, 'part_volumes'):
        content[name] = np.asarray(getattr(result, name)).tolist()
    return json.dumps(content).encode()


def _from_json(text: bytes, key: str, parts: int) -> MassProperties:
    """Return the result of a file's content; raises for any unexpected content."""
    content = json.loads(text)
    if content['key'] != key:
        raise ValueError
    values: dict[str, Any] = {
        name: _parse_numbers(content[name], shape)
        for name, shape in (*_SHAPES.items(), ('part_volumes', (parts,)))
    }
    warnings = content['warnings']
    if not all(isinstance(text, str) and text.isprintable() for text in warnings):
        raise ValueError
    for name, shape in _SHAPES.items():
        if not shape:
            values[name] = float(values[name])
    if min(values['mass'], values['volume'], values['height'], *values['part_volumes']) < 0:
        raise ValueError
    return MassProperties(**values, warnings=tuple(warnings))


def _parse_numbers(content: Any, shape: tuple[int, ...]) -> np.ndarray:
    values = np.array(content, float)
    if values.shape != shape or not np.all(np.isfinite(values)):
        raise ValueError
    return values


# Reads <mass_from_parts>: the body's mass and buoyancy follow from a list of parts.

TAG = 'mass_from_parts'
_MIN_VOXEL_SIZE, _MAX_VOXEL_SIZE = 1e-4, 10.0
"""m."""


@declaration(frozen=True, kw_only=True)
class MassElement:
    """<mass_from_parts>."""

    file: str = text('list of parts', REQUIRED, place='attribute')
    voxel_size: float = number(
        REQUIRED, _MIN_VOXEL_SIZE, _MAX_VOXEL_SIZE, 'm', 'edge of the cells', place='attribute'
    )


@dataclass(frozen=True, eq=False)
class MassReading:
    """Content of <mass_from_parts> of ``base_link``.

    Attributes:
        inertias: inertias of that link, in the body frame; empty without the element.
        volumes: displaced volumes by link, in the body frame.
        warnings: repairs of meshes, parts that came to nothing.
        files: the list of parts, and the meshes in it.
    """

    inertias: dict[str, Inertia]
    volumes: Mapping[str, Buoyancy] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()


def mass_of_file(
    uri: str, voxel_size: float, base: Path | None, progress: ReportProgress
) -> MassProperties:
    """Return the mass properties of a file of parts, cached between runs.

    Args:
        uri: ``package://package/path``, ``file:///path``, or a path.
        voxel_size: edge of the cells, m.
        base: folder that relative names start from.
        progress: function that is called with the completed share, 0 to 1, if there is work.

    Raises:
        ModelError: the file or a mesh cannot be used, or too many cells.
    """
    parts = load_parts(uri, base)
    key = content_key(parts, voxel_size, GRID_METHOD)
    return load_or_compute(
        'mass',
        f'{key}.json',
        lambda: assemble(parts, voxel_size, progress),
        load=lambda text: _from_json(text, key, len(parts)),
        dump=lambda result: _to_json(result, key),
    )


def read_mass_from_parts(
    root: Reader, water_density: float, base: Path | None, progress: ReportProgress, link: str
) -> MassReading:
    """Return mass and buoyancy of the body from its parts; empty without the element.

    ``<mass_from_parts file="parts.yaml" voxel_size="0.002"/>`` below <robot> stands instead of
    the <inertial> of the body's link and of <buoyancy>.

    Args:
        water_density: water density for which the vehicle is trimmed, kg/m³.
        base: folder that relative names start from.
        progress: function that is called with the completed share, 0 to 1, if there is work.
        link: name of the body's link.

    Raises:
        ModelError: one line with file, line, element, and what was expected.
    """
    reader = root.child(TAG)
    if reader is None:
        return MassReading({})
    element = reader.read(MassElement)
    _refuse_rivals(root, reader, link)
    uri, size = element.file, element.voxel_size
    try:
        result = mass_of_file(uri, size, base, progress)
    except ModelError as error:
        raise reader.error(str(error)) from None
    if result.mass <= 0:
        raise reader.error(f'{uri}: the parts weigh nothing; expected a density above 0')
    floats = Buoyancy(
        result.volume, result.center_of_volume, max(result.height, size), water_density
    )
    return MassReading(
        {link: Inertia(result.mass, result.center_of_mass, result.inertia)},
        {link: floats},
        tuple(reader.warning(text) for text in result.warnings),
        part_files(uri, base),
    )


def _refuse_rivals(root: Reader, reader: Reader, base: str) -> None:
    """Raise where other elements define what the parts define."""
    for link in root.element.findall('link'):
        for tag in ('inertial', 'collision/buoyancy_material'):
            if link.get('name') == base and link.find(tag) is not None:
                raise reader.error(
                    f'gives the mass of {base!r}, and so does its <{tag.split("/")[-1]}>; '
                    'expected one of them'
                )
    for element in root.element.findall('buoyancy'):
        if element.get('link', base) == base:
            raise reader.error(
                f'gives the volume of {base!r}, and so does <buoyancy> '
                f'(line {Reader(element, root.source).line}); expected one of them'
            )
