# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""An arm that moves by efforts with the conserving integrator, in the steps that nodes make."""

import numpy as np
import pytest
from arm_vehicles import WATER, two_links
from graph import recorded, run_everywhere
from hypothesis import given, settings
from hypothesis import strategies as st
from test_arm_motion import floating_arm, pushed
from test_articulated import momentum_and_energy, started

from marine_sim_ros.core.spatial import rotation_vector
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.physics.arm.chain import generalized_mass, kinetic_energy_gradient, make_chain
from marine_sim_ros.physics.arm.links import link_poses
from marine_sim_ros.physics.arm.manipulator import JointMotion
from marine_sim_ros.sim.simulation import Simulation

NOTHING = Environment(gravity=1e-15, water_density=1e-15)
MOVING = [0.1, -0.2, 0.05, 0.2, -0.1, 0.3]
"""Velocity of a vehicle that tumbles."""


def floating(vehicle, *, dt=0.005, rate=(0.8, -1.1)):
    return started(
        vehicle,
        [0.3, -0.4],
        rate,
        dt=dt,
        environment=NOTHING,
        velocity=MOVING,
        integrator='conserving',
    )


def lost(vehicle, ticks):
    """Return how much of momentum and energy is lost at most, relative to what there is."""
    kept = [momentum_and_energy(vehicle, t.state, t.joints) for t in ticks]
    momentum, energy = (np.array(x) for x in zip(*kept, strict=True))
    apart = np.abs(momentum - momentum[0]).max(axis=0)
    sizes = [np.linalg.norm(momentum[0, part]) for part in (slice(3), slice(3, 6))]
    return max(apart[:3].max() / sizes[0], apart[3:].max() / sizes[1]), np.abs(
        energy / energy[0] - 1
    ).max()


@pytest.mark.long
@pytest.mark.parametrize('seconds', [5, 60])
@pytest.mark.parametrize('water', ['', WATER.format(drag='')], ids=['dry', 'wet'])
def test_momentum_and_energy_stay(water, seconds):
    """At 5 ms; with added mass on the links, too. The first tick does not know its step."""
    vehicle = two_links(water=water)
    simulation = floating(vehicle)
    ticks = [simulation.tick(np.zeros(0)) for _ in range(seconds * 200 + 1)]
    momentum, energy = lost(vehicle, ticks[1::10])
    assert momentum < 1e-9
    assert energy < 1e-9
    turned = np.array([t.joints.position for t in ticks])
    assert np.all(np.ptp(turned, axis=0) > 1)


@pytest.mark.parametrize('kinds', [('prismatic', 'revolute'), ('revolute', 'prismatic')])
def test_joints_that_slide_keep_them_too(kinds):
    vehicle = two_links(kinds=kinds)
    simulation = floating(vehicle, rate=(0.1, -0.2))
    momentum, energy = lost(vehicle, [simulation.tick(np.zeros(0)) for _ in range(400)][1:])
    assert momentum < 1e-11
    assert energy < 1e-11


def test_what_happens_within_the_arm_leaves_the_momentum():
    """Drives, friction and stops: momentum stays, and energy that is not given does not grow."""
    vehicle = two_links(gear={'effort': 5.0, 'damping': 0.1, 'friction': 0.05, 'limit': 0.6})
    simulation = floating(vehicle)
    ticks = [
        simulation.tick(np.zeros(0), {'joint_efforts': pushed(k * 0.005)}) for k in range(300)
    ]
    assert lost(vehicle, ticks[1:])[0] < 1e-11
    assert np.abs([t.joints.position for t in ticks]).max() == pytest.approx(0.6)
    simulation = floating(vehicle)
    ticks = [simulation.tick(np.zeros(0), {'joint_efforts': np.zeros(2)}) for _ in range(300)][1:]
    energy = np.array([momentum_and_energy(vehicle, t.state, t.joints)[1] for t in ticks])
    assert np.diff(energy).max() < 1e-12
    assert energy[-1] < 0.99 * energy[0]


@pytest.mark.long
def test_it_comes_where_the_equations_lead_with_the_second_order_of_the_step():
    vehicle = two_links()
    errors = []
    for dt in (0.01, 0.005):
        simulation = floating(vehicle, dt=dt)
        ticks = [simulation.tick(np.zeros(0)) for _ in range(round(1.0 / dt) + 2)]
        begin, end = ticks[1], ticks[-1]
        y = np.concatenate(
            [*begin.state[:2], begin.joints.position, begin.state.velocity, begin.joints.rate]
        )
        exact = floating_arm(vehicle, y, 1.0)
        errors.append(
            [
                np.abs(end.state.position - exact[:3]).max(),
                np.abs(rotation_vector(end.state.orientation, exact[3:7])).max(),
                np.abs(end.joints.position - exact[7:9]).max(),
                np.abs(end.state.velocity - exact[9:15]).max(),
            ]
        )
    coarse, fine = np.array(errors)
    assert np.all(fine < 1e-4)
    assert np.all(coarse / fine > 3.5)
    assert np.all(coarse / fine < 4.5)


