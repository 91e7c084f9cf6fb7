# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Vehicles of other simulators: each number is the source's, or a stated rule's."""

import numpy as np
import pytest
from conftest import ROOT
from foreign import INERTIA, SDF, STONEFISH, UUV, VRX, imported

from marine_sim_ros import load_scenario, load_vehicle, simulate
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.physics.fins import fin_wrench, fins_of
from marine_sim_ros.sdf.model import sdf_model


@pytest.fixture
def read(tmp_path):
    return lambda text, suffix='.sdf', **options: imported(tmp_path, text, suffix, **options)


def thrust(vehicle, pulse):
    return np.asarray(vehicle.thrusters.thrust_of_pwm(np.full(len(vehicle.thrusters), pulse)))


# Gazebo


def test_masses_and_volumes_of_a_model(read):
    _, vehicle = read(SDF)
    assert vehicle.inertia.mass == pytest.approx(10.01)
    assert vehicle.buoyancy.volume == pytest.approx(0.5 * 0.4 * 0.05)
    np.testing.assert_allclose(vehicle.buoyancy.center_of_volume, [0, 0, 0.05], atol=1e-12)
    assert vehicle.buoyancy.height == pytest.approx(0.05)
    assert vehicle.buoyancy.fluid_density == 1000


def test_every_name_of_hydrodynamics(read):
    description, vehicle = read(SDF)
    added = np.diag([5.0, 6, 7, 0, 0, 1])
    added[1, 5] = added[5, 1] = 0.5
    np.testing.assert_allclose(vehicle.added_mass, added)
    linear = np.diag([4.0, 1, 0, 0, 0, 1])
    linear[1, 5] = 0.2
    np.testing.assert_allclose(vehicle.damping.linear, linear)
    quadratic = np.diag([18.0, 8, 9, 0, 2, 0])
    quadratic[2, 1] = 0.7
    np.testing.assert_allclose(vehicle.damping.quadratic, quadratic)
    assert vehicle.damping.modulus[1, 5] == 3.0
    assert not any('three different' in text for text in description.dropped)


def test_couplings_that_would_add_energy_are_left_out_and_said(read):
    description, vehicle = read(SDF.replace('<yR>-0.2', '<yR>-2.2').replace('V>-0.7', 'V>-70'))
    assert vehicle.damping.linear[1, 5] == vehicle.damping.quadratic[2, 1] == 0
    assert vehicle.damping.linear[1, 1] == 1
    assert sum('would gain energy' in text for text in description.dropped) == 2


def test_a_term_of_three_axes_is_named(read):
    description, _ = read(SDF.replace('<xU>', '<xVabsR>-2</xVabsR><xU>'))
    assert any('xVabsR = -2' in text for text in description.dropped)


def test_positive_coefficients_are_taken_as_meant_and_said(read):
    text = SDF.replace('>-', '>')
    text = text.replace('<min_thrust_cmd>40', '<min_thrust_cmd>-40')
    text = text.replace('<pose>0.2 0.1', '<pose>-0.2 0.1')
    description, vehicle = read(text)
    assert vehicle.added_mass[0, 0] == 5.0
    assert vehicle.damping.linear[0, 0] == 4.0
    assert vehicle.damping.quadratic[0, 0] == 18.0
    assert sum('is positive' in text for text in description.assumptions) == 2


def test_a_thruster_pushes_along_its_joint(read):
    _, vehicle = read(SDF)
    np.testing.assert_allclose(vehicle.thrusters.position, [[-0.2, 0.1, 0]], atol=1e-12)
    np.testing.assert_allclose(vehicle.thrusters.axis, [[1, 0, 0]], atol=1e-9)
    assert thrust(vehicle, 1900.0) == pytest.approx([50.0])
    assert thrust(vehicle, 1100.0) == pytest.approx([-40.0])
    # T = C rho D^4 w |w|
    speed = np.sqrt(50 / (0.02 * 1000 * 0.1**4))
    assert vehicle.thrusters.speed_of_thrust(np.array([50.0])) == pytest.approx([speed])


@pytest.mark.filterwarnings('error::RuntimeWarning')
@pytest.mark.parametrize('axis', ['0 0 1e-200', '1.35e154 0 1', '0 -1e307 0'])
def test_a_joint_about_no_direction_is_one_line(read, axis):
    with pytest.raises(ModelError, match=r'<xyz>: is .*; expected a direction'):
        read(SDF.replace('<xyz>0 0 1</xyz>', f'<xyz>{axis}</xyz>'))


