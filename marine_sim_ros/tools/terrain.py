# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Make an environment of a place from a file of heights or depths."""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from marine_sim_ros import __version__
from marine_sim_ros.analysis.nautical_chart import write_nautical_chart
from marine_sim_ros.core.errors import escape_controls
from marine_sim_ros.core.files import expand_home
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.importers.site import METHOD, Site, sha256_of, write_terrain
from marine_sim_ros.tools.command_line import (
    check_folder,
    check_writable,
    print_warnings,
    write_file,
)
from marine_sim_ros.tools.options import accept_negative_pairs, number_argument

__all__ = ['add_arguments', 'execute']

_DEGREES = re.compile(r'\s*([+-]?\d{1,3}(?:\.\d{0,15})?)\s*°?\s*([NSEWnsew]?)\s*')
_MATERIAL = re.compile('[A-Za-z0-9_.-]{1,64}')


def _place(text: str) -> tuple[float, float]:
    """Return latitude and longitude, degrees, of a text such as 59.91,10.73 or 33.8S,151.2E."""
    found = [_DEGREES.fullmatch(part) for part in text.split(',')]
    if len(found) == 2 and all(found):
        values = []
        for match, sides in zip(found, ('NS', 'EW'), strict=True):
            assert match is not None
            side = match[2].upper()
            if side and (side not in sides or match[1].startswith(('+', '-'))):
                break
            values.append(float(match[1]) * (-1.0 if side in ('S', 'W') else 1.0))
        if len(values) == 2 and abs(values[0]) <= 89.9 and abs(values[1]) <= 360.0:
            return values[0], math.remainder(values[1], 360.0)
    raise argparse.ArgumentTypeError(
        f'{text[:60]!r}; expected latitude and longitude in degrees, such as 59.91,10.73 or '
        '33.8S,151.2E'
    )


def _material(text: str) -> str:
    if not _MATERIAL.fullmatch(text):
        raise argparse.ArgumentTypeError(f'{text[:40]!r}; expected a name such as sand')
    return text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's options."""
    accept_negative_pairs(parser)
    parser.add_argument(
        'file',
        metavar='FILE',
        help='GeoTIFF, NetCDF (GEBCO, EMODnet), ESRI ASCII grid, soundings (.xyz, .csv: x, y, z)',
    )
    parser.add_argument(
        '--at',
        required=True,
        type=_place,
        metavar='LAT,LON',
        help='origin of map, degrees (WGS84), such as 59.91,10.73 or 33.8S,151.2E',
    )
    parser.add_argument(
        '-o', '--output', required=True, metavar='DIR',
        help='folder to write: environment.yaml, terrain.npy, manifest.json, chart.png',
    )  # fmt: skip
    parser.add_argument(
        '--size', type=number_argument(1.0, 1e6, 'm'), default=2000.0, metavar='M',
        help='side of the square about the origin, m (default: 2000)',
    )  # fmt: skip
    parser.add_argument(
        '--spacing', type=number_argument(0.01, 1e5, 'm'), default=0.0, metavar='M',
        help='of the grid, m (default: that of the file, at least 512 points along a side)',
    )  # fmt: skip
    parser.add_argument(
        '--crs', default='', metavar='CRS',
        help='coordinate reference system of the file, such as EPSG:32633 (default: as it says; '
        'soundings and grids in degrees: EPSG:4326)',
    )  # fmt: skip
    parser.add_argument(
        '--variable', default='', metavar='NAME',
        help='of a NetCDF file with several (default: elevation, depth, z, ...)',
    )  # fmt: skip
    parser.add_argument(
        '--positive', choices=('up', 'down'), default='',
        help='the file has heights (up) or depths (down); default: as it says, else up',
    )  # fmt: skip
    parser.add_argument(
        '--datum-offset', type=number_argument(-200.0, 200.0, 'm'), default=0.0, metavar='M',
        help='height of the vertical datum of the file above mean sea level, m, which is added to '
        'heights: -1.2 for a chart datum 1.2 m below (default: 0)',
    )  # fmt: skip
    parser.add_argument(
        '--vertical-datum', default='', metavar='TEXT',
        help='name of the vertical datum, for the manifest (default: as the file says)',
    )  # fmt: skip
    parser.add_argument(
        '--licence', default='', metavar='TEXT',
        help='licence of the data, for the manifest (default: as the file says)',
    )  # fmt: skip
    parser.add_argument(
        '--material', type=_material, default='sand', metavar='NAME',
        help='material of the ground (default: sand)',
    )  # fmt: skip


