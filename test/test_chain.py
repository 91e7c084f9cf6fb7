# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Equations of vehicle and arm: against Pinocchio, against the power of Lagrange's equations."""

import numpy as np
import pytest
from arm_vehicles import WATER, angles, two_links

from marine_sim_ros.core.spatial import momentum_rate
from marine_sim_ros.physics.arm.chain import bias_forces, generalized_mass, link_twists, make_chain
from marine_sim_ros.physics.arm.links import link_poses
from marine_sim_ros.physics.arm.manipulator import arm_inertia, arm_momentum

KINDS = [('revolute', 'revolute'), ('prismatic', 'revolute'), ('revolute', 'prismatic')]


def parts(vehicle, q, added=False):
    arm = vehicle.manipulator
    chain = make_chain(arm, *link_poses(arm, q)[:2])
    inertia = arm.link_mass + (arm.joint_dynamics.added_mass if added else 0)
    return chain, arm.body.matrix, inertia


@pytest.mark.parametrize('kinds', KINDS)
def test_mass_and_momentum_are_those_of_the_kinematic_arm(kinds):
    vehicle = two_links(kinds=kinds)
    q, rate, _ = angles(1)
    chain, base, inertia = parts(vehicle, q)
    mass = generalized_mass(chain, base, inertia)
    poses = link_poses(vehicle.manipulator, q)
    together, _ = arm_inertia(vehicle.manipulator, poses)
    assert mass[:6, :6] == pytest.approx(together.matrix, abs=1e-12)
    assert mass[:6, 6:] @ rate == pytest.approx(
        arm_momentum(vehicle.manipulator, rate, poses), abs=1e-12
    )


@pytest.mark.parametrize('kinds', KINDS)
@pytest.mark.parametrize('seed', range(3))
def test_links_add_nothing_to_the_work_of_the_forces(seed, kinds):
    # d/dt(½ uᵀ 𝓜 u) = uᵀ Q for any Q: with 𝓜 u̇ + 𝓑 = Q, ½ uᵀ 𝓜̇ u = uᵀ 𝓑, added mass or not.
    vehicle = two_links(water=WATER.format(drag=''), kinds=kinds)
    q, rate, velocity = angles(seed)
    u, h = np.concatenate([velocity, rate]), 1e-6
    after, before = (generalized_mass(*parts(vehicle, q + s * rate, True)) for s in (h, -h))
    power = u @ (after - before) @ u / (4 * h)
    chain, base, inertia = parts(vehicle, q, True)
    assert u @ bias_forces(chain, base, inertia, velocity, rate) == pytest.approx(power, abs=1e-7)
    assert abs(power) > 1e-3


@pytest.mark.parametrize('kinds', KINDS)
def test_forces_of_the_base_are_the_rate_of_the_whole_momentum(kinds):
    # [dP/dt + ν ×* P]: the balance of momentum in turning axes, with added mass that is no body's.
    vehicle = two_links(water=WATER.format(drag=''), kinds=kinds)
    q, rate, velocity = angles(4)
    u, h = np.concatenate([velocity, rate]), 1e-6
    after, before = (generalized_mass(*parts(vehicle, q + s * rate, True)) for s in (h, -h))
    chain, base, inertia = parts(vehicle, q, True)
    momentum = (generalized_mass(chain, base, inertia) @ u)[:6]
    expected = ((after - before) @ u)[:6] / (2 * h) + momentum_rate(velocity, momentum)
    found = bias_forces(chain, base, inertia, velocity, rate)[:6]
    assert found == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize('seed', range(3))
def test_efforts_follow_from_lagrange(seed):
    # Row j: d/dt(∂T/∂q̇_j) − ∂T/∂q_j with T = ½ uᵀ 𝓜(q) u, at u̇ = 0; ν is of the moving axes.
    vehicle = two_links(water=WATER.format(drag=''))
    q, rate, velocity = angles(seed)
    u, h = np.concatenate([velocity, rate]), 1e-6

    def mass(q):
        return generalized_mass(*parts(vehicle, q, True))

    change = ((mass(q + h * rate) - mass(q - h * rate)) @ u)[6:] / (2 * h)
    slope = [u @ (mass(q + h * e) - mass(q - h * e)) @ u / (4 * h) for e in np.eye(2)]
    chain, base, inertia = parts(vehicle, q, True)
    found = bias_forces(chain, base, inertia, velocity, rate)[6:]
    assert found == pytest.approx(change - slope, abs=1e-7)


def test_twists_are_the_motion_of_points():
    vehicle = two_links()
    q, rate, _ = angles(5)
    arm, h = vehicle.manipulator, 1e-6
    there, back = (link_poses(arm, q + s * rate) for s in (h, -h))
    moved = (there.translation - back.translation) / (2 * h)
    poses = link_poses(arm, q)
    relative = link_twists(make_chain(arm, *poses[:2]), np.zeros(6), rate)
    spun = relative[:, :3] + np.cross(relative[:, 3:], poses.translation)
    assert spun == pytest.approx(moved, abs=1e-8)


@pytest.mark.parametrize('kinds', KINDS)
def test_pinocchio_finds_the_same_efforts_and_accelerations(kinds):
    pin = pytest.importorskip('pinocchio')
    vehicle = two_links(kinds=kinds)
    model = pin.buildModelFromXML(vehicle.urdf, pin.JointModelFreeFlyer())
    model.gravity.linear[:] = 0
    data = model.createData()
    for seed in range(5):
        q, rate, velocity = angles(seed)
        u = np.concatenate([velocity, rate])
        # Pinocchio's spatial acceleration of the free flyer is v̇ of components, as ours.
        acceleration = np.random.default_rng(seed).uniform(-3, 3, 8)
        configuration = np.concatenate([[0, 0, 0, 0, 0, 0, 1], q])
        expected = pin.rnea(model, data, configuration, u, acceleration)
        chain, base, inertia = parts(vehicle, q)
        mass, more = (
            generalized_mass(chain, base, inertia),
            bias_forces(chain, base, inertia, velocity, rate),
        )
        assert mass @ acceleration + more == pytest.approx(expected, abs=1e-10)
        found = np.linalg.solve(mass, expected - more)
        assert found == pytest.approx(pin.aba(model, data, configuration, u, expected), abs=1e-10)
