# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Grippers: a payload joins the arm, keeps momentum, and is let go."""

from dataclasses import replace

import numpy as np
import pytest

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.errors import ModelError, ParameterError, ScenarioError
from marine_sim_ros.core.spatial import rotation_matrix, skew
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import load_environment, parse_environment
from marine_sim_ros.geometry.shapes import box_shape, cylinder_shape, sphere_shape
from marine_sim_ros.physics.arm.gripping import Gripping, loose_payload_position, sinking_speed
from marine_sim_ros.physics.arm.links import link_poses
from marine_sim_ros.physics.arm.manipulator import JointMotion, pose_vehicle
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.rigid_body import weight
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


def world(more='', *, gravity=9.8, at=(0.7, 0.1, -9.9), coefficients=0.0):
    text = (
        f'gravity: {gravity}\n'
        f'payloads: [{{name: brick, shape: box, size: [0.2, 0.1, 0.06], position: {list(at)}, '
        f'mass: 2.0, drag_coefficient: {coefficients}, added_mass_coefficient: {coefficients}'
        f'{more}}}]'
    )
    return parse_environment(text, 'test')


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
        (payload,) = found.payloads
        assert payload.volume == pytest.approx(shape.volume)
        second = shape.second_moment
        expected = 3 / shape.volume * (np.trace(second) * np.eye(3) - second)
        assert payload.tensor == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize('integrator', ['semi_implicit', 'conserving'])
@pytest.mark.parametrize('coefficient', [0.0, 0.5])
def test_momentum_is_kept_when_it_closes(integrator, coefficient):
    nothing = replace(world(coefficients=coefficient), gravity=0.0)
    nothing = replace(
        nothing, payloads=tuple(replace(p, drag_coefficient=0.0) for p in nothing.payloads)
    )
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
    tensor[3:, 3:] = nothing.payloads[0].tensor
    brick = (2.0 + water) * rows.T @ rows + tensor
    after = (vehicle.rigid_body_mass + brick) @ run.state.velocity
    assert after == pytest.approx(vehicle.rigid_body_mass @ velocity, abs=1e-12)
    assert np.abs(run.state.velocity - velocity).max() > 0.05


def test_a_held_brick_is_one_that_is_welded_on():
    tensor = np.diag(world().payloads[0].tensor)
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
    assert change[:3] == pytest.approx(force, abs=1e-11)
    assert change[3:] == pytest.approx(np.cross(HAND, force), abs=1e-11)


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
    assert change[1] == pytest.approx(-0.5 * 1000 * 1.1 * 0.2 * 0.06 * 0.25)


def test_the_velocity_stays_when_it_opens():
    run = simulation(environment=world(gravity=0.1))
    for i in range(100):
        run.tick(np.zeros(0), {'joints': np.array([0.5 * np.sin(i / 20)]), **CLOSED})
    joints = np.array([0.5 * np.sin(5)])
    before = run.state.velocity
    run.tick(np.zeros(0), {'joints': joints, **OPEN})
    assert run.gripping.load is None
    # 0.1 m/s² and the arm's own motion are all that is left to change it in 5 ms.
    assert run.state.velocity == pytest.approx(before, abs=2e-3)


def test_it_sinks_at_its_terminal_speed_onto_the_ground():
    sea = load_environment('brick_on_sand')
    (brick,) = sea.payloads
    speed = np.sqrt((2 - 1.2) * 9.8 / (0.5 * 1000 * 1.1 * 0.02))
    assert sinking_speed(brick, 1000, 9.8) == pytest.approx(speed)
    begin = np.array([1.0, 2.0, -2.0])
    assert loose_payload_position(brick, begin, 1.0, sea, 1000) == pytest.approx(
        [1, 2, -2 - speed]
    )
    assert loose_payload_position(brick, begin, 60.0, sea, 1000) == pytest.approx([1, 2, -4.97])
    light = replace(brick, mass=0.5)
    assert loose_payload_position(light, begin, 60.0, sea, 1000) == pytest.approx([1, 2, 0])


@pytest.mark.parametrize(
    ('environment', 'said'),
    [
        (world(at=(0.7, 0.1, -9.6)), 'is 0.30 m from the gripper; expected at most 0.2 m'),
        (replace(world(), payloads=(replace(world().payloads[0], mass=6.0),)), 'at most 5 kg'),
        (Environment(), 'no payloads'),
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
    grip, joints = run.gripping, run._memory.joints
    assert grip.detach(run.state, joints, None, 0.0)[:2] == (
        False,
        'detach: the gripper holds nothing',
    )
    assert grip.attach(run.state, joints, 0.0)[0]
    assert grip.attach(run.state, joints, 0.0) == (
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
    with pytest.raises(ParameterError, match="two payloads are named 'brick'"):
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
    brick = (2.0 - 0.0012 * load.water_density) * environment.gravity
    afloat = weight(vehicle, tick.state, environment) + buoyancy(vehicle, tick.state, environment)
    borne = brick - (turn @ afloat[:3])[2]
    assert (turn @ tick.sources['contact'][:3])[2] == pytest.approx(borne, rel=0.03)


def test_what_was_held_before_a_restart_is_held_after_it():
    gripping = Gripping(VEHICLE, world())
    gripping.hold(0)
    assert gripping.load is not None
    assert (gripping.held, gripping.load.payload.name) == (0, 'brick')
    done, told, _ = gripping.detach(start(), JointMotion(np.zeros(1), np.zeros(1)), None, 1.0)
    assert (done, told) == (True, 'released brick at 1 s')
    gripping.hold(-1)
    assert (gripping.held, gripping.load) == (-1, None)
