# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The guide's tags: defaults, overrides, units, ranges, and what is wrong with them."""

import re

import numpy as np
import pytest
from conftest import ROOT
from hulls import WATER, body, box

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.model.hull_parameters import HULL_PARAMETERS
from marine_sim_ros.physics.buoyancy import buoyancy
from marine_sim_ros.physics.drag import drag

SEA = Environment(gravity=9.81)
DEEP = state_at_rest((0, 0, -10))


def panels(vehicle):
    return vehicle.hull.panels.coefficients


def test_defaults_are_the_guides():
    c = panels(box((1, 1, 1), 1.0, tags='<panel_size>1</panel_size>'))
    expected = {
        'water_density': 1027, 'air_density': 1.225, 'velocity_reference': 1, 'C_PD1': 10,
        'C_PD2': 10, 'f_P': 0.5, 'C_SD1': 10, 'C_SD2': 10, 'f_S': 0.5, 'slamming_power': 2,
        'max_acceleration': 10, 'slamming_multiplier': 1, 'air_coefficient': 0.1, 'viscous': 1,
    }  # fmt: skip
    for name, value in expected.items():
        assert np.all(getattr(c, name) == value), name
    assert len(HULL_PARAMETERS) == len(expected) - 1


def test_simple_rov_is_the_guides_first_example():
    vehicle = load_vehicle('simple_rov')
    assert vehicle.warnings == ()
    force = buoyancy(vehicle, DEEP, SEA)[2]
    assert force == pytest.approx(89.1818 + 24.5250, abs=1e-4)
    assert force - 10.5 * 9.81 == pytest.approx(10.7018, abs=1e-4)
    c = panels(vehicle)
    assert set(c.velocity_reference) == {2.0}
    assert set(c.f_P) == set(c.f_S) == {0.7}
    assert set(c.C_PD1) == set(c.C_PD2) == set(c.C_SD1) == set(c.C_SD2) == {5.0}
    assert set(c.max_acceleration) == {5.0}
    assert set(c.slamming_multiplier) == {0.5}
    assert set(c.air_coefficient) == {0.1}


def test_surface_vessel_is_the_guides_second_example():
    vehicle = load_vehicle('surface_vessel')
    assert vehicle.warnings == ()
    c = panels(vehicle)
    keel = c.C_PD1 == 3.0
    hull = ~keel
    assert set(c.velocity_reference) == {5.0}
    assert set(c.C_PD1[hull]) == {15.0}
    assert set(c.C_PD2[hull]) == {25.0}
    assert set(c.f_P[hull]) == {0.3}
    assert set(c.slamming_power[hull]) == {3.0}
    assert set(c.max_acceleration[hull]) == {20.0}
    assert set(c.slamming_multiplier[hull]) == {1.5}
    assert set(c.C_PD2[keel]) == {5.0}
    assert set(c.f_P[keel]) == {0.8}
    assert set(c.slamming_power[keel]) == {2.0}
    assert set(c.C_SD1) == {10.0}
    # It floats: what it displaces when all is under water is more than its mass.
    assert vehicle.buoyancy.volume * WATER > 1.2 * vehicle.inertia.mass


def test_a_collision_overrides_single_parameters():
    own = '<hydrodynamics><pressure_drag><C_PD1>15</C_PD1></pressure_drag></hydrodynamics>'
    tags = '<pressure_drag><C_PD1>3</C_PD1><C_PD2>4</C_PD2></pressure_drag>'
    c = panels(box((1, 1, 1), 1.0, tags=tags, own=own))
    assert set(c.C_PD1) == {15.0}
    assert set(c.C_PD2) == {4.0}


@pytest.mark.parametrize(('speed', 'pressure'), [(1, 616.2), (2, 2464.8)])
def test_drag_coefficients_become_pressures(speed, pressure):
    tags = (
        f'<coefficient_unit>cd</coefficient_unit><velocity_reference>{speed}</velocity_reference>'
        '<pressure_drag><C_PD2>1.2</C_PD2></pressure_drag>'
    )
    c = panels(box((1, 1, 1), 1.0, tags=tags))
    assert pytest.approx(pressure) == c.C_PD2
    assert set(c.C_PD1) == {10.0}  # not given: the guide's default, in Pa
    # The reference speed in force where the coefficient is used counts.
    own = '<hydrodynamics><velocity_reference>2</velocity_reference></hydrodynamics>'
    assert pytest.approx(2464.8) == panels(box((1, 1, 1), 1.0, tags=tags, own=own)).C_PD2


