# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Allocation to fins, moving masses and buoyancy engines, and the controller of gliders.

At a surge speed u a deflection δ of a fin makes a lift ½ ρ u |u| A a δ (a: lift slope), so the
moment is linear in δ, and δ = E⁺ τ / (½ ρ u |u|); thrusters get the remainder (daisy chaining:
Durham, Bordignon & Beck 2017, "Aircraft Control Allocation"). Below u₀ = MIN_SPEED fins are
ineffective: their moment is reduced by (u/u₀)⁴, to 0 at rest.

The glide controller flies a sawtooth between two depths: it commands a constant heave force,
downwards until the depth set-point and upwards until the top, and a pitch moment by PID for the
glide's pitch. It steers to a heading, or by its course to a point, with a rudder, or without one
with a moment about roll: an inclined glider turns. Buoyancy engines take the heave force, moving
masses the moments about roll and pitch, fins the moment about yaw. Source of the cycle: Graver
(2005), Underwater gliders: dynamics, control and design, section 6.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.control.controllability import controllability
from marine_sim_ros.control.controller_model import ControllerModel
from marine_sim_ros.control.line_of_sight import LineOfSight
from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.schema import REQUIRED, declaration, number
from marine_sim_ros.core.spatial import rpy_from_quaternion, transport, wrap_angle
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import STANDARD_GRAVITY
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.arm.links import link_poses
from marine_sim_ros.physics.arm.manipulator import arm_inertia
from marine_sim_ros.physics.fins import fins_of
from marine_sim_ros.physics.moving_masses import MOVING_MASSES

__all__ = ['GLIDE', 'make_fin_allocation', 'make_moving_mass_allocation', 'make_volume_allocation']

MIN_SPEED = 0.3
"""Surge speed u₀ below which fins produce less than the commanded moment, m/s."""
FIN_COUPLING_LIMIT = 0.1
"""Fraction of a moment that fins must produce independently of other moments, or they are not
used for it."""
LOOKAHEAD = 5.0
"""Look-ahead distance Δ of depth control by pitch, m."""
MAX_DIVE_PITCH = 0.4
"""Largest pitch of depth control, rad."""


@dataclass(frozen=True, eq=False)
class FinAllocation:
    """Allocation stage of m fins: deflections for a moment at a speed.

    Attributes:
        effect: (6, m) wrench about the allocation's point per ½ ρ u |u| and radian.
        gain: (m, 6) radians per wrench divided by ½ ρ u |u|.
        lower: (m,) rad.
        upper: (m,) rad.
        density: of the water, kg/m³.
        dives: whether depth is controlled by pitch: without heave thrusters, with fins that pitch.
    """

    effect: np.ndarray
    gain: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    density: float
    dives: bool

    @property
    def axes(self) -> np.ndarray:
        """(6,) axes of the wrench that fins command at speed."""
        return np.any(self.gain != 0, axis=0)

    def allocate(self, wrench: Array, speed: Array) -> tuple[Array, Array]:
        """Return deflections (m,) in rad for a wrench (6,) at a surge speed, and their wrench.

        Args:
            wrench: about the allocation's point, body frame.
            speed: () ahead, m/s.
        """
        xp = namespace(wrench)
        half_density = 0.5 * self.density
        flow = speed * xp.abs(speed)
        speed_squared = xp.maximum(speed * speed, MIN_SPEED**2 + 0.0 * speed)
        unlimited = (constant(xp, self.gain) @ wrench) * (
            flow / (half_density * speed_squared * speed_squared)
        )
        lower, upper = constant(xp, self.lower), constant(xp, self.upper)
        angles = xp.minimum(xp.maximum(unlimited, lower), upper)
        return angles, (constant(xp, self.effect) @ angles) * (half_density * flow)

    def guide(self, setpoint: Array, height: Array) -> Array:
        """Return set-points (12,) with a pitch in place of a depth, if the vehicle dives by pitch.

        Line of sight in the vertical plane: θ = −atan((z_d − z)/Δ), nose down positive, within
            MAX_DIVE_PITCH (Fossen 2011, section 10.3, line-of-sight steering).

        Args:
            setpoint: set-points, NaN where free.
            height: z of the vehicle in map, m.
        """
        if not self.dives:
            return setpoint
        xp = namespace(setpoint)
        free = xp.isnan(setpoint[2:3])
        error = xp.where(free, 0.0 * height, setpoint[2:3] - height)
        pitch = xp.clip(-xp.atan2(error, LOOKAHEAD + 0.0 * error), -MAX_DIVE_PITCH, MAX_DIVE_PITCH)
        pitch = xp.where(free, setpoint[4:5], pitch)
        free_height = 0.0 * height + math.nan
        return xp.concat([setpoint[:2], free_height, setpoint[3:4], pitch, setpoint[5:]])


