# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rays against an independent caster, closed forms, and finely stepped marches."""

import numpy as np
import pytest

from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.environment.currents_and_waves import Waves, regular_waves
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.rays import first_hits, hit_materials
from marine_sim_ros.scene.obstacles import Obstacle, Plane
from marine_sim_ros.scene.rays import cast_rays
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.scene.terrain import HeightMap, generate

RNG = np.random.default_rng(17)
TURN = quaternion_from_rpy(0.3, -0.5, 1.1)
BOX = Obstacle('box', 'box', [1.0, 2.0, 3.0], [3.0, -3.0, -5.0], TURN, 'steel')
TUBE = Obstacle('tube', 'cylinder', [1.0, 1.0, 3.0], [-3.0, 3.0, -5.0], TURN, 'steel')
BALL = Obstacle('ball', 'sphere', [2.0, 2.0, 2.0], [-3.0, -3.0, -5.0], material='rubber')
X, Y = np.meshgrid(np.arange(41) * 0.5, np.arange(37) * 0.5)
FOLDS = HeightMap([-10.0, -9.0], 0.5, -8 + np.sin(0.9 * X) + 0.8 * np.cos(1.3 * Y), 'sand')
"""Its cells are flat, because its height is a function of x plus one of y."""
ROCK = generate(
    'rock', depth=12.0, relief=9.0, size=(60.0, 40.0), spacing=0.5, seed=3, material='rock'
)
ALL = Scene(
    (
        Plane('slope', [0.0, 0.0, -9.5], [-1.0, 0.0, 5.0], 'rock'),
        Plane('wall', [8.0, 0.0, 0.0], [-1.0, 0.0, 0.0], 'concrete'),
    ),
    FOLDS,
    (BALL, BOX, TUBE),
)


def test_rays_from_beyond_all_numbers_meet_nothing_and_warn_of_nothing():
    with np.errstate(all='raise'):
        for far in (1e160, 1e308):
            hits = cast_rays(Scene((), None, ALL.obstacles), [far, far, far], directions(8), 50.0)
            assert np.all(np.isinf(hits.distance) & (hits.surface == -1))


def directions(count):
    d = RNG.normal(size=(count, 3))
    return d / np.linalg.norm(d, axis=-1, keepdims=True)


def mesh_of(terrain):
    trimesh = pytest.importorskip('trimesh')
    rows, columns = terrain.heights.shape
    x, y = np.meshgrid(np.arange(columns), np.arange(rows))
    corner = np.stack([x, y], axis=-1) * terrain.spacing + terrain.origin
    vertices = np.concatenate([corner, terrain.heights[..., None]], axis=-1).reshape(-1, 3)
    first = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).reshape(1, -1, 1)
    halves = np.array([[0, 1, columns + 1], [0, columns + 1, columns]])
    faces = (first + halves[:, None, :]).reshape(-1, 3)
    return trimesh.Trimesh(vertices, faces, process=False)


def meshes():
    """Return triangles of everything in ALL, by name."""
    creation = pytest.importorskip('trimesh').creation
    result = {'terrain': mesh_of(FOLDS)}
    for obstacle, mesh in (
        (BOX, creation.box(BOX.size)),
        (TUBE, creation.cylinder(TUBE.size[0] / 2, TUBE.size[2], sections=500)),
        (BALL, creation.icosphere(5, BALL.size[0] / 2)),
    ):
        transform = np.eye(4)
        transform[:3, :3] = rotation_matrix(obstacle.orientation)
        transform[:3, 3] = obstacle.position
        mesh.apply_transform(transform)
        result[obstacle.name] = mesh
    for plane in ALL.planes:
        side = np.cross(plane.normal, [0.0, 1.0, 0.0])
        other = np.cross(plane.normal, side)
        corners = [
            plane.point + 500 * (s * side + t * other)
            for s, t in ((-1, -1), (1, -1), (1, 1), (-1, 1))
        ]
        result[plane.name] = pytest.importorskip('trimesh').Trimesh(
            corners, [[0, 1, 2], [0, 2, 3]], process=False
        )
    return result


