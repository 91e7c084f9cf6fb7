# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Stereo pairs against depths, labels against the ray-caster, caustics and particles."""

import math
from dataclasses import replace

import numpy as np
import pytest
from test_camera import camera, decoded, pixels, taken

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment, WaterOptics
from marine_sim_ros.environment.rays import first_hits
from marine_sim_ros.environment.reader import load_environment, parse_environment
from marine_sim_ros.model.appearance import Appearance
from marine_sim_ros.model.library import load_vehicle
from marine_sim_ros.scene.obstacles import Obstacle, Plane
from marine_sim_ros.scene.rays import cast_rays
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors import SENSORS, SensorInputs
from marine_sim_ros.sensors.camera.camera import lens_of
from marine_sim_ros.sensors.seen_bodies import (
    NO_LABEL,
    OBSTACLE,
    OTHER_VEHICLE,
    OWN_VEHICLE,
    PLANE,
    SURFACE,
    TERRAIN,
    body_of,
    label,
    with_vehicles,
)

pytestmark = pytest.mark.usefixtures('renderer')
SMALL = {'width': 160.0, 'height': 120.0}
PLACES = [
    ('pool', (-8.0, 2.0, -1.5), (0.1, 0.05, -0.2)),
    ('shallow_sand', (0.0, 2.2, -8.4), (0.03, 0.18, 0.5)),
    ('deep_rock', (0.0, 0.0, -44.0), (-0.2, 0.4, 0.6)),
]


def topics(sensor):
    return {topic.name: topic for topic in SENSORS['camera'].topics_of(sensor)}


# --- Stereo ---------------------------------------------------------------------------------


def test_disparity_is_that_of_the_depth():
    """A point at depth z is f b/z pixels farther to the left in the right picture."""
    sensor = camera(baseline=0.12, depth=1.0, width=320.0, height=240.0)
    environment = replace(load_environment('shallow_sand'), optics=WaterOptics('pure'))
    # Straight down onto sand, whose grain is the same from both.
    found = taken(sensor, environment, (0.0, 2.2, -8.4), (0.0, 1.2, 0.5))
    left, right = (decoded(found[name]).mean(axis=-1) for name in ('image', 'right'))
    info = topics(sensor)['right/camera_info'].fields(sensor, {})
    shift = -info['p'].reshape(3, 4)[0, 3] / found['depth']
    assert shift.min() > 3.0
    rows, columns = np.mgrid[0:240, 0:320].astype(float)
    where = columns - shift
    inside = where > 1
    low = np.clip(np.floor(where).astype(int), 0, 318)
    part = where - low
    lines = rows.astype(int)
    moved = (1 - part) * right[lines, low] + part * right[lines, low + 1]
    apart = np.abs(moved - left)[inside]
    unmoved = np.abs(right - left)[inside]
    assert np.median(apart) < 0.25 * np.median(unmoved)
    # Block matching by OpenCV, which knows nothing of the depth.
    cv2 = pytest.importorskip('cv2')
    grey = [cv2.cvtColor(found[name], cv2.COLOR_RGB2GRAY) for name in ('image', 'right')]
    matcher = cv2.StereoSGBM_create(minDisparity=0, numDisparities=48, blockSize=9)
    disparity = matcher.compute(*grey) / 16
    known = disparity > 0
    assert known.mean() > 0.3
    assert np.median(np.abs(disparity - shift)[known]) < 0.5


def test_the_right_camera_is_where_its_calibration_says():
    sensor = camera(baseline=0.2, **SMALL)
    environment = load_environment('pool')
    position, rpy = (-8.0, 2.0, -1.5), (0.1, 0.05, -0.2)
    pair = taken(sensor, environment, position, rpy)
    aside = rotation_matrix(quaternion_from_rpy(*rpy)) @ sensor.rotation[:, 0] * 0.2
    alone = taken(camera(**SMALL), environment, np.array(position) + aside, rpy)
    # Exposure is that of the left one, of nearly the same depth.
    assert np.abs(pair['right'].astype(int) - alone['image']).max() <= 2
    assert np.array_equal(
        pair['image'], taken(camera(**SMALL), environment, position, rpy)['image']
    )


