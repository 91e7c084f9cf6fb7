# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes: distances and normals against closed forms, terrains from a seed, files."""

import hashlib
import math
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marine_sim_ros.core.errors import MarineSimError, ParameterError
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.environment.reader import load_environment, parse_environment
from marine_sim_ros.scene.bathymetry import grid_soundings, read_grid
from marine_sim_ros.scene.drawing import coarsen_terrain, plane_lines, plane_outline
from marine_sim_ros.scene.obstacles import Obstacle, Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.scene.terrain import GENERATORS, HeightMap, generate
from marine_sim_ros.sim.run_setup import start_warnings
from marine_sim_ros.tools.main import main

RNG = np.random.default_rng(11)
TURN = quaternion_from_rpy(0.3, -0.5, 1.1)
BOX = Obstacle('box', 'box', [1.0, 2.0, 3.0], [1.0, -1.0, -2.0], TURN, 'steel')
CYLINDER = Obstacle('tube', 'cylinder', [1.0, 1.0, 3.0], [1.0, -1.0, -2.0], TURN, 'steel')
SPHERE = Obstacle('ball', 'sphere', [2.0, 2.0, 2.0], [0.5, 0.5, -1.0], material='rubber')
HILLS = HeightMap([-4.0, -3.0], 0.5, RNG.normal(-4, 0.3, (13, 20)), 'sand')
SLOPE = Plane('slope', [0.0, 0.0, -5.0], [-1.0, 0.0, 2.0], 'rock')
ALL = Scene((SLOPE, Plane('wall', [4.0, 0, 0], [-1, 0, 0])), HILLS, (SPHERE, BOX, CYLINDER))


def gradient(scene, points, step=1e-6):
    moves = step * np.eye(3)
    return np.stack(
        [(scene.surfaces(points + m)[0] - scene.surfaces(points - m)[0]) / (2 * step)
         for m in moves], axis=-1,
    )  # fmt: skip


def test_surfaces_come_in_order_with_names_and_materials():
    assert ALL.names == ('slope', 'wall', 'terrain', 'box', 'tube', 'ball')
    assert ALL.materials == ('rock', 'default', 'sand', 'steel', 'steel', 'rubber')
    points = RNG.uniform(-3, 3, (2, 5, 7, 3))
    distance, normal = ALL.surfaces(points)
    assert distance.shape == (2, 5, 6, 7)
    assert normal.shape == (2, 5, 6, 7, 3)
    assert np.linalg.norm(normal, axis=-1) == pytest.approx(1, abs=1e-12)
    for i in range(2):
        for single, whole in zip(ALL.surfaces(points[i, 2]), (distance, normal), strict=True):
            assert whole[i, 2] == pytest.approx(single, abs=1e-12)


def test_other_array_libraries():
    xp = pytest.importorskip('array_api_strict')
    points = RNG.uniform(-3, 3, (4, 7, 3))
    for strict, here in zip(ALL.surfaces(xp.asarray(points)), ALL.surfaces(points), strict=True):
        assert np.asarray(strict) == pytest.approx(here, abs=1e-13)


def test_normals_are_gradients_of_the_distance():
    points = RNG.uniform(-3, 3, (400, 3))
    _, normal = ALL.surfaces(points)
    for k in (0, 1, 3, 4, 5):  # the terrain's distance is of first order: see below
        assert gradient(ALL, points)[k] == pytest.approx(normal[k], abs=1e-6)


@given(st.tuples(*[st.floats(-30, 30)] * 3))
def test_clearance_is_never_more_than_the_least_distance(place):
    point = np.array(place)
    for scene in (ALL, load_environment('deep_rock').scene, load_environment('pool').scene):
        distance, _ = scene.surfaces(point[None, :])
        clearance = scene.clearances(point).min(initial=math.inf)
        assert clearance <= distance.min() + 1e-9 or clearance <= 0
    assert ALL.clearances(np.array([0.0, 0.0, 20.0])).min() == pytest.approx(4.0)  # the wall
    assert Scene().clearances(point).min(initial=math.inf) == math.inf


@given(st.lists(st.tuples(*[st.floats(-30, 30)] * 3), min_size=1, max_size=8), st.data())
def test_what_is_far_is_far_wherever_one_comes_from(places, data):
    scene = data.draw(st.sampled_from([ALL, load_environment('pool').scene]))
    for place in places:
        point, within = np.array(place), data.draw(st.floats(0, 20))
        clearance = scene.clearances(point).min()
        if scene.is_far(point, within):
            assert clearance > within
            assert scene.surfaces_near(point, within) == ()
        else:
            assert clearance <= within + 1e-5
        assert scene.may_be_near(point, within) == (not scene.is_far(point, within))
    assert Scene().is_far(point, 1e9)


