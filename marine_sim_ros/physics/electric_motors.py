# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Electric motors of propellers: speed, current, power and temperature.

J dω/dt = k I − Q − k I₀ sgn ω, with the current I within ±I_max and within what the voltage drives
against the induced one, (±U − k ω)/R. The ESC sets U in proportion to the pulse width, or holds a
speed ω_c with the current at which dω/dt = (ω_c − ω)/T. Winding: C dθ/dt = R I² − θ/R_th.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.model.propellers import MotorSpec, PropellerSet, motor_power

__all__ = ['MotorStep', 'electrical_power', 'motor_current', 'motor_step', 'winding_rise']

COPPER = 0.00393
"""1/K; relative rise of copper's resistance."""
FOLDBACK = 10.0
"""K below the greatest rise, in which the ESC takes back its current; assumed."""


class MotorStep(NamedTuple):
    """Speeds (..., n) in rad/s, and torques J dω/dt (..., n) in N m, after a tick."""

    speed: Array
    torque: Array


def _decay(xp: Any, rate: Array, dt: Any) -> Array:
    """Return (1 − e^(−λ dt))/λ, s, of rates λ (...) in 1/s; dt at 0."""
    safe = xp.where(rate * dt > 1e-9, rate, xp.ones_like(rate))
    return xp.where(rate * dt > 1e-9, (1 - xp.exp(-safe * dt)) / safe, dt + 0 * rate)


def _resistance(motors: MotorSpec, rise: Array) -> Array:
    return constant(namespace(rise), motors.resistance) * (1 + COPPER * rise)


def motor_step(
    propellers: PropellerSet,
    speed: Array,
    target: Array,
    load: Array,
    rise: Array,
    lag: Array,
    dt: Any,
    supply: Array | None = None,
) -> MotorStep:
    """Return speeds dt seconds later, and the torques that accelerated the rotors.

    An exponential Rosenbrock-Euler step: exact for voltage, induced voltage and a constant load,
    of second order for one that grows with ω². Motors without inertia follow the lag alone.

    Args:
        propellers: their motors.
        speed: (..., n) ω before, rad/s.
        target: (..., n) speeds that the pulse widths stand for in still water, rad/s.
        load: (..., n) torque Q of the water before, N m.
        rise: (..., n) θ of the windings over the water, K.
        lag: (n,) T, s.
        dt: s.
        supply: (..., 1) factor of the voltage; None: 1.
    """
    xp = namespace(speed)
    motors = propellers.motors
    k = constant(xp, motors.torque_constant)
    voltage = constant(xp, motors.voltage) * (1.0 if supply is None else supply)
    size = constant(xp, motors.inertia)
    inertia = xp.where(size > 0, size, xp.ones_like(size))
    warm = _resistance(motors, rise)
    resistance = xp.where(warm > 0, warm, 1e-9 * xp.ones_like(warm))
    friction_limit = k * constant(xp, motors.idle_current)
    quadratic = constant(xp, propellers.load)
    # The voltage whose steady speed the target is, and the share of the supply's voltage.
    steady = k * target + xp.sign(target) * (
        constant(xp, motors.resistance)
        * (quadratic * target * target + friction_limit) / k
    )  # fmt: skip
    steady = steady * (1.0 if supply is None else supply)
    throttled = constant(xp, motors.throttle) > 0
    left = xp.clip((constant(xp, motors.max_rise) - rise) / FOLDBACK, 0.0, 1.0)
    reversal = 2 * voltage / resistance  # current of a motor that is reversed at full speed
    limit = xp.minimum(constant(xp, motors.max_current), reversal) * left
    span = xp.maximum(dt + 0 * speed, 1e-9 + 0 * speed)  # no time before the first tick
    slope = 2 * quadratic * xp.abs(speed) / inertia  # of the load over the speed

    def change(applied: Array) -> Array:
        driven = (applied - k * speed) / resistance
        current = xp.clip(driven, -limit, limit)
        torque = k * current - load
        friction = xp.clip(torque + inertia * speed / span, -friction_limit, friction_limit)
        is_driven = xp.abs(driven) <= limit
        rate = slope + xp.where(is_driven, k * k / (resistance * inertia), 0 * slope)
        return (torque - friction) / inertia * _decay(xp, rate, dt)

    lower = change(xp.where(throttled, steady, -voltage))
    upper = change(xp.where(throttled, steady, voltage))
    follow = (1 - xp.exp(-dt / xp.maximum(constant(xp, lag), 1e-12))) * (target - speed)
    limited = xp.minimum(xp.maximum(follow, lower), upper)
    step = xp.where(size > 0, limited, follow)
    return MotorStep(speed + step, size * step / span)


def motor_current(motors: MotorSpec, torque: Array, speed: Array) -> Array:
    """Return currents (..., n), A, in the sense of the speed: (Q + J dω/dt) sgn ω/k + I₀."""
    xp = namespace(torque)
    idle = xp.where(speed == 0, xp.zeros_like(speed), constant(xp, motors.idle_current))
    return torque * xp.sign(speed) / constant(xp, motors.torque_constant) + idle


def electrical_power(motors: MotorSpec, current: Array, speed: Array, rise: Array) -> Array:
    """Return electrical power (..., n), W: I (R I + k |ω|), 0 where the load drives the motor."""
    xp = namespace(current)
    constants = constant(xp, motors.torque_constant)
    power = motor_power(current, xp.abs(speed), constants, _resistance(motors, rise))
    return xp.where(current > 0, power, xp.zeros_like(power))


def winding_rise(motors: MotorSpec, rise: Array, current: Array, dt: Any) -> Array:
    """Return the rises (..., n) of temperature, K, dt seconds later: C dθ/dt = R I² − θ/R_th."""
    xp = namespace(rise)
    cooling, capacity = constant(xp, motors.cooling), constant(xp, motors.heat_capacity)
    loss = _resistance(motors, rise) * current * current
    later = rise + (loss - cooling * rise) / capacity * _decay(xp, cooling / capacity, dt)
    return xp.where(cooling > 0, later, 0 * rise)
