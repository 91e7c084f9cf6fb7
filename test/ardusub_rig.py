# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The real ArduSub on a simulated vehicle in one process, with a pilot in lockstep (pymavlink).

The pilot speaks between two ticks, while the autopilot waits: a mission is the same every time.
"""

import os
import shutil
import socket

import numpy as np

from marine_sim_ros import load_vehicle
from marine_sim_ros.autopilot.channels import SKID_STEERING, channel_map
from marine_sim_ros.autopilot.companion import Companion, DeltaOdometry, Fixes
from marine_sim_ros.autopilot.firmware import Firmware, FirmwareSettings
from marine_sim_ros.autopilot.instruments import Instruments
from marine_sim_ros.autopilot.lockstep import AutopilotExchange, AutopilotLink
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.sim.simulation import Simulation

PROGRAM = os.environ.get('ARDUSUB') or shutil.which('ardusub')
ROVER = os.environ.get('ARDUROVER') or shutil.which('ardurover')
MANUAL, STABILIZE, ALT_HOLD, AUTO, GUIDED, SURFACE, POSHOLD, SURFTRAK = 19, 0, 2, 3, 4, 9, 16, 21


class Rig:
    def __init__(
        self,
        vehicle='bluerov2',
        environment='',
        *,
        dt=0.005,
        rate=400.0,
        depth=0.5,
        current=(0, 0, 0),
        navigation='gps',
        arguments=None,
        ranges=lambda state: None,
        program=PROGRAM,
    ):
        from pymavlink import mavutil

        self.vehicle = load_vehicle(vehicle, **(arguments or {}))
        self.environment = run_environment(environment, current=current)
        start = state_at_rest((0.0, 0.0, -depth))
        self.simulation = Simulation(
            self.vehicle, environment=self.environment, initial=start, dt=dt
        )
        self.link = AutopilotLink('127.0.0.1', 0, print)
        self.instruments = Instruments(self.vehicle)
        self.exchange = AutopilotExchange(self.link, self.instruments, rate)
        self.channels = channel_map(self.vehicle)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(('127.0.0.1', 0))
            port = probe.getsockname()[1]
        self.mavlink = mavutil.mavlink_connection(
            f'udpin:127.0.0.1:{port}', source_system=255, dialect='ardupilotmega'
        )
        self.mavlink.target_system = self.mavlink.target_component = 1
        home = (33.810313, -118.393867)
        self.companion, self.odometry = Companion(1, home), DeltaOdometry()
        self.fixes = Fixes(self.vehicle, self.instruments) if navigation == 'usbl' else None
        self.settings = FirmwareSettings(
            self.channels.frame,
            '127.0.0.1',
            self.link.port,
            0,
            home,
            f'127.0.0.1:{port}',
            '127.0.0.1:9',
            rate,
            navigation,
            self.companion.address,
        )
        self.firmware = Firmware(program, self.settings)
        self.ranges, self.sticks = ranges, None
        self.pwm, self.depths, self.states, self.texts, self.last = [], [], [], [], {}
        self.reached = []
        self.every, self._next = [], {}
        self.silent, self.dead = False, None

    @property
    def time(self):
        return self.simulation.stamp * 1e-9

    def run(self, seconds, until=lambda: False):
        """Step for a time, or until something holds; return whether it does."""
        end = self.time + seconds
        while self.time < end - 1e-9:
            self.step()
            if until():
                return True
        return False

    def step(self):
        state = self.simulation.state
        water = self.environment.at(self.time)
        self.instruments.sense(self.simulation.stamp, state, water)
        self._speak()
        self._navigate(state)
        pwm = self.exchange.tick(
            self.simulation.stamp, state, water, ranges=self.ranges(state), patience=30.0
        )
        assert pwm is not None, self.firmware.failure or self.firmware.log.read_text()[-2000:]
        self.pwm.append(pwm)
        self.depths.append(-state.position[2])
        self.states.append(state)
        widths = np.clip(self.channels.pulse_widths(pwm), 1100, 1900).astype(float)
        if self.dead is not None:
            widths[self.dead] = 1500.0
        self.simulation.tick(widths)
        while (message := self.mavlink.recv_match()) is not None:
            if message.get_srcComponent() != 1:  # the firmware passes the companion's on
                continue
            self.hear(message)

    def hear(self, message):
        """Remember a message of the firmware."""
        self.last[message.get_type()] = message
        if message.get_type() == 'STATUSTEXT':
            self.texts.append((round(self.time, 2), message.text))
        if message.get_type() == 'MISSION_ITEM_REACHED':
            self.reached.append(message.seq)

    def _navigate(self, state):
        self.companion.listen()
        velocity = self.instruments.velocity(state)
        came = self.instruments.velocity_came
        delta = self.odometry.add(self.simulation.stamp, state, velocity, came)
        if self.settings.navigation == 'gps' or not self.companion.is_connected:
            return
        self.companion.beat(self.simulation.stamp)
        if self.fixes is not None:
            fix = self.fixes.at(self.simulation.stamp, state, self.environment)
            if fix is not None:
                self.companion.place(fix)
        elif self.companion.status.origin is None and self._due('origin', 5.0):
            self.companion.set_origin(*self.settings.home)
        if delta is not None:
            self.companion.move(delta)

    def _due(self, name, period):
        if self.time < self._next.get(name, 0.0):
            return False
        self._next[name] = self.time + period
        return True

    def _speak(self):
        if self.silent or 'HEARTBEAT' not in self.last:  # nobody is there to be told
            return
        if self._due('heartbeat', 1.0):
            self.mavlink.mav.heartbeat_send(6, 8, 0, 0, 0)
        if self.sticks is not None and self._due('sticks', 0.1):
            self.mavlink.mav.manual_control_send(1, *self.sticks, 0)
        for period, name, speak in self.every:
            if self._due(name, period):
                speak()

    def mode(self, number):
        self.mavlink.mav.set_mode_send(1, 1, number)
        return self.run(5, lambda: self.heartbeat('custom_mode') == number)

    def heartbeat(self, field):
        message = self.last.get('HEARTBEAT')
        return None if message is None else getattr(message, field)

    def command(self, number, *params):
        params = [*params, *[0] * (7 - len(params))]
        self.last.pop('COMMAND_ACK', None)
        self.mavlink.mav.command_long_send(1, 1, number, 0, *params)
        self.run(3, lambda: 'COMMAND_ACK' in self.last)
        ack = self.last.get('COMMAND_ACK')
        return None if ack is None else ack.result

    def set_parameter(self, name, value):
        self.last.pop('PARAM_VALUE', None)
        self.mavlink.mav.param_set_send(1, 1, name.encode(), value, 9)
        self.run(3, lambda: 'PARAM_VALUE' in self.last)

    def upload(self, items):
        """Upload the items of a mission, home first; return the type of MISSION_ACK."""

        def answer():
            for name in ('MISSION_REQUEST', 'MISSION_REQUEST_INT'):
                if (asked := self.last.pop(name, None)) is not None:
                    item = items[asked.seq]
                    x, y = round(item.latitude * 1e7), round(item.longitude * 1e7)
                    head = (1, 1, asked.seq, item.frame, item.command, 0, 1, *item.params)
                    self.mavlink.mav.mission_item_int_send(*head, x, y, item.altitude, 0)
            return 'MISSION_ACK' in self.last

        self.last.pop('MISSION_ACK', None)
        self.mavlink.mav.mission_count_send(1, 1, len(items), 0)
        assert self.run(20, answer)
        return self.last['MISSION_ACK'].type

    def boot(self, seconds=60):
        """Wait until it can be armed."""
        assert self.run(seconds, lambda: 'HEARTBEAT' in self.last), self.firmware.log.read_text()
        # The throttle of a boat is centred at 0.
        self.sticks = (0, 0, 0 if self.channels.frame == SKID_STEERING else 500, 0)
        self.run(12)

    def arm(self):
        for _ in range(20):
            if self.command(400, 1) == 0:
                return self.run(3, lambda: self.heartbeat('base_mode') & 128)
            self.run(2)
        return False

    @property
    def armed(self):
        return bool(self.heartbeat('base_mode') & 128)

    def close(self):
        self.firmware.stop()
        self.link.close()
        self.mavlink.close()
        self.companion.close()
