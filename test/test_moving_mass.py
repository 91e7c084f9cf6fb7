# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Moving masses, linear and rotary, by position and by rate, beside MuJoCo and closed forms."""

from itertools import pairwise

import numpy as np
import pytest
from conftest import vehicle_of
from graph import run_everywhere

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.errors import ScenarioError
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.physics.arm.links import link_poses
from marine_sim_ros.physics.arm.manipulator import arm_inertia, arm_momentum
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import Simulation, simulate

VACUUM = Environment(gravity=1e-12, water_density=1e-9)
CARRIAGE = """<robot name="shuttle">
  <link name="base_link"><inertial><origin xyz="0.03 -0.02 0.04" rpy="0.1 0.2 0.3"/>
    <mass value="{base}"/>
    <inertia ixx="0.9" ixy="0.02" ixz="-0.01" iyy="2.1" iyz="0.03" izz="2.4"/></inertial></link>
  <link name="carriage"/>
  <joint name="slide" type="prismatic"><parent link="base_link"/><child link="carriage"/>
    <origin xyz="0.3 0.05 -0.1" rpy="0.2 -0.1 0.4"/><axis xyz="1 0 0"/>
    <limit lower="-0.3" upper="0.3" velocity="0.2" effort="100"/></joint>
  <link name="battery"><inertial><origin xyz="0.01 0.06 -0.08" rpy="0.3 0 0"/>
    <mass value="7.5"/>
    <inertia ixx="0.05" ixy="0.004" ixz="0" iyy="0.09" iyz="-0.002" izz="0.11"/></inertial></link>
  <joint name="turn" type="revolute"><parent link="carriage"/><child link="battery"/>
    <axis xyz="0.6 0 0.8"/><limit lower="-3" upper="3" velocity="2" effort="10"/></joint>
</robot>"""


@pytest.fixture(scope='module')
def vehicle():
    return load_vehicle(CARRIAGE.format(base=30))


def in_mujoco(vehicle):
    """Return MuJoCo and its model and data of the vehicle's URDF on a free joint."""
    mujoco = pytest.importorskip('mujoco')
    keep = '<mujoco><compiler fusestatic="false"/></mujoco></robot>'
    light = '<inertial><mass value="1e-9"/><inertia ixx="1e-9" iyy="1e-9" izz="1e-9" '
    light += 'ixy="0" ixz="0" iyz="0"/></inertial>'  # MuJoCo takes no link without mass
    text = vehicle.urdf.replace('name="carriage"/>', f'name="carriage">{light}</link>')
    spec = mujoco.MjSpec.from_string(text.replace('</robot>', keep))
    spec.body('base_link').add_freejoint()
    model = spec.compile()
    model.opt.gravity[:] = 0
    return mujoco, model, mujoco.MjData(model)


def mass_and_bias(mujoco, model, data, joints, rates, velocity):
    """Return MuJoCo's mass matrix and bias at identity attitude; axes of world and body agree."""
    data.qpos[:] = [0, 0, 0, 1, 0, 0, 0, *joints]
    data.qvel[:] = [*velocity, *rates]
    mujoco.mj_forward(model, data)
    mass = np.zeros((8, 8))
    mujoco.mj_fullM(model, data, mass)
    return mass, data.qfrc_bias.copy()


@pytest.mark.parametrize('seed', range(5))
def test_inertia_and_reaction_are_those_of_mujoco(vehicle, seed):
    """Body acceleration while the masses move with given q, q̇ and q̈, to 1e-6."""
    rng = np.random.default_rng(seed)
    q, rate, second = (rng.uniform(-1, 1, 2) * s for s in ((0.3, 3), (0.2, 2), (1, 5)))
    velocity = rng.uniform(-1, 1, 6)
    program = in_mujoco(vehicle)
    mass, bias = mass_and_bias(*program, q, rate, velocity)
    arm = vehicle.manipulator

    def momentum(time):
        """Return M ν + h with ν held, along the motion of the joints."""
        at = q + rate * time + second * time**2 / 2
        poses = link_poses(arm, at)
        own = arm_momentum(arm, rate + second * time, poses)
        return arm_inertia(arm, poses)[0].matrix @ velocity + own

    own_mass = arm_inertia(arm, link_poses(arm, q))[0].matrix
    np.testing.assert_allclose(own_mass, mass[:6, :6], rtol=0, atol=1e-8)
    p = momentum(0.0)
    turned = np.concatenate(
        [
            np.cross(velocity[3:], p[:3]),
            np.cross(velocity[3:], p[3:]) + np.cross(velocity[:3], p[:3]),
        ]
    )
    change = (momentum(1e-5) - momentum(-1e-5)) / 2e-5
    found = np.linalg.solve(own_mass, -change - turned)
    wanted = np.linalg.solve(mass[:6, :6], -bias[:6] - mass[:6, 6:] @ second)
    # MuJoCo's linear velocity is in world axes, ours in the body's: its rate has ω × v in it.
    wanted[:3] -= np.cross(velocity[3:], velocity[:3])
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


COMMANDS = {
    'position': {'joints': np.array([0.04, -0.3])},
    'rate': {'joint_rates': np.array([0.04, -0.3])},
}


