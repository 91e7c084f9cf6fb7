# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Controller: commands in, one PWM per odom out; closes the loop over set-points.

Subscribes: odom; cmd_pose (PoseStamped in map; a NaN leaves that axis free); cmd_path (Path of
waypoints); cmd_vel (Twist, body frame); cmd_wrench (Wrench about base_link, body frame);
cmd_setpoints (JointState: some of the twelve quantities). The latest command holds.
Publishes, one per odom: thrusters/pwm (start the thrusters with ``pwm_source: controller``);
the command topics of steered actuators (start their nodes with ``servo_source: controller``);
controller/setpoints (JointState: twelve names, targets in ``position``, NaN where free);
controller/wrench (commanded wrench, about the centre of mass).
Services (SetBool): arm, auto_depth, auto_heading, station_keeping.
Parameters: the common ones (of ``faults``, dead thrusters are left out), and those below.
Failure: disarmed, the thrusters are neutral; armed and without a command, or with one that has run
out (half a second), it holds its pose; without odom nothing is published. Unusable commands are
ignored. With ``odometry: estimated`` the loop is closed over what the vehicle's own sensors tell.
"""

from __future__ import annotations

import math
import time as wall
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import Pose, PoseStamped, Twist, Wrench
from nav_msgs.msg import Path
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

from marine_sim_ros.control.allocator import unreachable_axes
from marine_sim_ros.control.closed_loop import ClosedLoop
from marine_sim_ros.control.commander import CLOSED_LOOPS, Commander
from marine_sim_ros.control.controllability import controllability
from marine_sim_ros.control.controller_model import (
    SETPOINT_QUANTITIES,
    ControllerSettings,
    empty_setpoints,
    load_controller,
)
from marine_sim_ros.core.spatial import rpy_from_quaternion
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.model.propellers import PWM_NEUTRAL
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics import actuators_of
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import NodeParameter, option_parameter
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.base.publishers import JointPublisher, PwmPublisher, SpatialPublisher
from marine_sim_ros.ros.message_fields import state_of
from marine_sim_ros.ros.servos import ServoPublisher
from marine_sim_ros.sensors.estimated_odometry import EstimatedOdometry
from marine_sim_ros.sim.player import ScriptedPilot, failed_thrusters, unknown_thrusters
from marine_sim_ros.sim.scenario import load_scenario

__all__ = ['main']

# Outputs of a controller for an odom: set-points, wrench, angles, pulse widths.


class ControllerOutputs:
    """Publishes pulse widths, set-points, the wrench, and commands of steered actuators.

    Attributes:
        actuators: commands (k,) by the name of the actuator.
    """

    def __init__(self, node: VehicleNode) -> None:
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

    def __init__(self, node: VehicleNode, commander: Commander, now: Callable[[], float]) -> None:
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


# The node.

ODOM_TIMEOUT, STARTUP_TIMEOUT = 1.0, 10.0
"""s of wall time without odom until a warning: in the run, and in its first 10 s."""
WATCH_PERIOD = 0.5
"""s of wall time between two checks for odom."""
PARAMETERS = (
    option_parameter('controller', default='modern', empty=''),
    NodeParameter(
        'allocation',
        'bounded',
        'method that turns a wrench into thrust',
        choices=('bounded', 'pseudo_inverse'),
    ),
    *START_PARAMETERS,
    NodeParameter(
        'failed_thrusters', [''], 'names of thrusters to leave out', empty='none', live=True
    ),
    option_parameter('odometry'),
    option_parameter('scenario', empty='set-points come from an operator'),
)


class ControllerNode(VehicleNode):
    """Node of the controller."""

    def __init__(self, *, step: float | None = None, **options: Any) -> None:
        """Create it as ``controller``.

        Args:
            step: s; step of a compiled graph, for a compiled controller; None: not compiled.
        """
        super().__init__('controller', PARAMETERS, **options)
        loops = loop_factory(self.values['allocation'], step)
        self._memory: tuple[float, Any] | None = None
        uncontrollable = unreachable_axes(self.vehicle)
        authority = controllability(self.vehicle.thrusters, self.vehicle.inertia.center_of_mass)
        self.health |= {'rank': authority.rank, 'unreachable': ', '.join(uncontrollable) or 'none'}
        if uncontrollable:
            self.get_logger().debug(
                f'{self.vehicle.name}: the thrusters cannot command {", ".join(uncontrollable)}'
            )
        level = [axis for axis in ('roll', 'pitch') if axis not in authority.unreachable]
        self.commander = Commander(
            armed=self.values['armed'], level=level, holds=self.values['holds']
        )
        self._script = None
        if self.values['scenario']:
            scenario = load_scenario(self.values['scenario']).located(self.environment)
            for text in scenario.warnings:
                self.get_logger().warning(text)
            self._script = ScriptedPilot(scenario, self.vehicle, loops=loops)
        else:
            self._loop = loops(self.vehicle, load_controller(self.values['controller']))
        self._odometry = None
        if self.values['odometry'] == 'estimated':
            self._odometry = EstimatedOdometry(self.vehicle, self.values['seed'])
        # While other nodes and the browser's page start, a healthy run may pause.
        self._started_at = self._odom_at = wall.monotonic()
        self._silent = False
        self.time = 0.0
        self._outputs = ControllerOutputs(self)
        self._operator = Operator(self, self.commander, lambda: self.time)
        self.listen_numbers(topics.ODOM, self._on_odom)
        self.take_time_from_ticks()
        self.create_timer(WATCH_PERIOD, self._watch, clock=self.wall_clock)

    def refuse(self, name: str, value: Any) -> str:
        """Refuse thrusters that do not exist."""
        return unknown_thrusters(self.vehicle, value) if name == 'failed_thrusters' else ''

    def _on_odom(self, stamp: int, numbers: Sequence[float]) -> None:
        self._odom_at = wall.monotonic()
        self.newest = stamp
        state = state_of(numbers)
        count = len(self.vehicle.thrusters)
        if state is None:
            self.warn_throttled('odom: not finite; thrusters neutral')
            self._outputs.publish(
                stamp, np.full(count, PWM_NEUTRAL), np.full(12, np.nan), np.zeros(6)
            )
            return
        if self._odometry is not None:
            water = self.environment_at(stamp)
            state = self._odometry.estimate(stamp, state, water, self.faults)
        if self._script is not None:
            time, self._script.faults = stamp / NANOSECONDS, self.faults
            pwm, setpoints = self._script.command(time, state), self._script.setpoints(time)
            self._outputs.actuators |= self._script.actuators
            self._outputs.publish(stamp, pwm, setpoints, self._script.wrench)
            return
        self._outputs.publish(stamp, *self._command(stamp / NANOSECONDS, state))

    def _command(self, time: float, state: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return pulse widths, set-points and the wrench of a time (s)."""
        if time < self.time:  # the run was reset
            self._memory = None
            self.commander.forget()
        self.time = time
        commander = self.commander
        commander.free = tuple(axis for axis in self.values['free_axes'] if axis)
        setpoints = commander.active_setpoints(time, state)
        names = self.vehicle.thrusters.names
        failed = failed_thrusters(self.faults, self.vehicle, time, self.values['failed_thrusters'])
        self._note_mode()
        if not commander.armed:
            self._memory = None
            self._outputs.rest_actuators()
            return np.full(len(names), PWM_NEUTRAL), setpoints, np.zeros(6)
        if commander.mode == 'wrench' and not commander.stale(time):
            self._memory = None
            output = self._loop.open_loop_command(commander.wrench, state, failed=failed)
        else:
            output, self._memory = self._loop.step(
                setpoints, time, state, self._memory, failed=failed
            )
        self._outputs.actuators |= output.allocation.actuators
        self.health['short of'] = ', '.join(output.allocation.shortfall) or 'nothing'
        return output.pwm, setpoints, output.wrench

    def _note_mode(self) -> None:
        self.health['mode'] = self.commander.mode if self.commander.armed else 'disarmed'

    def _watch(self) -> None:
        if self._script is None:
            self._note_mode()  # a paused run has no ticks, and may be armed
        now = wall.monotonic()
        silence = now - self._odom_at
        started = now - self._started_at > STARTUP_TIMEOUT
        if silence <= (ODOM_TIMEOUT if started else STARTUP_TIMEOUT):
            self._silent = False
            return
        if not self.newest and self._odom_at != self._started_at:
            return  # the first tick has come, and the run waits for its start
        text = f'odom: silent for {silence:.0f} s; nothing is commanded'
        # One log line for each pause, however long. Before its start a run only loads.
        if self._silent or not self.newest:
            self._complaints[text] = False
        else:
            self._silent = True
            self.warn_throttled(text)


def main() -> None:
    """Run the executable."""
    run(ControllerNode)


if __name__ == '__main__':
    main()
