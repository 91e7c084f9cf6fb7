# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sticks of a pilot as in ArduSub: overridden channels, and a joystick.

Sources: MAVLink common.xml (RC_CHANNELS_OVERRIDE, MANUAL_CONTROL); ArduSub 4.5,
libraries/RC_Channel (time of an override), ArduSub/joystick.cpp (scaling, buttons),
ArduSub/Parameters.cpp (defaults).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import IntFlag
from typing import Any

import numpy as np

from marine_sim_ros.autopilot.channels import HIGH, LOW, NEUTRAL
from marine_sim_ros.autopilot.mavlink.parameters import ParameterTable

__all__ = ['BUTTONS', 'Joystick', 'Overrides']

CHANNELS = 18
PITCH, ROLL, THROTTLE, YAW, FORWARD, LATERAL, PAN, TILT, LIGHTS, LIGHTS_2 = range(10)
"""Indices of ArduSub's input channels."""
UNCHANGED = 65535
RELEASED_BEYOND_8 = 65534
MIN_PULSE_WIDTH, MAX_PULSE_WIDTH = 800, 2200
"""µs; nothing else is a pulse width (libraries/RC_Channel, RC_MIN_LIMIT_PWM)."""
AXIS_UNSET = 32767
"""Of MANUAL_CONTROL: the joystick has no such axis."""


class _Extensions(IntFlag):
    """Fields of MANUAL_CONTROL beyond the first version of the message that count."""

    PITCH = 1
    ROLL = 2


class Overrides:
    """Pulse widths that a ground station puts in place of a receiver's channels."""

    def __init__(self) -> None:
        """Override nothing."""
        self._widths = [0] * CHANNELS
        self._at = [-math.inf] * CHANNELS

    def take(self, widths: Sequence[int], time: float) -> str:
        """Take an RC_CHANNELS_OVERRIDE at a time (s), channel by channel.

        Returns:
            The reason why channels are left as they are, or an empty text.
        """
        refused = []
        for k, width in enumerate(widths):
            if width == UNCHANGED or (k >= 8 and width == 0):
                continue
            if k >= 8 and width == RELEASED_BEYOND_8:
                width = 0
            if width == 0 or MIN_PULSE_WIDTH <= width <= MAX_PULSE_WIDTH:
                self.set(k, width, time)
            else:
                refused.append(f'channel {k + 1} is {width} us')
        return f'{refused[0]}; expected {MIN_PULSE_WIDTH} to {MAX_PULSE_WIDTH}' if refused else ''

    def set(self, channel: int, width: int, time: float) -> None:
        """Override a channel, from 0, with a pulse width in µs; 0 releases it."""
        self._widths[channel], self._at[channel] = width, time

    def clear(self) -> None:
        """Release all channels."""
        self.__init__()  # type: ignore[misc]

    def width(self, channel: int, time: float, hold: float) -> int:
        """Return the pulse width of a channel, µs; 0: it is not overridden.

        Args:
            channel: from 0.
            time: s.
            hold: time that an override lasts, s; negative: for ever.
        """
        late = 0 <= hold < time - self._at[channel]
        return 0 if late else self._widths[channel]

    def efforts(self, time: float, hold: float) -> np.ndarray:
        """Return surge, sway, heave, roll, pitch, yaw (6,), −1 to 1, FLU; neutral is 0."""

        def stick(channel: int) -> float:
            width = self.width(channel, time, hold) or NEUTRAL
            return min(max((width - NEUTRAL) / (HIGH - NEUTRAL), -1.0), 1.0)

        return np.array(
            [
                stick(FORWARD),
                -stick(LATERAL),
                stick(THROTTLE),
                stick(ROLL),
                -stick(PITCH),
                -stick(YAW),
            ]
        )


BUTTONS: tuple[tuple[str, str], ...] = (
    ('', ''),
    ('mode_manual', ''),
    ('mode_alt_hold', ''),
    ('mode_stabilize', ''),
    ('disarm', ''),
    ('shift', ''),
    ('arm', ''),
    ('mount_center', ''),
    ('input_hold_set', ''),
    ('mount_tilt_down', 'mount_pan_left'),
    ('mount_tilt_up', 'mount_pan_right'),
    ('gain_inc', 'trim_pitch_dec'),
    ('gain_dec', 'trim_pitch_inc'),
    ('lights1_dimmer', 'trim_roll_dec'),
    ('lights1_brighter', 'trim_roll_inc'),
    ('', ''),
)
"""ArduSub's default function of each button, and with shift."""
TRIM = {'trim_roll_inc': ('roll', 10), 'trim_roll_dec': ('roll', -10),
        'trim_pitch_inc': ('pitch', 10), 'trim_pitch_dec': ('pitch', -10)}  # fmt: skip
