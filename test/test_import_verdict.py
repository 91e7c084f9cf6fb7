# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Vehicles that importers lost silently: thrust, drag and buoyancy of kinds that no table has."""

import numpy as np
import pytest
from foreign import SDF, STONEFISH, imported

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.doctor.verdict import judge_motion
from marine_sim_ros.model.free_bodies import box_drag
from marine_sim_ros.model.xml import parse
from marine_sim_ros.tools.main import main

HULL = """<link name="base_link"><inertial><mass>{mass}</mass>
<inertia><ixx>0.3</ixx><iyy>0.3</iyy><izz>0.3</izz></inertia></inertial>
<collision name="c"><pose>0.1 0 0.02 0 0 0</pose><geometry><box><size>0.8 0.5 0.05</size></box>
</geometry></collision></link>"""
ROTOR = """<link name="rotor"><pose>-0.3 0.1 0 0 1.5707963267948966 0</pose><inertial>
<mass>0.01</mass></inertial></link><joint name="spin" type="revolute"><parent>base_link</parent>
<child>rotor</child><axis><xyz>0 0 1</xyz></axis></joint>"""
URDF_LINK = """<link name="{name}"><inertial><mass value="{mass}"/>
<inertia ixx="0.2" iyy="0.2" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial>{inside}</link>"""


@pytest.fixture
def read(tmp_path):
    return lambda text, suffix='.sdf', **options: imported(tmp_path, text, suffix, **options)


def model(*parts, mass=20.0):
    inside = ''.join((HULL.format(mass=mass), *parts))
    return f'<sdf version="1.9"><model name="m">{inside}</model></sdf>'


def robot(*parts):
    return f'<robot name="r">{"".join(parts)}</robot>'


def link(name='base_link', mass=10, inside=''):
    return URDF_LINK.format(name=name, mass=mass, inside=inside)


def thrust(vehicle, pulse):
    return np.asarray(vehicle.thrusters.thrust_of_pwm(np.full(len(vehicle.thrusters), pulse)))


def run(tmp_path, text, *options, suffix='.sdf'):
    path = tmp_path / f'source{suffix}'
    path.write_text(text)
    with pytest.raises(SystemExit) as ended:
        main(['import', str(path), '-o', str(tmp_path / 'out.urdf'), *options])
    return ended.value.code


# Drag that the source lacks


def test_a_source_without_damping_gets_that_of_the_box_of_its_hull(read):
    description, vehicle = read(model())
    half = 0.5 * 1000.0
    areas = np.array([0.5 * 0.05, 0.8 * 0.05, 0.8 * 0.5])
    np.testing.assert_allclose(np.diag(vehicle.damping.quadratic)[:3], half * areas)
    # Yaw of two faces by strips: 2 h int_0^{l/2} x^3 dx = h l^4/32.
    yaw = half * 0.05 * (0.8**4 + 0.5**4) / 32
    assert vehicle.damping.quadratic[5, 5] == pytest.approx(yaw)
    np.testing.assert_allclose(vehicle.damping.center, [0.1, 0, 0.02])
    assert np.all(np.linalg.eigvalsh(vehicle.added_mass) > 0)
    assert '0.8 x 0.5 x 0.05 m' in description.estimated


def test_damping_of_the_source_is_left_as_it_is(read):
    description, vehicle = read(SDF)
    assert not description.estimated
    assert vehicle.damping.quadratic[0, 0] == 18.0


@pytest.mark.parametrize('edges', [(1.0, 1.0, 1.0), (2.0, 0.3, 0.4)])
def test_the_drag_of_a_box_is_that_of_its_strips(edges):
    length, width, height = edges
    strips = np.linspace(-0.5, 0.5, 20001)
    half = 0.5 * 1025.0

    def face(across, run):
        x = np.abs(run * strips)
        return half * across * np.trapezoid(x**3, run * strips)

    pitch = face(width, height) + face(width, length)
    assert box_drag(np.array(edges), 1025.0)[4] == pytest.approx(pitch, rel=1e-6)
    assert box_drag(np.array(edges), 1025.0)[2] == pytest.approx(half * length * width)


def test_the_last_line_says_what_was_estimated_and_three_lines_judge(tmp_path, capsys):
    assert run(tmp_path, model(ROTOR)) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith('estimated: no damping in the source: drag of the box')
    assert [line.split(':')[0] for line in lines[-4:-1]] == ['moves', 'damps', 'floats']


def hydrodynamics(**terms):
    inside = ''.join(f'<{name}>{value}</{name}>' for name, value in terms.items())
    return (
        '<plugin filename="gz-sim-hydrodynamics-system" name="gz::sim::systems::Hydrodynamics">'
        f'<link_name>base_link</link_name>{inside}</plugin>'
    )


def test_a_vehicle_that_sinks_without_end_is_an_error_that_must_be_overridden(tmp_path, capsys):
    text = model(hydrodynamics(xUabsU=-18, yVabsV=-20), mass=26.0)
    assert run(tmp_path, text) == 1
    assert 'its drag in heave is missing' in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / 'out.urdf').exists()
    assert run(tmp_path, text, '--allow-undamped') == 0
    assert (tmp_path / 'out.urdf').exists()


@pytest.mark.parametrize('mass', [0.004, 400.0])
def test_a_mass_that_no_hull_has_is_an_error_that_must_be_overridden(tmp_path, capsys, mass):
    text = model(hydrodynamics(xUabsU=-200, yVabsV=-200, zWabsW=-200), mass=mass)
    assert run(tmp_path, text) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert f'{mass:.3g} kg displace 20 kg of water, as no vehicle does' in said
    assert run(tmp_path, text, '--allow-undamped') == 0


