# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Vehicles of MuJoCo: masses, drag and thrust against MuJoCo's own numbers."""

import numpy as np
import pytest
from foreign import imported

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.physics.drag import drag

mujoco = pytest.importorskip('mujoco')

BODY = """<body name="hull" pos="0 0 -3" gravcomp="1.02"><freejoint/>
<geom name="shell" {geom} density="500"/>
<site name="stern" pos="-0.5 0.1 0" euler="0 0 30"/><site name="bow" pos="0.4 0 0" zaxis="0 1 0"/>
<body name="forearm" pos="0.5 0 0"><joint name="elbow" axis="0 1 0" range="-90 45"/>
<geom type="capsule" size="0.02" fromto="0 0 0 0.2 0 0"/></body></body>"""
ELLIPSOID = 'type="ellipsoid" size="0.5 0.15 0.1" fluidshape="ellipsoid"'
BOX = 'type="box" size="0.4 0.2 0.1"'


def mjcf(geom=ELLIPSOID, inside='', medium='density="1025" viscosity="0.001"'):
    return (
        f'<mujoco model="rov"><compiler angle="degree"/><option {medium}/><worldbody>'
        f'{BODY.format(geom=geom)}</worldbody>{inside}</mujoco>'
    )


@pytest.fixture
def read(tmp_path):
    return lambda text: imported(tmp_path, text, '.xml')


def passive(text, velocity):
    """Return MuJoCo's fluid force on the hull at a velocity (6,), level."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:7] = [0, 0, 0, 1, 0, 0, 0]
    data.qvel[:6] = velocity
    mujoco.mj_forward(model, data)
    still = mujoco.MjData(model)
    still.qpos[:7] = data.qpos[:7]
    mujoco.mj_forward(model, still)
    return data.qfrc_passive[:6] - still.qfrc_passive[:6]


@pytest.mark.parametrize('geom', [ELLIPSOID, BOX])
@pytest.mark.parametrize('axis', range(6))
def test_drag_is_that_of_mujoco_at_speeds_that_were_not_asked_for(read, geom, axis):
    _, vehicle = read(mjcf(geom))
    for speed in (0.3, 3.5):
        velocity = speed * np.eye(6)[axis]
        state = State(np.array([0, 0, -50.0]), np.array([0, 0, 0, 1.0]), velocity)
        ours = np.asarray(drag(vehicle, state, Environment()))[axis]
        assert ours == pytest.approx(passive(mjcf(geom), velocity)[axis], rel=0.02)


def test_mass_inertia_and_what_gravcomp_carries_are_mujocos(read):
    description, vehicle = read(mjcf())
    hull = 4 / 3 * np.pi * 0.5 * 0.15 * 0.1 * 500
    arm = 1000 * np.pi * 0.02**2 * (0.2 + 4 / 3 * 0.02)
    assert vehicle.inertia.mass == pytest.approx(hull + arm)
    displaced = vehicle.buoyancy.volume * vehicle.buoyancy.fluid_density
    assert displaced == pytest.approx(1.02 * hull)
    joint = description.joints['elbow']
    assert (joint.kind, joint.axis) == ('revolute', (0.0, 1.0, 0.0))
    assert (joint.lower, joint.upper) == pytest.approx((-np.pi / 2, np.pi / 4))


def test_motors_on_sites_push_along_their_gear(read):
    actuators = """<actuator><motor name="t1" site="stern" gear="40 0 0 0 0 0"
