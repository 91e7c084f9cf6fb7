# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The thesis's controller: a PID per axis whose integral forgets what is older than a second."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marine_sim_ros.control.attitude import attitude_error, level_frame
from marine_sim_ros.control.setpoints import ATTITUDE, POSITION, RATES, SPEEDS
from marine_sim_ros.control.settings import ThesisSettings
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.spatial import rotation_matrix, rpy_from_quaternion
from marine_sim_ros.state import State

__all__ = ['ThesisLaw', 'ThesisMemory', 'WindowMemory', 'windowed_pid']


class WindowMemory(NamedTuple):
    """The errors (k, n) within the window, the newest last."""

    errors: np.ndarray


class ThesisMemory(NamedTuple):
    """Errors of pose and of velocity."""

    pose: WindowMemory
    velocity: WindowMemory


def windowed_pid(
    error: np.ndarray,
    memory: WindowMemory,
    gains: tuple[np.ndarray, np.ndarray, np.ndarray],
    *,
    window: float,
    dt: float,
) -> tuple[np.ndarray, WindowMemory]:
    """Return u (n,) of an error (n,), and the errors to remember.

    u = K_p e + K_i Σ e Δt + K_d (e − e_before)/Δt, the sum over the window. Its integral has a
    finite gain at rest: a constant disturbance F leaves e = F/(K_p + K_i · window). Source:
    thesis eq. 4-2, which divides by t instead of Δt and leaves Δt out of the sum.
    """
    kp, ki, kd = gains
    before = memory.errors
    count = max(round(window / dt), 1)
    errors = np.concatenate([before, error[None, :]])[-count:]
    slope = (error - before[-1]) / dt if len(before) else np.zeros_like(error)
    u = kp * error + ki * (errors.sum(axis=0) * dt) + kd * slope
    return u, WindowMemory(errors)


class ThesisLaw:
    """The law: (set-points, state, memory) -> (wrench about the centre of mass, memory)."""

    def __init__(self, settings: ThesisSettings, vehicle: Vehicle) -> None:
        """Take the gains; the vehicle's model is not used."""
        del vehicle
        self._settings = settings

    def begin(self, state: State) -> ThesisMemory:
        """Return the memory of a start."""
        del state
        nothing = WindowMemory(np.zeros((0, 6)))
        return ThesisMemory(nothing, nothing)

    def wrench(
        self,
        wanted: np.ndarray,
        state: State,
        memory: ThesisMemory,
        *,
        short: np.ndarray,
        dt: float,
    ) -> tuple[np.ndarray, ThesisMemory]:
        """Return the wrench (6,) in the body frame, and what to remember.

        Args:
            wanted: set-points (12,), NaN where free.
            state: of this tick.
            memory: of the tick before.
            short: axes (6,) of which less was had than asked; this law does not look.
            dt: since the tick before, s.
        """
        del short
        held = ~np.isnan(wanted)
        rpy = rpy_from_quaternion(state.orientation)
        rotation = rotation_matrix(state.orientation)
        away = np.where(held[POSITION], wanted[POSITION] - state.position, 0.0)
        turned = attitude_error(state.orientation, np.where(held[ATTITUDE], wanted[ATTITUDE], rpy))
        pose = np.concatenate([away @ rotation, np.where(held[ATTITUDE], turned, 0.0)])
        level = level_frame(float(rpy[2]))
        drift = wanted[SPEEDS] - rotation @ state.velocity[:3] @ level
        slow = np.concatenate(
            [level @ np.where(held[SPEEDS], drift, 0.0) @ rotation,
             np.where(held[RATES], wanted[RATES] - state.velocity[3:], 0.0)]
        )  # fmt: skip
        s = self._settings
        u, pose_memory = windowed_pid(pose, memory.pose, s.pose, window=s.window, dt=dt)
        more, speed_memory = windowed_pid(
            slow, memory.velocity, s.velocity, window=s.window, dt=dt
        )
        return u + more, ThesisMemory(pose_memory, speed_memory)