def execute(options: argparse.Namespace) -> int:
    """Write the environment, and print its numbers and what was assumed."""
    path, output = expand_home(options.file), expand_home(options.output)
    latitude, longitude = options.at
    check_folder(output, '-o')
    target = output / 'environment.yaml'
    check_writable(target, '-o', parents=True)
    site = Site(
        path, latitude, longitude, options.size, options.spacing, options.crs, options.variable,
        options.positive, options.datum_offset,
    )  # fmt: skip
    new = not output.exists()
    output.mkdir(parents=True, exist_ok=True)
    heights, draft = output / 'terrain.npy', output / '.terrain.npy'
    try:
        facts = write_terrain(site, draft)
        draft.replace(heights)
    except BaseException:
        draft.unlink(missing_ok=True)
        if new:
            output.rmdir()
        raise
    manifest = _manifest(site, facts, options, heights)
    write_file(output / 'manifest.json', json.dumps(manifest, indent=2, ensure_ascii=False) + '\n')
    content = {
        'description': f'terrain of {path.name} about {latitude:.6f}, {longitude:.6f}',
        'origin': {'latitude': latitude, 'longitude': longitude},
        'terrain': {
            'file': heights.name,
            'corner': facts['corner'],
            'spacing': facts['spacing'],
            'material': options.material,
        },
    }
    write_file(target, yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
    environment = load_environment(str(target))
    write_nautical_chart(output / 'chart.png', environment, f'{path.name}')
    print_warnings(escape_controls(line) for line in _notes(facts, manifest))
    assert environment.scene is not None
    _print_summary(target, facts, environment.scene.ground(0.0, 0.0))
    return 0


def _manifest(
    site: Site, facts: Mapping[str, Any], options: argparse.Namespace, heights: Path
) -> dict[str, Any]:
    return {
        'program': f'marine_sim_ros {__version__}',
        'source': {
            'file': site.path.name,
            'bytes': site.path.stat().st_size,
            'sha256': sha256_of(site.path),
            **facts,
            'vertical_datum': options.vertical_datum or facts['vertical_datum'],
            'licence': options.licence or facts['licence'],
        },
        'origin': {'latitude': site.latitude, 'longitude': site.longitude},
        'size': site.size,
        'datum_offset': site.datum_offset,
        'method': METHOD,
        'terrain': {'file': heights.name, 'sha256': sha256_of(heights)},
    }


def _notes(facts: Mapping[str, Any], manifest: Mapping[str, Any]) -> list[str]:
    """Return a line for each thing that was assumed or filled."""
    source, notes = manifest['source'], []
    if facts['gaps_filled']:
        total = facts['points'][0] * facts['points'][1]
        notes.append(
            f'{facts["gaps_filled"]} of {total} points had no height, '
            f'{facts["gaps_beyond_file"]} of them beyond the file: {METHOD["gaps"]}'
        )
    if facts['crs_source'].startswith('assumed'):
        notes.append(f'coordinate reference system {facts["crs"]}: {facts["crs_source"]}')
    if not source['vertical_datum'] and not manifest['datum_offset']:
        notes.append(
            'the file names no vertical datum: its 0 is taken for mean sea level '
            '(--datum-offset, --vertical-datum)'
        )
    if not source['licence']:
        notes.append('the file states no licence (--licence)')
    return notes


def _print_summary(target: Path, facts: Mapping[str, Any], ground: float) -> None:
    columns, rows = facts['points']
    place = f'{-ground:.2f} m deep' if ground < 0 else f'on land, {ground:.2f} m high'
    print(
        f'{target}: {columns} x {rows} points, {facts["spacing"]:.4g} m apart (the file: '
        f'{facts["resolution"]:.4g} m), {facts["lowest"]:.2f} to {facts["highest"]:.2f} m; '
        f'the origin is {place}'
    )
    print(f'marine_sim simulate bluerov2 --environment {target} --scenario dive')
