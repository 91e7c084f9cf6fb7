# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A gripper through real nodes: the same to the bit, and by service."""

import pytest
from graph import manifest, recorded, simulated

pytestmark = pytest.mark.ros

SCENARIO = """
duration: 1.5
initial: {position: [-0.13, 0.0, -4.5], rpy: [0.0, 0.0, 0.2]}
segments:
  - {at: 0.0, axes: {surge: 0.2}, joints: {shoulder: 1.0}}
  - {at: 0.5, joints: {wrist: 0.5}, gripper: close}
  - {at: 1.2, gripper: open}
"""


def test_the_graph_is_the_simulation_of_a_vehicle_with_a_payload(processes, tmp_path):
    scenario, sea = tmp_path / 'grip.yaml', tmp_path / 'sea.yaml'
    scenario.write_text(SCENARIO)
    sea.write_text(
        'current: {velocity: [0.1, 0.05, 0]}\nseabed: {depth: 6, material: sand}\n'
        'payloads: [{name: brick, shape: box, size: [0.2, 0.1, 0.06], mass: 2,\n'
        '            position: [0.5, 0.13, -4.68]}]\n'
    )
    common = ['bluerov2_heavy', '--scenario', scenario, '--environment', sea, '--set', 'arm:=true']
    for name, more in (('separate', ()), ('composed', ['--composed'])):
        process = processes.marine_sim(
            'run', *common, '--real-time-factor', 0, '--record', tmp_path / name, *more
        )
        output, _ = process.communicate(timeout=240)
        assert process.returncode == 0, output
        assert 'holds brick (2 kg) at 0.5 s' in output
        assert 'released brick at 1.2 s' in output
    expected = simulated(*common)
    for name in ('separate', 'composed'):
        assert manifest(tmp_path / name)['trajectory_sha256'] == expected, name
    held = {}
    for stamp, message in recorded(tmp_path / 'separate')['joint_states'].items():
        assert list(message.name) == ['shoulder', 'wrist', 'gripper']
        held[stamp] = message.position[2]
    assert [held[t * 10**6] for t in (0, 495, 500, 1195, 1200)] == [0, 0, 1, 1, 0]
