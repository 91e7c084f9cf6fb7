# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Blocks of published vehicles that were lost or misread: each with the value that it has."""

import numpy as np
import pytest
from foreign import SDF, STONEFISH, UUV, VRX, imported

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.importers.load import import_vehicle
from marine_sim_ros.physics.drag import drag
from marine_sim_ros.physics.fins import fins_of

URDF_LINK = """<link name="{name}"><inertial><mass value="{mass}"/>
<inertia ixx="0.2" iyy="0.2" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial>{inside}</link>"""
HULL = """<link name="base_link"><inertial><mass>{mass}</mass>
<inertia><ixx>0.3</ixx><iyy>0.3</iyy><izz>0.3</izz></inertia></inertial>
<collision name="c"><geometry><box><size>{size}</size></box></geometry></collision></link>"""
ROTOR = """<link name="rotor"><pose>-0.2 0.3 0 0 1.5707963267948966 0</pose><inertial>
<mass>0.01</mass></inertial></link><joint name="spin" type="{kind}"><parent>base_link</parent>
<child>rotor</child><axis><xyz>0 0 1</xyz></axis></joint>"""


@pytest.fixture
def read(tmp_path):
    return lambda text, suffix='.urdf', **options: imported(tmp_path, text, suffix, **options)


def robot(*parts):
    return f'<robot name="r">{"".join(parts)}</robot>'


def link(name='base_link', mass=10, inside=''):
    return URDF_LINK.format(name=name, mass=mass, inside=inside)


def fixed(child, xyz):
    return (
        f'<joint name="to_{child}" type="fixed"><parent link="base_link"/>'
        f'<child link="{child}"/><origin xyz="{xyz}"/></joint>'
    )


def model(*parts, mass=20.0, size='0.8 0.5 0.05'):
    inside = ''.join((HULL.format(mass=mass, size=size), *parts))
    return f'<sdf version="1.9"><model name="rov">{inside}</model></sdf>'


def drag_at(vehicle, velocity):
    state = State(np.array([0.0, 0.0, -50.0]), np.array([0.0, 0.0, 0.0, 1.0]), velocity)
    return np.asarray(drag(vehicle, state, Environment()))


def thrust(vehicle, pulse):
    return np.asarray(vehicle.thrusters.thrust_of_pwm(np.full(len(vehicle.thrusters), pulse)))


@pytest.mark.parametrize(
    ('inside', 'note'),
    [
        ('<gravity>false</gravity>', '<gravity>: the link has its weight here'),
        ('<gravity>0</gravity>', '<gravity>: the link has its weight here'),
        ('<gravity>true</gravity>', ''),
        ('<enable_wind>true</enable_wind>', '<enable_wind>'),
        ('<kinematic>1</kinematic>', '<kinematic>: the link moves by forces here'),
    ],
)
def test_settings_of_a_link_that_are_not_followed_are_named(read, inside, note):
    description, _ = read(model().replace('</link>', f'{inside}</link>'), '.sdf')
    named = [text for text in description.dropped if text.endswith(' here')]
    assert [note in text for text in named] == ([True] if note else [])


def test_gravity_that_points_up_is_named(read):
    for vector, named in (('0 0 9.8', True), ('0 0 -9.8', False), ('0 0 0', True)):
        text = (
            model()
            .replace(
                'version="1.9">', f'version="1.9"><world name="w"><gravity>{vector}</gravity>'
            )
            .replace('</sdf>', '</world></sdf>')
        )
        dropped = read(text, '.sdf')[0].dropped
        assert any('gravity points down here' in text for text in dropped) == named


# Freefloating


@pytest.mark.parametrize('density', [1.0, 1.5])
def test_water_of_a_fluid_block(read, density):
    inside = (
        f'<fluid><density>{density}</density><origin xyz="0.1 0 0.05"/><buoyancy>'
        '<compensation>1.02</compensation><limit radius="0.3"/></buoyancy><hydrodynamics>'
        '<drag type="linear" xyz="40 70 60" rpy="3 4 5"/><damping xyz="8 9 7" rpy="1 2 3"/>'
        '<added_mass>0 0 0 0 0</added_mass></hydrodynamics></fluid>'
    )
    _, vehicle = read(robot(link(mass=12, inside=inside)))
    displaced = vehicle.buoyancy.volume * vehicle.buoyancy.fluid_density
    assert displaced == pytest.approx(density * 1.02 * 12)
    np.testing.assert_allclose(vehicle.buoyancy.center_of_volume, [0.1, 0, 0.05])
    np.testing.assert_allclose(
        np.diag(vehicle.damping.linear), density * np.array([40, 70, 60, 3, 4, 5])
    )
    np.testing.assert_allclose(
        np.diag(vehicle.damping.quadratic), density * np.array([8, 9, 7, 1, 2, 3])
    )


