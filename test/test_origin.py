# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Who turns map into east, north, up, or back: the same world in maps of any heading."""

import io
import pickle
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from conftest import vehicle_of
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import marine_sim_ros
from marine_sim_ros.analysis.film import overlay_text
from marine_sim_ros.autopilot.conventions import geographic_state, reported_motion
from marine_sim_ros.autopilot.mavlink.guidance import NedFrame
from marine_sim_ros.console.visuals import scene_visuals
from marine_sim_ros.control.pilot import PoseTarget, target_at_vehicle
from marine_sim_ros.core.errors import ScenarioError
from marine_sim_ros.core.geodesy import GeographicPosition, Origin
from marine_sim_ros.core.spatial import quaternion_from_rpy, quaternion_product, rotation_matrix
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import parse_environment, run_environment
from marine_sim_ros.faults.fault_types import parse_faults, with_gusts
from marine_sim_ros.sensors import SENSORS
from marine_sim_ros.sensors.gps import geodetic
from marine_sim_ros.sensors.sensor_model import SensorInputs
from marine_sim_ros.sim.mission import MISSIONS
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import simulate
from marine_sim_ros.tools.teleop import target_table

STATE = State(
    np.array([30.0, -20.0, 0.4]),
    np.array(quaternion_from_rpy(0.1, -0.2, 0.7)),
    np.array([1.0, 0.2, -0.3, 0.1, 0.2, 0.3]),
)
"""In a map that looks north."""
POINTS = np.array([[3.0, 4.0, -1.0], [-20.0, 7.0, -9.0], [50.0, -60.0, -30.0]])
FILE = """
origin: {{latitude: 59.9, longitude: 10.7, altitude: 3.0, heading: {heading},
         magnetic_field: [1.0e-6, 2.0e-5, -4.0e-5]}}
water: {{kind: sea}}
waves: {{type: jonswap, significant_height: 1.0, peak_period: 7.0, direction: 40.0, spreading: 8.0,
        components: 12, seed: 3}}
current:
  velocity: [0.5, 0.1, 0.02]
  profile: [{{depth: 0.0, velocity: [0.4, 0.0, 0.0]}}, {{depth: 20.0, velocity: [0.0, 0.3, 0.0]}}]
  gauss_markov: {{deviation: [0.3, 0.1, 0.0], time_constant: 30.0, seed: 2}}
"""


@cache
def world(heading):
    """Return an environment whose map has a heading."""
    return parse_environment(FILE.format(heading=heading), 'world.yaml').at(12.0)


def turn(heading):
    """Return the quaternion of what is turned from a map that looks north."""
    return np.array(quaternion_from_rpy(0.0, 0.0, np.radians(heading)))


def points_of(points, heading):
    return points @ rotation_matrix(turn(heading)).T


def state_of(heading):
    q = quaternion_product(turn(heading), STATE.orientation)
    return State(points_of(STATE.position, heading), q, STATE.velocity)


def sensed(kind):
    def see(environment, state, heading):
        del heading
        sensor = next(s for s in vehicle_of('bluerov2', gps='true').sensors if s.kind == kind)
        inputs = SensorInputs.none(12.0)
        readings = SENSORS[kind].measure(sensor, state, environment, inputs)
        return np.concatenate([np.ravel(r) for r in readings.values()])

    return see


def told_to_ardusub(environment, state, heading):
    del heading
    motion = reported_motion(
        0, geographic_state(state, environment.origin), np.zeros(3), np.zeros(3)
    )
    sign = np.sign(motion.quaternion[0])
    return np.concatenate([motion.position, motion.velocity, sign * np.array(motion.quaternion)])


def told_by_mavlink(environment, state, heading):
    del heading
    frame = NedFrame(environment.origin)
    place = np.array(frame.place(state.position)) * 1e5
    return np.array([*frame.ned(state.position), *place, np.sin(frame.heading(state))])


def taken_by_mavlink(environment, state, heading):
    del state
    frame = NedFrame(environment.origin)
    found = [frame.in_map((1.0, 2.0, 3.0)), frame.position(59.9001, 10.7001, -2.0)]
    course = rotation_matrix(quaternion_from_rpy(0, 0, frame.yaw(0.3)))[:, 0]
    return points_of(np.array([*found, course]), -heading)


def flow(environment, state, heading):
    del state
    return points_of(environment.velocity(points_of(POINTS, heading)), -heading)


def sea(environment, state, heading):
    del state
    return environment.elevation(points_of(POINTS, heading))


def gust(environment, state, heading):
    text = '[{kind: gust, at: 11, duration: 2, speed: 0.7, direction: 25}]'
    still = replace(Environment(), origin=environment.origin)
    return flow(with_gusts(still, parse_faults(text)).at(12.0), state, heading)


def shown_by_teleop(environment, state, heading):
    del heading
    node = SimpleNamespace(environment=environment, state=state)
    target = PoseTarget(tuple(state.position.tolist()), target_at_vehicle(state).yaw)
    node.pilot = SimpleNamespace(target=target)
    console = Console(width=200, file=io.StringIO())
    console.print(target_table(node))
    told = console.file.getvalue()
    numbers = re.search(r'east (\S+) m, north (\S+) m', told).groups()
    return np.array([*map(float, numbers), float(re.search(r'heading (\d+)', told)[1])])


