# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Drop weights: mass, inertia and buoyancy after the release, against closed forms."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import ROOT
from graph import manifest, numbers, recorded, run_everywhere, simulated

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.errors import ModelError, ParameterError, ScenarioError
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.physics.drop_weights import lighten_vehicle
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import simulate

NAME = 'drop_weights'
RHO, G = 1000.0, Environment().gravity
WEIGHTS = """
<drop_weights>
  <drop_weight name="fore" mass="2.5" volume="0.00032" size="0.2 0.06 0.03">
    <origin xyz="0.4 0.02 -0.07" rpy="0.3 0 0.5"/>
  </drop_weight>
  <drop_weight name="aft" mass="1.5" volume="0.0002"><origin xyz="-0.5 0 -0.05"/></drop_weight>
</drop_weights>
"""
DROP = """
  - {at: 0.0, axes: {}}
  - {at: 0.5, axes: {}, drop_weights: {fore: 1}}
  - {at: 1.0, axes: {}, drop_weights: {fore: 0, aft: 1}}
"""


def vehicle_text(weights=WEIGHTS, base='urdf/torpedo_auv.urdf'):
    text = (ROOT / base).read_text(encoding='utf-8')
    return text.replace('</robot>', f'{weights}</robot>')


@pytest.fixture(scope='module')
def vehicle():
    return load_vehicle(vehicle_text())


def scenario(segments=DROP, *, duration=2, depth=20.0):
    return parse_scenario(
        f'duration: {duration}\ninitial: {{position: [0, 0, {-depth}], rpy: [0.1, 0.2, 0.3]}}\n'
        f'segments:\n{segments}',
        'drop',
    )


def rotated_box(mass, size, rpy):
    """Return the inertia of a box from eight thousand points, an independent sum."""
    axis = (np.arange(20) + 0.5) / 20 - 0.5
    x = np.stack(np.meshgrid(*(axis * s for s in size), indexing='ij'), -1).reshape(-1, 3)
    cr, sr, cp, sp, cy, sy = (f(a) for a in rpy for f in (np.cos, np.sin))
    turn = (
        np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
        @ np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
        @ np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    )
    x = x @ turn.T
    return mass / len(x) * (np.sum(x * x) * np.eye(3) - x.T @ x)


def test_the_mass_matrix_that_is_left_and_that_of_the_weights_are_the_description(vehicle):
    light = lighten_vehicle(vehicle, np.array([1.0, 1.0])).inertia
    assert light.mass == pytest.approx(vehicle.inertia.mass - 4.0, rel=1e-12)

    def about_origin(mass, center, tensor):
        return tensor + mass * (center @ center * np.eye(3) - np.outer(center, center))

    fore, aft = np.array([0.4, 0.02, -0.07]), np.array([-0.5, 0.0, -0.05])
    first = light.mass * light.center_of_mass + 2.5 * fore + 1.5 * aft
    np.testing.assert_allclose(first, vehicle.inertia.mass * vehicle.inertia.center_of_mass)
    second = about_origin(light.mass, light.center_of_mass, light.tensor)
    second = second + about_origin(2.5, fore, rotated_box(2.5, (0.2, 0.06, 0.03), (0.3, 0, 0.5)))
    second = second + about_origin(1.5, aft, np.zeros((3, 3)))
    whole = vehicle.inertia
    wanted = about_origin(whole.mass, whole.center_of_mass, whole.tensor)
    np.testing.assert_allclose(second, wanted, rtol=0, atol=1e-4)  # the points of the box


SPHERE = """<robot name="sphere"><link name="base_link"><inertial><mass value="50"/>
  <inertia ixx="2" ixy="0" ixz="0" iyy="2" iyz="0" izz="2"/></inertial></link>
  <buoyancy><volume>0.05</volume><height>0.4</height></buoyancy>
  <hydrodynamics><water_density>1000</water_density>
    <added_mass>20 20 20 0 0 0</added_mass></hydrodynamics>
  <drop_weights><drop_weight name="w" mass="5" volume="0.0006"/></drop_weights></robot>"""


