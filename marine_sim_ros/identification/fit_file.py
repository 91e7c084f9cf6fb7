# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of a motion fit with their priors, from config/identification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from marine_sim_ros.core.number_paths import replace_number
from marine_sim_ros.core.yaml_file import ConfigFiles, YamlReader
from marine_sim_ros.model.vehicle import Vehicle

__all__ = [
    'DELAY',
    'FITS',
    'FitParameter',
    'OF_RECORDINGS',
    'ORIGIN',
    'required_text',
    'with_values',
]

DELAY = 'delay'
"""Path of what belongs to the recordings: seconds by which their commands come late."""
ORIGIN = ('origin[0]', 'origin[1]', 'origin[2]')
"""Paths of what belongs to the recordings, too: where the tracked point is in the body, m."""
OF_RECORDINGS = (DELAY, *ORIGIN)
"""Paths that are of no vehicle."""
_KEYS = {'name', 'path', 'unit', 'prior', 'deviation', 'limits'}


@dataclass(frozen=True)
class FitParameter:
    """One number to be fitted, with a normal prior.

    Attributes:
        name: display name.
        paths: attributes of the vehicle that have this value, such as ``added_mass[0,0]`` or
            ``thrusters.thrust_deduction[0:4]``; or ``delay``, ``origin[0]``.
        unit: SI.
        prior: most likely value beforehand.
        deviation: its standard deviation.
        low: least value.
        high: largest.
    """

    name: str
    paths: tuple[str, ...]
    unit: str
    prior: float
    deviation: float
    low: float
    high: float


def _parameters(root: YamlReader) -> tuple[FitParameter, ...]:
    """Return the parameters of a file."""
    root.mapping({'parameters'}, {'parameters'})
    found = tuple(_parameter(item) for item in root.child('parameters').items())
    names = [p.name for p in found]
    for each in names:
        if names.count(each) > 1:
            raise root.error(f': two parameters are named {each!r}; expected one')
    return found


def required_text(reader: YamlReader) -> str:
    """Return a value that must be a text."""
    if not isinstance(reader.value, str) or not reader.value.strip():
        raise reader.error(f' is {reader.value!r}; expected a text')
    return reader.value


def _parameter(item: YamlReader) -> FitParameter:
    given = item.mapping(_KEYS, {'name', 'path', 'prior', 'deviation'})
    path = item.child('path')
    paths = (
        (path.value,)
        if isinstance(path.value, str)
        else tuple(required_text(each) for each in path.items())
    )
    low, high = -np.inf, np.inf
    if 'limits' in given:
        limits = [each.number() for each in item.child('limits').items()]
        if len(limits) != 2 or limits[0] >= limits[1]:
            raise item.child('limits').error(f' is {limits}; expected [lowest, highest]')
        low, high = limits
    prior = item.child('prior').number()
    if not low <= prior <= high:
        raise item.child('prior').error(f' is {prior:g}; expected a number within its limits')
    return FitParameter(
        required_text(item.child('name')),
        paths,
        str(item.child('unit', '').value),
        prior,
        item.child('deviation').number(1e-12),
        low,
        high,
    )


FITS = ConfigFiles('identification', _parameters)
"""Files of parameters with their priors: config/identification."""


def _chosen(value: Any, old: Any) -> Any:
    del old
    return value


def with_values(
    vehicle: Vehicle, parameters: Sequence[FitParameter], theta: Any, xp: Any = np
) -> Vehicle:
    """Return a vehicle with values (k,) in the places of k parameters.

    Args:
        parameters: k of them; those of recordings are passed over.
        theta: (k,) values; traced ones where ``xp`` is ``jax.numpy``.
        xp: ``numpy`` or ``jax.numpy``.
    """
    for i, parameter in enumerate(parameters):
        for path in parameter.paths:
            if path not in OF_RECORDINGS:
                vehicle = replace_number(vehicle, path, partial(_chosen, theta[i]), xp=xp)
    return vehicle
