# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Convert a world or model of SDF, or a Stonefish scenario, to an environment file."""

from __future__ import annotations

import argparse
import shutil
import sys

import numpy as np
import yaml

from marine_sim_ros.core.errors import escape_controls
from marine_sim_ros.core.files import expand_home
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.importers.world import import_world
from marine_sim_ros.tools.command_line import check_folder, write_file
from marine_sim_ros.tools.options import add_package_path, add_trust_option

__all__ = ['add_arguments', 'execute']


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    parser.add_argument(
        'file', metavar='FILE', help='SDF world or model, folder of a model, or Stonefish scenario'
    )
    parser.add_argument(
        '-o',
        '--output',
        required=True,
        metavar='DIR',
        help='folder to write: environment.yaml, meshes, bodies and terrain',
    )
    add_package_path(parser)
    add_trust_option(parser)


def execute(options: argparse.Namespace) -> int:
    """Write the environment; print what was assumed and left out."""
    output = expand_home(options.output)
    check_folder(output, '-o')
    imported = import_world(expand_home(options.file))
    for line in imported.notes:
        print(escape_controls(f'note: {line}'), file=sys.stderr)
    target = output / 'environment.yaml'
    write_file(target, yaml.safe_dump(imported.content, sort_keys=False), '-o', parents=True)
    for name, path in imported.meshes.items():
        (output / 'meshes').mkdir(exist_ok=True)
        shutil.copyfile(path, output / 'meshes' / name)
    for name, text in imported.descriptions.items():
        write_file(output / name, text, '-o')
    for name, heights in imported.heights.items():
        np.save(output / name, heights)
    load_environment(str(target))
    counts = {k: len(imported.content.get(k, [])) for k in ('obstacles', 'planes', 'bodies')}
    parts = [f'{count} {kind}' for kind, count in counts.items()]
    parts.append(f'{len(imported.meshes)} meshes')
    parts += ['terrain'] if imported.heights else []
    print(f'{target}: {", ".join(parts)}')
    return 0
