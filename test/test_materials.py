# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Material files: defaults, derivation, precedence, spellings, and what is wrong with them."""

import numpy as np
import pytest
import yaml
from conftest import OTHERS, ROOT, VEHICLES
from hulls import body
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.errors import MarineSimError, ModelError, ParameterError
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.contact import FRICTION_MODELS, ContactMaterial, Material, derive_contact
from marine_sim_ros.model.materials import (
    MATERIAL_RANGES,
    Materials,
    load_materials,
    parse_materials,
    shipped_materials,
    without_effect,
)

DOCUMENTED = """
materials:
-
  name: Ground
  roughness: 0.5
  viscosity: 0.0
-
  name: agxMat5
  density: 1.0
contactMaterials:
-
  materials: [ Ground, agxMat5 ]
  youngsModulus: 1.0e5
  restitution: 0.1
  spookDamping: 0.08
  friction: 0.416667
  surfaceViscosity: 1.0e-8
  adhesionForce: 100
  adhesivOverlap: 0.2
  frictionModel: [ cone, direct ]
  contactReductionMode: reduceGeometry
  contactReductionBinResolution: 3
"""


def parse(text):
    return parse_materials(text, 'm.yaml')


def pairs(text):
    return parse('contactMaterials:\n' + text)


def test_documented_example():
    materials = parse(DOCUMENTED)
    pair = materials.contact('agxMat5', 'Ground')
    assert pair == materials.contact('Ground', 'agxMat5')
    assert (pair.youngs_modulus, pair.restitution, pair.spook_damping) == (1e5, 0.1, 0.08)
    assert (pair.friction, pair.surface_viscosity) == (0.416667, 1e-8)
    assert (pair.adhesion_force, pair.adhesive_overlap) == (100.0, 0.2)
    assert (pair.friction_model, pair.solver) == ('cone', 'direct')
    assert (pair.contact_reduction_mode, pair.contact_reduction_bin_resolution) == (
        'reduceGeometry', 3,
    )  # fmt: skip
    assert materials.material('agxMat5').density == 1.0
    assert materials.material('Ground').viscosity == 0.0
    assert materials.names == ('Ground', 'agxMat5')


def test_defaults():
    m = Material()
    assert (m.density, m.youngs_modulus, m.poisson_ratio) == (1000.0, 4e8, 0.3)
    assert (m.viscosity, m.spook_damping, m.roughness) == (1.0, 0.075, 0.5)
    assert (m.surface_viscosity, m.adhesion_force, m.adhesive_overlap) == (5e-9, 0.0, 0.0)
    c = ContactMaterial()
    assert (c.youngs_modulus, c.restitution, c.spook_damping, c.friction) == (2e8, 0, 0.075, 0.5)
    assert (c.secondary_friction, c.secondary_surface_viscosity) == (-1.0, -1.0)
    assert (c.surface_viscosity, c.adhesion_force, c.adhesive_overlap) == (1e-8, 0.0, 0.0)
    assert (c.friction_model, c.solver, c.contact_reduction_mode) == ('default',) * 3
    assert (c.primary_direction, c.contact_reduction_bin_resolution) == ((0.0, 0.0, 0.0), 0)


def test_two_defaults_derive_the_default_pair():
    pair = Materials().contact('', 'Default')
    assert pair.youngs_modulus == pytest.approx(2e8)
    assert pair.restitution == 0.0
    assert (pair.friction, pair.spook_damping) == (0.5, 0.075)
    assert pair.surface_viscosity == pytest.approx(1e-8)
    assert (pair.adhesion_force, pair.adhesive_overlap) == (0.0, 0.0)
    assert pair.effective_modulus == pytest.approx(2.19780e8, rel=1e-5)
    assert ContactMaterial().effective_modulus == pytest.approx(2.19780e8, rel=1e-5)


