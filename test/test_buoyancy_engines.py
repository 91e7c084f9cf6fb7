# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Buoyancy engines: volume, pump, energy and wrench against closed forms, in all engines."""

import re
from dataclasses import replace

import numpy as np
import pytest
from conftest import ROOT
from graph import numbers, recorded, run_everywhere

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.errors import ModelError, ScenarioError
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.physics import FORCES
from marine_sim_ros.physics.buoyancy_engines import displacement_wrench, pump_rate
from marine_sim_ros.physics.force import ForceInputs
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import simulate

NAME = 'buoyancy_engines'
RHO, G = 1000.0, Environment().gravity
ENGINES = """
<buoyancy_engines>
  <buoyancy_engine name="nose">
    <origin xyz="0.6 0 0.01"/>
    <limit lower="-0.0003" upper="0.0003"/>
    <rate depth="0">0.0002</rate>
    <rate depth="100">0.0001</rate>
    <rate depth="200">0.00004</rate>
    <return_rate>0.0005</return_rate>
    <efficiency>0.5</efficiency>
  </buoyancy_engine>
  <buoyancy_engine name="tail">
    <origin xyz="-0.6 0 0"/>
    <limit lower="0" upper="0.0002"/>
    <rate>0.00005</rate>
  </buoyancy_engine>
  <hull volume="0.04" compressibility="4e-10"><origin xyz="0.02 0 0"/></hull>
</buoyancy_engines>
"""


def vehicle_text(engines=ENGINES):
    text = (ROOT / 'urdf/torpedo_auv.urdf').read_text(encoding='utf-8')
    return text.replace('</robot>', f'{engines}</robot>')


@pytest.fixture(scope='module')
def vehicle():
    return load_vehicle(vehicle_text())


def scenario(segments, *, depth=20.0, duration=6, rpy=(0, 0, 0)):
    return parse_scenario(
        f'duration: {duration}\n'
        f'initial: {{position: [0, 0, {-depth}], rpy: {list(rpy)}}}\nsegments:\n{segments}',
        'pump',
    )


def step(vehicle, memory, command, *, depth, dt):
    inputs = ForceInputs.idle(vehicle, state_at_rest())._replace(
        commands={NAME: np.array(command)}
    )
    state = state_at_rest((0.0, 0.0, -depth))
    return FORCES[NAME].step(vehicle, state, Environment(), inputs, memory, dt=dt)


def test_the_wrench_is_the_weight_of_the_displaced_water_at_its_place(vehicle):
    volume = np.array([2e-4, 5e-5])
    orientation = quaternion_from_rpy(0.2, -0.4, 1.1)
    state = state_at_rest((1.0, 2.0, -50.0))._replace(orientation=orientation)
    engines = vehicle.extensions[NAME]
    up = rotation_matrix(orientation)[2]
    hull = np.array([0.02, 0, 0])
    pressure = RHO * G * (50.0 - hull @ up)
    wanted = np.zeros(6)
    for place, v in (
        (np.array([0.6, 0, 0.01]), 2e-4),
        (np.array([-0.6, 0, 0]), 5e-5),
        (hull, -0.04 * 4e-10 * pressure),
    ):
        force = RHO * G * v * up
        wanted += [*force, *np.cross(place, force)]
    found = displacement_wrench(engines, state, Environment(), volume, RHO)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)


def test_oil_outside_of_the_hull_shrinks_with_pressure(vehicle):
    """−κ p (V − V_lower) for each bladder, in addition to the incompressible volumes."""
    engines, volume = vehicle.extensions[NAME], np.array([2e-4, 5e-5])
    soft = replace(engines, oil_compressibility=np.array([7e-10, 5e-10]))
    state = state_at_rest((0.0, 0.0, -1500.0))
    lost, stiff = (
        displacement_wrench(e, state, Environment(), volume, RHO)[2] for e in (soft, engines)
    )
    pressure = RHO * G * (1500.0 - engines.position[:2, 2])
    shrunk = np.array([7e-10, 5e-10]) * pressure * (volume - engines.lower)
    assert lost - stiff == pytest.approx(-RHO * G * np.sum(shrunk), rel=1e-9)
    assert np.all(shrunk > 0)


