# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Hull-drag parameters of a collision: defaults, ranges, and reading from ``<hydrodynamics>``.

Coefficients are in ``HULL_PARAMETERS``, switches and sizes of the model in ``HullSettings``.
Pressures may be given as drag coefficients: C = ½ ρ v_ref² C_d.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from types import MappingProxyType

import numpy as np

from marine_sim_ros.core.schema import (
    ElementSchema,
    Number,
    choice,
    declaration,
    fields_of,
    number,
    schema_of,
    special,
)
from marine_sim_ros.model.hull import FORCE_TERMS
from marine_sim_ros.model.xml import Reader

__all__ = ['HULL_PARAMETERS', 'HULL_SCHEMA', 'HullSettings', 'read_hull_settings']


@declaration(frozen=True)
class HullParameter(Number):
    """Coefficient of the hull model: default, bounds and usual range.

    Attributes:
        group: element around it, or ''.
        usual: smallest and largest usual value.
    """

    group: str = ''
    usual: tuple[float, float] = (-np.inf, np.inf)

    @property
    def key(self) -> str:
        """Unique name, ``group/name``."""
        return f'{self.group}/{self.name}' if self.group else self.name


def _parameter(
    group: str,
    name: str,
    default: float,
    unit: str,
    possible: tuple[float, float],
    usual: tuple[float, float],
    about: str,
) -> HullParameter:
    return HullParameter(name, default, about, *possible, unit=unit, group=group, usual=usual)


_TINY = 1e-6
_P, _S, _SLAM = 'pressure_drag', 'suction_drag', 'slamming'
_PARAMETERS = (
    _parameter('', 'water_density', 1027, 'kg/m³', (1, 2e4), (900, 1200), 'of the water at trim'),
    _parameter('', 'air_density', 1.225, 'kg/m³', (0, 100), (0.5, 2), 'of the air'),
    _parameter(
        '', 'velocity_reference', 1, 'm/s', (_TINY, 1e4), (0.01, 50), 'v_ref of s = |v|/v_ref'
    ),
    _parameter(_P, 'C_PD1', 10, 'Pa', (0, 1e9), (0, 100), 'linear pressure'),
    _parameter(_P, 'C_PD2', 10, 'Pa', (0, 1e9), (0, 100), 'quadratic pressure'),
    _parameter(_P, 'f_P', 0.5, '', (_TINY, 100), (0.1, 1), 'exponent of the angle'),
    _parameter(_S, 'C_SD1', 10, 'Pa', (0, 1e9), (0, 100), 'linear suction'),
    _parameter(_S, 'C_SD2', 10, 'Pa', (0, 1e9), (0, 100), 'quadratic suction'),
    _parameter(_S, 'f_S', 0.5, '', (_TINY, 100), (0.1, 1), 'exponent of the angle'),
    _parameter(_SLAM, 'power', 2, '', (_TINY, 100), (2, 10), 'exponent of the rise'),
    _parameter(_SLAM, 'max_acceleration', 10, 'm/s²', (_TINY, 1e6), (1, 100), 'full slam'),
    _parameter(_SLAM, 'multiplier', 1, '', (0, 1e6), (0, 5), 'scale of the force'),
    _parameter(
        'air_resistance', 'coefficient', 0.1, '', (0, 1e3), (0, 2), 'drag coefficient in air'
    ),
)
HULL_PARAMETERS: Mapping[str, HullParameter] = MappingProxyType({p.key: p for p in _PARAMETERS})
"""Coefficients by key. A value out of its range is an error, an unusual one a warning."""

_GROUPS = tuple(dict.fromkeys(p.group for p in HULL_PARAMETERS.values() if p.group))
_PRESSURES = {key for key, p in HULL_PARAMETERS.items() if p.unit == 'Pa'}
_USUAL_CD = 3.0
_LIKELY_CD = 2.5
"""Pa; a quadratic pressure at or below this was probably meant as a drag coefficient."""
_TRIANGLES = 4000
"""Default bound of a mesh's triangles; more slow a run down without a better drag."""


def _read_forces(reader: Reader) -> tuple[str, ...]:
    names = (reader.element.text or '').split()
    for name in names:
        if name not in FORCE_TERMS:
            raise reader.error(f'is {name[:40]!r}; expected any of: {", ".join(FORCE_TERMS)}')
    return tuple(term for term in FORCE_TERMS if term in names)


