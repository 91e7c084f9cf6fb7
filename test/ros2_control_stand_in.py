# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A controller_manager with TopicBasedSystem, written from their sources, for want of wheels.

Usage: ros2_control_stand_in.py URDF CONTROLLERS CLOCK. Its joints, interfaces and topics are those
of <ros2_control>, its controllers those of the YAML that the real one reads:
joint_trajectory_controller/JointTrajectoryController (topic joint_trajectory, linear
interpolation), position_controllers/GripperActionController (here by a topic of Float64) and
effort_controllers/JointGroupEffortController (topic commands, Float64MultiArray).
"""

import sys
import xml.etree.ElementTree as ET

import numpy as np
import rclpy
import yaml
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import qos_profile_sensor_data
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

FIELDS = ('position', 'velocity', 'effort')


class TopicBasedSystem:
    """``read`` and ``write`` as in topic_based_system.cpp, commit 6bd8d55."""

    def __init__(self, element):
        node = rclpy.create_node('topic_based_ros2_control')
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(node)
        parameters = {p.get('name'): p.text for p in element.findall('hardware/param')}
        self.joints = [j.get('name') for j in element.findall('joint')]
        self.interfaces = {
            j.get('name'): [i.get('name') for i in j.findall('command_interface')]
            for j in element.findall('joint')
        }
        self.states = {f: dict.fromkeys(self.joints, 0.0) for f in FIELDS}
        self.commands = {f: dict.fromkeys(self.joints, 0.0) for f in FIELDS}
        self.threshold = float(parameters.get('trigger_joint_command_threshold', 1e-5))
        self.latest = JointState()
        self.publisher = node.create_publisher(JointState, parameters['joint_commands_topic'], 1)
        node.create_subscription(
            JointState,
            parameters['joint_states_topic'],
            lambda m: setattr(self, 'latest', m),
            qos_profile_sensor_data,
        )

    def read(self):
        for _ in range(3):  # rclcpp::spin_some
            self.executor.spin_once(timeout_sec=0)
        for field in FIELDS:
            numbers = getattr(self.latest, field)
            if len(numbers):  # the C++ reads positions without a look
                self.states[field].update(zip(self.latest.name, numbers, strict=True))

    def write(self, stamp):
        difference = sum(
            abs(self.states['position'][j] - self.commands['position'][j]) for j in self.joints
        )
        if difference <= self.threshold:
            return
        message = JointState(name=self.joints)
        message.header.stamp = stamp
        for joint in self.joints:
            for field in self.interfaces[joint]:
                getattr(message, field).append(self.commands[field][joint])
        self.publisher.publish(message)


class Trajectory:
    """Positions by linear interpolation from the state at the start, as JTC does them."""

    def __init__(self, node, name, parameters, system):
        self.joints, self.system, self.points = parameters['joints'], system, []
        self.start = 0.0
        node.create_subscription(JointTrajectory, f'/{name}/joint_trajectory', self.take, 10)

    def take(self, message):
        stamp = message.header.stamp
        self.start = stamp.sec + stamp.nanosec * 1e-9
        own = [self.system.states['position'][j] for j in self.joints]
        order = [list(message.joint_names).index(j) for j in self.joints]
        self.points = [(0.0, own)] + [
            (
                p.time_from_start.sec + p.time_from_start.nanosec * 1e-9,
                [p.positions[i] for i in order],
            )
            for p in message.points
        ]

    def update(self, time):
        if not self.points or time < self.start:
            return
        times, rows = zip(*self.points, strict=True)
        for joint, column in zip(self.joints, np.array(rows).T, strict=True):
            value = float(np.interp(time - self.start, times, column))
            self.system.commands['position'][joint] = value


class Forward:
    """The latest numbers of a topic, as forward_command_controller has them."""

    def __init__(self, node, topic, kind, joints, field, system):
        self.joints, self.field, self.system, self.values = joints, field, system, None
        node.create_subscription(kind, topic, self.take, 10)

    def take(self, message):
        self.values = message.data if hasattr(message.data, '__len__') else [message.data]

    def update(self, time):
        del time
        if self.values is not None:
            self.system.commands[self.field].update(zip(self.joints, self.values, strict=True))


def make_controllers(node, path, system):
    """Return the controllers of controller_manager's YAML."""
    with open(path) as file:
        told = yaml.safe_load(file)
    result = []
    for name, value in told['controller_manager']['ros__parameters'].items():
        kind = value.get('type', '') if isinstance(value, dict) else ''
        parameters = told.get(name, {}).get('ros__parameters', {})
        if kind.endswith('JointTrajectoryController'):
            result.append(Trajectory(node, name, parameters, system))
        elif kind.endswith('GripperActionController'):
            joints, topic = [parameters['joint']], f'/{name}/command'
            result.append(Forward(node, topic, Float64, joints, 'position', system))
        elif kind.endswith('JointGroupEffortController'):
            joints, topic = parameters['joints'], f'/{name}/commands'
            result.append(Forward(node, topic, Float64MultiArray, joints, 'effort', system))
    return result


def main():
    urdf, path, clock = sys.argv[1:]
    rclpy.init()
    node = rclpy.create_node('controller_manager')
    system = TopicBasedSystem(ET.parse(urdf).getroot().find('ros2_control'))
    controllers = make_controllers(node, path, system)
    times = []
    node.create_subscription(Clock, clock, lambda m: times.append(m.clock), 10)
    while rclpy.ok():
        rclpy.spin_once(node, timeout_sec=0.5)
        if times:  # one update for each time, as with update_rate = 1 / dt
            stamp = times.pop(0)
            system.read()
            for controller in controllers:
                controller.update(stamp.sec + stamp.nanosec * 1e-9)
            system.write(stamp)


if __name__ == '__main__':
    main()
