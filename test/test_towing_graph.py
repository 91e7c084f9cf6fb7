# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Tethers to a ship and to another vehicle through real nodes: the same to the bit everywhere."""

import numpy as np
import pytest
from graph import STEP, by_stamp, manifest, numbers, recorded, run_everywhere, ticks

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.physics.tether import ship_point

pytestmark = pytest.mark.ros

FLEET = """
vehicles:
  - vehicle: bluerov2
    name: tug
    scenario: {tug}
    arguments:
      {{tether: fathom, tether_length: 4, tether_vehicle: cart, tether_anchor: 0.2 0.1 0,
       tether_reel_rate: 0.5, tether_reel_tension: 20, tether_maximum: 20}}
    initial: {{position: [4.3, 0, -3]}}
  - {{vehicle: bluerov2_heavy, name: cart, scenario: {cart}, initial: {{position: [0, 0, -3],
     rpy: [0, 0, 0.2]}}}}
"""
PULL = """
duration: 1.5
segments:
  - {at: 0.0, pwm: [1300, 1300, 1700, 1700, 1500, 1500], tether: {rate: 0.1}}
"""
STOP = """
duration: 1.5
segments:
  - {at: 0.0, pwm: [1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500]}
"""


def points_of(shape):
    return np.array([[getattr(p.pose.position, a) for a in 'xyz'] for p in shape.poses])


def fleet_file(tmp_path):
    paths = {name: tmp_path / f'{name}.yaml' for name in ('tug', 'cart', 'fleet')}
    paths['tug'].write_text(PULL)
    paths['cart'].write_text(STOP)
    paths['fleet'].write_text(FLEET.format(**paths))
    return paths['fleet']


def test_two_tethered_vehicles_are_the_same_in_processes_in_one_and_in_simulate(
    processes, tmp_path
):
    path = fleet_file(tmp_path)
    process = processes.marine_sim('simulate', '--fleet', path, '--dt', STEP)
    output, _ = process.communicate()
    assert process.returncode == 0, output
    expected = {
        line.split()[0]: line.split()[-1] for line in output.splitlines() if 'sha256' in line
    }
    assert set(expected) == {'/tug', '/cart'}
    for way, more in (('separate', []), ('composed', ['--composed'])):
        process = processes.marine_sim(
            'run',
            '--fleet',
            path,
            '--dt',
            STEP,
            '--real-time-factor',
            0,
            '--record',
            tmp_path / way,
            *more,
        )
        output, _ = process.communicate()
        assert process.returncode == 0, output
        assert 'no wrench' not in output
        told = manifest(tmp_path / way)['vehicles']
        assert {n: v['trajectory_sha256'] for n, v in told.items()} == expected
    check(tmp_path / 'composed')


def check(folder):
    """The pull at each end is a wrench on the vehicle there, and the shape runs between both."""
    tug, cart = (recorded(folder, name) for name in ('tug', 'cart'))
    towing = [numbers(m) for _, m in sorted(cart['wrench/towing'].items())]
    told = [numbers(m) for _, m in sorted(tug['tether/anchor_wrench'].items())]
    assert len(towing) == len(cart['odom']) == ticks(1.5)
    np.testing.assert_array_equal(towing, told)
    assert np.abs(towing[-1][:3]).max() > 1
    odom = by_stamp(cart['odom'].values())
    tensions = by_stamp(tug['tether/tension'].values())
    forces = by_stamp(cart['wrench/towing'].values())
    for stamp, shape in by_stamp(tug['tether/shape'].values()).items():
        pose = odom[stamp].pose.pose
        place = np.array([pose.position.x, pose.position.y, pose.position.z])
        q = pose.orientation
        turn = rotation_matrix(np.array([q.x, q.y, q.z, q.w]))
        np.testing.assert_allclose(
            points_of(shape)[-1], place + turn @ [0.2, 0.1, 0.0], atol=1e-12
        )
        pull = np.linalg.norm(numbers(forces[stamp])[:3])
        assert tensions[stamp].effort[1] == pytest.approx(pull, rel=1e-9, abs=1e-12)
    states = [m.position[0] for _, m in sorted(tug['tether/state'].items())]
    assert states[0] == 4
    assert states[-1] > 4.05  # the reel is at the cart, and turns


def test_the_graph_has_the_ship_of_simulate(processes, tmp_path):
    path = tmp_path / 'still.yaml'
    path.write_text(
        'duration: 1.0\ninitial: {position: [2.0, 1.0, -4.0]}\n'
        'segments:\n  - {at: 0.0, pwm: [1500, 1500, 1500, 1500, 1600, 1600]}\n'
    )
    arguments = {
        'tether': 'fathom',
        'tether_length': '5',
        'tether_anchor': '1 0 0.5',
        'tether_ship': '6',
        'tether_ship_course': '0.4',
        'tether_ship_speed': '0.8',
        'tether_reel_rate': '0.5',
    }
    sets = [word for k, v in arguments.items() for word in ('--set', f'{k}:={v}')]
    common = ['bluerov2', '--scenario', path, '--environment', 'regular_waves', *sets]
    run_everywhere(processes, tmp_path, *common)
    topics = recorded(tmp_path / 'separate')
    spec = load_vehicle('bluerov2', **arguments).extensions['tether']
    water = load_environment('regular_waves')
    ends = []
    for stamp, shape in by_stamp(topics['tether/shape'].values()).items():
        expected = ship_point(spec.ship, spec.anchor, water.at(stamp / 1e9))
        np.testing.assert_allclose(points_of(shape)[-1], expected, atol=1e-12)
        ends.append(expected)
    assert np.ptp(ends, axis=0)[0] > 0.5
    assert np.ptp(ends, axis=0)[2] > 0.01


def test_the_compiled_graph_refuses_what_joins_vehicles(processes, tmp_path):
    pytest.importorskip('jax')
    path = fleet_file(tmp_path)
    process = processes.marine_sim('run', '--fleet', path, '--engine', 'jax')
    output, _ = process.communicate()
    assert process.returncode == 2, output
    assert 'engine jax: expected no tether between vehicles, or engine numpy' in output
    assert 'Traceback' not in output
