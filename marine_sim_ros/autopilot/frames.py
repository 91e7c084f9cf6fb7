# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""An autopilot's frames between two ticks: nothing is held or extrapolated.

At a tick the state of the tick before is known too. The frames lie between the two, at equal
steps, and the last one is the tick itself. The pulse widths that answer it drive the next step.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from marine_sim_ros.core.spatial import (
    quaternion_product,
    rotation_vector,
    rotation_vector_quaternion,
)
from marine_sim_ros.core.state import State

__all__ = ['Frames', 'between', 'frames_per_tick']

LONGEST = 0.09
"""s; the autopilot's clock stands still over a step of 0.1 s or more."""


def frames_per_tick(rate: float, dt: float) -> int:
    """Return how many frames of a rate (Hz) a tick of dt (s) is divided into; at least one."""
    return max(1, round(rate * dt), -int(-dt // LONGEST))


def between(before: State, after: State, share: float) -> State:
    """Return the state at a share (0 to 1) of the way: linear, and along the shortest turn."""
    if share >= 1.0:
        return after
    turn = rotation_vector_quaternion(
        share * rotation_vector(before.orientation, after.orientation)
    )
    return State(
        before.position + share * (after.position - before.position),
        quaternion_product(before.orientation, turn),
        before.velocity + share * (after.velocity - before.velocity),
    )


class Frames:
    """The frames that lead to each tick, of the states of two ticks."""

    def __init__(self, rate: float) -> None:
        """Divide ticks into frames of a rate in Hz."""
        self._rate = rate
        self._before: tuple[int, State] | None = None

    def forget(self) -> None:
        """Begin anew: the next tick is one frame."""
        self._before = None

    def until(self, stamp: int, state: State) -> Iterator[tuple[int, State, np.ndarray]]:
        """Yield stamp (ns), state and acceleration (6,) of the frames up to a tick."""
        before, self._before = self._before, (stamp, state)
        if before is None or stamp <= before[0]:
            yield stamp, state, np.zeros(6)
            return
        dt = (stamp - before[0]) * 1e-9
        acceleration = (state.velocity - before[1].velocity) / dt
        count = frames_per_tick(self._rate, dt)
        for k in range(1, count + 1):
            share = k / count
            yield (
                before[0] + (stamp - before[0]) * k // count,
                between(before[1], state, share),
                acceleration,
            )
