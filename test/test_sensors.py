# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sensors against closed forms, published values and independent programs."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from conftest import ROOT, vehicle_of
from scipy.spatial.transform import Rotation

from marine_sim_ros import Environment, MarineSimError, load_scenario, load_vehicle, simulate
from marine_sim_ros.core.errors import ModelError, ParameterError
from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.core.schema import numbers_of
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.environment.reader import parse_environment
from marine_sim_ros.faults.fault_types import SensorFreeze, parse_faults
from marine_sim_ros.model.sensors import read_preset
from marine_sim_ros.sensors import SENSORS, SensorInputs
from marine_sim_ros.sensors.noise import slow_noise, white_noise
from marine_sim_ros.sensors.series import SensorReader, SensorRecord

BODY = """<robot name="buoy">
  <link name="base_link">
    <inertial><mass value="12"/>
      <inertia ixx="0.13" ixy="0" ixz="0" iyy="0.24" iyz="0" izz="0.29"/></inertial>
  </link>
  <link name="mast"/>
  <joint name="mast_joint" type="fixed"><parent link="base_link"/><child link="mast"/>
    <origin xyz="0.1 -0.2 0.3" rpy="0 0 1.5707963267948966"/></joint>
  <buoyancy><volume>0.012</volume><height>0.2</height></buoyancy>
  {}
</robot>
"""


def vehicle_with(*elements):
    return load_vehicle(BODY.format('\n  '.join(elements)))


def sensor_of(element):
    (sensor,) = vehicle_with(element).sensors
    return sensor


def measured(sensor, state, environment=None, inputs=None):
    measure = SENSORS[sensor.kind].measure
    return measure(sensor, state, environment or Environment(), inputs or SensorInputs.none())


def random_states(rng, count):
    quaternion = rng.normal(size=(count, 4))
    quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
    position = rng.normal(size=(count, 3)) * 5 - np.array([0, 0, 20])
    return State(position, quaternion, rng.normal(size=(count, 6)))


# Places, rates and latencies.


def test_an_origin_makes_a_frame_of_its_own_and_a_link_is_one():
    own = sensor_of('<sensor type="imu" link="mast"><origin xyz="1 0 0" rpy="0.1 0 0"/></sensor>')
    assert (own.frame, own.own_frame) == ('imu_frame', True)
    np.testing.assert_allclose(own.position, [0.1, 0.8, 0.3], atol=1e-12)
    turned = Rotation.from_euler('z', 90, degrees=True) * Rotation.from_euler('x', 0.1)
    np.testing.assert_allclose(own.rotation, turned.as_matrix(), atol=1e-12)
    link = sensor_of('<sensor type="imu" link="mast" name="other"/>')
    assert (link.name, link.frame, link.own_frame) == ('other', 'mast', False)


def record(sensor, stamps, faults=(), seed=3):
    """Return the series of a sensor at rest over stamps, and what a node reads of it."""
    vehicle = vehicle_with(sensor) if isinstance(sensor, str) else sensor
    (own,) = vehicle.sensors
    n, none = len(stamps), SensorInputs.none()
    state = state_at_rest((0.0, 0.0, -2.0))
    states = State(*(np.repeat(x[None], n, axis=0) for x in state))
    inputs = none._replace(
        **{k: np.repeat(x[None], n, axis=0) for k, x in none._asdict().items() if x is not None}
    )
    found = SensorRecord(vehicle, Environment(), stamps, states, inputs, seed=seed, faults=faults)[
        own.name
    ]
    reader, told = SensorReader(own, seed), []
    for stamp in stamps.tolist():
        told.append((stamp, reader.read(stamp, state, Environment(), none, faults)))
    return found, told


def same(found, told):
    """Assert that a node reads what a record has."""
    rows = {stamp: i for i, stamp in enumerate(found.stamp.tolist())}
    for stamp, answer in told:
        expected = None if stamp not in rows else found.at(rows[stamp])
        assert (answer is None) == (expected is None)
        if answer is not None:
            for name, values in expected.items():
                assert np.array_equal(values, answer[1][name]), name


@pytest.mark.parametrize('freeze', [False, True])
@pytest.mark.parametrize('kind', ['imu', 'magnetometer', 'battery', 'gps'])
def test_a_reading_is_the_same_where_those_before_it_were_passed_over(kind, freeze):
    (own,) = vehicle_with(f'<sensor type="{kind}" rate="50"/>').sensors
    stuck = (SensorFreeze(sensor=own.name, start=0.6, end=1.0),) if freeze else ()
    rng, none = np.random.default_rng(4), SensorInputs.none()
    always, seldom = SensorReader(own, 3), SensorReader(own, 3)
    read = 0
    for stamp in range(0, 2_000_000_000, 5_000_000):
        state = State(*(x[0] for x in random_states(rng, 1)))
        moment = (state, Environment(), none)
        # The fault is told only when it happens: what it freezes was passed over.
        faults = stuck if stamp >= 600_000_000 else ()
        expected = always.read(stamp, *moment, faults)
        wanted = stamp > 300_000_000 and stamp % 700_000_000 < 100_000_000
        if not wanted:
            assert seldom.skip(stamp, lambda moment=moment: moment, faults)
            continue
        found = seldom.read(stamp, *moment, faults)
        assert (found is None) == (expected is None)
        if found is not None:
            read += 1
            assert found[0] == expected[0]
            for name, values in expected[1].items():
                assert np.array_equal(values, found[1][name], equal_nan=True), (stamp, name)
    assert read > 5 or kind == 'gps'  # which has no fix under water


