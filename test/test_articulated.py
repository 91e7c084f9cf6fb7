# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""An arm that moves by efforts, in the steps that nodes make: what it keeps, and what it obeys."""

from dataclasses import replace

import numpy as np
import pytest
from arm_vehicles import WATER, stiff_joints, two_links
from conftest import ROOT, marine_sim

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.errors import ModelError, ScenarioError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import load_environment, parse_environment
from marine_sim_ros.physics.arm.chain import generalized_mass, make_chain
from marine_sim_ros.physics.arm.chain_solvers import drive_efforts, solve_joint_rates
from marine_sim_ros.physics.arm.links import link_poses
from marine_sim_ros.physics.arm.manipulator import JOINT_EFFORTS, JointMotion
from marine_sim_ros.sim.player import ActuatorTimeline
from marine_sim_ros.sim.scenario import load_scenario
from marine_sim_ros.sim.simulation import Simulation, simulate

ARM = {'arm': 'true', 'arm_dynamics': 'articulated'}
VACUUM = Environment(gravity=1e-12, water_density=1e-9)
STILL = np.array([0.0, 0, -10]), np.array([0.0, 0, 0, 1]), np.zeros(6)


def started(vehicle, position, rate, *, dt=0.005, environment=VACUUM, velocity=None, **options):
    initial = State(*STILL) if velocity is None else State(*STILL[:2], np.array(velocity))
    simulation = Simulation(vehicle, initial=initial, environment=environment, dt=dt, **options)
    joints = JointMotion(np.array(position, float), np.array(rate, float))
    simulation._memory = simulation._memory._replace(joints=joints)
    return simulation


def momentum_and_energy(vehicle, state, joints):
    arm = vehicle.manipulator
    chain = make_chain(arm, *link_poses(arm, joints.position)[:2])
    inertia = arm.link_mass + arm.joint_dynamics.added_mass
    mass = generalized_mass(chain, arm.body.matrix + vehicle.added_mass, inertia)
    u = np.concatenate([state.velocity, joints.rate])
    p, h = np.split((mass @ u)[:6], 2)
    turn = rotation_matrix(state.orientation)
    return np.concatenate(
        [turn @ p, turn @ h + np.cross(state.position, turn @ p)]
    ), u @ mass @ u / 2


def drift(dt, *, water='', duration=10.0):
    vehicle = two_links(water=water)
    velocity = [0.1, -0.2, 0.05, 0.2, -0.1, 0.3]
    simulation = started(vehicle, [0.3, -0.4], [0.8, -1.1], dt=dt, velocity=velocity)
    kept = []
    for _ in range(round(duration / dt)):
        out = simulation.tick(np.zeros(0))
        kept.append(momentum_and_energy(vehicle, out.state, out.joints))
    # The first tick does not know its step; the second shares out what that did to the vehicle.
    momentum, energy = (np.array(x) for x in zip(*kept[2:], strict=True))
    return np.abs(momentum - momentum[0]).max(), np.abs(energy / energy[0] - 1).max()


@pytest.mark.long
@pytest.mark.parametrize('water', ['', WATER.format(drag='')])
def test_momentum_of_a_floating_arm_stays_to_rounding(water):
    lost, energy = drift(0.005, water=water)
    assert lost < 1e-9
    assert energy < 0.02


@pytest.mark.long
def test_energy_drifts_with_the_first_order_of_the_step():
    coarse, fine = (drift(dt, duration=2.0)[1] for dt in (0.004, 0.002))
    assert 1.7 < coarse / fine < 2.3


def test_a_hard_stop_holds_and_takes_energy():
    vehicle = two_links(gear={'limit': 0.35})
    simulation = started(vehicle, [0.3, -0.3], [2.0, -2.0])
    outs = [simulation.tick(np.zeros(0)) for _ in range(400)]
    kept = [momentum_and_energy(vehicle, o.state, o.joints) for o in outs[2:]]
    momentum, energy = (np.array(x) for x in zip(*kept, strict=True))
    positions = np.array([o.joints.position for o in outs])
    assert np.abs(positions).max() <= 0.35
    assert np.abs(positions).max() == pytest.approx(0.35)
    assert np.abs(momentum - momentum[0]).max() < 1e-9
    assert energy.min() < 0.9 * energy[0]
    assert np.diff(energy).max() < 1e-4 * energy[0]


