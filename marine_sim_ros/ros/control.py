# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Controller node: command topics and services, control loop, outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from geometry_msgs.msg import Pose, PoseStamped, Twist, Wrench
from nav_msgs.msg import Path
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

from marine_sim_ros.control.closed_loop import ClosedLoop
from marine_sim_ros.control.commander import CLOSED_LOOPS, Commander
from marine_sim_ros.control.controller_model import ControllerSettings
from marine_sim_ros.control.setpoints import SETPOINT_QUANTITIES, empty_setpoints
from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import actuators_of
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.base.parameters import NodeParameter
from marine_sim_ros.ros.base.publishers import JointPublisher, PwmPublisher, SpatialPublisher
from marine_sim_ros.ros.servos import ServoPublisher

__all__ = ['ControllerOutputs', 'Operator', 'START_PARAMETERS', 'loop_factory']


# Outputs of a controller for an odom: set-points, wrench, angles, pulse widths.


class ControllerOutputs:
    """Publishes pulse widths, set-points, the wrench, and commands of steered actuators.

    Attributes:
        actuators: commands (k,) by the name of the actuator.
    """

    def __init__(self, node: SuiteNode) -> None:
        """Create the publishers."""
        self._steered = [a for a in actuators_of(node.vehicle) if a.steered]
        self.actuators = {a.name: np.zeros(len(a.names(node.vehicle))) for a in self._steered}
        self._actuators = {
            a.name: ServoPublisher(node, a, topics.actuator_commands(a, per_tick=True))
            for a in self._steered
        }
        self._setpoints = JointPublisher(node, topics.SETPOINTS, SETPOINT_QUANTITIES)
        self._wrench = SpatialPublisher(node, topics.CONTROLLER_WRENCH)
        self._pwm = PwmPublisher(node)

    def rest_actuators(self) -> None:
        """Command rest, except for azimuth angles, which stay while there is no thrust."""
        for actuator in self._steered:
            if actuator.stage:
                self.actuators[actuator.name] = np.full_like(
                    self.actuators[actuator.name], actuator.rest
                )

    def publish(
        self, stamp: int, pwm: np.ndarray, setpoints: np.ndarray, wrench: np.ndarray
    ) -> None:
        """Publish the answer to the odom of a stamp in ns.

        Args:
            stamp: ns.
            pwm: pulse widths (n,), µs.
            setpoints: (12,), NaN where free.
            wrench: commanded wrench (6,).
        """
        self._setpoints.publish(stamp, position=setpoints.tolist())
        self._wrench.publish(stamp, wrench)
        for name, publisher in self._actuators.items():
            publisher.publish(stamp, self.actuators[name])
        self._pwm.publish(stamp, pwm)


# Closed loop of a controller's node: NumPy, or a program in a compiled graph.


def loop_factory(
    allocation: str, step: float | None
) -> Callable[[Vehicle, ControllerSettings], ClosedLoop]:
    """Return a factory of the control loop of a vehicle and settings.

    Args:
        allocation: allocation method, ``bounded`` or ``pseudo_inverse``.
        step: s between two states of a compiled graph; None: not compiled.
    """
    if step is None or allocation != 'bounded':
        return partial(ClosedLoop, method=allocation)
    from marine_sim_ros.engine.compiled_controller import select_closed_loop

    return partial(select_closed_loop, dt=step)


# Conversion of an operator's messages and services into commands.

START_PARAMETERS = (
    NodeParameter('armed', False, 'arm the thrusters at the start'),
    NodeParameter(
        'holds',
        [''],
        'functions to switch on at the start',
        choices=tuple(CLOSED_LOOPS),
        empty='none',
    ),
    NodeParameter(
        'free_axes',
        [''],
        'axes that are never controlled',
        choices=SETPOINT_QUANTITIES,
        empty='none',
        live=True,
    ),
)
"""Initial values of what an operator may change later."""

MAX_WAYPOINTS = 1000
"""Bound of the waypoints of a path."""
MAX_TARGET = 1e5
"""Bound of each commanded number, m, m/s, N or N·m."""


def pose_targets(pose: Pose) -> np.ndarray:
    """Return x, y, z, roll, pitch, yaw (6,) of a pose.

    A NaN in the position frees that axis, a NaN in the quaternion frees all three angles.

    Raises:
        ValueError: out of bounds, or a quaternion whose length is not near 1.
    """
    p, q = pose.position, pose.orientation
    position = np.array([p.x, p.y, p.z])
    quaternion = np.array([q.x, q.y, q.z, q.w])
    if np.any(np.abs(position) > MAX_TARGET):
        raise ValueError(f'position {position.tolist()} is beyond {MAX_TARGET:g} m')
    if np.any(np.isnan(quaternion)):
        return np.concatenate([position, np.full(3, np.nan)])
    norm = float(np.linalg.norm(quaternion))
    if not 0.5 < norm < 2.0:
        raise ValueError(f'quaternion {quaternion.tolist()} has length {norm:g}; expected 1')
    return np.concatenate([position, rpy_from_quaternion(quaternion / norm)])


