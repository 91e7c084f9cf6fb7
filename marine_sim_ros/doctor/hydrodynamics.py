# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Checks of added mass and damping, and of the steps that a simulation can take."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from marine_sim_ros.control.controllability import BODY_AXES
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.doctor.context import DescriptionContext, Diagnostic
from marine_sim_ros.doctor.verdict import (
    MAX_PLAUSIBLE_SPEED,
    full_thrust,
    judge_motion,
    steady_speed_under,
)
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import actuators_of
from marine_sim_ros.physics.drag import damping_matrix
from marine_sim_ros.physics.rigid_body import AUTO_INTEGRATOR, resolve_integrator
from marine_sim_ros.sim.run_setup import undamped_motions
from marine_sim_ros.sim.safe_step import (
    drag_rates,
    drag_step_limit,
    integrator_error_text,
    longest_safe_step,
    max_yaw_moment,
    max_yaw_rate,
)
from marine_sim_ros.sim.simulation import DEFAULT_STEP

__all__ = [
    'added_mass',
    'default_step',
    'drag_step',
    'munk_pitch',
    'munk_speeds',
    'munk_yaw',
    'step_line',
    'top_speed',
    'turning_rate',
    'undamped_axes',
]


# Added mass and damping: physically possible, plausible, and stable at speed.

AHEAD = np.array([1.0, 0.0, 0.0])
MAX_PLAUSIBLE_ROV_SPEED = 5.0
"""m/s; no ROV goes faster."""
MIN_SEARCH_SPEED = 0.01
"""m/s; the lowest speed at which stability is checked."""
MIN_PLAUSIBLE_ROV_SPEED = 0.1
"""m/s; an ROV at full thrust goes faster."""
MAX_PLAUSIBLE_YAW_RATE = 4.0
"""rad/s; a BlueROV2 turns at 2.8 to 4.5 at full thrust, by the published coefficients."""
USUAL_YAW_RATE = 2.0
"""rad/s; of a small ROV at full thrust, for which a damping is proposed."""
MUCH_ADDED = 5.0
"""Times the vehicle's own mass; a BlueROV2 has 1.4 at most."""


def added_mass(context: DescriptionContext) -> Iterator[Diagnostic]:
    """M_A is positive, and where it exceeds M_RB it cannot be fed back as a force.

    Feedback of −M_A ν̇ with any delay diverges where an eigenvalue of M_RB⁻¹ M_A is 1 or more.
    """
    vehicle = context.vehicle
    element = context.root.find('hydrodynamics/added_mass')
    if np.min(np.linalg.eigvalsh(vehicle.added_mass)) < -1e-9:
        yield context.error(
            element,
            'is not positive semi-definite: some motion would gain energy from nothing',
            'check the signs of the terms off the diagonal',
        )
        return
    own = np.diag(vehicle.rigid_body_mass)
    ratio = np.diag(vehicle.added_mass) / own
    worst = int(np.argmax(ratio))
    text = f"in {BODY_AXES[worst]} it is {ratio[worst]:#.3g} times the vehicle's own"
    if ratio[worst] > MUCH_ADDED:
        yield context.warning(element, text, 'check its unit: kg and kg·m²')
        return
    spread = np.linalg.eigvals(np.linalg.solve(vehicle.rigid_body_mass, vehicle.added_mass))
    most = float(np.max(np.abs(spread)))
    if most < 1:
        return
    yield context.hint(
        element,
        f'{text}; as a force from another node it would diverge at any step '
        f'(M_RB⁻¹ M_A has an eigenvalue of {most:#.3g}; stable below 1)',
        'leave it in the mass matrix, as this package does',
    )


