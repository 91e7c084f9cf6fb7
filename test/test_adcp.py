# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""ADCP against currents in closed form, noise of its beams, and the cut-off at the bottom."""

import math

import numpy as np
import pytest
from test_ray_sensors import DOWN, ideal, noisy, sensor_of
from test_survey_sonars import Message, topic_fields

from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.environment.environment import CurrentProfile, Environment
from marine_sim_ros.scene.obstacles import Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors.adcp import layer_distances
from marine_sim_ros.sensors.sonar_messages import points_of

BOTTOM = Plane('floor', [0, 0, -40.0], [0, 0, 1], 'sand')
SHEAR = CurrentProfile([0.0, 100.0], [[1.0, 0.0, 0.0], [-1.0, 0.5, 0.0]])
"""u = 1 − 0.02 d east, v = 0.005 d north at the depth d."""
WATER = Environment(profile=SHEAR, scene=Scene((BOTTOM,)))
LOOKING = sensor_of('adcp', turn=DOWN, at=(0.2, 0.0, -0.1))


def shear(depth):
    return np.stack([1 - 0.02 * depth, 0.005 * depth, 0 * depth], axis=-1)


@pytest.mark.parametrize('rpy', [(0, 0, 0), (0, 0, 1.1), (0.15, -0.1, 2.0)])
def test_layers_of_a_linear_profile(rpy):
    """The four beams' mean of a shear is that on the axis: exact, whatever the attitude."""
    velocity = (0.7, -0.2, 0.1, 0.02, -0.03, 0.2)
    found = ideal(LOOKING, WATER, (3, 4, -10.0), rpy, velocity)
    turn = rotation_matrix(quaternion_from_rpy(*rpy))
    place = np.array([0.2, 0.0, -0.1])
    own = turn @ (np.array(velocity[:3]) + np.cross(velocity[3:], place))
    axis = turn @ LOOKING.rotation @ [0, 0, 1]
    z = -10.0 + (turn @ place)[2] + layer_distances(LOOKING.spec) * axis[2]
    expected = (shear(-z) - own) @ turn @ LOOKING.rotation
    level = rpy[:2] == (0, 0)
    # A tilted instrument takes beams at unlike depths for one layer: an error of the shear.
    assert found['velocity'] == pytest.approx(expected, abs=1e-9 if level else 0.08)
    assert found['water_track'] == pytest.approx(-found['velocity'][0])
    earth = sensor_of('adcp', turn=DOWN, at=(0.2, 0.0, -0.1), earth=1.0)
    over_ground = ideal(earth, WATER, (3, 4, -10.0), rpy, velocity)['velocity']
    assert over_ground == pytest.approx(shear(-z), abs=1e-9 if level else 0.08)


def test_a_cell_weighs_the_water_by_a_triangle():
    """Water that moves below 20 m only: a triangle of two layers has 1/8 half a layer beyond."""
    step = CurrentProfile([20.0, 20.0 + 1e-6], [[0.0, 0, 0], [1.0, 0, 0]])
    fine = sensor_of('adcp', turn=DOWN, layers=3.0, layer_size=8.0, blanking=4.0)
    quadratic = [[0.01 * d * d, 0.0, 0.0] for d in np.linspace(0, 60, 6001)]
    smooth = CurrentProfile(np.linspace(0, 60, 6001), quadratic)
    found = ideal(fine, Environment(profile=smooth), (0, 0, 0 - 1.0))['velocity'][:, 0]
    depth = 1.0 + layer_distances(fine.spec)
    # The mean of d² with a triangle of half-width Δ: d² + Δ²/6.
    assert found == pytest.approx(0.01 * (depth**2 + 8.0**2 / 6), abs=2e-3)
    assert ideal(fine, Environment(profile=step), (0, 0, -1.0))['velocity'][2, 0] == pytest.approx(
        1
    )


@pytest.mark.parametrize('altitude', [5.0, 12.5, 30.0])
def test_the_bottom_cuts_layers_off(altitude):
    """The echo of the side lobes straight down covers what is beyond D cos θ."""
    sensor = sensor_of('adcp', turn=DOWN, layers=20.0, layer_size=1.0, blanking=0.5)
    found = ideal(sensor, WATER, (0, 0, altitude - 40.0))
    valid = np.isfinite(found['velocity'][:, 0])
    assert np.array_equal(
        valid, layer_distances(sensor.spec) + 1.0 <= altitude * math.cos(math.radians(25))
    )
    assert valid.any()
    assert np.array_equal(np.isfinite(found['beam_velocity']).all(axis=0), valid)