def test_steady_speeds_are_those_of_the_quadratic_law(read):
    _, vehicle = read(model(hydrodynamics(xUabsU=-20, zWabsW=-40), mass=25.0))
    line = judge_motion(vehicle).lines[2]
    speed = np.sqrt(5.0 * 9.80665 / 40)  # 25 kg that displace 20 kg
    assert f'it sinks at {speed:.2g} m/s' in line


def test_a_thrust_that_outruns_a_slender_hull_is_an_error_that_must_be_overridden(
    read, tmp_path, capsys
):
    ends = '<max_thrust_cmd>80</max_thrust_cmd>'
    push = (
        '<plugin filename="gz-sim-thruster-system" name="gz::sim::systems::Thruster">'
        f'<joint_name>spin</joint_name>{ends}</plugin>'
    )
    hull = np.sqrt(2 * 80 / (1000 * 0.02 * 0.02 ** (2 / 3)))  # 20 l
    for share, flaws in ((0.95, 0), (1.05, 1)):
        drag = hydrodynamics(xUabsU=-80 / (share * hull) ** 2, yVabsV=-9, zWabsW=-9)
        text = model(ROTOR, push, drag, mass=19.99)
        _, vehicle = read(text)
        assert len(judge_motion(vehicle).flaws) == flaws
        assert run(tmp_path, text) == flaws
        assert ('not written: 80 N ' in capsys.readouterr().err) == bool(flaws)
        assert run(tmp_path, text, '--allow-undamped') == 0


# Propulsion that was lost

GENERIC = """<plugin filename="libGenericMotorModelPlugin.so" name="x::GenericMotorModel">
<jointName>spin</jointName><linkName>rotor</linkName><actuator_number>0</actuator_number>
<motorType>force_polynomial</motorType><controlMethod>duty_cycle</controlMethod>
<minDutyCycle>1100</minDutyCycle><maxDutyCycle>1900</maxDutyCycle><minCommand>0.02</minCommand>
<bidirectionalMotor>1</bidirectionalMotor>
<positiveThrustPolynomial>[0.0, 2.0, 30.0, 10.0]</positiveThrustPolynomial>
<negativeThrustPolynomial>[0.0, 1.0, 25.0]</negativeThrustPolynomial></plugin>"""


def test_a_motor_with_polynomials_of_the_duty_cycle(read):
    _, vehicle = read(model(ROTOR, GENERIC))
    assert thrust(vehicle, 1900.0) == pytest.approx([42.0])
    assert thrust(vehicle, 1700.0) == pytest.approx([2 * 0.5 + 30 * 0.25 + 10 * 0.125])
    assert thrust(vehicle, 1300.0) == pytest.approx([-(0.5 + 25 * 0.25)])
    np.testing.assert_allclose(vehicle.thrusters.axis, [[1, 0, 0]], atol=1e-9)
    np.testing.assert_allclose(vehicle.thrusters.position, [[-0.3, 0.1, 0]], atol=1e-9)


def test_a_motor_of_gazebo_classic_pushes_both_ways_where_it_is_reversible(read):
    motor = (
        '<plugin name="m" filename="libgazebo_motor_model.so"><jointName>spin</jointName>'
        '<linkName>rotor</linkName><motorConstant>0.005</motorConstant>'
        '<maxRotVelocity>80</maxRotVelocity>{}<motorNumber>0</motorNumber></plugin>'
    )
    _, one_way = read(model(ROTOR, motor.format('')))
    assert thrust(one_way, 1900.0) == pytest.approx([32.0])
    assert thrust(one_way, 1100.0) == pytest.approx([0.0])
    _, both = read(model(ROTOR, motor.format('<reversible>true</reversible>')))
    assert thrust(both, 1100.0) == pytest.approx([-32.0])


def test_hydrodynamics_and_buoyancy_of_px4(read):
    water = """<plugin name="w" filename="libgazebo_uuv_plugin.so"><baseLinkName>base_link
</baseLinkName><buoyancy><link_name>base_link</link_name><origin>0 0 0.03</origin>
<compensation>1.05</compensation><height_scale_limit>0.2</height_scale_limit></buoyancy>
<addedMassLinear>1 2 3</addedMassLinear><addedMassAngular>0.1 0.2 0.3</addedMassAngular>
<dampingLinear>5 6 7</dampingLinear><dampingAngular>0.5 0.6 0.7</dampingAngular></plugin>"""
    _, vehicle = read(model(water, mass=12.0))
    assert vehicle.buoyancy.volume * vehicle.buoyancy.fluid_density == pytest.approx(12.6)
    assert vehicle.buoyancy.height == pytest.approx(0.4)
    np.testing.assert_allclose(np.diag(vehicle.damping.linear), [5, 6, 7, 0.5, 0.6, 0.7])
    np.testing.assert_allclose(np.diag(vehicle.added_mass), [1, 2, 3, 0.1, 0.2, 0.3])


UUV_THRUSTER = """<gazebo><plugin name="t" filename="libuuv_thruster_ros_plugin.so">
<linkName>prop</linkName><jointName>spin</jointName><thrusterID>0</thrusterID>
<conversion><type>LinearInterp</type><inputValues>{}</inputValues><outputValues>{}</outputValues>
</conversion></plugin></gazebo>"""
PROP = link('prop', 0.01) + (
    '<joint name="spin" type="continuous"><parent link="base_link"/><child link="prop"/>'
    '<axis xyz="1 0 0"/></joint>'
)


