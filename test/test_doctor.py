# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The doctor finds seeded faults, and nothing in the shipped vehicles."""

import json
import re
from functools import cache

import numpy as np
import pytest
from conftest import ROOT, SETS, VEHICLES
from hypothesis import HealthCheck, given, settings
from test_fuzz_urdf import mutated

from marine_sim_ros import MarineSimError, load_vehicle
from marine_sim_ros.autopilot.channels import MOTORS, motor_signs
from marine_sim_ros.core.registry import FORCES
from marine_sim_ros.core.schema import declaration, number
from marine_sim_ros.doctor.checks import CHECKS_OF_TEXT, CHECKS_OF_VEHICLE, examine
from marine_sim_ros.doctor.context import Diagnostic, Edit, FindingPlace, Severity, load_context
from marine_sim_ros.doctor.hydrodynamics import munk_speeds
from marine_sim_ros.doctor.repairs import apply_edits
from marine_sim_ros.doctor.tags import warning_remedy
from marine_sim_ros.doctor.verdict import judge_motion
from marine_sim_ros.model import elements
from marine_sim_ros.model.elements import element_schemas
from marine_sim_ros.model.library import vehicle_path
from marine_sim_ros.model.xacro_expansion import read_description
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.physics.force import ForceModel
from marine_sim_ros.sim.safe_step import (
    drag_rates,
    drag_step_limit,
    max_yaw_rate,
    surface_stiffness,
)
from marine_sim_ros.tools.main import main

trimesh = pytest.importorskip('trimesh')

ERROR, WARNING, HINT = Severity
DOWN = 'rpy="3.141592653589793 0 0"'
UP = 'rpy="0 0 0"'


@cache
def text_of(name, *arguments):
    return read_description(vehicle_path(name), dict(a.split(':=') for a in arguments))


def swapped(first, second):
    """Exchange two pieces of a text."""
    return lambda text: text.replace(first, '\0').replace(second, first).replace('\0', second)


def put(old, new, count=1):
    def edit(text):
        assert old in text, old
        return text.replace(old, new, count)

    return edit


def mm_mesh(text, folder, inverted=False):
    """Give the ROV's base a box of a mesh in millimetres, or inside out."""
    box = trimesh.creation.box((0.4, 0.3, 0.2) if inverted else (400, 300, 200))
    if inverted:
        box.invert()
    box.export(folder / 'body.stl')
    return text.replace('<box size="0.4 0.3 0.2"/>', '<mesh filename="body.stl"/>')


def upside_down(text):
    """Write the whole ROV as a NED modeller would: y to starboard, z down."""

    def turned(match):
        x, y, z = (float(v) for v in match[1].split())
        return f'xyz="{x:g} {-y:g} {-z:g}"'

    return re.sub(r'xyz="([^"]*)"', turned, text)


def joint_moves(text):
    start = text.index('<joint name="flotation_joint" type="fixed">')
    limit = '"revolute"><limit lower="-1" upper="1" velocity="1" effort="1"/>'
    return text[:start] + text[start:].replace('"fixed">', limit, 1)


def thrust_times(factor):
    """Scale the thrusts of all curves."""
    return column_times(1, factor)


def pulses_later(shift):
    """Add to the pulse widths of all curves."""
    return column_times(0, 1.0, shift)


def column_times(column, factor, shift=0.0):
    """Scale and shift one of the four numbers in each row of all curves."""

    def row(match):
        words = list(match.groups())
        words[column] = f'{float(words[column]) * factor + shift:g}'
        return ' '.join(words)

    def curve(match):
        return re.sub(r'(\S+)\s+(\S+)\s+(\S+)\s+(\S+)', row, match[0][len(match[1]) :]).join(
            [match[1], '']
        )

    return lambda text: re.sub(r'(<curve [^>]*>)[^<]*', curve, text)


def in_grams(text):
    return re.sub(
        r'<mass value="([^"]*)"', lambda m: f'<mass value="{float(m[1]) * 1000:g}"', text
    )


ROV, BOAT = ('simple_rov',), ('surface_vessel',)
BLUE = ('bluerov2', 'coefficients:=bluerov2_gz', 'reaction_torque:=0.02')
GZ = ('bluerov2', 'coefficients:=bluerov2_gz')
WU = ('bluerov2', 'coefficients:=wu2018')
HEAVY = ('bluerov2_heavy',)
ROBOT = '</robot>'
SONAR = (
    '<link name="sonar_link">{}</link><joint name="sonar_joint" type="fixed"><parent '
    'link="base_link"/><child link="sonar_link"/><origin xyz="{}"/></joint></robot>'
)
MASS = (
    '<inertial><mass value="{}"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" '
    'izz="0.01"/></inertial>'
)
BODY = '<collision><geometry><box size="0.2 0.1 0.1"/></geometry></collision>'
ORCA = '<gazebo><plugin name="p" filename="libOrca{}Plugin.so">{}</plugin></gazebo></robot>'
INERTIA_ROV = '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>'

