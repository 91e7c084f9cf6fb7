# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The camera against OpenCV, the ray-caster, and the formulas of light in water."""

import math
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from conftest import vehicle_of
from graph import run_everywhere

from marine_sim_ros import load_scenario, load_vehicle, simulate
from marine_sim_ros.core.errors import MissingPackageError, ModelError, ParameterError
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import WATER_TYPES, Environment, WaterOptics
from marine_sim_ros.environment.rays import first_hits
from marine_sim_ros.environment.reader import load_environment, parse_environment
from marine_sim_ros.faults.fault_types import parse_faults
from marine_sim_ros.model.vehicle import Frame, Sensor
from marine_sim_ros.scene.obstacles import Obstacle, Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors import SENSORS, SensorInputs
from marine_sim_ros.sensors.camera.camera import Camera, lens_of
from marine_sim_ros.sensors.camera.rendering import linear_colour

OPTICAL = np.array([-0.5, 0.5, -0.5, 0.5])
SMALL = {'width': 64.0, 'height': 48.0}
DISTORTIONS = {
    'none': {},
    'plumb_bob': {'distortion': (-0.2, 0.05, 0.002, -0.001, 0.01)},
    'equidistant': {
        'equidistant': 1.0,
        'field_of_view': 110.0,
        'distortion': (0.03, -0.01, 0.002, 0.001, 0.0),
    },
}


def camera(**changes):
    """Return a camera at the origin of the body that looks ahead."""
    place = Frame('camera_optical_frame', 'base_link', np.zeros(3), OPTICAL)
    return Sensor('camera', 'camera', Camera(**changes), place, 10**8)


def taken(sensor, environment, position=(0.0, 0.0, 0.0), rpy=(0.0, 0.0, 0.0)):
    """Return the readings at a pose of the body, without noise."""
    state = State(np.array(position, float), quaternion_from_rpy(*rpy), np.zeros(6))
    return SENSORS['camera'].measure(sensor, state, environment, SensorInputs.none())


def pixels(lens):
    return np.stack(np.meshgrid(np.arange(lens.width), np.arange(lens.height)), axis=-1) * 1.0


# --- Geometry -------------------------------------------------------------------------------


@pytest.mark.parametrize('name', DISTORTIONS)
def test_directions_are_those_of_opencv(name):
    cv2 = pytest.importorskip('cv2')
    lens = lens_of(Camera(**DISTORTIONS[name]))
    places = pixels(lens)[::40, ::40].reshape(-1, 2)
    rays = lens.directions(places)
    assert np.linalg.norm(rays, axis=-1) == pytest.approx(1.0)
    points, none = rays[:, None] * 3.0, np.zeros(3)
    if lens.model == 'equidistant':
        found = cv2.fisheye.projectPoints(
            points, none, none, lens.matrix, np.array(lens.distortion[:4])
        )[0]
    else:
        found = cv2.projectPoints(points, none, none, lens.matrix, np.array(lens.distortion))[0]
    assert np.abs(found[:, 0] - places).max() < 1e-6


@pytest.mark.long
def test_distortion_that_folds_the_image_is_an_error():
    lens = lens_of(Camera(distortion=(-0.9, 0.0, 0.0, 0.0, 0.0)))
    with pytest.raises(ParameterError, match='folds the image'):
        lens.directions(pixels(lens))


COLUMNS, ROWS, SIDE = 9, 6, 0.08
"""Inner corners of the board, and the side of its squares, m."""


def board():
    """Return a checkerboard across x of map, 10 m down: black squares on a white box."""
    squares = [
        Obstacle('s', 'box', [0.02, SIDE, SIDE], [0, SIDE * (i - 4.5), SIDE * (j - 3) - 10])
        for i in range(COLUMNS + 1)
        for j in range(ROWS + 1)
        if (i + j) % 2
    ]
    squares = [replace(square, material='black') for square in squares]
    back = Obstacle('back', 'box', [0.018, SIDE * 12, SIDE * 9], [0, 0, -10])
    return Scene(obstacles=(*squares, replace(back, material='white')))