def test_planes():
    distance, normal = Scene((SLOPE,)).surfaces(np.array([[0.0, 7.0, -5.0], [2.0, 0.0, 0.0]]))
    assert distance[0] == pytest.approx([0, (-2 + 10) / math.sqrt(5)])
    assert normal[0, 0] == pytest.approx(np.array([-1, 0, 2]) / math.sqrt(5))
    assert SLOPE.height(2.0, 9.0) == pytest.approx(-4.0)


def cloud(obstacle):
    """Return many points of an obstacle's surface."""
    half = obstacle.size / 2
    if obstacle.kind == 'box':
        u, v = (a.ravel() for a in np.meshgrid(*[np.linspace(-1, 1, 201)] * 2))
        one = np.ones_like(u)
        faces = [np.roll(np.stack([s * one, u, v], 1), i, axis=1) for i in range(3)
                 for s in (-1, 1)]  # fmt: skip
        surface = np.concatenate(faces) * half
    else:
        angle, t = (a.ravel() for a in np.meshgrid(np.linspace(-np.pi, np.pi, 721),
                                                   np.linspace(0, 1, 301)))  # fmt: skip
        round_ = np.stack([np.cos(angle), np.sin(angle)], 1) * half[0]
        mantle = np.column_stack([round_, (2 * t - 1) * half[2]])
        caps = [np.column_stack([round_ * t[:, None], s * half[2] + 0 * t]) for s in (-1, 1)]
        surface = np.concatenate([mantle, *caps])
    return surface @ rotation_matrix(obstacle.orientation).T + obstacle.position


@pytest.mark.parametrize('obstacle', [BOX, CYLINDER], ids=lambda o: o.kind)
def test_obstacles_against_a_cloud_of_surface_points(obstacle):
    from scipy.spatial import cKDTree

    points = obstacle.position + RNG.uniform(-2, 2, (300, 3))
    distance, _ = Scene(obstacles=(obstacle,)).surfaces(points)
    brute, _ = cKDTree(cloud(obstacle)).query(points)
    assert np.abs(distance[0]) == pytest.approx(brute, abs=0.02)
    local = np.abs((points - obstacle.position) @ rotation_matrix(obstacle.orientation))
    inside = np.all(local < obstacle.size / 2, axis=1)
    if obstacle.kind == 'cylinder':
        inside &= np.hypot(local[:, 0], local[:, 1]) < obstacle.size[0] / 2
    assert np.array_equal(distance[0] < 0, inside)
    assert inside.any()
    assert not inside.all()


@given(st.tuples(*[st.floats(-5, 5)] * 3))
def test_walking_the_distance_back_along_the_normal_ends_on_the_surface(place):
    point = np.array([place])
    distance, normal = ALL.surfaces(point)
    for k in (0, 1, 5):
        foot = point - distance[k, 0] * normal[k, 0]
        assert ALL.surfaces(foot)[0][k, 0] == pytest.approx(0, abs=1e-9)
    for k in (3, 4):  # from outside; from within an edge may be nearer to another face
        if distance[k, 0] > 0:
            foot = point - distance[k, 0] * normal[k, 0]
            assert ALL.surfaces(foot)[0][k, 0] == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize('obstacle', [BOX, CYLINDER, SPHERE], ids=lambda o: o.kind)
def test_the_very_middle_has_a_distance_and_a_unit_normal(obstacle):
    distance, normal = Scene(obstacles=(obstacle,)).surfaces(obstacle.position[None, :])
    depth = obstacle.size.min() / 2
    assert distance[0, 0] == pytest.approx(-depth)
    assert np.linalg.norm(normal[0, 0]) == pytest.approx(1)


# --- terrain -----------------------------------------------------------------------------------


def test_heights_are_those_of_the_grid_and_linear_between():
    rows, columns = HILLS.heights.shape
    x, y = np.meshgrid(-4 + 0.5 * np.arange(columns), -3 + 0.5 * np.arange(rows))
    assert HILLS.height(x, y) == pytest.approx(HILLS.heights, abs=1e-12)
    middle = HILLS.height(x[:-1, :-1] + 0.25, y[:-1, :-1] + 0.25)
    h = HILLS.heights
    assert middle == pytest.approx((h[:-1, :-1] + h[1:, :-1] + h[:-1, 1:] + h[1:, 1:]) / 4)
    assert HILLS.extent == pytest.approx(np.array([[-4, -3], [5.5, 3]]))


