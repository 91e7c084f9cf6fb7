# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The arm: kinematics against SciPy's rotations, mass against sums, reaction against Newton."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import ROOT, vehicle_of
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import rotation_matrix, rpy_from_quaternion
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.physics.arm.links import link_poses
from marine_sim_ros.physics.arm.manipulator import (
    JointMotion,
    arm_inertia,
    arm_momentum,
    joints_at_rest,
    move_joints,
    pose_vehicle,
)
from marine_sim_ros.sim.simulation import Simulation

ROV = vehicle_of('investigator90')
ARM = ROV.manipulator
STOWED = np.array([0, -np.pi / 2, np.radians(170), 0, 0, 0])
# Data of the arm: length, mass, litres, axis.
LINKS = (
    (0.10, 1.4, 0.70, 'z'),
    (0.25, 1.4, 0.80, 'y'),
    (0.25, 1.1, 0.65, 'y'),
    (0.15, 0.8, 0.40, 'x'),
    (0.10, 0.6, 0.30, 'y'),
    (0.15, 0.7, 0.35, 'x'),
)
angles = st.lists(st.floats(-3, 3), min_size=6, max_size=6).map(np.array)


def chain(q):
    """Base frames of the links by SciPy: (position, rotation) each."""
    at, turn, result = np.array([0.45, -0.15, -0.2]), Rotation.identity(), []
    for (length, _, _, axis), angle in zip(LINKS, q, strict=True):
        turn = turn * Rotation.from_euler(axis, angle)
        result.append((at, turn))
        at = at + turn.apply([length, 0, 0])
    return result


def bodies(q):
    """Mass, centre, tensor of every link and of the vehicle without them."""
    result = [(114.46, np.array([-0.0351, -0.0027, -0.0891]), ARM.body.tensor)]
    for (length, mass, litres, _), (at, turn) in zip(LINKS, chain(q), strict=True):
        r2 = litres / 1000 / (np.pi * length)
        side = mass * (3 * r2 + length**2) / 12
        own = turn.as_matrix() @ np.diag([mass * r2 / 2, side, side]) @ turn.as_matrix().T
        result.append((mass, at + turn.apply([length / 2, 0, 0]), own))
    return result


def trim(vehicle):
    offset = vehicle.buoyancy.center_of_volume - vehicle.inertia.center_of_mass
    return np.degrees(np.arctan2(-offset[0], np.hypot(offset[1], offset[2])))


def test_printed_data_of_the_arm():
    assert ARM.mass.sum() == pytest.approx(6.0)
    assert ARM.volume.sum() == pytest.approx(3.2e-3)
    radii = [np.sqrt(litres / 1000 / (np.pi * length)) for length, _, litres, _ in LINKS]
    assert radii == pytest.approx([0.0472, 0.0319, 0.0288, 0.0291, 0.0309, 0.0273], abs=5e-5)
    assert pytest.approx(26.656) == (6.0 - 1025 * 3.2e-3) * 9.8


@pytest.mark.parametrize(('q', 'pitch'), [(np.zeros(6), 6.229), (STOWED, 1.928)])
def test_trim_by_statics(q, pitch):
    assert trim(pose_vehicle(ROV, link_poses(ARM, q))) == pytest.approx(pitch, abs=5e-4)


@pytest.mark.long
@pytest.mark.parametrize('dynamics', ['kinematic', 'articulated'])
@pytest.mark.parametrize(('q', 'pitch'), [(np.zeros(6), 6.229), (STOWED, 1.928)])
def test_trim_where_it_comes_to_rest(q, pitch, dynamics):
    neutral = Environment(water_density=120.46 / 0.1362)
    rov = load_vehicle('investigator90', arm_dynamics=dynamics)
    calm = replace(rov, damping=replace(rov.damping, linear=40 * np.eye(6)))  # to settle sooner
    simulation = Simulation(calm, initial=state_at_rest((0, 0, -20)), environment=neutral, dt=0.02)
    for _ in range(3_000):
        simulation.tick(np.full(6, 1500.0), {'joints': q})
    found = np.degrees(rpy_from_quaternion(simulation.state.orientation)[1])
    assert found == pytest.approx(pitch, abs=0.1)


