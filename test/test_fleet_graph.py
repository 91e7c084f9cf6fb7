# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fleets as real nodes: one time, one bag, and every vehicle as if it were alone."""

import signal
from dataclasses import replace

import pytest
from graph import Watcher, manifest

from marine_sim_ros import load_scenario, load_vehicle
from marine_sim_ros.sim.fleet import FLEETS, describe_fleet, fleet_runs
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.simulation import simulate

pytestmark = pytest.mark.ros

FILE = """
pattern: {shape: line, spacing: 2.0}
vehicles:
  - {vehicle: bluerov2, count: 2}
  - {vehicle: bluerov2_heavy, name: heavy, initial: {position: [5, 0, -1], rpy: [0, 0.1, 1]}}
"""
TICKS = 201


def alone(run):
    """Return the hash of the trajectory of a vehicle's own run."""
    scenario = load_scenario(run.scenario)
    scenario = replace(
        scenario, position=run.initial_position, rpy=run.initial_rpy or scenario.rpy
    )
    return simulate(
        load_vehicle(run.vehicle), scenario, seed=run.seed, duration=run.duration
    ).sha256


@pytest.fixture(scope='module')
def expected():
    options = RunOptions(scenario='dive', duration=1.0)
    runs = fleet_runs(FLEETS.parse(FILE, 'fleet.yaml'), options)
    return {f'/{run.namespace}': alone(run) for run in runs}


@pytest.mark.parametrize('more', [[], ['--composed']])
def test_every_vehicle_of_a_fleet_moves_as_it_does_alone(processes, tmp_path, expected, more):
    from rosbags.highlevel import AnyReader

    assert len(set(expected.values())) == 3
    path = tmp_path / 'fleet.yaml'
    path.write_text(FILE)
    process = processes.marine_sim(
        'run', '--fleet', path, '--scenario', 'dive', '--duration', 1, '--real-time-factor', 0,
        '--record', tmp_path / 'run', *more,
    )  # fmt: skip
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 1, output  # the run ends before what the scenario expects
    assert 'Traceback' not in output
    found = manifest(tmp_path / 'run')['vehicles']
    assert {n: v['ticks'] for n, v in found.items()} == dict.fromkeys(expected, TICKS), output
    assert {n: v['trajectory_sha256'] for n, v in found.items()} == expected
    assert found['/heavy']['vehicle'] == 'bluerov2_heavy'
    for namespace, digest in expected.items():
        assert f'{namespace} {TICKS} ticks' in output
        assert digest in output
    with AnyReader([tmp_path / 'run' / 'bag']) as reader:
        counts = {c.topic: c.msgcount for c in reader.connections}
    for namespace in expected:
        for topic in ('odom', 'wrench/drag', 'wrench/total', 'thrusters/state', 'thrusters/pwm'):
            assert counts[f'{namespace}/{topic}'] == TICKS, topic
    assert counts['/clock'] == TICKS
    assert counts['/tf'] == 3 * TICKS


def test_a_silent_vehicle_holds_the_others_up_for_a_moment_only(processes, ros_environment):
    from nav_msgs.msg import Odometry

    fleet = FLEETS.parse('vehicles: [{vehicle: simple_rov, count: 2}]', 'fleet.yaml')
    specs = describe_fleet(fleet_runs(fleet, RunOptions()))
    watcher = Watcher('/simple_rov_1')
    odom = '/simple_rov_1/odom', '/simple_rov_2/odom'
    for topic in odom:
        watcher.listen(topic, Odometry)
    nodes = {(spec.namespace, spec.name): processes.node(spec) for spec in specs}
    first, second = (watcher.seen[topic] for topic in odom)

    def stamp(messages):
        stamped = messages[-1].header.stamp
        return stamped.sec * 10**9 + stamped.nanosec

    watcher.until(lambda: len(second) > 50)
    assert abs(stamp(first) - stamp(second)) <= 20 * 5_000_000  # both are under way
    silent = nodes['/simple_rov_2', 'dynamics']
    silent.send_signal(signal.SIGSTOP)
    try:
        watcher.spin(0.5)
        gone = stamp(second)
        watcher.until(lambda: stamp(first) > gone + 500_000_000)  # the run goes on
    finally:
        silent.send_signal(signal.SIGCONT)
    reached = stamp(first)
    watcher.until(lambda: stamp(second) > reached)  # and it catches up
    watcher.close()
    owner = nodes['/simple_rov_1', 'dynamics']
    owner.send_signal(signal.SIGTERM)
    output, _ = owner.communicate(timeout=60)
    assert output.count('/simple_rov_2 is silent at') == 1
    assert '/simple_rov_2 is back at' in output