def named_targets(names: Sequence[str], numbers: Sequence[float]) -> np.ndarray:
    """Return set-points (12,) of named quantities; the others are free, that is NaN.

    Raises:
        ValueError: an unknown or repeated name, or a number out of bounds.
    """
    if len(names) != len(numbers) or len(set(names)) != len(names):
        raise ValueError(f'{len(names)} names and {len(numbers)} positions; expected one for each')
    result = empty_setpoints()
    for name, number in zip(names, numbers, strict=True):
        if name not in SETPOINT_QUANTITIES:
            raise ValueError(
                f'quantity {name!r:.40}; expected some of {", ".join(SETPOINT_QUANTITIES)}'
            )
        if abs(number) > MAX_TARGET:
            raise ValueError(f'{name} is {number:g}; expected at most {MAX_TARGET:g}')
        result[SETPOINT_QUANTITIES.index(name)] = number
    return result


def _spatial_vector(linear: object, angular: object) -> np.ndarray:
    """Return the numbers (6,) of two vectors; raise ValueError if they are out of bounds."""
    numbers = [getattr(part, axis) for part in (linear, angular) for axis in 'xyz']
    if not math.fsum(map(abs, numbers)) < MAX_TARGET:
        raise ValueError(f'{numbers} is not finite, or too large')
    return np.array(numbers)


class Operator:
    """Passes commands of topics and services to a node's commander."""

    def __init__(self, node: SuiteNode, commander: Commander, now: Callable[[], float]) -> None:
        """Subscribe and offer the services; ``now`` is the simulation time, s."""
        self._node = node
        self._commander = commander
        self._now = now
        node.listen(topics.COMMAND_POSE, partial(self._take, 'cmd_pose', self._on_pose))
        node.listen(topics.COMMAND_PATH, partial(self._take, 'cmd_path', self._on_path))
        node.listen(topics.COMMAND_VELOCITY, partial(self._take, 'cmd_vel', self._on_velocity))
        node.listen(topics.COMMAND_WRENCH, partial(self._take, 'cmd_wrench', self._on_wrench))
        node.listen(topics.COMMAND_SETPOINTS, partial(self._take, 'cmd_setpoints', self._on_aim))
        node.create_service(SetBool, 'arm', self._on_arm)
        for name in CLOSED_LOOPS:
            node.create_service(SetBool, name, partial(self._on_hold, name))

    def _take(self, topic: str, use: Callable[[object], None], message: object) -> None:
        try:
            use(message)
        except ValueError as error:
            self._node.warn_throttled(f'{topic}: {error}; ignored')

    def _on_pose(self, message: PoseStamped) -> None:
        self._commander.go(self._targets(message.pose, message.header.frame_id))

    def _on_path(self, message: Path) -> None:
        if len(message.poses) > MAX_WAYPOINTS:
            raise ValueError(f'{len(message.poses)} poses; expected up to {MAX_WAYPOINTS}')
        frame = message.header.frame_id
        self._commander.follow(
            [self._targets(p.pose, p.header.frame_id or frame) for p in message.poses]
        )

    @staticmethod
    def _targets(pose: Pose, frame: str) -> np.ndarray:
        if frame not in ('map', ''):
            raise ValueError(f"frame is {frame!r}; expected 'map'")
        return pose_targets(pose)

    def _on_velocity(self, message: Twist) -> None:
        self._commander.drive(_spatial_vector(message.linear, message.angular), self._now())

    def _on_wrench(self, message: Wrench) -> None:
        self._commander.push(_spatial_vector(message.force, message.torque), self._now())

    def _on_aim(self, message: JointState) -> None:
        self._commander.aim(named_targets(message.name, message.position), self._now())

    def _on_arm(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._commander.arm(bool(request.data))
        response.success, response.message = True, 'armed' if request.data else 'disarmed'
        return response

    def _on_hold(
        self, name: str, request: SetBool.Request, response: SetBool.Response
    ) -> SetBool.Response:
        self._commander.hold(name, bool(request.data))
        response.success, response.message = True, f'{name} {"on" if request.data else "off"}'
        return response
