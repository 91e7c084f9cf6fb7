# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Curves that are looked up in compiled programs are those of NumPy, in every segment."""

from dataclasses import replace

import numpy as np
import pytest

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.numerics import interpolation_table
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import simulate

jax = pytest.importorskip('jax', reason='jax: not installed (extra batch)')

import jax.numpy as jnp  # noqa: E402

from marine_sim_ros.core.state import State  # noqa: E402
from marine_sim_ros.engine.availability import precision  # noqa: E402
from marine_sim_ros.engine.batch import simulate_batch  # noqa: E402
from marine_sim_ros.engine.compiled import simulate_compiled  # noqa: E402
from marine_sim_ros.engine.components import components, join_components  # noqa: E402
from marine_sim_ros.engine.thrust_tables import ThrusterCurves, with_thruster_curves  # noqa: E402

TWO = interpolation_table(
    [
        (np.array([-3.0, -1.0, 1.0, 2.0, 7.0]), np.array([-9.0, 0.0, 0.0, 3.0, 4.0])),
        (np.array([0.0, 2.0]), np.array([5.0, -1.0])),
    ]
)
X = np.linspace(-5.0, 9.0, 561)  # knots are among them


def looked_up(table, x):
    """Curves of a table at (k, n) places: as arrays, and number by number for k vehicles."""
    curves = ThrusterCurves(
        *(getattr(table, n) for n in ('base', 'slope', 'anchor', 'lower', 'upper'))
    )
    with precision('float64'):
        rows = curves(jnp.asarray(x))
        many = curves(components(jnp.asarray(x.T), 1))
        return np.asarray(rows), np.asarray(join_components(many, (len(x),), 'float64')).T


def test_a_looked_up_segment_is_the_sum_of_all():
    x = np.stack([X, X[::-1]], axis=1)
    for found in looked_up(TWO, x):
        np.testing.assert_allclose(found, TWO(x), rtol=0, atol=1e-14)
        dead = np.abs(x[:, 0]) <= 1
        assert (found[dead, 0] == 0).all()  # and not nearly: a root is taken of it


@pytest.mark.parametrize('name', ['bluerov2', 'investigator90', 'simple_rov'])
@pytest.mark.parametrize('curve', ['thrust_of_pwm', 'speed_of_thrust', 'power_of_thrust'])
def test_shipped_curves_are_those_of_numpy(name, curve):
    thrusters = load_vehicle(name).thrusters
    span = np.linspace(1050, 1950, 1801) if curve == 'thrust_of_pwm' else np.linspace(-60, 60, 999)
    table = getattr(thrusters, curve)
    x = np.repeat(span[:, None], len(thrusters), axis=1)
    for found in looked_up(table, x):
        np.testing.assert_allclose(found, table(x), rtol=1e-14, atol=1e-12)


def test_a_curve_has_the_slope_of_its_segment():
    curves = with_thruster_curves(load_vehicle('bluerov2')).thrusters.thrust_of_pwm
    with precision('float64'):
        slope = jax.jacfwd(lambda pwm: curves(jnp.full(6, pwm)).sum())(1810.0)
    np.testing.assert_allclose(slope, 6 * (44.228 - 33.539) / 52, rtol=1e-12)


def test_curves_that_differ_within_a_batch_are_added_up():
    rov = load_vehicle('bluerov2')
    curve = rov.thrusters.thrust_of_pwm
    curves = [replace(curve, slope=curve.slope * share) for share in (1.0, 1.1, 1.2)]
    vehicles = [
        replace(rov, thrusters=replace(rov.thrusters, thrust_of_pwm=other)) for other in curves
    ]
    ahead = parse_scenario(
        'duration: 1.0\ninitial: {position: [0, 0, -2]}\n'
        'segments: [{at: 0, pwm: [1400, 1420, 1580, 1600, 1700, 1490]}]',
        'ahead',
    )
    found = simulate_batch(vehicles, ahead)
    for i, vehicle in enumerate(vehicles):
        expected = simulate(vehicle, ahead)
        np.testing.assert_allclose(found.position[:, i], expected.position[::20], atol=1e-12)


@pytest.mark.long
def test_the_first_tick_is_like_the_others():
    """An arm that moves at once, in a vehicle that moves, and faults that act from the start."""
    arm = load_vehicle('investigator90')
    text = f"""
duration: 0.2
initial: {{position: [0, 0, -3], rpy: [0.1, 0.2, 0.3]}}
faults:
  - {{kind: stuck, thruster: {arm.thrusters.names[0]}}}
  - {{kind: battery, resistance: 0.3, charge: 0.2}}
segments:
  - {{at: 0.0, axes: {{surge: 0.8}}, joints: {{{arm.manipulator.names[0]}: 0.5}}}}
"""
    scenario = parse_scenario(text, 'at once')
    expected = simulate(arm, scenario, dt=0.01)
    found, _ = simulate_compiled(arm, scenario, dt=0.01)
    joints = expected.actuators['joints']
    np.testing.assert_allclose(found.actuators['joints'], joints, rtol=0, atol=1e-9)
    for name in ('position', 'velocity', 'pwm', 'thrust', 'wrench'):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=0, atol=1e-9, err_msg=name
        )
    begun = State(np.zeros((1, 3)), np.eye(4)[3:], np.array([[0.5, 0.1, 0, 0, 0, 0.4]]))
    few, all_ = (
        simulate_batch(arm, scenario, initial=begun, dt=0.01, every=every) for every in (5, 1)
    )
    np.testing.assert_allclose(few.state, all_.state[::5], rtol=0, atol=1e-13)
    np.testing.assert_array_equal(all_.velocity[0], begun.velocity)