def test_a_drive_goes_where_it_is_sent_within_rate_and_effort():
    vehicle = two_links(gear={'effort': 30.0, 'velocity': 0.5, 'damping': 0.1, 'friction': 0.05})
    simulation = started(vehicle, [0.0, 0.0], [0.0, 0.0])
    wanted = np.array([0.8, -0.6])
    outs = [simulation.tick(np.zeros(0), {'joints': wanted}) for _ in range(1000)]
    assert outs[-1].joints.position == pytest.approx(wanted, abs=0.02)
    assert np.abs([o.joints.rate for o in outs]).max() <= 0.5 + 1e-3


def test_friction_of_the_gear_holds_a_joint_at_rest():
    held = two_links(gear={'friction': 5.0})
    simulation = started(held, [0.2, -0.2], [0.0, 0.0], velocity=[0, 0, 0, 0, 0.1, 0])
    outs = [simulation.tick(np.zeros(0)) for _ in range(200)]
    # The first tick, without the reaction, lets the vehicle go alone; what is left is less.
    assert outs[-1].joints.position == pytest.approx([0.2, -0.2], abs=1e-3)


@pytest.mark.parametrize('seed', range(20))
def test_drives_gears_and_stops_agree_though_they_are_stiff(seed):
    """Where a joint slips, A x = b + dt φ(x); where it sticks or stands at a stop, that pushes."""
    (law, matrix, pushed), dt = stiff_joints(seed), 0.005
    rate = solve_joint_rates(law, matrix, pushed, np.zeros(6), dt)
    plain = matrix @ rate - pushed - dt * (drive_efforts(law, rate) - law.damping * rate)
    rest = plain + dt * law.friction * np.sign(rate)
    small = 1e-9 * (1 + np.abs(pushed).max())
    stuck, low, high = rate == 0, rate <= law.lower_stop_rate, rate >= law.upper_stop_rate
    assert np.all(np.abs(rest[~(stuck | low | high)]) < small)
    assert np.all(np.abs(plain[stuck]) <= dt * law.friction[stuck] + small)
    assert np.all(rest[low] >= -small)
    assert np.all(rest[high] <= small)


BRICK = """bodies: [{name: brick, shape: box, size: [0.2, 0.1, 0.06], mass: 2,
  position: [0.8, 0.1, -10.1], volume: 1.0e-9,
  drag_coefficient: 0, added_mass_coefficient: 0}]
"""


def momentum_of_body(body, row):
    """Return the momentum (6,) in space of a body at its row of position, attitude, velocity."""
    p, h = np.split(body.vehicle.mass_matrix @ row[7:], 2)
    turn = rotation_matrix(row[3:7])
    return np.concatenate([turn @ p, turn @ h + np.cross(row[:3], turn @ p)])


def test_a_payload_takes_momentum_when_it_is_gripped_and_its_own_along_when_it_is_let_go():
    vehicle = two_links(volume='<gripper joint="lower_joint" xyz="0.3 0 0" reach="1"/>')
    environment = parse_environment(BRICK, 'brick')
    environment = replace(environment, gravity=1e-12, water_density=1e-9)
    (brick,) = environment.free_bodies
    run = started(
        vehicle,
        [0.3, -0.4],
        [0.8, -1.1],
        environment=environment,
        velocity=[0.1, -0.2, 0.05, 0.2, -0.1, 0.3],
    )

    def ticked(count, closed):
        for _ in range(count):
            out = run.tick(np.zeros(0), {'gripper': np.array([float(closed)])})
        load = run.gripping.load
        arm = vehicle.manipulator if load is None else load.arm
        held = replace(vehicle, manipulator=arm)
        total = momentum_and_energy(held, out.state, out.joints)[0]
        return out, total if load else total + momentum_of_body(brick, out.bodies[0])

    alone = ticked(5, closed=False)[1]
    assert run.gripping.load is None
    _, first = ticked(2, closed=True)
    assert run.gripping.load is not None
    _, later = ticked(100, closed=True)
    assert first == pytest.approx(alone, abs=1e-9)
    assert later == pytest.approx(alone, abs=1e-9)
    before, _ = ticked(1, closed=True)
    after, left = ticked(2, closed=False)
    assert run.gripping.load is None
    assert np.abs(after.state.velocity - before.state.velocity).max() < 0.02
    assert np.abs(momentum_of_body(brick, after.bodies[0])).max() > 0.1
    assert left == pytest.approx(alone, abs=1e-9)
    assert ticked(100, closed=False)[1] == pytest.approx(alone, abs=1e-9)


