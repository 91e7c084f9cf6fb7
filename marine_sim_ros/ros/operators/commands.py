# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Commands that an operator's node sends: sticks, manipulator arm, and calls of services."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, Twist
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import UInt16MultiArray
from std_srvs.srv import SetBool, Trigger

from marine_sim_ros.control.pilot import GRIPPER_FUNCTION, Pilot, PoseTarget
from marine_sim_ros.control.stick_mixing import PilotMixer
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.state import NANOSECONDS
from marine_sim_ros.model.arm import GRIPPER
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import NodeParameter
from marine_sim_ros.ros.message_fields import set_stamp

__all__ = [
    'ArmOperator',
    'CommandPublisher',
    'STICK_PARAMETERS',
    'Switches',
    'call_trigger',
    'find_service_owner',
    'full_stick_velocity',
]


# Switches of another node: std_srvs/SetBool services, called without waiting.

SWITCH_TIMEOUT = 5.0
"""s of wall time and of the node's clock after which a service that nobody offers is given up, and
of wall time after which one that does not answer is told. Discovery takes up to 3 s on a busy
machine, and longer where the simulation is slow or has not begun."""
STANDSTILL_TIMEOUT = 60.0
"""s of wall time after which a service that nobody offers is given up, even where the node's clock
stands still."""
SWITCH_RETRY_PERIOD = 0.5
"""s of wall time after which an unanswered request is sent again: DDS loses an answer to a client
that the server has not discovered yet."""

SwitchCallback = Callable[[bool, str], None]
"""Called once with success, and the reason of a failure."""


@dataclass
class _Request:
    """Request without an answer yet; wall times in ns.

    Attributes:
        absent_since: wall and simulated time since when the switch has no server, ns.
    """

    on: bool
    since: int
    absent_since: tuple[int, int]
    answered: SwitchCallback | None
    futures: list[Any] = field(default_factory=list)
    sent: int = 0
    reported: bool = False

    def update_absence(self, offered: bool, wall: int, simulated: int) -> None:
        """Restart the time of absence while the switch has a server, or after a reset."""
        if offered:
            self.absent_since = wall, simulated
        self.absent_since = self.absent_since[0], min(self.absent_since[1], simulated)

    def has_expired(self, wall: int, simulated: int) -> bool:
        """Return whether the switch has been absent too long, by both clocks or by wall time."""
        absent = wall - self.absent_since[0]
        both = min(absent, simulated - self.absent_since[1])
        return both > SWITCH_TIMEOUT * NANOSECONDS or absent > STANDSTILL_TIMEOUT * NANOSECONDS


