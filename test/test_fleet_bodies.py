# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Vehicles of a fleet that touch each other, and the bodies that they share."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import marine_sim
from graph import STEP, manifest, recorded

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.ros.node_graph import fleet_node_specs
from marine_sim_ros.sim.body_simulation import BodySimulation
from marine_sim_ros.sim.fleet import FLEETS, fleet_runs, split_runs
from marine_sim_ros.sim.fleet_simulation import simulate_fleet
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.simulation import Simulation

SEA = """
water: {density: 1000}
bodies:
  - {name: crate, shape: box, size: [0.2, 0.6, 0.4], mass: 48,
     position: [0, 0, -2], velocity: [0.02, 0, 0]}
"""
AHEAD = """
duration: 1.5
segments:
  - {at: 0.0, pwm: [1350, 1350, 1650, 1650, 1500, 1500]}
"""
FLEET = """
collisions: {collisions}
vehicles:
  - {{vehicle: bluerov2, name: west, initial: {{position: [-0.4, 0.05, -2]}}}}
  - {{vehicle: bluerov2_heavy, name: east, {more}scenario: {folder}/heavy.yaml,
     initial: {{position: [0.4, 0, -2], rpy: [0, 0, 180 deg]}}}}
"""


def fleet_of(folder, collisions='true', bodies=True, more='', **options):
    """Return the options of the runs of two vehicles that head for each other."""
    texts = {
        'sea': SEA if bodies else 'water: {density: 1000}\n',
        'ahead': AHEAD,
        'heavy': AHEAD.replace('1500, 1500', '1500, 1500, 1500, 1500'),
        'fleet': FLEET.format(folder=folder, collisions=collisions, more=more),
    }
    for name, text in texts.items():
        (folder / f'{name}.yaml').write_text(text)
    common = RunOptions(
        scenario=str(folder / 'ahead.yaml'), environment=str(folder / 'sea.yaml'), **options
    )
    return fleet_runs(FLEETS.load(str(folder / 'fleet.yaml')), common)


def test_two_vehicles_that_collide_head_on_keep_momentum():
    """Two BlueROV2s a little beside each other, without weight and drag."""
    rov = load_vehicle('bluerov2')
    zero = np.zeros((6, 6))
    still = replace(rov.damping, linear=zero, quadratic=zero, elements=None, lift=None)
    rov = replace(rov, damping=still)
    water = Environment(gravity=0.0, water_density=1e-9, collisions=True)
    starts = {'/west': ([-0.3, 0.0, 0.0], 0.5), '/east': ([0.3, 0.04, 0.02], -0.3)}
    runs = {}
    for name, (position, speed) in starts.items():
        velocity = np.array([speed, 0, 0, 0, 0, 0])
        initial = State(np.array(position), np.array([0, 0, 0, 1.0]), velocity)
        runs[name] = Simulation(
            rov, environment=water, initial=initial, integrator='conserving', name=name
        )
    world = BodySimulation(water, 0.005)

    def momentum():
        linear = [
            rotation_matrix(s.state.orientation) @ (rov.mass_matrix @ s.state.velocity)[:3]
            for s in runs.values()
        ]
        angular = [
            rotation_matrix(s.state.orientation) @ (rov.mass_matrix @ s.state.velocity)[3:]
            + np.cross(s.state.position, p)
            for s, p in zip(runs.values(), linear, strict=True)
        ]
        return np.concatenate([sum(linear), sum(angular)])

    before, pushed = momentum(), 0.0
    for _ in range(160):
        movers = {n: s.begin_tick(np.full(6, 1500.0)) for n, s in runs.items()}
        wrenches = world.tick(next(iter(runs.values())).stamp, water, movers)
        pushed += abs(wrenches['/west'][0])
        for name, simulation in runs.items():
            simulation.end_tick(wrenches[name], world)
    assert pushed > 100.0
    assert runs['/west'].state.velocity[0] < 0.2  # it was 0.5
    np.testing.assert_allclose(momentum(), before, rtol=0, atol=1e-9)
    assert abs(before[0]) > 5.0  # N s


def test_a_fleet_pushes_one_crate_from_both_sides(tmp_path):
    found = simulate_fleet(fleet_of(tmp_path, 'false'))
    west, east = found['/west'], found['/east']
    assert list(west.bodies) == ['/bodies/crate']
    np.testing.assert_array_equal(
        west.bodies['/bodies/crate'].position, east.bodies['/bodies/crate'].position
    )
    for trajectory in found.values():
        assert np.abs(trajectory.sources['contact'][:, 0]).max() > 10.0
    assert west.position[-1, 0] < -0.3
    assert east.position[-1, 0] > 0.3


def test_vehicles_pass_through_each_other_unless_they_collide(tmp_path):
    apart = simulate_fleet(fleet_of(tmp_path, 'true', bodies=False))
    through = simulate_fleet(fleet_of(tmp_path, 'false', bodies=False))
    gap = {
        name: np.min(np.linalg.norm(found['/west'].position - found['/east'].position, axis=1))
        for name, found in (('apart', apart), ('through', through))
    }
    assert gap['apart'] > 0.4 > gap['through']
    assert 'contact' not in through['/west'].sources


