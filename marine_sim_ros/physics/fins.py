# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fins: servos that turn control surfaces, and the lift and drag of each in its own flow.

The memory is the deflections (..., m) in rad. Sources: Fossen (2021), chapter 9 (rudders and fins
as lift and drag surfaces), Whicker & Fehlner (1958) (slope and induced drag), Hoerner (1965) (a
plate across the stream); the wash is that of an actuator disc far behind it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, matvec, namespace
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.servos import FinSet, Servos
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.actuator import Actuator
from marine_sim_ros.physics.force import ForceInputs, ForceModel, relative_velocity

__all__ = ['FINS', 'FIN_ACTUATOR', 'fin_wrench', 'lift_drag_coefficients', 'servo_step']


# Servos: a first-order lag within limits and a rate; they turn fins and thrusters.


def servo_step(servos: Servos, angle: Array, target: Array, dt: Any) -> Array:
    """Return the angles (..., m) in rad, dt seconds later.

    A first-order lag within its rate: δ' = δ + clip((1 − e^(−dt/T)) (δ_c − δ), ±r dt), δ_c the
    commanded angle within the limits.

    Args:
        servos: the servos.
        angle: (..., m) angles before, rad.
        target: (..., m) commanded angles, rad.
        dt: s.
    """
    xp = namespace(angle)
    within = xp.minimum(xp.maximum(target, constant(xp, servos.lower)), constant(xp, servos.upper))
    share = 1 - xp.exp(-dt / xp.maximum(constant(xp, servos.time_constant), 1e-12))
    most = constant(xp, servos.max_rate) * dt
    return angle + xp.minimum(xp.maximum(share * (within - angle), -most), most)


# Fins: servos that turn control surfaces, and the lift and drag of each in its own flow.


def lift_drag_coefficients(fins: FinSet, attack: Array) -> tuple[Array, Array]:
    """Return C_L and C_D (..., m) at angles of attack α (..., m) in rad, |α| ≤ π/2.

    Up to the stall angle α_s: C_L = a α, C_D = C_D0 + d |α| + k C_L². Beyond it both go on in
    straight lines: C_L = sgn α (a α_s + b_L (|α| − α_s)), C_D = C_D(α_s) + b_D (|α| − α_s), and
    |C_L| and C_D do not fall below 0. By default the lines end, at 90°, at C_L = 0 and C_D = 1.2.
    """
    xp = namespace(attack)
    size = xp.abs(attack)
    stall, slope = constant(xp, fins.stall_angle), constant(xp, fins.lift_slope)
    below = xp.minimum(size, stall)
    beyond = size - below
    none = xp.zeros_like(size)
    first = slope * below
    lift = xp.maximum(first + constant(xp, fins.stall_lift_slope) * beyond, none)
    drag = (
        constant(xp, fins.zero_lift_drag)
        + constant(xp, fins.drag_slope) * below
        + constant(xp, fins.induced_drag) * first * first
        + constant(xp, fins.stall_drag_slope) * beyond
    )
    return xp.sign(attack) * lift, xp.maximum(drag, none)


def _wash_speeds(fins: FinSet, speed: Array, thrust: Array, density: Any) -> Array:
    """Return speeds (..., m) along the chords in the propellers' wash: √(u² + 2 T/(ρ A_d)).

    T is what pushes ahead; a fin that moves astern is in front of its propeller, and feels none.
    """
    xp = namespace(speed)
    pushed = matvec(constant(xp, fins.wash), xp.maximum(thrust, xp.zeros_like(thrust)))
    added = 2 * pushed / (density * constant(xp, fins.disc_area))
    meets = (added > 0) & (speed >= 0)
    square = xp.where(meets, speed * speed + added, xp.ones_like(speed))
    return xp.where(meets, xp.sqrt(square), speed)


def fin_wrench(
    vehicle: Vehicle, state: State, environment: Environment, angle: Array, thrust: Array
) -> Wrench:
    """Return the wrench (..., 6) of all fins at deflections (..., m) in rad.

    With the velocity (u, w) of a fin in the water along and across its undeflected chord, without
    its part along the hinge: α = δ − atan2(w, u), taken to ±90° for a flow from behind; lift
    ½ ρ A C_L V² perpendicular to the velocity, drag ½ ρ A C_D V² against it. So a fin gives no
    energy at any deflection, but for the wash.

    Args:
        vehicle: a vehicle with fins.
        state: its motion.
        environment: the water.
        angle: (..., m) deflections, rad.
        thrust: (..., n) of the thrusters, N, for the wash.
    """
    fins = vehicle.fins
    assert fins is not None
    xp = namespace(state.velocity)
    density = environment.density_for(vehicle.buoyancy.fluid_density)
    velocity = relative_velocity(state, environment)
    along = matvec(constant(xp, fins.along), velocity)
    across = matvec(constant(xp, fins.across), velocity)
    if fins.any_wash:
        along = _wash_speeds(fins, along, thrust, density)
    square = along * along + across * across
    # Neither atan2 nor √ has a slope at 0; the detour keeps the derivative of nothing at nothing.
    moves = square > 0
    flow = xp.atan2(across, xp.where(moves, along, xp.ones_like(along)))
    attack = angle - flow
    attack = attack - math.pi * xp.round(attack / math.pi)
    lift, drag = lift_drag_coefficients(fins, attack)
    speed = xp.sqrt(xp.where(moves, square, xp.ones_like(square)))
    scale = 0.5 * density * constant(xp, fins.area) * speed
    ahead = -scale * (lift * across + drag * along)
    aside = scale * (lift * along - drag * across)
    return matvec(constant(xp, fins.along).T, ahead) + matvec(constant(xp, fins.across).T, aside)


def _begin(vehicle: Vehicle, state: State) -> Array:
    """Return deflections (..., m) of 0."""
    assert vehicle.fins is not None
    xp = namespace(state.velocity)
    return xp.zeros_like(state.velocity[..., :1] + constant(xp, np.zeros(len(vehicle.fins))))


def _has_fins(vehicle: Vehicle, environment: Environment) -> bool:
    del environment
    return vehicle.fins is not None


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
    """Return the wrench (..., 6), and the deflections (..., m)."""
    assert vehicle.fins is not None
    target = inputs.commands.get('fins', memory * 0)
    angle = servo_step(vehicle.fins, memory, target, dt)
    return fin_wrench(vehicle, state, environment, angle, inputs.thrust), angle


FINS = ForceModel(
    'fins',
    _step,
    begin=_begin,
    applies=_has_fins,
    needs=('thrust',),
    label='Fins',
    colour='#2a9d8f',
    executable='fins',
    scalar=True,
)


def _fin_names(vehicle: Vehicle) -> tuple[str, ...]:
    return () if vehicle.fins is None else vehicle.fins.names


FIN_ACTUATOR = Actuator(
    'fins',
    _fin_names,
    text='deflections of fins, rad',
    unit='rad',
    limit=math.pi,
    part='fin',
    steered=True,
    state=lambda memory: memory.forces.get('fins'),
    state_topic='fins/state',
    command_topic='fins/command',
)