def test_out_of_the_water_a_volume_lifts_nothing(vehicle):
    engines = vehicle.extensions[NAME]
    for z, share in ((1.0, 0.0), (0.0, 0.5), (-1.0, 1.0)):
        found = displacement_wrench(
            engines, state_at_rest((0, 0, z)), Environment(), np.array([0, 1e-4]), RHO
        )
        compressed = -1.6e-11 * RHO * G * max(-z, 0)
        np.testing.assert_allclose(found[2], RHO * G * (1e-4 * share + compressed), rtol=1e-9)


def test_the_pump_is_slower_where_its_table_says(vehicle):
    depth = np.array([-5.0, 0.0, 50.0, 100.0, 150.0, 200.0, 5000.0])[:, None] + np.zeros(2)
    wanted = [2e-4, 2e-4, 1.5e-4, 1e-4, 7e-5, 4e-5, 4e-5]
    found = pump_rate(vehicle.extensions[NAME], depth)
    np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-12)
    np.testing.assert_allclose(found[:, 1], 5e-5, rtol=1e-12)


def test_volume_follows_its_command_within_rates_and_limits(vehicle):
    memory = np.zeros(4)
    _, memory = step(vehicle, memory, [1.0, -1.0], depth=150.0, dt=1.0)
    np.testing.assert_allclose(memory[:2], [7e-5, 0.0], rtol=1e-3)  # 0.01 m above the origin
    for _ in range(10):
        _, memory = step(vehicle, memory, [1.0, 1.0], depth=150.0, dt=1.0)
    np.testing.assert_allclose(memory[:2], [3e-4, 2e-4], rtol=1e-12)
    _, memory = step(vehicle, memory, [-1.0, -1.0], depth=150.0, dt=1.0)
    np.testing.assert_allclose(memory[:2], [-2e-4, 1.5e-4], rtol=1e-12)


def test_the_energy_is_that_of_pressure_times_volume_by_the_efficiency(vehicle):
    memory = np.zeros(4)
    for _ in range(100):
        _, memory = step(vehicle, memory, [3e-4, 2e-4], depth=200.0, dt=0.1)
    work = RHO * G * np.array([199.99 * 3e-4 / 0.5, 200.0 * 2e-4])
    np.testing.assert_allclose(memory[2:], work, rtol=1e-9)
    for _ in range(100):  # the water drives the return
        _, memory = step(vehicle, memory, [0.0, 0.0], depth=200.0, dt=0.1)
    np.testing.assert_allclose(memory[2:], work, rtol=1e-9)


RISE = """
  - {at: 0.0, axes: {}}
  - {at: 1.0, axes: {}, buoyancy_engines: {nose: 0.0003, tail: 0.0002}}
"""


def test_a_run_has_the_energy_of_its_own_depths_and_volumes(vehicle):
    """∫ p dV/η by the trapezium rule over the trajectory, within 1 %."""
    run = simulate(vehicle, scenario(RISE, depth=20.0, duration=12), dt=0.02)
    states = run.actuators[NAME]
    for i, (x, efficiency) in enumerate(
        ((np.array([0.6, 0, 0.01]), 0.5), (np.array([-0.6, 0, 0]), 1.0))
    ):
        depth = -(run.z + rotation_matrix(run.orientation)[:, 2] @ x)
        pressure = RHO * G * (depth[1:] + depth[:-1]) / 2
        wanted = np.sum(pressure * np.diff(states[:, i])) / efficiency
        np.testing.assert_allclose(states[-1, 2 + i], wanted, rtol=1e-2)
    assert run.z[-1] > -20.0