@given(st.floats(-3.9, 5.4), st.floats(-2.9, 2.9))
def test_bilinear_against_scipy_and_its_normal(x, y):
    from scipy.interpolate import RegularGridInterpolator

    rows, columns = HILLS.heights.shape
    grid = (-3 + 0.5 * np.arange(rows), -4 + 0.5 * np.arange(columns))
    at = RegularGridInterpolator(grid, HILLS.heights)
    assert HILLS.height(np.array(x), np.array(y)) == pytest.approx(at((y, x)).item(), abs=1e-9)
    step = 1e-7
    if min(abs(x * 2 - round(x * 2)), abs(y * 2 - round(y * 2))) > 1e-5:  # not on a cell's edge
        dx = (at((y, x + step)) - at((y, x - step))).item() / (2 * step)
        dy = (at((y + step, x)) - at((y - step, x))).item() / (2 * step)
        normal = HILLS.normal(np.array(x), np.array(y))
        expected = np.array([-dx, -dy, 1]) / math.sqrt(1 + dx * dx + dy * dy)
        assert normal == pytest.approx(expected, abs=1e-5)


def test_beyond_the_edge_the_ground_goes_on_level():
    x, y = np.array([-100.0, 100.0, 1.0]), np.array([0.2, 0.2, 1e6])
    edge = HILLS.height(np.clip(x, -4, 5.5), np.clip(y, -3, 3))
    assert np.array_equal(HILLS.height(x, y), edge)
    normal = HILLS.normal(x, y)
    assert np.array_equal(normal[[0, 1], 0], [0, 0])
    assert normal[2, 1] == 0


def test_a_sloping_terrain_is_the_plane():
    x = 0.5 * np.arange(30)
    heights = -8 + 0.5 * x[None, :] + 0 * x[:, None]
    terrain, plane = HeightMap([0, 0], 0.5, heights), Plane('p', [0, 0, -8], [-1, 0, 2])
    points = RNG.uniform(2, 12, (50, 3)) * (1, 1, -0.6)
    for a, b in zip(Scene(terrain=terrain).surfaces(points), Scene((plane,)).surfaces(points),
                    strict=True):  # fmt: skip
        assert a == pytest.approx(b, abs=1e-12)


def test_a_terrains_distance_is_right_near_it():
    terrain = generate('rock', depth=50.0, relief=9.0, size=(40.0, 40.0), spacing=0.5, seed=3,
                       material='rock')  # fmt: skip
    at = RNG.uniform(-15, 15, (200, 2))
    foot = np.column_stack([at, terrain.height(at[:, 0], at[:, 1])])
    normal = terrain.normal(at[:, 0], at[:, 1])
    distance, found = Scene(terrain=terrain).surfaces(foot + 1e-3 * normal)
    same = np.linalg.norm(found[0] - normal, axis=1) < 0.05  # not over an edge of two cells
    assert same.sum() > 150
    assert distance[0][same] == pytest.approx(1e-3, rel=0.02)


HASH = 'import sys, hashlib; from marine_sim_ros.scene.terrain import generate; ' \
       'sys.stdout.write(" ".join(hashlib.sha256(generate(g, depth=10.0, relief=2.0, ' \
       'size=(64.0, 48.0), spacing=0.5, seed=7, material="x").heights.tobytes()).hexdigest() ' \
       'for g in ("sand", "rock")))'  # fmt: skip
# Of this very arithmetic: a machine or a NumPy that gives others breaks runs that must be equal.
SHAPES = {
    'sand': '1ca8a959b9f0101fac8cf01e201859d82e7546a041f0a3a8c65982e9ab74039e',
    'rock': '669595e3b111f47a113f41adf6cbd688a1e52ac4fbb0ea4a61f7a0311197ff17',
}


def test_a_seed_gives_the_same_terrain_in_every_process():
    done = subprocess.run([sys.executable, '-c', HASH], capture_output=True, text=True, check=True)
    assert dict(zip(SHAPES, done.stdout.split(), strict=True)) == SHAPES
    for name in GENERATORS:
        here = generate(name, depth=10.0, relief=2.0, size=(64.0, 48.0), spacing=0.5, seed=7,
                        material='x')  # fmt: skip
        assert hashlib.sha256(here.heights.tobytes()).hexdigest() == SHAPES[name]


@pytest.mark.parametrize('name', GENERATORS)
def test_a_generated_terrain_has_the_depth_the_relief_and_the_size_asked_for(name):
    terrain = generate(name, depth=30.0, relief=4.0, size=(60.0, 30.0), spacing=0.5, seed=2,
                       material='m')  # fmt: skip
    assert terrain.heights.shape == (61, 121)
    assert terrain.heights.mean() == pytest.approx(-30, abs=1e-4)
    assert np.ptp(terrain.heights) == pytest.approx(4)
    assert terrain.extent == pytest.approx(np.array([[-30, -15], [30, 15]]))
    other = generate(name, depth=30.0, relief=4.0, size=(60.0, 30.0), spacing=0.5, seed=3,
                     material='m')  # fmt: skip
    assert np.abs(other.heights - terrain.heights).max() > 0.5
    steps = np.abs(np.diff(terrain.heights, axis=1))
    assert steps.max() < 0.35 * 4  # no cliffs between neighbours


