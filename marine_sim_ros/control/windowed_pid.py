# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""PID per axis on pose and on velocity, with integrals over a moving window of time.

The controller ``thesis`` is that of Chou (2019), Real-Time ROV Motion Simulator, master's thesis
(docs/references.md), where the window is a second.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.control.controller_model import (
    ATTITUDE,
    POSITION,
    RATES,
    SPEEDS,
    ControllerModel,
)
from marine_sim_ros.core.arrays import Array, constant, namespace
from marine_sim_ros.core.schema import REQUIRED, declaration, nested, number, truth
from marine_sim_ros.core.spatial import (
    attitude_error,
    level_frame,
    rotation_matrix,
    rpy_from_quaternion,
)
from marine_sim_ros.core.state import State
from marine_sim_ros.model.vehicle import Vehicle

__all__ = ['WINDOWED_PID', 'WindowMemory', 'windowed_pid']


# Settings.


def _gains(text: str) -> Any:
    text = f'{text}, surge to yaw: force and moment per error'
    return number(REQUIRED, 0.0, 1e9, '', text, size=6)


@dataclass(frozen=True)
class PidGains:
    """Gains of a PID, each (6,)."""

    kp: tuple[float, ...] = _gains('K_p')
    ki: tuple[float, ...] = _gains('K_i of the integral')
    kd: tuple[float, ...] = _gains('K_d of the derivative')


@declaration(frozen=True)
class WindowedPidSettings:
    """Settings of the controller ``thesis``."""

    pose: PidGains = nested(PidGains, 'gains on errors of pose', default=REQUIRED)
    velocity: PidGains = nested(PidGains, 'gains on errors of velocity', default=REQUIRED)
    window: float = number(REQUIRED, 1e-3, 100.0, 's', 'window of the integral')
    error_diffusion: bool = truth(
        False, 'whether thrust that rounding and the dead zone swallow is made up for'
    )


# The law.


class WindowMemory(NamedTuple):
    """State of a windowed PID.

    Attributes:
        errors: (k, n) errors within the window, the newest last; zeros before the first.
        last: (n,) newest error, NaN before the first.
    """

    errors: Array
    last: Array


class PoseVelocityMemory(NamedTuple):
    """Errors of pose and of velocity."""

    pose: WindowMemory
    velocity: WindowMemory


def windowed_pid(
    error: Array, memory: WindowMemory, gains: Array, *, window: float, dt: Any
) -> tuple[Array, WindowMemory]:
    """Return u (n,) of an error (n,), and the next memory.

    u = K_p e + K_i Σ e Δt + K_d (e − e_before)/Δt, the sum over the window. Its integral has a
    finite gain at rest: a constant disturbance F leaves e = F/(K_p + K_i · window). Source:
    thesis eq. 4-2, which divides by t instead of Δt and leaves Δt out of the sum.

    Args:
        error: (n,).
        memory: memory of the previous tick; where its length must not change, that of the window.
        gains: (3, n) K_p, K_i, K_d.
        window: s.
        dt: since the tick before, s; traced, the window has as many errors as the memory.
    """
    xp = namespace(error)
    length = len(memory.errors)
    # A traced step may not change the length of the window.
    count = max(round(window / dt), 1) if isinstance(dt, int | float) else length
    errors = xp.concat([memory.errors, error[None, :]])[-count:]
    derivative = xp.where(xp.isnan(memory.last), xp.zeros_like(error), (error - memory.last) / dt)
    u = gains[0] * error + gains[1] * (xp.sum(errors, axis=0) * dt) + gains[2] * derivative
    return u, WindowMemory(errors, error)


@dataclass(frozen=True, eq=False)
class WindowedPid:
    """Windowed PID law: (set-points, state, memory) -> (wrench about the centre of mass, memory).

    Attributes:
        pose: (3, 6) K_p, K_i, K_d, force and moment per error of pose.
        velocity: (3, 6) likewise of velocity.
        window: over which the error is summed, s.
        error_diffusion: whether the allocator carries rounded-off thrust over to the next tick.
    """

    pose: Array
    velocity: Array
    window: float
    error_diffusion: bool

    def begin(self, state: State, *, dt: float | None = None) -> PoseVelocityMemory:
        """Return the initial memory; with a step of dt (s), one of constant length."""
        xp = namespace(state.velocity)
        count = 0 if dt is None else max(round(self.window / dt), 1)
        zero_errors = constant(xp, np.zeros((count, 6)))
        empty = WindowMemory(zero_errors, xp.zeros_like(state.velocity) + np.nan)
        return PoseVelocityMemory(empty, empty)

    def wrench(
        self,
        setpoint: Array,
        state: State,
        memory: PoseVelocityMemory,
        *,
        unachieved: Array,
        dt: Any,
    ) -> tuple[Array, PoseVelocityMemory]:
        """Return the wrench (6,) in the body frame, and the next memory.

        Args:
            setpoint: set-points (12,), NaN where free.
            state: state of this tick.
            memory: memory of the previous tick.
            unachieved: (6,) axes of the last wrench that were not achieved; not used here.
            dt: since the tick before, s.
        """
        del unachieved
        xp = namespace(state.velocity)
        is_controlled, zeros = ~xp.isnan(setpoint), xp.zeros_like(state.position)
        rpy = rpy_from_quaternion(state.orientation)
        rotation = rotation_matrix(state.orientation)
        position_error = xp.where(
            is_controlled[POSITION], setpoint[POSITION] - state.position, zeros
        )
        attitude_error_vector = attitude_error(
            state.orientation, xp.where(is_controlled[ATTITUDE], setpoint[ATTITUDE], rpy)
        )
        pose_error = xp.concat(
            [
                position_error @ rotation,
                xp.where(is_controlled[ATTITUDE], attitude_error_vector, zeros),
            ]
        )
        level = level_frame(rpy[2])
        level_velocity_error = setpoint[SPEEDS] - rotation @ state.velocity[:3] @ level
        velocity_error = xp.concat(
            [
                level @ xp.where(is_controlled[SPEEDS], level_velocity_error, zeros) @ rotation,
                xp.where(is_controlled[RATES], setpoint[RATES] - state.velocity[3:], zeros),
            ]
        )
        pose_effort, pose_memory = windowed_pid(
            pose_error, memory.pose, self.pose, window=self.window, dt=dt
        )
        velocity_effort, velocity_memory = windowed_pid(
            velocity_error, memory.velocity, self.velocity, window=self.window, dt=dt
        )
        return pose_effort + velocity_effort, PoseVelocityMemory(pose_memory, velocity_memory)


def windowed_pid_law(settings: WindowedPidSettings, vehicle: Vehicle) -> WindowedPid:
    """Windowed PID with the gains of its settings."""
    del vehicle  # the gains do not depend on it
    return WindowedPid(
        np.array(astuple(settings.pose)),
        np.array(astuple(settings.velocity)),
        settings.window,
        settings.error_diffusion,
    )


WINDOWED_PID = ControllerModel('thesis', WindowedPidSettings, law=windowed_pid_law, label='Thesis')