def corners(cv2, image):
    """Return the corners (n, 2) of the board in an image, in pixels."""
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    found, places = cv2.findChessboardCornersSB(
        grey, (COLUMNS, ROWS), flags=cv2.CALIB_CB_ACCURACY | cv2.CALIB_CB_EXHAUSTIVE
    )
    assert found
    return places.astype(np.float32)


POSES = [
    (-1.0, 0.0, 0.0),
    (-0.8, 0.35, 0.1),
    (-0.8, -0.35, -0.15),
    (-0.75, 0.1, 0.3),
    (-0.75, -0.1, -0.3),
    (-0.9, 0.5, 0.25),
    (-0.9, -0.5, -0.25),
    (-0.7, 0.0, 0.15),
    (-0.85, 0.4, -0.3),
    (-0.85, -0.4, 0.3),
]


@pytest.mark.long
@pytest.mark.usefixtures('renderer')
def test_a_checkerboard_calibrates_back_to_the_camera():
    cv2 = pytest.importorskip('cv2')
    distortion = (-0.2, 0.05, 0.001, -0.001, 0.0)
    sensor = camera(distortion=distortion, field_of_view=70.0, samples=3.0)
    environment = Environment(scene=board(), optics=WaterOptics('pure'))
    grid = np.stack(np.meshgrid(np.arange(COLUMNS), np.arange(ROWS)), axis=-1).reshape(-1, 2)
    model = np.column_stack([grid * SIDE, np.zeros(len(grid))]).astype(np.float32)
    seen = []
    for i, (x, y, z) in enumerate(1.2 * np.array(POSES)):
        yaw, pitch = math.atan2(-y, -x), math.atan2(z, math.hypot(x, y))
        # Turned away a little, so that the board comes near to the edges too.
        aside, up = 0.15 * math.cos(2.4 * i), 0.08 * math.sin(2.4 * i)
        roll = 0.25 * math.sin(i)
        found = taken(sensor, environment, (x, y, z - 10), (roll, pitch + up, yaw + aside))
        seen.append(corners(cv2, found['image']))
    matrix = np.array([[500.0, 0, 319.5], [0, 500.0, 239.5], [0, 0, 1]])
    error, k, d, _, _ = cv2.calibrateCamera(
        [model] * len(seen),
        seen,
        (640, 480),
        matrix,
        None,
        flags=cv2.CALIB_USE_INTRINSIC_GUESS | cv2.CALIB_FIX_K3,
    )
    assert error < 0.1
    lens = lens_of(sensor.spec)
    assert np.diag(k)[:2] == pytest.approx(lens.focal_length, rel=0.005)
    assert k[:2, 2] == pytest.approx(lens.matrix[:2, 2], rel=0.005)
    # What distortion there is, by where it puts pixels: within 0.5 % of its most.
    rays = lens.directions(pixels(lens)[::60, ::60].reshape(-1, 2))
    points = rays[:, :2] / rays[:, 2:]
    radius = np.sum(points**2, axis=-1, keepdims=True)
    d = d.reshape(-1)
    back = replace(lens, distortion=tuple(d)).distort(points)
    inside = radius[:, 0] < 0.45
    largest = np.abs(lens.distort(points) - points)[inside].max()
    assert inside.sum() > 40
    apart = (back - lens.distort(points)) * lens.focal_length
    assert np.abs(apart[inside]).max() < 0.5
    assert np.abs(apart[inside]).mean() < 0.005 * largest * lens.focal_length


