# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Write a map of an environment at a depth, for Nav2's map server.

Source: nav2_map_server, commit 000b462 (src/map_io.cpp): rows of the picture from the north,
occupied where it is black, origin at the lower left corner.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
import yaml

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.files import expand_home
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.scene.drawing import chart_window
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.tools.command_line import check_folder, check_writable, write_file
from marine_sim_ros.tools.options import number_argument

__all__ = ['OccupancyMap', 'add_arguments', 'execute', 'occupancy_map']

MAX_CELLS = 16_000_000
"""Bound of the cells of a map."""
_BAND = 200_000
"""Cells that are computed at a time."""
FREE, OCCUPIED = 254, 0
"""Shades of the picture."""


class OccupancyMap(NamedTuple):
    """Cells of a map.

    Attributes:
        occupied: (rows, columns), the first row in the south, the first column in the west.
        origin: (2,) of the lower left corner, map, m.
        resolution: edge of a cell, m.
    """

    occupied: np.ndarray
    origin: np.ndarray
    resolution: float

    def picture(self) -> bytes:
        """Return a PGM picture, the north at its top."""
        shades = np.where(self.occupied[::-1], OCCUPIED, FREE).astype(np.uint8)
        rows, columns = shades.shape
        return f'P5\n{columns} {rows}\n255\n'.encode() + shades.tobytes()

    def description(self, picture: str) -> dict[str, object]:
        """Return the content of the YAML file beside a picture with a name."""
        return {
            'image': picture,
            'mode': 'trinary',
            'resolution': self.resolution,
            'origin': [*self.origin.tolist(), 0.0],
            'negate': 0,
            'occupied_thresh': 0.65,
            'free_thresh': 0.25,
        }


def occupancy_map(
    scene: Scene | None,
    depth: float,
    resolution: float,
    area: tuple[float, float, float, float] | None = None,
) -> OccupancyMap:
    """Return the cells that something solid touches at a depth.

    A cell is occupied where the distance of its centre to a surface is below half its diagonal.

    Args:
        depth: below z = 0, m.
        resolution: edge of a cell, m.
        area: least and greatest x, least and greatest y in map, m; None: that of the ground.

    Raises:
        ParameterError: no scene, no ground to take the area from, or too many cells.
    """
    if scene is None:
        raise ParameterError('the environment has nothing solid; expected a seabed or obstacles')
    window = chart_window(scene) if area is None else None
    if area is None and window is None:
        raise ParameterError('the environment has no ground; expected --area XMIN XMAX YMIN YMAX')
    bounds = np.array(window).T if window is not None else np.array(area).reshape(2, 2)
    if not np.all(bounds[:, 0] < bounds[:, 1]):
        (west, east), (south, north) = bounds
        raise ParameterError(
            f'the area has x from {west:g} to {east:g} m and y from {south:g} to {north:g} m; '
            'expected XMIN below XMAX and YMIN below YMAX'
        )
    counts = np.ceil((bounds[:, 1] - bounds[:, 0]) / resolution - 1e-9)
    if float(np.prod(counts)) > MAX_CELLS:
        raise ParameterError(
            f'{counts[0]:g} by {counts[1]:g} cells of {resolution:g} m; expected at most '
            f'{MAX_CELLS:,}: another area, or a coarser resolution'
        )
    columns, rows = map(int, counts)
    x = bounds[0, 0] + resolution * (np.arange(columns) + 0.5)
    y = bounds[1, 0] + resolution * (np.arange(rows) + 0.5)
    reach = resolution / np.sqrt(2)
    # No point in an obstacle is farther from its surface.
    within = reach + max((float(o.size.min()) / 2 for o in scene.obstacles), default=0.0)
    occupied = np.zeros((rows, columns), bool)
    band = max(1, _BAND // columns)
    for first in range(0, rows, band):
        east, north = np.meshgrid(x, y[first : first + band])
        points = np.stack([east, north, np.full_like(east, -depth)], axis=-1).reshape(-1, 3)
        distance, _ = scene.surfaces(points, within)
        occupied[first : first + band] = (np.asarray(distance).min(axis=0) < reach).reshape(
            east.shape
        )
    return OccupancyMap(occupied, bounds[:, 0], resolution)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    parser.add_argument(
        'environment', metavar='ENVIRONMENT', help='environment: shipped name or YAML file'
    )
    parser.add_argument(
        '-o', '--output', required=True, metavar='DIR', help='folder to write map.yaml and map.pgm'
    )
    parser.add_argument(
        '--depth',
        type=number_argument(-1e3, 1.2e4, 'm'),
        default=0.0,
        metavar='METRES',
        help='depth of the map below z = 0, -1000 to 12000 (default: 0, for boats)',
    )
    parser.add_argument(
        '--resolution',
        type=number_argument(1e-3, 1e3, 'm'),
        default=0.1,
        metavar='METRES',
        help='edge of a cell, 0.001 to 1000 (default: 0.1)',
    )
    parser.add_argument(
        '--area',
        type=number_argument(-1e6, 1e6, 'm'),
        nargs=4,
        metavar=('XMIN', 'XMAX', 'YMIN', 'YMAX'),
        help="bounds in map, m (default: the ground's)",
    )


def execute(options: argparse.Namespace) -> int:
    """Write it; print what it has."""
    folder = expand_home(options.output)
    check_folder(folder, '-o')
    check_writable(folder / 'map.yaml', '-o', parents=True)
    scene = load_environment(options.environment).scene
    area = None if options.area is None else tuple(options.area)
    grid = occupancy_map(scene, options.depth, options.resolution, area)
    write_file(folder / 'map.pgm', grid.picture(), '-o', parents=True)
    text = yaml.safe_dump(grid.description('map.pgm'), sort_keys=False)
    write_file(folder / 'map.yaml', text, '-o')
    rows, columns = grid.occupied.shape
    print(
        f'{folder / "map.yaml"}: {columns} by {rows} cells of {grid.resolution:g} m at '
        f'{options.depth:g} m, {100 * grid.occupied.mean():.1f} % occupied'
    )
    return 0
