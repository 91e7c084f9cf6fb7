# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Radiation force: memory effect of the waves that a floating body radiates (Cummins 1962).

F = −∫ K(t − s) ν_r(s) ds on an axis, with K(t) the sum of damped oscillators whose transfer
function is c s/(s² + 2 α s + ω₀²): q̇ = y, ẏ = c ν_r − 2 α y − ω₀² q, F = −Σ y. Its real part, the
damping B(ω), is positive for all accepted numbers, and the energy (y² + ω₀² q²)/2c of the undriven
oscillators decreases, so that the force is passive. The added mass of the vehicle must be that of
infinite frequency.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.hull import Radiation, RadiationElement, read_radiation
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.force import ForceInputs, ForceModel, relative_velocity

__all__ = ['RADIATION', 'radiation_step']


def radiation_step(
    radiation: Radiation, memory: Array, velocity: Array, dt: Any
) -> tuple[Wrench, Array]:
    """Return the wrench (..., 6) and the memory (..., 2, n) of q and y after a step.

    y takes the damping at its new value, q the new y: with the vehicle's step this is the
    symplectic Euler method, stable up to dt = 2/Ω, Ω² = ω₀² + Σ c M⁻¹; its energy oscillates by
    (dt Ω)² around a decreasing value.

    Args:
        radiation: oscillators.
        memory: (..., 2, n).
        velocity: (..., 6) relative to the water.
        dt: s.
    """
    xp = namespace(velocity)
    select = constant(xp, radiation.selection)
    square = constant(xp, radiation.frequency**2)
    driven = constant(xp, radiation.coefficient) * matvec(select, velocity)
    q, y = memory[..., 0, :], memory[..., 1, :]
    y = (y + dt * (driven - square * q)) / (1.0 + 2.0 * dt * constant(xp, radiation.decay))
    q = q + dt * y
    return -matvec(constant(xp, radiation.selection.T), y), xp.stack([q, y], axis=-2)


def _begin(vehicle: Vehicle, state: State) -> Array:
    """Return oscillators at rest (..., 2, n)."""
    xp = namespace(state.velocity)
    count = len(vehicle.extensions['radiation'].axes)
    zeros = state.velocity[..., :1] * 0.0 + constant(xp, np.zeros(count))
    return xp.stack([zeros, zeros], axis=-2)


def _has_radiation(vehicle: Vehicle, environment: Environment) -> bool:
    del environment
    return 'radiation' in vehicle.extensions


def _step(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    inputs: ForceInputs,
    memory: Array,
    /,
    *,
    dt: Any,
) -> tuple[Wrench, Array]:
    """Return the wrench (..., 6), and the memory."""
    del inputs
    velocity = relative_velocity(state, environment)
    return radiation_step(vehicle.extensions['radiation'], memory, velocity, dt)


RADIATION = ForceModel(
    'radiation',
    _step,
    begin=_begin,
    applies=_has_radiation,
    label='Radiated waves',
    colour='#4477aa',
    element='radiation',
    read=read_radiation,
    parts=RadiationElement,
)
