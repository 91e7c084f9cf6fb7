# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reader of environments in ``config/environments/*.yaml``: water, waves, currents, seabed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.files import expand_home
from marine_sim_ros.core.geodesy import Origin, read_origin
from marine_sim_ros.core.registry import WATER_FUNCTIONS
from marine_sim_ros.core.schema import (
    REQUIRED,
    choice,
    declaration,
    fields_of,
    nested,
    number,
    special,
    text,
    truth,
)
from marine_sim_ros.core.yaml_file import ConfigFiles, YamlReader, short_text
from marine_sim_ros.environment.beacons import read_beacons
from marine_sim_ros.environment.casts import read_cast
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
    Environment,
    WaterOptics,
    water_properties,
)
from marine_sim_ros.environment.internal_waves import WaterFunction
from marine_sim_ros.environment.sediment import Sediment
from marine_sim_ros.environment.tide import Tide, TideElement, make_tide, parse_start
from marine_sim_ros.environment.water_fields import (
    WaterFields,
    WaterPoint,
    check_depths,
    layered_water,
    profile_columns,
    read_points,
)
from marine_sim_ros.environment.wind import Wind
from marine_sim_ros.geometry.mesh_files import SCENE_SUFFIXES
from marine_sim_ros.model.body_joints import read_body_joints
from marine_sim_ros.model.free_bodies import DEFAULT_WATER_DENSITY, read_free_bodies
from marine_sim_ros.model.materials import Materials, load_materials
from marine_sim_ros.scene.bathymetry import RASTER_SUFFIXES, SOUNDING_SUFFIXES
from marine_sim_ros.scene.reader import SCENE_KEYS, read_scene, water_depth
from marine_sim_ros.scene.scene import Scene

__all__ = ['ENVIRONMENT_FILES', 'load_environment', 'parse_environment', 'run_environment']

_LEAST_DENSITY = 100.0
"""Smallest density of a file, kg/m³."""
BREAKING = 0.142
"""Steepness H/λ at which a deep-water wave breaks (Michell 1893)."""


@declaration(frozen=True)
class OceanData:
    """Fields of the water from a NetCDF file."""

    file: str = text('NetCDF file over time, depth, latitude and longitude', REQUIRED)
    reach: float = number(20_000.0, 10.0, 2e6, 'm', 'distance from the origin that is read')


@declaration(frozen=True)
class WaterElement:
    """Kind and state of the water of an environment file."""

    kind: str = choice(('fresh', 'sea'), 'water of a lake or of the ocean', 'sea')
    temperature: float = number(15.0, 0.0, 40.0, '°C', 'temperature')
    salinity: float | None = number(
        None, 0.0, 42.0, '', 'practical salinity; default: of the kind'
    )
    density: float | None = number(
        None, _LEAST_DENSITY, 2e4, 'kg/m³', 'density; by default of temperature and salinity'
    )
    kinematic_viscosity: float | None = number(
        None, 1e-9, 0.5, 'm²/s', 'kinematic viscosity; by default of temperature and salinity'
    )
    data: OceanData | None = nested(OceanData, 'stratified water from an ocean model')
    profile: Any = special(
        lambda reader: _read_profile(reader), (), 'stratified water: points over depth, linear '
        'between, or the file of a CTD cast (.csv, .cnv)',
    )  # fmt: skip
    refraction: bool = truth(False, 'whether stratified water bends the paths of sound')
    functions: tuple[tuple[WaterFunction, Any], ...] = special(
        lambda reader: tuple(map(_read_function, reader.items())), (), 'functions of the water, '
        'each with its type and keys, in their order',
    )  # fmt: skip


def _read_function(item: YamlReader) -> tuple[WaterFunction, Any]:
    """Return a function of the water and its parameters."""
    if not isinstance(item.value, dict) or 'type' not in item.value:
        raise item.error(f': type is missing; expected one of: {", ".join(WATER_FUNCTIONS)}')
    function: WaterFunction = WATER_FUNCTIONS[item.child('type').choice(tuple(WATER_FUNCTIONS))]
    keys = fields_of(function.spec)
    item.mapping({'type', *keys}, {name for name, key in keys.items() if key.default is REQUIRED})
    return function, function.spec(**item.values(function.spec))


def _read_profile(reader: YamlReader) -> tuple[WaterPoint, ...] | str:
    """Return the points of a profile, or the name of a file of a CTD cast."""
    if isinstance(reader.value, str):
        return reader.value
    return read_points(reader)


_WAVE_TYPES = ('regular', 'jonswap', 'pierson_moskowitz')