def test_buoyancy_in_parts_has_their_common_centre(read):
    blocks = ''.join(
        f'<buoyancy><compensation>{share}</compensation><origin xyz="{x} 0 0.2"/></buoyancy>'
        for share, x in ((0.3, 0.4), (0.7, -0.2))
    )
    plugin = (
        f'<plugin name="w" filename="libfreebuoyancy_gazebo.so"><link name="base_link">{blocks}'
        '</link></plugin>'
    )
    _, vehicle = read(model(plugin), '.sdf')
    assert vehicle.buoyancy.volume * vehicle.buoyancy.fluid_density == pytest.approx(20.0)
    np.testing.assert_allclose(vehicle.buoyancy.center_of_volume, [0.3 * 0.4 - 0.7 * 0.2, 0, 0.2])


def test_elements_of_a_buoyancy_block_that_are_not_read_are_named(read):
    inside = '<buoyancy><compensation>1</compensation><lateral_area>0.5</lateral_area></buoyancy>'
    description, _ = read(robot(link(inside=inside)))
    assert any('<lateral_area>' in text for text in description.dropped)


def float_block(linear, quadratic):
    return (
        f'<buoyancy><damping type="linear" xyz="{linear}"/><damping xyz="{quadratic}"/></buoyancy>'
    )


def test_damping_of_two_floats_adds_up(read):
    """Each pulls at its own place: c y² in yaw, and q |y|³ about it."""
    blocks = float_block('10 0 0', '6 0 0')
    parts = [link(), *(link(n, 1, blocks) for n in 'ab')]
    description, vehicle = read(robot(*parts, fixed('a', '0 0.5 0'), fixed('b', '0 -0.5 0')))
    ahead = drag_at(vehicle, np.array([2.0, 0, 0, 0, 0, 0]))
    np.testing.assert_allclose(ahead, [-2 * (10 * 2 + 6 * 4), 0, 0, 0, 0, 0], atol=1e-9)
    turning = drag_at(vehicle, np.array([0, 0, 0, 0, 0, 3.0]))
    wanted = -2 * (10 * 0.5**2 * 3 + 6 * 0.5**3 * 9)
    np.testing.assert_allclose(turning, [0, 0, 0, 0, 0, wanted], atol=1e-9)
    assert not any('hydrodynamics of link' in text for text in description.dropped)


# Commands of autopilots


def test_a_force_of_an_autopilot_on_a_link_is_a_thruster(read):
    control = (
        '<plugin name="p" filename="libArduPilotPlugin.so"><control channel="3">'
        '<type>EFFORT</type><offset>-0.4</offset><multiplier>100</multiplier>'
        '<linkName>rov::rotor</linkName></control></plugin>'
    )
    description, vehicle = read(model(ROTOR.format(kind='fixed'), control), '.sdf')
    pulses, wanted = [1000.0, 1400.0, 1700.0, 2000.0], [-40.0, 0.0, 30.0, 60.0]
    np.testing.assert_allclose([thrust(vehicle, p)[0] for p in pulses], wanted, atol=1e-9)
    direction = vehicle.thrusters.effectiveness[:, 0]
    np.testing.assert_allclose(direction, [1, 0, 0, 0, 0, -0.3], atol=1e-9)
    assert any("along z of link 'rotor'" in text for text in description.assumptions)


