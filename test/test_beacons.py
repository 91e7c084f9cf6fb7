# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Pingers and transponders of the scene: bearings by delays, ranges, and positions."""

import math

import numpy as np
import pytest
from test_ray_sensors import ideal, noisy, sensor_of

from marine_sim_ros import load_scenario, load_vehicle, simulate
from marine_sim_ros.core.errors import MarineSimError
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.beacons import Beacon
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.scene.obstacles import Obstacle, Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors import SENSORS
from marine_sim_ros.sensors.acoustics import absorption, reflectivity
from marine_sim_ros.sensors.hydrophone import received_level
from marine_sim_ros.sensors.lbl import transponder_names

PINGER = Beacon('pinger', (30.0, 12.0, -9.0), 30.0, 170.0, 2.0, 0.3)
WATER = Environment(beacons=(PINGER,))
ARRAY = sensor_of('hydrophone', 'robosub', at=(0.2, 0.0, -0.1))
FLAT = sensor_of(
    'hydrophone', positions=(0.0, 0, 0, 0.02, 0, 0, 0, 0.02, 0, 0.02, 0.02, 0), pulse_length=4.0
)


def heard_at(sensor, place, rpy=(0, 0, 0), environment=WATER, beacon=PINGER):
    """Return the reading in which the first ping arrives."""
    origin = np.array(place) + rotation_matrix(quaternion_from_rpy(*rpy)) @ sensor.position
    travel = np.linalg.norm(np.array(beacon.position) - origin) / 1500
    time = (math.floor((beacon.start + travel) * 10) + 1) / 10
    return ideal(sensor, environment, place, rpy, time=time)


@pytest.mark.parametrize('rpy', [(0, 0, 0), (0.2, -0.3, 2.5)])
def test_delays_and_direction_are_those_of_geometry(rpy):
    place = np.array([3.0, -2.0, -4.0])
    found = heard_at(ARRAY, place, rpy)
    turn = rotation_matrix(quaternion_from_rpy(*rpy))
    phones = np.array(ARRAY.spec.positions).reshape(-1, 3)
    at = place + (ARRAY.position + phones) @ turn.T
    ranges = np.linalg.norm(np.array(PINGER.position) - at, axis=1)
    assert found['delays'] == pytest.approx((ranges[1:] - ranges[0]) / 1500, abs=1e-12)
    away = turn.T @ (np.array(PINGER.position) - place) - ARRAY.position
    true = away / np.linalg.norm(away)
    assert found['true_direction'] == pytest.approx(true)
    # Waves are spheres: a plane wave is wrong by half a baseline over the range.
    assert found['direction'] == pytest.approx(true, abs=0.0185 / np.linalg.norm(away))


def test_an_array_in_a_plane_takes_the_side_below():
    below = heard_at(FLAT, (0.0, 0.0, -2.0))
    assert below['direction'] == pytest.approx(below['true_direction'], abs=2e-3)
    above = heard_at(FLAT, (0.0, 0.0, -16.0))
    mirrored = above['true_direction'] * [1, 1, -1]
    assert above['direction'] == pytest.approx(mirrored, abs=2e-3)


def test_each_ping_is_in_one_reading():
    """Pings at 0.3, 2.3, 4.3 s and a way of 20 ms, whatever the ticks are."""
    for step in (0.005, 0.03, 0.07):
        ticks, heard, before = np.arange(0, 7, step), [], -1
        for time in ticks:
            if math.floor(time * 10 + 1e-9) == before:
                continue
            before = math.floor(time * 10 + 1e-9)
            found = ideal(ARRAY, WATER, (0, 0, -9), time=time)
            if not np.isnan(found['level']):
                heard.append(time)
        assert heard == pytest.approx([0.4, 2.4, 4.4, 6.4], abs=step)


def test_the_level_is_that_of_the_sonar_equation():
    found = heard_at(ARRAY, (0.0, 0.0, -9.0))
    away = math.dist(PINGER.position, (0.2, 0, -9.1))
    expected = 170 - 20 * math.log10(away) - absorption(30.0, 10.0, 35.0, 9.05) * away
    assert found['level'] == pytest.approx(expected, abs=1e-3)
    deaf = sensor_of('hydrophone', noise_level=expected - 5.0, threshold=6.0)
    assert np.isnan(heard_at(deaf, (0.0, 0.0, -9.0))['level'])


