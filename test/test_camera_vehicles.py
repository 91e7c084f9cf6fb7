# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Vehicles in the camera's picture, against trimesh's ray-caster and the URDF's numbers."""

import math
from dataclasses import replace

import numpy as np
import pytest

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment, WaterOptics
from marine_sim_ros.model.appearance import Appearance
from marine_sim_ros.model.vehicle import Frame, Sensor
from marine_sim_ros.sensors import SENSORS, SensorInputs
from marine_sim_ros.sensors.camera.camera import Camera, lens_of
from marine_sim_ros.sensors.camera.render_input import bounding_tree
from marine_sim_ros.sensors.seen_bodies import body_of

pytestmark = pytest.mark.usefixtures('renderer')

OPTICAL = np.array([-0.5, 0.5, -0.5, 0.5])
LENSES = {
    'none': {},
    'plumb_bob': {'distortion': (-0.2, 0.05, 0.002, -0.001, 0.01)},
    'equidistant': {'equidistant': 1.0, 'field_of_view': 110.0},
}


def camera(**changes):
    place = Frame('camera_optical_frame', 'base_link', np.zeros(3), OPTICAL)
    spec = Camera(**{'width': 96.0, 'height': 72.0, 'depth': 1.0, **changes})
    return Sensor('camera', 'camera', spec, place, 10**8)


def taken(sensor, environment, position=(0.0, 0.0, -300.0), rpy=(0.0, 0.0, 0.0)):
    state = State(np.array(position, float), quaternion_from_rpy(*rpy), np.zeros(6))
    return SENSORS['camera'].measure(sensor, state, environment, SensorInputs.none())


def solid(trimesh, part):
    """Return trimesh's mesh of a part, in the frame of the body."""
    if part.kind == 'box':
        mesh = trimesh.creation.box(part.size)
    elif part.kind == 'sphere':
        mesh = trimesh.creation.icosphere(4, part.size[0] / 2)
    elif part.kind == 'cylinder':
        mesh = trimesh.creation.cylinder(part.size[0] / 2, part.size[2], sections=256)
    else:
        corners = part.corners.reshape(-1, 3)
        mesh = trimesh.Trimesh(corners, np.arange(len(corners)).reshape(-1, 3), process=False)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = part.rotation, part.position
    return mesh.apply_transform(pose)


@pytest.mark.parametrize('lens', LENSES)
@pytest.mark.parametrize(
    ('name', 'away'),
    [('bluerov2', 1.0), ('bluerov2_heavy', 1.2), ('surface_vessel', 1.8), ('torpedo_auv', 1.6)],
)
def test_depths_of_another_vehicle_are_those_of_trimesh(name, away, lens):
    trimesh = pytest.importorskip('trimesh')
    vehicle = load_vehicle(name)
    place, turn = np.array([away, 0.1, -300.2]), quaternion_from_rpy(0.3, -0.2, 0.9)
    body = replace(body_of(vehicle, 'other'), position=place, orientation=turn)
    sensor = camera(**LENSES[lens])
    depth = taken(sensor, Environment(bodies=(body,)))['depth']
    seen = lens_of(sensor.spec)
    pixels = np.stack(np.meshgrid(np.arange(seen.width), np.arange(seen.height)), -1) * 1.0
    rays = seen.directions(pixels).reshape(-1, 3)
    # v_map = R v_camera of a camera that looks along x; then in the frame of the body.
    inwards = rotation_matrix(turn)
    to_map = np.array([[0, 0, 1], [-1, 0, 0], [0, -1, 0]])
    origin = inwards.T @ (np.array([0, 0, -300.0]) - place)
    mesh = trimesh.util.concatenate([solid(trimesh, part) for part in body.looks()])
    places, number, _ = mesh.ray.intersects_location(
        np.repeat(origin[None], len(rays), axis=0), rays @ to_map.T @ inwards, multiple_hits=False
    )
    expected = np.full(len(rays), np.inf)
    expected[number] = np.linalg.norm(places - origin, axis=-1) * rays[number, 2]
    expected = expected.reshape(depth.shape)
    both = np.isfinite(expected) & np.isfinite(depth)
    assert both.sum() > 200
    # A ray along an edge may meet either side of it.
    assert np.mean(np.isfinite(expected) != np.isfinite(depth)) < 0.003
    apart = np.abs(depth[both] - expected[both])
    assert np.mean(apart > 0.01) < 0.005
    assert np.median(apart) < 1e-3