@pytest.mark.parametrize('integrator', ['semi_implicit', 'rk4', 'conserving'])
def test_from_the_tick_of_release_on_it_accelerates_with_the_mass_that_is_left(integrator):
    """(m − m_w + A) ẇ = ρ g (V − V_w) − (m − m_w) g from rest, without drag."""
    play = parse_scenario(
        'duration: 1\ninitial: {position: [0, 0, -20]}\n'
        'segments: [{at: 0, axes: {}}, {at: 0.5, axes: {}, drop_weights: {w: 1}}]',
        'drop',
    )
    run = simulate(load_vehicle(SPHERE), play, dt=0.02, integrator=integrator)
    acceleration = (RHO * (0.05 - 0.0006) - 45) * G / (45 + 20)
    wanted = acceleration * np.maximum(run.stamp / 1e9 - 0.5, 0)
    np.testing.assert_allclose(run.velocity[:, 2], wanted, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(run.velocity[:, [0, 1, 3, 4, 5]], 0, atol=1e-12)


BOX = """<robot name="box"><link name="base_link"><inertial><mass value="55"/>
  <inertia ixx="2" ixy="0" ixz="0" iyy="2" iyz="0" izz="2"/></inertial>
  <collision><geometry><box size="0.4 0.4 0.4"/></geometry></collision></link>
  <buoyancy><volume>0.05</volume><height>0.4</height></buoyancy>
  <hydrodynamics><water_density>1000</water_density>
    <added_mass>20 20 20 1 1 1</added_mass></hydrodynamics>
  <drop_weights><drop_weight name="w" mass="4" volume="0.0004"/></drop_weights></robot>"""
GROUND = 'seabed: {depth: 10.0, material: sand}\n'
BALL = 'bodies: [{name: ball, shape: sphere, radius: 0.1, position: [5, 0, -9.9], mass: 20}]\n'
LANDED = """
duration: 3
initial: {position: [0, 0, -9.8]}
segments: [{at: 0, axes: {}}, {at: 1.5, axes: {}, drop_weights: {w: 1}}]
"""


def on_the_ground(tmp_path, more=''):
    """Return a vehicle, a scenario and an environment in which it rests and drops a weight."""
    (tmp_path / 'ground.yaml').write_text(GROUND + more)
    return load_vehicle(BOX), parse_scenario(LANDED, 'landed'), tmp_path / 'ground.yaml'


@pytest.mark.parametrize('more', ['', BALL], ids=['ground', 'with a free body'])
def test_the_ground_carries_the_weight_in_water_that_is_left(tmp_path, more):
    """N = (m − ρ V) g before the release, and (m − m_w − ρ (V − V_w)) g after it."""
    vehicle, play, sea = on_the_ground(tmp_path, more)
    run = simulate(vehicle, play, environment=load_environment(str(sea)), dt=0.005)
    force = run.sources['contact'][:, 2]
    at = int(np.searchsorted(run.stamp, 1.5e9))
    assert force[at - 1] == pytest.approx((55 - 50) * G, rel=1e-3)
    assert force[-1] == pytest.approx((51 - 49.6) * G, rel=1e-3)
    # The change of buoyancy is observed a step late, that of mass is not; the ground yields.
    assert force[at] == pytest.approx((55 - 50 - 4) * G, rel=0.05)


@pytest.mark.long
def test_the_compiled_engine_has_the_same_contact(tmp_path):
    pytest.importorskip('jax')
    from marine_sim_ros.engine.compiled import simulate_compiled

    vehicle, play, sea = on_the_ground(tmp_path)
    water = load_environment(str(sea))
    run = simulate(vehicle, play, environment=water, dt=0.005)
    found, _ = simulate_compiled(vehicle, play, environment=water, dt=0.005)
    for values, wanted in (
        (found.position, run.position),
        (found.velocity, run.velocity),
        (found.sources['contact'] / 1e3, run.sources['contact'] / 1e3),
    ):
        np.testing.assert_allclose(values, wanted, rtol=0, atol=1e-9)


@pytest.mark.ros
def test_the_graph_has_the_same_contact(processes, tmp_path):
    on_the_ground(tmp_path)
    (tmp_path / 'box.urdf').write_text(BOX)
    (tmp_path / 'landed.yaml').write_text(LANDED.replace('duration: 3', 'duration: 2'))
    files = ('--scenario', tmp_path / 'landed.yaml', '--environment', tmp_path / 'ground.yaml')
    run_everywhere(processes, tmp_path, tmp_path / 'box.urdf', *files)
    wrenches = [
        numbers(m) for _, m in sorted(recorded(tmp_path / 'separate')['wrench/contact'].items())
    ]
    assert wrenches[-1][2] == pytest.approx((51 - 49.6) * G, rel=0.01)


def test_the_velocity_does_not_jump_when_the_mass_leaves(vehicle):
    """A weight that leaves takes its own momentum along."""
    fast = replace(scenario(), velocity=(1.5, 0.2, 0.0, 0.1, 0.0, 0.3))
    run = simulate(vehicle, fast, dt=0.001)
    i = int(np.searchsorted(run.stamp, 0.5e9 - 1))
    steps = np.abs(np.diff(run.velocity[i - 3 : i + 4], axis=0)).max(axis=1)
    assert steps.max() < 0.01


def test_a_weight_is_released_once(vehicle):
    run = simulate(vehicle, scenario(), dt=0.02)
    states = run.actuators[NAME]
    assert states[0].tolist() == [0, 0]
    assert states[-1].tolist() == [1, 1]  # the command 0 does not bring it back
    assert np.all(np.diff(states, axis=0) >= 0)
    np.testing.assert_allclose(
        np.linalg.norm(run.sources[NAME][-1, :3]), RHO * G * 0.00052, rtol=1e-9
    )
    assert run.z[-1] > -20.0


@pytest.mark.long
@pytest.mark.parametrize('environment', ['still', 'regular_waves'])
def test_the_compiled_engine_has_the_same_run(vehicle, environment):
    pytest.importorskip('jax')
    from marine_sim_ros.engine.compiled import simulate_compiled

    water = load_environment(environment)
    run = simulate(vehicle, scenario(depth=3.0), environment=water, dt=0.02)
    found, _ = simulate_compiled(vehicle, scenario(depth=3.0), environment=water, dt=0.02)
    np.testing.assert_allclose(found.position, run.position, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.velocity, run.velocity, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(found.actuators[NAME], run.actuators[NAME])


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        ('name="aft"', 'name="fore"', 'two drop weights have this name'),
        ('mass="2.5"', '', 'mass'),
        ('volume="0.0002"', '', 'volume'),
        ('size="0.2 0.06 0.03"', 'size="0.2 -0.06 0.03"', 'size'),
        ('<origin', '<place', 'place'),
    ],
)
def test_a_wrong_description_is_refused_in_one_line(old, new, message):
    with pytest.raises(ModelError, match=message) as caught:
        load_vehicle(vehicle_text(WEIGHTS.replace(old, new)))
    assert '\n' not in str(caught.value)