FAULTS = {
    'reversed thruster': (ROV, put(f'0 -0.12 0" {DOWN}', f'0 -0.12 0" {UP}'),
                          'mirrored-thrusters', WARNING),
    'reversed thruster of a BlueROV2': (BLUE, put(f'{DOWN} xyz=" 0    -0.109',
                                                  f'{UP} xyz=" 0    -0.109', 2),
                                        'ardusub-order', WARNING),
    'thruster and its link differ': (BLUE, put(DOWN, UP), 'thruster-links', WARNING),
    'thruster elsewhere than its link': (
        BLUE, lambda t: t.replace('xyz=" 0.14 -0.092 0"', 'xyz=" 0.16 -0.092 0"', 1),
        'thruster-links', WARNING),
    'swapped order': (BLUE, swapped('name="thruster_1"', 'name="thruster_2"'),
                      'thruster-links', WARNING),
    'swapped places': (BLUE, swapped('"-0.15 -0.092 0"', '"-0.15  0.092 0"'), 'ardusub-order',
                       WARNING),
    'swapped order of a Heavy': (HEAVY, swapped('" 0.12 -0.218 0"', '"-0.12 -0.218 0"'),
                                 'ardusub-order', WARNING),
    'port to starboard': (ROV, put('"-0.2 0.12 0"', '"-0.2 -0.12 0"'), 'thruster-names', WARNING),
    'lateral pushes ahead': (ROV, put('rpy="-1.5707963267948966 0 0"',
                                      'rpy="0 1.5707963267948966 0"'),
                             'thruster-names', WARNING),
    'tethered to itself': (
        ROV, put('</robot>', '<tether type="fathom" length="9" vehicle="simple_rov"/></robot>'),
        'tether-anchor', ERROR),
    'no thrust ahead': (ROV, put('pos_force="20"', 'pos_force="0"'), 'pulse', ERROR),
    'all push one way': (ROV, lambda t: t.replace('0 1.5707963267948966 0', '0 0 0'),
                         'reachable-axes', WARNING),
    'propellers turn alike': (BLUE, put('direction="cw" name="thruster_6"',
                                        'direction="ccw" name="thruster_6"'),
                              'handedness', WARNING),
    'forgotten sensor mass': (BLUE, put(ROBOT, SONAR.format(BODY, '0.2 0 0')), 'forgotten-mass',
                              WARNING),
    'heavy sensor without its volume': (BLUE, put(ROBOT, SONAR.format(MASS.format(3), '0 0 -0.1')),
                                        'displaced-mass', WARNING),
    'volume in litres': (BLUE, lambda t: re.sub('<volume>.*<', '<volume>10.04<', t),
                         'displaced-mass', ERROR),
    'no volume': (BLUE, lambda t: re.sub('<volume>.*<', '<volume>0<', t), 'displaced-mass', ERROR),
    'buoyancy below gravity': (WU, put('xyz="0 0 -0.02"', 'xyz="0 0 0.02"'), 'righting', ERROR),
    'neutral attitude': (WU, put('xyz="0 0 -0.02"', 'xyz="0 0 -0.001"'), 'righting', WARNING),
    'coincident centres': (WU, lambda t: t.replace('xyz="0 0 -0.02"', 'xyz="0 0 -1e-17"'),
                           'righting', WARNING),
    'mass off the middle': (WU, put('xyz="0 0 -0.02"', 'xyz="0.02 0 -0.02"'), 'righting', WARNING),
    'top-heavy boat': (BOAT, put('<origin xyz="0 0 -0.08"/>', '<origin xyz="0 0 1.5"/>'),
                       'metacentric-height', ERROR),
    'boat that rolls on': (BOAT, lambda t: re.sub('<linear_damping>.*?</linear_damping>', '', t),
                           'roll-damping', HINT),
    'wrong inertia sign': (ROV, put('iyy="0.1"', 'iyy="-0.1"'), 'possible-inertia', ERROR),
    'impossible inertia': (ROV, put('izz="0.1"', 'izz="0.3"'), 'possible-inertia', ERROR),
    'inertia in g m2': (ROV, put(INERTIA_ROV, INERTIA_ROV.replace('0.1', '100')),
                        'plausible-inertia', WARNING),
    'inertia left tiny': (WU, lambda t: t.replace('0.16"', '0.0001"'), 'plausible-inertia',
                          WARNING),
    'added mass in g': (WU, put('<added_mass>5.5 ', '<added_mass>5500 '), 'added-mass', WARNING),
    'indefinite added mass': (WU, lambda t: re.sub(
        '<added_mass>.*<', '<added_mass>' + ' '.join(
            ['1 3 0 0 0 0', '3 1 0 0 0 0', '0 0 1 0 0 0', '0 0 0 .1 0 0', '0 0 0 0 .1 0',
             '0 0 0 0 0 .1']) + '<', t), 'added-mass', ERROR),
    'negative damping': (WU, put('<linear_damping>4.03 6.22 5.18 0.07 0.07 0.07',
                                 '<linear_damping>-4.03 -6.22 -5.18 -0.07 -0.07 -0.07'),
                         'negative-damping', ERROR),
    'undamped yaw': (GZ, put('3.992 3.992 3.992', '3.992 3.992 0'), 'undamped',
                     WARNING),
    'little drag in yaw': (GZ, put('3.992 3.992 3.992', '3.992 3.992 0.05'), 'turning-rate',
                           WARNING),
    'no drag ahead': (GZ, lambda t: re.sub(
        '<(linear|quadratic)_damping>[^ ]+', r'<\1_damping>0', t), 'unbounded-speed', ERROR),
    'hardly any drag': (GZ, put('>33.732 ', '>0.33732 '), 'top-speed', WARNING),
    'drag beyond any step': (GZ, put('3.992 3.992 3.992', '3992 3.992 3.992'),
                             'drag-step', WARNING),
    'stiff surface': (GZ, put('<height>0.25', '<height>0.0001'), 'safe-step',
                      WARNING),
    'NED frame': (ROV, upside_down, 'looks-down', WARNING),
    'millimetre mesh': (ROV, mm_mesh, 'mesh-unit', ERROR),
    'mesh inside out': (ROV, lambda t, f: mm_mesh(t, f, inverted=True), 'inside-out', WARNING),
    'missing mesh': (ROV, put('<box size="0.4 0.3 0.2"/>\n      </geometry>\n    </visual>',
                              '<mesh filename="no.stl"/></geometry></visual>'), 'meshes', ERROR),
    'attributes for elements': (ROV, lambda t: re.sub(
        r'<pressure_drag>.*?</pressure_drag>', '<pressure_drag C_PD1="3"/>', t, flags=re.S),
        'unread-attributes', ERROR),
    'attribute nobody knows': (ROV, put('name="lateral"', 'name="lateral" voltage="16"'),
                               'unread-attributes', WARNING),
    'unused material': (ROV, put('<hydrodynamics>', '<buoyancy_material name="lead"><density '
                                 'value="11.3"/></buoyancy_material><hydrodynamics>'),
                        'unused-materials', WARNING),
    'unused curve': (ROV, put('<thrusters>', '<thrusters><curve name="c">1100 -1 0 0 1500 0 0 0 '
                              '1900 1 0 0</curve>'), 'unused-curves', WARNING),
    'density in kg/m3': (ROV, put('value="1.1"', 'value="1100"'), 'density-unit', ERROR),
    'misspelt element': (ROV, lambda t: t.replace('thrusters>', 'thruster>'), 'misspelt', ERROR),
    'misspelt in a collision': (ROV, put('<buoyancy_material name="rov_body"/>',
                                         '<buoyant_material name="rov_body"/>'), 'misspelt',
                                ERROR),
    'plugin beside thrusters': (ROV, put(ROBOT, ORCA.format('Thruster', '<thruster/>')),
                                'plugins', ERROR),
    'plugin beside buoyancy': (BLUE, put(ROBOT, ORCA.format('Buoyancy', '')), 'plugins', ERROR),
    'plugin beside drag': (BLUE, put(ROBOT, ORCA.format('Drag', '')), 'plugins', ERROR),
    'hull drag beside damping': (BLUE, put('<linear_damping>', '<air_density>1.2</air_density>'
                                           '<linear_damping>'), 'drag-twice', WARNING),
    'hull drag beside damping aside': (BOAT, put('</linear_damping>', '</linear_damping>'
                                                 '<quadratic_damping>0 80 120 1.5 1.5 1.5'
                                                 '</quadratic_damping>'), 'drag-twice', WARNING),
    'plugin of another': (ROV, put(ROBOT, '<gazebo><plugin name="p" filename="gz-sim-buoyancy-'
                                   'system"/></gazebo></robot>'), 'ignored-plugins', WARNING),
    'unknown joint of a controller': (ROV, put(ROBOT, '<ros2_control><hardware><plugin>'
                                               'topic_based_ros2_control/TopicBasedSystem'
                                               '</plugin></hardware><joint name="arm"/>'
                                               '</ros2_control></robot>'), 'ros2-control', ERROR),
    'unconnected link': (ROV, put(ROBOT, '<link name="lost"/></robot>'), 'one-tree', ERROR),
    'joint to nowhere': (ROV, put('<child link="baro_link"/>', '<child link="bar_link"/>'),
                         'one-tree', ERROR),
    'odd name': (ROV, lambda t: t.replace('baro_link', '/baro link'), 'frame-names', WARNING),
    'name of the world': (ROV, lambda t: t.replace('baro_link', 'map'), 'frame-names', WARNING),
    'hull on a joint': (ROV, joint_moves, 'moving-hull', WARNING),
    'joint in millimetres': (BLUE, put('xyz="-0.19 0 0"', 'xyz="-190 0 0"'), 'far-links',
                             WARNING),
    'thruster in millimetres': (ROV, put('"0 -0.12 0"', '"0 -120 0"'), 'far-links', WARNING),
    'thruster out of this world': (ROV, put('"0 -0.12 0"', '"0 -1e200 0"'), 'loads', ERROR),
    'added mass by panels': (ROV, put('<hydrodynamics>', '<hydrodynamics added_mass="panels">'),
                             'computed', HINT),
    'unusual number': (ROV, put('<C_PD2>5', '<C_PD2>1.2'), 'reading', WARNING),
    'shifted dead band': (BLUE, pulses_later(80), 'neutral', WARNING),
    'thrust in kgf': (BLUE, thrust_times(1 / 9.80665), 'thrust-unit', WARNING),
    'speeds in rad/s': (BLUE, column_times(3, 1 / 9.5493), 'rotor-speed-unit', WARNING),
    'masses in grams': (BLUE, in_grams, 'mass-unit', WARNING),
    'one mass in grams': (ROV, put('<mass value="10.0"/>', '<mass value="10000"/>'),
                          'link-mass', WARNING),
    'inertia in kg mm2': (ROV, lambda t: t.replace('ixx="0.1"', 'ixx="1e5"').replace(
        'iyy="0.1"', 'iyy="1e5"').replace('izz="0.1"', 'izz="1e5"'), 'inertia-unit', WARNING),
    'degrees': (ROV, put(DOWN, 'rpy="180 0 0"'), 'angle-unit', WARNING),
    'DVL without rpy': (ROV, put(ROBOT, '<sensor type="dvl" name="d"><origin xyz="0 0 -0.2"/>'
                                 '</sensor></robot>'), 'sensor-view', WARNING),
    'altimeter without rpy': (ROV, put(ROBOT, '<sensor type="altimeter" name="a"><origin xyz="0 0 '
                                       '-0.2"/></sensor></robot>'), 'sensor-view', WARNING),
    'sonar without rpy': (ROV, put(ROBOT, '<sensor type="imaging_sonar" name="s"><origin '
                                   'xyz="0 0 -0.2"/></sensor></robot>'), 'sensor-view', WARNING),
    'not loading': (ROV, put('<C_PD2>5', '<C_PD2>five'), 'loads', ERROR),
}  # fmt: skip


