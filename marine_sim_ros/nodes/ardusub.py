# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""ArduSub, or ArduRover for a boat, steers over its JSON interface (UDP), in lockstep.

Subscribes: odom, and thrusters/supply where the vehicle has a battery monitor.
Publishes, one per odom, same stamp: thrusters/pwm (start the thrusters with ``pwm_source:
controller``). On change: servos (JointState: lights 0 to 1, camera_tilt rad, gripper 0 to 1),
lights, joint_commands (for servos that are joints of the arm). With pymavlink (extra [ardusub]):
autopilot/mode, autopilot/armed, autopilot/ekf_flags on change, autopilot/position (estimated).
Services, with pymavlink: arm (SetBool). Cameras are MAVLink components of the firmware's system.
Listens: UDP on ``address``, port 9002 + 10 ``instance``.
Parameters: the common ones, and those below.
Failure: the run waits at its first tick for the autopilot's first packet, and after
``start_timeout`` continues with thrusters off. An autopilot that is silent for 0.7 s of wall time
is lost: the thrusters node stops the thrusters, until its next packet. Datagrams that are no servo
packets are ignored with a warning. A firmware that this node has started ends the node if it ends
by itself or has no frame of the vehicle.
"""

from __future__ import annotations

from typing import Any

from marine_sim_ros.autopilot.channels import channel_map
from marine_sim_ros.autopilot.firmware import firmware_fault, firmware_of
from marine_sim_ros.autopilot.instruments import Instruments
from marine_sim_ros.autopilot.lockstep import BASE_PORT, AutopilotExchange, AutopilotLink
from marine_sim_ros.autopilot.mavlink.camera_component import CameraServer
from marine_sim_ros.autopilot.mavlink.camera_manager import camera_streams
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.ros.autopilot import FIRMWARE_PARAMETERS as PARAMETERS
from marine_sim_ros.ros.autopilot import (
    AutopilotNode,
    BatteryListener,
    companion_part,
    start_firmware,
)
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.servos import AutopilotServoPublisher

__all__ = ['PARAMETERS', 'main']

CAMERA_PERIOD = 0.1
"""s of wall time between two looks for what a ground station asks the cameras."""


class ArdusubNode(AutopilotNode):
    """Node that exchanges sensors and servo outputs with ArduPilot firmware."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``ardusub``, and start the firmware where it is found."""
        super().__init__('ardusub', PARAMETERS, Instruments, **options)
        self._channels = channel_map(self.vehicle)
        self.label = firmware_of(self._channels.frame)
        address, instance = self.values['autopilot_address'], self.values['autopilot_instance']
        self._link = AutopilotLink(address, BASE_PORT + 10 * instance, self.warn_throttled)
        self.port = f'UDP {address}:{self._link.port}'
        self._exchange = AutopilotExchange(self._link, self.instruments, self.values['frame_rate'])
        self._servos = AutopilotServoPublisher(self)
        self._companion = companion_part(
            self, self.instruments, instance + 1, self._channels.frame, self.values['navigation']
        )
        self._mav_type = 0
        companion_address = self._companion.address if self._companion else ''
        self.firmware = start_firmware(self, self._channels, self._link.port, companion_address)
        self._battery = BatteryListener(self)
        cameras = camera_streams(self.vehicle, self.values['video'])
        self._cameras: CameraServer | None = None
        if cameras and self._companion is not None:  # pymavlink is there
            self._cameras = CameraServer(
                self.values['ground_station'],
                instance + 1,
                cameras,
                self.warn_throttled,
                lambda: self.newest / NANOSECONDS,
            )
            self.create_timer(CAMERA_PERIOD, self._cameras.serve, clock=self.wall_clock)
        self.begin()

    def find_peer(self, stamp: int, state: State) -> str:
        """Return the address of a firmware that has sent a packet; empty: none has."""
        if self._link.receive() is None:
            return ''
        self._exchange.forget()
        return ':'.join(map(str, self._link.peer or ()))

    def exchange(self, stamp: int, state: State) -> list[int] | None:
        """Return the pulse widths of the thrusters that answer a tick; None: it is silent."""
        environment = self.environment_at(stamp)
        self.instruments.sense(stamp, state, environment)
        battery = self._battery.reading_due(stamp)
        self._exchange.battery = battery or self._exchange.battery
        if self._companion is not None:
            self._companion.tick(stamp, state, environment, battery)
            self._check_firmware(self._companion.mav_type)
            if self.finished:
                return None
        pwm = self._exchange.tick(stamp, state, environment)
        if pwm is None:
            return None
        self._servos.publish(stamp, self._channels.values(pwm))
        return self._channels.pulse_widths(pwm)

    def _check_firmware(self, mav_type: int) -> None:
        """Refuse a firmware for other vehicles, once its heartbeat has come."""
        if mav_type == self._mav_type:
            return
        self._mav_type = mav_type
        fault = firmware_fault(self.vehicle.name, self._channels.frame, mav_type)
        if fault and self.firmware is not None:
            self.get_logger().error(fault)
            self.end(1)
        elif fault:  # the user has started it, with other parameters
            self.get_logger().warning(fault)

    def close(self) -> None:
        """End the firmware."""
        super().close()
        for part in (self._companion, self._cameras):
            if part is not None:
                part.close()
        self._link.close()


def main() -> None:
    """Run the executable."""
    run(ArdusubNode)


if __name__ == '__main__':
    main()