def test_a_propeller_that_would_turn_infinitely_fast_is_one_line(read):
    text = SDF.replace('<thrust_coefficient>0.02', '<thrust_coefficient>1e-310')
    with pytest.raises(ModelError, match='thrust_coefficient is 1e-310'):
        read(text)


def test_a_limit_that_is_missing_follows_a_rule(read):
    text = SDF.replace('<max_thrust_cmd>50</max_thrust_cmd>', '')
    description, vehicle = read(text)
    assert thrust(vehicle, 1900.0) == pytest.approx([0.1 * 10.01 * 9.80665], rel=1e-2)
    assert any('no largest thrust' in text for text in description.assumptions)
    assert thrust(read(text, max_thrust=33.0)[1], 1900.0) == pytest.approx([33.0])


CHANNEL = """<plugin name="ArduPilotPlugin" filename="libArduPilotPlugin.so">
<control channel="0"><jointName>shaft</jointName><type>COMMAND</type><offset>{}</offset>
<multiplier>{}</multiplier><servo_min>{}</servo_min><servo_max>{}</servo_max></control></plugin>
</model>"""


@pytest.mark.parametrize(
    ('offset', 'multiplier', 'ends', 'expected'),
    [
        (-0.5, 60, (1100, 1900), {1100: -30, 1500: 0, 1700: 15, 1900: 30}),
        (-0.25, 40, (1000, 2000), {1000: -10, 1250: 0, 2000: 30}),
        (0, 45, (1000, 2000), {1000: 0, 1500: 22.5, 2000: 45}),
    ],
)
def test_channels_of_ardupilot_give_the_thrust_of_a_pulse(
    read, offset, multiplier, ends, expected
):
    text = SDF.replace('</model>', CHANNEL.format(offset, multiplier, *ends))
    _, vehicle = read(text)
    for pulse, force in expected.items():
        assert thrust(vehicle, float(pulse)) == pytest.approx([force], abs=1e-6)


def test_a_channel_that_falls_turns_the_axis(read):
    _, vehicle = read(SDF.replace('</model>', CHANNEL.format(-0.5, -60, 1100, 1900)))
    np.testing.assert_allclose(vehicle.thrusters.axis, [[-1, 0, 0]], atol=1e-9)
    assert thrust(vehicle, 1900.0) == pytest.approx([30.0])


def test_poses_follow_frames_joints_and_nested_models(read):
    text = f"""<sdf version="1.10"><model name="m" canonical_link="hull"><pose>9 9 9 0 0 1</pose>
    <link name="hull"><inertial><mass>5</mass>{INERTIA}</inertial></link>
    <frame name="mast" attached_to="hull"><pose>0 0 1 0 0 1.5707963267948966</pose></frame>
    <link name="camera"><pose relative_to="mast">1 0 0 0 0 0</pose></link>
    <joint name="a" type="fixed"><parent>mast</parent><child>camera</child></joint>
    <model name="arm"><pose degrees="true">0 1 0 90 0 0</pose>
    <link name="tip"><pose>0 2 0 0 0 0</pose><inertial><mass>1</mass>{INERTIA}</inertial></link>
    </model>
    <joint name="b" type="revolute"><parent>hull</parent><child>arm::tip</child>
    <pose>0 -1 0 0 0 0</pose>
    <axis><xyz expressed_in="__model__">1 0 0</xyz>
    <limit><lower>-1</lower><upper>1</upper><velocity>2</velocity></limit></axis></joint>
    </model></sdf>"""
    _, vehicle = read(text)
    assert vehicle.base_link == 'hull'
    place = {f.name: f.translation for f in vehicle.frames}
    np.testing.assert_allclose(place['camera'], [0, 1, 1], atol=1e-9)
    np.testing.assert_allclose(place['arm/tip'], [0, 1, 2], atol=1e-9)
    arm = vehicle.manipulator
    assert arm.names == ('b',)
    np.testing.assert_allclose(arm.translation, [[0, 1, 1]], atol=1e-9)
    # 90 degrees about x: the axis of the joint, which has the child's axes, is x as well.
    np.testing.assert_allclose(arm.axis, [[1, 0, 0]], atol=1e-9)
    np.testing.assert_allclose(arm.max_rate, [2])