def found_in(base, edit, folder):
    text = text_of(*base)
    changed = edit(text, folder) if edit.__code__.co_argcount > 1 else edit(text)
    assert changed != text
    path = folder / 'faulty.urdf'
    path.write_text(changed)
    return examine(load_context(str(path), {}))


@pytest.mark.parametrize('fault', FAULTS)
def test_seeded_fault_is_found(fault, tmp_path):
    base, edit, check, severity = FAULTS[fault]
    findings = found_in(base, edit, tmp_path)
    wanted = [f for f in findings if f.check == check and f.severity is severity]
    assert wanted, [(f.check, f.severity.value, f.message) for f in findings]
    assert all(f.message and f.advice and str(f.place).startswith(str(tmp_path)) for f in wanted)


def test_a_mesh_in_millimetres_is_said_once_and_nothing_follows_from_it(tmp_path):
    def thrice(text, folder):  # it is a visual and a collision already
        text = mm_mesh(text, folder)
        visual = '<visual><geometry><mesh filename="body.stl"/></geometry></visual>'
        return text.replace('<collision', f'{visual}<collision', 1)

    (found,) = found_in(ROV, thrice, tmp_path)
    assert (found.check, found.severity) == ('mesh-unit', ERROR)
    assert 'body.stl is 400 m long' in found.message
    assert f'here and at {tmp_path}/faulty.urdf:' in found.advice
    context = load_context(str(tmp_path / 'faulty.urdf'), {})
    mended = apply_edits(context, examine(context))[0].decode()
    assert mended.count('<mesh filename="body.stl" scale="0.001 0.001 0.001"/>') == 3


