# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What the console shows of sensors: words, rates and health, beams, pictures of sonars."""

import json
import math
from types import SimpleNamespace as Message

import numpy as np
import pytest
from conftest import OF_BOATS, OPTIONAL_SENSORS, has

from marine_sim_ros import load_vehicle
from marine_sim_ros.console.sensor_readings import DRAWINGS, READINGS, RETURN, SIDE, plain_reading
from marine_sim_ros.console.telemetry import SensorRow, SensorRows
from marine_sim_ros.faults.fault_types import BarometerDrift, SensorBias
from marine_sim_ros.sensors import SENSORS
from marine_sim_ros.sensors.imaging_sonar import fan_picture
from marine_sim_ros.sensors.multibeam import beam_angles
from marine_sim_ros.sensors.scanning_sonar import bearing


@pytest.fixture(scope='module')
def vehicle():
    return load_vehicle('bluerov2', **dict.fromkeys(OPTIONAL_SENSORS, 'true'))


def row_of(vehicle, name):
    sensor = next(s for s in vehicle.sensors if s.name == name)
    return SensorRow(sensor, SENSORS[sensor.kind].topics_of(sensor))


def stamped(time=0.0, **fields):
    stamp = Message(sec=int(time), nanosec=round((time - int(time)) * 1e9))
    return Message(header=Message(stamp=stamp), **fields)


def vector(x, y, z):
    return Message(x=x, y=y, z=z)


def test_every_sensor_of_a_vehicle_has_a_row_in_its_order(vehicle):
    rows = SensorRows((s, SENSORS[s.kind].topics_of(s)) for s in vehicle.sensors)
    assert [one['name'] for one in rows.scenery()] == [s.name for s in vehicle.sensors]
    # else OPTIONAL_SENSORS lacks a new one
    assert {s.kind for s in vehicle.sensors} == set(SENSORS) - OF_BOATS
    assert all(row.wanted for row in rows.rows)
    found = rows.frame(10.0, since=9.0)
    assert {row['state'] for row in found} == {'waiting'}
    json.dumps([rows.scenery(), found], allow_nan=False)
    assert set(DRAWINGS) <= set(SENSORS)
    for row in rows.rows:  # what a drawing wants is there
        drawn = () if row.drawing is None else row.drawing.topics
        assert set(drawn) <= {t.name for t in SENSORS[row.sensor.kind].topics}


NAN = math.nan


@pytest.mark.parametrize(
    ('kind', 'message', 'text'),
    [
        ('FluidPressure', Message(fluid_pressure=151_523.0), '151.52 kPa'),
        ('Temperature', Message(temperature=-0.001), '0.00 °C'),
        ('CameraInfo', Message(width=640, height=480), '640 × 480 pixels'),
        (
            'Imu',
            Message(
                linear_acceleration=vector(0.004, -0.12, 9.81),
                angular_velocity=vector(0.0, math.pi / 2, -0.001),
            ),
            '0.00, −0.12, 9.81 m/s²\n0.0, 90.0, −0.1 °/s',
        ),
        ('MagneticField', Message(magnetic_field=vector(4.7e-6, 0, -39e-6)), '4.7, 0.0, −39.0 µT'),
        (
            'NavSatFix',
            Message(latitude=-33.5, longitude=10.25, altitude=1.26),
            '33.50000° S, 10.25000° E\n1.3 m',
        ),
        (
            'BatteryState',
            Message(voltage=16.0, current=-1.26, percentage=NAN),
            '16.00 V, draws 1.3 A',
        ),
        (
            'BatteryState',
            Message(voltage=14.8, current=-20.0, percentage=0.4),
            '14.80 V, draws 20.0 A, 40 % left',
        ),
        ('Range', Message(range=math.inf), 'nothing in range'),
        ('Range', Message(range=-math.inf), 'too near'),
        ('LaserScan', Message(ranges=[math.inf] * 2), 'no return'),
        ('LaserScan', Message(ranges=[math.inf]), 'no return at this bearing'),
        ('LaserScan', Message(ranges=[math.inf, 4.25]), 'first return 4.25 m'),
    ],
)
def test_readings_have_words_and_units(kind, message, text):
    assert READINGS[f'sensor_msgs/msg/{kind}'](message) == text


