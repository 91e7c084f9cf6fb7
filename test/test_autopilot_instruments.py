# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""What an autopilot is told of the vehicle's sensors: rates, latencies, faults, silence."""

import numpy as np
import pytest

from marine_sim_ros import load_vehicle
from marine_sim_ros.autopilot.companion import DeltaOdometry, Fixes
from marine_sim_ros.autopilot.instruments import Instruments
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.core.state import State, state_at_rest
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.environment.reader import run_environment
from marine_sim_ros.faults.fault_types import SensorBias, SensorDelay, SensorDropout, SensorFreeze

TICK = 5_000_000
EVERYTHING = {'altimeter': 'true', 'dvl': 'true', 'leak': 'true'}


@pytest.fixture(scope='module')
def sand():
    return run_environment('shallow_sand')


def descent(seconds, speed=0.1):
    """Yield stamps and states of a vehicle that sinks from 1 m, and swims ahead at 0.2 m/s."""
    velocity = np.array([0.2, 0.0, -speed, 0.0, 0.0, 0.0])
    for stamp in range(0, round(seconds * 1e9), TICK):
        place = np.array([0.0, 0.0, -1.0]) + velocity[:3] * stamp * 1e-9
        yield stamp, State(place, np.array([0.0, 0.0, 0.0, 1.0]), velocity)


def told(instruments, environment, seconds=3.0, faults=()):
    """Return times (n,), first ranges (n,) and velocities of a descent."""
    instruments.faults = faults
    times, ranges, velocities = [], [], []
    for stamp, state in descent(seconds):
        instruments.sense(stamp, state, environment)
        times.append(stamp * 1e-9)
        ranges.append(instruments.ranges()[0])
        velocities.append(instruments.velocity(state))
    return np.array(times), np.array(ranges), velocities


def test_sensors_are_heard_at_their_rates_after_their_latencies(sand):
    vehicle = load_vehicle('bluerov2', **EVERYTHING)
    altimeter = next(s for s in vehicle.sensors if s.kind == 'altimeter')
    times, ranges, velocities = told(Instruments(vehicle, seed=3), sand)
    new = np.flatnonzero(np.diff(ranges)) + 1
    period, latency = altimeter.period * 1e-9, altimeter.latency * 1e-9
    assert len(new) == pytest.approx(3.0 / period, abs=1.5)
    late = times[new] % period
    assert np.all((late >= latency - 1e-9) & (late < latency + 0.006))
    assert ranges[0] == 0  # nothing has come yet
    measured = np.array([v for v in velocities if v is not None])
    assert np.mean(measured, axis=0) == pytest.approx([0.2, 0.0, -0.1], abs=0.02)
    assert len(np.unique(measured, axis=0)) < 0.2 * len(times)


def test_an_imu_that_is_missing_is_known():
    assert Instruments(load_vehicle('bluerov2')).has_imu
    assert not Instruments(load_vehicle('wamv')).has_imu


def test_a_dvl_that_has_read_nothing_yet_tells_no_motion(sand):
    """Its first message has the time between two readings, not that since the start."""
    instruments = Instruments(load_vehicle('bluerov2', dvl='true'), seed=3)
    odometry, deltas, arrivals = DeltaOdometry(), [], []
    for stamp, state in descent(1.5):
        instruments.sense(stamp, state, sand)
        velocity, came = instruments.velocity(state), instruments.velocity_came
        if velocity is not None and came not in arrivals:
            arrivals.append(came)
        delta = odometry.add(stamp, state, velocity, came)
        if delta is not None:
            deltas.append(delta)
    assert len(arrivals) > 3
    assert [delta.duration for delta in deltas] == np.diff(arrivals).tolist()
    assert Instruments(load_vehicle('bluerov2')).velocity_came is None


def test_an_altimeter_that_meets_nothing_is_out_of_range_and_a_dvl_tells_nothing():
    vehicle = load_vehicle('bluerov2', **EVERYTHING)
    times, ranges, velocities = told(Instruments(vehicle), Environment())
    assert set(ranges[times > 0.5]) == {1000.0}
    assert all(velocity is None for velocity in velocities)