@pytest.mark.parametrize(
    ('unit', 'metres', 'other'),
    [('millimetres', 0.001, ''), ('centimetres', 0.01, ''), ('inches', 0.0254, 'centimetres')],
)
def test_the_unit_of_a_mesh_is_one_in_which_it_fits(tmp_path, unit, metres, other):
    """Where two fit, as for 28 inches, both are named and none is chosen."""

    def exported(text, folder):
        trimesh.creation.box(np.array([0.7, 0.3, 0.2]) / metres).export(folder / 'body.stl')
        return text.replace('<box size="0.4 0.3 0.2"/>', '<mesh filename="body.stl"/>')

    found = [f for f in found_in(ROV, exported, tmp_path) if f.check == 'mesh-unit']
    assert len(found) == 1
    assert unit in found[0].message
    assert other in found[0].message
    assert f'{metres:g} {metres:g} {metres:g}' in found[0].advice
    assert ('millimetres' in found[0].message) == (unit == 'millimetres')
    context = load_context(str(tmp_path / 'faulty.urdf'), {})
    mended = apply_edits(context, examine(context))[0].decode()
    assert ('scale=' in mended) == (not other)


@pytest.mark.parametrize('metres', [1.0, 0.3048])
def test_a_hull_in_feet_is_noticed_by_the_volume_that_is_given(tmp_path, metres):
    """A box of 1.3 m beside 10.8 litres: 36 times the volume, by its size not yet odd."""

    def exported(text, folder):
        trimesh.creation.box(np.array([0.4, 0.3, 0.2]) / metres).export(folder / 'body.stl')
        text = re.sub(
            r'<buoyancy_material name="\w+">.*?</buoyancy_material>', '', text, flags=re.S
        )
        text = re.sub(r'<buoyancy_material name="\w+"/>', '', text)
        text = text.replace('<box size="0.4 0.3 0.2"/>', '<mesh filename="body.stl"/>')
        given = '<buoyancy><volume>0.0108</volume><center_of_volume>0 0 0.03</center_of_volume>'
        return text.replace('</robot>', f'{given}</buoyancy></robot>')

    found = [f for f in found_in(ROV, exported, tmp_path) if f.check == 'mesh-unit']
    assert len(found) == (metres != 1.0)
    assert all('in feet' in f.message and '0.3048 0.3048 0.3048' in f.advice for f in found)


def test_a_mesh_that_fits_in_no_unit_is_not_scaled(tmp_path):
    """20 km: in millimetres 20 m, beside parts within 0.4 m."""

    def exported(text, folder):
        trimesh.creation.box((20_000, 300, 200)).export(folder / 'body.stl')
        return text.replace('<box size="0.4 0.3 0.2"/>', '<mesh filename="body.stl"/>')

    (found,) = (f for f in found_in(ROV, exported, tmp_path) if f.check == 'mesh-unit')
    assert 'millimetres' in found.message
    context = load_context(str(tmp_path / 'faulty.urdf'), {})
    assert 'scale=' not in apply_edits(context, examine(context))[0].decode()


