# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Plan the lines of a survey over a polygon, and write them as a scenario."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.files import expand_home
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.sim.survey_lines import measure_turn, plan_survey, survey_scenario
from marine_sim_ros.tools.command_line import show_waiting, write_file
from marine_sim_ros.tools.options import accept_negative_pairs, corner_argument, number_argument

__all__ = ['add_arguments', 'execute']


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    accept_negative_pairs(parser)
    parser.add_argument(
        '--polygon', required=True, nargs='+', type=corner_argument, metavar='X,Y',
        help='corners of the area in map, m, three or more',
    )  # fmt: skip
    parser.add_argument(
        '--swath', required=True, type=number_argument(0.1, 1e5, 'm'), metavar='M',
        help='width that the sonar covers, m',
    )  # fmt: skip
    parser.add_argument(
        '--overlap', type=number_argument(-0.9, 0.95, ''), default=0.2, metavar='F',
        help='fraction of the swath that the next line covers too (default: 0.2)',
    )  # fmt: skip
    parser.add_argument(
        '--heading', type=number_argument(-360.0, 360.0, '°'), default=None, metavar='DEG',
        help='direction of the lines from x towards y (default: that of the longest side)',
    )  # fmt: skip
    parser.add_argument(
        '--speed', type=number_argument(0.05, 20.0, 'm/s'), default=1.5, metavar='M/S',
        help='speed, m/s (default: 1.5)',
    )  # fmt: skip
    parser.add_argument(
        '--depth', type=number_argument(0.0, 12000.0, 'm'), default=None, metavar='M',
        help='depth, m (default: the surface)',
    )  # fmt: skip
    parser.add_argument(
        '--lead', type=number_argument(0.0, 1e4, 'm'), default=10.0, metavar='M',
        help='way before the first line and after the last, m (default: 10)',
    )  # fmt: skip
    parser.add_argument(
        '--vehicle', default='', metavar='NAME',
        help='vehicle whose turns are simulated, so that it comes to the next line (default: one '
        'that turns on the spot)',
    )  # fmt: skip
    parser.add_argument('-o', '--output', required=True, metavar='FILE', help='scenario to write')


def execute(options: argparse.Namespace) -> int:
    """Write the scenario, and print what it is."""
    path = Path(expand_home(options.output))
    if path.suffix not in ('.yaml', '.yml'):
        raise ParameterError(f'-o {path}: expected a name that ends in .yaml')
    heading = None if options.heading is None else math.radians(options.heading)
    spacing = options.swath * (1.0 - options.overlap)
    plan = plan_survey(np.array(options.polygon), spacing, heading)
    turns = None
    if options.vehicle and len(plan.lines) > 1:
        with show_waiting('simulating turns'):
            vehicle = load_vehicle(options.vehicle)
            turns = measure_turn(vehicle, options.speed, spacing, options.depth)
    text = survey_scenario(plan, options.speed, options.depth, options.lead, turns)
    write_file(path, text, '-o', parents=True)
    length = plan.length + 2 * options.lead
    print(f'lines     {len(plan.lines)}, {spacing:.2f} m apart')
    print(f'length    {length:.0f} m, {length / options.speed:.0f} s')
    print(f'scenario  {path}')
    return 0