@pytest.mark.parametrize(
    ('reversible', 'scaling', 'ends'),
    [('true', 30, (-18.0, 18.0)), ('false', 30, (0.0, 18.0)), ('true', 900, (-200.0, 200.0))],
)
def test_the_channel_of_an_autopilot_limits_the_speed_of_a_motor(read, reversible, scaling, ends):
    motor = (
        '<plugin name="m" filename="libgazebo_motor_model.so"><jointName>spin</jointName>'
        f'<linkName>rotor</linkName><reversible>{reversible}</reversible><motorNumber>4'
        '</motorNumber><maxRotVelocity>100</maxRotVelocity><motorConstant>0.02</motorConstant>'
        '</plugin>'
    )
    link_to_autopilot = (
        '<plugin name="i" filename="libgazebo_mavlink_interface.so"><control_channels><channel>'
        f'<input_index>4</input_index><input_scaling>{scaling}</input_scaling></channel>'
        '</control_channels></plugin>'
    )
    _, vehicle = read(model(ROTOR.format(kind='continuous'), motor, link_to_autopilot), '.sdf')
    found = [thrust(vehicle, pulse)[0] for pulse in (1100.0, 1900.0)]
    np.testing.assert_allclose(found, ends, atol=1e-9)


# Stonefish


def test_a_thruster_on_a_servo_is_an_azimuth(read):
    text = """<scenario><materials><material name="M" density="500"/></materials>
<environment><ocean><water density="1000"/></ocean></environment>
<robot name="r"><base_link name="Hull" type="box" physics="submerged">
<dimensions xyz="0.6 0.4 0.3"/><origin xyz="0 0 0" rpy="0 0 0"/><material name="M"/></base_link>
<link name="Pod" type="sphere" physics="submerged"><dimensions radius="0.05"/>
<origin xyz="0 0 0" rpy="0 0 0"/><material name="M"/></link>
<joint name="steer" type="revolute"><parent name="Hull"/><child name="Pod"/>
<origin xyz="-0.4 0 0" rpy="0 0 0"/><axis xyz="0 0 1"/><limits min="-1" max="1"/></joint>
<actuator name="T" type="thruster"><link name="Pod"/><origin xyz="0 0 0" rpy="0 0 0"/>
<specs thrust_coeff="0.4" torque_coeff="0" max_rpm="1200"/>
<propeller diameter="0.1" right="true"><material name="M"/></propeller></actuator>
</robot></scenario>"""
    _, vehicle = read(text, '.scn')
    assert vehicle.thrusters.azimuths is not None
    assert thrust(vehicle, 1900.0)[0] == pytest.approx(0.4 * 1000 * 20**2 * 0.1**4)


# Panels of asv_wave_sim


@pytest.mark.parametrize('given', ['', '<cPDrag1>30</cPDrag1><cSDrag2>80</cSDrag2>'])
def test_panels_of_asv_wave_sim_have_its_coefficients(read, given):
    """A box broadside on: (C_1 s + C_2 s²) S in front and behind, edges without friction."""
    block = (
        '<plugin name="gz::sim::systems::Hydrodynamics" filename="gz-waves1-hydrodynamics-system">'
        f'<hydrodynamics><viscous_drag_on>0</viscous_drag_on>{given}<vRDrag>2</vRDrag>'
        '</hydrodynamics></plugin>'
    )
    _, vehicle = read(model(block, mass=40.0, size='1 0.4 0.3'), '.sdf')
    speed = 3.0 / 2
    front, behind = (30 if given else 100, 100), (100, 80 if given else 100)
    wanted = sum(c1 * speed + c2 * speed**2 for c1, c2 in (front, behind)) * 0.4 * 0.3
    pulled = drag_at(vehicle, np.array([3.0, 0, 0, 0, 0, 0]))
    assert pulled[0] == pytest.approx(-wanted, rel=1e-6)


def test_damping_of_asv_wave_sim_counts_where_it_is_given(read):
    block = (
        '<plugin name="gz::sim::systems::Hydrodynamics" filename="gz-waves1-hydrodynamics-system">'
        '<hydrodynamics><viscous_drag_on>0</viscous_drag_on><pressure_drag_on>0'
        '</pressure_drag_on><cDampL1>12</cDampL1><cDampL2>3</cDampL2></hydrodynamics></plugin>'
    )
    _, vehicle = read(model(block, mass=40.0, size='1 0.4 0.3'), '.sdf')
    pulled = drag_at(vehicle, np.array([2.0, 0, 0, 0, 0, 0]))
    assert pulled[0] == pytest.approx(-(12 * 2 + 3 * 4), rel=1e-5)


