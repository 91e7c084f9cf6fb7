# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A pilot of the real ArduSub over MAVLink, by wall time."""

import socket
import time

from ardusub_rig import ALT_HOLD
from processor import PATIENCE, slowed


class Pilot:
    """A ground station: hears everything, beats, and holds its sticks."""

    def __init__(self):
        from pymavlink import mavutil

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(('127.0.0.1', 0))
            self.address = f'127.0.0.1:{probe.getsockname()[1]}'
        self.link = mavutil.mavlink_connection(
            f'udpin:{self.address}', source_system=255, dialect='ardupilotmega'
        )
        self.last, self.texts, self.sticks, self._next = {}, [], (0, 0, 500, 0), {}

    def until(self, condition, seconds=PATIENCE):
        """Speak and listen until something holds; return whether it does."""
        end = time.monotonic() + slowed(seconds)
        while time.monotonic() < end:
            while (message := self.link.recv_match()) is not None:
                if message.get_srcComponent() != 1:  # the firmware passes the companion's on
                    continue
                self.last[message.get_type()] = message
                if message.get_type() == 'STATUSTEXT':
                    self.texts.append(message.text)
            if condition():
                return True
            if 'HEARTBEAT' in self.last:
                self._speak()
            time.sleep(0.02)
        return False

    def _speak(self):
        now, mav = time.monotonic(), self.link.mav
        for name, period, speak in (
            ('heartbeat', 1.0, lambda: mav.heartbeat_send(6, 8, 0, 0, 0)),
            ('sticks', 0.1, lambda: mav.manual_control_send(self.system, *self.sticks, 0)),
        ):
            if now >= self._next.get(name, 0.0):
                self._next[name] = now + period
                speak()

    @property
    def system(self):
        return self.last['HEARTBEAT'].get_srcSystem()

    @property
    def armed(self):
        return bool(self.last['HEARTBEAT'].base_mode & 128)

    def arm(self):
        for _ in range(20):
            self.link.mav.command_long_send(self.system, 1, 400, 0, 1, 0, 0, 0, 0, 0, 0)
            if self.until(lambda: self.armed, 3):
                return True
        return False

    def set_parameter(self, name, value):
        self.link.mav.param_set_send(self.system, 1, name.encode(), value, 9)
        assert self.until(lambda: self.last['PARAM_VALUE'].param_id == name, 10)

    def dive(self, depth):
        self.link.mav.set_mode_send(self.system, 1, ALT_HOLD)
        assert self.until(lambda: self.last['HEARTBEAT'].custom_mode == ALT_HOLD, 10)
        self.sticks = (0, 0, 0, 0)
        assert self.until(lambda: self.last['VFR_HUD'].alt < -depth, 60), self.texts
        self.sticks = (0, 0, 500, 0)