@pytest.mark.parametrize(
    ('data', 'text'),
    [('', ''), ('!AIVDM,1\r\n', '!AIVDM,1'), ('a b\r\nc\r\nd\r\n', 'a b and 2 more')],
)
def test_sentences_are_the_first_and_how_many_follow(data, text):
    assert READINGS['std_msgs/msg/String'](Message(data=data)) == text


def test_a_type_without_words_shows_its_numbers():
    class Part:
        def __init__(self, **fields):
            self.__dict__.update(fields)

        def get_fields_and_field_types(self):
            return dict.fromkeys(self.__dict__, '')

    message = Part(header=Part(sec=7), vector=Part(x=0.0, y=-1.5, z=2.0), good=True)
    assert plain_reading(message) == 'x 0.000, y −1.500, z 2.000, good yes'


def shows(row, now, **options):
    return row.row(now, **{'since': 0.0, 'ticks': 100.0, **options})


def feed(row, topic, times, message):
    row.take(topic, list(times), [message])


def test_health_is_that_of_age_and_rate(vehicle):
    row = row_of(vehicle, 'thermometer')
    rate = row.nominal
    assert rate == 5.0
    warm = Message(temperature=10.0)
    assert shows(row, 2.0)['state'] == 'waiting'
    assert shows(row, 3.5)['state'] == 'silent'  # it never came
    feed(row, 'temperature', np.arange(4.0, 8.01, 1 / rate), warm)
    found = shows(row, 8.1)
    assert found['state'] == 'ok'
    assert found['rate'] == pytest.approx(rate)
    assert found['age'] == pytest.approx(0.1)
    assert found['reading'] == '10.00 °C'
    assert shows(row, 9.0)['state'] == 'late'
    found = shows(row, 12.0)
    assert (found['state'], found['rate']) == ('silent', None)
    feed(row, 'temperature', np.arange(12.0, 20.0, 0.5), warm)  # two a second, of five
    found = shows(row, 19.6)
    assert (found['state'], found['rate']) == ('late', pytest.approx(2.0))
    assert shows(row, 19.6, ticks=2.0)['state'] == 'ok'  # the run has no more ticks than that
    assert shows(row, 19.6, ticks=0.0)['state'] == 'ok'  # or nobody knows how many it has
    # What is lost on the way to the page is not the sensor's fault.
    row.take('temperature', np.arange(30.0, 33.0, 0.2).tolist(), [warm], gap=True)
    assert shows(row, 33.0)['state'] == 'ok'
    # A run that starts anew is not late.
    feed(row, 'temperature', np.arange(0.0, 2.0, 0.2), warm)
    found = shows(row, 2.0)
    assert (found['state'], found['rate']) == ('ok', pytest.approx(rate))


def test_a_latency_is_no_lateness(vehicle):
    row = row_of(vehicle, 'gps')
    assert row.sensor.latency == 100_000_000
    fix = Message(latitude=0.0, longitude=0.0, altitude=0.0)
    feed(row, 'fix', np.arange(0.0, 5.01, 0.2), fix)
    assert shows(row, 5.0 + 0.1 + 0.7)['state'] == 'ok'
    assert shows(row, 5.0 + 0.1 + 0.9)['state'] == 'late'


def test_an_active_fault_makes_its_sensor_faulty_and_no_other(vehicle):
    imu, gps, pressure = (row_of(vehicle, name) for name in ('imu', 'gps', 'barometer'))
    fault = SensorBias(sensor='imu', size=1.0, start=2.0, end=4.0)
    drift = BarometerDrift(rate=1.0)

    def state(row, now):
        return shows(row, now, faults=(fault, drift))['state']

    assert [state(imu, t) for t in (1.0, 2.0, 3.9, 4.0)] == [
        'waiting',
        'faulty',
        'faulty',
        'silent',
    ]
    assert state(gps, 3.0) == 'waiting'
    assert state(pressure, 0.0) == 'faulty'


def test_names_and_units_of_single_numbers(vehicle):
    row = row_of(vehicle, 'altimeter')
    feed(row, 'range', [1.0], Message(range=4.8125))
    feed(row, 'confidence', [1.0], Message(data=99.0))
    assert shows(row, 1.0)['reading'] == '4.81 m, confidence 99 %'
    row = row_of(vehicle, 'leak')
    feed(row, 'detected', [1.0], Message(data=True))
    assert shows(row, 1.0)['reading'] == 'detected: yes'