@given(angles)
def test_poses_are_those_of_scipy(q):
    poses = link_poses(ARM, q)
    for i, (at, turn) in enumerate(chain(q)):
        assert poses.translation[i] == pytest.approx(at, abs=1e-12)
        assert poses.rotation[i] == pytest.approx(turn.as_matrix(), abs=1e-12)


@given(angles)
def test_mass_is_the_sum_of_all_bodies(q):
    inertia, buoyancy = arm_inertia(ARM, link_poses(ARM, q))
    parts = bodies(q)
    total = sum(m for m, _, _ in parts)
    center = sum(m * c for m, c, _ in parts) / total
    tensor = sum(
        own + m * (np.dot(c - center, c - center) * np.eye(3) - np.outer(c - center, c - center))
        for m, c, own in parts
    )
    assert inertia.mass == pytest.approx(total)
    assert inertia.center_of_mass == pytest.approx(center, abs=1e-12)
    assert inertia.tensor == pytest.approx(tensor, abs=1e-9)
    # The trace of the pseudo-inertia is a sum of squares: no pose makes a body that cannot be.
    x, y, z = np.linalg.eigvalsh(inertia.tensor)
    assert x > 0
    assert x + y > z
    assert buoyancy.volume == pytest.approx(0.1362)


@given(angles, angles)
def test_momentum_is_the_change_of_all_centres(q, rate):
    found = arm_momentum(ARM, rate, link_poses(ARM, q))
    h = 1e-6
    before, after = bodies(q - h * rate), bodies(q + h * rate)
    linear = sum(m * (b - a) for (m, a, _), (_, b, _) in zip(before, after, strict=True)) / (2 * h)
    angular = 0
    here = bodies(q)
    turns = chain(q - h * rate), chain(q + h * rate)
    for i, (m, c, own) in enumerate(here[1:]):
        velocity = (after[i + 1][1] - before[i + 1][1]) / (2 * h)
        spin = (turns[1][i][1] * turns[0][i][1].inv()).as_rotvec() / (2 * h)
        angular = angular + np.cross(c, m * velocity) + own @ spin
    assert found[:3] == pytest.approx(linear, abs=1e-6)
    assert found[3:] == pytest.approx(angular, abs=1e-6)


def test_any_array_library_and_batches():
    xp = pytest.importorskip('array_api_strict')
    rng = np.random.default_rng(1)
    q, rate = rng.normal(0, 1, (2, 4, 6))
    poses = link_poses(ARM, q)
    single = link_poses(ARM, q[2])
    assert poses.translation[2] == pytest.approx(single.translation)
    momenta = arm_momentum(ARM, rate, poses)
    assert momenta[2] == pytest.approx(arm_momentum(ARM, rate[2], single))
    inertia = arm_inertia(ARM, poses)[0]
    assert inertia.tensor[2] == pytest.approx(arm_inertia(ARM, single)[0].tensor)
    strict = link_poses(ARM, xp.asarray(q))
    found = arm_momentum(ARM, xp.asarray(rate), strict)
    assert np.asarray(found) == pytest.approx(momenta)
    moved = move_joints(ARM, JointMotion(xp.asarray(q), xp.asarray(rate)), xp.asarray(rate), 0.01)
    expected = move_joints(ARM, JointMotion(q, rate), rate, 0.01)
    assert np.asarray(moved.position) == pytest.approx(expected.position)


def afloat_in_nothing():
    """The vehicle without water and gravity: only the arm acts on it."""
    zero = np.zeros((6, 6))
    bare = replace(ROV, damping=replace(ROV.damping, linear=zero, quadratic=zero, modulus=None))
    return Simulation(
        bare, environment=Environment(gravity=0.0), initial=state_at_rest((0, 0, -20))
    )


