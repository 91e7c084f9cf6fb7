# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Gazebo bridge: publishes ``odom`` where Gazebo moves the body.

Takes Gazebo's state, publishes it, waits for every force, and sends their sum to Gazebo. Of the
free bodies of the environment it publishes Gazebo's states too, and sends the forces of the water.

Publishes, one per tick, same stamp: odom (twist in the body frame), /tf map -> base_link, /clock
(Gazebo's simulation time), wrench/total (weight included), and to Gazebo, over ros_gz_bridge,
gazebo/wrench (without weight and added mass, which Gazebo computes) or gazebo/link_wrench. Of each
body likewise /bodies/<name>/odom, /tf map -> bodies/<name>, /bodies/<name>/joint_states where
joints of it move, and gazebo/bodies/<name>/wrench.
Subscribes: gazebo/state and gazebo/status, or gazebo/pose, from ros_gz_bridge, and
gazebo/bodies/<name>/state; wrench/<source> of each of ``wrench_sources``, wrench/external
(WrenchStamped; holds for a second), joint_states where there is an arm, /ocean_current;
recorder/written if configured.
Services: pause (SetBool: Gazebo waits), reset (Trigger: Gazebo resets its world).
Parameters: the common ones, and those in ros/dynamics/state_node.py and gazebo_node.py.
Failure: that of dynamics; Gazebo silent, paused or without the vehicle is reported and waited for;
a world that was reset starts a new run; a tick that never came is counted and reported. A Gazebo
that never sends a state, or a body whose state is not finite, ends the node with exit code 1.
With delivery ``compiled`` a composed process uses the class of ros/dynamics/compiled_node.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ParameterError, RunError
from marine_sim_ros.core.state import Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.gazebo.delivery import COMPILED, IN_SERVER
from marine_sim_ros.gazebo.exchange import BodyForces, exerted_wrench
from marine_sim_ros.model.body_joints import reported_joints
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.base.publishers import BodyPublisher
from marine_sim_ros.ros.dynamics.gazebo_node import GAZEBO_PARAMETERS as PARAMETERS
from marine_sim_ros.ros.dynamics.gazebo_node import (
    GazeboStateNode,
    InServerTransport,
    StockTransport,
)
from marine_sim_ros.ros.dynamics.wrench_sum_node import WrenchSumNode

__all__ = ['PARAMETERS', 'main']


class GazeboBridgeNode(GazeboStateNode, WrenchSumNode):
    """Node whose integrator is Gazebo."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``gazebo_bridge``."""
        super().__init__('gazebo_bridge', PARAMETERS, **options)
        delivery = self.values['delivery']
        if delivery == COMPILED:
            raise ParameterError(
                'gazebo_bridge: delivery is compiled in a process of its own; expected it in a '
                'composed process with engine jax, as delivery:=compiled starts it'
            )
        self._bodies: BodyForces | None = None
        if self.environment.free_bodies:
            step = self.dt / self.values['impulse_ratio']
            self._bodies = BodyForces(self.environment, self.dt, step)
            joints = reported_joints(self.environment.body_joints)
            self._body_publishers = {
                body.name: BodyPublisher(self, body.name, joints.get(body.name, ()))
                for body in self.environment.free_bodies
            }
        self.follow(InServerTransport if delivery == IN_SERVER else StockTransport)

    def idle_answer(self) -> Wrench:
        """Return no wrenches."""
        return np.zeros(6) if self._bodies is None else np.zeros((1 + len(self._bodies.names), 6))

    def on_published(self) -> None:
        """Publish the bodies; wait for the forces, or without lockstep take the latest."""
        if self._bodies is not None:
            assert isinstance(self.transport, InServerTransport)
            try:
                self._bodies.take(self.stamp, self.transport.bodies)
            except RunError as error:
                self.fail(str(error))
                return
            for name, body_state in self._bodies.states.items():
                self._body_publishers[name].publish(
                    self.stamp, body_state, self._bodies.joint_positions
                )
        if self.waits_for_all_forces:
            super().on_published()
        else:
            self.integrate()

    def integrate_body(self, vehicle: Vehicle, environment: Environment, total: Wrench) -> None:
        """Send Gazebo the wrench of this step, and wait for the next state."""
        wrench = total
        if self.values['compute']:
            wrench = exerted_wrench(
                vehicle,
                self.state,
                environment,
                total,
                self.dt,
                carried=self.vehicle,
                integrator=self.values['integrator'],
                implicit_drag=self.implicit,
                physics_step=self.dt / self.values['impulse_ratio'],
            )
        if self._bodies is not None:
            wrench = np.stack([wrench, *self._bodies.wrenches(self.stamp, environment)])
        self.answer(wrench)


def main() -> None:
    """Run the executable."""
    run(GazeboBridgeNode)


if __name__ == '__main__':
    main()