def test_beams_of_a_dvl_are_ranges_or_lost(vehicle):
    row = row_of(vehicle, 'dvl')
    assert row.scenery()['drawing']['beams'] == ['aft stbd', 'aft port', 'fore port', 'fore stbd']
    assert shows(row, 0.0)['drawing']['heard'] is False
    velocity = Message(twist=Message(linear=vector(0.5, -0.1, 0.0)))
    row.take('beams', [1.0], [stamped(1.0, range=[4.5, -1.0, 4.25, 4.75])])
    row.take('twist', [1.0], [stamped(1.0, twist=velocity)])
    row.take('altitude', [1.0], [stamped(1.0, range=4.2)])
    found = shows(row, 1.2)
    assert found['drawing'] == {
        'heard': True,
        'ranges': [4.5, None, 4.25, 4.75],
        'altitude': 4.2,
        'velocity': [0.5, -0.1, 0.0],
    }
    assert found['reading'] == 'speed 0.51 m/s, altitude 4.20 m'
    # The bottom is lost: there is no velocity with the newest altitude.
    for i in range(1, 10):
        row.take('altitude', [1 + 0.2 * i], [stamped(1 + 0.2 * i, range=math.inf)])
    found = shows(row, 2.9)
    assert found['drawing']['velocity'] is None
    assert found['drawing']['altitude'] is None
    assert found['reading'] == 'altitude nothing in range'
    json.dumps(found, allow_nan=False)