def test_a_rate_that_does_not_divide_the_ticks_is_right_on_average():
    ticks = np.arange(0, 10_000_000_001, 7_000_000)
    found, told = record('<sensor type="thermometer" rate="30" latency="0.05"/>', ticks)
    assert len(found.stamp) == 300
    period = 1e9 / 30
    late = found.stamp - np.round(np.floor(found.stamp / period + 1e-6) * period)
    assert late.min() >= -1
    assert late.max() < 7_000_000
    assert np.all(found.arrival - found.stamp == 50_000_000)
    same(found, told)


def test_without_a_rate_there_is_one_reading_for_every_tick():
    ticks = np.arange(0, 1_000_000_001, 5_000_000)
    found, told = record('<barometer/>', ticks)
    assert np.array_equal(found.stamp, ticks)
    same(found, told)


# IMU.


IMU = '<sensor type="imu" link="mast"><origin xyz="{} {} {}" rpy="{} {} {}"/></sensor>'


def test_at_rest_it_reads_gravity_upwards():
    sensor = sensor_of('<sensor type="imu"/>')
    found = measured(sensor, state_at_rest((0.0, 0.0, -3.0)))
    np.testing.assert_allclose(found['linear_acceleration'], [0, 0, 9.8], atol=1e-12)
    np.testing.assert_allclose(found['angular_velocity'], 0, atol=1e-12)
    rolled = state_at_rest((0, 0, -3))._replace(
        orientation=np.array([math.sqrt(0.5), 0, 0, math.sqrt(0.5)])
    )
    np.testing.assert_allclose(
        measured(sensor, rolled)['linear_acceleration'], [0, 9.8, 0], atol=1e-12
    )


def test_a_spinning_offset_imu_matches_its_closed_form():
    """A point at radius r of a body that spins at ω(t) about the vertical while it drifts.

    Its acceleration is −ω² r towards the axis and ω̇ r along the circle, whatever the drift.
    """
    radius, rate, spin_up = 0.7, 3.0, 0.4
    sensor = sensor_of(f'<sensor type="imu"><origin xyz="{radius} 0 0"/></sensor>')
    heading = 0.9
    drifting = Rotation.from_euler('z', heading).inv().apply([0.5, -0.2, 0.1])
    state = State(
        np.array([1.0, 2.0, -3.0]),
        Rotation.from_euler('z', heading).as_quat(),
        np.array([*drifting, 0, 0, rate]),
    )
    # A constant velocity in map turns backwards in the body: v̇ = −ω × v.
    change = np.array([*-np.cross([0, 0, rate], drifting), 0, 0, spin_up])
    found = measured(sensor, state, None, SensorInputs.none()._replace(acceleration=change))
    expected = [-(rate**2) * radius, spin_up * radius, 9.8]
    np.testing.assert_allclose(found['linear_acceleration'], expected, atol=1e-9)
    np.testing.assert_allclose(found['angular_velocity'], [0, 0, rate], atol=1e-9)


def test_a_tumbling_imu_matches_the_second_derivative_of_its_path():
    """The path of the sensor in map, differentiated numerically, is what it feels."""
    place, turn = (0.3, -0.2, 0.15), (0.3, -0.5, 1.1)
    sensor = sensor_of(IMU.format(*place, *turn))

    def rotation(t):
        return Rotation.from_euler('xyz', [0.4 * np.sin(t), 0.3 * np.cos(2 * t), 0.8 * t + 0.2])

    def origin(t):
        return np.array([np.sin(t), 0.5 * np.cos(1.7 * t), -5 + 0.3 * t**2])

    def rates(t, h=1e-5):
        """Return the body-frame velocity (6,) by central differences."""
        velocity = (origin(t + h) - origin(t - h)) / (2 * h)
        turned = (rotation(t - h).inv() * rotation(t + h)).as_rotvec() / (2 * h)
        return np.concatenate([rotation(t).inv().apply(velocity), turned])

    t, h = 0.83, 1e-3
    acceleration = (rates(t + h) - rates(t - h)) / (2 * h)
    state = State(origin(t), rotation(t).as_quat(), rates(t))
    found = measured(sensor, state, None, SensorInputs.none()._replace(acceleration=acceleration))
    path = [origin(s) + rotation(s).apply(sensor.position) for s in (t - h, t, t + h)]
    felt = (path[0] - 2 * path[1] + path[2]) / h**2 + np.array([0, 0, 9.8])
    own = rotation(t) * Rotation.from_matrix(sensor.rotation)
    np.testing.assert_allclose(found['linear_acceleration'], own.inv().apply(felt), atol=1e-4)