def shown_by_a_film(environment, state, heading):
    del heading
    return np.array([float(overlay_text(1.0, state, environment.origin).split('heading ')[1][:3])])


def shown_by_the_console(environment, state, heading):
    """A displayed heading; the page's script has the same formula (test_console_page.py)."""
    del heading
    origin = Origin(heading=scene_visuals(environment)['heading'])
    yaw = target_at_vehicle(state).yaw
    assert origin.yaw(origin.compass(yaw)) == pytest.approx(yaw)
    return np.array([origin.compass(yaw)])


CONSUMERS = {
    'teleop': shown_by_teleop,
    'film': shown_by_a_film,
    'console': shown_by_the_console,
    'GPS': sensed('gps'),
    'USBL fixes': lambda environment, state, heading: geodetic(
        environment.origin, state.position[None]
    ),
    'magnetometer': sensed('magnetometer'),
    'ArduSub': told_to_ardusub,
    'MAVLink out': told_by_mavlink,
    'MAVLink in': taken_by_mavlink,
    'currents and waves': flow,
    'surface': sea,
    'gusts': gust,
}


@pytest.mark.parametrize('name', CONSUMERS)
@pytest.mark.parametrize('heading', [90.0, -37.5, 180.0, 211.25, 360.0])
def test_the_heading_of_map_changes_nothing_in_the_world(name, heading):
    consumer = CONSUMERS[name]
    expected = consumer(world(0.0), state_of(0.0), 0.0)
    seen = consumer(world(heading), state_of(heading), heading)
    np.testing.assert_allclose(seen, expected, atol=1e-6, rtol=1e-9)


def test_the_current_of_an_option_goes_east(tmp_path):
    path = tmp_path / 'east.yaml'
    path.write_text(
        'origin: {latitude: 0, longitude: 0, heading: 90.0, magnetic_field: [0, 0, 0]}'
    )
    # The y axis of map looks east.
    current = run_environment(str(path), current=(0.5, 0.0, 0.0)).current
    np.testing.assert_allclose(current, [0, 0.5, 0], atol=1e-12)


@given(east=st.floats(-3e3, 3e3), north=st.floats(-3e3, 3e3), latitude=st.floats(-60, 60))
def test_a_place_is_that_of_the_ellipsoid(east, north, latitude):
    origin = Origin(latitude=latitude, longitude=179.99)
    place = origin.place(east, north)
    found = geodetic(origin, np.array([[east, north, 0.0]]))[0, :2]
    metres = 111e3 * np.array([1.0, np.cos(np.radians(latitude))])
    turned = (np.array(place) - found + 180.0) % 360.0 - 180.0
    assert np.all(np.abs(turned * metres) < 1e-5)
    np.testing.assert_allclose(origin.offset(*place), [east, north], atol=1e-6)


def test_nobody_else_reads_the_heading_of_the_origin():
    package = Path(marine_sim_ros.__file__).parent
    readers = {
        path.relative_to(package).as_posix()
        for path in package.rglob('*.py')
        if re.search(r'origin\.(heading|turn)\b', path.read_text(encoding='utf-8'))
    }
    assert readers == {
        'analysis/survey_files.py',  # geographic formats
        'autopilot/conventions.py',  # ArduSub, MAVLink
        'autopilot/mavlink/guidance.py',  # MAVLink
        'console/page/panels.py',  # labels of axes of map
        'console/visuals.py',  # the console's page
        'environment/internal_waves.py',
        'environment/reader.py',  # waves, currents
        'ros/sensors.py',  # compasses of NMEA
    }


# Waypoints by latitude and longitude.


@given(
    latitude=st.floats(-88.0, 88.0), longitude=st.floats(-180.0, 180.0),
    heading=st.floats(-360.0, 360.0), north=st.floats(-3e5, 3e5), east=st.floats(-3e5, 3e5),
)  # fmt: skip
def test_a_geographic_position_is_that_of_pyproj(latitude, longitude, heading, north, east):
    pyproj = pytest.importorskip('pyproj')
    origin = Origin(latitude=latitude, longitude=longitude, altitude=12.0, heading=heading)
    local = pyproj.Transformer.from_pipeline(
        '+proj=pipeline +step +proj=unitconvert +xy_in=deg +xy_out=rad '
        '+step +proj=cart +ellps=WGS84 '
        f'+step +proj=topocentric +ellps=WGS84 +lat_0={latitude!r} +lon_0={longitude!r} +h_0=12'
    )
    lon, lat, _ = local.transform(east, north, 0.0, direction='INVERSE')
    x, y, z = GeographicPosition(lat, lon, 7.0).in_map(origin)
    np.testing.assert_allclose(origin.enu(np.array([x, y, z])), [east, north, -7.0], atol=1e-5)