def test_looking_up_the_surface_cuts_layers_off():
    sensor = sensor_of('adcp', layers=20.0)
    valid = np.isfinite(ideal(sensor, Environment(), (0, 0, -9.0))['velocity'][:, 0])
    assert valid.sum() == np.sum(
        layer_distances(sensor.spec) + 1 <= 9 * math.cos(math.radians(25))
    )
    assert np.isnan(ideal(sensor, Environment(), (0, 0, 0.5))['velocity']).all()


def test_noise_is_that_of_four_beams():
    """σ_u = σ/(√2 sin θ), σ_w = σ/(2 cos θ) of σ/√pings."""
    sensor = sensor_of('adcp', turn=DOWN, velocity_noise=0.06, pings=4.0, layers=15.0)
    one = ideal(sensor, WATER, (0, 0, -10.0))
    stamps = np.arange(400) * 1_000_000_000
    many = {name: np.stack([value] * len(stamps)) for name, value in one.items()}
    found = noisy(sensor, many, stamps, seed=5)
    error = found['velocity'] - one['velocity']
    angle = math.radians(25)
    for axis, expected in enumerate(
        (0.03 / (math.sqrt(2) * math.sin(angle)), 0.03 / (math.sqrt(2) * math.sin(angle)),
         0.03 / (2 * math.cos(angle)))
    ):  # fmt: skip
        assert error[..., axis].std() == pytest.approx(expected, rel=0.03)
        assert abs(error[..., axis].mean()) < 4 * expected / math.sqrt(error[..., 0].size)
    cloud = points_of(
        Message(topic_fields(sensor, 'profile', {k: v[0] for k, v in found.items()}))
    )
    assert cloud['u_deviation'][0, 0] == pytest.approx(
        0.03 / (math.sqrt(2) * math.sin(angle)), rel=1e-6
    )
    again = noisy(sensor, {k: v[9] for k, v in many.items()}, int(stamps[9]), seed=5)
    assert np.array_equal(again['velocity'], found['velocity'][9])


def test_errors_that_last():
    one = ideal(LOOKING, WATER, (0, 0, -10.0))
    scaled = sensor_of('adcp', turn=DOWN, at=(0.2, 0, -0.1), velocity_noise=0.0, scale_error=0.01)
    ratio = noisy(scaled, one, 5, seed=2)['velocity'][:, 0] / one['velocity'][:, 0]
    assert np.ptp(ratio) < 1e-12
    assert 0 < abs(ratio[0] - 1) < 0.05
    turned = sensor_of(
        'adcp', turn=DOWN, velocity_noise=0.0, heading_bias=0.1, misalignment=0.0, earth=1.0
    )
    true = ideal(turned, WATER, (0, 0, -10.0))
    wrong = noisy(turned, true, 5, seed=2)['velocity']
    assert np.hypot(*wrong[:, :2].T) == pytest.approx(np.hypot(*true['velocity'][:, :2].T))
    assert abs(wrong[0] - true['velocity'][0]).max() > 1e-3


def test_messages_of_an_adcp():
    readings = noisy(LOOKING, ideal(LOOKING, WATER, (0, 0, -25.0)), 0)
    profile = points_of(Message(topic_fields(LOOKING, 'profile', readings)))[0]
    assert profile['z'] == pytest.approx(layer_distances(LOOKING.spec))
    assert np.isnan(profile['u'][-1])
    assert np.isnan(profile['u_deviation'][-1])
    assert profile['u'][0] == pytest.approx(readings['velocity'][0, 0], abs=1e-6)
    cells = points_of(Message(topic_fields(LOOKING, 'beams', readings)))
    assert cells.shape == (4, 20)
    assert cells['z'][2] == pytest.approx(profile['z'])
    track = topic_fields(LOOKING, 'water_track', readings)
    assert track['twist']['twist']['linear']['x'] == pytest.approx(-readings['velocity'][0, 0])
    dry = ideal(LOOKING, WATER, (0, 0, 1.0))
    assert topic_fields(LOOKING, 'water_track', dry) is None