def test_topics_of_a_pair():
    sensor = camera(baseline=0.1, **SMALL)
    told = topics(sensor)
    assert list(told) == [
        'image',
        'image/compressed',
        'camera_info',
        'right/image',
        'right/image/compressed',
        'right/camera_info',
    ]
    left, right = (told[n].fields(sensor, {}) for n in ('camera_info', 'right/camera_info'))
    f = lens_of(sensor.spec).focal_length
    assert right['p'][3] == pytest.approx(-0.1 * f)
    assert left['p'][3] == 0
    assert np.array_equal(left['k'], right['k'])


def test_jpeg_can_take_the_place_of_the_raw_picture():
    for compressed, demanded in ((0.0, 'image/compressed'), (1.0, 'image')):
        told = topics(camera(compressed=compressed))
        assert set(told) == {'image', 'image/compressed', 'camera_info'}
        assert [name for name, topic in told.items() if topic.on_demand] == [demanded]


# --- Segmentation ---------------------------------------------------------------------------


@pytest.mark.parametrize(('environment', 'position', 'rpy'), PLACES)
def test_labels_are_those_of_the_ray_caster(environment, position, rpy):
    sensor = camera(segmentation=1.0, **SMALL)
    environment = load_environment(environment)
    scene = environment.scene
    labels = taken(sensor, environment, position, rpy)['segmentation']
    lens = lens_of(sensor.spec)
    turn = rotation_matrix(quaternion_from_rpy(*rpy)) @ sensor.rotation
    rays = lens.directions(pixels(lens)) @ turn.T
    # What the nearest hit of the whole scene is: the part of it that has the same hit alone.
    alone = []
    if scene.terrain is not None:
        alone.append((label(TERRAIN, 0), Scene(terrain=scene.terrain)))
    alone += [(label(PLANE, i), Scene((p,))) for i, p in enumerate(scene.planes)]
    alone += [(label(OBSTACLE, i), Scene(obstacles=(o,))) for i, o in enumerate(scene.obstacles)]
    alone.append((label(SURFACE, 0), Scene()))  # which is in each of them

    def distances(part):
        hits = first_hits(replace(environment, scene=part), np.array(position), rays, 200.0)
        return np.asarray(hits.distance)

    whole = distances(scene)
    expected = np.full(labels.shape, NO_LABEL)
    for number, part in alone:
        expected[np.isclose(distances(part), whole, rtol=0, atol=1e-6) & np.isfinite(whole)] = (
            number
        )
    compared = whole < 40.0  # the terrain ends at 64 m
    assert compared.mean() > 0.5
    assert len(np.unique(expected[compared])) >= 2
    assert np.mean(labels[compared] != expected[compared]) < 2e-3


def test_walls_of_a_pool_end_at_a_rim():
    """From above, against the ray-caster's scene and the formula of a level surface."""
    sensor = camera(segmentation=1.0, depth=1.0, **SMALL)
    environment, place, rpy = (
        load_environment('pool'),
        np.array([-8.0, 2.0, 1.5]),
        (0.1, 0.1, -0.2),
    )
    found = taken(sensor, environment, place, rpy)
    lens = lens_of(sensor.spec)
    rays = lens.directions(pixels(lens))
    d = rays @ (rotation_matrix(quaternion_from_rpy(*rpy)) @ sensor.rotation).T
    hits = cast_rays(environment.scene, place, d, 200.0)
    with np.errstate(divide='ignore'):
        level = np.where(d[..., 2] < 0, -place[2] / d[..., 2], np.inf)
    level[level > 200.0] = np.inf
    numbers = [NO_LABEL, *(label(PLANE, i) for i in range(len(environment.scene.planes)))]
    expected = np.array(numbers)[np.asarray(hits.surface, int) + 1]
    expected[level < hits.distance] = SURFACE
    behind = (hits.normal[..., 2] == 1.0) & (hits.distance < level)  # two walls' where they meet
    other = (found['segmentation'] != expected) & ~(behind & (found['segmentation'] > SURFACE))
    assert np.mean(other) < 2e-3
    distance = np.minimum(hits.distance, level)
    near = distance < 40
    apart = np.abs(found['depth'][near] - (distance * rays[..., 2])[near])
    assert np.quantile(apart, 0.99) < 0.001
    walls = np.asarray(hits.surface)[near & (expected > SURFACE)]
    assert np.sum(behind & near) > 200
    assert len(np.unique(walls)) >= 3
    assert np.mean(expected == NO_LABEL) > 0.1  # the sky