GRID = 'ncols 3\nnrows 2\nxllcorner -1.0\nyllcorner 4.0\ncellsize 2.0\nNODATA_value -9999\n' \
       '-5 -6 -7\n-8 -9 -10\n'  # fmt: skip


def test_an_esri_grid_is_read_with_north_up(tmp_path):
    path = tmp_path / 'bay.asc'
    path.write_text(GRID)
    terrain = read_grid(path, 'sand')
    assert terrain.origin == pytest.approx([0, 5])
    assert terrain.heights == pytest.approx(np.array([[-8, -9, -10], [-5, -6, -7]]))
    file = tmp_path / 'bay.yaml'
    file.write_text('terrain: {file: bay.asc, material: sand}\n')
    scene = load_environment(str(file)).scene
    assert scene.ground(1.0, 6.0) == pytest.approx(-7.0)


def soundings(text, positive='up', suffix='.xyz'):
    with TemporaryDirectory() as folder:
        path = Path(folder, f'points{suffix}')
        path.write_text(text, encoding='utf-8')
        return read_grid(path, 'sand', None, positive)


def test_soundings_of_a_plane_become_a_plane(caplog):
    rng = np.random.default_rng(4)
    x, y = rng.uniform(-20, 20, 400), rng.uniform(-10, 10, 400)
    lines = [f'{a:.6f} {b:.6f} {-8 + 0.1 * a - 0.2 * b:.6f}' for a, b in zip(x, y, strict=True)]
    terrain = soundings('# a survey\n' + '\n'.join(lines))
    assert terrain.spacing == pytest.approx(np.sqrt(40 * 20 / 400), rel=0.05)
    for a, b in ((0.0, 0.0), (-7.3, 4.1), (12.0, -6.0)):
        assert terrain.height(np.array(a), np.array(b)) == pytest.approx(
            -8 + 0.1 * a - 0.2 * b, abs=1e-4
        )
    assert '400 soundings became a grid' in caplog.text
    assert 'beyond them' in caplog.text


@given(st.integers(2, 9), st.integers(2, 9), st.sampled_from([' ', ',', ';', '\t', ', ']))
def test_soundings_on_a_full_grid_stay_as_they_are(columns, rows, between):
    heights = np.random.default_rng(columns * rows).uniform(1, 9, (rows, columns)).round(3)
    points = [(2.5 * i, 2.5 * j, heights[j, i]) for i in range(columns) for j in range(rows)]
    text = 'east north depth\n' + '\n'.join(between.join(map(str, p)) for p in points[::-1])
    terrain = soundings(text, 'down', '.csv')
    assert terrain.spacing == pytest.approx(2.5)
    np.testing.assert_array_equal(terrain.heights, -heights)


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('0 0 -5\n1 0 -5\n', '2 soundings; expected 3 to'),
        ('0 0 -5\n1 0\n1 1 -4\n', "points.xyz:2: '1 0'; expected three numbers"),
        ('0 0 -5\n1 1e308 -4\n1 1 -4\n', "points.xyz:2: '1 1e308 -4'; expected three numbers"),
        ('0 0 1e308\n1 0 -4\n1 1 -4\n0 1 -4\n', "points.xyz:1: '0 0 1e308'"),
        ('x y z\n0 1e308 0\n1 0 -4\n1 1 -4\n', "points.xyz:2: '0 1e308 0'"),
        ('0 0 -5m\n1 0 -4\n1 1 -4\n0 1 -4\n', "points.xyz:1: '0 0 -5m'"),
        ('0 0 -5\n1 0 nan\n1 1 -4\n', 'points.xyz:2'),
        ('0 0 5\n1 0 6\n1 1 7\n', 'if they are depths, add positive: down'),
        ('0 0 -5\n1 1 -6\n2 2 -7\n', 'lie on a line'),
        ('0 0 -5\n0 1 -6\n0 2 -7\n', 'lie on a line'),
        ('\xe9', 'expected'),
    ],
)
def test_bad_soundings_are_refused_in_one_line(text, reason):
    with pytest.raises(ParameterError) as caught:
        soundings(text)
    assert reason in str(caught.value)
    assert '\n' not in str(caught.value)


def test_soundings_of_a_strip_need_no_more_memory_than_an_area():
    generator = np.random.default_rng(1)
    strip = generator.uniform(size=(20_000, 3)) * [9e7, 1e-2, -5.0]
    with pytest.raises(ParameterError, match=r'in a strip of 9e\+07 m x 0.01 m; expected an area'):
        grid_soundings(strip, 'sand', 'strip.xyz')


@pytest.mark.parametrize('name', ['bay.tif', 'GEBCO.nc', 'x.GRD'])
def test_a_raster_is_refused_with_the_command_that_converts_it(tmp_path, name):
    (tmp_path / name).write_bytes(b'II*')
    stem = name.split('.')[0]
    with pytest.raises(ParameterError, match=f'marine_sim terrain .* -o {stem}/'):
        read_grid(tmp_path / name, 'sand')


