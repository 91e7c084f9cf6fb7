# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""YAML files beside a description: controllers, limits, vehicles of MarineGym.

The files are searched in the folder of the description, in ``config`` there, and in ``config``
beside that folder in its package, with the folders directly below. A file is recognised by its
keys, not by its name. Of several of one kind the one is taken whose path has the vehicle's name.
The description itself comes first: a limit is taken where it has none, and thrusters where it has
none at all.

Sources: uuv_simulator, uuv_thruster_manager (``thruster_manager``, ``tam``); VRX, generator of the
WAM-V (``engine``).

Source: Marine-RL/MarineGym, marinegym/robots/drone/underwaterVehicle.py and actuators/t200.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.files import read_text_file
from marine_sim_ros.core.packages import ReadableFolders
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.yaml_file import YamlReader, parse_yaml
from marine_sim_ros.importers.builder import VehicleBuilder
from marine_sim_ros.importers.description import Hydrodynamics, Sourced, Thruster, Volume
from marine_sim_ros.importers.thrusters import (
    add_column,
    add_propeller,
    linear_thrust_curve,
    pose_along,
    sampled_curve,
    thrust_limit,
)
from marine_sim_ros.model.kinematics import MAX_PART_DISTANCE
from marine_sim_ros.model.propellers import PWM_MAX, PWM_MIN

__all__ = ['add_missing_thrusters', 'find_sidecar_files', 'note_limits', 'add_marinegym']


# Numbers from YAML files beside a description and from arguments of its xacro.

_MAX_FILES = 200
_DEEPEST = 6
_KEYS = re.compile(r'\b(thruster_manager|tam|engine|hydro_coef)["\']?\s*:')
_ARGUMENT = re.compile(
    r'<xacro:(?:arg|property)\s+name="((?:thruster_)?max_thrust)"\s+(?:default|value)="([^"]*)"'
)
_PROPELLER = np.array([-0.278156, 0.0, -0.509371])
"""m, of a WAM-V's engine, in its frame."""


class SidecarFile(NamedTuple):
    """A mapping in a YAML file that has a key of :data:`_KEYS`, and the file."""

    path: Path
    content: dict[str, Any]


def find_sidecar_files(builder: VehicleBuilder, path: Path) -> list[SidecarFile]:
    """Return the files beside a description whose keys are known; broken ones are named."""
    found = []
    for file in _candidates(path):
        try:
            text = read_text_file(file, ModelError)
            if _KEYS.search(text) is None:
                continue
            found += [
                SidecarFile(file, m) for m in _mappings(parse_yaml(text, file.name, ModelError))
            ]
        except ModelError as error:
            builder.drop(f'{error}; the file beside the description is not read')
    return found


def _candidates(path: Path) -> Iterator[Path]:
    folders = ReadableFolders(path)
    here = path.resolve().parent
    places = [here, here / 'config', here.parent / 'config']
    files = (
        file
        for place in places
        for pattern in ('*.y*ml', '*/*.y*ml')
        for file in sorted(place.glob(pattern))
        if pattern == '*.y*ml' or place is not here
    )
    seen = set[Path]()
    for file in files:
        if len(seen) >= _MAX_FILES or file in seen or file.suffix not in ('.yaml', '.yml'):
            continue
        seen.add(file)
        try:
            folders.check(file)
        except ModelError:
            continue
        if file.is_file():
            yield file


