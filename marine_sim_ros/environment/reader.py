# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reader of environments in ``config/environments/*.yaml``: water, waves, currents, seabed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.files import expand_home
from marine_sim_ros.core.yaml_file import ConfigFiles, YamlReader, short_text
from marine_sim_ros.environment.currents_and_waves import (
    CurrentProfile,
    GaussMarkov,
    Waves,
    dispersion,
    irregular_waves,
    regular_waves,
)
from marine_sim_ros.environment.environment import (
    OCEAN_SALINITY,
    PURE,
    STANDARD_GRAVITY,
    WATER_TYPES,
    Environment,
    WaterOptics,
    water_properties,
)
from marine_sim_ros.environment.origin import Origin, read_origin
from marine_sim_ros.geometry.mesh_files import SCENE_SUFFIXES
from marine_sim_ros.model.materials import Materials, load_materials
from marine_sim_ros.scene.bathymetry import RASTER_SUFFIXES, MapPlace
from marine_sim_ros.scene.bodies import read_payloads
from marine_sim_ros.scene.reader import SCENE_KEYS, read_scene, water_depth
from marine_sim_ros.scene.soundings import SOUNDING_SUFFIXES

__all__ = ['ENVIRONMENT_FILES', 'load_environment', 'parse_environment', 'run_environment']

_KEYS = {
    'description',
    'gravity',
    'depth',
    'water',
    'waves',
    'current',
    'materials',
    'origin',
    'payloads',
    *SCENE_KEYS,
}
_WATER = {
    'kind',
    'temperature',
    'salinity',
    'density',
    'kinematic_viscosity',
    'water_type',
    'turbidity',
    'sun',
    'particles',
}
_SEA = {
    'type',
    'direction',
    'seed',
    'significant_height',
    'peak_period',
    'gamma',
    'spreading',
    'components',
}
_REGULAR = {'type', 'direction', 'height', 'period', 'wavelength', 'phase'}
_TYPES = ('regular', 'jonswap', 'pierson_moskowitz')
BREAKING = 0.142
"""Steepness H/λ at which a deep-water wave breaks (Michell 1893)."""


def run_environment(
    name_or_path: str = '',
    *,
    gravity: float = 0.0,
    water_density: float = 0.0,
    current: Sequence[float] = (0.0, 0.0, 0.0),
) -> Environment:
    """Return the environment of a run; what is not 0 replaces what the file says.

    Args:
        name_or_path: name or path as for :func:`load_environment`; empty: still water.
        gravity: m/s²; waves keep their periods.
        water_density: kg/m³.
        current: steady velocity of the water, east, north, up, m/s.

    Raises:
        ParameterError: it cannot be found, read or used.
    """
    result = load_environment(name_or_path) if name_or_path else Environment()
    changes: dict[str, Any] = {}
    if gravity:
        changes['gravity'] = gravity
        if result.waves is not None:
            changes['waves'] = replace(result.waves, gravity=gravity)
    if water_density:
        changes['water_density'] = water_density
    if any(c != 0 for c in current):
        changes['current'] = result.origin.in_map(np.array(current, float))
    return replace(result, **changes)


def _environment(root: YamlReader) -> Environment:
    root.mapping(_KEYS)
    gravity = root.child('gravity', STANDARD_GRAVITY).number(0.1, 99.0)
    origin, place = read_origin(root.child('origin')), None
    if root.child('origin').value is not None:
        place = MapPlace(origin.latitude, origin.longitude, origin.heading)
    scene = read_scene(root, Path(root.where).parent, place)
    depth = root.child('depth', water_depth(root, scene))
    h = depth.value if depth.value == math.inf else depth.number(0.1, 12_000)
    origin = read_origin(root.child('origin'))
    return Environment(
        gravity=gravity,
        name=root.stem,
        waves=_waves(root.child('waves'), gravity, h, origin),
        scene=scene,
        payloads=read_payloads(root.child('payloads', []), scene),
        origin=origin,
        materials=_materials(root.child('materials'), Path(root.where).parent),
        **_water(root.child('water')),
        **_currents(root.child('current'), origin),
    )


def _materials(reader: YamlReader, folder: Path) -> Materials | None:
    """Return the materials of a file that is named relative to a folder."""
    if reader.value is None:
        return None
    if not isinstance(reader.value, str):
        raise reader.error(f' is {short_text(reader.value)}; expected the name of a material file')
    return load_materials(folder / expand_home(reader.value))


def _water(reader: YamlReader) -> dict[str, Any]:
    if reader.value is None:
        return {}
    reader.mapping(_WATER)
    kind = reader.child('kind', 'sea').choice(('fresh', 'sea'))
    temperature = reader.child('temperature', 15.0).number(0.0, 40.0)
    salinity = reader.child('salinity', OCEAN_SALINITY if kind == 'sea' else 0.0).number(0.0, 42.0)
    density, viscosity = water_properties(temperature, salinity)
    usual = WaterOptics().water_type if kind == 'sea' else PURE
    return {
        'optics': WaterOptics(
            reader.child('water_type', usual).choice(tuple(WATER_TYPES)),
            reader.child('turbidity', 0.0).number(0.0, 100.0),
            reader.child('sun', 0.0).number(0.0, 1.0),
            reader.child('particles', 0.0).number(0.0, 1e4),
        ),
        'water_density': reader.child('density', density).number(100.0, 2e4),
        'kinematic_viscosity': reader.child('kinematic_viscosity', viscosity).number(1e-9, 0.5),
    }


