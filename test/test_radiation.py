# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Radiation memory: its kernel, its damping, that it gives no energy, both engines, the sphere."""

import numpy as np
import pytest
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.physics.radiation import radiation_step
from marine_sim_ros.sim.scenario import parse_scenario
from marine_sim_ros.sim.simulation import simulate
from marine_sim_ros.validation import floating

MODE = '<mode axis="{}" coefficient="{}" frequency="{}" decay="{}"/>'


def body(*modes, mass=100.0):
    """Return a neutral body deep in still water that nothing else damps."""
    return load_vehicle(f"""<robot name="body"><link name="base_link"><inertial>
      <mass value="{mass}"/><inertia ixx="9" ixy="0" ixz="0" iyy="9" iyz="0" izz="9"/></inertial>
      </link><buoyancy><volume>{mass / 1000}</volume></buoyancy>
      <hydrodynamics><water_density>1000</water_density>
        <added_mass>0 0 0 0 0 0</added_mass><linear_damping>0 0 0 0 0 0</linear_damping>
      </hydrodynamics>
      <radiation>{''.join(MODE.format(*m) for m in modes)}</radiation></robot>""")


def test_a_step_of_velocity_meets_the_kernels_integral():
    """F(t) of a unit step is −c exp(−α t) sin(β t)/β, β² = ω₀² − α²."""
    radiation = body(('heave', 50.0, 2.0, 0.5)).extensions['radiation']
    dt, memory, force = 1e-3, np.zeros((2, 1)), []
    for _ in range(4000):
        wrench, memory = radiation_step(radiation, memory, np.array([0, 0, 1.0, 0, 0, 0]), dt)
        force.append(wrench[2])
    t, beta = dt * np.arange(1, 4001), np.sqrt(2.0**2 - 0.5**2)
    expected = -50.0 * np.exp(-0.5 * t) * np.sin(beta * t) / beta
    assert force == pytest.approx(expected, abs=0.05)


def test_damping_and_added_mass_of_an_oscillation():
    """A motion of frequency ω meets −B ν − (A − A∞) ν̇ in the long run."""
    vehicle = body(('roll', 50.0, 2.0, 0.5), ('roll', 20.0, 4.0, 1.5), ('sway', 5.0, 1.0, 0.3))
    radiation = vehicle.extensions['radiation']
    dt, omega, memory, seen = 1e-3, 1.7, np.zeros((2, 3)), []
    t = dt * np.arange(30000)
    for now in t:
        velocity = np.zeros(6)
        velocity[3] = np.cos(omega * now)
        wrench, memory = radiation_step(radiation, memory, velocity, dt)
        seen.append(wrench)
    last = t > t[-1] - 5 * 2 * np.pi / omega
    basis = np.stack([np.cos(omega * t[last]), np.sin(omega * t[last])], axis=-1)
    inward, across = np.linalg.lstsq(basis, np.array(seen)[last], rcond=None)[0]
    assert -inward[3] == pytest.approx(radiation.damping(omega)[3], rel=3e-3)
    assert across[3] / omega == pytest.approx(radiation.added_mass(omega)[3], rel=1e-2)
    assert radiation.damping(omega)[1] > 0
    assert np.array(seen)[:, 1] == pytest.approx(0)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(['surge', 'sway', 'heave', 'roll', 'pitch', 'yaw']),
            st.floats(0, 2000),
            st.floats(0.01, 20),
            st.floats(1e-3, 20),
        ),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([0.005, 0.02]),
)
@settings(max_examples=15, deadline=None)
def test_it_never_gives_more_than_it_took_but_for_the_steps_swing(modes, dt):
    vehicle = body(*modes)
    radiation = vehicle.extensions['radiation']
    velocity = np.array([0.3, -0.2, 0.4, 0.1, 0.2, -0.3])
    mass, memory = np.diag(vehicle.mass_matrix), np.zeros((2, len(modes)))
    start = np.sum(mass * velocity**2)
    most = 0.0
    for _ in range(1500):
        wrench, memory = radiation_step(radiation, memory, velocity, dt)
        velocity = velocity + dt * wrench / mass
        most = max(most, np.sum(mass * velocity**2))
    # A symplectic step lets the energy swing by its square, around a value that only falls.
    swing = (dt * radiation.fastest(vehicle.inverse_mass_matrix)) ** 2 / 2
    assert most <= start * (1 + swing)


@pytest.mark.long
def test_both_engines_agree():
    pytest.importorskip('jax', reason='jax: not installed (extra batch)')
    from marine_sim_ros.engine.compiled import simulate_compiled

    scenario = parse_scenario(
        'duration: 3.0\ninitial: {position: [0, 0, 1], rpy: [0, 0, 0]}\nsegments: [{at: 0.0}]\n',
        'decay',
    )
    vehicle = floating.floating_sphere('memory')
    settings = {'environment': Environment(gravity=9.81), 'dt': 0.02}
    expected = simulate(vehicle, scenario, **settings)
    found, _ = simulate_compiled(vehicle, scenario, **settings)
    np.testing.assert_allclose(found.position, expected.position, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        found.sources['radiation'], expected.sources['radiation'], rtol=1e-9, atol=1e-6
    )
    assert np.abs(expected.sources['radiation'][:, 2]).max() > 1e4


@pytest.mark.parametrize(
    ('modes', 'message'),
    [
        ((), 'has no <mode>; expected one or more'),
        ((('up', 1, 1, 1),), "axis is 'up'; expected one of: surge"),
        ((('heave', -1, 1, 1),), 'is -1; expected 0 to'),
        ((('heave', 1, 0, 1),), 'is 0; expected 0.001 to 100'),
        ((('heave', 1, 1, 'fast'),), 'expected numbers'),
    ],
)
def test_mistakes_are_told_in_one_line(modes, message):
    with pytest.raises(ModelError, match=message) as caught:
        body(*modes)
    assert 'robot_description:' in str(caught.value)
    assert '\n' not in str(caught.value)


def test_too_fast_for_the_vehicles_mass():
    with pytest.raises(ModelError, match=r'swing at 100 rad/s together; expected at most 50'):
        body(('heave', 1e6, 1, 1))


@pytest.fixture(scope='module')
def rows():
    return floating.floating_rows()


def test_the_sphere_decays_as_computed_by_others_with_a_memory(rows):
    memory = [r for r in rows if 'memory' in r.title]
    assert [r.verdict for r in memory] == ['pass'] * 5
    constant = [r for r in rows if 'constant' in r.title]
    assert 'fail' in [r.verdict for r in constant]
    assert max(abs(r.computed - r.found) for r in memory) < 0.5 * max(
        abs(r.computed - r.found) for r in constant
    )


def test_the_documented_table_is_what_is_computed(rows):
    page = (ROOT / 'docs' / 'reference' / 'validation.md').read_text(encoding='utf-8')
    table = page.split('<!-- floating -->')[1].split('<!-- /floating -->')[0].strip()
    assert table == floating.floating_table(rows)
