# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gamepad and joystick layouts (``config/gamepads/*.yaml``), and the efforts of their sticks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marine_sim_ros.control.controllability import BODY_AXES
from marine_sim_ros.control.pilot import PILOT_FUNCTION_NAMES
from marine_sim_ros.core.yaml_file import ConfigFiles, YamlReader

__all__ = [
    'Gamepad',
    'StickMemory',
    'gamepad_names',
    'load_gamepad',
    'parse_gamepad',
    'read_sticks',
]

JOY_DRIVERS = ('game_controller_node', 'joy_node')
"""Nodes of the ROS 2 package joy; they number axes and buttons differently."""
MAX_INDEX = 63


@dataclass(frozen=True)
class StickControl:
    """A stick, slider or button that moves an axis.

    Attributes:
        number: index in the axes or buttons of a sensor_msgs/Joy, from 0.
        scale: effort of +1, −1 to 1; negative reverses it.
        button: whether it is a button.
        slider: whether it has no return spring. It takes effect only after it has been through the
            middle, so that a slider left down does not make a vehicle dive.
    """

    number: int
    scale: float = 1.0
    button: bool = False
    slider: bool = False


@dataclass(frozen=True)
class Gamepad:
    """Layout of a gamepad.

    Attributes:
        name: name of the file.
        driver: one of JOY_DRIVERS, whose numbering applies.
        axes: control that moves each axis.
        buttons: number of the button of each function.
    """

    name: str
    driver: str
    axes: dict[str, tuple[StickControl, ...]]
    buttons: dict[str, int]


@dataclass(frozen=True)
class StickMemory:
    """State between two messages.

    Attributes:
        pressed: numbers of the buttons that are down; None before the first message.
        values: values of the axes after the dead band.
        centred: numbers of the axes that have been in the middle or crossed it.
    """

    pressed: frozenset[int] | None = None
    values: tuple[float, ...] = ()
    centred: frozenset[int] = frozenset()


def _apply_dead_band(value: float, dead_band: float) -> float:
    """Return a stick's value after the dead band: 0 within it, then linear from 0 to ±1."""
    if not math.isfinite(value) or abs(value) <= dead_band:
        return 0.0
    return math.copysign((min(abs(value), 1.0) - dead_band) / (1.0 - dead_band), value)


def read_sticks(
    gamepad: Gamepad,
    memory: StickMemory,
    axes: Sequence[float],
    buttons: Sequence[int],
    dead_band: float,
) -> tuple[np.ndarray, tuple[str, ...], StickMemory]:
    """Return the six efforts of a sensor_msgs/Joy, newly pressed functions, and the state.

        Axes and buttons that the message lacks count as 0. Buttons that are down in the first
        message do not count as newly pressed.

    Args:
        gamepad: layout of the gamepad that sent the message.
        memory: state after the previous message.
        axes: axes of the message, −1 to 1.
        buttons: buttons of the message, 0 or 1.
        dead_band: dead band of a stick around its middle, below 1.
    """
    pressed = frozenset(i for i, is_down in enumerate(buttons) if is_down)
    values = tuple(_apply_dead_band(float(value), dead_band) for value in axes)
    crossed = {i for i, (a, b) in enumerate(zip(values, memory.values, strict=False)) if a * b < 0}
    centred = memory.centred | crossed | {i for i, value in enumerate(values) if value == 0.0}
    efforts = np.zeros(6)
    for i, axis in enumerate(BODY_AXES):
        for control in gamepad.axes.get(axis, ()):
            if control.button:
                efforts[i] += control.scale * (control.number in pressed)
            elif control.number < len(values) and (
                not control.slider or control.number in centred
            ):
                efforts[i] += control.scale * values[control.number]
    newly_pressed = frozenset() if memory.pressed is None else pressed - memory.pressed
    functions = tuple(f for f, number in gamepad.buttons.items() if number in newly_pressed)
    return np.clip(efforts, -1.0, 1.0), functions, StickMemory(pressed, values, centred)


def _read_gamepad(root: YamlReader) -> Gamepad:
    root.mapping({'description', 'driver', 'axes', 'buttons'}, {'driver', 'axes'})
    driver = root.child('driver').choice(JOY_DRIVERS)
    axis_reader, button_reader = root.child('axes', {}), root.child('buttons', {})
    axes = {
        a: _read_controls(axis_reader.child(a))
        for a in BODY_AXES
        if a in axis_reader.mapping(set(BODY_AXES))
    }
    buttons = {
        f: button_reader.child(f).integer(0, MAX_INDEX)
        for f in PILOT_FUNCTION_NAMES
        if f in button_reader.mapping(set(PILOT_FUNCTION_NAMES))
    }
    function_of_button: dict[int, str] = {}
    axis_buttons = [(a, c.number) for a, cs in axes.items() for c in cs if c.button]
    for use, number in (*buttons.items(), *axis_buttons):
        if number in function_of_button:
            raise root.error(f': button {number} is both {function_of_button[number]} and {use}')
        function_of_button[number] = use
    return Gamepad(root.stem, driver, axes, buttons)


def _read_controls(reader: YamlReader) -> tuple[StickControl, ...]:
    return tuple(
        map(_read_control, reader.items() if isinstance(reader.value, list) else [reader])
    )


def _read_control(reader: YamlReader) -> StickControl:
    reader.mapping({'axis', 'button', 'scale', 'slider'})
    if ('axis' in reader.value) == ('button' in reader.value):
        raise reader.error(': expected either axis or button')
    slider = reader.child('slider', False)
    button = 'button' in reader.value
    if slider.truth() and button:
        raise slider.error(' is true; a button is no slider')
    return StickControl(
        reader.child('button' if button else 'axis').integer(0, MAX_INDEX),
        reader.child('scale', 1.0).number(-1.0, 1.0),
        button,
        slider.value,
    )


GAMEPADS = ConfigFiles('gamepads', _read_gamepad)
gamepad_names, load_gamepad, parse_gamepad = GAMEPADS.names, GAMEPADS.load, GAMEPADS.parse
