# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads the hull parameters of <hydrodynamics>: robot-level defaults, overrides per collision.

``PARAMETERS`` is the whole table: names, defaults, units and ranges as the hydrodynamics guide
has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from marine_sim_ros.core.choices import expected_one_of
from marine_sim_ros.model.hull.hull import FORCE_TERMS
from marine_sim_ros.model.xml import Reader

__all__ = ['GROUPS', 'PARAMETERS', 'TAGS', 'HullSettings', 'Parameter', 'read_hull_settings']


@dataclass(frozen=True)
class Parameter:
    """One number of the hull model.

    Attributes:
        group: element around it, or ''.
        name: name of its element.
        default: the guide's.
        unit: unit of the number.
        low: smallest usual value.
        high: largest usual value.
        minimum: smallest possible value.
        maximum: largest possible value.
        text: description of the parameter.
    """

    group: str
    name: str
    default: float
    unit: str
    low: float
    high: float
    minimum: float
    maximum: float
    text: str

    @property
    def key(self) -> str:
        """Unique name, ``group/name``."""
        return f'{self.group}/{self.name}' if self.group else self.name


_TINY = 1e-6
_P = 'pressure_drag'
_S = 'suction_drag'
PARAMETERS: Mapping[str, Parameter] = MappingProxyType(
    {
        p.key: p
        for p in (
            Parameter(
                '', 'water_density', 1027, 'kg/m³', 900, 1200, 1, 2e4, 'of the water at trim'
            ),
            Parameter('', 'air_density', 1.225, 'kg/m³', 0.5, 2, 0, 100, 'of the air'),
            Parameter(
                '', 'velocity_reference', 1, 'm/s', 0.01, 50, _TINY, 1e4, 'v_ref of s = |v|/v_ref'
            ),
            Parameter(_P, 'C_PD1', 10, 'Pa', 0, 100, 0, 1e9, 'linear pressure'),
            Parameter(_P, 'C_PD2', 10, 'Pa', 0, 100, 0, 1e9, 'quadratic pressure'),
            Parameter(_P, 'f_P', 0.5, '', 0.1, 1, _TINY, 100, 'exponent of the angle'),
            Parameter(_S, 'C_SD1', 10, 'Pa', 0, 100, 0, 1e9, 'linear suction'),
            Parameter(_S, 'C_SD2', 10, 'Pa', 0, 100, 0, 1e9, 'quadratic suction'),
            Parameter(_S, 'f_S', 0.5, '', 0.1, 1, _TINY, 100, 'exponent of the angle'),
            Parameter('slamming', 'power', 2, '', 2, 10, _TINY, 100, 'exponent of the rise'),
            Parameter('slamming', 'max_acceleration', 10, 'm/s²', 1, 100, _TINY, 1e6, 'full slam'),
            Parameter('slamming', 'multiplier', 1, '', 0, 5, 0, 1e6, 'scale of the force'),
            Parameter(
                'air_resistance', 'coefficient', 0.1, '', 0, 2, 0, 1e3, 'drag coefficient in air'
            ),
        )
    }
)
"""By key. Outside [minimum, maximum] is an error, outside [low, high] a warning."""

GROUPS = tuple(dict.fromkeys(p.group for p in PARAMETERS.values() if p.group))
_PRESSURES = {key for key, p in PARAMETERS.items() if p.unit == 'Pa'}
_USUAL_CD = 3.0
_LIKELY_CD = 2.5
"""A pressure that is more likely meant as a drag coefficient."""
_MODES = ('mass_density', 'geometry')
_OURS = (
    'coefficient_unit',
    'buoyancy_mode',
    'voxel_size',
    'panel_size',
    'max_triangles',
    'forces',
)
_TRIANGLES = 4000
"""Of a mesh: more of them slow a run down without a better drag."""
TAGS = {*(p.name for p in PARAMETERS.values() if not p.group), *GROUPS, *_OURS}
"""Elements that may stand in a collision's <hydrodynamics>."""


