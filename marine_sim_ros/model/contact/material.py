# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a material is, and what two of them are to each other where they touch.

Names, defaults and rules are those of the physical materials of Choreonoid's AGX Dynamics plugin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ['FRICTION_MODELS', 'SOLVERS', 'ContactMaterial', 'Material', 'derived', 'pair_modulus']

FRICTION_MODELS = ('default', 'cone', 'box', 'scaledBox', 'orientedBox')
SOLVERS = ('default', 'split', 'direct', 'iterative', 'iterativeAndDirect', 'directAndIterative')
"""The documentation names the fifth, the plugin's source the sixth."""


@dataclass(frozen=True)
class Material:
    """One material.

    Attributes:
        name: empty for the default material.
        density: kg/m³, for the mass of a link that says so.
        youngs_modulus: Pa.
        poisson_ratio: 1.
        viscosity: surface viscosity: 0 bounces fully, 1 not at all. Its documentation says 0.0,
            its source 1.0; 1.0 here, for two defaults are documented not to bounce.
        spook_damping: time in which a penetration relaxes, s.
        roughness: 1.
        surface_viscosity: m/(s N), see :class:`ContactMaterial`.
        adhesion_force: N.
        adhesive_overlap: m.
    """

    name: str = ''
    density: float = 1000.0
    youngs_modulus: float = 4e8
    poisson_ratio: float = 0.3
    viscosity: float = 1.0
    spook_damping: float = 0.075
    roughness: float = 0.5
    surface_viscosity: float = 5e-9
    adhesion_force: float = 0.0
    adhesive_overlap: float = 0.0


@dataclass(frozen=True)
class ContactMaterial:
    """A pair of materials where they touch.

    Attributes:
        youngs_modulus: combined Young's modulus of both materials, Pa.
        restitution: speed after over speed before an impact, 0 to 1.
        spook_damping: τ of the penetration's decay δ̇ = −δ/τ, s.
        friction: Coulomb's coefficient, static and kinetic.
        secondary_friction: across the primary direction (orientedBox); below 0: as ``friction``.
        surface_viscosity: creep under a tangential force, m/(s N).
        secondary_surface_viscosity: across the primary direction; below 0: as the other.
        adhesion_force: pulls each touching shape to the surface, N.
        adhesive_overlap: penetration beyond which it does, m.
        friction_model: one of :data:`FRICTION_MODELS`.
        solver: one of :data:`SOLVERS`.
        contact_reduction_mode: default, reduceGeometry, reduceALL or reduceNone.
        contact_reduction_bin_resolution: 0 to 255.
        primary_direction: primary direction of orientedBox, in the reference frame.
        reference_body_name: the vehicle's name, or anything else for map.
        reference_link_name: one of its links.
        elastic_modulus: Hertz's E*, Pa; None: that of ``youngs_modulus`` with ν = 0.3.
    """

    youngs_modulus: float = 2e8
    restitution: float = 0.0
    spook_damping: float = 0.075
    friction: float = 0.5
    secondary_friction: float = -1.0
    surface_viscosity: float = 1e-8
    secondary_surface_viscosity: float = -1.0
    adhesion_force: float = 0.0
    adhesive_overlap: float = 0.0
    friction_model: str = 'default'
    solver: str = 'default'
    contact_reduction_mode: str = 'default'
    contact_reduction_bin_resolution: int = 0
    primary_direction: tuple[float, float, float] = (0.0, 0.0, 0.0)
    reference_body_name: str = ''
    reference_link_name: str = ''
    elastic_modulus: float | None = None

    @property
    def effective_modulus(self) -> float:
        """Hertz's E* in Pa."""
        if self.elastic_modulus is not None:
            return self.elastic_modulus
        return self.youngs_modulus / (1 - Material.poisson_ratio**2)


def pair_modulus(a: Material, b: Material) -> float:
    """Return Hertz's E* in Pa: 1/E* = (1 − ν₁²)/E₁ + (1 − ν₂²)/E₂ (Johnson 1985, eq. 4.5)."""
    softness = sum((1 - m.poisson_ratio**2) / m.youngs_modulus for m in (a, b))
    return 1 / softness


def derived(a: Material, b: Material) -> ContactMaterial:
    """Return the contact of two materials for which none is defined.

    E = E₁E₂/(E₁ + E₂), e = √((1 − v₁)(1 − v₂)), τ = max(τ₁, τ₂), μ = √(r₁ r₂); surface viscosity
    and adhesion are sums. Source: Choreonoid's documentation of AGX materials; it has no rule for
    the adhesive overlap, for which the larger one counts here.
    """
    return ContactMaterial(
        youngs_modulus=a.youngs_modulus * b.youngs_modulus / (a.youngs_modulus + b.youngs_modulus),
        restitution=math.sqrt((1 - a.viscosity) * (1 - b.viscosity)),
        spook_damping=max(a.spook_damping, b.spook_damping),
        friction=math.sqrt(a.roughness * b.roughness),
        surface_viscosity=a.surface_viscosity + b.surface_viscosity,
        adhesion_force=a.adhesion_force + b.adhesion_force,
        adhesive_overlap=max(a.adhesive_overlap, b.adhesive_overlap),
        elastic_modulus=pair_modulus(a, b),
    )
