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
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.changes import changes_text, parse_change, parse_changes
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.free_bodies import ABSENT_POSITION
from marine_sim_ros.physics.contact.group_motion import ContactBody
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


@pytest.mark.parametrize('known', [True, False])
def test_a_restored_world_does_not_repeat_changes(known):
    """Also where it learns of them late, as a node that has restarted."""
    change = '[{at: 0.1, bodies: [{name: ball, position: [0, 0, -9]}]}]'
    water = sea(SEA).with_changes(parse_changes(change))
    path, world = run([{'at': 0.1, 'bodies': [{'name': 'ball', 'position': [0, 0, -9]}]}], 60)
    restarted = BodySimulation(water, DT)
    restarted.restore(57 * STEP, path[57], world.joint_positions)
    for i in (58, 59, 60):
        here = water if known or i == 60 else sea(SEA)
        restarted.tick(i * STEP, here.at(i * DT), {})
    assert np.linalg.norm(restarted.states['ball'].position - path[-1]['ball'].position) < 1e-2


CHAIN = """
water: {density: 1000}
seabed: {depth: 8.0, material: sand}
bodies:
  - {name: crate, shape: box, size: [0.4, 0.4, 0.4], position: [4, 0, -7.7], mass: 90}
  - {name: a, shape: sphere, radius: 0.1, position: [1.2, 3, -3.2], mass: 8}
  - {name: b, shape: sphere, radius: 0.1, position: [1.6, 3, -3.2], mass: 8}
joints:
  - {name: one, type: ball, child: a, position: [1, 3, -3.2]}
  - {name: two, type: ball, child: b, parent: a, position: [1.4, 3, -3.2]}
"""


@pytest.mark.parametrize('missed', [1, 7, 2000])
@pytest.mark.parametrize('is_restored', [True, False])
def test_bodies_stand_still_in_the_ticks_that_their_node_missed(missed, is_restored):
    """They go on as if the ticks had not been, also in the second tick after a restart."""
    water = sea(CHAIN)
    path, _ = run([], 80, CHAIN)
    world, late = BodySimulation(water, DT), []
    if is_restored:
        world.restore(40 * STEP, path[40], {})
        start = 41
    else:
        start = 0
    for i in [*range(start, 42), *range(42 + missed, 80 + missed)]:
        world.tick(i * STEP, water.at(i * DT), {})
        late.append(dict(world.states))
        assert world.missed_time == pytest.approx(missed * DT if i == 42 + missed else 0.0)
    begin = 40 if is_restored else 0  # a restarted world begins with the state that was held
    for one, other in zip(late, path[begin:], strict=False):
        for name, state in one.items():
            np.testing.assert_allclose(
                np.concatenate(state), np.concatenate(other[name]), atol=1e-6 if begin else 1e-12
            )


def test_a_vehicle_that_moved_in_missed_ticks_is_pushed_by_no_force_of_them():
    """Its motion in them counts as unknown, as after a restart."""
    rov, water = load_vehicle('bluerov2'), sea(CHAIN)
    still, world = np.zeros(6), BodySimulation(water, DT)
    for i, x in ((0, 4.0), (1, 4.0), (200, 4.2), (201, 4.2)):
        velocity = still if x < 4.1 else np.array([2.0, 0, 0, 0, 0, 0])
        place = State(np.array([x, 0.0, -7.4]), np.array([0.0, 0, 0, 1]), velocity)
        body = ContactBody(rov, place)
        wrench = world.tick(i * STEP, water.at(i * DT), {'/vehicle': body})['/vehicle']
        assert wrench.any() == (i in (1, 201)), i


SPARE = SEA.replace(
    'joints:',
    '  - {name: spare, shape: box, size: [0.4, 0.4, 0.4], mass: 90, absent: true}\njoints:',
)


