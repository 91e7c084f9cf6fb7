# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""State of a pilot: efforts, output mode and target pose, and its changes by keys and sticks."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from marine_sim_ros.control.controllability import BODY_AXES
from marine_sim_ros.core.spatial import quaternion_from_rpy, rpy_from_quaternion
from marine_sim_ros.core.state import State

__all__ = [
    'AXIS_KEYS',
    'FUNCTION_KEYS',
    'GRIPPER_FUNCTION',
    'KEY_HELP',
    'OUTPUT_MODES',
    'PILOT_FUNCTION_NAMES',
    'Pilot',
    'PoseTarget',
    'QUIT_KEY',
    'SWITCHES',
    'follow_sticks',
    'moved_target',
    'perform_function',
    'press_axis_key',
    'remaining_motion',
    'split_keys',
    'stop_vehicle',
    'target_at_vehicle',
]


# The target pose, and its motion by keys and sticks.


@dataclass(frozen=True)
class PoseTarget:
    """A level pose.

    Attributes:
        position: position of ``base_link`` in ``map`` (ENU), m.
        yaw: about map's z axis from east, −π to π rad.
    """

    position: tuple[float, float, float]
    yaw: float

    @property
    def depth(self) -> float:
        """Return the depth below the mean surface, m."""
        return -self.position[2]

    def orientation(self) -> np.ndarray:
        """Return the quaternion (4,) x, y, z, w."""
        return quaternion_from_rpy(0.0, 0.0, self.yaw)


def _wrap_angle(angle: float) -> float:
    """Return an angle (rad) in −π to π."""
    return math.remainder(angle, 2 * math.pi)


def _yaw_angle(state: State) -> float:
    return float(rpy_from_quaternion(state.orientation)[2])


def target_at_vehicle(state: State) -> PoseTarget:
    """Return the pose of a vehicle, level."""
    x, y, z = map(float, state.position)
    return PoseTarget((x, y, z), _yaw_angle(state))


def moved_target(
    target: PoseTarget, state: State, *, surge: float, sway: float, heave: float, yaw: float
) -> PoseTarget:
    """Return a target moved ahead, to port and up relative to the vehicle's heading, and yawed.

    A target in the water is not moved above z = 0.

    Args:
        target: the target to move.
        state: state of the vehicle; ahead and to port are level and turn with its yaw.
        surge: m ahead.
        sway: m to port.
        heave: m up.
        yaw: rad to port (counterclockwise from above).
    """
    heading = _yaw_angle(state)
    c, s = math.cos(heading), math.sin(heading)
    x, y, z = target.position
    z = min(z + heave, max(z, 0.0))
    return PoseTarget(
        (x + c * surge - s * sway, y + s * surge + c * sway, z), _wrap_angle(target.yaw + yaw)
    )


def remaining_motion(target: PoseTarget, state: State) -> tuple[float, float]:
    """Return the distance (m) from a vehicle to a target, and the turn to port (rad, −π to π)."""
    distance = math.dist(target.position, map(float, state.position))
    return distance, _wrap_angle(target.yaw - _yaw_angle(state))


# A pilot's keyboard: what the keys mean, and how the bytes of a terminal become keys.

AXIS_KEYS: dict[str, tuple[str, float]] = {
    'w': ('surge', 1.0),
    's': ('surge', -1.0),
    'a': ('sway', 1.0),
    'd': ('sway', -1.0),
    'r': ('heave', 1.0),
    'f': ('heave', -1.0),
    'q': ('yaw', 1.0),
    'e': ('yaw', -1.0),
    'l': ('roll', 1.0),
    'j': ('roll', -1.0),
    'k': ('pitch', 1.0),
    'i': ('pitch', -1.0),
}
"""Key -> axis and sense (FLU: sway to port, heave up, yaw to port, pitch bow down)."""