ctrllimited="true" ctrlrange="-1 0.5"/><general name="t2" site="bow" gear="0 0 1 0 0 0"
gainprm="2" ctrllimited="true" ctrlrange="-20 30" forcelimited="true" forcerange="-25 50"/>
<position name="servo" joint="elbow"/><motor name="odd" joint="elbow"/></actuator>"""
    description, vehicle = read(mjcf(inside=actuators))
    ends = np.asarray(vehicle.thrusters.thrust_of_pwm(np.full(2, 1900.0)))
    np.testing.assert_allclose(ends, [20.0, 50.0])
    ends = np.asarray(vehicle.thrusters.thrust_of_pwm(np.full(2, 1100.0)))
    np.testing.assert_allclose(ends, [-40.0, -25.0])
    turn = np.radians(30)
    axes = [[np.cos(turn), np.sin(turn), 0], [0, 1, 0]]
    np.testing.assert_allclose(vehicle.thrusters.axis, axes, atol=1e-9)
    assert sum('its gains are not read' in text for text in description.dropped) == 2
    assert any("'elbow' follows joint_commands" in text for text in description.assumptions)


def test_a_planar_vehicle_is_free_and_has_the_drag_of_a_free_one(read):
    slides = ''.join(
        f'<joint name="{n}" type="{k}" axis="{a}"/>'
        for n, k, a in (('x', 'slide', '1 0 0'), ('y', 'slide', '0 1 0'), ('t', 'hinge', '0 0 1'))
    )
    motors = '<actuator><motor name="yaw" joint="t"/></actuator>'
    description, planar = read(mjcf(BOX, inside=motors).replace('<freejoint/>', slides))
    _, free = read(mjcf(BOX))
    np.testing.assert_allclose(planar.damping.quadratic, free.damping.quadratic)
    assert any('3 joints: t, x, y' in text for text in description.assumptions)
    assert any("actuator 'yaw' of its joints" in text for text in description.assumptions)


def test_a_mesh_that_is_not_there_is_left_out_where_the_mass_is_given(read):
    assets = (
        '<asset><mesh name="skin" file="gone.obj"/><texture name="t" type="2d" file="gone.png"/>'
        '<material name="m" texture="t"/></asset>'
    )
    skin = '<geom name="s" type="mesh" mesh="skin" material="m" {}/></body></worldbody>'
    text = mjcf(BOX, inside=assets)
    description, vehicle = read(text.replace('</body></worldbody>', skin.format('mass="0.25"'), 1))
    _, plain = read(mjcf(BOX))
    assert vehicle.inertia.mass == pytest.approx(plain.inertia.mass + 0.25)
    assert any('gone.obj is not there' in text for text in description.assumptions)
    with pytest.raises(ModelError, match=r'MuJoCo: .*gone\.obj'):
        read(text.replace('</body></worldbody>', skin.format(''), 1))


def test_what_cannot_be_read_is_one_line(read, tmp_path):
    with pytest.raises(ModelError, match='MuJoCo: XML Error'):
        read('<mujoco><worldbody><body><geom type="blob"/></body></worldbody></mujoco>')
    with pytest.raises(ModelError, match='0 bodies with a <freejoint>'):
        read('<mujoco><worldbody><geom type="sphere" size="1"/></worldbody></mujoco>')
    outside = tmp_path.parent / 'outside.stl'
    outside.write_text('solid x\nendsolid x\n')
    mesh = '<asset><mesh name="m" file="../outside.stl"/></asset>'
    with pytest.raises(ModelError, match='outside the folder of the description'):
        read(mjcf(inside=mesh))
    (tmp_path / 'a.xml').write_text('<mujocoinclude><include file="b.xml"/></mujocoinclude>')
    (tmp_path / 'b.xml').write_text('<mujocoinclude><include file="a.xml"/></mujocoinclude>')
    with pytest.raises(ModelError, match='names more than 200 files'):
        read(mjcf(inside='<include file="a.xml"/>'))


def test_an_inertia_beyond_all_numbers_is_one_line(read):
    huge = mjcf(medium='density=""').replace('fromto="0 0 0 ', 'fromto="7e102 0 0 ')
    with pytest.raises(ModelError, match="inertia of link 'forearm' is too large for a number"):
        read(huge)


def test_a_source_without_water_gets_drag_of_its_hull_and_says_so(read):
    description, vehicle = read(mjcf(BOX, medium='density="0"').replace('gravcomp="1.02"', ''))
    assert description.estimated
    assert vehicle.damping.quadratic[0, 0] > 0


def test_a_warning_of_mujoco_is_told_once_in_our_words(read, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    inside = '<custom><numeric name="x" data="nan"/><numeric name="y" data="nan"/></custom>'
    description, _ = read(mjcf(inside=inside))
    assert [t for t in description.assumptions if 'MuJoCo warns' in t]
    captured = capfd.readouterr()
    assert not captured.err
    assert not captured.out
    assert not (tmp_path / 'MUJOCO_LOG.TXT').exists()


NED = """<mujoco><option gravity="0 0 {g}"/><worldbody><body name="hull" {turn}><freejoint/>
<inertial pos="0.03 0 {low}" mass="11" diaginertia="0.3 0.6 0.5"/>
<geom type="box" size="0.3 0.2 0.1" pos="0 0.04 0" mass="0"/>
<site name="t" pos="0.1 -0.2 0.07"/></body></worldbody>
<actuator><motor site="t" gear="30 10 20 0 0 0" ctrlrange="-1 1"/></actuator></mujoco>"""
FRD = {'g': 9.81, 'low': 0.02, 'turn': ''}


@pytest.mark.parametrize('changes', [{}, {'g': -9.81, 'turn': 'quat="0 1 0 0"'}])
def test_a_body_with_z_down_is_turned_over(read, changes):
    description, vehicle = read(NED.format(**FRD | changes))
    assert any('half a turn about x' in text for text in description.assumptions)
    np.testing.assert_allclose(vehicle.inertia.center_of_mass, [0.03, 0, -0.02], atol=1e-9)
    np.testing.assert_allclose(vehicle.thrusters.position, [[0.1, 0.2, -0.07]], atol=1e-9)
    axis = np.array([30, -10, -20]) / np.sqrt(1400)
    np.testing.assert_allclose(vehicle.thrusters.axis, [axis], atol=1e-9)
    (shape,) = description.links['hull'].visuals
    np.testing.assert_allclose(shape.pose.translation, [0, -0.04, 0], atol=1e-9)


def test_a_body_that_lies_on_its_side_gets_the_axes_of_the_world(read):
    text = NED.format(
        **FRD | {'g': -9.81, 'turn': 'quat="0.7071067811865476 0.7071067811865476 0 0"'}
    )
    _, vehicle = read(text)  # y of the body is up
    np.testing.assert_allclose(vehicle.inertia.center_of_mass, [0.03, -0.02, 0], atol=1e-9)
    sideways = NED.format(**FRD).replace('0 0 9.81', '0 -9.81 0')  # a world with y up
    np.testing.assert_allclose(
        read(sideways)[1].inertia.center_of_mass, [0.03, -0.02, 0], atol=1e-9
    )


def test_an_upright_body_keeps_its_axes(read):
    description, vehicle = read(NED.format(**FRD | {'g': -9.81, 'turn': 'euler="8 0 0"'}))
    assert not any('its z axis' in text for text in description.assumptions)
    np.testing.assert_allclose(vehicle.inertia.center_of_mass, [0.03, 0, 0.02], atol=1e-9)


@pytest.mark.parametrize('gravity', [-9.81, 9.81])
def test_drag_and_virtual_mass_of_shapes_beside_the_origin(read, gravity):
    """M₂₆ = m_y x, M₆₆ = I_z + m_y x² of an ellipsoid at x; a second one on a link counts too."""
    shape = '<geom type="ellipsoid" size="0.3 0.1 0.1" density="1000" fluidshape="ellipsoid" {}/>'
    text = (
        f'<mujoco><option gravity="0 0 {gravity}" density="1000" viscosity="0"/><worldbody>'
        f'<body name="hull"><freejoint/>{shape.format("")}<body name="pod" pos="0.5 0 0">'
        f'{shape.format("")}</body></body></worldbody></mujoco>'
    )
    own = mujoco.MjModel.from_xml_string(text).geom_fluid[0, 6:12] * 1000
    description, _ = read(text)
    added = description.hydrodynamics.added_mass.value
    np.testing.assert_allclose(np.diag(added)[:3], 2 * own[:3])
    assert added[1, 5] == pytest.approx(own[1] * 0.5)
    assert added[5, 5] == pytest.approx(2 * own[5] + own[1] * 0.25)
    assert added[2, 4] == pytest.approx(-own[2] * 0.5)


def test_springs_of_joints_are_named(read):
    text = mjcf().replace('"elbow"', '"elbow" damping="0.4"')
    description, _ = read(text)
    assert any("joint 'elbow': its stiffness and damping" in line for line in description.dropped)


@pytest.mark.parametrize('medium', ['', 'density="1.2" viscosity="1.8e-5"'])
def test_without_water_the_damping_of_its_joint_and_gravcomp_stay(read, medium):
    text = (
        f'<mujoco><option {medium}/><worldbody><body name="hull" gravcomp="1.02">'
        '<joint type="free" damping="12"/><geom type="box" size="0.3 0.2 0.1" mass="20"/>'
        '</body></worldbody></mujoco>'
    )
    description, vehicle = read(text)
    np.testing.assert_allclose(description.hydrodynamics.linear.value, 12 * np.eye(6))
    np.testing.assert_allclose(description.hydrodynamics.quadratic.value, 0, atol=1e-12)
    assert vehicle.buoyancy.fluid_density == 1000
    assert vehicle.buoyancy.volume == pytest.approx(0.0204)