@pytest.mark.usefixtures('renderer')
@pytest.mark.parametrize('lens', DISTORTIONS)
@pytest.mark.parametrize(
    ('environment', 'position', 'rpy'),
    [
        ('pool', (-8.0, 2.0, -1.5), (0.1, 0.05, -0.2)),
        ('shallow_sand', (0.0, 0.0, -8.5), (0.0, 0.2, 0.5)),
        ('deep_rock', (0.0, 0.0, -44.0), (-0.2, 0.4, 0.6)),
    ],
)
def test_depths_are_those_of_the_ray_caster(environment, position, rpy, lens):
    sensor = camera(depth=1.0, width=160.0, height=120.0, **DISTORTIONS[lens])
    environment = load_environment(environment)
    depth = taken(sensor, environment, position, rpy)['depth']
    seen = lens_of(sensor.spec)
    rays = seen.directions(pixels(seen))
    turn = rotation_matrix(quaternion_from_rpy(*rpy)) @ sensor.rotation
    hits = first_hits(environment, np.array(position), rays @ turn.T, 200.0)
    distance, along = np.asarray(hits.distance), rays[..., 2]
    compared = distance < 40.0  # the terrain ends at 64 m
    assert compared.mean() > 0.5
    apart = np.abs(depth - np.where(compared, distance, 0.0) * along)[compared]
    # A ray along an edge may meet either side of it.
    assert np.mean(apart > 0.01) < 5e-4
    assert np.quantile(apart, 0.99) < 0.001


# --- Light ----------------------------------------------------------------------------------


def decoded(value):
    """Return linear light of sRGB 0 to 255, IEC 61966-2-1."""
    v = np.asarray(value) / 255
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


COEFFICIENTS = {'I': (0.235, 0.043, 0.018), 'III': (0.295, 0.116, 0.116), '5C': (0.40, 0.31, 0.43)}
"""Jerlov (1976), table XXVII, at 600, 525 and 475 nm."""


@pytest.mark.usefixtures('renderer')
@pytest.mark.parametrize('distance', [1.0, 3.0, 8.0])
@pytest.mark.parametrize('water', COEFFICIENTS)
@pytest.mark.parametrize('turbidity', [0.0, 0.1])
def test_colours_follow_the_formula(water, distance, turbidity):
    k = np.array(COEFFICIENTS[water])
    wall = Plane('wall', [distance, 0, 0], [-1, 0, 0], 'white')
    environment = Environment(scene=Scene((wall,)), optics=WaterOptics(water, turbidity))
    depth = 5.0
    daylight, scattering = np.exp(-k * depth), 0.2 * k[1] + turbidity
    veil = daylight * scattering / (k + scattering)
    # White of the palette, an upright wall, which half of the daylight meets.
    wall_light = ((0.9 + 0.055) / 1.055) ** 2.4 * daylight * 0.6
    left = np.exp(-(k + turbidity) * distance)
    expected = wall_light * left + veil * (1 - left)
    for channel in range(3):
        sensor = camera(width=3.0, height=3.0, exposure=0.6 / expected[channel])
        image = taken(sensor, environment, (0, 0, -depth))['image']
        light = decoded(image[1, 1, channel]) / sensor.spec.exposure
        assert light == pytest.approx(expected[channel], rel=0.02)


@pytest.mark.usefixtures('renderer')
@pytest.mark.parametrize('level', [1.0, 0.25])
def test_lamps_fall_off_with_range_and_water(level):
    k = np.array(COEFFICIENTS['III'])
    albedo = linear_colour('white')[0]
    for distance in (1.0, 2.0, 4.0):
        wall = Plane('wall', [distance, 0, 0], [-1, 0, 0], 'white')
        environment = Environment(scene=Scene((wall,)), optics=WaterOptics('III'))
        expected = level * albedo * 0.02 / distance**2 * np.exp(-2 * k * distance)
        for channel in range(3):
            sensor = camera(
                width=3.0,
                height=3.0,
                exposure=0.6 / expected[channel],
                light=0.02,
                light_level=level,
                light_position=(0.0, 0.0, 0.0),
            )
            image = taken(sensor, environment, (0, 0, -1000.0))['image']
            light = decoded(image[1, 1, channel]) / sensor.spec.exposure
            assert light == pytest.approx(expected[channel], rel=0.02)


