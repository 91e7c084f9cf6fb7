# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Grippers: a free body joins the arm, keeps momentum, and is let go."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.errors import ModelError, ParameterError, ScenarioError
from marine_sim_ros.core.spatial import rotation_matrix, skew
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.environment.changes import parse_changes
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import load_environment, parse_environment
from marine_sim_ros.geometry.shapes import box_shape, cylinder_shape, sphere_shape
from marine_sim_ros.physics.arm.gripping import Gripping
from marine_sim_ros.physics.arm.links import link_poses
from marine_sim_ros.physics.arm.manipulator import pose_vehicle
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.rigid_body import weight
from marine_sim_ros.sim.body_simulation import BodySimulation
from marine_sim_ros.sim.scenario import load_scenario, parse_scenario
from marine_sim_ros.sim.simulation import Simulation, simulate

BRICK = """<link name="brick"><inertial><mass value="2"/>
    <inertia ixx="{ixx}" ixy="0" ixz="0" iyy="{iyy}" iyz="0" izz="{izz}"/></inertial></link>
  <joint name="weld" type="fixed"><parent link="hand"/><child link="brick"/>
    <origin xyz="0.3 0 0.1"/></joint>
  <buoyancy link="brick"><volume>0.0012</volume></buoyancy>"""
ROV = """<robot name="probe">
  <link name="base_link"><inertial><mass value="10"/>
    <inertia ixx="0.2" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="0.4"/></inertial></link>
  <link name="hand"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <joint name="elbow" type="revolute"><parent link="base_link"/><child link="hand"/>
    <origin xyz="0.4 0.1 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="1" effort="1"/></joint>
  <buoyancy><volume>0.01</volume><center_of_volume>0 0 0.1</center_of_volume></buoyancy>
  {more}
</robot>"""
CLOSED, OPEN = {'gripper': np.ones(1)}, {'gripper': np.zeros(1)}
GRIPPER = '<gripper joint="elbow" xyz="0.3 0 0.1" reach="0.2" capacity="5"/>'
VEHICLE = load_vehicle(ROV.format(more=GRIPPER))
HAND = np.array([0.7, 0.1, 0.1])
"""Of the vehicle with its joint at 0."""


def world(more='', *, gravity=9.8, at=(0.7, 0.1, -9.9), coefficients=0.0, drag=None, mass=2.0):
    text = (
        f'gravity: {gravity}\nwater: {{kind: fresh, density: 1000}}\n'
        f'payloads: [{{name: brick, shape: box, size: [0.2, 0.1, 0.06], '
        f'position: {[*map(float, at)]}, mass: {mass}, '
        f'drag_coefficient: {coefficients if drag is None else drag}, '
        f'added_mass_coefficient: {coefficients}{more}}}]'
    )
    return parse_environment(text, 'test')


JOINED = parse_environment(
    'bodies: [{name: brick, shape: sphere, radius: 0.1, position: [0.7, 0.1, -9.9], mass: 2}]\n'
    'joints: [{type: ball, child: brick, position: [0.7, 0.1, -9.9]}]', 'test',
)  # fmt: skip


def start(velocity=(0, 0, 0, 0, 0, 0)):
    return State(np.array([0.0, 0, -10]), np.array([0.0, 0, 0, 1]), np.array(velocity, float))


def simulation(vehicle=VEHICLE, environment=None, **options):
    environment = environment or world()
    return Simulation(vehicle, environment=environment, initial=start(), **options)


def test_the_inertia_is_that_of_the_shape():
    shapes = {
        'shape: box, size: [0.2, 0.1, 0.06]': box_shape(np.array([0.2, 0.1, 0.06])),
        'shape: cylinder, radius: 0.1, length: 0.3': cylinder_shape(0.1, 0.3),
        'shape: sphere, radius: 0.1': sphere_shape(0.1),
    }
    for text, shape in shapes.items():
        found = parse_environment(f'payloads: [{{{text}, position: [0, 0, -1], mass: 3}}]', 'test')
        (body,) = found.free_bodies
        assert body.vehicle.hull.voxels.volume.sum() == pytest.approx(shape.volume)
        second = shape.second_moment
        expected = 3 / shape.volume * (np.trace(second) * np.eye(3) - second)
        assert body.vehicle.inertia.tensor == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize('integrator', ['semi_implicit', 'conserving'])
