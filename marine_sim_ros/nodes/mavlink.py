# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""MAVLink: emulates ArduSub on top of the controller, for QGroundControl, Cockpit, pymavlink.

Subscribes: odom; thrusters/pwm; the pressure of the first barometer.
Publishes: cmd_wrench (MANUAL), cmd_setpoints (the other modes), servos, lights and joint_commands
(channels that move no thruster).
Calls, of the controller (SetBool): arm.
Speaks, over UDP to ``ground_station``: the messages of docs/reference/mavlink.md.
Parameters: the common ones, and those below.
Failure: a ground station that is silent for ``ground_station_timeout`` disarms; an override
that is not renewed for RC_OVERRIDE_TIME is released. Unsupported requests are refused by the
protocol's answer and a status text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import Wrench
from sensor_msgs.msg import JointState

from marine_sim_ros.autopilot.channels import channel_map
from marine_sim_ros.autopilot.mavlink.autopilot import Efforts, SetPoints
from marine_sim_ros.autopilot.mavlink.camera_manager import camera_streams
from marine_sim_ros.autopilot.mavlink.mission_files import read_mission
from marine_sim_ros.autopilot.mavlink.vehicle import MavlinkVehicle
from marine_sim_ros.control.controller_model import SETPOINT_QUANTITIES
from marine_sim_ros.control.stick_mixing import PilotMixer
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import VIDEO, NodeParameter, option_parameter
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.cdr import read_pwm
from marine_sim_ros.ros.message_fields import state_of
from marine_sim_ros.ros.operators.commands import STICK_PARAMETERS, Switches, full_stick_velocity
from marine_sim_ros.ros.servos import AutopilotServoPublisher

__all__ = ['main']

STEER_PERIOD = 0.05
"""s of simulated time between commands."""
SERVE_PERIOD = 0.05
"""s of wall time, at most, between looks for messages of the ground station."""
PARAMETERS = (
    option_parameter('ground_station'),
    option_parameter('ground_station_key'),
    option_parameter('mission', empty='none'),
    option_parameter('autopilot_instance'),
    VIDEO,
    NodeParameter(
        'rate',
        20.0,
        'rate of attitude, position and speed in wall time, unless the ground station asks for '
        'another one',
        1.0,
        100.0,
        unit='Hz',
    ),
    NodeParameter(
        'ground_station_timeout',
        2.5,
        'silence of the ground station, wall time, until FS_GCS_ENABLE counts; of ArduSub',
        1.0,
        3600.0,
        unit='s',
    ),
    *STICK_PARAMETERS,
)


class MavlinkCommands:
    """Publisher of efforts, as wrenches, and of set-points."""

    def __init__(self, node: VehicleNode) -> None:
        """Make the publishers."""
        self._thrusters = node.vehicle.thrusters
        self._mixer = PilotMixer(node.vehicle.thrusters)
        self._wrench = node.publisher(topics.COMMAND_WRENCH)
        self._setpoints = node.publisher(topics.COMMAND_SETPOINTS)

    def send(self, command: Efforts | SetPoints) -> None:
        """Publish a command."""
        if isinstance(command, SetPoints):
            targets = command.targets.tolist()
            self._setpoints.publish(JointState(name=list(SETPOINT_QUANTITIES), position=targets))
        else:
            self._publish_wrench(command.efforts)

    def _publish_wrench(self, efforts: np.ndarray) -> None:
        """Publish the wrench of the thrusters at efforts (6,), −1 to 1."""
        thrust = self._thrusters.thrust_of_pwm(self._mixer.pwm(efforts))
        message = Wrench()
        f, t = message.force, message.torque
        f.x, f.y, f.z, t.x, t.y, t.z = (self._thrusters.effectiveness @ thrust).tolist()
        self._wrench.publish(message)


class MavlinkNode(VehicleNode):
    """Node that connects the emulated ArduSub to the topics of a vehicle."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``mavlink``."""
        super().__init__('mavlink', PARAMETERS, **options)
        values = self.values
        channels = channel_map(self.vehicle)
        self._switches = Switches(self, ('arm',), 'controller')
        self._mavlink = MavlinkVehicle(
            values['ground_station'],
            self.environment.origin,
            full_stick_velocity(self),
            self._arm,
            self.warn_throttled,
            system=values['autopilot_instance'] + 1,
            key=values['ground_station_key'],
            devices=channels.devices,
            cameras=camera_streams(self.vehicle, values['video']),
            rate=values['rate'],
        )
        self._mavlink.readings.channels = channels.thrusters
        self._commands = MavlinkCommands(self)
        self._servos = AutopilotServoPublisher(self)
        self._steered_at = -math.inf
        if values['mission']:
            self._mavlink.fly(read_mission(values['mission']))
        self.listen_numbers(topics.ODOM, self._on_odom)
        self.listen_numbers(topics.PWM_PER_TICK, self._on_pwm, read_pwm)
        self._listen_to_barometer()
        period = min(1.0 / values['rate'], SERVE_PERIOD)
        self.create_timer(period, self._serve, clock=self.wall_clock)

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
        self._switches.ask('arm', on, answered)

    def _serve(self) -> None:
        now = self.wall_clock.now().nanoseconds * 1e-9
        self._mavlink.receive(now)
        self._switches.check()
        if 'arm' not in self._switches.unanswered:
            self._mavlink.set_armed(bool(self._switches.states['arm']))
        self.health |= self._mavlink.look_after(now, self.values['ground_station_timeout'])
        self._mavlink.send(now)

    def close(self) -> None:
        """Close the socket."""
        self._mavlink.close()


def main() -> None:
    """Run the executable."""
    run(MavlinkNode)


if __name__ == '__main__':
    main()