def write_slope(folder, west, south, cell, *, columns=40, origin=''):
    """Write a grid that falls 1 m for each column eastwards, from −3 m, and an environment."""
    head = f'ncols {columns}\nnrows 30\nxllcorner {west}\nyllcorner {south}\ncellsize {cell}\n'
    row = ' '.join(str(-3.0 - i) for i in range(columns))
    (folder / 'chart.asc').write_text(head + f'{row}\n' * 30)
    file = folder / 'chart.yaml'
    file.write_text(f'terrain: {{file: chart.asc}}\n{origin}')
    return str(file)


def at(latitude, longitude, heading=0.0):
    return (
        f'origin: {{latitude: {latitude}, longitude: {longitude}, heading: {heading}, '
        'magnetic_field: [0, 2.0e-5, -4.0e-5]}\n'
    )


@pytest.mark.parametrize(
    ('west', 'longitude'), [(10.0, 10.05), (359.9, -0.05), (-70.4, -70.35), (179.9, 179.95)]
)
@pytest.mark.parametrize('latitude', [0.03, 59.03, -33.97])
def test_a_grid_in_degrees_lies_where_the_origin_says(tmp_path, west, longitude, latitude):
    """Depth by column; a degree of longitude on WGS84 by its published formula."""
    cell, south = 0.004, latitude - 0.06
    scene = load_environment(
        write_slope(tmp_path, west, south, cell, origin=at(latitude, longitude))
    ).scene
    column = ((longitude - west) % 360) / cell - 0.5
    phi = np.radians(latitude)
    # Metres of a degree of longitude: NGA, "length of degrees", 111412.84 cos φ − 93.5 cos 3φ + …
    degree = 111412.84 * np.cos(phi) - 93.5 * np.cos(3 * phi) + 0.118 * np.cos(5 * phi)
    for east in (0.0, 2000.0, -1500.0):
        depth = 3.0 + column + east / degree / cell
        assert scene.ground(east, 700.0) == pytest.approx(-depth, abs=0.02)


@pytest.mark.parametrize('heading', [0.0, 137.0])
def test_a_grid_in_degrees_lies_under_a_gps_far_from_the_origin(tmp_path, heading):
    """A meridian turns by Δλ sin φ: 6 km east and 5 km north of the origin, by 9 m at 60°."""
    pyproj = pytest.importorskip('pyproj')
    longitude, latitude, cell = 10.1, 60.06, 0.005
    file = write_slope(tmp_path, 10.0, 60.0, cell, origin=at(latitude, longitude, heading=heading))
    environment = load_environment(file)
    # The vertical of a tangent plane's point is that of its foot, but for 1e-5 of its height.
    to_plane = pyproj.Transformer.from_pipeline(
        f'+proj=pipeline +step +proj=cart +ellps=WGS84 +step +proj=topocentric +ellps=WGS84 '
        f'+lon_0={longitude} +lat_0={latitude} +h_0=0'
    )
    for place in ((10.02, 60.02), (10.17, 60.12), (10.19, 60.01)):
        east, north, _ = to_plane.transform(*place, 0.0)
        x, y, _ = environment.origin.in_map(np.array([east, north, 0.0]))
        depth = 3.0 + (place[0] - 10.0) / cell - 0.5
        # A column is 278 m wide: 0.004 of one is 1 m.
        assert environment.scene.ground(x, y) == pytest.approx(-depth, abs=0.004)


def test_a_grid_in_degrees_turns_with_the_heading_of_map(tmp_path):
    file = write_slope(tmp_path, 5.0, 50.0, 0.002, origin=at(50.03, 5.04, heading=90.0))
    scene = load_environment(file).scene
    # The y axis of map points east: depth grows along y and not along x.
    assert scene.ground(400.0, 0.0) == pytest.approx(scene.ground(0.0, 0.0), abs=0.05)
    assert scene.ground(0.0, 1000.0) < scene.ground(0.0, 0.0) - 6.0


FOREIGN_GRIDS = {
    'degrees without an origin': (
        (-3.2, 54.0, 0.002),
        '',
        'are degrees of longitude and latitude',
    ),
    'arc minutes': ((-3.2, 54.0, 1 / 60), '', 'are degrees of longitude and latitude'),
    'degrees elsewhere': ((-3.2, 54.0, 0.002), at(43.0, 9.0), 'expected an origin in it'),
    'UTM': ((482_000, 6_212_000, 25), at(56.0, 9.0), "subtract the origin's easting"),
    'feet of a state plane': ((1_250_000, 220_000, 10), '', 'eastings and northings'),
}


@pytest.mark.parametrize('case', FOREIGN_GRIDS)
def test_a_grid_that_is_not_near_map_is_refused(tmp_path, case):
    numbers, origin, text = FOREIGN_GRIDS[case]
    with pytest.raises(ParameterError) as told:
        load_environment(write_slope(tmp_path, *numbers, origin=origin))
    assert text in str(told.value)
    assert '\n' not in str(told.value)


