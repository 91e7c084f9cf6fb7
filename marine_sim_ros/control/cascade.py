# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Cascade controller with reference model ('modern'): smooth reference, PID, feed-forward.

τ = M ν̇_d + C(ν) ν + D(ν_r) ν_r + g(η), with ν̇_d = ẍ_r + K_d (ẋ_r − ẋ) + K_p (x_r − x) + z and
ż = K_i (x_r − x) (Fossen 2011, sections 10.2 and 12.2: reference model, PID with acceleration
feed-forward). z stands still in axes of which the thrusters have no more to give; it is an
acceleration, and the gains of one mode become those of the next gradually, so nothing jumps.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.control.controllability import axis_accelerations, axis_speeds
from marine_sim_ros.control.controller_model import ControllerModel
from marine_sim_ros.control.setpoints import attitude_error, body_rates, level_frame, wrap_angle
from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.numerics import approach, limit_vector
from marine_sim_ros.core.schema import REQUIRED, fields_of, nested, number, truth
from marine_sim_ros.core.spatial import (
    cross,
    momentum_rate,
    rotation_matrix,
    rpy_from_quaternion,
    transport,
)
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.drag import damping
from marine_sim_ros.physics.rigid_body import weight

__all__ = ['CASCADE', 'CascadeLaw', 'CascadeSettings']


# Settings of the modern controller.


def _bandwidths(mode: str) -> Any:
    about = f'bandwidths of position and of attitude {mode}'
    return number(REQUIRED, 0.0, 20.0, 'rad/s', about, size=2)


@dataclass(frozen=True)
class Bandwidths:
    """Bandwidths of position and of attitude, by mode, rad/s."""

    station: tuple[float, float] = _bandwidths('at the target')
    transit: tuple[float, float] = _bandwidths('on the way to it')
    velocity: tuple[float, float] = _bandwidths('of set-points that are speeds')


CASCADE_MODES = tuple(fields_of(Bandwidths))


@dataclass(frozen=True)
class CascadeSettings:
    """Settings of the modern controller."""

    bandwidth: Bandwidths = nested(Bandwidths, 'ω of K_p = ω² and K_d = 2 ζ ω', default=REQUIRED)
    damping: float = number(REQUIRED, 0.1, 5.0, '', 'ratio ζ')
    integral: float = number(REQUIRED, 0.0, 1.0, '', 'fraction f of K_i = f ω K_p')
    integral_limit: tuple[float, float] = number(
        REQUIRED, 0.0, 100.0, 'm/s², rad/s²', 'limits of the integral term, linear and angular',
        size=2,
    )  # fmt: skip
    tolerance: tuple[float, float] = number(
        REQUIRED, 0.0, 10.0, 'm, rad', 'errors that the integral leaves alone, against limit '
        'cycles by a dead zone, linear and angular', size=2,
    )  # fmt: skip
    max_speed: float = number(REQUIRED, 1e-3, 10.0, 'm/s', 'largest speed of moving set-points')
    max_turn_rate: float = number(
        REQUIRED, 1e-3, 10.0, 'rad/s', 'largest turn rate of moving set-points'
    )
    filter_time: float = number(
        REQUIRED, 0.0, 10.0, 's', 'time constant of the filter of the measured velocity'
    )
    error_diffusion: bool = truth(
        REQUIRED, 'whether thrust that rounding and the dead zone swallow is made up for in the '
        'next ticks: no limit cycle, and thrusters that stutter'
    )  # fmt: skip


# The modern controller: a smooth reference, a PID that holds the vehicle to it, feed-forward.

NEAR_TOLERANCE = np.array([0.3, 0.3, 0.3, 0.2, 0.2, 0.2])
"""m and rad; a reference farther than this from its target is under way."""
ERROR_LIMIT = np.full(6, 0.3)
"""m and rad; a driven vehicle is not led farther back to where its speeds would have taken it."""
BLENDING = 0.5
"""s in which the gains of one mode become those of the next."""
_CALM_WATER = Environment()
_PAIR_TO_AXES = np.kron(np.eye(2), np.ones((3, 1)))
"""(6, 2): one number for the linear axes and one for the angular ones, for each axis."""


class ReferenceState(NamedTuple):
    """Where the vehicle should be by now: pose (6,) x to yaw, and its rate (6,)."""

    pose: Array
    rate: Array