def _independent_rows(rows: np.ndarray) -> list[int]:
    """Return the rows, in the order yaw, pitch, roll, that fins command independently."""
    independent: list[int] = []
    basis = np.zeros((0, rows.shape[1]))
    for axis in (2, 1, 0):
        row = rows[axis]
        remainder = row - basis.T @ (basis @ row)
        size = float(np.linalg.norm(remainder))
        if size > FIN_COUPLING_LIMIT * np.linalg.norm(row) and size > 1e-9:
            independent.append(axis)
            basis = np.vstack([basis, remainder / size])
    return independent


def make_fin_allocation(vehicle: Vehicle) -> FinAllocation:
    """Return the allocation to a vehicle's fins, of wrenches about its centre of mass."""
    fins = fins_of(vehicle)
    assert fins is not None
    center_of_mass = vehicle.inertia.center_of_mass
    ahead = fins.chordwise[:, 0] * np.abs(fins.chordwise[:, 0])
    force = fins.normal_to_chord.T * (fins.area * fins.lift_slope * ahead)
    effect = np.asarray(transport(-center_of_mass).T @ force)
    unit = np.minimum(fins.upper, -fins.lower)
    unit = np.where(unit > 0, unit, np.maximum(fins.upper, -fins.lower))
    independent = _independent_rows(effect[3:] * unit)
    gain = np.zeros((len(fins), 6))
    if independent:
        columns = [3 + axis for axis in independent]
        gain[:, columns] = unit[:, None] * np.linalg.pinv(effect[columns] * unit)
    unreachable = controllability(vehicle.thrusters, center_of_mass).unreachable
    return FinAllocation(
        effect,
        gain,
        fins.lower,
        fins.upper,
        float(vehicle.buoyancy.fluid_density),
        'heave' in unreachable and 1 in independent,
    )


# Settings.


@declaration(frozen=True)
class GlideSettings:
    """Settings of the controller ``glide``."""

    top: float = number(REQUIRED, 0.0, 12e3, 'm', 'depth at which it turns down again')
    pitch: float = number(
        REQUIRED, 0.0, 1.5, 'rad', 'pitch of the glide without a set-point of pitch'
    )
    force: float = number(REQUIRED, 0.0, 1e6, 'N', 'net weight down, and net buoyancy up')
    kp: float = number(REQUIRED, 0.0, 1e6, 'N·m/rad', 'pitch moment per error')
    ki: float = number(REQUIRED, 0.0, 1e6, 'N·m/(rad s)', 'of its integral')
    kd: float = number(REQUIRED, 0.0, 1e6, 'N·m·s/rad', 'of the pitch rate')
    integral_limit: float = number(REQUIRED, 0.0, 1e6, 'N·m', 'largest moment of the integral')
    heading_kp: float = number(0.0, 0.0, 1e6, 'N·m/rad', 'steering moment per error of heading')
    heading_limit: float = number(0.0, 0.0, 1e6, 'N·m', 'largest steering moment')


# The law.

_TURNS_TO_PORT = 0.2
"""Errors of heading up to this beyond π turn to port: a point right astern has one side, rad."""


class GlideMemory(NamedTuple):
    """State of the cycle: direction (1,), 1 down or −1 up, and moment of the integral (1,)."""

    direction: Array
    integral: Array


@dataclass(frozen=True, eq=False)
class GlideLaw:
    """Law of the glide: (set-points, state, memory) -> (wrench, memory)."""

    settings: GlideSettings
    has_rudder: bool = False
    error_diffusion: bool = False

    def begin(self, state: State, *, dt: float | None = None) -> GlideMemory:
        """Return the memory of a start downwards."""
        del dt
        zero = 0.0 * state.position[2:3]
        return GlideMemory(zero + 1.0, zero)

    def wrench(
        self, setpoint: Array, state: State, memory: GlideMemory, *, unachieved: Array, dt: Any
    ) -> tuple[Array, GlideMemory]:
        """Return the wrench (6,) about the centre of mass, and the next memory.

        Args:
            setpoint: set-points (12,); of these z is the depth at which it turns up, and pitch
                the magnitude of the glide's pitch; without a z it stays neutral. It steers to
                yaw, or to the point x, y.
            state: state of the vehicle.
            memory: memory of the step before.
            unachieved: axes (6,) that fell short; the integral waits while pitch does.
            dt: since the step before, s.
        """
        s, xp = self.settings, namespace(state.velocity)
        height, target = state.position[2:3], setpoint[2:3]
        glides = ~xp.isnan(target)
        deep, shallow = height <= target, height >= -s.top
        direction = xp.where(deep, -1.0 + 0.0 * height, memory.direction)
        direction = xp.where(shallow & ~deep, 1.0 + 0.0 * height, direction)
        pitch = xp.where(xp.isnan(setpoint[4:5]), s.pitch + 0.0 * height, setpoint[4:5])
        wanted = xp.where(glides, direction * pitch, 0.0 * height)
        error = wanted - rpy_from_quaternion(state.orientation)[1:2]
        rises = memory.integral + s.ki * error * dt * (1.0 - unachieved[4:5])
        integral = xp.clip(rises, -s.integral_limit, s.integral_limit)
        moment = s.kp * error + integral - s.kd * state.velocity[4:5]
        force = xp.where(glides, -s.force * direction, 0.0 * height)
        zero = 0.0 * state.velocity[:1]
        steering = xp.where(glides, self._steering(setpoint, state), zero)
        about = [zero, moment, steering] if self.has_rudder else [steering, moment, zero]
        return xp.concat([zero, zero, force, *about]), GlideMemory(direction, integral)

    def _steering(self, setpoint: Array, state: State) -> Array:
        """Return the moment (1,) that turns to the heading or to the point; 0 without either."""
        s, xp = self.settings, namespace(state.velocity)
        heading = LineOfSight().guide(setpoint, state)[5:6]
        yaw = rpy_from_quaternion(state.orientation)[2:3]
        free = xp.isnan(heading)
        error = xp.where(free, yaw, heading) - yaw
        error = wrap_angle(error - _TURNS_TO_PORT) + _TURNS_TO_PORT
        error = xp.where(free, 0.0 * yaw, error)
        return xp.clip(s.heading_kp * error, -s.heading_limit, s.heading_limit)


