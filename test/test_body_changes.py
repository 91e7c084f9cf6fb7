# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Free bodies that are put elsewhere, reset, and released from joints during a run."""

import json
from functools import cache

import numpy as np
import pytest
from bodies import environment
from hypothesis import given, settings
from hypothesis import strategies as st

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.environment.changes import changes_text, parse_change, parse_changes
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.sim.body_simulation import BodySimulation

SEA = """
water: {density: 1000}
seabed: {depth: 30.0, material: sand}
bodies:
  - {name: ball, shape: sphere, radius: 0.2, position: [3, 0, -5], mass: 50}
  - {name: bob, shape: sphere, radius: 0.05, position: [6, 0, -5.6], mass: 3}
  - {name: plug, shape: sphere, radius: 0.05, position: [9, 0, -5], mass: 3}
joints:
  - {name: chain, type: ball, child: bob, position: [6, 0, -5]}
  - {name: hook, type: ball, child: plug, mate: {position: [9, 0, -5], distance: 0.02}}
"""
DT, STEP = 0.01, 10_000_000


sea = cache(environment)


def run(changes, count=110, text=SEA):
    """Return the states of each tick by body, and the world."""
    water = sea(text).with_changes(parse_changes(json.dumps(changes)))
    world, path = BodySimulation(water, DT), []
    for i in range(count):
        world.tick(i * STEP, water.at(i * DT), {})
        path.append(dict(world.states))
    return path, world


def test_a_body_that_is_put_elsewhere_moves_on_as_from_a_start_there():
    put = {'name': 'ball', 'position': [-4, 2, -8], 'rpy': [0, 0.3, 1], 'velocity': [0.5, 0, 0.1]}
    path, _ = run([{'at': 0.5, 'bodies': [put]}])
    assert abs(path[49]['ball'].position[0] - 3.0) < 1e-12
    assert path[50]['ball'].position.tolist() == [-4, 2, -8]
    np.testing.assert_array_equal(path[50]['ball'].orientation, quaternion_from_rpy(0, 0.3, 1))
    there = SEA.replace(
        'position: [3, 0, -5], mass: 50',
        'position: [-4, 2, -8], rpy: [0, 0.3, 1], velocity: [0.5, 0, 0.1], mass: 50',
    )
    alone, _ = run([], 60, there)
    for late, early in zip(path[50:], alone, strict=True):
        np.testing.assert_allclose(
            np.concatenate(late['ball']), np.concatenate(early['ball']), rtol=0, atol=1e-12
        )


def test_a_body_that_is_taken_away_opens_its_mate():
    path, world = run([{'at': 0.5, 'bodies': [{'name': 'plug', 'position': [9, 0, -7]}]}])
    assert abs(path[49]['plug'].position[2] + 5) < 1e-6  # it hung in the hook
    assert path[-1]['plug'].position[2] < -7.2
    assert np.isnan(world.joint_positions['hook'])
    back = [
        {'at': 0.5, 'bodies': [{'name': 'plug', 'position': [9, 0, -7]}]},
        {'at': 0.8, 'bodies': [{'name': 'plug', 'position': [9, 0, -5]}]},
    ]
    path, world = run(back)
    assert abs(path[-1]['plug'].position[2] + 5) < 1e-6
    assert world.joint_positions['hook'] == 0.0


def test_a_released_joint_holds_no_more():
    path, world = run([{'at': 0.5, 'release': ['chain', 'hook']}])
    assert abs(path[49]['bob'].position[2] + 5.6) < 1e-6
    free, _ = run([], 60, SEA.replace('type: ball, child: bob', 'type: ball, child: ball'))
    for late, early in zip(path[50:], free, strict=True):  # as one that never hung
        np.testing.assert_allclose(late['bob'].position, early['bob'].position, atol=1e-9)
    assert path[-1]['plug'].position[2] < -5.2
    assert world.broken_joints['chain'] == (0.0, 0.0)


def test_reset_bodies_are_as_at_the_start():
    changes = [{'at': 0.3, 'release': ['chain']}, {'at': 0.8, 'reset_bodies': True}]
    path, world = run(changes)
    first, _ = run([{'at': 0.3, 'release': ['hook']}], 30)
    for late, early in zip(path[80:], first, strict=False):
        for name, state in early.items():
            np.testing.assert_array_equal(np.concatenate(late[name]), np.concatenate(state))
    assert not world.broken_joints


def test_a_restored_world_does_not_repeat_changes():
    water = sea(SEA).with_changes(
        parse_changes('[{at: 0.1, bodies: [{name: ball, position: [0, 0, -9]}]}]')
    )
    path, world = run([{'at': 0.1, 'bodies': [{'name': 'ball', 'position': [0, 0, -9]}]}], 60)
    restarted = BodySimulation(water, DT)
    restarted.restore(59 * STEP, path[-1], world.joint_positions)
    restarted.tick(60 * STEP, water.at(60 * DT), {})
    assert np.linalg.norm(restarted.states['ball'].position - path[-1]['ball'].position) < 1e-9


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('{bodies: [{name: bal, position: [0, 0, 0]}]}', "'bal' is unknown; did you mean 'ball'"),
        ('{bodies: [{name: ball}]}', 'bodies.*position'),
        ('{bodies: [{name: bob, position: [0, 0, 0]}]}', 'joint chain holds bob; expected a body'),
        ('{release: [chains]}', "'chains' is unknown; did you mean 'chain'"),
        ('{release: chain}', 'release.*expected a list'),
        ('{reset_bodies: 1}', 'reset_bodies.*true or false'),
        ('{reset_bodies: false}', 'nothing changes'),
    ],
)
def test_what_cannot_change_is_one_line(text, message):
    with pytest.raises(ParameterError, match=message):
        sea(SEA).with_changes((parse_change(text, 'change', 1.0),))


def test_an_environment_without_bodies_has_none_to_change():
    with pytest.raises(ParameterError, match='has no bodies that could change'):
        Environment().with_changes((parse_change('{reset_bodies: true}', 'change', 1.0),))


def test_jaws_are_not_put_elsewhere():
    heavy = load_vehicle('bluerov2_heavy', arm='true', gripper='jaws')
    water = sea(SEA).with_jaws(heavy)
    change = parse_change('{bodies: [{name: jaw_port, position: [0, 0, 0]}]}', 'change', 1.0)
    with pytest.raises(ParameterError, match='joint jaw_port holds jaw_port'):
        water.with_changes((change,))


numbers = st.floats(-40.0, 40.0)
vectors = st.lists(numbers, min_size=3, max_size=3)
puts = st.fixed_dictionaries(
    {'name': st.sampled_from(['ball', 'plug']), 'position': vectors},
    optional={'velocity': vectors, 'rpy': st.lists(st.floats(-3, 3), min_size=3, max_size=3)},
)
entries = st.one_of(
    st.fixed_dictionaries({'bodies': st.lists(puts, min_size=1, max_size=3)}),
    st.fixed_dictionaries({'release': st.lists(st.sampled_from(['chain', 'hook']), min_size=1)}),
    st.just({'reset_bodies': True}),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1e3), entries), max_size=4))
def test_changes_are_read_as_they_are_written(items):
    content = [{'at': at, **entry} for at, entry in sorted(items, key=lambda item: item[0])]
    changes = parse_changes(json.dumps(content))
    assert parse_changes(changes_text(changes)) == changes
    sea(SEA).with_changes(changes)
