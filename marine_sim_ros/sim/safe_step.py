# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Longest safe step of a vehicle in its water, and warnings about a longer one.

A step is symplectic, so that the heave at the surface with ω = √(k/M) is stable for T ω < 2, and
0.4 % too slow at T ω = 0.3. Forces are constant over a step in axes that rotate by ω T, and lag
the waves by T/2, an error of π T/T_w of their amplitude. Lumped drag is implicit and panel drag is
bounded, except with ``rk4``, which is stable for λ T < 1 (:func:`drag_rates`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.propellers import PWM_MAX, PWM_MIN
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.drag import drag
from marine_sim_ros.physics.rigid_body import resolve_integrator

__all__ = [
    'drag_rates',
    'drag_step_limit',
    'integrator_error_text',
    'longest_safe_step',
    'step_warnings',
    'surface_stiffness',
]

CHECK_SPEED = np.array([1.5, 1.5, 1.5, 3.0, 3.0, 3.0])
"""Typical top speeds, m/s and rad/s."""
MAX_HEAVE_PHASE = 0.3
"""Largest T √(k/M)."""
MAX_ROTATION_PER_STEP = 0.1
"""Largest rotation in a step, rad."""
MAX_WAVE_FRACTION = 1 / 60
"""Largest step as a fraction of the shortest wave period: a lag of 5 %."""
_MAX_YAW_RATE = 1e3
"""Upper bound of the search for a turn rate, rad/s."""


class SafeStep(NamedTuple):
    """Longest safe step (s), and what limits it."""

    seconds: float
    reason: str


def drag_rates(vehicle: Vehicle) -> np.ndarray:
    """Return λ (6,) 1/s of the lumped drag at 1.5 m/s and 3 rad/s, axis by axis.

    M is the mass, and the inertia about the centre of mass, with the added mass.
    """
    linear, squared = vehicle.damping.by_axis
    rigid = np.concatenate([np.full(3, vehicle.inertia.mass), np.diag(vehicle.inertia.tensor)])
    mass = rigid + np.diag(vehicle.added_mass)
    return np.asarray((linear + 2 * squared * CHECK_SPEED) / mass)


def drag_step_limit(vehicle: Vehicle) -> float:
    """Return the longest stable step (s) for drag that is explicit and one sample old."""
    max_rate = float(np.max(drag_rates(vehicle)))
    return 1 / max_rate if max_rate > 0 else math.inf


def surface_stiffness(vehicle: Vehicle) -> float:
    """Return the largest k = −dF_z/dz (N/m) of the buoyancy near the surface."""
    heights = np.linspace(-0.6, 0.6, 25) * vehicle.buoyancy.height
    water = Environment()
    force = np.array(
        [
            float(np.asarray(buoyancy(vehicle, state_at_rest((0.0, 0.0, z)), water))[2])
            for z in heights
        ]
    )
    return float(np.max(-np.diff(force) / np.diff(heights)))


def max_yaw_moment(vehicle: Vehicle) -> float:
    """Return the moment (N·m) of all thrust in yaw."""
    count = len(vehicle.thrusters)
    ends = [
        np.asarray(vehicle.thrusters.thrust_of_pwm(np.full(count, pwm)))
        * vehicle.thrusters.effectiveness[5]
        for pwm in (PWM_MIN, PWM_MAX)
    ]
    return float(np.sum(np.maximum(*ends)))


def max_yaw_rate(vehicle: Vehicle) -> float:
    """Return the rate (rad/s) at which drag balances all thrust in yaw; infinite without drag."""
    moment = max_yaw_moment(vehicle)

    def net_moment(rate: float) -> float:
        deep = State(np.array([0.0, 0.0, -100.0]), np.array([0.0, 0.0, 0.0, 1.0]), rate * _YAW)
        return moment + float(np.asarray(drag(vehicle, deep, Environment()))[5])

    low, high = 0.0, _MAX_YAW_RATE
    if moment <= 0 or net_moment(high) > 0:
        return math.inf if moment > 0 else 0.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if net_moment(middle) > 0 else (low, middle)
    return high


_YAW = np.eye(6)[5]


def _step_limits(
    vehicle: Vehicle, environment: Environment, integrator: str
) -> Iterator[SafeStep]:
    stiffness, mass = surface_stiffness(vehicle), float(vehicle.mass_matrix[2, 2])
    if stiffness > 0:
        frequency = math.sqrt(stiffness / mass)
        yield SafeStep(
            MAX_HEAVE_PHASE / frequency, f'it heaves at the surface with {frequency:.3g} rad/s'
        )
    rate = max_yaw_rate(vehicle)
    if 0 < rate < _MAX_YAW_RATE:  # without drag in yaw, the doctor says so
        yield SafeStep(MAX_ROTATION_PER_STEP / rate, f'it turns at up to {rate:.3g} rad/s')
    if environment.waves is not None:
        period = 2 * math.pi / float(np.max(environment.waves.frequency))
        yield SafeStep(
            MAX_WAVE_FRACTION * period, f'the shortest waves have a period of {period:.3g} s'
        )
    if integrator == 'rk4':
        yield SafeStep(drag_step_limit(vehicle), 'the integrator rk4 treats drag as explicit')


def longest_safe_step(
    vehicle: Vehicle, environment: Environment | None = None, integrator: str = 'auto'
) -> SafeStep:
    """Return the longest safe step.

    Args:
        environment: gives the waves; None: calm water.
        integrator: integrator of the run.
    """
    limits = _step_limits(vehicle, environment or Environment(), integrator)
    return min(limits, default=SafeStep(math.inf, 'nothing in it is fast'))


_INTEGRATOR_ERRORS = {
    'semi_implicit': 'adds ½ ω² dt to the motion in every second that {name} turns with ω, '
    '{share:.2g} % at 1 rad/s, which the drag of hull panels takes away only at speed',
    'rk4': 'holds the drag of hull panels over a step: where {name} turns with ω, it points '
    '½ ω dt aside, {share:.2g} % at 1 rad/s',
}


def integrator_error_text(vehicle: Vehicle, dt: float, integrator: str) -> str:
    """Return the error that an integrator makes at a step (s), with its size; else ''."""
    if integrator not in _INTEGRATOR_ERRORS or resolve_integrator(vehicle) != 'conserving':
        return ''
    fault = _INTEGRATOR_ERRORS[integrator].format(name=vehicle.name, share=50 * dt)
    return f'the integrator {integrator} {fault}'


def step_warnings(
    vehicle: Vehicle, environment: Environment, dt: float, integrator: str
) -> list[str]:
    """Return warnings about a step (s) that is too long, or an unsuitable integrator."""
    limit, reason = longest_safe_step(vehicle, environment, integrator)
    fault = integrator_error_text(vehicle, dt, integrator)
    result = [f'{fault}; expected --integrator auto'] if fault else []
    if dt <= limit:
        return result
    return [
        *result,
        f'dt is {dt:g} s; expected at most {limit:.2g} s for {vehicle.name} in this water: '
        f'{reason}; a longer step may end elsewhere',
    ]