@pytest.mark.usefixtures('renderer')
def test_nothing_but_water_is_the_veil_and_sky_is_above():
    sensor = camera(**SMALL, depth=1.0, exposure=1.0)
    down = taken(sensor, Environment(), (0, 0, -2.0), (0, math.pi / 2, 0))
    expected = WaterOptics().veil(2.0)
    assert decoded(down['image'][24, 32]) == pytest.approx(expected, rel=0.05)
    assert np.all(np.isinf(down['depth']))
    up = taken(sensor, Environment(), (0, 0, -2.0), (0, -math.pi / 2, 0))
    assert up['depth'][24, 32] == pytest.approx(2.0, rel=1e-3)
    assert up['image'][24, 32].min() > 120
    out = taken(sensor, Environment(), (0, 0, 2.0), (0, -math.pi / 4, 0))
    assert np.all(np.isinf(out['depth']))
    assert out['image'].min() > 120


@pytest.mark.usefixtures('renderer')
@pytest.mark.parametrize('height', [-1.7, 0.02, 0.6])
def test_the_surface_is_at_the_level_of_the_tide(height):
    """A tide lifts surface, eye and obstacles alike, and the picture is the same."""
    low = parse_environment(
        'water: {kind: sea, turbidity: 0.4}\n'
        'obstacles: [{name: pile, shape: box, size: [0.5, 0.5, 4], position: [3, 0, 0]}]',
        'low',
    )
    tide = 'tide: {mean: 2.0, constituents: [{name: M2, amplitude: 0.5, phase: 0.0}]}\n'
    pile = low.scene.obstacles[0]
    lifted = replace(pile, position=np.add(pile.position, (0, 0, 2.5)))
    high = replace(low, tide=parse_environment(tide, 'high').tide)
    high = replace(high, scene=replace(low.scene, obstacles=(lifted,))).at(0.0)
    assert high.level == pytest.approx(2.5)
    sensor = camera(**SMALL, depth=1.0, light=2.0)
    expected = taken(sensor, low, (0, 0, height), (0, -0.2, 0))
    found = taken(sensor, high, (0, 0, height + 2.5), (0, -0.2, 0))
    assert np.abs(found['image'].astype(int) - expected['image']).max() <= 2
    np.testing.assert_allclose(found['depth'], expected['depth'], rtol=1e-5)
    assert len(np.unique(expected['image'].reshape(-1, 3), axis=0)) > 20


@pytest.mark.usefixtures('renderer')
def test_automatic_exposure_follows_the_daylight():
    floor = [
        Environment(scene=Scene((Plane('floor', [0, 0, -d - 1.0], [0, 0, 1], 'white'),)))
        for d in (2.0, 20.0)
    ]
    sensor = camera(width=3.0, height=3.0)
    for depth, environment in zip((2.0, 20.0), floor, strict=True):
        image = taken(sensor, environment, (0, 0, -depth), (0, math.pi / 2, 0))['image']
        assert 150 < image[1, 1].max() < 255


# --- As a sensor ----------------------------------------------------------------------------


@pytest.mark.usefixtures('renderer')
def test_the_same_state_gives_the_same_picture_whoever_takes_it():
    environment = load_environment('shallow_sand')
    sensor = camera(**SMALL, noise=2.0)

    def picture():
        ideal = taken(sensor, environment, (0.0, 0.0, -8.0), (0.1, 0.2, 0.3))
        noisy = SENSORS['camera'].disturb(sensor, ideal, 10**9, 3, ())
        return ideal['image'], noisy['image']

    first = picture()
    taken(sensor, load_environment('pool'), (0.0, 0.0, -1.0))
    with ThreadPoolExecutor(1) as other:  # a context of its own
        for again in (picture(), other.submit(picture).result()):
            assert np.array_equal(first[0], again[0])
            assert np.array_equal(first[1], again[1])
    spread = first[1].astype(float) - first[0]
    assert np.std(spread[first[0] > 10]) == pytest.approx(2.0, rel=0.1)