def test_rays_meet_what_embree_meets():
    pytest.importorskip('embreex')
    from trimesh.ray.ray_pyembree import RayMeshIntersector

    origins = RNG.uniform([-9, -8, -5], [7, 9, -1], (6000, 3))
    outside = ALL.surfaces(origins[:, None, :])[0].min(axis=(-2, -1)) > 0.01
    rays = directions(6000)
    chosen = outside & (rays[:, 2] < 0)
    origins, rays = origins[chosen], rays[chosen]
    nearest, named = np.full(len(origins), np.inf), np.full(len(origins), -1)
    for name, mesh in meshes().items():
        points, index, _ = RayMeshIntersector(mesh).intersects_location(
            origins, rays, multiple_hits=False
        )
        distance = np.linalg.norm(points - origins[index], axis=-1)
        # Beyond its edges the terrain goes on; the mesh does not.
        nearer = distance < np.minimum(nearest[index], 30.0)
        nearest[index[nearer]] = distance[nearer]
        named[index[nearer]] = ALL.names.index(name)
    hits = cast_rays(ALL, origins, rays, 30.0)
    ends = origins + np.minimum(hits.distance, 1e3)[:, None] * rays
    within = np.abs(ends[:, :2]).max(axis=1) < 9
    same = (hits.surface == named) & within
    assert same.sum() > 1500
    # Embree works in single precision, and round bodies are many flat sides: across the surface
    # they are that near, along a ray that grazes it they are not.
    cosine = np.abs(np.sum(hits.normal * rays, axis=-1))[same]
    assert (cosine * np.abs(hits.distance[same] - nearest[same])).max() < 2e-3
    flat = same & np.isin(named, [ALL.names.index(n) for n in ('slope', 'wall', 'terrain', 'box')])
    assert hits.distance[flat] == pytest.approx(nearest[flat], abs=3e-5)
    # Where they differ, a ray passes an edge or a corner that one of them has rounded.
    assert np.mean(hits.surface[within] != named[within]) < 2e-3


def test_hits_are_on_the_surface_and_face_the_ray():
    origins = np.array([0.0, 0.0, -2.0])
    rays = directions(3000)
    hits = cast_rays(ALL, origins, rays, 40.0)
    met = hits.surface >= 0
    assert set(np.unique(hits.surface)) == {-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0}
    points = origins + hits.distance[met, None] * rays[met]
    distance, normal = ALL.surfaces(points[:, None, :])
    own = hits.surface[met].astype(int)
    rows = np.arange(len(own))
    assert np.abs(distance[rows, own, 0]).max() < 1e-12
    assert np.abs(normal[rows, own, 0] - hits.normal[met]).max() < 1e-6
    assert np.sum(hits.normal[met] * rays[met], axis=-1).max() < 0
    assert np.all(np.isinf(hits.distance[~met]))
    assert np.all(hits.normal[~met] == 0)


def test_a_wall_with_a_rim_is_a_block_that_goes_on_behind_it():
    wall = Plane('wall', [3.0, 0.0, 0.0], [-1.0, 0.0, 0.0], rim=0.3)
    block = Obstacle('block', 'box', [400.0, 800.0, 400.0], [203.0, 0.0, 0.3 - 200.0])
    d = directions(3000)
    for place in ([0.0, 0.0, -1.0], [0.0, 1.0, 2.0], [5.0, 0.0, 1.0], [4.0, 0.0, -1.0]):
        found, expected = (
            cast_rays(scene, np.array(place), d, 100.0)
            for scene in (Scene((wall,)), Scene(obstacles=(block,)))
        )
        assert found.distance == pytest.approx(expected.distance, abs=1e-9)
        met = np.isfinite(found.distance) & (found.distance > 0)
        assert np.array_equal(np.isfinite(found.distance), np.isfinite(expected.distance))
        assert found.normal[met] == pytest.approx(expected.normal[met], abs=1e-9)
        over = np.isclose(found.normal[met][:, 2], 1.0)
        assert np.any(over) == (place[2] > 0.3)
    assert np.any(
        np.isinf(cast_rays(Scene((wall,)), np.zeros(3), d[d[:, 0] > 0.1], 100.0).distance)
    )