def overlapping_allan(rates, dt, taus):
    """Return the overlapping Allan deviation at averaging times (Riley 2008, eq. 11)."""
    angle = np.concatenate([[0.0], np.cumsum(rates)]) * dt
    result = []
    for tau in taus:
        m = round(tau / dt)
        second = angle[2 * m :] - 2 * angle[m:-m] + angle[: -2 * m]
        result.append(math.sqrt(np.mean(second**2) / 2) / (m * dt))
    return np.array(result)


@pytest.mark.long
def test_six_hours_of_readings_give_the_parameters_back():
    """Noise N, bias instability B and random walk K of six axes, from their Allan variances.

    σ²(τ) = N²/τ + (2 ln 2/π) B² + K² τ/3 (IEEE Std 952-1997, annex C), fitted to the mean of the
    three axes in relative terms.
    """
    wanted = {'gyro': (3e-4, 1e-4, 1.4e-5), 'accelerometer': (1.2e-2, 4e-3, 5e-4)}
    elements = [
        f'<{part}_{name}>{value}</{part}_{name}>'
        for part, values in wanted.items()
        for name, value in zip(('noise', 'bias_instability', 'random_walk'), values, strict=True)
    ]
    rate = 10.0
    vehicle = vehicle_with(f'<sensor type="imu" rate="{rate}">{"".join(elements)}</sensor>')
    (sensor,) = vehicle.sensors
    stamps = np.arange(int(6 * 3600 * rate), dtype=np.int64) * round(1e9 / rate)
    still = measured(sensor, state_at_rest())
    ideal = {name: np.repeat(value[None], len(stamps), axis=0) for name, value in still.items()}
    found = SENSORS['imu'].disturb(sensor, ideal, stamps, 11, ())
    taus = np.unique(np.round(np.geomspace(0.1, 1000, 40), 1))
    terms = np.stack([1 / taus, np.full_like(taus, 2 * math.log(2) / math.pi), taus / 3], axis=1)
    readings = {'gyro': found['angular_velocity'], 'accelerometer': found['linear_acceleration']}
    for part, values in readings.items():
        variance = np.mean(
            [overlapping_allan(x - x.mean(), 1 / rate, taus) ** 2 for x in values.T], axis=0
        )
        # The longer the time, the fewer independent averages there are.
        weight = np.sqrt(1 / taus) / variance
        solved, *_ = np.linalg.lstsq(terms * weight[:, None], variance * weight, rcond=None)
        np.testing.assert_allclose(np.sqrt(solved), wanted[part], rtol=0.1, err_msg=part)


def test_slow_noise_is_the_same_whoever_asks():
    stamps = np.array([0, 3, 999_999_999, 10**9, 300_123_456_789, 86_400 * 10**9])
    slow = slow_noise(4, 'imu', stamps, instability=0.1, random_walk=0.02)
    fast = white_noise(4, 'imu', stamps, 0.5)
    for i in reversed(range(len(stamps))):
        stamp = int(stamps[i])
        one = slow_noise(4, 'imu', stamp, instability=0.1, random_walk=0.02)
        assert np.array_equal(one, slow[i])
        assert np.array_equal(white_noise(4, 'imu', stamp, 0.5), fast[i])
    assert np.all(slow_noise(4, 'imu', 0, random_walk=1.0) == 0.0)
    assert not np.any(slow == slow_noise(5, 'imu', stamps, instability=0.1, random_walk=0.02))


def test_range_and_steps():
    sensor = sensor_of(
        '<sensor type="imu"><gyro_range>2</gyro_range><gyro_resolution>0.25</gyro_resolution>'
        '<orientation>1</orientation></sensor>'
    )
    ideal = {
        'angular_velocity': np.array([0.3, -0.38, 5.0]),
        'linear_acceleration': np.array([0.1, 0.2, 9.8]),
        'orientation': np.array([0.0, 0, 0, 1]),
    }
    found = SENSORS['imu'].disturb(sensor, ideal, 0, 0, ())
    np.testing.assert_array_equal(found['angular_velocity'], [0.25, -0.5, 2.0])
    np.testing.assert_array_equal(found['linear_acceleration'], [0.1, 0.2, 9.8])
    names = [topic.name for topic in SENSORS['imu'].topics_of(sensor)]
    assert names == ['data_raw', 'data']  # REP 145
    raw, full = (topic.fields(sensor, found) for topic in SENSORS['imu'].topics)
    assert raw['orientation_covariance'][0] == -1
    assert full['orientation'] == {'x': 0, 'y': 0, 'z': 0, 'w': 1}
    assert raw['angular_velocity_covariance'][4] == pytest.approx(0.25**2 / 12)


# Magnetometer and GPS.