def test_camera_info_describes_the_image():
    for name, changes in DISTORTIONS.items():
        sensor = camera(**changes)
        topics = {topic.name: topic for topic in SENSORS['camera'].topics_of(sensor)}
        assert list(topics) == ['image', 'image/compressed', 'camera_info']
        info = topics['camera_info'].fields(sensor, {})
        image = {'image': np.zeros((480, 640, 3), np.uint8)}
        message = topics['image'].fields(sensor, image)
        assert (info['width'], info['height']) == (message['width'], message['height'])
        assert len(message['data']) == message['step'] * message['height']
        k = info['k'].reshape(3, 3)
        assert np.array_equal(info['p'].reshape(3, 4)[:, :3], k)
        assert np.array_equal(info['r'].reshape(3, 3), np.eye(3))
        assert k[:2, 2] == pytest.approx([319.5, 239.5])
        if name == 'equidistant':
            assert (info['distortion_model'], len(info['d'])) == ('equidistant', 4)
            assert k[0, 0] == pytest.approx(320 / math.radians(55))
        else:
            assert (info['distortion_model'], len(info['d'])) == ('plumb_bob', 5)
            assert k[0, 0] == pytest.approx(320 / math.tan(math.radians(40)))


def test_jpeg_is_close_to_the_image():
    pillow = pytest.importorskip('PIL.Image')
    import io

    sensor = camera(**SMALL)
    image = np.linspace(0, 255, 64 * 48 * 3).reshape(48, 64, 3).astype(np.uint8)
    topic = next(t for t in SENSORS['camera'].topics if t.on_demand)
    fields = topic.fields(sensor, {'image': image})
    read = np.asarray(pillow.open(io.BytesIO(fields['data'].tobytes())))
    assert np.abs(read.astype(float) - image).mean() < 5
    assert 'jpeg' in fields['format']


def test_the_frame_is_an_optical_one():
    for vehicle in ('bluerov2', 'bluerov2_heavy'):
        assert 'camera' not in {s.kind for s in load_vehicle(vehicle).sensors}
        sensor = next(
            s for s in load_vehicle(vehicle, camera='true').sensors if s.kind == 'camera'
        )
        assert (sensor.frame, sensor.own_frame) == ('camera_optical_frame', True)
        ahead_left_up = np.array([[0, 0, 1], [-1, 0, 0], [0, -1, 0]])
        assert sensor.rotation == pytest.approx(ahead_left_up)
        assert sensor.position == pytest.approx([0.21, 0, 0.01])


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('<sensor type="camera"><width>0</width></sensor>', '1 to 4096'),
        ('<sensor type="camera"><field_of_view>180</field_of_view></sensor>', '1 to 179'),
        ('<sensor type="camera"><distortion>0.1</distortion></sensor>', 'distortion'),
        ('<sensor type="camera"><lens>wide</lens></sensor>', 'field_of_view'),
    ],
)
def test_bad_descriptions_are_told(text, expected):
    urdf = (
        '<robot name="a"><link name="base_link"><inertial><mass value="10"/><inertia ixx="1" '
        'iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><buoyancy><volume>0.01'
        f'</volume></buoyancy>{text}</robot>'
    )
    with pytest.raises(ModelError, match=expected):
        load_vehicle(urdf)


def test_environments_say_which_water():
    assert parse_environment('water: {kind: fresh}', 'a.yaml').optics == WaterOptics('pure')
    assert parse_environment('water: {kind: sea}', 'a.yaml').optics == WaterOptics('II')
    read = parse_environment('water: {water_type: 3C, turbidity: 0.2}', 'a.yaml').optics
    assert read.attenuation == pytest.approx(np.array(WATER_TYPES['3C']) + 0.2)
    for text, expected in (
        ('water: {water_type: mud}', '9C'),
        ('water: {turbidity: -1}', '0 to 100'),
    ):
        with pytest.raises(ParameterError, match=expected):
            parse_environment(text, 'a.yaml')


def test_without_the_library_one_line_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, 'moderngl', None)
    with ThreadPoolExecutor(1) as other:
        attempt = other.submit(taken, camera(**SMALL), Environment())
        with pytest.raises(MissingPackageError, match='pip install moderngl'):
            attempt.result()