class CascadeMemory(NamedTuple):
    """What the law carries from tick to tick.

    Attributes:
        held: (6,) which of x to yaw had a target.
        reference: reference pose.
        speed: (6,) reference of the velocity, level frame.
        integral: (6,) of pose errors, m/s² in map and rad/s² in the body frame.
        speed_integral: (6,) of how far it is astray, m/s² in map and rad/s² in the body frame.
        velocity: (6,) of the body, filtered.
        bandwidth: (2,) linear and angular, rad/s, on its way from one mode's to the next's.
        astray: (6,) from where its speeds would have taken it, m in map and rad.
    """

    held: Array
    reference: ReferenceState
    speed: Array
    integral: Array
    speed_integral: Array
    velocity: Array
    bandwidth: Array
    astray: Array


class _TickState(NamedTuple):
    """The state of a tick, its filtered velocity, its attitude in three ways, and the step."""

    state: State
    velocity: Array
    rotation: Array
    rpy: Array
    level: Array
    dt: Any


def _pose_vector(state: State) -> Array:
    xp = namespace(state.position)
    return xp.concat([state.position, rpy_from_quaternion(state.orientation)])


def _anti_windup(integral: Array, step: Array, stuck: Array, most: Array) -> Array:
    """Return the integral after a step; where the thrusters achieve no more, it may only fall."""
    xp = namespace(integral)
    kept = xp.where(stuck & (integral * step >= 0), xp.zeros_like(step), step)
    return xp.clip(integral + kept, -most, most)


