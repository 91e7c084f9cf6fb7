# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The compiled engine does what NumPy does."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from marine_sim_ros import load_vehicle
from marine_sim_ros.core.errors import MarineSimError, ParameterError
from marine_sim_ros.core.state import State
from marine_sim_ros.environment.reader import load_environment
from marine_sim_ros.sim.scenario import load_scenario, parse_scenario
from marine_sim_ros.sim.simulation import simulate

pytest.importorskip('jax', reason='jax: not installed (extra batch)')

from marine_sim_ros.engine.availability import precision
from marine_sim_ros.engine.compiled import simulate_compiled
from marine_sim_ros.engine.components import Namespace, components

TOLERANCE = 1e-9
BATTERY = (1600, 1570, 1420, 1540, 1650, 1380, 1580, 1440)


def scripted(vehicle, duration=60.0):
    """Sticks, a depth hold, a failing thruster, pulse widths, within a duration."""
    pwm = list(BATTERY[: len(vehicle.thrusters)])
    depth = 0.0 if vehicle.name == 'surface_vessel' else 3.0
    arm = ''
    if vehicle.manipulator is not None:
        arm = f', joints: {{{vehicle.manipulator.names[0]}: 0.4}}'
    at = [share * duration for share in (0.2, 0.4, 0.5, 0.7)]
    return parse_scenario(
        f"""
duration: {duration}
initial: {{position: [0, 0, {-depth}], rpy: [0.1, 0.05, 1.0]}}
faults: [{{at: {at[3]}, thruster: {vehicle.thrusters.names[0]}}}]
segments:
  - {{at: 0.0, axes: {{surge: 0.3, yaw: 0.05}}}}
  - {{at: {at[0]}, depth: {depth + 0.5}, axes: {{surge: 0.1}}{arm}}}
  - {{at: {at[1]}, pwm: {pwm}}}
  - {{at: {at[2]}, depth: {depth}}}
""",
        'scripted',
    )


def compare(vehicle, scenario, **settings):
    expected = simulate(vehicle, scenario, **settings)
    found, _ = simulate_compiled(vehicle, scenario, **settings)
    for name in ('position', 'orientation', 'velocity', 'pwm', 'thrust'):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=0, atol=TOLERANCE, err_msg=name
        )
    assert set(found.actuators) == set(expected.actuators)
    for name, states in expected.actuators.items():
        np.testing.assert_allclose(found.actuators[name], states, rtol=0, atol=TOLERANCE)
    np.testing.assert_array_equal(found.stamp, expected.stamp)
    np.testing.assert_allclose(found.wrench, expected.wrench, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.pressure, expected.pressure, rtol=0, atol=1e-4)
    np.testing.assert_array_equal(found.targets, expected.targets)
    assert set(found.sources) == set(expected.sources)


@pytest.mark.long
@pytest.mark.parametrize(
    ('name', 'duration'),
    [
        ('bluerov2', 20.0),
        ('bluerov2_heavy', 5.0),
        ('simple_rov', 1.0),
        ('surface_vessel', 1.0),
        ('investigator90', 1.0),
    ],
)
def test_trajectories_agree(name, duration):
    vehicle = load_vehicle(name)
    compare(vehicle, scripted(vehicle, duration))


def test_they_agree_in_currents_with_runge_kutta():
    vehicle = load_vehicle('bluerov2', coefficients='wu2018')
    environment = load_environment('tidal_channel')
    compare(vehicle, scripted(vehicle, 2.0), environment=environment, integrator='rk4', dt=0.01)


def test_they_agree_in_waves():
    vehicle = load_vehicle('bluerov2')
    compare(vehicle, scripted(vehicle, 1.0), environment=load_environment('regular_waves'))


def test_single_precision_is_near():
    vehicle = load_vehicle('bluerov2')
    dive = load_scenario('dive')
    expected = simulate(vehicle, dive, duration=5.0)
    found, _ = simulate_compiled(vehicle, dive, duration=5.0, dtype='float32')
    assert found.position.dtype == np.float32
    np.testing.assert_allclose(found.position, expected.position, atol=1e-3)
    assert np.abs(found.position - expected.position).max() > 0