@pytest.mark.usefixtures('renderer')
def test_a_run_has_its_pictures():
    vehicle = vehicle_of('bluerov2', camera='true')
    run = simulate(vehicle, load_scenario('dive'), duration=0.3)
    series = run.sensors['camera']
    assert series['image'].shape == (len(series.stamp), 360, 640, 3)
    assert len(series.stamp) == 5
    assert series['image'].dtype == np.uint8
    scenario = load_scenario('dive')
    dark = parse_faults('[{kind: cameras_dark, at: 0.1, until: 0.25}]')
    dark_run = simulate(vehicle, replace(scenario, faults=dark), duration=0.3)
    stamps = series.stamp / 1e9
    lit = (stamps < 0.1) | (stamps >= 0.25)
    np.testing.assert_array_equal(dark_run.sensors['camera'].stamp, series.stamp[lit])
    assert 0 < lit.sum() < len(lit)


SCENARIO = """
duration: 1.0
initial: {position: [3, 1, -8], rpy: [0.1, 0.2, 0.7]}
segments:
  - {at: 0.0, pwm: [1600, 1400, 1550, 1480, 1620, 1590]}
"""

MOVES = """
duration: 1.0
initial: {position: [0, 0, -4], rpy: [0, 0, 0]}
segments:
  - {at: 0.0, pwm: [1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500], joints: {shoulder: 0.5}}
  - {at: 0.2, pwm: [1600, 1400, 1550, 1480, 1620, 1590, 1500, 1500], gripper: close}
  - {at: 0.8, pwm: [1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500], gripper: open}
"""
BRICK = """
water: {kind: fresh, temperature: 20.0}
seabed: {depth: 5.0, material: sand}
payloads:
  - {name: brick, shape: box, size: [0.1, 0.1, 0.06], position: [0.6, 0.0, -4.15], mass: 1.0}
  - {name: other, shape: sphere, radius: 0.1, position: [1.5, 0.5, 0.2], mass: 8.0,
     on_seabed: true}
"""


@pytest.mark.ros
@pytest.mark.timeout(900)
@pytest.mark.usefixtures('renderer')
@pytest.mark.parametrize('moves', [False, True], ids=['fixed', 'arm payload tether'])
def test_node_and_simulate_publish_the_same_pictures(processes, tmp_path, moves):
    from rosbags.highlevel import AnyReader

    def messages(folder):
        result = {'image': {}, 'camera_info': {}}
        with AnyReader([folder / 'bag']) as reader:
            for connection, _, data in reader.messages():
                kind = connection.topic.rpartition('/')[2]
                if kind in result:
                    message = reader.deserialize(data, connection.msgtype)
                    assert message.header.frame_id.endswith('camera_optical_frame')
                    stamp = message.header.stamp
                    content = message.data if kind == 'image' else message.k
                    result[kind][stamp.sec * 10**9 + stamp.nanosec] = np.array(content)
        return result

    scenario = tmp_path / 'seen.yaml'
    scenario.write_text(MOVES if moves else SCENARIO)
    if moves:
        around = tmp_path / 'around.yaml'
        around.write_text(BRICK)
        given = ['bluerov2_heavy', '--environment', around, '--set', 'arm:=true']
        given += ['--set', 'tether:=fathom', '--set', 'tether_anchor:=8 0 -3']
        given += ['--set', 'tether_length:=9']
    else:
        given = ['bluerov2', '--environment', 'shallow_sand']
    given += ['--scenario', scenario, '--seed', '5']
    given += ['--set', 'camera:=true', '--set', 'camera_height:=120']
    ways = ('simulate', 'separate')
    # Of two runs one has to wait for the processors.
    run_everywhere(processes, tmp_path, *given, ways=ways, busy=not moves)
    bags = {way: messages(tmp_path / way) for way in ways}
    for kind in ('image', 'camera_info'):
        found, expected = bags['separate'][kind], bags['simulate'][kind]
        assert len(expected) >= 14
        assert set(found) == set(expected)
        for stamp in expected:
            assert np.array_equal(found[stamp], expected[stamp]), (kind, stamp)
