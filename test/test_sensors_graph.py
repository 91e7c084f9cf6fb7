# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sensors as nodes: the same readings to the bit however a run is computed."""

import numpy as np
import pytest
from graph import WAYS, recorded, run_everywhere, stamp_of

pytestmark = pytest.mark.ros

SCENARIO = """
duration: 2.5
initial: {position: [3, 1, -3], rpy: [0.1, -0.2, 0.7]}
segments:
  - {at: 0.0, pwm: [1600, 1400, 1550, 1480, 1620, 1590]}
faults:
  - {kind: battery}
  - {kind: sensor_freeze, sensor: magnetometer, at: 1.0, until: 1.5}
  - {kind: sensor_bias, sensor: imu, quantity: angular_velocity, size: 0.1, at: 0.5}
  - {kind: sensor_spikes, sensor: barometer, share: 0.2, size: 3000}
  - {kind: sensor_dropout, sensor: battery, at: 1.0, until: 2.0}
  - {kind: sensor_delay, sensor: thermometer, delay: 0.3}
"""
TOPICS = {
    'imu/data_raw': lambda m: [m.angular_velocity, m.linear_acceleration],
    'magnetometer/field': lambda m: [m.magnetic_field],
    'battery/state': lambda m: [m.voltage, m.current, m.charge],
    'barometer/pressure': lambda m: [m.fluid_pressure],
    'thermometer/temperature': lambda m: [m.temperature],
    'usbl/polar': lambda m: [m.vector],
    'usbl/position': lambda m: [m.pose.pose.position, *m.pose.covariance[:3]],
}


def series(bag, topic):
    """Return the numbers of a topic's messages by the stamp of their headers."""
    result = {}
    for message in bag[topic].values():
        parts = [[p.x, p.y, p.z] if hasattr(p, 'x') else [p] for p in TOPICS[topic](message)]
        result[stamp_of(message)] = np.concatenate(parts)
    return result


def test_separate_composed_and_simulate_agree_to_the_bit(processes, tmp_path):
    scenario = tmp_path / 'wrong.yaml'
    scenario.write_text(SCENARIO)
    given = ['bluerov2', '--scenario', scenario, '--seed', '5']
    for name in ('usbl', 'thermometer', 'leak'):
        given += ['--set', f'{name}:=true']
    run_everywhere(processes, tmp_path, *given)
    bags = {way: recorded(tmp_path / way) for way in WAYS}
    for topic in TOPICS:
        expected = series(bags['simulate'], topic)
        assert expected, topic
        for way in ('separate', 'composed'):
            found = series(bags[way], topic)
            # What was on its way when the run ended may be missing.
            assert set(found) <= set(expected)
            assert len(found) >= len(expected) - 3, (topic, way)
            for stamp, values in found.items():
                assert np.array_equal(values, expected[stamp], equal_nan=True), (topic, way)
    assert not any(m.data for m in bags['separate']['leak/detected'].values())
    late = bags['simulate']['thermometer/temperature']
    assert max(late) <= (2.5 - 0.3) * 1e9
