# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Write a map of an environment at a depth, for Nav2's map server."""

from __future__ import annotations

import argparse

import yaml

from marine_sim_ros.core.files import expand_home
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.scene.occupancy import occupancy_map
from marine_sim_ros.tools.command_line import check_folder, check_writable, write_file
from marine_sim_ros.tools.options import number_argument

__all__ = ['add_arguments', 'execute']


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