@pytest.mark.parametrize(
    ('pulses', 'forces', 'expected'),
    [
        ('1000 1480 1500 1520 2000', '-21 0 0 0 40', {2000: 40, 1000: -21, 1760: 20, 1240: -10.5}),
        ('1100 1464 1900', '-8 0 12', {1464: 0, 1900: 12, 1682: 6}),
        ('1900 1500 1100', '-9 0 9', {1100: -9, 1900: 9}),  # falling: the axis is turned
        ('0 1099 1100 1500 1900 1902', '0 0 -8 0 12 0', {1100: -8, 1300: -4, 1900: 12}),
    ],
)
def test_a_table_over_pulse_widths_is_taken_as_it_is(read, pulses, forces, expected):
    description, vehicle = read(robot(link(), PROP, UUV_THRUSTER.format(pulses, forces)), '.urdf')
    for pulse, force in expected.items():
        assert thrust(vehicle, float(pulse)) == pytest.approx([force]), pulse
    assert any('pulse widths in µs' in text for text in description.assumptions)


def test_a_table_over_rotor_speeds_stays_one(read):
    text = robot(link(), PROP, UUV_THRUSTER.format('-2000 0 2000', '-30 0 30'))
    description, vehicle = read(text, '.urdf')
    assert thrust(vehicle, 1700.0) == pytest.approx([15.0])
    assert not any('pulse widths' in text for text in description.assumptions)


def test_plugins_of_uuv_simulator_before_2017(read):
    """T = k ω², at most clamp_max; drag and volume of the object."""
    water = """<gazebo><plugin name="u" filename="libunderwater_object_ros_plugin.so">
<fluid_density>1000</fluid_density><link name="base_link"><volume>0.01</volume><hydrodynamic_model>
<type>fossen</type><quadratic_damping>-9 -9 -9 -1 -1 -1</quadratic_damping></hydrodynamic_model>
</link></plugin></gazebo>"""
    rotor = """<gazebo><plugin name="t" filename="libthruster_ros_plugin.so">
<linkName>prop</linkName><jointName>spin</jointName><thrusterID>0</thrusterID><clamp_min>-10</clamp_min>
<clamp_max>10</clamp_max><conversion><type>Basic</type><rotorConstant>0.3</rotorConstant>
</conversion></plugin></gazebo>"""
    _, vehicle = read(robot(link(), PROP, water, rotor), '.urdf')
    assert thrust(vehicle, 1900.0) == pytest.approx([30.0])
    assert vehicle.buoyancy.volume == pytest.approx(0.01)
    np.testing.assert_allclose(np.diag(vehicle.damping.quadratic)[:3], 9)


def test_thrusters_without_thrust_are_an_error(tmp_path, capsys):
    text = robot(link(), PROP, UUV_THRUSTER.format('-2000 0 2000', '0 0 0'))
    assert run(tmp_path, text, suffix='.urdf') == 1
    assert 'its thrusters have no thrust' in capsys.readouterr().err


def test_blocks_that_are_not_understood_leave_no_vehicle_that_nothing_moves(tmp_path, capsys):
    text = model(
        '<plugin name="camera_publisher" filename="libwater_jet.so"/>',
        '<plugin name="thruster" filename="libgazebo_ros_p3d.so"/>',
    )
    assert run(tmp_path, text) == 1
    told = capsys.readouterr().err
    assert 'camera_publisher (libwater_jet.so): is not understood' in told
    assert 'thruster (libgazebo_ros_p3d.so): by its library it measures' in told
    assert 'water_jet' in told.splitlines()[-1]
    assert 'p3d' not in told.splitlines()[-1]
    assert run(tmp_path, text, '--allow-unpowered') == 0


# A hull of pictures, as SMaRCSim's vehicles have it, whose forces are in the simulator.
PICTURE = robot(
    link(),
    link('pack', 2.5),
    link('vane', 1e-8),
    link('screw', 1e-8),
    '<joint name="slide" type="prismatic"><parent link="base_link"/><child link="pack"/>'
    '<axis xyz="1 0 0"/><limit lower="-0.01" upper="0.02" velocity="0.2" effort="1"/></joint>'
    '<joint name="steer" type="revolute"><parent link="base_link"/><child link="vane"/>'
    '<axis xyz="0 0 1"/><limit lower="-0.2" upper="0.2" velocity="0.2" effort="1"/></joint>'
    '<joint name="turn" type="continuous"><parent link="base_link"/><child link="screw"/>'
    '<axis xyz="1 0 0"/></joint>',
)


def test_a_picture_without_thrust_and_drag_is_an_error_that_names_its_actuators(tmp_path, capsys):
    text = '<?xml version="2.0"?>' + PICTURE
    assert run(tmp_path, text, suffix='.urdf') == 1
    told = capsys.readouterr().err
    assert 'neither thrust, nor drag, nor a shape' in told.splitlines()[-1]
    assert "'turn' turns without end, and no thruster is on it" in told
    assert "'steer' is fixed: what it moves weighs nothing" in told
    assert run(tmp_path, text, '--allow-unpowered', suffix='.urdf') == 0
    vehicle = load_vehicle(str(tmp_path / 'out.urdf'))
    assert vehicle.manipulator.names == ('slide',)  # the sliding battery is commanded


@pytest.mark.parametrize('version', ['0.9', '2.0', '17.3'])
def test_a_version_of_xml_that_does_not_exist_is_taken_for_the_first(version):
    assert parse(f'<?xml version="{version}"?><robot name="r"/>', 'text').get('name') == 'r'