@pytest.mark.parametrize('coefficient', [0.0, 0.5])
@pytest.mark.parametrize('moving', [(0.0, 0.0, 0.0), (-0.3, 0.4, 0.2)])
def test_momentum_is_kept_when_it_closes(integrator, coefficient, moving):
    start_of_brick = HAND + np.array([0.0, 0.0, -10.0])
    more = f', velocity: {[*moving, 0.0, 0.0, 0.0]}'
    nothing = world(more, at=start_of_brick, coefficients=coefficient, drag=0.0)
    nothing = replace(nothing, gravity=0.0)
    vehicle = replace(VEHICLE, buoyancy=replace(VEHICLE.buoyancy, volume=0.0))
    velocity = np.array([0.5, 0.2, -0.1, 0, 0, 0])
    begun = State(start().position - 0.005 * velocity[:3], start().orientation, velocity)
    run = Simulation(vehicle, environment=nothing, initial=begun, integrator=integrator)
    pwm, joints = np.zeros(0), np.zeros(1)
    run.tick(pwm, {'joints': joints})
    run.tick(pwm, {'joints': joints, **CLOSED})
    assert run.gripping.load is not None
    rows = np.concatenate([np.eye(3), -skew(HAND)], axis=1)
    water = coefficient * 1000.0 * 0.0012
    tensor = np.zeros((6, 6))
    tensor[3:, 3:] = nothing.free_bodies[0].vehicle.inertia.tensor
    brick = (2.0 + water) * rows.T @ rows + tensor
    after = (vehicle.rigid_body_mass + brick) @ run.state.velocity
    lever = HAND + 0.005 * np.array(moving)
    own = (2.0 + water) * np.array([*moving, *np.cross(lever, moving)])
    assert after == pytest.approx(vehicle.rigid_body_mass @ velocity + own, abs=1e-12)
    assert np.abs(run.state.velocity - velocity).max() > 0.05


def test_a_held_brick_is_one_that_is_welded_on():
    tensor = np.diag(world().free_bodies[0].vehicle.inertia.tensor)
    brick = BRICK.format(ixx=tensor[0], iyy=tensor[1], izz=tensor[2])
    welded = simulation(load_vehicle(ROV.format(more=brick)))
    held = simulation()
    for i in range(400):
        joints = np.array([0.8 * np.sin(i / 60)])
        welded.tick(np.zeros(0), {'joints': joints})
        held.tick(np.zeros(0), {'joints': joints, **CLOSED})
        for a, b in zip(welded.state, held.state, strict=True):
            assert a == pytest.approx(b, abs=1e-9)
    assert np.abs(held.state.velocity).max() > 0.1


def test_a_held_brick_weighs_what_it_does_in_water():
    held, free = simulation(), simulation()
    change = (
        held.tick(np.zeros(0), {'joints': np.zeros(1), **CLOSED}).total
        - free.tick(np.zeros(0), {'joints': np.zeros(1)}).total
    )
    force = np.array([0, 0, -(2.0 - 1000 * 0.0012) * 9.8])
    assert change[:3] == pytest.approx(force, abs=1e-9)
    assert change[3:] == pytest.approx(np.cross(HAND, force), abs=1e-9)


def test_drag_is_that_of_its_areas():
    free, held = (
        Simulation(
            VEHICLE, environment=world(coefficients=1.1), initial=start((0, 0.5, 0, 0, 0, 0))
        )
        for _ in range(2)
    )
    change = (
        held.tick(np.zeros(0), {'joints': np.zeros(1), **CLOSED}).sources['manipulator']
        - free.tick(np.zeros(0), {'joints': np.zeros(1)}).sources['manipulator']
    )
    # Quadratic, and linear below 0.1 m/s.
    assert change[1] == pytest.approx(-0.5 * 1000 * 1.1 * 0.2 * 0.06 * (0.25 + 0.1 * 0.5))


def test_the_velocity_stays_when_it_opens():
    run = simulation(environment=world(gravity=0.1))
    for i in range(100):
        run.tick(np.zeros(0), {'joints': np.array([0.5 * np.sin(i / 20)]), **CLOSED})
    joints = np.array([0.5 * np.sin(5)])
    before = run.state.velocity
    run.tick(np.zeros(0), {'joints': joints, **OPEN})
    assert run.gripping.load is None
    # 0.1 m/s² and the arm's own motion are all that is left to change it in 5 ms.
    assert run.state.velocity == pytest.approx(before, abs=3e-3)


