# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Dynamics: publishes the state of each tick, waits for the wrenches of all forces, integrates.

Publishes, one per tick, same stamp: odom (twist in the body frame), /tf map -> base_link, /clock,
wrench/total (weight included).
Subscribes: wrench/<source> of each of ``wrench_sources``, wrench/external (WrenchStamped; holds
for a second), joint_states where there is an arm, /ocean_current; recorder/written and /clock
if configured.
Services: pause (SetBool); of Trigger: reset (to the start), step (a tick while paused), end.
Parameters: the common ones, and those in ros/dynamics/state_node.py.
Failure: a source that times out (``source_timeout``) holds its last wrench or stops the run
(``on_missing_wrench``); a wrench that is not finite is replaced by the source's last; a second
publisher of odom in the namespace, or a state that is not finite, ends the node with exit code 1.
"""

from __future__ import annotations

from typing import Any

from marine_sim_ros.core.state import Wrench
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.physics.arm.manipulator import internal_wrench
from marine_sim_ros.physics.rigid_body import rigid_body_step
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.dynamics.wrench_sum_node import WrenchSumNode

__all__ = ['main']


class DynamicsNode(WrenchSumNode):
    """Node that integrates rigid-body dynamics."""

    def __init__(self, **options: Any) -> None:
        """Create it as ``dynamics``."""
        super().__init__('dynamics', **options)

    def integrate_body(self, vehicle: Vehicle, environment: Environment, total: Wrench) -> None:
        """Step the state under the total wrench."""
        state = self.state
        if self.values['compute']:
            state = rigid_body_step(
                vehicle,
                state,
                environment,
                total,
                self.dt,
                integrator=self.values['integrator'],
                implicit_drag=self.implicit,
                inner=internal_wrench(vehicle, self.barrier.last),
            )
        self.advance(state)


def main() -> None:
    """Run the executable."""
    run(DynamicsNode)


if __name__ == '__main__':
    main()