def test_a_stonefish_vehicle_on_wheels_is_an_error(tmp_path, capsys):
    wheel = """<link name="wheel" type="cylinder" physics="submerged"><dimensions radius="0.1"
height="0.05"/><origin xyz="0 0 0" rpy="0 0 0"/><material name="Steel"/></link><joint name="axle"
type="revolute"><parent name="Vehicle"/><child name="wheel"/><origin xyz="0 0.3 0.2"
rpy="1.57 0 0"/><axis xyz="0 0 1"/></joint>{}</robot>"""
    drive = '<actuator name="drive" type="motor"><joint name="axle"/></actuator>'
    start = STONEFISH.index('<actuator')
    alone = STONEFISH[:start] + STONEFISH[STONEFISH.index('</robot>') :]
    assert run(tmp_path, alone.replace('</robot>', wheel.format(drive)), suffix='.scn') == 1
    told = capsys.readouterr().err
    assert '<actuator>: motor is not simulated' in told
    assert "motor 'drive'; expected thrusters that push" in told.splitlines()[-1]
    assert run(tmp_path, STONEFISH.replace('</robot>', wheel.format(drive)), suffix='.scn') == 0


@pytest.mark.parametrize('name', ['usv_gazebo_thrust_plugin', 'freefloating_gazebo_control'])
def test_a_plugin_of_thrusters_without_one_is_an_error(tmp_path, capsys, name):
    text = model(f'<plugin name="t" filename="lib{name}.so"><link>base_link</link></plugin>')
    assert run(tmp_path, text) == 1
    told = capsys.readouterr().err
    assert f't (lib{name}.so): has no <thruster>' in told
    assert name in told.splitlines()[-1]


# Freefloating


def test_thrusters_of_freefloating_push_where_their_map_says(read):
    inside = (
        '<buoyancy><compensation>0.98</compensation><origin xyz="0 0 0.04"/>'
        '<limit radius="0.2"/></buoyancy><hydrodynamics><damping xyz="5 6 7" rpy="1 2 3"/>'
        '<damping type="linear" xyz="10 11 12"/></hydrodynamics>'
    )
    control = """<gazebo><plugin name="c" filename="libfreefloating_gazebo_control.so">
<link>base_link</link><thruster><map>0.8 0.6 0 0 0 0.5</map><effort>20</effort></thruster>
<thruster><map>0 0 1 0.1 0.2 0</map><effort>30</effort></thruster></plugin></gazebo>"""
    _, vehicle = read(robot(link(mass=20, inside=inside), control), '.urdf')
    assert vehicle.buoyancy.volume * vehicle.buoyancy.fluid_density == pytest.approx(19.6)
    np.testing.assert_allclose(np.diag(vehicle.damping.quadratic), [5, 6, 7, 1, 2, 3])
    np.testing.assert_allclose(np.diag(vehicle.damping.linear), [10, 11, 12, 0, 0, 0])
    wrenches = vehicle.thrusters.effectiveness * thrust(vehicle, 1900.0)
    wanted = [[16, 12, 0, 0, 0, 10], [0, 0, 30, 3, 6, 0]]
    np.testing.assert_allclose(wrenches.T, wanted, atol=1e-9)


@pytest.mark.parametrize(
    ('effort', 'force', 'told'),
    [
        ('<effortUnderWater>11</effortUnderWater><effortOverWater>0</effortOverWater>', 11, ''),
        ('<effortUnderWater>0</effortUnderWater><effortOverWater>4</effortOverWater>', 4, 'too'),
        ('<most>9</most>', 100, 'no <effort>: 100 N, the default'),
    ],
    ids=['propeller', 'airscrew', 'none'],
)
def test_the_effort_of_a_thruster_of_freefloating(read, effort, force, told):
    control = f"""<gazebo><plugin name="c" filename="libfreefloating_gazebo_control.so">
<link>base_link</link><thruster><map>1 0 0 0 0 0</map>{effort}</thruster></plugin></gazebo>"""
    description, vehicle = read(robot(link(mass=20), control), '.urdf')
    assert thrust(vehicle, 1900.0) == pytest.approx([force])
    assert told in '\n'.join(description.assumptions)
    assert any('<most>' in text for text in description.dropped) == ('most' in effort)


def test_damping_of_a_physics_engine_is_named(read):
    block = '<gazebo reference="base_link"><velocity_decay><linear>5</linear></velocity_decay>'
    description, _ = read(robot(link(), block, '</gazebo>'), '.urdf')
    assert any('<velocity_decay>' in text for text in description.dropped)


# Density and buoyancy


@pytest.mark.parametrize('density', [998.0, 1030.0])
def test_the_density_of_a_thruster_is_the_waters_where_nothing_else_says_it(read, density):
    mass = 0.02 * density - 0.01
    plugin = (
        '<plugin filename="gz-sim-thruster-system" name="gz::sim::systems::Thruster">'
        f'<joint_name>spin</joint_name><fluid_density>{density}</fluid_density>'
        '<max_thrust_cmd>50</max_thrust_cmd></plugin>'
    )
    _, vehicle = read(model(ROTOR, plugin, mass=mass))
    displaced = vehicle.buoyancy.fluid_density * vehicle.buoyancy.volume
    assert displaced == pytest.approx(vehicle.inertia.mass, rel=1e-9)


def test_a_detachable_link_belongs_to_the_vehicle(read):
    ballast = """<link name="ballast"><pose>0 0 -0.2 0 0 0</pose><inertial><mass>3</mass>
</inertial></link><plugin filename="gz-sim-detachable-joint-system"
name="gz::sim::systems::DetachableJoint"><parent_link>base_link</parent_link>
<child_model>__model__</child_model><child_link>ballast</child_link></plugin>"""
    description, vehicle = read(model(ballast, mass=17.0))
    assert vehicle.inertia.mass == pytest.approx(20.0)
    assert vehicle.inertia.center_of_mass[2] == pytest.approx(-0.6 / 20)
    assert any('never released' in text for text in description.assumptions)


def test_a_link_of_sdf_without_inertial_weighs_a_kilogram(read):
    mast = (
        '<link name="mast"><pose>0 0 1 0 0 0</pose></link><joint name="f" type="fixed">'
        '<parent>base_link</parent><child>mast</child></joint>'
    )
    _, vehicle = read(model(mast, mass=19.0))
    assert vehicle.inertia.mass == pytest.approx(20.0)


