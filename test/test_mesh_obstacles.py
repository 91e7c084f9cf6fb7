# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Obstacles of triangles: distances, rays, contact and pictures against independent ones."""

import io
import json
import logging
import struct
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from cache_files import read_cached, write_cached
from conftest import examples, vehicle_of
from hypothesis import given, settings
from hypothesis import strategies as st

from marine_sim_ros.core.errors import ModelError, ParameterError
from marine_sim_ros.core.files import resource_folder
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.reader import load_environment, parse_environment
from marine_sim_ros.geometry.triangles import build_surface
from marine_sim_ros.physics.contact.detection import _nearest_edges, contacts_within
from marine_sim_ros.scene import meshes
from marine_sim_ros.scene.meshes import Growth, coarsen_surface, load_obstacle_mesh
from marine_sim_ros.scene.obstacles import Obstacle
from marine_sim_ros.scene.rays import cast_rays
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import simulate

trimesh = pytest.importorskip('trimesh')
numba = pytest.importorskip('numba')

TURN = quaternion_from_rpy(0.3, -0.5, 1.1)
PLACE = np.array([1.0, -1.0, -5.0])
SIZE = np.array([2.0, 1.0, 0.5])
FOLDER = resource_folder('config') / 'environments'


def surface_of(mesh, thickness=0.005):
    return build_surface(np.array(mesh.vertices), np.array(mesh.faces), thickness, 'test')


def obstacle_of(mesh, place=PLACE, turn=TURN, thickness=0.005):
    surface, _ = surface_of(mesh, thickness)
    size = 2 * np.abs(surface.vertices).max(axis=0) + thickness
    return Obstacle('part', 'mesh', size, place, turn, 'steel', mesh=surface)


def blob(seed, count=4):
    """Return overlapping convex bodies, each closed, none in another."""
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(count):
        part = trimesh.creation.icosphere(2, 1.0)
        part.vertices *= rng.uniform(0.3, 1.5, 3)
        part.vertices += rng.uniform(-1.0, 1.0, 3)
        parts.append(part)
    return parts


def directions(count, seed=0):
    d = np.random.default_rng(seed).normal(size=(count, 3))
    return d / np.linalg.norm(d, axis=-1, keepdims=True)


def winding_number(corners, points):
    """Return how often surfaces go around points (m,): solid angles over 4 pi.

    Van Oosterom and Strackee (1983), The solid angle of a plane triangle.
    """
    a, b, c = (corners[None, :, i] - points[:, None] for i in range(3))
    la, lb, lc = (np.linalg.norm(v, axis=-1) for v in (a, b, c))
    volume = np.einsum('mti,mti->mt', a, np.cross(b, c))
    dot = np.einsum('mti,mti->mt', a, b) * lc + np.einsum('mti,mti->mt', b, c) * la
    dot += np.einsum('mti,mti->mt', c, a) * lb + la * lb * lc
    return np.arctan2(volume, dot).sum(axis=1) / (2 * np.pi)


def brute_distance(corners, points):
    """Return the least distance (m,) of points from triangles, each asked of trimesh."""
    each = [
        trimesh.triangles.closest_point(corners, np.repeat(p[None], len(corners), 0)) - p
        for p in points
    ]
    return np.array([np.linalg.norm(e, axis=1).min() for e in each])


# ---- distances -------------------------------------------------------------------------------


def test_a_box_of_triangles_has_the_distances_and_normals_of_a_box():
    box = Obstacle('box', 'box', SIZE, PLACE, TURN)
    mesh = obstacle_of(trimesh.creation.box(SIZE))
    points = PLACE + np.random.default_rng(1).uniform(-2, 2, (2000, 3))
    expected = Scene((), None, (box,)).surfaces(points)
    found = Scene((), None, (mesh,)).surfaces(points)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@settings(max_examples=examples(12))
@given(st.integers(0, 2**31))
def test_distances_are_the_least_of_all_triangles_and_below_zero_inside(seed):
    part = blob(seed, 1)[0]
    surface, told = surface_of(part)
    assert surface.closed
    assert not told
    points = np.random.default_rng(seed).uniform(-2, 2, (40, 3))
    found, normal = surface.distances(points)
    np.testing.assert_allclose(
        np.abs(found), brute_distance(part.triangles, points), rtol=0, atol=1e-12
    )
    inside = winding_number(part.triangles, points) > 0.5
    np.testing.assert_array_equal(found < 0, inside)
    # The normal is the way to the surface: along it the distance falls to nothing.
    on, _ = surface.distances(points - found[:, None] * normal)
    assert np.abs(on).max() < 1e-9


def test_what_is_farther_than_asked_for_is_never_said_to_be_nearer():
    surface, _ = surface_of(trimesh.creation.box(SIZE))
    points = np.random.default_rng(1).uniform(-9, 9, (500, 3))
    exact, _ = surface.distances(points)
    found, normal = surface.distances(points, 1.0)
    near = np.abs(exact) < 1.0
    np.testing.assert_array_equal(found[near], exact[near])
    assert np.all(found[~near] == 1.0)
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0)


def test_a_sheet_is_solid_on_both_sides():
    sheet = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    surface, told = surface_of(sheet, 0.02)
    assert not surface.closed
    assert '4 open edges' in told[0]
    assert '20 mm' in told[0]
    found, normal = surface.distances(np.array([[0.5, 0.3, 0.1], [0.5, 0.3, -0.1]]))
    np.testing.assert_allclose(found, [0.09, 0.09])
    np.testing.assert_allclose(normal, [[0, 0, 1], [0, 0, -1]])


# ---- rays ------------------------------------------------------------------------------------


