# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Thrusters: PWM pulse widths in, thrust and wrench out.

Sources: Orca3 plugin documentation (linear map with dead zone), Blue Robotics' T200 bench data
(curves), Fossen (2011) section 9.6 (loss of thrust with the speed of advance), Minsaas,
Faltinsen & Persson (1983) (loss of thrust near the surface).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.arrays import Array, constant, is_numeric, matvec, namespace, skip_unless
from marine_sim_ros.core.spatial import cross, in_map
from marine_sim_ros.core.state import State, Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.propellers import PWM_MAX, PWM_MIN, PWM_NEUTRAL, PropellerSet
from marine_sim_ros.model.propulsion import power_factor, thrust_factor
from marine_sim_ros.model.servos import AzimuthSet
from marine_sim_ros.model.vehicle import FULL_IMMERSION, ThrusterSet, Vehicle
from marine_sim_ros.physics.actuator import Actuator, servo_step
from marine_sim_ros.physics.electric_motors import (
    electrical_power,
    motor_current,
    motor_step,
    winding_rise,
)
from marine_sim_ros.physics.force import ForceModel, actuator_step, relative_velocity

__all__ = [
    'AZIMUTHS',
    'THRUSTERS',
    'ThrusterOutput',
    'bollard_wrench',
    'linear_thrust',
    'rotor_target',
    'thrust_wrench',
    'thrusters',
    'turn_azimuths',
    'ventilation_factor',
    'zero_angles',
]


class ThrusterOutput(NamedTuple):
    """Output of the thrusters at a tick; arrays (..., n) in the URDF's thruster order.

    Attributes:
        wrench: (..., 6) on the body, see :data:`~marine_sim_ros.core.state.Wrench`.
        thrust: N along each thruster's axis.
        rotor_speed: rad/s, with the sign of the thrust; 0 without a curve.
        power: electrical, W; 0 without a curve.
        voltage: (...) of the supply, V, or None: that of the thrust curves.
        used: (...) charge drawn from a battery with voltage drop, A h, or None.
        angles: (..., k) of the azimuths, rad, or None.
        rise: (..., n) temperature of the motors' windings over the water, K, or None.
    """

    wrench: Wrench
    thrust: Array
    rotor_speed: Array
    power: Array
    voltage: Array | None = None
    used: Array | None = None
    angles: Array | None = None
    rise: Array | None = None


def linear_thrust(
    pwm: Array, *, dead_zone: float = 35, pos_force: float = 50.0, neg_force: float = 40.0
) -> Array:
    """Return the thrust of a linear ESC with a dead zone, in N; arrays of any shape.

    F = pos_force (pwm − 1500 − dz)/(400 − dz) above, neg_force (pwm − 1500 + dz)/(400 − dz)
    below, 0 inside the dead zone; pulse widths beyond 1100 to 1900 µs count as those ends.
    Source: Orca3 plugin documentation, OrcaThrusterPlugin (its code reverses the thrust inside
    the dead zone; its documentation does not).
    """
    if isinstance(pwm, int | float):
        return float(
            linear_thrust(
                np.asarray(float(pwm)),
                dead_zone=dead_zone,
                pos_force=pos_force,
                neg_force=neg_force,
            )
        )
    xp = namespace(pwm)
    offset = xp.clip(pwm * 1.0, PWM_MIN, PWM_MAX) - PWM_NEUTRAL
    excess = xp.sign(offset) * xp.maximum(xp.abs(offset) - dead_zone, xp.zeros_like(offset))
    return xp.where(excess > 0, pos_force * excess, neg_force * excess) / (400 - dead_zone)


def _first_order_lag(target: Array, memory: Array, time_constant: Array, dt: float) -> Array:
    """Return rotor speeds after dt of a first-order lag, by its exact solution."""
    xp = namespace(target)
    step = 1 - xp.exp(-dt / xp.maximum(time_constant, 1e-12))
    return memory + step * (target - memory)