# Packages that are not there


def test_includes_of_packages_that_are_not_installed_can_be_left_out(read):
    text = (
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">\n'
        '<xacro:include filename="$(find no_such_lidar)/urdf/lidar.xacro"/>\n'
        f'{link(inside="<buoyancy><compensation>1.01</compensation></buoyancy>")}\n'
        '<xacro:spinning_lidar parent="base_link"><origin xyz="0 0 1"/></xacro:spinning_lidar>\n'
        '</robot>'
    )
    with pytest.raises(ModelError, match=r'urdf\.xacro:2: .*no_such_lidar.*--skip-missing'):
        read(text, '.urdf.xacro')
    description, vehicle = read(text, '.urdf.xacro', skip_missing=True)
    assert vehicle.inertia.mass == pytest.approx(10)
    told = '\n'.join(description.dropped)
    assert "urdf.xacro:2 <xacro:include>: package 'no_such_lidar' is not installed" in told
    assert 'urdf.xacro:5 <xacro:spinning_lidar>: its macro is in a package' in told


def test_an_include_that_moved_in_its_package_is_found_and_said(read, tmp_path):
    (tmp_path / 'package.xml').write_text('<package><name>p</name></package>')
    (tmp_path / 'urdf').mkdir()
    (tmp_path / 'urdf' / 'mass.xacro').write_text(
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="m" value="6"/>'
        '</robot>'
    )
    text = (
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">\n'
        '<xacro:include filename="$(find p)/models/mass.xacro"/>\n'
        '<xacro:include filename="$(find p)/models/lost.xacro"/>\n'
        + link(mass='${m}')
        + '</robot>'
    )
    with pytest.raises(ModelError, match=r'No such file.*mass\.xacro.*--skip-missing'):
        read(text, '.urdf.xacro')
    description, vehicle = read(text, '.urdf.xacro', skip_missing=True)
    assert vehicle.inertia.mass == pytest.approx(6)
    told = '\n'.join(description.dropped)
    assert 'xacro:2 <xacro:include>: is not there; mass.xacro of its package is taken' in told
    assert "xacro:3 <xacro:include>: 'lost.xacro' is not in its package" in told


def test_a_macro_that_nothing_defines_is_an_error_with_all_packages_there(read):
    text = (
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        f'{link()}<xacro:lidar/></robot>'
    )
    with pytest.raises(ModelError, match='xacro:lidar'):
        read(text, '.urdf.xacro', skip_missing=True)


# Surface vessels of UUV Simulator


def test_a_surface_vessel_of_uuv_floats_at_its_draught_and_rights(read):
    """ρ g A h and ρ g V GM sin φ, A = m/(ρ d), whatever its <volume>."""
    block = (
        '<gazebo><plugin name="u" filename="libuuv_underwater_object_ros_plugin.so">'
        '<fluid_density>1000</fluid_density><link name="base_link"><volume>7</volume>'
        '<box><width>1</width><length>2</length><height>0.5</height></box>'
        '<center_of_buoyancy>0.1 0 -0.1</center_of_buoyancy><metacentric_width>0.3'
        '</metacentric_width><metacentric_length>0.3</metacentric_length>'
        '<submerged_height>0.08</submerged_height><hydrodynamic_model><type>fossen</type>'
        '<linear_damping>-5 -6 -7 -1 -1 -1</linear_damping></hydrodynamic_model></link>'
        '</plugin></gazebo>'
    )
    description, vehicle = read(robot(link(mass=40), block))
    floats = vehicle.buoyancy
    assert floats.height == pytest.approx(0.5)
    waterplane = floats.volume / floats.height
    assert 40 / (1000 * waterplane) == pytest.approx(0.08)
    np.testing.assert_allclose(floats.center_of_volume, [0.1, 0, 0.2])
    assert not any('damping of the physics engine' in text for text in description.dropped)


# Foils of asv_sim


