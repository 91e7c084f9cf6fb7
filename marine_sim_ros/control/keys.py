# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A pilot's keyboard: what the keys mean, and how the bytes of a terminal become keys."""

from __future__ import annotations

import re

__all__ = ['AXIS_KEYS', 'FUNCTION_KEYS', 'HELP', 'QUIT', 'split_keys']

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

QUIT = 'x'

HELP = (
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
    (QUIT, 'stop and quit'),
)

# ECMA-48 control sequences and SS3: what arrow and function keys send; or alt with a key, except
# the space bar, for escape and space in a hurry are to stop.
_SEQUENCE = re.compile(r'\x1b(\[[0-?]*[ -/]*[@-~]|O.|[^\[O ])', re.DOTALL)
_UNFINISHED = re.compile(r'\x1b(\[[0-?]*[ -/]*|O)?\Z')
_LONGEST = 32


def split_keys(text: str) -> tuple[list[str], str]:
    """Return the keys of a terminal's input, and the rest that waits for more to come at once.

    Arrow and function keys send several characters (ECMA-48, 5.4); they are no keys of the pilot,
    and the letters in them must not be taken for some.
    """
    text = _SEQUENCE.sub('', text)
    unfinished = _UNFINISHED.search(text)
    rest = '' if unfinished is None else unfinished.group()
    keys = list(text[: len(text) - len(rest)].lower())
    return keys, rest if len(rest) < _LONGEST else ''