def test_rays_meet_what_embree_meets():
    pytest.importorskip('embreex')
    mesh = trimesh.util.concatenate(blob(5))
    surface, _ = surface_of(mesh)
    origins = np.repeat([[0.0, -9.0, 1.0], [7.0, 3.0, -4.0]], 2000, axis=0)
    target = np.random.default_rng(3).uniform(-2.5, 2.5, (4000, 3))
    rays = target - origins
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    places, number, triangle = mesh.ray.intersects_location(origins, rays, multiple_hits=False)
    expected = np.full(4000, np.inf)
    expected[number] = np.linalg.norm(places - origins[number], axis=1)
    distance, normal = surface.first_hits(origins, rays, np.full(4000, 50.0))
    np.testing.assert_array_equal(np.isfinite(distance), np.isfinite(expected))
    hit = np.isfinite(distance)
    assert hit.sum() > 1000
    assert np.abs(distance[hit] - expected[hit]).max() < 1e-4  # single precision
    of_each = np.full(4000, -1)
    of_each[number] = triangle
    same = np.einsum('ri,ri->r', normal[hit], mesh.face_normals[of_each[hit]])
    assert np.mean(same > 0.999) > 0.999


def test_no_ray_passes_between_triangles():
    part = trimesh.creation.icosphere(3)
    surface, _ = surface_of(part)
    # Towards corners and middles of edges, from without; exactly, but for rounding.
    middles = part.vertices[part.edges_unique].mean(axis=1)
    for targets in (np.array(part.vertices), middles):
        origins = 3.0 * targets
        rays = -targets / np.linalg.norm(targets, axis=1, keepdims=True)
        distance, _ = surface.first_hits(origins, rays, np.full(len(rays), 10.0))
        np.testing.assert_allclose(
            distance, np.linalg.norm(origins - targets, axis=1), rtol=0, atol=1e-9
        )


def test_a_ray_from_within_meets_what_is_solid_at_once_and_a_sheet_from_both_sides():
    box, _ = surface_of(trimesh.creation.box(SIZE))
    rays = directions(50)
    distance, normal = box.first_hits(np.zeros((50, 3)), rays, np.full(50, 0.01))
    assert np.all(distance == 0)
    np.testing.assert_array_equal(normal, -rays)
    part = trimesh.creation.box(SIZE)
    part.update_faces(np.arange(len(part.faces)) > 0)
    hull, _ = surface_of(part)
    distance, normal = hull.first_hits(np.zeros((50, 3)), rays, np.full(50, 9.0))
    met = np.isfinite(distance)
    assert 40 < met.sum() <= 50
    assert np.all(distance[met] > 0.2)
    assert np.all(np.einsum('ri,ri->r', normal[met], rays[met]) < 0)


def test_a_ray_from_outside_meets_a_surface_that_cuts_itself():
    """The upper side of a plate is pushed through the lower one: its back is met from below."""
    plate = trimesh.creation.box([2.0, 2.0, 0.01])
    for _ in range(4):
        plate = plate.subdivide()
    dented = np.all(np.abs(plate.vertices[:, :2]) < 0.6, axis=1) & (plate.vertices[:, 2] > 0)
    plate.vertices[dented, 2] -= 0.03
    surface, _ = surface_of(plate)
    origins = np.random.default_rng(0).uniform(-0.4, 0.4, (50, 3)) * [1, 1, 0] - [0, 0, 1]
    up = np.tile([0.0, 0.0, 1.0], (50, 1))
    distance, normal = surface.first_hits(origins, up, np.full(50, 3.0))
    np.testing.assert_allclose(distance, 0.975)
    np.testing.assert_allclose(normal, -up, atol=1e-12)
    missed, _ = surface.first_hits(origins, up, np.full(50, 0.9))
    assert np.all(np.isinf(missed))


@pytest.mark.parametrize('seed', range(2))
def test_rays_in_and_around_a_crumpled_ball_begin_where_its_winding_number_tells(seed):
    pytest.importorskip('embreex')
    rng = np.random.default_rng(seed)
    ball = trimesh.creation.icosphere(3)
    ball.vertices *= 1 + 0.5 * rng.normal(size=(len(ball.vertices), 1))
    surface, _ = surface_of(ball)
    origins, rays = rng.uniform(-3, 3, (400, 3)), directions(400)
    distance, normal = surface.first_hits(origins, rays, np.full(400, 50.0))
    winding = winding_number(surface.vertices[surface.faces], origins)
    places, number, _ = ball.ray.intersects_location(origins, rays, multiple_hits=False)
    expected = np.full(400, np.inf)
    expected[number] = np.linalg.norm(places - origins[number], axis=1)
    outside = np.abs(winding) < 0.25
    np.testing.assert_allclose(distance[outside], expected[outside], atol=1e-4)
    assert np.all(distance[winding > 0.5] == 0)
    assert 0 < (winding > 0.5).sum() < outside.sum()
    met = np.isfinite(distance)
    assert np.einsum('ri,ri->r', normal[met], rays[met]).max() < 1e-9


