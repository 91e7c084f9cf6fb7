# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Controllers of ros2_control steer, through the topics of topic_based_ros2_control.

Subscribes: odom; thrusters/state, joint_states and the states of steered actuators; the topics of
commands that <ros2_control> of the URDF names (JointState).
Publishes, one per odom: the topics of states that <ros2_control> names (JointState, of the step
before), then ros2_control/clock (the controllers' clock); thrusters/pwm, joint_commands and the
command topics of steered actuators (start their nodes with ``pwm_source``, ``joint_source`` and
``servo_source: controller``).
Parameters: the common ones, and those below.
Failure: without a command the thrusters are neutral, and servos and joints stay. A command with an
unknown name, an infinite number or a field of another length is ignored as a whole, with a
warning. With ``await_commands`` each odom waits for one message of each system; after 0.8 s
without one the thrusters stop, and without one in the warm-up the node ends with exit code 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from marine_sim_ros.control.ros2_control import (
    FIELDS,
    JOINT_KIND,
    THRUSTER_KIND,
    ThrustTables,
    command_values,
    devices_of,
    systems_of,
)
from marine_sim_ros.core.errors import RunError
from marine_sim_ros.core.state import NANOSECONDS, stamp_ns, step_nanoseconds
from marine_sim_ros.model.arm import GRIPPER
from marine_sim_ros.model.propellers import PWM_NEUTRAL
from marine_sim_ros.model.servos import HardwareSystem
from marine_sim_ros.physics import actuators_of
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import VehicleNode
from marine_sim_ros.ros.base.parameters import option_parameter
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.base.publishers import PwmPublisher
from marine_sim_ros.ros.message_fields import set_stamp
from marine_sim_ros.ros.servos import ServoPublisher
from marine_sim_ros.ros.ticks import TickSynchronizer

__all__ = ['main']

PARAMETERS = (
    option_parameter('await_commands'),
    option_parameter('warm_up'),
    option_parameter('dt'),
)
QUIET, COMMAND_TIMEOUT = 0.5, 10.0
"""s of wall time without a command: after the first, controllers have caught up with their clock;
after the second, in the warm-up, they are lost."""
_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)


class DeviceStates:
    """Latest state of each device, and the synchronisation of their topics.

    Attributes:
        values: numbers by field, by the name of the device.
        sources: names of the topics.
    """

    def __init__(self, node: VehicleNode, synchronizer: TickSynchronizer) -> None:
        """Subscribe to the states of a vehicle's devices."""
        vehicle, kinds = node.vehicle, set(devices_of(node.vehicle).values())
        self.values = {name: dict.fromkeys(FIELDS, 0.0) for name in devices_of(vehicle)}
        self._synchronizer = synchronizer
        for topic in state_topics(node.vehicle, kinds):
            node.listen(topic, partial(self._take, topic.name))

    def _take(self, topic: str, message: JointState) -> None:
        for index, name in enumerate(message.name):
            for field in FIELDS:
                numbers = getattr(message, field)
                if name in self.values and name != GRIPPER and index < len(numbers):
                    self.values[name][field] = float(numbers[index])
        self._synchronizer.add_other(topic, stamp_ns(message.header.stamp), None)


def state_topics(vehicle: Any, kinds: set[str]) -> tuple[topics.Topic, ...]:
    """Return the topics of states of some kinds of devices."""
    result = {}
    if THRUSTER_KIND in kinds:
        result[topics.THRUSTER_STATE.name] = topics.THRUSTER_STATE
    if JOINT_KIND in kinds:
        result[topics.JOINT_STATES.name] = topics.JOINT_STATES
    for actuator in actuators_of(vehicle):
        if actuator.name in kinds and actuator.state_topic and actuator.steered:
            result.setdefault(actuator.state_topic, topics.actuator_state(actuator))
    return tuple(result.values())


class DeviceCommands:
    """Publishers of the commands of all devices, one message per tick."""

    def __init__(self, node: VehicleNode) -> None:
        """Create the publishers."""
        vehicle = node.vehicle
        self._kinds, self._thrusters = devices_of(vehicle), vehicle.thrusters.names
        self._tables = ThrustTables(vehicle.thrusters)
        self._pwm = PwmPublisher(node)
        self._joints = node.publisher(topics.ARM_COMMANDS_PER_TICK)
        self._has_arm = JOINT_KIND in self._kinds.values()
        self._servos = {
            a.name: (
                ServoPublisher(node, a, topics.actuator_commands(a, per_tick=True)),
                {name: a.rest for name in a.names(vehicle)},
            )
            for a in actuators_of(vehicle)
            if a.steered and a.command_topic
        }
        self.jaws = 0.0
        """Commanded position of the gripper, 0 open to 1 closed."""

    def publish(self, stamp: int, commands: Mapping[str, tuple[str, float]]) -> None:
        """Publish interface and number by device, for the odom of a stamp in ns."""
        pwm = [
            self._tables.pulse_width(i, *commands[name]) if name in commands else PWM_NEUTRAL
            for i, name in enumerate(self._thrusters)
        ]
        for publisher, values in self._servos.values():
            values.update({n: commands[n][1] for n in values if n in commands})
            publisher.publish(stamp, np.array(list(values.values())))
        if self._has_arm:
            self._joints.publish(self._joint_message(stamp, commands))
        self._pwm.publish(stamp, pwm)

    def _joint_message(self, stamp: int, commands: Mapping[str, tuple[str, float]]) -> JointState:
        """Return the command of the arm's joints and, with positions, of the gripper."""
        arm = {n: c for n, c in commands.items() if self._kinds[n] == JOINT_KIND}
        field = next((interface for interface, _ in arm.values()), 'position')
        if GRIPPER in commands:
            self.jaws = commands[GRIPPER][1]
            arm[GRIPPER] = commands[GRIPPER]
        numbers = [value for _, value in arm.values()]
        message = JointState(name=list(arm), **{field: numbers})
        set_stamp(message.header.stamp, stamp)
        return message


