# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0
"""Estimators on the other end of the sensors: their errors are those that they expect."""

import json
import os
import shutil
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml
from conftest import ROOT
from error_state_filter import ErrorStateFilter, InertialNoise
from graph import Watcher
from scipy.spatial.transform import Rotation

from marine_sim_ros import load_scenario, load_vehicle, simulate
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.model.library import parse_xacro_arguments
from marine_sim_ros.sensors import SENSORS, SensorInputs
from marine_sim_ros.sensors.series import SensorRecord
from marine_sim_ros.sim.options import RunOptions

SEEDS = 50
DT = 0.01
DURATION = 60.0
START = np.repeat([0.002, 0.01, 0.01], 3)
"""Standard deviations of what a filter knows at the start: rad, m/s, m."""


@cache
def survey():
    """Return a vehicle, its water, its motion over one round of the survey, and its inputs."""
    vehicle = load_vehicle('bluerov2_heavy', dvl='true')
    environment = load_environment('test_grid')
    scenario = load_scenario('survey')
    run = simulate(
        vehicle, scenario, environment=environment, dt=DT, integrator='rk4', duration=DURATION
    )
    change = np.diff(run.velocity, axis=0, append=run.velocity[-1:]) / DT
    supply = np.repeat(SensorInputs.none().supply[None], len(change), axis=0)
    return vehicle, environment, run, SensorInputs(run.time, change, supply)


@cache
def readings():
    """Return what the sensors read with every seed: (m, n, ...) by sensor and quantity."""
    vehicle, environment, run, inputs = survey()
    wanted = ('imu', 'dvl', 'barometer')
    found = {name: [] for name in wanted}
    states = State(run.position, run.orientation, run.velocity)
    for seed in range(SEEDS):
        record = SensorRecord(
            vehicle, environment, run.stamp, states, inputs, seed=seed, at_once=True
        )
        for name in wanted:
            found[name].append(record[name])
    return {
        name: {key: np.stack([one[key] for one in every], axis=1) for key in every[0]}
        for name, every in found.items()
    }