def test_every_sensor_of_rays_meets_a_mesh_where_it_meets_the_same_box():
    box = Scene((), None, (Obstacle('box', 'box', SIZE, PLACE, TURN),))
    mesh = Scene((), None, (obstacle_of(trimesh.creation.box(SIZE)),))
    rays = directions(3000)
    eye = PLACE + np.array([3.0, 0.2, 0.1])
    one = cast_rays(box, eye, rays, 20.0)
    other = cast_rays(mesh, eye, rays, 20.0)
    assert np.isfinite(one.distance).sum() > 30
    for expected, found in zip(one, other, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


# ---- files -----------------------------------------------------------------------------------


def written(folder, mesh, name='part.stl'):
    mesh.export(folder / name)
    return folder / name


def scene_file(folder, text):
    path = folder / 'scene.yaml'
    path.write_text(text, encoding='utf-8')
    return load_environment(str(path)).scene


@pytest.mark.parametrize('suffix', ['glb', 'obj', 'stl', 'ply', 'dae'])
def test_every_format_gives_the_same_body_z_up(tmp_path, suffix):
    if suffix == 'dae':
        pytest.importorskip('collada')
    mesh = trimesh.creation.box(SIZE)
    mesh.apply_translation([0.3, 0.2, 1.0])
    if suffix == 'glb':  # by its standard y is up
        mesh.apply_transform(trimesh.transformations.rotation_matrix(-np.pi / 2, [1, 0, 0]))
    written(tmp_path, mesh, f'part.{suffix}')
    (obstacle,) = scene_file(
        tmp_path,
        f'obstacles: [{{shape: mesh, file: part.{suffix}, position: [1, 2, -9], scale: 2}}]',
    ).obstacles
    np.testing.assert_allclose(obstacle.position, [1.6, 2.4, -7.0], atol=1e-6)
    np.testing.assert_allclose(obstacle.mesh.extents, 2 * SIZE, atol=1e-6)
    assert obstacle.mesh.closed


def test_a_mesh_is_turned_about_the_origin_of_its_file(tmp_path):
    mesh = trimesh.creation.box([0.2, 0.2, 0.2])
    mesh.apply_translation([1.0, 0.0, 0.0])
    written(tmp_path, mesh)
    scene = scene_file(
        tmp_path,
        'obstacles: [{file: part.stl, position: [5, 0, -5], rpy: [0, 0, 1.5708]}]',  # a mesh
    )
    distance, _ = scene.surfaces(np.array([[5.0, 1.0, -5.0], [6.0, 0.0, -5.0]]))
    np.testing.assert_allclose(distance[0, 0], -0.1, atol=1e-4)
    assert distance[0, 1] > 1.0


def test_what_is_touched_may_be_another_mesh_than_what_is_seen(tmp_path):
    seen = trimesh.creation.icosphere(3, 0.5)
    seen.apply_translation([0.0, 0.0, 2.0])
    written(tmp_path, seen, 'seen.stl')
    touched = trimesh.creation.box([1.0, 1.0, 1.0])
    touched.apply_translation([0.0, 0.0, 2.0])
    written(tmp_path, touched, 'touched.stl')
    scene = scene_file(
        tmp_path,
        'obstacles: [{shape: mesh, file: seen.stl, collision: touched.stl, position: [0, 0, -9]}]',
    )
    distance, _ = scene.surfaces(np.array([[0.7, 0.0, -7.0]]))
    assert distance[0, 0] == pytest.approx(0.2)
    hits = cast_rays(scene, np.array([3.0, 0.0, -7.0]), np.array([[-1.0, 0.0, 0.0]]), 9.0)
    assert hits.distance[0] == pytest.approx(2.5, abs=5e-3)


def test_a_mesh_by_another_key_is_told_the_key_of_its_file(tmp_path):
    with pytest.raises(ParameterError, match=r"unknown key 'mesh'; expected one of: .*\bfile\b"):
        scene_file(tmp_path, 'obstacles: [{mesh: part.stl, position: [0, 0, -5]}]')


REFUSED = [
    ('file: nowhere.stl', 'nowhere.stl'),
    ('file: part.txt', "suffix '.txt'; expected one of: .glb, .obj, .stl, .dae, .ply"),
    ('file: empty.stl', 'empty.stl'),
    ('file: flat.obj', 'no triangles with an area'),
    ('file: far.obj', 'expected less than 100000 m after scaling'),
    ('file: 7', 'expected the path of a mesh'),
    ('file: part.stl, scale: 0', 'expected factors other than 0'),
    ('file: part.stl, up: down', 'expected one of: x, y, z'),
    ('file: part.stl, thickness: -1', 'thickness'),
    ('file: part.stl, radius: 1', 'radius'),
    ('file: "\\0.stl"', 'control characters'),
    ('scale: 1', 'file'),
]


@pytest.mark.parametrize(('keys', 'reason'), REFUSED, ids=[k for k, _ in REFUSED])
def test_bad_meshes_are_refused_in_one_line(tmp_path, keys, reason):
    written(tmp_path, trimesh.creation.box(SIZE))
    (tmp_path / 'part.txt').write_text('solid', encoding='utf-8')
    (tmp_path / 'empty.stl').write_bytes(b'')
    (tmp_path / 'flat.obj').write_text('v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n', encoding='utf-8')
    (tmp_path / 'far.obj').write_text('v 0 0 0\nv 1e9 0 0\nv 0 1 0\nf 1 2 3\n', encoding='utf-8')
    with pytest.raises(ParameterError, match='obstacles') as caught:
        scene_file(tmp_path, f'obstacles: [{{shape: mesh, position: [0, 0, -5], {keys}}}]')
    assert reason in str(caught.value)
    assert '\n' not in str(caught.value)


def glb(document, data=b''):
    text = json.dumps(document).encode()
    text += b' ' * (-len(text) % 4)
    body = struct.pack('<II', len(text), 0x4E4F534A) + text
    body += struct.pack('<II', len(data), 0x004E4942) + data
    return struct.pack('<III', 0x46546C67, 2, 12 + len(body)) + body


def one_triangle(**changes):
    return {
        'asset': {'version': '2.0'},
        'scene': 0,
        'scenes': [{'nodes': [0]}],
        'nodes': [{'mesh': 0}],
        'meshes': [{'primitives': [{'attributes': {'POSITION': 0}}]}],
        'buffers': [{'byteLength': 36}],
        'bufferViews': [{'buffer': 0, 'byteLength': 36}],
        'accessors': [{'bufferView': 0, 'componentType': 5126, 'count': 3, 'type': 'VEC3'}],
        **changes,
    }


TRIANGLE = struct.pack('<9f', 0, 0, 0, 1, 0, 0, 0, 1, 0)
ZEROS = [{'componentType': 5126, 'count': 10**9, 'type': 'VEC3'}]


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'accessors': ZEROS}, 'expected at most 5e\\+07'),
        ({'accessors': 7}, 'not a valid GLB mesh'),
        ({'accessors': [{'count': 'many'}]}, 'not a valid GLB mesh'),
        ({'extensionsRequired': ['KHR_draco_mesh_compression']}, 'without compression'),
        ({'buffers': [{'uri': '/etc/passwd', 'byteLength': 36}]}, "the buffer '/etc/passwd'"),
        ({'nodes': [{'mesh': 0}] * 30_000}, 'expected at most 20000'),
        ({'nodes': [{'children': [i + 1]} for i in range(300)]}, 'deeper than 100'),
        ({'nodes': [{'children': [0], 'mesh': 0}]}, 'hold each other'),
        (
            {'meshes': [{'primitives': [{'attributes': {'POSITION': 0}}] * 30_000}]},
            'at most 20000',
        ),
        (
            {'nodes': [{'mesh': 0}] * 9000, 'accessors': [{'count': 6000, 'type': 'VEC3'}]},
            '5.4e\\+07 elements; expected at most',
        ),
    ],
    ids=[
        *['zeros', 'number', 'word', 'draco', 'other_file'],
        *['nodes', 'levels', 'cycle', 'primitives', 'instances'],
    ],
)
def test_a_glb_that_stands_for_more_than_it_holds_is_refused(tmp_path, changes, reason):
    path = tmp_path / 'part.glb'
    data = b'' if 'buffers' in changes else TRIANGLE
    path.write_bytes(glb(one_triangle(), TRIANGLE))
    plain = load_obstacle_mesh(path, (1.0, 1.0, 1.0), None, 0.005)
    assert len(plain.surface.faces) == 1
    path.write_bytes(glb(one_triangle(**changes), data))
    with pytest.raises(ModelError, match=reason):
        load_obstacle_mesh(path, (1.0, 1.0, 1.0), None, 0.005)


