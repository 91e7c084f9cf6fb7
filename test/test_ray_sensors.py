# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""DVL, altimeter and sonars against an independent caster, closed forms and the true motion."""

import math

import numpy as np
import pytest

from marine_sim_ros import load_scenario, load_vehicle, simulate
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.sensors import read_preset
from marine_sim_ros.model.vehicle import Frame, Sensor
from marine_sim_ros.scene.obstacles import Obstacle, Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.scene.terrain import HeightMap
from marine_sim_ros.sensors import SENSORS, SensorInputs
from marine_sim_ros.sensors.acoustics import absorption, add_speckle, reflectivity
from marine_sim_ros.sensors.dvl import beam_directions
from marine_sim_ros.sensors.imaging_sonar import fan_picture

RAYS = ('dvl', 'altimeter', 'scanning_sonar', 'imaging_sonar')
DOWN = quaternion_from_rpy(math.pi, 0.0, 0.0)
DEEP = Environment(scene=Scene((Plane('floor', [0, 0, -60], [0, 0, 1]),)))
FLOOR = Environment(scene=Scene((Plane('floor', [0, 0, -10], [0, 0, 1], 'sand'),)))


def sensor_of(kind, preset=None, at=(0.0, 0.0, 0.0), turn=(0.0, 0.0, 0.0, 1.0), **changes):
    """Return a sensor of a kind on the body, and how often it reads."""
    model = SENSORS[kind]
    values = {} if preset is None else read_preset(preset, model)
    period = round(1e9 / values.pop('rate', model.rate))
    values.pop('latency', None)
    spec = model.spec(**{**values, **changes})
    place = Frame(f'{kind}_link', 'base_link', np.array(at, float), np.array(turn))
    return Sensor(kind, kind, spec, place, period)


def ideal(sensor, environment, position=(0, 0, 0), rpy=(0, 0, 0), velocity=(0,) * 6, time=0.0):
    state = State(np.array(position, float), quaternion_from_rpy(*rpy), np.array(velocity, float))
    return SENSORS[sensor.kind].measure(sensor, state, environment, SensorInputs.none(time))


def noisy(sensor, readings, stamps, seed=0):
    return SENSORS[sensor.kind].disturb(sensor, readings, stamps, seed, ())


# --- DVL ------------------------------------------------------------------------------------

DVL = sensor_of('dvl', 'a50', at=(-0.1, 0.05, -0.2), turn=DOWN)
X, Y = np.meshgrid(np.arange(81) * 0.5, np.arange(81) * 0.5)
LEDGE = HeightMap([-20.0, -20.0], 0.5, np.where(X > 20.25, -7.0, -12.0) + 0.1 * np.sin(Y), 'sand')
"""A slope of 5 m over half a metre; flat cells, because h is a function of x plus one of y."""
SLOPE = HeightMap([-20.0, -20.0], 0.5, -10 + 0.3 * (X - 20) - 0.1 * (Y - 20), 'rock')


def embree_hits(terrain, box, origins, rays):
    """Return how far rays go to a terrain and a box, and how they meet it: cos α, by Embree."""
    pytest.importorskip('embreex')
    trimesh = pytest.importorskip('trimesh')
    from trimesh.ray.ray_pyembree import RayMeshIntersector

    rows, columns = terrain.heights.shape
    x, y = np.meshgrid(np.arange(columns), np.arange(rows))
    flat = np.stack([x, y], axis=-1) * terrain.spacing + terrain.origin
    vertices = np.concatenate([flat, terrain.heights[..., None]], axis=-1).reshape(-1, 3)
    first = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).reshape(1, -1, 1)
    halves = np.array([[0, 1, columns + 1], [0, columns + 1, columns]])
    faces = (first + halves[:, None, :]).reshape(-1, 3)
    mesh = trimesh.creation.box(box.size)
    mesh.apply_translation(box.position)
    whole = trimesh.util.concatenate([trimesh.Trimesh(vertices, faces, process=False), mesh])
    points, index, triangle = RayMeshIntersector(whole).intersects_location(
        origins, rays, multiple_hits=False
    )
    found, cosine = np.full(len(origins), np.inf), np.zeros(len(origins))
    found[index] = np.linalg.norm(points - origins[index], axis=-1)
    cosine[index] = np.abs(np.sum(whole.face_normals[triangle] * rays[index], axis=-1))
    return found, cosine