def test_a_scan_of_a_tank_in_metres_is_read_as_it_is(tmp_path):
    (tmp_path / 'chart.asc').write_text(
        'ncols 30\nnrows 2\nxllcorner -0.1\nyllcorner -0.005\ncellsize 0.005\n'
        + 2 * (' '.join(f'{-0.02 - 0.001 * i}' for i in range(30)) + '\n')
    )
    file = tmp_path / 'tank.yaml'
    file.write_text('terrain: {file: chart.asc}\n')
    scene = load_environment(str(file)).scene
    assert scene.ground(0.0, 0.0) == pytest.approx(-0.0395, abs=1e-6)


def test_a_start_far_from_the_terrain_is_a_warning(tmp_path):
    around = load_environment(write_slope(tmp_path, 4000, 0, 25))
    (line,) = start_warnings(around, np.array([0.0, 0.0, -1.0]))
    assert 'starts at x 0, y 0 m, farther from the terrain' in line
    assert start_warnings(around, np.array([4100.0, 50.0, -1.0])) == []


BAD_GRIDS = {
    'ncols': ('', 'no ncols in its header'),
    'x': ('ncols two\n', "ncols is 'two'"),
    'few': (GRID + '3', '7 heights; expected 2 rows of 3'),
    'hole': (GRID.replace('-9 ', '-9999 '), 'points without a height'),
    'word': (GRID.replace('-9 ', 'deep '), 'not a number among its heights'),
    'huge': (GRID.replace('ncols 3', 'ncols 1e9'), 'points; expected'),
    'nan': (GRID.replace('cellsize 2.0', 'cellsize nan'), 'nan.asc:5: cellsize is nan'),
}


@pytest.mark.parametrize('name', BAD_GRIDS)
def test_grids_that_are_none(tmp_path, name):
    text, expected = BAD_GRIDS[name]
    path = tmp_path / f'{name}.asc'
    path.write_text(text)
    with pytest.raises(ParameterError) as caught:
        read_grid(path, 'sand')
    assert expected in str(caught.value)
    assert '\n' not in str(caught.value)


# --- files -------------------------------------------------------------------------------------


def test_shipped_scenes_are_what_they_say():
    scenes = {n: load_environment(n).scene for n in ('shallow_sand', 'deep_rock', 'pool',
                                                     'test_grid')}  # fmt: skip
    for name, depth in (('shallow_sand', 10.0), ('deep_rock', 50.0)):
        assert scenes[name].terrain.heights.mean() == pytest.approx(-depth, abs=1e-3)
        assert len(scenes[name].obstacles) >= 5
        # Obstacles stand on the ground or hang over it, none is buried.
        for obstacle in scenes[name].obstacles:
            ground = scenes[name].ground(*obstacle.position[:2])
            assert obstacle.position[2] > ground
    assert scenes['shallow_sand'].terrain.material == 'sand'
    assert scenes['pool'].water_surface
    distance, normal = scenes['pool'].surfaces(np.array([[0.0, 0.0, -1.0]]))
    assert distance[:, 0] == pytest.approx([3, 12.5, 12.5, 6.25, 6.25])
    assert normal[0, 0] == pytest.approx([0, 0, 1])
    assert scenes['test_grid'].ground(3.0, 3.0) == pytest.approx(-10)
    assert load_environment('still').scene is None
    assert load_environment('fresh_pool').scene is None


def test_waves_feel_the_seabed(tmp_path):
    text = 'waves: {type: regular, height: 0.2, period: 6}\n'
    for more in ('seabed: {depth: 4}', 'pool: {length: 9, width: 9, depth: 4}',
                 'terrain: {generator: sand, depth: 4}'):  # fmt: skip
        assert parse_environment(text + more, 'x.yaml').waves.depth == 4.0
    assert parse_environment(text + 'seabed: {depth: 4}\ndepth: 7', 'x.yaml').waves.depth == 7.0
    planes = (
        'planes: [{point: [0, 0, -6], normal: [0, 0, 2]}, {point: [9, 0, 0], normal: [-1, 0, 0]}]'
    )
    assert parse_environment(text + planes, 'x.yaml').waves.depth == 6.0
    (tmp_path / 'bay.asc').write_text(GRID)
    (tmp_path / 'bay.yaml').write_text(text + 'terrain: {file: bay.asc}')
    assert load_environment(str(tmp_path / 'bay.yaml')).waves.depth == pytest.approx(7.5)


def test_a_sloping_seabed_rises_where_it_says():
    text = 'seabed: {depth: 10, slope: {angle: 30, direction: 90}}'
    scene = parse_environment(text, 'x.yaml').scene
    assert scene.ground(5.0, 0.0) == pytest.approx(-10)
    assert scene.ground(0.0, 3.0) == pytest.approx(-10 + 3 * math.tan(math.radians(30)))