@settings(max_examples=examples(40), deadline=None)
@given(st.sampled_from(['glb', 'ply', 'obj', 'stl']), st.integers(0, 2**31))
def test_broken_files_are_refused_in_one_line_or_read(suffix, seed):
    rng = np.random.default_rng(seed)
    content = bytearray(trimesh.creation.box(SIZE).export(file_type=suffix), *ENCODING[suffix])
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(len(content)))
        content[at : at + int(rng.integers(0, 3))] = rng.bytes(int(rng.integers(0, 4)))
    with TemporaryDirectory() as folder:
        path = Path(folder, f'part.{suffix}')
        path.write_bytes(content)
        try:
            placed = load_obstacle_mesh(path, (1.0, 1.0, 1.0), None, 0.005)
        except ModelError as error:
            reason = str(error)
        else:
            found, normal = placed.surface.distances(rng.normal(size=(20, 3)))
            assert np.all(np.isfinite(found))
            np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, atol=1e-9)
            return
    assert '\n' not in reason
    assert path.name in reason


ENCODING = {'glb': (), 'ply': (), 'obj': ('utf-8',), 'stl': ()}


def test_repairs_are_told(tmp_path, caplog):
    inverted = trimesh.creation.box(SIZE)
    inverted.invert()
    path = written(tmp_path, inverted)
    with caplog.at_level(logging.WARNING):
        placed = load_obstacle_mesh(path, (1.0, 1.0, 1.0), None, 0.005)
    assert '1 part(s) were inside out and were turned' in caplog.text
    assert placed.surface.distances(np.array([[0.0, 0.0, 0.5]]))[0][0] == pytest.approx(0.25)


def test_boxes_that_share_an_edge_are_closed():
    one, other = trimesh.creation.box([1, 1, 1]), trimesh.creation.box([1, 1, 1])
    other.apply_translation([1.0, 1.0, 0.0])
    surface, told = surface_of(trimesh.util.concatenate([one, other]))
    assert surface.closed
    assert not told
    points = np.array([[0.2, 0.1, 0.0], [0.6, 0.4, 0.0], [0.9, 1.2, 0.1]])
    np.testing.assert_allclose(surface.distances(points)[0], [-0.3, 0.1, -0.3], atol=1e-12)


def test_a_cavity_stays_hollow():
    outer, inner = trimesh.creation.box([4, 4, 4]), trimesh.creation.box([2, 2, 2])
    inner.invert()
    surface, told = surface_of(trimesh.util.concatenate([outer, inner]))
    assert surface.closed
    assert not told
    found, _ = surface.distances(np.array([[0.0, 0.0, 0.0], [1.5, 0.0, 0.0], [3.0, 0.0, 0.0]]))
    np.testing.assert_allclose(found, [1.0, -0.5, 1.0])


def test_mirrored_meshes_keep_their_outside(tmp_path):
    path = written(tmp_path, trimesh.creation.box(SIZE))
    placed = load_obstacle_mesh(path, (1.0, -1.0, 1.0), None, 0.005)
    assert placed.surface.distances(np.zeros((1, 3)))[0][0] == pytest.approx(-0.25)


def test_a_surface_without_an_area_is_an_error():
    with pytest.raises(ModelError, match='no triangles with an area'):
        build_surface(np.zeros((3, 3)), np.array([[0, 1, 2]]), 0.005, 'x')


