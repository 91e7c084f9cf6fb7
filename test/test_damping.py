# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Damping of every kind: against its definition, and that none of it adds energy."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import vehicle_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from marine_sim_ros import Environment, load_vehicle
from marine_sim_ros.core.errors import ModelError
from marine_sim_ros.core.state import State
from marine_sim_ros.model.hydrodynamics import linear_flaw
from marine_sim_ros.physics.drag import damping, damping_matrix
from marine_sim_ros.physics.thrusters import thrusters

STILL = Environment()


def described(inside):
    return load_vehicle(f"""
    <robot name="r">
      <link name="base_link"><inertial><mass value="1"/>
        <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
      <hydrodynamics>{inside}</hydrodynamics>
    </robot>""")


def moving(velocity):
    nu = np.asarray(velocity, float)
    shape = nu.shape[:-1]
    return State(np.zeros((*shape, 3)), np.broadcast_to([0, 0, 0, 1.0], (*shape, 4)), nu)


def numbers(values):
    return ' '.join(repr(float(v)) for v in np.ravel(values))


ELEMENTS = """
  <linear_damping>1 2 3 4 5 6</linear_damping>
  <damping_center>0.1 -0.2 0.3</damping_center>
  <drag_element xyz="0.3 0.1 -0.2" axis="0 3 4" linear="2" quadratic="5" mixed="7"/>
  <drag_element xyz="-0.2 0 0.1" axis="1 0 0" mixed="4"/>
  <lift xyz="-0.1 0 0.2">0 3 0  -2 0 5  0 4 0</lift>
  <lift xyz="0.3 0 0">0 0 0  -6 0 0  0 0 0</lift>
"""


def test_elements_and_lift_are_what_they_are_defined_as():
    vehicle = described(ELEMENTS)
    nu = np.array([0.5, -0.4, 0.3, 0.7, -0.6, 0.9])

    def at(place):
        return nu[:3] + np.cross(nu[3:], place)

    def wrench(place, force):
        return np.concatenate([force, np.cross(place, force)])

    center = np.array([0.1, -0.2, 0.3])
    linear = -np.array([1, 2, 3, 4, 5, 6]) * np.concatenate([at(center), nu[3:]])
    expected = wrench(center, linear[:3]) + np.concatenate([np.zeros(3), linear[3:]])
    place, axis = np.array([0.3, 0.1, -0.2]), np.array([0, 0.6, 0.8])
    v, w = at(place), axis @ at(place)
    expected += wrench(place, -(2 + 5 * abs(w) + 7 * np.linalg.norm(v)) * w * axis)
    place = np.array([-0.2, 0, 0.1])
    v = at(place)
    expected += wrench(place, -4 * np.linalg.norm(v) * v * [1, 0, 0])
    place = np.array([-0.1, 0, 0.2])
    v = at(place)
    lift = np.cross(np.array([[0, 3, 0], [-2, 0, 5], [0, 4, 0]]) @ v, v)
    assert lift @ v == pytest.approx(0)
    expected += wrench(place, lift)
    v = at([0.3, 0, 0])
    expected += wrench([0.3, 0, 0], np.cross([0, -6 * v[0], 0], v))
    np.testing.assert_allclose(damping(vehicle, moving(nu), STILL), expected, atol=1e-12)
    at_rest = damping(vehicle, moving(np.zeros(6)), STILL)
    np.testing.assert_array_equal(at_rest, 0)


def test_strips_add_up_to_the_integral_of_cross_flow():
    """Of a hull that yaws: ∫ c |r x| r x · x dx = 2 c r² (L/2)⁴/4 per side."""
    count, length, c = 400, 1.2, 30.0
    middle = (np.arange(count) + 0.5) / count * length - length / 2
    strips = ''.join(
        f'<drag_element xyz="{x} 0 0" axis="0 1 0" quadratic="{c * length / count}"/>'
        for x in middle
    )
    wrench = damping(described(strips), moving([0, 0, 0, 0, 0, 2.0]), STILL)
    assert wrench[5] == pytest.approx(-2 * c * 2.0**2 * (length / 2) ** 4 / 4, rel=1e-4)


coefficient = st.floats(-50, 50)
small = st.floats(-1, 1)
positive = st.floats(0, 50)


