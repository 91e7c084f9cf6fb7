# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Recorded sensors beside the truth: the errors are the noise that the sensors claim."""

import json
import math
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from bags import analyze, page_charts
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from marine_sim_ros import load_vehicle
from marine_sim_ros.analysis import sensor_errors as bag_sensors
from marine_sim_ros.analysis.report import sensors as report_sensors
from marine_sim_ros.bags.trajectory_writer import write_recording
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.vehicle import Frame, Sensor
from marine_sim_ros.scene.obstacles import Plane
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.sensors import SENSORS, SensorInputs
from marine_sim_ros.sensors.series import SensorSeries
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.scenario import load_scenario, parse_scenario
from marine_sim_ros.sim.simulation import simulate

pytestmark = pytest.mark.long

FLOOR = Environment(scene=Scene((Plane('floor', [0, 0, -10], [0, 0, 1], 'sand'),)))
HOUR = np.arange(2 * 3600, dtype=np.int64) * 500_000_000


def message(value):
    """Return nested mappings as what has attributes, as messages do."""
    if isinstance(value, dict):
        return SimpleNamespace(**{name: message(part) for name, part in value.items()})
    return value


def motion(seed, height):
    """Return states (m, ...) of a vehicle that rolls and pitches a little for an hour."""
    rng = np.random.default_rng(seed)
    angles = rng.normal(size=(len(HOUR), 3)) * [0.05, 0.05, 1.0]
    position = np.column_stack([np.zeros((len(HOUR), 2)), np.full(len(HOUR), height)])
    position += rng.normal(size=position.shape) * 0.3
    velocity = rng.normal(size=(len(HOUR), 6)) * [0.5, 0.2, 0.2, 0.1, 0.1, 0.1]
    return State(position, Rotation.from_euler('xyz', angles).as_quat(), velocity)


def normalised_hour(kind, seed, height=-3.0, turn=(0.0, 0.0, 0.0), **parameters):
    """Return the normalised errors (m, k) of a sensor in an hour, by quantity."""
    model = SENSORS[kind]
    place = Frame('sensor', 'base_link', np.array([0.1, -0.05, 0.2]), quaternion_from_rpy(*turn))
    period = int(HOUR[1])
    if kind == 'barometer':
        spec = model.spec('sensor', place.translation, **parameters)
    else:
        spec = model.spec(**parameters)
    sensor, states = Sensor(kind, kind, spec, place, period), motion(seed, height)
    rng = np.random.default_rng(seed + 1)
    supply = np.column_stack([rng.uniform(0, 300, len(HOUR)), np.full((len(HOUR), 2), np.nan)])
    inputs = SensorInputs(HOUR / 1e9, rng.normal(size=(len(HOUR), 6)), supply)
    ideal = model.measure(sensor, states, FLOOR, inputs)
    series = SensorSeries(model.disturb(sensor, ideal, HOUR, seed, ()), HOUR, HOUR)
    topics = {topic.name: topic for topic in model.topics_of(sensor)}
    result = {}
    for chart in model.charts:
        if chart.topic not in topics or chart.label == 'dead reckoning':
            continue
        fields = (topics[chart.topic].fields(sensor, series.at(i)) for i in range(len(HOUR)))
        numbers = np.array([chart.numbers(message(dict(own))) for own in fields])
        found = chart.compare(sensor, numbers, ideal, states)
        shape = (len(HOUR), len(chart.parts))
        values = [np.broadcast_to(value, shape) for value in found]
        result[chart.label] = bag_sensors.normalise_errors(chart, *values)[1]
    return result


