# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Odometry in other axes or units than those of REP 103 is named before anything is fitted."""

from types import SimpleNamespace

import numpy as np
import pytest
from conftest import vehicle_of
from scipy.spatial.transform import Rotation

from marine_sim_ros import load_scenario, simulate
from marine_sim_ros.core.errors import ParameterError
from marine_sim_ros.identification.recording import MotionCollector, odometry_of
from marine_sim_ros.identification.samples import check_frames, check_stamps, make_samples
from marine_sim_ros.identification.thrust import commands_of_pwm

TIME = np.arange(0, 20, 0.05)
TO_NED = Rotation.from_matrix([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
FLIP = Rotation.from_euler('x', np.pi)


def motion(rng=None):
    """Return positions, rotations and body velocities of a turning dive from 3 to 5 m, ENU/FLU."""
    angles = np.stack([0.5 * TIME, 0.2 * np.sin(TIME), 0.1 * np.cos(2 * TIME)], axis=1)
    turns = Rotation.from_euler('ZYX', angles)
    place = np.stack(
        [2 * np.sin(0.4 * TIME), 1.5 * np.cos(0.5 * TIME), -4 + np.cos(0.3 * TIME)], axis=1
    )
    rate = np.stack(
        [0.8 * np.cos(0.4 * TIME), -0.75 * np.sin(0.5 * TIME), -0.3 * np.sin(0.3 * TIME)], axis=1
    )
    noise = np.zeros((2, *place.shape)) if rng is None else rng.normal(size=(2, *place.shape))
    return place + 0.02 * noise[0], turns, turns.inv().apply(rate) + 0.05 * noise[1]


def rows(place, turns, velocity):
    return np.column_stack([place, turns.as_quat(), velocity, np.zeros((len(place), 3))])


def ned(place, turns, velocity):
    """Return the same motion in NED and FRD."""
    return TO_NED.apply(place), TO_NED * turns * FLIP, FLIP.apply(velocity)


@pytest.mark.parametrize('noisy', [False, True])
@pytest.mark.parametrize(
    ('made', 'reason'),
    [
        (lambda p, q, v: (p, q, v), None),
        (lambda p, q, v: (p, q, q.apply(v)), "its twist is likely in map's axes"),
        (lambda p, q, v: (p, q, FLIP.apply(v)), 'its twist is likely in FRD body axes'),
        (lambda p, q, v: (p, *ned(p, q, v)[1:]), 'in different frames, one NED and one ENU:'),
        (lambda p, q, v: (p, ned(p, q, v)[1], v), 'one NED and one ENU, its twist in others'),
        (ned, 'its z is likely depth (NED), or not from the surface'),
        (lambda p, q, v: (p + np.array([0, 0, 3.5]), q, v), None),  # afloat
        (lambda p, q, v: (0 * p - np.array([0, 0, 3]), q, 0 * v), None),  # still
    ],
)
def test_the_likely_axes_are_named(made, reason, noisy):
    rng = np.random.default_rng(3) if noisy else None
    given = rows(*made(*motion(rng)))
    given[7] = np.nan  # a message without a fix
    if reason is None:
        check_frames(TIME, given)
        return
    with pytest.raises(ParameterError) as told:
        check_frames(TIME, given)
    assert reason in str(told.value)
    assert '\n' not in str(told.value)


def test_a_vehicle_that_keeps_its_heading_may_have_its_twist_in_either_axes():
    place, _, _ = motion()
    rate = np.gradient(place, TIME, axis=0)
    check_frames(TIME, rows(place, Rotation.identity(len(TIME)), rate))


def test_pressure_tells_z_from_depth():
    place, turns, velocity = motion()
    at = TIME[::3]
    pressure = 101325 - 1025 * 9.81 * np.interp(at, TIME, place[:, 2])
    check_frames(TIME, rows(place, turns, velocity), (at, pressure))
    check_frames(TIME, rows(place, turns, velocity), (at, np.full(len(at), 101e3)))  # in the hull
    shallow = place + np.array(
        [0, 0, 2.5]
    )  # within 2 m of the surface, where z alone does not tell
    with pytest.raises(ParameterError, match=r'by 10\.1 kPa/m; its z is likely depth'):
        check_frames(TIME, rows(*ned(shallow, turns, velocity)), (at, pressure))


@pytest.mark.parametrize(
    ('vehicle', 'turned'),
    [('bluerov2', 'sway, heave, yaw'), ('bluerov2_heavy', 'sway, heave, pitch, yaw')],
)
def test_thrust_tells_ned_and_frd_throughout(vehicle, turned):
    """Near the surface, without a barometer: nothing else contradicts it."""
    described = vehicle_of(vehicle)
    run = simulate(described, load_scenario('excitation'), dt=0.02, duration=15.0)
    commands = commands_of_pwm(run.time, run.pwm, described.thrusters)
    place, turns = run.position + np.array([0, 0, 59.0]), Rotation.from_quat(run.orientation)
    noisy = run.velocity + np.random.default_rng(1).normal(scale=0.01, size=run.velocity.shape)
    make_samples(described, run.time, np.column_stack([place, turns.as_quat(), noisy]), commands)
    place, turns, linear = ned(place, turns, noisy[:, :3])
    frd = np.column_stack([place, turns.as_quat(), linear, FLIP.apply(noisy[:, 3:])])
    with pytest.raises(ParameterError, match=f'odom: {turned} accelerate against the thrust'):
        make_samples(described, run.time, frd, commands)


@pytest.mark.parametrize(
    ('vehicle', 'scenario', 'duration'),
    [('torpedo_auv', 'survey', 40.0), ('remus100', 'turning_circle', 25.0)],
)
def test_rounding_on_axes_without_thrust_does_not_tell_a_frame(vehicle, scenario, duration):
    described = vehicle_of(vehicle)
    run = simulate(described, load_scenario(scenario), dt=0.05, duration=duration)
    commands = commands_of_pwm(run.time, run.pwm, described.thrusters)
    exact = np.column_stack([run.position, run.orientation, run.velocity])
    make_samples(described, run.time, exact, commands)


@pytest.mark.parametrize(
    ('factor', 'unit'),
    [
        (1e-6, 'milliseconds in the place of nanoseconds'),
        (1e-3, 'microseconds in the place of nanoseconds'),
        (1e3, 'milliseconds in the place of seconds'),
        (1e6, 'microseconds in the place of seconds'),
    ],
)
@pytest.mark.parametrize('rate', [10.0, 50.0, 200.0])
def test_the_unit_of_stamps_is_named(factor, unit, rate):
    time = np.arange(400) / rate
    check_stamps(time)
    with pytest.raises(ParameterError, match=f'its stamps are likely {unit}'):
        check_stamps(time * factor)


def test_odometry_of_a_bag_is_checked():
    collector = MotionCollector(SimpleNamespace(name=''))
    stamps = np.round(TIME * 1e9).astype(np.int64) + 10**18
    place, turns, velocity = motion()
    odom = SimpleNamespace(name='odom', role='odom')
    collector(odom, stamps, stamps, rows(place, turns, velocity))
    first, time, _ = odometry_of(collector)
    assert first == stamps[0]
    np.testing.assert_allclose(time, TIME, atol=1e-9)
    for column, size in ((0, 2e8), (4, 3.0), (8, 2e3), (12, 2e4), (1, 1e100)):
        spoilt = rows(place, turns, velocity)
        spoilt[7::50, column] = -size
        other = MotionCollector(SimpleNamespace(name=''))
        other(odom, stamps, stamps, spoilt)
        read = odometry_of(other)[2]
        assert np.argwhere(np.isnan(read)).tolist() == [
            [i, column] for i in range(7, len(TIME), 50)
        ]
    barometer = SimpleNamespace(name='depth/pressure', role='pressure')
    wrong = 101325 + 9810 * place[:, 2]
    collector(barometer, stamps, stamps, np.column_stack([wrong, np.zeros(len(wrong))]))
    with pytest.raises(ParameterError, match='its z is likely depth'):
        odometry_of(collector)