BEAM = """
seabed: {depth: 5.0, material: sand}
obstacles:
  - {name: port_stand, shape: box, size: [0.1, 0.1, 0.975], position: [2, 0.15, -4.5125]}
  - {name: starboard_stand, shape: box, size: [0.1, 0.1, 0.975], position: [2, -0.15, -4.5125]}
bodies:
  - {name: beam, shape: box, size: [0.05, 1.6, 0.05], position: [2, 0, -3.99], mass: 6,
     volume: 0.0052, material: steel}
"""
GRIP = """
duration: 13.0
controller: modern
initial: {{position: [1.2, {y}, -3.855]}}
segments:
  - {{at: 0, control: {{x: 1.2, {hold}, z: -3.855}}, joints: {{wrist: 1.5708}}}}
  - {{at: 1, control: {{x: 1.4, {hold}, z: -3.855}}, joints: {{wrist: 1.5708}}}}
  - {{at: 5, control: {{x: 1.4, {hold}, z: -3.855}}, joints: {{wrist: 1.5708}}, gripper: close}}
  - {{at: 6.5, control: {{x: 1.4, {hold}, z: -3.455}}, joints: {{wrist: 1.5708}}}}
  - {{at: 10, control: {{x: 0.9, {hold}, z: -3.455}}, joints: {{wrist: 1.5708}}}}
"""


def test_two_vehicles_carry_one_beam(tmp_path):
    (tmp_path / 'beam.yaml').write_text(BEAM)
    lines = ['vehicles:']
    for name, y in (('port', 0.5), ('starboard', -0.5)):
        hold = f'y: {y}, roll: 0, pitch: 0, yaw: 0'
        (tmp_path / f'{name}.yaml').write_text(GRIP.format(y=y, hold=hold))
        lines.append(
            f'  - {{vehicle: bluerov2_heavy, name: {name}, scenario: {tmp_path / name}.yaml, '
            'arguments: {arm: true, gripper: jaws}}'
        )
    fleet = FLEETS.parse('\n'.join(lines), 'fleet.yaml')
    options = RunOptions(environment=str(tmp_path / 'beam.yaml'), dt=0.01)
    found = simulate_fleet(fleet_runs(fleet, options))
    beam = found['/port'].bodies['/bodies/beam']
    assert beam.position[0, 0] == 2.0
    assert beam.position[-1, 0] < 1.75  # both carry it away
    assert beam.position[-1, 2] > -3.85  # above the stands, on which it lay at -4
    assert abs(beam.position[-1, 1]) < 0.01
    along = rotation_matrix(beam.orientation[-1])[:, 1]
    np.testing.assert_allclose(along, [0, 1, 0], atol=0.02)  # level, across their course
    weight = (6.0 - 5.2) * 9.8 / 2
    for trajectory in found.values():
        up = trajectory.sources['contact'][-200:, 2].mean()
        assert -up > weight  # its half, and the pads


@pytest.mark.ros
def test_a_fleet_among_bodies_is_the_same_in_every_graph(processes, tmp_path):
    jaws = 'arguments: {arm: true, gripper: jaws}, '
    runs = fleet_of(tmp_path, 'false', more=jaws, dt=STEP, duration=0.8)
    expected = {name: t.sha256 for name, t in simulate_fleet(runs).items()}
    crates = []
    for way, more in (('separate', []), ('composed', ['--composed'])):
        process = processes.marine_sim(
            'run', '--fleet', tmp_path / 'fleet.yaml', '--scenario', tmp_path / 'ahead.yaml',
            '--environment', tmp_path / 'sea.yaml', '--dt', STEP, '--duration', 0.8,
            '--real-time-factor', 0, '--record', tmp_path / way, *more,
        )  # fmt: skip
        output, _ = process.communicate()
        assert process.returncode == 0, output
        assert 'silent' not in output
        found = manifest(tmp_path / way)['vehicles']
        assert {n: m['trajectory_sha256'] for n, m in found.items()} == expected
        topics = recorded(tmp_path / way, '')
        odom = topics['crate/odom']
        places = [odom[stamp].pose.pose.position for stamp in sorted(odom)]
        crates.append(np.array([[p.x, p.y, p.z] for p in places]))
        assert 'east_jaw_port/odom' in topics
    np.testing.assert_array_equal(*crates)


def test_vehicles_that_touch_share_one_process(tmp_path):
    runs = fleet_of(tmp_path)
    with pytest.raises(ParameterError, match='processes is 2: vehicles that touch'):
        split_runs(runs, 2)
    with pytest.raises(ParameterError, match=r'only: vehicles that touch .* east would not'):
        fleet_node_specs(runs[:1])
    contacts = [spec for spec in fleet_node_specs(runs) if spec.executable == 'contact']
    assert len(contacts) == 1
    code, output = marine_sim(
        'run', '--fleet', tmp_path / 'fleet.yaml', '--engine', 'jax', '--scenario',
        tmp_path / 'ahead.yaml', '--environment', tmp_path / 'sea.yaml',
    )  # fmt: skip
    assert code == 2
    assert 'does not move its bodies (crate)' in output