NOISE = st.floats(0.2, 5.0)
WHITE = {
    'imu': lambda size: {
        'gyro_noise': 1e-4 * size,
        'accelerometer_noise': 1e-3 * size,
        'orientation': 1.0,
        'orientation_noise': 1e-3 * size,
    },
    'magnetometer': lambda size: {'noise': 1e-8 * size, 'hard_iron': (1e-6, 0.0, 2e-6)},
    'barometer': lambda size: {
        'atmospheric_pressure': 101300.0,
        'fluid_density': 1000.0,
        'variance': 40000.0 * size,
        'reference_offset': 0.0,
    },
    'thermometer': lambda size: {'noise': 0.1 * size},
    'battery': lambda size: {'voltage_noise': 1e-3 * size, 'current_noise': 0.01 * size},
    'gps': lambda size: {'height': 2.0, 'horizontal_noise': size, 'vertical_noise': 2 * size},
    'usbl': lambda size: {
        'transceiver': (40.0, 30.0, -1.0),
        'range_noise': 0.05 * size,
        'bearing_noise': 2e-3 * size,
    },
    'dvl': lambda size: {
        'turn': (math.pi, 0.0, 0.0),
        'velocity_noise': 2e-3 * size,
        'scale_error': 0.0,
        'dropout': 0.0,
    },
}
UNKNOWN = {'figure of merit'}


@pytest.mark.parametrize('kind', WHITE)
@settings(max_examples=3, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**31), size=NOISE)
def test_errors_of_white_noise_have_the_mean_0_and_the_variance_1(kind, seed, size):
    if kind == 'gps':
        pytest.importorskip('pymap3d', reason='pymap3d: not installed (extra sensors)')
    found = normalised_hour(kind, seed, **WHITE[kind](size))
    assert found.keys() - UNKNOWN
    for label, errors in found.items():
        if label in UNKNOWN:
            assert np.isnan(errors).all()
            continue
        count = len(errors)
        assert np.isfinite(errors).all(), label
        # Five standard deviations of mean and variance of so many normal numbers.
        assert np.abs(errors.mean(axis=0)).max() < 5 / math.sqrt(count), label
        assert np.abs(errors.var(axis=0) - 1).max() < 5 * math.sqrt(2 / count), label
        within = np.mean(np.abs(errors) <= 2)
        assert within == pytest.approx(math.erf(math.sqrt(2)), abs=0.01), label


