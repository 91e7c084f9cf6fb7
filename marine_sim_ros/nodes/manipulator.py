# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Manipulator: moves the joints of the arm, and publishes their reaction wrench on the vehicle.

Subscribes: odom; joint_commands (JointState of named joints: ``position``, rad or m; or
``velocity`` or, of an articulated arm, ``effort`` in N m or N, which end after half a second; the
others keep their command); moving_masses/command and those of other actuators that add to joints
(JointState of named parts, added to the positions of their joints), with
``servo_source: controller`` once per odom; with a gripper that attaches, /bodies/<name>/odom of
the bodies without joints and tether, and joint_states of the vehicles in ``grippers``, of the tick
before.
Publishes, one per odom, same stamp: joint_states (if there is something to grip, the last name is
``gripper``: number of the gripped body, 0 for none); wrench/manipulator (the reaction, and the
water's forces on a gripped body).
Services, of Trigger: attach (close on the nearest body within reach; in a fleet it answers when
no other gripper has it), detach.
Parameters: the common ones, and those below.
Failure: a restarted node continues from the joint positions and the body that dynamics publishes
(joint_states/kept), and waits for them. While the bodies are silent their last states hold. A
command with unknown joints or numbers that
are not finite is ignored as a whole, with a warning; targets beyond the limits are clamped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.state import NANOSECONDS, State, Wrench, step_nanoseconds
from marine_sim_ros.model.arm import GRIPPER
from marine_sim_ros.physics import actuators_of
from marine_sim_ros.physics.arm.manipulator import (
    GRIPPER_ACTUATOR,
    JOINTS,
    arm_step,
    has_articulated_arm,
    trimmed_targets,
)
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.arm import JOINT_SOURCE, ArmTick, GripperServer, JointCommands
from marine_sim_ros.ros.base.parameters import NodeParameter, option_parameter
from marine_sim_ros.ros.base.process import run
from marine_sim_ros.ros.base.publishers import JointPublisher
from marine_sim_ros.ros.force_node import CompiledTick, WrenchNode
from marine_sim_ros.ros.servos import SERVO_SOURCE, ServoCommands
from marine_sim_ros.sim.player import ActuatorTimeline
from marine_sim_ros.sim.scenario import load_scenario

__all__ = ['main']

PARAMETERS = (
    option_parameter('scenario', empty='the joints follow joint_commands'),
    SERVO_SOURCE,
    JOINT_SOURCE,
    NodeParameter(
        'grippers', [''], 'namespaces of the other vehicles whose grippers take the same bodies'
    ),
    option_parameter('dt'),
    option_parameter('integrator'),
)


class ManipulatorNode(WrenchNode):
    """Node of the arm, its gripper and their reaction wrench."""

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
        self._closing = (
            ActuatorTimeline(GRIPPER_ACTUATOR, self._scenario, self.vehicle)
            if self._scenario is not None
            else None
        )
        conserving = self.values['integrator'] == 'conserving'
        step = step_nanoseconds(self.values['dt']) / NANOSECONDS
        self._conserving = step if conserving else None
        others = [name for name in self.values['grippers'] if name]
        self._gripper = GripperServer(self, self._answer, others)
        gripper_name = (GRIPPER,) if self._gripper.gripping.is_possible else ()
        self._states = JointPublisher(self, topics.JOINT_STATES, (*arm.names, *gripper_name))
        self._trims: dict[str, ServoCommands] = {}
        answer = self._gripper.wait
        for actuator in actuators_of(self.vehicle):
            if actuator.adds_to == JOINTS.name:
                self._trims[actuator.name] = ServoCommands(self, actuator, answer=answer)
                answer = self._trims[actuator.name].wait
        self._commands = JointCommands(self, self._scenario, answer=answer)

    def on_state(self, stamp: int, state: State) -> None:
        """Answer when the commands of joints and masses are known, if each tick has its own."""
        self._state = state
        self._commands.wait(stamp, state)

    def _answer(self, stamp: int, state: State) -> None:
        """Answer a state; the joints are published even with ``compute`` off."""
        if self.graph is not None:
            super().on_state(stamp, state)
            return
        if self._commands.stamp is None:
            body = self._commands.begin(stamp)
            if body is None:  # dynamics publishes it after its time-out of this node
                return
            self._gripper.gripping.hold(body)
        wrench = self.wrench(stamp, state)
        self.publish_wrench(stamp, wrench if self.values['compute'] else np.zeros(6))

    def commands(self, stamp: int) -> dict[str, Any]:
        """Return the joints' commands at a stamp in ns, for a compiled graph."""
        joints = self._commands.target_positions(stamp, self._dt(stamp))
        commands: dict[str, Any] = {'joints': joints}
        if has_articulated_arm(self.vehicle):
            commands['joint_efforts'] = self._commands.efforts(stamp)
        commands.update(self._trim_commands(stamp))
        if (rates := self._commands.rates(stamp)) is not None:
            commands['joint_rates'] = rates
        if self._gripper.gripping.has_jaws:
            self._follow(ArmTick(stamp / NANOSECONDS, self._state, self._commands.joints, None))
            commands[GRIPPER] = np.array([self._gripper.gripping.number])
        return commands

    def _follow(self, tick: ArmTick) -> None:
        """Let the gripper follow its command."""
        closed = self._commands.closed
        if self._closing is not None:
            closed = bool((self._closing.at(tick.time) > 0.5).any())
        self._gripper.follow(closed, tick)

    def _trim_commands(self, stamp: int) -> dict[str, Any]:
        """Return the commands (k,) that are added to those of the joints, by actuator."""
        return {name: trim.commanded_values(stamp) for name, trim in self._trims.items()}

    def on_output(self, tick: CompiledTick) -> None:
        """Publish the reaction and the joints that a compiled graph computed."""
        super().on_output(tick)
        assert tick.output.joints is not None
        joints, state = tick.output.joints, tick.output.state
        self._commands.joints, self._commands.stamp = joints, tick.stamp
        self._gripper.tick = ArmTick(tick.stamp / NANOSECONDS, state, joints, None)
        self._publish_joints(tick.stamp)

    def _dt(self, stamp: int) -> float:
        """Return the time since the last tick, s; where time went back, start anew."""
        last = self._commands.stamp
        if last is not None and stamp <= last:
            self._commands.restart()
            self._gripper.restart()
            last = None
        return 0.0 if last is None else (stamp - last) / NANOSECONDS

    def wrench(self, stamp: int, state: State) -> Wrench:
        """Advance the joints to this stamp (ns), publish them, return the reaction wrench (6,)."""
        dt = self._dt(stamp)
        time, last, joints = stamp / NANOSECONDS, self._gripper.tick, self._commands.joints
        memory = None if last is None else last.memory
        self._follow(ArmTick(time, state, joints, memory))
        effort = self._commands.efforts(stamp)
        target = self._commands.target_positions(stamp, dt)
        joints, _, wrench, memory = arm_step(
            self.vehicle,
            state,
            joints,
            memory,
            target=trimmed_targets(self.vehicle, target, self._trim_commands(stamp)),
            dt=dt,
            load=self._gripper.gripping.load,
            environment=self.environment_at(stamp),
            effort=effort,
            rate=self._commands.rates(stamp),
            conserving=self._conserving,
        )
        self._commands.joints, self._commands.stamp = joints, stamp
        self._gripper.tick = ArmTick(time, state, joints, memory)
        self._publish_joints(stamp)
        return wrench

    def _publish_joints(self, stamp: int) -> None:
        joints = self._commands.joints
        position, rate = joints.position.tolist(), joints.rate.tolist()
        if self._gripper.gripping.is_possible:
            position, rate = [*position, self._gripper.gripping.number], [*rate, 0.0]
        self._states.publish(stamp, position=position, velocity=rate)


def main() -> None:
    """Run the executable."""
    run(ManipulatorNode)


if __name__ == '__main__':
    main()