@dataclass(frozen=True)
class HullSettings:
    """The hull parameters in force for a collision.

    Attributes:
        values: values by key of PARAMETERS, in the units given there or, for
            ``drag_coefficients``, 1.
        coefficient_unit: pa or cd, of the pressures that are given.
        drag_coefficients: keys of values that are drag coefficients instead of pressures.
        buoyancy_mode: mass_density, geometry, or '' for the default.
        voxel_size: m, or None for the default.
        panel_size: longest edge of a panel, m, or None for the default.
        max_triangles: triangles of a mesh; one of more is simplified.
        forces: the kinds of forces that are switched on.
        given: whether anything of the hull model was given at all.
    """

    values: Mapping[str, float] = field(
        default_factory=lambda: {key: float(p.default) for key, p in PARAMETERS.items()}
    )
    coefficient_unit: str = 'pa'
    drag_coefficients: frozenset[str] = frozenset()
    buoyancy_mode: str = ''
    voxel_size: float | None = None
    panel_size: float | None = None
    max_triangles: int = _TRIANGLES
    forces: tuple[str, ...] = FORCE_TERMS
    given: bool = False

    def coefficient(self, key: str) -> float:
        """Return a parameter; a pressure given as a drag coefficient as C = ½ ρ v_ref² C_d, Pa.

        Source: the guide's own estimate C_d ≈ 2F/(ρ v² A), solved for the pressure.
        """
        value = self.values[key]
        if key not in self.drag_coefficients:
            return value
        speed = self.values['velocity_reference']
        return 0.5 * self.values['water_density'] * speed**2 * value


def _check(reader: Reader, parameter: Parameter, unit: str, warnings: list[str]) -> float:
    """Return a number within what is possible; tell of one beyond what is usual."""
    value = reader.number()
    if not parameter.minimum <= value <= parameter.maximum:
        least = f'{parameter.minimum:g} or more'
        if value <= 0 < parameter.minimum:
            least = 'more than 0'
        raise reader.error(
            f'is {value:g}; expected {least} and at most {parameter.maximum:g} {parameter.unit}'
        )
    high = _USUAL_CD if unit == 'cd' else parameter.high
    if not parameter.low <= value <= high:
        usual = f'{parameter.low:g} to {high:g} {"" if unit == "cd" else parameter.unit}'.rstrip()
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


def _choice(reader: Reader, choices: tuple[str, ...]) -> str:
    text = (reader.element.text or '').strip()
    if text not in choices:
        raise reader.error(f'is {text[:40]!r}; {expected_one_of(text, choices)}')
    return text


def _forces(reader: Reader) -> tuple[str, ...]:
    words = (reader.element.text or '').split()
    for word in words:
        if word not in FORCE_TERMS:
            raise reader.error(f'is {word[:40]!r}; expected any of: {", ".join(FORCE_TERMS)}')
    return tuple(term for term in FORCE_TERMS if term in words)


def read_hull_settings(
    root: Reader | None, defaults: HullSettings, warnings: list[str]
) -> HullSettings:
    """Return the defaults with what an element overrides; unusual values go into the warnings.

    Raises:
        ModelError: a value that is impossible, or an element that is unknown or given twice.
    """
    if root is None:
        return defaults
    values, as_cd = dict(defaults.values), set(defaults.drag_coefficients)
    unit = root.value_of(
        'coefficient_unit', lambda r: _choice(r, ('pa', 'cd')), defaults.coefficient_unit
    )
    given = any(root.child(tag) is not None for tag in TAGS - {'water_density'})
    for key, parameter in PARAMETERS.items():
        group = root.child(parameter.group) if parameter.group else root
        if group is None:
            continue
        if parameter.group:
            group.children({p.name for p in PARAMETERS.values() if p.group == parameter.group})
        reader = group.child(parameter.name)
        if reader is None:
            continue
        pressure = key in _PRESSURES
        values[key] = _check(reader, parameter, unit if pressure else '', warnings)
        if pressure:
            as_cd = as_cd | {key} if unit == 'cd' else as_cd - {key}

    def size(reader: Reader) -> float:
        return reader.number(1e-4, 1e3)

    return replace(
        defaults,
        values=values,
        coefficient_unit=unit,
        drag_coefficients=frozenset(as_cd),
        buoyancy_mode=root.value_of(
            'buoyancy_mode', lambda r: _choice(r, _MODES), defaults.buoyancy_mode
        ),
        voxel_size=root.value_of('voxel_size', size, defaults.voxel_size),
        panel_size=root.value_of('panel_size', size, defaults.panel_size),
        max_triangles=root.value_of(
            'max_triangles', lambda r: int(r.number(100, 200_000)), defaults.max_triangles
        ),
        forces=root.value_of('forces', _forces, defaults.forces),
        given=defaults.given or given,
    )
