# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Reads the robot-level extensions: <hydrodynamics>, <buoyancy>."""

from __future__ import annotations

from typing import Any

import numpy as np

from marine_sim_ros.core.choices import expected_one_of
from marine_sim_ros.core.registry import CONTROLLERS, FORCES, SENSORS
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.model.damping import read_damping
from marine_sim_ros.model.hull.settings import TAGS
from marine_sim_ros.model.inertia import Buoyancy
from marine_sim_ros.model.kinematics import base_name
from marine_sim_ros.model.vehicle import Damping, Frame
from marine_sim_ros.model.xml import Reader

__all__ = [
    'EXTENSIONS',
    'ESTIMATE',
    'LUMPED_TAGS',
    'PANELS',
    'added_mass_method',
    'read_hydrodynamics',
    'read_others',
    'read_volumes',
    'robot_elements',
]

EXTENSIONS = {
    'hydrodynamics',
    'buoyancy',
    'buoyancy_material',
    'thrusters',
    'fins',
    'mass_from_parts',
    'contact_material',
    'manipulator',
    'sensor',
}
"""Elements of ours below <robot>; URDF readers that do not know them ignore them."""


def robot_elements() -> set[str]:
    """Return the elements below <robot> that are read: ours, and those of sensors and forces."""
    return EXTENSIONS | {
        entry.element
        for entry in (*SENSORS.values(), *FORCES.values(), *CONTROLLERS.values())
        if entry.element
    }


def read_others(root: Reader) -> dict[str, Any]:
    """Return what the elements of forces and controllers say, by element.

    Raises:
        ModelError: an element that cannot be used, or that is given twice.
    """
    result = {}
    for force in FORCES.values():
        if force.read is not None and (child := root.child(force.element)) is not None:
            result[force.element] = force.read(child)
    for controller in CONTROLLERS.values():
        if controller.element and (child := root.child(controller.element)) is not None:
            result[controller.element] = controller.read_element(child)
    return result


LUMPED_TAGS = {
    'added_mass',
    'linear_damping',
    'quadratic_damping',
    'modulus_damping',
    'damping_center',
    'drag_element',
    'lift',
}
"""What <hydrodynamics> says of the vehicle as a whole (Fossen's terms)."""

ESTIMATE, PANELS = METHODS = ('estimate', 'panels')
"""What computes the added mass from the collisions: an ellipsoid, or source panels."""
UNEVEN = 0.1
"""Largest |M − Mᵀ| of an added mass that is symmetrised, as a share of its largest number."""


def added_mass_method(root: Reader | None) -> str:
    """Return what computes the added mass, of METHODS, as attribute or element; '': numbers."""
    if root is None:
        return ''
    element = root.child('added_mass')
    inside = '' if element is None else (element.element.text or '').strip()
    attribute = root.attribute('added_mass', '')
    if attribute not in ('', *METHODS):
        raise root.error(
            f'added_mass is {attribute!r}; expected {ESTIMATE!r}, {PANELS!r}, or an <added_mass>'
        )
    if attribute and element is not None:
        raise root.error('has both an attribute and an element added_mass; expected one')
    return attribute or (inside if inside in METHODS else '')


def read_hydrodynamics(root: Reader | None, warnings: list[str]) -> tuple[Damping, np.ndarray]:
    """Return damping and added mass (6, 6); without the element all zeros.

    A published added mass may differ from its transpose by rounding or by how it was computed; of
    one that is nearly symmetric the symmetric part (M + Mᵀ)/2 is taken, with a warning.
    """
    zero = np.zeros((6, 6))
    if root is None:
        return Damping(zero, zero, np.zeros(3)), zero
    root.children(TAGS | LUMPED_TAGS)
    damping = read_damping(root)
    if added_mass_method(root):
        return damping, zero
    added = root.value_of('added_mass', Reader.matrix6, zero)
    if np.allclose(added, added.T):
        return damping, added
    uneven = float(np.max(np.abs(added - added.T)) / np.max(np.abs(added)))
    if uneven > UNEVEN:
        raise root.error('<added_mass> is not symmetric; expected M_A = M_Aᵀ')
    warnings.append(
        root.warning(
            f'<added_mass> is not symmetric, by {uneven:.2g} of its largest number; '
            '(M + Mᵀ)/2 is taken'
        )
    )
    return damping, (added + added.T) / 2


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
    for element in root.element.findall('buoyancy'):
        reader = Reader(element, root.source)
        reader.children({'volume', 'center_of_volume', 'height'})
        link = reader.attribute('link', base_name(frames))
        if link not in frames:
            raise reader.error(
                f'link {link!r} is unknown; {expected_one_of(link, sorted(frames))}'
            )
        if link in result:
            raise reader.error(f'given twice for {link!r}; expected once')
        frame = frames[link]
        center = reader.value_of('center_of_volume', Reader.vector, np.zeros(3))
        result[link] = Buoyancy(
            reader.value_of('volume', lambda r: r.number(0.0, 1e6), 0.0),
            frame.translation + rotation_matrix(frame.quaternion) @ center,
            reader.value_of('height', lambda r: r.number(1e-6, 1e3), 0.25),
            water_density,
        )
    return result
