# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""NMEA 0183 of position, heading, depth and wind, read by pynmeagps."""

import math
from datetime import datetime, timedelta

import numpy as np
import pytest
from conftest import has
from hypothesis import given
from hypothesis import strategies as st
from test_instruments import Rig, TcpClient, served

from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.instruments.instrument import InstrumentReading
from marine_sim_ros.instruments.nmea import (
    compass_sentences,
    heading_sentences,
    position_sentences,
    sentence,
    wind_sentence,
)
from marine_sim_ros.ros.node_graph import node_specs
from marine_sim_ros.sim.options import RunOptions

pynmeagps = pytest.importorskip('pynmeagps')
pytestmark = pytest.mark.skipif(not has('pymap3d'), reason='a GPS receiver needs pymap3d')

RESOLUTION = 1e-7 / 60
"""Degrees."""


def parsed(line):
    return pynmeagps.NMEAReader.parse(line)


def test_a_sentence_has_the_checksum_of_the_standard():
    # The example of u-blox's receiver description of NMEA's checksum.
    assert sentence('GPZDA', '141644.00', '22', '03', '2002', '00', '00').endswith('*67\r\n')


def test_the_receiver_says_where_it_is_and_how_it_moves():
    with served('nmea', 'gps') as rig:
        client = TcpClient(rig)
        for _ in range(3):
            sent = rig.read(
                position=(10.0, 20.0, 0.1), rpy=(0.0, 0.0, 0.3), velocity=(1.0, 0.5, 0)
            )
            gga, rmc, vtg, zda = (parsed(client.file.readline()) for _ in range(4))
        client.close()
    latitude, longitude, altitude = sent.readings['geodetic']
    for found in (gga, rmc):
        assert abs(found.lat - latitude) <= RESOLUTION
        assert abs(found.lon - longitude) <= RESOLUTION
        assert math.isclose(
            (found.time.hour * 60 + found.time.minute) * 60
            + found.time.second + found.time.microsecond / 1e6, sent.stamp / 1e9,
        )  # fmt: skip
    assert abs(gga.alt - altitude) <= 5e-4
    assert (zda.time, zda.day, zda.month, zda.year) == (gga.time, 1, 1, 1970)
    assert (gga.quality, gga.sep, rmc.status, rmc.posMode) == (1, 0.0, 'A', 'A')
    east, north, _ = sent.readings['velocity']
    assert abs(rmc.spd - math.hypot(east, north) * 3600 / 1852) <= 5e-4
    assert abs(vtg.sogk - math.hypot(east, north) * 3.6) <= 5e-4
    assert vtg.sogn == rmc.spd
    assert abs(rmc.cog - math.degrees(math.atan2(east, north)) % 360) <= 5e-4
    assert vtg.cogt == rmc.cog
    # 0.3 rad from east to north, and 0.5 m/s to the left: within the noise of 0.05 m/s.
    true = math.hypot(1.0, 0.5), 90 - math.degrees(0.3 + math.atan2(0.5, 1.0))
    assert abs(math.hypot(east, north) - true[0]) < 0.3
    assert abs(rmc.cog - true[1]) < 15


def test_nothing_is_said_under_water():
    with served('nmea', 'gps') as rig, pytest.raises(TypeError):
        rig.read(position=(0.0, 0.0, -5.0))  # the sensor sends no reading


@given(
    st.floats(-90, 90), st.floats(-180, 180), st.floats(-500, 9000),
    st.floats(-50, 50), st.floats(-50, 50), st.integers(0, 4 * 10**18),
)  # fmt: skip
def test_any_place_speed_and_time_is_read_back(latitude, longitude, altitude, east, north, stamp):
    readings = {
        'geodetic': np.array([latitude, longitude, altitude]),
        'velocity': np.array([east, north, 0.0]),
    }
    lines = position_sentences(InstrumentReading(stamp, stamp, readings, None))
    assert all(len(line) <= 88 for line in lines)
    gga, rmc, vtg, zda = map(parsed, lines)
    date = datetime(1970, 1, 1) + timedelta(milliseconds=round(stamp / 1e6))
    assert (zda.year, zda.month, zda.day) == (date.year, date.month, date.day)
    assert zda.time == date.time()
    for found in (gga, rmc):
        assert abs(found.lat - latitude) <= RESOLUTION
        assert abs(found.lon - longitude) <= RESOLUTION
    assert abs(gga.alt - altitude) <= 6e-4
    speed = math.hypot(east, north)
    assert abs(vtg.sogk - 3.6 * speed) <= 6e-4
    assert 0 <= rmc.cog < 360
    if speed > 0.01:
        turn = math.radians(rmc.cog) - math.atan2(east, north)
        assert abs(math.remainder(turn, 2 * math.pi)) < 2e-5