def cube_obj(edge):
    corners = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    text = ''.join(f'v {edge * x} {edge * y} {edge * z}\n' for x, y, z in corners)
    faces = '1 2 4|1 4 3|5 7 8|5 8 6|1 5 6|1 6 2|3 4 8|3 8 7|1 3 7|1 7 5|2 6 8|2 8 4'
    return text + ''.join(f'f {face}\n' for face in faces.split('|'))


def test_gazebo_counts_a_mesh_without_its_scale(read, tmp_path):
    (tmp_path / 'cube.obj').write_text(cube_obj(0.2))
    text = model(mass=8.0)
    box = text[text.index('<geometry>') : text.index('</geometry>')]
    mesh = '<geometry><mesh><uri>cube.obj</uri><scale>0.5 2 3</scale></mesh>'
    description, vehicle = read(text.replace(box, mesh))
    assert vehicle.buoyancy.volume == pytest.approx(0.008)
    assert any('without its <scale>' in text for text in description.assumptions)


# Joints


def engine(axis, kind='revolute'):
    return (
        link('engine', 0.5)
        + f'<joint name="turn" type="{kind}"><parent link="base_link"/><child link="engine"/>'
        f'<origin xyz="-0.3 0 0"/><axis xyz="{axis}"/>'
        '<limit lower="-1.2" upper="1.2" effort="9" velocity="2"/></joint>'
        + PROP.replace('parent link="base_link"', 'parent link="engine"')
    )


GZ_THRUSTER = (
    '<gazebo><plugin filename="gz-sim-thruster-system" name="gz::sim::systems::Thruster">'
    '<joint_name>spin</joint_name><max_thrust_cmd>50</max_thrust_cmd></plugin></gazebo>'
)


def test_an_engine_that_turns_is_an_azimuth(read):
    _, vehicle = read(robot(link(), engine('0 0 1'), GZ_THRUSTER), '.urdf')
    azimuths = vehicle.thrusters.azimuths
    assert azimuths.joints == ('turn',)
    assert vehicle.manipulator is None
    np.testing.assert_allclose(azimuths.axis, [[0, 0, 1]])


CONTROLLER = (
    '<gazebo><plugin filename="gz-sim-joint-position-controller-system" '
    'name="gz::sim::systems::JointPositionController"><joint_name>{}</joint_name></plugin></gazebo>'
)


@pytest.mark.parametrize(
    ('axis', 'name', 'told'),
    [
        ('0 0 1', 'turn', "joint 'turn' follows azimuths/command"),
        ('1 0 0', 'turn', "joint 'turn' is not commanded here"),
        ('0 0 1', 'tilt', "joint 'tilt' is not commanded here"),
        ('0 0 1', 'wrist', "joint 'wrist' follows joint_commands"),
    ],
)
def test_a_controller_says_what_commands_its_joint_here(read, axis, name, told):
    arm = link('hand', 0.4) + (
        '<joint name="wrist" type="revolute"><parent link="base_link"/><child link="hand"/>'
        '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="9" velocity="2"/></joint>'
    )
    text = robot(link(), engine(axis), arm, GZ_THRUSTER, CONTROLLER.format(name))
    description, vehicle = read(text, '.urdf')
    assert any(told in line for line in (*description.assumptions, *description.dropped))
    assert any('JointPositionController' in line and 'gains are not read' in line
               for line in description.dropped)  # fmt: skip
    if 'follows azimuths' in told:
        assert vehicle.thrusters.azimuths.joints == (name,)
    elif 'follows joint_commands' in told:
        assert name in vehicle.manipulator.names


def test_an_engine_that_rolls_about_its_thrust_is_none_and_said(read):
    description, vehicle = read(robot(link(), engine('1 0 0'), GZ_THRUSTER), '.urdf')
    assert vehicle.thrusters.azimuths is None
    assert vehicle.manipulator is None
    told = "'turn' is fixed: it turns thruster 'spin' about an axis that is not across its thrust"
    assert any(told in text for text in description.dropped)


def test_a_shaft_with_limits_is_no_joint_of_an_arm(read):
    shaft = PROP.replace('"continuous"', '"revolute"').replace(
        '</joint>', '<limit lower="-0.1" upper="3" effort="1" velocity="1"/></joint>'
    )
    _, vehicle = read(robot(link(), shaft, GZ_THRUSTER), '.urdf')
    assert vehicle.manipulator is None
    assert thrust(vehicle, 1900.0) == pytest.approx([50.0])


def test_of_two_axes_the_first_counts(read):
    twice = PROP.replace('<axis', '<axis xyz="0 1 0"/><axis')
    description, vehicle = read(robot(link(), twice, GZ_THRUSTER), '.urdf')
    np.testing.assert_allclose(vehicle.thrusters.axis, [[0, 1, 0]], atol=1e-9)
    assert any('a second <axis>' in text for text in description.assumptions)


# A hull without points, a DVL, errors


def test_an_old_surface_plugin_floats_two_hulls(read):
    surface = (
        '<plugin filename="libSurface.so" name="x::Surface"><link_name>base_link</link_name>'
        '<vehicle_length>4</vehicle_length><vehicle_width>2</vehicle_width>'
        '<hull_radius>0.25</hull_radius></plugin>'
    )
    _, vehicle = read(model(surface, mass=300.0))
    assert vehicle.buoyancy.volume == pytest.approx(2 * np.pi * 0.25**2 * 4, rel=0.02)
    with pytest.raises(ModelError, match='no <vehicle_width>'):
        read(model(surface.replace('vehicle_width', 'width')))


