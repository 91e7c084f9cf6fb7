# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Motion of articulated arms against closed forms, conservation laws and MuJoCo."""

import numpy as np
import pytest
from arm_vehicles import two_links
from scipy.integrate import solve_ivp
from scipy.special import ellipk

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.physics.arm.chain import bias_forces, generalized_mass, make_chain
from marine_sim_ros.physics.arm.links import link_poses
from marine_sim_ros.physics.arm.manipulator import JointMotion
from marine_sim_ros.sim.simulation import Simulation

PENDULUM = """<robot name="pendulum">
  <link name="base_link"><inertial><mass value="50"/>
    <inertia ixx="2" ixy="0" ixz="0" iyy="2" iyz="0" izz="2"/></inertial></link>
  <link name="rod"><inertial><origin xyz="0.5 0 0"/><mass value="4"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="0.3"/></inertial></link>
  <joint name="hinge" type="revolute"><parent link="base_link"/><child link="rod"/>
    <axis xyz="0 1 0"/><limit lower="-3.1" upper="3.1" velocity="50" effort="{effort}"/></joint>
  <buoyancy link="rod"><volume>0.001</volume>
    <center_of_volume>0.45 0 0</center_of_volume></buoyancy>
  <manipulator dynamics="articulated" base="{base}">
    <link name="rod" xyz="0.5 0 0" added_mass="0 1.2 1.2 0 0.1 0.1" {drag}/>
  </manipulator></robot>"""
STEP = 0.005
WATER = Environment(water_density=1000)
VACUUM = Environment(gravity=1e-12, water_density=1e-9)
INERTIA = 0.3 + 4 * 0.5**2 + 0.1 + 1.2 * 0.5**2
STIFFNESS = (4 * 0.5 - 1000 * 0.001 * 0.45) * WATER.gravity


def swing(start, ticks, *, drag='', base='fixed'):
    """Return the angles of a pendulum from its rest, straight down, and the last output."""
    vehicle = load_vehicle(PENDULUM.format(drag=drag, base=base, effort=0))
    simulation = Simulation(
        vehicle, initial=state_at_rest((0, 0, -5.0)), environment=WATER, dt=STEP
    )
    joints = JointMotion(np.array([np.pi / 2 + start]), np.zeros(1))
    simulation._memory = simulation._memory._replace(joints=joints)
    outs = [simulation.tick(np.zeros(0)) for _ in range(ticks)]
    return np.array([o.joints.position[0] for o in outs]) - np.pi / 2, outs[-1]


@pytest.mark.long
@pytest.mark.parametrize('start', [0.05, 1.2])
def test_a_pendulum_under_water_has_its_period(start):
    """T = 4 √(I/k) K(sin²(θ₀/2)), I with added mass, k with buoyancy; its base does not move."""
    angle, last = swing(start, 1500)
    down = [
        i - 1 + angle[i - 1] / (angle[i - 1] - angle[i])
        for i in range(1, 1500)
        if angle[i - 1] > 0 >= angle[i]
    ]
    period = 4 * np.sqrt(INERTIA / STIFFNESS) * ellipk(np.sin(start / 2) ** 2)
    assert np.diff(down).mean() * STEP == pytest.approx(period, rel=2e-4)
    assert last.state.position == pytest.approx([0, 0, -5], abs=1e-3)
    assert last.state.velocity == pytest.approx(np.zeros(6), abs=1e-12)


def test_drag_damps_it_as_a_damped_oscillator():
    """ln(θ₀/θ₁) = δ T with δ = d/2I, ω = √(k/I − δ²)."""
    angle, _ = swing(0.05, 1000, drag='linear_damping="0 2 2 0 0.05 0.05"')
    peaks = [i for i in range(1, 999) if angle[i - 1] < angle[i] >= angle[i + 1]]
    decay = (0.05 + 2 * 0.5**2) / (2 * INERTIA)
    period = 2 * np.pi / np.sqrt(STIFFNESS / INERTIA - decay**2)
    assert np.log(angle[peaks[0]] / angle[peaks[1]]) == pytest.approx(decay * period, rel=0.01)


def links_of(vehicle, y):
    arm = vehicle.manipulator
    return make_chain(arm, *link_poses(arm, y[7:9])[:2]), arm.body.matrix, arm.link_mass


