# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Worlds of SDF as environments: poses, distances, and names of what is left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import marine_sim
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from marine_sim_ros.core.errors import ModelError, RunError
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.environment.reader import load_environment, parse_environment
from marine_sim_ros.importers.world import import_world
from marine_sim_ros.sdf.world import sdf_world
from marine_sim_ros.sim.body_simulation import BodySimulation
from marine_sim_ros.tools.main import main

_BOX = '<geometry><box><size>1 2 3</size></box></geometry>'
_STL = """solid t
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 4 0 0
vertex 0 4 0
endloop
endfacet
endsolid t
"""


@pytest.fixture(autouse=True)
def _own_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('ROS_PACKAGE_PATH', '')
    monkeypatch.setenv('GZ_SIM_RESOURCE_PATH', '')
    monkeypatch.setenv('SDF_PATH', '')


def _write(folder: Path, world: str) -> Path:
    path = folder / 'w.sdf'
    path.write_text(f'<sdf version="1.9"><world name="w">{world}</world></sdf>')
    return path


def _model(parts: str, name: str = 'm', more: str = '') -> str:
    return f'<model name="{name}"><static>1</static>{more}<link name="l">{parts}</link></model>'


_pose = st.tuples(*[st.floats(-20, 20)] * 3, *[st.floats(-1.5, 1.5)] * 3)


def _matrix(pose: tuple[float, ...]) -> np.ndarray:
    result = np.eye(4)
    result[:3, :3] = Rotation.from_euler('xyz', pose[3:]).as_matrix()
    result[:3, 3] = pose[:3]
    return result


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(poses=st.lists(_pose, min_size=4, max_size=4))
def test_poses_compose_through_includes(tmp_path: Path, poses: list[tuple[float, ...]]) -> None:
    texts = [f'<pose>{" ".join(map(repr, p))}</pose>' for p in poses]
    folder = tmp_path / 'models' / 'inner'
    folder.mkdir(parents=True, exist_ok=True)
    (folder / 'model.sdf').write_text(
        f'<sdf version="1.9"><model name="i"><link name="l">{texts[2]}'
        f'<collision name="c">{texts[3]}{_BOX}</collision></link></model></sdf>'
    )
    path = _write(
        tmp_path,
        f'<model name="outer"><static>true</static>{texts[0]}'
        f'<include><uri>model://inner</uri>{texts[1]}</include></model>',
    )
    (obstacle,) = import_world(path).content['obstacles']
    expected = np.linalg.multi_dot([_matrix(p) for p in poses])
    assert np.allclose(obstacle['position'], expected[:3, 3], atol=1e-9)
    turn = Rotation.from_euler('xyz', obstacle['rpy']).as_matrix()
    assert np.allclose(turn, expected[:3, :3], atol=1e-7)


def test_distances_of_the_written_environment(tmp_path: Path) -> None:
    (tmp_path / 't.stl').write_text(_STL)
    parts = ''.join(
        f'<collision name="c{i}"><pose>{at} 0 0 0 0 0</pose><geometry>{g}</geometry></collision>'
        for i, (at, g) in enumerate(
            [
                (0, '<sphere><radius>2</radius></sphere>'),
                (20, '<capsule><radius>1</radius><length>4</length></capsule>'),
                (40, '<plane><normal>0 0 1</normal></plane>'),
                (60, '<mesh><uri>t.stl</uri></mesh>'),
                (80, '<mesh><uri>t.stl</uri></mesh>'),
            ]
        )
    )
    path = _write(
        tmp_path,
        '<gravity>0 0 -9.7</gravity><plugin name="b" filename="b"><graded_buoyancy>'
        '<default_density>1012</default_density></graded_buoyancy></plugin><spherical_coordinates><latitude_deg>12</latitude_deg>'
        '<longitude_deg>34</longitude_deg></spherical_coordinates>'
        + _model(parts, more='<pose>0 0 -10 0 0 0</pose>'),
    )
    with pytest.raises(SystemExit) as ended:
        main(['import-world', str(path), '-o', str(tmp_path / 'out')])
    assert ended.value.code == 0
    assert [p.name for p in (tmp_path / 'out' / 'meshes').iterdir()] == ['t.stl']
    environment = load_environment(str(tmp_path / 'out' / 'environment.yaml'))
    assert environment.gravity == 9.7
    assert environment.water_density == 1012
    scene = environment.scene
    assert scene is not None
    points = np.array([[0.0, 0.0, -3.0], [20.0, 0.0, -5.0], [61.0, 1.0, -7.0]])
    every = scene.surfaces(points)[0]
    assert np.any(np.isclose(every[:, 0], 5.0))  # sphere
    assert np.any(np.isclose(every[:, 1], 2.0))  # upper sphere of the capsule
    assert np.any(np.isclose(every[:, 2], 3.0 - 0.0025))  # sheet 5 mm thick
    assert np.any(np.isclose(every[:, 2], 3.0))  # plane