@pytest.mark.parametrize('mass', [2.0, 0.6])
def test_a_payload_sinks_to_the_ground_or_floats_and_drifts(mass):
    """Without a gripper it is a body as every other one; it moves by its terminal speed."""
    sea = parse_environment(
        'water: {kind: fresh, density: 1000}\ngravity: 9.8\ncurrent: {velocity: [0.2, 0, 0]}\n'
        'seabed: {depth: 8, material: sand}\npayloads: [{name: brick, shape: sphere, radius: '
        f'0.07, position: [0, 0, {-5 if mass == 2.0 else -4}], velocity: [0.2, 0, 0], '
        f'mass: {mass}, drag_coefficient: 0.47}}]', 'sea',
    )  # fmt: skip
    bodies, dt = BodySimulation(sea, 0.02), 20_000_000
    track = []
    for i in range(350):
        bodies.tick(i * dt, sea.at(i * 0.02), {})
        track.append(bodies.states['brick'].position)
    track = np.array(track)
    volume, area = 4 / 3 * np.pi * 0.07**3, np.pi * 0.07**2
    drag = 0.5 * 1000 * 0.47 * area  # D (w + 0.1) w = |m − ρ V| g
    lift = abs(mass - 1000 * volume) * 9.8
    speed = -0.05 + np.sqrt(0.0025 + lift / drag)
    found = np.diff(track[90:110, 2]).mean() / 0.02
    assert found == pytest.approx(-speed if mass == 2.0 else speed, rel=0.04)
    if mass == 2.0:
        assert track[-1, 2] == pytest.approx(-8 + 0.07, abs=1e-3)
    else:  # it floats, and drifts with the water
        cap = volume - mass / 1000
        height = np.roots([-np.pi / 3, np.pi * 0.07, 0, -cap])
        above = min(h.real for h in height if abs(h.imag) < 1e-9 and 0 < h.real < 0.14)
        assert track[-100:, 2].mean() == pytest.approx(above - 0.07, abs=5e-3)
        assert track[-1, 0] - track[-51, 0] == pytest.approx(0.2, rel=0.02)


def test_it_goes_with_the_hand_and_falls_from_there():
    vehicle = load_vehicle('bluerov2_heavy', arm='true')
    sea = parse_environment(
        'seabed: {depth: 12, material: sand}\nbodies: [{name: brick, shape: box, size: '
        '[0.2, 0.1, 0.06], mass: 2.0, position: [0.6, 0.0, -10.12], velocity: [0, 0.2, 0]}]',
        'sea',
    )
    run = Simulation(vehicle, environment=sea, initial=start())
    still, places = np.full(8, 1500.0), []
    for i in range(600):
        grip = {} if i < 4 else CLOSED if i < 200 else OPEN
        tick = run.tick(still, {'joints': np.array([0.8, 0.5 * np.sin(i / 30)]), **grip})
        places.append(tick.bodies[0])
        if 4 <= i < 200:
            pose = link_poses(vehicle.manipulator, tick.joints.position)
            point = pose.translation[1] + pose.rotation[1] @ [0.15, 0, 0]
            turn = rotation_matrix(tick.state.orientation)
            assert places[i][:3] == pytest.approx(tick.state.position + turn @ point, abs=1e-12)
            found = rotation_matrix(places[i][3:7])
            assert found == pytest.approx(turn @ pose.rotation[1], abs=1e-12)
    places = np.array(places)
    # Its reported velocity is that of its motion, in hand and after.
    turns = np.stack([rotation_matrix(q) for q in places[:, 3:7]])
    speeds = (turns @ places[:, 7:10, None])[..., 0]
    moved = np.diff(places[:, :3], axis=0) / 0.005
    middle = (speeds[1:] + speeds[:-1]) / 2
    assert np.abs(moved - middle)[10:199].max() < 5e-3
    assert np.abs(moved - speeds[1:])[201:220].max() < 5e-3
    assert places[-1, 2] == pytest.approx(-12.0, abs=0.11)
    assert np.abs(places[-1, 7:]).max() < 1e-3
    assert np.ptp(places[200:, 0]) < 0.5  # it is not flung from the hand that it was in


def test_a_held_body_pushes_others_away():
    vehicle = load_vehicle('bluerov2_heavy', arm='true')
    sea = parse_environment(
        'bodies:\n- {name: brick, shape: box, size: [0.2, 0.1, 0.06], mass: 2.0, volume: 0.00195,'
        ' position: [0.6, 0.0, -10.12]}\n- {name: crate, shape: box, size: [0.4, 0.4, 0.4], '
        'density: 1027, position: [1.1, 0.0, -10.12]}', 'sea',
    )  # fmt: skip
    run = Simulation(vehicle, environment=sea, initial=start((0.5, 0, 0, 0, 0, 0)))
    for _ in range(200):
        tick = run.tick(np.full(8, 1500.0), {'joints': np.zeros(2), **CLOSED})
    crate = tick.bodies[1]
    assert run.gripping.load.name == 'brick'
    assert crate[0] > 1.13
    assert tick.bodies[0][0] + 0.1 < crate[0] - 0.2 + 5e-3  # it stays before the brick


