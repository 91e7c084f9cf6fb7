# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings and models of strangers: no file that they name is read, no name becomes code."""

import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trimesh
from conftest import ROOT
from hypothesis import assume, given
from hypothesis import strategies as st

from marine_sim_ros import load_scenario, load_vehicle, simulate
from marine_sim_ros.bags import description
from marine_sim_ros.bags.storage import QoS, storage
from marine_sim_ros.bags.trajectory_writer import write_recording
from marine_sim_ros.core import packages
from marine_sim_ros.core.errors import MarineSimError, ModelError, RecordingError, escape_controls
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.geometry.mesh_files import MAX_SCENE_BYTES, SCENE_SUFFIXES, read_mesh
from marine_sim_ros.importers.load import import_vehicle
from marine_sim_ros.importers.writer import escape_xacro
from marine_sim_ros.model import xml
from marine_sim_ros.model.xacro_expansion import read_description
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.tools.main import main

COMMAND = Path(sys.executable).with_name('marine_sim')
SIMPLE = (ROOT / 'urdf' / 'simple_rov.urdf').read_text(encoding='utf-8')
EVIL = '<robot name="v" xmlns:xacro="u"><link name="${[q.append(1) for q in [[]]]}"/></robot>'


def recording(folder, text):
    """Write a recording whose robot_description is a text; none of None."""
    store = storage('a test')
    folder.mkdir(exist_ok=True)
    writer = store.writer(folder / 'bag')
    writer.add('/rov/robot_description', 'std_msgs/msg/String', QoS(10, False))
    writer.add('/rov/note', 'std_msgs/msg/String', QoS(10, False))
    message = store.message('std_msgs/msg/String', data=text or '')
    name = '/rov/note' if text is None else '/rov/robot_description'
    writer.write(name, 1, store.serialize(message, 'std_msgs/msg/String'))
    writer.close()
    return str(folder)


def recorded(folder, text, **settings):
    """Return the vehicle of a recording with a manifest."""
    return description.described_vehicle(recording(folder, text), 'rov', settings)


# ---- the vehicle and the environment of a recording --------------------------------------------


@pytest.fixture(autouse=True)
def _trusting(monkeypatch):
    """Trust changes nothing: a recording is never expanded."""
    monkeypatch.setenv(packages.TRUST, '1')


def test_a_recorded_vehicle_is_that_of_its_description(tmp_path):
    found = recorded(tmp_path / 'rec', SIMPLE, vehicle='./gone.urdf')
    assert found.name == 'simple_rov'
    assert (
        description.described_vehicle(str(tmp_path / 'rec' / 'bag'), '', {}).name == 'simple_rov'
    )
    assert recorded(tmp_path / 'other', None) is None


def test_a_shipped_vehicle_is_known_by_its_name(tmp_path):
    arguments = ['coefficients:=maker']
    found = recorded(tmp_path / 'rec', None, vehicle='bluerov2', vehicle_arguments=arguments)
    assert found.urdf == load_vehicle('bluerov2', coefficients='maker').urdf


@pytest.mark.parametrize('text', [None, 'evil.urdf.xacro', '/evil.urdf.xacro', EVIL, '<robot/>'])
@pytest.mark.parametrize('vehicle', ['evil.urdf.xacro', '{}/evil.urdf.xacro', '/dev/zero', 5, []])
def test_no_path_of_a_recording_is_read(tmp_path, monkeypatch, text, vehicle):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'evil.urdf.xacro').write_text(SIMPLE)
    named = vehicle.format(tmp_path) if isinstance(vehicle, str) else vehicle
    with pytest.raises(MarineSimError) as caught:
        recorded(tmp_path / 'rec', text, vehicle=named)
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize(
    'argument', ["coefficients:=maker' + [].__class__ + '", 'a:=${1}', 'a:=$(eval 1)', 'a:=(1)', 7]
)
def test_an_argument_of_a_recording_is_a_word(tmp_path, argument):
    with pytest.raises(RecordingError):
        recorded(tmp_path / 'rec', None, vehicle='bluerov2', vehicle_arguments=[argument])


MESH = '<{0}><geometry><mesh filename="{1}"/></geometry></{0}>'


def with_mesh(tag, uri):
    return SIMPLE.replace(
        '<link name="base_link">', '<link name="base_link">' + MESH.format(tag, uri)
    )