def test_an_obstacle_may_stand_on_the_seabed():
    text = 'seabed: {depth: 10}\nobstacles: [{shape: sphere, radius: 1, position: [2, 3, 0.5], ' \
           'on_seabed: true}]'  # fmt: skip
    (ball,) = parse_environment(text, 'x.yaml').scene.obstacles
    assert ball.position == pytest.approx([2, 3, -9.5])
    assert ball.size == pytest.approx([2, 2, 2])
    assert ball.name == 'sphere_0'


OBSTACLE = 'obstacles: [{position: [0, 0, -1], '
BAD = {
    'seabed: 10': 'seabed: expected a mapping',
    'seabed: {}': "'depth' is missing",
    'seabed: {depth: -1}': 'seabed.depth is -1',
    'seabed: {depth: 3, slope: 10}': 'slope: expected a mapping',
    'seabed: {depth: 3, material: [1]}': 'seabed.material is [1]; expected a word',
    'seabed: {depth: 3, material: "a b"}': 'expected a word',
    'pool: {length: 3, width: 4}': "'depth' is missing",
    'surface: 1': 'surface is 1; expected true or false',
    'planes: {}': 'planes is {}; expected a list',
    'planes: [{point: [0, 0, 0], normal: [0, 0, 0]}]': 'normal is zero',
    'planes: [{point: [0, 0], normal: [0, 0, 1]}]': 'expected a list of three numbers',
    'terrain: {}': 'either file or generator',
    'terrain: {generator: sand, file: a.asc, depth: 3}': 'either file or generator',
    'terrain: {generator: mud, depth: 3}': "is 'mud'; expected one of: sand, rock",
    'terrain: {generator: sand}': "'depth' is missing",
    'terrain: {generator: sand, depth: 3, size: 9}': 'expected a list of two numbers',
    'terrain: {generator: sand, depth: 3, size: [3000, 9]}': 'spacing is 0.5; expected at least',
    'terrain: {generator: sand, depth: 3, spacing: 100, size: [100000, 100000]}':
        'size[0] is 100000; expected a number from 1 to 4000',
    'seabed: {depth: 3, material: ""}': "seabed.material is ''; expected a word",
    'seabed: {depth: 3}\nwater: {kind: sea}\nseabed: {depth: 4}':
        "my.yaml:3: 'seabed' is in line 1 too",
    'seabed: {depth: 3,\n  depth: 4}': "my.yaml:2: 'depth' is in line 1 too",
    'a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]\n' + ''.join(
        f'{n}: &{n} [{", ".join(["*" + chr(ord(n) - 1)] * 10)}]\n' for n in 'bcdefghij'):
        'aliases written out; expected up to 100000',
    'planes: &p [*p]': 'an alias stands for what it is in',
    'terrain: {file: none.asc}': 'cannot be read',
    'terrain: {file: 3}': 'terrain.file is 3',
    'terrain: {file: a.asc, seed: 3}': "unknown key 'seed'",
    'boundary: {mode: seed}': "boundary.mode is 'seed'",
    'boundary: {exponent: 3}': 'boundary.exponent is 3',
    f'{OBSTACLE}shape: cone}}]': "shape is 'cone'",
    f'{OBSTACLE}shape: box}}]': "'size' is missing",
    f'{OBSTACLE}shape: box, size: [1, 1, 0]}}]': 'size[2] is 0',
    f'{OBSTACLE}shape: sphere, radius: 1, length: 2}}]': "unknown key 'length'",
    f'{OBSTACLE}shape: sphere, radius: 1, on_seabed: true}}]': 'there is no seabed',
    f'{OBSTACLE}shape: sphere, radius: 1, name: a}}, {{shape: sphere, radius: 1, '
    'position: [0, 0, 0], name: a}]': "two surfaces are named 'a'",
}  # fmt: skip


@pytest.mark.parametrize(('text', 'expected'), BAD.items(), ids=BAD)
def test_mistakes_are_told_in_one_line(text, expected):
    with pytest.raises(ParameterError) as caught:
        parse_environment(text, 'my.yaml')
    assert expected in str(caught.value)
    assert '\n' not in str(caught.value)


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 40), st.floats(), st.text(max_size=4),
    st.sampled_from(['sand', 'box', 'sphere', 'cylinder', 'normal_only']),
)  # fmt: skip
KEYS = ['depth', 'material', 'slope', 'angle', 'point', 'normal', 'length', 'width', 'generator',
        'file', 'size', 'spacing', 'relief', 'seed', 'shape', 'radius', 'position', 'rpy',
        'on_seabed', 'mode', 'exponent', 'name']  # fmt: skip
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=8,
)