def test_the_picture_of_a_fan_has_an_echo_where_it_is(vehicle):
    row = row_of(vehicle, 'imaging_sonar')
    spec = row.sensor.spec
    beams, bins = int(spec.beams), int(spec.bins)
    image = np.full((beams, bins), 30, np.uint8)
    reach = 12.0
    image[beams // 2 - 3 : beams // 2 + 3, int(reach / spec.max_range * bins)] = 250
    whole = fan_picture(spec, image)
    rows, columns = whole.shape
    message = Message(height=rows, width=columns, encoding='mono8', data=whole.reshape(-1))
    row.take('fan', [1.0], [message])
    found = shows(row, 1.0)
    drawing = found['drawing']
    picture = np.frombuffer(row.drawing.picture, np.uint8)
    picture = picture.reshape(drawing['height'], drawing['width'])
    assert picture.size <= 240 * 500
    up, across = np.unravel_index(np.argmax(picture), picture.shape)
    scale = drawing['height'] / spec.max_range
    assert (drawing['height'] - up) / scale == pytest.approx(reach, abs=0.2)
    assert (across - drawing['width'] / 2) / scale == pytest.approx(0.0, abs=0.5)
    distance = float(found['reading'].removeprefix('strongest echo at ').removesuffix(' m'))
    assert distance == pytest.approx(reach, abs=0.2)
    row.take('fan', [1.1], [Message(**{**vars(message), 'data': 0 * whole.reshape(-1)})])
    assert shows(row, 1.1)['reading'] == 'no echo'
    # A picture of another kind is left alone.
    row.take('fan', [1.2], [Message(**{**vars(message), 'encoding': 'rgb8'})])
    assert shows(row, 1.2)['drawing']['serial'] == 2


def test_a_sweep_keeps_the_echoes_where_the_beam_was(vehicle):
    row = row_of(vehicle, 'scanning_sonar')
    sensor, spec = row.sensor, row.sensor.spec
    period = sensor.period / 1e9
    scans, echoes, seen = [], [], {}
    for i in range(round(360 / spec.step)):
        time = i * period
        angle = bearing(sensor, time)
        there = abs(angle - math.radians(40)) < math.radians(3)
        echo = np.zeros(int(spec.samples), np.uint8)
        if there:
            echo[int(0.6 * len(echo)) :][:12] = 255
        seen[time] = angle
        scans.append(stamped(time, angle_min=angle, ranges=[math.inf]))
        echoes.append(stamped(time, data=echo))
    times = list(seen)
    row.take('scan', times, scans)
    row.take('echo', times, echoes)
    found = shows(row, times[-1])['drawing']
    picture = np.frombuffer(row.drawing.picture, np.uint8).reshape(SIDE, SIDE)
    up, across = np.nonzero(picture > RETURN)
    ahead, port = SIDE / 2 - up - 0.5, SIDE / 2 - across - 0.5
    assert np.hypot(ahead, port).mean() / (SIDE / 2) == pytest.approx(0.605, abs=0.01)
    x, y, _ = sensor.rotation @ [math.cos(math.radians(40)), math.sin(math.radians(40)), 0]
    at = np.arctan2(port, ahead).mean()
    assert at == pytest.approx(math.atan2(y, x), abs=math.radians(1))
    last = sensor.rotation @ [math.cos(angle), math.sin(angle), 0]
    assert found['bearing'] == pytest.approx(math.atan2(last[1], last[0]))


@pytest.mark.skipif(not has('rclpy'), reason='ros: not on this machine')
def test_the_messages_of_all_sensors_have_words_or_a_drawing(vehicle):
    """Make a message of each topic as its node fills it, and let the row read it."""
    from marine_sim_ros.ros import topics

    for sensor in vehicle.sensors:
        row = SensorRow(sensor, topics.published_topics(sensor))
        for name, topic in ((t.name, t) for t in topics.published_topics(sensor)):
            if name in row.wanted and (topic.type in READINGS or len(row.wanted) == 1):
                feed(row, name, [1.0], topics.sensor_topic(sensor, topic).type())
        found = shows(row, 1.0)
        assert found['reading'] or row.drawing
        json.dumps(found, allow_nan=False)


def test_the_section_of_a_multibeam_has_the_bottom_where_it_is(vehicle):
    row = row_of(vehicle, 'multibeam')
    angle = beam_angles(row.sensor.spec)
    readings = {'range': 8 / np.cos(angle), 'level': 0 * angle, 'deviation': 0 * angle}
    readings['range'][:100] = np.inf  # nothing on the port side
    (topic,) = (t for t in SENSORS['multibeam'].topics if t.name == 'points')
    fields = topic.fields(row.sensor, readings)
    fields['fields'] = [Message(**one) for one in fields['fields']]
    row.take('points', [1.0], [Message(**fields)])
    found = shows(row, 1.0)
    assert found['reading'] == '412 of 512 points, nearest 8.00 m'
    drawing = found['drawing']
    picture = np.frombuffer(row.drawing.picture, np.uint8)
    rows, columns = np.nonzero(picture.reshape(drawing['height'], drawing['width']))
    assert set(rows.tolist()) == {int(rows[0])}
    assert columns.max() >= drawing['width'] - 2
    assert columns.min() > 0.05 * drawing['width']


def test_a_waterfall_has_the_newest_line_above_and_port_left(vehicle):
    row = row_of(vehicle, 'side_scan')
    for value in (100, 250):
        line = np.zeros(2000, np.uint8)
        line[:500] = value
        message = Message(height=1, width=2000, encoding='mono8', data=line)
        row.take('scan', [1.0], [message])
    drawing = shows(row, 1.0)['drawing']
    picture = np.frombuffer(row.drawing.picture, np.uint8)
    picture = picture.reshape(drawing['height'], drawing['width'])
    assert picture[:3, 0].tolist() == [250, 100, 0]
    assert picture[0, drawing['width'] // 2] == 0
    row.take('scan', [1.2], [Message(height=1, width=2, encoding='rgb8', data=bytes(6))])
    assert shows(row, 1.2)['drawing']['serial'] == 2


def test_layers_of_an_adcp_are_drawn_over_time(vehicle):
    row = row_of(vehicle, 'adcp')
    table = np.zeros(4, [(name, '<f4') for name in 'xyzuvw'])
    table['u'], table['v'] = [0.3, 0.6, 0.0, NAN], [0.4, 0.8, 0.0, NAN]
    fields = [
        Message(name=name, offset=4 * i, datatype=7, count=1) for i, name in enumerate('xyzuvw')
    ]
    message = Message(
        height=1, width=4, fields=fields, is_bigendian=False, point_step=24, row_step=96,
        data=table.tobytes(),
    )  # fmt: skip
    row.take('profile', [1.0], [message])
    shown = shows(row, 1.0)
    assert '3 of 4 layers, 0.50 m/s in the first' in str(shown)
    drawing = shown['drawing']
    picture = np.frombuffer(row.drawing.picture, np.uint8)
    picture = picture.reshape(drawing['height'], drawing['width'])
    quarter = drawing['height'] // 4
    assert picture[[0, quarter, 2 * quarter, 3 * quarter], -1].tolist() == [127, 255, 0, 0]
    assert not picture[:, -2].any()
