# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A gamepad without the ROS package joy: SDL's virtual devices are read as joy reads real ones."""

import ctypes
import re
from pathlib import Path

import pytest
from conftest import has

if not has('sensor_msgs'):
    pytest.skip('needs the messages of ROS', allow_module_level=True)

from marine_sim_ros.control.gamepad import StickMemory, load_gamepad, read_sticks
from marine_sim_ros.ros.operators.gamepad_reader import GamepadReader, joy_axis, joy_hats

CONTROLLER, JOYSTICK = 1, 3
"""Types of SDL: a game controller, and a flight stick, which has no mapping."""


@pytest.mark.parametrize(
    ('raw', 'axis'), [(0, 0.0), (32767, -1.0), (-32768, 1.0), (-32767, 1.0), (16384, -0.5000153)]
)
def test_axes_are_turned_and_bounded_as_joy_does(raw, axis):
    assert joy_axis(raw) == pytest.approx(axis, abs=1e-7)
    assert str(joy_axis(raw)) != '-0.0'


def test_hats_follow_the_axes_left_and_up_positive():
    assert joy_hats([(1, 0), (0, -1), (-1, 1)]) == (-1.0, 0.0, 0.0, -1.0, 1.0, 1.0)


class Device:
    """A virtual device of the SDL that pygame brings."""

    def __init__(self, kind, axes, buttons, hats):
        maps = Path('/proc/self/maps').read_text()
        self._sdl = ctypes.CDLL(re.search(r'\S*libSDL2-2\S*', maps)[0])
        self._sdl.SDL_JoystickOpen.restype = ctypes.c_void_p
        self.index = self._sdl.SDL_JoystickAttachVirtual(kind, axes, buttons, hats)
        assert self.index >= 0
        self._handle = ctypes.c_void_p(self._sdl.SDL_JoystickOpen(self.index))

    def hold(self, *, axes=(), buttons=(), hats=()):
        for number, value in axes:
            self._sdl.SDL_JoystickSetVirtualAxis(self._handle, number, ctypes.c_int16(value))
        for number in buttons:
            self._sdl.SDL_JoystickSetVirtualButton(self._handle, number, ctypes.c_uint8(1))
        for number, value in hats:
            self._sdl.SDL_JoystickSetVirtualHat(self._handle, number, ctypes.c_uint8(value))

    def pull_out(self):
        self._sdl.SDL_JoystickDetachVirtual(self.index)


@pytest.fixture
def reader(monkeypatch):
    pytest.importorskip('pygame')
    monkeypatch.setenv('SDL_VIDEODRIVER', 'dummy')
    made = []

    def make(driver):
        made.append(GamepadReader(driver))
        return made[0]

    yield make
    made[0].close()


def test_a_game_controller_is_found_read_lost_and_found_again(reader):
    reads = reader('game_controller_node')
    assert reads.read() is None
    for _ in range(2):
        device = Device(CONTROLLER, 6, 15, 0)
        reads.read()
        device.hold(axes=[(1, -32768), (0, 32767)], buttons=[6])  # ahead, to starboard, start
        axes, buttons = reads.read()
        efforts, functions, _ = read_sticks(
            load_gamepad('xbox'), StickMemory(frozenset()), axes, buttons, 0.05
        )
        assert efforts[:2] == pytest.approx([1.0, -1.0])
        assert functions == ('arm',)
        assert reads.name
        device.pull_out()
        assert reads.read() is None


def test_a_stick_without_a_mapping_is_read_by_its_own_numbers(reader):
    reads = reader('joy_node')
    device = Device(JOYSTICK, 4, 16, 1)
    reads.read()
    device.hold(axes=[(2, 16384)], buttons=[3], hats=[(0, 1)])  # a hat held up
    axes, buttons = reads.read()
    assert axes == pytest.approx((0.0, 0.0, -0.5, 0.0, 0.0, 1.0), abs=1e-4)
    assert buttons == tuple(int(i == 3) for i in range(16))
    device.pull_out()
