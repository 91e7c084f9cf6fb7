# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What a pilot holds and wants, and what keys and sticks do to it. Knows no terminal, no ROS."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from marine_sim_ros.control.allocation import AXES
from marine_sim_ros.control.target import Target, here, moved
from marine_sim_ros.core.state import State

__all__ = [
    'FUNCTIONS',
    'GRIP',
    'OUTPUTS',
    'SWITCHES',
    'Pilot',
    'follow',
    'nudge',
    'perform',
    'stop',
]

OUTPUTS = ('pwm', 'velocity', 'pose')
"""Pulse widths for the thrusters; velocities, or a pose to hold, for a controller."""

SWITCHES: dict[str, tuple[str, bool | None]] = {
    'arm': ('arm', True),
    'disarm': ('arm', False),
    'auto_depth': ('auto_depth', None),
    'auto_heading': ('auto_heading', None),
    'station_keeping': ('station_keeping', None),
}
"""Function -> service of the controller, and whether to switch it on, off, or over (None)."""

EFFORT_STEP = 0.25
DISTANCE_STEP = 0.25
TURN_STEP = math.radians(10.0)
NOTHING = (0.0,) * 6
_BUT_ARM = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Pilot:
    """What the pilot holds and wants.

    Attributes:
        output: one of OUTPUTS.
        gain: gain of all efforts, 0 to 1.
        held: six efforts of the keyboard, −1 to 1 (FLU).
        sticks: six efforts of the gamepad.
        target: the pose to hold; None until the vehicle's own is known.
        pairs: number of pairs of joints that its arm has.
        pair: pair that pitch and roll move instead of the vehicle, from 1; 0: none.
    """

    output: str = 'pwm'
    gain: float = 0.5
    held: tuple[float, ...] = NOTHING
    sticks: tuple[float, ...] = NOTHING
    target: Target | None = None
    pairs: int = 0
    pair: int = 0

    def _all(self) -> np.ndarray:
        return np.clip(np.add(self.held, self.sticks), -1.0, 1.0) * self.gain

    def efforts(self) -> np.ndarray:
        """Return the six efforts, −1 to 1: keyboard and gamepad added, times the gain."""
        return self._all() * (_BUT_ARM if self.pair else 1.0)

    def joint_efforts(self) -> np.ndarray:
        """Return the efforts (2,) of the pair of joints that is moved, −1 to 1."""
        return self._all()[[4, 3]] * float(self.pair > 0)


def nudge(pilot: Pilot, axis: str, sense: float, state: State | None) -> Pilot:
    """Return the pilot after one press of an axis's key.

    Where a pose is wanted, it moves by 0.25 m or 10 degrees; else the effort grows by 0.25.
    """
    if pilot.output != 'pose' or (pilot.pair and axis in ('roll', 'pitch')):
        i = AXES.index(axis)
        effort = min(1.0, max(-1.0, pilot.held[i] + EFFORT_STEP * sense))
        return replace(pilot, held=(*pilot.held[:i], effort, *pilot.held[i + 1 :]))
    if pilot.target is None or state is None or axis in ('roll', 'pitch'):
        return pilot
    step = dict.fromkeys(('surge', 'sway', 'heave', 'yaw'), 0.0)
    step[axis] = sense * (TURN_STEP if axis == 'yaw' else DISTANCE_STEP)
    return replace(pilot, target=moved(pilot.target, state, **step))


def follow(pilot: Pilot, top: Sequence[float], dt: float, state: State | None) -> Pilot:
    """Return the pilot after a time with the sticks as they are.

    Where a pose is wanted, it starts where the vehicle is and moves with the sticks.

    Args:
        pilot: previous state of the pilot.
        top: six velocities of full stick, m/s and rad/s.
        dt: s.
        state: state of the vehicle, or None while it is unknown.
    """
    if pilot.output != 'pose' or state is None:
        return pilot
    target = here(state) if pilot.target is None else pilot.target
    u, v, w, _, _, r = (float(x) * dt for x in pilot.efforts() * np.asarray(top))
    if u or v or w or r:
        target = moved(target, state, surge=u, sway=v, heave=w, yaw=r)
    return replace(pilot, target=target)


def stop(pilot: Pilot, state: State | None) -> Pilot:
    """Return the pilot with nothing held, who wants to stay where the vehicle is."""
    target = None if state is None or pilot.output != 'pose' else here(state)
    return replace(pilot, held=NOTHING, sticks=NOTHING, target=target)


def _next_output(pilot: Pilot, state: State | None) -> Pilot:
    output = OUTPUTS[(OUTPUTS.index(pilot.output) + 1) % len(OUTPUTS)]
    return stop(replace(pilot, output=output), state)


def _more(pilot: Pilot, state: State | None) -> Pilot:
    del state
    return replace(pilot, gain=min(1.0, round(pilot.gain + 0.1, 1)))


def _less(pilot: Pilot, state: State | None) -> Pilot:
    del state
    return replace(pilot, gain=max(0.1, round(pilot.gain - 0.1, 1)))


def _next_joints(pilot: Pilot, state: State | None) -> Pilot:
    """Go on to the next pair of joints, and from the last one to the vehicle."""
    del state
    held = (*pilot.held[:3], 0.0, 0.0, pilot.held[5])
    return replace(pilot, held=held, pair=(pilot.pair + 1) % (pilot.pairs + 1))


_OWN: dict[str, Callable[[Pilot, State | None], Pilot]] = {
    'stop': stop,
    'output': _next_output,
    'gain_up': _more,
    'gain_down': _less,
    'joints': _next_joints,
}
GRIP = 'gripper'
"""Function that closes and opens the gripper."""
FUNCTIONS = (*_OWN, *SWITCHES, GRIP)
"""What a key or a button can do beside moving an axis."""


def perform(pilot: Pilot, function: str, state: State | None) -> Pilot:
    """Return the pilot after a function; those of controller and gripper change nothing here."""
    return _OWN[function](pilot, state) if function in _OWN else pilot
