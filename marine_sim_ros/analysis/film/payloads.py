# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Where the payloads of a recorded run were: what the gripper held, and let go."""

from __future__ import annotations

import numpy as np

from marine_sim_ros.analysis.film.motion import Motion
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.arm.gripper import GRIPPER
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.arm.gripping import Gripping
from marine_sim_ros.physics.arm.manipulator import JointMotion

__all__ = ['RecordedPayloads']


class RecordedPayloads:
    """The payloads of an environment beside a vehicle whose odometry and joints are recorded.

    The bag says which one is held in each tick; where the others are follows from where they were
    let go, as in the run itself.
    """

    def __init__(self, vehicle: Vehicle, environment: Environment, motion: Motion) -> None:
        """Take the vehicle with the gripper, the environment with payloads, and the recording."""
        self._vehicle, self._environment, self._motion = vehicle, environment, motion
        stamps, rows = motion.column(GRIPPER)
        self._stamps, self._held = stamps, rows.astype(int) - 1
        known = GRIPPER in vehicle.extensions and bool(
            np.all(self._held < len(environment.payloads))
        )
        if not known:  # another vehicle or environment than the recorded one
            self._stamps = stamps[:0]
        self._restart()

    def _restart(self) -> None:
        self._gripping, self._next = Gripping(self._vehicle, self._environment), 0

    def at(self, time: float) -> np.ndarray | None:
        """Return places, m, and orientations (p, 7) at a stamp in s, map.

        None without a gripper, or where the bag does not say what it held: as they are declared.
        """
        if not len(self._stamps):
            return None
        if self._next and self._stamps[self._next - 1] > time:
            self._restart()
        while self._next < len(self._stamps) and self._stamps[self._next] <= time:
            i = self._next
            if self._held[i] != self._gripping.held:
                then = float(self._stamps[i])
                # It was let go before the joints took the step to this tick.
                before = self._joints(float(self._stamps[max(i - 1, 0)]))
                state = self._motion.state(then)
                self._gripping.replay(int(self._held[i]), state, before, then)
            self._next += 1
        return self._gripping.places(self._motion.state(time), self._joints(time), time)

    def _joints(self, time: float) -> JointMotion:
        arm = self._vehicle.manipulator
        known = self._motion.joints(time)
        position = np.array([known.get(name, 0.0) for name in (arm.names if arm else ())])
        return JointMotion(position, np.zeros_like(position))