@pytest.mark.parametrize(
    ('environment', 'said'),
    [
        (world(at=(0.7, 0.1, -9.6)), 'is 0.30 m from the gripper; expected at most 0.2 m'),
        (world(mass=6.0), 'at most 5 kg'),
        (Environment(), 'no bodies without joints and tether'),
        (replace(JOINED, gravity=9.8), 'no bodies without joints and tether'),
    ],
)
def test_what_it_cannot_take_stays(environment, said, caplog):
    run, other = simulation(environment=environment), simulation(environment=environment)
    run.tick(np.zeros(0), {'joints': np.zeros(1), **CLOSED})
    other.tick(np.zeros(0), {'joints': np.zeros(1)})
    assert said in caplog.text
    assert run.gripping.load is None
    assert run.state.velocity.tolist() == other.state.velocity.tolist()


def test_only_one_is_held():
    run = simulation()
    grip, joints, bodies = run.gripping, run._memory.joints, run.body_simulation.states
    assert grip.detach(0.0) == (False, 'detach: the gripper holds nothing')
    assert grip.attach(run.state, joints, 0.0, {})[1].endswith('are not known yet')
    assert grip.attach(run.state, joints, 0.0, bodies)[0]
    assert grip.attach(run.state, joints, 0.0, bodies) == (
        False,
        'attach: the gripper holds brick already',
    )


def test_bad_descriptions_are_refused():
    with pytest.raises(ParameterError, match=r"joint 'wrist' is unknown; .*: elbow"):
        simulation(load_vehicle(ROV.format(more='<gripper joint="wrist"/>')))
    with pytest.raises(ModelError, match='reach'):
        load_vehicle(ROV.format(more='<gripper joint="elbow" reach="-1"/>'))
    with pytest.raises(ParameterError, match='mass'):
        parse_environment('payloads: [{shape: sphere, radius: 0.1, position: [0, 0, 0]}]', 'test')
    item = '{name: brick, shape: sphere, radius: 0.1, position: [0, 0, 0], mass: 1}'
    with pytest.raises(ParameterError, match="two bodies are named 'brick'"):
        parse_environment(f'payloads: [{item}, {item}]', 'test')
    scenario, bare = (
        '{duration: 1, segments: [{at: 0, gripper: close}]}',
        load_vehicle('simple_rov'),
    )
    with pytest.raises(ScenarioError, match='has no gripper'):
        parse_scenario(scenario, 'test').check(bare)
    with pytest.raises(ScenarioError, match='close'):
        parse_scenario('{duration: 1, segments: [{at: 0, gripper: shut}]}', 'test')


def test_the_compiled_engine_refuses():
    script = pytest.importorskip('marine_sim_ros.engine.script')
    vehicle = load_vehicle('bluerov2_heavy', arm='true')
    with pytest.raises(ScenarioError, match='compiled engine has no gripper'):
        script.make_script(load_scenario('pick_up'), vehicle)


@pytest.mark.long
def test_the_shipped_scenario_picks_up_the_brick():
    vehicle = load_vehicle('bluerov2_heavy', arm='true')
    scenario = load_scenario('pick_up')
    run = simulate(vehicle, scenario, environment=load_environment('brick_on_sand'), dt=0.02)
    assert all(ok for ok, _ in scenario.verdicts(run.time, run.position[:, 2]))


@pytest.mark.long
def test_a_held_brick_rests_on_the_sand():
    """It bears itself and the vehicle: what it weighs in water, less what that floats with."""
    vehicle, environment = (
        load_vehicle('bluerov2_heavy', arm=True),
        load_environment('brick_on_sand'),
    )
    run = Simulation(vehicle, environment=environment, initial=state_at_rest((0.0, 0.0, -4.55)))
    pwm, joints = np.full(8, 1500.0), np.array([0.9, 0.0])
    for i in range(1600):
        tick = run.tick(pwm, {'joints': joints, **(CLOSED if i > 500 else OPEN)})
    load = run.gripping.load
    assert load is not None
    poses = link_poses(vehicle.manipulator, tick.joints.position)._replace(load=load)
    body = pose_vehicle(vehicle, poses)
    turn = rotation_matrix(tick.state.orientation)
    lowest = (body.contact.position @ turn.T + tick.state.position)[-26:, 2].min()
    assert lowest == pytest.approx(-5.0, abs=1e-4)
    assert np.abs(tick.state.velocity).max() < 2e-3
    density = environment.density(tick.state.position, 1000.0)
    brick = (2.0 - 0.0012 * density) * environment.gravity
    afloat = weight(vehicle, tick.state, environment) + buoyancy(vehicle, tick.state, environment)
    borne = brick - (turn @ afloat[:3])[2]
    assert (turn @ tick.sources['contact'][:3])[2] == pytest.approx(borne, rel=0.03)