def _azimuth_components(azimuths: AzimuthSet, angle: Array) -> tuple[Array, Array]:
    """Return cos θ − 1 and sin θ (..., n) of thrusters from angles (..., k) of the azimuths."""
    xp = namespace(angle)
    turns = constant(xp, azimuths.turns)
    return matvec(turns, xp.cos(angle) - 1), matvec(turns, xp.sin(angle))


def _speed_of_advance(
    thruster_set: ThrusterSet,
    state: State,
    environment: Environment,
    rotation: tuple[Array, Array] | None,
) -> Array:
    """Return the velocities (..., n) of thrusters in the water, along their axes."""
    xp = namespace(state.velocity)
    relative = relative_velocity(state, environment)
    advance = matvec(constant(xp, thruster_set.inflow), relative)
    if rotation is not None:
        for component, matrix in zip(rotation, thruster_set.turned_inflow, strict=True):
            advance = advance + component * matvec(constant(xp, matrix), relative)
    return advance


def _advance_factor(thruster_set: ThrusterSet, advance: Array, speed: Array) -> Array:
    """Return the ratio of thrust to bollard thrust at the speed of advance, 0 to 1."""
    xp = namespace(advance)
    # K_T(J) = K_T(0) (1 − J/J₀), J = V_a/(n D), n in rev/s (Fossen 2011, eq. 9.118).
    zero_thrust = constant(xp, thruster_set.zero_thrust_pitch) * xp.abs(speed)
    is_rotating = zero_thrust > 1e-9
    safe = xp.where(is_rotating, zero_thrust, xp.ones_like(zero_thrust))
    ratio = xp.where(is_rotating, advance * xp.sign(speed) / safe, xp.zeros_like(safe))
    return 1 - xp.clip(ratio, 0.0, 1.0)


def _rotor_speed(thruster_set: ThrusterSet, thrust: Array) -> Array:
    """Return rotor speeds (..., n), rad/s, of bollard thrusts (..., n), N."""
    speed = thruster_set.speed_of_thrust(thrust)
    propellers = thruster_set.propellers
    if propellers is None:
        return speed
    xp = namespace(thrust)
    rate = xp.where(thrust < 0, constant(xp, propellers.astern), constant(xp, propellers.ahead))
    return xp.where(constant(xp, propellers.present) > 0, rate * _signed_root(thrust), speed)


def _signed_root(thrust: Array) -> Array:
    """Return s = sgn(F)√|F| (..., n), with a derivative of 0 at 0."""
    xp = namespace(thrust)
    size = xp.abs(thrust)
    if not is_numeric(thrust):  # √ has an infinite slope at 0, and none is needed of numbers
        size = xp.where(thrust == 0, xp.ones_like(thrust), size)
    return xp.sign(thrust) * xp.sqrt(size)


def _thrust_root(propellers: PropellerSet, speed: Array) -> Array:
    """Return s = sgn(F)√|F| (..., n) of bollard thrusts F at rotor speeds (..., n), rad/s."""
    xp = namespace(speed)
    rate = xp.where(speed < 0, constant(xp, propellers.astern), constant(xp, propellers.ahead))
    return speed / xp.where(rate > 0, rate, xp.ones_like(rate))