def floating_arm(vehicle, start, times):
    """Return y = (p, q, joints, u) at times, s, of the equations alone, by a method of order 8."""

    def derivative(_, y):
        chain, base, inertia = links_of(vehicle, y)
        u, q = y[9:], y[3:7] / np.linalg.norm(y[3:7])
        mass = generalized_mass(chain, base, inertia)
        change = np.linalg.solve(mass, -bias_forces(chain, base, inertia, u[:6], u[6:]))
        spin = u[3:6]
        turned = np.append(q[3] * spin + np.cross(q[:3], spin), -q[:3] @ spin) / 2
        return np.concatenate([rotation_matrix(q) @ u[:3], turned, u[6:], change])

    done = solve_ivp(
        derivative,
        (0, np.max(times)),
        start,
        method='DOP853',
        rtol=1e-12,
        atol=1e-13,
        t_eval=np.atleast_1d(times),
    )
    return done.y.T if np.ndim(times) else done.y[:, 0]


@pytest.mark.long
def test_momentum_and_energy_of_a_floating_arm_stay_in_vacuum():
    """The equations alone, by a method of order 8, over 60 s."""
    vehicle = two_links()

    def kept(y):
        u, turn = y[9:], rotation_matrix(y[3:7] / np.linalg.norm(y[3:7]))
        mass = generalized_mass(*links_of(vehicle, y))
        p, h = np.split((mass @ u)[:6], 2)
        moment = turn @ h + np.cross(y[:3], turn @ p)
        return np.concatenate([turn @ p, moment, [u @ mass @ u / 2]])

    start = np.concatenate(
        [[0, 0, -10, 0, 0, 0, 1], [0.3, -0.4], [0.1, -0.2, 0.05, 0.2, -0.1, 0.3, 0.8, -1.1]]
    )
    found = floating_arm(vehicle, start, np.linspace(0, 60, 61))
    values = np.array([kept(y) for y in found])
    assert np.abs(values - values[0]).max() < 1e-9
    assert np.ptp(found[:, 7]) > 1  # it does move


def pushed(time):
    """Return efforts of two joints, N·m."""
    return np.array([2.0, -1.0]) if time < 0.5 else np.array([-1.0, 1.5])


def in_mujoco(vehicle, duration):
    """Return angles, place and rotation after a time from rest, with MuJoCo reading the URDF."""
    mujoco = pytest.importorskip('mujoco')
    start, end = vehicle.urdf.index('<manipulator'), vehicle.urdf.index('</manipulator>')
    keep = '<mujoco><compiler fusestatic="false"/></mujoco>'
    spec = mujoco.MjSpec.from_string(
        vehicle.urdf[:start] + keep + vehicle.urdf[end + len('</manipulator>') :]
    )
    spec.body('base_link').add_freejoint()
    model = spec.compile()
    model.opt.gravity[:], model.opt.timestep = 0, 5e-4
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(model)
    for k in range(round(duration / 5e-4)):
        data.qfrc_applied[6:] = pushed(k * 5e-4)
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    return data.qpos[7:], data.body('base_link').xpos, data.body('base_link').xmat.reshape(3, 3)


@pytest.mark.long
def test_mujoco_has_the_same_reaction_of_a_swinging_arm():
    """Joints and vehicle from rest without water, while efforts change their sign."""
    vehicle = two_links(gear={'effort': 50.0})
    angle, place, turn = in_mujoco(vehicle, 1.0)
    errors = []
    for dt in (0.004, 0.002):
        state = State(np.zeros(3), np.array([0.0, 0, 0, 1]), np.zeros(6))
        simulation = Simulation(vehicle, initial=state, environment=VACUUM, dt=dt)
        for k in range(-1, round(1.0 / dt)):  # the first tick moves nothing
            simulation.tick(np.zeros(0), {'joint_efforts': pushed(k * dt)})
        out = simulation.tick(np.zeros(0))
        found = rotation_matrix(out.state.orientation)
        errors.append(
            [
                np.abs(out.joints.position - angle).max() / np.abs(angle).max(),
                np.abs(out.state.position - place).max() / np.abs(place).max(),
                np.abs(found - turn).max() / np.abs(turn - np.eye(3)).max(),
            ]
        )
    coarse, fine = np.array(errors)
    assert np.all(fine < 0.01)
    assert np.all(fine < 0.6 * coarse)  # of first order in the step