def test_a_large_mesh_is_kept_between_runs_and_read_anew_where_that_is_damaged(
    tmp_path, monkeypatch
):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    path = written(tmp_path, trimesh.creation.icosphere(5))  # 1 MB
    points = np.random.default_rng(2).normal(size=(200, 3))

    def read():
        meshes._load.cache_clear()
        return load_obstacle_mesh(path, (1.0, 1.0, 1.0), None, 0.005).surface.distances(points)[0]

    first = read()
    (kept,) = (tmp_path / 'cache').rglob('*.npz')
    monkeypatch.setattr(meshes, '_read', None)  # it is not read again
    np.testing.assert_array_equal(read(), first)
    monkeypatch.undo()
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    with np.load(io.BytesIO(read_cached(kept))) as content:
        arrays = dict(content)

    def keep(name, array):
        out = io.BytesIO()
        np.savez(out, **{**arrays, name: array})
        write_cached(kept, out.getvalue())

    huge = np.where(np.arange(len(arrays['links']))[:, None] % 2, 2**62, arrays['links'])
    for name, array in (
        ('links', arrays['links'] + 10**6),
        ('links', huge),  # its sums overflow
        ('links', arrays['links'].astype(float)),
        ('faces', arrays['faces'] - 10**6),
        ('faces', arrays['faces'][:, :2]),
        ('neighbours', arrays['neighbours'] + 10**6),
        ('nodes', arrays['nodes'] * np.nan),
        ('vertices', arrays['vertices'] * np.nan),
        ('vertex_normals', arrays['vertex_normals'].astype(str)),
        ('thickness', np.array([1.0, np.nan])),
        ('center', np.zeros(2)),
        ('center', np.full(3, np.nan)),
    ):
        keep(name, array)
        np.testing.assert_array_equal(read(), first)


def test_a_coarser_mesh_to_draw_has_few_triangles_and_the_same_box():
    surface, _ = surface_of(trimesh.creation.icosphere(5, 2.0))
    drawn = coarsen_surface(surface, 3000)
    assert 300 < len(drawn) <= 3000
    assert np.abs(np.linalg.norm(drawn.reshape(-1, 3), axis=1) - 2.0).max() < 0.1
    assert len(coarsen_surface(surface, 10**6)) == len(surface.faces)


@pytest.mark.parametrize(
    ('name', 'most'),
    [('wreck', 40_000), ('jetty', 80_000), ('pipeline', 50_000), ('wellhead', 50_000)],
)
def test_shipped_scenes_are_closed_and_stand_on_the_ground(name, most):
    (obstacle,) = (scene := load_environment(name).scene).obstacles
    assert obstacle.mesh.closed
    assert 20_000 < len(obstacle.mesh.faces) < most
    places = obstacle.mesh.vertices @ rotation_matrix(obstacle.orientation).T + obstacle.position
    ground = [scene.ground(x, y) for x, y, _ in places[::50]]
    above = places[::50, 2] - ground
    assert -3.5 < above.min() < 0.0


def test_the_net_pen_is_touched_on_its_wall_but_not_in_its_tear():
    net, *others = load_environment('net_pen').scene.obstacles
    assert all(obstacle.mesh.closed for obstacle in (net, *others))
    assert net.collision.closed
    assert len(net.mesh.faces) < 60_000
    places = np.array([[5.005, 0.2, -4.2], [5.005, 0.2, -7.3], [20.995, 0.2, -4.2]])
    tear, below, behind = net.collision.distances(places - net.position)[0]
    assert tear == pytest.approx(np.hypot(0.2, 0.2), abs=0.02)  # to the corner of a square
    assert max(below, behind) < 0.0


# ---- marine growth ---------------------------------------------------------------------------


def test_growth_covers_a_ball_with_a_relief(tmp_path):
    path = written(tmp_path, trimesh.creation.icosphere(2), 'ball.ply')

    def load(*growth):
        return load_obstacle_mesh(path, (1.0, 1.0, 1.0), None, 0.005, None, *growth).surface

    plain, grown = load(), load(Growth(0.05, 0.5, 5, 1))
    assert grown.closed
    assert len(grown.faces) == 25 * len(plain.faces)
    assert len(grown.vertices) - len(grown.faces) // 2 == 2  # Euler's number: nothing is torn
    thickness = plain.distances(grown.vertices)[0]
    assert -1e-7 < thickness.min() < 0.01
    assert 0.04 < thickness.max() < 0.05 + 1e-7  # rounded to 1e-7 m
    assert thickness.std() > 0.008
    ends = grown.vertices[grown.faces]
    slope = np.abs(np.diff(plain.distances(ends)[0], axis=1)) / np.linalg.norm(
        np.diff(ends, axis=1), axis=2
    )
    assert slope.max() < 2.5  # no steeper than its waves: three octaves of one slope each
    assert not np.array_equal(load(Growth(0.05, 0.5, 5, 2)).vertices, grown.vertices)
    meshes._load.cache_clear()
    again = load(Growth(0.05, 0.5, 5, 1))  # of the cache
    np.testing.assert_array_equal(again.vertices, grown.vertices)
    np.testing.assert_array_equal(again.faces, grown.faces)


def test_growth_leaves_sharp_edges_whole_and_moves_a_sheet(tmp_path):
    growth = Growth(0.02, 0.3, 8, 0)
    for mesh, closed in ((trimesh.creation.box(SIZE), True), (trimesh.creation.box(SIZE), False)):
        if not closed:
            mesh.update_faces(np.arange(12) > 1)
        path = written(tmp_path, mesh, f'box_{closed}.stl')
        grown = load_obstacle_mesh(path, (1.0, 1.0, 1.0), None, 0.005, None, growth).surface
        assert grown.closed is closed
        assert len(grown.faces) == 64 * len(mesh.faces)
        beyond = np.max(np.abs(grown.vertices) - SIZE / 2, axis=1)
        assert -1e-7 < beyond.min() < 0.005
        assert 0.01 < beyond.max() < 0.02 + 1e-9


