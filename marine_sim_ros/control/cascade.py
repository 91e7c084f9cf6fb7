# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Cascade controller with reference model ('modern'): smooth reference, PID, feed-forward.

τ = M ν̇_d + C(ν) ν + D(ν_r) ν_r + g(η), with ν̇_d = ẍ_r + K_d (ẋ_r − ẋ) + K_p (x_r − x) + z and
ż = K_i (x_r − x) (Fossen 2011, sections 10.2 and 12.2: reference model, PID with acceleration
feed-forward). In axes where the thrusters are saturated, z may only decrease (anti-windup). z is
an acceleration and the bandwidths of the modes are blended, so that a change of mode is bumpless.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.control.controllability import axis_accelerations, axis_speeds
from marine_sim_ros.control.controller_model import ControllerModel
from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.numerics import approach, limit_vector
from marine_sim_ros.core.schema import REQUIRED, declaration, fields_of, nested, number, truth
from marine_sim_ros.core.spatial import (
    attitude_error,
    body_rates,
    cross,
    level_frame,
    momentum_rate,
    rotation_matrix,
    rpy_from_quaternion,
    transport,
    wrap_angle,
)
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.drag import damping
from marine_sim_ros.physics.rigid_body import weight

__all__ = ['CASCADE', 'CascadeLaw', 'CascadeSettings']


# Settings.


def _bandwidths(mode: str) -> Any:
    text = f'bandwidths of position and of attitude {mode}'
    return number(REQUIRED, 0.0, 20.0, 'rad/s', text, size=2)


@dataclass(frozen=True)
class Bandwidths:
    """Bandwidths of position and of attitude, by mode, rad/s."""

    station: tuple[float, float] = _bandwidths('at the target')
    transit: tuple[float, float] = _bandwidths('on the way to it')
    velocity: tuple[float, float] = _bandwidths('of set-points that are speeds')


CASCADE_MODES = tuple(fields_of(Bandwidths))


@declaration(frozen=True)
class CascadeSettings:
    """Settings of the cascade controller."""

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


# The law: a smooth reference, a PID that tracks it, feed-forward.

NEAR_TOLERANCE = np.array([0.3, 0.3, 0.3, 0.2, 0.2, 0.2])
"""Errors, m and rad, beyond which a reference is in transit to its target."""
ERROR_LIMIT = np.full(6, 0.3)
"""Bound of the integrated speed error, m and rad."""
BLENDING = 0.5
"""Time constant of the change from one mode's bandwidths to the next's, s."""
_CALM_WATER = Environment()
_PAIR_TO_AXES = np.kron(np.eye(2), np.ones((3, 1)))
"""(6, 2): repeats a number for the linear axes and one for the angular axes."""


class ReferenceState(NamedTuple):
    """Reference pose (6,) x to yaw, and its rate (6,)."""

    pose: Array
    rate: Array


class CascadeMemory(NamedTuple):
    """State of the law.

    Attributes:
        pose_controlled: (6,) whether x to yaw had a target in the previous tick.
        reference: reference pose.
        speed_reference: (6,) velocity reference, level frame, m/s and rad/s.
        integral: (6,) integral term of pose errors, m/s² in map and rad/s² in the body frame.
        displacement_integral: (6,) integral term of the displacement, in the same frames.
        velocity: (6,) filtered body velocity.
        bandwidth: (2,) linear and angular, rad/s, blended between modes.
        displacement: (6,) integral of the speed error, m in map and rad in the body frame.
    """

    pose_controlled: Array
    reference: ReferenceState
    speed_reference: Array
    integral: Array
    displacement_integral: Array
    velocity: Array
    bandwidth: Array
    displacement: Array


class _TickState(NamedTuple):
    """State, filtered velocity, attitude as matrix, angles and level frame, and step of a tick."""

    state: State
    velocity: Array
    rotation: Array
    rpy: Array
    level: Array
    dt: Any


def _pose_vector(state: State) -> Array:
    xp = namespace(state.position)
    return xp.concat([state.position, rpy_from_quaternion(state.orientation)])


def _anti_windup(integral: Array, step: Array, saturated: Array, limit: Array) -> Array:
    """Return the integral after a step; in saturated axes its magnitude may only decrease."""
    xp = namespace(integral)
    allowed = xp.where(saturated & (integral * step >= 0), xp.zeros_like(step), step)
    return xp.clip(integral + allowed, -limit, limit)


