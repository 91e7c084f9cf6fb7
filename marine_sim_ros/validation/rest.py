# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Vehicle at rest and in free motion: equilibrium, trim, draught, free decay."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from marine_sim_ros.control.controllability import BODY_AXES
from marine_sim_ros.control.stick_mixing import PilotMixer
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import (
    quaternion_from_rpy,
    quaternion_product,
    rotation_matrix,
    rotation_vector_quaternion,
    rpy_from_quaternion,
    transport,
)
from marine_sim_ros.core.state import State, Wrench, state_at_rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.propellers import PWM_NEUTRAL
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import acting_forces
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.rigid_body import weight
from marine_sim_ros.physics.thrusters import ThrusterOutput, thrusters
from marine_sim_ros.sim.simulation import Simulation

__all__ = [
    'DEPTH',
    'DIRECTIONS',
    'Measurement',
    'axis_reachable',
    'draught',
    'find_equilibrium',
    'floats_at_surface',
    'free_decay',
    'logarithmic_decrement',
    'mass',
    'natural_period',
    'net_buoyancy',
    'period',
    'period_from_angle',
    'steady_thrust',
    'stick_pulses',
    'still_water_wrench',
    'trim_angle',
    'undershoot_from_angle',
]


# Measurement: a quantity of a manoeuvre, with its unit.

DIRECTIONS = {
    'surge': ('ahead', 'astern'),
    'sway': ('port', 'starboard'),
    'heave': ('up', 'down'),
    'roll': ('starboard', 'port'),
    'pitch': ('bow_down', 'bow_up'),
    'yaw': ('port', 'starboard'),
}
"""By axis (FLU): what the positive and the negative sense are called."""


@dataclass(frozen=True)
class Measurement:
    """One quantity of a vehicle.

    Attributes:
        title: display title.
        unit: unit of the value.
        value: None where the vehicle has no such thing.
        note: reason of a missing value, or a remark for the reader; may be empty.
    """

    title: str
    unit: str
    value: float | None
    note: str = ''


# Forces on a vehicle held in an attitude, as in a towing tank.

STILL = Environment()
"""Still water without walls, of the density the vehicle is trimmed for."""
DEPTH = 500.0
"""m; so deep that nothing feels the surface."""
_LONG = 1e6


@lru_cache(maxsize=4)
def _mixer(vehicle: Vehicle) -> PilotMixer:
    return PilotMixer(vehicle.thrusters)


def axis_reachable(vehicle: Vehicle, axis: str) -> bool:
    """Return whether a stick of this axis does anything."""
    return axis in _mixer(vehicle).reachable


def stick_pulses(vehicle: Vehicle, axis: str, effort: float) -> np.ndarray:
    """Return pulse widths (n,) in µs of one stick at an effort of −1 to 1, the others at 0."""
    return _mixer(vehicle).pwm(effort * (np.array(BODY_AXES) == axis))


def steady_thrust(vehicle: Vehicle, state: State, pwm: np.ndarray) -> ThrusterOutput:
    """Return the outputs of the thrusters at steady rotor speeds."""
    none = np.zeros(len(vehicle.thrusters))
    return thrusters(vehicle, state, STILL, none, pwm=pwm, dt=_LONG)[0]


def still_water_wrench(
    vehicle: Vehicle,
    state: State,
    pwm: np.ndarray | None = None,
    *,
    environment: Environment = STILL,
) -> Wrench:
    """Return all forces (6,) on a vehicle in still water: thrust, buoyancy, drag, weight.

    The Coriolis terms are not in it; along one axis of motion they have no component.
    """
    total = weight(vehicle, state, environment)
    for force in acting_forces(vehicle, environment):
        total = total + force.wrench(vehicle, state, environment)
    return total if pwm is None else total + steady_thrust(vehicle, state, pwm).wrench


# Equilibrium of a free vehicle: weight, buoyancy, attitude, draught.

_RESERVE = 1.25
"""Buoyancy over weight above which a vehicle is one of the surface."""


class Equilibrium(NamedTuple):
    """A vehicle left alone, at rest.

    Attributes:
        height: height of the ``base_link`` origin over the surface, m.
        roll: rad.
        pitch: rad.
    """

    height: float
    roll: float
    pitch: float

    def state(self) -> State:
        """Return the state at rest."""
        x, y, z, w = quaternion_from_rpy(self.roll, self.pitch, 0.0).tolist()
        return state_at_rest((0.0, 0.0, self.height), (x, y, z, w))