def test_derivation():
    a = Material(
        youngs_modulus=2e11, viscosity=0.36, roughness=0.5, spook_damping=0.01,
        surface_viscosity=1e-9, adhesion_force=3.0, adhesive_overlap=0.1,
    )  # fmt: skip
    b = Material(viscosity=0.2, roughness=0.8, adhesion_force=4.0, adhesive_overlap=0.3)
    pair = derive_contact(a, b)
    assert pair == derive_contact(b, a)
    assert pair.youngs_modulus == pytest.approx(3.99202e8, rel=2e-6)
    assert pair.restitution == pytest.approx(0.715542, abs=1e-6)
    assert pair.friction == pytest.approx(0.632456, abs=1e-6)
    assert pair.spook_damping == 0.075
    assert pair.surface_viscosity == pytest.approx(6e-9)
    assert pair.adhesion_force == 7.0
    assert pair.adhesive_overlap == 0.3
    half = Material(viscosity=0.5)
    assert derive_contact(half, half).restitution == pytest.approx(0.5)
    assert derive_contact(Material(viscosity=0.0), Material(viscosity=0.0)).restitution == 1.0


def test_keys_a_pair_lacks_take_the_pairs_defaults_not_the_materials():
    text = """
    materials:
      - {name: a, roughness: 0.9, viscosity: 0.0, adhesionForce: 5, youngsModulus: 1.0e6}
    contact_materials:
      - {materials: [a, a], friction: 0.2}
    """
    pair = parse(text).contact('a', 'a')
    assert pair.friction == 0.2
    assert (pair.restitution, pair.adhesion_force, pair.youngs_modulus) == (0.0, 0.0, 2e8)
    other = parse(text).contact('a', 'Default')
    assert other.friction == pytest.approx((0.9 * 0.5) ** 0.5)


def test_last_definition_wins_and_many_names_are_all_pairs():
    materials = pairs("""
      - {materials: [a, b, c], friction: 0.1}
      - {materials: [c, a], friction: 0.2}
      - {materials: [Default, b], friction: 0.3}
      - {materials: ['', b], friction: 0.4}
    """)
    friction = {k: materials.contact(*k).friction for k in (
        ('a', 'b'), ('b', 'c'), ('a', 'c'), ('default', 'b'), ('a', 'a'), ('b', ''))}  # fmt: skip
    assert friction == {
        ('a', 'b'): 0.1, ('b', 'c'): 0.1, ('a', 'c'): 0.2, ('default', 'b'): 0.4,
        ('a', 'a'): 0.5, ('b', ''): 0.4,
    }  # fmt: skip
    twice = parse('materials: [{name: x, roughness: 0.1}, {name: x, density: 7}]')
    assert twice.material('x') == Material('x', density=7.0)


def test_unknown_material_is_the_default_one_with_a_warning():
    materials = parse('materials: [{name: default, roughness: 0.9}, {name: tin}]')
    assert materials.contact('unobtainium', 'tin').friction == pytest.approx((0.9 * 0.5) ** 0.5)
    assert materials.warnings(['tin', '', 'Default']) == ()
    (line,) = materials.warnings(['unobtainium', 'tin'])
    assert 'unobtainium' in line
    assert 'tin' in line


def test_both_spellings_read_the_same():
    snake = pairs("""
      - {materials: [a, b], youngs_modulus: 1e6, spook_damping: 0.1, secondary_friction: 0.2,
         adhesive_overlap: 0.01, friction_model: orientedBox, primary_direction: [1, 0, 0],
         reference_body_name: rov, reference_link_name: skid, contact_reduction_mode: reduceALL}
    """)
    camel = pairs("""
      - {materials: [b, a], youngsModulus: 1.0e+6, spookDamping: 0.1, secondaryFriction: 0.2,
         adhesivOverlap: 0.01, frictionModel: [orientedBox, split], primaryDirection: [1, 0, 0],
         referenceBodyName: rov, referenceLinkName: skid, contactReductionMode: reduceALL}
    """)
    first, second = snake.contact('a', 'b'), camel.contact('a', 'b')
    assert second.solver == 'split'
    assert first == ContactMaterial(**{**second.__dict__, 'solver': 'default'})
    assert snake.keys == camel.keys


def test_modulus_of_a_pair_scales_with_the_materials_poisson_ratios():
    text = 'materials: [{name: a, poissonRatio: 0.5}]\ncontactMaterials: [{materials: [a, a]}]'
    assert parse(text).contact('a', 'a').effective_modulus == pytest.approx(2e8 / 0.75)