@pytest.mark.parametrize('uri', ['file://{}/s.stl', '../s.stl', '{}/s.stl', 'link.stl', 's.stl'])
def test_meshes_outside_a_recording_are_not_read(tmp_path, monkeypatch, uri):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 's.stl').write_text('secret')
    uri = uri.format(tmp_path)
    text = with_mesh('collision', uri)
    path = recording(tmp_path / 'rec', text)
    (tmp_path / 'rec' / 'bag' / 'link.stl').symlink_to(tmp_path / 's.stl')
    inside = uri == 's.stl'  # of the bag's folder, not of the working folder
    with pytest.raises(ModelError, match='cannot be read' if inside else 'outside the recording'):
        description.described_vehicle(path, 'rov', {})
    assert 's.stl' not in description._confine_files(with_mesh('visual', uri), path) or inside


@pytest.mark.parametrize('uri', ['hull.STL', 'file://{}/hull.STL', 'package://my_rov/hull.STL'])
def test_a_recording_has_the_meshes_of_its_vehicle(tmp_path, monkeypatch, uri):
    """It is read where neither the description nor its meshes are any more."""
    own = tmp_path / 'packages' / 'my_rov'
    own.mkdir(parents=True)
    monkeypatch.setenv('ROS_PACKAGE_PATH', str(own.parent))
    (own / 'package.xml').write_text('<package><name>my_rov</name></package>')
    trimesh.creation.box((0.4, 0.3, 0.2)).export(own / 'hull.STL', file_type='stl')
    text = with_mesh('collision', uri.format(own)).replace(
        '</geometry></collision>', '</geometry><buoyancy_material name="rov_body"/></collision>'
    )
    (own / 'rov.urdf').write_text(text)
    vehicle = load_vehicle(str(own / 'rov.urdf'))
    run = simulate(vehicle, load_scenario('dive'), duration=0.05)
    write_recording(tmp_path / 'rec', vehicle, RunOptions(vehicle=str(own / 'rov.urdf')), run)
    wanted = vehicle.contact.position  # read when first asked for
    shutil.rmtree(own)
    (tmp_path / 'rec').rename(tmp_path / 'moved')
    for path in (tmp_path / 'moved', tmp_path / 'moved' / 'bag'):
        found = description.described_vehicle(str(path), '', {})
        assert found.files == (next((tmp_path / 'moved' / 'bag' / 'meshes').iterdir()),)
        np.testing.assert_array_equal(found.contact.position, wanted)


def test_a_recording_copies_no_file_but_meshes(tmp_path):
    """A description of a stranger names a secret, and links to it by the name of a mesh."""
    (tmp_path / 'secret').write_text('secret')
    (tmp_path / 'hull.stl').symlink_to(tmp_path / 'secret')
    (tmp_path / 'bag').mkdir()
    for uri in ('secret', 'hull.stl', f'file://{tmp_path}/secret', '../secret'):
        vehicle = replace(load_vehicle('simple_rov'), folder=tmp_path)
        vehicle = replace(vehicle, urdf=with_mesh('visual', uri))
        assert description.description_with_meshes(vehicle, tmp_path / 'bag') == vehicle.urdf
    assert not [*(tmp_path / 'bag').iterdir()]


def test_environments_of_a_recording_are_shipped_ones():
    assert description.described_environment({}).name == ''
    found = description.described_environment(
        {'environment': 'shallow_sand', 'current': [1, 0, 0]}
    )
    assert found.name == load_environment('shallow_sand').name
    assert found.current[0] == 1
    for name in ('/dev/zero', './mine.yaml', '../../etc/passwd', ['a'], {'a': 1}):
        with pytest.raises(RecordingError, match='expected --environment FILE'):
            description.described_environment({'environment': name})
    for current in ('abc', [1, 2], [float('nan'), 0, 0], {'a': 1}, 3, [[], [], []]):
        with pytest.raises(RecordingError, match='current'):
            description.described_environment({'current': current})


@pytest.mark.parametrize(
    'content', ['/dev/zero', '[' * 100_000, '5', '{"parameters": 5}', '"', None]
)
def test_any_manifest_gives_a_line_or_nothing(tmp_path, content):
    path = tmp_path / 'manifest.json'
    if content is None:
        path.symlink_to(tmp_path / 'nowhere')
    elif content.startswith('/dev'):
        path.symlink_to(content)
        with pytest.raises(RecordingError, match='is a device; expected a regular file'):
            description.recorded_parameters(tmp_path, '', alone=True)
        return
    else:
        path.write_text(content)
    assert description.recorded_parameters(tmp_path, '', alone=True) == {}


