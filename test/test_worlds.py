# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Worlds for Gazebo are the environments they are made from, and up to date."""

import importlib.util
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT
from lxml import etree
from sdf_reader import own_pose, values

from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.materials import shipped_materials

pytestmark = pytest.mark.long

specification = importlib.util.spec_from_file_location(
    'worlds', ROOT / 'docs' / 'scripts' / 'make_worlds.py'
)
MAKER = importlib.util.module_from_spec(specification)
specification.loader.exec_module(MAKER)
names = pytest.mark.parametrize('name', sorted(MAKER.WORLDS))


@pytest.fixture(scope='module')
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp('worlds')
    MAKER.main(folder)
    return folder


def world(name):
    return etree.parse(str(ROOT / 'worlds' / f'{name}.sdf')).getroot().find('world')


def scene(name):
    return load_environment(MAKER.WORLDS[name]).scene


def read_obj(path):
    """Return vertices (v, 3), normals (n, 3), and of the quadrangles both numbers (f, 4, 2)."""
    lines = [line.split() for line in path.read_text().splitlines()]
    vertices, normals = (
        np.array([line[1:] for line in lines if line[0] == kind], float) for kind in ('v', 'vn')
    )
    corners = [[c.split('//') for c in line[1:]] for line in lines if line[0] == 'f']
    return vertices, normals, np.array(corners, int) - 1


def test_what_is_shipped_is_what_the_script_makes(made):
    shipped = {p.name for p in (ROOT / 'worlds').glob('*') if p.is_file()}
    assert shipped == {p.name for p in made.glob('*') if p.is_file()}
    for file in shipped:
        same = (ROOT / 'worlds' / file).read_bytes() == (made / file).read_bytes()
        assert same, f'worlds/{file} is old; run docs/scripts/make_worlds.py'


@pytest.mark.parametrize('name', ['sand', 'rock'])
def test_meshes_are_made_by_a_build_from_a_checkout(name, tmp_path, made):
    """They are not committed; what git has, and setup.py, are enough to have them."""
    maker = 'docs/scripts/make_worlds.py'
    for part in (maker, 'setup.py', 'package.xml', 'config', 'marine_sim_ros', 'resource'):
        source, target = ROOT / part, tmp_path / part
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, target)
    (tmp_path / 'worlds').mkdir()
    subprocess.run([sys.executable, 'setup.py', '--quiet', '--version'], cwd=tmp_path, check=True)
    mesh = f'meshes/{name}.obj'
    assert (tmp_path / 'worlds' / mesh).read_bytes() == (made / mesh).read_bytes()


@names
def test_a_step_is_a_control_period_and_systems_are_there(name):
    root = world(name)
    assert root.get('name') == name
    assert root.find('physics').get('type') == 'dart'
    assert float(root.findtext('physics/max_step_size')) == 0.005
    assert float(root.findtext('physics/real_time_factor')) == 0
    systems = {p.get('name').rsplit('::', 1)[1] for p in root.findall('plugin')}
    assert systems == {'Physics', 'UserCommands', 'SceneBroadcaster', 'ApplyLinkWrench'}
    gravity = load_environment(MAKER.WORLDS[name]).gravity
    np.testing.assert_array_equal(values(root.find('gravity')), [0, 0, -gravity])
    text = etree.tostring(root, encoding='unicode')
    assert '<gz:policies' in text  # gz-sim compares the prefix as text
    assert root.findtext('{http://gazebosim.org/schema}policies/parallel_postupdates') == 'false'


@names
def test_everything_solid_is_where_the_scene_has_it(name):
    here = scene(name)
    models = {m.get('name'): m for m in world(name).findall('model')}
    assert set(models) == {*here.names, 'water'}
    assert all(m.findtext('static') == 'true' for m in models.values())
    assert models['water'].find('.//collision') is None
    for i, label in enumerate(here.names):
        for points, wanted in touched(models[label]):
            distance, normal = here.surfaces(points)
            np.testing.assert_allclose(distance[i], 0, atol=1e-9)
            np.testing.assert_allclose(np.abs(normal[i] @ wanted), 1, atol=1e-9)