def propeller_loads(
    propellers: PropellerSet, advance: Array, speed: Array, density: Any
) -> tuple[Array, Array]:
    """Return the thrusts in N and torques in N m, (..., n) each, of propellers in open water.

    T = ρ V_r² π/8 D² C_T*(β) and Q = ρ V_r² π/8 D³ C_Q*(β) with β = atan2(V_a, 0.35 ω D),
    V_r² = V_a² + (0.35 ω D)² and V_a = (1 − w) V. Source: van Lammeren et al. (1969).

    Args:
        propellers: coefficients; 0 results where there is no propeller.
        advance: V (..., n) of the vehicle at the propellers, along their axes, m/s.
        speed: ω (..., n), rad/s.
        density: ρ, kg/m³.
    """
    xp = namespace(advance)
    inflow = (1 - constant(xp, propellers.wake)) * advance
    blade = constant(xp, propellers.blade_radius) * speed
    square = inflow * inflow + blade * blade
    angle = xp.atan2(inflow, xp.where(square > 0, blade, xp.ones_like(blade)))  # no slope at 0
    pressure = density * square
    thrust = pressure * constant(xp, propellers.thrust_scale) * propellers.thrust_of_angle(angle)
    torque = pressure * constant(xp, propellers.torque_scale) * propellers.torque_of_angle(angle)
    return thrust, torque


def ventilation_factor(immersion: Array) -> Array:
    """Return the ratio of thrust to that of a deep propeller at h/R (...): hub depth over radius.

    β = 1 − 0.675 (1 − 0.769 h/R)^1.258, which is 0 at h/R = −0.48 and 1 at 1.3: the disc comes
    out of the water and draws air. Source: Minsaas, Faltinsen & Persson (1983), "On the importance
    of added resistance, propeller immersion and propeller ventilation for large ships in a
    seaway", as Smogeli (2006) gives it.
    """
    xp = namespace(immersion)
    immersion_deficit = xp.maximum(1 - immersion / FULL_IMMERSION, xp.zeros_like(immersion))
    return xp.clip(1 - 0.675 * immersion_deficit**1.258, 0.0, 1.0)


def _ventilation_factors(vehicle: Vehicle, state: State, environment: Environment) -> Array:
    """Return the ventilation factors (..., n) of propellers; 1 for those that never ventilate."""
    thruster_set = vehicle.thrusters
    xp = namespace(state.position)
    points = in_map(state.position, state.orientation, constant(xp, thruster_set.position))
    depth = environment.elevation(points) - points[..., 2]
    factor = ventilation_factor(depth / constant(xp, thruster_set.rotor_radius))
    return xp.where(constant(xp, thruster_set.ventilates) > 0, factor, xp.ones_like(factor))