@pytest.mark.parametrize(
    ('text', 'part'),
    [
        ('materials: 3', 'materials is 3; expected a list'),
        ('materials: [{density: 3}]', "'name' is missing"),
        ('materials: [{name: a, densty: 3}]', "unknown key 'densty'"),
        ('materials: [{name: a, density: -3}]', 'density is -3; expected a number'),
        ('materials: [{name: a, density: heavy}]', "density is 'heavy'; expected a number"),
        ('materials: [{name: a, poissonRatio: 0.6}]', 'poissonRatio is 0.6'),
        ('materials: [{name: a, viscosity: 1.1}]', 'viscosity is 1.1'),
        ('materials: [{name: a, youngsModulus: .nan}]', 'youngsModulus is nan'),
        ('materials: [{name: a, youngsModulus: 1, youngs_modulus: 1}]', 'are the same'),
        ('materials: [{name: 3}]', 'name is 3; expected a name'),
        ('contactMaterials: [{friction: 1}]', "'materials' is missing"),
        ('contactMaterials: [{materials: [a]}]', 'has 1 name(s); expected two or more'),
        ('contactMaterials: [{materials: [a, b], restitution: 2}]', 'restitution is 2'),
        (
            'contactMaterials: [{materials: [a, b], frictionModel: [sphere, split]}]',
            'expected one',
        ),
        ('contactMaterials: [{materials: [a, b], frictionModel: [box, slow]}]', 'expected one'),
        ('contactMaterials: [{materials: [a, b], frictionModel: [box]}]', '[model, solver]'),
        ('contactMaterials: [{materials: [a, b], primaryDirection: [1, 0]}]', 'three numbers'),
        ('contactMaterials: [{materials: [a, b], contactReductionBinResolution: 256}]', '255'),
        ('contactMaterials: []\ncontact_materials: []', 'are the same'),
        ('metals: []', "unknown key 'metals'"),
        ('- a', 'expected a mapping'),
        ('materials: [', 'not valid YAML'),
    ],
)
def test_bad_files_get_one_line(text, part):
    with pytest.raises(ParameterError) as caught:
        parse(text)
    message = str(caught.value)
    assert message.startswith('m.yaml')
    assert part in message
    assert '\n' not in message


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(ParameterError, match='cannot be read'):
        load_materials(tmp_path / 'none.yaml')
    (tmp_path / 'binary.yaml').write_bytes(b'\xff\xfe\x00')
    with pytest.raises(ParameterError, match='UTF-8'):
        load_materials(tmp_path / 'binary.yaml')


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 300), st.floats(), st.text(max_size=6),
    st.sampled_from([*FRICTION_MODELS, 'a', 'Default', '1.0e5', '1e999']),
)  # fmt: skip
KEYS = st.sampled_from([
    'materials', 'contactMaterials', 'contact_materials', 'name', 'density', 'youngsModulus',
    'youngs_modulus', 'frictionModel', 'friction', 'adhesivOverlap', 'primaryDirection', 'x',
])  # fmt: skip
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)


def test_a_pair_of_one_name_three_times_is_refused():
    with pytest.raises(ParameterError, match="materials has 'a' only; expected two or more"):
        parse_materials('contactMaterials: [{materials: [a, a, a]}]', 'x.yaml')


@given(TREES)
def test_any_yaml_is_read_or_refused_with_one_line(tree):
    message = ''
    try:
        materials = parse(yaml.safe_dump(tree))
    except MarineSimError as error:
        message, materials = str(error), Materials()
    assert '\n' not in message
    for a in (*materials.names, ''):
        pair = materials.contact(a, 'Default')
        assert pair.effective_modulus > 0
        assert 0 <= pair.restitution <= 1


@given(st.fixed_dictionaries({k: st.floats(*r) for k, r in MATERIAL_RANGES.items()}))
def test_what_is_written_is_read(values):
    text = yaml.safe_dump({'materials': [{'name': 'stuff', **values}]})
    assert parse(text).material('stuff') == Material('stuff', **values)


def test_parameters_without_effect_are_told():
    materials = parse(DOCUMENTED)
    embedded = without_effect(materials)
    assert set(embedded) == {
        'friction_model', 'contact_reduction_mode', 'contact_reduction_bin_resolution',
    }  # fmt: skip
    assert 'spook_damping' in without_effect(materials, 'gazebo')
    assert without_effect(parse('materials: [{name: a, roughness: 1}]')) == {}
    with pytest.raises(ParameterError, match='embedded, gazebo'):
        without_effect(materials, 'bullet')