def test_momentum_errs_by_the_first_order_of_the_step_where_a_moving_body_is_gripped():
    vehicle = two_links(volume='<gripper joint="lower_joint" xyz="0.3 0 0" reach="3"/>')
    moving = BRICK.replace('mass: 2,', 'mass: 2, velocity: [0.3, -0.2, 0.1, 0, 0, 0],')
    environment = replace(parse_environment(moving, 'brick'), gravity=1e-12, water_density=1e-9)
    (brick,) = environment.free_bodies
    velocity, errors = [0.1, -0.2, 0.05, 0.2, -0.1, 0.3], []
    for dt in (0.01, 0.005, 0.0025):
        run = started(
            vehicle, [0.3, -0.4], [0.8, -1.1], dt=dt, environment=environment, velocity=velocity
        )
        totals = []
        for closed in (0, 0, 1, 1, 1, 1, 0, 0, 0):
            for _ in range(round(0.01 / dt) * (2 - closed)):
                out = run.tick(np.zeros(0), {'gripper': np.array([float(closed)])})
            load = run.gripping.load
            held = replace(vehicle, manipulator=vehicle.manipulator if load is None else load.arm)
            total = momentum_and_energy(held, out.state, out.joints)[0]
            totals.append(total if load else total + momentum_of_body(brick, out.bodies[0]))
        assert totals[0] == pytest.approx(totals[1], abs=1e-9)
        assert totals[5] == pytest.approx(totals[8], abs=1e-9)  # release
        errors.append(np.abs(totals[5] - totals[1])[:3].max())
    assert errors[1] < 1e-3 * np.abs(totals[1])[:3].max()
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.3)
    assert errors[1] / errors[2] == pytest.approx(2.0, abs=0.3)


@pytest.mark.long
def test_a_link_that_is_pushed_into_the_seabed_lifts_the_vehicle():
    vehicle = load_vehicle('bluerov2_heavy', **ARM)
    simulation = Simulation(
        vehicle,
        initial=state_at_rest((0, 0, -4.65)),
        environment=parse_environment('seabed: {depth: 5.0, material: sand}', 'sand'),
    )
    still, wanted = np.full(8, 1500.0), np.array([1.3, 0.0])
    outs = [simulation.tick(still, {'joints': wanted}) for _ in range(800)]
    height = np.array([o.state.position[2] for o in outs])
    force = np.array([o.sources['contact'] for o in outs])
    assert height[-1] > -4.56
    assert np.count_nonzero(force[:, 2]) > 100
    assert np.abs([o.state.velocity for o in outs]).max() < 0.5
    assert np.abs([o.joints.rate for o in outs]).max() < 0.6


@pytest.mark.long
def test_an_articulated_arm_picks_the_brick_up():
    vehicle = load_vehicle('bluerov2_heavy', **ARM)
    environment = load_environment('brick_on_sand')
    run = simulate(
        vehicle, load_scenario('pick_up'), environment=environment, duration=16.0, dt=0.01
    )
    assert set(run.actuators['gripper'][run.time > 12.1].ravel()) == {1}
    assert run.position[-1, 2] > -4.2  # from -4.55
    assert np.abs(run.actuators['joints'][run.time > 10, 0] - 0.9).max() < 0.1


@pytest.mark.long
@pytest.mark.parametrize('name', ['bluerov2_heavy', 'investigator90'])
def test_shipped_arms_go_where_they_are_sent(name):
    vehicle = load_vehicle(name, **ARM)
    arm = vehicle.manipulator
    simulation = Simulation(vehicle, initial=State(*STILL))
    wanted = np.clip(np.linspace(0.6, 0.3, len(arm)), arm.lower, arm.upper)
    still = np.full(len(vehicle.thrusters), 1500.0)
    outs = [simulation.tick(still, {'joints': wanted}) for _ in range(500)]
    assert outs[-1].joints.position == pytest.approx(wanted, abs=0.01)
    rates = np.abs([o.joints.rate for o in outs])
    assert np.all(rates <= 1.01 * arm.max_rate)
    assert rates.max() > 0.9 * arm.max_rate.max()