WMM_2025 = [  # date, altitude km, latitude, longitude, X, Y, Z in nT
    (2025.0, 0, 80, 0, 6521.6, 145.9, 54791.5),
    (2025.0, 0, 0, 120, 39677.8, -109.6, -10580.2),
    (2025.0, 0, -80, -120, 6117.5, 15751.9, -52022.5),
    (2027.5, 0, 80, 0, 6500.8, 294.5, 54869.4),
]
"""Test values of The US/UK World Magnetic Model for 2025-2030: Technical Report (NOAA NCEI)."""


def test_magnetometer_turns_the_field_and_adds_iron_and_current():
    sensor = sensor_of(
        '<sensor type="magnetometer" link="mast"><hard_iron>1e-6 2e-6 3e-6</hard_iron>'
        '<soft_iron>1.1 0.1 0 0.1 0.9 0 0 0 1</soft_iron>'
        '<current_field>1e-7 0 -2e-7</current_field></sensor>'
    )
    soft = np.array([[1.1, 0.1, 0], [0.1, 0.9, 0], [0, 0, 1]])
    environment = Environment(origin=Origin(field=(1e-5, 2e-5, -4e-5), heading=30.0))
    state = random_states(np.random.default_rng(1), 5)
    supply = np.tile([160.0, 12.8, 0.2], (5, 1))  # 12.5 A
    inputs = SensorInputs(np.zeros(5), np.zeros((5, 6)), supply)
    found = measured(sensor, state, environment, inputs)['magnetic_field']
    # The y axis of map points to 30°, so that north is 30° anticlockwise of it.
    earth = Rotation.from_euler('z', 30, degrees=True).apply([1e-5, 2e-5, -4e-5])
    for row, quaternion in zip(found, state.orientation, strict=True):
        own = Rotation.from_quat(quaternion) * Rotation.from_matrix(sensor.rotation)
        expected = soft @ own.inv().apply(earth) + np.array([1, 2, 3]) * 1e-6
        expected += 12.5 * np.array([1e-7, 0, -2e-7])
        np.testing.assert_allclose(row, expected, rtol=1e-12)


def test_the_world_field_is_that_of_the_published_test_values():
    pytest.importorskip('pygeomag', reason='pygeomag: not installed (extra sensors)')
    for date, altitude, latitude, longitude, x, y, z in WMM_2025:
        origin = Origin(latitude, longitude, altitude * 1000.0, 0.0, date, None)
        np.testing.assert_allclose(origin.magnetic_field * 1e9, [y, x, -z], atol=0.06)
    # The example of MathWorks' wrldmagm: 1000 m over Natick on 4 July 2028.
    natick = Origin(42.283, -71.35, 1000.0, 0.0, 2028 + 185 / 366, None).magnetic_field
    declination = math.degrees(math.atan2(natick[0], natick[1]))
    inclination = math.degrees(math.atan2(-natick[2], math.hypot(*natick[:2])))
    assert (declination, inclination) == pytest.approx((-13.6891, 65.9899), abs=1e-4)


def test_the_default_field_is_the_world_field_of_the_default_place():
    pytest.importorskip('pygeomag', reason='pygeomag: not installed (extra sensors)')
    computed = replace(Origin(), field=None).magnetic_field
    np.testing.assert_allclose(Origin().magnetic_field, computed, atol=1e-12)


def test_a_date_beyond_the_model_is_one_line():
    pytest.importorskip('pygeomag', reason='pygeomag: not installed (extra sensors)')
    with pytest.raises(ParameterError, match='date 1950') as caught:
        _ = Origin(10.0, 20.0, date=1950.0, field=None).magnetic_field
    assert '\n' not in str(caught.value)


def test_an_environment_says_where_map_is():
    text = 'origin: {latitude: 59.9, longitude: 10.7, heading: 90, magnetic_field: [1.0e-6, 0, 0]}'
    origin = parse_environment(text, 'x.yaml').origin
    assert (origin.latitude, origin.longitude, origin.heading) == (59.9, 10.7, 90)
    # East is opposite to the y axis turned on: with y to the east, x points south.
    np.testing.assert_allclose(origin.magnetic_field, [0, 1e-6, 0], atol=1e-18)
    for bad, told in (
        ('{latitude: 91, longitude: 0}', 'origin.latitude is 91'),
        ('{latitude: 1}', "'longitude' is missing"),
        ('7', 'expected a mapping'),
    ):
        with pytest.raises(ParameterError, match=re.escape(told)):
            parse_environment(f'origin: {bad}', 'x')


GPS = '<sensor type="gps"><origin xyz="0 0 0.5"/></sensor>'


def test_gps_is_silent_under_water_and_in_a_wave():
    sensor = sensor_of(GPS)
    assert np.isnan(measured(sensor, state_at_rest((0, 0, -0.6)))['geodetic']).all()
    pytest.importorskip('pymap3d', reason='pymap3d: not installed (extra sensors)')
    afloat = measured(sensor, state_at_rest((0, 0, -0.4)))['geodetic']
    assert np.isfinite(afloat).all()
    waves = parse_environment('waves: {type: regular, height: 1.0, period: 8}', 'x')
    heights = [
        np.isfinite(measured(sensor, state_at_rest((0, 0, -0.4)), waves.at(t))['geodetic']).all()
        for t in np.arange(0, 8, 0.5)
    ]
    assert any(heights)
    assert not all(heights)