@pytest.mark.parametrize('terrain', [LEDGE, SLOPE], ids=['ledge', 'slope'])
def test_ranges_of_a_dvl_beside_embree(terrain):
    box = Obstacle('box', 'box', [3.0, 3.0, 3.0], [-4.0, 2.0, -9.0])
    environment = Environment(scene=Scene((), terrain, (box,)))
    cases, origins, rays = [], [], []
    for x in np.arange(-6.0, 6.0, 0.75):
        for rpy in np.radians([(0, 0, 0), (30, 0, 40), (-30, 10, 200), (5, 30, 0), (0, -30, 90)]):
            cases.append(ideal(DVL, environment, (x, 0.4 * x, -1.0), rpy)['range'])
            turn = rotation_matrix(quaternion_from_rpy(*rpy))
            origins += [np.array([x, 0.4 * x, -1.0]) + turn @ DVL.position] * 4
            rays += list(beam_directions(22.5) @ (turn @ DVL.rotation).T)
    found, origins, rays = np.concatenate(cases), np.array(origins), np.array(rays)
    expected, cosine = embree_hits(terrain, box, origins, rays)
    ends = origins + np.minimum(expected, 100)[:, None] * rays
    known = np.abs(ends[:, :2]).max(axis=1) < 19.9  # beyond its edges the mesh does not go on
    valid = np.isfinite(found)
    assert (valid & known).mean() > 0.6
    assert found[valid & known] == pytest.approx(expected[valid & known], abs=2e-5)
    # Lost are those that graze what they meet: 70° and more from its normal.
    assert np.all((cosine > math.cos(math.radians(70)))[known] == valid[known])


def test_velocities_of_a_dvl_are_the_true_ones():
    for roll, pitch in np.radians([(0, 0), (30, 0), (0, 30), (-20, 25)]):
        velocity = np.array([1.2, -0.4, 0.3, 0.2, -0.3, 0.5])
        readings = ideal(DVL, FLOOR, (0, 0, -3), (roll, pitch, 1.0), velocity)
        at_sensor = velocity[:3] + np.cross(velocity[3:], DVL.position)
        assert readings['velocity'] == pytest.approx(DVL.rotation.T @ at_sensor, abs=1e-12)
        beams = beam_directions(22.5)
        assert readings['beam_velocity'] == pytest.approx(beams @ readings['velocity'], abs=1e-12)


def test_a_dvl_over_a_level_floor():
    readings = ideal(DVL, FLOOR, (0, 0, -3.0))
    assert readings['range'] == pytest.approx(np.full(4, 6.8 / math.cos(math.radians(22.5))))
    assert readings['altitude'] == pytest.approx(6.8)


@pytest.mark.parametrize(
    ('floor', 'altitude', 'valid'),
    [(DEEP, 50.3, 0), (DEEP, 49.7, 4), (FLOOR, 0.1, 4), (FLOOR, 0.01, 0)],
    ids=str,
)
def test_altitudes_that_a_dvl_has(floor, altitude, valid):
    depth = floor.scene.planes[0].point[2]
    readings = ideal(DVL, floor, (0, 0, depth + altitude + 0.2))
    assert np.isfinite(readings['range']).sum() == valid
    if valid:
        return
    assert readings['altitude'] == np.inf
    assert np.all(np.isnan(readings['velocity']))