def test_what_is_not_finite_is_told():
    vehicle = load_vehicle('bluerov2')
    light = replace(vehicle, added_mass=np.full((6, 6), np.nan))
    with pytest.raises(MarineSimError, match='is not physical after 0'):
        simulate_compiled(light, load_scenario('dive'), duration=1.0)


def test_numbers_written_out_are_those_of_arrays():
    rng = np.random.default_rng(3)
    matrix, vector = rng.normal(size=(6, 6)), rng.normal(size=6)
    matrix = matrix @ matrix.T + np.diag(np.arange(6.0)) + 0.1 * (matrix - matrix.T)
    with precision('float64'):
        import jax.numpy as jnp

        a, b = components(jnp.asarray(matrix), 2), components(jnp.asarray(vector), 1)

        def numbers(x):
            return np.array([float(v) for v in x.data.reshape(-1)]).reshape(x.shape)

        xp = Namespace
        np.testing.assert_allclose(
            numbers(xp.linalg.solve(a, b[..., None])[..., 0]),
            np.linalg.solve(matrix, vector),
            rtol=1e-12,
        )
        np.testing.assert_allclose(numbers(xp.linalg.inv(a)), np.linalg.inv(matrix), rtol=1e-10)
        np.testing.assert_allclose(numbers(a @ b), matrix @ vector, rtol=1e-13)
        np.testing.assert_allclose(numbers(vector @ a), vector @ matrix, rtol=1e-13)
        np.testing.assert_allclose(
            numbers(2.0 / b - matrix[0] * b), 2 / vector - matrix[0] * vector
        )
        np.testing.assert_array_equal(
            [bool(x) for x in ((b > 0) | ~(b < 1)).data], (vector > 0) | ~(vector < 1)
        )


def test_known_zeros_cost_nothing():
    import jax
    import jax.numpy as jnp

    def product(vector):
        return [x for x in (np.diag(np.arange(1.0, 7.0)) @ components(vector, 1)).data]

    steps = jax.make_jaxpr(product)(jnp.ones(6)).eqns
    assert sum(step.primitive.name == 'mul' for step in steps) == 5  # and one times 1
    assert not any(step.primitive.name.startswith('add') for step in steps)


def test_other_names_of_precision_are_refused():
    with pytest.raises(ParameterError, match='float64, float32'):
        precision('float16')


def test_a_state_of_a_batch_is_one_of_a_vehicle_inside():
    with precision('float64'):
        import jax.numpy as jnp

        state = State(*(components(jnp.ones((n, 7)), 1) for n in (3, 4, 6)))
        assert [x.shape for x in state] == [(3,), (4,), (6,)]
        assert state.position[0].data.item().shape == (7,)


@pytest.mark.parametrize('name', ['float64', 'float32'])
def test_a_function_of_numpy_keeps_its_precision_in_any_thread(name):
    """Programs may run in threads of JAX, in which the precision of the caller does not count."""
    import jax
    import jax.numpy as jnp

    from marine_sim_ros.core.arrays import host_call

    def both(x):
        return host_call(lambda v: (v / 3.0, v.sum(-1)), ((5,), ()), x)

    with precision(name):
        numbers = jnp.arange(10.0).reshape(2, 5) + 0.1
        single = jax.jit(both).lower(numbers[0]).compile()
        batch = jax.jit(jax.vmap(both)).lower(numbers).compile()
        expected = np.asarray(numbers)
        row = numbers[0]
    with ThreadPoolExecutor(1) as pool:
        one = [np.asarray(x) for x in pool.submit(single, row).result()]
        two = [np.asarray(x) for x in pool.submit(batch, numbers).result()]
    for found, values in ((one, expected[0]), (two, expected)):
        wide = values.astype(float)
        for result, right in zip(found, (wide / 3.0, wide.sum(-1)), strict=True):
            assert result.dtype == np.dtype(name)
            np.testing.assert_array_equal(result, right.astype(name))