def test_growth_of_too_many_triangles_is_refused():
    text = (FOLDER / 'overgrown_wreck.yaml').read_text(encoding='utf-8')
    text = text.replace('file: meshes', f'file: {FOLDER}/meshes')
    for wrong, reason in (
        ('parts: 13', r'wreck.glb: the mesh has \d+ triangles with its growth; expected at most'),
        ('parts: 0', r'obstacles\[0\].growth.parts'),
        ('part: 6', r"obstacles\[0\].growth: unknown key 'part'"),
    ):
        with pytest.raises(ParameterError, match=reason):
            parse_environment(text.replace('parts: 6', wrong), 'wreck.yaml')


def test_the_overgrown_wreck_has_a_million_triangles_and_the_ranges_of_embree():
    pytest.importorskip('embreex')
    (obstacle,) = load_environment('overgrown_wreck').scene.obstacles
    surface = obstacle.mesh
    assert surface.closed
    assert len(surface.faces) > 1_000_000
    mesh = trimesh.Trimesh(surface.vertices, surface.faces, process=False)
    rng = np.random.default_rng(3)
    origins = np.repeat([[0.0, -9.0, 2.0], [12.0, 5.0, 4.0], [-14.0, 2.0, 1.0]], 2000, axis=0)
    rays = rng.uniform(-0.5, 0.5, (6000, 3)) * obstacle.size - origins
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    places, number, _ = mesh.ray.intersects_location(origins, rays, multiple_hits=False)
    expected = np.full(6000, np.inf)
    expected[number] = np.linalg.norm(places - origins[number], axis=1)
    distance, _ = surface.first_hits(origins, rays, np.full(6000, 50.0))
    assert np.isfinite(expected).sum() > 3000
    np.testing.assert_allclose(distance, expected, rtol=0, atol=1e-3)


# ---- contact ---------------------------------------------------------------------------------

LANDS = """
duration: {seconds}
initial: {{position: {place}, rpy: [0.1, 0.05, 0.3]}}
segments:
  - {{at: 0.0, axes: {{heave: -0.7, surge: 0.1}}}}
"""


def around(obstacle):
    environment = load_environment('pool')
    scene = replace(environment.scene, obstacles=(obstacle,))
    return replace(environment, scene=scene)


def lands(place=(0.5, 0.2, -2.6), seconds=2.0):
    return parse_scenario(LANDS.format(place=[float(x) for x in place], seconds=seconds), 'lands')


BLOCK_PLACE, BLOCK_TURN = np.array([0.3, 0.1, -3.2]), quaternion_from_rpy(0.1, 0.05, 0.3)


def test_a_vehicle_lands_on_a_box_of_triangles_as_on_a_box():
    vehicle = vehicle_of('bluerov2')
    ways = {}
    for name, obstacle in {
        'box': Obstacle('part', 'box', SIZE, BLOCK_PLACE, BLOCK_TURN, 'steel'),
        'mesh': obstacle_of(trimesh.creation.box(SIZE), BLOCK_PLACE, BLOCK_TURN),
    }.items():
        ways[name] = simulate(vehicle, lands(), environment=around(obstacle), dt=0.01)
        assert np.any(ways[name].sources['contact'] != 0, axis=1).sum() > 50
    np.testing.assert_allclose(ways['mesh'].position, ways['box'].position, rtol=0, atol=1e-9)


@pytest.mark.parametrize('kind', ['closed', 'open'])
def test_compiled_programs_call_the_queries_of_a_mesh_as_machine_code(kind):
    """One set of points, and a batch of them; within a distance that some points exceed."""
    jax = pytest.importorskip('jax')
    from marine_sim_ros.engine.availability import double_precision

    mesh = blob(3, 1)[0]
    if kind == 'open':
        mesh.update_faces(mesh.triangles_center[:, 2] > mesh.centroid[2])
    obstacle, bodies = obstacle_of(mesh, thickness=0.05), vehicle_of('bluerov2').contact
    scene = Scene((), None, (obstacle,))
    assert obstacle.mesh.closed == (kind == 'closed')
    rng = np.random.default_rng(2)
    points = PLACE + rng.uniform(-1.5, 1.5, (6, 20, 3))
    places = PLACE + rng.uniform(-0.7, 0.7, (6, 3))

    def query(points, place):
        near = 0.4 + 0.0 * place[0]
        edges = _nearest_edges(obstacle, bodies.solids, place, np.eye(3) + 0.0 * place[0], near)
        return scene.surfaces(points, near), edges

    expected = [query(*each) for each in zip(points, places, strict=True)]
    assert any((edges[0] >= 0).any() for _, edges in expected)
    with double_precision():
        single, batch = jax.jit(query), jax.jit(jax.vmap(query))
        assert 'callback' not in single.lower(points[0], places[0]).as_text()
        alone = [single(*each) for each in zip(points, places, strict=True)]
        together = batch(points, places)
    for i, arrays in enumerate(map(jax.tree.leaves, expected)):
        member = [np.asarray(x)[i] for x in jax.tree.leaves(together)]
        for found in (jax.tree.leaves(alone[i]), member):
            for one, other in zip(found, arrays, strict=True):
                np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.long
