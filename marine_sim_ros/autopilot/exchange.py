# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lockstep with an autopilot: it is told a tick's frames one by one, and answers each."""

from __future__ import annotations

from marine_sim_ros.autopilot.conventions import geographic, motion_of
from marine_sim_ros.autopilot.frames import Frames
from marine_sim_ros.autopilot.instruments import Instruments
from marine_sim_ros.autopilot.link import AutopilotLink
from marine_sim_ros.autopilot.packets import motion_reply
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment

__all__ = ['PATIENCE', 'Exchange']

PATIENCE = 0.7
"""s of wall time that the autopilot may take for a frame; less than thrusters wait for it."""


class Exchange:
    """States in, pulse widths out."""

    def __init__(self, link: AutopilotLink, instruments: Instruments, rate: float) -> None:
        """Use a link, sensors, and frames of a rate in Hz."""
        self._link = link
        self._instruments = instruments
        self._frames = Frames(rate)
        self.battery: tuple[float, float] | None = None
        """Voltage (V) and current (A) of the battery, where they are known."""

    def forget(self) -> None:
        """Begin anew: the next tick is one frame."""
        self._frames.forget()

    def tick(
        self,
        stamp: int,
        state: State,
        environment: Environment,
        *,
        ranges: tuple[float, ...] | None = None,
        patience: float = PATIENCE,
    ) -> tuple[int, ...] | None:
        """Return the pulse widths (16 or 32) that answer a tick, in µs; None: it is silent.

        The instruments have sensed the tick.

        Args:
            stamp: time of the tick, ns.
            state: state at the tick.
            environment: water, scene and gravity at the tick.
            ranges: distances that rangefinders measure, m; None: those of the altimeters.
            patience: wall time that each frame may take, s.
        """
        if ranges is None:
            ranges = self._instruments.ranges()
        for time, between, acceleration in self._frames.until(stamp, state):
            if self._link.receive(patience) is None:
                return None
            force, rates = self._instruments.inertial(time, between, acceleration, environment)
            placed = geographic(between, environment.origin)
            motion = motion_of(time, placed, force, rates, ranges)
            self._link.answer(motion_reply(motion, self.battery))
        packet = self._link.receive(patience)
        return None if packet is None else packet.pwm
