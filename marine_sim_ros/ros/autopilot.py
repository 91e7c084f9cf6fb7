# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Parts of a node that runs an external autopilot: firmware, MAVLink, status topics, battery."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import PointStamped
from nav_msgs.msg import Odometry
from std_msgs.msg import Bool, String, UInt16
from std_srvs.srv import SetBool

from marine_sim_ros.autopilot.channels import ChannelMap, frame_fault
from marine_sim_ros.autopilot.companion import Companion, DeltaOdometry, Fixes, Status
from marine_sim_ros.autopilot.firmware import (
    Firmware,
    FirmwareSettings,
    command_by_hand,
    find_firmware,
    firmware_of,
)
from marine_sim_ros.autopilot.instruments import Instruments, SlowSupply
from marine_sim_ros.core.errors import MissingPackageError, ModelError
from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.core.state import NANOSECONDS, State, stamp_ns
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.propellers import PWM_NEUTRAL
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import VIDEO, NodeParameter, option_parameter
from marine_sim_ros.ros.base.publishers import PwmPublisher
from marine_sim_ros.ros.cdr import JointNumbers, read_joints
from marine_sim_ros.ros.message_fields import set_stamp, state_from

__all__ = [
    'AUTOPILOT_PARAMETERS',
    'AutopilotNode',
    'BatteryListener',
    'FIRMWARE_PARAMETERS',
    'companion_part',
    'start_firmware',
]


# Node of an external autopilot: waits for it, connects, exchanges ticks, notices its end.

POLL_PERIOD = 0.02
"""s of wall time between two polls of the socket while the node waits for an autopilot."""


class AutopilotNode(VehicleNode):
    """Node that exchanges sensors and motor commands with a firmware, in lockstep."""

    label = ''
    """Name of the firmware in messages."""

    def __init__(
        self,
        name: str,
        parameters: Sequence[NodeParameter],
        instruments: type[Instruments],
        **options: Any,
    ) -> None:
        """Create it; :meth:`begin` starts it."""
        super().__init__(name, parameters, **options)
        self.instruments = instruments(
            self.vehicle, seed=self.values['seed'], noise=self.values['imu_noise']
        )
        if not self.instruments.has_imu:
            self.get_logger().warning(
                f'{self.vehicle.name} has no IMU: the autopilot reads a perfect one at base_link; '
                'expected <sensor type="imu">, for noise and faults'
            )
        self.firmware: Firmware | None = None
        self.port = ''
        """Where it listens, as UDP 127.0.0.1:9002."""
        self._pwm = PwmPublisher(self)
        self._waiting: tuple[int, State] | None = None
        self._has_connected = self._lost = False

    def begin(self) -> None:
        """Wait for the autopilot."""
        self.health['autopilot'] = 'waiting'
        self._waiting_since = time.monotonic()
        self.listen(topics.ODOM, self._on_odom)
        self.create_timer(POLL_PERIOD, self._watch, clock=self.wall_clock)

    def find_peer(self, stamp: int, state: State) -> str:
        """Return the address of an autopilot that is ready for a tick (ns); empty: none is."""
        raise NotImplementedError

    def exchange(self, stamp: int, state: State) -> Sequence[int] | None:
        """Return the pulse widths of the thrusters that answer a tick; None: it is silent."""
        raise NotImplementedError

    def _on_odom(self, message: Odometry) -> None:
        stamp = self.newest = stamp_ns(message.header.stamp)
        self.instruments.faults = self.faults
        state = state_from(message)
        if state is None:
            self.warn_throttled('odom: not finite; thrusters off')
            self._stop(stamp)
        elif self._has_connected and not self._lost:
            self._tick(stamp, state)
        elif peer := self.find_peer(stamp, state):
            self._connect(stamp, state, peer)
        elif self._has_start_timed_out():
            self._stop(stamp)
        else:
            self._waiting = stamp, state

    def _has_start_timed_out(self) -> bool:
        """Return whether the run continues without an autopilot that has never said anything."""
        waited = time.monotonic() - self._waiting_since
        return not self._has_connected and waited > self.values['start_timeout']

    def _connect(self, stamp: int, state: State, peer: str) -> None:
        """Begin the exchange with an autopilot, for the first time or after a loss."""
        again = ' again' if self._has_connected else ''
        self.get_logger().info(f'autopilot at {peer} connected{again}')
        self.health['autopilot'] = peer
        self._has_connected, self._lost, self._waiting = True, False, None
        self._tick(stamp, state)

    def _tick(self, stamp: int, state: State) -> None:
        """Send the sensors of a tick to the autopilot, and publish its commands."""
        widths = self.exchange(stamp, state)
        if self.finished:
            return
        if widths is None:
            self._lost, self.health['autopilot'] = True, 'lost'
            self.warn_throttled(f'autopilot: silent on {self.port}; thrusters stop')
            return  # without an answer the thrusters node stops them
        self._pwm.publish(stamp, list(widths))

    def _stop(self, stamp: int) -> None:
        """Answer a tick with thrusters off."""
        self._pwm.publish(stamp, [int(PWM_NEUTRAL)] * len(self.vehicle.thrusters.names))

    def _watch(self) -> None:
        """Poll an autopilot that the node waits for, and check the firmware that it started."""
        if self.firmware is not None and (reason := self.firmware.failure):
            self.get_logger().error(f'{self.label} ended by itself: {reason}')
            self.end(1)
        elif self._waiting is None:
            pass
        elif peer := self.find_peer(*self._waiting):
            self._connect(*self._waiting, peer)
        elif self._has_start_timed_out():
            waited = f'after {self.values["start_timeout"]:g} s'
            self.warn_throttled(
                f'autopilot: none on {self.port} {waited}; the run goes on with thrusters off'
            )
            self._stop(self._waiting[0])
            self._waiting = None

    def close(self) -> None:
        """End the firmware."""
        if self.firmware is not None:
            self.firmware.stop()