@pytest.mark.parametrize('verb', ['simulate bluerov2 --environment', 'run --fleet'])
def test_a_device_is_no_configuration(verb, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*verb.split(), '/dev/zero', *(['--scenario', 'dive'] if 'env' in verb else [])])
    assert ended.value.code == 2
    assert '/dev/zero: is a device; expected a regular file' in capsys.readouterr().err


# ---- imported models ---------------------------------------------------------------------------

SDF = """<sdf version="1.10"><model name="{0}"><link name="base_link"><inertial><mass>10</mass>
<inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>
<collision name="c"><geometry><box><size>0.5 0.4 0.05</size></box></geometry></collision></link>
<link name="{0}"/><joint name="j{0}" type="fixed"><parent>base_link</parent>
<child>{0}</child></joint>
<plugin filename="{0}" name="{0}"/></model></sdf>
"""
ALLOWED = ['--allow-undamped', '--allow-unpowered']
NAMES = [
    '--&gt;&lt;link name=&quot;evil&quot;/&gt;&lt;!--',
    '---',
    '-----&gt;',
    'xmlns:xacro= ${6*7}',
    '$${6*7} $$$(eval 1) ${{}}',
    '$(arg a)',
    ']]&gt;&lt;!DOCTYPE a&gt;',
    'xacro:eval-comments ${[].__class__}',
    '&quot; &apos; &amp;amp;',
    'a&#133;&#155;2J&#8238;b',
]


@pytest.mark.parametrize('suffix', ['.urdf', '.urdf.xacro', '.xacro'])
@pytest.mark.parametrize('name', NAMES)
def test_a_name_of_a_source_stays_a_name(tmp_path, name, suffix, capsys):
    (tmp_path / 'm.sdf').write_text(SDF.replace('{0}', name), encoding='utf-8')
    wanted = xml.parse(f'<a b="{name}"/>', '').get('b')
    output = tmp_path / f'out{suffix}'
    with pytest.raises(SystemExit) as ended:
        main(['import', str(tmp_path / 'm.sdf'), '-o', str(output), *ALLOWED])
    assert ended.value.code == 0
    assert capsys.readouterr().err.replace('\n', '').isprintable()
    root = xml.parse(read_description(output, {}), '')
    links = [str(link.get('name')) for link in root.iter('link')]
    assert links == ['base_link', wanted]
    assert {str(e.tag) for e in root.iter()} <= {
        'robot', 'link', 'joint', 'parent', 'child', 'inertial', 'mass', 'inertia', 'collision',
        'geometry', 'box', 'buoyancy', 'volume', 'center_of_volume', 'height', 'hydrodynamics',
        'water_density', 'added_mass', 'linear_damping', 'quadratic_damping',
    }  # fmt: skip


@given(st.text(st.sampled_from('$${}()-<>ab'), min_size=1, max_size=12))
def test_xacro_gives_an_escaped_text_back(text):
    import xacro

    assume(not re.search(r'\$\$+(?![{($])', text))  # its lexer knows $$ before a bracket only
    assert xacro.eval_text(escape_xacro(text), {}) == text


def included(count, line, head, foot):
    """Return files of which each includes the next one ten times."""
    files = {i: head + line.replace('{}', str(i + 1)) * 10 + foot for i in range(count)}
    return files | {count: head + foot}


SDF_MODEL = '<sdf version="1.9"><model name="m"><link name="l"/>', '</model></sdf>'
SDF_WORLD = '<sdf version="1.9"><world name="w">', '</world></sdf>'
SCENARIO = '<scenario>', '</scenario>'
ARGUMENT = '<arg name="a" value="' + '$(arg a)' * 50 + 'aa"/>'
INCLUDES = {
    'sdf': ('sdf', '<include><uri>m{}.sdf</uri></include>', SDF_MODEL),
    'sdf itself': ('sdf', '<include><uri>m0.sdf</uri></include>', SDF_MODEL),
    'world': ('sdf', '<include><uri>m{}.sdf</uri></include>' * 30, SDF_WORLD),
    'stonefish': ('scn', '<include file="m{}.scn"/>', SCENARIO),
    'stonefish itself': ('scn', '<include file="m0.scn"/>', SCENARIO),
    'arguments': ('scn', '<include file="m{}.scn">' + ARGUMENT + '</include>', SCENARIO),
}


