# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""States of actuators in real nodes: a killed node that follows commands goes on where it was."""

import signal

import numpy as np
import pytest
from graph import Watcher, start_graph

pytestmark = pytest.mark.ros


@pytest.mark.parametrize(
    ('vehicle', 'actuator', 'node', 'command'),
    [
        ('lrauv', 'drop_weights', 'drop_weights', {'weight': 1.0}),
        ('lrauv', 'buoyancy_engines', 'buoyancy_engines', {'bladder': 4e-4}),
        ('wamv', 'azimuths', 'thrusters', {'port': 0.4, 'starboard': -0.3}),
    ],
)
def test_an_actuator_goes_on_where_it_was_when_its_node_was_killed(
    processes, vehicle, actuator, node, command
):
    from sensor_msgs.msg import JointState

    topic = f'{actuator}/state'
    watcher = Watcher(f'/{vehicle}')
    watcher.listen(topic, JointState, depth=4000)
    nodes, specs = start_graph(processes, vehicle=vehicle)
    publisher = watcher.node.create_publisher(JointState, f'{actuator}/command', 10)
    message = JointState(name=list(command), position=list(command.values()))
    states = watcher.seen[topic]

    def moved():
        publisher.publish(message)
        if len(states) < 50:  # a restarted node gets the last 16 ticks: not the first one
            return False
        return np.abs(states[-1].position).max() > 0.02 * max(map(abs, command.values()))

    watcher.until(moved)
    nodes[node].send_signal(signal.SIGKILL)
    nodes[node].wait()
    watcher.until_silent(topic)
    last, count = states[-2:], len(states)
    processes.node(specs[node])
    watcher.until(lambda: len(states) > count + 5)

    def went_on_from(before):
        return all(
            np.allclose(getattr(states[count], f), getattr(before, f), rtol=0, atol=1e-12)
            for f in ('position', 'effort')
        )

    # A process that dies amid sending may have sent its last message to the watcher alone.
    assert any(map(went_on_from, last)), (states[count], last)
    at = states[count].header.stamp, last[-1].header.stamp
    assert (at[0].sec, at[0].nanosec) > (at[1].sec, at[1].nanosec)
    if actuator == 'drop_weights':
        assert {tuple(m.position) for m in states[count:]} == {(1.0,)}
    watcher.close()