def thrusters(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    memory: Array,
    *,
    pwm: Array,
    dt: float,
    supply: Array | None = None,
    thrust_fraction: Array | None = None,
    angles: Array | None = None,
    rise: Array | None = None,
) -> tuple[ThrusterOutput, Array]:
    """Return the thrusters' output and their memory after dt seconds of a PWM command.

    Thrust goes with the square of the rotor speed, so the lag acts on s = sgn(F)√|F|, which is
    proportional to it: ds/dt = (s_target − s)/T. The wrench is Σ Fᵢ [dᵢ; rᵢ x dᵢ + m hᵢ dᵢ],
    with m the reaction torque per newton and h = −1 for a clockwise propeller; dᵢ, and rᵢ
    where the axis of an azimuth does not go through it, turn with its angle.
    With a supply of another voltage, F_target and the power at one pulse width are scaled
    (:mod:`marine_sim_ros.model.propulsion`); the rotor speed follows from the thrust as before.

    Args:
        vehicle: its ``thrusters`` give tables, axes and lags.
        state: gives the speed of advance and the depth, if the vehicle has these losses.
        environment: gives current and surface, likewise.
        memory: (..., n) s of the tick before, √N; zeros at rest.
        pwm: (..., n) pulse widths, µs.
        dt: time since the tick before, s.
        supply: (...) voltage over the one that the tables were measured at; None: 1.
        thrust_fraction: (..., n) factor of the thrust, by faults; None: 1.
        angles: (..., k) of the azimuths, rad; None: 0.
        rise: (..., n) temperature of windings over the water, K; None: 0.

    Returns:
        The output and the new memory (..., n).
    """
    thruster_set = vehicle.thrusters
    xp = namespace(memory)
    voltage_factor = None if supply is None else thrust_factor(supply[..., None])
    if voltage_factor is not None and thruster_set.propellers is not None:
        is_speed_controlled = (
            constant(xp, thruster_set.propellers.present) > 0
        )  # its speed, at any voltage
        voltage_factor = xp.where(is_speed_controlled, xp.ones_like(memory), voltage_factor)
    target = rotor_target(vehicle, pwm, voltage_factor)
    lag = constant(xp, thruster_set.time_constant)
    rotation = None
    if angles is not None and thruster_set.azimuths is not None:
        rotation = _azimuth_components(thruster_set.azimuths, angles)
    propellers = thruster_set.propellers
    inertial = 0.0 * memory
    if propellers is not None and propellers.any_inertia:
        speed, wanted = (_rotor_speed(thruster_set, s * xp.abs(s)) for s in (memory, target))
        _, load = _apply_losses(
            vehicle, state, environment, memory * xp.abs(memory), speed, rotation
        )
        rise = 0.0 * memory if rise is None else rise
        step = motor_step(
            propellers, speed, wanted, load, rise, lag, dt,
            None if supply is None else supply[..., None],
        )  # fmt: skip
        rotates = constant(xp, propellers.motors.inertia) > 0
        lagging = _first_order_lag(target, memory, lag, dt)
        memory = xp.where(rotates, _thrust_root(propellers, step.speed), lagging)
        inertial = step.torque
    else:
        memory = _first_order_lag(target, memory, lag, dt) if thruster_set.any_lag else target
    thrust = memory * xp.abs(memory)
    rotor_speed = _rotor_speed(thruster_set, thrust)
    power = thruster_set.power_of_thrust(
        thrust if voltage_factor is None else thrust / voltage_factor
    )
    if supply is not None:
        power = power * power_factor(supply[..., None])
    thrust, torque = _apply_losses(vehicle, state, environment, thrust, rotor_speed, rotation)
    if propellers is not None:
        torque = torque + inertial
        warm = 0.0 * memory if rise is None else rise
        current = motor_current(propellers.motors, torque, rotor_speed)
        electrical = electrical_power(propellers.motors, current, rotor_speed, warm)
        power = xp.where(constant(xp, propellers.present) > 0, electrical, power)
        if rise is not None:
            rise = winding_rise(propellers.motors, rise, current, dt)
    if thrust_fraction is not None:
        thrust, torque = thrust * thrust_fraction, torque * thrust_fraction
    wrench = _thrust_wrench(thruster_set, thrust, rotation)
    if thruster_set.propellers is not None:
        wrench = wrench + _torque_wrench(thruster_set, thrust, torque, rotation)
    return ThrusterOutput(wrench, thrust, rotor_speed, power, angles=angles, rise=rise), memory


def _sum_wrenches(
    columns: np.ndarray,
    rotation_columns: np.ndarray,
    loads: Array,
    rotation: tuple[Array, Array] | None,
) -> Wrench:
    """Return the wrench (..., 6) of loads (..., n) on thrusters, N or N m.

    Args:
        columns: (6, n) wrench of a load of 1 on each, at angles of 0.
        rotation_columns: (2, 6, n) what cos θ − 1 and sin θ of the azimuths add to it.
        loads: thrusts or torques.
        rotation: cos θ − 1 and sin θ (..., n); None: nothing turns.
    """
    xp = namespace(loads)
    wrench = matvec(constant(xp, columns), loads)
    if rotation is not None:
        for component, matrix in zip(rotation, rotation_columns, strict=True):
            wrench = wrench + matvec(constant(xp, matrix), component * loads)
    return wrench


def _thrust_wrench(
    thruster_set: ThrusterSet, thrust: Array, rotation: tuple[Array, Array] | None
) -> Wrench:
    return _sum_wrenches(
        thruster_set.effectiveness, thruster_set.turned_effectiveness, thrust, rotation
    )


