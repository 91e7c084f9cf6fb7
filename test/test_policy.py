# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Learned policies as a controller: the shipped one holds its station in every engine."""

import json

import numpy as np
import pytest
from conftest import ROOT
from graph import manifest, run_everywhere
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros import load_vehicle
from marine_sim_ros.control.controller_model import (
    load_controller,
    make_law,
    make_setpoints,
    parse_controller,
)
from marine_sim_ros.control.policy import OBSERVED_LIMITS, Policy, load_policy
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.state import State
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import simulate

STATION = np.array([0.0, 0.0, -5.0])


def small_policy(**changes):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(4, 15)), rng.normal(size=(6, 4))
    content = [{'weight': w.tolist(), 'bias': [0.1] * len(w)} for w in weights]
    return {'vehicle': 'bluerov2', 'layers': content, **changes}


def test_a_file_says_what_the_network_computes(tmp_path):
    path = tmp_path / 'p.json'
    path.write_text(json.dumps(small_policy()))
    policy = load_policy(str(path))
    seen = np.linspace(-1, 1, 15)
    first, second = (np.array(layer['weight']) for layer in small_policy()['layers'])
    expected = np.clip(second @ np.tanh(first @ seen + 0.1) + 0.1, -1, 1)
    np.testing.assert_allclose(policy(seen), expected, rtol=1e-12)
    path.write_text(policy.to_json())
    np.testing.assert_allclose(load_policy(str(path))(seen), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        ('{}', 'holds no policy'),
        ('[1, 2]', 'holds no policy'),
        ('{"layers": [{"weight": "x", "bias": 1}]}', 'holds no policy'),
        (json.dumps(small_policy(layers=[])), 'has 0 layers'),
        (json.dumps(small_policy(layers=small_policy()['layers'][1:])), 'layer 0 has a weight'),
        ('{"layers": [{"weight": [[NaN]], "bias": [1]}]}', 'layer 0'),
    ],
)
def test_a_file_without_a_policy_is_refused_in_one_line(tmp_path, content, message):
    path = tmp_path / 'p.json'
    path.write_text(content)
    with pytest.raises(ParameterError, match=message) as caught:
        load_policy(str(path))
    assert '\n' not in str(caught.value)


@given(content=st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda x: st.lists(x, max_size=4)
    | st.dictionaries(st.sampled_from(['layers', 'weight', 'bias', 'vehicle']), x, max_size=4),
    max_leaves=20,
))  # fmt: skip
def test_any_json_is_a_policy_or_one_line(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / 'any.json'
    path.write_text(json.dumps(content))
    message = ''
    try:
        policy = load_policy(str(path))
    except ParameterError as error:
        message = str(error)
    assert ('expected' in message and '\n' not in message) or isinstance(policy, Policy)


def test_a_policy_of_another_vehicle_is_refused():
    settings = load_controller('policy')
    with pytest.raises(ParameterError, match='commands 6 thrusters, and bluerov2_heavy has 8'):
        make_law(settings, load_vehicle('bluerov2_heavy'))
    with pytest.raises(ParameterError, match='file'):
        parse_controller('law: policy\n', 'x')


def test_the_law_observes_what_the_task_observes_and_keeps_an_action_for_its_period():
    gymnasium = pytest.importorskip('gymnasium')
    pytest.importorskip('jax')
    del gymnasium
    from marine_sim_ros.gym.task_model import Episode
    from marine_sim_ros.gym.tasks import StationKeeping

    task, law = StationKeeping(), make_law(load_controller('policy'), load_vehicle('bluerov2'))
    np.testing.assert_array_equal(task.limits, OBSERVED_LIMITS)
    rng = np.random.default_rng(1)
    state = State(
        STATION + rng.normal(size=3), quaternion_from_rpy(0.1, 0.2, 2.0), rng.normal(size=6)
    )
    episode = Episode(np.zeros(3), task.station[None], np.zeros(()))
    target = make_setpoints({'x': 0.0, 'y': 0.0, 'z': -5.0, 'yaw': 0.0})
    np.testing.assert_allclose(
        law._observe(target, state), task.observe(state, episode), rtol=0, atol=1e-12
    )
    memory = law.begin(state)
    none, wrenches = np.zeros(6), []
    for step in range(21):
        moving = state._replace(position=state.position + 0.02 * step)
        wrench, memory = law.wrench(
            target, moving, memory, unachieved=none, dt=0.01 if step else 0.0
        )
        wrenches.append(wrench)
    changes = [i for i in range(1, 21) if np.any(wrenches[i] != wrenches[i - 1])]
    assert changes == [10, 20]
    free, _ = law.wrench(make_setpoints({}), state, law.begin(state), unachieved=none, dt=0.0)
    assert np.isfinite(free).all()


def mean_distance(run):
    return float(np.linalg.norm(run.position[run.stamp >= 20e9] - STATION, axis=1).mean())


def test_the_shipped_policy_holds_a_station_in_a_run():
    run = simulate(load_vehicle('bluerov2'), load_scenario('hold_learned'), dt=0.02)
    assert np.linalg.norm(run.position[0] - STATION) > 1.0
    assert mean_distance(run) < 0.1


@pytest.mark.long
def test_the_compiled_engine_has_the_same_run():
    pytest.importorskip('jax')
    from marine_sim_ros.engine.compiled import simulate_compiled

    vehicle, play = load_vehicle('bluerov2'), load_scenario('hold_learned')
    run = simulate(vehicle, play, dt=0.02, duration=5)
    found, _ = simulate_compiled(vehicle, play, dt=0.02, duration=5)
    np.testing.assert_allclose(found.position, run.position, rtol=0, atol=1e-9)


@pytest.mark.ros
def test_the_policy_flies_in_the_graph_as_in_simulate(processes, tmp_path):
    run_everywhere(processes, tmp_path, 'bluerov2', '--scenario', 'hold_learned', '--duration', 3)
    assert manifest(tmp_path / 'composed')['trajectory_sha256']


def test_the_shipped_files_name_each_other():
    for path in (ROOT / 'config' / 'policies').glob('*.json'):
        policy = load_policy(path.stem)
        assert len(policy.biases[-1]) == len(load_vehicle(policy.vehicle).thrusters)