def _waves(reader: YamlReader, gravity: float, depth: float, origin: Origin) -> Waves | None:
    if reader.value is None:
        return None
    reader.mapping(_SEA | _REGULAR, {'type'})
    kind = reader.child('type').choice(_TYPES)
    direction = math.radians(
        reader.child('direction', 0.0).number(-360.0, 360.0) + origin.heading
    )  # from the x axis of map, of one from east
    if kind == 'regular':
        return _read_regular_waves(reader, direction, gravity, depth)
    reader.mapping(_SEA, {'type', 'significant_height', 'peak_period'})
    if kind == 'pierson_moskowitz' and 'gamma' in reader.value:
        raise reader.error(': gamma is of jonswap; pierson_moskowitz has none')
    spreading = reader.child('spreading', math.inf)
    return irregular_waves(
        reader.child('significant_height').number(0.0, 30.0),
        reader.child('peak_period').number(0.5, 30.0),
        gamma=reader.child('gamma', 3.3 if kind == 'jonswap' else 1.0).number(1.0, 20.0),
        direction=direction,
        spreading=math.inf if spreading.value == math.inf else spreading.number(0.5, 1000.0),
        components=reader.child('components', 64).integer(1, 5000),
        seed=reader.child('seed', 0).integer(0, 2**53),
        depth=depth,
        gravity=gravity,
    )


def _read_regular_waves(
    reader: YamlReader, direction: float, gravity: float, depth: float
) -> Waves:
    reader.mapping(_REGULAR, {'type', 'height'})
    if ('period' in reader.value) == ('wavelength' in reader.value):
        raise reader.error(': expected either period or wavelength')
    if 'wavelength' in reader.value:
        k = 2 * math.pi / reader.child('wavelength').number(0.01, 1e4)
        period = 2 * math.pi / math.sqrt(gravity * k * math.tanh(k * depth))
    else:
        period = reader.child('period').number(0.1, 100.0)
    height = reader.child('height').number(0.0, 40.0)
    k = float(dispersion(np.array(2 * math.pi / period), depth, gravity))
    if height * k / (2 * math.pi) > BREAKING:
        raise reader.error(
            f'.height is {height:g}; a wave of {2 * math.pi / k:.3g} m breaks at '
            f'{BREAKING * 2 * math.pi / k:.3g} m'
        )
    phase = math.radians(reader.child('phase', 0.0).number(-360.0, 360.0))
    return regular_waves(
        height, period, direction=direction, phase=phase, depth=depth, gravity=gravity
    )


def _currents(reader: YamlReader, origin: Origin) -> dict[str, Any]:
    """Return the currents in map of those that the file gives east, north, up."""
    if reader.value is None:
        return {}
    reader.mapping({'velocity', 'profile', 'gauss_markov'})
    result: dict[str, Any] = {
        'current': origin.in_map(reader.child('velocity', [0.0, 0.0, 0.0]).vector(-20.0, 20.0))
    }
    if 'profile' in reader.value:
        result['profile'] = _profile(reader.child('profile'), origin)
    if 'gauss_markov' in reader.value:
        noise = reader.child('gauss_markov')
        noise.mapping(
            {'deviation', 'time_constant', 'seed', 'components'}, {'deviation', 'time_constant'}
        )
        result['fluctuation'] = GaussMarkov(
            noise.child('deviation').vector(0.0, 20.0),
            noise.child('time_constant').number(1e-3, 1e6),
            noise.child('seed', 0).integer(0, 2**53),
            noise.child('components', 64).integer(1, 5000),
            turn=origin.turn if origin.heading else None,
        )
    return result


def _profile(reader: YamlReader, origin: Origin) -> CurrentProfile:
    depths, velocities = [], []
    for point in reader.items():
        point.mapping({'depth', 'velocity'}, {'depth', 'velocity'})
        depths.append(point.child('depth').number(-100.0, 12_000.0))
        velocities.append(point.child('velocity').vector(-20.0, 20.0))
    if not depths or any(b <= a for a, b in pairwise(depths)):
        raise reader.error(': expected points in the order of their depth, at least one')
    return CurrentProfile(np.array(depths), origin.in_map(np.array(velocities)))


ENVIRONMENT_FILES = ConfigFiles('environments', _environment)
parse_environment = ENVIRONMENT_FILES.parse

_TERRAIN = 'terrain: {{file: {}}}'
_MESH = 'obstacles: [{{shape: mesh, file: {}, position: [0, 0, -5]}}]'
_PARTS = dict.fromkeys(('.asc', *SOUNDING_SUFFIXES, *RASTER_SUFFIXES), _TERRAIN)
_PARTS |= dict.fromkeys(SCENE_SUFFIXES, _MESH)
"""Lines of an environment file for a part of it, by the suffix of the part."""


def load_environment(name_or_path: str | Path) -> Environment:
    """Return a shipped environment by name, or one from a YAML file.

    Raises:
        ParameterError: it cannot be found or read, or the file is a terrain or a mesh.
    """
    path = Path(name_or_path)
    line = _PARTS.get(path.suffix.lower())
    if line is not None:
        raise ParameterError(
            f'{path}: is a part of an environment; expected a YAML file with the line '
            f'{line.format(path.name)}'
        )
    return ENVIRONMENT_FILES.load(name_or_path)
