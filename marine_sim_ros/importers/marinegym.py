# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Vehicles of MarineGym: water and rotors in a YAML file beside the USD.

Source: Marine-RL/MarineGym, marinegym/robots/drone/underwaterVehicle.py and actuators/t200.py.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.yaml_file import YamlReader
from marine_sim_ros.importers.curves import along, sampled_curve
from marine_sim_ros.importers.description import Hydrodynamics, Sourced, Thruster, Volume
from marine_sim_ros.importers.draft import Draft
from marine_sim_ros.importers.side_files import SideFile

__all__ = ['read_marinegym']

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


def read_marinegym(draft: Draft, files: list[SideFile]) -> None:
    """Take volume, hydrodynamics and rotors of the YAML file of the vehicle's own name."""
    stem = draft.file.rpartition('/')[2].rpartition('.')[0]
    own = [f for f in files if f.path.stem == stem and 'hydro_coef' in f.content]
    if len(own) != 1:
        return
    name = own[0].path.name
    reader = YamlReader(name, own[0].content, ModelError)
    draft.water_density = Sourced(_DENSITY, f'{name}: MarineGym reckons with it')
    volume = reader.child('volume').number(0.0, 1e6)
    height = reader.child('coBM', 0.0).number(-1e3, 1e3)
    edge = Sourced(volume ** (1 / 3), 'edge of a cube of the volume', True)
    center = Sourced(np.array([0.0, 0.0, height]), f'{name}: coBM')
    draft.volumes = [Volume(draft.base, Sourced(volume, f'{name}: volume'), center, edge)]
    coefficients = reader.child('hydro_coef')
    terms = [
        Sourced(np.diag(_row(coefficients, key)), f'{name}: {key}')
        for key in ('added_mass', 'linear_damping', 'quadratic_damping')
    ]
    draft.hydrodynamics = Hydrodynamics(draft.water_density, terms[0], terms[1], terms[2])
    if 'rotor_configuration' in own[0].content:
        _rotors(draft, reader.child('rotor_configuration'), name)


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


def _rotors(draft: Draft, reader: YamlReader, name: str) -> None:
    """Add a thruster along x of each link ``rotor_N``, as strong as its force constant."""
    constants = [_number(e, 0.0, 1.0) for e in reader.child('force_constants').items()]
    for index, constant in enumerate(constants):
        link = f'rotor_{index}'
        if link not in draft.links:
            draft.drop(f'{name}: force_constants: there is no link {link!r}')
            continue
        gain = constant / _FORCE_CONSTANT * _STANDARD_GRAVITY
        curve, mirrored = sampled_curve(partial(_scaled, gain), -1.0, 1.0, speed=False)
        throttle = np.interp(curve[:, 0], [1100.0, 1900.0], [-1.0, 1.0])
        curve[:, 3] = [abs(_thrust(float(u))[1]) for u in throttle]
        pose = draft.pose_of(link)
        axis = draft.rotation_of(link)[:, 0]
        shaft = draft.parent_joints()[link].name if link in draft.parent_joints() else ''
        draft.add_thruster(
            Thruster(
                link,
                along(pose.translation, -axis if mirrored else axis),
                Sourced(curve, f'{name}: force_constants, T200'),
                link=link,
                shaft=shaft,
            ),
            index,
        )


def _scaled(gain: float, throttle: float) -> float:
    return gain * _thrust(throttle)[0]


def _thrust(throttle: float) -> tuple[float, float]:
    """Return the thrust of a T200 in kgf, and its speed in rpm, at a throttle from −1 to 1."""
    if abs(throttle) <= _DEAD_ZONE:
        return 0.0, 0.0
    (slope, offset), thrust = _AHEAD if throttle > 0 else _ASTERN
    speed = float(np.clip(slope * throttle + offset, -_FASTEST, _FASTEST))
    return float(np.polyval(thrust, speed)), speed