def test_an_absent_body_comes_and_goes():
    """It moves as one from the start on while it is there, and touches nothing else before."""
    come = {'name': 'spare', 'position': [-4, 2, -8], 'velocity': [0.5, 0, 0.1]}
    changes = [{'at': 0.2, 'bodies': [come]}, {'at': 0.8, 'remove': ['spare', 'ball']}]
    path, _ = run(changes, text=SPARE)
    there = SPARE.replace(
        'absent: true', 'position: [-4, 2, -8], velocity: [0.5, 0, 0.1], absent: false'
    )
    alone, _ = run([], 60, there)
    for late, early in zip(path[20:80], alone, strict=True):
        np.testing.assert_allclose(
            np.concatenate(late['spare']), np.concatenate(early['spare']), atol=1e-12
        )
    for state in (path[0]['spare'], path[19]['spare'], path[80]['ball'], path[-1]['spare']):
        assert state.position.tolist() == list(ABSENT_POSITION)
        assert not state.velocity.any()
    without, _ = run([], 80)
    for one, other in zip(path[:80], without, strict=True):
        for name in ('ball', 'bob', 'plug'):
            np.testing.assert_allclose(
                np.concatenate(one[name]), np.concatenate(other[name]), atol=1e-9
            )


def test_a_removed_body_opens_its_mate_and_a_reset_brings_it_back():
    changes = [{'at': 0.3, 'remove': ['plug']}, {'at': 0.6, 'reset_bodies': True}]
    path, world = run(changes, 65)
    assert path[40]['plug'].position[2] == ABSENT_POSITION[2]
    assert abs(path[62]['plug'].position[2] + 5) < 1e-6
    assert world.joint_positions['hook'] == 0.0


def test_a_restarted_world_leaves_absent_bodies_out():
    water = sea(SPARE).with_changes(parse_changes('[{at: 0.1, remove: [ball]}]'))
    path, world = run([{'at': 0.1, 'remove': ['ball']}], 60, SPARE)
    restarted = BodySimulation(water, DT)
    restarted.restore(59 * STEP, path[-1], world.joint_positions)
    restarted.tick(60 * STEP, water.at(60 * DT), {})
    for name in ('ball', 'spare'):
        assert restarted.states[name].position.tolist() == list(ABSENT_POSITION)


BESIDE = """
water: {density: 1000}
seabed: {depth: 10.0, material: sand}
obstacles: [{name: post, shape: cylinder, radius: 0.3, length: 4, position: [0, 0, -8]}]
bodies:
  - {name: ball, shape: sphere, radius: 0.1, position: [4, 0, -9.9], mass: 5}
  - {name: crate, shape: box, size: [1, 1, 1], position: [8, 0, -9.5], mass: 1200}
  - {name: lid, shape: box, size: [1, 1, 0.1], position: [8, 0, -8.95], mass: 200}
  - {name: arm, shape: box, size: [0.4, 0.4, 0.4], position: [12, 0, -9], mass: 80}
  - {name: hand, shape: box, size: [0.4, 0.4, 0.4], position: [12.3, 0, -9], mass: 80}
joints: [{name: wrist, type: ball, child: hand, parent: arm, position: [12.15, 0, -9]}]
"""
"""Bodies that touch and are joined, but do not overlap."""


def put(name, *position):
    return {'bodies': [{'name': name, 'position': position}]}


@pytest.mark.parametrize(
    ('change', 'refusal'),
    [
        (put('ball', 4.0, 1.0, -9.91), ''),  # as deep as contact resolves at once
        (put('ball', 4.0, 1.0, -9.95), 'ball is 0.05 m deep in the ground or a wall'),
        (put('ball', 0.35, 0.0, -8.0), 'ball is 0.05 m deep in post'),
        (put('ball', 8.0, 0.0, -9.45), 'ball is 0.55 m deep in crate'),  # all of it
        (put('crate', 4.0, 0.0, -9.5), 'crate is 0.2 m deep in ball'),  # the ball is in the crate
        (put('crate', 8.5, 0.0, -9.5), ''),  # its own old place does not count
        (put('lid', 8.0, 0.0, -9.05), 'lid is 0.1 m deep in crate'),
        ({'bodies': [*put('ball', 8, 2, -9)['bodies'], *put('crate', 8.4, 2, -9)['bodies']]},
         'ball is 0.2 m deep in crate'),
        ({'remove': ['crate']}, ''),
        ({'reset_bodies': True}, ''),
    ],
)  # fmt: skip
def test_a_body_is_not_put_into_another_one(change, refusal):
    world, water = BodySimulation(sea(BESIDE), DT), sea(BESIDE)
    for i in range(3):
        world.tick(i * STEP, water, {})
    changes = parse_changes(json.dumps([{'at': 0.03, **change}]))
    text = world.refusal(changes, water)
    if not refusal:
        assert not text
        return
    assert text.startswith(f'bodies: {refusal}')
    assert text.endswith('; expected a place beside it')


