# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The companion of an autopilot as part of a node: its topics, its navigation, the service arm."""

from __future__ import annotations

from std_srvs.srv import SetBool

from marine_sim_ros.autopilot.companion import Companion
from marine_sim_ros.autopilot.fixes import Fixes
from marine_sim_ros.autopilot.instruments import Instruments
from marine_sim_ros.autopilot.odometry import DeltaOdometry
from marine_sim_ros.core.errors import MissingPackageError
from marine_sim_ros.core.stamps import NANOSECONDS
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.ros.autopilot.status import StatusPublisher
from marine_sim_ros.ros.base.node import SuiteNode

__all__ = ['CompanionPart', 'companion_part']


def companion_part(
    node: SuiteNode, instruments: Instruments, system: int, navigation: str
) -> CompanionPart | None:
    """Return the companion of a MAVLink system; None: pymavlink is not installed.

    Args:
        node: node of the autopilot.
        instruments: what the autopilot reads.
        system: MAVLink system of the autopilot.
        navigation: by what it navigates: ``gps``, ``dvl`` or ``usbl``.

    Raises:
        MissingPackageError: it is not installed, and needed to navigate.
        ParameterError: the vehicle lacks what it navigates by.
    """
    origin = node.environment.origin
    try:
        companion = Companion(system, (origin.latitude, origin.longitude))
    except MissingPackageError as error:
        if navigation != 'gps':
            raise
        node.get_logger().info(f'no topics autopilot/*, no service arm: {error}')
        return None
    return CompanionPart(node, companion, instruments, navigation)


class CompanionPart:
    """Hears what the autopilot says, and tells it how it moved."""

    def __init__(
        self, node: SuiteNode, companion: Companion, instruments: Instruments, navigation: str
    ) -> None:
        """Offer topics and the service, and find what the autopilot navigates by."""
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

    def _on_arm(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        response.success = self._companion.connected
        response.message = 'asked ArduSub' if response.success else 'ArduSub has said nothing yet'
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
        """Talk while the autopilot waits for the frames of a tick.

        Args:
            stamp: time of the tick, ns.
            state: state of the vehicle.
            environment: around it.
            battery: new voltage (V) and current (A), for an autopilot that reads none in its
                replies; None: they are as before.
        """
        companion = self._companion
        if battery is not None:
            self._voltage = battery[0]
        for text in companion.listen():
            self._node.get_logger().info(f'ArduSub: {text}')
        self._status.publish(stamp, companion.status, environment.origin)
        if not companion.connected:
            return
        companion.beat(stamp)
        if self._voltage is not None:
            companion.set_voltage(self._voltage)
            self._voltage = None
        self._tell_leak(stamp)
        if self._navigate:
            self._tell_motion(stamp, state, environment)

    def _tell_leak(self, stamp: int) -> None:
        """Tell once a second whether the enclosure leaks, if that has changed."""
        if stamp % NANOSECONDS == 0:
            before, self._wet = self._wet, self._instruments.wet
            if self._wet != before:
                self._companion.set_leak(self._wet)

    def _tell_motion(self, stamp: int, state: State, environment: Environment) -> None:
        """Tell velocities, and positions where there are some."""
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