@dataclass(frozen=True, eq=False)
class CascadeLaw:
    """The law: (set-points, state, memory) -> (wrench about the centre of mass, memory).

    Attributes:
        vehicle: the vehicle that the controller assumes.
        bandwidth: (3, 2) by mode, of position and of attitude, rad/s.
        damping: ratio ζ.
        integral: K_i = integral · ω K_p.
        most: (6,) of the integral's share, m/s² and rad/s².
        tolerance: (6,) errors of pose that the integral leaves alone, m and rad.
        asked: (6,) speeds of moving set-points, m/s and rad/s.
        able: (6,) speeds at which half the thrust meets the drag.
        strength: (6,) accelerations of full thrust, m/s² and rad/s².
        filter_time: filter time constant of the measured velocity, s.
        error_diffusion: whether what rounding swallows of a thrust is made up for.
    """

    vehicle: Vehicle
    bandwidth: Array
    damping: float
    integral: float
    most: Array
    tolerance: Array
    asked: Array
    able: Array
    strength: Array
    filter_time: float
    error_diffusion: bool

    @cached_property
    def fastest(self) -> Array:
        """How fast (6,) references move: as set, or as half the thrust allows.

        Half of it against the drag, and half of it to accelerate; :func:`approach` accelerates
        with up to ω ẋ_max / 2. Axes the thrusters cannot reach keep what is set.
        """
        transit = self.bandwidth[CASCADE_MODES.index('transit')]
        xp = namespace(transit)
        able = xp.minimum(
            constant(xp, self.able),
            constant(xp, self.strength) / (constant(xp, _PAIR_TO_AXES) @ transit),
        )
        able = xp.where(able > 0, xp.minimum(constant(xp, self.asked), able), self.asked)
        # Linear references move in map, in any direction.
        return xp.concat([xp.zeros_like(able[:3]) + xp.min(able[:3]), able[3:]])

    @cached_property
    def to_center(self) -> Array:
        """(6, 6): wrench about ``base_link`` -> wrench about the centre of mass."""
        return transport(-self.vehicle.inertia.center_of_mass).T

    def begin(self, state: State, *, dt: float | None = None) -> CascadeMemory:
        """Return the memory of a start: bumpless from whatever the vehicle does."""
        del dt
        none = state.velocity * 0.0
        reference = ReferenceState(_pose_vector(state), none)
        transit = none[:2] + self.bandwidth[CASCADE_MODES.index('transit')]
        return CascadeMemory(
            none > 0, reference, state.velocity, none, none, state.velocity, transit, none
        )

    def _reference(
        self, wanted: Array, held: Array, now: _TickState, memory: CascadeMemory
    ) -> tuple[ReferenceState, Array, Array]:
        """Move the reference; return it, its acceleration (6,), and how far it still has to go."""
        xp = namespace(now.velocity)
        none = xp.zeros_like(now.velocity)
        pose = xp.concat([now.state.position, now.rpy])
        drift = xp.concat([now.rotation @ now.state.velocity[:3], none[:3]])
        old = held & memory.held
        at = xp.where(old, memory.reference.pose, pose)
        rate = xp.where(old, memory.reference.rate, xp.where(held, drift, none))
        left = xp.where(held, wanted[:6] - at, none)
        left = xp.concat([left[:3], wrap_angle(left[3:])])
        transit = self.bandwidth[CASCADE_MODES.index('transit')]
        moved, pull = approach(
            left[:3],
            rate[:3],
            bandwidth=transit[0],
            max_rate=self.fastest[0],
            dt=now.dt,
            together=True,
        )
        turned, twist = approach(
            left[3:], rate[3:], bandwidth=transit[1], max_rate=self.fastest[3:], dt=now.dt
        )
        rate = xp.where(held, xp.concat([moved, turned]), none)
        acceleration = xp.where(held, xp.concat([pull, twist]), none)
        return ReferenceState(at + now.dt * rate, rate), acceleration, left

    def _mode(self, driven: Array, left: Array) -> Array:
        """Return the bandwidth (2,) of what is going on."""
        xp = namespace(left)
        station, transit, velocity = (self.bandwidth[i] for i in range(len(CASCADE_MODES)))
        under_way = xp.any(xp.abs(left) > constant(xp, NEAR_TOLERANCE))
        return xp.where(xp.any(driven), velocity, xp.where(under_way, transit, station))

    def wrench(
        self, wanted: Array, state: State, memory: CascadeMemory, *, unachieved: Array, dt: Any
    ) -> tuple[Array, CascadeMemory]:
        """Return the wrench (6,) in the body frame, and what to remember.

        Args:
            wanted: set-points (12,), NaN where free; a position or an angle goes before a speed.
            state: state of this tick.
            memory: memory of the previous tick.
            unachieved: (6,) 1.0 for axes of the last wrench that were not achieved, else 0.0.
            dt: since the tick before, s.
        """
        xp = namespace(state.velocity)
        none = xp.zeros_like(state.velocity)
        held, driven = ~xp.isnan(wanted[:6]), ~xp.isnan(wanted[6:])
        share = dt / (self.filter_time + dt)
        velocity = memory.velocity + (state.velocity - memory.velocity) * share
        rpy = rpy_from_quaternion(state.orientation)
        now = _TickState(
            state, velocity, rotation_matrix(state.orientation), rpy, level_frame(rpy[2]), dt
        )
        reference, feed, left = self._reference(wanted, held, now, memory)
        change = self._mode(driven, left) - memory.bandwidth
        bandwidth = memory.bandwidth + change * (dt / (BLENDING + dt))
        omega = constant(xp, _PAIR_TO_AXES) @ bandwidth
        wish, integral, turn = self._hold(now, held, reference, feed, memory, omega, unachieved)
        push, speed, speed_integral, astray = self._drive(
            now, wanted[6:], driven, memory, omega, unachieved
        )

        # Only the drag of the motion that is wanted is fed forward: it cannot feed on itself.
        led = xp.where(driven, speed, none)
        along = xp.concat(
            [
                xp.where(held[:3], reference.rate[:3], now.level @ led[:3]),
                xp.where(held[3:], turn, led[3:]),
            ]
        )
        wish = xp.where(held, wish, push)
        wrench = self._demand(now, wish, along)
        pull = now.rotation @ wrench[:3]
        free = xp.where(held[:3], none[:3], pull)
        steered = now.level @ xp.where(driven[:3], free @ now.level, none[:3])
        force = (xp.where(held[:3], pull, none[:3]) + steered) @ now.rotation
        moment = xp.where(held[3:] | driven[3:], wrench[3:], none[3:])
        memory = CascadeMemory(
            held, reference, speed, integral, speed_integral, velocity, bandwidth, astray
        )
        return xp.concat([force, moment]), memory

    def _hold(
        self,
        now: _TickState,
        held: Array,
        reference: ReferenceState,
        feed: Array,
        memory: CascadeMemory,
        omega: Array,
        unachieved: Array,
    ) -> tuple[Array, Array, Array]:
        """Return the acceleration (6,) that holds a pose, the integral, and the turn rates (3,).

        Linear axes in map, angular axes in the body frame.
        """
        xp = namespace(omega)
        none = xp.zeros_like(omega)
        turn = body_rates(now.rpy, reference.rate[3:])
        turned = attitude_error(
            now.state.orientation, xp.where(held[3:], reference.pose[3:], now.rpy)
        )
        away = reference.pose[:3] - now.state.position
        error = xp.where(held, xp.concat([away, turned]), none)
        slow = xp.concat(
            [reference.rate[:3] - now.rotation @ now.velocity[:3], turn - now.velocity[3:]]
        )
        integral = xp.where(held, memory.integral, none)
        beyond = error - xp.clip(error, -self.tolerance, self.tolerance)
        step = now.dt * self.integral * omega**3 * beyond
        integral = _anti_windup(integral, step, _saturated_axes(now, unachieved), self.most)
        wish = feed + 2 * self.damping * omega * slow + omega**2 * error + integral
        return wish, integral, turn

    def _drive(
        self,
        now: _TickState,
        target: Array,
        driven: Array,
        memory: CascadeMemory,
        omega: Array,
        unachieved: Array,
    ) -> tuple[Array, Array, Array, Array]:
        """Return the acceleration (6,) that keeps a speed, its reference, its integral, and e.

        ẍ = v̇_r + 2ζω (v_r − v) + ω² e + z with e = ∫ (v_r − v) dt and ż = K_i e: the PID that
        holds a pose, on one that moves along at the speed. The speeds are those of the level
        frame; e and z are in map, where a current stays as it is while the vehicle turns, those
        of turning in the body frame.
        """
        xp = namespace(omega)
        none = xp.zeros_like(omega)
        velocity = xp.concat([now.rotation @ now.velocity[:3] @ now.level, now.velocity[3:]])
        begun = xp.where(driven, memory.speed, velocity)
        quick = constant(xp, _PAIR_TO_AXES) @ self.bandwidth[CASCADE_MODES.index('velocity')]
        change = limit_vector(
            xp.where(driven, target - begun, none), now.dt * quick * self.fastest, together=False
        )
        speed = begun + change
        lag = xp.where(driven, speed - velocity, none)
        push = change / now.dt + 2 * self.damping * omega * lag
        # The level frame turns: to go round takes a centripetal acceleration.
        inward = now.velocity[5] * xp.stack([-velocity[1], velocity[0], 0.0 * velocity[2]])
        push = xp.concat([now.level @ (push[:3] + inward), push[3:]])
        lag = xp.concat([now.level @ lag[:3], lag[3:]])
        steered = xp.concat([driven[:3] | xp.any(driven[:3]), driven[3:]])
        stuck = _saturated_axes(now, unachieved)
        astray = _anti_windup(
            xp.where(steered, memory.astray, none), now.dt * lag, stuck, ERROR_LIMIT
        )
        integral = xp.where(steered, memory.speed_integral, none)
        step = now.dt * self.integral * omega**3 * astray
        integral = _anti_windup(integral, step, stuck, self.most)
        return push + omega**2 * astray + integral, speed, integral, astray

    def _demand(self, now: _TickState, wish: Array, along: Array) -> Array:
        """Return the wrench (6,) about the centre of mass that gives an acceleration (6,).

        Acceleration and the velocity ``along`` which drag is fed forward: linear parts in map.
        """
        xp = namespace(wish)
        vehicle, nu = self.vehicle, now.state.velocity
        mass = constant(xp, vehicle.mass_matrix)
        linear = wish[:3] @ now.rotation - cross(nu[3:], nu[:3])
        wrench = mass @ xp.concat([linear, wish[3:]]) + momentum_rate(nu, mass @ nu)
        moving = xp.concat([along[:3] @ now.rotation, along[3:]])
        wrench = wrench - damping(vehicle, now.state._replace(velocity=moving), _CALM_WATER)
        wrench = (
            wrench
            - buoyancy(vehicle, now.state, _CALM_WATER)
            - weight(vehicle, now.state, _CALM_WATER)
        )
        return constant(xp, self.to_center) @ wrench


def _saturated_axes(now: _TickState, unachieved: Array) -> Array:
    """Return of which axes (6,) the thrusters have no more to give, linear ones in map."""
    xp = namespace(unachieved)
    return xp.concat([xp.abs(now.rotation) @ unachieved[:3] > 0.5, unachieved[3:] > 0.5])


def cascade_law(settings: CascadeSettings, vehicle: Vehicle) -> CascadeLaw:
    """Return the law of some settings for a vehicle."""
    return CascadeLaw(
        vehicle=vehicle,
        bandwidth=np.array(astuple(settings.bandwidth), float),
        damping=settings.damping,
        integral=settings.integral,
        most=np.repeat(settings.integral_limit, 3),
        tolerance=np.repeat(settings.tolerance, 3),
        asked=np.repeat([settings.max_speed, settings.max_turn_rate], 3),
        able=axis_speeds(vehicle, 0.5),
        strength=axis_accelerations(vehicle),
        filter_time=settings.filter_time,
        error_diffusion=settings.error_diffusion,
    )


CASCADE = ControllerModel('modern', CascadeSettings, law=cascade_law, label='Modern', scalar=True)