def test_no_ray_passes_a_rough_terrain():
    """On a bilinear terrain, beside its height at closely spaced points along each ray."""
    scene = Scene((), ROCK)
    origins = RNG.uniform([-45, -35, -9], [45, 35, -2], (400, 3))
    rays = directions(400) * [1, 1, 0.3]
    rays /= np.linalg.norm(rays, axis=-1, keepdims=True)
    hits = cast_rays(scene, origins, rays, 40.0)
    met = np.isfinite(hits.distance) & (hits.distance > 0)
    ends = (origins + hits.distance[:, None] * rays)[met]
    assert ROCK.height(ends[:, 0], ends[:, 1]) == pytest.approx(ends[:, 2], abs=1e-9)
    steps = np.arange(0, 40, 2e-3)
    for origin, ray, found in zip(origins, rays, hits.distance, strict=True):
        points = origin + steps[steps < found][:, None] * ray
        assert np.all(points[:, 2] > ROCK.height(points[:, 0], points[:, 1]) - 1e-9)
    assert 0.2 < met.mean() < 0.9


@pytest.mark.parametrize('axis', [0, 1])
def test_rays_along_the_lines_of_a_grid(axis):
    step = HeightMap([0.0, 0.0], 1.0, np.where(np.indices((9, 9))[1 - axis] >= 5, -1.0, -3.0))
    ray = np.eye(3)[axis]
    for across in (2.0, 2.5):
        origin = np.full(3, across)
        origin[axis], origin[2] = -7.0, -2.0
        hits = cast_rays(Scene((), step), origin, ray, 50.0)
        assert hits.distance == pytest.approx(7.0 + 4.5, abs=1e-12)
        back = cast_rays(Scene((), step), origin + 30 * ray + [0, 0, 1.5], -ray, 50.0)
        assert np.isinf(back.distance)


def test_beyond_its_edges_a_terrain_goes_on_as_at_them():
    origins = np.array([[200.0, 1.0, -2.0], [-150.0, 400.0, -2.0], [3.0, -90.0, -2.0]])
    hits = cast_rays(Scene((), FOLDS), origins, np.array([0.0, 0.0, -1.0]), 50.0)
    assert origins[:, 2] - hits.distance == pytest.approx(FOLDS.height(*origins[:, :2].T))
    slanted = cast_rays(
        Scene((), FOLDS), np.array([60.0, 1.0, -2.0]), np.array([0.6, 0.0, -0.8]), 50.0
    )
    height = float(FOLDS.height(np.array(60.0), np.array(1.0)))
    assert slanted.distance == pytest.approx((-2.0 - height) / 0.8, abs=1e-12)


def test_a_ray_from_within_ends_at_once_and_none_goes_beyond_the_maximum():
    assert cast_rays(ALL, BOX.position, np.array([0.0, 0.0, 1.0]), 9.0).distance == 0
    assert (
        cast_rays(ALL, np.array([0.0, 0.0, -20.0]), np.array([0.0, 0.0, 1.0]), 9.0).distance == 0
    )
    down = np.array([0.0, 0.0, -1.0])
    depth = cast_rays(ALL, np.array([0.0, 0.0, -2.0]), down, 50.0).distance
    for maximum, expected in ((depth + 1e-6, depth), (depth - 1e-6, np.inf)):
        assert cast_rays(ALL, np.array([0.0, 0.0, -2.0]), down, maximum).distance == expected
    assert np.isinf(cast_rays(Scene(), np.zeros(3), down, 9.0).distance)


def test_shapes_broadcast():
    origins = np.array([[0.0, 0.0, -2.0], [1.0, 1.0, -3.0]])[:, None, :]
    rays = directions(5)
    together = cast_rays(ALL, origins, rays, 30.0)
    assert together.distance.shape == (2, 5)
    assert together.normal.shape == (2, 5, 3)
    for i in range(2):
        for j in range(5):
            one = cast_rays(ALL, origins[i, 0], rays[j], 30.0)
            assert one.distance == together.distance[i, j]
            assert one.surface == together.surface[i, j]


