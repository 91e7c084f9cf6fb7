# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What is said of wrong paths, folders, templates, and descriptions that are not imported."""

import pytest
from foreign import SDF, STONEFISH, UUV

from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.geometry.mesh_files import read_mesh
from marine_sim_ros.importers import load
from marine_sim_ros.importers.builder import Options
from marine_sim_ros.importers.load import import_vehicle
from marine_sim_ros.model.library import load_vehicle


def refusal(path):
    with pytest.raises(ModelError) as caught:
        import_vehicle(path, Options())
    text = str(caught.value)
    assert '\n' not in text
    return text


def test_a_wrong_path_offers_the_nearest_name(tmp_path):
    (tmp_path / 'vehicles').mkdir()
    (tmp_path / 'vehicles' / 'Glider.sdf').write_text(SDF)
    where = tmp_path / 'vehicles'
    assert f'did you mean {where / "Glider.sdf"}?' in refusal(where / 'glidr.sdf')
    assert f'did you mean {where}?' in refusal(tmp_path / 'vehicle' / 'Glider.sdf')
    assert 'did you mean' not in refusal(where / 'boat.urdf')


def test_a_folder_offers_its_description(tmp_path):
    for name in ('a.urdf', 'model.sdf', 'model.config'):
        (tmp_path / name).write_text('')
    assert f'is a folder; did you mean {tmp_path / "model.sdf"}? (2 files)' in refusal(tmp_path)
    empty = tmp_path / 'empty'
    empty.mkdir()
    assert 'is a folder without a description' in refusal(empty)
    with pytest.raises(ModelError, match=r'is a folder; did you mean .*a\.urdf'):
        load_vehicle(tmp_path)


@pytest.mark.parametrize(
    ('name', 'content', 'use'),
    [
        ('hull.stl', bytes(80) + b'\x01\0\0\0' + bytes(50), '<mesh filename="hull.stl"/>'),
        ('Hull.STL', b'solid hull\nendsolid hull\n', '<mesh filename="Hull.STL"/>'),
        ('hull.dae', b'<COLLADA/>', '<mesh filename="hull.dae"/>'),
        ('hull.step', b'ISO-10303-21;\n', 'exported as .stl, .obj, .dae'),
        ('hull.glb', b'glTF\x02', 'exported as .stl, .obj, .dae'),
    ],
)
def test_a_shape_is_no_vehicle(tmp_path, name, content, use):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ModelError) as caught:
        load_vehicle(path)
    assert use in str(caught.value)
    assert 'expected a URDF' in str(caught.value)
    assert refusal(path) == str(caught.value)


def test_a_file_in_other_capitals_is_offered(tmp_path):
    (tmp_path / 'hull.stl').write_bytes(b'')
    with pytest.raises(ModelError, match=r'cannot be read: .*; did you mean .*hull\.stl\?'):
        read_mesh(tmp_path / 'Hull.STL')
    with pytest.raises(ModelError, match=r'cannot be read: [^;]*$'):
        read_mesh(tmp_path / 'propeller.stl')


@pytest.mark.parametrize(
    ('name', 'text', 'told'),
    [
        ('m.sdf', '<sdf>\n<mass>{{ mass }}</mass></sdf>', ":2: has '{{ mass }}'.*Jinja.*jinja2"),
        ('m.sdf.jinja', '<sdf/>', r'Jinja .*jinja2 m\.sdf\.jinja > m\.sdf'),
        ('m.urdf', '<robot name="r">\n{% if x %}</robot>', ":2: has '{% if x %}'.*Jinja"),
        ('m.sdf.erb', '<sdf>\n<% x = 1 %></sdf>', r':2: has .*ERB: erb m\.sdf\.erb > m\.sdf'),
        ('m.world', '<sdf>\n\n<mass><%= 2 %></mass></sdf>', ':3: has .*ERB'),
        ('m.em', '<sdf/>', 'EmPy'),
        ('m.sdf', '<sdf><mass>@(mass)</mass></sdf>', r":1: has '@\(mass\)'.*EmPy"),
        ('m.sdf', '<sdf>@[if x]@[end if]</sdf>', ':1: has .*EmPy'),
        ('m.sdf.in', '<sdf>\n<mass>@heavy</mass></sdf>', r":2: has '@heavy'.* writes m\.sdf "),
        ('m.sdf', '<sdf><mass> @MASS@ </mass></sdf>', ":1: has '@MASS@'.*program of its package"),
    ],
)
def test_a_template_says_what_expands_it(tmp_path, name, text, told):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ModelError, match=rf'is a template|{told}'):
        import_vehicle(path, Options())
    with pytest.raises(ModelError, match=told):
        import_vehicle(path, Options())