# Battery of a vehicle with a battery monitor, as reported to its autopilot.


class BatteryListener:
    """Subscriber to thrusters/supply, if the vehicle has a battery monitor."""

    def __init__(self, node: VehicleNode) -> None:
        """Listen."""
        self._supply = SlowSupply()
        if 'supply' in topics.sensor_needs(node.vehicle):
            node.listen_numbers(topics.THRUSTER_SUPPLY, self._on_supply, read_joints)

    def _on_supply(self, stamp: int, numbers: JointNumbers) -> None:
        reading = dict(zip(topics.SUPPLY, numbers[0], strict=False))
        self._supply.take(stamp, reading.get('power', 0.0), reading.get('voltage', math.nan))

    def reading_due(self, stamp: int) -> tuple[float, float] | None:
        """Return voltage (V) and current (A) to report at a tick (ns); None: unchanged."""
        return self._supply.reading_due(stamp)


# Publisher of an autopilot's status: mode, armed, estimator flags, position.


class StatusPublisher:
    """Publishes changes of mode, arming, EKF flags and position."""

    def __init__(self, node: VehicleNode) -> None:
        """Make the publishers."""
        self._node = node
        self._last = Status()
        named = (
            topics.AUTOPILOT_MODE,
            topics.AUTOPILOT_ARMED,
            topics.AUTOPILOT_EKF,
            topics.AUTOPILOT_POSITION,
        )
        self._publishers = {topic.name: node.publisher(topic) for topic in named}

    def publish(self, stamp: int, status: Status, origin: Origin) -> None:
        """Publish what has changed.

        Args:
            stamp: time, ns.
            status: latest status of the autopilot.
            origin: geographic origin of map.
        """
        last, self._last = self._last, status
        if status is last or not status.mode:
            return
        first = not last.mode
        changes: list[tuple[bool, topics.Topic, Any]] = [
            (status.mode != last.mode, topics.AUTOPILOT_MODE, String(data=status.mode)),
            (status.armed != last.armed, topics.AUTOPILOT_ARMED, Bool(data=status.armed)),
            (status.ekf != last.ekf, topics.AUTOPILOT_EKF, UInt16(data=status.ekf)),
        ]
        for changed, topic, message in changes:
            if changed or first:
                self._publishers[topic.name].publish(message)
        if status.position is not None and status.position != last.position:
            north, east, down = status.position
            point = PointStamped()
            point.header.frame_id = 'map'
            set_stamp(point.header.stamp, stamp)
            p = point.point
            p.x, p.y, p.z = origin.in_map(np.array([east, north, -down])).tolist()
            self._publishers[topics.AUTOPILOT_POSITION.name].publish(point)
        self._node.health |= {'mode': status.mode, 'armed': 'yes' if status.armed else 'no'}