class Switches:
    """Known switches of another node; call :meth:`check` regularly."""

    def __init__(self, node: VehicleNode, names: Sequence[str], server: str) -> None:
        """Make a client for each name; ``server`` names their node in warnings."""
        self._node = node
        self._server = server
        self._clients = {name: node.create_client(SetBool, name) for name in names}
        self._requests: dict[str, _Request] = {}
        self.states: dict[str, bool | None] = dict.fromkeys(names)

    @property
    def unanswered(self) -> frozenset[str]:
        """Return the names that were called and have not answered."""
        return frozenset(self._requests)

    def is_offered(self, name: str) -> bool:
        """Return whether a switch has a server."""
        return bool(self._clients[name].service_is_ready())

    def ask(
        self, name: str, on: bool | None = None, answered: SwitchCallback | None = None
    ) -> None:
        """Ask for on, off, or (None) the other; an older request is superseded.

        A switch without a server is waited for during ``SWITCH_TIMEOUT`` of both clocks, at most
        ``STANDSTILL_TIMEOUT`` of wall time. One with a server is waited for until it answers,
        because it may still act on the request.

        Args:
            on: requested state; None: the other.
            answered: called once.
        """
        self._conclude(name, False, 'superseded')
        target = not self.states[name] if on is None else on
        now = self._wall_time()
        self._requests[name] = _Request(target, now, (now, self._simulated_time()), answered)
        self._send(name)

    def check(self) -> None:
        """Send waiting requests; drop those without a server, and the states of lost switches."""
        now, simulated = self._wall_time(), self._simulated_time()
        for name, request in list(self._requests.items()):
            request.update_absence(self.is_offered(name), now, simulated)
            if request.has_expired(now, simulated):
                self._give_up(name)
                continue
            if now - request.sent > SWITCH_RETRY_PERIOD * NANOSECONDS:
                self._send(name)
            if now - request.since > SWITCH_TIMEOUT * NANOSECONDS and not request.reported:
                request.reported = True
                self._node.warn_throttled(f'{name}: no {self._server} answers yet; waiting')
        for name in self._clients:
            if self.states[name] is not None and not self.is_offered(name):
                self.states[name] = None

    def _wall_time(self) -> int:
        return int(self._node.wall_clock.now().nanoseconds)

    def _simulated_time(self) -> int:
        return int(self._node.get_clock().now().nanoseconds)

    def _send(self, name: str) -> None:
        """Send a request to a switch that is offered; the first answer to any copy counts."""
        request = self._requests[name]
        if not self.is_offered(name):
            return
        future = self._clients[name].call_async(SetBool.Request(data=request.on))
        request.futures.append(future)
        request.sent = self._wall_time()
        future.add_done_callback(lambda done: self._take(name, request, done))

    def _give_up(self, name: str) -> None:
        self.states[name] = None
        text = f'{name}: no {self._server} answers'
        self._node.warn_throttled(text)
        self._conclude(name, False, text)

    def _take(self, name: str, request: _Request, future: Any) -> None:
        if self._requests.get(name) is not request:
            return  # given up, or superseded
        answer = future.result()
        if answer is None or not answer.success:
            text = '' if answer is None else answer.message
            text = f'{name}: refused{": " if text else ""}{text}'
            self._node.warn_throttled(text)
            self._conclude(name, False, text)
            return
        self.states[name] = request.on
        self._conclude(name, True, answer.message)

    def _conclude(self, name: str, done: bool, text: str) -> None:
        """End a request, where there is one."""
        request = self._requests.pop(name, None)
        if request is None:
            return
        for future in request.futures:
            self._clients[name].remove_pending_request(future)
        if request.answered is not None:
            request.answered(done, text)


# Calls of Trigger services that report refusals to the operator.


def call_trigger(
    node: VehicleNode,
    name: str,
    client: Any,
    *,
    absent: str,
    done: Callable[[], object] | None = None,
) -> None:
    """Call a service; warn with the reason where it is not there, and where it refuses.

    Args:
        absent: warning if the service has no server.
        done: called after success.
    """
    if not client.service_is_ready():
        node.warn_throttled(f'{name}: {absent}')
        return
    client.call_async(Trigger.Request()).add_done_callback(
        partial(_report_answer, node, name, done)
    )


def _report_answer(
    node: VehicleNode, name: str, done: Callable[[], object] | None, future: Any
) -> None:
    answer = future.result()
    if answer is not None and not answer.success:
        node.warn_throttled(f'{name}: refused: {answer.message}')
    elif answer is not None and done is not None:
        done()


# Search for a node by the service that it offers.


def find_service_owner(node: Node, service: str) -> str | None:
    """Return the full name of a node that offers a service (relative to a namespace), or None."""
    full_name = node.resolve_service_name(service)
    for name, namespace in node.get_node_names_and_namespaces():
        offered = node.get_service_names_and_types_by_node(name, namespace)
        if any(other == full_name for other, _ in offered):
            return f'{namespace.rstrip("/")}/{name}'
    return None


# Sender of a pilot's commands: pulse widths, velocities or a pose.

OUTPUT_TOPICS = {
    'pwm': topics.PWM,
    'velocity': topics.COMMAND_VELOCITY,
    'pose': topics.COMMAND_POSE,
}
POSE_REPEAT_PERIOD = 0.5
"""s of wall time after which a pose that did not change is sent again."""