def test_a_foil_that_names_the_water_keeps_its_area_and_a_sail_is_named(read):
    blocks = ''.join(
        f'<plugin name="gz::sim::systems::{kind}LiftDrag" '
        f'filename="asv_sim2-{kind.lower()}-lift-drag-system">'
        f'<area>0.02</area><cla>5</cla><alpha_stall>0.2</alpha_stall><fluid_density>{density}'
        '</fluid_density><forward>1 0 0</forward><upward>0 1 0</upward><link_name>base_link'
        '</link_name></plugin>'
        for kind, density in (('Foil', 1000), ('Sail', 1.2))
    )
    description, vehicle = read(model(blocks), '.sdf')
    np.testing.assert_allclose([fin.values['area'].value for fin in description.fins], [0.02])
    assert len(fins_of(vehicle)) == 1
    assert any('a sail' in text for text in description.dropped)


# Boats of VRX for Gazebo classic


@pytest.mark.parametrize(('given', 'radius'), [('', 0.213), ('<hullRadius>0.3</hullRadius>', 0.3)])
def test_a_boat_that_slices_its_hulls_has_two_cylinders(read, given, radius):
    block = (
        '<gazebo><plugin name="d" filename="libusv_gazebo_dynamics_plugin.so"><bodyName>base_link'
        '</bodyName><waterDensity>1000</waterDensity><boatWidth>1.4</boatWidth><boatLength>2.2'
        f'</boatLength><length_n>2</length_n>{given}</plugin></gazebo>'
    )
    _, vehicle = read(robot(link(mass=60), block))
    assert vehicle.buoyancy.volume == pytest.approx(2 * np.pi * radius**2 * 2.2, rel=0.01)


# Thrusters of UUV Simulator


def test_a_command_ends_where_the_table_of_a_thruster_does(read):
    """A clamp far beyond the table would leave a thruster that is on or off."""
    plugin = (
        '<link name="prop"/>' + fixed('prop', '-0.4 0 0') + '<gazebo><plugin name="t" '
        'filename="libuuv_thruster_ros_plugin.so"><linkName>prop</linkName><thrusterID>0'
        '</thrusterID><clampMin>-100</clampMin><clampMax>100</clampMax><conversion>'
        '<type>LinearInterp</type><inputValues>-1 -0.5 0 0.5 2</inputValues>'
        '<outputValues>-12 -4 0 10 40</outputValues></conversion></plugin></gazebo>'
    )
    _, vehicle = read(robot(link(), plugin))
    found = [thrust(vehicle, pulse)[0] for pulse in (1100.0, 1300.0, 1600.0, 1900.0)]
    np.testing.assert_allclose(found, [-12, -4, 10, 40], atol=1e-9)


# What a source loses by a slip is named


@pytest.mark.parametrize(
    ('text', 'suffix', 'tag', 'slip'),
    [
        (SDF, '.sdf', 'zDotW', 'zDotw'),
        (SDF, '.sdf', 'nRabsN', 'nRabN'),
        (SDF, '.sdf', 'max_thrust_cmd', 'max_thrust'),
        (UUV, '.urdf', 'added_mass', 'added_masses'),
        (UUV, '.urdf', 'quadratic_damping', 'scaling_damping'),
        (UUV, '.urdf', 'center_of_buoyancy', 'center_of_bouyancy'),
        (UUV, '.urdf', 'fluid_density', 'density'),
        (UUV, '.urdf', 'clampMax', 'clamp_max'),
        (VRX, '.urdf', 'yVV', 'yVv'),
    ],
)
def test_an_element_of_a_force_that_is_misspelt_is_named(read, text, suffix, tag, slip):
    description, _ = read(text, suffix)
    assert not any('not known here' in line for line in description.dropped)
    if f'<{tag}>' not in text:
        text = text.replace('</plugin>', f'<{tag}>-1</{tag}></plugin>', 1)
    changed = text.replace(f'<{tag}>', f'<{slip}>').replace(f'</{tag}>', f'</{slip}>')
    description, _ = read(changed, suffix)
    assert any(f'not known here: <{slip}>' in line for line in description.dropped)


def test_a_shaft_whose_thruster_is_gone_is_named(read):
    second = SDF.replace(
        '</model>',
        """<link name="screw"><pose>0.3 0 0 0 0 0</pose><inertial>
<mass>0.01</mass></inertial></link><joint name="bow_shaft" type="revolute">
<parent>base_link</parent><child>screw</child><axis><xyz>0 1 0</xyz></axis></joint></model>""",
    )
    description, vehicle = read(second, '.sdf')
    assert len(vehicle.thrusters) == 1
    told = "joint 'bow_shaft' turns without end, and no thruster is on it"
    assert any(told in line for line in description.dropped)
    assert not any("'shaft' turns without end" in line for line in description.dropped)