def _mappings(content: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the mappings in a file that have a known key."""
    if not isinstance(content, dict) or depth > _DEEPEST:
        return
    if any(isinstance(key, str) and _KEYS.match(f'{key}:') for key in content):
        yield content
    for inner in content.values():
        yield from _mappings(inner, depth + 1)


def _choose_value(
    builder: VehicleBuilder, files: list[SidecarFile], key: str, fits: Callable[[Any], bool]
) -> tuple[str, Any] | None:
    """Return the place and the value of a key, of the only file or of that with the name."""
    having = [f for f in files if key in f.content]
    for file in having:
        if not fits(file.content[key]):
            builder.drop(
                f'{file.path.name}: {key!r} is not of the form that is known; it is not read'
            )
    having = [f for f in having if fits(f.content[key])]
    if len(having) > 1:
        own = [f for f in having if builder.name.lower() in str(f.path).lower()]
        if len(own) != 1:
            names = ', '.join(f.path.name for f in having[:4])
            builder.drop(
                f'{key!r} in several files beside the description, none is taken: {names}'
            )
            return None
        having = own
    if not having:
        return None
    return f'{having[0].path.name}: {key}', having[0].content[key]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9


def _is_manager(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    limit = value.get('max_thrust')
    return _is_number(limit) or (isinstance(limit, list) and all(map(_is_number, limit)))


def note_limits(builder: VehicleBuilder, files: list[SidecarFile], path: Path) -> None:
    """Note the largest thrusts of an argument of xacro or of a thruster manager."""
    if path.suffix in ('.xacro', '.urdf'):
        text = read_text_file(path, ModelError, mark=True)
        for name, default in _ARGUMENT.findall(text):
            given = builder.options.arguments.get(name, default)
            if re.fullmatch(r'\d+(\.\d*)?([eE][+-]?\d+)?', given) and 0 < float(given) < 1e9:
                builder.notes['max_thrust'] = Sourced([float(given)], f'{path.name}: {name}')
                return
    found = _choose_value(builder, files, 'thruster_manager', _is_manager)
    if found is None:
        return
    limit = found[1]['max_thrust']
    values = limit if isinstance(limit, list) else [limit]
    if values and all(v > 0 for v in values):
        builder.notes['max_thrust'] = Sourced(
            [float(v) for v in values], f'{found[0]}: max_thrust'
        )


def _is_matrix(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 6
        and all(isinstance(row, list) and all(map(_is_number, row)) for row in value)
        and len({len(row) for row in value}) == 1
        and 0 < len(value[0]) <= 100
    )


def _is_engines(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(e, dict) and 'prefix' in e and 'position' in e for e in value
    )


def add_missing_thrusters(builder: VehicleBuilder, files: list[SidecarFile]) -> None:
    """Add the thrusters of an allocation matrix or of engines, where there are none."""
    matrix = _choose_value(builder, files, 'tam', _is_matrix)
    if builder.thrusters:
        if matrix is not None and len(matrix[1][0]) != len(builder.thrusters):
            count = len(builder.thrusters)
            builder.drop(f'{matrix[0]}: has {len(matrix[1][0])} columns for {count} thrusters')
        return
    if matrix is not None:
        for index, column in enumerate(np.array(matrix[1], float).T):
            name = f'thruster_{index}'
            columns = Sourced(column, f'{matrix[0]}, column {index + 1}')
            add_column(builder, name, columns, thrust_limit(builder, name))
        builder.assume(f'{matrix[0]}: {len(builder.thrusters)} thrusters, at r = f x m/|f|²')
        return
    engines = _choose_value(builder, files, 'engine', _is_engines)
    for engine in [] if engines is None else engines[1]:
        assert engines is not None
        _add_engine(builder, engine, engines[0])


def _add_engine(builder: VehicleBuilder, engine: dict[str, Any], where: str) -> None:
    """Add an engine of a WAM-V, which pushes along its x axis; it does not turn here."""
    name = str(engine['prefix'])
    numbers = []
    for key in ('position', 'orientation'):
        words = str(engine.get(key, '0 0 0')).split()
        try:
            numbers.append([float(word) for word in words])
        except ValueError:
            numbers.append([])
    if any(len(row) != 3 or not np.all(np.abs(row) < MAX_PART_DISTANCE) for row in numbers):
        builder.drop(
            f'{where}: engine {name!r}: expected three numbers of position and orientation'
        )
        return
    turn = np.asarray(rotation_matrix(quaternion_from_rpy(*numbers[1])))
    label = re.sub(r'\W+', '_', name, flags=re.ASCII)
    limit = thrust_limit(builder, label)
    curve = Sourced(linear_thrust_curve(-limit.value, limit.value), limit.origin, limit.assumed)
    place = np.array(numbers[0]) + turn @ _PROPELLER
    builder.assume(
        f'{where}: engine {name!r} does not turn; its propeller is where a WAM-V has it'
    )
    builder.add_thruster(Thruster(label, pose_along(place, turn[:, 0]), curve))


# Vehicles of MarineGym: water and rotors in a YAML file beside the USD.

_DENSITY = 997.0
_STANDARD_GRAVITY = 9.81
_FASTEST = 3900.0
"""rpm."""
_DEAD_ZONE = 0.075
"""Throttle."""
_AHEAD = ((3659.9, 345.21), (4.7368e-07, -1.9275e-04, 8.4452e-02))
_ASTERN = ((3494.4, -433.50), (-3.8442e-07, -1.6186e-04, -3.9139e-02))
"""Of a T200: slope and offset of rpm over throttle; thrust in kgf over rpm², rpm and 1."""
_FORCE_CONSTANT = 4.4e-7
"""Of a rotor as strong as a T200."""


def add_marinegym(builder: VehicleBuilder, files: list[SidecarFile]) -> None:
    """Take volume, hydrodynamics and rotors of the YAML file of the vehicle's own name."""
    stem = builder.file.rpartition('/')[2].rpartition('.')[0]
    own = [f for f in files if f.path.stem == stem and 'hydro_coef' in f.content]
    if len(own) != 1:
        return
    name = own[0].path.name
    reader = YamlReader(name, own[0].content, ModelError)
    builder.water_density = Sourced(_DENSITY, f'{name}: MarineGym reckons with it')
    volume = reader.child('volume').number(0.0, 1e6)
    height = reader.child('coBM', 0.0).number(-1e3, 1e3)
    edge = Sourced(volume ** (1 / 3), 'edge of a cube of the volume', True)
    center = Sourced(np.array([0.0, 0.0, height]), f'{name}: coBM')
    builder.volumes = [Volume(builder.base, Sourced(volume, f'{name}: volume'), center, edge)]
    coefficients = reader.child('hydro_coef')
    terms = [
        Sourced(np.diag(_row(coefficients, key)), f'{name}: {key}')
        for key in ('added_mass', 'linear_damping', 'quadratic_damping')
    ]
    builder.hydrodynamics = Hydrodynamics(builder.water_density, terms[0], terms[1], terms[2])
    if 'rotor_configuration' in own[0].content:
        _rotors(builder, reader.child('rotor_configuration'), name)


def _row(reader: YamlReader, key: str) -> np.ndarray:
    found = np.array([_number(entry, 0.0, 1e9) for entry in reader.child(key).items()])
    if len(found) != 6:
        raise reader.child(key).error(f' has {len(found)} numbers; expected 6')
    return found


def _number(reader: YamlReader, low: float, high: float) -> float:
    """Return a number; YAML takes one such as 4.4e-07 for a text in some spellings."""
    value: Any = reader.value
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise reader.error(f' is {value[:80]!r}; expected a number') from None
    return YamlReader(reader.where, value, ModelError).number(low, high)


def _rotors(builder: VehicleBuilder, reader: YamlReader, name: str) -> None:
    """Add a thruster along x of each link ``rotor_N``, as strong as its force constant."""
    constants = [_number(e, 0.0, 1.0) for e in reader.child('force_constants').items()]
    for index, constant in enumerate(constants):
        link = f'rotor_{index}'
        if link not in builder.links:
            builder.drop(f'{name}: force_constants: there is no link {link!r}')
            continue
        gain = constant / _FORCE_CONSTANT * _STANDARD_GRAVITY
        curve, mirrored = sampled_curve(partial(_scale_throttle, gain), -1.0, 1.0, speed=False)
        throttle = np.interp(curve[:, 0], [PWM_MIN, PWM_MAX], [-1.0, 1.0])
        curve[:, 3] = [abs(_thrust(float(u))[1]) for u in throttle]
        shaft = builder.parent_joints()[link].name if link in builder.parent_joints() else ''
        origin = f'{name}: force_constants, T200', False
        axis = np.eye(3)[0]
        add_propeller(builder, link, link, axis, (curve, mirrored), origin, index, shaft=shaft)


def _scale_throttle(gain: float, throttle: float) -> float:
    return gain * _thrust(throttle)[0]


def _thrust(throttle: float) -> tuple[float, float]:
    """Return the thrust of a T200 in kgf, and its speed in rpm, at a throttle from −1 to 1."""
    if abs(throttle) <= _DEAD_ZONE:
        return 0.0, 0.0
    (slope, offset), thrust = _AHEAD if throttle > 0 else _ASTERN
    speed = float(np.clip(slope * throttle + offset, -_FASTEST, _FASTEST))
    return float(np.polyval(thrust, speed)), speed