def test_a_vehicle_tips_over_a_rail_in_both_engines():
    pytest.importorskip('jax')
    from marine_sim_ros.engine.compiled import simulate_compiled

    vehicle = vehicle_of('bluerov2')
    rail = trimesh.creation.cylinder(0.03, 3.0, sections=24)  # between the vehicle's points
    turn = quaternion_from_rpy(0.5 * np.pi, 0.05, 0.3)
    ways = {}
    for name, obstacle in {
        'mesh': obstacle_of(rail, BLOCK_PLACE, turn),
        'cylinder': Obstacle('part', 'cylinder', [0.06, 0.06, 3.0], BLOCK_PLACE, turn, 'steel'),
    }.items():
        ways[name] = simulate(vehicle, lands(), environment=around(obstacle))
    expected = ways['mesh']
    assert np.any(expected.sources['contact'] != 0, axis=1).sum() > 50
    assert np.abs(expected.position - ways['cylinder'].position).max() < 0.01
    environment = around(obstacle_of(rail, BLOCK_PLACE, turn))
    found, _ = simulate_compiled(vehicle, lands(), environment=environment)
    np.testing.assert_allclose(found.position, expected.position, rtol=0, atol=1e-9)


def test_a_vehicle_rests_on_a_sheet_from_either_side():
    vehicle = vehicle_of('bluerov2')
    sheet = trimesh.Trimesh(
        [[-2, -2, 0], [2, -2, 0], [2, 2, 0], [-2, 2, 0]], [[0, 1, 2], [0, 2, 3]]
    )
    for turned in (0.0, np.pi):
        obstacle = obstacle_of(sheet, np.array([0, 0, -3.0]), quaternion_from_rpy(turned, 0, 0))
        run = simulate(vehicle, lands(seconds=3.0), environment=around(obstacle))
        low = min(
            (vehicle.contact.position @ rotation_matrix(q).T)[:, 2].min() + p[2]
            for p, q in zip(run.position, run.orientation, strict=True)
        )
        assert low == pytest.approx(-2.9975, abs=1e-3)


def test_jets_and_tethers_feel_triangles_as_they_feel_a_box():
    from marine_sim_ros.physics.boundary import boundary_forces
    from marine_sim_ros.physics.cable_forces import surface_gaps

    vehicle = vehicle_of('bluerov2')
    state = State(np.array([0.3, 0.1, -2.7]), np.array([0, 0, 0, 1.0]), np.zeros(6))
    thrust = np.linspace(-30.0, 30.0, 6)
    nodes = BLOCK_PLACE + np.random.default_rng(3).uniform(-1.3, 1.3, (30, 3))
    found = {}
    for name, obstacle in {
        'box': Obstacle('part', 'box', SIZE, BLOCK_PLACE, BLOCK_TURN, 'steel'),
        'mesh': obstacle_of(trimesh.creation.box(SIZE), BLOCK_PLACE, BLOCK_TURN),
    }.items():
        scene = Scene((), None, (obstacle,))
        around_it = replace(load_environment('pool'), scene=scene)
        forces = boundary_forces(vehicle, state, around_it, thrust)
        gap, normal = surface_gaps(around_it, nodes, 0.01)
        near = gap < 0.5
        found[name] = forces, gap[near], normal[0][near[0]]
    assert np.abs(found['box'][0]).max() > 0.05
    assert len(found['box'][1]) > 5
    for one, other in zip(*found.values(), strict=True):
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-9)


def test_bent_edges_count_and_flat_ones_do_not():
    box, _ = surface_of(trimesh.creation.box(SIZE).subdivide().subdivide())
    normals = np.concatenate([np.eye(3), -np.eye(3)])[None]
    numbers, ends = box.nearest_edges(500, normals, np.full((1, 6), 2.0), 0.1)
    found = ends[numbers >= 0]
    assert len(found) == 12 * 4
    on_edge = np.sum(np.isclose(np.abs(found), SIZE / 2), axis=-1) >= 2
    assert np.all(on_edge)


def no_deeper(vehicle, run, scene, depth):
    """Check that no contact point of a vehicle got deeper into something than a depth, m."""
    for position, orientation in zip(run.position, run.orientation, strict=True):
        state = State(position, orientation, np.zeros(6))
        places = vehicle.contact.position @ rotation_matrix(orientation).T + state.position
        distance, _ = scene.surfaces(places)
        assert distance.min() > -depth


