# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sensors of other simulators: ours have their place, axes, rate and noise."""

import numpy as np
import pytest
from foreign import (
    CAMERA,
    DVL,
    IMU,
    SDF,
    STONEFISH_SENSORS,
    UUV,
    UUV_SENSORS,
    imported,
    sensors_on_robot,
    sensors_on_sdf,
)

from marine_sim_ros import load_scenario, simulate
from marine_sim_ros.core.spatial import rotation_matrix


@pytest.fixture
def read(tmp_path):
    def sensors(text, suffix='.sdf', **options):
        description, vehicle = imported(tmp_path, text, suffix, **options)
        return description, {sensor.name: sensor for sensor in vehicle.sensors}

    return sensors


def axes(sensor):
    """Return the sensor's axes in the body, one in each column."""
    return np.round(rotation_matrix(sensor.place.quaternion), 6)


def terms(**sigmas):
    return ''.join(f'<{name}>{value}</{name}>' for name, value in sigmas.items())


def test_an_imu_of_sdf(read):
    description, sensors = read(sensors_on_sdf(IMU))
    imu = sensors['imu_1']
    assert (imu.kind, imu.period) == ('imu', 2_500_000)
    np.testing.assert_allclose(imu.place.translation, [0.1, 0.2, 0.3])
    np.testing.assert_allclose(axes(imu), np.diag([1, -1, -1]), atol=1e-6)
    assert imu.spec.gyro_noise == pytest.approx(0.02 / 20)  # sigma of a reading / sqrt(rate)
    assert imu.spec.gyro_bias == 0.003
    assert imu.spec.gyro_random_walk == 1e-4
    assert imu.spec.accelerometer_noise == pytest.approx(0.2 / 20)
    assert imu.spec.orientation == 1
    assert any('largest stddev of its axes' in text for text in description.assumptions)


def test_magnetometer_gps_and_pressure_of_sdf(read):
    text = sensors_on_sdf(
        '<sensor name="mag" type="magnetometer"><update_rate>20</update_rate><magnetometer>',
        *(f'<{a}><noise type="gaussian"><stddev>3e-8</stddev></noise></{a}>' for a in 'xyz'),
        '</magnetometer></sensor><sensor name="gps" type="navsat"><navsat><position_sensing>',
        '<horizontal><noise type="gaussian"><stddev>1.5</stddev></noise></horizontal>',
        '<vertical><noise type="none"><stddev>9</stddev></noise></vertical>',
        '</position_sensing></navsat></sensor><sensor name="p" type="air_pressure">',
        '<air_pressure><pressure><noise type="gaussian"><stddev>30</stddev></noise></pressure>',
        '</air_pressure></sensor><sensor name="still" type="air_pressure"/>',
    )
    sensors = read(text)[1]
    assert sensors['mag'].spec.noise == 3e-8
    assert sensors['mag'].period == 50_000_000
    assert sensors['gps'].spec.horizontal_noise == 1.5
    assert sensors['gps'].spec.vertical_noise == 0
    assert sensors['p'].spec.variance == 900
    assert sensors['still'].spec.variance == 0  # not that of our own barometer


def test_noise_that_no_sensor_has_is_named(read):
    text = sensors_on_sdf(
        '<sensor name="mag" type="magnetometer"><magnetometer><x>',
        '<noise type="gaussian"><stddev>1</stddev></noise></x></magnetometer>',
        '</sensor>',
    )
    description, sensors = read(text)
    assert sensors['mag'].spec.noise == 0
    assert any("'mag': noise 1 of" in t and '0 to 0.01 T' in t for t in description.dropped)