def test_a_dvl_loses_the_bottom_at_an_edge_beam_by_beam():
    """Over a plateau without ground beyond: four beams, then two, then none."""
    plateau = Obstacle('plateau', 'box', [10.0, 10.0, 2.0], [0.0, 0.0, -9.0])
    environment = Environment(scene=Scene((), None, (plateau,)))
    counts = []
    for x in np.arange(0.0, 10.0, 0.25):
        readings = ideal(DVL, environment, (x, 0.0, -3.0), velocity=(0.5, 0.1, 0, 0, 0, 0))
        count = int(np.isfinite(readings['range']).sum())
        assert np.all(np.isfinite(readings['velocity'])) == (count >= 3)
        counts.append(count)
    assert counts[0] == 4
    assert 2 in counts
    assert counts[-1] == 0
    assert sorted(counts, reverse=True) == counts


def test_three_beams_are_enough():
    readings = ideal(DVL, FLOOR, (0, 0, -3.0), velocity=(0.7, -0.2, 0.1, 0, 0, 0))
    for lost in range(4):
        known = np.where(np.arange(4) == lost, np.nan, readings['range'])
        found = noisy(
            sensor_of(
                'dvl',
                'a50',
                turn=DOWN,
                velocity_noise=0.0,
                velocity_noise_rate=0.0,
                scale_error=0.0,
                dropout=0.0,
                range_noise=0.0,
            ),
            {**readings, 'range': known},
            0,
        )
        assert found['velocity'] == pytest.approx(readings['velocity'], abs=1e-12)
        assert np.isfinite(found['range']).sum() == 3


def test_the_surface_of_the_water_is_no_bottom():
    """Looking up at the surface, and in a roll that lets no beam meet the ground in range."""
    up = sensor_of('dvl', 'a50')
    assert np.all(np.isnan(ideal(up, FLOOR, (0, 0, -3.0))['range']))
    near = ideal(DVL, FLOOR, (0, 0, -0.05), np.radians((60, 0, 0)))
    assert np.isnan(near['range']).sum() >= 2


def test_noise_of_a_dvl_is_what_its_covariance_says():
    stamps = np.arange(20000) * 200_000_000
    still = ideal(DVL, FLOOR, (0, 0, -3.0), velocity=(0.8, 0.0, 0.0, 0, 0, 0))
    many = {k: np.broadcast_to(v, (len(stamps), *v.shape)) for k, v in still.items()}
    found = noisy(sensor_of('dvl', 'a50', turn=DOWN, scale_error=0.0), many, stamps)
    whole = np.isfinite(found['range']).all(axis=1)
    assert 0.0 < 1 - whole.mean() < 0.02  # 4 · 2 % · (6.8/50)²
    errors = found['velocity'][whole] - still['velocity']
    measured, stated = np.cov(errors.T), found['covariance'][whole].mean(axis=0).reshape(3, 3)
    assert np.diag(measured) == pytest.approx(np.diag(stated), rel=0.05)
    assert np.abs(errors.mean(axis=0)).max() < 5 * np.sqrt(np.diag(stated).max() / len(stamps))
    merit = found['figure_of_merit'][whole].mean()
    assert merit == pytest.approx(math.sqrt(np.trace(stated)), rel=1e-3)
    far = noisy(DVL, ideal(DVL, DEEP, (0, 0, -20.0)), 0)
    assert far['figure_of_merit'] > 3 * merit


def test_the_figure_of_merit_is_sent_with_the_velocity():
    topics = {topic.name: topic for topic in SENSORS['dvl'].topics}
    for position in ((0, 0, -3.0), (0, 0, -20.0)):
        found = noisy(DVL, ideal(DVL, FLOOR, position), 0)
        twist = topics['twist'].fields(DVL, found)
        merit = topics['figure_of_merit'].fields(DVL, found)
        assert (twist is None) == (merit is None) == (position[2] < -10)
        if merit is not None:
            covariance = np.reshape(twist['twist']['covariance'], (6, 6))[:3, :3]
            assert merit['data'] == pytest.approx(math.sqrt(np.trace(covariance)))