def touched(model):
    """Yield points of a model's collision and the surface's direction there."""
    pose = own_pose(model)
    shape = model.find('link/collision/geometry')[0]
    spots = []
    if shape.tag == 'plane':
        normal = values(shape.find('normal'))
        spots = [([0, 0, 0], normal), ([3, 0, 0], normal), ([0, 5, 0], normal)]
    elif shape.tag == 'box':
        half = values(shape.find('size')) / 2
        spots = [(s * half * axis, axis) for axis in np.eye(3) for s in (-1, 1)]
    elif shape.tag == 'sphere':
        spots = [(float(shape.findtext('radius')) * axis, axis) for axis in np.eye(3)]
    elif shape.tag == 'cylinder':
        radius, length = (float(shape.findtext(t)) for t in ('radius', 'length'))
        spots = [
            ([radius, 0, 0], [1, 0, 0]),
            ([0, -radius, 0.1], [0, 1, 0]),
            ([0, 0, length / 2], [0, 0, 1]),
        ]
    for point, direction in spots:
        turned = pose[:3, :3] @ np.asarray(direction, float)
        yield (pose[:3, :3] @ np.asarray(point, float) + pose[:3, 3])[None], turned


@names
def test_planes_face_the_water(name):
    here = scene(name)
    for plane in here.planes:
        model = next(m for m in world(name).findall('model') if m.get('name') == plane.name)
        normal = own_pose(model)[:3, :3] @ values(model.find('.//plane/normal'))
        np.testing.assert_allclose(normal, plane.normal, atol=1e-9)


@pytest.mark.parametrize('name', ['sand', 'rock'])
def test_the_mesh_is_the_terrain(name, made):
    terrain = scene(name).terrain
    uris = {e.text for e in world(name).iter('uri')}
    assert uris == {f'meshes/{name}.obj'}
    vertices, _, numbers = read_obj(made / 'meshes' / f'{name}.obj')
    faces = numbers[..., 0]
    heights = terrain.height(vertices[:, 0], vertices[:, 1])
    np.testing.assert_allclose(vertices[:, 2], heights, atol=0.0005 + 1e-9)
    np.testing.assert_array_equal(vertices[:, :2].min(axis=0), terrain.extent[0])
    np.testing.assert_array_equal(vertices[:, :2].max(axis=0), terrain.extent[1])
    corners = vertices[faces]
    a, b = corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1]
    areas = (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / 2
    np.testing.assert_allclose(areas, terrain.spacing**2)  # all from above, none left out
    assert areas.sum() == pytest.approx(np.prod(np.ptp(terrain.extent, axis=0)))


@pytest.mark.parametrize('name', ['sand', 'rock'])
def test_every_corner_has_the_normal_of_the_ground(name, made):
    """Without one for each, gz-physics leaves the mesh out, and DART ends the server."""
    terrain = scene(name).terrain
    vertices, normals, numbers = read_obj(made / 'meshes' / f'{name}.obj')
    corner, normal = numbers[..., 0].ravel(), numbers[..., 1].ravel()
    assert normal.min() >= 0
    found = normals[normal]
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=2e-3)
    # Of the heights one cell away to all sides.
    x, y = vertices[corner, :2].T
    inside = np.all(np.abs(vertices[corner, :2] - terrain.extent.mean(axis=0)) < 63, axis=1)
    h = terrain.spacing
    slopes = [
        (terrain.height(x + dx, y + dy) - terrain.height(x - dx, y - dy)) / (2 * h)
        for dx, dy in ((h, 0), (0, h))
    ]
    wanted = np.stack([-slopes[0], -slopes[1], np.ones_like(x)], axis=1)
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    np.testing.assert_allclose(found[inside], wanted[inside], atol=1e-3)


@pytest.mark.gazebo
@pytest.mark.skipif(shutil.which('gz') is None, reason='gz: not on this machine')
@names
def test_a_real_server_steps_the_world(name, made, gazebo_partition):
    done = subprocess.run(
        ['gz', 'sim', '-s', '-r', '--iterations', '200', str(made / f'{name}.sdf')],
        env={**os.environ, **gazebo_partition},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert 'Segmentation fault' not in done.stderr
    assert 'will be ignored' not in done.stderr


@names
def test_surfaces_have_the_friction_of_their_material(name):
    here = scene(name)
    for label, material in zip(here.names, here.materials, strict=True):
        model = next(m for m in world(name).findall('model') if m.get('name') == label)
        friction = float(model.findtext('.//surface/friction/ode/mu'))
        assert friction == shipped_materials().material(material).roughness


@pytest.mark.drake
@names
def test_libsdformat_reads_the_worlds(name, made):
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(0.0)
    models = Parser(plant).AddModels(str(made / f'{name}.sdf'))
    assert len(models) == len(scene(name)) + 1