FUNCTION_KEYS = {
    ' ': 'stop',
    'm': 'output',
    '+': 'gain_up',
    '=': 'gain_up',
    '-': 'gain_down',
    '_': 'gain_down',
    '1': 'arm',
    '0': 'disarm',
    '2': 'auto_depth',
    '3': 'auto_heading',
    '4': 'station_keeping',
    'n': 'joints',
    'g': 'gripper',
}
"""Key -> function of a pilot."""

QUIT_KEY = 'x'

KEY_HELP = (
    ('w s', 'ahead, astern'),
    ('a d', 'to port, starboard'),
    ('r f', 'up, down'),
    ('q e', 'turn to port, starboard'),
    ('j l', 'roll to port, starboard'),
    ('i k', 'bow up, bow down'),
    ('space', 'stop'),
    ('m', 'next output'),
    ('+ -', 'more, less gain'),
    ('1 0', 'arm, disarm'),
    ('2 3', 'auto depth, auto heading'),
    ('4', 'station keeping'),
    ('n g', 'next joints: ik jl, gripper'),
    (QUIT_KEY, 'stop and quit'),
)

# ECMA-48 control sequences and SS3: what arrow and function keys send; or alt with a key, except
# the space bar, for escape and space in a hurry are to stop.
_ESCAPE_SEQUENCE = re.compile(r'\x1b(\[[0-?]*[ -/]*[@-~]|O.|[^\[O ])', re.DOTALL)
_PARTIAL_SEQUENCE = re.compile(r'\x1b(\[[0-?]*[ -/]*|O)?\Z')
_MAX_SEQUENCE = 32


def split_keys(text: str) -> tuple[list[str], str]:
    """Return the keys of a terminal's input, and an incomplete escape sequence at its end.

    Arrow and function keys send several characters (ECMA-48, 5.4). They are dropped, so that their
    letters do not count as keys.
    """
    text = _ESCAPE_SEQUENCE.sub('', text)
    unfinished = _PARTIAL_SEQUENCE.search(text)
    incomplete = '' if unfinished is None else unfinished.group()
    keys = list(text[: len(text) - len(incomplete)].lower())
    return keys, incomplete if len(incomplete) < _MAX_SEQUENCE else ''


# State of the pilot and its changes by keys and sticks; independent of terminal and ROS.

OUTPUT_MODES = ('pwm', 'velocity', 'pose')
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
NO_EFFORT = (0.0,) * 6
_VEHICLE_AXES_WITH_ARM = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Pilot:
    """Efforts, output mode and target of a pilot.

    Attributes:
        output: one of OUTPUT_MODES.
        gain: gain of all efforts, 0 to 1.
        key_efforts: six efforts of the keyboard, −1 to 1 (FLU).
        sticks: six efforts of the gamepad.
        target: the pose to hold; None until the vehicle's own is known.
        pairs: number of pairs of joints that its arm has.
        pair: pair that pitch and roll move instead of the vehicle, from 1; 0: none.
    """

    output: str = 'pwm'
    gain: float = 0.5
    key_efforts: tuple[float, ...] = NO_EFFORT
    sticks: tuple[float, ...] = NO_EFFORT
    target: PoseTarget | None = None
    pairs: int = 0
    pair: int = 0

    def _total_efforts(self) -> np.ndarray:
        return np.clip(np.add(self.key_efforts, self.sticks), -1.0, 1.0) * self.gain

    def efforts(self) -> np.ndarray:
        """Return the six efforts, −1 to 1: keyboard and gamepad added, times the gain."""
        return self._total_efforts() * (_VEHICLE_AXES_WITH_ARM if self.pair else 1.0)

    def joint_efforts(self) -> np.ndarray:
        """Return the efforts (2,) of the selected pair of joints, −1 to 1."""
        return self._total_efforts()[[4, 3]] * float(self.pair > 0)


