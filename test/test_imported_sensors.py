# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Sensors of other simulators: ours have their place, axes, rate and noise."""

import numpy as np
import pytest
from foreign import SDF, STONEFISH, UUV, imported

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


def on_sdf(*elements):
    """Return the SDF vehicle with sensors on its first link."""
    return SDF.replace('</link>', f'{"".join(elements)}</link>', 1)


def on_robot(*elements):
    return STONEFISH.replace('<sensor name="depth"', f'{"".join(elements)}<sensor name="depth"')


def test_an_imu_of_sdf(read):
    axis = '<noise type="gaussian">{}</noise>'
    gyro = axis.format(terms(stddev=0.02, bias_stddev=0.003, dynamic_bias_stddev=1e-4))
    text = on_sdf(
        '<sensor name="imu 1" type="imu"><pose>0.1 0.2 0.3 3.141592653589793 0 0</pose>',
        '<update_rate>400</update_rate><imu><angular_velocity>',
        *(f'<{a}>{gyro}</{a}>' for a in 'xyz'),
        '</angular_velocity><linear_acceleration>',
        *(
            f'<{a}>{axis.format(terms(stddev=s))}</{a}>'
            for a, s in (('x', 0.1), ('y', 0.1), ('z', 0.2))
        ),
        '</linear_acceleration></imu></sensor>',
    )
    description, sensors = read(text)
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
    text = on_sdf(
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
    text = on_sdf('<sensor name="mag" type="magnetometer"><magnetometer><x>',
                  '<noise type="gaussian"><stddev>1</stddev></noise></x></magnetometer>',
                  '</sensor>')  # fmt: skip
    description, sensors = read(text)
    assert sensors['mag'].spec.noise == 0
    assert any("'mag': noise 1 of" in t and '0 to 0.01 T' in t for t in description.dropped)


CAMERA = """<sensor name="eye" type="{}"><update_rate>10</update_rate><camera>
<horizontal_fov>1.5707963267948966</horizontal_fov><image><width>800</width><height>600</height>
</image><noise><stddev>0.01</stddev></noise><distortion><k1>-0.1</k1><p2>0.02</p2></distortion>
</camera></sensor>"""


def test_cameras_are_taken_when_asked_for(read):
    description, sensors = read(on_sdf(CAMERA.format('camera')))
    assert not sensors
    assert any("'eye'" in text and '--cameras' in text for text in description.dropped)
    eye = read(on_sdf(CAMERA.format('camera')), cameras=True)[1]['eye']
    assert (eye.spec.width, eye.spec.height, eye.spec.depth) == (800, 600, 0)
    assert eye.spec.field_of_view == pytest.approx(90)
    assert eye.spec.noise == pytest.approx(2.55)
    assert eye.spec.distortion == (-0.1, 0, 0, 0.02, 0)
    np.testing.assert_allclose(axes(eye)[:, 2], [1, 0, 0], atol=1e-6)  # the optical axis
    assert read(on_sdf(CAMERA.format('rgbd_camera')), cameras=True)[1]['eye'].spec.depth == 1


def test_a_narrow_ray_is_an_altimeter_and_a_wide_one_is_noted(read):
    ray = """<sensor name="{}" type="gpu_lidar"><pose>0 0 0 0 1.5707963267948966 0</pose><lidar>
    <scan><horizontal><samples>{}</samples><min_angle>-1</min_angle><max_angle>1</max_angle>
    </horizontal></scan><range><min>0.2</min><max>60</max></range></lidar></sensor>"""
    description, sensors = read(on_sdf(ray.format('down', 1), ray.format('wide', 64)))
    assert list(sensors) == ['down']
    down = sensors['down']
    assert down.kind == 'altimeter'
    assert (down.spec.min_range, down.spec.max_range) == (0.2, 60)
    assert down.spec.range_noise == down.spec.resolution == 0
    np.testing.assert_allclose(axes(down)[:, 0], [0, 0, -1], atol=1e-6)
    assert any("'wide'" in text and 'a wide scan' in text for text in description.dropped)


def test_an_altimeter_of_gazebo_is_not_ours(read):
    description, sensors = read(on_sdf('<sensor name="alt" type="altimeter"/>'))
    assert not sensors
    assert any('height above its start' in text for text in description.dropped)


DVL = """<sensor xmlns:gz="http://gazebosim.org/schema" name="dvl" type="custom" gz:type="dvl">
<update_rate>8</update_rate><gz:dvl><arrangement degrees="true"><beam><tilt>25</tilt></beam>
</arrangement><tracking><bottom_mode><noise type="gaussian"><stddev>0.005</stddev></noise>
</bottom_mode></tracking><maximum_range>200</maximum_range></gz:dvl></sensor>"""


def test_a_dvl_of_gazebo_looks_down(read):
    dvl = read(on_sdf(DVL))[1]['dvl']
    np.testing.assert_allclose(axes(dvl), np.diag([1, -1, -1]), atol=1e-6)
    assert dvl.spec.beam_angle == pytest.approx(25)
    assert dvl.spec.velocity_noise == 0.005
    assert dvl.spec.max_altitude == pytest.approx(200 * np.cos(np.radians(25)))
    assert dvl.spec.scale_error == dvl.spec.dropout == dvl.spec.heading_drift == 0


def test_a_sensor_on_a_link_that_moves_is_left_out(read):
    text = SDF.replace('<link name="propeller">',
                       '<link name="propeller"><sensor name="spun" type="imu"/>')  # fmt: skip
    assert 'spun' in text
    description, sensors = read(text)
    assert not sensors
    assert any("'spun'" in text and 'moves against the body' in text
               for text in description.dropped)  # fmt: skip


UUV_SENSORS = """<link name="dvl_link"><inertial><mass value="0.1"/>{inertia}</inertial></link>
<joint name="dvl" type="fixed"><parent link="auv/base_link"/><child link="dvl_link"/>
<origin xyz="-1 0 -0.3" rpy="0 1.5707963267948966 0"/></joint>
<link name="beam"/><joint name="b" type="fixed"><parent link="dvl_link"/><child link="beam"/>
<origin rpy="0 -0.52 0"/></joint><gazebo reference="beam"><sensor type="ray" name="beam0"><ray>
<scan><horizontal><samples>3</samples><min_angle>-0.03</min_angle><max_angle>0.03</max_angle>
</horizontal></scan><range><min>0.5</min><max>80</max></range></ray></sensor></gazebo>
<gazebo><plugin filename="libuuv_gazebo_ros_dvl_plugin.so" name="dvl_plugin">
<link_name>dvl_link</link_name><sensor_topic>dvl</sensor_topic><update_rate>7</update_rate>
<noise_sigma>0.05</noise_sigma><noise_amplitude>0.2</noise_amplitude>
<beam_link_name_0>beam</beam_link_name_0></plugin>
<plugin filename="libuuv_gazebo_ros_subsea_pressure_plugin.so" name="p">
<link_name>auv/base_link</link_name><noise_sigma>3</noise_sigma><update_rate>10</update_rate>
<standard_pressure>100</standard_pressure></plugin>
<plugin filename="libuuv_gazebo_ros_imu_plugin.so" name="i"><link_name>auv/base_link</link_name>
<gyroscope_noise_density>3e-4</gyroscope_noise_density><noise_amplitude>1</noise_amplitude>
<accelerometer_turn_on_bias_sigma>0.2</accelerometer_turn_on_bias_sigma></plugin>
<plugin filename="libuuv_gazebo_ros_magnetometer_plugin.so" name="m">
<link_name>auv/base_link</link_name><noise_xy>1</noise_xy><noise_z>1.4</noise_z>
<noise_amplitude>0.1</noise_amplitude></plugin></gazebo></robot>"""


def test_sensors_of_uuv_simulator(read):
    text = UUV.replace('</robot>', UUV_SENSORS.replace('{inertia}', URDF_INERTIA))
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


URDF_INERTIA = '<inertia ixx="1e-3" ixy="0" ixz="0" iyy="1e-3" iyz="0" izz="1e-3"/>'
ON = '<link name="Vehicle"/>'


def test_sensors_of_stonefish(read):
    text = on_robot(
        f'<sensor name="dvl" type="dvl" rate="5">{ON}',
        '<origin xyz="1 2 3" rpy="3.14159265359 0 0"/>',
        '<specs beam_angle="20"/><range velocity="9 8 7" altitude_min="0.5" altitude_max="81"/>',
        '<noise velocity="0.0015"/></sensor>',
        f'<sensor name="up" type="dvl" rate="5">{ON}<origin xyz="0 0 0" rpy="0 0 0"/>',
        '<specs beam_angle="20" beam_positive_z="true"/></sensor>',
        f'<sensor name="imu" type="imu" rate="25">{ON}<origin xyz="0 0 0" rpy="0 0 0"/>',
        '<noise angle="0.01" angular_velocity="0.05" linear_acceleration="1 2 3"/></sensor>',
        f'<sensor name="gps" type="gps" rate="1">{ON}<noise ned_position="0.5"/></sensor>',
        f'<sensor name="front" type="camera" rate="13">{ON}',
        '<origin xyz="0.4 0 0" rpy="1.5707963268 0 1.5707963268"/>',
        '<specs resolution_x="640" resolution_y="480" horizontal_fov="55"/></sensor>',
        f'<sensor name="fls" type="fls" rate="10">{ON}',
        '<origin xyz="0 0 0" rpy="1.5707963268 0 1.5707963268"/>',
        '<specs beams="256" bins="500" horizontal_fov="120" vertical_fov="20"/>',
        '<settings range_min="0.5" range_max="10"/></sensor>',
        f'<sensor name="msis" type="msis" rate="10">{ON}',
        '<origin xyz="0 0 0" rpy="1.5707963268 0 1.5707963268"/>',
        '<specs step="0.9" bins="400" horizontal_beam_width="2" vertical_beam_width="20"/>',
        '<settings range_max="30" rotation_min="-45" rotation_max="45"/></sensor>',
        '<sensor name="odom" type="odometry"/>',
    )
    description, sensors = read(text, '.scn', cameras=True)
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
    text = on_sdf('<sensor name="a/imu" type="imu"/>', '<sensor name="a imu" type="imu"/>',
                  '<sensor name="7" type="imu"/>')  # fmt: skip
    assert list(read(text)[1]) == ['a_imu', 'a_imu_2', 'sensor_7']


def test_imported_sensors_measure(tmp_path):
    text = on_sdf('<sensor name="imu" type="imu"><update_rate>50</update_rate></sensor>', DVL)
    vehicle = imported(tmp_path, text, '.sdf')[1]
    run = simulate(vehicle, load_scenario('dive'), duration=1.0)
    assert run.sensors['imu']['linear_acceleration'].shape == (51, 3)
    assert len(run.sensors['dvl'].stamp) == 9
