# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Stands for Gazebo, its seat and ros_gz_bridge: a body with added mass and a weight.

Takes one JSON argument, and prints another when the wanted number of ticks is through: position
and velocity at the end, and how many stamps had a wrench.
"""

import json
import sys
import time
from functools import partial

import numpy as np
import rclpy
from dart import dart_step
from filled import set_odometry
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.state import stamp_ns, state_at_rest
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.ros.message_fields import set_stamp, wrench_from
from marine_sim_ros.ros.topics import QUEUE

STEP = 5_000_000


class MockGazebo:
    """One vehicle in one world.

    Options: vehicle, position, ticks; environment: file with free bodies; every: tell each n-th
    state twice; reset: tick at which the world goes back, once; skip: tick that is never told;
    rest: [tick, s] to say nothing at.
    """

    def __init__(self, options):
        self.options = options
        self.vehicle = load_vehicle(options['vehicle'])
        self.node = rclpy.create_node('mock_gazebo', namespace='/rov')
        self.environment = run_environment(options.get('environment', ''))
        self.bodies = {body.name: body for body in self.environment.free_bodies}
        self.publishers, self.wrenches = {}, {}
        for name in ('', *self.bodies):
            topic = f'gazebo/bodies/{name}' if name else 'gazebo'
            self.publishers[name] = self.node.create_publisher(Odometry, f'{topic}/state', QUEUE)
            take = partial(self.take, name)
            self.node.create_subscription(WrenchStamped, f'{topic}/wrench', take, QUEUE)
        self.node.create_timer(0.25, self.tell)
        self.came = set()
        self.tick, self.done = 0, False
        self.start()

    def start(self):
        self.tick, self.states = 0, {'': state_at_rest(self.options['position'])}
        for name, body in self.bodies.items():
            self.states[name] = body.start._replace(velocity=np.zeros(6))

    def tell(self):
        for name, publisher in self.publishers.items():
            message = Odometry()
            set_stamp(message.header.stamp, self.tick * STEP)
            set_odometry(message, self.states[name])
            for _ in range(2 if self.tick % self.options.get('every', 10**9) == 1 else 1):
                publisher.publish(message)

    def take(self, name, message):
        stamp = stamp_ns(message.header.stamp)
        self.came.add(stamp)
        if stamp != self.tick * STEP or self.done:
            return
        self.wrenches[name] = wrench_from(message)
        if len(self.wrenches) < len(self.states):
            return
        self.move()
        self.tick += 1
        if self.tick == self.options.get('skip'):
            self.move()
            self.tick += 1
        self.wrenches.clear()
        if self.tick == self.options.get('reset'):
            del self.options['reset']
            self.start()
        if self.tick == self.options.get('rest', [None])[0]:
            time.sleep(self.options['rest'][1])
        self.tell()
        self.done = self.tick == self.options['ticks']

    def move(self):
        for name, state in self.states.items():
            vehicle = self.bodies[name].vehicle if name else self.vehicle
            wrench = self.wrenches[name]
            self.states[name] = dart_step(vehicle, state, wrench, self.environment, STEP * 1e-9)


def main():
    rclpy.init()
    gazebo = MockGazebo(json.loads(sys.argv[1]))
    while not gazebo.done:
        rclpy.spin_once(gazebo.node, timeout_sec=0.1)
    result = {
        'position': gazebo.states[''].position.tolist(),
        'velocity': gazebo.states[''].velocity.tolist(),
        'answered': len(gazebo.came),
    }
    sys.stdout.write(json.dumps(result) + '\n')


if __name__ == '__main__':
    main()
