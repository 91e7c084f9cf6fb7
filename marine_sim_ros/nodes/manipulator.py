# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Manipulator: drives the joints of the arm, and publishes their reaction on the vehicle.

Subscribes: odom; joint_commands (JointState: ``position`` rad or m that named joints go to, or
``velocity``, or ``effort`` of an articulated arm in N m or N, that they keep for half a second;
joints not named stay where they were sent).
Publishes, one per odom, same stamp: joint_states (with ``gripper`` as the last name where there is
a payload: the number of the one that is held, 0 for none); wrench/manipulator (the reaction, and
the water's forces on a held payload); for a camera payloads (PoseArray in map, in the order of
the environment).
Services, of Trigger: attach (close on the nearest payload within reach), detach.
Parameters: the common ones, and those below.
Failure: a node that is started anew goes on where dynamics says that the joints were
(joint_states/kept), with what they held, and stays silent until it does. A command with unknown
joints or numbers that are not finite is ignored as a whole and warned of; targets beyond the
limits are clamped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.state import NANOSECONDS, State, Wrench, step_nanoseconds
from marine_sim_ros.model.arm import GRIPPER
from marine_sim_ros.physics.arm.manipulator import GRIPPER_ACTUATOR, arm_step, has_articulated_arm
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.arm import ArmTick, GripperServer, JointCommands
from marine_sim_ros.ros.base.parameters import SEEN, option_parameter
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.base.publishers import JointPublisher
from marine_sim_ros.ros.force_node import CompiledTick, ForceNode
from marine_sim_ros.sim.player import actuator_target
from marine_sim_ros.sim.scenario import load_scenario

__all__ = ['main']

PARAMETERS = (
    option_parameter('scenario', empty='the joints follow joint_commands'),
    option_parameter('dt'),
    option_parameter('integrator'),
    SEEN,
)


class ManipulatorNode(ForceNode):
    """The node."""

    commanded = True

    def __init__(self, **options: Any) -> None:
        """Create it as ``manipulator``."""
        super().__init__('manipulator', PARAMETERS, **options)
        arm = self.vehicle.manipulator
        if arm is None:
            raise ParameterError(f'manipulator: {self.vehicle.name} has no joint that moves')
        self._scenario = (
            load_scenario(self.values['scenario']) if self.values['scenario'] else None
        )
        conserving = self.values['integrator'] == 'conserving'
        step = step_nanoseconds(self.values['dt']) / NANOSECONDS
        self._conserving = step if conserving else None
        self._gripper = GripperServer(self)
        finger = (GRIPPER,) if self._gripper.gripping.is_possible else ()
        self._states = JointPublisher(self, topics.JOINT_STATES, (*arm.names, *finger))
        self._commands = JointCommands(self, self._scenario)

    def on_state(self, stamp: int, state: State) -> None:
        """Answer at once; the joints are published even where nothing is computed."""
        if self.graph is not None:
            super().on_state(stamp, state)
            return
        if self._commands.stamp is None:
            held = self._commands.begin(stamp)
            if held is None:  # dynamics will say where they were when it has missed this node
                return
            self._gripper.gripping.hold(held)
        wrench = self.wrench(stamp, state)
        self.publish_wrench(stamp, wrench if self.values['compute'] else np.zeros(6))

    def commands(self, stamp: int) -> dict[str, Any]:
        """Return the joints' commands at a stamp in ns, for a compiled graph."""
        joints = self._commands.target_positions(stamp, self._dt(stamp))
        commands: dict[str, Any] = {'joints': joints}
        if has_articulated_arm(self.vehicle):
            commands['joint_efforts'] = self._commands.efforts(stamp)
        return commands

    def on_output(self, tick: CompiledTick) -> None:
        """Publish the reaction and the joints that a compiled graph computed."""
        super().on_output(tick)
        assert tick.output.joints is not None
        self._commands.joints, self._commands.stamp = tick.output.joints, tick.stamp
        self._tell(tick.stamp, tick.output.state)

    def _dt(self, stamp: int) -> float:
        """Return the time since the last tick, s; where time went back, start anew."""
        last = self._commands.stamp
        if last is not None and stamp <= last:
            self._commands.restart()
            self._gripper.restart()
            last = None
        return 0.0 if last is None else (stamp - last) / NANOSECONDS

    def wrench(self, stamp: int, state: State) -> Wrench:
        """Move the joints to this stamp, tell where they are, and return the reaction."""
        dt = self._dt(stamp)
        time, last, joints = stamp / NANOSECONDS, self._gripper.tick, self._commands.joints
        memory = None if last is None else last.memory
        if self._scenario is not None:
            jaws = actuator_target(GRIPPER_ACTUATOR, self._scenario, self.vehicle, time)
            closed = bool((jaws > 0.5).any())
            memory = self._gripper.follow(closed, ArmTick(time, state, joints, memory))
        effort = self._commands.efforts(stamp)
        joints, _, wrench, memory = arm_step(
            self.vehicle,
            state,
            joints,
            memory,
            target=self._commands.target_positions(stamp, dt),
            dt=dt,
            load=self._gripper.gripping.load,
            environment=self.environment_at(stamp),
            effort=effort,
            conserving=self._conserving,
        )
        self._commands.joints, self._commands.stamp = joints, stamp
        self._gripper.tick = ArmTick(time, state, joints, memory)
        self._tell(stamp, state)
        return wrench

    def _tell(self, stamp: int, state: State) -> None:
        """Publish where the joints are, and the payloads."""
        joints = self._commands.joints
        position, rate = joints.position.tolist(), joints.rate.tolist()
        if self._gripper.gripping.is_possible:
            position, rate = [*position, self._gripper.gripping.held + 1.0], [*rate, 0.0]
        self._states.publish(stamp, position=position, velocity=rate)
        self._gripper.tell(stamp, state, joints)


def main() -> None:
    """Run the executable."""
    run(ManipulatorNode)


if __name__ == '__main__':
    main()
