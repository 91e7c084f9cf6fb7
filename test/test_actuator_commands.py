# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Actuators of one force in its node: several, one, or none are served alike."""

import numpy as np
import pytest

from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.physics.actuator import Actuator

pytestmark = pytest.mark.ros
SECOND = 1_000_000_000


def actuator(name, *parts, **more):
    """Return an actuator of the force ``pump``."""
    topic = f'{name}/command'
    return Actuator(
        name, lambda _: parts, text='', unit='', source='pump', command_topic=topic, **more
    )


class Node:
    """A node without ROS: what it listens to, and what it warns of."""

    def __init__(self, **values):
        self.vehicle = None
        self.values = {'scenario': '', **values}
        self.heard, self.warnings = {}, []

    def listen(self, topic, take):
        self.heard[topic.name] = take

    def warn_throttled(self, text):
        self.warnings.append(text)

    def send(self, topic, stamp=0, **numbers):
        from sensor_msgs.msg import JointState

        message = JointState(name=list(numbers), position=list(map(float, numbers.values())))
        message.header.stamp.sec = stamp
        self.heard[topic](message)


@pytest.fixture
def serve(monkeypatch):
    """Function of a node and actuators: their commands, and the stamps that were answered."""

    def make(node, *actuators, **more):
        from marine_sim_ros.ros import servos

        monkeypatch.setattr(servos, 'actuators_of', lambda _: actuators)
        answered = []
        commands = servos.ActuatorCommands(
            node, 'pump', answer=lambda stamp, _: answered.append(stamp // SECOND), **more
        )
        return commands, answered

    return make


def test_a_force_without_actuators_is_answered_at_once(serve):
    node = Node()
    commands, answered = serve(node)
    commands.wait(3 * SECOND, state_at_rest())
    assert (answered, commands.commanded_values(3 * SECOND), node.heard) == ([3], {}, {})


def test_an_actuator_of_another_force_is_not_served(serve):
    other = Actuator('sail', lambda _: ('jib',), text='', unit='', command_topic='sail/command')
    node = Node()
    commands, _ = serve(node, other, actuator('valve', 'inlet'))
    assert list(node.heard) == ['valve/command']
    assert list(commands.commanded_values(0)) == ['valve']


def test_several_actuators_keep_their_own_commands(serve):
    node = Node()
    commands, answered = serve(
        node, actuator('bladder', 'fore', 'aft'), actuator('valve', 'inlet', rest=1.0), timeout=2.0
    )
    commands.wait(0, state_at_rest())
    node.send('bladder/command', aft=0.3)
    values = commands.commanded_values(SECOND)
    np.testing.assert_array_equal(values['bladder'], [0.0, 0.3])
    np.testing.assert_array_equal(values['valve'], [1.0])
    node.send('valve/command', aft=0.3)
    assert node.warnings == [
        "valve/command: position of ['aft']; expected one number for each of some of: inlet; "
        'ignored'
    ]
    commands.wait(2 * SECOND, state_at_rest())
    node.send('valve/command', inlet=0.5)
    values = commands.commanded_values(3 * SECOND)  # the time of the bladder is over
    np.testing.assert_array_equal(values['bladder'], [0.0, 0.0])
    np.testing.assert_array_equal(values['valve'], [0.5])
    assert answered == [0, 2]


@pytest.mark.parametrize('order', [('bladder', 'valve'), ('valve', 'bladder')])
def test_the_commands_of_all_steered_actuators_are_awaited(serve, order):
    node = Node(servo_source='controller')
    commands, answered = serve(
        node,
        actuator('bladder', 'fore', steered=True),
        actuator('drain', 'plug'),  # which no controller commands
        actuator('valve', 'inlet', steered=True),
    )
    parts = {'bladder': {'fore': 0.2}, 'valve': {'inlet': 0.7}}
    for stamp in (1, 2):
        commands.wait(stamp * SECOND, state_at_rest())
        for name in order:
            assert answered == list(range(1, stamp))
            node.send(f'{name}/command', stamp, **parts[name])
    assert answered == [1, 2]
    values = commands.commanded_values(2 * SECOND)
    assert {name: value.tolist() for name, value in values.items()} == {
        'bladder': [0.2],
        'drain': [0.0],
        'valve': [0.7],
    }