@pytest.mark.parametrize(('suffix', 'line', 'ends'), INCLUDES.values(), ids=INCLUDES)
def test_includes_are_bounded(tmp_path, suffix, line, ends):
    for i, text in included(7, line, *ends).items():
        (tmp_path / f'm{i}.{suffix}').write_text(text)
    with pytest.raises(
        ModelError, match=r'files are included|nested deeper|includes itself|longer than'
    ):
        import_vehicle(tmp_path / f'm0.{suffix}')


# ---- meshes and messages -----------------------------------------------------------------------

CORNERS = 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n'
CORNER = b'vertex 0.12 -3.4e1 5\n'
FACET = b'facet normal 0 0 1\nouter loop\n' + CORNER * 3 + b'endloop\nendfacet\n'
BAD_MESHES = {
    'empty.stl': b'',
    'none.stl': b'solid a\nendsolid a\n',
    'binary.stl': bytes(84),
    'count.stl': bytes(80) + b'\xff\xff\xff\xff' + bytes(100),
    'short.stl': bytes(80) + b'\x02\0\0\0' + bytes(50),
    'nan.stl': bytes(80) + b'\x01\0\0\0' + b'\xff' * 50,
    'words.stl': b'solid a\nfacet normal 0 0 0\nouter loop\nvertex a b c\n' * 3,
    'pairs.stl': b'solid a\n' + FACET.replace(CORNER, b'', 1) * 3 + b'endsolid a\n',
    'other_pairs.stl': b'solid a\n' + FACET.replace(b' 5', b'') * 3 + b'endsolid a\n',
    'four.stl': b'solid a\n' + FACET.replace(CORNER, 2 * CORNER, 1) * 3 + b'endsolid a\n',
    'letters.stl': b'solid a\n' + FACET + FACET.replace(b'5', b'b') + b'endsolid a\n',
    'cut.stl': b'solid a\n' + FACET + b'endsolid a\nsolid b\n' + FACET,
    'empty.obj': b'',
    'points.obj': CORNERS.encode(),
    'lines.obj': (CORNERS + 'l 1 2\n').encode(),
    'far.obj': (CORNERS + 'f 1 2 99999999\n').encode(),
    'zero.obj': (CORNERS + 'f 1 0/1 2\n').encode(),
    'negative.obj': (CORNERS + 'f -1 -2 -99\n').encode(),
    'large.obj': (CORNERS + 'f 1 2 99999999999999999999\n').encode(),
    'nan.obj': b'v nan nan nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n',
    'letters.obj': (CORNERS + 'f 1 2 x\nf 1 2 3\n').encode(),
    'empty.dae': b'',
}


@pytest.mark.parametrize('name', BAD_MESHES)
def test_a_bad_mesh_is_one_line(tmp_path, name):
    (tmp_path / name).write_bytes(BAD_MESHES[name])
    with pytest.raises(ModelError, match=name) as caught:
        read_mesh(tmp_path / name)
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize('name', ['nan.stl', 'words.stl', 'far.obj', 'empty.dae'])
def test_doctor_names_a_bad_mesh(tmp_path, name, capsys):
    (tmp_path / name).write_bytes(BAD_MESHES[name])
    (tmp_path / 'r.urdf').write_text(with_mesh('visual', name))
    with pytest.raises(SystemExit) as ended:
        main(['doctor', str(tmp_path / 'r.urdf')])
    assert ended.value.code == 1
    assert name in capsys.readouterr().out


@pytest.mark.parametrize(
    ('vertices', 'faces', 'fault'),
    [(4, 2, None), (4, 3, 'has 6 elements; expected 7'), (5, 2, 'has 6 elements; expected 7')],
)
def test_a_text_ply_has_what_its_header_counts_or_is_refused(tmp_path, vertices, faces, fault):
    head = f'ply\nformat ascii 1.0\nelement vertex {vertices}\n'
    head += ''.join(f'property float {axis}\n' for axis in 'xyz')
    head += f'element face {faces}\nproperty list uchar int vertex_indices\nend_header\n'
    body = CORNERS.replace('v ', '') + '3 0 1 2\n3 1 2 3\n'
    (tmp_path / 'a.ply').write_text(head + body)
    if fault is None:
        assert read_mesh(tmp_path / 'a.ply', SCENE_SUFFIXES).faces.tolist() == [
            [0, 1, 2],
            [1, 2, 3],
        ]
        return
    with pytest.raises(ModelError, match=fault):
        read_mesh(tmp_path / 'a.ply', SCENE_SUFFIXES)