def test_changes_that_are_not_applied_yet_count():
    world, water = BodySimulation(sea(BESIDE), DT), sea(BESIDE)
    world.tick(0, water, {})
    entries = [put('ball', 0, 5, -9), put('arm', 0, 5, -9.1)]
    with pytest.raises(ParameterError, match='joint wrist holds arm'):
        water.with_changes(parse_changes(json.dumps([{'at': 0.01, **x} for x in entries])))
    entries[1] = put('lid', 0, 5, -9.08)
    changes = parse_changes(json.dumps([{'at': 0.01, **entry} for entry in entries]))
    assert world.refusal(changes, water).startswith('bodies: lid is 0.07 m deep in ball')


def test_overlaps_at_the_start_and_of_a_timetable_are_named_once(caplog):
    text = BESIDE.replace('[8, 0, -8.95]', '[8.2, 0, -9.02]').replace('[4, 0', '[0.2, 0')
    changes = [{'at': 0.02, **put('ball', 4, 4, -9.96)}, {'at': 0.04, 'remove': ['lid']}]
    run(changes, 6, text)
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        'bodies: ball is 0.2 m deep in post, crate is 0.07 m deep in lid; expected places apart: '
        'contact pushes them out',
        'bodies: ball is 0.06 m deep in the ground or a wall; expected places apart: contact '
        'pushes them out',
    ]
    caplog.clear()
    run([], 3, BESIDE)
    assert not caplog.records


def test_a_body_is_not_put_into_a_vehicle():
    rov, water = load_vehicle('bluerov2'), sea(BESIDE)
    place = State(np.array([4.0, 4.0, -5.0]), np.array([0.0, 0, 0, 1]), np.zeros(6))
    world = BodySimulation(water, DT)
    world.tick(0, water, {'/vehicle': ContactBody(rov, place)})
    text = [
        world.refusal(parse_changes(json.dumps([{'at': 0.01, **put('ball', 4, y, -5)}])), water)
        for y in (4.0, 5.0)
    ]
    assert 'm deep in the vehicle; expected' in text[0]
    assert not text[1]


def crane(tmp_path, length=2.0, depth=8.0):
    """Return an environment whose hook hangs on a cable of a winch 3 m deep."""
    (tmp_path / 'hook.urdf').write_text(f"""<robot name="hook">
  <buoyancy><volume>0.002</volume></buoyancy>
  <hydrodynamics><water_density>1000</water_density><quadratic_damping>20 20 20 1 1 1
  </quadratic_damping><linear_damping>5 5 5 1 1 1</linear_damping></hydrodynamics>
  <link name="base_link"><inertial><mass value="20"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
    <collision><geometry><sphere radius="0.05"/></geometry></collision></link>
  <tether type="fathom" length="{length}" segments="4" anchor="0 0 -3">
    <reel rate="0.5" tension="1000" minimum="0.5" maximum="4"/></tether></robot>""")
    start = max(-3 - length, 0.05 - depth)
    (tmp_path / 'crane.yaml').write_text(
        f'water: {{density: 1000}}\nseabed: {{depth: {depth}}}\nbodies:\n'
        f'  - {{name: hook, file: hook.urdf, position: [0, 0, {start}]}}\n'
        '  - {name: ball, shape: sphere, radius: 0.05, position: [6, 0, -5], mass: 3}\n'
    )
    return load_environment(tmp_path / 'crane.yaml')


def wound(water, changes, count):
    water = water.with_changes(parse_changes(json.dumps(changes)))
    world, path = BodySimulation(water, DT), []
    for i in range(count):
        world.tick(i * STEP, water.at(i * DT), {})
        path.append((world.states['hook'], world.cables['hook']))
    return path, world


