# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Fleets of learning: PettingZoo's own tests, one water for all, and vehicles that collide."""

import warnings

import numpy as np
import pytest

from marine_sim_ros.core.errors import ParameterError

pytest.importorskip('jax', reason='jax: not installed (extra rl)')
pytest.importorskip('gymnasium', reason='gymnasium: not installed (extra rl)')
pytest.importorskip('pettingzoo', reason='pettingzoo: not installed')

with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    from pettingzoo.test import parallel_api_test, parallel_seed_test

from marine_sim_ros.gym.fleets import FleetEnv

MIXED = ('bluerov2', 'bluerov2_heavy', 'bluerov2')


@pytest.fixture(scope='module')
def fleet():
    return FleetEnv(MIXED)


@pytest.mark.filterwarnings('error')
def test_pettingzoo_finds_nothing_wrong(fleet):
    parallel_api_test(fleet, 700)


@pytest.mark.filterwarnings('error')
def test_equal_seeds_give_equal_fleets():
    parallel_seed_test(lambda: FleetEnv(('bluerov2', 'bluerov2')), num_cycles=30)


def test_all_are_in_one_current_at_stations_of_their_own(fleet):
    seen, _ = fleet.reset(seed=3)
    currents = np.concatenate([group.episode.current for group in fleet._groups])
    assert len(np.unique(currents, axis=0)) == 1
    goals = fleet._by_row([group.episode.goals for group in fleet._groups])
    np.testing.assert_allclose(np.array(goals)[:, 0, :2], [[0, 0], [0, 3], [0, 6]])
    states = fleet._states()
    for i, agent in enumerate(fleet.agents):
        distances = np.linalg.norm(seen[agent][-6:].reshape(2, 3), axis=1)
        others = np.delete(states.position, i, axis=0)
        expected = np.linalg.norm(others - states.position[i], axis=1)
        np.testing.assert_allclose(distances, expected, rtol=1e-6)


def test_vehicles_that_come_too_close_end_both(fleet):
    fleet.reset(seed=3)
    states = fleet._states()
    group = fleet._groups[0]  # vehicles 0 and 2
    group.memory[:3, 1] = states.position[0] + [0.3, 0.0, 0.0]
    _, reward, ended, _, info = fleet.step({})
    assert ended == {'vehicle_0': True, 'vehicle_1': False, 'vehicle_2': True}
    assert info['vehicle_2'] == {'too_close': True}
    assert reward['vehicle_0'] < -3
    assert fleet.agents == ['vehicle_1']
    seen, *_ = fleet.step({})
    np.testing.assert_array_equal(seen['vehicle_1'][-6:], 0.0)


def test_a_wrong_fleet_is_refused():
    with pytest.raises(ParameterError, match='1 vehicles; expected at least 2'):
        FleetEnv(('bluerov2',))
    with pytest.raises(ParameterError, match="task is 'Inspection'; expected one of"):
        FleetEnv(task='Inspection')
