# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Echo sounder and profiling sonar against closed forms: ranges, levels, speckle, the driver."""

import math

import numpy as np
import pytest
from test_instruments import served
from test_ping import client_of
from test_ray_sensors import ideal, noisy, sensor_of
from test_survey_sonars import Message, topic_fields

from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.scene.obstacles import Obstacle, Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors.acoustics import (
    absorption,
    backscatter,
    beam_pattern,
    transmission_loss,
)
from marine_sim_ros.sensors.echo_sounder import echo_ranges

DOWN = quaternion_from_rpy(0.0, math.pi / 2, 0.0)
FLOOR = Environment(scene=Scene((Plane('floor', [0, 0, -40.0], [0, 0, 1], 'sand'),)))
FINE = {'bins': 4000.0, 'rays': 512.0}
SOUNDER = sensor_of('echo_sounder', turn=DOWN, **FINE)


@pytest.mark.parametrize('height', [2.0, 8.123, 33.3])
def test_the_range_of_a_level_bottom_is_the_height(height):
    """1 cm, which is 13 µs of travel both ways."""
    found = ideal(SOUNDER, FLOOR, (0, 0, height - 40))
    assert float(found['range']) == pytest.approx(height, abs=0.01)
    assert 2 * abs(float(found['range']) - height) / 1500 < 10e-6


def test_a_sphere_and_a_wall():
    ball = Obstacle('ball', 'sphere', [4.0, 4.0, 4.0], [0.0, 0.0, -20.0], material='rock')
    found = ideal(SOUNDER, Environment(scene=Scene((), None, (ball,))), (0, 0, -5.0))
    assert float(found['range']) == pytest.approx(13.0, abs=0.01)
    ahead = sensor_of('echo_sounder', **FINE)
    wall = Environment(scene=Scene((Plane('wall', [9, 0, 0], [-1, 0, 0], 'concrete'),)))
    assert float(ideal(ahead, wall, (0, 0, -50.0))['range']) == pytest.approx(9.0, abs=0.01)
    assert ideal(SOUNDER, Environment(), (0, 0, -5.0))['range'] == np.inf


def test_levels_of_a_profile_are_those_of_the_sonar_equation():
    """Rings r = h/cos φ of a level bottom: SL − 2 TL + S_b + 10 log(2π r δ b²), within 1 dB."""
    spec, height = SOUNDER.spec, 10.0
    found = ideal(SOUNDER, FLOOR, (0, 0, height - 40))['profile']
    ranges = echo_ranges(spec)
    late = (ranges > height + 0.2) & (ranges < height / math.cos(math.radians(25.0)))
    r = ranges[late]
    angle = np.arccos(height / r)
    pulse = 0.5e-6 * 1500 * spec.pulse_length
    area = 2 * math.pi * r * pulse  # of a ring: ρ dρ = r dr
    strength = backscatter('sand', np.pi / 2 - angle, spec.frequency)
    pattern = beam_pattern(angle, math.radians(spec.beam_width)) ** 2
    level = spec.source_level - 2 * transmission_loss(r, absorption(spec.frequency))
    level = level + 10 * np.log10(strength * area * pattern)
    assert 10 * np.log10(found[late]) == pytest.approx(level, abs=1.0)


def test_speckle_of_a_profile_is_rayleigh_and_its_ranges_scatter_as_stated():
    from scipy.stats import kstest

    one = ideal(SOUNDER, FLOOR, (0, 0, -30.0))
    found = [noisy(SOUNDER, one, i * 100_000_000, 5) for i in range(300)]
    noise = 10 ** (0.1 * SOUNDER.spec.noise_level)
    ratio = np.stack([f['profile'] for f in found[:5]]) / (one['profile'] + noise)
    assert kstest(np.sqrt(ratio).ravel(), 'rayleigh', args=(0, math.sqrt(0.5))).pvalue > 0.01
    error = (np.array([f['range'] for f in found]) - one['range']) / one['deviation']
    assert error.std() == pytest.approx(1.0, rel=0.1)


@pytest.mark.parametrize('slope', [0.0, 20.0])
def test_a_profiler_turns_and_ranges_a_wall(slope):
    """A plane at 6 m, its normal turned by the slope: r = 6 cos s/cos(β − s) at the bearing β."""
    tilt = math.radians(slope)
    normal = [-math.cos(tilt), -math.sin(tilt), 0.0]
    wall = Environment(scene=Scene((Plane('wall', [6, 0, 0], normal, 'concrete'),)))
    head = sensor_of('profiler', 'seaking_profiler', bins=4000.0)
    found = [ideal(head, wall, (0, 0, -50.0), time=i * head.period / 1e9) for i in range(200)]
    bearing = np.array([f['bearing'] for f in found])
    assert np.diff(np.degrees(bearing)) == pytest.approx(0.9)
    ranges = np.array([f['range'] for f in found])
    expected = 6 * math.cos(tilt) / np.cos(bearing - tilt)
    near = np.abs(bearing - tilt) < math.radians(30.0)
    assert near.sum() > 60
    assert ranges[near] == pytest.approx(expected[near], abs=0.01)
    scan = Message(topic_fields(head, 'scan', noisy(head, found[100], 0)))
    assert scan.angle_min == pytest.approx(bearing[100])
    assert scan.ranges[0] == pytest.approx(expected[100], abs=0.1)


def test_messages_of_an_echo_sounder():
    readings = noisy(SOUNDER, ideal(SOUNDER, FLOOR, (0, 0, -30.0)), 0)
    picture = topic_fields(SOUNDER, 'profile', readings)
    assert (picture['height'], picture['width']) == (1, 4000)
    assert echo_ranges(SOUNDER.spec)[np.argmax(picture['data'])] == pytest.approx(10.0, abs=1.5)
    raw = Message(topic_fields(SOUNDER, 'image', readings))
    amplitude = np.frombuffer(raw.image.data.tobytes(), np.float32)
    assert amplitude**2 == pytest.approx(readings['profile'], rel=1e-5)
    message = Message(topic_fields(SOUNDER, 'range', readings))
    assert message.range == pytest.approx(10.0, abs=0.2)
    lost = noisy(SOUNDER, ideal(SOUNDER, Environment(), (0, 0, -30.0)), 0)
    assert topic_fields(SOUNDER, 'range', lost)['range'] == math.inf
    assert topic_fields(SOUNDER, 'confidence', lost)['data'] == 0.0


def test_the_official_client_reads_the_profile():
    brping = pytest.importorskip('brping')
    with served('ping1d', 'echo_sounder') as rig:
        client = client_of(rig, brping.Ping1D)
        assert client.initialize()
        sent = rig.read()
        found = client.get_profile()
        assert len(found['profile_data']) == 200
        assert (found['scan_start'], found['scan_length']) == (300, 49700)
        assert abs(found['distance'] / 1000 - sent.readings['range']) <= 0.0005
        brightest = int(np.argmax(np.frombuffer(bytes(found['profile_data']), np.uint8)))
        spec = sensor_of('echo_sounder', 'ping2_profile').spec
        assert echo_ranges(spec)[brightest] == pytest.approx(
            float(sent.readings['range']), abs=1.5
        )
