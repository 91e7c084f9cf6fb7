# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A fin-steered vehicle through real nodes: the same turn to the bit, and fins/command."""

import numpy as np
import pytest
from graph import ONE_PROCESS, Watcher, servos_move_everywhere

pytestmark = pytest.mark.ros

SCENARIO = """
duration: 1.5
initial: {position: [3.0, 1.0, -3.8], rpy: [0.1, -0.1, 0.5]}
segments:
  - {at: 0.0, pwm: [1800], fins: {rudder_upper: 0.2, plane_port: -0.1}}
  - {at: 0.6, pwm: [1750], fins: {rudder_upper: -0.3, rudder_lower: -0.3}}
"""


CLOSED = """
duration: 1.5
initial: {position: [3.0, 1.0, -3.8]}
segments:
  - {at: 0.0, pwm: [1900], fins: {rudder_upper: 0.2, plane_port: -0.1}}
  - {at: 0.8, control: {surge: 1.5, z: -5.0, yaw: 0.5}}
"""


def test_the_graph_is_the_simulation_of_a_vehicle_that_its_controller_steers(processes, tmp_path):
    scenario = tmp_path / 'steer.yaml'
    scenario.write_text(CLOSED)
    run = ('torpedo_auv', '--scenario', scenario)
    angles = servos_move_everywhere(processes, tmp_path, 'fins', 'fins', *run)
    assert np.abs(angles[-1]).min() > 1e-4


def test_the_graph_is_the_simulation_of_a_vehicle_with_fins(processes, tmp_path):
    scenario = tmp_path / 'turn.yaml'
    scenario.write_text(SCENARIO)
    run = ('torpedo_auv', '--scenario', scenario, '--environment', 'regular_waves')
    angles = servos_move_everywhere(processes, tmp_path, 'fins', 'fins', *run)
    np.testing.assert_allclose(angles[-1], [-0.3, -0.3, -0.1, 0], atol=1e-3)


def test_a_command_holds_for_a_second_and_nonsense_is_ignored(processes):
    from sensor_msgs.msg import JointState

    pilot = Watcher('/torpedo_auv')
    try:
        pilot.listen('fins/state', JointState)
        processes.marine_sim('run', 'torpedo_auv', '--real-time-factor', 2, *ONE_PROCESS)
        publisher = pilot.node.create_publisher(JointState, 'fins/command', 10)
        pilot.until(lambda: publisher.get_subscription_count() and pilot.seen['fins/state'])

        def send(**parts):
            publisher.publish(JointState(**parts))
            return True

        def now():
            return list(pilot.seen['fins/state'][-1].position)

        pilot.until(
            lambda: send(name=['plane_port'], position=[-5.0]) and abs(now()[2] + 0.35) < 1e-3
        )
        assert now()[:2] == [0.0, 0.0]
        for nonsense in (
            {'name': ['keel'], 'position': [0.1]},
            {'name': ['rudder_upper'], 'position': [float('nan')]},
            {'name': ['rudder_upper', 'rudder_lower'], 'position': [0.1]},
        ):
            send(**nonsense)
        pilot.until(lambda: np.abs(now()).max() < 1e-3)
        told = np.array([m.position for m in pilot.seen['fins/state']])
        assert np.all(told[:, [0, 1, 3]] == 0)
        pilot.until(
            lambda: send(name=['rudder_upper'], position=[0.2]) and abs(now()[0] - 0.2) < 1e-3
        )
        assert now()[2] > -1e-3  # the command that no longer held is not taken up again
    finally:
        pilot.close()