@settings(max_examples=examples(500) // 20, deadline=None)  # a run each
@given(st.integers(0, 2**31))
def test_no_vehicle_gets_into_random_bodies(seed):
    rng = np.random.default_rng(seed)
    vehicle = vehicle_of('simple_rov')
    mesh = trimesh.util.concatenate(blob(seed, int(rng.integers(1, 5))))
    if rng.random() < 0.3:  # open
        mesh.update_faces(rng.random(len(mesh.faces)) > 0.02)
    if rng.random() < 0.3:  # with triangles that are lines
        mesh.faces = np.concatenate([mesh.faces, mesh.faces[:5][:, [0, 1, 1]]])
    environment = around(obstacle_of(mesh, np.array([0, 0, -3.5]), TURN))
    top = environment.scene.obstacles[0]
    start = top.position + rotation_matrix(top.orientation) @ top.mesh.vertices.max(axis=0) + 0.6
    start[2] = min(start[2], -0.6)
    distance, _ = environment.scene.surfaces(start[None])
    if distance.min() < 0.6:
        return
    run = simulate(vehicle, lands(start, 1.0), environment=environment)
    assert np.all(np.isfinite(run.position))
    no_deeper(vehicle, run, environment.scene, 0.02)


def test_contacts_have_numbers_of_their_own():
    vehicle = vehicle_of('bluerov2')
    parts = [trimesh.creation.box([0.05, 3.0, 0.05]) for _ in range(2)]
    obstacles = [
        replace(
            obstacle_of(part, np.array([x, 0.0, -3.0]), quaternion_from_rpy(0, 0, 0)), name=f'{x}'
        )
        for part, x in zip(parts, (-0.1, 0.1), strict=True)
    ]
    environment = load_environment('pool')
    environment = replace(
        environment, scene=replace(environment.scene, obstacles=tuple(obstacles))
    )
    low = vehicle.contact.position[:, 2].min()
    state = State(np.array([0.0, 0.0, -2.975 - low]), np.array([0, 0, 0, 1.0]), np.zeros(6))
    touch, numbers = contacts_within(vehicle, state, environment, 0.01)
    assert len(numbers) >= 8
    assert len(set(numbers.tolist())) == len(numbers)
    assert np.abs(touch.gap).max() < 0.01


# ---- pictures --------------------------------------------------------------------------------


@pytest.mark.usefixtures('renderer')
@pytest.mark.parametrize('closed', [True, False], ids=['closed', 'sheet'])
def test_a_camera_sees_a_mesh_where_rays_meet_it(closed):
    from marine_sim_ros.environment.environment import Environment
    from marine_sim_ros.environment.rays import first_hits
    from marine_sim_ros.sensors.camera.lenses import Lamp, Lens, View
    from marine_sim_ros.sensors.camera.rendering import render
    from marine_sim_ros.sensors.seen_bodies import OBSTACLE, label

    mesh = trimesh.util.concatenate(blob(7))
    if not closed:
        mesh.update_faces(np.arange(len(mesh.faces)) % 50 > 0)
    obstacle = obstacle_of(mesh, np.array([0.0, 0.0, -60.0]))
    environment = Environment(scene=Scene((), None, (obstacle,)))
    eye = np.array([0.0, -6.0, -60.0])
    turn = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
    lens = Lens(96, 72, 1.2)
    view = View(eye, turn, 1.0, Lamp(0.0, np.zeros(3), 0.5), 0.0, eye, np.array([0, 0, 0, 1.0]))
    seen = render(lens, 1, environment, view)
    pixels = np.stack(np.meshgrid(np.arange(96.0), np.arange(72.0)), axis=-1)
    rays = lens.directions(pixels) @ turn.T
    hits = first_hits(environment, np.broadcast_to(eye, rays.shape), rays, 50.0)
    expected = hits.distance * (rays @ turn[:, 2])
    both = np.isfinite(expected) & (seen.depth < 50)
    assert both.sum() > 500
    assert np.mean(np.isfinite(expected) != (seen.depth < 50)) < 0.01
    assert np.quantile(np.abs(expected[both] - seen.depth[both]), 0.99) < 1e-3
    assert np.all(seen.labels[both] == label(OBSTACLE, 0))


def test_a_page_and_a_world_file_have_the_mesh():
    import base64

    from marine_sim_ros.console.visuals import scene_visuals
    from marine_sim_ros.environment.environment import Environment
    from marine_sim_ros.sdf.world import sdf_world

    obstacle = obstacle_of(trimesh.creation.box(SIZE))
    environment = Environment(scene=Scene((), None, (obstacle,)))
    (drawn,) = scene_visuals(environment)['obstacles']
    corners = np.frombuffer(base64.b64decode(drawn['corners']), '<f4').reshape(-1, 3, 3)
    assert len(corners) == 12
    np.testing.assert_allclose(np.abs(corners), np.broadcast_to(SIZE / 2, corners.shape))
    world = sdf_world('w', environment)
    assert world.text.count('<uri>meshes/part.obj</uri>') == 2
    lines = world.meshes['meshes/part.obj'].splitlines()
    vertices = np.array([line.split()[1:] for line in lines if line.startswith('v ')], float)
    np.testing.assert_allclose(np.abs(vertices), np.broadcast_to(SIZE / 2, vertices.shape))
    assert sum(line.startswith('vn ') for line in lines) == len(vertices)
    assert sum(line.startswith('f ') for line in lines) == 12


@pytest.mark.ros
def test_a_marker_has_the_triangles_and_those_that_face_up_are_lighter():
    from marine_sim_ros.ros.markers import scene_markers

    obstacle = obstacle_of(trimesh.creation.box(SIZE), turn=quaternion_from_rpy(0, 0, 0.4))
    (marker,) = scene_markers(Scene((), None, (obstacle,)), 0).markers
    points = np.array([[p.x, p.y, p.z] for p in marker.points]).reshape(-1, 3, 3)
    np.testing.assert_allclose(np.abs(points), np.broadcast_to(SIZE / 2, points.shape))
    light = np.array([c.g for c in marker.colors]).reshape(-1, 3)[:, 0]
    up = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])[:, 2]
    assert light[up > 0].min() > light[up == 0].max() > light[up < 0].max()
    assert (marker.scale.x, marker.scale.y, marker.scale.z) == (1.0, 1.0, 1.0)


def test_compilation_is_reported_once_and_not_where_the_cache_has_the_kernel(
    monkeypatch, tmp_path
):
    from marine_sim_ros.geometry import bvh_kernels

    links, reports = np.array([[2, 0], [0, 1], [1, 1]]), []
    monkeypatch.setattr(numba.config, 'CACHE_DIR', str(tmp_path))
    for _ in range(2):  # compiled, and read from the cache
        monkeypatch.setattr(bvh_kernels._COMPILATION, 'report', reports.append)
        kernel = bvh_kernels.compile_kernel(bvh_kernels.build_skip_links.py_func)
        assert kernel(links).tolist() == [3, 2, 3]
        assert len(reports) == 1, reports
    assert 'compiling the kernels of contact' in reports[0]
    assert f'once per installation, in {tmp_path}' in reports[0]
    monkeypatch.setattr(bvh_kernels._COMPILATION, 'report', reports.append)
    uncached = numba.njit(bvh_kernels.build_skip_links.py_func)
    uncached(links)
    assert len(reports) == 2
    assert 'at each start, as no folder can be written' in reports[1]
