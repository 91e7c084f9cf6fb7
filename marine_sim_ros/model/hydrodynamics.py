# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Readers of damping, added mass, displaced volumes and materials of a vehicle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import expected_one_of
from marine_sim_ros.core.registry import ACTUATORS, CONTROLLERS, FORCES
from marine_sim_ros.core.schema import (
    REQUIRED,
    ElementSchema,
    declaration,
    nested,
    number,
    schema_of,
    special,
    text,
)
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.model.added_mass import Buoyancy
from marine_sim_ros.model.hull_parameters import HULL_SCHEMA
from marine_sim_ros.model.kinematics import MAX_PART_DISTANCE, base_name
from marine_sim_ros.model.servos import read_systems
from marine_sim_ros.model.vehicle import Damping, DragElements, Frame, Lift
from marine_sim_ros.model.xml import Reader

__all__ = [
    'BuoyancyElement',
    'HYDRODYNAMICS',
    'MaterialElement',
    'PANELS',
    'added_mass_method',
    'linear_flaw',
    'quadratic_flaw',
    'read_hydrodynamics',
    'read_other_elements',
    'read_volumes',
]


# Reader of the damping in <hydrodynamics>; refuses coefficients that can add energy.

_ROUNDING = 1e-9
_NOTHING = 1e-60
"""Lower bound of square roots of coefficients; smaller ones count as 0, against overflow."""


def _read_matrix(reader: Reader, flaw: Callable[[np.ndarray], str]) -> np.ndarray:
    matrix = reader.matrix6()
    if text := flaw(matrix):
        raise reader.error(text)
    return matrix


def linear_flaw(matrix: np.ndarray) -> str:
    """Return the reason why D_l (6, 6) can add energy, or an empty text.

    νᵀ D_l ν ≥ 0 where its symmetric part has no negative eigenvalue.
    """
    if not np.isfinite(matrix).all():  # for which eigvalsh may raise
        return 'is not finite; expected finite numbers'
    # Scaled by the diagonal, so that units do not matter.
    size = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    scale = np.where(size > _NOTHING, size, 1.0)
    with np.errstate(over='ignore'):
        symmetric = (matrix / 2 + matrix.T / 2) / np.outer(scale, scale)
    # Its diagonal is at most 1, so that any larger number beside it adds energy.
    if np.min(np.linalg.eigvalsh(np.clip(symmetric, -10.0, 10.0))) >= -_ROUNDING:
        return ''
    return (
        'adds energy to some motion: its symmetric part has a negative eigenvalue; expected '
        'D with νᵀ D ν ≥ 0, such as |D_ij + D_ji| at most 2 √(D_ii D_jj) for a single pair'
    )


def quadratic_flaw(matrix: np.ndarray) -> str:
    """Return the reason why D_q (6, 6) of F_i = −Σ_j D_ij |ν_j| ν_j can add energy, or ''.

    Its diagonal has to brake more than the rest adds. With x_i = D_ii^(1/3) |ν_i|, the power is at
    least Σ x_i³ − Σ |d_ij| x_i x_j², and x_i x_j² ≤ x_i³/3 + 2 x_j³/3 (Young's inequality).
    """
    root = np.cbrt(np.diag(matrix))
    off_diagonal = np.abs(matrix - np.diag(np.diag(matrix)))
    coupled = (off_diagonal > 0).any(axis=0) | (off_diagonal > 0).any(axis=1)
    if np.any(coupled & (root <= _NOTHING)):
        return (
            'couples an axis that has no coefficient of its own, which can add energy; expected a '
            'number on the diagonal of each axis with numbers beside it'
        )
    safe = np.where(root > _NOTHING, root, 1.0)
    ratio = off_diagonal / np.outer(safe, safe**2)
    bound = ratio.sum(axis=1) / 3 + 2 * ratio.sum(axis=0) / 3
    if not np.any(bound > 1 + _ROUNDING):
        return ''
    return (
        'can add energy to some motion: beside the diagonal it is too large; expected, with '
        'd_ij = |D_ij|/(D_ii D_jj²)^⅓, Σ_j d_ij/3 + 2 Σ_j d_ji/3 ≤ 1 for every axis i'
    )


def _read_modulus(reader: Reader) -> np.ndarray:
    """Return K of F_i = −(Σ_j K_ij |ν_j|) ν_i."""
    matrix = reader.matrix6()
    if np.any(matrix < 0):
        raise reader.error(
            'has a negative number, with which some motion adds energy to another; expected 0 or '
            'more everywhere'
        )
    return matrix


@declaration(frozen=True, kw_only=True)
class DragElementElement:
    """<drag_element>: drag along an axis at a point."""

    reader: Reader
    xyz: np.ndarray = number(np.zeros(3), -np.inf, np.inf, 'm', 'where it acts', place='attribute')
    axis: str = text('direction', REQUIRED, place='attribute')
    linear: float = number(0.0, 0.0, 1e9, 'N·s/m', 'of |v|', place='attribute')
    quadratic: float = number(0.0, 0.0, 1e9, 'N·s²/m²', 'of |v| v', place='attribute')
    mixed: float = number(
        0.0, 0.0, 1e9, 'N·s²/m²', 'of the speed of the whole point', place='attribute'
    )