@pytest.mark.parametrize(
    ('world', 'note'),
    [
        (_model('<collision name="c"><geometry><polyline/></geometry></collision>', 'p'), 'poly'),
        (_model('', 'v', '<plugin name="x::Thruster" filename="y"/>'), 'import it with'),
        ('<include><uri>https://fuel.x/a/models/no_buoy</uri></include>', 'not there'),
        ('<light name="sun" type="point"/>', '<light>'),
        (f'<model name="f"><link name="l"><collision name="c">{_BOX}</collision></link></model>',
         'does not move'),
        (_model(f'<visual name="v">{_BOX}</visual>', 'ocean'), 'left out'),
        (_model('<collision name="c"><geometry><mesh><uri>a.gltf</uri></mesh></geometry>'
                '</collision>', 'g'), '.gltf'),
        (_model('<collision name="c"><geometry><mesh><uri>file:///etc/x.stl</uri></mesh>'
                '</geometry></collision>', 'g'), 'outside the folder'),
        (_model('<collision name="c"><geometry><mesh><uri>../secret.stl</uri></mesh>'
                '</geometry></collision>', 'g'), 'outside the folder'),
    ],
)  # fmt: skip
def test_what_is_left_out_is_named(tmp_path: Path, world: str, note: str) -> None:
    (tmp_path / 'secret.stl').write_text(_STL)
    (tmp_path / 'own').mkdir()
    path = _write(tmp_path / 'own', world + _model(f'<collision name="c">{_BOX}</collision>'))
    notes = import_world(path).notes
    assert sum(note in text for text in notes) == 1, notes


def test_nothing_solid_and_entities_are_errors(tmp_path: Path) -> None:
    with pytest.raises(RunError, match='nothing solid'):
        import_world(_write(tmp_path, '<light name="sun" type="point"/>'))
    (tmp_path / 'b.sdf').write_text('<!DOCTYPE sdf [<!ENTITY a "b">]><sdf>&a;</sdf>')
    with pytest.raises(ModelError, match='document type'):
        import_world(tmp_path / 'b.sdf')


def test_models_of_one_name_are_all_there(tmp_path: Path) -> None:
    models = ''.join(
        _model(f'<collision name="c"><pose>{x} 0 0 0 0 0</pose>{_BOX}</collision>') for x in (1, 2)
    )
    obstacles = import_world(_write(tmp_path, models)).content['obstacles']
    assert [o['position'][0] for o in obstacles] == [1.0, 2.0]
    assert len({o['name'] for o in obstacles}) == 2


def test_a_fuel_model_on_disk_is_included(tmp_path: Path) -> None:
    folder = tmp_path / 'models' / 'buoy'
    folder.mkdir(parents=True)
    model = _model(f'<collision name="c">{_BOX}</collision>')
    (folder / 'model.sdf').write_text(f'<sdf version="1.9">{model}</sdf>')
    uri = 'https://fuel.gazebosim.org/1.0/owner/models/buoy/3'
    path = _write(tmp_path, f'<include><uri>{uri}</uri><pose>1 2 3 0 0 0</pose></include>')
    assert import_world(path).content['obstacles'][0]['position'] == [1.0, 2.0, 3.0]


def test_coordinates_of_a_glb_are_taken_as_gazebo_takes_them(tmp_path: Path) -> None:
    trimesh = pytest.importorskip('trimesh')
    trimesh.creation.box([1.0, 2.0, 3.0]).export(tmp_path / 'b.glb')
    path = _write(
        tmp_path,
        _model(
            '<collision name="c"><geometry><mesh><uri>b.glb</uri></mesh></geometry></collision>'
        ),
    )
    with pytest.raises(SystemExit) as ended:
        main(['import-world', str(path), '-o', str(tmp_path / 'out')])
    assert ended.value.code == 0
    scene = load_environment(str(tmp_path / 'out' / 'environment.yaml')).scene
    assert scene is not None
    distance, _ = scene.surfaces(np.array([[0.0, 0.0, 2.0], [0.0, 2.0, 0.0], [2.0, 0.0, 0.0]]))
    np.testing.assert_allclose(distance[0], [0.5, 1.0, 1.5], atol=1e-6)


