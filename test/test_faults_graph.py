# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Faults through real nodes: the same bits everywhere, and set in a run that is under way."""

import numpy as np
import pytest
from graph import ONE_PROCESS, Watcher, manifest, recorded, run_everywhere, ticks

pytestmark = pytest.mark.ros

SCRIPT = """
duration: 3.0
initial: {position: [0.0, 0.0, -3.0]}
segments:
  - {at: 0.0, depth: 3.2, axes: {surge: 0.3, yaw: 0.05}}
  - {at: 2.0, pwm: [1600, 1570, 1420, 1540, 1650, 1380]}
faults:
  - {kind: battery, resistance: 0.1, capacity: 0.02}
  - {kind: delayed, thruster: thruster_6, delay: 0.12}
  - {at: 0.2, kind: weak, thruster: thruster_5, share: 0.5}
  - {at: 0.3, kind: gust, speed: 0.6, direction: 60.0, elevation: 10.0, duration: 1.5}
  - {at: 0.5, until: 2.5, kind: stuck, thruster: thruster_2}
  - {at: 0.7, until: 1.2, kind: reversed, thruster: thruster_3}
  - {at: 1.0, kind: lost_commands, share: 0.4}
  - {at: 1.5, thruster: thruster_4}
  - {at: 0.4, kind: barometer_drift, rate: 100.0}
  - {kind: barometer_spikes, share: 0.1}
  - {kind: barometer_dropout, share: 0.2}
"""


def pressures(directory):
    found = recorded(directory)['barometer/pressure']
    return {stamp: message.fluid_pressure for stamp, message in found.items()}


def test_many_faults_at_once_are_the_same_everywhere(processes, tmp_path):
    script = tmp_path / 'script.yaml'
    script.write_text(SCRIPT)
    common = ('--scenario', script, '--seed', 5)
    run_everywhere(processes, tmp_path, 'bluerov2', *common)
    direct = pressures(tmp_path / 'simulate')
    assert 0.66 * ticks(3.0) < len(direct) < 0.92 * ticks(3.0)
    for way in ('separate', 'composed'):
        assert manifest(tmp_path / way)['ticks'] == ticks(3.0)
        assert pressures(tmp_path / way) == direct


@pytest.fixture
def watcher(ros_environment):
    result = Watcher()
    yield result
    result.close()


def test_an_operator_sets_and_clears_faults(processes, watcher):
    from rcl_interfaces.msg import Parameter
    from rcl_interfaces.srv import SetParameters
    from rclpy.parameter import get_parameter_value  # as ros2 param set understands a text
    from sensor_msgs.msg import FluidPressure, JointState
    from std_msgs.msg import UInt16MultiArray

    # The maker's set has the bench's thrust at every speed of advance.
    run = processes.marine_sim('run', 'bluerov2', '--set', 'coefficients:=maker', *ONE_PROCESS)
    for topic, kind in (('thrusters/state', JointState), ('barometer/pressure', FluidPressure)):
        watcher.listen(topic, kind)
    pwm = watcher.node.create_publisher(UInt16MultiArray, 'thrusters/pwm', 1)
    ahead = UInt16MultiArray(data=[1500, 1500, 1500, 1500, 1700, 1700])
    watcher.node.create_timer(0.05, lambda: pwm.publish(ahead))

    def set_faults(node, text):
        client = watcher.node.create_client(SetParameters, f'{node}/set_parameters')
        watcher.until(client.service_is_ready)
        wanted = Parameter(name='faults', value=get_parameter_value(text))
        future = client.call_async(SetParameters.Request(parameters=[wanted]))
        watcher.until(future.done)
        return future.result().results[0]

    def thrust():
        return np.array(watcher.seen['thrusters/state'][-1].effort)

    full = 17.848
    watcher.until(lambda: np.allclose(thrust()[4:], full, atol=0.1))
    assert set_faults('thrusters', '[{kind: weak, thruster: thruster_5, share: 0.5}]').successful
    watcher.until(lambda: np.allclose(thrust()[4:], [full / 2, full], atol=0.1))
    for text, told in {
        '[{kind: weak, thruster: bow}]': "thruster 'bow' is unknown; expected one of those of",
        '[{kind: tired}]': "faults[0].kind is 'tired'; expected one of",
        '[[': 'not valid YAML',
        'weak': 'expected a list',
    }.items():
        answer = set_faults('thrusters', text)
        assert not answer.successful
        assert told in answer.reason
        assert '\n' not in answer.reason
    assert np.allclose(thrust()[4:], [full / 2, full], atol=0.1)
    both = '[{kind: reversed, thruster: thruster_6}, {thruster: thruster_5}]'
    assert set_faults('thrusters', both).successful
    watcher.until(lambda: np.allclose(thrust()[4:], [0.0, -14.122], atol=0.1))
    assert set_faults('thrusters', '[{kind: lost_commands}]').successful
    watcher.until(lambda: np.allclose(thrust(), 0.0, atol=0.01))  # after command_timeout
    assert set_faults('thrusters', '').successful
    watcher.until(lambda: np.allclose(thrust()[4:], full, atol=0.1))
    assert set_faults('barometer', '[{kind: barometer_drift, rate: 100000}]').successful
    far = 101300 + 1000 * 9.8 * 20
    watcher.until(lambda: watcher.seen['barometer/pressure'][-1].fluid_pressure > far)
    assert run.poll() is None
