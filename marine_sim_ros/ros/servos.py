# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Commands and states of fins, azimuths, reels, and the servos of an autopilot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float32MultiArray

from marine_sim_ros.core.state import NANOSECONDS, State, stamp_ns
from marine_sim_ros.model.servos import Servos
from marine_sim_ros.model.tether import Reel
from marine_sim_ros.model.vehicle import Vehicle
from marine_sim_ros.ros import topics
from marine_sim_ros.ros.base.node import SuiteNode
from marine_sim_ros.ros.base.parameters import NodeParameter, option_parameter
from marine_sim_ros.ros.base.publishers import JointPublisher
from marine_sim_ros.ros.conversion import is_finite, set_stamp
from marine_sim_ros.ros.ticks import PairSynchronizer
from marine_sim_ros.sim.scenario import Scenario, load_scenario

__all__ = ['AutopilotServoPublisher', 'SERVO_PARAMETERS', 'ServoCommands', 'ServoPublisher']


# Commands of fins, azimuths and reels: by a scenario, a controller, or the latest message.

SERVO_PARAMETERS = (
    option_parameter('scenario', empty='servos follow their command topic'),
    NodeParameter(
        'servo_source',
        'external',
        'external: the latest command holds; controller: one per odom',
        choices=('external', 'controller'),
    ),
)
"""Of a node with servos."""

ScenarioTargets = Callable[[Scenario, Vehicle, float], np.ndarray | None]


class ServoPublisher:
    """Publishes angles (m,) of servos in rad; nothing of a vehicle that has none."""

    def __init__(self, node: SuiteNode, servos: Servos | None, topic: topics.Topic) -> None:
        """Create the publisher."""
        self._out = None if servos is None else JointPublisher(node, topic, servos.names)

    def publish(self, stamp: int, angles: np.ndarray | None) -> None:
        """Publish the angles of a stamp in ns."""
        if self._out is not None and angles is not None:
            self._out.publish(stamp, position=angles.tolist())


class ServoCommands:
    """The commanded angles of a node's servos, or rates of its reel, by stamp.

    A command with unknown names or numbers that are not finite is ignored as a whole and warned
    of. With ``servo_source: controller`` the command of each stamp is awaited. Without servos it
    answers at once.
    """

    def __init__(
        self,
        node: SuiteNode,
        servos: Servos | Reel | None,
        kind: str,
        *,
        targets: ScenarioTargets,
        answer: Callable[[int, State], None],
        timeout: float = np.inf,
        field: str = 'position',
    ) -> None:
        """Listen.

        Args:
            node: has the parameters of SERVO_PARAMETERS; of a reel only ``scenario``.
            servos: what is commanded, or None.
            kind: ``fins``, ``azimuths`` or ``tether``, the prefix of the topic
                ``<kind>/command``.
            targets: angles (m,) of a scenario for a vehicle at a time (s).
            answer: called with a stamp in ns and a state when the command is known.
            timeout: s after which a command no longer holds, and 0 is commanded.
            field: of the message that has the numbers: ``position`` or ``velocity``.
        """
        self._node, self._kind, self._field = node, kind, field
        self._names = () if servos is None else servos.names
        self._targets, self._answer, self._timeout = targets, answer, timeout
        script = node.values['scenario']
        self._scenario = load_scenario(script) if script else None
        self._target = np.zeros(len(self._names))
        self._commanded: int | None = None
        self._stamp = 0
        self._pairing: PairSynchronizer[State, None] | None = None
        if servos is None:
            return
        if node.values.get('servo_source') == 'controller':
            self._pairing = PairSynchronizer(lambda stamp, state, _: answer(stamp, state), None)
            node.listen(topics.servo_commands(kind, per_tick=True), self._on_command)
        elif self._scenario is None:
            node.listen(topics.servo_commands(kind), self._on_command)

    def wait(self, stamp: int, state: State) -> None:
        """Answer a state when the command of its stamp is known."""
        self._stamp = stamp
        if self._pairing is None:
            self._answer(stamp, state)
            return
        self._pairing.first(stamp, state)
        if self._pairing.out:
            self._node.warn_throttled(f'{self._kind}/command: silent; the last command holds')

    def _on_command(self, message: JointState) -> None:
        if complaint := self._take(
            list(message.name), np.array(getattr(message, self._field), float)
        ):
            self._node.warn_throttled(f'{self._kind}/command: {complaint}; ignored')
        else:
            self._commanded = self._stamp
        if self._pairing is not None:
            self._pairing.second(stamp_ns(message.header.stamp), None)

    def _take(self, names: list[str], angles: np.ndarray) -> str:
        """Take angles (k,) of named servos, or return a complaint."""
        known = self._names
        if len(angles) != len(names) or not set(names) <= set(known):
            expected = f'expected one number for each of some of: {", ".join(known)}'
            return f'{self._field} of {names}; {expected}'
        if not is_finite(angles):
            return f'{self._field} is not finite'
        self._target[[known.index(name) for name in names]] = angles
        return ''

    def wanted(self, stamp: int) -> np.ndarray:
        """Return the commanded angles (m,) in rad, or rates in m/s, at a stamp in ns."""
        if self._pairing is not None:
            return self._target.copy()
        if self._scenario is not None:
            target: Any = self._targets(self._scenario, self._node.vehicle, stamp / NANOSECONDS)
            return np.asarray(target)
        if self._commanded is not None:
            if stamp < self._commanded:  # the run was reset
                self._commanded = 0
            if (stamp - self._commanded) / NANOSECONDS > self._timeout:
                self._commanded, self._target = None, np.zeros(len(self._target))
                self._node.warn_throttled(
                    f'{self._kind}/command: no command any more; {self._kind} '
                    + ('centred' if self._field == 'position' else 'held')
                )
        return self._target.copy()


# Publisher of an autopilot's other commands: lights, camera tilt, gripper, joints.


class AutopilotServoPublisher:
    """Publishes values where they change: on servos, and on the topics of what they move."""

    def __init__(self, node: SuiteNode) -> None:
        """Make the publishers."""
        self._servos = node.publisher(topics.SERVOS)
        self._lights = node.publisher(topics.LIGHTS)
        self._joints = node.publisher(topics.ARM_COMMANDS)
        self._light_count = sum('light' in frame.name for frame in node.vehicle.frames)
        arm = node.vehicle.manipulator
        self._arm = () if arm is None else arm.names
        self._values: Mapping[str, float] = {}

    def publish(self, stamp: int, values: Mapping[str, float]) -> None:
        """Publish values by the name of the device, with a stamp in ns."""
        if values == self._values:
            return
        self._values = values
        message = JointState(name=list(values), position=list(values.values()))
        set_stamp(message.header.stamp, stamp)
        self._servos.publish(message)
        if 'lights' in values and self._light_count:
            self._lights.publish(Float32MultiArray(data=[values['lights']] * self._light_count))
        joints = [name for name in values if name in self._arm]
        if joints:
            self._joints.publish(JointState(name=joints, position=[values[n] for n in joints]))