def test_collisions_of_a_link_share_its_mass_by_volume_and_density():
    second = """<collision><origin xyz="2 0 0"/><buoyancy_material name="heavy"/>
        <geometry><box size="1 1 2"/></geometry></collision>"""
    vehicle = load_vehicle(f"""
    <robot name="r"><buoyancy_material name="light"><density value="0.5"/></buoyancy_material>
      <buoyancy_material name="heavy"><density value="2"/></buoyancy_material>
      <hydrodynamics><water_density>1000</water_density></hydrodynamics>
      <link name="base_link"><inertial><mass value="90"/>
        <inertia ixx="9" ixy="0" ixz="0" iyy="9" iyz="0" izz="9"/></inertial>
        <collision><buoyancy_material name="light"/><geometry><box size="1 1 1"/></geometry>
        </collision>{second}</link></robot>""")
    # 1 m³ x 0.5 and 2 m³ x 2: a ninth of the mass and the rest, over their densities.
    assert vehicle.buoyancy.volume == pytest.approx(10 / 500 + 80 / 2000)
    assert vehicle.buoyancy.center_of_volume == pytest.approx([2 * 40 / 60, 0, 0])


def test_mass_from_material_where_a_link_has_none():
    vehicle = load_vehicle("""
    <robot name="r"><buoyancy_material name="wood"><density value="0.6"/></buoyancy_material>
      <hydrodynamics><water_density>1000</water_density></hydrodynamics>
      <link name="base_link"><collision><origin xyz="0 0 0.1"/><buoyancy_material name="wood"/>
        <geometry><box size="1 0.5 0.2"/></geometry></collision></link></robot>""")
    assert vehicle.inertia.mass == pytest.approx(60)
    assert vehicle.inertia.center_of_mass == pytest.approx([0, 0, 0.1])
    assert np.diag(vehicle.inertia.tensor) == pytest.approx(
        [60 * 0.29 / 12, 60 * 1.04 / 12, 60 * 1.25 / 12]
    )
    assert vehicle.buoyancy.volume == pytest.approx(0.1)


def test_rotated_and_shifted_collisions():
    turned = """<joint name="j" type="fixed"><parent link="base_link"/><child link="arm"/>
      <origin xyz="0 1 0" rpy="0 0 1.5707963267948966"/></joint>
      <link name="arm"><inertial><mass value="2"/>
        <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
        <collision><origin xyz="0.5 0 0" rpy="0 1.5707963267948966 0"/>
        <geometry><cylinder radius="0.1" length="1"/></geometry></collision></link>"""
    vehicle = body('<sphere radius="0.1"/>', 1.0, extra=turned)
    corners = vehicle.hull.panels.vertices
    # The arm points along its link's x, which is the body's y: from y = 1 to y = 2.
    assert corners.max(axis=0) == pytest.approx([0.1, 2.0, 0.1], abs=2e-3)
    low = corners.min(axis=0)
    assert low[1] == pytest.approx(-0.1, abs=2e-3)


def test_lumped_buoyancy_keeps_the_hull_out_of_it():
    vehicle = body('<box size="1 1 1"/>', 5.0, density=0.5,
                   extra='<buoyancy><volume>0.01</volume></buoyancy>')  # fmt: skip
    assert vehicle.hull.voxels is None
    assert vehicle.hull.panels is not None
    assert buoyancy(vehicle, DEEP, SEA)[2] == pytest.approx(WATER * 9.81 * 0.01)
    assert any('beside <buoyancy>' in w for w in vehicle.warnings)


def test_lumped_drag_alone_makes_no_panels():
    tags = '<quadratic_damping>1 1 1 1 1 1</quadratic_damping>'
    vehicle = box((1, 1, 1), 5.0, density=0.5, tags=tags)
    assert vehicle.hull.panels is None
    assert vehicle.hull.voxels is not None
    assert load_vehicle('bluerov2').hull is None


def pressure(text):
    return f'<pressure_drag>{text}</pressure_drag>'