def test_the_error_of_scale_stays():
    moving = ideal(DVL, FLOOR, (0, 0, -3.0), velocity=(2.0, 0.0, 0.0, 0, 0, 0))
    stamps = np.arange(4000) * 200_000_000
    many = {k: np.broadcast_to(v, (len(stamps), *v.shape)) for k, v in moving.items()}
    scales = [
        np.nanmean(noisy(DVL, many, stamps, seed)['velocity'][:, 0]) / 2.0 - 1 for seed in range(8)
    ]
    assert 0.002 < np.max(np.abs(scales)) <= 0.0102
    assert len({round(s, 4) for s in scales}) == 8


def test_dead_reckoning_of_a_dive():
    vehicle = load_vehicle('bluerov2', dvl='true')
    run = simulate(
        vehicle, load_scenario('dive'), environment=load_environment('shallow_sand'), duration=15.0
    )
    series = run.sensors['dvl']
    sensor = next(s for s in vehicle.sensors if s.name == 'dvl')
    rows = np.searchsorted(run.stamp, series.stamp)
    turn = np.asarray(rotation_matrix(run.orientation[rows]))
    true = run.position[rows] + turn @ sensor.position
    way = np.linalg.norm(np.diff(true, axis=0), axis=1).sum()
    error = np.linalg.norm(series['position'][-1] - (true[-1] - true[0]))
    assert way > 3
    assert error < 0.03 * way
    assert error < 4 * math.sqrt(3 * series['position_variance'][-1]) + 0.02 * way
    assert np.all(np.diff(series['position_variance']) >= 0)


# --- Altimeter ------------------------------------------------------------------------------

PING = sensor_of('altimeter', 'ping1d', turn=quaternion_from_rpy(0, math.pi / 2, 0))


def test_an_altimeter_reads_the_nearest_place_within_its_beam():
    assert ideal(PING, FLOOR, (0, 0, -3.0))['range'] == pytest.approx(7.0)
    tilted = ideal(PING, FLOOR, (0, 0, -3.0), np.radians((10, 0, 0)))['range']
    assert 7.0 <= tilted < 7.0 / math.cos(math.radians(10))  # the beam is ±15° wide
    pole = Obstacle('pole', 'cylinder', [0.5, 0.5, 2.0], [0.3, 0.0, -9.0], material='steel')
    above = Environment(scene=Scene(FLOOR.scene.planes, None, (pole,)))
    assert ideal(PING, above, (0, 0, -3.0))['range'] == pytest.approx(5.0, abs=0.02)


def test_an_altimeter_out_of_range():
    lost = ideal(PING, DEEP, (0, 0, -3.0))
    assert lost == {'range': np.inf, 'confidence': 0.0}
    assert ideal(PING, FLOOR, (0, 0, 1.0)) == lost  # out of the water
    near = ideal(PING, FLOOR, (0, 0, -9.7))
    assert near == {'range': -np.inf, 'confidence': 0.0}
    topic = next(t for t in SENSORS['altimeter'].topics if t.name == 'range')
    assert topic.fields(PING, noisy(PING, lost, 0))['range'] == np.inf


def test_confidence_falls_with_range_and_slope():
    over = [ideal(PING, FLOOR, (0, 0, z))['confidence'] for z in (-9, -5, -1)]
    assert 100 >= over[0] > over[1] > over[2] > 50
    weak = sensor_of('altimeter', 'ping1d', turn=PING.place.quaternion, signal=-5.0)
    level = ideal(weak, FLOOR, (0, 0, -1.0))['confidence']
    steep = Environment(scene=Scene((Plane('slope', [0, 0, -10], [2, 0, 1], 'sand'),)))
    assert ideal(weak, steep, (0, 0, -1.0))['confidence'] < level


