# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Write the URDF of a vehicle with ``<ros2_control>``."""

from __future__ import annotations

import argparse

from marine_sim_ros.control.ros2_control import with_hardware
from marine_sim_ros.core.files import expand_home
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.tools.command_line import check_writable, print_warnings, write_file
from marine_sim_ros.tools.options import add_option, parse_set_options

__all__ = ['add_arguments', 'execute']


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    add_option(parser, 'vehicle', positional=True)
    parser.add_argument(
        '-o',
        '--output',
        default='',
        metavar='FILE',
        help='file to write (default: standard output)',
    )
    add_option(parser, 'vehicle_arguments')
    add_option(parser, 'namespace')


def execute(options: argparse.Namespace) -> int:
    """Write it."""
    output = expand_home(options.output) if options.output else None
    if output is not None:
        check_writable(output, '-o', parents=True, source=expand_home(options.vehicle))
    arguments = parse_set_options(options.vehicle_arguments)
    vehicle = load_vehicle(options.vehicle, **arguments)
    print_warnings(vehicle.warnings)
    namespace = options.namespace.strip('/') or vehicle.name
    text = with_hardware(vehicle.urdf, vehicle, namespace)
    if output is None:
        print(text, end='')
    else:
        write_file(output, text, '-o', parents=True)
    return 0