def _net(vehicle: Vehicle) -> tuple[float, float]:
    """Return weight and full buoyancy, N."""
    deep = state_at_rest((0.0, 0.0, -DEPTH))
    return vehicle.inertia.mass * STILL.gravity, float(buoyancy(vehicle, deep, STILL)[2])


def neutral_water(vehicle: Vehicle) -> Environment:
    """Return still water in which a submerged vehicle neither rises nor sinks.

    Raises:
        ParameterError: it displaces no water.
    """
    down, up = _net(vehicle)
    if not up > 0:
        raise ParameterError(
            f'{vehicle.name} displaces no water, so it has no speeds to compare; expected '
            '<buoyancy>, or collisions with <buoyancy_material>: see marine_sim doctor'
        )
    return Environment(water_density=vehicle.buoyancy.fluid_density * down / up)


def floats_at_surface(vehicle: Vehicle) -> bool:
    """Return whether a vehicle is one of the surface: a quarter more buoyancy than weight."""
    down, up = _net(vehicle)
    return up > _RESERVE * down


@lru_cache(maxsize=8)
def find_equilibrium(vehicle: Vehicle) -> Equilibrium | None:
    """Return the equilibrium of a vehicle without thrust; None where it never comes to rest.

    Under water the moment about the centre of mass vanishes, K = M = 0 (a net force only moves
    it). At the surface the vertical force vanishes too. Solved with MINPACK's hybrid method from
    the upright attitude.
    """
    at_surface = floats_at_surface(vehicle)
    about = transport(-vehicle.inertia.center_of_mass).T

    def residual(x: np.ndarray) -> np.ndarray:
        state = Equilibrium(
            float(x[2]) if at_surface else -DEPTH, float(x[0]), float(x[1])
        ).state()
        found = about @ still_water_wrench(vehicle, state)
        if not at_surface:
            return found[3:5]
        up = (rotation_matrix(state.orientation) @ found[:3])[2]
        return np.array([found[3], found[4], up])

    root = require('scipy.optimize', 'balance of a vehicle').root
    solution = root(residual, np.zeros(3 if at_surface else 2), tol=1e-12)
    if np.max(np.abs(residual(solution.x))) > 1e-6 * vehicle.inertia.mass * STILL.gravity:
        return None
    roll, pitch = (math.remainder(float(a), math.tau) for a in solution.x[:2])
    return Equilibrium(float(solution.x[2]) if at_surface else -DEPTH, roll, pitch)


def mass(vehicle: Vehicle) -> Measurement:
    """Return the mass of the whole vehicle in air."""
    return Measurement('mass in air', 'kg', vehicle.inertia.mass)


def net_buoyancy(vehicle: Vehicle) -> Measurement:
    """Return ρ g V − m g of the submerged vehicle: what it tends to do at depth."""
    down, up = _net(vehicle)
    force = up - down
    note = 'rises' if force > 0 else 'sinks' if force < 0 else 'stays'
    return Measurement('net buoyancy', 'N', force, note)


def trim_angle(vehicle: Vehicle, axis: str) -> Measurement:
    """Return roll or pitch of the vehicle left alone."""
    found = find_equilibrium(vehicle)
    title = f'trim, {axis}'
    if found is None:
        return Measurement(title, 'deg', None, 'has no attitude of rest')
    angle = math.degrees(found.roll if axis == 'roll' else found.pitch)
    words = ('starboard down', 'port down') if axis == 'roll' else ('bow down', 'bow up')
    note = '' if abs(angle) < 0.005 else words[angle < 0]
    return Measurement(title, 'deg', angle, note)


def draught(vehicle: Vehicle) -> Measurement:
    """Return the depth of the lowest point of a floating hull."""
    found = find_equilibrium(vehicle)
    if not floats_at_surface(vehicle):
        return Measurement('draught', 'm', None, 'no surface vehicle')
    if found is None or vehicle.hull is None or vehicle.hull.panels is None:
        return Measurement('draught', 'm', None, 'has no hull')
    corners = np.reshape(vehicle.hull.panels.corners, (-1, 3))
    turned = corners @ rotation_matrix(found.state().orientation).T
    return Measurement('draught', 'm', float(-(turned[:, 2].min() + found.height)))


# Free decay: the vehicle is released ten degrees from its rest attitude, and oscillates.

START = 10.0
"""Degrees."""
_PER_PERIOD = 240
_MAX_PERIODS = 10
_CROSSINGS = 3


class Swing(NamedTuple):
    """A free decay.

    Attributes:
        period: s, of the swing after the first passage through rest; None: it does not swing.
        decrement: logarithmic, per period, of the first half swing; None likewise.
    """

    period: float | None
    decrement: float | None