def test_other_array_libraries():
    xp = pytest.importorskip('array_api_strict')
    origins, rays = np.array([[0.0, 0.0, -2.0]]), directions(60)
    environment = Environment(scene=ALL, waves=regular_waves(0.6, 4.0))
    plain = first_hits(environment, origins, rays, 30.0)
    found = first_hits(environment, xp.asarray(origins), xp.asarray(rays), 30.0)
    for a, b in zip(found, plain, strict=True):
        assert np.asarray(a) == pytest.approx(b, abs=1e-9)


def test_compiled():
    jax = pytest.importorskip('jax')
    from marine_sim_ros.engine.availability import precision

    origins, rays = np.array([0.0, 0.0, -2.0]), directions(200)
    environment = Environment(
        scene=Scene(ALL.planes, ROCK, ALL.obstacles), waves=regular_waves(0.6, 4.0)
    )
    plain = first_hits(environment, origins, rays, 30.0)
    with precision('float64'):
        traced = jax.jit(lambda o, d: first_hits(environment, o, d, 30.0))(origins, rays)
    for a, b in zip(traced, plain, strict=True):
        assert np.asarray(a) == pytest.approx(b, abs=1e-9)


def test_the_surface_of_still_water_is_met_from_below():
    rays = np.array([[0.0, 0.0, 1.0], [0.6, 0.0, 0.8], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
    hits = first_hits(Environment(), np.array([5.0, 6.0, -4.0]), rays, 100.0)
    assert hits.distance == pytest.approx([4.0, 5.0, np.inf, np.inf])
    assert hits.normal[:2] == pytest.approx(np.array([[0.0, 0.0, -1.0]] * 2))
    assert hit_materials(Environment())[int(hits.surface[0])] == 'water_surface'
    assert hit_materials(Environment())[int(hits.surface[2])] == ''
    above = first_hits(Environment(), np.array([0.0, 0.0, 1.0]), rays, 100.0)
    assert np.all(above.distance == 0)


def test_the_first_crossing_of_waves():
    waves = Waves(
        np.array([0.4, 0.3, 0.1]),
        np.array([1.2, 2.0, 3.5]),
        np.array([0.2, -0.9, 2.0]),
        np.array([0.3, 1.7, 4.0]),
    )
    environment = Environment(waves=waves, time=7.3)
    origins = RNG.uniform([-20, -20, -6], [20, 20, -1], (200, 3))
    rays = directions(200) * [1, 1, 0.4]
    rays /= np.linalg.norm(rays, axis=-1, keepdims=True)
    hits = first_hits(environment, origins, rays, 40.0)
    steps = np.arange(0, 40, 2e-3)
    points = origins[:, None, :] + steps[:, None] * rays[:, None, :]
    out = points[..., 2] >= waves.elevation(points, 7.3)
    expected = np.where(out.any(axis=1), steps[out.argmax(axis=1)], np.inf)
    assert np.isfinite(expected).sum() > 50
    both = np.isfinite(expected) & np.isfinite(hits.distance)
    assert np.mean(np.isfinite(expected) == np.isfinite(hits.distance)) > 0.99
    apart = np.abs(expected[both] - hits.distance[both])
    assert apart.max() < 0.02
    assert np.median(apart) < 2e-3
    met = origins[both] + hits.distance[both, None] * rays[both]
    assert np.abs(met[:, 2] - waves.elevation(met, 7.3)).max() < 1e-3
    moved = [
        (waves.elevation(met + step, 7.3) - waves.elevation(met - step, 7.3)) / 2e-4
        for step in (np.array([1e-4, 0, 0]), np.array([0, 1e-4, 0]))
    ]
    down = np.stack([*moved, -np.ones(len(met))], axis=-1)
    down /= np.linalg.norm(down, axis=-1, keepdims=True)
    assert hits.normal[both] == pytest.approx(down, abs=1e-6)
