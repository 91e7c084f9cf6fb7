# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""ArduSub, or ArduRover for a boat, steers over its JSON interface (UDP), in lockstep.

Subscribes: odom, and thrusters/supply where the vehicle has a battery monitor.
Publishes, one per odom, same stamp: thrusters/pwm (start the thrusters with ``pwm_source:
controller``). On change: servos (JointState: lights 0 to 1, camera_tilt rad, gripper 0 to 1),
lights, joint_commands (for servos that are joints of the arm). With pymavlink (extra [ardusub]):
autopilot/mode, autopilot/armed, autopilot/ekf_flags on change, autopilot/position (estimated).
Services, with pymavlink: arm (SetBool).
Listens: UDP on ``address``, port 9002 + 10 ``instance``.
Parameters: the common ones, and those below.
Failure: the run waits at its first tick for the autopilot's first packet, and after
``start_timeout`` continues with thrusters off. An autopilot that is silent for 0.7 s of wall time
is lost: the thrusters node stops the thrusters, until its next packet. Datagrams that are no servo
packets are ignored with a warning. A firmware that this node has started ends the node if it ends
by itself or has no frame of the vehicle.
"""

from __future__ import annotations

import time
from typing import Any

from nav_msgs.msg import Odometry

from marine_sim_ros.autopilot.channels import channel_map
from marine_sim_ros.autopilot.firmware import firmware_fault, firmware_of
from marine_sim_ros.autopilot.instruments import Instruments
from marine_sim_ros.autopilot.lockstep import BASE_PORT, AutopilotExchange, AutopilotLink
from marine_sim_ros.core.state import State, stamp_ns
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.autopilot import FIRMWARE_PARAMETERS as PARAMETERS
from marine_sim_ros.ros.autopilot import BatteryListener, companion_part, start_firmware
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.base.publishers import PwmPublisher
from marine_sim_ros.ros.message_fields import state_from
from marine_sim_ros.ros.servos import AutopilotServoPublisher

__all__ = ['PARAMETERS', 'main']

POLL_PERIOD = 0.02
"""s of wall time between two polls of the socket while the node waits for an autopilot."""


class ArdusubNode(VehicleNode):
    """Node that exchanges sensors and servo outputs with ArduPilot firmware."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``ardusub``, and start the firmware where it is found."""
        super().__init__('ardusub', PARAMETERS, **options)
        self._channels = channel_map(self.vehicle)
        address, instance = self.values['autopilot_address'], self.values['autopilot_instance']
        self._link = AutopilotLink(address, BASE_PORT + 10 * instance, self.warn_throttled)
        self._address = f'{address}:{self._link.port}'
        self._instruments = Instruments(
            self.vehicle, seed=self.values['seed'], noise=self.values['imu_noise']
        )
        if not self._instruments.has_imu:
            self.get_logger().warning(
                f'{self.vehicle.name} has no IMU: the autopilot reads a perfect one at base_link; '
                'expected <sensor type="imu">, for noise and faults'
            )
        self._exchange = AutopilotExchange(
            self._link, self._instruments, self.values['frame_rate']
        )
        self._pwm = PwmPublisher(self)
        self._servos = AutopilotServoPublisher(self)
        self._waiting: tuple[int, State] | None = None
        self._waiting_since = time.monotonic()
        self._has_connected = self._lost = False
        self._companion = companion_part(
            self, self._instruments, instance + 1, self._channels.frame, self.values['navigation']
        )
        self._mav_type = 0
        companion_address = self._companion.address if self._companion else ''
        self._firmware = start_firmware(self, self._channels, self._link.port, companion_address)
        self.health['autopilot'] = 'waiting'
        self._battery = BatteryListener(self)
        self.listen(topics.ODOM, self._on_odom)
        self.create_timer(POLL_PERIOD, self._watch, clock=self.wall_clock)

    def _on_odom(self, message: Odometry) -> None:
        stamp = self.newest = stamp_ns(message.header.stamp)
        self._instruments.faults = self.faults
        state = state_from(message)
        if state is None:
            self.warn_throttled('odom: not finite; thrusters off')
            self._publish(stamp, ())
        elif self._has_connected and not self._lost:
            self._tick(stamp, state)
        elif self._link.receive() is not None:
            self._connect(stamp, state)
        elif self._has_start_timed_out():
            self._publish(stamp, ())
        else:
            self._waiting = stamp, state

    def _has_start_timed_out(self) -> bool:
        """Return whether the run continues without an autopilot that has never sent a packet."""
        waited = time.monotonic() - self._waiting_since
        return not self._has_connected and waited > self.values['start_timeout']

    def _connect(self, stamp: int, state: State) -> None:
        """Begin the exchange with an autopilot, for the first time or after a loss."""
        peer = ':'.join(map(str, self._link.peer or ()))
        again = ' again' if self._has_connected else ''
        self.get_logger().info(f'autopilot at {peer} connected{again}')
        self.health['autopilot'] = peer
        self._has_connected, self._lost, self._waiting = True, False, None
        self._exchange.forget()
        self._tick(stamp, state)

    def _tick(self, stamp: int, state: State) -> None:
        """Send the sensors of a tick to the autopilot, and publish its servo outputs."""
        environment = self.environment_at(stamp)
        self._instruments.sense(stamp, state, environment)
        battery = self._battery.reading_due(stamp)
        self._exchange.battery = battery or self._exchange.battery
        if self._companion is not None:
            self._companion.tick(stamp, state, environment, battery)
            self._check_firmware(self._companion.mav_type)
            if self.finished:
                return
        pwm = self._exchange.tick(stamp, state, environment)
        if pwm is None:
            self._lost, self.health['autopilot'] = True, 'lost'
            self.warn_throttled(f'autopilot: silent on UDP {self._address}; thrusters stop')
            return  # without an answer the thrusters node stops them
        self._publish(stamp, pwm)
        self._servos.publish(stamp, self._channels.values(pwm))

    def _check_firmware(self, mav_type: int) -> None:
        """Refuse a firmware for other vehicles, once its heartbeat has come."""
        if mav_type == self._mav_type:
            return
        self._mav_type = mav_type
        fault = firmware_fault(self.vehicle.name, self._channels.frame, mav_type)
        if fault and self._firmware is not None:
            self.get_logger().error(fault)
            self.end(1)
        elif fault:  # the user has started it, with other parameters
            self.get_logger().warning(fault)

    def _publish(self, stamp: int, pwm: tuple[int, ...]) -> None:
        self._pwm.publish(stamp, self._channels.pulse_widths(pwm))

    def _watch(self) -> None:
        """Poll an autopilot that the node waits for, and check the firmware that it started."""
        if self._firmware is not None and (reason := self._firmware.failure):
            name = firmware_of(self._channels.frame)
            self.get_logger().error(f'{name} ended by itself: {reason}')
            self.end(1)
        elif self._waiting is None:
            pass
        elif self._link.receive() is not None:
            self._connect(*self._waiting)
        elif self._has_start_timed_out():
            self.warn_throttled(
                f'autopilot: none on UDP {self._address} after '
                f'{self.values["start_timeout"]:g} s; the run goes on with thrusters off'
            )
            self._publish(self._waiting[0], ())
            self._waiting = None

    def close(self) -> None:
        """End the firmware."""
        if self._firmware is not None:
            self._firmware.stop()
        if self._companion is not None:
            self._companion.close()
        self._link.close()


def main() -> None:
    """Run the executable."""
    run(ArdusubNode)


if __name__ == '__main__':
    main()