@settings(max_examples=200)
@given(st.dictionaries(
    st.sampled_from(['seabed', 'planes', 'pool', 'terrain', 'obstacles', 'surface', 'boundary']),
    TREES, min_size=1, max_size=3,
))  # fmt: skip
def test_any_content_is_a_scene_or_one_line(content):
    import yaml

    try:
        scene = parse_environment(yaml.safe_dump(content, allow_unicode=True), 'my.yaml').scene
    except MarineSimError as error:
        scene, told = None, str(error)
    else:
        told = ''
    assert '\n' not in told
    if scene is not None:
        distance, normal = scene.surfaces(np.array([[0.3, 0.2, -1.0]]))
        assert distance.shape == (len(scene), 1)
        assert np.all(np.isfinite(normal))


@pytest.mark.parametrize('make', [
    lambda: Plane('p', [0, 0], [0, 0, 1]), lambda: Plane('p', [0, 0, 0], [0, 0, 0]),
    lambda: Plane('p', [0, 0, math.nan], [0, 0, 1]),
    lambda: HeightMap([0, 0], 0.0, np.zeros((3, 3))),
    lambda: HeightMap([0], 1.0, np.zeros((3, 3))),
    lambda: HeightMap([0, 0], 1.0, np.zeros((1, 3))),
    lambda: HeightMap([0, 0], 1.0, np.full((3, 3), math.nan)),
    lambda: Obstacle('o', 'cone', [1, 1, 1], [0, 0, 0]),
    lambda: Obstacle('o', 'box', [1, 1, 0], [0, 0, 0]),
    lambda: Obstacle('o', 'cylinder', [1, 2, 1], [0, 0, 0]),
    lambda: Obstacle('o', 'sphere', [1, 1, 2], [0, 0, 0]),
    lambda: Obstacle('o', 'box', [1, 1, 1], [0, 0]),
    lambda: Obstacle('o', 'box', [1, 1, 1], [0, 0, 0], [0, 0, 0, 2]),
])  # fmt: skip
def test_values_nothing_solid_has_are_refused(make):
    with pytest.raises(ParameterError, match='expected'):
        make()


# --- what is drawn -----------------------------------------------------------------------------


def area(corners):
    sides = np.cross(corners[1:-1] - corners[0], corners[2:] - corners[0])
    return sides.sum(axis=0) / 2


def test_a_pools_planes_are_drawn_as_its_floor_and_walls():
    scene = load_environment('pool').scene
    sizes = {'floor': 25 * 12.5, 'east_wall': 12.5 * 4.3, 'north_wall': 25 * 4.3}
    for plane in scene.planes:
        corners = plane_outline(scene, plane)
        assert (corners - plane.point) @ plane.normal == pytest.approx(0, abs=1e-9)
        if plane.name in sizes:
            assert area(corners) == pytest.approx(plane.normal * sizes[plane.name])
        lines = plane_lines(scene, plane)
        distance, _ = scene.surfaces(lines.reshape(-1, 3))
        assert distance.min() > -1e-9
        assert lines[..., 2].max() <= 0.3 + 1e-9
    floor = plane_lines(scene, scene.planes[0])
    assert len(floor) == 25 + 13
    length = np.linalg.norm(floor[:, 1] - floor[:, 0], axis=1)
    assert length.sum() == pytest.approx(25 * 12.5 + 13 * 25)


def test_a_coarser_terrain_keeps_its_place():
    fine = load_environment('deep_rock').scene.terrain
    seen = coarsen_terrain(fine)
    assert max(seen.heights.shape) <= 130
    assert seen.extent == pytest.approx(fine.extent)
    assert seen.height(np.array(8.0), np.array(-6.0)) == fine.height(np.array(8.0), np.array(-6.0))


def test_a_start_below_the_ground_is_told(capsys):
    pool = load_environment('pool')
    assert start_warnings(pool, np.array([1.0, 2.0, -3.9])) == []
    assert start_warnings(load_environment('still'), np.array([0.0, 0.0, -90.0])) == []
    (told,) = start_warnings(pool, np.array([1.0, 2.0, -5.0]))
    assert '1.00 m below the ground of environment pool' in told
    run = ['simulate', 'bluerov2', '--scenario', 'transit', '--duration', '0.01']
    with pytest.raises(SystemExit):  # it ends before what the scenario expects
        main([*run, '--environment', 'pool'])
    assert '1.00 m below the ground' in capsys.readouterr().err


@pytest.mark.parametrize('name', ['s.xyz', 'bay.tif', 'grid.ASC', 'wreck.glb', 'part.stl'])
def test_a_part_of_an_environment_is_refused_with_the_line_that_names_it(tmp_path, name):
    (tmp_path / name).write_text('0 0 -5\n')
    with pytest.raises(ParameterError, match=f'YAML file with the line .*file: {name}'):
        load_environment(str(tmp_path / name))
