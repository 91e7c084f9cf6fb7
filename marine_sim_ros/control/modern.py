# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The modern controller: a smooth reference, a PID that holds the vehicle to it, feed-forward.

τ = M ν̇_d + C(ν) ν + D(ν_r) ν_r + g(η), with ν̇_d = ẍ_r + K_d (ẋ_r − ẋ) + K_p (x_r − x) + z and
ż = K_i (x_r − x) (Fossen 2011, sections 10.2 and 12.2: reference model, PID with acceleration
feed-forward). z stands still in axes of which the thrusters have no more to give; it is an
acceleration, and the gains of one mode become those of the next gradually, so nothing jumps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from marine_sim_ros.control.attitude import attitude_error, body_rates, level_frame, wrapped
from marine_sim_ros.control.limits import axis_accelerations, axis_speeds
from marine_sim_ros.control.settings import ModernSettings
from marine_sim_ros.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.drag import damping
from marine_sim_ros.physics.rigid_body import weight
from marine_sim_ros.spatial import (
    momentum_rate,
    rotation_matrix,
    rpy_from_quaternion,
    transport,
)
from marine_sim_ros.state import State
from marine_sim_ros.tracking import approach, limited

__all__ = ['ModernLaw', 'ModernMemory', 'Reference']

NEAR = np.array([0.3, 0.3, 0.3, 0.2, 0.2, 0.2])
"""m and rad; a reference farther than this from its target is under way."""
LEASH = np.full(6, 0.3)
"""m and rad; a driven vehicle is not led farther back to where its speeds would have taken it."""
BLENDING = 0.5
"""s in which the gains of one mode become those of the next."""
_STILL = Environment()


class Reference(NamedTuple):
    """Where the vehicle should be by now: pose (6,) x to yaw, and its rate (6,)."""

    pose: np.ndarray
    rate: np.ndarray


class ModernMemory(NamedTuple):
    """What the law carries from tick to tick.

    Attributes:
        held: (6,) which of x to yaw had a target.
        reference: of the pose.
        speed: (6,) reference of the velocity, level frame.
        integral: (6,) of pose errors, m/s² in map and rad/s² in the body frame.
        speed_integral: (6,) of how far it is astray, m/s² in map and rad/s² in the body frame.
        velocity: (6,) of the body, filtered.
        bandwidth: (2,) linear and angular, rad/s, on its way from one mode's to the next's.
        astray: (6,) from where its speeds would have taken it, m in map and rad.
    """

    held: np.ndarray
    reference: Reference
    speed: np.ndarray
    integral: np.ndarray
    speed_integral: np.ndarray
    velocity: np.ndarray
    bandwidth: np.ndarray
    astray: np.ndarray


class _Now(NamedTuple):
    """The state of a tick, its filtered velocity, its rotation matrix, and the step."""

    state: State
    velocity: np.ndarray
    rotation: np.ndarray
    dt: float

    @property
    def level(self) -> np.ndarray:
        """R (3, 3) from the level frame to map."""
        return level_frame(math.atan2(self.rotation[1, 0], self.rotation[0, 0]))


def _pose(state: State) -> np.ndarray:
    return np.concatenate([state.position, rpy_from_quaternion(state.orientation)])


def _wound(
    integral: np.ndarray, step: np.ndarray, stuck: np.ndarray, most: np.ndarray
) -> np.ndarray:
    """Return the integral after a step; where nothing more can be had it may only fall."""
    grows = integral * step >= 0
    return np.asarray(np.clip(integral + np.where(stuck & grows, 0.0, step), -most, most))