def test_a_tree_has_every_triangle_once_in_a_box_that_holds_it():
    corners = np.random.default_rng(3).normal(size=(137, 3, 3))
    rows = bounding_tree(corners)
    nodes, found = int(rows[0, 3]), []
    for i in range(nodes):
        low, high = rows[2 * i], rows[2 * i + 1]
        if high[3] < 0:
            assert i < low[3] <= nodes
        else:
            first, count = 2 * nodes + 3 * int(high[3]), -int(low[3])
            for row in rows[first : first + 3 * count].reshape(-1, 3, 4)[..., :3]:
                triangle = row[0] + np.array([np.zeros(3), row[1], row[2]])
                assert np.all(triangle >= low[:3] - 1e-12)
                assert np.all(triangle <= high[:3] + 1e-12)
                found.append(triangle)
    assert np.sort(np.array(found), axis=0) == pytest.approx(np.sort(corners, axis=0))


def test_a_camera_does_not_see_its_own_housing_but_what_is_before_it():
    vehicle = load_vehicle('bluerov2', camera='true')
    own = next(s for s in vehicle.sensors if s.kind == 'camera')
    spec = replace(own.spec, width=64.0, height=36.0, depth=1.0, distortion=(0.0,) * 5)
    environment = Environment(looks=Appearance(vehicle).parts)
    assert np.all(np.isinf(taken(replace(own, spec=spec), environment)['depth']))
    # From behind, 1 m away, the vehicle itself is in the picture.
    behind = replace(own.place, translation=np.array([-1.0, 0.0, 0.0]))
    depth = taken(replace(own, spec=spec, place=behind), environment)['depth']
    assert 0.7 < depth.min() < 0.9


def test_arms_are_drawn_at_their_joints():
    vehicle = load_vehicle(
        '<robot name="a"><link name="base_link"><inertial><mass value="10"/><inertia ixx="1" '
        'iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<link name="hand"><visual><origin xyz="1 0 0"/><geometry><sphere radius="0.1"/>'
        '</geometry></visual></link><joint name="elbow" type="revolute"><parent link="base_link"/>'
        '<child link="hand"/><origin xyz="0 0 1"/><axis xyz="0 0 2"/>'
        '<limit lower="-3" upper="3" velocity="1" effort="1"/></joint>'
        '<buoyancy><volume>0.01</volume></buoyancy></robot>'
    )
    looks = Appearance(vehicle)
    assert looks.parts()[0].position == pytest.approx([1, 0, 1])
    turned = looks.parts_at({'elbow': math.pi / 2})[0]
    assert turned.position == pytest.approx([0, 1, 1])
    environment = Environment(looks=lambda: (turned,), optics=WaterOptics('pure'))
    place = Frame('c', 'base_link', np.array([0.0, -2.0, 1.0]), quaternion_from_rpy(0, 0, 0))
    sensor = replace(
        camera(),
        place=replace(place, quaternion=np.array([-math.sqrt(0.5), 0, 0, math.sqrt(0.5)])),
    )
    depth = taken(sensor, environment)['depth']
    assert depth[36, 48] == pytest.approx(2.9, abs=0.01)


def test_colours_of_parts_are_those_of_the_description():
    parts = Appearance(load_vehicle('bluerov2')).parts()
    assert any(np.allclose(part.colour, [0.1, 0.35, 0.75]) for part in parts)
    body = replace(body_of(load_vehicle('bluerov2'), 'other'), position=np.array([1.0, 0, -1.0]))
    image = taken(camera(), Environment(bodies=(body,)), (0, 0, -0.3), (0, 0.5, 0))['image']
    assert image[..., 2].astype(int).max() > 90