@declaration(frozen=True, kw_only=True)
class WaveElement:
    """Type and direction of waves."""

    type: str = choice(_WAVE_TYPES, 'one wave, or a sea of this spectrum', REQUIRED)
    direction: float = number(
        0.0, -360.0, 360.0, '°', 'direction that waves go to, anticlockwise from east'
    )


@declaration(frozen=True, kw_only=True)
class RegularWaves(WaveElement):
    """One wave; either its period or its length is given."""

    height: float = number(REQUIRED, 0.0, 40.0, 'm', 'height from trough to crest')
    period: float | None = number(None, 0.1, 100.0, 's', 'period')
    wavelength: float | None = number(None, 0.01, 1e4, 'm', 'length')
    phase: float = number(0.0, -360.0, 360.0, '°', 'phase at the origin')


@declaration(frozen=True, kw_only=True)
class IrregularWaves(WaveElement):
    """Sea of a spectrum."""

    significant_height: float = number(REQUIRED, 0.0, 30.0, 'm', 'significant height')
    peak_period: float = number(REQUIRED, 0.5, 30.0, 's', 'period of the peak')
    gamma: float | None = number(None, 1.0, 20.0, '', 'peak factor of jonswap; by default 3.3')
    spreading: float = number(
        math.inf, 0.5, 1000.0, '', 'exponent s of cos^2s of half the angle; inf: long-crested'
    )
    components: int = number(64, 1, 5000, '', 'harmonics', whole=True)
    seed: int = number(0, 0, 2**53, '', 'random seed of phases', whole=True)


_VELOCITY = 'velocity east, north, up'


@declaration(frozen=True)
class ProfilePoint:
    """Current at a depth."""

    depth: float = number(REQUIRED, -100.0, 12_000.0, 'm', 'depth; points are in its order')
    velocity: tuple[float, ...] = number(REQUIRED, -20.0, 20.0, 'm/s', _VELOCITY, size=3)


@declaration(frozen=True)
class CurrentElement:
    """Sum of a steady current, a profile over depth and a fluctuation over time."""

    velocity: tuple[float, ...] = number((0.0, 0.0, 0.0), -20.0, 20.0, 'm/s', _VELOCITY)
    profile: tuple[ProfilePoint, ...] = nested(
        ProfilePoint, 'currents by depth, linear between', many=True
    )
    gauss_markov: GaussMarkov | None = nested(GaussMarkov, 'fluctuation')


@declaration(frozen=True)
class EnvironmentNumbers:
    """Numbers of an environment file that belong to no part of it."""

    gravity: float = number(STANDARD_GRAVITY, 0.1, 99.0, 'm/s²', 'gravity')
    depth: float = number(
        math.inf, 0.1, 12_000.0, 'm', 'depth for waves; by default that of the scene, or deep'
    )


_PARTS_OF_FILE = (
    'description', 'water', 'waves', 'current', 'materials', 'origin', 'payloads', 'bodies',
    'joints', 'wind', 'start', 'tide', 'beacons', 'sediment',
    *SCENE_KEYS
)  # fmt: skip