def test_a_body_hangs_on_its_tether_and_its_winch_hauls_it_in(tmp_path):
    """With its weight in water; it rises as the cable gets shorter."""
    changes = [
        {'at': 1.5, 'winches': [{'name': 'hook', 'rate': -0.2}]},
        {'at': 2.5, 'winches': [{'name': 'hook', 'rate': 0.0}]},
    ]
    path, _ = wound(crane(tmp_path), changes, 400)
    tension = np.array([cable.tension[0] for _, cable in path])
    for at_rest in (tension[100:150], tension[-100:]):
        assert at_rest.mean() == pytest.approx((20.0 - 2.0) * 9.8, rel=5e-3)
    for state, cable in (path[149], path[-1]):
        stretched = np.linalg.norm(np.diff(cable.position, axis=0), axis=1).sum()
        assert state.position[2] == pytest.approx(-3 - stretched, abs=1e-3)
    assert float(path[-1][1].length) == pytest.approx(1.8, abs=5e-3)
    assert path[-1][0].position[2] - path[149][0].position[2] == pytest.approx(0.2, abs=5e-3)


def test_a_body_on_the_bottom_is_lifted_from_its_rest_by_its_winch(tmp_path):
    """A slack cable pulls later, although nothing has touched the body; a reset stops it."""
    changes = [
        {'at': 0.7, 'winches': [{'name': 'hook', 'rate': -0.5}]},
        {'at': 2.1, 'reset_bodies': True},
    ]
    path, _ = wound(crane(tmp_path, length=4.0, depth=6.5), changes, 220)
    heights = np.array([state.position[2] for state, _ in path])
    np.testing.assert_allclose(heights[50:160], -6.45, atol=2e-3)
    assert heights[205] > -6.4
    np.testing.assert_allclose(heights[210:], -6.45, atol=2e-3)


def test_a_crane_lifts_a_crate_by_its_hook():
    """As far as the cable is shorter than from the jib to the hook on the crate."""
    changes = [
        {'at': 0.5, 'winches': [{'name': 'hook', 'rate': 0.4}]},
        {'at': 4.3, 'winches': [{'name': 'hook', 'rate': 0.0}]},
        {'at': 5.0, 'winches': [{'name': 'hook', 'rate': -0.4}]},
        {'at': 9.0, 'winches': [{'name': 'hook', 'rate': 0.0}]},
    ]
    water = load_environment('crane')
    path, world = wound(water, changes, 1200)
    assert world.joint_positions['eye'] == 0.0
    crate, cable = world.states['crate'], path[-1][1]
    assert crate.position[2] + 5.3 == pytest.approx(7.24 - float(cable.length), abs=0.1)
    # The cable bears the weight, and accelerates what swings on it up and down.
    weight = 9.8 * (186 - 1027 * (0.6 * 0.6 * 0.4 + 0.0008))
    mass = sum(body.vehicle.mass_matrix[2, 2] for body in water.free_bodies)
    swing = mass * (path[-1][0].velocity[2] - path[-301][0].velocity[2]) / (300 * DT)
    tension = np.mean([cable.tension[0] for _, cable in path[-300:]])
    assert tension == pytest.approx(weight + swing, rel=0.03)


@pytest.mark.parametrize('name', ['ball', 'hok'])
def test_a_body_without_a_winch_is_one_line(tmp_path, name):
    change = parse_change(f'{{winches: [{{name: {name}, rate: 1}}]}}', 'change', 1.0)
    with pytest.raises(ParameterError, match=f"winches: '{name}' has none; .*hook"):
        crane(tmp_path).with_changes((change,))


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('{bodies: [{name: bal, position: [0, 0, 0]}]}', "'bal' is unknown; did you mean 'ball'"),
        ('{bodies: [{name: ball}]}', 'bodies.*position'),
        ('{bodies: [{name: bob, position: [0, 0, 0]}]}', 'joint chain holds bob; expected a body'),
        ('{remove: [bal]}', "remove: 'bal' is unknown; did you mean 'ball'"),
        ('{remove: [bob]}', 'joint chain holds bob; expected a body'),
        ('{remove: ball}', 'remove.*expected a list'),
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
    st.fixed_dictionaries({'remove': st.lists(st.sampled_from(['ball', 'plug']), min_size=1)}),
    st.just({'reset_bodies': True}),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1e3), entries), max_size=4))
def test_changes_are_read_as_they_are_written(items):
    content = [{'at': at, **entry} for at, entry in sorted(items, key=lambda item: item[0])]
    changes = parse_changes(json.dumps(content))
    assert parse_changes(changes_text(changes)) == changes
    sea(SEA).with_changes(changes)