def _torque_wrench(
    thruster_set: ThrusterSet, thrust: Array, torque: Array, rotation: tuple[Array, Array] | None
) -> Wrench:
    """Return the wrench (..., 6) of torques (..., n) minus the reaction torques of the thrusts."""
    propellers = thruster_set.propellers
    assert propellers is not None
    xp = namespace(thrust)
    torque_difference = torque - constant(xp, thruster_set.reaction_torque) * thrust
    torque_difference = torque_difference * constant(xp, propellers.present)
    return _sum_wrenches(
        thruster_set.twist, thruster_set.turned_twist, torque_difference, rotation
    )


def thrust_wrench(thruster_set: ThrusterSet, thrust: Array, states: Mapping[str, Array]) -> Wrench:
    """Return the wrench (..., 6) of thrusts (..., n) in N.

    Args:
        thrust: along the axis of each thruster.
        states: states (..., k) of actuators by name; only azimuths are used.
    """
    angles = states.get(AZIMUTHS.name)
    rotation = None
    if angles is not None and thruster_set.azimuths is not None:
        rotation = _azimuth_components(thruster_set.azimuths, angles)
    return _thrust_wrench(thruster_set, thrust, rotation)


def zero_angles(vehicle: Vehicle, like: Array) -> Array | None:
    """Return angles (..., k) of 0 of the azimuths, batched as (..., 6); None without."""
    azimuths = vehicle.thrusters.azimuths
    if azimuths is None:
        return None
    xp = namespace(like)
    return xp.zeros_like(like[..., :1] + constant(xp, np.zeros(len(azimuths))))


def turn_azimuths(
    vehicle: Vehicle, angles: Array | None, commands: Mapping[str, Array], dt: Any
) -> Array | None:
    """Return the angles (..., k) of the azimuths after dt; None without.

    Args:
        angles: (..., k) dt before, rad.
        commands: commands (..., k) by the name of the actuator; without one they go to 0.
        dt: s.
    """
    azimuths = vehicle.thrusters.azimuths
    if azimuths is None or angles is None:
        return None
    return servo_step(azimuths, angles, commands.get(AZIMUTHS.name, angles * 0), dt)


def rotor_target(vehicle: Vehicle, pwm: Array, voltage_factor: Array | None = None) -> Array:
    """Return the targets s = sgn(F)√|F| (..., n), √N, of rotors at pulse widths (..., n) in µs.

    Args:
        vehicle: its ``thrusters`` give F of a pulse width.
        pwm: pulse widths.
        voltage_factor: factor of F by the supply's voltage; None: 1.
    """
    target = vehicle.thrusters.thrust_of_pwm(pwm)
    if voltage_factor is not None:
        target = target * voltage_factor
    return _signed_root(target)


def _cross_flow_factor(
    thruster_set: ThrusterSet,
    state: State,
    environment: Environment,
    thrust: Array,
    fluid_density: float,
) -> Array:
    """Return the fraction (..., n) of thrusts (..., n) that water across the axes leaves.

    A table of u/U_jet, with U_jet = √(T/(ρ π R²)): the jet of a tunnel bends and lowers the
    pressure on the hull behind it. Angles of azimuths are taken as 0.
    """
    assert thruster_set.cross_flow is not None
    xp = namespace(thrust)
    relative = relative_velocity(state, environment)
    turning = relative[..., None, 3:] + 0.0 * thrust[..., None]
    lever = constant(xp, thruster_set.position) + 0.0 * turning
    velocity = relative[..., None, :3] + cross(turning, lever)
    axis = constant(xp, thruster_set.axis)
    across = velocity - xp.sum(velocity * axis, axis=-1)[..., None] * axis
    square = xp.sum(across * across, axis=-1)
    radius = constant(xp, thruster_set.rotor_radius)
    jet = xp.abs(thrust) / (fluid_density * math.pi * radius * radius)
    moving = (square > 0) & (jet > 0)
    safe = xp.where(moving, jet, xp.ones_like(jet))
    ratio = xp.sqrt(xp.where(moving, square, xp.ones_like(jet)) / safe)  # no slope of √ at 0
    return xp.where(moving, thruster_set.cross_flow(ratio), xp.ones_like(thrust))