def test_a_silent_sensor_is_forgotten_and_a_frozen_one_repeats_itself(sand):
    vehicle = load_vehicle('bluerov2', **EVERYTHING)
    silent = [SensorDropout(sensor=name, start=1.0, end=2.0) for name in ('altimeter', 'dvl')]
    times, ranges, velocities = told(Instruments(vehicle), sand, faults=silent)
    gone = (times > 1.8) & (times < 2.0)
    assert np.all(ranges[gone] == 0)
    assert all(velocities[i] is None for i in np.flatnonzero(gone))
    assert np.all(ranges[times > 2.6] > 0.5)
    assert all(velocities[i] is not None for i in np.flatnonzero(times > 2.6))
    frozen = [SensorFreeze(sensor='altimeter', start=1.0)]
    times, ranges, _ = told(Instruments(vehicle), sand, faults=frozen)
    assert len(set(ranges[times > 1.2])) == 1
    assert ranges[-1] > 0.5


def test_a_delay_makes_the_distance_older(sand):
    vehicle = load_vehicle('bluerov2', **EVERYTHING)
    _, prompt, _ = told(Instruments(vehicle, seed=1), sand)
    late = [SensorDelay(sensor='altimeter', delay=0.5)]
    _, delayed, _ = told(Instruments(vehicle, seed=1), sand, faults=late)
    assert np.array_equal(delayed[100:], prompt[:-100])


def test_an_imu_that_is_silent_or_frozen_is_told_as_it_was():
    instruments, state = Instruments(load_vehicle('bluerov2')), state_at_rest((0.0, 0.0, -1.0))
    for fault in (SensorFreeze, SensorDropout):
        instruments.faults = [fault(sensor='imu', start=1.0)]
        read = [
            np.concatenate(instruments.inertial(t * TICK, state, np.zeros(6), Environment()))
            for t in range(400)
        ]
        assert len(np.unique(read[:200], axis=0)) > 190  # noise, in steps of the converter
        assert len(np.unique(read[200:], axis=0)) == 1


def test_without_noise_the_imu_alone_is_exact_and_keeps_its_bias(sand):
    vehicle, state = load_vehicle('bluerov2', **EVERYTHING), state_at_rest((0.0, 0.0, -1.0))
    instruments = Instruments(vehicle, noise=False)
    instruments.faults = [SensorBias(sensor='imu', quantity='angular_velocity', size=0.1)]
    force, rates = instruments.inertial(0, state, np.zeros(6), sand)
    assert rates == pytest.approx([0.1] * 3, abs=1e-12)
    assert force == pytest.approx([0, 0, sand.gravity], abs=1e-9)
    _, ranges, _ = told(instruments, sand)
    assert np.std(np.diff(ranges[ranges > 0])) > 0


def test_a_leak_is_found_at_the_detectors_rate(sand):
    instruments, state = (
        Instruments(load_vehicle('bluerov2', leak='true')),
        state_at_rest((0, 0, -1.0)),
    )
    instruments.sense(0, state, sand)
    assert not instruments.has_leak
    instruments.faults = [SensorBias(sensor='leak', size=1.0)]
    instruments.sense(TICK, state, sand)
    assert not instruments.has_leak  # it looks once a second
    instruments.sense(1_000_000_000, state, sand)
    assert instruments.has_leak


def test_a_run_that_begins_anew_forgets(sand):
    instruments = Instruments(load_vehicle('bluerov2', **EVERYTHING))
    told(instruments, sand)
    instruments.sense(0, state_at_rest((0.0, 0.0, -1.0)), sand)
    assert instruments.ranges() == (0.0,)


def test_positions_come_from_the_usbl_and_above_the_surface_from_the_receiver(sand):
    pytest.importorskip('pymap3d')
    vehicle = load_vehicle('bluerov2', usbl='true', gps='true')
    instruments = Instruments(vehicle)
    fixes, state = Fixes(vehicle, instruments), state_at_rest((3.0, 4.0, -2.0))
    found = []
    for stamp in range(0, 4_000_000_000, TICK):
        instruments.sense(stamp, state, sand)
        if (fix := fixes.at(stamp, state, sand)) is not None:
            found.append(fix)
    assert 12 <= len(found) <= 20  # five a second, as soon as there is one
    assert found[-1].latitude == pytest.approx(sand.origin.latitude, abs=2e-4)
    up = state_at_rest((3.0, 4.0, 0.3))
    for stamp in range(4_000_000_000, 6_000_000_000, TICK):
        instruments.sense(stamp, up, sand)
        if (fix := fixes.at(stamp, up, sand)) is not None:
            found.append(fix)
    receiver = next(s for s in vehicle.sensors if s.kind == 'gps')
    assert found[-1].accuracy == receiver.spec.horizontal_noise
    with pytest.raises(ParameterError, match='usbl'):
        Fixes(load_vehicle('bluerov2'), Instruments(load_vehicle('bluerov2')))
