# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Closed loops in the compiled engine: its solver against DAQP, its motion against NumPy's."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from marine_sim_ros import load_vehicle
from marine_sim_ros.control.allocator import Allocator
from marine_sim_ros.control.quadratic import QuadraticProgrammes
from marine_sim_ros.sim.scenario import load_scenario, parse_scenario
from marine_sim_ros.sim.simulation import simulate

jax = pytest.importorskip('jax', reason='jax: not installed (extra batch)')

import jax.numpy as jnp  # noqa: E402

from marine_sim_ros.engine.availability import precision  # noqa: E402
from marine_sim_ros.engine.batch import simulate_batch  # noqa: E402
from marine_sim_ros.engine.compiled import simulate_compiled  # noqa: E402
from marine_sim_ros.engine.thrust_tables import allocation_tables  # noqa: E402

CLOSED = ('position_hold', 'transit', 'heading_step', 'turning_circle', 'helix', 'balance')
MIXED = """
duration: 3.0
initial: {position: [0, 0, -5], rpy: [0.1, 0.05, 1.0]}
faults: [{at: 2.0, thruster: thruster_2}]
segments:
  - {at: 0.0, axes: {surge: 0.3}}
  - {at: 0.5, control: {z: -4.0, roll: 0.0, yaw: 2.0}}
  - {at: 1.2, axes: {surge: 0.3}}
  - {at: 1.5, control: {x: 9.0, y: 0, z: -3, surge: 0.4, yaw_rate: 0.3}}
"""


def test_a_programme_without_a_way_is_told():
    with precision('float64'):
        rows, high = jnp.asarray([[1.0], [-1.0]]), jnp.asarray([1.0, -2.0])
        _, solved = QuadraticProgrammes(jnp.eye(1), rows).least(
            jnp.zeros(1), jnp.full(2, -9.0), high, jnp.asarray(True)
        )
        assert not solved


def test_the_least_has_the_slope_of_its_active_bounds():
    with precision('float64'):
        hessian, rows = jnp.asarray([[2.0, 0.5], [0.5, 1.0]]), jnp.eye(2)

        def first(pull):
            return QuadraticProgrammes(hessian, rows).least(
                pull, jnp.full(2, -1.0), jnp.full(2, 1.0), jnp.asarray(True)
            )[0]

        slope = jax.jacrev(first)(jnp.asarray([-5.0, 0.1]))
    # x = 1 is held, y = −(q₂ + x/2).
    np.testing.assert_allclose(slope, [[0.0, 0.0], [0.0, -1.0]], atol=1e-12)


def compare(vehicle, scenario, **settings):
    expected = simulate(vehicle, scenario, **settings)
    found, _ = simulate_compiled(vehicle, scenario, **settings)
    for name in ('position', 'orientation', 'velocity', 'pwm', 'thrust'):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=0, atol=1e-9, err_msg=name
        )
    np.testing.assert_array_equal(found.targets, expected.targets)
    return expected


@pytest.mark.long
def test_closed_loops_agree_through_open_ones_and_a_failure():
    compare(load_vehicle('bluerov2_heavy'), parse_scenario(MIXED, 'mixed'), dt=0.01)


@pytest.mark.long
def test_the_law_of_the_thesis_agrees_at_its_limits():
    scenario = replace(parse_scenario(MIXED, 'mixed'), controller='thesis', duration=2.0)
    done = compare(load_vehicle('bluerov2_heavy'), scenario)
    assert np.abs(done.pwm - 1500).max() == 400


VEHICLES = {
    'bluerov2_gz': (6.0, 'bluerov2', {'coefficients': 'bluerov2_gz'}),
    'bluerov2_heavy': (60.0, 'bluerov2_heavy', {}),
    'investigator90': (20.0, 'investigator90', {}),
}
"""How long each moves, s; one does for a minute, through all set-points of the scenarios."""


@cache
def loops(name):
    """Every closed loop of a vehicle, as one batch."""
    duration, model, arguments = VEHICLES[name]
    vehicle = load_vehicle(model, **arguments)
    joints = () if vehicle.manipulator is None else vehicle.manipulator.names
    scenarios = [
        s
        for s in map(load_scenario, CLOSED)
        if all(n in joints for segment in s.segments for n in segment.actuators.get('joints', ()))
    ]
    return vehicle, scenarios, simulate_batch(vehicle, scenarios, dt=0.02, duration=duration)


@pytest.mark.slow
@pytest.mark.parametrize('scenario', CLOSED)
@pytest.mark.parametrize('name', ['bluerov2_gz', 'bluerov2_heavy', 'investigator90'])
def test_every_closed_loop_agrees(name, scenario):
    vehicle, scenarios, batch = loops(name)
    names = [s.name for s in scenarios]
    if scenario not in names:
        pytest.skip(f'{name} has no arm')
    i = names.index(scenario)
    expected = simulate(vehicle, scenarios[i], dt=0.02, duration=VEHICLES[name][0])
    np.testing.assert_allclose(batch.position[:, i], expected.position[::20], rtol=0, atol=1e-9)


@pytest.mark.slow
def test_where_the_motion_is_unstable_engines_part_no_more_than_rounding_does():
    """The set `maker` swims ahead against the Munk moment, which makes much of nothing."""
    vehicle = load_vehicle('bluerov2', coefficients='maker')
    scenario = load_scenario('transit')
    found, _ = simulate_compiled(vehicle, scenario, duration=20.0)
    expected = simulate(vehicle, scenario, duration=20.0)
    nudged = replace(scenario, rpy=(1e-16, 0.0, 0.0))
    other = simulate(vehicle, nudged, duration=20.0)
    apart = np.abs(found.position - expected.position).max()
    assert apart < 10 * np.abs(other.position - expected.position).max()
    assert np.abs(found.position - expected.position)[:3000].max() < 1e-9


def test_tables_allocate_as_the_allocator_does():
    vehicle = load_vehicle('bluerov2_heavy')
    allocator, count = Allocator(vehicle.thrusters, np.zeros(3)), len(vehicle.thrusters)
    tables = allocation_tables(allocator, [np.zeros(count, bool)], whole_microseconds=True)
    tables = replace(tables, **{name: rows[0] for name, rows in tables.tables.items()})
    rng, rearranged = np.random.default_rng(1), 0

    def allocated(wrench):
        found = tables.allocate(wrench, jnp.zeros(count), {}, 0.01)
        return found.pwm, found.reached, found.saturated

    with precision('float64'):
        compiled = jax.jit(allocated)
        for _ in range(60):
            wrench = rng.normal(size=6) * np.array([40.0, 40.0, 40.0, 6.0, 6.0, 6.0])
            expected = allocator.allocate(wrench)
            pwm, reached, saturated = compiled(wrench)
            np.testing.assert_array_equal(pwm, expected.pwm)
            np.testing.assert_allclose(reached, expected.reached, atol=1e-9)
            assert bool(saturated) == expected.saturated
            plain = allocator.plan().gain @ wrench
            beyond = (plain < allocator.lower).any() or (plain > allocator.upper).any()
            rearranged += bool(beyond) and not expected.saturated
    assert rearranged > 3  # beyond a limit at first, and achieved in full by other thrusters