def run_environment(
    name_or_path: str = '',
    *,
    gravity: float = 0.0,
    water_density: float = 0.0,
    current: Sequence[float] = (0.0, 0.0, 0.0),
) -> Environment:
    """Return the environment of a run; arguments other than 0 replace the file's values.

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
        if result.fields is not None:
            raise ParameterError(
                f'water_density is {water_density:g}; expected none, as the water of '
                f'{result.name} is stratified'
            )
        if not _LEAST_DENSITY <= water_density <= 2e4:
            raise ParameterError(
                f'water_density is {water_density:g}; expected {_LEAST_DENSITY:g} to 20000 kg/m³: '
                'about 998 in fresh water, 1025 in the sea'
            )
        changes['water_density'] = water_density
    if any(c != 0 for c in current):
        changes['current'] = result.origin.in_map(np.array(current, float))
    return replace(result, **changes)


def _environment(root: YamlReader) -> Environment:
    root.mapping({*fields_of(EnvironmentNumbers), *_PARTS_OF_FILE})
    origin = read_origin(root.child('origin'))
    has_place = root.child('origin').value is not None
    folder = Path(root.where).parent
    scene = read_scene(root, folder, origin if has_place else None)
    element = EnvironmentNumbers(**root.values(EnvironmentNumbers, depth=water_depth(root, scene)))
    start = _start(root.child('start'))
    water = _water(root.child('water'), origin, folder, start)
    density = water.get('water_density') or DEFAULT_WATER_DENSITY
    lists = [root.child(name, []) for name in ('bodies', 'payloads')]  # the latter: older files
    bodies = read_free_bodies(lists, scene, density, folder)
    return Environment(
        gravity=element.gravity,
        name=root.stem,
        waves=_waves(root.child('waves'), element, origin),
        wind=_wind(root.child('wind'), origin),
        tide=_tide(root, origin, start),
        scene=scene,
        free_bodies=bodies,
        body_joints=read_body_joints(root.child('joints', []), bodies),
        beacons=read_beacons(root.child('beacons', [])),
        sediment=_sediment(root.child('sediment'), scene),
        origin=origin,
        materials=_materials(root.child('materials'), folder),
        **water,
        **_currents(root.child('current'), origin),
    )


def _sediment(reader: YamlReader, scene: Scene | None) -> Sediment | None:
    if reader.value is None:
        return None
    if scene is None or not (scene.planes or scene.terrain):
        raise reader.error(': there is no seabed; expected `seabed` or `terrain` with it')
    return reader.read(Sediment)


def _materials(reader: YamlReader, folder: Path) -> Materials | None:
    """Return the materials of a file that is named relative to a folder."""
    if reader.value is None:
        return None
    if not isinstance(reader.value, str):
        raise reader.error(f' is {short_text(reader.value)}; expected the name of a material file')
    return load_materials(folder / expand_home(reader.value))


def _water(
    reader: YamlReader, origin: Origin, folder: Path, start: datetime | None
) -> dict[str, Any]:
    if reader.value is None:
        return {}
    reader.mapping({*fields_of(WaterElement), *fields_of(WaterOptics)})
    element = WaterElement(**reader.values(WaterElement))
    sea = element.kind == 'sea'
    salinity = element.salinity
    if salinity is None:
        salinity = OCEAN_SALINITY if sea else 0.0
    density, viscosity = water_properties(element.temperature, salinity)
    water_type = WaterOptics.water_type if sea else PURE
    specified = [
        key for key in ('density', 'profile', 'data') if reader.child(key).value is not None
    ]
    if len(specified) > 1:
        raise reader.error(f': {" and ".join(specified)}; expected one of them')
    if element.data is not None:
        # Not at the top: no other environment starts a process.
        from marine_sim_ros.environment.ocean_data import read_ocean_data

        path = folder / expand_home(element.data.file)
        fields: WaterFields | None = read_ocean_data(path, origin, start, element.data.reach)
    else:
        fields = _stratification(reader.child('profile'), element, salinity, origin, folder)
    for function, parameters in element.functions:
        try:
            fields = function.make(parameters, fields, origin)
        except ParameterError as error:
            raise reader.error(f'.functions: {error}') from None
    if fields is not None and element.density is not None:
        raise reader.error(': density is given, and functions stratify the water; expected one')
    if element.density is not None:
        density = element.density
    return {
        'optics': WaterOptics(**reader.values(WaterOptics, water_type=water_type)),
        'water_density': density if fields is None else None,
        'temperature': element.temperature,
        'salinity': salinity,
        'fields': fields,
        'refraction': element.refraction,
        'kinematic_viscosity': element.kinematic_viscosity or viscosity,
    }


def _stratification(
    reader: YamlReader, element: WaterElement, salinity: float, origin: Origin, folder: Path
) -> WaterFields | None:
    """Return the fields of a profile; missing quantities are those of the uniform water."""
    if reader.value is None:
        return None
    if isinstance(element.profile, str):
        profile = read_cast(folder / expand_home(element.profile), origin.latitude)
    else:
        profile = profile_columns(element.profile)
    return layered_water(profile, element.temperature, salinity, origin)


def _waves(reader: YamlReader, around: EnvironmentNumbers, origin: Origin) -> Waves | None:
    if reader.value is None:
        return None
    keys = {*fields_of(RegularWaves), *fields_of(IrregularWaves)}
    reader.mapping(keys, {'type'})
    element = WaveElement(**reader.values(WaveElement))
    direction = math.radians(element.direction + origin.heading)  # from the x axis of map
    if element.type == 'regular':
        return _read_regular_waves(reader, direction, around)
    if element.type == 'pierson_moskowitz' and 'gamma' in reader.value:
        raise reader.error(': gamma is of jonswap; pierson_moskowitz has none')
    sea = reader.read(IrregularWaves, gamma=3.3 if element.type == 'jonswap' else 1.0)
    assert sea.gamma is not None
    k = float(dispersion(np.array(2 * math.pi / sea.peak_period), around.depth, around.gravity))
    if sea.significant_height * k / (2 * math.pi) > BREAKING:
        raise reader.error(
            f'.significant_height is {sea.significant_height:g}; waves of the peak period, '
            f'{2 * math.pi / k:.3g} m long, break at {BREAKING * 2 * math.pi / k:.3g} m'
        )
    return irregular_waves(
        sea.significant_height,
        sea.peak_period,
        gamma=sea.gamma,
        direction=direction,
        spreading=sea.spreading,
        components=sea.components,
        seed=sea.seed,
        depth=around.depth,
        gravity=around.gravity,
    )


def _read_regular_waves(reader: YamlReader, direction: float, around: EnvironmentNumbers) -> Waves:
    wave, depth, gravity = reader.read(RegularWaves), around.depth, around.gravity
    period = wave.period
    if (period is None) == (wave.wavelength is None):
        raise reader.error(': expected either period or wavelength')
    if wave.wavelength is not None:
        k = 2 * math.pi / wave.wavelength
        period = 2 * math.pi / math.sqrt(gravity * k * math.tanh(k * depth))
    assert period is not None
    k = float(dispersion(np.array(2 * math.pi / period), depth, gravity))
    if wave.height * k / (2 * math.pi) > BREAKING:
        raise reader.error(
            f'.height is {wave.height:g}; a wave of {2 * math.pi / k:.3g} m breaks at '
            f'{BREAKING * 2 * math.pi / k:.3g} m'
        )
    return regular_waves(
        wave.height,
        period,
        direction=direction,
        phase=math.radians(wave.phase),
        depth=depth,
        gravity=gravity,
    )


def _wind(reader: YamlReader, origin: Origin) -> Wind | None:
    if reader.value is None:
        return None
    wind = reader.read(Wind)
    return replace(wind, yaw=origin.yaw(wind.from_direction + 180.0))


def _start(reader: YamlReader) -> datetime | None:
    """Return the date of the time 0, or None."""
    try:
        return None if reader.value is None else parse_start(reader.value)
    except ValueError:
        raise reader.error(
            f' is {short_text(reader.value)}; expected a date in UTC, such as 2026-11-28T12:00:00Z'
        ) from None


def _tide(root: YamlReader, origin: Origin, start: datetime | None) -> Tide | None:
    tide = root.child('tide')
    if tide.value is None:
        return None
    element = tide.read(TideElement)
    if not (element.constituents or element.currents):
        raise tide.error(' has no constituents; expected some of the level or the currents')
    if start is not None and root.child('origin').value is None:
        raise tide.error(
            ' has a start, but the environment has no origin, whose latitude its nodal '
            'corrections need; expected `origin: {latitude: …, longitude: …}`'
        )
    return make_tide(element, start, origin)


def _currents(reader: YamlReader, origin: Origin) -> dict[str, Any]:
    """Return the currents in map of those that the file gives east, north, up."""
    if reader.value is None:
        return {}
    element = reader.read(CurrentElement)
    result: dict[str, Any] = {'current': origin.in_map(np.array(element.velocity))}
    if reader.child('profile').value is not None:
        depths = np.array([point.depth for point in element.profile])
        check_depths(reader.child('profile'), depths.tolist())
        velocities = np.array([point.velocity for point in element.profile])
        result['profile'] = CurrentProfile(depths, origin.in_map(velocities))
    if element.gauss_markov is not None:
        rotation = origin.turn if origin.heading else None
        result['fluctuation'] = replace(element.gauss_markov, turn=rotation)
    return result


ENVIRONMENT_FILES = ConfigFiles('environments', _environment)
parse_environment = ENVIRONMENT_FILES.parse

_TERRAIN = 'terrain: {{file: {}}}'
_MESH = 'obstacles: [{{shape: mesh, file: {}, position: [0, 0, -5]}}]'
_PARTS = dict.fromkeys(('.asc', *SOUNDING_SUFFIXES, *RASTER_SUFFIXES), _TERRAIN)
_PARTS |= dict.fromkeys(SCENE_SUFFIXES, _MESH)
"""Lines of an environment file for a part of it, by the suffix of the part."""


def load_environment(name_or_path: str | Path) -> Environment:
    """Return a shipped environment by name, or one from a YAML file or the folder of one.

    Raises:
        ParameterError: it cannot be found or read, or the file is a terrain or a mesh.
    """
    path = Path(name_or_path)
    if (path / 'environment.yaml').is_file():  # the folder of marine_sim terrain
        return ENVIRONMENT_FILES.load(path / 'environment.yaml')
    line = _PARTS.get(path.suffix.lower())
    if line is not None:
        raise ParameterError(
            f'{path}: is a part of an environment; expected a YAML file with the line '
            f'{line.format(path.name)}'
        )
    return ENVIRONMENT_FILES.load(name_or_path)
