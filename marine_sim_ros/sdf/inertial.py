# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mass, inertia and added mass of a body."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np

from marine_sim_ros.model.inertia import Inertia
from marine_sim_ros.model.xml import Element
from marine_sim_ros.sdf.elements import add, add_pose
from marine_sim_ros.sdf.poses import IDENTITY

__all__ = ['add_inertial']

_LEAST_MASS = 1e-3
"""kg, of bodies that weigh nothing: Gazebo refuses a link without mass."""
_LEAST_RADIUS = 0.1
"""m, of gyration, of such bodies."""


def _refused(tensor: np.ndarray) -> bool:
    """Return whether principal moments are those of no body: one exceeds the others' sum."""
    low, middle, high = np.linalg.eigvalsh(tensor)
    return bool(low <= 0 or low + middle < high * (1 - 1e-9))


def _possible(name: str, inertia: Inertia, warnings: list[str]) -> Inertia:
    if inertia.mass <= 0:
        warnings.append(
            f'link {name!r} weighs nothing, which Gazebo refuses; {_LEAST_MASS:g} kg are written'
        )
        tensor = _LEAST_MASS * _LEAST_RADIUS**2 * np.eye(3)
        return replace(inertia, mass=_LEAST_MASS, tensor=tensor)
    if _refused(inertia.tensor):
        moments = ', '.join(f'{m:g}' for m in np.linalg.eigvalsh(inertia.tensor))
        warnings.append(
            f'link {name!r} has principal moments of inertia {moments} kg·m²; Gazebo refuses '
            'them: expected positive ones, none larger than the other two together'
        )
    return inertia


def add_inertial(
    link: Element, name: str, inertia: Inertia, added_mass: np.ndarray | None, warnings: list[str]
) -> None:
    """Add an <inertial>.

    The inertia tensor is about the centre of mass, in axes parallel to the link's. The added mass
    is about the link's origin in the link's axes, in the order x y z p q r (SDF 1.10,
    <fluid_added_mass>): the M_A of the equation of motion about ``base_link`` as it is. As it
    is symmetric, 21 of its numbers are written.

    Args:
        link: SDF link to which the element is added.
        name: name of the link.
        inertia: inertia in the link's frame.
        added_mass: (6, 6), kg, kg·m, kg·m², or None.
        warnings: list to which warnings are appended.
    """
    inertia = _possible(name, inertia, warnings)
    element = add(link, 'inertial')
    add_pose(element, replace(IDENTITY, translation=inertia.center_of_mass))
    add(element, 'mass', inertia.mass)
    moments = add(element, 'inertia')
    for (i, a), (j, b) in combinations_with_replacement(enumerate('xyz'), 2):
        add(moments, f'i{a}{b}', (inertia.tensor[i, j] + inertia.tensor[j, i]) / 2)
    if added_mass is None or not np.any(added_mass):
        return
    fluid = add(element, 'fluid_added_mass')
    for (i, a), (j, b) in combinations_with_replacement(enumerate('xyzpqr'), 2):
        add(fluid, a + b, added_mass[i, j])
