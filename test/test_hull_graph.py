# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Hulls in waves through real nodes: the same sea, the same forces, to the bit."""

import numpy as np
import pytest
from conftest import marine_sim
from graph import STEP, Watcher, manifest, numbers, recorded, run_everywhere, statuses, ticks

from marine_sim_ros.sim.graph import describe
from marine_sim_ros.sim.options import RunOptions

pytestmark = pytest.mark.ros

SCENARIO = """
duration: 2.0
initial: {{position: [0.0, 0.0, 0.3], rpy: [0.1, -0.15, 0.5]}}
segments:
  - {{at: 0.0, pwm: {pwm}}}
"""
PWM = {'simple_rov': [1700, 1650, 1500, 1600, 1550], 'surface_vessel': [1700, 1600]}


@pytest.mark.parametrize('vehicle', PWM)
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
    assert 10 <= len(topics['markers']) <= 21  # ten a second


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
    specs = describe(options)
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
    watcher.until(lambda: dynamics_told(b'\x00'), timeout=90)
    watcher.close()
    for name in ('dynamics', 'recorder'):
        started[name].terminate()
    output = started['dynamics'].communicate(timeout=120)[0]
    started['recorder'].wait(20)
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