@dataclass(frozen=True, eq=False)
class CascadeLaw:
    """The law: (set-points, state, memory) -> (wrench about the centre of mass, memory).

    Attributes:
        vehicle: the vehicle that the controller assumes.
        bandwidth: (3, 2) by mode, of position and of attitude, rad/s.
        damping: ratio ζ.
        integral: K_i = integral · ω K_p.
        integral_limit: (6,) bound of the integral term, m/s² and rad/s².
        tolerance: (6,) errors of pose below which the integral does not grow, m and rad.
        commanded_speed: (6,) configured speeds of moving set-points, m/s and rad/s.
        max_speed: (6,) speeds at which half the thrust balances the drag, m/s and rad/s.
        max_acceleration: (6,) accelerations at full thrust, m/s² and rad/s².
        filter_time: filter time constant of the measured velocity, s.
        error_diffusion: whether the next ticks compensate thrust lost by rounding.
    """

    vehicle: Vehicle
    bandwidth: Array
    damping: float
    integral: float
    integral_limit: Array
    tolerance: Array
    commanded_speed: Array
    max_speed: Array
    max_acceleration: Array
    filter_time: float
    error_diffusion: bool

    @cached_property
    def reference_speed(self) -> Array:
        """Speeds (6,) of moving references: as configured, or as half the thrust allows.

        Half the thrust is for the drag and half to accelerate; :func:`approach` accelerates with
        up to ω ẋ_max / 2. Unreachable axes keep the configured speed.
        """
        transit = self.bandwidth[CASCADE_MODES.index('transit')]
        xp = namespace(transit)
        max_speed = xp.minimum(
            constant(xp, self.max_speed),
            constant(xp, self.max_acceleration) / (constant(xp, _PAIR_TO_AXES) @ transit),
        )
        max_speed = xp.where(
            max_speed > 0,
            xp.minimum(constant(xp, self.commanded_speed), max_speed),
            self.commanded_speed,
        )
        # Linear references move in map, in any direction.
        return xp.concat([xp.zeros_like(max_speed[:3]) + xp.min(max_speed[:3]), max_speed[3:]])

    @cached_property
    def to_center(self) -> Array:
        """(6, 6): wrench about ``base_link`` -> wrench about the centre of mass."""
        return transport(-self.vehicle.inertia.center_of_mass).T

    def begin(self, state: State, *, dt: float | None = None) -> CascadeMemory:
        """Return the memory of a bumpless start from the vehicle's present motion."""
        del dt
        none = state.velocity * 0.0
        reference = ReferenceState(_pose_vector(state), none)
        transit = none[:2] + self.bandwidth[CASCADE_MODES.index('transit')]
        return CascadeMemory(
            none > 0, reference, state.velocity, none, none, state.velocity, transit, none
        )

    def _reference(
        self, setpoint: Array, is_controlled: Array, tick: _TickState, memory: CascadeMemory
    ) -> tuple[ReferenceState, Array, Array]:
        """Advance the reference; return it, its acceleration (6,) and the remaining error (6,)."""
        xp = namespace(tick.velocity)
        none = xp.zeros_like(tick.velocity)
        pose = xp.concat([tick.state.position, tick.rpy])
        map_velocity = xp.concat([tick.rotation @ tick.state.velocity[:3], none[:3]])
        continued = is_controlled & memory.pose_controlled
        pose_reference = xp.where(continued, memory.reference.pose, pose)
        rate = xp.where(
            continued, memory.reference.rate, xp.where(is_controlled, map_velocity, none)
        )
        remaining = xp.where(is_controlled, setpoint[:6] - pose_reference, none)
        remaining = xp.concat([remaining[:3], wrap_angle(remaining[3:])])
        transit = self.bandwidth[CASCADE_MODES.index('transit')]
        linear_rate, linear_acceleration = approach(
            remaining[:3],
            rate[:3],
            bandwidth=transit[0],
            max_rate=self.reference_speed[0],
            dt=tick.dt,
            together=True,
        )
        angular_rate, angular_acceleration = approach(
            remaining[3:],
            rate[3:],
            bandwidth=transit[1],
            max_rate=self.reference_speed[3:],
            dt=tick.dt,
        )
        rate = xp.where(is_controlled, xp.concat([linear_rate, angular_rate]), none)
        acceleration = xp.where(
            is_controlled, xp.concat([linear_acceleration, angular_acceleration]), none
        )
        return ReferenceState(pose_reference + tick.dt * rate, rate), acceleration, remaining

    def _mode(self, speed_controlled: Array, remaining: Array) -> Array:
        """Return the bandwidth (2,) of the mode: speed control, transit, or station keeping."""
        xp = namespace(remaining)
        station, transit, velocity = (self.bandwidth[i] for i in range(len(CASCADE_MODES)))
        under_way = xp.any(xp.abs(remaining) > constant(xp, NEAR_TOLERANCE))
        return xp.where(xp.any(speed_controlled), velocity, xp.where(under_way, transit, station))

    def wrench(
        self, setpoint: Array, state: State, memory: CascadeMemory, *, unachieved: Array, dt: Any
    ) -> tuple[Array, CascadeMemory]:
        """Return the wrench (6,) in the body frame, and the next memory.

        Args:
            setpoint: set-points (12,), NaN where free; a position or an angle goes before a speed.
            state: state of this tick.
            memory: memory of the previous tick.
            unachieved: (6,) 1.0 for axes of the last wrench that were not achieved, else 0.0.
            dt: since the tick before, s.
        """
        xp = namespace(state.velocity)
        none = xp.zeros_like(state.velocity)
        pose_controlled, speed_controlled = ~xp.isnan(setpoint[:6]), ~xp.isnan(setpoint[6:])
        filter_gain = dt / (self.filter_time + dt)
        velocity = memory.velocity + (state.velocity - memory.velocity) * filter_gain
        rpy = rpy_from_quaternion(state.orientation)
        tick = _TickState(
            state, velocity, rotation_matrix(state.orientation), rpy, level_frame(rpy[2]), dt
        )
        reference, feed_forward, remaining = self._reference(
            setpoint, pose_controlled, tick, memory
        )
        change = self._mode(speed_controlled, remaining) - memory.bandwidth
        bandwidth = memory.bandwidth + change * (dt / (BLENDING + dt))
        omega = constant(xp, _PAIR_TO_AXES) @ bandwidth
        acceleration, integral, body_turn_rate = self._hold(
            tick, pose_controlled, reference, feed_forward, memory, omega, unachieved
        )
        speed_acceleration, speed, speed_integral, astray = self._drive(
            tick, setpoint[6:], speed_controlled, memory, omega, unachieved
        )

        # Drag of the reference motion, not of the measured one: no positive feedback.
        speed_target = xp.where(speed_controlled, speed, none)
        feed_forward_velocity = xp.concat(
            [
                xp.where(pose_controlled[:3], reference.rate[:3], tick.level @ speed_target[:3]),
                xp.where(pose_controlled[3:], body_turn_rate, speed_target[3:]),
            ]
        )
        acceleration = xp.where(pose_controlled, acceleration, speed_acceleration)
        wrench = self._demand(tick, acceleration, feed_forward_velocity)
        map_force = tick.rotation @ wrench[:3]
        uncontrolled_force = xp.where(pose_controlled[:3], none[:3], map_force)
        speed_force = tick.level @ xp.where(
            speed_controlled[:3], uncontrolled_force @ tick.level, none[:3]
        )
        force = (xp.where(pose_controlled[:3], map_force, none[:3]) + speed_force) @ tick.rotation
        moment = xp.where(pose_controlled[3:] | speed_controlled[3:], wrench[3:], none[3:])
        memory = CascadeMemory(
            pose_controlled,
            reference,
            speed,
            integral,
            speed_integral,
            velocity,
            bandwidth,
            astray,
        )
        return xp.concat([force, moment]), memory

    def _hold(
        self,
        tick: _TickState,
        pose_controlled: Array,
        reference: ReferenceState,
        feed_forward: Array,
        memory: CascadeMemory,
        omega: Array,
        unachieved: Array,
    ) -> tuple[Array, Array, Array]:
        """Return the acceleration (6,) for a pose, the integral, and reference turn rates (3,).

        Linear axes in map, angular axes in the body frame.
        """
        xp = namespace(omega)
        none = xp.zeros_like(omega)
        body_turn_rate = body_rates(tick.rpy, reference.rate[3:])
        attitude_error_vector = attitude_error(
            tick.state.orientation, xp.where(pose_controlled[3:], reference.pose[3:], tick.rpy)
        )
        position_error = reference.pose[:3] - tick.state.position
        error = xp.where(pose_controlled, xp.concat([position_error, attitude_error_vector]), none)
        rate_error = xp.concat(
            [
                reference.rate[:3] - tick.rotation @ tick.velocity[:3],
                body_turn_rate - tick.velocity[3:],
            ]
        )
        integral = xp.where(pose_controlled, memory.integral, none)
        excess = error - xp.clip(error, -self.tolerance, self.tolerance)
        step = tick.dt * self.integral * omega**3 * excess
        integral = _anti_windup(
            integral, step, _saturated_axes(tick, unachieved), self.integral_limit
        )
        acceleration = (
            feed_forward + 2 * self.damping * omega * rate_error + omega**2 * error + integral
        )
        return acceleration, integral, body_turn_rate

    def _drive(
        self,
        tick: _TickState,
        target: Array,
        speed_controlled: Array,
        memory: CascadeMemory,
        omega: Array,
        unachieved: Array,
    ) -> tuple[Array, Array, Array, Array]:
        """Return the acceleration (6,) for a speed, its reference, its integral, and e.

        ẍ = v̇_r + 2ζω (v_r − v) + ω² e + z with e = ∫ (v_r − v) dt and ż = K_i e: the PID of a
        pose that moves at the speed. Speeds are in the level frame; linear e and z are in map,
        where a current is constant while the vehicle turns; angular ones are in the body frame.
        """
        xp = namespace(omega)
        none = xp.zeros_like(omega)
        velocity = xp.concat([tick.rotation @ tick.velocity[:3] @ tick.level, tick.velocity[3:]])
        initial_speed = xp.where(speed_controlled, memory.speed_reference, velocity)
        velocity_bandwidth = (
            constant(xp, _PAIR_TO_AXES) @ self.bandwidth[CASCADE_MODES.index('velocity')]
        )
        change = limit_vector(
            xp.where(speed_controlled, target - initial_speed, none),
            tick.dt * velocity_bandwidth * self.reference_speed,
            together=False,
        )
        speed = initial_speed + change
        speed_error = xp.where(speed_controlled, speed - velocity, none)
        acceleration = change / tick.dt + 2 * self.damping * omega * speed_error
        # The level frame rotates: a constant speed in it needs a centripetal acceleration.
        centripetal = tick.velocity[5] * xp.stack([-velocity[1], velocity[0], 0.0 * velocity[2]])
        acceleration = xp.concat([tick.level @ (acceleration[:3] + centripetal), acceleration[3:]])
        speed_error = xp.concat([tick.level @ speed_error[:3], speed_error[3:]])
        integrated = xp.concat(
            [speed_controlled[:3] | xp.any(speed_controlled[:3]), speed_controlled[3:]]
        )
        saturated = _saturated_axes(tick, unachieved)
        displacement = _anti_windup(
            xp.where(integrated, memory.displacement, none),
            tick.dt * speed_error,
            saturated,
            ERROR_LIMIT,
        )
        integral = xp.where(integrated, memory.displacement_integral, none)
        step = tick.dt * self.integral * omega**3 * displacement
        integral = _anti_windup(integral, step, saturated, self.integral_limit)
        return acceleration + omega**2 * displacement + integral, speed, integral, displacement

    def _demand(
        self, tick: _TickState, acceleration: Array, feed_forward_velocity: Array
    ) -> Array:
        """Return the wrench (6,) about the centre of mass for an acceleration (6,).

        Drag is that of ``feed_forward_velocity`` (6,). Linear parts of both are in map.
        """
        xp = namespace(acceleration)
        vehicle, nu = self.vehicle, tick.state.velocity
        mass = constant(xp, vehicle.mass_matrix)
        linear = acceleration[:3] @ tick.rotation - cross(nu[3:], nu[:3])
        wrench = mass @ xp.concat([linear, acceleration[3:]]) + momentum_rate(nu, mass @ nu)
        drag_velocity = xp.concat(
            [feed_forward_velocity[:3] @ tick.rotation, feed_forward_velocity[3:]]
        )
        wrench = wrench - damping(
            vehicle, tick.state._replace(velocity=drag_velocity), _CALM_WATER
        )
        wrench = (
            wrench
            - buoyancy(vehicle, tick.state, _CALM_WATER)
            - weight(vehicle, tick.state, _CALM_WATER)
        )
        return constant(xp, self.to_center) @ wrench


def _saturated_axes(tick: _TickState, unachieved: Array) -> Array:
    """Return the saturated axes (6,), linear ones in map."""
    xp = namespace(unachieved)
    return xp.concat([xp.abs(tick.rotation) @ unachieved[:3] > 0.5, unachieved[3:] > 0.5])


def cascade_law(settings: CascadeSettings, vehicle: Vehicle) -> CascadeLaw:
    """Return the law of some settings for a vehicle."""
    return CascadeLaw(
        vehicle=vehicle,
        bandwidth=np.array(astuple(settings.bandwidth), float),
        damping=settings.damping,
        integral=settings.integral,
        integral_limit=np.repeat(settings.integral_limit, 3),
        tolerance=np.repeat(settings.tolerance, 3),
        commanded_speed=np.repeat([settings.max_speed, settings.max_turn_rate], 3),
        max_speed=axis_speeds(vehicle, 0.5),
        max_acceleration=axis_accelerations(vehicle),
        filter_time=settings.filter_time,
        error_diffusion=settings.error_diffusion,
    )


CASCADE = ControllerModel('modern', CascadeSettings, law=cascade_law, label='Modern', scalar=True)
