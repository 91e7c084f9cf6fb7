# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Slopes of a trajectory's cost, and what they are good for."""

from dataclasses import replace

import numpy as np
import pytest

from marine_sim_ros import load_vehicle
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import simulate

jax = pytest.importorskip('jax', reason='jax: not installed (extra batch)')

from marine_sim_ros.engine.availability import precision  # noqa: E402
from marine_sim_ros.engine.motion import motion  # noqa: E402
from marine_sim_ros.engine.script import make_script  # noqa: E402

DT = 0.01
SCENARIO = parse_scenario(
    """
duration: 2.0
initial: {position: [0, 0, -5]}
segments:
  - {at: 0.0, pwm: [1400, 1420, 1580, 1600, 1560, 1550]}
  - {at: 1.0, pwm: [1600, 1400, 1400, 1600, 1420, 1400]}
""",
    'swim',
)


def with_drag(vehicle, factors):
    """A vehicle whose quadratic drag is multiplied, axis by axis."""
    quadratic = vehicle.damping.quadratic * factors
    return replace(vehicle, damping=replace(vehicle.damping, quadratic=quadratic))


@pytest.mark.long
def test_slopes_are_those_of_finite_differences():
    vehicle = load_vehicle('bluerov2', coefficients='maker')
    plan, start = make_script(SCENARIO, vehicle), SCENARIO.initial_state()
    with precision('float64'):

        def cost(x):
            """By drag, mass, pulse widths, and the height of the start."""
            other = with_drag(vehicle, x[0])
            other = replace(other, inertia=replace(other.inertia, mass=other.inertia.mass * x[1]))
            commands = replace(plan, pwm=plan.pwm + x[2])
            begun = start._replace(position=start.position + x[3])
            moved = motion(other, commands, begun, ticks=101, dt=DT)
            return (moved.position[-1] ** 2).sum() + (moved.velocity[-1] ** 2).sum()

        at = np.array([1.0, 1.0, 3.0, 0.1])
        slope = jax.jit(jax.grad(cost))(at)
        value = jax.jit(cost)
        for i, h in enumerate([1e-6, 1e-6, 1e-4, 1e-6]):
            step = h * np.eye(4)[i]
            expected = (value(at + step) - value(at - step)) / (2 * h)
            assert abs(expected) > 1e-6
            np.testing.assert_allclose(slope[i], expected, rtol=1e-5)


@pytest.mark.long
def test_the_motion_is_that_of_numpy():
    vehicle = load_vehicle('bluerov2')
    expected = simulate(vehicle, SCENARIO, dt=DT)
    with precision('float64'):
        plan = make_script(SCENARIO, vehicle)
        found = motion(vehicle, plan, SCENARIO.initial_state(), ticks=201, dt=DT, every=5)
        np.testing.assert_allclose(found.position, expected.position[::5], rtol=0, atol=1e-9)


def test_drag_is_identified_from_a_trajectory():
    """From 40 % off, by gradient descent with scaled steps (Gauss-Newton)."""
    vehicle = load_vehicle('bluerov2', coefficients='maker')
    truth = np.array([1.3, 0.8, 1.2, 0.9, 1.1, 0.7])
    seen = simulate(with_drag(vehicle, truth), SCENARIO, dt=DT).velocity[::5]
    plan, start = make_script(SCENARIO, vehicle), SCENARIO.initial_state()
    with precision('float64'):

        def residual(factors):
            moved = motion(with_drag(vehicle, factors), plan, start, ticks=201, dt=DT, every=5)
            return (moved.velocity - seen).reshape(-1)

        linearised = jax.jit(lambda x: (residual(x), jax.jacfwd(residual)(x)))
        factors = np.ones(6)
        for _ in range(6):
            error, slope = (np.asarray(v) for v in linearised(factors))
            factors = factors - np.linalg.lstsq(slope, error, rcond=1e-9)[0]
    moved = np.abs(seen).max(axis=0) > 1e-3
    assert moved.sum() >= 4
    np.testing.assert_allclose(factors[moved], truth[moved], rtol=0.01)
