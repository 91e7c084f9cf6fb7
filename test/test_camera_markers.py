# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""AprilTags on obstacles: read by OpenCV's detector in pictures of the camera."""

import math
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from marine_sim_ros.core.errors import MissingPackageError, ParameterError
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment, WaterOptics
from marine_sim_ros.environment.reader import parse_environment
from marine_sim_ros.model.vehicle import Frame, Sensor
from marine_sim_ros.scene.obstacles import FAMILIES, Fiducial, Obstacle
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors import SENSORS, SensorInputs
from marine_sim_ros.sensors.camera.camera import Camera, lens_of

pytestmark = [pytest.mark.long, pytest.mark.usefixtures('renderer')]

OPTICAL = np.array([-0.5, 0.5, -0.5, 0.5])


def camera(**changes):
    place = Frame('camera_optical_frame', 'base_link', np.zeros(3), OPTICAL)
    return Sensor('camera', 'camera', Camera(**{'samples': 3.0, **changes}), place, 10**8)


def taken(sensor, environment, position=(0.0, 0.0, -2.0), rpy=(0.0, 0.0, 0.0)):
    state = State(np.array(position, float), quaternion_from_rpy(*rpy), np.zeros(6))
    return SENSORS['camera'].measure(sensor, state, environment, SensorInputs.none())


def panels(*given):
    """Return water with panels, each a marker, a place and roll, pitch, yaw."""
    return Environment(
        scene=Scene(
            obstacles=tuple(
                Obstacle(
                    str(i),
                    'box',
                    [0.02, 1.4 * f.size, 1.4 * f.size],
                    place,
                    quaternion_from_rpy(*rpy),
                    'white',
                    f,
                )
                for i, (f, place, rpy) in enumerate(given)
            )
        ),
        optics=WaterOptics('pure'),
    )


def linear(image):
    """Return an image in linear light: sRGB makes white wider, 1 cm in 2 m (IEC 61966-2-1)."""
    v = image / 255
    return np.round(255 * np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)).astype(
        np.uint8
    )


def found(cv2, image, family='36h11'):
    """Return the corners (4, 2) of the markers in an image by their number."""
    book = cv2.aruco.getPredefinedDictionary(getattr(cv2.aruco, f'DICT_APRILTAG_{family}'))
    settings = cv2.aruco.DetectorParameters()
    settings.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_SUBPIX
    corners, ids, _ = cv2.aruco.ArucoDetector(book, settings).detectMarkers(linear(image))
    return {} if ids is None else {int(n): c[0] for n, c in zip(ids.flat, corners, strict=True)}


DISTORTED = (-0.2, 0.05, 0.001, -0.001, 0.0)


@pytest.mark.long
@pytest.mark.parametrize(
    ('rpy', 'distortion'),
    [((0.0, 0.0, 0.0), (0.0,) * 5), ((0.2, 0.3, -0.5), DISTORTED), ((-0.7, -0.2, 0.4), DISTORTED)],
)
def test_the_pose_of_a_marker_2_m_away_is_found(rpy, distortion):
    cv2 = pytest.importorskip('cv2')
    size, place = 0.2, np.array([2.0, 0.1, -1.9])
    # Its face looks back at the camera, turned away from it a little.
    turn = (rpy[0], rpy[1], math.pi + rpy[2])
    # The pixels of one of 1280 x 720 that sees 80 degrees.
    sensor = camera(distortion=distortion, width=640.0, height=360.0, field_of_view=45.5)
    image = taken(sensor, panels((Fiducial('tag36h11', 3, size), place, turn)))['image']
    corners = found(cv2, image)
    assert set(corners) == {3}
    lens, half = lens_of(sensor.spec), size / 2
    # OpenCV's marker has x to the right, y up and z to who looks: here y, z and x of the panel.
    model = np.array([[-half, half, 0], [half, half, 0], [half, -half, 0], [-half, -half, 0]])
    ok, rvec, tvec = cv2.solvePnP(
        model, corners[3], lens.matrix, np.array(distortion), flags=cv2.SOLVEPNP_IPPE_SQUARE
    )
    assert ok
    axes = rotation_matrix(quaternion_from_rpy(*turn))
    to_map = rotation_matrix(OPTICAL)
    face = place + 0.01 * axes[:, 0]
    centre = to_map @ tvec[:, 0] + [0, 0, -2.0]
    assert np.linalg.norm(centre - face) < 0.01
    apart = to_map @ cv2.Rodrigues(rvec)[0] - axes[:, [1, 2, 0]]
    # A marker seen from ahead hardly changes when it is turned: 3 degrees.
    assert np.abs(apart).max() < 0.05


@pytest.mark.parametrize('family', FAMILIES)
def test_markers_of_each_family_are_told_apart(family):
    cv2 = pytest.importorskip('cv2')
    numbers = (0, FAMILIES[family] - 1)
    given = [
        (Fiducial(family, n, 0.3), [1.2, y, -2.0], (0.0, 0.0, math.pi))
        for n, y in zip(numbers, (0.3, -0.3), strict=True)
    ]
    image = taken(camera(), panels(*given))['image']
    corners = found(cv2, image, family.removeprefix('tag'))
    assert set(corners) == set(numbers)
    # y of map is to the left in the picture.
    assert corners[numbers[0]][:, 0].max() < 320 < corners[numbers[1]][:, 0].min()


def test_only_the_face_towards_x_has_the_marker():
    cv2 = pytest.importorskip('cv2')
    sensor = camera()
    for yaw, seen in ((math.pi, {5}), (0.0, set()), (math.pi / 2, set())):
        marked = panels((Fiducial('tag36h11', 5, 0.3), [1.2, 0.0, -2.0], (0.0, 0.0, yaw)))
        assert set(found(cv2, taken(sensor, marked)['image'])) == seen


PANEL = """
obstacles:
  - {name: dock, shape: box, size: [0.02, 0.3, 0.3], position: [2, 0, -2], marker: %s}
"""


def test_environments_have_markers():
    read = parse_environment(PANEL % '{family: tag36h11, id: 3, size: 0.2}', 'a.yaml')
    assert read.scene.obstacles[0].fiducial == Fiducial('tag36h11', 3, 0.2)
    read = parse_environment(PANEL % '{id: 4, size: 0.2}', 'a.yaml')
    assert read.scene.obstacles[0].fiducial == Fiducial('tag36h11', 4, 0.2)


@pytest.mark.parametrize(
    ('marker', 'expected'),
    [
        ('{family: aruco, id: 3, size: 0.2}', 'tag36h11'),
        ('{id: 587, size: 0.2}', '0 to 586'),
        ('{id: 3, size: 0.4}', 'edges along y and z'),
        ('{id: 3}', 'size'),
    ],
)
def test_bad_markers_are_told(marker, expected):
    with pytest.raises(ParameterError, match=expected) as told:
        parse_environment(PANEL % marker, 'a.yaml')
    assert 'obstacles[0]' in str(told.value)


def test_payloads_have_no_markers():
    text = PANEL.replace('obstacles', 'payloads') % '{id: 3, size: 0.2}, mass: 1.0'
    with pytest.raises(ParameterError, match='marker'):
        parse_environment(text, 'a.yaml')


def test_without_opencv_one_line_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, 'cv2', None)
    marked = panels((Fiducial('tag36h11', 7, 0.3), [1.2, 0.0, -2.0], (0.0, 0.0, math.pi)))
    with ThreadPoolExecutor(1) as other:
        attempt = other.submit(taken, camera(width=64.0, height=48.0), marked)
        with pytest.raises(MissingPackageError, match='pip install opencv-python-headless'):
            attempt.result()
