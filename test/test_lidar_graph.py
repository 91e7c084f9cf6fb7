# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A lidar on a boat as a node: the same clouds to the bit however a run is computed."""

import numpy as np
import pytest
from conftest import ROOT
from graph import WAYS, run_everywhere, stamp_of

pytestmark = pytest.mark.ros

QUAY = """
planes: [{name: floor, point: [0, 0, -8], normal: [0, 0, 1], material: sand}]
obstacles:
- {name: quay, shape: box, size: [2, 60, 12], position: [15, 0, -3], material: concrete}
waves: {type: regular, height: 0.3, period: 4.0}
"""
LIDAR = (
    '<sensor type="lidar" preset="vlp16"><columns>120</columns><origin xyz="0 0 1.2"/></sensor>'
)


@pytest.mark.timeout(600)
def test_a_lidar_is_the_same_however_a_run_is_computed(processes, tmp_path):
    from rosbags.highlevel import AnyReader

    boat, water, scenario = (tmp_path / name for name in ('boat.urdf', 'quay.yaml', 'go.yaml'))
    text = (ROOT / 'urdf' / 'surface_vessel.urdf').read_text(encoding='utf-8')
    boat.write_text(text.replace('</robot>', f'{LIDAR}</robot>'), encoding='utf-8')
    water.write_text(QUAY, encoding='utf-8')
    scenario.write_text(
        'duration: 1.0\ninitial: {position: [0, 0, 0]}\n'
        'segments:\n  - {at: 0.0, pwm: [1600, 1550]}\n',
        encoding='utf-8',
    )
    run_everywhere(
        processes, tmp_path, boat, '--scenario', scenario, '--environment', water, busy=True
    )
    clouds = {}
    for way in WAYS:
        with AnyReader([tmp_path / way / 'bag']) as reader:
            found = [c for c in reader.connections if c.topic.endswith('lidar/points')]
            clouds[way] = {
                stamp_of(message): bytes(message.data)
                for connection, _, data in reader.messages(found)
                for message in [reader.deserialize(data, connection.msgtype)]
            }
    assert len(clouds['simulate']) >= 9
    for way in ('separate', 'composed'):
        assert set(clouds[way]) == set(clouds['simulate'])
        assert all(data == clouds['simulate'][stamp] for stamp, data in clouds[way].items())
    points = np.frombuffer(next(iter(clouds['simulate'].values())), np.uint8)
    assert points.size == 16 * 120 * 18