def test_shipped_materials_know_what_the_shipped_scenes_and_vehicles_are_made_of():
    materials = shipped_materials()
    names = {'sand', 'rock', 'concrete', 'steel', 'rust', 'aluminium', 'HDPE', 'rubber', 'foam'}
    names |= {'white', 'black'}  # panels of HDPE
    names |= {'coarse_sand', 'fine_sand', 'gravel', 'silt', 'clay'}
    assert set(materials.names) == names
    for vehicle in (*VEHICLES, *OTHERS):
        made_of = load_vehicle(vehicle).contact.materials
        assert materials.warnings(made_of) == ()
        assert all(made_of)
    for name in ('pool', 'shallow_sand', 'deep_rock', ROOT / 'examples/docking/dock.yaml'):
        assert materials.warnings(load_environment(str(name)).scene.materials) == ()
    # Published: steel on steel 0.57, aluminium on steel 0.47, rubber on concrete 0.75.
    assert materials.contact('steel', 'steel').friction == pytest.approx(0.57)
    assert materials.contact('steel', 'aluminium').friction == pytest.approx(0.47, abs=0.02)
    assert materials.contact('rubber', 'concrete').friction == pytest.approx(0.75, abs=0.005)


def test_environment_names_its_material_file(tmp_path):
    (tmp_path / 'mine.yaml').write_text('contactMaterials: [{materials: [a, b], friction: 0.7}]')
    (tmp_path / 'e.yaml').write_text('seabed: {depth: 5.0, material: a}\nmaterials: mine.yaml\n')
    environment = load_environment(str(tmp_path / 'e.yaml'))
    assert environment.materials.contact('b', 'a').friction == 0.7
    (tmp_path / 'e.yaml').write_text('materials: other.yaml\n')
    with pytest.raises(ParameterError, match=r'other\.yaml: cannot be read'):
        load_environment(str(tmp_path / 'e.yaml'))


# ---- in a vehicle ---------------------------------------------------------------------------


def robot(links, top=''):
    return load_vehicle(f'<robot name="r">{top}{links}</robot>')


LINK = """<link name="base_link">{own}
  <inertial><mass value="3"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  <collision>{first}<origin xyz="0.1 0 0"/><geometry><box size=".2 .4 .6"/></geometry></collision>
  <collision>{second}<origin xyz="0 0 1"/><geometry><sphere radius="0.3"/></geometry></collision>
</link>"""


def tag(**attributes):
    return '<contact_material ' + ' '.join(f'{k}="{v}"' for k, v in attributes.items()) + '/>'


def test_the_innermost_tag_counts():
    own = {'own': '', 'first': '', 'second': tag(name='rubber')}
    assert robot(LINK.format(**own)).contact.materials == ('', 'rubber')
    assert robot(LINK.format(**own), tag(name='sand')).contact.materials == ('sand', 'rubber')
    own['own'] = tag(name='steel')
    assert robot(LINK.format(**own), tag(name='sand')).contact.materials == ('steel', 'rubber')


def test_material_given_in_place():
    given_here = tag(name='useLinkInfo', youngsModulus='1e6', roughness='0.9')
    vehicle = robot(LINK.format(own='', first=given_here, second=''))
    material, other = vehicle.contact.materials
    assert other == ''
    assert (material.youngs_modulus, material.roughness, material.density) == (1e6, 0.9, 1000)
    pair = shipped_materials().contact(material, 'concrete')
    assert pair.friction == pytest.approx((0.9 * 0.6) ** 0.5)
    ignored = robot(LINK.format(own='', first=tag(name='steel', roughness='0.9'), second=''))
    assert ignored.contact.materials[0] == 'steel'
    assert 'roughness: only read with name="useLinkInfo"' in ignored.warnings[0]


def test_mass_from_density():
    own = {'own': tag(name='steel', mass_type='density'), 'first': '', 'second': ''}
    vehicle = robot(LINK.format(**own))
    box, ball = 0.2 * 0.4 * 0.6 * 7850, 4 / 3 * np.pi * 0.3**3 * 7850
    assert vehicle.inertia.mass == pytest.approx(box + ball)
    center = (box * np.array([0.1, 0, 0]) + ball * np.array([0, 0, 1.0])) / (box + ball)
    assert vehicle.inertia.center_of_mass == pytest.approx(center)
    apart = box * ball / (box + ball)
    about_y = box / 12 * (0.2**2 + 0.6**2) + 0.4 * ball * 0.3**2 + apart * (1 + 0.01)
    assert vehicle.inertia.tensor[1, 1] == pytest.approx(about_y)
    assert vehicle.inertia.tensor[0, 2] == pytest.approx(apart * 0.1)
    # Without it the link's own numbers count, whatever it is made of.
    own['own'] = tag(name='steel')
    assert robot(LINK.format(**own)).inertia.mass == 3.0