UNUSUAL = {
    'C_PD1': pressure('<C_PD1>250</C_PD1>'),
    'f_P': pressure('<f_P>2</f_P>'),
    'power': '<slamming><power>1</power></slamming>',
    'multiplier': '<slamming><multiplier>9</multiplier></slamming>',
    'coefficient': '<air_resistance><coefficient>3</coefficient></air_resistance>',
    'water_density': None,
    'C_SD2': '<coefficient_unit>cd</coefficient_unit>'
             '<suction_drag><C_SD2>5</C_SD2></suction_drag>',
}  # fmt: skip
IMPOSSIBLE = {
    'C_PD2': (pressure('<C_PD2>-1</C_PD2>'), 'expected 0 or more'),
    'f_P': (pressure('<f_P>0</f_P>'), 'more than 0'),
    'max_acceleration': ('<slamming><max_acceleration>0</max_acceleration></slamming>',
                         'more than 0'),
    'velocity_reference': ('<velocity_reference>-2</velocity_reference>', 'more than 0 and'),
    'coefficient': ('<air_resistance><coefficient>-1</coefficient></air_resistance>',
                    'expected 0 or more'),
    'coefficient_unit': ('<coefficient_unit>N</coefficient_unit>', 'expected one of: pa, cd'),
    'buoyancy_mode': ('<buoyancy_mode>magic</buoyancy_mode>', 'mass_density, geometry'),
    'forces': ('<forces>lift</forces>', 'expected any of: viscous'),
    'voxel_size': ('<voxel_size>0</voxel_size>', 'expected'),
    'C_PD3': (pressure('<C_PD3>1</C_PD3>'), 'expected one of: C_PD1, C_PD2, f_P'),
    'velocity_ref': ('<velocity_ref>1</velocity_ref>', 'unknown element'),
    'power': (2 * '<slamming><power>2</power></slamming>', 'given twice'),
}  # fmt: skip


@pytest.mark.parametrize('name', UNUSUAL)
def test_unusual_values_are_told(name):
    if name == 'water_density':
        vehicle = load_vehicle(
            box((1, 1, 1), 5.0).urdf.replace(f'<water_density>{WATER}', '<water_density>1.027')
        )
    else:
        vehicle = box((1, 1, 1), 5.0, tags=UNUSUAL[name])
    (warning,) = vehicle.warnings
    assert f'<{name}>' in warning
    assert 'usual are' in warning
    assert re.search(r':\d+:', warning)


@pytest.mark.parametrize('name', IMPOSSIBLE)
def test_impossible_values_are_errors(name):
    tags, expected = IMPOSSIBLE[name]
    with pytest.raises(ModelError, match=re.escape(expected)) as caught:
        box((1, 1, 1), 5.0, tags=tags)
    assert f'<{name}>' in str(caught.value) or name == 'power'
    assert '\n' not in str(caught.value)


BAD = {
    'kg/m³ instead of relative': (
        dict(density=2700), 'expected the density relative to water', '2700 kg/m³ is 2.7'),
    'zero density': (dict(density=0), 'expected the density relative to water', ''),
    'no material': (dict(tags='<buoyancy_mode>mass_density</buoyancy_mode>'),
                    'has no <buoyancy_material', ''),
    'box of two': (dict(geometry='<box size="1 2"/>'), 'Invalid vector length', ''),
    'negative radius': (dict(geometry='<sphere radius="-1"/>'), 'expected 1 positive', ''),
    'no geometry': (dict(geometry=''), 'geometric', ''),
    'mesh of nobody': (dict(geometry='<mesh filename="package://nobody/hull.dae"/>'),
                       'nobody', ''),
    'mesh that is missing': (dict(geometry='<mesh filename="missing.stl"/>'), 'missing.stl', ''),
    'too many voxels': (dict(tags='<voxel_size>0.0002</voxel_size>'), 'voxel', ''),
    'too many panels': (dict(tags='<panel_size>0.0002</panel_size>'), 'panel', ''),
}  # fmt: skip


@pytest.mark.parametrize('name', BAD)
def test_bad_hulls_give_one_clear_line(name):
    options, *expected = BAD[name]
    geometry = options.pop('geometry', '<box size="1 1 1"/>')
    with pytest.raises(ModelError) as caught:
        body(geometry, 5.0, **options)
    options['geometry'] = geometry
    for text in expected:
        assert text in str(caught.value)
    assert '\n' not in str(caught.value)


def test_unknown_material_names_the_known_ones():
    with pytest.raises(
        ModelError, match=r'<buoyancy_material name="foam">.*expected one of: stuff'
    ):
        body('<box size="1 1 1"/>', 5.0, own='<buoyancy_material name="foam"/>')