def test_two_edits_of_one_element_are_both_made_and_the_rest_stays(tmp_path):
    path = tmp_path / 'two.urdf'
    path.write_text(
        '<robot name="a">\n  <link name="base_link"/> <!-- é -->\n  <x b="1"/>\n</robot>'
    )
    context = load_context(str(path), {})
    element = context.root.find('x')
    edits = (
        Edit(element, 'renamed', tag='y'),
        Edit(element, 'moved', attributes={'b': None}, children={'b': '1'}),
        Edit(element, 'scaled', attributes={'c': '2'}, children={'b': '1'}),
    )
    findings = [
        Diagnostic(Severity.ERROR, '', FindingPlace(str(path)), '', edit=edit) for edit in edits
    ]
    content, descriptions = apply_edits(context, findings)
    expected = path.read_text().replace('<x b="1"/>', '<y c="2"><b>1</b></y>')
    assert content.decode() == expected
    assert descriptions == ['renamed', 'moved', 'scaled']


@pytest.mark.parametrize(
    ('warning', 'remedy'),
    [
        ('a.stl: 3 hole(s) closed, 1 m³ became 2 m³', 'close the surface'),
        ('a.urdf:3: <C_PD2>: is 99 Pa; usual are 1 to 5 Pa', 'check the number and its unit'),
        ('a.urdf:3: <joint>: has velocity 0; it is taken as fixed', 'write type="fixed"'),
        ('a text of tomorrow', 'correct the description, or leave it'),
    ],
)
def test_each_warning_of_the_reader_has_its_remedy(warning, remedy):
    assert warning_remedy(warning).startswith(remedy)


def test_the_refusal_of_an_element_names_attributes_where_there_are_only_those(tmp_path):
    def edit(text):
        return text.replace(
            '<linear pos_force="20" neg_force="20"/>', '<linear><thrust>2</thrust></linear>', 1
        )

    (found,) = [f for f in found_in(ROV, edit, tmp_path) if f.check == 'loads']
    assert 'expected attributes alone: dead_zone, neg_force, pos_force, voltage' in found.message


def advice_of(check, base, edit, folder):
    return [f.advice for f in found_in(base, edit, folder) if f.check == check]


@pytest.mark.parametrize(
    ('column', 'factor', 'text'),
    [
        (1, 1 / 9.80665, 'the thrust is likely in kgf: multiply it by 9.8'),
        (1, 1 / 4.44822, 'the thrust is likely in lbf: '),
        (1, 1000 / 9.80665, 'the thrust is likely in gf: '),
        (2, 1e-3, 'the power is likely in kW: multiply it by 1000'),
        (2, 1 / 16, 'the power is likely the current in A: '),
    ],
)
def test_the_unit_of_a_thrust_table_is_told(column, factor, text, tmp_path):
    findings = found_in(BLUE, column_times(column, factor), tmp_path)
    found = [f.advice for f in findings if f.check == 'thrust-unit']
    assert found
    assert all(text in advice for advice in found)
    assert not [f for f in findings if f.check == 'rotor-speed-unit']  # the speeds are right


@pytest.mark.parametrize(
    ('factor', 'text'),
    [(1 / 9.5493, 'in rad/s: multiply'), (1 / 60, 'per second'), (9.5493, 'taken for rad/s')],
)
@pytest.mark.parametrize('sized', [True, False])
def test_the_unit_of_rotor_speeds_is_told(factor, text, sized, tmp_path):
    def edit(description):
        changed = column_times(3, factor)(description)
        return changed if sized else re.sub('<diameter>[^<]*</diameter>', '', changed)

    found = advice_of('rotor-speed-unit', BLUE, edit, tmp_path)
    if not sized and factor < 1:  # a slow tip may be that of a large propeller
        assert not found
        return
    assert found
    assert all(text in advice for advice in found)


def test_the_units_of_masses_and_inertia_are_told(tmp_path):
    (advice,) = advice_of('inertia-unit', *FAULTS['inertia in kg mm2'][:2], tmp_path)
    assert advice == 'the inertia is likely in kg·mm²'
    (advice,) = advice_of('link-mass', *FAULTS['one mass in grams'][:2], tmp_path)
    assert advice == 'its mass is likely in g'


CORNER = """<robot name="barge"><buoyancy_material name="foam"><density value="0.3"/>
</buoyancy_material><link name="base_link"><inertial><origin xyz="{} 0.25 0.1"/><mass value="36"/>
<inertia ixx="0.9" ixy="0" ixz="0" iyy="2.5" iyz="0" izz="3.2"/></inertial>
<collision><origin xyz="0.5 0.25 0.1"/><geometry><box size="1.0 0.5 0.2"/></geometry>
<buoyancy_material name="foam"/></collision></link></robot>"""


def test_a_hull_whose_origin_is_at_a_corner_lies_askew(tmp_path):
    path = tmp_path / 'barge.urdf'
    path.write_text(CORNER.format(0.0))
    found = [f for f in examine(load_context(str(path), {})) if f.check == 'metacentric-height']
    (askew,) = (f for f in found if 'degrees askew in pitch' in f.message)
    meant = re.search(r'<origin> of <inertial> at x = ([-0-9.e]+) m trims it', askew.advice)
    assert meant is not None, askew
    assert float(meant[1]) == pytest.approx(0.5, abs=1e-3)  # the middle of the box
    path.write_text(CORNER.format(0.5))
    found = [f for f in examine(load_context(str(path), {})) if f.check == 'metacentric-height']
    assert not any('askew' in f.message for f in found)


