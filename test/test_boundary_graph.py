# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A vehicle in a pool through real nodes: the same boundary forces, to the bit."""

import time

import numpy as np
import pytest
from graph import NotInTime, manifest, numbers, recorded, run_everywhere, ticks
from processor import PATIENCE, slowed

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.physics.boundary import boundary_wrench
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sim.options import RunOptions

pytestmark = pytest.mark.ros

SCENARIO = """
duration: {duration}
initial: {{position: [12.0, 5.7, -3.6], rpy: [0.05, -0.1, 0.5]}}
segments:
  - {{at: 0.0, pwm: [1400, 1420, 1600, 1650, 1300, 1320]}}
  - {{at: 1.0, pwm: [1600, 1420, 1400, 1650, 1320, 1300]}}
"""


def state_of(message):
    p, q = message.pose.pose.position, message.pose.pose.orientation
    return State(np.array([p.x, p.y, p.z]), np.array([q.x, q.y, q.z, q.w]), np.zeros(6))


def test_the_graph_is_the_simulation_in_a_pool(processes, tmp_path):
    scenario = tmp_path / 'corner.yaml'
    scenario.write_text(SCENARIO.format(duration=2.0))
    common = ['bluerov2', '--set', 'coefficients:=maker']
    common += ['--scenario', scenario, '--environment', 'pool']
    run_everywhere(processes, tmp_path, *common, separate=['--markers'])
    for name in ('separate', 'composed'):
        assert manifest(tmp_path / name)['ticks'] == ticks(2.0)
        _check_wrenches(recorded(tmp_path / name))
    _check_markers(recorded(tmp_path / 'separate')['scene/markers'])


def _check_wrenches(topics):
    """Every odom has one wrench/boundary: the force of the thrusts of the same stamp."""
    wrenches, odoms, thrusts = (topics[t] for t in ('wrench/boundary', 'odom', 'thrusters/state'))
    assert set(wrenches) == set(odoms) == set(thrusts)
    vehicle = load_vehicle('bluerov2', coefficients='maker')
    environment = load_environment('pool')
    for stamp, message in wrenches.items():
        thrust = np.array(thrusts[stamp].effort)
        found = boundary_wrench(vehicle, state_of(odoms[stamp]), environment, thrust)
        assert np.array_equal(found, numbers(message))
    assert np.abs([numbers(m) for m in wrenches.values()]).max() > 0.5


def _check_markers(messages):
    (array,) = messages.values()
    shown = {m.ns: m for m in array.markers}
    assert set(shown) == {
        name + grid
        for name in ('floor', 'east_wall', 'west_wall', 'north_wall', 'south_wall')
        for grid in ('', '/grid')
    }
    assert all(m.header.frame_id == 'map' for m in array.markers)
    corners = np.array([[p.x, p.y, p.z] for p in shown['floor'].points])
    assert corners.min(axis=0) == pytest.approx([-12.5, -6.25, -4])
    assert corners.max(axis=0) == pytest.approx([12.5, 6.25, -4])


def until(path, text):
    """Wait for a text in what a process has told."""
    deadline = time.monotonic() + PATIENCE
    while text not in path.read_text():
        if time.monotonic() > deadline:
            raise NotInTime(f'no {text!r} in {path.read_text()!r}')
        time.sleep(0.1)


def under_way(odometer):
    """Wait until ticks pass: every node has joined."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            if odometer.ticks() > 20:
                return
        except MarineSimError as error:  # nothing is told yet
            if time.monotonic() > deadline:
                raise NotInTime(str(error)) from None


@pytest.mark.clock
def test_lost_thrusters_are_held_and_taken_in_again(processes, tmp_path):
    from marine_sim_ros.bench.graph import Odometer

    scenario = tmp_path / 'corner.yaml'
    scenario.write_text(SCENARIO.format(duration=600.0))
    options = RunOptions(vehicle='bluerov2', scenario=str(scenario), environment='pool')
    specs = {s.executable: s for s in node_specs(options)}
    told = {name: tmp_path / f'{name}.txt' for name in specs}
    started = {}
    for name, spec in specs.items():
        with told[name].open('w') as file:
            started[name] = processes.node(spec, stdout=file)
    with Odometer('/bluerov2') as odometer:
        under_way(odometer)  # at the first odom, nodes may still be on their way
        started['thrusters'].terminate()
        until(told['dynamics'], 'no wrench from thrusters, boundary')
        until(told['boundary'], 'thrusters/state: silent; the last thrust holds')
        until(told['dynamics'], 'wrench/boundary is back')
        # Nobody waits a second time: the run goes on at its pace with the thrusts that were last.
        before, since = odometer.ticks(), time.monotonic()
        odometer.spin(2.0)
        rate = (odometer.ticks() - before) / (time.monotonic() - since)
        assert rate > 50 / slowed(1.0)
        processes.node(specs['thrusters'])
        until(told['dynamics'], 'wrench/thrusters is back')
        before = odometer.ticks()
        odometer.spin(1.0)
        assert odometer.ticks() > before
    whole = told['dynamics'].read_text() + told['boundary'].read_text()
    assert whole.count('holding the last one until it is back') == 1, whole
    assert 'Traceback' not in whole
