# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Material files: contact parameters of materials and pairs, as Choreonoid's materials.yaml."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.files import expand_home, read_text_file, resource_folder
from marine_sim_ros.core.yaml_file import YamlReader, parse_yaml
from marine_sim_ros.model.contact import (
    FRICTION_MODELS,
    SOLVERS,
    ContactMaterial,
    Material,
    derive_contact,
    pair_modulus,
)

__all__ = [
    'MATERIAL_RANGES',
    'Materials',
    'load_materials',
    'parse_materials',
    'shipped_materials',
    'without_effect',
]

MATERIAL_RANGES: Mapping[str, tuple[float, float]] = {
    'density': (1e-3, 1e5),
    'youngs_modulus': (1.0, 1e13),
    'poisson_ratio': (-0.99, 0.5),
    'viscosity': (0.0, 1.0),
    'spook_damping': (0.0, 1e3),
    'roughness': (0.0, 1e3),
    'surface_viscosity': (0.0, 1e6),
    'adhesion_force': (0.0, 1e9),
    'adhesive_overlap': (0.0, 1e3),
}
"""Smallest and largest value of each parameter of a material."""

_PAIR_RANGES = {
    **{
        k: MATERIAL_RANGES[k]
        for k in (
            'youngs_modulus',
            'spook_damping',
            'surface_viscosity',
            'adhesion_force',
            'adhesive_overlap',
        )
    },
    'restitution': (0.0, 1.0),
    'friction': (0.0, 1e3),
    'secondary_friction': (-1e3, 1e3),
    'secondary_surface_viscosity': (-1e6, 1e6),
}
_REDUCTIONS = ('default', 'reduceGeometry', 'reduceALL', 'reduceNone')
_OTHER_KEYS = (
    'friction_model',
    'contact_reduction_mode',
    'contact_reduction_bin_resolution',
    'primary_direction',
    'reference_body_name',
    'reference_link_name',
)
_NUMBER = re.compile(r'[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d{1,3}')
_DEFAULT_NAMES = ('', 'Default', 'default')


def _spellings(name: str) -> tuple[str, ...]:
    """Return the spellings of a key: in snake_case, in camelCase, and as the source has it."""
    first, *following = name.split('_')
    both = (name, first + ''.join(part.capitalize() for part in following))
    return tuple(dict.fromkeys((*both, *(s.replace('adhesive', 'adhesiv') for s in both))))


def _identity(name: str) -> str:
    return '' if name in _DEFAULT_NAMES else name


