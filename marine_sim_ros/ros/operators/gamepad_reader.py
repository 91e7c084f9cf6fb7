# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gamepad of this machine, read by SDL as the nodes of the ROS 2 package joy read it."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from sensor_msgs.msg import Joy

from marine_sim_ros.core.extras import require
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.message_fields import set_stamp

__all__ = ['GamepadReader', 'JoyPublisher']

_FULL = 32767
"""Largest value of an axis of SDL."""
_PERIOD = 0.02
"""s of wall time between two messages, as of joy."""
_CONTROLLER_AXES, _CONTROLLER_BUTTONS = 6, 15
"""Of a game controller: two sticks and two triggers; A to the d-pad (SDL_gamecontroller.h)."""


class GamepadState(NamedTuple):
    """Axes, −1 to 1, and buttons, 0 or 1, of a sensor_msgs/Joy."""

    axes: tuple[float, ...]
    buttons: tuple[int, ...]


def joy_axis(raw: int) -> float:
    """Return an axis of sensor_msgs/Joy of one of SDL: ahead and left are positive."""
    return -max(raw, -_FULL) / _FULL + 0.0


def joy_hats(hats: Sequence[tuple[int, int]]) -> tuple[float, ...]:
    """Return the axes of hats, each right and up of SDL: left and up are positive."""
    return tuple(float(value) for right, up in hats for value in (-right + 0, up))


class GamepadReader:
    """First gamepad of this machine; one that is plugged in later is found.

    Attributes:
        name: name of the gamepad; empty where there is none.
    """

    def __init__(self, driver: str) -> None:
        """Start SDL.

        Args:
            driver: node of joy whose numbers are wanted, of ``JOY_DRIVERS``.

        Raises:
            MissingPackageError: pygame is not installed.
        """
        os.environ.setdefault('PYGAME_HIDE_SUPPORT_PROMPT', '1')
        os.environ.setdefault('SDL_VIDEODRIVER', 'dummy')  # SDL gives no events without a display
        os.environ.setdefault('SDL_JOYSTICK_ALLOW_BACKGROUND_EVENTS', '1')
        self._pygame = require('pygame', 'gamepad')
        self._pygame.display.init()
        self._pygame.joystick.init()
        self._mapped = driver == 'game_controller_node'
        if self._mapped:
            self._controllers = importlib.import_module('pygame._sdl2.controller')
            self._controllers.init()
        self._device: Any = None
        self.name = ''

    def read(self) -> GamepadState | None:
        """Return sticks and buttons; None without a gamepad, or after it was pulled out."""
        self._pygame.event.pump()
        if self._device is None or not self._is_attached():
            self._open()
        if self._device is None:
            return None
        return self._read_controller() if self._mapped else self._read_joystick()

    def close(self) -> None:
        """End SDL."""
        self._pygame.quit()

    def _is_attached(self) -> bool:
        if self._mapped:
            return bool(self._device.attached())
        return bool(self._pygame.joystick.get_count())

    def _open(self) -> None:
        self._device, self.name = None, ''
        for index in range(self._pygame.joystick.get_count()):
            if not self._mapped:
                self._device = self._pygame.joystick.Joystick(index)
                self.name = self._device.get_name()
                return
            if self._controllers.is_controller(index):
                self._device = self._controllers.Controller(index)
                self.name = self._device.name
                return

    def _read_controller(self) -> GamepadState:
        return GamepadState(
            tuple(joy_axis(self._device.get_axis(i)) for i in range(_CONTROLLER_AXES)),
            tuple(int(self._device.get_button(i)) for i in range(_CONTROLLER_BUTTONS)),
        )

    def _read_joystick(self) -> GamepadState:
        pad = self._device
        axes = (joy_axis(round(pad.get_axis(i) * _FULL)) for i in range(pad.get_numaxes()))
        hats = joy_hats([pad.get_hat(i) for i in range(pad.get_numhats())])
        buttons = (int(pad.get_button(i)) for i in range(pad.get_numbuttons()))
        return GamepadState((*axes, *hats), tuple(buttons))


class JoyPublisher:
    """Publishes the gamepad of this machine on /joy, in place of a node of the package joy."""

    def __init__(self, node: VehicleNode, driver: str) -> None:
        """Start it on a node.

        Raises:
            MissingPackageError: pygame is not installed.
        """
        self._node, self.reader = node, GamepadReader(driver)
        self._publisher = node.publisher(topics.JOY)
        node.create_timer(_PERIOD, node.guard('gamepad', self._tick), clock=node.wall_clock)

    def _tick(self) -> None:
        if (state := self.reader.read()) is not None:
            message = Joy(axes=list(state.axes), buttons=list(state.buttons))
            set_stamp(message.header.stamp, self._node.wall_clock.now().nanoseconds)
            self._publisher.publish(message)