def matrix(draw, element):
    return np.array(draw(st.lists(element, min_size=36, max_size=36))).reshape(6, 6)


@st.composite
def descriptions(draw):
    """Any coefficients; most couplings large enough to be refused, some not."""
    share = draw(st.sampled_from([0.0, 0.05, 0.3, 1.0]))

    def coupled():
        own = np.diag(draw(st.lists(positive, min_size=6, max_size=6)))
        return own + share * matrix(draw, coefficient) * (1 - np.eye(6))

    parts = [
        f'<linear_damping>{numbers(coupled())}</linear_damping>',
        f'<quadratic_damping>{numbers(coupled())}</quadratic_damping>',
        f'<modulus_damping>{numbers(np.abs(matrix(draw, positive)))}</modulus_damping>',
        f'<damping_center>{numbers([draw(small) for _ in range(3)])}</damping_center>',
        f'<lift xyz="{numbers([draw(small) for _ in range(3)])}">'
        f'{numbers([draw(coefficient) for _ in range(9)])}</lift>',
    ]
    for _ in range(draw(st.integers(0, 3))):
        axis = np.array([draw(small) for _ in range(3)])
        if np.linalg.norm(axis) > 0.1:
            a, c, e = (draw(positive) for _ in range(3))
            parts.append(
                f'<drag_element xyz="{numbers([draw(small) for _ in range(3)])}" '
                f'axis="{numbers(axis)}" linear="{a!r}" quadratic="{c!r}" mixed="{e!r}"/>'
            )
    return ''.join(draw(st.permutations(parts)))


ACCEPTED = []


@pytest.mark.long
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(descriptions(), st.integers(0, 2**32 - 1))
def test_what_the_reader_accepts_cannot_add_energy(inside, seed):
    try:
        vehicle = described(inside)
    except ModelError as error:
        if 'energy' not in str(error):
            raise
        return
    ACCEPTED.append(inside)
    rng = np.random.default_rng(seed)
    # Few axes at a time, too: where one alone is what gains.
    nu = rng.normal(0, 1, (300, 6)) * 10.0 ** rng.uniform(-3, 1, (300, 6))
    nu *= rng.random((300, 6)) < 0.7
    wrench = np.asarray(damping(vehicle, moving(nu), STILL))
    d = np.asarray(damping_matrix(vehicle, nu))
    rounding = 1e-9 * np.abs(d).max(axis=(1, 2)) * np.sum(nu**2, axis=1)
    assert np.all(np.sum(wrench * nu, axis=1) <= rounding)
    assert np.all(np.einsum('ni,nij,nj->n', nu, d, nu) >= -rounding)


@pytest.mark.parametrize('coefficients', ['tank2025_body', 'wu2018'])
def test_one_velocity_gives_what_many_give_and_nobody_can_write_into_it(coefficients):
    vehicle = vehicle_of('bluerov2', coefficients=coefficients)
    heavy = vehicle_of('bluerov2_heavy', coefficients='maker')
    nu = np.random.default_rng(3).normal(0, 1, (20, 6))
    many = np.asarray(damping_matrix(vehicle, nu))
    for velocity, expected in zip(nu, many, strict=True):
        first = damping_matrix(vehicle, velocity)
        other = damping_matrix(heavy, velocity)
        np.testing.assert_allclose(first, expected, rtol=1e-13, atol=1e-13)
        np.testing.assert_array_equal(damping_matrix(vehicle, velocity.copy()), first)
        assert np.abs(other - first).max() > 1
        with pytest.raises(ValueError, match='read-only'):
            first[0, 0] = 0.0


@pytest.mark.long
def test_some_couplings_were_accepted_and_some_refused():
    """Of the test before, which would show nothing if the reader refused everything."""
    if not ACCEPTED:
        pytest.skip('it runs after the test before')
    assert len(ACCEPTED) > 8


@pytest.mark.parametrize('size', [1e-60, 1e-30, 1.0, 1e150, 1.7e308])
@pytest.mark.parametrize('beside', [0.0, 0.9, 1.1, -1.1, 1e200])
def test_a_pair_of_any_size_adds_energy_where_it_is_larger_than_the_diagonal(size, beside):
    other = min(abs(beside) * size, 1.7e308) * np.sign(beside)
    matrix = np.diag(np.full(6, size))
    matrix[0, 4] = matrix[4, 0] = other
    assert bool(linear_flaw(matrix)) == (abs(other) > size)
    matrix[4, 0] = -other
    assert linear_flaw(matrix) == ''


