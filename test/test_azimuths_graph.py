# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Thrusters that turn, through real nodes: the same run to the bit, and azimuths/command."""

import numpy as np
import pytest
from graph import ONE_PROCESS, Watcher, servos_move_everywhere

pytestmark = pytest.mark.ros

OPEN = """
duration: 1.5
segments:
  - {at: 0.0, pwm: [1800, 1700], azimuths: {port: 0.3}}
  - {at: 0.6, pwm: [1750, 1600], azimuths: {starboard: -0.4}}
"""
CLOSED = """
duration: 1.5
segments:
  - {at: 0.0, pwm: [1800, 1700], azimuths: {port: 0.3}}
  - {at: 0.3, control: {surge: 1.0, sway: 0.0, yaw_rate: 0.2}}
  - {at: 1.2, pwm: [1600, 1500]}
"""


@pytest.mark.parametrize('text', [OPEN, CLOSED], ids=['open', 'closed'])
def test_the_graph_is_the_simulation_of_a_vehicle_with_azimuths(processes, tmp_path, text):
    scenario = tmp_path / 'turn.yaml'
    scenario.write_text(text)
    run = ('wamv', '--scenario', scenario)
    angles = servos_move_everywhere(processes, tmp_path, 'azimuths', 'thrusters', *run)
    assert np.ptp(angles, axis=0).min() > 0.1


def test_the_latest_command_holds_and_nonsense_is_ignored(processes):
    from sensor_msgs.msg import JointState

    pilot = Watcher('/wamv')
    try:
        pilot.listen('azimuths/state', JointState)
        processes.marine_sim('run', 'wamv', '--real-time-factor', 2, *ONE_PROCESS)
        publisher = pilot.node.create_publisher(JointState, 'azimuths/command', 10)
        pilot.until(lambda: publisher.get_subscription_count() and pilot.seen['azimuths/state'])

        def send(**parts):
            publisher.publish(JointState(**parts))
            return True

        def now():
            return list(pilot.seen['azimuths/state'][-1].position)

        for nonsense in (
            {'name': ['bow'], 'position': [0.1]},
            {'name': ['port'], 'position': [float('nan')]},
            {'name': ['port'], 'position': []},
        ):
            send(**nonsense)
        pilot.until(lambda: send(name=['port'], position=[-5.0]) and now()[0] < -1.57)
        count = len(pilot.seen['azimuths/state'])
        pilot.until(lambda: len(pilot.seen['azimuths/state']) > count + 150)  # 3 s and more
        told = np.array([m.position for m in pilot.seen['azimuths/state']])
        assert np.all(told[:, 1] == 0)
        assert told[:, 0].min() >= -np.pi / 2 - 1e-12
        assert now()[0] == pytest.approx(-np.pi / 2)
    finally:
        pilot.close()