@pytest.mark.parametrize(('ahead', 'tilt'), [(0.0, 0), (0.0005, 0), (0.004, 11), (-0.003, 9)])
def test_the_verdict_says_how_far_from_level_it_hangs(ahead, tilt, tmp_path):
    """The tangent of the angle is arm over height of buoyancy: atan(4/20) = 11.3 degrees."""
    path = tmp_path / 'trim.urdf'
    path.write_text(
        '<robot name="trim"><link name="base_link"><inertial><mass value="11"/>'
        '<inertia ixx="0.2" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="0.3"/></inertial></link>'
        f'<buoyancy><volume>0.0113</volume><center_of_volume>{ahead} 0 0.02</center_of_volume>'
        '<height>0.25</height></buoyancy><hydrodynamics><linear_damping>4 6 6 1 1 1'
        '</linear_damping></hydrodynamics></robot>'
    )
    line = judge_motion(load_context(str(path), {}).vehicle).lines[2]
    assert ('askew' in line) == bool(tilt), line
    assert not tilt or f'it hangs {tilt}° askew' in line, line


@pytest.mark.parametrize('place', [(1.0, 0.0, 0.0), (0.0, 0.5, 0.0), (-1.0, 0.25, 0.5)])
def test_a_roll_fades_the_same_about_each_origin(place, tmp_path):
    x, y, z = place
    hull = '<child link="hull"/>'

    def undamped(text):
        return re.sub('<linear_damping>.*?</linear_damping>', '', text)

    def moved(text):
        text = put('xyz="-0.05 0 -0.3"', f'xyz="{x - 0.05} {y} {z - 0.3}"')(undamped(text))
        return put(hull, f'{hull}<origin xyz="{x} {y} {z}"/>')(text)

    def numbers(edit):
        found = [f for f in found_in(BOAT, edit, tmp_path) if f.check == 'roll-damping']
        pattern = r'(roll|pitch) of (\S+) rad/s hardly fades, by (\S+) of'
        return {
            m[1]: (float(m[2]), float(m[3]))
            for f in found
            for m in re.finditer(pattern, f.message)
        }

    expected, got = numbers(undamped), numbers(moved)
    assert expected
    assert got.keys() == expected.keys()
    for axis, pair in expected.items():
        assert got[axis] == pytest.approx(pair, rel=0.02)


@pytest.mark.filterwarnings('error')
def test_sizes_beyond_all_numbers_warn_of_nothing(tmp_path):
    absurd = re.sub(r'<box size="[^"]*"', '<box size="1e200 1e200 1e308"', text_of(*BLUE))
    path = tmp_path / 'absurd.urdf'
    path.write_text(absurd)
    assert '1e308' in absurd
    examine(load_context(str(path), {}))


@pytest.mark.parametrize('damping', ['0.02', '0.1'])
def test_the_proposed_damping_in_yaw_holds_the_rate(damping, tmp_path):
    little = put('3.992 3.992 3.992', f'3.992 3.992 {damping}')
    (found,) = [f for f in found_in(GZ, little, tmp_path) if f.check == 'turning-rate']
    proposed, rate = map(
        float, re.search(r': ([\d.]+) holds it at about (\d)', found.advice).groups()
    )
    mended = put('3.992 3.992 3.992', f'3.992 3.992 {proposed}')
    assert 'turning-rate' not in {f.check for f in found_in(GZ, mended, tmp_path)}
    vehicle = load_context(str(tmp_path / 'faulty.urdf'), {}).vehicle
    assert max_yaw_rate(vehicle) == pytest.approx(float(rate), rel=0.1)


def test_every_check_has_a_fault_or_a_hint():
    hints = {'munk-pitch', 'munk-yaw', 'products-of-inertia'}
    assert {f[2] for f in FAULTS.values()} | hints == {
        *CHECKS_OF_TEXT, *CHECKS_OF_VEHICLE,
    }  # fmt: skip


SHIPPED = [
    *((v, {'coefficients': s}) for v in VEHICLES for s in SETS),
    *((v, {'thrust': 'linear', 'ventilation': 'true', 'reaction_torque': '0.02',
           'rotor_time_constant': '0'}) for v in VEHICLES),
    ('bluerov2_heavy', {'coefficients': 'tank2025'}),
    ('bluerov2', {'coefficients': 'tank2025_body'}),
    ('simple_rov', {}), ('surface_vessel', {}),
    ('investigator90', {}), ('investigator90', {'ballast': '21.9'}),
    ('investigator90', {'mass': 'voxels', 'voxel_size': '0.005'}),
    ('investigator90', {'inertia': 'diagonal', 'arm': 'false', 'max_thrust': '300'}),
    ('investigator90', {'arm': 'massless'}),
]  # fmt: skip
HINTS = {
    'bluerov2': {'reachable-axes', 'added-mass', 'munk-pitch', 'munk-yaw', 'drag-step',
                 'unused-curves'},
    'bluerov2_heavy': {'added-mass', 'munk-pitch', 'munk-yaw', 'drag-step', 'unused-curves'},
    'simple_rov': {'reachable-axes', 'displaced-mass'},
    'surface_vessel': {'reachable-axes', 'top-speed'},
    'investigator90': {'reachable-axes', 'displaced-mass', 'products-of-inertia'},
}  # fmt: skip


@pytest.mark.parametrize(
    ('name', 'arguments'), SHIPPED, ids=lambda v: v if isinstance(v, str) else '-'.join(v.values())
)
def test_shipped_vehicles_have_no_mistakes(name, arguments):
    findings = examine(load_context(name, arguments))
    assert [f.message for f in findings if f.severity is not HINT] == []
    assert {f.check for f in findings} <= HINTS[name]


def _read_names(monkeypatch, vehicles):
    """Return attributes and children that readers looked for, by the element's tag."""
    found = {}
    child, attribute = Reader.child, Reader.attribute

    def watched(method, what):
        def read(self, name, *default):
            found.setdefault((self.element.tag, what), set()).add(name)
            return method(self, name, *default)

        return read

    monkeypatch.setattr(Reader, 'child', watched(child, 'children'))
    monkeypatch.setattr(Reader, 'attribute', watched(attribute, 'attributes'))
    for name, arguments in vehicles:
        load_vehicle(name, **arguments)
    monkeypatch.undo()
    return found