def extrapolated_run(vehicle, command, integrator, duration=0.5):
    """Return joints, rates and body velocity after a time, extrapolated to a step of zero.

    The scheme is of first order in the step; Richardson's scheme over five steps cancels four
    terms of its error.
    """
    rows = []
    for k in range(5):
        dt = 0.02 / 2**k
        simulation = Simulation(
            vehicle, initial=state_at_rest(), environment=VACUUM, dt=dt, integrator=integrator
        )
        for _ in range(round(duration / dt) + 1):
            out = simulation.tick(np.zeros(0), command)
        rows.append(np.concatenate([*out.joints, out.state.velocity]))
    for order in range(1, 5):
        rows = [fine + (fine - coarse) / (2**order - 1) for coarse, fine in pairwise(rows)]
    return np.split(rows[0], [2, 4])


@pytest.mark.parametrize('command', COMMANDS)
@pytest.mark.parametrize('integrator', ['semi_implicit', 'conserving'])
def test_in_a_run_the_body_recoils_as_in_mujoco(vehicle, command, integrator):
    """From rest without water, M ν + h = 0 with MuJoCo's matrices, to 1e-6."""
    q, rate, velocity = extrapolated_run(vehicle, COMMANDS[command], integrator)
    mass, _ = mass_and_bias(*in_mujoco(vehicle), q, rate, np.zeros(6))
    wanted = -np.linalg.solve(mass[:6, :6], mass[:6, 6:] @ rate)
    assert np.abs(wanted).max() > 1e-3
    np.testing.assert_allclose(velocity, wanted, rtol=0, atol=1e-6 * np.abs(wanted).max())


def test_a_mass_that_slid_has_moved_the_body_by_its_share():
    """x = −m s/(m + M), closed form; the body does not turn, the joint being along x."""
    text = (
        CARRIAGE.format(base=30)
        .replace('rpy="0.2 -0.1 0.4"', '')
        .replace('xyz="0.3 0.05 -0.1"', 'xyz="0.3 -0.08 0.12"')
    )
    vehicle = load_vehicle(text)
    simulation = Simulation(vehicle, initial=state_at_rest(), environment=VACUUM, dt=0.01)
    for _ in range(600):
        out = simulation.tick(np.zeros(0), {'joints': np.array([0.2, 0.0])})
    assert out.joints.position[0] == pytest.approx(0.2, abs=1e-9)
    assert out.state.position[0] == pytest.approx(-7.5 * 0.2 / 37.5, rel=1e-6)


@pytest.mark.parametrize('dynamics', ['', '<manipulator dynamics="articulated"/>'])
@pytest.mark.parametrize('dt', [0.02, 0.05])
def test_a_commanded_rate_is_reached_and_held_until_a_position_follows(dynamics, dt):
    text = CARRIAGE.format(base=300).replace('</robot>', f'{dynamics}</robot>')
    text = text.replace('effort="100"', 'effort="1000"').replace('effort="10"', 'effort="500"')
    play = parse_scenario(
        'duration: 8\nsegments:\n'
        '  - {at: 0, axes: {}, joint_rates: {slide: 0.05, turn: -0.4}}\n'
        '  - {at: 3, axes: {}, joint_rates: {turn: 0}}\n'
        '  - {at: 4, axes: {}, joints: {turn: 0.2}, joint_rates: {slide: 9.0}}\n',
        'rates',
    )
    run = simulate(load_vehicle(text), play, environment=VACUUM, dt=dt)
    time, joints = run.stamp / 1e9, run.actuators['joints']
    i, j = np.searchsorted(time, [1.5 - 1e-9, 2.5 - 1e-9])
    np.testing.assert_allclose(joints[j] - joints[i], [0.05, -0.4], rtol=0.01)
    k, m = np.searchsorted(time, [3.8 - 1e-9, 3.9 - 1e-9])
    assert joints[m, 1] == pytest.approx(joints[k, 1], abs=2e-3)  # stands
    assert joints[m, 0] - joints[k, 0] == pytest.approx(0.005, rel=0.01)  # goes on
    assert joints[-1] == pytest.approx([0.3, 0.2], abs=2e-3)  # at its stop, at its position


def test_a_rate_of_a_vehicle_without_joints_is_refused():
    play = parse_scenario(
        'duration: 1\nsegments: [{at: 0, axes: {}, joint_rates: {battery_slide: 0.01}}]', 'r'
    )
    with pytest.raises(ScenarioError, match='has no joint that moves; expected'):
        simulate(vehicle_of('simple_rov'), play, dt=0.02)


SLIDE = """duration: 1.5
initial: {position: [0, 0, -20]}
segments:
  - {at: 0.2, joint_rates: {battery_slide: 0.004, battery_turn: -0.08}}
  - {at: 0.9, joints: {battery_turn: 0.1}}
"""


@pytest.mark.long
def test_the_compiled_engine_has_the_same_run():
    pytest.importorskip('jax')
    from marine_sim_ros.engine.compiled import simulate_compiled

    play = parse_scenario(SLIDE, 'slide')
    run = simulate(vehicle_of('glider'), play, dt=0.02)
    found, _ = simulate_compiled(vehicle_of('glider'), play, dt=0.02)
    np.testing.assert_allclose(found.position, run.position, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.velocity, run.velocity, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.actuators['joints'], run.actuators['joints'], atol=1e-12)


@pytest.mark.ros
def test_the_graph_is_the_simulation(processes, tmp_path):
    (tmp_path / 'slide.yaml').write_text(SLIDE)
    run_everywhere(processes, tmp_path, 'glider', '--scenario', tmp_path / 'slide.yaml')