@dataclass(frozen=True, eq=False)
class Materials:
    """Materials by name, and contact materials by pairs of names.

    Attributes:
        materials: materials by name; '' is the default material.
        pairs: pairs by two names in alphabetical order.
        keys: parameters that the file has, for :func:`without_effect`.
    """

    materials: Mapping[str, Material] = field(default_factory=lambda: {'': Material()})
    pairs: Mapping[tuple[str, str], ContactMaterial] = field(default_factory=dict)
    keys: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """All names but that of the default material."""
        return tuple(sorted(filter(None, self.materials)))

    def material(self, name: str) -> Material:
        """Return a material by name; the default one for an unknown name, see :meth:`warnings`."""
        return self.materials.get(_identity(name), self.materials[''])

    def warnings(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return a line for each unknown name."""
        unknown = sorted({n for n in names if _identity(n) not in self.materials})
        known_names = ', '.join(self.names) or 'only the default one'
        return tuple(
            f'material {n!r} is unknown; the default one is used; known are: {known_names}'
            for n in unknown
        )

    def contact(self, a: str | Material, b: str | Material) -> ContactMaterial:
        """Return the contact of two materials: the pair as defined, or else derived from both.

        A material instead of a name is one given in place; for such there is no pair.
        """
        first = self.material(a) if isinstance(a, str) else a
        second = self.material(b) if isinstance(b, str) else b
        if isinstance(a, str) and isinstance(b, str):
            low, high = sorted((first.name, second.name))
            if (low, high) in self.pairs:
                pair = self.pairs[low, high]
                # What the bulk moduli are to E₁E₂/(E₁ + E₂), E* is to the pair's modulus.
                ratio = pair_modulus(first, second) / derive_contact(first, second).youngs_modulus
                return replace(pair, elastic_modulus=ratio * pair.youngs_modulus)
        return derive_contact(first, second)


def load_materials(path: str | Path) -> Materials:
    """Return the materials of a YAML file.

    Raises:
        ParameterError: one line with what, where, and what was expected.
    """
    text = read_text_file(expand_home(path), ParameterError)
    return parse_materials(text, str(path))


@lru_cache(maxsize=1)
def shipped_materials() -> Materials:
    """Return the materials of ``config/materials.yaml``."""
    return load_materials(resource_folder('config') / 'materials.yaml')


def parse_materials(text: str, name: str) -> Materials:
    """Return the materials of a YAML text: ``materials`` and ``contactMaterials``.

    Keys may be in snake_case or camelCase. The last definition of a name or a pair counts; more
    than two names are all pairs of them; '', Default and default are the same name. A name that
    only a pair has is a material like the default one.

    Raises:
        ParameterError: one line with what, where, and what was expected.
    """
    content = parse_yaml(text, name, ParameterError)
    root = YamlReader(name, {} if content is None else content, ParameterError)
    root.mapping({'materials', *_spellings('contact_materials')})
    materials = {'': Material()}
    keys: set[str] = set()
    for item in root.child('materials', []).items():
        material = _material(item, keys)
        materials[material.name] = material
    pairs: dict[tuple[str, str], ContactMaterial] = {}
    for item in _child(root, 'contact_materials', []).items():
        names, pair = _pair(item, keys)
        for a, b in names:
            for side in (a, b):
                if side not in materials:
                    materials[side] = replace(materials[''], name=side)
            pairs[a, b] = pair
    return Materials(materials, pairs, frozenset(keys))


def _child(reader: YamlReader, name: str, default: Any = None) -> YamlReader:
    """Return the value below a key in whichever spelling.

    Raises:
        ParameterError: it is there in two spellings.
    """
    spellings = [s for s in _spellings(name) if s in reader.value]
    if len(spellings) > 1:
        raise reader.error(
            f': {spellings[0]!r} and {spellings[1]!r} are the same; expected one of them'
        )
    return reader.child(spellings[0] if spellings else name, default)


def _read(
    reader: YamlReader, ranges: Mapping[str, tuple[float, float]], keys: set[str]
) -> dict[str, Any]:
    """Return the numbers of a mapping by name."""
    result = {}
    for name, (low, high) in ranges.items():
        value = _child(reader, name)
        if value.value is not None:
            keys.add(name)
            result[name] = _numeric(value).number(low, high)
    return result


def _numeric(reader: YamlReader) -> YamlReader:
    """Return a value with 1.0e5 as a number: YAML 1.1 takes it for a text, for want of a sign."""
    value = reader.value
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        return reader
    return YamlReader(reader.where, float(value), ParameterError)


def _name(reader: YamlReader) -> str:
    value = '' if reader.value is None else reader.value
    if not isinstance(value, str) or len(value) > 64 or not value.isprintable():
        raise reader.error(f' is {value!r}; expected a name')
    return _identity(value)


def _material(reader: YamlReader, keys: set[str]) -> Material:
    names = {s for name in MATERIAL_RANGES for s in _spellings(name)}
    reader.mapping({'name', *names}, {'name'})
    return Material(name=_name(reader.child('name')), **_read(reader, MATERIAL_RANGES, keys))


def _pair(reader: YamlReader, keys: set[str]) -> tuple[list[tuple[str, str]], ContactMaterial]:
    allowed = {s for name in (*_PAIR_RANGES, *_OTHER_KEYS) for s in _spellings(name)}
    reader.mapping({'materials', *allowed}, {'materials'})
    names = [_name(item) for item in reader.child('materials').items()]
    if not 2 <= len(names) <= 1000:
        raise reader.error(f'.materials has {len(names)} name(s); expected two or more')
    if len(names) == 2:
        low, high = sorted(names)
        both = [(low, high)]
    else:
        if len(set(names)) < 2:
            raise reader.error(f'.materials has {names[0]!r} only; expected two or more names')
        both = [(a, b) for a, b in combinations_with_replacement(sorted(set(names)), 2) if a != b]
    values = _read(reader, _PAIR_RANGES, keys)
    readers: dict[str, Callable[[YamlReader], dict[str, Any]]] = {
        'friction_model': _friction_model,
        'contact_reduction_mode': lambda r: {'contact_reduction_mode': r.choice(_REDUCTIONS)},
        'contact_reduction_bin_resolution': lambda r: {
            'contact_reduction_bin_resolution': r.integer(0, 255)
        },
        'primary_direction': lambda r: {'primary_direction': tuple(map(float, r.vector()))},
        'reference_body_name': lambda r: {'reference_body_name': _name(r)},
        'reference_link_name': lambda r: {'reference_link_name': _name(r)},
    }
    for key, read in readers.items():
        value = _child(reader, key)
        if value.value is not None:
            keys.add(key)
            values |= read(value)
    return both, ContactMaterial(**values)


def _friction_model(reader: YamlReader) -> dict[str, Any]:
    """Return model and solver of ``[model, solver]``, or of a model alone."""
    if isinstance(reader.value, str):
        return {'friction_model': reader.choice(FRICTION_MODELS)}
    items = reader.items()
    if len(items) != 2:
        raise reader.error(f' is {reader.value!r}; expected [model, solver]')
    return {'friction_model': items[0].choice(FRICTION_MODELS), 'solver': items[1].choice(SOLVERS)}


_REDUCED = 'contact points are fixed on the vehicle, so there is nothing to reduce'
_UNREAD = "Gazebo's physics plugins do not read it"
_NO_EFFECT: Mapping[str, Mapping[str, str]] = {
    'embedded': {
        'friction_model': 'the solver in it: all contacts of a vehicle are solved together',
        'contact_reduction_mode': _REDUCED,
        'contact_reduction_bin_resolution': _REDUCED,
    },
    'gazebo': {
        'youngs_modulus': _UNREAD,
        'poisson_ratio': _UNREAD,
        'spook_damping': _UNREAD,
        'adhesion_force': 'SDF has no such element',
        'adhesive_overlap': 'SDF has no such element',
        'friction_model': 'the physics engine has its own',
        'contact_reduction_mode': _UNREAD,
        'contact_reduction_bin_resolution': _UNREAD,
        'reference_body_name': 'SDF knows the link of the collision only',
    },
}


def without_effect(materials: Materials, backend: str = 'embedded') -> dict[str, str]:
    """Return the parameters of a file without effect in a backend, with the reason.

    Args:
        materials: materials of a file.
        backend: embedded, or gazebo (gz-sim 8 with DART).

    Raises:
        ParameterError: a backend that does not exist.
    """
    if backend not in _NO_EFFECT:
        raise ParameterError(f'backend is {backend!r}; expected one of: {", ".join(_NO_EFFECT)}')
    return {k: v for k, v in _NO_EFFECT[backend].items() if k in materials.keys}