def press_axis_key(pilot: Pilot, axis: str, sense: float, state: State | None) -> Pilot:
    """Return the pilot after one press of an axis's key.

    In output mode pose the target moves by 0.25 m or 10 degrees; otherwise the effort changes by
    0.25.
    """
    if pilot.output != 'pose' or (pilot.pair and axis in ('roll', 'pitch')):
        i = BODY_AXES.index(axis)
        effort = min(1.0, max(-1.0, pilot.key_efforts[i] + EFFORT_STEP * sense))
        return replace(
            pilot, key_efforts=(*pilot.key_efforts[:i], effort, *pilot.key_efforts[i + 1 :])
        )
    if pilot.target is None or state is None or axis in ('roll', 'pitch'):
        return pilot
    step = dict.fromkeys(('surge', 'sway', 'heave', 'yaw'), 0.0)
    step[axis] = sense * (TURN_STEP if axis == 'yaw' else DISTANCE_STEP)
    return replace(pilot, target=moved_target(pilot.target, state, **step))


def follow_sticks(
    pilot: Pilot, full_speeds: Sequence[float] | np.ndarray, dt: float, state: State | None
) -> Pilot:
    """Return the pilot after the sticks have been held for a time.

    In output mode pose the target starts at the vehicle and moves with the sticks.

    Args:
        pilot: previous state of the pilot.
        full_speeds: six velocities of full stick, m/s and rad/s.
        dt: s.
        state: state of the vehicle, or None while it is unknown.
    """
    if pilot.output != 'pose' or state is None:
        return pilot
    target = target_at_vehicle(state) if pilot.target is None else pilot.target
    u, v, w, _, _, r = (float(x) * dt for x in pilot.efforts() * np.asarray(full_speeds))
    if u or v or w or r:
        target = moved_target(target, state, surge=u, sway=v, heave=w, yaw=r)
    return replace(pilot, target=target)


def stop_vehicle(pilot: Pilot, state: State | None) -> Pilot:
    """Return the pilot with nothing held, who wants to stay where the vehicle is."""
    target = None if state is None or pilot.output != 'pose' else target_at_vehicle(state)
    return replace(pilot, key_efforts=NO_EFFORT, sticks=NO_EFFORT, target=target)


def _next_output(pilot: Pilot, state: State | None) -> Pilot:
    output = OUTPUT_MODES[(OUTPUT_MODES.index(pilot.output) + 1) % len(OUTPUT_MODES)]
    return stop_vehicle(replace(pilot, output=output), state)


def _raise_gain(pilot: Pilot, state: State | None) -> Pilot:
    del state
    return replace(pilot, gain=min(1.0, round(pilot.gain + 0.1, 1)))


def _lower_gain(pilot: Pilot, state: State | None) -> Pilot:
    del state
    return replace(pilot, gain=max(0.1, round(pilot.gain - 0.1, 1)))


def _next_joints(pilot: Pilot, state: State | None) -> Pilot:
    """Select the next pair of joints; after the last, roll and pitch move the vehicle again."""
    del state
    key_efforts = (*pilot.key_efforts[:3], 0.0, 0.0, pilot.key_efforts[5])
    return replace(pilot, key_efforts=key_efforts, pair=(pilot.pair + 1) % (pilot.pairs + 1))


_PILOT_FUNCTIONS: dict[str, Callable[[Pilot, State | None], Pilot]] = {
    'stop': stop_vehicle,
    'output': _next_output,
    'gain_up': _raise_gain,
    'gain_down': _lower_gain,
    'joints': _next_joints,
}
GRIPPER_FUNCTION = 'gripper'
"""Function that closes and opens the gripper."""
PILOT_FUNCTION_NAMES = (*_PILOT_FUNCTIONS, *SWITCHES, GRIPPER_FUNCTION)
"""Functions of keys and buttons that move no axis."""


def perform_function(pilot: Pilot, function: str, state: State | None) -> Pilot:
    """Return the pilot after a function; those of controller and gripper leave it unchanged."""
    return _PILOT_FUNCTIONS[function](pilot, state) if function in _PILOT_FUNCTIONS else pilot
