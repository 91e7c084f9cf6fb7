# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Write the SDF model of a vehicle, or the SDF world of an environment, for Gazebo."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.files import expand_home
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.library import load_vehicle, vehicle_path
from marine_sim_ros.model.materials import load_materials, shipped_materials, without_effect
from marine_sim_ros.sdf.geometry import MESH_MODES
from marine_sim_ros.sdf.links import DRIVES
from marine_sim_ros.sdf.model import sdf_model
from marine_sim_ros.sdf.world import sdf_world
from marine_sim_ros.tools.command_line import (
    check_writable,
    print_warnings,
    progress_bar,
    write_file,
)
from marine_sim_ros.tools.options import add_option, parse_set_options

__all__ = ['add_arguments', 'execute']


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    vehicle = add_option(parser, 'vehicle', positional=True)
    vehicle.nargs, vehicle.default, vehicle.required = '?', '', False
    parser.add_argument(
        '--world',
        default='',
        metavar='ENVIRONMENT',
        help='write the world of an environment, with its free bodies, in place of a vehicle',
    )
    parser.add_argument(
        '-o',
        '--output',
        default='',
        metavar='FILE',
        help='file to write (default: standard output)',
    )
    add_option(parser, 'vehicle_arguments')
    parser.add_argument(
        '--meshes',
        choices=MESH_MODES,
        default='uri',
        help='refer to meshes by model:// and file://, or copy them into meshes/ beside FILE',
    )
    parser.add_argument(
        '--ground',
        default='',
        metavar='MATERIAL',
        help='material of the ground for which friction and restitution are written, such as sand',
    )
    parser.add_argument(
        '--drives',
        choices=DRIVES,
        default='',
        help="Gazebo's systems that move the arm's joints, by position or by effort "
        '(default: none)',
    )
    parser.add_argument(
        '--buoyancy-engines',
        action='store_true',
        help="Gazebo's system for each buoyancy engine, for runs without this package's nodes",
    )
    parser.add_argument(
        '--materials',
        default='',
        metavar='FILE',
        help='material file to use instead of the shipped one',
    )


def execute(options: argparse.Namespace) -> int:
    """Write it; features that SDF cannot express are reported on standard error."""
    if bool(options.vehicle) == bool(options.world):
        raise ParameterError('expected either a VEHICLE or --world ENVIRONMENT')
    if options.world:
        return _write_world(options.world, options.output)
    if options.meshes == 'copy' and not options.output:
        raise ParameterError('--meshes copy: needs a place to copy to; expected -o FILE')
    output = expand_home(options.output) if options.output else None
    if output is not None:
        check_writable(output, '-o', parents=True, source=expand_home(options.vehicle))
    path = vehicle_path(options.vehicle)
    arguments = parse_set_options(options.vehicle_arguments)
    with progress_bar('building') as told:
        vehicle = load_vehicle(options.vehicle, progress=told, **arguments)
    materials = load_materials(options.materials) if options.materials else shipped_materials()
    model = sdf_model(
        vehicle,
        source=str(path),
        base=path.parent,
        meshes=options.meshes,
        materials=materials,
        ground=options.ground,
        drives=options.drives,
        engines=options.buoyancy_engines,
    )
    unread = without_effect(materials, 'gazebo') if options.materials else {}
    unused = (f'{options.materials}: {name} has no effect: {why}' for name, why in unread.items())
    print_warnings((*vehicle.warnings, *model.warnings, *unused))
    if output is None:
        print(model.text, end='')
        return 0
    write_file(output, model.text, '-o', parents=True)
    model.meshes.copy_to(output.parent)
    return 0


def _write_world(name: str, target: str) -> int:
    """Write the world of an environment, and its meshes beside it."""
    environment = load_environment(name)
    world = sdf_world(re.sub(r'\W+', '_', Path(name).stem), environment)
    if (world.meshes or world.copies.files) and not target:
        raise ParameterError(f'--world {name}: has meshes; expected -o FILE, beside which they go')
    print_warnings(world.warnings)
    if not target:
        print(world.text, end='')
        return 0
    output = expand_home(target)
    check_writable(output, '-o', parents=True, source=expand_home(name))
    write_file(output, world.text, '-o', parents=True)
    for inside, text in world.meshes.items():
        write_file(output.parent / inside, text, '-o', parents=True)
    world.copies.copy_to(output.parent)
    return 0