def test_gps_gives_the_place_that_ecef_has():
    """Points of map as ECEF by the textbook formulas, and back by the sensor's library."""
    pytest.importorskip('pymap3d', reason='pymap3d: not installed (extra sensors)')
    from marine_sim_ros.core.geodesy import FLATTENING, SEMI_MAJOR
    from marine_sim_ros.sensors.gps import geodetic

    def ecef(latitude, longitude, height):
        """Return x, y, z, m (Torge 2001, eq. 4.27)."""
        phi, lam = np.radians(latitude), np.radians(longitude)
        squared = FLATTENING * (2 - FLATTENING)
        n = SEMI_MAJOR / np.sqrt(1 - squared * np.sin(phi) ** 2)
        level = (n + height) * np.cos(phi)
        return np.stack(
            [level * np.cos(lam), level * np.sin(lam), (n * (1 - squared) + height) * np.sin(phi)],
            axis=-1,
        )

    origin = Origin(-33.5, 151.2, 12.0, heading=40.0)
    points = np.array([[0.0, 0, 0], [100, 0, 0], [0, 100, 0], [-2000, 1500, 30], [1e4, 2e4, 0]])
    places = geodetic(origin, points)
    apart = ecef(*places.T) - ecef(-33.5, 151.2, 12.0)
    np.testing.assert_allclose(
        np.linalg.norm(apart, axis=1), np.linalg.norm(points, axis=1), atol=1e-6
    )
    # The y axis of map goes to a bearing of 40°.
    north, east = places[2, :2] - places[0, :2]
    bearing = math.degrees(math.atan2(east * math.cos(math.radians(33.5)), north))
    assert bearing == pytest.approx(40.0, abs=0.5)


def test_gps_noise_has_the_standard_deviation_that_it_tells():
    sensor = sensor_of(
        '<sensor type="gps"><horizontal_noise>2</horizontal_noise>'
        '<vertical_noise>3</vertical_noise></sensor>'
    )
    stamps = np.arange(4000) * 200_000_000
    ideal = {'geodetic': np.tile([60.0, 5.0, 0.0], (4000, 1))}
    found = SENSORS['gps'].disturb(sensor, ideal, stamps, 2, ())['geodetic'] - ideal['geodetic']
    metres = found * np.array([111_412.0, 55_800.0, 1.0])  # per degree at 60° (NGA tables)
    np.testing.assert_allclose(metres.std(axis=0), [2, 2, 3], rtol=0.05)


# USBL, battery, leak, thermometer, barometer.


def test_usbl_finds_the_vehicle_and_its_covariance_is_honest():
    sensor = sensor_of(
        '<sensor type="usbl"><transceiver>10 -5 -1</transceiver><range_noise>0.1</range_noise>'
        '<bearing_noise>0.01</bearing_noise></sensor>'
    )
    place = np.array([70.0, 40.0, -25.0])
    stamps = np.arange(2000) * 10**9
    one = measured(sensor, state_at_rest(tuple(place)))
    distance = np.linalg.norm(place - [10, -5, -1])
    assert one['polar'][0] == pytest.approx(distance)
    assert one['delay'] == pytest.approx(distance / 1500)
    ideal = {name: np.repeat(value[None], 2000, axis=0) for name, value in one.items()}
    found = SENSORS['usbl'].disturb(sensor, ideal, stamps, 8, ())
    error = found['position'] - place
    topic = SENSORS['usbl'].topics[1]
    fields = topic.fields(sensor, {name: value[0] for name, value in found.items()})
    told = fields['pose']['covariance'].reshape(6, 6)[:3, :3]
    squared = np.einsum('ni,ij,nj->n', error, np.linalg.inv(told), error)
    # The mean of 2000 χ²(3) numbers is within 3 ± 0.16 with 99.7 %; cos²(elevation) of the
    # azimuth's arc is 0.9 here, which the covariance leaves out.
    assert 2.6 < squared.mean() < 3.2
    assert topic.frame == 'map'


def test_usbl_is_deaf_beyond_its_range_and_wrong_by_its_speed_of_sound():
    sensor = sensor_of(
        '<sensor type="usbl"><max_range>100</max_range><sound_speed>1450</sound_speed></sensor>'
    )
    assert np.isnan(measured(sensor, state_at_rest((200, 0, -5)))['polar']).all()
    near = measured(sensor, state_at_rest((30.0, 0, -1)))
    assert near['polar'][0] == pytest.approx(30 * 1500 / 1450)
    assert near['delay'] == pytest.approx(30 / 1450)


