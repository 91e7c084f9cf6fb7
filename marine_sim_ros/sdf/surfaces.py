# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Contact materials as the <surface> of a collision, for DART.

Gazebo knows surfaces, not pairs of materials. DART makes a pair of two surfaces: friction is the
lesser of both, restitution their product, slip compliance their sum. So e = √(1 − v) and the
surface viscosity of a material are exact, its roughness only where both have the same; where it is
known what the other one is, a surface can be chosen that makes the pair right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from marine_sim_ros.model.contact.material import Material
from marine_sim_ros.model.materials import Materials
from marine_sim_ros.model.xml import Element
from marine_sim_ros.sdf.elements import add

__all__ = ['Surface', 'add_surface', 'surface_of', 'surface_on']


@dataclass(frozen=True)
class Surface:
    """What DART reads of a surface.

    Attributes:
        friction: friction coefficient; of a pair, the lesser one counts.
        restitution: restitution coefficient; of a pair, the product counts.
        slip: m/(s N), of a pair, the sum counts, times the number of contact points.
    """

    friction: float
    restitution: float
    slip: float


def surface_of(material: Material) -> Surface:
    """Return a material's surface: μ = r, e = √(1 − v)."""
    return Surface(
        material.roughness, math.sqrt(1 - material.viscosity), material.surface_viscosity
    )


def surface_on(
    own: str | Material, ground: str, materials: Materials
) -> tuple[Surface, tuple[str, ...]]:
    """Return the surface with which a material is right on the ground, and what is not.

    Args:
        own: material of the vehicle.
        ground: name of the other, which has the surface of its own material.
        materials: both and their pair.
    """
    pair = materials.contact(own, ground)
    other = surface_of(materials.material(ground))
    name = own if isinstance(own, str) else own.name
    label = f'{name or "default"} on {ground}'
    told = []
    if pair.friction > other.friction:
        told.append(
            f'friction of {label} is {pair.friction:g}; Gazebo takes the lesser of two, '
            f'{other.friction:g} of the ground'
        )
    if pair.restitution > other.restitution:
        told.append(
            f'restitution of {label} is {pair.restitution:g}; Gazebo takes the product of two, '
            f'at most {other.restitution:g} of the ground'
        )
    if pair.secondary_friction >= 0:
        told.append(f'secondary friction of {label} is not written; all directions are the same')
    if pair.adhesion_force > 0:
        told.append(f'adhesion of {label} is not written; SDF has none')
    bounce = min(1.0, pair.restitution / other.restitution) if other.restitution > 0 else 0.0
    slip = max(0.0, pair.surface_viscosity - other.slip)
    return Surface(pair.friction, bounce, slip), tuple(told)


def add_surface(collision: Element, surface: Surface) -> None:
    """Add a <surface>.

    The threshold is for engines that have one: its default stops all bounces.
    """
    element = add(collision, 'surface')
    friction = add(add(element, 'friction'), 'ode')
    add(friction, 'mu', surface.friction)
    add(friction, 'mu2', surface.friction)
    add(friction, 'slip1', surface.slip)
    add(friction, 'slip2', surface.slip)
    bounce = add(element, 'bounce')
    add(bounce, 'restitution_coefficient', round(surface.restitution, 12))
    add(bounce, 'threshold', 0)