def test_a_scenario_gives_efforts_until_it_gives_a_position(tmp_path):
    vehicle = load_vehicle('bluerov2_heavy', **ARM)
    segments = (
        '[{at: 0, joint_efforts: {shoulder: 0.5}}, {at: 0.5, joint_efforts: {shoulder: 0}},'
        ' {at: 0.7, joints: {shoulder: 0.4}}]'
    )
    path = tmp_path / 'push.yaml'
    path.write_text(f'duration: 2\ninitial: {{position: [0, 0, -5]}}\nsegments: {segments}\n')
    scenario = load_scenario(path)
    timeline = ActuatorTimeline(JOINT_EFFORTS, scenario, vehicle)
    at = [timeline.at(time).tolist() for time in (0.4, 0.6, 0.8)]
    np.testing.assert_array_equal(at, [[0.5, np.nan], [0.0, np.nan], [np.nan, np.nan]])
    shoulder = simulate(vehicle, scenario).actuators['joints'][:, 0]
    assert shoulder[100] > 0.1  # pushed
    assert abs(shoulder[139] - shoulder[125]) < 0.01  # let go: the gear's friction holds it
    assert shoulder[-1] == pytest.approx(0.4, abs=1e-3)
    with pytest.raises(ScenarioError, match='joints of bluerov2_heavy take no efforts; expected'):
        scenario.check(load_vehicle('bluerov2_heavy', arm='true'))


@pytest.mark.parametrize(
    ('attributes', 'message'),
    [
        ('dynamics="free"', "dynamics is 'free'; expected one of: kinematic, articulated"),
        ('dynamics="articulated" base="sea"', "base is 'sea'; expected one of: free, fixed"),
        ('dynamics="articulated" bandwidth="0"', 'bandwidth'),
    ],
)
def test_a_wrong_manipulator_is_one_line(attributes, message):
    text = (ROOT / 'urdf' / 'surface_vessel.urdf').read_text()
    with pytest.raises(ModelError, match=message) as raised:
        load_vehicle(with_manipulator(attributes))
    assert '\n' not in str(raised.value)
    with pytest.raises(ModelError, match='no joint moves; expected a revolute or prismatic one'):
        load_vehicle(text.replace('</robot>', '<manipulator dynamics="articulated"/></robot>'))


def with_manipulator(attributes, inside=''):
    text = two_links().urdf
    start, end = text.index('<manipulator'), text.index('</manipulator>')
    return f'{text[:start]}<manipulator {attributes}>{inside}{text[end:]}'


def test_a_wrong_link_in_water_is_one_line():
    for inside, message in (
        ('<link name="base_link"/>', "'base_link' does not move; expected one of: lower, upper"),
        ('<link name="upper" added_mass="1 2 3"/>', 'expected 6'),
        (
            '<link name="upper" added_mass="-1 0 0 0 0 0"/>',
            "has -1; expected 0 to 1e\\+09 in attribute 'added_mass'",
        ),
    ):
        with pytest.raises(ModelError, match=message):
            load_vehicle(with_manipulator('dynamics="articulated"', inside))


def test_a_locked_arm_is_a_part_of_the_body():
    """Gears that nothing turns: the vehicle tumbles as one rigid body with its links."""
    locked = two_links(gear={'friction': 1e6})
    rigid = replace(locked, manipulator=replace(locked.manipulator, joint_dynamics=None))
    velocity = [0.1, -0.2, 0.05, 0.2, -0.1, 0.3]
    runs = [started(v, [0, 0], [0, 0], velocity=velocity, dt=0.002) for v in (locked, rigid)]
    for _ in range(500):
        one, other = (run.tick(np.zeros(0)) for run in runs)
    assert one.joints.position == pytest.approx([0, 0], abs=1e-4)
    assert one.state.position == pytest.approx(other.state.position, abs=1e-3)
    assert one.state.velocity == pytest.approx(other.state.velocity, abs=1e-3)
    assert np.abs(other.state.velocity - velocity).max() > 0.02


def test_the_doctor_knows_what_is_read():
    options = (x for name, value in ARM.items() for x in ('--set', f'{name}:={value}'))
    _, told = marine_sim('doctor', 'bluerov2_heavy', *options)
    assert '0 errors, 0 warnings' in told