@pytest.mark.parametrize(
    ('place', 'rpy', 'polar'),
    [
        # Heading 30°, beacon at (30, 10, −15): atan2(10, 30) − 30°, −atan2(10, √1000).
        ((0, 0, -5), (0, 0, 30), (33.166, -11.565, -17.548)),
        ((30, 4, -15), (0, 0, 0), (6.0, 90.0, 0.0)),
        ((20, 10, -15), (0, 60, 0), (10.0, 0.0, 60.0)),
        ((30, 10, -12), (90, 0, 0), (3.0, -90.0, 0.0)),
    ],
)
def test_a_pinger_is_heard_in_the_axes_of_the_vehicle(place, rpy, polar):
    sensor = sensor_of('<sensor type="pinger"><beacon>30 10 -15</beacon></sensor>')
    turned = tuple(Rotation.from_euler('xyz', rpy, degrees=True).as_quat())
    told = measured(sensor, state_at_rest(place, turned))['polar']
    assert told[0] == pytest.approx(polar[0], abs=1e-3)
    np.testing.assert_allclose(np.degrees(told[1:]), polar[1:], atol=1e-2)


def test_a_pinger_is_silent_out_of_the_water_and_noisy_as_declared():
    text = '<sensor type="pinger"><beacon>30 0 {}</beacon><max_range>50</max_range>{}</sensor>'
    dry = sensor_of(text.format(1.0, ''))
    assert np.isnan(measured(dry, state_at_rest((0, 0, -5)))['polar']).all()
    noise = '<range_noise>0.2</range_noise><bearing_noise>0.01</bearing_noise>'
    sensor = sensor_of(text.format(-3.0, noise))
    assert np.isnan(measured(sensor, state_at_rest((0, 0, 1)))['polar']).all()
    assert np.isnan(measured(sensor, state_at_rest((-30, 0, -5)))['polar']).all()
    one, stamps = measured(sensor, state_at_rest((0, 0, -3))), np.arange(3000) * 10**9
    ideal = {name: np.repeat(value[None], 3000, axis=0) for name, value in one.items()}
    error = SENSORS['pinger'].disturb(sensor, ideal, stamps, 4, ())['polar'] - one['polar']
    np.testing.assert_allclose(error.std(axis=0), [0.2, 0.01, 0.01], rtol=0.05)


def test_battery_tells_the_power_of_the_thrusters_and_the_sag():
    vehicle, scenario = vehicle_of('bluerov2'), load_scenario('dive')
    plain = simulate(vehicle, scenario, duration=2.0).sensors['battery']
    assert np.allclose(plain['voltage'], 16.0, atol=0.01)
    assert np.isnan(plain['used']).all()
    faults = parse_faults('[{kind: battery, resistance: 0.1, charge: 0.9}]')
    sagging = simulate(vehicle, replace(scenario, faults=faults), duration=2.0).sensors['battery']
    voltage, current = sagging['voltage'][-1], sagging['current'][-1] - 1.0  # 1 A is idle
    source = 12.0 + (16.8 - 12.0) * (0.9 - sagging['used'][-1] / 18.0)
    assert current > 3
    assert voltage == pytest.approx(source - 0.1 * current, abs=0.02)
    fields = SENSORS['battery'].topics[0].fields(vehicle.sensors[-1], sagging.at(-1))
    assert fields['current'] < 0  # it discharges
    assert fields['percentage'] == pytest.approx(1 - sagging['used'][-1] / 18)


def test_leak_below_the_rating_and_by_a_fault():
    sensor = '<sensor type="leak" preset="sos_leak"/>'
    assert measured(sensor_of(sensor), state_at_rest((0, 0, -99)))['leak'] == 0
    assert measured(sensor_of(sensor), state_at_rest((0, 0, -101)))['leak'] == 1
    faults = parse_faults('[{kind: sensor_bias, sensor: leak, size: 1, at: 1.5}]')
    found, told = record(sensor, np.arange(0, 4 * 10**9, 5_000_000), faults)
    assert found['leak'].tolist() == [0, 0, 1, 1]
    same(found, told)


def test_barometer_presets_have_their_noise():
    ticks = np.arange(0, 100 * 10**9, 50_000_000)
    for name, deviation in (('bar30', 20.0), ('bar02', 1.6)):
        found, _ = record(f'<sensor type="barometer" preset="{name}"/>', ticks)
        assert np.std(found['pressure']) == pytest.approx(deviation, rel=0.05)


# Faults of any sensor.


THERMOMETER = '<sensor type="thermometer" rate="100" latency="0.02"><noise>0.1</noise></sensor>'


@pytest.mark.parametrize('name', ['bluerov2', 'bluerov2_heavy'])
def test_a_bluerov2_takes_the_barometer_that_is_asked_for(name):
    found = {
        kind: load_vehicle(name, barometer=kind, barometer_pose='true')
        for kind in ('orca3', 'bar30', 'bar02', 'none')
    }
    numbers = {kind: v.barometer and v.barometer.variance for kind, v in found.items()}
    assert numbers == {'orca3': 40000.0, 'bar30': 400.0, 'bar02': 2.56, 'none': None}
    (bar30,) = (s for s in found['bar30'].sensors if s.kind == 'barometer')
    assert (bar30.period, bar30.frame, bar30.spec.pose) == (50_000_000, 'baro_link', 1.0)
    assert load_vehicle(name).sensors[0].kind == 'barometer'
    with pytest.raises(MarineSimError, match='barometer is bar31; expected one of: orca3, bar30'):
        load_vehicle(name, barometer='bar31')