def test_what_export_sdf_writes_comes_back(read, tmp_path):
    vehicle = load_vehicle('bluerov2')
    model = sdf_model(vehicle, base=ROOT / 'urdf')
    _, back = read(model.text)
    np.testing.assert_allclose(back.mass_matrix, vehicle.mass_matrix, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(back.inertia.matrix, vehicle.inertia.matrix, rtol=1e-9, atol=1e-9)
    assert back.base_link == vehicle.base_link


def test_a_world_needs_a_name_where_it_has_several(read):
    one = SDF.partition('<sdf version="1.10">')[2].removesuffix('</sdf>\n')
    text = f"""<sdf version="1.10"><world name="w">{one}{one.replace('"rov"', '"other"')}
    <plugin filename="gz-sim-buoyancy-system" name="gz::sim::systems::Buoyancy">
    <uniform_fluid_density>1030</uniform_fluid_density></plugin></world></sdf>"""
    with pytest.raises(ModelError, match='2 models that move; expected one, chosen by --model'):
        read(text)
    description, vehicle = read(text, model='other')
    assert description.name == 'other'
    assert vehicle.buoyancy.fluid_density == 1030


def test_nothing_is_dropped_in_silence(read):
    more = '<plugin filename="libJets.so" name="Jets"/></model>'
    sensor = '<sensor name="cam" type="camera"/></link>'
    text = SDF.replace('</model>', more).replace('</link>', sensor, 1)
    description, _ = read(text)
    assert any('Jets (libJets.so): is not understood' in text for text in description.dropped)
    assert any("sensor 'cam' of type 'camera'" in text for text in description.dropped)


# UUV Simulator


def test_fossen_is_turned_from_ned(read):
    _, vehicle = read(UUV, '.urdf')
    assert vehicle.base_link == 'auv/base_link'
    assert vehicle.buoyancy.volume == 0.02
    assert vehicle.buoyancy.fluid_density == 1025
    assert vehicle.buoyancy.height == 0.25
    np.testing.assert_allclose(vehicle.buoyancy.center_of_volume, [0.1, 0.02, 0.03])
    flip = np.diag([1, -1, -1, 1, -1, -1])
    added = np.diag([1.0, 16, 16, 0.1, 5, 5])
    added[1, 5] = added[5, 1] = 2
    added[2, 4] = added[4, 2] = -3
    np.testing.assert_allclose(vehicle.added_mass, flip @ added @ flip)
    linear = np.diag([2.0, 23, 23, 0.3, 9, 9])
    linear[1, 5], linear[5, 1], linear[2, 4], linear[4, 2] = -11, 3, 11, -3
    np.testing.assert_allclose(vehicle.damping.linear, flip @ linear @ flip)
    np.testing.assert_allclose(np.diag(vehicle.damping.quadratic), [2.5, 80, 81, 0.1, 9, 9.5])


def test_neutral_links_displace_their_lumped_mass(read):
    text = UUV.replace('<volume>', '<neutrally_buoyant>1</neutrally_buoyant><volume>')
    _, vehicle = read(text.replace('"continuous"', '"fixed"'), '.urdf')
    assert vehicle.buoyancy.volume == pytest.approx(20.5 / 1025)


def test_a_uuv_thruster_has_its_lag_and_its_law(read):
    _, vehicle = read(UUV, '.urdf')
    # Its joint looks aft: the force of a positive command is along −x.
    np.testing.assert_allclose(vehicle.thrusters.axis, [[-1, 0, 0]], atol=1e-7)
    np.testing.assert_allclose(vehicle.thrusters.position, [[-0.5, 0, 0.1]])
    assert vehicle.thrusters.time_constant == pytest.approx([0.05])
    for pulse, command in ((1900, 100), (1700, 50), (1300, -50)):
        force = 0.002 * command * abs(command)
        assert thrust(vehicle, float(pulse)) == pytest.approx([force], rel=1e-9)


CONVERSIONS = {
    'Bessa': (
        """<type>Bessa</type><rotorConstantL>0.001</rotorConstantL>
<rotorConstantR>0.002</rotorConstantR><deltaL>-900</deltaL><deltaR>400</deltaR>""",
        {100: 0.002 * (10000 - 400), -100: -0.001 * (10000 - 900), 20: 0},
    ),
    'LinearInterp': (
        """<type>LinearInterp</type><inputValues>-100 0 50 100</inputValues>
<outputValues>-10 0 4 20</outputValues>""",
        {100: 20, 50: 4, 75: 12, -50: -5},
    ),
}


@pytest.mark.parametrize('name', CONVERSIONS)
def test_conversions_of_a_thruster(read, name):
    conversion, expected = CONVERSIONS[name]
    old = '<type>Basic</type><rotorConstant>0.002</rotorConstant>'
    _, vehicle = read(UUV.replace(old, conversion), '.urdf')
    for command, force in expected.items():
        assert thrust(vehicle, 1500.0 + 4 * command) == pytest.approx([force], abs=1e-9)


def shaped(kind):
    start = UUV.index('<hydrodynamic_model>')
    end = UUV.index('</hydrodynamic_model>')
    return UUV[:start] + f'<hydrodynamic_model>{kind}' + UUV[end:]


def test_models_by_shape(read):
    rho = 1025.0
    _, ball = read(shaped('<type>sphere</type><radius>0.2</radius>'), '.urdf')
    assert ball.added_mass[1, 1] == pytest.approx(2 / 3 * rho * np.pi * 0.2**3)
    assert ball.damping.quadratic[2, 2] == pytest.approx(0.5 * rho * 0.5 * np.pi * 0.2**2)
    tube = '<type>cylinder</type><radius>0.1</radius><length>1</length><axis>i</axis>'
    _, tube = read(shaped(tube), '.urdf')
    assert tube.added_mass[1, 1] == pytest.approx(rho * np.pi * 0.01)
    assert tube.added_mass[4, 4] == pytest.approx(rho * np.pi * 0.01 / 12)
    assert tube.damping.quadratic[1, 1] == pytest.approx(0.5 * 0.74 * 0.1 * rho)
    assert tube.damping.quadratic[0, 0] == pytest.approx(0.5 * 0.99 * np.pi * 0.01 * rho)
    _, crate = read(shaped('<type>box</type>'), '.urdf')
    assert crate.damping.quadratic[0, 0] == pytest.approx(0.5 * rho * 0.2 * 0.25)


def test_a_spheroid_has_lambs_added_mass(read):
    from marine_sim_ros.model.added_mass import ellipsoid_added_mass

    text = shaped('<type>spheroid</type><radius>0.1</radius><length>1</length>')
    _, vehicle = read(text, '.urdf')
    expected = ellipsoid_added_mass(np.array([0.5, 0.1, 0.1]), 1025.0)
    np.testing.assert_allclose(np.diag(vehicle.added_mass), expected, rtol=1e-6, atol=1e-9)


def with_fin(lift_drag, *, axis='0 0 1', speed=0):
    """Return UUV with a fin, its joint as the simulator's macro has it."""
    return UUV.replace(
        '</robot>',
        f"""<link name="fin"><inertial><mass value="0.1"/>
<inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
<joint name="fin_joint" type="revolute"><parent link="auv/base_link"/><child link="fin"/>
<origin xyz="-0.6 0 0.1" rpy="0 0 0"/><axis xyz="{axis}"/>
<limit lower="-0.5" upper="0.4" velocity="{speed}" effort="0"/></joint>
<gazebo><plugin name="f" filename="libuuv_fin_ros_plugin.so"><joint_name>fin_joint</joint_name>
<link_name>fin</link_name><dynamics><type>FirstOrder</type><timeConstant>0.2</timeConstant>
</dynamics>{lift_drag}</plugin></gazebo></robot>""",
    )


def forces_of_fins(vehicle, velocity, angle=0.0):
    state = state_at_rest()._replace(velocity=np.array([*velocity, 0, 0, 0.0]))
    angles = np.full(len(fins_of(vehicle)), angle)
    thrust = np.zeros(len(vehicle.thrusters))
    return np.asarray(fin_wrench(vehicle, state, Environment(), angles, thrust))


def test_a_quadratic_fin_has_the_forces_of_the_source(read):
    lift_drag = """<liftdrag><type>Quadratic</type><lift_constant>3.5</lift_constant>
<drag_constant>1.25</drag_constant></liftdrag>"""
    description, vehicle = read(with_fin(lift_drag), '.urdf')
    fins = fins_of(vehicle)
    assert fins.names == ('fin_joint',)
    assert vehicle.manipulator is None
    servo = [fins.lower, fins.upper, fins.time_constant]
    np.testing.assert_allclose(servo, [[-0.5], [0.4], [0.2]])
    for u, v, turned in ((2.0, 0.0, 0.3), (1.5, 0.4, -0.2), (0.2, -1.0, 0.0), (-1.0, 0.2, 0.1)):
        flow = np.arctan2(v, u) - turned
        angle = flow - np.pi * np.round(flow / np.pi)
        ahead = np.array([u, v]) / np.hypot(u, v)
        lift, drag = 3.5 * angle * (u**2 + v**2), 1.25 * angle**2 * (u**2 + v**2)
        expected = -lift * np.array([-ahead[1], ahead[0]]) - drag * ahead
        found = forces_of_fins(vehicle, (u, v, 0.7), turned)
        np.testing.assert_allclose(found[:2], expected, rtol=1e-9)
        assert found[5] == pytest.approx(-0.6 * expected[1], rel=1e-9)
    assert not any('fin' in text for text in description.dropped)
    assert any("'fin_joint' is fixed: its fin turns" in text for text in description.assumptions)


TWO_LINES = """<liftdrag><type>TwoLines</type><area>0.02</area><fluid_density>1000</fluid_density>
<a0>0.05</a0><alpha_stall>0.3</alpha_stall><cla>4</cla><cla_stall>-0.8</cla_stall><cda>0.4</cda>
<cda_stall>0.9</cda_stall></liftdrag>"""


@pytest.mark.parametrize('angle', [0.1, 0.7])
def test_a_fin_of_two_lines_has_the_forces_of_the_source(read, angle):
    _, vehicle = read(with_fin(TWO_LINES, axis='0 0 -1'), '.urdf')
    alpha = angle + 0.05
    beyond = max(alpha - 0.3, 0.0)
    lift = (4 * min(alpha, 0.3) - 0.8 * beyond) * 0.5 * 1000 * 0.02
    drag = (0.4 * min(alpha, 0.3) + 0.9 * beyond) * 0.5 * 1000 * 0.02
    ahead = np.array([np.cos(angle), np.sin(angle)])
    expected = -lift * np.array([-ahead[1], ahead[0]]) - drag * ahead
    found = forces_of_fins(vehicle, (*ahead, 0.0))
    np.testing.assert_allclose(found[:2], expected, rtol=1e-9)
    # About the joint's axis, which points down: a positive angle turns the chord to starboard.
    np.testing.assert_allclose(fins_of(vehicle).hinge, [[0, 0, -1]], atol=1e-12)
    assert forces_of_fins(vehicle, (1.0, 0.0, 0.0), 0.25)[1] < 0


def test_an_empty_coefficient_of_a_fin_is_0_and_said(read):
    description, vehicle = read(with_fin(TWO_LINES.replace('>0.9</cda', '></cda')), '.urdf')
    assert fins_of(vehicle).stall_drag_slope == 0
    assert any('<cda_stall>: empty' in text for text in description.assumptions)


@pytest.mark.parametrize(
    ('text', 'told'),
    [
        (with_fin(''), 'expected a <joint_name>, a <link_name> and a <liftdrag>'),
        (with_fin('<liftdrag><type>Cubic</type></liftdrag>'), "model 'Cubic'"),
        (with_fin(TWO_LINES.replace('<cla>4</cla>', '')), 'has no <cla>'),
        (with_fin(TWO_LINES, axis='1 0 0', speed=1), 'does not turn about its span'),
    ],
)
def test_a_fin_that_does_not_fit_stays_at_zero_and_is_named(read, text, told):
    description, vehicle = read(text, '.urdf')
    assert vehicle.manipulator is None
    assert fins_of(vehicle) is None
    assert any("fin 'fin_joint'" in line and told in line for line in description.dropped)


SURFACE = """<link name="wing"><pose>-0.3 0 0.1 0 0 0</pose><inertial><mass>0.01</mass></inertial>
</link><joint name="elevator" type="{kind}"><parent>base_link</parent><child>wing</child>
<axis><xyz>0 -1 0</xyz><limit><lower>-0.5</lower><upper>0.5</upper></limit></axis></joint>
<plugin filename="gz-sim-lift-drag-system" name="gz::sim::systems::LiftDrag">
<link_name>wing</link_name><area>0.05</area><air_density>1000</air_density><a0>0.1</a0><cla>3</cla>
<cda>0.2</cda><alpha_stall>0.35</alpha_stall><cla_stall>-1</cla_stall><cda_stall>1</cda_stall>
<cp>0.02 0 0</cp>{more}</plugin></model>"""


@pytest.mark.parametrize('kind', ['fixed', 'revolute'])
def test_a_surface_of_gazebo_has_the_forces_of_the_source(read, kind):
    _, vehicle = read(SDF.replace('</model>', SURFACE.format(kind=kind, more='')))
    fins = fins_of(vehicle)
    assert fins.names == ('wing' if kind == 'fixed' else 'elevator',)
    assert fins.upper == (0.0 if kind == 'fixed' else 0.5)
    np.testing.assert_allclose(fins.position, [[-0.28, 0, 0.1]], atol=1e-12)
    for sink in (0.15, 0.6):  # the flow comes from below; forward is x, upward is z
        alpha = np.arctan2(sink, 1.0) + 0.1
        beyond = max(alpha - 0.35, 0.0)
        pressure = 0.5 * 1000 * 0.05 * (1 + sink**2)
        lift = (3 * min(alpha, 0.35) - beyond) * pressure
        drag = (0.2 * min(alpha, 0.35) + beyond) * pressure
        ahead = np.array([1.0, -sink]) / np.hypot(1.0, sink)
        expected = lift * np.array([-ahead[1], ahead[0]]) - drag * ahead
        found = forces_of_fins(vehicle, (1.0, 0.0, -sink))
        np.testing.assert_allclose(found[[0, 2]], expected, rtol=1e-9)
    if kind == 'revolute':  # about −y: a positive angle raises the leading edge
        level = forces_of_fins(vehicle, (1.0, 0.0, 0.0))[2]
        assert forces_of_fins(vehicle, (1.0, 0.0, 0.0), 0.1)[2] > level


def test_what_a_surface_of_gazebo_has_beside_is_named(read):
    more = '<control_joint_name>x</control_joint_name><cma>-1.8</cma>'
    description, vehicle = read(SDF.replace('</model>', SURFACE.format(kind='fixed', more=more)))
    assert len(fins_of(vehicle)) == 1
    for text in ("joint 'x' does not exist", '<cma>: a moment about the span'):
        assert any(text in line for line in description.dropped)
    assert any('no force astern' in line for line in description.assumptions)


# VRX


def test_a_boat_floats_as_deep_as_its_hulls_carry_it(read, tmp_path):
    _, vehicle = read(VRX, '.urdf')
    np.testing.assert_allclose(np.diag(vehicle.damping.linear), [100, 100, 500, 300, 900, 800])
    np.testing.assert_allclose(np.diag(vehicle.damping.quadratic), [150, 100, 0, 600, 900, 800])
    assert vehicle.added_mass[0, 0] == 3
    assert vehicle.buoyancy.volume == pytest.approx(2 * 4.9 * np.pi * 0.213**2, rel=1e-6)
    path = tmp_path / 's.yaml'
    path.write_text('duration: 12\ninitial: {position: [0, 0, 0.2]}\nsegments: [{at: 0.0}]\n')
    done = simulate(vehicle, load_scenario(str(path)), dt=0.02)
    # Draught h of two cylinders lying in the water: 2 L segment(h) = m / rho, keel at z = -0.3.
    heights = np.linspace(1e-4, 0.213, 20000)
    r = 0.213
    segment = r**2 * np.arccos((r - heights) / r) - (r - heights) * np.sqrt(
        2 * r * heights - heights**2
    )
    draught = heights[np.argmin(np.abs(2 * 4.9 * segment - 180 / 1000))]
    assert done.position[-1, 2] == pytest.approx(0.3 - draught, abs=0.01)


# Stonefish


def test_a_stonefish_body_in_our_axes(read):
    _, vehicle = read(STONEFISH, '.scn')
    assert vehicle.inertia.mass == 210
    np.testing.assert_allclose(vehicle.inertia.center_of_mass, [0.1, -0.2, -0.3], atol=1e-12)
    assert vehicle.buoyancy.volume == pytest.approx(0.2)
    assert vehicle.buoyancy.fluid_density == 1031
    tensor = 210 / 12 * np.array([0.5**2 + 0.4**2, 1 + 0.4**2, 1 + 0.5**2])
    np.testing.assert_allclose(np.diag(vehicle.inertia.tensor), tensor)


def test_stonefish_drag_of_a_box_is_its_closed_form(read):
    _, vehicle = read(STONEFISH, '.scn')
    areas = np.array([0.5 * 0.4, 1 * 0.4, 1 * 0.5])
    quadratic = np.diag(vehicle.damping.quadratic)
    np.testing.assert_allclose(quadratic[:3], 0.5 * 1031 * np.array([0.5, 0.8, 1.2]) * areas)
    sides = np.array([areas[1] + areas[2], areas[0] + areas[2], areas[0] + areas[1]])
    linear = np.diag(vehicle.damping.linear)
    np.testing.assert_allclose(linear[:3], 1031 * np.array([0.01, 0.02, 0.03]) * 2 * sides)
    np.testing.assert_allclose(vehicle.damping.center, [0.1, -0.2, -0.3], atol=1e-12)


def test_a_stonefish_thruster(read):
    _, vehicle = read(STONEFISH, '.scn')
    thrusters = vehicle.thrusters
    np.testing.assert_allclose(thrusters.position, [[-0.5, -0.1, -0.2]])
    np.testing.assert_allclose(thrusters.axis, [[np.cos(0.5), -np.sin(0.5), 0]], atol=1e-9)
    assert thrust(vehicle, 1900.0) == pytest.approx([1031 * 0.18**4 * 0.48 * 20**2])
    assert thrust(vehicle, 1100.0) == pytest.approx([-1031 * 0.18**4 * 0.4 * 20**2])
    assert thrusters.time_constant == pytest.approx([0.2])
    assert thrusters.zero_thrust_pitch == pytest.approx([0.18 / (2 * np.pi)])
    assert vehicle.barometer.variance == 25.0
    np.testing.assert_allclose(vehicle.barometer.position, [0.4, -0.1, 0.2])


def test_arguments_and_includes_of_a_scenario(read, tmp_path):
    head, _, tail = STONEFISH.partition('<robot name="block"')
    (tmp_path / 'robot.scn').write_text(
        '<scenario><robot name="$(arg called)"' + tail.replace('0.48', '$(arg forward)')
    )
    text = (
        head
        + """<include file="robot.scn"><arg name="called" value="inner"/></include>
    </scenario>"""
    )
    description, vehicle = read(text, '.scn', arguments={'forward': '0.24'})
    assert description.name == 'inner'
    assert thrust(vehicle, 1900.0) == pytest.approx([1031 * 0.18**4 * 0.24 * 20**2])
    with pytest.raises(ModelError, match=r"is '\$\(arg forward\)'; expected numbers"):
        read(text, '.scn')


# What import says


def test_a_file_of_ours_needs_no_import(read):
    text = (ROOT / 'urdf' / 'simple_rov.urdf').read_text()
    with pytest.raises(ModelError, match='needs no import; expected marine_sim run'):
        read(text, '.urdf')


@pytest.mark.parametrize(('text', 'suffix'), [(SDF, '.sdf'), (STONEFISH, '.scn')])
def test_other_formats_are_told_to_be_imported(tmp_path, text, suffix):
    path = tmp_path / f'v{suffix}'
    path.write_text(text)
    with pytest.raises(ModelError, match='marine_sim import reads it'):
        load_vehicle(path)


def test_the_command_writes_what_it_says(tmp_path, capsys):
    from marine_sim_ros.tools.main import main

    path, out = tmp_path / 'rov.sdf', tmp_path / 'rov.urdf'
    path.write_text(SDF)
    with pytest.raises(SystemExit) as ended:
        main(['import', str(path), '-o', str(out)])
    assert ended.value.code == 0
    told = capsys.readouterr().err
    assert 'assumed: buoyancy: of the collisions' in told
    assert told.splitlines()[-4].startswith('SDF: rov: 10.01 kg, displaces 10 kg of water, 1 thr')
    text = out.read_text()
    assert '<mass value="10"/>  <!-- rov.sdf:2 <mass> -->' in text
    assert load_vehicle(out).inertia.mass == pytest.approx(10.01)
