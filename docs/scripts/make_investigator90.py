# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the picture of investigator90.md and writes its tables between their marks.

``.venv/bin/python docs/scripts/make_investigator90.py``
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use('Agg')
import matplotlib.pyplot as plt
import numpy as np
from marks import between
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.patches import Rectangle

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.files import resource_folder
from marine_sim_ros.model.mass import (
    LabelGrid,
    MassProperties,
    assemble,
    grid_of_parts,
    properties_of_grid,
)
from marine_sim_ros.model.parts import SolidPart, load_parts

DOCS = Path(__file__).resolve().parent.parent
PAGE = DOCS / 'explanation' / 'investigator90.md'
PARTS = resource_folder('urdf') / 'investigator90_parts.yaml'
VOXEL = 0.002
"""m, as in the thesis."""
GREY = '#5f6b76'
SIZE = (1.10, 0.68, 0.49)
SECTIONS = (
    (1, 0.0, 'amidships'),
    (0, 0.0, 'through the vertical thrusters'),
    (2, -0.12, 'through the housings'),
    (0, 0.375, 'through the front thrusters'),
)
"""Normal axis, where, and what it shows."""
NAMES = ('x, forward [m]', 'y, port [m]', 'z, up [m]')


def _section(
    axes: Axes, grid: LabelGrid, density: np.ndarray, axis: int, at: float, norm: LogNorm
) -> mpl.image.AxesImage:
    """Draw one plane of voxels by its density."""
    across, up = (a for a in range(3) if a != axis)
    index = round(at / grid.size - 0.5) - grid.low[axis]
    plane = density[np.take(grid.labels, index, axis=2 - axis)]
    left, right, bottom, top = (
        edge * grid.size
        for a in (across, up)
        for edge in (grid.low[a], grid.low[a] + grid.labels.shape[2 - a])
    )
    image = axes.imshow(
        np.ma.masked_equal(plane, 0),
        origin='lower',
        extent=(left, right, bottom, top),
        norm=norm,
        cmap='viridis_r',
        interpolation='nearest',
    )
    axes.set(
        xlabel=NAMES[across],
        ylabel=NAMES[up],
        aspect='equal',
        xlim=(-SIZE[across] / 2 - 0.02, SIZE[across] / 2 + 0.02),
        ylim=(-SIZE[up] / 2 - 0.02, SIZE[up] / 2 + 0.02),
    )
    width, height = SIZE[across], SIZE[up]
    corner = -width / 2, -height / 2
    axes.add_patch(
        Rectangle(corner, width, height, fill=False, edgecolor=GREY, linewidth=0.8, linestyle=':')
    )
    return image


def sections(
    path: Path, grid: LabelGrid, parts: tuple[SolidPart, ...], found: MassProperties
) -> None:
    """Draw four sections of the voxels, coloured by density."""
    density = np.array([0.0, *(p.density for p in parts)])
    figure = plt.figure(figsize=(11, 7.0), layout='constrained')
    places = figure.subplot_mosaic(
        [['a', 'b'], ['c', 'd']], width_ratios=(1.14, 0.72), height_ratios=(0.53, 0.72)
    )
    norm = LogNorm(200, 12_000)
    for axes, (axis, at, text) in zip(places.values(), SECTIONS, strict=True):
        image = _section(axes, grid, density, axis, at, norm)
        axes.set_title(f'{"xyz"[axis]} = {at:g} m, {text}', fontsize=11)
        across, up = (a for a in range(3) if a != axis)
        for center, marker, colour, name in (
            (found.center_of_mass, 'o', '#d62728', 'centre of mass'),
            (found.center_of_volume, '^', '#1f6fb2', 'centre of buoyancy'),
        ):
            axes.plot(
                center[across],
                center[up],
                marker,
                color=colour,
                markersize=9,
                markeredgecolor='white',
                markeredgewidth=1.2,
                label=name,
            )
    places['d'].legend(
        loc='upper center', bbox_to_anchor=(0.5, -0.2), ncols=2, fontsize=10, frameon=False
    )
    bar = figure.colorbar(image, ax=list(places.values()), shrink=0.7, pad=0.02)
    bar.set_label('density in air [kg/m³]')
    ticks = [220, 500, 1000, 2700, 7900, 11340]
    bar.set_ticks(ticks, labels=[f'{t:,}' for t in ticks], minor=False)
    bar.minorticks_off()
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _difference(found: np.ndarray | float, printed: np.ndarray | float) -> str:
    error = np.linalg.norm(np.subtract(found, printed)) / np.linalg.norm(printed)
    return f'{error:.2%}'