@pytest.mark.parametrize('value', [np.nan, np.inf])
@pytest.mark.parametrize('place', [(0, 0), (0, 1), (4, 2)])
@pytest.mark.filterwarnings('error')
def test_damping_that_is_not_finite_is_a_flaw(value, place):
    matrix = np.eye(6)
    matrix[place] = value
    assert linear_flaw(matrix).startswith('is not finite')


@pytest.mark.parametrize(
    ('inside', 'message'),
    [
        (
            '<linear_damping>' + numbers(np.eye(6) + np.eye(6, k=4) * 2.1) + '</linear_damping>',
            'adds energy',
        ),
        (
            '<quadratic_damping>'
            + numbers(np.eye(6) + np.eye(6, k=1) * 1.2)
            + '</quadratic_damping>',
            'can add energy',
        ),
        (
            '<quadratic_damping>'
            + numbers(np.diag([1, 0, 0, 0, 0, 0]) + np.eye(6, k=4))
            + '</quadratic_damping>',
            'of its own',
        ),
        (
            '<modulus_damping>' + numbers(np.eye(6) - 0.1 * np.eye(6, k=1)) + '</modulus_damping>',
            'adds energy',
        ),
        ('<drag_element axis="1 0 0" linear="-1"/>', 'expected 0 to'),
        ('<drag_element axis="0 0 0" linear="1"/>', 'expected a direction'),
        ('<drag_element linear="1"/>', "'axis' is missing"),
        ('<lift>1 2 3</lift>', 'expected 9'),
    ],
)
def test_what_could_add_energy_is_refused_in_one_line(inside, message):
    with pytest.raises(ModelError, match=message) as error:
        described(inside)
    assert '\n' not in str(error.value)


@pytest.mark.long
def test_the_compiled_engine_feels_the_same():
    jax = pytest.importorskip('jax')
    from marine_sim_ros.engine.availability import precision

    vehicle = described(ELEMENTS)
    nu = np.array([[0.5, -0.4, 0.3, 0.7, -0.6, 0.9], [0.0] * 6])
    with precision('float64'):
        state = State(*(jax.numpy.asarray(x) for x in moving(nu)))
        found = np.asarray(damping(vehicle, state, STILL))
        slope = jax.jacfwd(lambda v: damping(vehicle, state._replace(velocity=v), STILL))
        slopes = np.asarray(slope(state.velocity))
    np.testing.assert_allclose(found, damping(vehicle, moving(nu), STILL), atol=1e-12)
    assert np.all(np.isfinite(slopes))


def test_thrust_deduction_takes_its_share_of_force_and_moment():
    plain = load_vehicle('bluerov2_heavy', coefficients='maker')
    lost = replace(plain, thrusters=replace(plain.thrusters, thrust_deduction=np.full(8, 0.25)))
    pwm, memory = np.linspace(1300, 1800, 8), np.zeros(8)
    state = moving(np.zeros(6))
    full, _ = thrusters(plain, state, STILL, memory, pwm=pwm, dt=1e3)
    less, _ = thrusters(lost, state, STILL, memory, pwm=pwm, dt=1e3)
    np.testing.assert_allclose(less.wrench, 0.75 * full.wrench, atol=1e-9)
    np.testing.assert_array_equal(less.thrust, full.thrust)


def test_the_drag_of_one_axis_alone_is_told_for_limits_and_steps():
    vehicle = described(ELEMENTS.split('<lift')[0])
    linear, square = vehicle.damping.by_axis
    center = vehicle.damping.center
    for axis, speed in enumerate([0.7, 0.7, 0.7, 2.0, 2.0, 2.0]):
        nu = np.eye(6)[axis] * speed
        nu[:3] -= np.cross(nu[3:], center)  # of base_link, where the centre is to move so
        power = -damping(vehicle, moving(nu), STILL) @ nu
        assert power == pytest.approx(linear[axis] * speed**2 + square[axis] * speed**3)
