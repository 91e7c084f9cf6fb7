# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""ArduSub's modes over our controller: sticks, targets and missions become commands.

Sources: ArduSub 4.5, ArduSub/mode.h (numbers), ArduSub/mode_althold.cpp, ArduSub/mode_surface.cpp.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from marine_sim_ros.autopilot.channels import Device
from marine_sim_ros.autopilot.mavlink.guidance import Guide
from marine_sim_ros.autopilot.mavlink.mission import MissionRun, speeds_of
from marine_sim_ros.autopilot.mavlink.ned_frame import NedFrame
from marine_sim_ros.autopilot.mavlink.parameters import ParameterTable
from marine_sim_ros.autopilot.mavlink.sticks import NEUTRAL, TILT, Joystick, Overrides
from marine_sim_ros.control.commander import Commander
from marine_sim_ros.control.setpoints import ATTITUDE, RATES
from marine_sim_ros.core.state import State, rest
from marine_sim_ros.environment.origin import Origin

__all__ = ['MODES', 'NAMES', 'Autopilot', 'Efforts', 'SetPoints']

MODES = {
    'stabilize': 0,
    'alt_hold': 2,
    'auto': 3,
    'guided': 4,
    'surface': 9,
    'poshold': 16,
    'manual': 19,
}
"""ArduSub's number of each mode that there is."""
NAMES = {number: name for name, number in MODES.items()}
HOLDS = {
    'stabilize': ('auto_heading',),
    'alt_hold': ('auto_depth', 'auto_heading'),
    'surface': ('auto_depth', 'auto_heading'),
    'poshold': ('auto_depth', 'auto_heading', 'station_keeping'),
}
"""What is held in a mode that sticks steer, while they are centred."""
ATTITUDE_TIMEOUT = 5.0
"""s that a SET_ATTITUDE_TARGET lasts in ALT_HOLD (ArduSub/mode_althold.cpp)."""
TILT_RATE = math.radians(30.0)
"""rad/s of the camera at full input."""


@dataclass(frozen=True)
class Efforts:
    """Efforts (6,) of the thrusters: surge, sway, heave, roll, pitch, yaw, −1 to 1, FLU."""

    efforts: np.ndarray


@dataclass(frozen=True)
class SetPoints:
    """Set-points (12,) of the controller, NaN where free."""

    targets: np.ndarray


