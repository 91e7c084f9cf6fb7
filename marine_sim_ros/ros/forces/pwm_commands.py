# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pulse widths for the thrusters: the latest ones hold, or a controller's are awaited per tick."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.core.state import State
from marine_sim_ros.faults.live import LiveThrusters
from marine_sim_ros.physics.thrusters import PWM_NEUTRAL
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.messages.pwm import credible
from marine_sim_ros.ros.messages.sequences import read_pwm

__all__ = ['PwmCommands']

PATIENCE = 0.8
"""s of wall time that a controller may take; less than dynamics waits for a wrench."""
NEVER = -1


class PwmCommands:
    """Listens to thrusters/pwm, and calls back when the command for a state is there."""

    def __init__(
        self, node: SuiteNode, live: LiveThrusters, answer: Callable[[int, State], None]
    ) -> None:
        """Listen for a node with the parameters ``pwm_source`` and ``command_timeout``.

        Args:
            node: the node.
            live: thrusters and their faults; commands may get lost.
            answer: takes the stamp (ns) and the state that a command is there for.
        """
        self._node, self._live, self._answer = node, live, answer
        self._neutral = np.full(len(node.vehicle.thrusters), PWM_NEUTRAL)
        self._pwm: np.ndarray | None = None
        self._pwm_stamp = 0
        self._waiting: tuple[int, State] | None = None
        self._waiting_since = 0.0
        self._answers: int | None = NEVER
        self._lost = False
        self.per_tick = node.values['pwm_source'] == 'controller'
        """Whether a command is awaited for every state."""
        topic = topics.PWM_PER_TICK if self.per_tick else topics.PWM
        node.listen_numbers(topic, self._on_pwm, read_pwm)
        if self.per_tick:
            node.create_timer(PATIENCE / 8, self._watch, clock=node.wall_clock)

    def restart(self) -> None:
        """Take time from the beginning: the run was reset."""
        self._pwm_stamp = 0

    def _on_pwm(self, stamp: int | None, widths: Sequence[int]) -> None:
        pwm, complaint = credible(widths, len(self._neutral))
        if complaint:
            self._node.warn_throttled(complaint)
        if not self.per_tick:
            if pwm is not None and not self._live.loses:
                self._pwm, self._pwm_stamp = pwm, self._live.stamp or 0
            return
        self._lost, self._answers = False, stamp
        self._pwm = self._neutral if pwm is None else pwm
        if self._waiting is not None and self._answers in (None, self._waiting[0]):
            self._go_on(*self._waiting)

    def wait(self, stamp: int, state: State) -> None:
        """Call back for a state (stamp in ns), now or when its command is there."""
        here = self._lost or (self._pwm is not None and self._answers in (None, stamp))
        if self.per_tick and not here:
            if self._waiting is None:  # else dynamics went on alone, and this is no new patience
                self._waiting_since = time.monotonic()
            self._waiting = (stamp, state)
        else:
            self._go_on(stamp, state)

    def _go_on(self, stamp: int, state: State) -> None:
        self._waiting = None
        self._answer(stamp, state)

    def _watch(self) -> None:
        """Stop the thrusters where a controller that has spoken before falls silent."""
        since = time.monotonic() - self._waiting_since
        if self._waiting is not None and self._answers != NEVER and since > PATIENCE:
            self._lost = True
            self._go_on(*self._waiting)

    def command(self, stamp: int) -> np.ndarray:
        """Return the pulse widths (n,) in µs that hold at a stamp in ns."""
        if self.per_tick:
            if self._lost:
                self._node.warn_throttled(
                    'thrusters/pwm: the controller is silent; thrusters stopped'
                )
            pwm, self._pwm = self._pwm, None
            return self._neutral if pwm is None else pwm
        age = (stamp - self._pwm_stamp) / NANOSECONDS
        if self._pwm is not None and age > self._node.values['command_timeout']:
            self._pwm = None
            self._node.warn_throttled('thrusters/pwm: no command any more; thrusters stopped')
        return self._neutral if self._pwm is None else self._pwm
