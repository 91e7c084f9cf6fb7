# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""ArduSub: the firmware of the BlueROV2 steers, over its JSON interface (UDP), in lockstep.

Subscribes: odom.
Publishes, one per odom, same stamp: thrusters/pwm (start the thrusters with ``pwm_source:
controller``). On change: servos (JointState: lights 0 to 1, camera_tilt rad, gripper 0 to 1),
lights, joint_commands (for servos that are joints of the arm). With pymavlink (extra [ardusub]):
autopilot/mode, autopilot/armed, autopilot/ekf_flags on change, autopilot/position (estimated).
Services, with pymavlink: arm (SetBool).
Listens: UDP on ``address``, port 9002 + 10 ``instance``.
Parameters: the common ones, and those below.
Failure: until an autopilot speaks, the run waits at its first tick, and after ``start_timeout``
goes on with thrusters off. One that falls silent for 0.7 s of wall time is lost: the thrusters
node stops the thrusters, and the autopilot is taken in again when it speaks. Datagrams that are no
servo packets are ignored with a warning. A firmware that this node started and that ends by
itself ends the node.
"""

from __future__ import annotations

from typing import Any

from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from std_msgs.msg import Float32MultiArray
from std_srvs.srv import SetBool

from marine_sim_ros.autopilot.channels import channel_map
from marine_sim_ros.autopilot.companion import Companion
from marine_sim_ros.autopilot.exchange import Exchange
from marine_sim_ros.autopilot.firmware import (
    Firmware,
    FirmwareSettings,
    find_firmware,
    firmware_command,
)
from marine_sim_ros.autopilot.instruments import Instruments
from marine_sim_ros.autopilot.link import BASE_PORT, AutopilotLink
from marine_sim_ros.autopilot.odometry import DeltaOdometry
from marine_sim_ros.core.errors import MissingPackageError
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.autopilot_status import StatusPublisher
from marine_sim_ros.ros.convert import set_stamp, stamp_ns, state_from
from marine_sim_ros.ros.node import SuiteNode
from marine_sim_ros.ros.parameters import Parameter, shared
from marine_sim_ros.ros.process import run
from marine_sim_ros.ros.pwm import pwm_message

__all__ = ['ArdusubNode', 'main']

POLL = 0.02
"""s between two looks for an autopilot that is waited for."""
PARAMETERS = (
    shared('ardusub'),
    shared('autopilot_instance'),
    shared('autopilot_address'),
    shared('ground_station'),
    shared('navigation'),
    Parameter('companion', '127.0.0.1:14551', 'UDP address to which the firmware that is started '
              'here sends MAVLink for a companion program'),
    Parameter('imu_noise', True, 'IMU and altimeters that the autopilot reads have their noise'),
    Parameter('frame_rate', 400.0, "autopilot's frames per second; at least one for every tick",
              1.0, 1e4, unit='Hz'),
    Parameter('start_timeout', 50.0, 'wall time that the first tick waits for an autopilot',
              0.0, 59.0, unit='s'),
)  # fmt: skip


class ArdusubNode(SuiteNode):
    """The node."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``ardusub``, and start the firmware where it is found."""
        super().__init__('ardusub', PARAMETERS, **options)
        self._channels = channel_map(self.vehicle)
        address, instance = self.values['autopilot_address'], self.values['autopilot_instance']
        self._link = AutopilotLink(address, BASE_PORT + 10 * instance, self.warn_throttled)
        self._instruments = Instruments(
            self.vehicle, seed=self.values['seed'], noise=self.values['imu_noise']
        )
        self._exchange = Exchange(self._link, self._instruments, self.values['frame_rate'])
        self._pwm = self.publisher(topics.PWM_PER_TICK)
        self._servos = self.publisher(topics.SERVOS)
        self._lights = self.publisher(topics.LIGHTS)
        self._joints = self.publisher(topics.ARM_COMMANDS)
        self._values: dict[str, float] = {}
        self._light_count = sum('light' in frame.name for frame in self.vehicle.frames)
        self._waiting: tuple[int, State] | None = None
        self._waiting_since = self._now()
        self._ever = self._lost = False
        self._status = StatusPublisher(self)
        self._companion = self._make_companion()
        self._odometry = DeltaOdometry()
        self._firmware = self._start()
        self.health['autopilot'] = 'waiting'
        self.listen(topics.ODOM, self._on_odom)
        self.create_timer(POLL, self._watch, clock=self.wall_clock)

    def _make_companion(self) -> Companion | None:
        """Return the companion of the autopilot, where pymavlink is installed."""
        try:
            companion = Companion(self.values['autopilot_instance'] + 1)
        except MissingPackageError as error:
            if self.values['navigation'] == 'dvl':
                raise
            self.get_logger().info(f'no topics autopilot/*, no service arm: {error}')
            return None
        self.create_service(SetBool, 'arm', self._on_arm)
        return companion

    def _on_arm(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        assert self._companion is not None
        response.success = self._companion.connected
        response.message = 'asked ArduSub' if response.success else 'ArduSub has said nothing yet'
        if response.success:
            self._companion.arm(bool(request.data))
        return response

    def _start(self) -> Firmware | None:
        """Start the firmware, or say how somebody starts it."""
        values, link = self.values, self._link
        origin = self.environment.origin
        settings = FirmwareSettings(
            self._channels.frame, '127.0.0.1', link.port, values['autopilot_instance'],
            (origin.latitude, origin.longitude), values['ground_station'], values['companion'],
            values['frame_rate'], values['navigation'],
            self._companion.address if self._companion else '',
        )  # fmt: skip
        program = find_firmware(values['ardusub'])
        if program is not None:
            firmware = Firmware(program, settings)
            self.get_logger().info(f'started {program}; its output is in {firmware.log}')
            return firmware
        self.get_logger().info(f'waiting for ArduSub on UDP {self._address()}')
        if self._channels.frame:
            command = ' '.join(firmware_command('ardusub', settings))
            self.get_logger().info(f'start it with: {command}')
        return None

    def _address(self) -> str:
        return f'{self.values["autopilot_address"]}:{self._link.port}'

    def _now(self) -> float:
        return self.wall_clock.now().nanoseconds * 1e-9

    def _on_odom(self, message: Odometry) -> None:
        stamp = self.newest = stamp_ns(message.header.stamp)
        self._instruments.faults = self.faults
        state = state_from(message)
        if state is None:
            self.warn_throttled('odom: not finite; thrusters off')
            self._publish(stamp, ())
        elif self._ever and not self._lost:
            self._tick(stamp, state)
        elif self._link.receive() is not None:
            self._connect(stamp, state)
        elif self._gone_without():
            self._publish(stamp, ())
        else:
            self._waiting = stamp, state

    def _gone_without(self) -> bool:
        """Return whether the run goes on without an autopilot that never came."""
        return not self._ever and self._now() - self._waiting_since > self.values['start_timeout']

    def _connect(self, stamp: int, state: State) -> None:
        """Take an autopilot in that speaks for the first time, or again."""
        assert self._link.peer is not None
        host, port = self._link.peer
        again = ' again' if self._ever else ''
        self.get_logger().info(f'autopilot at {host}:{port} connected{again}')
        self.health['autopilot'] = f'{host}:{port}'
        self._ever, self._lost, self._waiting = True, False, None
        self._exchange.forget()
        self._tick(stamp, state)

    def _tick(self, stamp: int, state: State) -> None:
        """Publish what the autopilot answers to a tick."""
        environment = self.environment_at(stamp)
        if self._companion is not None:
            self._converse(self._companion, stamp, state, environment)
        pwm = self._exchange.tick(stamp, state, environment)
        if pwm is None:
            self._lost, self.health['autopilot'] = True, 'lost'
            self.warn_throttled(f'autopilot: silent on UDP {self._address()}; thrusters stop')
            return  # without an answer the thrusters node stops them
        self._publish(stamp, pwm)
        self._move(pwm)

    def _converse(
        self, companion: Companion, stamp: int, state: State, environment: Environment
    ) -> None:
        """Hear what the autopilot says, and tell it how it moved; it waits meanwhile."""
        for text in companion.listen():
            self.get_logger().info(f'ArduSub: {text}')
        self._status.publish(stamp, companion.status, environment.origin.heading)
        if not companion.connected:
            return
        companion.beat(stamp)
        if self.values['navigation'] != 'dvl':
            return
        if stamp % NANOSECONDS == 0 and companion.status.position is None:
            companion.set_origin(environment.origin.latitude, environment.origin.longitude)
        velocity = self._instruments.velocity(stamp, state, environment)
        delta = self._odometry.add(stamp, state, velocity)
        if delta is not None:
            companion.move(delta)

    def _publish(self, stamp: int, pwm: tuple[int, ...]) -> None:
        self._pwm.publish(pwm_message(stamp, self._channels.pulse_widths(pwm)))

    def _move(self, pwm: tuple[int, ...]) -> None:
        """Publish what the other channels command, where it has changed."""
        values = self._channels.values(pwm)
        if values == self._values:
            return
        self._values = values
        message = JointState(name=list(values), position=list(values.values()))
        set_stamp(message.header.stamp, self.newest)
        self._servos.publish(message)
        if 'lights' in values and self._light_count:
            self._lights.publish(Float32MultiArray(data=[values['lights']] * self._light_count))
        arm = self.vehicle.manipulator
        joints = [] if arm is None else [n for n in values if n in arm.names]
        if joints:
            self._joints.publish(
                JointState(name=joints, position=[values[name] for name in joints])
            )

    def _watch(self) -> None:
        """Look after an autopilot that is waited for, and a firmware that was started."""
        if self._firmware is not None and (left := self._firmware.ended):
            self.get_logger().error(f'ArduSub ended by itself: {left}')
            self.end(1)
        elif self._waiting is None:
            pass
        elif self._link.receive() is not None:
            self._connect(*self._waiting)
        elif self._gone_without():
            self.warn_throttled(
                f'autopilot: none on UDP {self._address()} after '
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