_BODIES = """
water: {density: 1027}
seabed: {depth: 12}
bodies:
  - {name: door, shape: box, size: [0.8, 0.1, 1.2], position: [1, 2, -5], rpy: [0.2, 90 deg, -1.1],
     mass: 60, color: [0.2, 0.4, 0.6]}
  - {name: bob, shape: sphere, radius: 0.15, position: [1.5, 2, -6], density: 3000}
  - {name: rod, shape: cylinder, radius: 0.05, length: 0.7, position: [-2, 0, -4], mass: 9}
  - {name: anchor, file: anchor.urdf, position: [-2, 0.5, -7], rpy: [0.1, -0.3, 2.0]}
joints:
  - {name: hinge, type: revolute, child: door, position: [1, 2, -4.4], axis: [0.3, 1, 0.1],
     limits: ['-20 deg', null], friction: 2.5, damping: 1.5, stiffness: 8, rest: 0.2}
  - {name: chain, type: ball, child: bob, parent: door, position: [1.4, 2, -5.6]}
  - {name: rail, type: prismatic, child: rod, axis: [0, 1, 1], limits: [-0.3, 0.4]}
  - {name: weld, type: fixed, child: anchor, parent: rod, position: [-2, 0.3, -6]}
"""
_ANCHOR = """<robot name="anchor">
  <hydrodynamics><buoyancy_mode>geometry</buoyancy_mode><added_mass>estimate</added_mass>
    <linear_damping>1 1 1 1 1 1</linear_damping></hydrodynamics>
  <link name="base_link">
    <inertial><origin xyz="0.1 0 -0.05"/><mass value="25"/>
      <inertia ixx="0.9" ixy="0.1" ixz="0" iyy="1.1" iyz="-0.05" izz="0.7"/></inertial>
    <collision><origin xyz="0 0 0.2"/><geometry><box size="0.1 0.1 0.5"/></geometry></collision>
    <collision><origin rpy="0 1 0"/><geometry><mesh filename="fluke.stl"/></geometry></collision>
    <visual><geometry><mesh filename="fluke.stl"/></geometry></visual>
  </link></robot>"""


def test_bodies_come_back_from_a_written_world(tmp_path: Path) -> None:
    """Pose, mass, inertia, shapes and joints; primitives move as before."""
    trimesh = pytest.importorskip('trimesh')
    trimesh.creation.icosphere(radius=0.3).export(tmp_path / 'fluke.stl')
    (tmp_path / 'anchor.urdf').write_text(_ANCHOR)
    (tmp_path / 'w.yaml').write_text(_BODIES)
    before = load_environment(tmp_path / 'w.yaml')
    code, output = marine_sim(
        'export-sdf', '--world', tmp_path / 'w.yaml', '-o', tmp_path / 'sdf' / 'w.sdf'
    )
    assert code == 0, output
    code, output = marine_sim('import-world', tmp_path / 'sdf' / 'w.sdf', '-o', tmp_path / 'back')
    assert code == 0, output
    after = load_environment(tmp_path / 'back' / 'environment.yaml')
    assert [b.name for b in after.free_bodies] == [b.name for b in before.free_bodies]
    for body, original in zip(after.free_bodies, before.free_bodies, strict=True):
        np.testing.assert_allclose(body.position, original.position, atol=1e-9)
        turned = rotation_matrix(body.orientation) - rotation_matrix(original.orientation)
        assert np.abs(turned).max() < 1e-9
        ours, theirs = body.vehicle, original.vehicle
        assert ours.inertia.mass == pytest.approx(theirs.inertia.mass, rel=1e-12)
        np.testing.assert_allclose(ours.inertia.center_of_mass, theirs.inertia.center_of_mass)
        np.testing.assert_allclose(ours.inertia.tensor, theirs.inertia.tensor, rtol=1e-9)
        np.testing.assert_allclose(ours.mass_matrix, theirs.mass_matrix, rtol=1e-6, atol=1e-6)
        assert ours.buoyancy.volume == pytest.approx(theirs.buoyancy.volume, rel=1e-6)
        assert len(ours.contact.position) == len(theirs.contact.position)
    for joint, wanted in zip(after.body_joints, before.body_joints, strict=True):
        assert (joint.name, joint.type, joint.child, joint.parent, joint.limits) == (
            *(wanted.name, wanted.type, wanted.child, wanted.parent), wanted.limits,
        )  # fmt: skip
        np.testing.assert_allclose(joint.position, wanted.position, atol=1e-9)
        if joint.is_movable:
            np.testing.assert_allclose(joint.axis, wanted.axis, atol=1e-9)
        for name in ('friction', 'damping', 'stiffness', 'rest'):
            assert getattr(joint, name) == getattr(wanted, name)
    worlds = [BodySimulation(environment, 0.01) for environment in (before, after)]
    for k in range(50):
        for world, environment in zip(worlds, (before, after), strict=True):
            world.tick(k * 10_000_000, environment, {})
    for name in ('door', 'bob'):
        moved, original = (world.states[name] for world in worlds)
        np.testing.assert_allclose(moved.position, original.position, atol=1e-7)
    assert np.abs(moved.velocity).max() > 0.01


