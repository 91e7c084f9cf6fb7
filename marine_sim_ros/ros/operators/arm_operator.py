# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""An operator's arm: speeds of joints on joint_commands, and the services of the gripper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from marine_sim_ros.control.pilot import GRIP
from marine_sim_ros.model.arm.gripper import GRIPPER
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.base.triggers import ask_trigger
from marine_sim_ros.ros.messages import topics

__all__ = ['ArmOperator']


class ArmOperator:
    """Moves the joints of a node's vehicle by pairs, and closes and opens its gripper.

    Attributes:
        pairs: number of pairs of joints; 0 without an arm.
        holds: whether the gripper holds something, as far as joint_states was told.
    """

    def __init__(self, node: SuiteNode) -> None:
        """Make publisher and clients, where the vehicle has an arm."""
        arm = node.vehicle.manipulator
        self._node = node
        self._names = () if arm is None else arm.names
        self._fastest = () if arm is None else tuple(arm.max_rate.tolist())
        self.pairs = math.ceil(len(self._names) / 2)
        self.holds = False
        self._moving: list[str] = []
        self._out = None if arm is None else node.publisher(topics.ARM_COMMANDS)
        has = arm is not None and GRIPPER in node.vehicle.extensions
        names = ('attach', 'detach') if has else ()
        self._clients = {name: node.create_client(Trigger, name) for name in names}

    def hear(self, message: JointState) -> None:
        """Take what joint_states says of the gripper."""
        held = dict(zip(message.name, message.position, strict=False)).get(GRIPPER, 0.0)
        self.holds = held > 0

    def move(self, pair: int, efforts: Sequence[float]) -> None:
        """Move a pair of joints at shares of their largest rates, and stop those of before.

        Args:
            pair: number of the pair, from 1; 0: none.
            efforts: two efforts, −1 to 1.
        """
        if self._out is None:
            return
        first = 2 * pair - 2
        names = list(self._names[first : first + 2]) if pair else []
        rates = dict(zip(names, (float(e) for e in efforts), strict=False))
        wanted = dict.fromkeys(self._moving, 0.0) | {n: r for n, r in rates.items() if r}
        self._moving = [name for name, rate in rates.items() if rate]
        if wanted:
            fastest = dict(zip(self._names, self._fastest, strict=True))
            velocity = [rate * fastest[name] for name, rate in wanted.items()]
            self._out.publish(JointState(name=list(wanted), velocity=velocity))

    def go(self, joints: Mapping[str, float]) -> None:
        """Send joints to positions, rad or m, by name."""
        if self._out is not None:
            self._out.publish(JointState(name=list(joints), position=list(joints.values())))

    def perform(self, function: str) -> None:
        """Do what the key or the button of a function does, where it is the gripper's."""
        if function == GRIP:
            self.grip()

    def grip(self, closed: bool | None = None) -> None:
        """Close or open the gripper; None: open one that holds something, and close another."""
        name = 'detach' if (self.holds if closed is None else not closed) else 'attach'
        client = self._clients.get(name)
        if client is None:
            self._node.warn_throttled(f'{name}: the vehicle has no gripper')
        else:
            ask_trigger(self._node, name, client, absent='no manipulator answers')