def beams(tilt, look):
    """Return a DVL that looks along an axis of its link, by four beams at a tilt (rad)."""
    text = link('dvl', 0.1) + (
        '<joint name="m" type="fixed"><parent link="base_link"/><child link="dvl"/></joint>'
    )
    names = ''
    for i in range(4):
        turn = f'0 {np.pi / 2 - tilt} {np.pi / 4 + i * np.pi / 2}'
        text += (
            f'<link name="b{i}"/><joint name="j{i}" type="fixed"><parent link="{look}"/>'
            f'<child link="b{i}"/><origin rpy="{turn}"/></joint>'
        )
        names += f'<beam_link_name_{i}>b{i}</beam_link_name_{i}>'
    return text + (
        '<gazebo><plugin name="d" filename="libuuv_gazebo_ros_dvl_plugin.so">'
        f'<link_name>dvl</link_name><sensor_topic>dvl</sensor_topic>{names}</plugin></gazebo>'
    )


def test_a_dvl_looks_where_its_beams_do(read):
    _, vehicle = read(robot(link(), beams(0.4, 'dvl')), '.urdf')
    (sensor,) = (s for s in vehicle.sensors if s.kind == 'dvl')
    assert sensor.spec.beam_angle == pytest.approx(np.degrees(0.4), abs=1e-6)
    np.testing.assert_allclose(sensor.rotation @ [0, 0, 1], [0, 0, -1], atol=1e-9)
    np.testing.assert_allclose(sensor.rotation @ [1, 0, 0], [1, 0, 0], atol=1e-9)


def test_an_error_names_the_source_and_what_was_left_out(tmp_path, capsys):
    text = '<scenario><robot name="r"><base_link name="b" type="model" physics="submerged">'
    text += '<physical><mesh filename="gone.obj"/></physical></base_link></robot></scenario>'
    assert run(tmp_path, text, suffix='.scn') == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert 'source.scn' in error
    assert 'gone.obj' in error
    assert 'out.urdf' not in error


def test_a_robot_without_a_mass_names_its_line(read):
    text = '<robot name="r">\n<link name="hull"/></robot>'
    with pytest.raises(ModelError, match=r'vehicle.urdf:2: <link.*no link has a mass'):
        read(text, '.urdf')


# Stonefish


def scenario(*parts, materials='<material name="M" density="2000"/>'):
    return (
        '<scenario><environment><ocean><water density="1000"/></ocean></environment><materials>'
        f'{materials}</materials><robot name="r"><base_link name="b" type="compound" '
        f'physics="submerged">{"".join(parts)}</base_link></robot></scenario>'
    )


def test_a_shell_weighs_its_area_times_its_wall(read, tmp_path):
    (tmp_path / 'cube.obj').write_text(cube_obj(0.4))
    text = scenario(
        '<external_part name="s" type="model" physics="submerged"><physical>'
        '<mesh filename="cube.obj"/><thickness value="0.01"/></physical><material name="M"/>'
        '</external_part>'
    )
    _, vehicle = read(text, '.scn')
    mass = 6 * 0.16 * 0.01 * 2000
    assert vehicle.inertia.mass == pytest.approx(mass)
    assert vehicle.buoyancy.volume == pytest.approx(6 * 0.16 * 0.01)
    # Six square plates: I = m (edge)^2 5/18 about each axis through the centre.
    tensor = vehicle.inertia.tensor
    np.testing.assert_allclose(tensor, 5 / 18 * mass * 0.16 * np.eye(3), atol=1e-9 * mass)
    np.testing.assert_allclose(vehicle.inertia.center_of_mass, [0.2, -0.2, -0.2], atol=1e-9)


def test_an_open_mesh_displaces_what_stonefish_counts_about_its_origin(read, tmp_path):
    """Σ v₁·(v₂ x v₃)/6: the open side of the cube lies in the origin and adds nothing."""
    lines = cube_obj(0.4).splitlines()
    corners = [np.array(line.split()[1:], float) for line in lines if line.startswith('v ')]

    def is_open(line):
        return line.startswith('f ') and not any(
            corners[int(word.partition('/')[0]) - 1][0] for word in line.split()[1:]
        )

    kept = [line for line in lines if not is_open(line)]
    assert len(kept) < len(lines)
    (tmp_path / 'cube.obj').write_text('\n'.join(kept))
    _, vehicle = read(
        scenario(
            '<external_part name="s" type="model" physics="submerged"><physical>'
            '<mesh filename="cube.obj"/></physical><mass value="60"/></external_part>'
        ),
        '.scn',
    )
    assert vehicle.buoyancy.volume == pytest.approx(0.4**3)


@pytest.mark.parametrize('upside_down', [False, True])
def test_a_body_of_stonefish_that_starts_upside_down_is_turned_over(read, upside_down):
    """A half turn about y in NED: z of the body is up, as its thruster's x is ahead."""
    parts = (
        '<external_part name="hull" type="box" physics="submerged"><dimensions xyz="1 0.4 0.4"/>'
        '<material name="M"/><mass value="150"/><compound_transform xyz="0 0 0" rpy="0 0 0"/>'
        '</external_part><external_part name="lead" type="box" physics="submerged">'
        '<dimensions xyz="0.1 0.1 0.1"/><material name="M"/><mass value="10"/>'
        '<compound_transform xyz="0.2 0.1 0.3" rpy="0 0 0"/></external_part>'
    )
    text = scenario(parts)
    if upside_down:
        turn = '<world_transform xyz="0 0 5" rpy="0 3.14159265 0"/></robot>'
        text = text.replace('</robot>', turn)
    description, vehicle = read(text, '.scn')
    sign = 1 if upside_down else -1
    named = read(text.replace('name="b"', 'name="base_link"'), '.scn')[1]
    for one in (vehicle, named):
        center = one.inertia.center_of_mass * 16 / np.array([0.2, 0.1, 0.3])
        np.testing.assert_allclose(center, [1, sign, sign], atol=1e-6)
    assert any('half a turn about x' in t for t in description.assumptions) == upside_down
    read(scenario(parts).replace('</robot>', '<world_transform xyz="$(arg p)"/></robot>'), '.scn')