# Companion of an autopilot as part of a node: topics, navigation, service arm.


def companion_part(
    node: VehicleNode, instruments: Instruments, system: int, frame: str, navigation: str
) -> CompanionPart | None:
    """Return the companion of a MAVLink system; None: pymavlink is not installed.

    Args:
        instruments: sensors that the autopilot reads.
        system: MAVLink system of the autopilot.
        frame: ArduPilot's frame of the vehicle.
        navigation: source of its position: ``gps``, ``dvl`` or ``usbl``.

    Raises:
        MissingPackageError: it is not installed, and needed to navigate.
        ParameterError: the vehicle lacks the sensors for that navigation.
    """
    origin = node.environment.origin
    try:
        companion = Companion(system, (origin.latitude, origin.longitude))
    except MissingPackageError as error:
        if navigation != 'gps':
            raise
        node.get_logger().info(f'no topics autopilot/*, no service arm: {error}')
        return None
    return CompanionPart(node, companion, instruments, firmware_of(frame), navigation)


class CompanionPart:
    """MAVLink companion: reads the autopilot's status, sends odometry and position fixes."""

    def __init__(
        self,
        node: VehicleNode,
        companion: Companion,
        instruments: Instruments,
        firmware: str,
        navigation: str,
    ) -> None:
        """Create topics and the service, and the sources of navigation."""
        self._firmware = firmware
        self._node, self._companion, self._navigate = node, companion, navigation != 'gps'
        self._instruments = instruments
        self._odometry = DeltaOdometry()
        self._fixes = Fixes(node.vehicle, instruments) if navigation == 'usbl' else None
        self._status = StatusPublisher(node)
        self._wet = False
        self._voltage: float | None = None
        node.create_service(SetBool, 'arm', self._on_arm)

    @property
    def address(self) -> str:
        """UDP address to which the autopilot is to send."""
        return self._companion.address

    @property
    def mav_type(self) -> int:
        """MAV_TYPE of the autopilot's heartbeat; 0: no heartbeat yet."""
        return self._companion.status.mav_type

    def _on_arm(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        response.success = self._companion.is_connected
        name = self._firmware
        response.message = f'asked {name}' if response.success else f'{name} has said nothing yet'
        if response.success:
            self._companion.arm(bool(request.data))
        return response

    def tick(
        self,
        stamp: int,
        state: State,
        environment: Environment,
        battery: tuple[float, float] | None = None,
    ) -> None:
        """Exchange messages while the autopilot waits for the frames of a tick.

        Args:
            stamp: time of the tick, ns.
            battery: new voltage (V) and current (A), for an autopilot that reads none in its
                replies; None: unchanged.
        """
        companion = self._companion
        if battery is not None:
            self._voltage = battery[0]
        for text in companion.listen():
            self._node.get_logger().info(f'{self._firmware}: {text}')
        self._status.publish(stamp, companion.status, environment.origin)
        if not companion.is_connected:
            return
        companion.beat(stamp)
        if self._voltage is not None:
            companion.set_voltage(self._voltage)
            self._voltage = None
        self._send_leak(stamp)
        if self._navigate:
            self._send_motion(stamp, state, environment)

    def _send_leak(self, stamp: int) -> None:
        """Send once a second whether the enclosure leaks, if that has changed."""
        if stamp % NANOSECONDS == 0:
            before, self._wet = self._wet, self._instruments.has_leak
            if self._wet != before:
                self._companion.set_leak(self._wet)

    def _send_motion(self, stamp: int, state: State, environment: Environment) -> None:
        """Send odometry, and position fixes if there are any."""
        companion = self._companion
        if self._fixes is not None:
            fix = self._fixes.at(stamp, state, environment)
            if fix is not None:
                companion.place(fix)
        elif stamp % NANOSECONDS == 0 and companion.status.origin is None:
            companion.set_origin(environment.origin.latitude, environment.origin.longitude)
        sensed = self._instruments
        velocity = sensed.velocity(state)
        delta = self._odometry.add(stamp, state, velocity, sensed.velocity_came)
        if delta is not None:
            companion.move(delta)

    def close(self) -> None:
        """Close the socket."""
        self._companion.close()


# Start of an autopilot's firmware for a node, or instructions to start it.

AUTOPILOT_PARAMETERS = (
    option_parameter('autopilot_instance'),
    option_parameter('autopilot_address'),
    option_parameter('navigation'),
    NodeParameter(
        'start_timeout',
        50.0,
        'wall time that the first tick waits for an autopilot',
        0.0,
        59.0,
        unit='s',
    ),
    NodeParameter('imu_noise', True, 'the IMU that the autopilot reads has its noise'),
)
"""Parameters of a node with an external autopilot."""
FIRMWARE_PARAMETERS = (
    option_parameter('ardusub'),
    option_parameter('ground_station'),
    VIDEO,
    NodeParameter(
        'companion',
        '127.0.0.1:14551',
        'UDP address to which the firmware that is started '
        'here sends MAVLink for a companion program',
    ),
    NodeParameter(
        'frame_rate',
        400.0,
        "autopilot's frames per second; at least one for every tick",
        1.0,
        1e4,
        unit='Hz',
    ),
    *AUTOPILOT_PARAMETERS,
)
"""Parameters of the node of ArduSub."""


def start_firmware(
    node: VehicleNode, channels: ChannelMap, port: int, navigator: str
) -> Firmware | None:
    """Start the firmware of a node's parameters; None: the user starts it.

    Args:
        node: a node with ``FIRMWARE_PARAMETERS``.
        channels: frame and channels of the node's vehicle.
        port: UDP port of the simulator.
        navigator: UDP address of the companion, or empty.

    Raises:
        ParameterError: no such firmware, or no parameters for the frame.
        ModelError: the thrusters push in other directions than the motors of the frame.
    """
    values, origin = node.values, node.environment.origin
    settings = FirmwareSettings(
        channels.frame,
        '127.0.0.1',
        port,
        values['autopilot_instance'],
        (origin.latitude, origin.longitude),
        values['ground_station'],
        values['companion'],
        values['frame_rate'],
        values['navigation'],
        navigator,
    )
    program = find_firmware(values['ardusub'], settings.program)
    fault = frame_fault(node.vehicle, channels)
    if program is not None:
        if fault:
            raise ModelError(fault)
        firmware = Firmware(program, settings)
        node.get_logger().info(f'started {program}; its output is in {firmware.log}')
        return firmware
    if fault:
        node.get_logger().warning(fault)
    address = f'{values["autopilot_address"]}:{port}'
    node.get_logger().info(f'waiting for {firmware_of(channels.frame)} on UDP {address}')
    node.get_logger().info(f'start it with: {command_by_hand(settings)}')
    return None
