# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Lidar above water against closed forms: walls, spheres, other vessels, and water."""

import math

import numpy as np
import pytest
from test_ray_sensors import ideal, noisy, sensor_of
from test_survey_sonars import Message, topic_fields

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import state_at_rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.scene.obstacles import Obstacle, Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.scene.terrain import HeightMap
from marine_sim_ros.sensors import SENSORS
from marine_sim_ros.sensors.lidar import ray_angles
from marine_sim_ros.sensors.seen_bodies import body_of, with_vehicles
from marine_sim_ros.sensors.sonar_messages import points_of

PUCK = sensor_of('lidar', 'vlp16', at=(0.0, 0.0, 1.5))
PLANE = sensor_of('lidar', 'lms111', at=(0.3, 0.0, 1.0))
WALL = Plane('quay', [20, 0, 0], [-1, 0, 0], 'concrete')


@pytest.mark.parametrize('rpy', [(0, 0, 0), (0.05, -0.1, 0.4)])
def test_ranges_to_a_quay_and_none_of_the_water(rpy):
    """x = 20 is at 20/(ray's x); what is below the surface there gives nothing."""
    found = ideal(PUCK, Environment(scene=Scene((WALL,))), (0, 0, 0), rpy)['range']
    azimuth, elevation = ray_angles(PUCK.spec)
    level = np.cos(elevation)[:, None]
    rays = np.stack(
        np.broadcast_arrays(
            level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)[:, None]
        ),
        axis=-1,
    )
    turn = rotation_matrix(quaternion_from_rpy(*rpy))
    origin, along = turn @ PUCK.position, rays @ turn.T
    with np.errstate(divide='ignore', invalid='ignore'):
        expected = (20 - origin[0]) / along[..., 0]
    height = origin[2] + expected * along[..., 2]
    hit = (expected > 0.5) & (expected <= 100) & (height > 0)
    assert hit.sum() > 1000
    assert found[hit] == pytest.approx(expected[hit], abs=1e-9)
    assert np.all(np.isinf(found[~hit]))


def test_terrain_above_water_is_seen_and_the_ground_below_is_not():
    """A beach rises from −4 m to 4 m: the row at −e meets it, unless it meets water first."""
    x, _ = np.meshgrid(np.arange(81.0), np.arange(81.0))
    beach = HeightMap([-40.0, -40.0], 1.0, 0.1 * (x - 40), 'sand')
    found = ideal(PUCK, Environment(scene=Scene((), beach)), (-10, 0, 0))['range']
    azimuth, elevation = ray_angles(PUCK.spec)
    ahead = int(np.argmin(np.abs(azimuth)))
    away = (0.1 * -10 - 1.5) / (np.tan(elevation) - 0.1)  # of the line z = 1.5 + r tan e
    height = 1.5 + away * np.tan(elevation)
    expected = np.where((away > 0) & (height > 0) & (height < 4), away / np.cos(elevation), np.inf)
    assert np.isfinite(expected).sum() >= 3
    assert np.isinf(expected[:4]).all()  # what looks down steeply meets water
    assert found[:, ahead] == pytest.approx(expected, rel=1e-6)


def test_a_sphere_and_another_vessel():
    ball = Obstacle('buoy', 'sphere', [2.0, 2.0, 2.0], [8.0, 0.0, 1.0], material='rubber')
    flat = ideal(PLANE, Environment(scene=Scene((), None, (ball,))), (0, 0, 0))['range'][0]
    azimuth, _ = ray_angles(PLANE.spec)
    inside = 1 - (7.7 * np.sin(azimuth)) ** 2
    hit = (inside > 0) & (np.cos(azimuth) > 0)
    expected = 7.7 * np.cos(azimuth) - np.sqrt(np.maximum(inside, 0))
    assert flat[hit] == pytest.approx(expected[hit])
    assert np.isinf(flat[~hit]).all()
    boat = load_vehicle('surface_vessel')
    around = with_vehicles(
        Environment(), {'boat': body_of(boat, 'boat')}, {'boat': state_at_rest((12.0, 3.0, 0.0))}
    )
    seen = ideal(sensor_of('lidar', at=(0, 0, 0.1), rows=1.0, columns=720.0, lowest=0.0), around)[
        'range'
    ][0]
    assert np.isfinite(seen).sum() > 3
    assert 9.0 < seen.min() < 12.5


def test_under_water_there_is_no_reading():
    from marine_sim_ros.sensors.series import has_reading

    assert not has_reading(ideal(PUCK, Environment(scene=Scene((WALL,))), (0, 0, -3)))
    assert has_reading(ideal(PUCK, Environment(), (0, 0, 0)))


def test_noise_and_lost_returns():
    sensor = sensor_of('lidar', at=(0, 0, 1.5), range_noise=0.02, dropout=0.1, columns=900.0)
    one = ideal(sensor, Environment(scene=Scene((WALL,))))
    hit = np.isfinite(one['range'])
    found = noisy(sensor, one, 700_000_000, seed=2)['range']
    lost = hit & np.isinf(found)
    assert lost.sum() / hit.sum() == pytest.approx(0.1, abs=0.02)
    error = (found - one['range'])[hit & ~lost]
    assert error.std() == pytest.approx(0.02, rel=0.05)
    assert np.isinf(found[~hit]).all()
    again = noisy(sensor, one, 700_000_000, seed=2)['range']
    assert np.array_equal(again, found)


def test_messages_are_a_cloud_or_a_scan():
    around = Environment(scene=Scene((WALL,)))
    readings = noisy(PUCK, ideal(PUCK, around), 0)
    assert [t.name for t in SENSORS['lidar'].topics_of(PUCK)] == ['points']
    cloud = points_of(Message(topic_fields(PUCK, 'points', readings)))
    assert cloud.shape == (16, 900)
    valid = np.isfinite(cloud['x'])
    assert cloud['x'][valid] == pytest.approx(20.0, abs=0.1)
    assert cloud['ring'][:, 0].tolist() == list(range(16))
    assert cloud['z'][-1][valid[-1]].min() > 0
    assert [t.name for t in SENSORS['lidar'].topics_of(PLANE)] == ['scan']
    scan = topic_fields(PLANE, 'scan', noisy(PLANE, ideal(PLANE, around), 0))
    assert scan['angle_min'] == pytest.approx(math.radians(-135))
    assert scan['angle_increment'] == pytest.approx(math.radians(0.5))
    assert scan['ranges'][270] == pytest.approx(19.7, abs=0.1)
    assert np.isinf(scan['ranges'][0])


def test_rows_from_above_are_refused():
    with pytest.raises(ValueError, match='<highest> is -20'):
        sensor_of('lidar', highest=-20.0)