def test_cameras_are_taken_when_asked_for(read):
    description, sensors = read(sensors_on_sdf(CAMERA.format('camera')))
    assert not sensors
    assert any("'eye'" in text and '--cameras' in text for text in description.dropped)
    eye = read(sensors_on_sdf(CAMERA.format('camera')), cameras=True)[1]['eye']
    assert (eye.spec.width, eye.spec.height, eye.spec.depth) == (800, 600, 0)
    assert eye.spec.field_of_view == pytest.approx(90)
    assert eye.spec.noise == pytest.approx(2.55)
    assert eye.spec.distortion == (-0.1, 0, 0, 0.02, 0)
    np.testing.assert_allclose(axes(eye)[:, 2], [1, 0, 0], atol=1e-6)  # the optical axis
    bent = sensors_on_sdf(CAMERA.format('camera').replace('-0.1', '1e9'))
    description, sensors = read(bent, cameras=True)
    assert any("'eye': distortion 1e+09 0 0 0.02 0 of" in t for t in description.dropped)
    assert not any(sensors['eye'].spec.distortion)
    assert (
        read(sensors_on_sdf(CAMERA.format('rgbd_camera')), cameras=True)[1]['eye'].spec.depth == 1
    )


def test_a_narrow_ray_is_an_altimeter_and_a_wide_one_is_noted(read):
    ray = """<sensor name="{}" type="gpu_lidar"><pose>0 0 0 0 1.5707963267948966 0</pose><lidar>
    <scan><horizontal><samples>{}</samples><min_angle>-1</min_angle><max_angle>1</max_angle>
    </horizontal></scan><range><min>0.2</min><max>60</max></range></lidar></sensor>"""
    description, sensors = read(sensors_on_sdf(ray.format('down', 1), ray.format('wide', 64)))
    assert list(sensors) == ['down']
    down = sensors['down']
    assert down.kind == 'altimeter'
    assert (down.spec.min_range, down.spec.max_range) == (0.2, 60)
    assert down.spec.range_noise == down.spec.resolution == 0
    np.testing.assert_allclose(axes(down)[:, 0], [0, 0, -1], atol=1e-6)
    assert any("'wide'" in text and 'a wide scan' in text for text in description.dropped)


def test_an_altimeter_of_gazebo_is_not_ours(read):
    description, sensors = read(sensors_on_sdf('<sensor name="alt" type="altimeter"/>'))
    assert not sensors
    assert any('height above its start' in text for text in description.dropped)


def test_a_dvl_of_gazebo_looks_down(read):
    dvl = read(sensors_on_sdf(DVL))[1]['dvl']
    np.testing.assert_allclose(axes(dvl), np.diag([1, -1, -1]), atol=1e-6)
    assert dvl.spec.beam_angle == pytest.approx(25)
    assert dvl.spec.velocity_noise == 0.005
    assert dvl.spec.max_altitude == pytest.approx(200 * np.cos(np.radians(25)))
    assert dvl.spec.scale_error == dvl.spec.dropout == dvl.spec.heading_drift == 0


def test_a_sensor_on_a_link_that_moves_is_left_out(read):
    text = SDF.replace(
        '<link name="propeller">', '<link name="propeller"><sensor name="spun" type="imu"/>'
    )
    assert 'spun' in text
    description, sensors = read(text)
    assert not sensors
    assert any(
        "'spun'" in text and 'moves against the body' in text for text in description.dropped
    )


def test_sensors_of_uuv_simulator(read):
    text = UUV.replace('</robot>', UUV_SENSORS)
    description, sensors = read(text, '.urdf')
    dvl = sensors['dvl']
    np.testing.assert_allclose(axes(dvl), np.diag([1, -1, -1]), atol=1e-6)  # x of its link is down
    assert dvl.spec.velocity_noise == pytest.approx(0.01)
    assert dvl.spec.beam_angle == pytest.approx(np.degrees(0.52))
    assert dvl.spec.max_altitude == pytest.approx(80 * np.cos(0.52))
    assert not any('beam0' in text for text in description.dropped)
    barometer = sensors['barometer']
    assert barometer.spec.variance == 0  # its noise amplitude is 0 where it is not given
    assert barometer.spec.atmospheric_pressure == 100_000
    assert any('a barometer without noise' in text for text in description.assumptions)
    imu = sensors['imu']
    assert imu.spec.gyro_noise == 3e-4
    assert imu.spec.accelerometer_bias == 0.2
    assert imu.spec.accelerometer_random_walk == pytest.approx(6e-3)
    assert sensors['magnetometer'].spec.noise == pytest.approx(1.4e-7)