def estimate(deaf=''):
    """Return NEES and NIS of DVL and depth (k, n), errors (k, n, 9) and their covariances.

    Args:
        deaf: parameter of the IMU that the filter takes for 0.
    """
    vehicle, environment, run, _ = survey()
    sensors = {sensor.name: sensor for sensor in vehicle.sensors}
    imu, dvl, barometer = (sensors[name] for name in ('imu', 'dvl', 'barometer'))
    told = readings()
    spec = replace(imu.spec, **{deaf: 0.0}) if deaf else imu.spec
    noise = [InertialNoise(spec, part, 1 / DT) for part in ('gyro', 'accelerometer')]
    true_turn = Rotation.from_quat(run.orientation).as_matrix()
    linear, rates = run.velocity[:, :3], run.velocity[:, 3:]
    true_velocity = linear + np.cross(rates, imu.position)
    true_position = run.position + true_turn @ imu.position
    error = START * np.random.default_rng(0).normal(size=(SEEDS, 9))
    filters = ErrorStateFilter(
        true_turn[0] @ Rotation.from_rotvec(-error[:, :3]).as_matrix(),
        true_velocity[0] - error[:, 3:6],
        true_position[0] - error[:, 6:],
        np.diag(START**2),
        noise,
        place=imu.position,
        scale=(0.01 * dvl.spec.scale_error) ** 2 / 3,
        gravity=environment.gravity,
    )
    weight = environment.density(np.zeros(3), barometer.spec.fluid_density) * environment.gravity
    pressure = told['barometer']['pressure'] - barometer.spec.atmospheric_pressure
    rate_variance = noise[0].density / DT
    nees, velocity_nis, depth_nis, errors, covariances = [], [], [], [], []
    for i in range(0, len(run.stamp), 5):  # readings of the IMU are those of every tick
        if i:
            filters.predict(
                told['imu']['angular_velocity'][i - 5 : i + 1],
                told['imu']['linear_acceleration'][i - 5 : i],
                DT,
            )
        height = -pressure[i] / weight
        variance = barometer.spec.variance / weight**2
        depth_nis.append(filters.take_height(height, variance, barometer.position))
        if i % 20 == 0:
            spread = told['dvl']['covariance'][i // 20].reshape(-1, 3, 3)
            velocity = told['dvl']['velocity'][i // 20]
            velocity_nis.append(filters.take_velocity(velocity, spread, dvl, rate_variance))
            errors.append(filters.errors(true_turn[i], true_velocity[i], true_position[i]))
            nees.append(filters.nees(errors[-1]))
            covariances.append(filters.covariance[:, :9, :9])
    return tuple(map(np.stack, (nees, velocity_nis, depth_nis, errors, covariances)))


def bounds(freedom):
    """Return the 95 % bounds of the mean of a squared error of so many axes over all seeds."""
    from scipy.stats import chi2

    return chi2.ppf([0.025, 0.975], freedom * SEEDS) / SEEDS


def share_within(squared, freedom):
    """Return the share of the times at which the mean over the seeds is within its bounds."""
    low, high = bounds(freedom)
    mean = np.nanmean(squared, axis=1)
    return np.mean((mean > low) & (mean < high))


@pytest.fixture(scope='module')
def estimated():
    """What filters that know the sensors make of their readings."""
    return estimate()


@pytest.mark.long
def test_the_errors_of_a_filter_are_those_that_it_expects(estimated):
    """Pose and velocity of 50 seeds; dead reckoning where nothing tells the position."""
    nees, velocity, depth, errors, _ = estimated
    for squared, freedom in ((nees, 9), (velocity, 3), (depth, 1)):
        low, high = bounds(freedom)
        assert low < np.nanmean(squared) < high, freedom
        assert share_within(squared, freedom) > 0.7, freedom
    assert np.isfinite(velocity).mean() > 0.95
    assert np.abs(errors[-1, :, 8]).max() < 0.01  # m; 50 seeds of a pressure of 0.02 m noise
    assert np.abs(errors[-1, :, :2]).max() < 1e-3  # rad; gravity and the DVL hold the level


@pytest.mark.long
def test_a_filter_that_does_not_know_the_drift_of_the_gyroscopes_is_found_out():
    nees, *_ = estimate(deaf='gyro_bias_instability')
    assert np.nanmean(nees) > bounds(9)[1]
    assert share_within(nees, 9) < 0.5


# --- robot_localization ---------------------------------------------------------------------

CONFIGURATION = ROOT / 'config' / 'localization' / 'robot_localization.yaml'
OPTIONS = RunOptions(vehicle='bluerov2_heavy', scenario='survey', environment='test_grid')


def localized_vehicle():
    """Return the vehicle of ``localization:=true``, and its options."""
    from marine_sim_ros.ros.launching.arguments import enable_localization_sensors

    options = enable_localization_sensors(OPTIONS)
    return load_vehicle(
        options.vehicle, **parse_xacro_arguments(options.vehicle_arguments)
    ), options


def test_a_barometer_tells_the_height_with_its_variance():
    vehicle = load_vehicle('bluerov2', barometer_pose='true')
    sensor = next(s for s in vehicle.sensors if s.kind == 'barometer')
    environment = load_environment('test_grid')
    told = SENSORS['barometer'].measure(
        sensor, state_at_rest((1.0, 2.0, -7.5)), environment, SensorInputs.none()
    )
    (topic,) = (t for t in SENSORS['barometer'].topics_of(sensor) if t.name == 'pose')
    pose = topic.fields(sensor, told)['pose']
    assert pose['pose']['position']['z'] == pytest.approx(-7.5, abs=1e-9)
    variances = np.diag(pose['covariance'].reshape(6, 6))
    weight = environment.density(np.zeros(3), sensor.spec.fluid_density) * environment.gravity
    assert variances[2] == pytest.approx(sensor.spec.variance / weight**2)
    assert np.all(variances[[0, 1, 3, 4, 5]] > 1e3)
    plain = next(s for s in load_vehicle('bluerov2').sensors if s.kind == 'barometer')
    assert 'pose' not in {t.name for t in SENSORS['barometer'].topics_of(plain)}


@pytest.mark.ros
def test_the_configuration_names_topics_that_the_vehicle_has():
    from marine_sim_ros.ros.topics import sensor_topics

    vehicle, options = localized_vehicle()
    assert options.truth_frame == 'base_link_truth'
    given = yaml.safe_load(CONFIGURATION.read_text())['/**']['ros__parameters']
    topics = {topic.name: topic.type_name.split('/')[-1] for topic in sensor_topics(vehicle)}
    kinds = {
        'imu0': 'Imu',
        'twist0': 'TwistWithCovarianceStamped',
        'pose0': 'PoseWithCovarianceStamped',
    }
    for name, kind in kinds.items():
        assert topics[given[name]] == kind
        assert len(given[f'{name}_config']) == 15


@pytest.mark.ros
def test_what_cannot_be_localized_is_one_line(monkeypatch, tmp_path):
    from marine_sim_ros.ros.launching import arguments

    with pytest.raises(ParameterError, match='investigator90 has no imu called imu with'):
        arguments.enable_localization_sensors(replace(OPTIONS, vehicle='investigator90'))
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    with pytest.raises(ParameterError, match='apt install ros-jazzy-robot-localization'):
        arguments.check_robot_localization()


@pytest.mark.ros
def test_the_true_pose_leaves_base_link_to_an_estimator(processes):
    from tf2_msgs.msg import TFMessage

    processes.marine_sim(
        'run', 'bluerov2', '--composed', '--truth-frame', 'base_link_truth', '--duration', 30
    )
    watcher = Watcher()
    watcher.listen('/tf', TFMessage)
    watcher.until(lambda: len(watcher.seen['/tf']) > 3)
    watcher.close()
    frames = {
        (t.header.frame_id, t.child_frame_id) for m in watcher.seen['/tf'] for t in m.transforms
    }
    assert frames == {('map', 'base_link_truth')}


def ekf_node():
    """Return the program of robot_localization, or None where it is not installed."""
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    paths = (Path(prefix) / 'lib' / 'robot_localization' / 'ekf_node' for prefix in prefixes)
    return next((path for path in paths if path.is_file()), None)


def fixed_frames(vehicle):
    """Return the transforms that robot_state_publisher and a global localizer would send."""
    from geometry_msgs.msg import TransformStamped

    places = {'odom': ('map', np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))}
    for sensor in vehicle.sensors:
        if not sensor.own_frame and sensor.frame != 'base_link':
            places[sensor.frame] = ('base_link', sensor.position, sensor.place.quaternion)
    transforms = []
    for child, (parent, place, turn) in places.items():
        one = TransformStamped(child_frame_id=child)
        one.header.frame_id = parent
        position, rotation = one.transform.translation, one.transform.rotation
        position.x, position.y, position.z = place.tolist()
        rotation.x, rotation.y, rotation.z, rotation.w = turn.tolist()
        transforms.append(one)
    return transforms


def estimated_survey(processes, tmp_path, duration):
    """Run the survey in the graph with ekf_node beside it; return what ``compared`` does."""
    from marine_sim_ros.ros.launching import arguments

    vehicle, options = localized_vehicle()
    given = tmp_path / 'run.yaml'
    given.write_text(
        yaml.safe_dump({'/**': {'ros__parameters': arguments.ekf_parameters(options)}})
    )
    ekf = processes.start(
        ekf_node(), '--ros-args', '-r', '__ns:=/bluerov2_heavy', '--params-file', CONFIGURATION,
        '--params-file', given, stdout=(tmp_path / 'ekf.log').open('w'),
    )  # fmt: skip
    watcher = poses(vehicle)
    sets = [part for argument in options.vehicle_arguments for part in ('--set', argument)]
    watcher.until(lambda: watcher.node.count_publishers('odometry/filtered') == 1)
    run = processes.marine_sim(
        'run', options.vehicle, '--scenario', options.scenario, '--environment',
        options.environment, '--composed', '--real-time-factor', 4, '--dt', 0.02, '--duration',
        duration, '--truth-frame', options.truth_frame, *sets,
        stdout=(tmp_path / 'run.log').open('w'),
    )  # fmt: skip
    watcher.until(lambda: run.poll() is not None, timeout=3000)
    assert ekf.poll() is None, (tmp_path / 'ekf.log').read_text()[-3000:]
    return compared(watcher)


def poses(vehicle):
    """Return who hears truth and estimate, and tells where a vehicle's sensors sit."""
    from nav_msgs.msg import Odometry

    from marine_sim_ros.ros import topics

    watcher = Watcher('/bluerov2_heavy')
    static = topics.TF_STATIC
    watcher.frames = watcher.node.create_publisher(static.type, static.name, static.qos)
    watcher.frames.publish(static.type(transforms=fixed_frames(vehicle)))
    for topic in ('odom', 'odometry/filtered'):
        watcher.listen(topic, Odometry, depth=20000)
    return watcher


def compared(watcher):
    """Compare an estimate with the truth.

    Returns: stamps (n,) s, odometry/filtered (n, 3) m, odom (n, 3) m at these, and the way in m.
    """
    watcher.spin(2.0)
    watcher.close()

    def rows(topic):
        found = {}
        for message in watcher.seen[topic]:
            stamp, p = message.header.stamp, message.pose.pose.position
            found[stamp.sec + 1e-9 * stamp.nanosec] = (p.x, p.y, p.z)
        times = np.array(sorted(found))
        return times, np.array([found[t] for t in times])

    truth_times, truth = rows('odom')
    times, estimates = rows('odometry/filtered')
    inside = times <= truth_times[-1]
    times, estimates = times[inside], estimates[inside]
    at = np.stack([np.interp(times, truth_times, truth[:, i]) for i in range(3)], axis=1)
    way = np.linalg.norm(np.diff(truth, axis=0), axis=1).sum()
    return times, estimates, at, way


@pytest.mark.ros
@pytest.mark.skipif(ekf_node() is None, reason='robot_localization: not on this machine')
@pytest.mark.timeout(3600)
def test_robot_localization_drifts_less_than_one_percent_of_the_way(processes, tmp_path):
    check_drift(*estimated_survey(processes, tmp_path, 600.0))


STAND_IN = """
import json, os, sys
from pathlib import Path
import rclpy
from geometry_msgs.msg import PoseWithCovarianceStamped, TwistWithCovarianceStamped
from rclpy.executors import ExternalShutdownException
from sensor_msgs.msg import Imu

rclpy.init()
node = rclpy.create_node('x', automatically_declare_parameters_from_overrides=True)
values = {name: parameter.value for name, parameter in node.get_parameters_by_prefix('').items()}
told = {'name': node.get_fully_qualified_name(), 'frames': {}}
told |= {name: list(values[name]) for name in ('initial_state', 'imu0_config')}
told |= {name: values[name] for name in ('odom_frame', 'base_link_frame', 'use_sim_time')}
kinds = {'imu0': Imu, 'twist0': TwistWithCovarianceStamped, 'pose0': PoseWithCovarianceStamped}
counts = dict.fromkeys(kinds, 0)

def hear(name, message):
    counts[name] += 1
    told['frames'][name] = message.header.frame_id
    Path(FILE).write_text(json.dumps({**told, 'counts': counts}))

for name, kind in kinds.items():
    node.create_subscription(kind, values[name], lambda m, name=name: hear(name, m), 10)
parent = os.getppid()
try:
    while os.getppid() == parent:  # it ends with a launch that is killed
        rclpy.spin_once(node, timeout_sec=0.5)
except (KeyboardInterrupt, ExternalShutdownException):
    pass
"""


def provide(prefix, package, name, script):
    """Install a package with one program, a Python script."""
    program = prefix / 'lib' / package / name
    index = prefix / 'share' / 'ament_index' / 'resource_index' / 'packages'
    for folder in (program.parent, index):
        folder.mkdir(parents=True, exist_ok=True)
    (index / package).touch()
    program.write_text(f'#!{sys.executable}\n{script}')
    program.chmod(0o755)


@pytest.mark.ros
@pytest.mark.launch
@pytest.mark.skipif(ekf_node() is not None, reason='robot_localization itself is here')
@pytest.mark.timeout(900)
def test_a_launch_gives_an_estimator_what_it_is_to_fuse(processes, tmp_path):
    """Programs in place of ekf_node and tf2_ros's tell what they are given and what they hear."""
    prefix, heard, placed = (tmp_path / name for name in ('prefix', 'heard.json', 'placed'))
    provide(prefix, 'robot_localization', 'ekf_node', f'FILE = {str(heard)!r}\n{STAND_IN}')
    note = f'import sys; from pathlib import Path; Path({str(placed)!r}).write_text(str(sys.argv))'
    provide(prefix, 'tf2_ros', 'static_transform_publisher', note)
    known = processes.environment['AMENT_PREFIX_PATH']
    processes.environment['AMENT_PREFIX_PATH'] = f'{prefix}{os.pathsep}{known}'
    run = processes.start(
        'ros2', 'launch', 'marine_sim_ros', 'bluerov2_heavy.launch.py', 'localization:=true',
        'scenario:=survey', 'environment:=test_grid', 'composed:=true', 'dt:=0.02', 'duration:=8',
        start_new_session=True, stdout=(tmp_path / 'launch.log').open('w'),
    )  # fmt: skip
    run.wait(timeout=600)
    said = (tmp_path / 'launch.log').read_text()
    assert run.returncode in (0, 1), said[-3000:]  # the survey is cut short
    assert 'Traceback' not in said, said[-3000:]
    told = json.loads(heard.read_text())
    assert told['name'] == '/bluerov2_heavy/ekf_node'
    assert all(count > 10 for count in told['counts'].values()), told
    assert told['frames'] == {'imu0': 'navigator_link', 'twist0': 'dvl_frame', 'pose0': 'map'}
    assert (told['odom_frame'], told['base_link_frame']) == ('odom', 'base_link')
    assert told['initial_state'][:3] == list(load_scenario('survey').position)
    assert told['use_sim_time']
    assert "'--frame-id', 'map', '--child-frame-id', 'odom'" in placed.read_text()


@pytest.mark.ros
@pytest.mark.launch
@pytest.mark.skipif(ekf_node() is None, reason='robot_localization: not on this machine')
@pytest.mark.timeout(3600)
def test_a_launch_localizes(processes, tmp_path):
    if shutil.which('ros2') is None:
        pytest.skip('no ros2 command on the path')
    vehicle, _ = localized_vehicle()
    watcher = poses(vehicle)  # where robot_state_publisher is installed, it says the same
    run = processes.start(
        'ros2', 'launch', 'marine_sim_ros', 'bluerov2_heavy.launch.py', 'localization:=true',
        'scenario:=survey', 'environment:=test_grid', 'composed:=true', 'real_time_factor:=4',
        'dt:=0.02', start_new_session=True, stdout=(tmp_path / 'launch.log').open('w'),
    )  # fmt: skip
    watcher.until(lambda: run.poll() is not None, timeout=3000)
    said = (tmp_path / 'launch.log').read_text()
    assert run.returncode == 0, said[-3000:]
    assert 'Traceback' not in said
    check_drift(*compared(watcher))


def check_drift(times, estimates, truth, way):
    """Check that an estimate of the survey is less than 1 % of the way from the truth."""
    drift = np.linalg.norm(estimates - truth, axis=1)
    print(f'way {way:.1f} m, drift {drift[-1]:.3f} m, at most {drift.max():.3f} m')
    assert times[-1] > 590.0
    assert way > 200.0
    assert drift[-1] < 0.01 * way
    assert np.abs(estimates[-200:, 2] - truth[-200:, 2]).max() < 0.1