def test_first_echoes_interfere():
    """Lloyd's mirror: |exp(ikr₁)/r₁ − exp(ikr₂)/r₂|, and with it the echo of the bottom."""
    low = Beacon('low', (200.0, 0.0, -6.0), 0.5, 170.0)
    water, k = Environment(), 2 * math.pi * 500 / 1500
    floor = Plane('floor', [0, 0, -30], [0, 0, 1], 'rock')
    ground = Environment(scene=Scene((floor,)))
    levels = []
    for depth in np.linspace(1.0, 25.0, 25):
        point = np.array([0.0, 0.0, -depth])
        direct, surface = math.hypot(200, depth - 6), math.hypot(200, depth + 6)
        bottom = math.hypot(200, 60 - depth - 6)
        loss = absorption(0.5, 10.0, 35.0, (depth + 6) / 2)
        parts = [
            factor * np.exp(1j * k * r) / r * 10 ** (-loss * r / 20)
            for factor, r in (
                (1, direct), (-1, surface), (math.sqrt(reflectivity('rock')), bottom)
            )
        ]  # fmt: skip
        for around, count in ((water, 2), (ground, 3)):
            expected = 170 + 20 * math.log10(abs(sum(parts[:count])))
            found = received_level(around, low, point, multipath=True)
            assert found == pytest.approx(expected, abs=1e-3)
        levels.append(received_level(water, low, point, multipath=True))
    alone = received_level(water, low, np.array([0.0, 0.0, -20.0]))
    assert max(levels) - alone == pytest.approx(6.0, abs=0.5)  # twice the pressure
    assert min(levels) < alone - 6


def test_a_receiver_hears_its_band_the_loudest_and_nothing_behind_a_wall():
    other = Beacon('other', (5.0, 0.0, -9.0), 40.0, 170.0, 2.0, 0.3)
    both = Environment(beacons=(PINGER, other))
    narrow = sensor_of('hydrophone', frequency=30.0)
    assert heard_at(narrow, (0, 0, -9), environment=both)['true_direction'][1] > 0.2
    tuned = sensor_of('hydrophone', frequency=40.0)
    loudest = heard_at(ARRAY, (0, 0, -9), environment=both)
    assert loudest['true_direction'][0] == pytest.approx(1, abs=1e-3)
    assert heard_at(tuned, (0, 0, -9), environment=both, beacon=other)[
        'true_direction'
    ] == pytest.approx([1, 0, 0])
    wall = Obstacle('wall', 'box', [0.2, 40.0, 40.0], [10.0, 0.0, -9.0], material='concrete')
    behind = Environment(beacons=(PINGER,), scene=Scene((), None, (wall,)))
    assert np.isnan(heard_at(ARRAY, (0, 0, -9), environment=behind)['level'])
    assert np.isnan(heard_at(ARRAY, (0, 0, 0.5))['level'])


def test_noise_of_a_bearing_is_that_of_the_bound():
    """σ_t = 1/(2π f √(2 q B T)) at each hydrophone, and √2 c σ_t/d across a baseline d."""
    place = (0.0, 0.0, -9.0)
    sensor = sensor_of('hydrophone', noise_level=118.0)
    one = heard_at(sensor, place)
    ratio = 10 ** (0.1 * (one['level'] - 118.0)) * 5e3 * 4e-3
    deviation = 1 / (2 * math.pi * 30e3 * math.sqrt(2 * ratio))
    assert one['deviation'] == pytest.approx(deviation)
    stamps = np.arange(4000) * 100_000_000
    many = {name: np.stack([value] * len(stamps)) for name, value in one.items()}
    found = noisy(sensor, many, stamps, seed=3)
    error = found['delays'] - one['delays']
    assert error.std() == pytest.approx(math.sqrt(2) * deviation, rel=0.03)
    azimuth = np.arctan2(found['direction'][:, 1], found['direction'][:, 0])
    chart = SENSORS['hydrophone'].charts[0]
    states = State(np.zeros((4000, 3)), np.zeros((4000, 4)), np.zeros((4000, 6)))
    compared = chart.compare(sensor, found['direction'], many, states)
    normal = (compared.reading - compared.truth) / compared.deviation
    assert normal.std(axis=0) == pytest.approx([1, 1], rel=0.06)
    assert azimuth.std() == pytest.approx(compared.deviation[0, 0], rel=0.06)
    again = noisy(sensor, {k: v[5] for k, v in many.items()}, int(stamps[5]), seed=3)
    assert np.array_equal(again['direction'], found['direction'][5])


def test_hydrophones_on_a_line_are_refused():
    with pytest.raises(ValueError, match='on one line'):
        sensor_of('hydrophone', positions=(0.0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0))


STATIONS = tuple(
    Beacon(f't{i}', place, 25.0)
    for i, place in enumerate([(0.0, 0, -30), (100.0, 0, -32), (0.0, 120, -28), (90.0, 90, -31)])
)


def test_ranges_of_transponders_give_the_position_back():
    sensor = sensor_of('lbl', at=(0.1, 0.0, 0.2))
    place = np.array([40.0, 35.0, -10.0])
    found = ideal(sensor, Environment(beacons=(PINGER, *STATIONS)), tuple(place))
    at = place + np.array([0.1, 0, 0.2])
    expected = [math.dist(s.position, at) for s in STATIONS]
    assert found['range'] == pytest.approx(expected, abs=1e-9)
    assert transponder_names(found) == ['t0', 't1', 't2', 't3']
    message = SENSORS['lbl'].topics[0].fields(sensor, found)
    assert message['name'] == ['t0', 't1', 't2', 't3']
    assert found['delay'] == pytest.approx(0.1 + 2 * max(expected) / 1500)
    stations = np.array([s.position for s in STATIONS])
    # Differences of squares are linear in the position; the depth is known.
    left = 2 * (stations[1:] - stations[0])
    right = np.sum(stations[1:] ** 2 - stations[0] ** 2, axis=1) - (
        found['range'][1:] ** 2 - found['range'][0] ** 2
    )
    solved = np.linalg.lstsq(left[:, :2], right - left[:, 2] * at[2], rcond=None)[0]
    assert solved == pytest.approx(at[:2], abs=1e-6)