def test_a_light_vehicle_rises_at_the_speed_of_its_own_drag():
    """At rest in the middle: ρ g V = 4 w + 140 w² of torpedo_auv's heave damping, without fins."""
    engine = """<buoyancy_engines><buoyancy_engine name="middle">
      <limit upper="0.001"/><rate>0.001</rate></buoyancy_engine></buoyancy_engines>"""
    text = re.sub('<fins>.*</fins>', '', vehicle_text(engine), flags=re.DOTALL)
    light = load_vehicle(text)
    rising = scenario(
        '  - {at: 0, axes: {}, buoyancy_engines: {middle: 0.001}}', duration=30, depth=60
    )
    run = simulate(light, rising, dt=0.02)
    force = RHO * G * 1e-3
    speed = (-4 + np.sqrt(16 + 4 * 140 * force)) / 280
    np.testing.assert_allclose(run.velocity[-1, 2], speed, rtol=1e-6)
    np.testing.assert_allclose(run.sources[NAME][-1], [0, 0, force, 0, 0, 0], atol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize('environment', ['still', 'regular_waves'])
def test_the_compiled_engine_has_the_same_run(vehicle, environment):
    pytest.importorskip('jax')
    from marine_sim_ros.engine.compiled import simulate_compiled
    from marine_sim_ros.environment.reader import load_environment

    water = load_environment(environment)
    play = scenario(RISE, depth=3.0, duration=4, rpy=(0.1, 0.2, 0.3))
    run = simulate(vehicle, play, environment=water, dt=0.02)
    found, _ = simulate_compiled(vehicle, play, environment=water, dt=0.02)
    np.testing.assert_allclose(found.position, run.position, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.velocity, run.velocity, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.actuators[NAME], run.actuators[NAME], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        ('name="tail"', 'name="nose"', 'two buoyancy engines have this name'),
        ('<rate>0.00005</rate>', '', 'has no <rate>; expected the rate of its pump'),
        ('depth="200"', 'depth="50"', 'depths of <rate> do not increase'),
        ('<limit lower="0" upper="0.0002"/>', '', 'limit'),
        ('lower="-0.0003"', 'lower="0.0003"', 'lower'),
        ('<efficiency>0.5', '<efficiency>1.5', 'efficiency'),
        ('4e-10', '4e-3', 'compressibility'),
        ('<return_rate>', '<back_rate>', 'back_rate'),
    ],
)
def test_a_wrong_description_is_refused_in_one_line(old, new, message):
    text = vehicle_text().replace(old, new)
    text = text.replace('</return_rate>', '</back_rate>') if 'back' in new else text
    with pytest.raises(ModelError, match=message) as caught:
        load_vehicle(text)
    assert '\n' not in str(caught.value)


def test_an_element_without_engines_and_a_command_without_an_element_are_refused(vehicle):
    with pytest.raises(ModelError, match='has no <buoyancy_engine>'):
        load_vehicle(vehicle_text('<buoyancy_engines/>'))
    plain = load_vehicle(vehicle_text(''))
    with pytest.raises(ScenarioError, match='has no buoyancy engine; expected'):
        simulate(plain, scenario(RISE), dt=0.02)
    with pytest.raises(ScenarioError, match='keel'):
        simulate(
            vehicle, scenario('  - {at: 0, axes: {}, buoyancy_engines: {keel: 0.1}}'), dt=0.02
        )


@pytest.mark.ros
def test_the_graph_is_the_simulation_and_records_volume_and_energy(processes, tmp_path):
    (tmp_path / 'float.urdf').write_text(vehicle_text(), encoding='utf-8')
    (tmp_path / 'rise.yaml').write_text(
        'duration: 1.5\ninitial: {position: [0, 0, -20]}\nsegments:\n'
        '  - {at: 0.2, axes: {}, buoyancy_engines: {nose: 0.0003, tail: 0.0002}}\n'
    )
    run_everywhere(
        processes, tmp_path, tmp_path / 'float.urdf', '--scenario', tmp_path / 'rise.yaml'
    )

    def series(way):
        topics = recorded(tmp_path / way)
        states = [(*m.position, *m.effort) for _, m in sorted(topics[f'{NAME}/state'].items())]
        return states, [numbers(m) for _, m in sorted(topics[f'wrench/{NAME}'].items())]

    wanted = series('simulate')
    for way in ('separate', 'composed'):
        for found, expected in zip(series(way), wanted, strict=True):
            np.testing.assert_array_equal(found, expected)
    assert min(wanted[0][-1]) > 0