def test_a_scenario_without_its_robot_names_the_include(read):
    start, end = STONEFISH.index('<robot'), STONEFISH.index('</robot>') + len('</robot>')
    text = f'{STONEFISH[:start]}<include file="hulls/none.scn"/>{STONEFISH[end:]}'
    with pytest.raises(ModelError, match=r"0 robots.*'hulls/none.scn' is not there"):
        read(text, '.scn')


def test_a_box_smaller_than_what_the_vehicle_displaces_is_not_its_hull(read):
    lamp = '<visual><geometry><box size="0.04 0.03 0.02"/></geometry></visual>'
    floats = '<buoyancy><compensation>1.02</compensation>{}</buoyancy>'
    damping = '<damping xyz="9 9 9" rpy="1 1 1" type="linear"/>'
    for inside, slip in ((damping, ''), (damping.replace('damping', 'dampings'), '<dampings>')):
        text = robot(link(mass=8.0, inside=lamp + floats.format(inside)))
        description, vehicle = read(text)
        assert bool(description.estimated) == bool(slip)
        if slip:
            assert any(f'not known here: {slip}' in line for line in description.dropped)
            face = (8.0 * 1.02 / 1000) ** (2 / 3)
            surge = drag_at(vehicle, np.eye(6)[0])[0]
            assert surge == pytest.approx(-0.55 * 1000 * face, rel=0.01)


def test_a_manager_of_thrusters_is_no_thruster(read):
    manager = """<gazebo><plugin name="r_thruster_manager" filename="libuuv_thruster_manager_x.so">
    <thrustersNumber>1</thrustersNumber></plugin></gazebo></robot>"""
    description, vehicle = read(UUV.replace('</robot>', manager))
    assert len(vehicle.thrusters) == 1
    assert any('shares a wrench' in text for text in description.dropped)
    assert not description.unread_forces


def test_marks_behind_numbers_are_left_out_and_named(read):
    plain = read(model(), '.sdf')[1].buoyancy.volume
    description, vehicle = read(model(size='0.8 0.5 0.05" '), '.sdf')
    assert vehicle.buoyancy.volume == plain
    assert any('the " behind its numbers' in text for text in description.dropped)
    with pytest.raises(ModelError, match='expected numbers'):
        read(model(size='0.8 0.5 five'), '.sdf')


def test_a_joint_of_a_model_that_is_not_there_names_the_include(read):
    text = model(
        '<include><uri>model://far_sonar</uri></include>',
        '<joint name="j" type="fixed"><parent>base_link</parent><child>far_sonar::eye</child>'
        '</joint>',
    )
    with pytest.raises(ModelError, match=r'far_sonar/eye.*included but not there: model://far_so'):
        read(text, '.sdf')
    description, _ = read(text, '.sdf', skip_missing=True)
    assert any("a joint of 'far_sonar/eye'" in text for text in description.dropped)


def test_an_include_from_the_root_is_looked_for_around_the_file(read, tmp_path):
    (tmp_path / 'hulls').mkdir()
    (tmp_path / 'hulls' / 'own.sdf').write_text(model(mass=7.0))
    text = (
        '<sdf version="1.9"><model name="r"><include merge="true"><uri>/hulls/own.sdf</uri>'
        '</include></model></sdf>'
    )
    assert read(text, '.sdf')[1].inertia.mass == pytest.approx(7.0)


@pytest.mark.parametrize(
    ('axis', 'along'), [('0 0 -1', (0, 0, -40)), ('0 0.6 0.8', (0, 24, 32)), ('', None)]
)
def test_a_thruster_on_a_fixed_joint_pushes_along_its_axis(read, axis, along):
    inside = f'<axis><xyz>{axis}</xyz></axis>' if axis else ''
    text = model(
        '<link name="rotor"><pose>0.1 0.2 0 0 0 0</pose></link><joint name="spin" type="fixed">'
        f'<parent>base_link</parent><child>rotor</child>{inside}</joint>'
        '<plugin filename="t" name="gz::sim::systems::Thruster"><joint_name>spin</joint_name>'
        '<max_thrust_cmd>40</max_thrust_cmd></plugin>'
    )
    description, vehicle = read(text, '.sdf')
    if along is None:
        assert len(vehicle.thrusters) == 0
        assert 'Thruster' in description.unread_forces[0]
        return
    force = vehicle.thrusters.axis[0] * thrust(vehicle, 1900.0)[0]
    np.testing.assert_allclose(force, along, atol=1e-9)


