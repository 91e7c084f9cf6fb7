# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""MAVLink: our controller as a vehicle for QGroundControl, Cockpit and pymavlink scripts.

Subscribes: odom; thrusters/pwm; the pressure of the first barometer.
Publishes: cmd_wrench (MANUAL), cmd_setpoints (the other modes), servos, lights and joint_commands
(channels that move no thruster).
Calls, of the controller (SetBool): arm.
Speaks, over UDP to ``ground_station``: the messages of docs/reference/mavlink.md.
Parameters: the common ones, and those below.
Failure: a ground station that falls silent for ``ground_station_timeout`` disarms; an override
that is not renewed for RC_OVERRIDE_TIME is released. What is not understood is refused by the
protocol's answer and a status text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from marine_sim_ros.autopilot.channels import channel_map
from marine_sim_ros.autopilot.mavlink.mission_files import read_mission
from marine_sim_ros.autopilot.mavlink.vehicle import MavlinkVehicle
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.ros.autopilot.servo_publisher import ServoPublisher
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.base.parameters import Parameter, shared
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.base.switches import Switches
from marine_sim_ros.ros.messages import topics
from marine_sim_ros.ros.messages.convert import state_of
from marine_sim_ros.ros.messages.sequences import read_pwm
from marine_sim_ros.ros.operators.command_publisher import STICKS, full_stick
from marine_sim_ros.ros.operators.mavlink_commands import MavlinkCommands

__all__ = ['MavlinkNode', 'main']

STEER_PERIOD = 0.05
"""s of simulated time between commands."""
PARAMETERS = (
    shared('ground_station'),
    shared('ground_station_key'),
    shared('mission', empty='none'),
    shared('autopilot_instance'),
    Parameter(
        'rate',
        20.0,
        'rate of attitude, position and speed in wall time, unless the ground station asks for '
        'another one',
        1.0,
        100.0,
        unit='Hz',
    ),
    Parameter(
        'ground_station_timeout',
        5.0,
        'wall time after which a ground station that fell silent disarms the vehicle',
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
        mission = read_mission(values['mission']) if values['mission'] else ()
        channels = channel_map(self.vehicle)
        self._switches = Switches(self, ('arm',), 'controller')
        self._mavlink = MavlinkVehicle(
            values['ground_station'],
            self.environment.origin,
            full_stick(self),
            self._arm,
            self.warn_throttled,
            system=values['autopilot_instance'] + 1,
            key=values['ground_station_key'],
            devices=channels.devices,
            rate=values['rate'],
        )
        self._mavlink.readings.channels = channels.thrusters
        self._commands = MavlinkCommands(self)
        self._servos = ServoPublisher(self)
        self._steered_at = -math.inf
        self._heard_at: float | None = None
        self._starts_mission = bool(mission)
        self._mavlink.autopilot.mission.replace(mission)
        self.listen_numbers(topics.ODOM, self._on_odom)
        self.listen_numbers(topics.PWM_PER_TICK, self._on_pwm, read_pwm)
        self._listen_to_barometer()
        self.create_timer(1.0 / values['rate'], self._serve, clock=self.wall_clock)

    def _listen_to_barometer(self) -> None:
        for topic in topics.sensor_topics(self.vehicle):
            if topic.type_name == 'sensor_msgs/msg/FluidPressure':
                self.listen(topic, self._on_pressure)
                return

    def _on_pwm(self, stamp: int | None, widths: Sequence[int]) -> None:
        del stamp
        self._mavlink.readings.pulse_widths = list(widths)

    def _on_pressure(self, message: Any) -> None:
        self._mavlink.readings.pressure = message.fluid_pressure

    def _on_odom(self, stamp: int, numbers: Sequence[float]) -> None:
        time = stamp / NANOSECONDS
        if 0 <= time - self._steered_at < STEER_PERIOD:
            return
        state = state_of(numbers)
        if state is None:
            return
        self._steered_at = time
        command = self._mavlink.autopilot.step(time, state)
        if command is not None:
            self._commands.send(command)
        self._servos.publish(stamp, dict(self._mavlink.autopilot.values))

    def _arm(self, on: bool, answered: Callable[[bool, str], None]) -> None:
        """Arm or disarm the controller, and hear of it."""

        def take(done: bool, reason: str) -> None:
            if done:
                self._mavlink.set_armed(on)
            answered(done, reason)

        self._switches.ask('arm', on, take)

    def _serve(self) -> None:
        now = self.wall_clock.now().nanoseconds * 1e-9
        self._mavlink.receive(now)
        self._switches.check()
        self._look_after(now)
        self._mavlink.send(now)

    def _look_after(self, now: float) -> None:
        """Know whether the controller is armed, and disarm where the ground station is gone."""
        if 'arm' not in self._switches.waiting:
            self._mavlink.set_armed(bool(self._switches.states['arm']))
        if self._starts_mission and self._mavlink.autopilot.known:
            self._starts_mission = False
            self._mavlink.autopilot.set_mode('auto')
            self._arm(True, self._on_mission_armed)
        if self._mavlink.heard:
            self._mavlink.heard, self._heard_at = False, now
        silent = self._heard_at is not None and (
            now - self._heard_at > self.values['ground_station_timeout']
        )
        if self._mavlink.autopilot.armed and silent and 'arm' not in self._switches.waiting:
            self.warn_throttled('mavlink: the ground station is silent; disarmed')
            self._arm(False, lambda done, reason: None)
        heard = self._heard_at is not None and not silent
        self.health |= {
            'mode': self._mavlink.autopilot.mode,
            'ground station': 'heard' if heard else 'none',
            **{f'refused {kind}': n for kind, n in self._mavlink.link.refused.items()},
        }

    def _on_mission_armed(self, done: bool, reason: str) -> None:
        if not done:
            self._mavlink.refuse(f'mission: not armed: {reason}')

    def close(self) -> None:
        """Close the socket."""
        self._mavlink.close()


def main() -> None:
    """Run the executable."""
    run(MavlinkNode)


if __name__ == '__main__':
    main()