def test_the_doctor_knows_what_the_readers_read(monkeypatch):
    declared = {}
    queue = list(element_schemas().items())
    for tag, schema in queue:
        known = declared.setdefault(tag, (set(), set()))
        known[0].update(schema.attributes)
        known[1].update(schema.children)
        queue += schema.children.items()
    vehicles = [('torpedo_auv', {}), ('bluerov2_heavy', {'arm': 'true'}), ('surface_vessel', {})]
    read = _read_names(monkeypatch, vehicles)
    assert {('thruster', 'attributes'), ('fin', 'children'), ('limit', 'attributes')} <= set(read)
    others = {'robot', 'link', 'collision', 'sensor', 'contact_material'}
    for (tag, what), names in read.items():
        if tag not in others:
            assert names <= declared[tag][what == 'children'], (tag, what)


@declaration(frozen=True, kw_only=True)
class SailElement:
    """<sail>: a tag of a reader that the package does not have."""

    area: float = number(1.0, 0.0, 10.0, 'm²', 'area')
    angle: float = number(0.0, -1.0, 1.0, 'rad', 'angle', place='attribute')


def test_a_tag_added_to_a_reader_is_known_to_the_doctor(tmp_path, monkeypatch):
    sail = ForceModel('sail', None, applies=lambda vehicle, environment: False, element='sail',
                      read=lambda reader: reader.read(SailElement), parts=SailElement)  # fmt: skip
    known = FORCES.of_extensions
    monkeypatch.setattr(FORCES, 'of_extensions', lambda tags: (*known(tags), sail))
    monkeypatch.setattr(elements, 'FORCES', {**FORCES, 'sail': sail})
    here = put('</robot>', '<sail angle="0.1"><area>2</area></sail></robot>')
    assert not [f for f in found_in(ROV, here, tmp_path) if 'sail' in f.place.element]
    vehicle = load_vehicle(tmp_path / 'faulty.urdf')
    assert vehicle.extensions['sail'] == SailElement(area=2.0, angle=0.1)
    wrong = put('</robot>', '<sail area="2" angel="0.1"/></robot>')
    found = [f for f in found_in(ROV, wrong, tmp_path) if 'sail' in f.place.element]
    assert [(f.severity, f.check) for f in found] == [(ERROR, 'unread-attributes'),
                                                      (WARNING, 'unread-attributes')]  # fmt: skip
    assert 'known are: angle' in found[1].advice


def test_line_of_a_finding(tmp_path):
    text = text_of(*ROV)
    findings = found_in(ROV, put('name="lateral"', 'name="lateral" volt="1"'), tmp_path)
    (finding,) = (f for f in findings if f.check == 'unread-attributes')
    line = next(i for i, row in enumerate(text.splitlines(), 1) if 'name="lateral"' in row)
    assert (finding.place.line, finding.place.element) == (line, '<thruster name="lateral">')


def test_line_in_an_included_xacro():
    (hint,) = (f for f in examine(load_context('bluerov2', {'coefficients': 'wu2018'}))
               if f.check == 'added-mass')  # fmt: skip
    row = (ROOT / 'urdf/parts/bluerov2_body.xacro').read_text().splitlines()[hint.place.line - 1]
    assert hint.place.file.endswith('bluerov2_body.xacro')
    assert '<added_mass>' in row


def test_speeds_of_the_munk_moment():
    # physics: sqrt(BG W/(M33 - M11)); Wu 0.02 m, 112.8 N; von Benzon 0.01 m, 13.5 kg.
    wu = munk_speeds(load_vehicle('bluerov2', coefficients='wu2018'))
    assert wu[0] == pytest.approx((0.02 * 11.5 * 9.80665 / (14.57 - 5.5)) ** 0.5, rel=1e-3)
    assert wu[0] == pytest.approx(0.5, abs=0.01)
    # Yaw: the determinant of its damping and Coriolis terms changes its sign.
    m11, m22 = 11.5 + 5.5, 11.5 + 12.7
    assert wu[1] == pytest.approx((6.22 * 0.07 / (m11 * (m22 - m11))) ** 0.5, rel=0.2)
    heavy = munk_speeds(load_vehicle('bluerov2_heavy', coefficients='von_benzon2022'))
    assert heavy[0] == pytest.approx(0.33, abs=0.01)
    assert munk_speeds(load_vehicle('bluerov2', coefficients='orca3')) == (np.inf, np.inf)


@pytest.mark.parametrize(
    ('name', 'coefficients', 'axis', 'rate', 'limit'),
    [
        ('bluerov2', 'wu2018', 3, 33.46, 29.9e-3),
        ('bluerov2', 'wu2018', 2, 4.455, 224e-3),
        ('bluerov2', 'von_benzon2022', 1, 31.57, 31.7e-3),
        ('bluerov2', 'bluerov2_gz', 3, 241.9, 4.13e-3),
        ('bluerov2', 'orca3', 3, 164.6, 6.1e-3),
    ],
)
def test_limits_of_explicit_drag(name, coefficients, axis, rate, limit):
    vehicle = load_vehicle(name, coefficients=coefficients)
    assert drag_rates(vehicle)[axis] == pytest.approx(rate, rel=1e-3)
    assert 1 / drag_rates(vehicle)[axis] == pytest.approx(limit, rel=1e-2)
    assert drag_step_limit(vehicle) == pytest.approx(1 / max(drag_rates(vehicle)))