class ModernLaw:
    """The law: (set-points, state, memory) -> (wrench about the centre of mass, memory)."""

    def __init__(self, settings: ModernSettings, vehicle: Vehicle) -> None:
        """Take the settings and the model of the vehicle."""
        self._settings = settings
        self._vehicle = vehicle
        self._to_center = transport(-vehicle.inertia.center_of_mass).T
        self._most = np.repeat(settings.integral_limit, 3)
        self._tolerance = np.repeat(settings.tolerance, 3)
        self._fastest = self._reference_speeds()

    def _reference_speeds(self) -> np.ndarray:
        """Return how fast (6,) references move: as set, or as half the thrust allows.

        Half of it against the drag, and half of it to accelerate; :func:`approach` accelerates
        with up to ω ẋ_max / 2. Axes the thrusters cannot reach keep what is set.
        """
        s = self._settings
        asked = np.repeat([s.max_speed, s.max_turn_rate], 3)
        bandwidth = np.repeat(s.bandwidth['transit'], 3)
        able = np.minimum(
            axis_speeds(self._vehicle, 0.5), axis_accelerations(self._vehicle) / bandwidth
        )
        able = np.where(able > 0, np.minimum(asked, able), asked)
        able[:3] = able[:3].min()  # linear references move in map, in any direction
        return able

    def begin(self, state: State) -> ModernMemory:
        """Return the memory of a start: bumpless from whatever the vehicle does."""
        none = np.zeros(6)
        reference = Reference(_pose(state), none)
        bandwidth = np.array(self._settings.bandwidth['transit'])
        return ModernMemory(
            none > 0, reference, state.velocity, none, none, state.velocity, bandwidth, none
        )

    def _reference(
        self, wanted: np.ndarray, held: np.ndarray, state: State, memory: ModernMemory, dt: float
    ) -> tuple[Reference, np.ndarray, np.ndarray]:
        """Move the reference; return it, its acceleration (6,), and how far it still has to go."""
        s = self._settings
        rotation = rotation_matrix(state.orientation)
        pose = _pose(state)
        drift = np.concatenate([rotation @ state.velocity[:3], np.zeros(3)])
        new = held & ~memory.held
        at = np.where(held & ~new, memory.reference.pose, pose)
        rate = np.where(held & ~new, memory.reference.rate, np.where(held, drift, 0.0))
        left = np.where(held, wanted[:6] - at, 0.0)
        left = np.concatenate([left[:3], wrapped(left[3:])])
        linear, angular = s.bandwidth['transit']
        moved, pull = approach(
            left[:3], rate[:3], bandwidth=linear, max_rate=self._fastest[0], dt=dt,
            together=True,
        )  # fmt: skip
        turned, twist = approach(
            left[3:], rate[3:], bandwidth=angular, max_rate=self._fastest[3:], dt=dt
        )
        rate = np.where(held, np.concatenate([moved, turned]), 0.0)
        acceleration = np.where(held, np.concatenate([pull, twist]), 0.0)
        return Reference(at + dt * rate, rate), acceleration, left

    def wrench(
        self,
        wanted: np.ndarray,
        state: State,
        memory: ModernMemory,
        *,
        short: np.ndarray,
        dt: float,
    ) -> tuple[np.ndarray, ModernMemory]:
        """Return the wrench (6,) in the body frame, and what to remember.

        Args:
            wanted: set-points (12,), NaN where free; a position or an angle goes before a speed.
            state: of this tick.
            memory: of the tick before.
            short: axes (6,) of which less was had than asked the last time.
            dt: since the tick before, s.
        """
        held, driven = ~np.isnan(wanted[:6]), ~np.isnan(wanted[6:])
        share = dt / (self._settings.filter_time + dt)
        velocity = memory.velocity + (state.velocity - memory.velocity) * share
        now = _Now(state, velocity, rotation_matrix(state.orientation), dt)
        reference, feed, left = self._reference(wanted, held, state, memory, dt)
        mode = 'transit' if np.any(np.abs(left) > NEAR) else 'station'
        target = np.array(self._settings.bandwidth['velocity' if driven.any() else mode])
        bandwidth = memory.bandwidth + (target - memory.bandwidth) * (dt / (BLENDING + dt))
        omega = np.repeat(bandwidth, 3)
        wish, integral, turn = self._hold(now, held, reference, feed, memory, omega, short)
        push, speed, speed_integral, astray = self._drive(
            now, wanted[6:], driven, memory, omega, short
        )

        # Only the drag of the motion that is wanted is fed forward: it cannot feed on itself.
        along = np.concatenate(
            [np.where(held[:3], reference.rate[:3], now.level @ (speed[:3] * driven[:3])),
             np.where(held[3:], turn, speed[3:] * driven[3:])]
        )  # fmt: skip
        wish = np.where(held, wish, push)
        wrench = self._demand(now, wish, along)
        pull = now.rotation @ wrench[:3]
        steered = now.level @ ((np.where(held[:3], 0.0, pull) @ now.level) * driven[:3])
        force = (np.where(held[:3], pull, 0.0) + steered) @ now.rotation
        moment = np.where(held[3:] | driven[3:], wrench[3:], 0.0)
        memory = ModernMemory(
            held, reference, speed, integral, speed_integral, velocity, bandwidth, astray
        )
        return np.concatenate([force, moment]), memory

    def _hold(
        self, now: _Now, held: np.ndarray, reference: Reference, feed: np.ndarray,
        memory: ModernMemory, omega: np.ndarray, short: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
        """Return the acceleration (6,) that holds a pose, the integral, and the turn rates (3,).

        Linear axes in map, angular axes in the body frame.
        """
        s = self._settings
        rpy = rpy_from_quaternion(now.state.orientation)
        turn = body_rates(rpy, reference.rate[3:])
        turned = attitude_error(now.state.orientation, np.where(held[3:], reference.pose[3:], rpy))
        away = reference.pose[:3] - now.state.position
        error = np.where(held, np.concatenate([away, turned]), 0.0)
        slow = np.concatenate(
            [reference.rate[:3] - now.rotation @ now.velocity[:3], turn - now.velocity[3:]]
        )
        stuck = np.concatenate([np.abs(now.rotation) @ short[:3] > 0.5, short[3:] > 0.5])
        integral = np.where(held, memory.integral, 0.0)
        beyond = error - np.clip(error, -self._tolerance, self._tolerance)
        integral = _wound(integral, now.dt * s.integral * omega**3 * beyond, stuck, self._most)
        wish = feed + 2 * s.damping * omega * slow + omega**2 * error + integral
        return wish, integral, turn

    def _drive(
        self, now: _Now, target: np.ndarray, driven: np.ndarray, memory: ModernMemory,
        omega: np.ndarray, short: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
        """Return the acceleration (6,) that keeps a speed, its reference, its integral, and e.

        ẍ = v̇_r + 2ζω (v_r − v) + ω² e + z with e = ∫ (v_r − v) dt and ż = K_i e: the PID that
        holds a pose, on one that moves along at the speed. The speeds are those of the level
        frame; e and z are in map, where a current stays as it is while the vehicle turns, those
        of turning in the body frame.
        """
        s = self._settings
        velocity = np.concatenate([now.rotation @ now.velocity[:3] @ now.level, now.velocity[3:]])
        begun = np.where(driven, memory.speed, velocity)
        most = now.dt * np.repeat(s.bandwidth['velocity'], 3) * self._fastest
        change = limited(np.where(driven, target - begun, 0.0), most, together=False)
        speed = begun + change
        lag = np.where(driven, speed - velocity, 0.0)
        push = change / now.dt + 2 * s.damping * omega * lag
        # The level frame turns: to go round takes a centripetal acceleration.
        push[:2] += now.velocity[5] * np.array([-velocity[1], velocity[0]])
        push[:3] = now.level @ push[:3]
        lag[:3] = now.level @ lag[:3]
        steered = np.concatenate([np.repeat(driven[:3].any(), 3), driven[3:]])
        stuck = np.concatenate([np.abs(now.rotation) @ short[:3] > 0.5, short[3:] > 0.5])
        astray = np.where(steered, memory.astray, 0.0)
        astray = _wound(astray, now.dt * lag, stuck, LEASH)
        integral = np.where(steered, memory.speed_integral, 0.0)
        step = now.dt * s.integral * omega**3 * astray
        integral = _wound(integral, step, stuck, self._most)
        return push + omega**2 * astray + integral, speed, integral, astray

    def _demand(self, now: _Now, wish: np.ndarray, along: np.ndarray) -> np.ndarray:
        """Return the wrench (6,) about the centre of mass that gives an acceleration (6,).

        Acceleration and the velocity ``along`` which drag is fed forward: linear parts in map.
        """
        vehicle, nu = self._vehicle, now.state.velocity
        linear = wish[:3] @ now.rotation - np.cross(nu[3:], nu[:3])
        wrench = vehicle.mass_matrix @ np.concatenate([linear, wish[3:]])
        wrench = wrench + momentum_rate(nu, vehicle.mass_matrix @ nu)
        moving = np.concatenate([along[:3] @ now.rotation, along[3:]])
        wrench = wrench - damping(vehicle, now.state._replace(velocity=moving), _STILL)
        wrench = wrench - buoyancy(vehicle, now.state, _STILL) - weight(vehicle, now.state, _STILL)
        return np.asarray(self._to_center @ wrench)