def test_faults_of_any_sensor():
    ticks = np.arange(0, 4 * 10**9 + 1, 10_000_000)
    plain, _ = record(THERMOMETER, ticks)
    text = """
- {kind: sensor_bias, sensor: thermometer, size: 5, at: 0.5, until: 1}
- {kind: sensor_freeze, sensor: thermometer, at: 1, until: 1.5}
- {kind: sensor_dropout, sensor: thermometer, share: 0.5, at: 1.5, until: 2.5}
- {kind: sensor_delay, sensor: thermometer, delay: 0.3, at: 2.5, until: 3}
- {kind: sensor_spikes, sensor: thermometer, share: 0.2, size: 50, at: 3}
- {kind: sensor_bias, sensor: thermometer, quantity: unknown, size: 5}
"""
    found, told = record(THERMOMETER, ticks, parse_faults(text))
    same(found, told)
    change = found['temperature'] - plain['temperature']
    assert np.all(change[:50] == 0)
    np.testing.assert_allclose(change[50:100], 5.0)
    assert np.all(found['temperature'][100:150] == found['temperature'][99])
    missing = np.isnan(found['temperature'])
    assert 30 < missing[150:250].sum() < 70
    assert not missing[:150].any()
    assert not missing[250:].any()
    assert np.all(found.arrival[:250] - ticks[:250] == 20_000_000)
    assert np.all(found.arrival[250:300] - ticks[250:300] == 320_000_000)
    # Nothing overtakes what was measured earlier.
    assert np.all(np.diff(found.arrival) >= 0)
    far = np.abs(change[300:]) > 5
    assert 8 < far.sum() < 35


def test_a_fault_of_an_unknown_sensor_is_one_line():
    from marine_sim_ros.faults.fault_types import unsuited_fault

    told = unsuited_fault(
        parse_faults('[{kind: sensor_freeze, sensor: sonar}]'), vehicle_of('bluerov2')
    )
    assert told.startswith("sensor 'sonar' is unknown; expected one of those of bluerov2: baro")


# Engines.


def test_the_compiled_engine_reads_the_same():
    pytest.importorskip('jax', reason='jax: not installed (extra batch)')
    from marine_sim_ros.engine.compiled import simulate_compiled

    vehicle = vehicle_of('bluerov2', usbl='true', thermometer='true', leak='true')
    faults = parse_faults('[{kind: battery}, {kind: sensor_freeze, sensor: usbl, at: 1}]')
    scenario = replace(load_scenario('dive'), faults=faults)
    one = simulate(vehicle, scenario, duration=2.0, seed=3)
    two, _ = simulate_compiled(vehicle, scenario, duration=2.0, seed=3)
    assert list(one.sensors) == list(two.sensors)
    for name, series in one.sensors.items():
        assert np.array_equal(series.stamp, two.sensors[name].stamp)
        for quantity, values in series.items():
            # A reading that is rounded to steps may go to the next one.
            spec = vehicle.sensors[list(one.sensors).index(name)].spec
            steps = [getattr(spec, n) for n in numbers_of(type(spec)) if 'resolution' in n]
            apart = np.abs(two.sensors[name][quantity] - values)
            beyond = apart[~np.isnan(apart)] > 1e-7
            assert beyond.mean() < 1e-3 if steps else not beyond.any(), (name, quantity)


def test_readings_of_a_batch_are_arrays():
    vehicle = vehicle_of('bluerov2', usbl='true', thermometer='true', leak='true')
    rng = np.random.default_rng(3)
    states = random_states(rng, 7)
    supply = np.stack([rng.uniform(0, 500, 7), np.full(7, np.nan), np.full(7, np.nan)], axis=1)
    inputs = SensorInputs(np.zeros(7), rng.normal(size=(7, 6)), supply)
    for sensor in vehicle.sensors:
        together = measured(sensor, states, None, inputs)
        for i in range(7):
            own = inputs.at(i)
            alone = measured(sensor, State(*(x[i] for x in states)), None, own)
            for name, values in alone.items():
                np.testing.assert_allclose(together[name][i], values, rtol=1e-12, atol=1e-15)


# Descriptions.