def test_what_was_held_before_a_restart_is_held_after_it():
    gripping = Gripping(VEHICLE, world())
    gripping.hold(0)
    assert gripping.load is not None
    assert (gripping.number, gripping.load.name) == (1, 'brick')
    assert gripping.detach(1.0) == (True, 'released brick at 1 s')
    gripping.hold(-1)
    assert (gripping.number, gripping.load) == (0, None)


def test_a_restarted_world_leaves_a_held_body_its_momentum():
    """It was given to the vehicle when the body was gripped, and is not given again."""
    vehicle, sea = load_vehicle('bluerov2_heavy', arm='true'), world(at=(0.6, 0.0, -10.12))
    runs = [Simulation(vehicle, environment=sea, initial=start((0.5,) + 5 * (0,))) for _ in '12']
    for i in range(60):
        for number, run in enumerate(runs):
            if i == 40 and number:
                old, run.body_simulation = run.body_simulation, BodySimulation(sea, 0.005)
                stamp = run.stamp - run.step
                run.body_simulation.restore(stamp, old.states, old.joint_positions)
            tick = run.tick(np.full(8, 1500.0), {'joints': np.zeros(2), **CLOSED})
            assert tick.bodies.shape == (1, 13)
    assert runs[1].state.velocity == pytest.approx(runs[0].state.velocity, abs=1e-9)


def test_a_held_body_is_not_put_elsewhere(caplog):
    changes = [
        {'at': 0.02, 'bodies': [{'name': 'brick', 'position': [9.0, 0.0, -9.0]}]},
        {'at': 0.04, 'remove': ['brick']},
        {'at': 0.06, 'reset_bodies': True},
    ]
    sea = world().with_changes(parse_changes(json.dumps(changes)))
    run = simulation(environment=sea)
    for _ in range(20):
        tick = run.tick(np.zeros(0), {'joints': np.zeros(1), **CLOSED})
    assert math.dist(tick.bodies[0, :3], run.state.position) < 1.0
    said = [record.getMessage() for record in caplog.records]
    said = [
        text.partition(':')[0] for text in said if 'the gripper of /vehicle holds brick' in text
    ]
    assert said == ['bodies', 'remove', 'reset_bodies']


@pytest.mark.parametrize(
    ('closed_at', 'holder', 'text'),
    [
        ({'/one': 1, '/another': 4}, '/one', 'attach: the gripper of /one holds brick; expected'),
        ({'/one': 2, '/another': 2}, '/another', 'attach: the gripper of /another took brick in'),
    ],
)
def test_a_body_has_one_gripper(caplog, closed_at, holder, text):
    """The second is refused; in the same tick, the later name has it for a tick."""
    sea = replace(world(), collisions=True)
    runs = {name: simulation(environment=sea, name=name) for name in closed_at}
    bodies = BodySimulation(sea, 0.005)
    numbers = {name: [] for name in runs}
    for i in range(8):
        holders, states = bodies.holders, bodies.states
        movers = {
            name: run.begin_tick(
                np.zeros(0),
                {'joints': np.zeros(1), 'gripper': np.full(1, float(i >= closed_at[name]))},
                bodies=states,
                holders={body: other for body, other in holders.items() if other != name},
            )
            for name, run in runs.items()
        }
        wrenches = bodies.tick(i * 5_000_000, sea, movers)
        for name, run in runs.items():
            numbers[name].append(
                float(run.end_tick(wrenches[name], bodies).actuators['gripper'][0])
            )
    (loser,) = runs.keys() - {holder}
    assert bodies.holders == {'brick': holder}
    assert numbers[holder] == [float(i >= closed_at[holder]) for i in range(8)]
    tied = len(set(closed_at.values())) == 1
    assert numbers[loser] == [float(tied and i == closed_at[loser]) for i in range(8)]
    assert sum(text in record.getMessage() for record in caplog.records) == 1