@declaration(frozen=True, kw_only=True)
class LiftElement:
    """<lift>: nine numbers of B, by row; F = (B v) x v."""

    reader: Reader
    xyz: np.ndarray = number(np.zeros(3), -np.inf, np.inf, 'm', 'where it acts', place='attribute')
    matrix: np.ndarray = number(
        np.zeros(9), -np.inf, np.inf, 'N·s²/m²', 'B, by row', place='content'
    )


@declaration(frozen=True, kw_only=True)
class LumpedElement:
    """Content of <hydrodynamics> for the whole vehicle (Fossen's terms)."""

    added_mass_method: str = text(
        'what computes the added mass', name='added_mass', place='attribute'
    )
    added_mass: str = special(
        lambda r: (r.element.text or '').strip(), '', 'M_A, 6 or 36 numbers', unit='kg, kg·m²'
    )
    linear_damping: np.ndarray = special(
        lambda r: _read_matrix(r, linear_flaw), np.zeros((6, 6)), 'D_l', unit='N·s/m, N·m·s/rad'
    )
    quadratic_damping: np.ndarray = special(
        lambda r: _read_matrix(r, quadratic_flaw), np.zeros((6, 6)), 'D_q', unit='N·s²/m², …'
    )
    modulus_damping: np.ndarray | None = special(_read_modulus, None, 'K', unit='N·s²/m², …')
    damping_center: np.ndarray = special(Reader.vector, np.zeros(3), 'where it acts', unit='m')
    drag_element: tuple[DragElementElement, ...] = nested(DragElementElement, many=True)
    lift: tuple[LiftElement, ...] = nested(LiftElement, many=True)


HYDRODYNAMICS = ElementSchema(
    schema_of(LumpedElement).attributes,
    {**HULL_SCHEMA.children, **schema_of(LumpedElement).children},
)
"""What may stand in the <hydrodynamics> of a <robot>."""


def read_damping(root: Reader) -> Damping:
    """Return the damping of a <hydrodynamics>.

    Raises:
        ModelError: numbers that cannot be used, or with which some motion would gain energy.
    """
    element = LumpedElement(**root.values(LumpedElement))
    return Damping(
        element.linear_damping,
        element.quadratic_damping,
        element.damping_center,
        element.modulus_damping,
        _drag_elements(element.drag_element),
        _lift(element.lift),
    )


def _drag_elements(parts: Sequence[DragElementElement]) -> DragElements | None:
    if not parts:
        return None
    direction = [part.reader.direction(part.axis) for part in parts]
    for part in parts:
        if np.max(np.abs(part.xyz)) > MAX_PART_DISTANCE:
            raise part.reader.error(
                f"attribute 'xyz' is beyond {MAX_PART_DISTANCE:g} m; expected a place on it"
            )
    return DragElements(
        np.array([part.xyz for part in parts]),
        np.array(direction),
        np.array([part.linear for part in parts]),
        np.array([part.quadratic for part in parts]),
        np.array([part.mixed for part in parts]),
    )


def _lift(parts: Sequence[LiftElement]) -> Lift | None:
    """Return the lift; F · v = (B v) x v · v = 0 for every B, so none adds energy."""
    if not parts:
        return None
    for part in parts:
        if np.max(np.abs(part.matrix)) > 1e9 or np.max(np.abs(part.xyz)) > MAX_PART_DISTANCE:
            raise part.reader.error(
                'has a number that no vehicle has; expected N·s²/m², and a place'
            )
    values = [part.matrix.reshape(3, 3) for part in parts]
    return Lift(np.array(values), np.array([part.xyz for part in parts]))


# Reads the robot-level extensions: <hydrodynamics>, <buoyancy>.


def read_other_elements(root: Reader) -> dict[str, Any]:
    """Read the elements of forces, actuators and controllers, by element.

    Raises:
        ModelError: an element that cannot be used, or that is given twice.
    """
    result = {}
    tags = [element.tag for element in root.element]
    for force in FORCES.of_extensions(tags):
        if force.read is not None and (child := root.child(force.element)) is not None:
            result[force.element] = force.read(child)
    for entry in ACTUATORS.of_extensions(tags):
        if entry.element and (child := root.child(entry.element)) is not None:
            result[entry.element] = entry.read_element(child)
    for tag in dict.fromkeys(tags):
        if (entry := CONTROLLERS.with_element(tag)) is not None:
            result[tag] = entry.read_element(root.child(tag))
    if systems := read_systems(root):
        result['ros2_control'] = systems
    return result