def test_errors_and_echoes_of_lbl_ranges():
    environment = Environment(beacons=STATIONS)
    sensor = sensor_of('lbl', range_noise=0.3, multipath=0.25, max_range=118.0)
    one = ideal(sensor, environment, (10.0, 5.0, -8.0))
    assert np.isnan(one['range']).tolist() == [False, False, False, True]
    image = [
        math.dist((s.position[0], s.position[1], -s.position[2]), (10, 5, -8)) for s in STATIONS
    ]
    assert one['echo'][:3] == pytest.approx(image[:3])
    stamps = np.arange(2000) * 2_000_000_000
    many = {name: np.stack([value] * len(stamps)) for name, value in one.items()}
    found = noisy(sensor, many, stamps, seed=8)['range'][:, :3]
    by_echo = np.abs(found - one['echo'][:3]) < np.abs(found - one['range'][:3])
    assert by_echo.mean() == pytest.approx(0.25, abs=0.02)
    error = np.where(by_echo, found - one['echo'][:3], found - one['range'][:3])
    assert error.std() == pytest.approx(0.3, rel=0.03)
    fast = sensor_of('lbl', assumed_sound_speed=1515.0)
    ratio = ideal(fast, environment, (10.0, 5.0, -8.0))['range'][:3] / one['range'][:3]
    assert ratio == pytest.approx(1.01)


def test_nothing_answers_in_water_without_transponders():
    from marine_sim_ros.sensors.series import has_reading

    assert not has_reading(ideal(sensor_of('lbl'), WATER, (0, 0, -5)))


def test_an_inverted_usbl_knows_its_position():
    sensor = sensor_of('pinger', at=(0.3, 0.1, -0.2), turn=quaternion_from_rpy(0, 0.3, 0.5),
                       beacon=(50.0, -20.0, -30.0), fix=1.0)  # fmt: skip
    found = ideal(sensor, Environment(), (10.0, 4.0, -6.0), (0.1, -0.2, 2.0))
    assert found['position'] == pytest.approx([10.0, 4.0, -6.0])
    noise = {**{'beacon': (50.0, -20.0, -30.0), 'fix': 1.0}, 'heading_bias': 0.02}
    biased = sensor_of('pinger', **noise)
    one = ideal(biased, Environment(), (10.0, 4.0, -6.0))
    moved = noisy(biased, one, 7, seed=1)['position'] - [10.0, 4.0, -6.0]
    turn = 2 * math.asin(np.linalg.norm(moved[:2]) / 2 / math.hypot(40, 24))
    assert 0 < turn < 0.1
    assert moved[2] == pytest.approx(0.0, abs=1e-9)


def test_beacons_of_an_environment_file(tmp_path):
    file = tmp_path / 'pool.yaml'
    file.write_text(
        'beacons:\n'
        '- {name: gate, position: [10, 2, -3], frequency: 32, period: 1.5}\n'
        '- {name: t1, position: [0, 50, -20]}\n',
        encoding='utf-8',
    )
    gate, station = load_environment(str(file)).beacons
    assert (gate.position, gate.frequency, gate.period) == ((10.0, 2.0, -3.0), 32.0, 1.5)
    assert (station.period, station.turnaround) == (0.0, 0.1)
    for content, expected in (
        ('- {name: a}', 'position'),
        ('- {name: a, position: [1, 2]}', 'a list of 3 numbers'),
        ('- {name: a, position: [1, 2, 3], loud: 3}', "unknown key 'loud'"),
        (
            '- {name: a, position: [1, 2, 3]}\n- {name: a, position: [1, 2, 4]}',
            'a name of its own',
        ),
        ('- {name: a, position: [1, 2, 3], period: -1}', '0 to 3600'),
    ):
        file.write_text(f'beacons:\n{content}\n', encoding='utf-8')
        with pytest.raises(MarineSimError, match='beacons') as error:
            load_environment(str(file))
        assert expected in str(error.value)
        assert '\n' not in str(error.value)


def test_a_run_hears_pings_and_answers():
    vehicle = load_vehicle('bluerov2', hydrophone='true', lbl='true')
    around = Environment(beacons=(PINGER, *STATIONS))
    run = simulate(vehicle, load_scenario('dive'), environment=around, duration=5.0)
    assert np.isfinite(run.sensors['hydrophone']['level']).sum() == 3
    answers = run.sensors['lbl']
    assert len(answers.stamp) == 3
    assert np.all(answers.arrival >= answers.stamp + 100_000_000)