@pytest.mark.long
def test_momentum_and_centre_of_mass_stay_while_the_arm_swings():
    simulation = afloat_in_nothing()
    centers, momenta, energies = [], [], []
    target = np.array([1.2, -1.0, 2.0, 1.0, -0.8, 2.0])
    for k in range(4_000):
        tick = simulation.tick(np.full(6, 1500.0), {'joints': target if k > 200 else np.zeros(6)})
        state, joints = tick.state, tick.joints
        poses = link_poses(ARM, joints.position)
        body = pose_vehicle(ROV, poses)
        turn = rotation_matrix(state.orientation)
        centers.append(state.position + turn @ body.inertia.center_of_mass)
        h = body.rigid_body_mass @ state.velocity + arm_momentum(ARM, joints.rate, poses)
        momenta.append(turn @ h[:3])
        energies.append(0.5 * state.velocity @ body.rigid_body_mass @ state.velocity)
    # The reaction comes a tick late, so momentum is that of one tick of the arm's motion.
    assert np.max(np.abs(momenta)) < 0.15
    assert np.max(np.abs(momenta[-100:])) < 1e-3
    assert np.max(np.abs(np.array(centers) - centers[0])) < 2e-3
    assert max(energies) < 1.0
    assert energies[-1] < 1e-6
    turned = np.degrees(rpy_from_quaternion(simulation.state.orientation))
    assert np.max(np.abs(turned)) > 0.5  # the vehicle did turn under its arm


@pytest.mark.long
def test_energy_stays_bounded_while_the_arm_moves_at_random():
    rng = np.random.default_rng(4)
    simulation = Simulation(ROV, initial=state_at_rest((0, 0, -5)))
    target = np.zeros(6)
    for k in range(6_000):
        if k % 200 == 0:
            target = rng.uniform(ARM.lower, ARM.upper)
        tick = simulation.tick(
            np.array([1560.0, 1560, 1500, 1500, 1500, 1500]), {'joints': target}
        )
    energy = 0.5 * tick.state.velocity @ ROV.mass_matrix @ tick.state.velocity
    assert energy < 50
    assert abs(tick.state.position[2]) < 20


@given(
    st.lists(st.floats(-10, 10), min_size=6, max_size=6), st.floats(1e-4, 0.5), st.integers(1, 200)
)
def test_joints_keep_their_limits_and_never_overshoot(target, dt, steps):
    joints = joints_at_rest(ARM)
    wanted = np.clip(target, ARM.lower, ARM.upper)
    for _ in range(steps):
        joints = move_joints(ARM, joints, np.array(target), dt)
        assert np.all(joints.position >= ARM.lower)
        assert np.all(joints.position <= ARM.upper)
        assert np.all(np.abs(joints.rate) <= ARM.max_rate + 1e-12)
        assert np.all(np.abs(joints.position) <= np.abs(wanted) + 1e-3 + 0.1 * dt)


def test_joints_arrive():
    joints = joints_at_rest(ARM)
    for _ in range(4_000):
        joints = move_joints(ARM, joints, STOWED, 0.005)
    assert joints.position == pytest.approx(STOWED, abs=1e-9)
    assert joints.rate == pytest.approx(np.zeros(6), abs=1e-9)


def test_on_massless_and_off():
    bare, massless = (vehicle_of('investigator90', arm=a) for a in ('false', 'massless'))
    assert bare.manipulator is None
    assert bare.inertia.mass == massless.inertia.mass == 114.46
    assert massless.manipulator.mass.sum() == 0
    moved = pose_vehicle(massless, link_poses(massless.manipulator, STOWED))
    assert moved.inertia.tensor == pytest.approx(bare.inertia.tensor)
    assert trim(moved) == pytest.approx(-6.52, abs=5e-3)
    plain = vehicle_of('bluerov2')
    assert pose_vehicle(plain, None) is plain


SLIDE = """<robot name="r">
  <link name="base_link"><inertial><mass value="10"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="mast"><inertial><mass value="2"/>
    <inertia ixx=".1" ixy="0" ixz="0" iyy=".1" iyz="0" izz=".1"/></inertial></link>
  <link name="lamp"><inertial><origin xyz="0 0 .1"/><mass value="1"/>
    <inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>
  <joint name="hoist" type="prismatic"><parent link="base_link"/><child link="mast"/>
    <origin xyz=".5 0 0" rpy="0 0 1.5707963267948966"/><axis xyz="1 0 0"/>{limit}</joint>
  <joint name="bolt" type="fixed"><parent link="mast"/><child link="lamp"/></joint>
</robot>"""
LIMIT = '<limit lower="-1" upper="2" velocity="0.5" effort="10"/>'