ESTIMATE, PANELS = ADDED_MASS_METHODS = ('estimate', 'panels')
"""What computes the added mass from the collisions: an ellipsoid, or source panels."""
MAX_ASYMMETRY = 0.1
"""Upper bound of |M − Mᵀ| of an added mass, as a fraction of its largest number."""


def added_mass_method(root: Reader | None) -> str:
    """Return the method of the added mass, given as attribute or element; '': numbers."""
    if root is None:
        return ''
    element = root.child('added_mass')
    inside = '' if element is None else (element.element.text or '').strip()
    attribute = root.attribute('added_mass', '')
    if attribute not in ('', *ADDED_MASS_METHODS):
        raise root.error(
            f'added_mass is {attribute!r}; expected {ESTIMATE!r}, {PANELS!r}, or an <added_mass>'
        )
    if attribute and element is not None:
        raise root.error('has both an attribute and an element added_mass; expected one')
    return attribute or (inside if inside in ADDED_MASS_METHODS else '')


def read_hydrodynamics(root: Reader | None, warnings: list[str]) -> tuple[Damping, np.ndarray]:
    """Return damping and added mass (6, 6); without the element all zeros.

    A published added mass may differ from its transpose by rounding or by how it was computed; of
    one that is nearly symmetric the symmetric part (M + Mᵀ)/2 is taken, with a warning.
    """
    zero = np.zeros((6, 6))
    if root is None:
        return Damping(zero, zero, np.zeros(3)), zero
    root.children(HYDRODYNAMICS.children)
    damping = read_damping(root)
    if added_mass_method(root):
        return damping, zero
    added = root.value_of('added_mass', Reader.matrix6, zero)
    if np.allclose(added, added.T):
        return damping, added
    uneven = float(np.max(np.abs(added - added.T)) / np.max(np.abs(added)))
    if uneven > MAX_ASYMMETRY:
        raise root.error('<added_mass> is not symmetric; expected M_A = M_Aᵀ')
    warnings.append(
        root.warning(
            f'<added_mass> is not symmetric, by {uneven:.2g} of its largest number; '
            '(M + Mᵀ)/2 is taken'
        )
    )
    return damping, (added + added.T) / 2


@declaration(frozen=True, kw_only=True)
class BuoyancyElement:
    """<buoyancy> of a link."""

    reader: Reader
    link: str | None = text("link; by default the body's", None, place='attribute')
    volume: float = number(0.0, 0.0, 1e6, 'm³', 'displaced volume')
    center_of_volume: np.ndarray = special(
        Reader.vector, np.zeros(3), 'its centre, frame of the link', unit='m'
    )
    height: float = number(
        0.25, 1e-6, 1e3, 'm', 'height over which buoyancy is lost at the surface'
    )


def read_volumes(
    root: Reader, frames: dict[str, Frame], water_density: float
) -> dict[str, Buoyancy]:
    """Return the displaced volumes that <buoyancy link=""> elements give, by link, body frame.

    The link is the body's where none is named; the height over which buoyancy is lost at the
    surface is that of the whole vehicle, so it stands in the first.

    Raises:
        ModelError: a link that is unknown, or named twice.
    """
    result: dict[str, Buoyancy] = {}
    for child in root.element.findall('buoyancy'):
        reader = Reader(child, root.source)
        element = reader.read(BuoyancyElement)
        link = base_name(frames) if element.link is None else element.link
        if link not in frames:
            raise reader.error(
                f'link {link!r} is unknown; {expected_one_of(link, sorted(frames))}'
            )
        if link in result:
            raise reader.error(f'given twice for {link!r}; expected once')
        frame = frames[link]
        center = rotation_matrix(frame.quaternion) @ element.center_of_volume
        result[link] = Buoyancy(
            element.volume, frame.translation + center, element.height, water_density
        )
    return result


# Materials of <buoyancy_material>, whose density is relative to water.

_LIGHTEST = 1e-4
"""Relative density; a tenth of that of air."""
_HEAVIEST = 25.0
"""Relative density; osmium, the densest element, has 22.6."""


def _read_density(reader: Reader) -> float:
    value = reader.number(text=reader.attribute('value'))
    if not _LIGHTEST <= value <= _HEAVIEST:
        hint = f'; {value:g} kg/m³ is {value / 1000:g}' if value > _HEAVIEST else ''
        raise reader.error(
            f'is {value:g}; expected the density relative to water, '
            f'{_LIGHTEST:g} to {_HEAVIEST:g}{hint}'
        )
    return value


@declaration(frozen=True, kw_only=True)
class DensityElement:
    """<density>."""

    value: str = text('density relative to water', REQUIRED, place='attribute')


@declaration(frozen=True, kw_only=True)
class MaterialElement:
    """<buoyancy_material> below <robot>; in a <collision> it has no children."""

    reader: Reader
    name: str = text('name that collisions give', REQUIRED, place='attribute')
    density: float | None = nested(DensityElement, 'density relative to water', read=_read_density)