class Autopilot:
    """The modes, without a connection; times are those of the simulation, s."""

    def __init__(
        self,
        origin: Origin,
        full_stick: np.ndarray,
        devices: tuple[Device, ...] = (),
        *,
        system: int = 1,
        say: Callable[[str], None],
        press: Callable[[str], None],
        reached: Callable[[int], None],
    ) -> None:
        """Start in MANUAL, disarmed.

        Args:
            origin: where map is on the Earth.
            full_stick: velocities (6,) of full stick, m/s and rad/s.
            devices: what channels move besides thrusters.
            system: number of the MAVLink system.
            say: called with a text for the pilot.
            press: called with arm, disarm or mode_… of a joystick's button.
            reached: called with the number of a mission item that is done.
        """
        self.frame = NedFrame(origin)
        self.parameters = ParameterTable(system)
        self.overrides = Overrides()
        self._press = press
        self.joystick = Joystick(self.overrides, self.parameters, self._pressed, say)
        self.guide = Guide()
        self.mission = MissionRun(self.guide, self.frame, self.parameters, say, reached)
        self._top, self._devices = np.asarray(full_stick, float), devices
        self._commander = Commander(armed=True)
        self.mode, self.armed = 'manual', False
        self.state, self.time = rest(), 0.0
        self.known = False
        """Whether a state has come."""
        self.values: dict[str, float] = {}
        """Values of the devices that were moved."""
        self._tilt = 0.0
        self._depth = math.nan
        self._attitude: tuple[float, np.ndarray] | None = None

    def _pressed(self, name: str) -> None:
        if name == 'mount_center':
            self._tilt = 0.0
        else:
            self._press(name)

    def set_mode(self, name: str) -> str:
        """Change the mode; return the reason why it stays, or an empty text."""
        if name == 'auto' and not self.mission.ready:
            return 'no mission to fly; upload one'
        if name == self.mode:
            return ''
        self.mode = name
        self._commander.forget()
        self._commander.holds = set(HOLDS.get(name, ()))
        self._depth, self._attitude = math.nan, None
        self.guide.hold()
        if name == 'auto':
            self.mission.resume()
        return ''

    def arm(self, on: bool) -> None:
        """Be told that the controller is armed, or no longer."""
        if on == self.armed:
            return
        self.armed = on
        self.overrides.clear()
        self._commander.forget()
        self.guide.hold()
        if self.mode == 'auto':
            self.mission.resume()

    def hold_depth(self, z: float) -> None:
        """Take a depth in ALT_HOLD: z in map, m."""
        self._depth = z

    def hold_attitude(self, angles: np.ndarray) -> None:
        """Take roll, pitch and yaw (3,) in map, rad, for a while, in ALT_HOLD."""
        self._attitude = (self.time, angles)

    def step(self, time: float, state: State) -> Efforts | SetPoints | None:
        """Return the command of a time (s) and a state; None while disarmed."""
        dt = time - self.time
        if dt < 0:  # the run was reset
            self.overrides.clear()
            self._commander.forget()
            self._attitude = None
        self.time, self.state, self.known = time, state, True
        self._move_devices(min(max(dt, 0.0), 0.5))
        if not self.armed:
            return None
        if self.mode in ('guided', 'auto'):
            return SetPoints(self._guided())
        efforts = self.overrides.efforts(time, self.parameters['RC_OVERRIDE_TIME'])
        if self.mode == 'manual':
            return Efforts(efforts)
        return SetPoints(self._piloted(efforts))

    def _guided(self) -> np.ndarray:
        if self.mode == 'auto':
            self.mission.step(self.time, self.state)
        level = self.mission.level_speed
        return self.guide.step(self.time, self.state, speeds_of(self.parameters, level))

    def _piloted(self, efforts: np.ndarray) -> np.ndarray:
        """Return the set-points (12,) of a mode that sticks steer."""
        if self.mode != 'stabilize':
            efforts = efforts.copy()
            efforts[2] = self._outside_dead_zone(efforts[2])
        if self.mode == 'surface':
            below = self.state.position[2] < self.parameters['SURFACE_DEPTH'] / 100
            efforts[2] = 1.0 if below else 0.0
        if efforts[2]:
            self._depth = math.nan
        self._commander.drive(efforts * self._top, self.time)
        wanted = self._commander.wanted(self.time, self.state)
        if not math.isnan(self._depth):
            wanted[2], wanted[8] = self._depth, np.nan
        if self._attitude is not None and self.time - self._attitude[0] < ATTITUDE_TIMEOUT:
            wanted[ATTITUDE], wanted[RATES] = self._attitude[1], np.nan
        return wanted

    def _outside_dead_zone(self, throttle: float) -> float:
        """Return the throttle, −1 to 1, of what is beyond its dead zone."""
        zone = self.parameters['THR_DZ'] / 500
        return math.copysign(max(abs(throttle) - zone, 0.0) / (1.0 - zone), throttle)

    def width(self, channel: int) -> int:
        """Return the pulse width of an input channel, from 0, in µs; 0: none."""
        return self.overrides.width(channel, self.time, self.parameters['RC_OVERRIDE_TIME'])

    def _move_devices(self, dt: float) -> None:
        """Turn inputs 8, 9 and 11 into the values of tilt, lights and gripper."""
        tilt = self.width(TILT)
        for device in self._devices:
            if device.name == 'camera_tilt':
                rate = ((tilt or NEUTRAL) - NEUTRAL) / 400 * TILT_RATE
                self._tilt = min(max(self._tilt + rate * dt, device.low), device.high)
                if tilt or device.name in self.values:
                    self.values[device.name] = self._tilt
            elif width := self.width(device.channel - 1):
                self.values[device.name] = device.value(width)

    def servos(self, pulse_widths: list[int], channels: tuple[int, ...]) -> list[int]:
        """Return the output (16,) in µs: the thrusters' by their channels, and the devices'."""
        result = [0] * 16
        for channel, width in zip(channels, pulse_widths, strict=False):
            if channel <= 16:
                result[channel - 1] = width
        for device in self._devices:
            value = self.values.get(device.name)
            if value is not None and device.channel <= 16 and device.high != device.low:
                share = (value - device.low) / (device.high - device.low)
                result[device.channel - 1] = round(1100 + 800 * share)
        return result
