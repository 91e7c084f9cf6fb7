# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Odometry estimated by a vehicle's own sensors, and controllers that know no other."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import vehicle_of
from graph import manifest, run_everywhere

from marine_sim_ros import Environment, simulate
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix
from marine_sim_ros.core.state import NANOSECONDS, State
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.faults.fault_types import SensorDropout
from marine_sim_ros.sensors.estimated_odometry import EstimatedOdometry
from marine_sim_ros.sim.options import RunOptions
from marine_sim_ros.sim.run_setup import run_odometry
from marine_sim_ros.sim.scenario import load_scenario

ARGUMENTS = {'dvl': 'true', 'imu_orientation': 'true', 'barometer_pose': 'true'}
STATION = np.array([0.0, 0.0, -5.0])
TICK = 0.01


NOISE = {
    'imu': 'gyro_noise gyro_bias_instability gyro_random_walk gyro_bias gyro_scale_error '
    'gyro_resolution orientation_noise misalignment',
    'dvl': 'velocity_noise velocity_noise_rate scale_error misalignment dropout',
    'barometer': 'variance bias scale_error drift',
}


def without_noise(sensor):
    """Return a sensor that measures exactly; where it is and what it reads stay."""
    zero = dict.fromkeys(NOISE.get(sensor.kind, '').split(), 0.0)
    return replace(sensor, spec=replace(sensor.spec, **zero))


def exact_vehicle():
    vehicle = vehicle_of('bluerov2', **ARGUMENTS)
    return replace(vehicle, sensors=tuple(without_noise(s) for s in vehicle.sensors))


def turning_path(time):
    """Return the state of a vehicle that goes straight on in map, turns, and is inclined."""
    way = np.array([0.4, -0.3, 0.05])
    attitude = quaternion_from_rpy(0.1, -0.2, 0.3 + 0.8 * time)
    turn = np.asarray(rotation_matrix(attitude))
    rates = turn.T @ np.array([0.0, 0.0, 0.8])
    return State(np.array([1.0, 2.0, -5.0]) + way * time, attitude, np.append(turn.T @ way, rates))


def estimates(vehicle, environment, duration=6.0, faults=(), seed=0):
    odometry = EstimatedOdometry(vehicle, seed)
    rows = []
    for i in range(round(duration / TICK)):
        state = turning_path(i * TICK)
        stamp = round(i * TICK * NANOSECONDS)
        rows.append((odometry.estimate(stamp, state, environment, faults), state))
    return odometry, rows


@pytest.fixture(scope='module')
def concrete():
    return load_environment('test_grid')


def test_exact_sensors_tell_the_true_state(concrete):
    _, rows = estimates(exact_vehicle(), concrete)
    for found, true in rows[1:]:
        np.testing.assert_allclose(found.position, true.position, rtol=0, atol=1e-6)
        np.testing.assert_allclose(found.velocity, true.velocity, rtol=0, atol=1e-9)
        product = abs(float(found.orientation @ true.orientation))
        assert product == pytest.approx(1.0, abs=1e-12)


def test_an_error_of_the_heading_leads_astray_as_dead_reckoning_does(concrete):
    vehicle, angle = exact_vehicle(), 0.05

    class Deviated(EstimatedOdometry):
        def _take_rotation(self, came):
            super()._take_rotation(came)
            stamp, attitude, rates = self._rotations[-1]
            if came:
                from marine_sim_ros.core.spatial import quaternion_product

                turned = quaternion_product(quaternion_from_rpy(0, 0, angle), attitude)
                self._rotations[-1] = type(self._rotations[-1])(stamp, turned, rates)

    odometry = Deviated(vehicle)
    for i in range(1001):
        odometry.estimate(round(i * TICK * 1e9), turning_path(i * TICK), concrete)
    # Half a metre a second for ten seconds, less the way before the first reading came.
    assert odometry.last_error == pytest.approx(2 * np.sin(angle / 2) * 5.0, rel=0.04)


def test_noise_grows_the_error_and_a_seed_repeats_it(concrete):
    vehicle = vehicle_of('bluerov2', **ARGUMENTS)
    first, rows = estimates(vehicle, concrete)
    again, _ = estimates(vehicle, concrete)
    other, _ = estimates(vehicle, concrete, seed=1)
    assert 0.005 < first.last_error < 0.3
    assert first.last_error == again.last_error != other.last_error
    heights = [found.position[2] - true.position[2] for found, true in rows]
    assert np.abs(heights).max() < 0.05


def test_a_reset_begins_again_at_the_truth(concrete):
    odometry, _ = estimates(vehicle_of('bluerov2', **ARGUMENTS), concrete, duration=1.0)
    found = odometry.estimate(0, turning_path(0.0), concrete)
    np.testing.assert_array_equal(found.position, turning_path(0.0).position)
    assert odometry.largest_error == 0.0


@pytest.mark.parametrize('bottom', [True, False])
def test_without_velocities_the_last_one_goes_on(concrete, bottom):
    """A silent DVL, and one without a bottom."""
    faults = (SensorDropout(sensor='dvl', start=1.0),) if bottom else ()
    environment = concrete if bottom else Environment()
    odometry, rows = estimates(exact_vehicle(), environment, faults=faults)
    assert odometry.last_error < 1e-6  # the velocity in map is the same
    np.testing.assert_allclose(rows[-1][0].velocity, rows[-1][1].velocity, atol=1e-9)


def test_missing_sensors_are_named():
    with pytest.raises(ParameterError, match=r'lacks an imu .*, a dvl, a barometer') as caught:
        EstimatedOdometry(vehicle_of('bluerov2'))
    assert '\n' not in str(caught.value)
    EstimatedOdometry(vehicle_of('bluerov2', **ARGUMENTS))


def test_an_estimate_needs_a_controller_and_sensors():
    vehicle = vehicle_of('bluerov2', **ARGUMENTS)
    assert run_odometry(RunOptions(), vehicle, closed=False) is None
    with pytest.raises(ParameterError, match='has no controller'):
        run_odometry(RunOptions(odometry='estimated'), vehicle, closed=False)
    with pytest.raises(ParameterError, match='expected numpy'):
        run_odometry(RunOptions(odometry='estimated', engine='jax'), vehicle, closed=True)


@pytest.mark.long
@pytest.mark.parametrize('controller', [None, 'modern'])
def test_a_controller_holds_its_station_by_its_own_sensors(concrete, controller):
    """The learned station keeper, and the cascade: both lose, and neither the station."""
    from marine_sim_ros.control.controller_model import load_controller

    vehicle, scenario = vehicle_of('bluerov2', **ARGUMENTS), load_scenario('hold_learned')
    law = None if controller is None else load_controller(controller)
    distances = []
    for odometry in (None, EstimatedOdometry(vehicle, 3)):
        run = simulate(
            vehicle, scenario, environment=concrete, dt=0.02, seed=3, controller=law,
            odometry=odometry,
        )  # fmt: skip
        late = run.position[run.stamp >= 20e9]
        distances.append(float(np.linalg.norm(late - STATION, axis=1).mean()))
    known, estimated = distances
    assert known < 0.06
    assert known < estimated < 0.3


@pytest.mark.ros
def test_the_policy_flies_by_its_own_sensors_in_the_graph(processes, tmp_path):
    words = [word for name in ARGUMENTS for word in ('--set', f'{name}:=true')]
    run_everywhere(
        processes, tmp_path, 'bluerov2', *words, '--scenario', 'hold_learned', '--environment',
        'test_grid', '--odometry', 'estimated', '--duration', 3,
    )  # fmt: skip
    assert manifest(tmp_path / 'composed')['trajectory_sha256']