def test_ranges_of_an_altimeter_come_in_steps():
    stamps = np.arange(2000) * 100_000_000
    found = noisy(PING, {'range': np.full(2000, 7.0), 'confidence': np.full(2000, 88.6)}, stamps)
    steps = found['range'] / (0.005 * 7.0)
    assert steps == pytest.approx(np.round(steps), abs=1e-9)
    assert found['range'].mean() == pytest.approx(7.0, abs=0.002)
    assert np.all(found['confidence'] == 88)


# --- Scanning sonar -------------------------------------------------------------------------

SCAN = sensor_of('scanning_sonar', 'ping360')


def test_a_scanning_sonar_turns_at_its_real_speed():
    """A circle at 20 m: 400 pings of 0.0198 s + 2 · 20 m / (1500 m/s)."""
    assert 400 * SCAN.period / 1e9 == pytest.approx(400 * (0.0198 + 40 / 1500), rel=1e-3)
    bearings = [
        float(ideal(SCAN, FLOOR, (0, 0, -5), time=k * SCAN.period / 1e9)['bearing'])
        for k in range(401)
    ]
    assert bearings[0] == pytest.approx(-math.pi)
    assert np.diff(bearings[:400]) == pytest.approx(math.radians(0.9))
    assert bearings[400] == bearings[0]


def test_a_sector_is_scanned_to_and_fro():
    sensor = sensor_of('scanning_sonar', 'ping360', sector=90.0)
    bearings = np.degrees(
        [
            float(
                ideal(sensor, Environment(), (0, 0, -5), time=k * sensor.period / 1e9)['bearing']
            )
            for k in range(201)
        ]
    )
    assert (bearings.min(), bearings.max()) == pytest.approx((-45, 45))
    assert np.abs(np.diff(bearings)) == pytest.approx(0.9)
    assert bearings[200] == pytest.approx(bearings[0])


def test_a_scanning_sonar_finds_a_box_at_its_bearing():
    """A box from 20° to 30°, 8 m away, seen only there."""
    bearing, far = math.radians(25.0), 8.0
    width = 2 * far * math.tan(math.radians(5.0))
    middle = np.array([math.cos(bearing), math.sin(bearing)]) * (far + 0.5)
    box = Obstacle(
        'box',
        'box',
        [1.0, width, 4.0],
        [*middle, -20.0],
        quaternion_from_rpy(0, 0, bearing),
        'steel',
    )
    environment = Environment(scene=Scene((), None, (box,)))
    found = {}
    for k in range(400):
        stamp = k * SCAN.period
        readings = ideal(SCAN, environment, (0, 0, -20.0), time=stamp / 1e9)
        readings = noisy(SCAN, readings, stamp)
        if np.isfinite(readings['range']):
            found[math.degrees(float(readings['bearing']))] = float(readings['range'])
            assert readings['echo'].shape == (1200,)
    assert min(found) == pytest.approx(20.0, abs=1.4)  # half a beam and half a step beside it
    assert max(found) == pytest.approx(30.0, abs=1.4)
    ahead = [value for angle, value in found.items() if abs(angle - 25.0) < 0.5]
    assert ahead == pytest.approx([8.0] * len(ahead), abs=0.02)


# --- Imaging sonar --------------------------------------------------------------------------

AHEAD = quaternion_from_rpy(math.pi, -math.pi / 2, 0.0)
"""z ahead, x up."""


def image_of(obstacles, position=(0, 0, -20), plane=None, turn=AHEAD, **changes):
    sensor = sensor_of('imaging_sonar', 'm750d', turn=turn, noise=-200.0, **changes)
    environment = Environment(scene=Scene(() if plane is None else (plane,), None, obstacles))
    readings = ideal(sensor, environment, position)
    return sensor, readings, noisy(sensor, readings, 0)['image']


def bins_of(sensor, beam):
    """Return the middles (m) of the bins of a beam (its pixels) that are lit."""
    spec = sensor.spec
    width = (spec.max_range - spec.min_range) / spec.bins
    return spec.min_range + (np.flatnonzero(beam) + 0.5) * width


