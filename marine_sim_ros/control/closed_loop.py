# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""From set-points and state to pulse widths: a control law in front of the allocation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from marine_sim_ros.control.allocation import AXES
from marine_sim_ros.control.allocator import Allocation, Allocator
from marine_sim_ros.control.modern import ModernLaw
from marine_sim_ros.control.settings import ControllerSettings, ModernSettings
from marine_sim_ros.control.thesis import ThesisLaw
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.spatial import transport
from marine_sim_ros.state import State

__all__ = ['ClosedLoop', 'LoopMemory', 'Output']


FIRST_STEP = 0.005
"""s, taken for the time since the step before where there was none."""


@dataclass(frozen=True, eq=False)
class LoopMemory:
    """What the loop carries from tick to tick.

    Attributes:
        time: s.
        law: the law's memory.
        short: axes (6,) of which less was had than asked.
        owed: thrust (n,) that rounding and dead zone swallowed, N; None to let it go.
    """

    time: float
    law: Any
    short: np.ndarray
    owed: np.ndarray | None


@dataclass(frozen=True, eq=False)
class Output:
    """What the loop answers a state with.

    Attributes:
        pwm: (n,) µs, whole numbers.
        wrench: (6,) that was asked for, about the centre of mass, body frame.
        allocation: how it was had.
    """

    pwm: np.ndarray
    wrench: np.ndarray
    allocation: Allocation


class ClosedLoop:
    """A controller of one vehicle: (set-points, time, state, memory) -> (output, memory)."""

    def __init__(
        self, vehicle: Vehicle, settings: ControllerSettings, *, method: str = 'bounded'
    ) -> None:
        """Set up a law and the allocation about the centre of mass.

        Args:
            vehicle: to control.
            settings: of :func:`marine_sim_ros.control.settings.load_controller`.
            method: of allocation, ``bounded`` or ``pseudo_inverse``.
        """
        self.law: ModernLaw | ThesisLaw
        if isinstance(settings, ModernSettings):
            self.law = ModernLaw(settings, vehicle)
        else:
            self.law = ThesisLaw(settings, vehicle)
        self._diffuse = settings.error_diffusion
        self._to_center = transport(-vehicle.inertia.center_of_mass).T
        self._allocator = Allocator(
            vehicle.thrusters, vehicle.inertia.center_of_mass, method=method
        )

    def push(self, wrench: np.ndarray, *, failed: np.ndarray | None = None) -> Output:
        """Return the command for a wrench (6,) about base_link, without any loop."""
        at_center = self._to_center @ wrench
        allocation = self._allocator.allocate(at_center, failed=failed)
        return Output(allocation.pwm, at_center, allocation)

    def step(
        self,
        wanted: np.ndarray,
        time: float,
        state: State,
        memory: LoopMemory | None,
        *,
        failed: np.ndarray | None = None,
    ) -> tuple[Output, LoopMemory]:
        """Return the command for a state.

        Args:
            wanted: set-points (12,), NaN where free.
            time: of the state, s.
            state: of the vehicle.
            memory: of the step before; None to start, without a jump.
            failed: (n,) thrusters to leave out.
        """
        if memory is None or time < memory.time:
            memory = LoopMemory(time, self.law.begin(state), np.zeros(6), None)
        dt = time - memory.time if time > memory.time else FIRST_STEP
        wrench, law = self.law.wrench(wanted, state, memory.law, short=memory.short, dt=dt)
        allocation = self._allocator.allocate(wrench, failed=failed, owed=memory.owed)
        short = np.array([float(axis in allocation.shortfall) for axis in AXES])
        owed = allocation.owed if self._diffuse else None
        return Output(allocation.pwm, wrench, allocation), LoopMemory(time, law, short, owed)
