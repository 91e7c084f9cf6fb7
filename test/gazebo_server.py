# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A real ``gz sim`` server for tests, and who answers its seat over gz-transport, without ROS."""

import os
import queue
import signal
import subprocess
from pathlib import Path

import numpy as np

from marine_sim_ros.gazebo.effort import exerted_wrench
from marine_sim_ros.gazebo.kinematics import stepped_velocity
from marine_sim_ros.gazebo.run_files import write_run
from marine_sim_ros.gazebo.world import SEAT_FOLDER
from marine_sim_ros.physics.rigid_body import weight
from marine_sim_ros.spatial import momentum_rate, rotation_matrix
from marine_sim_ros.state import State

WAIT = 60.0


class GazeboServer:
    """One server with one vehicle; ``step`` stands in for that of the embedded dynamics."""

    def __init__(self, options, folder, *, delivery='in_server'):
        from gz.msgs10.odometry_pb2 import Odometry
        from gz.msgs10.wrench_pb2 import Wrench
        from gz.transport13 import Node

        self.made = write_run(options, Path(folder), world='', delivery=delivery)
        self.states = queue.Queue()
        self.records = []
        self._wrench = Wrench
        self._node = Node()
        topic = f'/model/{self.made.model}/seat'
        self._publisher = self._node.advertise(f'{topic}/wrench', Wrench)
        self._node.subscribe(Odometry, f'{topic}/state', self.states.put)
        paths = os.pathsep.join(
            [str(SEAT_FOLDER), os.environ.get('GZ_SIM_SYSTEM_PLUGIN_PATH', '')]
        )
        self.process = subprocess.Popen(
            ['gz', 'sim', '-s', '-r', '-v', '1', str(Path(folder) / 'world.sdf')],
            env={**os.environ, 'GZ_SIM_SYSTEM_PLUGIN_PATH': paths},
        )
        self.stamp, self.state = self.next_state(-1)
        self.stepped = None

    def next_state(self, after):
        """Return stamp (ns) and state that come after a stamp, which may have been told twice."""
        while True:
            message = self.states.get(timeout=WAIT)
            at = message.header.stamp
            stamp = at.sec * 10**9 + at.nsec
            if stamp > after:
                break
        p, q = message.pose.position, message.pose.orientation
        v, w = message.twist.linear, message.twist.angular
        return stamp, State(np.array([p.x, p.y, p.z]), np.array([q.x, q.y, q.z, q.w]),
                            np.array([v.x, v.y, v.z, w.x, w.y, w.z]))  # fmt: skip

    def exert(self, wrench):
        """Answer the present state with a wrench (6,) and take the next one."""
        before = self.stamp, self.state
        self._publish(wrench)
        self.stamp, self.state = self.next_state(self.stamp)
        self.records.append((*before, np.array(wrench), self.stamp, self.state))

    def _publish(self, wrench):
        message = self._wrench()
        message.header.stamp.sec, message.header.stamp.nsec = divmod(self.stamp, 10**9)
        x, y, z, k, m, n = (float(value) for value in wrench)
        message.force.x, message.force.y, message.force.z = x, y, z
        message.torque.x, message.torque.y, message.torque.z = k, m, n
        self._publisher.publish(message)

    def step(self, vehicle, state, environment, wrench, dt, **options):
        """Do in Gazebo what ``marine_sim_ros.physics.rigid_body.step`` does."""
        assert state is self.stepped or self.stamp == 0
        self.exert(exerted_wrench(vehicle, state, environment, wrench, dt, **options))
        velocity = stepped_velocity(self.state.velocity, dt)
        self.stepped = self.state._replace(velocity=velocity)
        return self.stepped

    def reset(self):
        """Put the world back: ask, answer the state that it waits with, and take the first."""
        from gz.msgs10.boolean_pb2 import Boolean
        from gz.msgs10.world_control_pb2 import WorldControl

        asked = WorldControl()
        asked.reset.all = True
        service = f'/world/{self.made.name}/control'
        self._node.request(service, asked, WorldControl, Boolean, 1000)
        self._publish(np.zeros(6))
        while self.stamp != 0:
            self.stamp, self.state = self.next_state(-1)

    def imbalance(self, vehicle, environment):
        """Return the largest error of |M ν̇ + C ν − w − τ| of all ticks over the largest |τ| or w.

        DART 6.12 adds accelerations to velocities in world axes, so ν̇ is taken from those: the
        body's turn during a step is no part of it.
        """
        mass, largest, scale = vehicle.mass_matrix, 0.0, 0.0
        for stamp, state, wrench, after, moved in self.records:
            turn, turned = (rotation_matrix(s.orientation) for s in (state, moved))
            change = (turn.T @ turned @ moved.velocity.reshape(2, 3).T).T.ravel() - state.velocity
            rate = change / ((after - stamp) * 1e-9)
            rate[:3] -= np.cross(state.velocity[3:], state.velocity[:3])
            down = weight(vehicle, state, environment)
            coriolis = momentum_rate(state.velocity, mass @ state.velocity)
            largest = max(largest, np.abs(mass @ rate + coriolis - down - wrench).max())
            scale = max(scale, np.abs(down).max(), np.abs(wrench).max())
        return largest / scale

    def close(self):
        """End it as a launch file does; return its exit code."""
        self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(10)
        finally:
            self.process.kill()