def test_a_sphere_is_seen_at_its_bearing_and_range():
    ball = Obstacle('ball', 'sphere', [2.0, 2.0, 2.0], [8.0, -3.0, -20.0], material='steel')
    sensor, readings, image = image_of((ball,))
    away = math.hypot(8.0, 3.0)
    lit = np.flatnonzero(image.any(axis=1))
    angles = np.degrees(np.radians(130) * np.linspace(-0.5, 0.5, 256))
    towards = math.degrees(math.atan2(3.0, 8.0))  # to the right, where beams count up
    half = math.degrees(math.asin(1.0 / away))
    assert angles[lit[0]] == pytest.approx(towards - half, abs=0.6)
    assert angles[lit[-1]] == pytest.approx(towards + half, abs=0.6)
    middle = lit[len(lit) // 2]
    assert np.min(readings['range'][middle]) == pytest.approx(away - 1.0, abs=5e-3)
    assert bins_of(sensor, image[middle])[0] == pytest.approx(away - 1.0, abs=0.06)


def test_a_box_throws_its_shadow_on_the_floor():
    """From 3 m above the floor over an edge 1 m high at 6 m: dark up to 3/2 of the way."""
    floor = Plane('floor', [0.0, 0.0, -23.0], [0.0, 0.0, 1.0], 'sand')
    box = Obstacle('box', 'box', [0.5, 4.0, 1.0], [6.25, 0.0, -22.5], material='concrete')
    tilted = quaternion_from_rpy(math.pi, math.radians(25) - math.pi / 2, 0.0)
    sensor, _, image = image_of((box,), plane=floor, turn=tilted, rays=200.0, beam_height=40.0)
    lit = bins_of(sensor, image[128])
    dark = np.flatnonzero(np.diff(lit) > 0.5)
    assert len(dark) == 1
    begin, end = lit[dark[0]], lit[dark[0] + 1]
    assert begin == pytest.approx(math.hypot(6.5, 2.0), abs=0.15)  # the far upper edge
    reach = 6.5 * 3 / 2
    assert end == pytest.approx(math.hypot(reach, 3.0), abs=0.15)


def test_energy_is_that_of_lambert_and_absorption():
    """A wall across the beam: cos α of each ray, and what the water takes on the way."""
    loud = {'gain': 0.0, 'dynamic_range': 200.0}
    levels = []
    for far in (5.0, 15.0):
        wall = Plane('wall', [far, 0, 0], [-1, 0, 0], 'steel')
        _, readings, _ = image_of((), plane=wall, beam_height=2.0, **loud)
        levels.append(float(readings['strength'][128].mean()))
        side = readings['strength'][30].mean() / readings['strength'][128].mean()
        angle = abs(math.radians(130) * (30 / 255 - 0.5))
        loss = 10 ** (-0.2 * absorption(750) * (far / math.cos(angle) - far))
        if far / math.cos(angle) < 20:
            assert side == pytest.approx(math.cos(angle) * loss, rel=0.02)
    assert levels[0] == pytest.approx(
        reflectivity('steel') * 10 ** (-absorption(750) * 5.0 * 0.2), rel=0.01
    )
    assert levels[1] / levels[0] == pytest.approx(10 ** (-0.2 * absorption(750) * 10.0), rel=0.01)


def test_absorption_is_the_published_one():
    """Ainslie and McColm's formula beside values of Francois and Garrison (1982), 10 °C, dB/km."""
    for frequency, published in ((10.0, 0.9), (100.0, 34.0), (750.0, 240.0)):
        assert 1000 * absorption(frequency) == pytest.approx(published, rel=0.15)


def test_speckle_is_exponential_and_of_its_stamp():
    even = np.full((300, 400), 0.5)
    drawn = add_speckle(even, 0.5, 3, 'sonar', 100_000_000)
    assert drawn.mean() == pytest.approx(1.0, rel=0.01)
    assert drawn.std() == pytest.approx(1.0, rel=0.02)
    assert np.mean(drawn > 1.0) == pytest.approx(math.exp(-1), abs=0.005)
    assert np.all(add_speckle(even, 0.5, 3, 'sonar', 100_000_000) == drawn)
    for other in ((4, 'sonar', 100_000_000), (3, 'bow', 100_000_000), (3, 'sonar', 200_000_000)):
        apart = np.corrcoef(add_speckle(even, 0.5, *other).ravel(), drawn.ravel())[0, 1]
        assert abs(apart) < 0.02


def test_the_picture_of_a_fan_has_ahead_up_and_right_right():
    ball = Obstacle('ball', 'sphere', [2.0, 2.0, 2.0], [8.0, -3.0, -20.0], material='steel')
    sensor, _, image = image_of((ball,))
    picture = fan_picture(sensor.spec, image)
    rows, columns = np.nonzero(picture > picture.max() / 2)
    size = 20.0 / picture.shape[0]
    assert (picture.shape[0] - rows.mean()) * size == pytest.approx(7.3, abs=0.5)
    assert (columns.mean() - picture.shape[1] / 2) * size == pytest.approx(2.7, abs=0.4)
    topic = next(t for t in SENSORS['imaging_sonar'].topics if t.name == 'image')
    fields = topic.fields(sensor, {'image': image})
    assert len(fields['beam_directions']) == 256
    assert np.array_equal(fields['image']['data'].reshape(512, 256).T, image)
    right = fields['beam_directions'][-1]
    assert right['y'] == pytest.approx(math.sin(math.radians(65)))


# --- All of them ----------------------------------------------------------------------------


@pytest.mark.long
def test_readings_after_a_compiled_run():
    pytest.importorskip('jax')
    from marine_sim_ros.engine.compiled import simulate_compiled

    vehicle = load_vehicle('bluerov2', dvl='true', altimeter='true')
    settings = {'environment': load_environment('shallow_sand'), 'duration': 4.0}
    plain = simulate(vehicle, load_scenario('dive'), **settings)
    compiled, _ = simulate_compiled(vehicle, load_scenario('dive'), **settings)
    for name in ('dvl', 'altimeter'):
        for quantity, values in plain.sensors[name].items():
            assert compiled.sensors[name][quantity] == pytest.approx(
                values, abs=1e-9, nan_ok=True
            ), (name, quantity)


@pytest.mark.parametrize(
    ('element', 'said'),
    [
        ('<sensor type="dvl" preset="ping1d"/>', "expected a preset of type 'dvl'"),
        ('<sensor type="dvl" preset="a51"/>', 'a51'),
        ('<sensor type="dvl"><beam_angle>80</beam_angle></sensor>', '1 to 60'),
        ('<sensor type="altimeter"><beam_angle>20</beam_angle></sensor>', 'is unknown'),
        ('<sensor type="scanning_sonar"><samples>many</samples></sensor>', 'many'),
        ('<sensor type="imaging_sonar" rate="-1"/>', 'rate'),
        ('<sensor type="sidescan"/>', 'imaging_sonar'),
        ('<sensor type="imaging_sonar"><beams>1e9</beams></sensor>', '2 to 4096'),
    ],
)
def test_bad_elements_are_one_line(element, said):
    text = (
        '<robot name="a"><link name="base_link"><inertial><mass value="10"/><inertia ixx="1" '
        'iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><buoyancy><volume>0.01'
        f'</volume></buoyancy>{element}</robot>'
    )
    with pytest.raises(ModelError) as error:
        load_vehicle(text)
    assert said in str(error.value)
    assert '\n' not in str(error.value)


def test_presets_are_read_and_named_with_their_source():
    for kind, preset in zip(RAYS, ('a50', 'ping1d', 'ping360', 'm750d'), strict=True):
        assert read_preset(preset, SENSORS[kind])['rate'] > 0
    assert read_preset('ping2', SENSORS['altimeter'])['max_range'] == 100
