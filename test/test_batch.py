# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Many vehicles in one call do what each does alone."""

import json
from dataclasses import replace

import numpy as np
import pytest

from marine_sim_ros import load_vehicle
from marine_sim_ros.analysis.evaluation import run_of_bag
from marine_sim_ros.bags.trajectory_writer import write_batch
from marine_sim_ros.core.errors import ParameterError, RecordingError
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.sim.scenario import load_scenario, parse_scenario
from marine_sim_ros.sim.simulation import simulate

pytest.importorskip('jax', reason='jax: not installed (extra batch)')

from marine_sim_ros.engine import batch
from marine_sim_ros.engine.batch import simulate_batch

AHEAD = 'duration: 1.0\ninitial: {position: [0, 0, -2]}\nsegments: [{at: 0, axes: {surge: 0.5}}]'


def varied(count):
    """As many BlueROV2 that differ in drag and mass."""
    vehicle = load_vehicle('bluerov2', coefficients='von_benzon2022')
    result = []
    for i in range(count):
        damping = replace(vehicle.damping, quadratic=vehicle.damping.quadratic * (1 + 0.2 * i))
        inertia = replace(vehicle.inertia, mass=vehicle.inertia.mass + 0.1 * i)
        result.append(replace(vehicle, damping=damping, inertia=inertia))
    return result


@pytest.fixture(scope='module')
def dives():
    """Vehicles, scenarios, environments, seeds, and their batch."""
    vehicles = varied(5)
    dive, ahead = load_scenario('dive'), parse_scenario(AHEAD, 'ahead')
    scenarios = [dive, ahead, dive, ahead, dive]
    environments = [Environment(current=np.array([0.1 * i, 0.0, 0.0])) for i in range(5)]
    lists = (vehicles, scenarios, environments, [3, 4, 5, 6, 7])
    found = simulate_batch(
        vehicles,
        scenarios,
        environments=environments,
        seeds=lists[3],
        duration=2.0,
        every=10,
        all_quantities=True,
    )
    return lists, found


@pytest.mark.long
@pytest.mark.parametrize('i', range(5))
def test_batch_equals_single(dives, i):
    (vehicles, scenarios, environments, seeds), found = dives
    expected = simulate(
        vehicles[i], scenarios[i], environment=environments[i], seed=seeds[i], duration=2.0
    )
    np.testing.assert_array_equal(found.stamp, expected.stamp[::10])
    for name in ('position', 'orientation', 'velocity'):
        np.testing.assert_allclose(
            getattr(found, name)[:, i], getattr(expected, name)[::10], rtol=0, atol=1e-9
        )
    one = found.trajectory(i)
    np.testing.assert_allclose(one.pressure, expected.pressure[::10], rtol=0, atol=1e-4)
    np.testing.assert_allclose(one.thrust, expected.thrust[::10], rtol=0, atol=1e-9)


@pytest.mark.long
def test_results_do_not_depend_on_the_number_of_vehicles(dives, monkeypatch):
    (vehicles, scenarios, environments, _), found = dives
    monkeypatch.setattr(batch, 'BLOCK', 2)
    again = simulate_batch(
        vehicles[:3], scenarios[:3], environments=environments[:3], duration=2.0, every=10
    )
    np.testing.assert_allclose(again.state, found.state[:, :3], rtol=0, atol=1e-12)
    assert again.finite.all()
    with pytest.raises(ParameterError, match='all_quantities'):
        again.trajectory(0)


@pytest.mark.long
def test_hulls_share_a_batch():
    vehicle, dive = load_vehicle('simple_rov'), load_scenario('dive')
    turned = tuple(quaternion_from_rpy(0.1, 0.2, 0.3))
    initial = [state_at_rest((0.0, 0.0, -0.05 * i), turned) for i in range(2)]
    found = simulate_batch(
        vehicle,
        replace(dive, duration=0.1),
        every=2,
        initial=State(*(np.stack(x) for x in zip(*initial, strict=True))),
    )
    for i in range(2):
        start = replace(dive, position=initial[i].position, rpy=(0.1, 0.2, 0.3), duration=0.1)
        expected = simulate(vehicle, start)
        np.testing.assert_allclose(found.position[:, i], expected.position[::2], atol=1e-9)


def test_vehicles_that_cannot_share_a_batch_are_told():
    dive = load_scenario('dive')
    plain = load_vehicle('bluerov2', coefficients='maker')
    heavy = load_vehicle('bluerov2_heavy', coefficients='von_benzon2022')
    with pytest.raises(ParameterError, match=r'vehicle.*has shapes .*expected one'):
        simulate_batch([plain, heavy], dive)
    modulus = replace(plain, damping=replace(plain.damping, modulus=np.eye(6)))
    with pytest.raises(ParameterError, match=r'some vehicles have .*modulus and some have not'):
        simulate_batch([plain, modulus], dive)
    finned = load_vehicle('torpedo_auv')
    with pytest.raises(ParameterError, match=r'some vehicles have .*extensions\.fins and some'):
        simulate_batch([finned, replace(finned, extensions={})], dive)
    with pytest.raises(ParameterError, match='2 scenarios; expected one, or 3'):
        simulate_batch([plain] * 3, [dive] * 2)
    with pytest.raises(ParameterError, match='no vehicles'):
        simulate_batch([], dive)


@pytest.mark.long
def test_a_batch_is_written_as_bags(tmp_path):
    vehicles, scenario = varied(2), parse_scenario(AHEAD, 'ahead')
    batch = simulate_batch(
        vehicles, scenario, duration=0.2, every=1, seeds=[3, 4], all_quantities=True
    )
    write_batch(tmp_path / 'bags', batch)
    for i in range(2):
        folder = tmp_path / 'bags' / f'{i:06d}'
        manifest = json.loads((folder / 'manifest.json').read_text())
        assert manifest['ticks'] == 41
        assert manifest['seed'] == 3 + i
        assert manifest['trajectory_sha256'] == batch.trajectory(i).sha256
        run = run_of_bag(folder / 'bag', f'/{vehicles[i].name}')
        np.testing.assert_allclose(run.position, batch.position[:, i], rtol=0, atol=1e-12)
    with pytest.raises(RecordingError, match='has files; expected a new folder'):
        write_batch(tmp_path / 'bags', batch)


def test_a_batch_has_the_tether_of_each_of_its_vehicles():
    numbers = {'tether_length': '3.4', 'tether_anchor': '0 0 0', 'tether_segments': '4'}
    vehicle = load_vehicle('bluerov2', tether='fathom', **numbers)
    lighter = replace(vehicle, inertia=replace(vehicle.inertia, mass=vehicle.inertia.mass - 0.4))
    ahead = parse_scenario(AHEAD, 'ahead')
    found = simulate_batch([vehicle, lighter], ahead, duration=0.4, every=10, all_quantities=True)
    for i, one in enumerate((vehicle, lighter)):
        alone, run = simulate(one, ahead, duration=0.4), found.trajectory(i)
        assert run.cable.shape == (9, 5, 3)
        for name in ('position', 'thrust', 'wrench', 'cable', 'tension'):
            expected = getattr(alone, name)[::10]
            np.testing.assert_allclose(getattr(run, name), expected, rtol=1e-8, atol=1e-8)