def test_labels_tell_vehicles_apart():
    vehicle = load_vehicle('bluerov2_heavy')
    names = ('a', 'b')
    bodies = {name: body_of(vehicle, name) for name in names}
    still = np.array([0.0, 0.0, 0.0, 1.0])
    states = {
        'a': State(np.array([2.0, 0.5, -3.0]), still, np.zeros(6)),
        'b': State(np.array([2.0, -0.5, -3.0]), still, np.zeros(6)),
    }
    block = Obstacle('block', 'box', [0.2, 4.0, 0.2], [3.0, 0.0, -3.5])
    environment = replace(
        with_vehicles(Environment(scene=Scene(obstacles=(block,))), bodies, states),
        looks=Appearance(vehicle).parts,
    )
    sensor = camera(segmentation=1.0, **SMALL)
    # From behind the own vehicle's rear, which is in the picture too.
    sensor = replace(sensor, place=replace(sensor.place, translation=np.array([-1.0, 0.0, 0.35])))
    found = taken(sensor, environment, (0.0, 0.0, -3.0))['segmentation']
    left, right = found[:, :80], found[:, 80:]
    assert set(np.unique(found)) == {
        NO_LABEL,
        SURFACE,
        label(OBSTACLE, 0),
        label(OWN_VEHICLE, 0),
        label(OTHER_VEHICLE, 0),
        label(OTHER_VEHICLE, 1),
    }
    assert np.sum(left == label(OTHER_VEHICLE, 0)) > 20
    assert np.sum(right == label(OTHER_VEHICLE, 0)) == 0
    assert np.sum(right == label(OTHER_VEHICLE, 1)) > 20
    message = topics(sensor)['segmentation'].fields(sensor, {'segmentation': found})
    assert (message['encoding'], message['step']) == ('16UC1', 320)
    assert np.array_equal(message['data'].view('<u2').reshape(120, 160), found)
    assert label(OBSTACLE, 300) == OBSTACLE + 256 * 255


# --- Water ----------------------------------------------------------------------------------


def floor_light(sun, depth, time=0.0):
    """Return the light of a white floor, over what it is without the sun's pattern."""
    floor = Environment(
        scene=Scene((Plane('floor', [0, 0, -depth], [0, 0, 1], 'steel'),)),
        optics=WaterOptics('pure', sun=sun),
    )
    sensor = camera(width=400.0, height=400.0, field_of_view=100.0, exposure=0.6)
    state = State(
        np.array([0, 0, 1.0 - depth]), quaternion_from_rpy(0, math.pi / 2, 0), np.zeros(6)
    )
    return decoded(
        SENSORS['camera'].measure(sensor, state, floor, SensorInputs.none(time))['image']
    )


@pytest.mark.parametrize('depth', [2.0, 4.0])
def test_caustics_move_light_and_make_none(depth):
    plain, pattern = floor_light(0.0, depth), floor_light(0.8, depth)
    share = pattern[..., 1] / plain[..., 1]
    assert share.mean() == pytest.approx(1.0, abs=0.03)
    assert share.std() > 0.15
    assert share.min() >= 0.19  # the sky's share is everywhere
    later = floor_light(0.8, depth, 1.0)[..., 1] / plain[..., 1]
    assert abs(np.corrcoef(share.ravel(), later.ravel())[0, 1]) < 0.5


def test_the_sun_fades_with_depth():
    def contrast(depth):
        return np.std(floor_light(0.8, depth)[..., 1] / floor_light(0.0, depth)[..., 1])

    assert contrast(40.0) < 0.5 * contrast(3.0)