PLACE = 'origin: {latitude: 59.85, longitude: 10.60, heading: 30.0}'
GEOGRAPHIC = """
duration: 1.0
initial: {position: {latitude: 59.8501, longitude: 10.6002, depth: 3.0}}
segments: [{at: 0.0, control: {latitude: 59.85, longitude: 10.60, depth: 5.0, yaw: 0.3}}]
"""


def test_a_run_to_a_latitude_is_that_to_its_x_and_y():
    environment = parse_environment(PLACE, 'place.yaml')
    (x, y, z), (a, b, c) = (
        GeographicPosition(*place).in_map(environment.origin)
        for place in ((59.8501, 10.6002, 3.0), (59.85, 10.60, 5.0))
    )
    plain = parse_scenario(
        f'{{duration: 1.0, initial: {{position: [{x!r}, {y!r}, {z!r}]}}, segments: [{{at: 0.0, '
        f'control: {{x: {a!r}, y: {b!r}, z: {c!r}, yaw: 0.3}}}}]}}',
        'a.yaml',
    )
    vehicle = vehicle_of('bluerov2_heavy')
    hashes = {
        simulate(vehicle, s, environment=environment, dt=0.02).sha256
        for s in (plain, parse_scenario(GEOGRAPHIC, 'a.yaml'))
    }
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ('change', 'environment', 'expected'),
    [
        (('', ''), None, 'initial.position has a latitude, and environment (none) has no origin'),
        (('initial:', 'description:'), None, 'segments[0].control has a latitude'),
        (('latitude: 59.85,', 'latitude: -59.85,'), PLACE, 'more than 1000 km'),
        (('longitude: 10.60,', 'longitude: -169.4,'), PLACE, 'more than 1000 km'),
        (('latitude: 59.85, ', ''), PLACE, "control: 'latitude' is missing"),
        (('yaw: 0.3', 'x: 1.0'), PLACE, 'control: has x beside latitude'),
        (('yaw: 0.3', 'z: 1.0'), PLACE, 'control: has z beside latitude'),
        (('latitude: 59.85,', 'latitude: 95,'), PLACE, 'control.latitude is 95; expected'),
        ((', depth: 3.0', ''), PLACE, "initial.position: 'depth' is missing"),
        (('depth: 3.0', 'depth: .nan'), PLACE, 'initial.position.depth is nan'),
    ],
)  # fmt: skip
def test_a_latitude_that_is_no_place_is_refused(change, environment, expected):
    around = environment and parse_environment(environment, 'place.yaml')
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(GEOGRAPHIC.replace(*change), 'a.yaml').located(around)
    assert expected in str(caught.value)
    assert '\n' not in str(caught.value)


def test_a_scenario_that_nobody_located_does_not_run():
    scenario = parse_scenario(GEOGRAPHIC, 'a.yaml')
    with pytest.raises(ScenarioError, match=r'expected Scenario\.located'):
        scenario.check(vehicle_of('bluerov2'))


MISSION = """
title: A
description: b
briefing: c
vehicle: bluerov2
scenario: dive
environment: {environment}
tasks:
  - {{name: a, kind: return, position: {{latitude: 59.8501, longitude: 10.6002, depth: 3.0}}}}
  - {{name: b, kind: follow, distance: [0, 1], points: [[0, 0, -1], {{latitude: 59.85, longitude: 10.6, depth: 2}}]}}
  - name: c
    kind: inspect
    points: [{{name: p, position: {{latitude: 59.85, longitude: 10.6, depth: 4}}}}]
"""  # noqa: E501


def test_tasks_of_a_mission_may_be_geographic(tmp_path):
    path = tmp_path / 'place.yaml'
    path.write_text(PLACE)
    tasks = MISSIONS.parse(MISSION.format(environment=path), 'm.yaml').tasks
    origin = parse_environment(PLACE, 'place.yaml').origin
    assert tasks[0].spec.position == GeographicPosition(59.8501, 10.6002, 3.0).in_map(origin)
    np.testing.assert_allclose(tasks[1].spec.points, [[0, 0, -1], [0, 0, -2]], atol=1e-8)
    np.testing.assert_allclose(tasks[2].spec.points[0].position, [0, 0, -4], atol=1e-8)
    for environment in ('still', "''"):
        with pytest.raises(ScenarioError, match=r'tasks\[0\]\.position has a latitude'):
            MISSIONS.parse(MISSION.format(environment=environment), 'm.yaml')


def test_the_place_of_the_default_counts_as_an_origin_where_a_file_gives_it():
    home = Origin()
    place = {'latitude': home.latitude, 'longitude': home.longitude, 'date': home.date}
    exactly = parse_environment(
        yaml.safe_dump({'origin': {**place, 'magnetic_field': list(home.field)}}), 'home.yaml'
    )
    assert exactly.has_origin
    assert Environment(origin=home).has_origin
    assert not Environment().has_origin
    assert not parse_environment('{}', 'nowhere.yaml').has_origin
    assert not pickle.loads(pickle.dumps(Environment())).has_origin
    assert geodetic(exactly.origin, np.zeros(3)) == pytest.approx(
        geodetic(Environment().origin, np.zeros(3))
    )