class Ros2ControlNode(VehicleNode):
    """Node between a vehicle's devices and the hardware systems of ros2_control."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``ros2_control``."""
        super().__init__('ros2_control', PARAMETERS, **options)
        self._systems = systems_of(self.vehicle, self.get_namespace().strip('/'))
        kinds = set(devices_of(self.vehicle).values())
        sources = {topic.name: None for topic in state_topics(self.vehicle, kinds)}
        self._synchronizer = TickSynchronizer(lambda _, stamp, __: self._exchange(stamp), sources)
        self._states = DeviceStates(self, self._synchronizer)
        self._commands = DeviceCommands(self)
        self._awaits = bool(self.values['await_commands'])
        self._received: set[str] = set()
        self._values: dict[str, tuple[str, float]] = {}
        self._before: int | None = None
        self._waiting: int | None = None
        self._clock_publisher = self.create_publisher(Clock, 'ros2_control/clock', _QOS)
        self._state_publishers = {
            system.states_topic: self.create_publisher(JointState, system.states_topic, _QOS)
            for system in self._systems
        }
        for system in self._systems:
            take = self.guard(system.commands_topic, partial(self._on_command, system))
            self.create_subscription(JointState, system.commands_topic, take, _QOS)
        self._step = step_nanoseconds(self.values['dt'])
        self._start = round(self.values['warm_up'] * NANOSECONDS) if self._awaits else 0
        self._warm, self._heard_at = -self._step, self.wall_clock.now().nanoseconds
        self._is_warm, self._in_step = not self._start, False
        self.health['controllers'] = 'waiting'
        self.listen(topics.ODOM, self._on_odom)
        if self._start:
            self._timer = self.create_timer(
                self.values['dt'], self.guard('warm_up', self._warm_up), clock=self.wall_clock
            )

    # The controllers' clock before the first tick.

    def _warm_up(self) -> None:
        """Advance the controllers' clock by a step: in real time, later one for each command."""
        heard = self.health['controllers'] == 'connected'
        silence = (self.wall_clock.now().nanoseconds - self._heard_at) / NANOSECONDS
        if self._is_warm or (heard and not self._in_step and silence < QUIET):
            return
        if self._in_step and not self._received_all:
            if silence > COMMAND_TIMEOUT:
                self._refuse(f'for {COMMAND_TIMEOUT:g} s')
            return
        self._in_step = heard
        if self._warm + self._step < self._start:
            self._received.clear()
            self._warm += self._step
            self._send_states(self._warm)
        elif not heard:
            self._refuse(f'within warm_up of {self.values["warm_up"]:g} s')
        else:
            self._is_warm = True
            self._timer.cancel()
            if self._waiting is not None:
                self._exchange(self._waiting)

    def _refuse(self, span: str) -> None:
        """End the run: no command came."""
        topics_ = ', '.join(s.commands_topic for s in self._systems)
        raise RunError(
            f'await_commands: no command on {topics_} {span}; expected controller_manager with '
            f'update_rate {NANOSECONDS / self._step:g}, use_sim_time, '
            f'/clock:={self._clock_publisher.topic_name} and trigger_joint_command_threshold -1, '
            'or a longer warm_up'
        )

    # Ticks.

    def _on_odom(self, message: Odometry) -> None:
        stamp = self.newest = stamp_ns(message.header.stamp)
        before, self._before = self._before, stamp
        if before is None or stamp <= before:  # the first tick of a run
            self._exchange(stamp)
        else:
            self._synchronizer.main(before, stamp)

    def _exchange(self, stamp: int) -> None:
        """Send the states to the controllers, and answer the odom of a stamp, ns."""
        self._waiting = stamp
        if not self._is_warm:
            return
        self._received.clear()
        self._send_states(self._start + stamp)
        if not self._awaits:
            self._answer()

    def _send_states(self, time: int) -> None:
        """Publish the states, then the controllers' clock (ns): controllers read both in order."""
        jaws = {GRIPPER: {'position': self._commands.jaws}}
        for system in self._systems:
            message = JointState(name=[joint.name for joint in system.joints])
            set_stamp(message.header.stamp, time)
            for field in FIELDS:
                if any(field in joint.states for joint in system.joints) or field == 'position':
                    values = [
                        {**self._states.values[j.name], **jaws.get(j.name, {})}[field]
                        if field in j.states
                        else np.nan
                        for j in system.joints
                    ]
                    setattr(message, field, values)
            self._state_publishers[system.states_topic].publish(message)
        clock = Clock()
        set_stamp(clock.clock, time)
        self._clock_publisher.publish(clock)

    def _on_command(self, system: HardwareSystem, message: JointState) -> None:
        self.health['controllers'] = 'connected'
        self._heard_at = self.wall_clock.now().nanoseconds
        self._received.add(system.commands_topic)
        try:
            fields = {field: list(getattr(message, field)) for field in FIELDS}
            self._values.update(command_values(system, list(message.name), fields))
        except ValueError as error:
            self.warn_throttled(f'{system.commands_topic}: {error}; ignored')
        if self._awaits and self._waiting is not None and self._is_warm and self._received_all:
            self._answer()

    @property
    def _received_all(self) -> bool:
        return len(self._received) == len({s.commands_topic for s in self._systems})

    def _answer(self) -> None:
        stamp, self._waiting = self._waiting, None
        assert stamp is not None
        self._commands.publish(stamp, self._values)


def main() -> None:
    """Run the executable."""
    run(Ros2ControlNode)


if __name__ == '__main__':
    main()
