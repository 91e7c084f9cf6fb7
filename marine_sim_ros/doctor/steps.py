# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Steps that a simulation can take.

Explicit drag that is a sample old is stable for λ T < 1, λ = (c₁ + 2 c₂ |v|)/M; a spring of
stiffness k in a symplectic step for T √(k/M) < 2, and one that is a sample old gains energy
unless k T < c₁.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from marine_sim_ros.control.allocation import AXES
from marine_sim_ros.core.state import rest
from marine_sim_ros.doctor.context import DescriptionContext
from marine_sim_ros.doctor.diagnostic import Diagnostic
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.sim.simulation import DEFAULT_STEP

__all__ = ['drag_step', 'drag_step_limit', 'drag_rates', 'surface_step', 'surface_stiffness']

SPEED = np.array([1.5, 1.5, 1.5, 3.0, 3.0, 3.0])
"""m/s and rad/s, as fast as such vehicles move."""


def drag_rates(vehicle: Vehicle) -> np.ndarray:
    """Return λ (6,) 1/s of the lumped drag at 1.5 m/s and 3 rad/s, axis by axis.

    M is the mass, and the inertia about the centre of mass, with the added mass.
    """
    linear, squared = vehicle.damping.by_axis
    own = np.concatenate([np.full(3, vehicle.inertia.mass), np.diag(vehicle.inertia.tensor)])
    mass = own + np.diag(vehicle.added_mass)
    return np.asarray((linear + 2 * squared * SPEED) / mass)


def drag_step_limit(vehicle: Vehicle) -> float:
    """Return the longest stable step (s) for drag that is explicit and one sample old."""
    most = float(np.max(drag_rates(vehicle)))
    return 1 / most if most > 0 else np.inf


def drag_step(context: DescriptionContext) -> Iterator[Diagnostic]:
    """λ T < 1 at the default step; this package's own integrator treats the drag as implicit."""
    rates = drag_rates(context.vehicle)
    limit = drag_step_limit(context.vehicle)
    axis = AXES[int(np.argmax(rates))]
    element = context.root.find('hydrodynamics')
    if limit < DEFAULT_STEP / 20:
        yield context.warning(
            element,
            f'its drag in {axis} is so large that a step of {limit * 1e3:.2g} ms would '
            'be needed to see it act',
            f'check the damping and the inertia in {axis}',
        )
    elif limit < DEFAULT_STEP:
        yield context.hint(
            element,
            f'explicit drag that is one sample old is stable below {limit * 1e3:.3g} ms '
            f'only ({axis} at 3 rad/s or 1.5 m/s); the default step is {DEFAULT_STEP * 1e3:g} ms',
            'keep implicit_drag on and lockstep on, as they are by default',
        )


def surface_stiffness(vehicle: Vehicle) -> float:
    """Return the largest k = −dF_z/dz (N/m) of the buoyancy near the surface."""
    heights = np.linspace(-0.6, 0.6, 25) * vehicle.buoyancy.height
    water = Environment()
    force = np.array(
        [float(np.asarray(buoyancy(vehicle, rest((0.0, 0.0, z)), water))[2]) for z in heights]
    )
    return float(np.max(-np.diff(force) / np.diff(heights)))


def surface_step(context: DescriptionContext) -> Iterator[Diagnostic]:
    """T √(k/M) < 2 for the heave at the surface, with a margin of two."""
    vehicle = context.vehicle
    stiffness = surface_stiffness(vehicle)
    mass = float(vehicle.mass_matrix[2, 2])
    if DEFAULT_STEP * np.sqrt(max(stiffness, 0.0) / mass) < 1:
        return
    yield context.warning(
        context.root.find('buoyancy'),
        f'at the surface it is as stiff as {stiffness:.3g} N/m: '
        f'steps above {2e3 * np.sqrt(mass / stiffness):.2g} ms are unstable, the default is '
        f'{DEFAULT_STEP * 1e3:g} ms',
        'check <height> of <buoyancy>, or take a shorter step',
    )