# Stages of the allocation: volumes for a heave force, positions of masses for moments.


@dataclass(frozen=True, eq=False)
class LinearAllocation:
    """Commands (k,) that are linear in the wrench, within limits.

    Attributes:
        effect: (6, k) wrench about the allocation's point per command.
        gain: (k, 6) command per wrench.
        lower: (k,) lowest commands.
        upper: (k,) highest commands.
    """

    effect: np.ndarray
    gain: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def axes(self) -> np.ndarray:
        """(6,) axes of the wrench that it commands."""
        return np.any(self.gain != 0, axis=0)

    def guide(self, setpoint: Array, height: Array) -> Array:
        """Return the set-points unchanged."""
        del height
        return setpoint

    def allocate(self, wrench: Array, speed: Array) -> tuple[Array, Array]:
        """Return the commands (k,) for a wrench (6,), and their wrench."""
        del speed
        xp = namespace(wrench)
        unlimited = constant(xp, self.gain) @ wrench
        lower, upper = constant(xp, self.lower), constant(xp, self.upper)
        commands = xp.minimum(xp.maximum(unlimited, lower), upper)
        return commands, constant(xp, self.effect) @ commands


def _linear_allocation(
    vehicle: Vehicle,
    effect: np.ndarray,
    axes: Sequence[str],
    limits: tuple[np.ndarray, np.ndarray],
) -> LinearAllocation:
    """Return the allocation on those of some axes that the thrusters cannot command."""
    unreachable = controllability(vehicle.thrusters, vehicle.inertia.center_of_mass).unreachable
    rows = [i for name, i in _ROWS.items() if name in axes and name in unreachable]
    used = np.zeros_like(effect)
    used[rows] = effect[rows]
    return LinearAllocation(used, np.linalg.pinv(used), *limits)


_ROWS = {'heave': 2, 'roll': 3, 'pitch': 4}


def make_volume_allocation(vehicle: Vehicle) -> LinearAllocation:
    """Return the allocation of heave to buoyancy engines, where nothing else commands depth.

    ρ g V each; moments of engines beside the centre of mass are left to the masses. An engine is
    still where thrusters command heave, or where depth is controlled by pitch.
    """
    engines = vehicle.extensions['buoyancy_engines']
    effect = np.zeros((6, len(engines)))
    effect[2] = vehicle.buoyancy.fluid_density * STANDARD_GRAVITY
    dives = fins_of(vehicle) is not None and make_fin_allocation(vehicle).dives
    axes = () if dives else ('heave',)
    return _linear_allocation(vehicle, effect, axes, (engines.lower, engines.upper))


def make_moving_mass_allocation(vehicle: Vehicle) -> LinearAllocation:
    """Return the allocation of roll and pitch to moving masses, where no thruster commands them.

    The moment of the weight about the hull's own axes, level: m g ∂(y, −x)/∂q at the joints' zero.
    """
    arm = vehicle.manipulator
    names = MOVING_MASSES.names(vehicle)
    effect = np.zeros((6, len(names)))
    limits = np.zeros((2, len(names)))
    if arm is not None:
        small = 1e-4
        for column, name in enumerate(names):
            joint = arm.names.index(name)
            step = small * (np.arange(len(arm)) == joint)
            ahead, behind = (arm_inertia(arm, link_poses(arm, s))[0] for s in (step, -step))
            moved = ahead.mass * (ahead.center_of_mass - behind.center_of_mass) / (2 * small)
            effect[3:5, column] = STANDARD_GRAVITY * np.array([-moved[1], moved[0]])
            limits[:, column] = arm.lower[joint], arm.upper[joint]
    return _linear_allocation(vehicle, effect, ('roll', 'pitch'), (limits[0], limits[1]))


def _glide_law(settings: GlideSettings, vehicle: Vehicle) -> GlideLaw:
    fins = fins_of(vehicle)
    has_rudder = fins is not None and bool(make_fin_allocation(vehicle).axes[5])
    return GlideLaw(settings, has_rudder)


GLIDE = ControllerModel('glide', GlideSettings, law=_glide_law, label='Glide')