def test_from_above_the_floor_is_seen_through_the_surface():
    floor = Environment(
        scene=Scene((Plane('floor', [0, 0, -2.0], [0, 0, 1], 'white'),)),
        optics=WaterOptics('pure'),
    )
    sensor = camera(width=3.0, height=3.0, exposure=0.7)
    image = taken(sensor, floor, (0, 0, 1.0), (0, math.pi / 2, 0))['image']
    k = WaterOptics('pure').diffuse
    white = ((0.9 + 0.055) / 1.055) ** 2.4
    left = np.exp(-k * 2.0)
    scattering = 0.2 * k[1]
    below = white * left * left + scattering / (k + scattering) * (1 - left)
    share = (0.34 / 2.34) ** 2  # Fresnel, straight down
    expected = (1 - share) * below + share * np.array([0.45, 0.65, 1.0])
    assert decoded(image[1, 1]) / 0.7 == pytest.approx(expected, rel=0.03)


def test_the_rim_of_snells_window_is_at_the_critical_angle():
    """From below, sky is seen within asin(1/1.34) = 48.3 degrees of the zenith."""
    sensor = camera(width=400.0, height=400.0, field_of_view=130.0, exposure=0.5)
    # Far below, where ripples are smooth, in water that is clear and dark.
    image = decoded(
        taken(
            sensor, Environment(optics=WaterOptics('pure')), (0, 0, -30.0), (0, -math.pi / 2, 0)
        )['image']
    )[..., 2]
    lens = lens_of(sensor.spec)
    angle = np.degrees(np.arccos(lens.directions(pixels(lens))[..., 2]))
    inside, outside = image[angle < 46.0], image[(angle > 51.0) & (angle < 60.0)]
    assert inside.min() > 1.3 * outside.max()


def test_a_camera_at_the_surface_sees_both_sides():
    sensor = camera(segmentation=1.0, width=200.0, height=150.0, exposure=0.7)
    image = decoded(taken(sensor, load_environment('shallow_sand'), (0.0, 0.0, 0.0))['image'])
    sky, water = image[:30].mean(axis=(0, 1)), image[-30:].mean(axis=(0, 1))
    assert sky[0] > 0.3
    assert water[0] < 0.6 * sky[0]


def test_particles_are_the_same_from_everywhere_and_drift():
    optics = WaterOptics('III', particles=300.0)
    sensor = camera(width=320.0, height=240.0)

    def picture(position, current=(0.0, 0.0, 0.0), time=0.0, density=optics):
        around = Environment(optics=density, current=np.array(current))
        state = State(np.array(position, float), quaternion_from_rpy(0, 0, 0), np.zeros(6))
        found = SENSORS['camera'].measure(sensor, state, around, SensorInputs.none(time))
        return found['image'].astype(float)

    clear = picture((0, 0, -5), density=WaterOptics('III'))
    first = picture((0, 0, -5))
    assert np.array_equal(first, picture((0, 0, -5)))
    specks = np.abs(first - clear).max(axis=-1) > 8
    assert 20 < specks.sum() < 0.1 * specks.size
    # The water carries them: who goes with it sees them stand.
    moved = picture((0.6, 0, -5), current=(0.3, 0, 0), time=2.0)
    assert np.mean(np.abs(moved - first).max(axis=-1) > 8) < 0.1 * specks.mean()
    assert np.mean(np.abs(picture((0.6, 0, -5)) - first).max(axis=-1) > 8) > specks.mean()
    # None before what is nearer, and none in the air.
    wall = Environment(scene=Scene((Plane('wall', [0.1, 0, 0], [-1, 0, 0], 'white'),)))
    hidden = [
        taken(sensor, replace(wall, optics=o), (0, 0, -5))['image']
        for o in (optics, WaterOptics('III'))
    ]
    assert np.mean(np.any(hidden[0] != hidden[1], axis=-1)) < 1e-3


def test_environments_have_sun_and_particles():
    read = parse_environment('water: {sun: 0.7, particles: 200}', 'a.yaml').optics
    assert (read.sun, read.particles) == (0.7, 200.0)
    for text, expected in (('sun: 2', '0 to 1'), ('particles: -1', '0 to 10000')):
        with pytest.raises(ParameterError, match=expected):
            parse_environment(f'water: {{{text}}}', 'a.yaml')
    for wrong in ({'sun': 1.5}, {'particles': -1.0}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            WaterOptics(**wrong)