def test_added_mass_estimate_from_the_hull():
    vehicle = load_vehicle(
        body('<sphere radius="0.5"/>', 5.0).urdf.replace(
            '<hydrodynamics>', '<hydrodynamics added_mass="estimate">'
        )
    )
    ideal = 0.5 * WATER * 4 / 3 * np.pi * 0.125
    assert np.diag(vehicle.added_mass) == pytest.approx([ideal] * 3 + [0] * 3, abs=1e-6 * ideal)
    text = vehicle.urdf.replace(' added_mass="estimate"', '').replace(
        '</hydrodynamics>', '<added_mass>estimate</added_mass></hydrodynamics>'
    )
    assert load_vehicle(text).added_mass == pytest.approx(vehicle.added_mass)
    with pytest.raises(ModelError, match="expected 'estimate'"):
        load_vehicle(vehicle.urdf.replace('"estimate"', '"guess"'))


def test_the_documented_table_is_the_code():
    page = (ROOT / 'docs' / 'reference' / 'hull.md').read_text()
    table = page.split('<!-- parameters -->')[1].split('<!-- /parameters -->')[0]
    rows = [[c.strip() for c in r.split('|')[1:5]] for r in table.strip().splitlines()[2:]]
    assert rows == [
        [f'`{key}`', f'{p.default:g}', p.unit or '1', f'{p.usual[0]:g} to {p.usual[1]:g}']
        for key, p in HULL_PARAMETERS.items()
    ]


def test_what_nobody_would_read_is_told():
    text = box((1, 1, 1), 5.0).urdf
    with pytest.raises(ModelError, match='stands in <link>'):
        load_vehicle(text.replace('</link>', '<hydrodynamics/></link>'))
    (warning,) = load_vehicle(re.sub('<collision>.*</collision>', '', text)).warnings
    assert 'no <collision>' in warning
    hull = """<link name="hull">
      <collision><geometry><box size="1 1 1"/></geometry></collision></link>
      <joint name="j" type="fixed"><parent link="base_link"/><child link="hull"/></joint>"""
    (warning,) = box((1, 1, 1), 5.0, extra=hull).warnings
    assert "displaces nothing: link 'hull' has no mass" in warning
    for massless in ('0', '0.0', '-0', '1e-400'):
        inertial = f'<inertial><mass value="{massless}"/></inertial></link>'
        with pytest.raises(ModelError, match=r"link 'hull': a body .* and a mass of 0"):
            box((1, 1, 1), 5.0, extra=hull.replace('</link>', inertial))
    (warning,) = box((1, 1, 1), 5.0, tags=pressure('<C_PD2>1.2</C_PD2>')).warnings
    assert '<coefficient_unit>cd' in warning


def test_a_link_with_and_without_material_is_an_error():
    plain = '<collision><geometry><box size="1 1 1"/></geometry></collision></link>'
    text = box((1, 1, 1), 5.0, density=0.5).urdf.replace('</link>', plain, 1)
    with pytest.raises(ModelError, match='expected one for each, or for none'):
        load_vehicle(text)


def test_slivers_of_a_mesh_do_no_harm(tmp_path):
    corners = [(x, y, z) for x in (-0.25, 0.25) for y in (-0.2, 0.2) for z in (-0.15, 0.15)]
    path = tmp_path / 'sliver.obj'
    # The edge from corner 1 to corner 2 has a vertex at a third, and so a triangle without area.
    vertices = [*corners, (-0.25, -0.2, -0.05)]
    faces = ['1 2 4', '1 4 3', '5 7 8', '5 8 6', '1 5 6', '1 6 9', '9 6 2', '3 4 8', '3 8 7',
             '1 3 7', '1 7 5', '2 6 8', '2 8 4', '1 9 2']  # fmt: skip
    path.write_text(
        ''.join(f'v {x} {y} {z}\n' for x, y, z in vertices) + ''.join(f'f {f}\n' for f in faces)
    )
    text = body('<box size="1 1 1"/>', 30.0).urdf.replace(
        '<collision>', '<collision><origin xyz="1 2 0.5" rpy="0.1 0.2 0.3"/>'
    )
    vehicle = load_vehicle(text.replace('<box size="1 1 1"/>', f'<mesh filename="{path}"/>'))
    assert np.all(np.isfinite(drag(vehicle, DEEP._replace(velocity=np.ones(6)), SEA)))
    assert vehicle.buoyancy.volume == pytest.approx(0.06)
