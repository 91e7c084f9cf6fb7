# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Other vehicles in the rays of a vehicle's sensors."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import vehicle_of

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.rays import first_hits, hit_materials
from marine_sim_ros.scene.bodies import body_hits
from marine_sim_ros.scene.obstacles import Obstacle, Plane
from marine_sim_ros.scene.rays import cast_rays
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors.seen_bodies import body_of

RNG = np.random.default_rng(22)
PLACE, TURN = np.array([0.4, -0.3, -6.0]), quaternion_from_rpy(0.3, -0.5, 1.1)


def rays(count):
    """Return origins around PLACE, and directions of which about half meet something there."""
    away = RNG.normal(size=(count, 3))
    away *= 3 / np.linalg.norm(away, axis=-1, keepdims=True)
    d = -away + RNG.normal(scale=0.25, size=(count, 3))
    return PLACE + away, d / np.linalg.norm(d, axis=-1, keepdims=True)


def placed(body):
    return replace(body, position=PLACE, orientation=TURN)


def boxed(collisions):
    """Return a vehicle whose collisions are those."""
    body = '<inertial><mass value="10"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    shapes = ''.join(
        f'<collision><origin xyz="{xyz}" rpy="{rpy}"/><geometry>{geometry}</geometry></collision>'
        for xyz, rpy, geometry in collisions
    )
    return load_vehicle(
        f'<robot name="part"><link name="base_link">{body}</inertial>{shapes}</link></robot>'
    )


@pytest.mark.parametrize('name', ['bluerov2', 'bluerov2_heavy', 'simple_rov'])
def test_rays_meet_a_vehicle_where_they_meet_the_meshes_of_its_boxes(name):
    trimesh = pytest.importorskip('trimesh')
    body = placed(body_of(load_vehicle(name), name))
    assert len(body.normal) >= 1
    origins, directions = rays(2000)
    turn, found = rotation_matrix(TURN), np.full(len(origins), np.inf)
    for a, b in zip(body.normal, body.offset, strict=True):
        # The corners are where three of its planes meet, within all others.
        real = np.linalg.norm(a, axis=1) > 0
        spatial = pytest.importorskip('scipy.spatial')
        half = np.column_stack([a, -b])[real]
        inside = np.linalg.lstsq(a[real], b[real], rcond=None)[0]
        corners = spatial.HalfspaceIntersection(half, inside).intersections
        mesh = trimesh.convex.convex_hull(corners @ turn.T + PLACE)
        for triangle, facing in zip(mesh.triangles, mesh.face_normals, strict=True):
            at = triangle[:1].repeat(len(origins), 0)
            points, valid = trimesh.intersections.planes_lines(
                at, np.tile(facing, (len(origins), 1)), origins, directions
            )
            corners = np.tile(triangle, (len(points), 1, 1))
            within = trimesh.triangles.points_to_barycentric(corners, points).min(axis=1) >= -1e-9
            index = np.flatnonzero(valid)[within]
            way = np.sum((points[within] - origins[index]) * directions[index], axis=1)
            found[index] = np.minimum(found[index], np.where(way < 0, np.inf, way))
    distance, normal = body_hits(body, origins, directions)
    met = np.isfinite(found)
    assert 200 < met.sum() < 1900
    np.testing.assert_array_equal(np.isfinite(distance), met)
    np.testing.assert_allclose(distance[met], found[met], rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(normal[met], axis=1), 1, atol=1e-12)
    assert np.all(np.sum(normal * directions, axis=1)[met] < 0)


@pytest.mark.parametrize(
    ('geometry', 'obstacle'),
    [
        ('<box size="1 0.6 0.4"/>', ('box', [1.0, 0.6, 0.4])),
        ('<sphere radius="0.5"/>', ('sphere', [1.0, 1.0, 1.0])),
    ],
)
def test_a_shape_of_a_vehicle_is_met_as_the_same_obstacle_is(geometry, obstacle):
    vehicle = boxed([('0 0 0', '0 0 0', geometry)])
    kind, size = obstacle
    scene = Scene(obstacles=(Obstacle('o', kind, size, PLACE, TURN),))
    origins, directions = rays(2000)
    origins[:50] = PLACE  # these begin inside
    wanted = cast_rays(scene, origins, directions, 100.0)
    distance, normal = body_hits(placed(body_of(vehicle, 'v')), origins, directions)
    assert 200 < np.isfinite(distance).sum() < 1900
    np.testing.assert_allclose(distance, wanted.distance, rtol=0, atol=1e-9)
    outside = np.isfinite(distance) & (distance > 0)
    np.testing.assert_allclose(normal[outside], wanted.normal[outside], rtol=0, atol=1e-9)


def test_rays_along_the_faces_of_a_box_meet_it_between_them_only():
    vehicle = boxed([('0 0 0', '0 0 0', '<box size="2 2 2"/>')])
    body = body_of(vehicle, 'v')
    origins = np.array([[-5.0, 0.0, 0.5], [-5.0, 0.0, 1.5], [5.0, 0.0, 0.5]])
    distance, _ = body_hits(body, origins, np.tile([1.0, 0.0, 0.0], (3, 1)))
    np.testing.assert_allclose(distance, [4.0, np.inf, np.inf], atol=1e-9)


def test_the_nearest_of_seabed_neighbours_and_surface_is_met():
    body = placed(body_of(vehicle_of('simple_rov'), '/other'))
    floor = Scene((Plane('floor', [0.0, 0.0, -10.0], [0.0, 0.0, 1.0], 'sand'),))
    environment = Environment(scene=floor, bodies=(body,))
    down, up = [0.0, 0.0, -1.0], [0.0, 0.0, 1.0]
    rise = np.array([0.0, 0.0, 3.0])
    above, below = PLACE + rise, PLACE - rise
    beside = above + np.array([5.0, 0.0, 0.0])
    origins = np.array([above, beside, above, below])
    hits = first_hits(environment, origins, np.array([down, down, up, up]), 50.0)
    names = hit_materials(environment)
    assert [names[int(i)] for i in hits.surface] == [
        'aluminium',
        'sand',
        'water_surface',
        'aluminium',
    ]
    assert hits.distance[1] == pytest.approx(7.0, abs=1e-12)
    assert hits.distance[0] < 3.0
    far = first_hits(environment, origins[:1], np.array([down]), 1.0)
    assert far.surface[0] == -1


def test_an_altimeter_reads_the_way_to_the_vehicle_below():
    from marine_sim_ros.sensors import SENSORS, SensorInputs

    vehicle = vehicle_of('bluerov2', altimeter='true')
    sensor = next(s for s in vehicle.sensors if s.kind == 'altimeter')
    state = State(np.array([0.0, 0.0, -1.0]), np.array([0.0, 0.0, 0.0, 1.0]), np.zeros(6))
    wide = body_of(boxed([('0 0 0', '0 0 0', '<box size="20 20 1"/>')]), '/wide')
    below = replace(wide, position=np.array([0.0, 0.0, -6.0]))
    reading = SENSORS['altimeter'].measure(
        sensor, state, Environment(bodies=(below,)), SensorInputs.none()
    )
    wanted = 5.5 - 1.0 + float(sensor.position[2])
    assert float(reading['range']) == pytest.approx(wanted, abs=0.05)
