# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Mean thrust of lagging rotors in closed form is that of the thrusters in small steps."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import vehicle_of

from marine_sim_ros.core.state import State
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.physics.thrusters import thrusters

SENT = np.array([[0.0, 0.2, 0.3, 0.5]])
LEVELS = np.array([1500.0, 1580.0, 1400.0, 1900.0])  # from rest, through zero, to the limit
STEP = 2e-4
DEEP = State(np.array([0.0, 0.0, -50.0]), np.array([0.0, 0.0, 0.0, 1.0]), np.zeros(6))


@pytest.fixture
def exact():
    """The engine's numbers in double precision."""
    pytest.importorskip('jax')
    from marine_sim_ros.engine.availability import precision

    with precision('float64'):
        yield


def with_lag(vehicle, lag):
    each = np.full(len(vehicle.thrusters), lag)
    return replace(vehicle, thrusters=replace(vehicle.thrusters, time_constant=each))


def in_small_steps(vehicle, level_at, edges):
    """Mean thrusts (e - 1, n) between edges, by the rule of the middle."""
    count = len(vehicle.thrusters)
    memory, sums = np.zeros(count), np.zeros((len(edges) - 1, count))
    environment = Environment()
    for i in range(round(edges[-1] / STEP)):
        middle = (i + 0.5) * STEP
        pwm = np.full(count, level_at(middle))
        half, _ = thrusters(vehicle, DEEP, environment, memory, pwm=pwm, dt=STEP / 2)
        _, memory = thrusters(vehicle, DEEP, environment, memory, pwm=pwm, dt=STEP)
        if middle > edges[0]:
            sums[np.searchsorted(edges, middle) - 1] += half.thrust * STEP
    return sums / np.diff(edges)[:, None]


def pulse_widths(vehicle):
    return np.tile(LEVELS[None, :, None], (1, 1, len(vehicle.thrusters)))


@pytest.mark.long
@pytest.mark.parametrize('lag', [0.0, 0.03, 0.15])
@pytest.mark.usefixtures('exact')
def test_means_between_edges_are_those_of_small_steps(lag):
    from marine_sim_ros.identification.prediction import mean_thrusts

    vehicle = with_lag(vehicle_of('bluerov2_heavy'), lag)
    edges = np.array([0.1, 0.17, 0.24, 0.3, 0.45, 0.7])
    found = mean_thrusts(vehicle, SENT, pulse_widths(vehicle), edges[None])

    def held(at):
        return LEVELS[np.searchsorted(SENT[0], at, side='right') - 1]

    close = in_small_steps(vehicle, held, edges)
    np.testing.assert_allclose(found[0], close, atol=1e-3)
    assert np.ptp(close) > 5  # N


@pytest.mark.long
@pytest.mark.usefixtures('exact')
def test_interpolated_commands_follow_their_lines():
    from marine_sim_ros.identification.prediction import held_commands, mean_thrusts

    vehicle = with_lag(vehicle_of('bluerov2_heavy'), 0.15)
    edges = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    found = mean_thrusts(vehicle, *held_commands(SENT, pulse_widths(vehicle)), edges[None])
    close = in_small_steps(vehicle, lambda at: np.interp(at, SENT[0], LEVELS), edges)
    # Steps of a fifth of the interval stand for the line, and the dead zone is no line.
    np.testing.assert_allclose(found[0], close, atol=0.3)


@pytest.mark.long
@pytest.mark.parametrize('delay', [-0.001, 0.0, 0.001])
@pytest.mark.usefixtures('exact')
def test_the_derivative_by_the_delay_has_no_kink_at_a_sample(delay):
    import jax

    from marine_sim_ros.identification.prediction import mean_thrusts

    vehicle = with_lag(vehicle_of('bluerov2_heavy'), 0.15)
    pwm, edges = pulse_widths(vehicle), np.array([[0.13, 0.2, 0.27]])

    def thrust(late):
        return mean_thrusts(vehicle, SENT, pwm, edges - late)[0, :, 0]

    slope = jax.jacfwd(thrust)(delay)
    small = 1e-5
    np.testing.assert_allclose(
        slope, (thrust(delay + small) - thrust(delay - small)) / (2 * small), rtol=1e-3, atol=1e-3
    )
    # One side of the sample is like the other.
    np.testing.assert_allclose(slope, jax.jacfwd(thrust)(-delay), rtol=0.05, atol=0.01)