def test_weights_that_a_vehicle_cannot_lose_are_refused(vehicle):
    with pytest.raises(ModelError, match='has no <drop_weight>'):
        load_vehicle(vehicle_text('<drop_weights/>'))
    heavy = load_vehicle(vehicle_text().replace('mass="2.5"', 'mass="2500"'))
    with pytest.raises(ParameterError, match='expected weights that are part of'):
        simulate(heavy, scenario(), dt=0.02)
    with pytest.raises(ScenarioError, match='has no drop weight; expected'):
        simulate(load_vehicle(vehicle_text('')), scenario(), dt=0.02)
    with pytest.raises(ScenarioError, match='keel'):
        simulate(vehicle, scenario('  - {at: 0, axes: {}, drop_weights: {keel: 1}}'), dt=0.02)


@pytest.mark.ros
def test_the_graph_is_the_simulation_and_records_the_release(processes, tmp_path):
    (tmp_path / 'float.urdf').write_text(vehicle_text(), encoding='utf-8')
    (tmp_path / 'drop.yaml').write_text(
        'duration: 1.5\ninitial: {position: [0, 0, -20]}\nsegments:\n' + DROP
    )
    run_everywhere(
        processes, tmp_path, tmp_path / 'float.urdf', '--scenario', tmp_path / 'drop.yaml'
    )

    def series(way):
        topics = recorded(tmp_path / way)
        states = [list(m.position) for _, m in sorted(topics[f'{NAME}/state'].items())]
        return states, [numbers(m) for _, m in sorted(topics[f'wrench/{NAME}'].items())]

    replayed = simulated(
        tmp_path / 'float.urdf', '--replay', tmp_path / 'simulate', '--duration', 1.5, '--dt', 0.02
    )
    assert replayed == manifest(tmp_path / 'simulate')['trajectory_sha256']
    wanted = series('simulate')
    for way in ('separate', 'composed'):
        for found, expected in zip(series(way), wanted, strict=True):
            np.testing.assert_array_equal(found, expected)
    assert wanted[0][-1] == [1, 1]