def test_payloads_are_bodies_of_a_written_world(tmp_path: Path) -> None:
    environment = load_environment('brick_on_sand')
    (tmp_path / 'w.sdf').write_text(sdf_world('w', environment).text)
    brick, body = import_world(tmp_path / 'w.sdf').content['bodies'][0], environment.free_bodies[0]
    assert (brick['name'], brick['mass']) == ('brick', 2.0)
    np.testing.assert_allclose(brick['size'], [0.2, 0.1, 0.06])
    np.testing.assert_allclose(brick['position'], body.position, atol=1e-12)


def test_what_a_written_world_does_not_have_of_its_bodies_is_named() -> None:
    text = """bodies:
  - {name: trolley, shape: box, size: [0.6, 0.6, 0.4], mass: 60,
     volume: 0.01, position: [0, 0, -3]}
  - {name: tube, shape: cylinder, radius: 0.1, length: 0.5, mass: 9, position: [2, 0, -3]}
  - {name: ball, shape: sphere, radius: 0.1, mass: 9, position: [4, 0, -3], velocity: [1, 0, 0]}
  - {name: spare, shape: box, size: [1, 1, 1], mass: 9, absent: true}
"""
    assert sdf_world('w', parse_environment(text, 'w.yaml')).warnings == (
        'body trolley: it displaces 0.01 m³, which is not written: by its shapes it displaces '
        '0.144 m³ there',
        'body ball: its velocity at the start is not written',
        'body spare is absent at the start; it is not written',
    )


@pytest.mark.parametrize(
    ('joint', 'told'),
    [
        (
            '<joint name="j" type="screw"><parent>world</parent><child>a::l</child></joint>',
            'screw',
        ),
        ('<joint name="j" type="ball"><parent>world</parent><child>b::l</child></joint>', 'b::l'),
        ('<joint name="j" type="fixed"><parent>a::l</parent></joint>', 'a::l and'),
        (
            '<joint name="j" type="revolute"><parent>world</parent><child>a::l</child><axis>'
            '<xyz expressed_in="world">1 0 0</xyz></axis></joint>',
            'another frame',
        ),
    ],
)
def test_a_joint_that_cannot_be_is_named(tmp_path: Path, joint: str, told: str) -> None:
    body = (
        '<model name="a"><link name="l"><inertial><mass>2</mass></inertial>'
        f'<collision name="c">{_BOX}</collision></link></model>'
    )
    found = import_world(_write(tmp_path, body + joint))
    assert len(found.content['bodies']) == 1
    assert not found.content.get('joints')
    assert any(told in note for note in found.notes), found.notes


def test_a_body_with_a_mesh_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    """The rest of the world is there."""
    (tmp_path / 'flat.stl').write_text('solid x\nendsolid x\n')
    body = '<model name="{}"><link name="l"><inertial><mass>2</mass></inertial>{}</link></model>'
    mesh = '<collision name="c"><geometry><mesh><uri>flat.stl</uri></mesh></geometry></collision>'
    box = f'<collision name="c">{_BOX}</collision>'
    found = import_world(_write(tmp_path, body.format('a', mesh) + body.format('b', box)))
    assert [entry['name'] for entry in found.content['bodies']] == ['b']
    assert any('left out' in note and 'flat.stl' in note for note in found.notes), found.notes