def test_a_joint_that_slides():
    vehicle = load_vehicle(SLIDE.format(limit=LIMIT))
    arm = vehicle.manipulator
    assert arm.mass == pytest.approx([3.0])  # the lamp is bolted to the mast
    moved = pose_vehicle(vehicle, link_poses(arm, np.array([0.6]))).inertia
    assert moved.center_of_mass == pytest.approx([1.5 / 13, 3 * 0.6 / 13, 0.1 / 13])
    h = arm_momentum(arm, np.array([0.5]), link_poses(arm, np.array([0.6])))
    assert h == pytest.approx([0, 1.5, 0, -0.05, 0, 0.75])


@pytest.mark.parametrize('limit', ['', '<limit lower="1" upper="2" velocity="1" effort="1"/>'])
def test_a_joint_without_usable_limits_is_refused(limit):
    with pytest.raises(ModelError, match="joint 'hoist'"):
        load_vehicle(SLIDE.format(limit=limit))


def test_a_volume_of_an_unknown_link_is_refused():
    text = SLIDE.format(limit=LIMIT).replace(
        '</robot>', '<buoyancy link="hull"><volume>1</volume></buoyancy></robot>'
    )
    with pytest.raises(ModelError, match="link 'hull' is unknown"):
        load_vehicle(text)


ORCA3 = (ROOT / 'test' / 'data' / 'orca3.urdf').read_text(encoding='utf-8')
TILT = """<link name="eye"><inertial><mass value="0.1"/>
    <inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
  <joint name="tilt" type="revolute"><parent link="base_link"/><child link="eye"/>
    <origin xyz="0.2 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/></joint>"""
FLOATS = '<buoyancy link="mast"><volume>0.01</volume><height>0.3</height></buoyancy></robot>'


@pytest.mark.parametrize(
    'text',
    [
        ORCA3.replace('</robot>', TILT + '</robot>'),
        ORCA3.replace('</robot>', TILT + FLOATS.replace('mast', 'eye')),
        SLIDE.format(limit=LIMIT).replace('</robot>', FLOATS),
        SLIDE.format(limit=LIMIT),
        vehicle_of('investigator90').urdf,
    ],
    ids=['plugin', 'plugin and arm', 'arm alone', 'nothing', 'both'],
)
def test_with_joints_at_zero_nothing_changes(text):
    vehicle = load_vehicle(text)
    arm = vehicle.manipulator
    zero = pose_vehicle(vehicle, link_poses(arm, np.zeros(len(arm))))
    for name in ('volume', 'height', 'fluid_density'):
        assert getattr(zero.buoyancy, name) == pytest.approx(getattr(vehicle.buoyancy, name))
    if vehicle.buoyancy.volume:
        assert zero.buoyancy.center_of_volume == pytest.approx(vehicle.buoyancy.center_of_volume)
    assert zero.inertia.mass == pytest.approx(vehicle.inertia.mass)
    assert zero.inertia.tensor == pytest.approx(vehicle.inertia.tensor)


def test_a_hull_that_should_move_is_told():
    foam = (
        '<buoyancy_material name="foam"><density value="0.5"/></buoyancy_material>'
        '<link name="mast"><collision><geometry><box size="1 .1 .1"/></geometry>'
        '<buoyancy_material name="foam"/></collision>'
    )
    text = SLIDE.format(limit=LIMIT).replace('<link name="mast">', foam)
    (told,) = [w for w in load_vehicle(text).warnings if 'moves' in w]
    assert "link 'mast' moves" in told
    assert not vehicle_of('investigator90').warnings


@pytest.mark.parametrize('arguments', [{'arm': 'maybe'}, {'arm': 'False'}, {'inertia': 'printd'}])
def test_arguments_that_do_not_exist_are_refused(arguments):
    with pytest.raises(ModelError):
        vehicle_of('investigator90', **arguments)
