# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A pilot's keys and sticks: what they do to the six efforts. Knows no terminal and no ROS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from marine_sim_ros.control.allocation import AXES

__all__ = ['HELP', 'KEYS', 'Pilot', 'joy_efforts', 'press']

KEYS: dict[str, tuple[str, float]] = {
    'w': ('surge', 1.0), 's': ('surge', -1.0),
    'a': ('sway', 1.0), 'd': ('sway', -1.0),
    'r': ('heave', 1.0), 'f': ('heave', -1.0),
    'q': ('yaw', 1.0), 'e': ('yaw', -1.0),
    'l': ('roll', 1.0), 'j': ('roll', -1.0),
    'k': ('pitch', 1.0), 'i': ('pitch', -1.0),
}  # fmt: skip
"""Key -> axis and sense (FLU: sway to port, heave up, yaw to port, pitch bow down)."""

HELP = (
    ('w s', 'ahead, astern'), ('a d', 'to port, to starboard'), ('r f', 'up, down'),
    ('q e', 'turn to port, to starboard'), ('j l', 'roll to port, to starboard'),
    ('i k', 'bow up, bow down'), ('+ -', 'more, less gain'), ('space', 'stop'),
    ('x', 'quit'),
)  # fmt: skip

STEP = 0.25


@dataclass(frozen=True)
class Pilot:
    """What the pilot holds: efforts per axis, −1 to 1 in steps, and a gain from 0.1 to 1."""

    efforts: tuple[float, ...] = (0.0,) * 6
    gain: float = 0.5

    def command(self) -> np.ndarray:
        """Return the six efforts with the gain."""
        return np.array(self.efforts) * self.gain


def press(pilot: Pilot, key: str) -> Pilot:
    """Return the pilot after a key; unknown keys change nothing."""
    if key == ' ':
        return replace(pilot, efforts=(0.0,) * 6)
    if key in '+=':
        return replace(pilot, gain=min(1.0, round(pilot.gain + 0.1, 1)))
    if key in '-_':
        return replace(pilot, gain=max(0.1, round(pilot.gain - 0.1, 1)))
    if key not in KEYS:
        return pilot
    axis, sense = KEYS[key]
    efforts = list(pilot.efforts)
    i = AXES.index(axis)
    efforts[i] = min(1.0, max(-1.0, efforts[i] + STEP * sense))
    return replace(pilot, efforts=tuple(efforts))


def joy_efforts(axes: Sequence[float], mapping: Sequence[int], dead_band: float) -> np.ndarray:
    """Return six efforts of a gamepad's sticks.

    Args:
        axes: of a sensor_msgs/Joy, −1 to 1.
        mapping: for each of the six axes the stick's number from 1, negative to turn it round,
            0 for none.
        dead_band: of a stick around its middle.
    """
    result = np.zeros(6)
    for i, stick in enumerate(mapping):
        if stick and abs(stick) <= len(axes):
            value = float(axes[abs(stick) - 1]) * (1 if stick > 0 else -1)
            result[i] = value if abs(value) > dead_band else 0.0
    return np.clip(np.nan_to_num(result), -1.0, 1.0)