BAD = {
    '<sensor/>': "attribute 'type' is missing",
    '<sensor type="sextant"/>': "type 'sextant' is unknown; expected one of: barometer, imu",
    '<sensor type="imu" link="nose"/>': "link 'nose' is unknown; expected one of: base_link, mast",
    '<sensor type="imu" rate="0"/>': "is 0; expected 0.001 to 100000 in attribute 'rate'",
    '<sensor type="barometer" rate="1e-300"/>': 'rate is 1e-300; expected 0 (every tick) or 0.001',
    '<sensor type="imu" rate="fast"/>': "is 'fast'; expected numbers in attribute 'rate'",
    '<sensor type="imu" latency="-1"/>': "is -1; expected 0 to 60 in attribute 'latency'",
    '<sensor type="imu" name="a b"/>': "name is 'a b'; expected letters",
    '<sensor type="imu" colour="red"/>': "attribute 'colour' is unknown; expected one of: latency",
    '<sensor type="imu"/><sensor type="imu"/>': "a second sensor is called 'imu'",
    '<sensor type="imu"><noise>1</noise></sensor>': "imu; did you mean 'gyro_noise'? expected",
    '<sensor type="imu"><gyro_noise>-1</gyro_noise></sensor>': 'is -1; expected 0 to 10',
    '<sensor type="imu"><gyro_bias>1</gyro_bias><gyro_bias>1</gyro_bias></sensor>': 'given twice',
    '<sensor type="imu" preset="bar30"/>': "is of type 'barometer'; expected a preset of type",
    '<sensor type="imu" preset="nothing"/>': "sensor 'nothing' is neither a file nor a shipped",
    '<sensor type="imu"><origin xyz="0 0"/></sensor>': "is '0 0'; expected 3 finite number(s)",
    '<sensor type="magnetometer"><hard_iron>1 2</hard_iron></sensor>': 'expected 3 finite',
    '<sensor type="magnetometer"><hard_iron>1 0 0</hard_iron></sensor>': 'has 1; expected -0.01',
    '<barometer><variance>-1</variance></barometer>': 'is -1; expected 0 to',
}


@pytest.mark.parametrize('element', BAD)
def test_bad_elements_give_one_line(element):
    with pytest.raises(ModelError, match=re.escape(BAD[element])) as caught:
        vehicle_with(element)
    assert '\n' not in str(caught.value)
    assert re.match(r'robot_description:\d+: ', str(caught.value))


def test_a_sensor_of_urdfs_own_proposal_is_told_and_passed_over():
    vehicle = vehicle_with('<sensor name="eye" type="camera"><parent link="mast"/></sensor>')
    assert not vehicle.sensors
    assert any('<sensor name="eye">: is ignored' in warning for warning in vehicle.warnings)


@pytest.mark.parametrize('path', sorted((ROOT / 'config' / 'sensors').glob('*.yaml')), ids=str)
def test_presets_can_be_used_and_stand_in_the_documentation(path):
    kind = re.search(r'^type: (\w+)', path.read_text(encoding='utf-8'), re.MULTILINE)[1]
    values = read_preset(path.stem, SENSORS[kind])
    assert values.get('rate', 0.0) > 0
    sensor_of(f'<sensor type="{kind}" preset="{path.stem}"/>')
    page = (ROOT / 'docs' / 'reference' / 'sensors.md').read_text(encoding='utf-8')
    assert f'`{path.stem}`' in page


def test_the_page_has_every_sensor():
    page = (ROOT / 'docs' / 'reference' / 'sensors.md').read_text(encoding='utf-8')
    assert all(f'### `{name}`' in page for name in SENSORS)


# Nodes.


def test_inputs_of_a_tick_are_brought_together_by_their_stamps():
    from marine_sim_ros.ros.ticks import MAX_WAITING_TICKS, TickSynchronizer

    told = []
    gathering = TickSynchronizer(lambda *found: told.append(found), {'a': 'none', 'b': 'none'})
    gathering.add_other('b', 10, 'b10')  # before the main input
    gathering.main(10, 'm10')
    gathering.main(20, 'm20')
    gathering.add_other('b', 20, 'b20')
    assert not told
    gathering.add_other('a', 10, 'a10')
    gathering.add_other('a', 20, 'a20')
    both = [(s, f'm{s}', {'a': f'a{s}', 'b': f'b{s}'}) for s in (10, 20)]
    assert told == both
    # Time goes back: what came for later stamps is not taken for the new run's.
    gathering.main(30, 'm30')
    gathering.add_other('b', 30, 'old')
    told.clear()
    gathering.main(0, 'm0')
    gathering.add_other('a', 0, 'a0')
    gathering.add_other('b', 0, 'b0')
    gathering.main(30, 'new')
    gathering.add_other('a', 30, 'a30')
    assert told == [(0, 'm0', {'a': 'a0', 'b': 'b0'})]
    gathering.add_other('b', 30, 'b30')
    assert told[1] == (30, 'new', {'a': 'a30', 'b': 'b30'})
    # A sender that has died is not waited for for ever: its last word holds.
    for stamp in range(40, 40 + 10 * (MAX_WAITING_TICKS + 2), 10):
        gathering.main(stamp, 'm')
        gathering.add_other('a', stamp, f'a{stamp}')
    assert told[2] == (40, 'm', {'a': 'a40', 'b': 'b30'})
