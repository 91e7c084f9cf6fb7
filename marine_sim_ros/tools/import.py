# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Convert a vehicle that is described for another simulator to our URDF."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.importers.draft import Options
from marine_sim_ros.importers.load import import_vehicle
from marine_sim_ros.importers.writer import urdf_text
from marine_sim_ros.model.urdf import vehicle_from_urdf
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.tools.options import add_option, xacro_arguments
from marine_sim_ros.tools.reporting import write_file

__all__ = ['add_arguments', 'execute']


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    parser.add_argument(
        'file',
        metavar='FILE',
        help='SDF model or world, URDF or xacro with <gazebo> blocks, or Stonefish scenario',
    )
    parser.add_argument(
        '-o',
        '--output',
        default='',
        metavar='FILE',
        help='file to write (default: standard output)',
    )
    parser.add_argument(
        '--model',
        default='',
        metavar='NAME',
        help='model or robot to take, of a file that has several (default: the only one)',
    )
    parser.add_argument(
        '--max-thrust',
        type=float,
        default=0.0,
        metavar='N',
        help='largest thrust of thrusters whose source has no limit (default: a tenth of the '
        'weight)',
    )
    parser.add_argument(
        '--cameras',
        action='store_true',
        help='take cameras and imaging sonars too, which draw pictures while a run goes on',
    )
    add_option(parser, 'vehicle_arguments')


def execute(options: argparse.Namespace) -> int:
    """Write it; tell what was assumed and what was not taken over."""
    if not 0 <= options.max_thrust < 1e9:
        raise ParameterError(f'--max-thrust {options.max_thrust:g}; expected 0 or more, N')
    arguments = xacro_arguments(options.vehicle_arguments)
    base = arguments.pop('base_link', '')
    path = Path(options.file).expanduser()
    imported = import_vehicle(
        path, Options(options.model, base, options.max_thrust, arguments, options.cameras)
    )
    output = Path(options.output).expanduser() if options.output else None
    folder = None if output is None else output.parent
    text = urdf_text(imported, folder)
    source = options.output or 'standard output'
    vehicle = vehicle_from_urdf(text, source=source, base=folder, base_link=imported.base)
    if output is None:
        print(text, end='')
    else:
        write_file(output, text, '-o', parents=True)
    for label, texts in (('assumed', imported.assumptions), ('not taken', imported.dropped)):
        for line in texts:
            print(f'{label}: {line}', file=sys.stderr)
    print(_summary(imported.format, vehicle), file=sys.stderr)
    return 0


def _summary(kind: str, vehicle: Vehicle) -> str:
    water = vehicle.buoyancy.fluid_density * vehicle.buoyancy.volume
    return (
        f'{kind}: {vehicle.name}: {vehicle.inertia.mass:.4g} kg, displaces {water:.4g} kg of '
        f'water, {len(vehicle.thrusters)} thrusters'
    )