@declaration(frozen=True)
class HullSettings:
    """The hull parameters in force for a collision.

    Attributes:
        values: values by key of HULL_PARAMETERS, in the units given there or, for
            ``drag_coefficients``, 1.
        drag_coefficients: keys of values that are drag coefficients instead of pressures.
        given: whether the description has any element of the hull model.
    """

    values: Mapping[str, float] = field(
        default_factory=lambda: {key: float(p.default) for key, p in HULL_PARAMETERS.items()}
    )
    drag_coefficients: frozenset[str] = frozenset()
    coefficient_unit: str = choice(('pa', 'cd'), 'whether pressures are in Pa or are C_d')
    buoyancy_mode: str = choice(
        ('mass_density', 'geometry'), 'what a collision displaces; by default by its material', ''
    )
    voxel_size: float | None = number(None, 1e-4, 1e3, 'm', 'edge of a voxel')
    panel_size: float | None = number(None, 1e-4, 1e3, 'm', 'longest edge of a panel')
    max_triangles: int = number(
        _TRIANGLES, 100, 200_000, '', 'more triangles are simplified', whole=True
    )
    forces: tuple[str, ...] = special(_read_forces, FORCE_TERMS, 'forces that are switched on')
    is_described: bool = False

    def coefficient(self, key: str) -> float:
        """Return a parameter; converts a drag coefficient to a pressure, C = ½ ρ v_ref² C_d, Pa.

        Source: the guide's own estimate C_d ≈ 2F/(ρ v² A), solved for the pressure.
        """
        value = self.values[key]
        if key not in self.drag_coefficients:
            return value
        speed = self.values['velocity_reference']
        return 0.5 * self.values['water_density'] * speed**2 * value


def _read_number(
    reader: Reader, parameter: HullParameter, unit: str, warnings: list[str]
) -> float:
    """Read a number; an impossible value is an error, an unusual one a warning."""
    value = reader.number()
    if not parameter.low <= value <= parameter.high:
        lower = 'more than 0' if value <= 0 < parameter.low else f'{parameter.low:g} or more'
        raise reader.error(
            f'is {value:g}; expected {lower} and at most {parameter.high:g} {parameter.unit}'
        )
    low, high = parameter.usual[0], _USUAL_CD if unit == 'cd' else parameter.usual[1]
    if not low <= value <= high:
        usual = f'{low:g} to {high:g} {"" if unit == "cd" else parameter.unit}'.rstrip()
        label = ' as a drag coefficient' if unit == 'cd' else ''
        warnings.append(reader.warning(f'is {value:g}{label}; usual are {usual}'))
    if parameter.key.endswith(('C_PD2', 'C_SD2')) and unit == 'pa' and 0 < value <= _LIKELY_CD:
        warnings.append(
            reader.warning(
                f'is {value:g} Pa, almost nothing; a drag coefficient needs '
                '<coefficient_unit>cd</coefficient_unit>'
            )
        )
    return value


HULL_SCHEMA = ElementSchema(
    children={
        **{p.name: ElementSchema() for p in HULL_PARAMETERS.values() if not p.group},
        **{
            group: ElementSchema(
                children={
                    p.name: ElementSchema() for p in HULL_PARAMETERS.values() if p.group == group
                }
            )
            for group in _GROUPS
        },
        **schema_of(HullSettings).children,
    }
)
"""Schema of a collision's ``<hydrodynamics>``."""


def read_hull_settings(
    root: Reader | None, defaults: HullSettings, warnings: list[str]
) -> HullSettings:
    """Return the defaults with the overrides of an element; unusual values add warnings.

    Raises:
        ModelError: a value that is impossible, or an element that is unknown or given twice.
    """
    if root is None:
        return defaults
    values, as_cd = dict(defaults.values), set(defaults.drag_coefficients)
    numbers = root.values(
        HullSettings, **{n: getattr(defaults, n) for n in fields_of(HullSettings)}
    )
    unit = numbers['coefficient_unit']
    # Density of the water and voxels are of buoyancy: they do not ask for the drag of panels.
    tags = HULL_SCHEMA.children.keys() - {'water_density', 'voxel_size'}
    replaced = any(root.child(tag) is not None for tag in tags)
    for key, parameter in HULL_PARAMETERS.items():
        group = root.child(parameter.group) if parameter.group else root
        if group is None:
            continue
        if parameter.group:
            group.children(HULL_SCHEMA.children[parameter.group].children)
        reader = group.child(parameter.name)
        if reader is None:
            continue
        pressure = key in _PRESSURES
        values[key] = _read_number(reader, parameter, unit if pressure else '', warnings)
        if pressure:
            as_cd = as_cd | {key} if unit == 'cd' else as_cd - {key}

    return replace(
        defaults,
        values=values,
        drag_coefficients=frozenset(as_cd),
        is_described=defaults.is_described or replaced,
        **numbers,
    )