def test_the_robot_with_actuators_is_the_vehicle(read):
    ball = """<robot name="ball" fixed="false"><base_link name="b" type="sphere"
    physics="submerged"><dimensions radius="0.1"/><material name="x"/></base_link></robot>"""
    description, _ = read(STONEFISH.replace('</scenario>', f'{ball}</scenario>'), '.scn')
    assert len(description.thrusters) == 1


def test_a_servo_limits_the_speed_of_its_joint(read):
    arm = """<link name="arm" type="box" physics="submerged"><dimensions xyz="0.4 0.1 0.1"/>
    <material name="x"/></link><joint name="elbow" type="revolute"><parent name="Vehicle"/>
    <child name="arm"/><axis xyz="0 1 0"/><limits min="-1" max="1"/></joint>
    <actuator name="s" type="servo"><joint name="elbow"/><controller position_gain="1"
    velocity_gain="1" max_torque="9" max_velocity="0.35"/></actuator></robot>"""
    description, _ = read(STONEFISH.replace('</robot>', arm), '.scn')
    assert description.joints['elbow'].velocity == 0.35


def test_a_part_whose_mesh_is_missing_is_an_error(read):
    part = """<external_part name="p" type="model" physics="submerged"><physical>
    <mesh filename="gone/hull.obj"/></physical><material name="x"/></external_part>"""
    text = """<scenario><robot name="r"><base_link name="b" type="compound" physics="submerged">
    <external_part name="q" type="box" physics="submerged"><dimensions xyz="1 1 1"/>
    <material name="x"/></external_part>{}</base_link></robot></scenario>"""
    with pytest.raises(ModelError, match=r'gone/hull.obj is not there.*--skip-missing'):
        read(text.format(part), '.scn')
    description, _ = read(text.format(part), '.scn', skip_missing=True)
    assert any('the part is left out' in text for text in description.dropped)


def test_buoyancy_of_gazebo_classic_is_by_link_or_by_collisions(read):
    pod = """<link name="pod"><pose>0 0 -0.3 0 0 0</pose><inertial><mass>3</mass></inertial>
    <collision name="c"><pose>0.1 0 0 0 0 0</pose><geometry><box><size>0.1 0.2 0.1</size></box>
    </geometry></collision></link><joint name="j" type="fixed"><parent>base_link</parent>
    <child>pod</child></joint><plugin name="b" filename="libBuoyancyPlugin.so">
    <fluid_density>1020</fluid_density><link name="base_link">
    <center_of_volume>0 0.2 0</center_of_volume><volume>0.018</volume></link></plugin>"""
    description, vehicle = read(model(pod), '.sdf')
    assert vehicle.buoyancy.volume == pytest.approx(0.018 + 0.002)
    assert vehicle.buoyancy.fluid_density == 1020
    np.testing.assert_allclose(
        [v.center.value for v in description.volumes], [[0, 0.2, 0], [0.1, 0, 0]], atol=1e-9
    )


def test_a_plugin_called_buoyancy_of_another_library_is_not_read_as_that_of_gazebo(read):
    other = (
        '<plugin name="BuoyancyPlugin" filename="libown_buoyancy.so"><volume>1</volume></plugin>'
    )
    description, _ = read(model(other), '.sdf')
    assert 'BuoyancyPlugin (libown_buoyancy.so)' in description.unread_forces[0]


def test_a_body_without_thrusters_names_what_includes_it(tmp_path):
    for name, text in (
        ('hull', model()),
        ('boat', '<sdf><model name="b"><include><uri>model://hull</uri></include></model></sdf>'),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / 'model.sdf').write_text(text)
    description = import_vehicle(tmp_path / 'hull' / 'model.sdf')
    assert any('included by: ../boat/model.sdf' in text for text in description.assumptions)
