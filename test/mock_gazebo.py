# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Stands for Gazebo, its seat and ros_gz_bridge: a body with added mass and a weight.

Takes one JSON argument, and prints another when the wanted number of ticks is through: position
and velocity at the end, and how many stamps had a wrench.
"""

import json
import sys
import time

import rclpy
from dart import dart_step
from filled import set_odometry
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.state import stamp_ns, state_at_rest
from marine_sim_ros.ros.message_fields import set_stamp, wrench_from
from marine_sim_ros.ros.topics import QUEUE

STEP = 5_000_000


class MockGazebo:
    """One vehicle in one world.

    Options: vehicle, position, ticks; every: tell each n-th state twice; reset: tick at which the
    world goes back, once; skip: tick that is never told; rest: [tick, s] to say nothing at.
    """

    def __init__(self, options):
        self.options = options
        self.vehicle = load_vehicle(options['vehicle'])
        self.node = rclpy.create_node('mock_gazebo', namespace='/rov')
        self.publisher = self.node.create_publisher(Odometry, 'gazebo/state', QUEUE)
        self.node.create_subscription(WrenchStamped, 'gazebo/wrench', self.take, QUEUE)
        self.node.create_timer(0.25, self.tell)
        self.came = set()
        self.tick, self.done = 0, False
        self.start()

    def start(self):
        self.tick, self.state = 0, state_at_rest(self.options['position'])

    def tell(self):
        message = Odometry()
        set_stamp(message.header.stamp, self.tick * STEP)
        set_odometry(message, self.state)
        for _ in range(2 if self.tick % self.options.get('every', 10**9) == 1 else 1):
            self.publisher.publish(message)

    def take(self, message):
        stamp = stamp_ns(message.header.stamp)
        self.came.add(stamp)
        if stamp != self.tick * STEP or self.done:
            return
        self.move(wrench_from(message))
        self.tick += 1
        if self.tick == self.options.get('skip'):
            self.move(wrench_from(message))
            self.tick += 1
        if self.tick == self.options.get('reset'):
            del self.options['reset']
            self.start()
        if self.tick == self.options.get('rest', [None])[0]:
            time.sleep(self.options['rest'][1])
        self.tell()
        self.done = self.tick == self.options['ticks']

    def move(self, wrench):
        self.state = dart_step(self.vehicle, self.state, wrench, Environment(), STEP * 1e-9)


def main():
    rclpy.init()
    gazebo = MockGazebo(json.loads(sys.argv[1]))
    while not gazebo.done:
        rclpy.spin_once(gazebo.node, timeout_sec=0.1)
    result = {
        'position': gazebo.state.position.tolist(),
        'velocity': gazebo.state.velocity.tolist(),
        'answered': len(gazebo.came),
    }
    sys.stdout.write(json.dumps(result) + '\n')


if __name__ == '__main__':
    main()