def _vector(values: Any) -> str:
    return ', '.join(f'{v:.4f}' for v in values)


def totals_table(found: MassProperties) -> str:
    """Return printed and assembled totals side by side."""
    printed = load_vehicle('investigator90', arm='false')
    body, water = printed.inertia, printed.buoyancy
    rows = ['| | printed | from parts | differs by |', '|---|---|---|---|']
    rows += [
        f'| {name} | {text(old)} {unit} | {text(new)} {unit} | {_difference(new, old)} |'
        for name, unit, text, old, new in (
            ('mass', 'kg', '{:.2f}'.format, body.mass, found.mass),
            ('volume', 'm³', '{:.4f}'.format, water.volume, found.volume),
            ('centre of mass', 'm', _vector, body.center_of_mass, found.center_of_mass),
            ('centre of buoyancy', 'm', _vector, water.center_of_volume, found.center_of_volume),
        )
    ]
    box = body.mass / 12 * (sum(s**2 for s in SIZE) - np.square(SIZE))
    rows += [
        '',
        '| inertia, kg·m² | xx | yy | zz | xy | xz | yz |',
        '|---|---|---|---|---|---|---|',
    ]
    rows += [
        f'| {name} | '
        + ' | '.join(
            f'{tensor[i, j]:.2f}' for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
        )
        + ' |'
        for name, tensor in (
            ('printed', body.tensor),
            ('from parts', found.inertia),
            ('a uniform box', np.diag(box)),
        )
    ]
    return '\n'.join(rows)


def parts_table(parts: tuple[SolidPart, ...], found: MassProperties) -> str:
    """Return mass, volume and share of every part; openings have none."""
    rows = ['| part | of | kg/m³ | litres | kg | of the mass |', '|---|---|---|---|---|---|']
    rows += [
        f'| {p.name} | {p.material} | {p.density:g} | {1000 * volume:.2f} | '
        f'{p.density * volume:.2f} | {p.density * volume / found.mass:.1%} |'
        for p, volume in zip(parts, found.part_volumes, strict=True)
        if p.density
    ]
    return '\n'.join(rows)


def sizes_table(
    parts: tuple[SolidPart, ...], sizes: tuple[float, ...] = (0.01, 0.005, 0.002, 0.001)
) -> str:
    """Return the totals over the size of the voxels."""
    rows = [
        '| voxel | mass, kg | volume, m³ | centre of mass, m | centre of buoyancy, m |',
        '|---|---|---|---|---|',
    ]
    for size in sizes:
        found = assemble(parts, size)
        rows.append(
            f'| {1000 * size:g} mm | {found.mass:.2f} | {found.volume:.4f} | '
            f'{_vector(found.center_of_mass)} | {_vector(found.center_of_volume)} |'
        )
    return '\n'.join(rows)


def main() -> None:
    """Make everything."""
    parts = load_parts(str(PARTS))
    grid, _ = grid_of_parts(parts, VOXEL)
    found = properties_of_grid(grid, parts)
    sections(DOCS / 'pictures' / 'investigator90_voxels.png', grid, parts, found)
    page = PAGE.read_text(encoding='utf-8')
    page = between(page, 'totals', totals_table(found))
    page = between(page, 'sizes', sizes_table(parts))
    page = between(page, 'parts', parts_table(parts, found))
    PAGE.write_text(page, encoding='utf-8')


if __name__ == '__main__':
    main()
