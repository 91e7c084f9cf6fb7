# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Compiled vehicles among free bodies: they move, grip and are pushed as NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from bodies import environment
from conftest import vehicle_of

from marine_sim_ros.core.errors import ParameterError, RunError
from marine_sim_ros.environment.changes import parse_change
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.sim import body_simulation
from marine_sim_ros.sim.scenario import load_scenario, parse_scenario
from marine_sim_ros.sim.simulation import simulate

pytest.importorskip('jax', reason='jax: not installed (extra batch)')

from marine_sim_ros.engine.compiled import simulate_compiled
from marine_sim_ros.engine.stepper import Stepper, states_in_memory

TOLERANCE = 1e-9
BOX = """
bodies:
  - {name: box, shape: box, size: [0.3, 0.3, 0.3], position: [0.05, 0, -4.6], mass: 60,
     velocity: [0, 0, -0.5]}
"""
REST = parse_scenario(
    'duration: 0.4\ninitial: {position: [0, 0, -5]}\nsegments: [{at: 0.0, axes: {}}]', 'rest'
)


def assert_alike(found, expected):
    """Both trajectories are the same, with all bodies, joints and cables."""

    def check(ours, theirs, tolerance=TOLERANCE):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance)

    assert found.bodies.keys() == expected.bodies.keys()
    for name, states in expected.bodies.items():
        check(found.bodies[name].position, states.position)
        check(found.bodies[name].orientation, states.orientation, 100 * TOLERANCE)
    assert found.body_joints.keys() == expected.body_joints.keys()
    for name, (joints, positions) in expected.body_joints.items():
        assert found.body_joints[name][0] == joints
        check(found.body_joints[name][1], positions)
    assert found.body_cables.keys() == expected.body_cables.keys()
    for name, points in expected.body_cables.items():
        check(found.body_cables[name], points)
    check(found.position, expected.position)
    check(found.orientation, expected.orientation, 100 * TOLERANCE)


def lifted():
    """The environment of a crane, whose winch lets the hook down and hauls it in."""
    changes = [
        parse_change(f'{{winches: [{{name: hook, rate: {rate}}}]}}', 'change', time)
        for time, rate in ((0.5, 0.4), (4.3, 0.0), (6.0, -0.2))
    ]
    return load_environment('crane').with_changes(tuple(changes))


@pytest.mark.parametrize(
    ('vehicle', 'environment', 'scenario', 'duration'),
    [
        ('bluerov2', 'rails', 'push_trolley', 5.0),
        ('bluerov2', 'crane', 'lift', 14.0),
        ('otter', 'harbour', 'berth', 10.0),
        ('bluerov2', 'debris', 'dive', 4.0),
    ],
)
def test_shipped_scenarios_with_bodies_run_as_with_numpy(vehicle, environment, scenario, duration):
    options = {
        'environment': lifted() if environment == 'crane' else load_environment(environment),
        'duration': duration,
        'dt': 0.005 if scenario == 'push_trolley' else 0.01,
    }
    model, play = vehicle_of(vehicle), load_scenario(scenario)
    expected = simulate(model, play, **options)
    found, _ = simulate_compiled(model, play, **options)
    assert_alike(found, expected)


@pytest.mark.parametrize(
    ('environment', 'scenario'), [('valve_panel', 'turn_valve'), ('hot_stab', 'plug_stab')]
)
def test_jaws_do_their_work_as_with_numpy(environment, scenario):
    model = vehicle_of('bluerov2_heavy', arm='true', gripper='jaws')
    play = load_scenario(scenario)
    options = {'environment': load_environment(environment), 'dt': 0.01}
    expected = simulate(model, play, **options)
    found, _ = simulate_compiled(model, play, **options)
    assert_alike(found, expected)
    np.testing.assert_array_equal(found.actuators['gripper'], expected.actuators['gripper'])


def test_a_step_depends_on_its_memory_alone():
    """A box falls on a vehicle; the same step is made again after others."""
    env = environment(BOX)
    vehicle = vehicle_of('bluerov2')
    stepper = Stepper(vehicle, size=1, ticks=10, dt=0.01, environment=env)
    pwm = np.full((1, len(vehicle.thrusters)), 1500.0)
    memory = stepper.at_rest(np.array([[0.0, 0, -5.0]]), np.array([[0.0, 0, 0, 1.0]]))
    memories = [memory]
    for i in range(4):
        memories.append(stepper.step(memories[-1], pwm, time=np.array([0.1 * i])))
    for i in (2, 0, 3):
        again = stepper.step(memories[i], pwm, time=np.array([0.1 * i]))
        np.testing.assert_array_equal(again, memories[i + 1])
    expected = simulate(vehicle, REST, environment=env, dt=0.01)
    found = states_in_memory(memories[4]).position[0]
    np.testing.assert_allclose(found, expected.position[-1], rtol=0, atol=TOLERANCE)


def test_what_cannot_be_is_one_line():
    env = environment(BOX)
    with pytest.raises(ParameterError, match='float32: free bodies need float64'):
        simulate_compiled(vehicle_of('bluerov2'), REST, environment=env, dtype='float32')
    windy = env.with_changes((parse_change('{current: {velocity: [1, 0, 0]}}', 'change', 0.1),))
    with pytest.raises(ParameterError, match=r'engine jax: the water changes; .* numpy'):
        simulate_compiled(vehicle_of('bluerov2'), REST, environment=windy)


def test_a_body_that_moves_beyond_all_limits_ends_the_run_with_its_name(monkeypatch):
    monkeypatch.setattr(body_simulation, 'is_physical', lambda position, velocity: False)
    with pytest.raises(RunError, match=r"^the state of body 'box' is not physical after 0.000 s"):
        simulate_compiled(vehicle_of('bluerov2'), REST, environment=environment(BOX))