def test_sensors_of_stonefish(read):
    description, sensors = read(sensors_on_robot(STONEFISH_SENSORS), '.scn', cameras=True)
    dvl = sensors['dvl']
    np.testing.assert_allclose(dvl.place.translation, [1, -2, -3])
    np.testing.assert_allclose(axes(dvl), np.diag([1, -1, -1]), atol=1e-6)
    assert (dvl.spec.beam_angle, dvl.spec.max_velocity, dvl.spec.max_altitude) == (20, 9, 81)
    assert dvl.spec.velocity_noise == 0.0015
    np.testing.assert_allclose(axes(sensors['up'])[:, 2], [0, 0, -1], atol=1e-6)  # z of NED
    imu = sensors['imu']
    np.testing.assert_allclose(axes(imu), np.eye(3), atol=1e-6)
    assert imu.spec.gyro_noise == pytest.approx(0.01)
    assert imu.spec.accelerometer_noise == pytest.approx(3 / 5)
    assert imu.spec.orientation_noise == 0.01
    assert sensors['gps'].spec.vertical_noise == 0.5
    optical = axes(sensors['front'])
    np.testing.assert_allclose(optical, [[0, 0, 1], [-1, 0, 0], [0, -1, 0]], atol=1e-6)
    fls = sensors['fls']
    np.testing.assert_allclose(axes(fls)[:, [0, 2]].T, [[0, 0, 1], [1, 0, 0]], atol=1e-6)
    assert (fls.spec.beams, fls.spec.bins, fls.spec.aperture) == (256, 500, 120)
    np.testing.assert_allclose(axes(sensors['msis']), np.eye(3), atol=1e-6)
    assert sensors['msis'].spec.sector == 90
    assert any("'odom' of type 'odometry' is noted only" in text for text in description.dropped)


def test_two_sensors_of_one_name_and_a_name_that_is_no_identifier(read):
    text = sensors_on_sdf(
        '<sensor name="a/imu" type="imu"/>',
        '<sensor name="a imu" type="imu"/>',
        '<sensor name="7" type="imu"/>',
    )
    assert list(read(text)[1]) == ['a_imu', 'a_imu_2', 'sensor_7']


def test_imported_sensors_measure(tmp_path):
    text = sensors_on_sdf(
        '<sensor name="imu" type="imu"><update_rate>50</update_rate></sensor>', DVL
    )
    vehicle = imported(tmp_path, text, '.sdf')[1]
    run = simulate(vehicle, load_scenario('dive'), duration=1.0)
    assert run.sensors['imu']['linear_acceleration'].shape == (51, 3)
    assert len(run.sensors['dvl'].stamp) == 9


def test_the_air_pressure_system_of_a_world_is_no_sensor_of_uuv_simulator(read):
    system = '<plugin filename="gz-sim-air-pressure-system" name="gz::sim::systems::AirPressure"/>'
    description, _ = read(SDF.replace('</model>', f'{system}</model>'))
    assert any('it measures' in text for text in description.dropped)
    assert not any('a sensor on link' in text for text in description.dropped)


def test_a_scan_without_a_number_of_samples_is_no_altimeter(read):
    ends = terms(min_angle=-1, max_angle=1)
    scan = '<sensor name="l" type="gpu_lidar"><ray><scan><horizontal>{}'
    scan = f'{scan}{ends}</horizontal></scan></ray></sensor>'
    assert not read(sensors_on_sdf(scan.format('')))[1]
    assert list(read(sensors_on_sdf(scan.format('<samples>1</samples>')))[1]) == ['l']