def test_a_part_without_buoyancy_does_not_displace_when_the_rest_floats(read):
    box = (
        '<{tag} name="{name}" type="box" physics="submerged" buoyant="{floats}">'
        '<dimensions xyz="1 0.2 0.2"/><material name="M"/><mass value="{mass}"/></{tag}>'
    )
    text = scenario(
        box.format(tag='external_part', name='deck', floats='false', mass=5),
        box.format(tag='internal_part', name='foam', floats='true', mass=5),
    )
    _, vehicle = read(text, '.scn')
    assert vehicle.buoyancy.volume == pytest.approx(0.04, rel=1e-6)


STERN = """<actuator name="t" type="thruster"><link name="b"/>
<specs max_setpoint="50" inverted_setpoint="{inverted}" normalized_setpoint="true"/>
<propeller diameter="0.2" right="{right}"/><rotor_dynamics type="zero_order"/>
<thrust_model type="fluid_dynamics"><thrust_coeff forward="0.4" reverse="0.1"/>
<torque_coeff value="0.05"/></thrust_model></actuator>"""


@pytest.mark.parametrize(
    ('inverted', 'right', 'ahead'),
    [('false', 'true', 0.4), ('true', 'true', 0.1), ('false', 'false', 0.1)],
)
def test_a_propeller_that_turns_the_other_way_pushes_by_its_other_coefficient(
    read, inverted, right, ahead
):
    part = (
        '<external_part name="p" type="box" physics="submerged"><dimensions xyz="1 1 0.2"/>'
        '<material name="M"/></external_part>'
    )
    stern = STERN.format(inverted=inverted, right=right)
    _, vehicle = read(scenario(part).replace('</robot>', f'{stern}</robot>'), '.scn')
    full = 1000 * 0.2**4 * (50 / (2 * np.pi)) ** 2
    assert thrust(vehicle, 1900.0) == pytest.approx([ahead * full])
    assert thrust(vehicle, 1100.0) == pytest.approx([-(0.5 - ahead) * full])


def test_lines_of_a_scenario_in_xacro_are_those_of_its_files(read, tmp_path):
    (tmp_path / 'part.xacro').write_text(
        '<?xml version="1.0"?>\n<scenario xmlns:xacro="http://ros.org/wiki/xacro">\n'
        '<xacro:macro name="rov"><robot name="r"><base_link name="b" type="sphere" '
        'physics="submerged">\n<dimensions radius="0.1"/><material name="Unknown"/></base_link>\n'
        '<sensor name="s" type="odometry"><link name="b"/></sensor></robot></xacro:macro>\n'
        '</scenario>\n'
    )
    text = (
        '<?xml version="1.0"?>\n<scenario xmlns:xacro="http://ros.org/wiki/xacro">\n'
        '<xacro:include filename="part.xacro"/><xacro:rov/></scenario>'
    )
    description, _ = read(text, '.scn.xacro')
    assert any(text.startswith('part.xacro:3 <base_link>') for text in description.assumptions)
    assert any(text.startswith('part.xacro:5 <sensor>') for text in description.dropped)


# Plugins of other teams


def test_a_boat_of_gazebo_classic_floats_on_four_columns_and_pushes(read):
    dynamics = """<gazebo><plugin name="d" filename="libusv_gazebo_dynamics_plugin.so">
<bodyName>base_link</bodyName><waterDensity>1000</waterDensity><xDotU>7</xDotU><xU>50</xU>
<xUU>72</xUU><boatArea>0.8</boatArea><boatWidth>1.2</boatWidth><boatLength>2</boatLength>
</plugin></gazebo>"""
    thrusters = """<gazebo><plugin name="t" filename="libusv_gazebo_thrust_plugin.so"><thruster>
<linkName>prop</linkName><propJointName>spin</propJointName><maxForceFwd>45</maxForceFwd>
<maxForceRev>-20</maxForceRev></thruster></plugin></gazebo>"""
    _, vehicle = read(robot(link(mass=80), PROP, dynamics, thrusters), '.urdf')
    draught = vehicle.inertia.mass / (1000 * 0.8)
    assert vehicle.buoyancy.volume == pytest.approx(2 * draught * 0.8, rel=1e-6)
    assert vehicle.added_mass[0, 0] == 7.0
    assert vehicle.damping.linear[0, 0] == 50.0
    assert vehicle.damping.linear[2, 2] == 20.0  # the plugin's default
    assert vehicle.damping.quadratic[0, 0] == 72.0
    assert thrust(vehicle, 1900.0) == pytest.approx([45.0])
    assert thrust(vehicle, 1100.0) == pytest.approx([-20.0])


def test_buoyancy_of_hippocampus_by_its_present_names(read):
    water = """<plugin filename="buoyancy" name="hippo_gz_plugins::buoyancy::Plugin"><buoyancy>
<link>base_link</link><compensation>1.02</compensation><force_added>0.980665</force_added>
</buoyancy></plugin>"""
    _, vehicle = read(model(water))
    displaced = vehicle.buoyancy.volume * vehicle.buoyancy.fluid_density
    assert displaced == pytest.approx(20.0 * 1.02 + 0.1)