def _water(vehicle: Vehicle) -> Environment:
    return STILL if floats_at_surface(vehicle) else neutral_water(vehicle)


def _turn_attitude(start: Equilibrium, axis: str, angle: float) -> State:
    state = start.state()
    turn = rotation_vector_quaternion(angle * np.eye(3)[BODY_AXES.index(axis) - 3])
    return state._replace(orientation=quaternion_product(state.orientation, turn))


@lru_cache(maxsize=16)
def natural_period(vehicle: Vehicle, axis: str) -> float | None:
    """Return 2π √(I/k) in s: undamped and of small angle; None where nothing rights the vehicle.

    1/I is the axis's entry of the inverse mass matrix (6, 6) about the centre of mass, added mass
    included, k the slope of the righting moment: W GM with the metacentric height GM, in water
    in which the vehicle is neutral.
    """
    start = find_equilibrium(vehicle)
    if start is None:
        return None
    i, small = BODY_AXES.index(axis), 1e-4
    about = transport(-vehicle.inertia.center_of_mass)
    water = _water(vehicle)
    there, back = (
        (about.T @ still_water_wrench(vehicle, _turn_attitude(start, axis, a), environment=water))[
            i
        ]
        for a in (small, -small)
    )
    stiffness = (back - there) / (2 * small)
    if stiffness <= 1e-9:
        return None
    center = transport(vehicle.inertia.center_of_mass)
    inverse = center @ vehicle.inverse_mass_matrix @ center.T
    return float(2 * math.pi / math.sqrt(inverse[i, i] * stiffness))


@lru_cache(maxsize=16)
def free_decay(vehicle: Vehicle, axis: str, degrees: float = START) -> Swing:
    """Let a vehicle go some degrees from rest about an axis, free in six axes, and watch it.

    Period: from the first to the third passage through the attitude of rest. Decrement
    δ = 2 ln(x₀/x₁), x₁ the first extreme on the other side, half a period later. Under water the
    vehicle is ballasted to neutral, as one does in a tank: the water's density makes it so.
    """
    start, expected = find_equilibrium(vehicle), natural_period(vehicle, axis)
    if start is None or expected is None:
        return Swing(None, None)
    angle_0 = math.radians(degrees)
    dt = expected / _PER_PERIOD
    simulation = Simulation(
        vehicle, environment=_water(vehicle), initial=_turn_attitude(start, axis, angle_0), dt=dt
    )
    pwm = np.full(len(vehicle.thrusters), PWM_NEUTRAL)
    column, middle = (0, start.roll) if axis == 'roll' else (1, start.pitch)
    times: list[float] = []
    before, extreme = angle_0, 0.0
    for step in range(1, _MAX_PERIODS * _PER_PERIOD + 1):
        simulation.tick(pwm)
        angle = float(rpy_from_quaternion(simulation.state.orientation)[column]) - middle
        if before * angle < 0:
            times.append((step - 1 + before / (before - angle)) * dt)
        if len(times) == 1:
            extreme = max(extreme, abs(angle))
        if len(times) == _CROSSINGS:
            return Swing(times[-1] - times[0], 2 * math.log(angle_0 / extreme))
        before = angle
    return Swing(None, None)


def period(vehicle: Vehicle, axis: str) -> Measurement:
    """Return the period of a free decay."""
    found = free_decay(vehicle, axis).period
    return Measurement(f'period, {axis}', 's', found, '' if found else 'does not swing')


def logarithmic_decrement(vehicle: Vehicle, axis: str) -> Measurement:
    """Return the logarithmic decrement of a free decay."""
    found = free_decay(vehicle, axis).decrement
    title = f'logarithmic decrement, {axis}'
    return Measurement(title, '', found, '' if found else 'does not swing')


def undershoot_from_angle(vehicle: Vehicle, axis: str, degrees: float) -> Measurement:
    """Return the first extreme on the other side, deg, of a free decay from an angle."""
    found = free_decay(vehicle, axis, degrees).decrement
    value = None if found is None else degrees * math.exp(-found / 2)
    title = f'first undershoot from {degrees:g} deg, {axis}'
    return Measurement(title, 'deg', value, '' if found else 'does not swing')


def period_from_angle(vehicle: Vehicle, axis: str, degrees: float) -> Measurement:
    """Return the period of a free decay from an angle."""
    found = free_decay(vehicle, axis, degrees).period
    title = f'period from {degrees:g} deg, {axis}'
    return Measurement(title, 's', found, '' if found else 'does not swing')