STICK_PARAMETERS = (
    NodeParameter('max_speed', [1.0, 0.5, 0.5], 'surge, sway and heave of full stick', unit='m/s'),
    NodeParameter(
        'max_rate', [0.5, 0.5, 0.8], 'roll, pitch and yaw rate of full stick', unit='rad/s'
    ),
    NodeParameter(
        'dead_band', 0.08, 'fraction of a stick around its middle that counts as 0', 0.0, 0.9
    ),
)


def full_stick_velocity(node: VehicleNode) -> np.ndarray:
    """Return the velocities (6,) of full stick, m/s and rad/s, of ``STICK_PARAMETERS``.

    Raises:
        ParameterError: one is not three numbers of 0 to 1000.
    """
    result = []
    for name in ('max_speed', 'max_rate'):
        top = np.array(node.values[name], float)
        if top.shape != (3,) or not np.all((top >= 0) & (top <= 1e3)):
            raise ParameterError(
                f'{node.get_name()}: {name} is {top.tolist()}; expected three of 0 to 1000'
            )
        result.append(top)
    return np.concatenate(result)


class CommandPublisher:
    """Publishers of the pilot's three outputs, of which one is used at a time."""

    def __init__(self, node: VehicleNode, top: np.ndarray) -> None:
        """Make the publishers; ``top`` (6,) are the velocities of full effort, m/s and rad/s."""
        self._node = node
        self._top = top
        self._mixer = PilotMixer(node.vehicle.thrusters)
        self._publishers = {
            output: node.publisher(topic)
            for output, topic in OUTPUT_TOPICS.items()
            if output != 'pwm'
        }
        self._send: dict[str, Callable[[Pilot, int], None]] = {
            'pwm': self._send_pwm,
            'velocity': self._send_velocity,
            'pose': self._send_pose,
        }
        self._sent: tuple[PoseTarget | None, int] = (None, 0)
        self._has_controller = False
        self._unsubscribed: frozenset[str] = frozenset()
        self.pwm = np.full(len(node.vehicle.thrusters), 1500.0)
        node.create_timer(0.5, self._look_around, clock=node.wall_clock)
        self._finding = node.create_timer(0.1, self._find_thrusters, clock=node.wall_clock)

    def send(self, pilot: Pilot, stamp: int) -> None:
        """Publish the pilot's command; a pose only when it is new or due, with a stamp in ns."""
        self._send[pilot.output](pilot, stamp)

    def trouble(self, output: str) -> str:
        """Return the reason why an output has no effect, or an empty text."""
        if output == 'pwm' and self._has_controller:
            return 'a controller drives the thrusters; take another output than pwm'
        who = 'no thrusters listen' if output == 'pwm' else 'no controller listens'
        return f'{who} to {OUTPUT_TOPICS[output].name}' if output in self._unsubscribed else ''

    def _find_thrusters(self) -> None:
        """Create the publisher of pulse widths, if the thrusters follow no controller."""
        name = self._node.resolve_topic_name(topics.PWM.name)
        durabilities = {
            info.qos_profile.durability
            for info in self._node.get_subscriptions_info_by_topic(name)
            if info.qos_profile.reliability is ReliabilityPolicy.RELIABLE
        }
        if durabilities == {DurabilityPolicy.VOLATILE}:
            self._publishers['pwm'] = self._node.publisher(topics.PWM)
            self._finding.cancel()

    def _look_around(self) -> None:
        name = self._node.resolve_topic_name(topics.PWM.name)
        self._unsubscribed = frozenset(
            output
            for output in OUTPUT_TOPICS
            if output not in self._publishers
            or not self._publishers[output].get_subscription_count()
        )
        # A controller, which sends one command per odom, latches it; an operator's node does not.
        self._has_controller = any(
            info.qos_profile.durability is DurabilityPolicy.TRANSIENT_LOCAL
            for info in self._node.get_publishers_info_by_topic(name)
        )

    def _send_pwm(self, pilot: Pilot, stamp: int) -> None:
        del stamp
        if self._has_controller:
            return
        self.pwm = self._mixer.pwm(pilot.efforts())
        if 'pwm' in self._publishers:
            self._publishers['pwm'].publish(UInt16MultiArray(data=[int(p) for p in self.pwm]))

    def _send_velocity(self, pilot: Pilot, stamp: int) -> None:
        del stamp
        message = Twist()
        v, w = message.linear, message.angular
        v.x, v.y, v.z, w.x, w.y, w.z = (pilot.efforts() * self._top).tolist()
        self._publishers['velocity'].publish(message)

    def _send_pose(self, pilot: Pilot, stamp: int) -> None:
        now = self._node.wall_clock.now().nanoseconds
        target, (last, at) = pilot.target, self._sent
        if target is None or (target == last and now - at < POSE_REPEAT_PERIOD * NANOSECONDS):
            return
        self._sent = (target, now)
        message = PoseStamped()
        message.header.frame_id = 'map'
        set_stamp(message.header.stamp, stamp)
        p, q = message.pose.position, message.pose.orientation
        p.x, p.y, p.z = target.position
        q.x, q.y, q.z, q.w = target.orientation().tolist()
        self._publishers['pose'].publish(message)