@given(st.integers(0, 2**31))
@settings(max_examples=25, deadline=None)
def test_the_slope_is_the_difference_of_the_energy(seed):
    """½ u·(𝓜(q + ε) − 𝓜(q − ε)) w / 2ε, joint by joint."""
    rng = np.random.default_rng(seed)
    vehicle = two_links(water=WATER.format(drag=''))
    arm, position = vehicle.manipulator, rng.uniform(-2, 2, 2)
    inertia = arm.link_mass + arm.joint_dynamics.added_mass
    u, w = rng.normal(size=(2, 8))

    def mass(q):
        return generalized_mass(make_chain(arm, *link_poses(arm, q)[:2]), arm.body.matrix, inertia)

    h = 1e-5
    differences = [
        u @ (mass(position + e) - mass(position - e)) @ w / 4 / h for e in h * np.eye(2)
    ]
    found = kinetic_energy_gradient(make_chain(arm, *link_poses(arm, position)[:2]), inertia, u, w)
    assert found == pytest.approx(differences, rel=1e-7, abs=1e-8)


THRUSTER = """<thrusters><thruster name="aside" direction="cw"><origin xyz="-0.2 0.3 0.1"/>
  <linear pos_force="40" neg_force="40" dead_zone="25"/></thruster></thrusters>"""
FLOATS = (
    '<buoyancy link="{}"><volume>{}</volume><center_of_volume>{}</center_of_volume></buoyancy>'
)
NEUTRAL = ''.join(
    FLOATS.format(link, mass / 1000, place)
    for link, mass, place in (
        ('base_link', 10.0, '0.02 0 0.03'),
        ('upper', 3.0, '0.2 0.01 -0.02'),
        ('lower', 2.0, '0.2 0.01 -0.02'),
    )
)
"""Each body floats where it is; without added mass and drag, water does nothing else."""
SCENARIO = """
duration: 5.0
initial: {position: [0, 0, -10]}
segments:
  - {at: 0.0, pwm: [1900], joint_efforts: {upper_joint: 2, lower_joint: -1}}
  - {at: 0.3, pwm: [1500], joint_efforts: {upper_joint: 0, lower_joint: 0}}
"""


@pytest.mark.ros
def test_nodes_keep_momentum_and_energy(processes, tmp_path):
    """A thruster and the drives set it going; from then on all it has stays. One hash."""
    vehicle = two_links(gear={'effort': 5.0}, volume=THRUSTER + NEUTRAL)
    urdf, scenario = tmp_path / 'probe.urdf', tmp_path / 'go.yaml'
    urdf.write_text(vehicle.urdf)
    scenario.write_text(SCENARIO)
    options = ('--scenario', scenario, '--integrator', 'conserving')
    run_everywhere(processes, tmp_path, urdf, *options, dt=0.01)
    told = recorded(tmp_path / 'composed')
    kept = []
    for stamp, odom in told['odom'].items():
        if stamp > 4 * 10**9:  # the thruster runs down
            pose, twist = odom.pose.pose, odom.twist.twist
            place, turn = pose.position, pose.orientation
            state = State(
                np.array([place.x, place.y, place.z]),
                np.array([turn.x, turn.y, turn.z, turn.w]),
                np.array(
                    [
                        *(getattr(twist.linear, a) for a in 'xyz'),
                        *(getattr(twist.angular, a) for a in 'xyz'),
                    ]
                ),
            )
            joints = told['joint_states'][stamp]
            joints = JointMotion(np.array(joints.position), np.array(joints.velocity))
            kept.append(momentum_and_energy(vehicle, state, joints))
    momentum, energy = (np.array(x) for x in zip(*kept, strict=True))
    assert len(energy) > 90
    assert np.linalg.norm(momentum[0]) > 5
    assert np.abs(momentum - momentum[0]).max() < 1e-9
    assert np.abs(energy / energy[0] - 1).max() < 1e-9


def test_a_fixed_base_keeps_the_energy():
    vehicle = two_links()
    text = vehicle.urdf.replace('dynamics="articulated"', 'dynamics="articulated" base="fixed"')
    from marine_sim_ros import load_vehicle

    fixed = load_vehicle(text)
    simulation = Simulation(
        fixed,
        initial=State(np.zeros(3), np.array([0.0, 0, 0, 1]), np.zeros(6)),
        environment=NOTHING,
        integrator='conserving',
    )
    joints = JointMotion(np.array([0.3, -0.4]), np.array([0.8, -1.1]))
    simulation._memory = simulation._memory._replace(joints=joints)
    ticks = [simulation.tick(np.zeros(0)) for _ in range(400)]
    assert lost(fixed, ticks[2:])[1] < 1e-11
    assert np.abs(ticks[-1].state.velocity).max() < 1e-12
    assert np.ptp([t.joints.position[1] for t in ticks]) > 1
