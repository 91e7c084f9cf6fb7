# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""MAVLink: our controller as a vehicle for QGroundControl, Cockpit and pymavlink scripts.

Subscribes: odom; the pressure of the first barometer.
Publishes: cmd_vel (modes stabilize, alt_hold, poshold, and velocities in guided), cmd_wrench
(manual), cmd_pose (guided).
Calls, of the controller (SetBool): arm, auto_depth, auto_heading, station_keeping.
Speaks, over UDP to ``ground_station``: heartbeat, attitude, position, pressure, status texts.
Parameters: the common ones, and those below.
Failure: a ground station that is silent for ``ground_station_timeout`` disarms; sticks that are
not renewed for half a second count as centred. What is not understood is ignored.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from nav_msgs.msg import Odometry

from marine_sim_ros.autopilot.mavlink_vehicle import Arm, MavlinkVehicle, Mode, Sticks
from marine_sim_ros.core.state import State
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.base.parameters import Parameter, shared
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.base.switches import Switches
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.messages.convert import stamp_ns, state_from
from marine_sim_ros.ros.operators.command_publisher import STICKS
from marine_sim_ros.ros.operators.mavlink_commands import HOLDS, MavlinkCommands

__all__ = ['MavlinkNode', 'main']

ALL = ('auto_depth', 'auto_heading', 'station_keeping')
STICK_TIMEOUT = 0.5
PARAMETERS = (
    shared('ground_station'),
    shared('autopilot_instance'),
    Parameter(
        'rate', 20.0, 'messages of each kind per second of wall time', 1.0, 100.0, unit='Hz'
    ),
    Parameter(
        'ground_station_timeout',
        5.0,
        'wall time after which a silent ground station disarms the vehicle',
        1.0,
        3600.0,
        unit='s',
    ),
    *STICKS,
)


class MavlinkNode(SuiteNode):
    """The node."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``mavlink``."""
        super().__init__('mavlink', PARAMETERS, **options)
        values = self.values
        self._mavlink = MavlinkVehicle(
            values['ground_station'],
            values['autopilot_instance'] + 1,
            (self.environment.origin.latitude, self.environment.origin.longitude),
            self.warn_throttled,
        )
        self._commands = MavlinkCommands(self)
        self._switches = Switches(self, ('arm', *ALL), 'controller')
        self._mode, self._armed, self._told_armed = 'manual', False, False
        self._sticks, self._sticks_at = np.zeros(6), -1e9
        self._state: State | None = None
        self._stamp, self._pressure = 0, None
        self._heard_at, self._beat_at = -1e9, -1e9
        self.listen(topics.ODOM, self._on_odom)
        self._listen_to_barometer()
        self.create_timer(1.0 / values['rate'], self._serve, clock=self.wall_clock)

    def _listen_to_barometer(self) -> None:
        for topic in topics.sensor_topics(self.vehicle):
            if topic.type_name == 'sensor_msgs/msg/FluidPressure':
                self.listen(topic, self._on_pressure)
                return

    def _on_odom(self, message: Odometry) -> None:
        state = state_from(message)
        if state is not None:
            self._state, self._stamp = state, stamp_ns(message.header.stamp)

    def _on_pressure(self, message: Any) -> None:
        self._pressure = message.fluid_pressure

    def _serve(self) -> None:
        now = self.wall_clock.now().nanoseconds * 1e-9
        for request in self._mavlink.requests():
            self._take(request, now)
        self._switches.check()
        self._look_after(now)
        if self._armed and self._mode != 'guided':
            self._steer(now)
        if now - self._beat_at >= 1.0:
            self._beat_at = now
            self._mavlink.send_heartbeat(self._mode, armed=self._armed)
        if self._state is not None:
            self._mavlink.send_motion(self._stamp // 1_000_000, self._state, self._pressure)

    def _look_after(self, now: float) -> None:
        """Know whether the controller is armed, and disarm where the ground station is gone."""
        self._armed = bool(self._switches.states['arm'])
        if self._armed != self._told_armed:
            self._told_armed = self._armed
            self._mavlink.say('armed' if self._armed else 'disarmed')
        if self._mavlink.heard:
            self._mavlink.heard, self._heard_at = False, now
        silent = now - self._heard_at > self.values['ground_station_timeout']
        if self._armed and silent and 'arm' not in self._switches.waiting:
            self.warn_throttled('mavlink: the ground station is silent; disarmed')
            self._switches.ask('arm', False)
        self.health |= {'mode': self._mode, 'ground station': 'none' if silent else 'heard'}

    def _take(self, request: Any, now: float) -> None:
        if isinstance(request, Arm):
            self._heard_at = now
            self._switches.ask('arm', request.on)
        elif isinstance(request, Mode):
            self._set_mode(request.name)
        elif isinstance(request, Sticks):
            self._sticks, self._sticks_at = np.array(request.efforts), now
        elif self._mode == 'guided':
            self._commands.go(request)

    def _set_mode(self, name: str) -> None:
        self._mode = name
        for hold in ALL:
            self._switches.ask(hold, hold in HOLDS[name])
        self._mavlink.say(f'mode {name}')

    def _steer(self, now: float) -> None:
        fresh = now - self._sticks_at < STICK_TIMEOUT
        efforts = self._sticks if fresh else np.zeros(6)
        if self._mode == 'manual':
            self._commands.push(efforts)
        else:
            self._commands.drive(efforts)

    def close(self) -> None:
        """Close the socket."""
        self._mavlink.close()


def main() -> None:
    """Run the executable."""
    run(MavlinkNode)


if __name__ == '__main__':
    main()