@pytest.mark.parametrize('name', ['far.obj', 'large.obj'])
def test_an_index_out_of_a_mesh_is_told_in_words_of_ours(tmp_path, name):
    (tmp_path / name).write_bytes(BAD_MESHES[name])
    with pytest.raises(ModelError, match='an index names what is not in it'):
        read_mesh(tmp_path / name)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.booleans(), st.booleans())
def test_a_text_stl_has_the_triangles_of_its_facets_or_is_refused(corners, large, dos):
    facet = FACET.replace(3 * CORNER, b'%s')
    text = b'solid a\n' + b''.join(facet % (CORNER * n) for n in corners) + b'endsolid a\n'
    text = text.upper() if large else text
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'a.stl'
        path.write_bytes(text.replace(b'\n', b'\r\n') if dos else text)
        if set(corners) == {3}:
            assert len(read_mesh(path).faces) == len(corners)
        else:
            bad = next(i for i, n in enumerate(corners, 1) if n != 3)
            with pytest.raises(ModelError, match=f'facet {bad} has .*; expected 3'):
                read_mesh(path)


SIZE = 24_900_000


def binary_stl():
    triangles = np.zeros(SIZE // 50, [('numbers', '<f4', 12), ('attribute', '<u2')])
    triangles['numbers'] = np.random.default_rng(7).random((len(triangles), 12))
    return bytes(80) + struct.pack('<I', len(triangles)) + triangles.tobytes()


LARGE_MESHES = {
    'binary.stl': binary_stl,
    'text.stl': lambda: b'solid a\n' + FACET * (SIZE // len(FACET)) + b'endsolid a\n',
    'vertices.obj': lambda: b'v 0.123 4 5\n' * (SIZE // 12 - 1) + b'f 1 2 3\n',
    'faces.obj': lambda: CORNERS.encode() + b'f 1 2 3\n' * (SIZE // 8 - 9),
    'corners.obj': lambda: CORNERS.encode() + b'f' + b' 1 2 3' * (SIZE // 6 - 9),
}


@pytest.mark.parametrize('name', LARGE_MESHES)
def test_the_largest_meshes_are_bounded(tmp_path, name):
    (tmp_path / name).write_bytes(LARGE_MESHES[name]())
    (tmp_path / 'r.urdf').write_text(with_mesh('collision', name))
    out = tmp_path / 'out'
    with out.open('w') as file:
        process = subprocess.Popen([COMMAND, 'doctor', tmp_path / 'r.urdf'], stdout=file)
        _, status, used = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 1
    assert re.search(f'error.*{name}', out.read_text())
    assert used.ru_utime + used.ru_stime < 40  # 2 to 9 s
    assert used.ru_maxrss < 1_000_000  # kB; 0.15 to 0.6 million


@pytest.mark.parametrize('name', ['a.stl', 'a.obj', 'a.dae', 'a.ply'])
def test_a_mesh_beyond_its_size_is_not_read(tmp_path, name):
    with (tmp_path / name).open('wb') as file:
        file.truncate(251_000_000)
    begin = time.process_time()
    with pytest.raises(ModelError, match='251 MB; expected at most 250 MB'):
        read_mesh(tmp_path / name, SCENE_SUFFIXES, MAX_SCENE_BYTES)
    if name != 'a.ply':
        with pytest.raises(ModelError, match='251 MB; expected at most 25 MB'):
            read_mesh(tmp_path / name)
    assert time.process_time() - begin < 0.1


@given(st.text())
def test_what_is_printed_cannot_steer_a_terminal(text):
    shown = escape_controls(text)
    assert all(c.isprintable() or c in '\n\t' for c in shown)
    assert escape_controls(shown) == shown
    assert escape_controls('wąż 鱼 №1') == 'wąż 鱼 №1'


def test_the_manifest_that_is_read_is_the_nearest_usable_one(tmp_path):
    bag = tmp_path / 'run' / 'bag'
    bag.mkdir(parents=True)
    assert description.manifest_parameters(bag, '', alone=True) == (None, {})
    (tmp_path / 'manifest.json').write_text('{"parameters": {"environment": "pool"}}')
    (bag.parent / 'manifest.json').write_text('{"vehicles": {}}')  # has no such vehicle
    found = description.manifest_parameters(bag, '', alone=True)
    assert found == (tmp_path, {'environment': 'pool'})
