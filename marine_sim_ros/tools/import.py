# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Convert a vehicle that is described for another simulator to our URDF."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from marine_sim_ros.core.errors import ModelError, RunError, escape_controls
from marine_sim_ros.core.files import expand_home
from marine_sim_ros.doctor.verdict import Verdict, judge_motion
from marine_sim_ros.importers.builder import Options, VehicleBuilder
from marine_sim_ros.importers.load import import_vehicle
from marine_sim_ros.importers.writer import escape_xacro, urdf_text
from marine_sim_ros.model.urdf import vehicle_from_urdf
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.tools.command_line import check_writable, write_file
from marine_sim_ros.tools.options import add_option, number_argument, parse_set_options

__all__ = ['add_arguments', 'execute']


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    parser.add_argument(
        'file',
        metavar='FILE',
        help='SDF model or world, URDF or xacro with <gazebo> blocks, MJCF, USD, or Stonefish '
        'scenario',
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
        type=number_argument(1e-3, 1e9, 'N'),
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
    parser.add_argument(
        '--skip-missing',
        action='store_true',
        help='leave out includes of xacro from packages that are not installed, and the macros '
        'that they define (default: exit code 2)',
    )
    parser.add_argument(
        '--allow-undamped',
        action='store_true',
        help='write the vehicle although its speeds or its buoyancy are not physical (default: '
        'exit code 1)',
    )
    parser.add_argument(
        '--allow-unpowered',
        action='store_true',
        help='write the vehicle although nothing moves it and blocks that may exert forces are '
        'not understood (default: exit code 1)',
    )
    add_option(parser, 'vehicle_arguments')


def execute(options: argparse.Namespace) -> int:
    """Write the vehicle; print what was assumed and left out, and a verdict in three lines."""
    arguments = parse_set_options(options.vehicle_arguments)
    base = arguments.pop('base_link', '')
    path = expand_home(options.file)
    taken = Options(
        options.model, base, options.max_thrust, arguments, options.cameras, options.skip_missing
    )
    output = expand_home(options.output) if options.output else None
    if output is not None:
        check_writable(output, '-o', parents=True, source=path)
    imported = import_vehicle(path, taken)
    folder = None if output is None else output.parent
    text = urdf_text(imported, folder)
    for label, texts in (('assumed', imported.assumptions), ('not taken', imported.dropped)):
        for line in texts:
            print(escape_controls(f'{label}: {line}'), file=sys.stderr)
    vehicle = _load(text, imported, folder)
    verdict = judge_motion(vehicle)
    lines = [_summary(imported.format, vehicle), *verdict.lines]
    if imported.estimated:
        lines.append(f'estimated: {imported.estimated}')
    print(escape_controls('\n'.join(lines)), file=sys.stderr)
    _refuse(imported, verdict, options)
    if output is None:
        print(text, end='')
    else:
        written = escape_xacro(text) if output.suffix == '.xacro' else text
        write_file(output, written, '-o', parents=True)
    return 0


def _load(text: str, imported: VehicleBuilder, folder: Path | None) -> Vehicle:
    """Return the vehicle of the text; an error names the file that was imported."""
    source = f'{imported.file} (as imported)'
    try:
        return vehicle_from_urdf(text, source=source, base=folder, base_link=imported.base)
    except ModelError as error:
        lost = f'; not taken: {imported.dropped[0]}' if imported.dropped else ''
        raise ModelError(f'{error}{lost}') from None


def _refuse(imported: VehicleBuilder, verdict: Verdict, options: argparse.Namespace) -> None:
    """Raise for a vehicle that is not the source's, unless the user allows it.

    Raises:
        RunError: nothing bounds its speed, or nothing moves it and force blocks were lost or
            neither drag nor shape is in the file.
    """
    if verdict.flaws and not options.allow_undamped:
        flaws = '; '.join(flaw.text for flaw in verdict.flaws)
        raise RunError(
            f'{imported.file}: not written: {flaws}; expected drag and buoyancy of a vehicle, or '
            '--allow-undamped'
        )
    if verdict.powered or options.allow_unpowered:
        return
    lost = ', '.join(imported.unread_forces[:8])
    if imported.thrusters:
        lost = f'its thrusters have no thrust{"; not understood: " if lost else ""}{lost}'
    elif lost:
        lost = f'nothing moves it, and what these blocks do is not known: {lost}'
    elif imported.shapeless:
        lost = (
            'it has neither thrust, nor drag, nor a shape to estimate drag from (another file may '
            'have them)'
        )
    if lost:
        raise RunError(
            f'{imported.file}: not written: {lost}; expected thrusters that push, or '
            '--allow-unpowered'
        )


def _summary(kind: str, vehicle: Vehicle) -> str:
    water = vehicle.buoyancy.fluid_density * vehicle.buoyancy.volume
    return (
        f'{kind}: {vehicle.name}: {vehicle.inertia.mass:.4g} kg, displaces {water:.4g} kg of '
        f'water, {len(vehicle.thrusters)} thrusters'
    )
