# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""A real Gazebo server moves the body: as the embedded dynamics, every wrench once."""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import OTHERS, VEHICLES
from gazebo_server import CASES, STEP, STILL, GazeboBodies, GazeboServer, imbalance, scenario_file

from marine_sim_ros import Environment, load_vehicle, simulate
from marine_sim_ros.physics.rigid_body import weight
from marine_sim_ros.sim import step as sim_step
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.run_setup import environment_from_options
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


# --- free bodies

POOL = 'seabed: {depth: 20.0, material: sand}\nbodies:\n'
BOX = '  - {{name: {}, shape: box, size: {}, position: {}, mass: {}, material: wood{}}}\n'
FREE = (
    POOL
    + BOX.format('sinker', '[0.4, 0.3, 0.2]', '[3, 0, -2]', 30.0, '')
    + BOX.format('float', '[0.4, 0.3, 0.2]', '[-3, 0, -1]', 12.0, ', rpy: [0.4, 0, 0]')
    + BOX.format(
        'tumbler', '[0.5, 0.3, 0.2]', '[0, 5, -3]', 33.0, ', velocity: [0.5, 0, 0, 0.3, 0.2, 1.0]'
    )
)
RESTING = POOL + BOX.format('crate', '[0.5, 0.5, 0.3]', '[0, 4, -19.85]', 100.0, '')
PUSHED = POOL + BOX.format('crate', '[0.4, 0.4, 0.4]', '[1, 0, -3]', 64.0, ', volume: 0.0625')
DOOR = POOL + BOX.format('door', '[0.1, 1, 1]', '[1, 0, -3]', 120.0, '')
DOOR += """joints:
  - {name: hinge, type: revolute, child: door, position: [1, -0.5, -3], limits: [-0.05, 1],
     friction: 0.5}
"""
AHEAD, AT_REST = (1400, 1400, 1600, 1600, 1500, 1500), (1500,) * 6


@pytest.fixture
def bodies(tmp_path, gazebo_partition):
    """Return what moves bodies in Gazebo, and as the embedded dynamics do."""
    started = []

    def run(text, pwm, seconds, *, position=(0.0, 0.0, -3.0), current=(0.0, 0.0, 0.0), times=1):
        file = tmp_path / 'water.yaml'
        file.write_text(text) if '\n' in text else None
        options = RunOptions(
            environment=str(file) if '\n' in text else text,
            initial_position=position,
            current=current,
        )
        ticks, found = round(seconds / STEP), []
        for _ in range(times):
            started.append(GazeboBodies(options, tmp_path))
            found.append(started[-1].run(ticks, pwm))
            started[-1].close()
        scenario = tmp_path / 'run.yaml'
        scenario.write_text(
            f'duration: {seconds}\ninitial: {{position: {list(position)}, rpy: [0.0, 0.0, 0.0]}}\n'
            f'segments:\n  - {{at: 0.0, pwm: {list(pwm)}}}\n'
        )
        embedded = simulate(
            load_vehicle('bluerov2'),
            load_scenario(str(scenario)),
            duration=seconds,
            environment=environment_from_options(options),
        )
        states = {name.split('/')[-1]: own for name, own in embedded.bodies.items()}
        wanted = {name: np.hstack([*own])[:ticks] for name, own in states.items()}
        return *found, wanted

    yield run
    for one in started:
        one.close()


def distances(found, wanted):
    """Return the largest distance, m, of each body from where it is embedded."""
    return {
        name: float(np.linalg.norm(found[name][:, :3] - rows[:, :3], axis=1).max())
        for name, rows in wanted.items()
    }


@pytest.mark.parametrize('current', [(0.0, 0.0, 0.0), (0.3, 0.1, 0.0)])
def test_bodies_sink_float_and_tumble_as_the_embedded_ones(bodies, record_property, current):
    found, wanted = bodies(FREE, AT_REST, 10.0, current=current)
    apart = distances(found, wanted)
    record_property('measured', ', '.join(f'{n} {d:.2g} m' for n, d in apart.items()))
    assert max(apart.values()) < 1e-9
    assert found['sinker'][-1, 2] < -9
    assert found['float'][-1, 2] == pytest.approx(0.0, abs=0.1)
    assert np.linalg.norm(found['tumbler'][:, 10:], axis=1).max() > 1.0


def test_a_body_rests_on_the_seabed(bodies, record_property):
    found, wanted = bodies(RESTING, AT_REST, 5.0)
    moved = np.abs(found['crate'][:, :3] - found['crate'][0, :3]).max()
    speed = np.abs(found['crate'][-200:, 7:]).max()
    record_property('measured', f'moved {moved:.2g} m, speed {speed:.2g} m/s')
    assert moved < 1e-4
    assert speed < 1e-5
    assert distances(found, wanted)['crate'] < 1e-4


@pytest.mark.parametrize(
    ('text', 'name', 'position', 'tolerance'),
    [
        (PUSHED, 'crate', (0.0, 0.0, -3.0), 0.03),
        (DOOR, 'door', (0.0, 0.0, -3.0), 2e-3),
        ('rails', 'trolley', (0.2, 0.0, -3.7), 5e-3),
    ],
    ids=['crate', 'door', 'trolley'],
)
def test_a_vehicle_pushes_what_is_in_its_way_twice_to_the_bit(
    bodies, record_property, text, name, position, tolerance
):
    first, second, wanted = bodies(text, AHEAD, 6.0, position=position, times=2)
    for one, rows in first.items():
        np.testing.assert_array_equal(rows, second[one])
    way = float(np.linalg.norm(first[name][-1, :3] - first[name][0, :3]))
    apart = distances(first, wanted)[name]
    record_property('measured', f'pushed {way:.3g} m, {apart:.2g} m apart')
    assert way > 0.02
    assert apart < tolerance
    if name == 'door':  # it is at its stop
        assert 2 * np.arcsin(first[name][-1, 5]) == pytest.approx(-0.05, abs=1e-3)
