# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""AIS of other vehicles, read by pyais."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import has
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros.core.geodesy import Origin
from marine_sim_ros.core.registry import PROTOCOLS, SENSORS
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.instruments.instrument import InstrumentReading
from marine_sim_ros.scene.bodies import Body
from marine_sim_ros.sensors import SensorInputs
from marine_sim_ros.sensors.ais import Ais, received_sentences
from marine_sim_ros.sensors.gps import geodetic
from marine_sim_ros.sensors.seen_bodies import NO_SURFACES, with_vehicles
from marine_sim_ros.sensors.series import has_reading

pyais = pytest.importorskip('pyais')
pytestmark = pytest.mark.skipif(not has('pymap3d'), reason='an AIS needs pymap3d')

ORIGIN = Origin(latitude=60.39, longitude=5.32, heading=20.0)
OPEN_SEA = replace(load_environment('still'), origin=ORIGIN)
SELF = State(np.array([0.0, 0.0, 0.0]), quaternion_from_rpy(0, 0, 0), np.zeros(6))


def transceiver(**changes):
    place = changes.pop('position', (0.5, 0.1, 2.0))
    return SimpleNamespace(
        kind='ais', name='ais', position=np.array(place), period=10**9, spec=Ais(**changes)
    )


def ship(name, sensor, **changes):
    """Return a body with a transceiver."""
    place = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
    return Body(name, *NO_SURFACES, *place, sensors=(sensor,), **changes)


def hear(bodies, states, seconds, own=SELF, sensor=None):
    """Return what is heard at each of some seconds, decoded."""
    found = []
    for second in seconds:
        around = with_vehicles(OPEN_SEA, bodies, states)
        sensor = sensor or transceiver()
        readings = SENSORS['ais'].measure(sensor, own, around, SensorInputs.none(second))
        lines = received_sentences(readings).splitlines()
        assert has_reading(readings) == bool(lines)
        assert all(len(line) <= 80 for line in lines)
        queue = pyais.stream.IterMessages([line.encode() for line in lines])
        found += [(second, message.decode()) for message in queue]
    return found


def moving(speed, yaw, rate=0.0, place=(1000.0, 500.0, 0.0)):
    nu = np.array([speed, 0.0, 0.0, 0.0, 0.0, rate])
    return State(np.array(place), quaternion_from_rpy(0, 0, yaw), nu)


def test_a_ship_of_class_a_reports_where_it_is_and_its_name():
    bodies = {'/north_star': ship('/north_star', transceiver(mmsi=257123456, length=8, beam=3))}
    state = moving(6.0, 0.3, 0.05)
    heard = hear(bodies, {'/north_star': state}, np.arange(0.0, 400.0))
    reports = [m for _, m in heard if m.msg_type == 1]
    statics = [m for _, m in heard if m.msg_type == 5]
    assert len(reports) == 40  # below 14 knots, each 10 s
    assert len(statics) == 2  # each six minutes
    report, static = reports[0], statics[0]
    assert report.mmsi == static.mmsi == 257123456
    antenna = state.position + rotation_matrix(state.orientation) @ np.array([0.5, 0.1, 2.0])
    latitude, longitude, _ = geodetic(ORIGIN, antenna)
    assert abs(report.lat - latitude) <= 1 / 1_200_000 + 1e-9
    assert abs(report.lon - longitude) <= 1 / 1_200_000 + 1e-9
    # v + ω × r of the antenna, 20° of the map's y axis, and headings clockwise from north.
    velocity = math.hypot(6.0 - 0.1 * 0.05, 0.5 * 0.05)
    assert abs(report.speed - velocity * 3600 / 1852) <= 0.051
    compass = 90 - math.degrees(0.3) + 20
    assert report.heading == round(compass)
    assert abs(report.course - (compass - math.degrees(math.atan2(0.025, 5.995)))) <= 0.051
    # To port, 172°/min, of which pyais gives (ROT/4.733)².
    assert abs(report.turn + math.degrees(0.05) * 60) < 4
    assert static.shipname == 'NORTH_STAR'
    assert (static.ship_type, static.callsign) == (90, '')
    assert (static.to_bow, static.to_stern, static.to_port, static.to_starboard) == (4, 4, 1, 2)