def undamped_axes(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Every motion is opposed by some drag."""
    free = undamped_motions(context.vehicle)
    # Where thrust or weight acts along one, the check unbounded-speed has it all.
    if not free or any(f.kind == 'speed' for f in judge_motion(context.vehicle).flaws):
        return
    yield context.warning(
        context.root.find('hydrodynamics'),
        f'nothing damps its {", ".join(free)}',
        'give <linear_damping> or <quadratic_damping>, or collisions that drag',
    )


def _terminal_speed(vehicle: Vehicle, force: float) -> float:
    """Return the surge speed (m/s) at which drag equals a force (N); at most 1000 m/s."""
    return min(steady_speed_under(vehicle, 0, force), 1e3)


def top_speed(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Drag and thrust fit: full thrust ahead gives a speed that such vehicles have."""
    vehicle = context.vehicle
    force = full_thrust(vehicle.thrusters, AHEAD)
    if force < 1e-6:
        return
    speed = _terminal_speed(vehicle, force)
    element = context.root.find('hydrodynamics')
    text = f'{force:.3g} N ahead give {speed:.3g} m/s'
    if speed < MIN_PLAUSIBLE_ROV_SPEED:
        yield context.warning(element, text, 'check the damping: N·s/m and N·s²/m²')
        return
    if speed <= MAX_PLAUSIBLE_ROV_SPEED:
        return
    if vehicle.hull is not None and vehicle.hull.panels is not None:
        yield context.hint(
            element,
            f'{text}: its hull hardly drags',
            'pressures of 10 Pa are drag coefficients '
            'of about 0.02; give real ones with <coefficient_unit>cd</coefficient_unit>',
        )
        return
    if speed <= MAX_PLAUSIBLE_SPEED:  # beyond, the check unbounded-speed has it
        yield context.warning(element, text, 'check the damping: N·s/m and N·s²/m²')


def turning_rate(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Drag and thrust fit in yaw: at its radius of gyration it turns no faster than it goes."""
    vehicle = context.vehicle
    rate = max_yaw_rate(vehicle)
    if not MAX_PLAUSIBLE_YAW_RATE < rate < np.inf:  # without drag, the check undamped has it
        return
    radius = np.sqrt(vehicle.rigid_body_mass[5, 5] / vehicle.inertia.mass)
    speed = max(
        steady_speed_under(vehicle, axis, full_thrust(vehicle.thrusters, direction[:3]))
        for axis, direction in enumerate(np.eye(6)[:2])
    )
    if rate * radius <= speed:
        return
    moment = max_yaw_moment(vehicle)
    term = ('linear', 1, 'N·m·s') if vehicle.hull is not None else ('quadratic', 2, 'N·m·s²')
    name, power, unit = term
    yield context.warning(
        context.root.find('hydrodynamics'),
        f'{moment:.3g} N·m turn it at {rate:.3g} rad/s, {np.degrees(rate):.0f} deg/s: '
        'it is hardly damped in yaw',
        f'check the thrust; or give yaw, the last number of <{name}_damping>, {unit}: '
        f'{moment / USUAL_YAW_RATE**power:.2g} holds it at about {USUAL_YAW_RATE:g} rad/s',
    )


def munk_speeds(vehicle: Vehicle) -> tuple[float, float]:
    """Return the surge speeds (m/s) above which pitch and yaw run away; inf for never.

    Pitch: the Munk moment (M_33 − M_11) u² θ, less that of actuators at zero, exceeds the righting
    moment m g (z_b − z_g) θ.
    Yaw has no righting moment: the lowest u at which (v, r) with the linear damping at u grows,
    M (v̇, ṙ) = −(D + C(u)) (v, r). Source: Fossen (2011), sections 6.3 and 7.3.
    Lift works against the Munk moment; these formulas leave it out, so both are inf with lift.
    """
    if vehicle.damping.lift is not None:
        return np.inf, np.inf
    added = vehicle.added_mass
    weight = vehicle.inertia.mass * Environment().gravity
    metacentric_height = vehicle.buoyancy.center_of_volume[2] - vehicle.inertia.center_of_mass[2]
    munk = added[2, 2] - added[0, 0] - _actuator_damping(vehicle, 1.0)[4, 2]
    pitch = (
        float(np.sqrt(weight * metacentric_height / munk))
        if munk > 0 and metacentric_height > 0
        else np.inf
    )
    return pitch, _yaw_instability_speed(vehicle)


def _actuator_damping(vehicle: Vehicle, speed: float) -> np.ndarray:
    """Return −∂τ/∂ν (6, 6) of actuators at zero at a surge speed, by central differences."""
    ahead = np.zeros(6)
    ahead[0] = speed
    size = 1e-6 * speed

    thrust = np.zeros(len(vehicle.thrusters))
    exerting = [
        (a.wrench, a.zero_state(vehicle)) for a in actuators_of(vehicle) if a.wrench is not None
    ]

    def wrench(change: np.ndarray) -> np.ndarray:
        state, water = state_at_rest()._replace(velocity=ahead + change), Environment()
        parts = (exert(vehicle, state, water, held, thrust) for exert, held in exerting)
        return sum(map(np.asarray, parts), np.zeros(6))

    steps = size * np.eye(6)
    return -np.stack([(wrench(s) - wrench(-s)) / (2 * size) for s in steps], axis=-1)


def _yaw_instability_speed(vehicle: Vehicle) -> float:
    if np.max(np.abs(vehicle.added_mass)) == 0:
        return np.inf
    for speed in np.geomspace(MIN_SEARCH_SPEED, 5.0, 60):
        if _yaw_growth(vehicle, float(speed)) > 1e-3:
            return float(speed)
    return np.inf


def _yaw_growth(vehicle: Vehicle, speed: float) -> float:
    """Return the largest growth rate (1/s) of sway and yaw at a surge speed."""
    rows = [1, 5]
    at = vehicle.damping.lever_arm
    velocity = np.zeros(6)
    velocity[0] = speed
    drags = at.T @ np.asarray(damping_matrix(vehicle, at @ velocity)) @ at
    drags = drags + _actuator_damping(vehicle, speed)
    mass = vehicle.mass_matrix
    turning = np.zeros((2, 2))
    turning[0, 1] = mass[0, 0] * speed
    turning[1, 0] = (mass[1, 1] - mass[0, 0]) * speed
    turning[1, 1] = mass[1, 5] * speed
    small = mass[np.ix_(rows, rows)]
    rates = np.linalg.eigvals(-np.linalg.solve(small, drags[np.ix_(rows, rows)] + turning))
    return float(np.max(rates.real))


def munk_pitch(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Above √(m g (z_b − z_g)/(M_33 − M_11)) the Munk moment exceeds the righting one."""
    return _munk(context, 'pitch', munk_speeds(context.vehicle)[0])


def munk_yaw(context: DescriptionContext) -> Iterator[Diagnostic]:
    """Where nothing rights the heading, the Munk moment needs damping to hold it."""
    return _munk(context, 'yaw', munk_speeds(context.vehicle)[1])


def _munk(context: DescriptionContext, axis: str, speed: float) -> Iterator[Diagnostic]:
    vehicle = context.vehicle
    start = f'above {speed:.2g} m/s' if speed > MIN_SEARCH_SPEED else 'at any speed'
    thrust = full_thrust(vehicle.thrusters, AHEAD)
    if not np.isfinite(speed) or speed > _terminal_speed(vehicle, thrust):
        return
    yield context.hint(
        context.root.find('hydrodynamics/added_mass'),
        f'{start} ahead it is unstable in {axis}: the Munk moment of its added mass',
        'a controller must hold it, or lift, which this model lacks',
    )


# Time steps that are safe for the vehicle, by the rules of ``sim/run_setup.py``.


def drag_step(context: DescriptionContext) -> Iterator[Diagnostic]:
    """λ T < 1 at the default step; this package's own integrator treats the drag as implicit."""
    rates = drag_rates(context.vehicle)
    limit = drag_step_limit(context.vehicle)
    axis = BODY_AXES[int(np.argmax(rates))]
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


def default_step(context: DescriptionContext) -> Iterator[Diagnostic]:
    """The default step is safe in calm water, with the integrator of the run."""
    if fault := integrator_error_text(context.vehicle, DEFAULT_STEP, context.integrator):
        text = f'no step is safe; at the default of {DEFAULT_STEP * 1e3:g} ms {fault}'
        yield context.warning(context.root, text, 'take --integrator auto')
    limit, reason = longest_safe_step(context.vehicle, integrator=context.integrator)
    if limit < DEFAULT_STEP:
        yield context.warning(
            context.root,
            f'steps above {limit * 1e3:.2g} ms are not safe: {reason}; the default is '
            f'{DEFAULT_STEP * 1e3:g} ms',
            'check the <height> of <buoyancy>, the damping in yaw and the thrust, or take a '
            'shorter --dt',
        )


def step_line(vehicle: Vehicle, environment: Environment, integrator: str) -> str:
    """Return a line on safe time steps, in calm water and in an environment with waves."""
    name = resolve_integrator(vehicle) if integrator == AUTO_INTEGRATOR else integrator
    if integrator_error_text(vehicle, DEFAULT_STEP, integrator):
        return f'steps: none is safe with the integrator {name}'
    calm, reason = longest_safe_step(vehicle, integrator=integrator)
    limit = 'at any step' if np.isinf(calm) else f'up to {calm * 1e3:.3g} ms'
    text = f'steps: safe {limit} in calm water with {name}: {reason}'
    if environment.waves is None:
        return text
    rough, reason = longest_safe_step(vehicle, environment, integrator)
    where = environment.name or 'these waves'
    return f'{text}; up to {rough * 1e3:.3g} ms in {where}: {reason}'