def test_the_first_return_of_a_scanning_sonar_is_as_far_as_expected():
    """Many pings of one state: mean and scatter are those of the distribution of the model."""
    model = SENSORS['scanning_sonar']
    place = Frame('sensor', 'base_link', np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
    sensor = Sensor('sonar', 'scanning_sonar', model.spec(max_range=30.0), place, 50_000_000)
    state = State(np.array([0.0, 0, -9.0]), quaternion_from_rpy(0, -0.15, 0), np.zeros(6))
    ideal = model.measure(sensor, state, FLOOR, SensorInputs.none())
    many = {name: np.repeat(value[None], 2000, axis=0) for name, value in ideal.items()}
    found = model.disturb(sensor, many, np.arange(2000) * 50_000_000, 3, ())['range']
    (chart,) = model.charts
    one = {name: value[None] for name, value in ideal.items()}
    _, expected, deviation = chart.compare(sensor, found[:1, None], one, state)
    found = found[np.isfinite(found)]
    assert len(found) > 1900
    assert found.mean() == pytest.approx(expected[0, 0], abs=5 * deviation[0, 0] / math.sqrt(2000))
    assert found.std() == pytest.approx(deviation[0, 0], rel=0.15)


SCENARIO = """
duration: 12.0
initial: {position: [0, 0, -4], rpy: [0.0, 0.0, 0.4]}
segments:
  - {at: 0.0, pwm: [1600, 1400, 1550, 1480, 1520, 1530]}
faults:
  - {kind: sensor_bias, sensor: thermometer, size: 3.0, at: 0.0}
  - {kind: sensor_dropout, sensor: usbl, share: 1.0, at: 5.0, until: 8.5}
"""
KINDS = ('dvl', 'usbl', 'altimeter', 'thermometer', 'leak')


@pytest.fixture(scope='module')
def run(tmp_path_factory):
    """A recording over sand with a fault of two sensors."""
    folder = tmp_path_factory.mktemp('run')
    (folder / 'faulty.yaml').write_text(SCENARIO)
    vehicle = load_vehicle('bluerov2', **dict.fromkeys(KINDS, 'true'))
    given = tuple(f'{kind}:=true' for kind in KINDS)
    options = RunOptions(
        vehicle='bluerov2', vehicle_arguments=given, dt=0.02, environment='shallow_sand'
    )
    found = simulate(
        vehicle,
        load_scenario(str(folder / 'faulty.yaml')),
        environment=load_environment('shallow_sand'),
        dt=0.02,
        seed=4,
    )
    write_recording(folder / 'rec', vehicle, options, found)
    return folder / 'rec', found


def sensors_in(folder):
    (found,) = json.loads((folder / 'metrics.json').read_text())['bags'][0]['vehicles'].values()
    return found['sensors']


def test_a_report_has_every_sensor_over_its_truth(run, tmp_path):
    folder, trajectory = run
    assert analyze(folder, '-o', tmp_path, '--table', 'none') == 0
    found = sensors_in(tmp_path)
    assert list(found) == [name for name in trajectory.sensors if name in found]
    assert set(found) == {*KINDS, 'barometer', 'imu', 'magnetometer', 'battery'}
    # The recorded run's own readings, less those of an ideal sensor.
    noise = trajectory.sensors['barometer']['pressure'] - trajectory.pressure
    assert not noise.any()
    assert found['barometer']['pressure']['readings'] == len(trajectory.stamp)
    for name, numbers in {**found['imu'], **found['magnetometer']}.items():
        assert 0.8 < numbers['normalised_rms'] < 1.25, name
    assert found['dvl']['figure of merit']['rms'] < 1e-4
    assert found['dvl']['dead reckoning x']['rms'] < 0.05
    assert found['leak']['leak'] | {'normalised_rms': 0} == {
        'unit': '',
        'readings': 13,
        'every': 1,
        'bias': 0,
        'rms': 0,
        'normalised_mean': None,
        'normalised_rms': 0,
        'share_within_2': None,
    }
    # A fault is what is seen: it is no noise.
    assert found['thermometer']['temperature']['bias'] == pytest.approx(3.0, abs=0.1)
    assert found['thermometer']['temperature']['share_within_2'] == 0
    text = (tmp_path / 'report.html').read_text(encoding='utf-8')
    assert 'id="v0-sensors">Sensors</h2>' in text
    charts = {c['title']: c for c in titled(text)}
    assert len(charts) == sum(len(SENSORS[k].charts) for k in found) - missing()
    # A time without messages is open, and not a line from one end to the other.
    lost = charts['usbl: position']['data'][0]
    hole = [i for i, value in enumerate(lost['y']) if value is None]
    assert [lost['x'][hole[0] - 1], lost['x'][hole[0] + 1]] == [4.0, 9.0]


def titled(text):
    """Return the charts of sensors with their titles."""
    result = []
    for chart in page_charts(text)['charts']:
        if '-sensor-' in chart['key']:
            title = text.split(f'id="{chart["key"]}-at">')[1].split('<')[0]
            result.append({**chart, 'title': title})
    return result


def missing():
    """Return how many charts there are not: of an attitude, and of beams without their type."""
    from marine_sim_ros.bags.storage import storage

    beams = sum(chart.topic == 'beams' for chart in SENSORS['dvl'].charts)
    return 1 + (0 if storage('a test').knows('marine_acoustic_msgs/msg/Dvl') else beams)


def test_the_description_is_found_in_the_bag_or_named(run, tmp_path):
    """Without the manifest there is the URDF, which does not say where the run was."""
    shutil.copytree(run[0] / 'bag', tmp_path / 'alone')
    assert analyze(tmp_path / 'alone', '-o', tmp_path / 'a', '--table', 'none') == 0
    alone = sensors_in(tmp_path / 'a')
    assert alone['dvl']['velocity x']['readings'] == 0
    assert alone['imu']['specific force z']['readings'] > 500
    arguments = ('--environment', 'shallow_sand', '--table', 'none')
    assert analyze(tmp_path / 'alone', '-o', tmp_path / 'b', *arguments) == 0
    named = sensors_in(tmp_path / 'b')
    assert analyze(run[0], '-o', tmp_path / 'c', '--table', 'none') == 0
    assert named == sensors_in(tmp_path / 'c')
    # The vehicle as it is shipped has no DVL.
    arguments = ('--vehicle', 'bluerov2', '--table', 'none')
    assert analyze(tmp_path / 'alone', '-o', tmp_path / 'd', *arguments) == 0
    assert set(sensors_in(tmp_path / 'd')) == {'barometer', 'imu', 'magnetometer', 'battery'}


def test_an_environment_that_is_gone_costs_only_the_sensors(run, tmp_path):
    shutil.copytree(run[0], tmp_path / 'rec')
    manifest = json.loads((tmp_path / 'rec' / 'manifest.json').read_text())
    manifest['parameters']['environment'] = 'atlantis'
    (tmp_path / 'rec' / 'manifest.json').write_text(json.dumps(manifest))
    assert analyze(tmp_path / 'rec', '-o', tmp_path / 'out', '--table', 'none') == 0
    assert sensors_in(tmp_path / 'out') == {}
    text = (tmp_path / 'out' / 'report.html').read_text(encoding='utf-8')
    assert 'the sensors are not compared with the truth' in text
    assert 'atlantis' in text


def test_no_peak_is_lost_among_many_readings(tmp_path, monkeypatch):
    """One spike among 1001 readings is in the numbers and in the chart."""
    vehicle = load_vehicle('simple_rov')
    scenario = parse_scenario(
        'duration: 10.0\ninitial: {position: [0, 0, -2]}\n'
        'segments: [{at: 0.0, axes: {surge: 0.2}}]\nfaults:\n'
        '  - {kind: sensor_bias, sensor: barometer, size: 50000, at: 3.329, until: 3.331}\n',
        'one_spike',
    )
    monkeypatch.setattr(report_sensors, '_SHOWN', 200)
    found = simulate(vehicle, scenario, dt=0.01)
    write_recording(tmp_path / 'rec', vehicle, RunOptions(vehicle='simple_rov'), found)
    assert analyze(tmp_path / 'rec', '-o', tmp_path / 'out', '--table', 'none') == 0
    pressure = sensors_in(tmp_path / 'out')['barometer']['pressure']
    assert (pressure['readings'], pressure['every']) == (1001, 1)
    assert bag_sensors.MAX_READINGS > 10 * 60 * 200
    text = (tmp_path / 'out' / 'report.html').read_text(encoding='utf-8')
    (chart,) = [c for c in titled(text) if c['title'] == 'barometer: pressure']
    reading = np.array([np.nan if y is None else y for y in chart['data'][0]['y']], float)
    assert len(reading) < 220
    assert np.nanmax(reading) > 140


def test_of_many_messages_every_nth_is_compared(run, tmp_path, monkeypatch):
    monkeypatch.setattr(bag_sensors, 'MAX_READINGS', 100)
    assert analyze(run[0], '-o', tmp_path, '--table', 'none') == 0
    found = sensors_in(tmp_path)
    pressure = found['barometer']['pressure']
    assert (pressure['every'], pressure['readings']) == (8, 76)
    assert 0.7 < pressure['normalised_rms'] < 1.3
    assert found['altimeter']['range']['every'] == 2


@pytest.mark.filterwarnings('error')
def test_numbers_that_are_no_measurement_do_not_overflow_the_errors():
    reading = np.array([[1.0], [1e308], [np.inf], [2.0], [1e99]])
    truth = np.array([[0.5], [0.0], [0.0], [-1e308], [0.0]])
    deviation = np.array([[0.5], [1.0], [1.0], [1.0], [1e-9]])
    chart = SimpleNamespace(period=None)
    error, normalised = bag_sensors.normalise_errors(chart, reading, truth, deviation)
    np.testing.assert_array_equal(error[:, 0], [0.5, np.nan, np.nan, np.nan, 1e99])
    np.testing.assert_array_equal(normalised[:, 0], [1.0, np.nan, np.nan, np.nan, np.nan])