# Arm of an operator: joint speeds on joint_commands, and services of the gripper.


class ArmOperator:
    """Commands of an operator to an arm: rates of a pair of joints, and the gripper.

    Attributes:
        pairs: number of pairs of joints; 0 without an arm.
        holds: whether the gripper holds a payload, by the latest joint_states.
    """

    def __init__(self, node: VehicleNode) -> None:
        """Make publisher and clients, where the vehicle has an arm."""
        arm = node.vehicle.manipulator
        self._node = node
        self._names = () if arm is None else arm.names
        self._max_rates = () if arm is None else tuple(arm.max_rate.tolist())
        self.pairs = math.ceil(len(self._names) / 2)
        self.holds = False
        self._moving: list[str] = []
        self._out = None if arm is None else node.publisher(topics.ARM_COMMANDS)
        has = arm is not None and GRIPPER in node.vehicle.extensions
        names = ('attach', 'detach') if has else ()
        self._clients = {name: node.create_client(Trigger, name) for name in names}

    def update_gripper(self, message: JointState) -> None:
        """Update ``holds`` from joint_states."""
        payload = dict(zip(message.name, message.position, strict=False)).get(GRIPPER, 0.0)
        self.holds = payload > 0

    def move(self, pair: int, efforts: Sequence[float] | np.ndarray) -> None:
        """Move a pair of joints at fractions of their maximum rates, and stop those of before.

        Args:
            pair: number of the pair, from 1; 0: none.
            efforts: two efforts, −1 to 1.
        """
        if self._out is None:
            return
        first = 2 * pair - 2
        names = list(self._names[first : first + 2]) if pair else []
        rates = dict(zip(names, (float(e) for e in efforts), strict=False))
        commands = dict.fromkeys(self._moving, 0.0) | {n: r for n, r in rates.items() if r}
        self._moving = [name for name, rate in rates.items() if rate]
        if commands:
            max_rates = dict(zip(self._names, self._max_rates, strict=True))
            velocity = [rate * max_rates[name] for name, rate in commands.items()]
            self._out.publish(JointState(name=list(commands), velocity=velocity))

    def go(self, joints: Mapping[str, float]) -> None:
        """Send joints to positions, rad or m, by name."""
        if self._out is not None:
            self._out.publish(JointState(name=list(joints), position=list(joints.values())))

    def perform(self, function: str) -> None:
        """Perform the function of a key or button, if it is the gripper's."""
        if function == GRIPPER_FUNCTION:
            self.grip()

    def grip(self, closed: bool | None = None) -> None:
        """Close or open the gripper; None: open one that holds something, and close another."""
        name = 'detach' if (self.holds if closed is None else not closed) else 'attach'
        client = self._clients.get(name)
        if client is None:
            self._node.warn_throttled(f'{name}: the vehicle has no gripper')
        else:
            call_trigger(self._node, name, client, absent='no manipulator answers')
