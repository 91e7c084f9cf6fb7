# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Hulls in waves through real nodes: the same sea, the same forces, to the bit."""

import numpy as np
import pytest
from conftest import marine_sim
from graph import (
    STEP,
    Watcher,
    manifest,
    numbers,
    recorded,
    run_everywhere,
    stamp_of,
    statuses,
    ticks,
)

from marine_sim_ros.ros.node_graph import NodeSpec, node_specs
from marine_sim_ros.sim.options import RunOptions

pytestmark = pytest.mark.ros

SCENARIO = """
duration: 2.0
initial: {{position: [0.0, 0.0, 0.3], rpy: [0.1, -0.15, 0.5]}}
segments:
  - {{at: 0.0, pwm: {pwm}}}
"""
PWM = {'simple_rov': [1700, 1650, 1500, 1600, 1550], 'surface_vessel': [1700, 1600]}


@pytest.mark.parametrize('vehicle', ['simple_rov', 'surface_vessel'])
def test_every_node_sees_the_same_sea(processes, tmp_path, vehicle):
    scenario = tmp_path / 'waves.yaml'
    scenario.write_text(SCENARIO.format(pwm=PWM[vehicle]))
    common = [vehicle, '--scenario', scenario, '--environment', 'moderate_sea']
    run_everywhere(processes, tmp_path, *common, separate=['--publish-components', '--markers'])
    assert manifest(tmp_path / 'separate')['ticks'] == ticks(2.0)
    _check_components(recorded(tmp_path / 'separate'))


def _check_components(topics):
    kinds = ('damping', 'viscous', 'pressure', 'suction', 'slamming', 'air')
    whole = topics['wrench/drag']
    assert len(whole) == ticks(2.0)
    parts = {kind: topics[f'drag/{kind}'] for kind in kinds}
    both = set(whole).intersection(*parts.values())
    assert len(both) == ticks(2.0)
    for stamp in both:
        first, *others = (numbers(parts[kind][stamp]) for kind in kinds)
        np.testing.assert_allclose(sum(others, first), numbers(whole[stamp]), rtol=0, atol=1e-11)
    slams = np.array([numbers(parts['slamming'][s])[:3] for s in sorted(both)])
    assert np.abs(slams).max() > 0  # it was dropped from 0.3 m
    arrows = next(iter(topics['drag/components'].values()))
    assert [m.ns for m in arrows.markers] == list(kinds)
    shown = {m.ns: m for m in list(topics['markers'].values())[-1].markers}
    assert {'thrusters', 'buoyancy', 'drag', 'weight', 'total', 'voxels', 'panels'} <= set(shown)
    assert len(shown['voxels'].points) == len(shown['voxels'].colors) > 500
    assert len(shown['panels'].points) == len(shown['panels'].colors)
    assert shown['panels'].header.frame_id == 'base_link'


def test_markers_come_at_their_rate_of_simulated_time(processes):
    from visualization_msgs.msg import MarkerArray

    from marine_sim_ros.ros.topics import ODOM

    watcher = Watcher('/simple_rov')
    watcher.listen('markers', MarkerArray)
    parameters = {'vehicle': 'simple_rov', 'rate': 10.0}
    process = processes.node(NodeSpec('markers', '/simple_rov', parameters))
    odom = watcher.node.create_publisher(ODOM.type, ODOM.name, ODOM.qos)

    def tell(milliseconds):
        message = ODOM.type()
        message.header.stamp.sec, rest = divmod(milliseconds, 1000)
        message.header.stamp.nanosec = rest * 10**6
        message.pose.pose.orientation.w = 1.0
        odom.publish(message)

    def told():
        return [stamp_of(m.markers[0]) // 10**6 for m in watcher.seen['markers']]

    # A run that is reset is shown at once: as soon as both sides have found each other.
    resets = iter(range(60_000, 0, -1))

    def is_heard():
        tell(next(resets))
        return told()

    watcher.until(is_heard)
    tell(0)
    watcher.until(lambda: told()[-1] == 0)
    watcher.seen['markers'].clear()
    for milliseconds in (50, 99, 100, 150, 199, 205, 304, 305, 1000, 1099, 300, 399, 400, 0):
        tell(milliseconds)
        watcher.spin(0.02)
    watcher.until(lambda: told()[-1] == 0)
    assert told() == [100, 205, 305, 1000, 300, 400, 0]
    assert process.poll() is None
    watcher.close()


def test_a_drag_node_that_starts_anew_is_taken_in_again(processes, tmp_path, ros_environment):
    scenario = tmp_path / 'waves.yaml'
    scenario.write_text(SCENARIO.format(pwm=PWM['simple_rov']).replace('2.0', '600.0', 1))
    options = RunOptions(
        vehicle='simple_rov',
        scenario=str(scenario),
        environment='moderate_sea',
        record=str(tmp_path / 'run'),
        dt=STEP,
    )
    specs = node_specs(options)
    from diagnostic_msgs.msg import DiagnosticArray
    from nav_msgs.msg import Odometry

    watcher = Watcher('/simple_rov')
    watcher.listen('/diagnostics', DiagnosticArray)
    watcher.listen('odom', Odometry)
    odom = watcher.seen['odom']

    def dynamics_told(level):
        return any(s.level == level for s in statuses(watcher, 'dynamics')[1:])

    started = {s.executable: processes.node(s) for s in specs}
    watcher.until(lambda: len(odom) > 50)
    started['drag'].kill()
    watcher.until(lambda: dynamics_told(b'\x01'))
    count = len(odom)
    watcher.until(lambda: len(odom) > count + 50)
    drag = next(s for s in specs if s.executable == 'drag')
    processes.node(drag)
    watcher.seen['/diagnostics'].clear()
    watcher.until(lambda: dynamics_told(b'\x00'))
    watcher.close()
    for name in ('dynamics', 'recorder'):
        started[name].terminate()
    output = started['dynamics'].communicate()[0]
    started['recorder'].wait()
    assert 'holding the last one until it is back' in output
    assert 'wrench/drag is back' in output
    assert 'Traceback' not in output


BAD = {
    'environment': (['--environment', 'storm'], "environment 'storm' is neither"),
    'term': (['--hull-forces', 'lift'], "--hull-forces is 'lift'; expected one of: viscous"),
}


@pytest.mark.parametrize('name', BAD)
def test_bad_options_give_one_line(name):
    more, expected = BAD[name]
    for verb in (['run'], ['simulate', '--scenario', 'dive']):
        code, output = marine_sim(verb[0], 'simple_rov', *verb[1:], *more)
        assert code == 2
        assert expected in output
        assert len(output.strip().splitlines()) == 1