def test_the_altimeter_says_the_depth_below_it():
    with served('nmea', 'altimeter') as rig:
        client = TcpClient(rig)
        client.socket.sendall(b'\xb5\x62 a setting\r\n' * 50)
        sent = rig.read()
        found, below = (parsed(client.file.readline()) for _ in range(2))
        rig.server.report(sent._replace(readings={'range': np.array(np.inf)}))
        none, nothing = (parsed(client.file.readline()) for _ in range(2))
        client.close()
        assert rig.refused == []
    assert found.msgID == 'DPT'
    assert abs(found.depth - sent.readings['range']) <= 5e-4
    assert found.offset == 0.0
    assert below.msgID == 'DBT'
    for value, unit in ((below.depthm, 1.0), (below.depthf, 0.3048), (below.depthfath, 1.8288)):
        assert abs(value * unit - sent.readings['range']) <= 1e-3
    assert none.depth == nothing.depthm == nothing.depthf == ''


def headings(rpy, rates=(0.0, 0.0, 0.0), heading=0.0):
    """Return HDT and ROT of an IMU."""
    readings = {'orientation': quaternion_from_rpy(*rpy), 'angular_velocity': np.array(rates)}
    return map(parsed, heading_sentences(InstrumentReading(0, 0, readings, None, heading)))


@given(
    st.floats(-1.5, 1.5), st.floats(-1.4, 1.4), st.floats(-3.1, 3.1), st.floats(-180, 180),
    st.lists(st.floats(-1, 1), min_size=3, max_size=3),
)  # fmt: skip
def test_the_heading_is_that_of_the_bow_and_its_rate_that_of_euler_angles(
    roll, pitch, yaw, north, rates
):
    hdt, rot = headings((roll, pitch, yaw), rates, north)
    assert hdt.headingTu == 'T'
    assert 0 <= hdt.headingT < 360
    assert abs(math.remainder(hdt.headingT - (90 - math.degrees(yaw) + north), 360)) <= 6e-3
    # Fossen 2.30: the rate of yaw of body rates.
    turn = (rates[1] * math.sin(roll) + rates[2] * math.cos(roll)) / math.cos(pitch)
    assert abs(rot.rot + math.degrees(turn) * 60) <= 0.051 + 1e-6 * abs(turn)


@pytest.mark.parametrize('name', ['gps', 'imu', 'magnetometer', 'altimeter'])
def test_the_option_takes_the_sensors_that_have_sentences(name):
    arguments = ('gps:=true', 'altimeter:=true', 'imu_orientation:=true')
    options = RunOptions(vehicle_arguments=arguments, protocol=(f'{name}=nmea',))
    told = [s.parameters['protocol'] for s in node_specs(options) if 'protocol' in s.parameters]
    assert told == [[f'{name}=nmea@127.0.0.1:10110']]


def test_an_imu_without_attitude_has_no_heading():
    with pytest.raises(ParameterError, match=r'imu has no heading; expected .*imu_orientation'):
        Rig('nmea', 'imu')


@pytest.mark.parametrize('degrees', [0.0, 45.0, 123.0, 359.997])
def test_a_level_magnetometer_has_the_magnetic_heading(degrees):
    turn = math.radians(degrees)
    field = np.array([2e-5 * math.cos(turn), 2e-5 * math.sin(turn), -4e-5])
    (line,) = compass_sentences(InstrumentReading(0, 0, {'magnetic_field': field}, None))
    found = parsed(line)
    assert (found.msgID, found.deviation, found.variation) == ('HDG', '', '')
    assert abs(math.remainder(found.headingM - degrees, 360)) <= 5.1e-3


def test_the_compass_points_to_magnetic_north():
    with served('nmea', 'magnetometer') as rig:
        client = TcpClient(rig)
        rig.read(rpy=(0.0, 0.0, 0.0))
        found = parsed(client.file.readline())
        client.close()
        east, north, _ = rig.environment.origin.magnetic_field
        declination = math.degrees(math.atan2(east, north))
    # East, with the noise of the sensor; the magnetic heading is the true one less declination.
    assert abs(math.remainder(found.headingM - (90.0 - declination), 360)) < 3


@pytest.mark.parametrize('angle', [0.0, 37.4, 180.0, 359.97])
def test_the_anemometer_says_angle_and_speed_of_the_apparent_wind(angle):
    turn = math.radians(angle)
    wind = 8.25 * np.array([-math.cos(turn), math.sin(turn)])
    found = parsed(wind_sentence(InstrumentReading(0, 0, {'wind': wind}, None)))
    assert found.msgID == 'MWV'
    assert abs(math.remainder(found.angle - angle, 360)) <= 0.051
    assert (found.reference, found.speedu, found.status) == ('R', 'M', 'A')
    assert found.speed == 8.25