"""µs that a press adds, and ±200 at most (ArduSub/joystick.cpp)."""
MAX_TRIM = 200


class Joystick:
    """MANUAL_CONTROL, which overrides channels 1 to 6, and 8 to 10 by its buttons."""

    def __init__(
        self,
        overrides: Overrides,
        parameters: ParameterTable,
        press: Callable[[str], None],
        say: Callable[[str], None],
    ) -> None:
        """Start with ArduSub's gain.

        Args:
            parameters: values of JS_… .
            press: called with arm, disarm, mount_center or mode_… of a button.
            say: called with a text for the pilot.
        """
        self._overrides, self._parameters = overrides, parameters
        self._press, self._say = press, say
        self._pressed = 0
        self._trims = {'roll': 0, 'pitch': 0}
        self._unknown: set[str] = set()
        self.lights = LOW
        self.tilt = NEUTRAL
        self.gain = 0.0
        self.reset_gain()

    def reset_gain(self) -> None:
        """Take the gain of JS_GAIN_DEFAULT."""
        p = self._parameters
        self.gain = min(max(p['JS_GAIN_DEFAULT'], p['JS_GAIN_MIN']), p['JS_GAIN_MAX'])

    def take(self, message: Any, time: float) -> None:
        """Take a MANUAL_CONTROL at a time (s)."""
        buttons = message.buttons | getattr(message, 'buttons2', 0) << 16
        self.tilt = NEUTRAL
        self._take_buttons(buttons)
        scale = 0.4 * self.gain
        throttle = 0.8 * self.gain * self._parameters['JS_THR_GAIN']
        extensions = getattr(message, 'enabled_extensions', 0)
        pitch = getattr(message, 's', 0) if extensions & _Extensions.PITCH else 0
        roll = getattr(message, 't', 0) if extensions & _Extensions.ROLL else 0
        self._override(PITCH, pitch, NEUTRAL + self._trims['pitch'], 1.0, time)
        self._override(ROLL, roll, NEUTRAL + self._trims['roll'], 1.0, time)
        self._override(THROTTLE, message.z, NEUTRAL - 500 * throttle, throttle, time)
        self._override(YAW, message.r, NEUTRAL, scale, time)
        self._override(FORWARD, message.x, NEUTRAL, scale, time)
        self._override(LATERAL, message.y, NEUTRAL, scale, time)
        self._overrides.set(TILT, self.tilt, time)
        self._overrides.set(LIGHTS, self.lights, time)

    def _override(
        self, channel: int, value: int, centre: float, scale: float, time: float
    ) -> None:
        if value != AXIS_UNSET:
            width = int(min(max(centre + value * scale, LOW), HIGH))
            self._overrides.set(channel, width, time)

    def _take_buttons(self, buttons: int) -> None:
        pressed, self._pressed = self._pressed, buttons
        down = [k for k in range(32) if buttons & 1 << k]
        shift = any(_function(k, False) == 'shift' for k in down)
        for k in down:
            name = _function(k, shift)
            if not name:
                if not pressed & 1 << k:
                    self._refuse(f'button {k}{" with shift" if shift else ""} has no function')
            elif name.startswith('mount_tilt'):
                self.tilt = HIGH if name.endswith('up') else LOW
            elif not pressed & 1 << k:
                self._act(name)

    def _act(self, name: str) -> None:
        """Do what a button does once when it is pressed."""
        if name in ('arm', 'disarm', 'mount_center') or name.startswith('mode_'):
            self._press(name)
        elif name.startswith('gain_'):
            self._step_gain(1 if name == 'gain_inc' else -1)
        elif name.startswith('lights1_'):
            step = (HIGH - LOW) / self._parameters['JS_LIGHTS_STEPS']
            step = step if name.endswith('brighter') else -step
            self.lights = int(min(max(self.lights + step, LOW), HIGH))
        elif name in TRIM:
            axis, step = TRIM[name]
            self._trims[axis] = min(max(self._trims[axis] + step, -MAX_TRIM), MAX_TRIM)
        elif name != 'shift':
            self._refuse(f'button function {name} is not simulated')

    def _refuse(self, text: str) -> None:
        if text not in self._unknown:
            self._unknown.add(text)
            self._say(text)

    def _step_gain(self, sense: int) -> None:
        p = self._parameters
        low, high, steps = p['JS_GAIN_MIN'], p['JS_GAIN_MAX'], p['JS_GAIN_STEPS']
        if steps > 1:
            self.gain = min(max(self.gain + sense * (high - low) / (steps - 1), low), high)
        self._say(f'#Gain is {100 * self.gain:.0f}%')


def _function(button: int, shift: bool) -> str:
    return BUTTONS[button][shift] if button < len(BUTTONS) else ''