def _apply_losses(
    vehicle: Vehicle,
    state: State,
    environment: Environment,
    thrust: Array,
    rotor_speed: Array,
    rotation: tuple[Array, Array] | None,
) -> tuple[Array, Array]:
    """Return thrusts (..., n), N, after losses by speed of advance and near the surface.

    The second result are the torques (..., n) of propellers, N m, with the same loss near the
    surface.
    """
    thruster_set = vehicle.thrusters
    torque = 0 * thrust
    if thruster_set.any_inflow_loss or thruster_set.propellers is not None:
        advance = _speed_of_advance(thruster_set, state, environment, rotation)
    if thruster_set.any_inflow_loss:
        thrust = thrust * _advance_factor(thruster_set, advance, rotor_speed)
    if thruster_set.propellers is not None:
        xp = namespace(thrust)
        density = environment.density(state.position, vehicle.buoyancy.fluid_density)
        propeller_thrust, torque = propeller_loads(
            thruster_set.propellers, advance, rotor_speed, density
        )
        thrust = xp.where(
            constant(xp, thruster_set.propellers.present) > 0, propeller_thrust, thrust
        )
    if thruster_set.cross_flow is not None:
        fluid_density = vehicle.buoyancy.fluid_density
        thrust = thrust * _cross_flow_factor(
            thruster_set, state, environment, thrust, fluid_density
        )
    if len(thruster_set) == 0 or not thruster_set.any_ventilation:
        return thrust, torque
    height = state.position[..., 2]
    xp = namespace(height)
    highest = height if height.ndim == 0 else xp.max(height)
    reach = constant(xp, environment.crest + vehicle.thrusters.ventilation_reach)

    def ventilate() -> tuple[Array, Array]:
        factor = _ventilation_factors(vehicle, state, environment)
        return thrust * factor, torque * factor

    # Deeper the factor is 1 to the bit, so the shortcut changes nothing.
    return skip_unless(highest + reach <= 0, lambda: (thrust, torque), ventilate)


def bollard_wrench(
    vehicle: Vehicle, state: State, environment: Environment, thrust: Array
) -> tuple[Wrench, Array]:
    """Return the wrench (..., 6) and thrusts (..., n) of bollard thrusts (..., n) in N."""
    thruster_set = vehicle.thrusters
    thrust, _ = _apply_losses(
        vehicle, state, environment, thrust, _rotor_speed(thruster_set, thrust), None
    )
    return matvec(constant(namespace(thrust), thruster_set.effectiveness), thrust), thrust


def _has_thrusters(vehicle: Vehicle, environment: Environment) -> bool:
    del environment
    return len(vehicle.thrusters) > 0


THRUSTERS = ForceModel(
    'thrusters',
    actuator_step('thrusters', __name__),
    applies=_has_thrusters,
    label='Thrusters',
    colour='#e63333',
    executable='thrusters',
    scalar=True,
)


def _azimuth_names(vehicle: Vehicle) -> tuple[str, ...]:
    azimuths = vehicle.thrusters.azimuths
    return () if azimuths is None else azimuths.names


AZIMUTHS = Actuator(
    'azimuths',
    _azimuth_names,
    text='angles of thrusters that turn, rad',
    unit='rad',
    limit=math.pi,
    part='azimuth',
    steered=True,
    source='thrusters',
    state=lambda memory: memory.propulsion.angles,
    restore=lambda memory, state: memory._replace(
        propulsion=memory.propulsion._replace(angles=state)
    ),
    state_topic='azimuths/state',
    command_topic='azimuths/command',
)
