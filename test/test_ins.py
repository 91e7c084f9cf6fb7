# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Errors of an inertial navigation system against the formulas of their growth."""

import math

import numpy as np
import pytest
from test_ray_sensors import FLOOR, sensor_of

from marine_sim_ros import load_scenario, load_vehicle, simulate
from marine_sim_ros.core.spatial import quaternion_from_rpy
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.sensors import SENSORS, SensorInputs
from marine_sim_ros.sensors.ins import EARTH_RADIUS, SCHULER
from marine_sim_ros.sensors.noise import constant_bias

SPEED = 2.0
MODEL = SENSORS['ins']


def navigate(sensor, environment, stop, step=1.0, seed=0, heading=0.6, height=-5.0, start=0.0):
    """Return error (m, 2) along and across the way at 2 m/s, and variances (m, 3)."""
    memory, errors, variances = None, [], []
    along = np.array([math.cos(heading), math.sin(heading)])
    turn = np.stack([along, [-along[1], along[0]]])
    for time in np.arange(start, stop + step / 2, step):
        place = np.array([*(SPEED * time * along), height])
        state = State(place, quaternion_from_rpy(0, 0, heading), np.array([SPEED, 0, 0, 0, 0, 0]))
        stamp = round(1e9 * time)
        ideal = MODEL.measure(sensor, state, environment, SensorInputs.none(time))
        readings = MODEL.disturb(sensor, ideal, stamp, seed, ())
        readings, memory = MODEL.follow(sensor, memory, stamp, readings)
        errors.append(turn @ (readings['position'] - place)[:2])
        variances.append(readings['position_variance'])
    return np.array(errors), np.array(variances)


def test_with_bottom_track_errors_grow_with_the_way():
    """Across by the error of heading, along by that of scale: δψ L and k L."""
    sensor = sensor_of('ins', heading_bias=0.004, velocity_scale_error=0.002)
    for seed in (1, 2):
        error, _ = navigate(sensor, FLOOR, 300.0, seed=seed)
        yaw = constant_bias(seed, 'ins/heading_bias', 0.004)[0]
        scale = constant_bias(seed, 'ins/velocity_scale_error', 0.002)[0]
        way = SPEED * 300
        assert error[-1, 0] == pytest.approx(way * ((1 + scale) * math.cos(yaw) - 1), rel=1e-6)
        assert error[-1, 1] == pytest.approx(way * (1 + scale) * math.sin(yaw), rel=1e-6)
        assert error[150] == pytest.approx(error[-1] / 2, rel=1e-6)


def test_the_noise_of_the_velocity_is_a_random_walk_of_the_position():
    """σ √(dt t) of 200 runs."""
    sensor = sensor_of('ins', velocity_noise=0.1)
    ends = np.array([navigate(sensor, FLOOR, 40.0, seed=s)[0][-1] for s in range(200)])
    assert ends.std() == pytest.approx(0.1 * math.sqrt(40.0), rel=0.1)
    _, variance = navigate(sensor, FLOOR, 40.0)
    assert variance[-1, 0] == pytest.approx(0.1**2 * 40.0)


@pytest.mark.parametrize('time', [600.0, 5070.0])
def test_without_bottom_track_errors_swing_as_schuler_s_pendulum(time):
    """(b/g) R (1 − cos ω t) of an accelerometer, ε (t − sin(ω t)/ω) R of a gyroscope."""
    deep = Environment()
    for name, size in (('accelerometer_bias', 1e-3), ('gyro_drift', 0.01)):
        sensor = sensor_of('ins', **{name: size})
        error, variance = navigate(sensor, deep, time, step=2.0, seed=3, heading=0.0)
        if name == 'accelerometer_bias':
            bias = constant_bias(3, 'ins/accelerometer_bias', 1e-3)[:2]
            expected = bias / SCHULER**2 * (1 - math.cos(SCHULER * time))
        else:
            drift = constant_bias(3, 'ins/gyro_drift', math.radians(0.01) / 3600)[:2]
            swing = time - math.sin(SCHULER * time) / SCHULER
            expected = EARTH_RADIUS * drift * swing
        assert error[-1] == pytest.approx(expected, rel=1e-4, abs=1e-3)
        assert variance[-1, 0] > 0
    assert 2 * math.pi / SCHULER / 60 == pytest.approx(84.4, abs=0.3)


def test_claims_and_errors_agree_over_runs():
    sensor = sensor_of(
        'ins', heading_bias=0.004, velocity_scale_error=0.003, velocity_noise=0.05
    )  # fmt: skip
    runs = [navigate(sensor, FLOOR, 120.0, step=2.0, seed=s, heading=0.0) for s in range(100)]
    ends = np.array([error[-1] for error, _ in runs])
    (claimed,) = {round(float(variance[-1, 0]), 9) for _, variance in runs}
    # The claim is for an axis of unknown heading: both errors in each.
    assert np.mean(np.sum(ends**2, axis=1)) == pytest.approx(
        claimed + 0.05**2 * 2.0 * 120.0, rel=0.25
    )


def test_a_fix_at_the_surface_bounds_the_error():
    """P/(P + σ²): after k fixes of a large error the variance is σ²/k."""
    sensor = sensor_of('ins', heading_bias=0.02, fix_noise=2.0)
    memory = None
    for time in np.arange(0.0, 304.0, 1.0):
        height = -5.0 if time < 300 else 0.2
        state = State(np.array([2 * time, 0, height]), np.array([0.0, 0, 0, 1]), np.array(
            [2.0, 0, 0, 0, 0, 0]))  # fmt: skip
        ideal = MODEL.measure(sensor, state, FLOOR, SensorInputs.none(time))
        readings = MODEL.disturb(sensor, ideal, round(1e9 * time), 4, ())
        readings, memory = MODEL.follow(sensor, memory, round(1e9 * time), readings)
        if time == 299:
            before = abs(readings['position'][1])
    assert before > 3.0
    assert readings['position_variance'][0] == pytest.approx(2.0**2 / 4, rel=0.02)
    assert np.hypot(*(readings['position'][:2] - state.position[:2])) < 4.0


def test_an_ins_in_a_run():
    vehicle = load_vehicle('bluerov2', ins='true')
    run = simulate(vehicle, load_scenario('dive'), environment=FLOOR, duration=3.0, seed=2)
    found = run.sensors['ins']
    truth = found['pose'][:, :2]
    assert len(found.stamp) == 31
    assert np.abs(found['position'][:, :2] - truth).max() < 0.2
    assert np.all(np.diff(found['position_variance'][:, 0]) > 0)
