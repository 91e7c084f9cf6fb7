# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Worlds of SDF as environments: poses, distances, and names of what is left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from marine_sim_ros.core.errors import ModelError, RunError
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.importers.world import import_world
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
         'do not move'),
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