@pytest.mark.parametrize(
    ('speed', 'class_b', 'interval'),
    [(0.0, 0, 10), (8.0, 0, 6), (13.0, 0, 2), (0.5, 1, 180), (2.0, 1, 30)],
)
def test_the_intervals_are_those_of_the_recommendation(speed, class_b, interval):
    bodies = {'/a': ship('/a', transceiver(class_b=class_b))}
    heard = hear(bodies, {'/a': moving(speed, 0.0)}, np.arange(0.0, 720.0))
    times = [t for t, m in heard if m.msg_type == (18 if class_b else 1)]
    assert times[0] < 11
    assert set(np.diff(times)) == {interval}


def test_a_boat_of_class_b_sends_its_name_in_two_parts():
    bodies = {'/dinghy': ship('/dinghy', transceiver(class_b=1, ship_type=36))}
    heard = [m for _, m in hear(bodies, {'/dinghy': moving(1.5, -2.0)}, np.arange(0.0, 60.0))]
    assert [m.msg_type for m in heard] == [18, 24, 24, 18]
    report, name, rest, _ = heard
    assert (report.cs, report.heading) == (True, round(90 + math.degrees(2.0) + 20))
    assert (name.partno, name.shipname) == (0, 'DINGHY')
    assert (rest.partno, rest.ship_type, rest.to_bow) == (1, 36, 0)
    assert 799_000_000 <= report.mmsi == name.mmsi == rest.mmsi < 800_000_000


def test_no_radio_reaches_under_water_or_beyond_its_range():
    bodies = {'/a': ship('/a', transceiver(max_range=2000))}
    sunk = moving(0.0, 0.0, place=(100.0, 0.0, -3.0))
    far = moving(0.0, 0.0, place=(2100.0, 0.0, 0.0))
    diving = SELF._replace(position=np.array([0.0, 0.0, -5.0]))
    near = moving(0.0, 0.0)
    seconds = np.arange(0.0, 20.0)
    assert hear(bodies, {'/a': sunk}, seconds) == []
    assert hear(bodies, {'/a': far}, seconds) == []
    assert hear(bodies, {'/a': near}, seconds, own=diving) == []
    assert len(hear(bodies, {'/a': near}, seconds)) == 3
    assert hear(bodies, {'/a': None}, seconds) == []


@given(
    st.floats(-20, 20), st.floats(-math.pi, math.pi), st.floats(-3, 3),
    st.tuples(st.floats(-2e4, 2e4), st.floats(-2e4, 2e4)),
    st.text(max_size=30).filter(lambda text: '/' not in text), st.booleans(),
)  # fmt: skip
def test_any_motion_and_name_is_read_back(speed, yaw, rate, place, name, class_b):
    name = f'/{name}'
    bodies = {name: ship(name, transceiver(class_b=int(class_b)))}
    state = moving(speed, yaw, rate, (*place, 0.0))
    heard = [m for _, m in hear(bodies, {name: state}, np.arange(0.0, 12.0))]
    report, static = heard[0], next(m for m in heard if hasattr(m, 'shipname'))
    assert 0 <= report.heading < 360
    assert 0 <= report.course < 360
    assert report.speed <= 102.2
    expected = ''.join(c if ' ' <= c < '`' else ' ' for c in name[1:].upper()[:20])
    assert static.shipname == expected.split('@')[0].strip()


def test_nmea_sends_the_sentences():
    bodies = {'/a': ship('/a', transceiver())}
    around = with_vehicles(OPEN_SEA, bodies, {'/a': moving(0.0, 0.0)})
    sensor = transceiver()
    seconds = range(12)
    readings = [
        SENSORS['ais'].measure(sensor, SELF, around, SensorInputs.none(float(s))) for s in seconds
    ]
    instrument, sent = PROTOCOLS['nmea'].instrument(sensor), []
    instrument.clients.append(SimpleNamespace(send=sent.append))
    for reading in filter(has_reading, readings):
        instrument.report(InstrumentReading(0, 0, reading, sensor))
    assert b''.join(sent).decode() == ''.join(map(received_sentences, readings))
    assert b''.join(sent).startswith(b'!AIVDM,1,1,,A,1')