def test_plugins_of_hippocampus(read):
    water = """<plugin filename="hydrodynamics" name="hippo_gz_plugins::hydrodynamics">
<hydrodynamics><link>base_link</link><added_mass_linear>1 2 3</added_mass_linear>
<added_mass_angular>0.1 0.2 0.3</added_mass_angular><damping_linear>5 6 7</damping_linear>
<damping_angular>0.5 0.6 0.7</damping_angular></hydrodynamics></plugin>
<plugin filename="buoyancy" name="hippo_gz_plugins::buoyancy"><link>base_link</link>
<relative_compensation>1.02</relative_compensation>
<{0}>1.96133</{0}></plugin>""".format('additional_buyoancy_force')  # codespell:ignore buyoancy
    motor = """<plugin filename="thruster" name="hippo_gz_plugins::thruster"><link>rotor</link>
<joint>spin</joint><thruster_number>0</thruster_number><quadratic_coeff>0.01</quadratic_coeff>
<linear_coeff>-0.1</linear_coeff><maximum_rpm>1800</maximum_rpm>
<propeller_direction>ccw</propeller_direction></plugin>"""
    _, vehicle = read(model(ROTOR, water, motor, mass=10.0))
    displaced = vehicle.buoyancy.volume * vehicle.buoyancy.fluid_density
    assert displaced == pytest.approx(10.2 + 0.2, rel=1e-4)
    np.testing.assert_allclose(np.diag(vehicle.damping.linear), [5, 6, 7, 0.5, 0.6, 0.7])
    assert thrust(vehicle, 1900.0) == pytest.approx([0.01 * 900 - 0.1 * 30])


def test_two_plugins_of_one_name_are_told_apart(read):
    block = '<plugin name="h" filename="libHydrodynamicsPlugin.so">{}</plugin>'
    lrauv = block.format('<link_name>base_link</link_name><xUabsU>-6</xUabsU><zWabsW>-9</zWabsW>')
    _, vehicle = read(model(lrauv))
    assert vehicle.damping.quadratic[0, 0] == pytest.approx(6)
    description, _ = read(model(block.format('<wave_model>w</wave_model>')))
    assert any('drag by their panels' in text for text in description.assumptions)


# Hydrodynamics of links other than the base

ARM = """<link name="pod"><pose>0.4 0 0.2 0 {pitch} 0</pose><inertial><mass>1</mass></inertial>
</link><joint name="holds" type="{kind}"><parent>base_link</parent><child>pod</child>{axis}
</joint>"""
TERMS = """<plugin name="gz::sim::systems::Hydrodynamics" filename="h">
<link_name>{link}</link_name><xDotU>-{added}</xDotU><xU>-{linear}</xU><xUabsU>-{quadratic}</xUabsU></plugin>"""


@pytest.mark.parametrize('pitch', [0.0, np.pi / 2, 0.5])
def test_hydrodynamics_of_a_link_that_is_fixed_are_added(read, pitch):
    """D e_x = Hᵀ D_p (|H e_x| ∘ H e_x) of the pod, H its lever and its turn; added mass Hᵀ M H."""
    parts = [
        ARM.format(pitch=pitch, kind='fixed', axis=''),
        TERMS.format(link='base_link', added=2, linear=3, quadratic=4),
        TERMS.format(link='pod', added=5, linear=6, quadratic=7),
    ]
    description, vehicle = read(model(*parts))
    along, across = np.cos(pitch), np.sin(pitch)
    axis = np.array([along, 0, -across])
    moment = np.cross([0.4, 0, 0.2], axis)
    column = np.concatenate([axis, moment])
    np.testing.assert_allclose(
        vehicle.added_mass, np.diag([2.0, 0, 0, 0, 0, 0]) + 5 * np.outer(column, column), atol=1e-9
    )
    np.testing.assert_allclose(
        vehicle.damping.linear, np.diag([3.0, 0, 0, 0, 0, 0]) + 6 * np.outer(column, column),
        atol=1e-9,
    )  # fmt: skip
    wanted = 7 * np.outer(column, np.abs(column) * column)
    wanted[0, 0] += 4
    if pitch == 0.5:  # couplings off the diagonal could drive it: they are left out and named
        wanted = np.diag(np.diag(wanted))
        assert any('gain energy' in text for text in description.dropped)
    np.testing.assert_allclose(vehicle.damping.quadratic, wanted, atol=1e-9)
    assert any('one axis at a time' in text for text in description.assumptions)


@pytest.mark.parametrize('first', [True, False], ids=['alone', 'beside the base'])
def test_hydrodynamics_of_a_link_that_moves_are_named(read, first):
    axis = '<axis><xyz>1 0 0</xyz></axis>'
    terms = [TERMS.format(link='pod', added=5, linear=6, quadratic=7)]
    if not first:
        terms.insert(0, TERMS.format(link='base_link', added=2, linear=3, quadratic=4))
    description, vehicle = read(model(ARM.format(pitch=0, kind='continuous', axis=axis), *terms))
    assert any("of link 'pod', which moves" in text for text in description.dropped)
    assert bool(description.estimated) == first
    assert first or vehicle.damping.linear[0, 0] == 3


def test_a_buoyancy_system_that_does_not_act_on_the_model_is_named(read):
    world = """<sdf version="1.9"><world name="w"><plugin name="gz::sim::systems::Buoyancy"
filename="b"><uniform_fluid_density>1020</uniform_fluid_density><enable>{}</enable></plugin>{}
</world></sdf>"""
    inside = model().removeprefix('<sdf version="1.9">').removesuffix('</sdf>')
    description, _ = read(world.format('box', inside))
    assert any("does not act on 'm'" in text for text in description.dropped)
    description, vehicle = read(world.format('m::base_link', inside))
    assert not any('does not act' in text for text in description.dropped)
    assert vehicle.buoyancy.volume == pytest.approx(0.02)