def test_marks_in_comments_and_addresses_are_no_template(tmp_path):
    path = tmp_path / 'm.sdf'
    path.write_text(SDF.replace('<model', '<!-- {{ x }} <% y %> @(z) --><model'))
    assert import_vehicle(path, Options()).mass > 0


@pytest.mark.parametrize(
    'block',
    [
        '<gazebo><plugin name="u" filename="libuuv_underwater_object_ros_plugin.so"/></gazebo>',
        '<gazebo><plugin name="gz::sim::systems::Buoyancy" filename="gz-sim-buoyancy-system"/>'
        '</gazebo>',
        '<gazebo reference="base_link"><plugin filename="libusv_gazebo_dynamics_plugin.so"/>'
        '</gazebo>',
    ],
)
def test_an_unimported_description_is_not_simulated(tmp_path, block):
    path = tmp_path / 'v.urdf'
    link = '<link name="base_link"><inertial><mass value="10"/>'
    link += '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
    path.write_text(f'<robot name="v">{link}{block}</robot>')
    with pytest.raises(ModelError, match=r'import it first: marine_sim import .*v\.urdf -o'):
        load_vehicle(path)
    own = '<buoyancy><volume>0.01</volume><center_of_volume>0 0 0</center_of_volume>'
    own += '<height>0.1</height></buoyancy>'
    path.write_text(f'<robot name="v">{link}{own}{block}</robot>')
    assert load_vehicle(path).buoyancy.volume == pytest.approx(0.01)
    camera = '<gazebo><plugin name="c" filename="libgazebo_ros_camera.so"/></gazebo>'
    path.write_text(f'<robot name="v">{link}{camera}</robot>')
    assert load_vehicle(path).inertia.mass == 10


@pytest.mark.parametrize('suffix', ['.usd', '.usdc'])
def test_a_file_of_another_format_is_to_be_imported_first(tmp_path, suffix):
    path = tmp_path / f'v{suffix}'
    path.write_bytes(b'PXR-USDC\xff')
    with pytest.raises(ModelError, match='import it first'):
        load_vehicle(path)


def test_a_gps_says_once_what_its_run_needs(tmp_path, monkeypatch):
    sensors = ''.join(f'<sensor name="g{i}" type="navsat"/>' for i in range(2))
    path = tmp_path / 'v.sdf'
    path.write_text(SDF.replace('</link>', f'{sensors}</link>', 1))
    assert not [t for t in import_vehicle(path).assumptions if 'pymap3d' in t]
    monkeypatch.setattr(load, 'find_spec', lambda name: None)
    told = [t for t in import_vehicle(path).assumptions if 'pymap3d' in t]
    assert len(told) == 1
    assert 'the extra [sensors]' in told[0]


def test_a_word_of_the_urdf_parser_is_ours(tmp_path):
    path = tmp_path / 'v.urdf'
    path.write_text(UUV.replace('<gazebo>', '<transmission name="t"/><gazebo>', 1))
    # Its own elements are the importer's; a plain URDF is read by the parser.
    plain = UUV.partition('<gazebo>')[0] + '<transmission name="t"/></robot>'
    path.write_text(plain)
    with pytest.raises(ModelError, match='not a valid URDF') as caught:
        load_vehicle(path)
    assert 'duck-typed' not in str(caught.value)
    assert '<class' not in str(caught.value)


def test_a_scenario_without_a_robot_or_materials_names_what_has_them(tmp_path):
    (tmp_path / 'tank.scn').write_text('<scenario><include file="rov.scn"/></scenario>')
    bare = STONEFISH.replace(
        '<material name="Steel" density="2000.0"/></materials>', '</materials>'
    )
    (tmp_path / 'rov.scn').write_text(bare)
    (tmp_path / 'pool.scn').write_text('<scenario/>')
    with pytest.raises(ModelError, match=r'0 robots.*files beside it that have one: rov\.scn$'):
        import_vehicle(tmp_path / 'pool.scn', Options())
    builder = import_vehicle(tmp_path / 'rov.scn', Options())
    assert any(text.endswith('import what includes it: tank.scn') for text in builder.assumptions)