def test_limit_of_the_thesis():
    vehicle = load_vehicle('investigator90', inertia='diagonal', arm='false')
    assert drag_rates(vehicle)[4] == pytest.approx(69.4, rel=1e-3)


def test_surface_stiffness_is_that_of_the_waterplane():
    vehicle = load_vehicle('bluerov2', coefficients='wu2018')
    expected = 1000 * 9.80665 * 0.0117039 / 0.25
    assert surface_stiffness(vehicle) == pytest.approx(expected, rel=2e-3)


def test_motor_signs_are_ardusubs():
    # A positive yaw of ArduSub turns to starboard: motors 1 and 4 do, pushing aft and ahead.
    for name, frame in zip(VEHICLES, MOTORS.values(), strict=False):
        vehicle = load_vehicle(name)
        assert np.array_equal(motor_signs(vehicle.thrusters.effectiveness), frame)


def test_bad_input_is_an_error_of_its_own(tmp_path):
    broken = tmp_path / 'broken.urdf'
    broken.write_text('<robot>')
    other = tmp_path / 'other.urdf'
    other.write_text('<sdf/>')
    for path in (broken, other, tmp_path / 'none.urdf'):
        with pytest.raises(MarineSimError):
            load_context(str(path), {})
    with pytest.raises(MarineSimError, match='coefficient'):
        load_context('bluerov2', {'coefficient': 'wu2018'})


def run(*arguments):
    with pytest.raises(SystemExit) as stop:
        main(['doctor', *map(str, arguments)])
    return stop.value.code


def test_command_line(tmp_path, capsys):
    assert run('bluerov2', '--set', 'coefficients:=wu2018') == 0
    out = capsys.readouterr().out
    assert 'hint: ' in out
    assert out.splitlines()[-1] == '0 errors, 0 warnings, 4 hints'
    faulty = tmp_path / 'faulty.urdf'
    faulty.write_text(put('<C_PD2>5', '<C_PD2>five')(text_of(*ROV)))
    assert run(faulty, '--json') == 1
    report = json.loads(capsys.readouterr().out)
    assert report['vehicle'] == str(faulty)
    assert report['findings'][0]['severity'] == 'error'
    assert report['findings'][0]['line'] == 18
    assert run('nothing') == 2
    assert run('bluerov2', '--set', 'coefficients') == 2
    assert run('bluerov2', '--fix', tmp_path / 'out.urdf') == 2
    assert run(faulty, '--fix', faulty) == 2


MENDABLE = {
    'attributes for elements': '<pressure_drag><C_PD1>3</C_PD1></pressure_drag>',
    'density in kg/m3': '<density value="1.1"/>',
    'negative damping': '<linear_damping>4.03 6.22 5.18 0.07 0.07 0.07</linear_damping>',
    'misspelt element': '<thrusters>',
    'misspelt in a collision': '<buoyancy_material name="rov_body"/>',
    'millimetre mesh': '<mesh filename="body.stl" scale="0.001 0.001 0.001"/>',
}


@pytest.mark.parametrize('fault', MENDABLE)
def test_fix_mends_what_has_one_answer(fault, tmp_path, capsys):
    base, edit, check, _ = FAULTS[fault]
    found_in(base, edit, tmp_path)
    faulty, out = tmp_path / 'faulty.urdf', tmp_path / 'mended.urdf'
    text = (
        faulty.read_text().replace('\n', '\r\n').replace('<robot', '<!-- ü <a b="> --><robot', 1)
    )
    faulty.write_bytes(text.encode())
    run(faulty, '--fix', out)
    assert 'fixed in' in capsys.readouterr().out
    assert MENDABLE[fault] in out.read_bytes().decode()
    assert check not in {f.check for f in examine(load_context(str(out), {}))}
    # All other lines are the same to the byte.
    before, after = (p.read_bytes().split(b'\r\n') for p in (faulty, out))
    changed = [a for a, b in zip(before, after, strict=True) if a != b]
    assert 1 <= len(changed) <= 2


def test_fix_of_a_sound_file_copies_it(tmp_path):
    assert run(ROOT / 'urdf/simple_rov.urdf', '--fix', tmp_path / 'same.urdf') == 0
    assert (tmp_path / 'same.urdf').read_bytes() == (ROOT / 'urdf/simple_rov.urdf').read_bytes()


def test_stray_underscores_of_a_plugin_are_mended(tmp_path):
    orca = ROOT / 'test/data/orca3.urdf'
    assert run(orca, '--fix', tmp_path / 'orca3.urdf') == 0
    text = orca.read_text().replace('baro_link_to_base_link_z_>', 'baro_link_to_base_link_z>')
    assert (tmp_path / 'orca3.urdf').read_text() == text
    assert load_vehicle(tmp_path / 'orca3.urdf').barometer.reference_offset == -0.05 - 0.05


@settings(max_examples=50, suppress_health_check=list(HealthCheck))
@given(mutated(text_of(*BLUE)))
def test_whatever_is_wrong_is_a_finding_or_one_clear_error(tmp_path_factory, text):
    path = tmp_path_factory.mktemp('fuzz') / 'mutated.urdf'
    path.write_bytes(text.encode('utf-8', 'replace'))
    try:
        context = load_context(str(path), {})
        findings = examine(context)
        content, told = apply_edits(context, findings)
    except MarineSimError:
        return
    assert (context.loaded is None) == any(f.check == 'loads' for f in findings)
    assert told or content == path.read_bytes()
