# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A real Gazebo server moves the body: as the embedded dynamics, every wrench once."""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import OTHERS, VEHICLES
from gazebo_server import CASES, STILL, GazeboServer, imbalance, scenario_file

from marine_sim_ros import Environment, load_vehicle, simulate
from marine_sim_ros.physics.rigid_body import weight
from marine_sim_ros.sim import step as sim_step
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import load_scenario

pytestmark = [
    pytest.mark.gazebo,
    pytest.mark.skipif(shutil.which('gz') is None, reason='gz: not on this machine'),
]


@pytest.fixture
def server(tmp_path, monkeypatch, gazebo_partition):
    """Start a server; ends it, whatever happens."""
    started = []

    def start(options):
        started.append(GazeboServer(options, tmp_path))
        monkeypatch.setattr(sim_step, 'rigid_body_step', started[-1].step)
        return started[-1]

    yield start
    for one in started:
        one.close()


def start_file(tmp_path, height, rpy):
    path = tmp_path / 'start.yaml'
    path.write_text(
        f'duration: 20.0\ninitial: {{position: [0.0, 0.0, {height}], rpy: {list(rpy)}}}\n' + STILL
    )
    return str(path)


@pytest.mark.parametrize('coefficients', ['maker', 'wu2018', 'orca3'])
@pytest.mark.parametrize('case', CASES)
def test_gazebo_moves_the_body_as_the_embedded_dynamics_do(
    server, tmp_path, record_property, case, coefficients
):
    vehicle = load_vehicle('bluerov2', coefficients=coefficients)
    name = scenario_file(tmp_path, case)
    scenario = load_scenario(name)
    embedded = simulate(vehicle, scenario, duration=20.0)
    arguments = (f'coefficients:={coefficients}',)
    gazebo = server(RunOptions(scenario=name, vehicle_arguments=arguments))
    run = simulate(vehicle, scenario, duration=20.0)
    way = np.linalg.norm(np.diff(embedded.position, axis=0), axis=1).sum()
    apart = np.linalg.norm(run.position - embedded.position, axis=1).max()
    balance = imbalance(gazebo.records, vehicle, Environment())
    record_property('measured', f'{apart:.2g} m apart, way {way:.4g} m, balance {balance:.2g}')
    assert apart < 1e-6
    assert balance < 1e-7
    assert np.all(np.diff(run.stamp) == 5_000_000)


@pytest.mark.parametrize(
    ('coefficients', 'rpy'), [('maker', (0.0, 0.0, 0.0)), ('orca3', (0.3, -0.2, 1.0))]
)
def test_a_body_that_nobody_pushes_falls_as_in_the_textbook(
    server, tmp_path, record_property, coefficients, rpy
):
    """z = z₀ − a t (t + dt)/2 with a = m g/(m + added mass in heave), for 20 s and 1,960 m."""
    vehicle = load_vehicle('bluerov2', coefficients=coefficients)
    arguments = (f'coefficients:={coefficients}',)
    gazebo = server(
        RunOptions(scenario=start_file(tmp_path, 2500.0, rpy), vehicle_arguments=arguments)
    )
    for _ in range(4000):
        gazebo.exert(np.zeros(6))
    time = np.array([stamp for _, _, _, stamp, _ in gazebo.records]) * 1e-9
    height = np.array([state.position[2] for *_, state in gazebo.records])
    mass = vehicle.inertia.mass
    heave = vehicle.mass_matrix[2, 2]
    fallen = mass * 9.8 / heave * time * (time + 0.005) / 2
    apart = np.abs(2500 - height - fallen).max()
    balance = imbalance(gazebo.records, vehicle, Environment())
    record_property(
        'measured', f'{apart:.2g} m apart of {fallen[-1]:.4g} m, balance {balance:.2g}'
    )
    assert apart < 1e-7
    assert balance < 1e-7


def test_sixty_seconds_of_lockstep_lose_nothing_and_exert_every_wrench_once(
    server, record_property
):
    vehicle = load_vehicle('bluerov2')
    gazebo = server(RunOptions(scenario='dive'))
    simulate(vehicle, load_scenario('dive'), duration=60.0)
    assert len(gazebo.records) == 12001
    assert all(after - stamp == 5_000_000 for stamp, _, _, after, _ in gazebo.records)
    balance = imbalance(gazebo.records, vehicle, Environment())
    record_property('measured', f'balance {balance:.2g}')
    assert balance < 1e-7
    assert gazebo.close() == 0


@pytest.mark.parametrize('name', [*VEHICLES, *OTHERS])
def test_the_inertia_of_every_vehicle_is_in_gazebo(server, name):
    """Ten pushes in all directions, and Gazebo's body answers as M = M_RB + M_A says."""
    vehicle = load_vehicle(name)
    gazebo = server(RunOptions(vehicle=name, initial_position=(0.0, 0.0, 50.0)))
    random = np.random.default_rng(0)
    size = np.abs(weight(vehicle, gazebo.state, Environment())).max()
    for _ in range(10):
        gazebo.exert(size * random.normal(size=6) * np.array([1, 1, 1, 0.2, 0.2, 0.2]))
    assert np.linalg.norm(gazebo.state.velocity) > 0.1
    assert imbalance(gazebo.records, vehicle, Environment()) < 1e-9


def test_a_wrench_too_much_is_seen_in_the_balance(server):
    vehicle = load_vehicle('bluerov2')
    gazebo = server(RunOptions(initial_position=(0.0, 0.0, 50.0)))
    for _ in range(5):
        gazebo.exert(np.array([10.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    assert imbalance(gazebo.records, vehicle, Environment()) < 1e-7
    stamp, state, wrench, after, moved = gazebo.records[-1]
    gazebo.records[-1] = stamp, state, wrench / 2, after, moved
    assert imbalance(gazebo.records, vehicle, Environment()) > 0.01


def test_a_world_that_is_reset_begins_anew(server, tmp_path):
    gazebo = server(RunOptions(scenario=start_file(tmp_path, 50.0, (0.1, 0.2, 0.3))))
    first = gazebo.state
    for _ in range(10):
        gazebo.exert(np.ones(6))
    moved = gazebo.state
    gazebo.reset()
    assert gazebo.stamp == 0
    for a, b in zip(gazebo.state, first, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    for _ in range(10):
        gazebo.exert(np.ones(6))
    for a, b in zip(gazebo.state, moved, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


def test_an_answer_that_was_lost_is_given_again(server):
    gazebo = server(RunOptions(initial_position=(0.0, 0.0, 50.0)))
    publisher, lost = gazebo.correspondent._publisher, []
    gazebo.correspondent._publisher = SimpleNamespace(
        publish=lambda m: publisher.publish(m) if lost else lost.append(m)
    )
    for _ in range(3):
        gazebo.exert(np.zeros(6))
    assert len(lost) == 1
    assert gazebo.stamp == 15_000_000