def test_density_of_the_link_overrides_the_materials():
    own = {'own': tag(name='steel', massType='density', density='1.0'), 'first': '', 'second': ''}
    vehicle = robot(LINK.format(**own))
    assert vehicle.inertia.mass == pytest.approx(0.048 + 4 / 3 * np.pi * 0.3**3)
    # A link that is turned and has no <inertial> of its own.
    turned = """<link name="base_link"/><link name="arm">{}
      <collision><geometry><box size="0.1 0.2 0.4"/></geometry></collision></link>
      <joint name="j" type="fixed"><parent link="base_link"/><child link="arm"/>
        <origin xyz="1 0 0" rpy="0 1.5707963267948966 0"/></joint>"""
    vehicle = robot(turned.format(tag(mass_type='density', density='500')))
    assert vehicle.inertia.mass == pytest.approx(4.0)
    assert vehicle.inertia.center_of_mass == pytest.approx([1, 0, 0])
    expected = 4 / 12 * np.array([0.04 + 0.01, 0.16 + 0.01, 0.16 + 0.04])
    assert np.diag(vehicle.inertia.tensor) == pytest.approx(expected)


@pytest.mark.parametrize(
    ('own', 'part'),
    [
        (tag(name='steel', colour='red'), "unknown attribute 'colour'"),
        (tag(name='steel', mass_type='volume'), "mass_type is 'volume'; expected mass or density"),
        (tag(name='steel', density='-1', mass_type='density'), 'expected 0.001 to 100000'),
        (tag(name='useLinkInfo', viscosity='2'), "expected 0 to 1 in attribute 'viscosity'"),
        (tag(name='steel') * 2, 'given twice'),
        (
            '<visual><contact_material/><geometry><sphere radius="1"/></geometry></visual>',
            'stands in <visual>',
        ),
        ('<contact_material><a/></contact_material>', 'unknown element <a>'),
    ],
)
def test_bad_tags_get_one_line(own, part):
    with pytest.raises(ModelError) as caught:
        robot(LINK.format(own=own, first='', second=''))
    assert part in str(caught.value)
    assert '\n' not in str(caught.value)


def test_density_without_a_shape_is_refused():
    link = f'<link name="base_link">{tag(mass_type="density")}</link>'
    with pytest.raises(ModelError, match='no <collision> to take it from'):
        robot(link)


def test_contact_points():
    vehicle = robot(LINK.format(own='', first='', second=''))
    points = vehicle.contact
    of_box = points.position[points.shape == 0]
    assert len(of_box) == 26
    assert np.min(of_box, axis=0) == pytest.approx([0.0, -0.2, -0.3])
    assert np.max(of_box, axis=0) == pytest.approx([0.2, 0.2, 0.3])
    assert points.position[points.shape == 1] == pytest.approx(np.array([[0, 0, 1.0]]))
    assert points.radius[-1] == 0.3
    assert np.bincount(points.shape).tolist() == [26, 1]
    assert points.reach == pytest.approx(1.3)
    round_ = body('<cylinder radius="0.2" length="1"/>', 1.0).contact
    assert np.hypot(*round_.position[:, :2].T) == pytest.approx(0.2)
    assert set(round_.position[:, 2]) == {-0.5, 0.5}
    hull = load_vehicle('surface_vessel').contact
    of_mesh = hull.position[hull.shape == 0]
    assert 8 <= len(of_mesh) <= 32
    # As long as the hull itself.
    panels = load_vehicle('surface_vessel').hull.panels.vertices
    assert np.ptp(of_mesh[:, 0]) == pytest.approx(np.ptp(panels[:, 0]), rel=1e-6)


def test_meshes_nobody_needs_are_not_read():
    text = """<robot name="r">
      <hydrodynamics><linear_damping>1 1 1 1 1 1</linear_damping></hydrodynamics>
      <link name="base_link">
        <inertial><mass value="3"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
        </inertial>
        <collision><geometry><mesh filename="/nowhere/a.stl"/></geometry></collision>
      </link></robot>"""
    vehicle = load_vehicle(text)
    with pytest.raises(ModelError, match='nowhere'):
        _ = vehicle.contact
