# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A mock of what the stock way sees: a world of Gazebo's own systems, and the node it is in.

The world does what gz-sim 8 does: wrenches wait for the next step and add up in it, a request is
taken at the end of a pass, of two in one pass the later one decides about a reset, and a paused
world tells its time but no pose.
"""

from types import ModuleType, SimpleNamespace

import numpy as np
from dart import dart_step

from marine_sim_ros import Environment
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.ros.message_fields import set_stamp

NANOSECONDS = 10**9


def interfaces():
    """Return modules in place of those of ros_gz_interfaces, by name."""

    def vector():
        return SimpleNamespace(x=0.0, y=0.0, z=0.0)

    class Entity(SimpleNamespace):
        LINK = 3

    def entity_wrench(entity):
        stamp = SimpleNamespace(sec=0, nanosec=0)
        return SimpleNamespace(
            header=SimpleNamespace(stamp=stamp),
            entity=entity,
            wrench=SimpleNamespace(force=vector(), torque=vector()),
        )

    def request():
        reset = SimpleNamespace(all=False)
        control = SimpleNamespace(pause=False, multi_step=0, reset=reset)
        return SimpleNamespace(world_control=control)

    names = ('ros_gz_interfaces', 'ros_gz_interfaces.msg', 'ros_gz_interfaces.srv')
    top, msg, srv = (ModuleType(name) for name in names)
    msg.Entity, msg.EntityWrench = Entity, entity_wrench
    srv.ControlWorld = SimpleNamespace(Request=request)
    return dict(zip(names, (top, msg, srv), strict=True))


class StockGazebo:
    """One body in one world; itself the node that a way is made with.

    Attributes:
        exerted: how many wrenches each step had.
        impulse: of all wrenches, world axes, N s and N m s.
    """

    def __init__(self, vehicle, initial, *, step, period):
        self.vehicle, self.initial, self.step, self.period = vehicle, initial, step, period
        self.listeners, self.service, self.lose_requests, self.lose_poses = {}, True, 0, 0
        self.late_wrenches = 0
        self.start()

    def start(self):
        """Be a server that has just started, paused."""
        self.state, self.stamp, self.paused, self.pending = self.initial, 0, True, 0
        self.wrenches, self.requests, self.exerted, self.delayed = [], [], [], []
        self.impulse = np.zeros(6)

    # --- the node

    def listen(self, topic, callback):
        self.listeners[topic.name] = callback
        return topic.name

    def destroy_subscription(self, name):
        del self.listeners[name]

    def publisher(self, topic):
        assert topic.name == 'gazebo/link_wrench'
        return SimpleNamespace(publish=self.take_wrench)

    def create_client(self, kind, name):
        assert name == '/world/pool/control'
        return SimpleNamespace(service_is_ready=lambda: self.service, call_async=self.take_request)

    def take_wrench(self, message):
        assert (message.entity.name, message.entity.type) == ('rov::base_link', 3)
        force, torque = message.wrench.force, message.wrench.torque
        queue = self.delayed if self.late_wrenches else self.wrenches
        self.late_wrenches = max(0, self.late_wrenches - 1)
        queue.append([force.x, force.y, force.z, torque.x, torque.y, torque.z])

    def take_request(self, request):
        if self.lose_requests:
            self.lose_requests -= 1
        else:
            self.requests.append(request.world_control)

    # --- the world

    def turn(self):
        """Do one pass of the server's loop."""
        runs = not self.paused
        if runs:
            self.stamp += self.step
        if 'gazebo/clock' in self.listeners:
            clock = SimpleNamespace(clock=SimpleNamespace(sec=0, nanosec=0))
            set_stamp(clock.clock, self.stamp)
            self.listeners['gazebo/clock'](clock)
        if runs:
            self.move()
            if self.pending:
                self.pending -= 1
                self.paused = not self.pending
        rewind = False
        for request in self.requests:
            self.paused = request.pause
            if request.pause and request.multi_step:
                self.pending += request.multi_step
                self.paused = False
            rewind = request.reset.all
        self.requests = []
        if rewind:
            self.state, self.stamp = self.initial, 0

    def move(self):
        dt = self.step / NANOSECONDS
        turned = rotation_matrix(self.state.orientation)
        wrench = np.sum([np.zeros(6), *self.wrenches], axis=0)
        self.impulse += wrench * dt
        self.exerted.append(len(self.wrenches))
        self.wrenches, self.delayed = self.delayed, []
        body = np.concatenate([turned.T @ wrench[:3], turned.T @ wrench[3:]])
        self.state = dart_step(self.vehicle, self.state, body, Environment(), dt)
        if self.stamp % self.period == 0:
            self.tell()

    def tell(self):
        if self.lose_poses:
            self.lose_poses -= 1
            return
        p, q = self.state.position, self.state.orientation
        message = SimpleNamespace(
            header=SimpleNamespace(stamp=SimpleNamespace(sec=0, nanosec=0)),
            pose=SimpleNamespace(
                position=SimpleNamespace(x=p[0], y=p[1], z=p[2]),
                orientation=SimpleNamespace(x=q[0], y=q[1], z=q[2], w=q[3]),
            ),
        )
        set_stamp(message.header.stamp, self.stamp)
        self.listeners['gazebo/pose'](message)
