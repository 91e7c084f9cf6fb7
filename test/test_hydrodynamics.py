# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Forces on hull triangles against worked numbers, to six digits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros.physics import hydrodynamics as h

X = np.array([1.0, 0, 0])
SLANT = np.array([1.0, 0, 1.0]) / np.sqrt(2)
FAST = np.array([2.0, 0, 0])
ONE = np.array(1.0)

number = st.floats(-5, 5)
vector = st.tuples(number, number, number).map(np.array)
unit = vector.filter(lambda v: np.linalg.norm(v) > 0.1).map(lambda v: v / np.linalg.norm(v))


def six(value):
    return pytest.approx(value, rel=2e-6, abs=1e-12)


@pytest.mark.parametrize(
    ('reynolds', 'expected'),
    [(1e5, 0.00833333), (1e6, 0.00468750), (1e7, 0.00300000), (2e6, 0.00405430)],
)
def test_ittc_1957(reynolds, expected):
    assert h.friction_coefficient(reynolds) == pytest.approx(expected, abs=5e-9)
    assert h.friction_coefficient(np.array([reynolds]))[0] == pytest.approx(expected, abs=5e-9)


def test_friction_has_a_floor_instead_of_a_pole():
    assert h.friction_coefficient(100.0) == h.friction_coefficient(0.0)
    assert h.friction_coefficient(1e4) == h.friction_coefficient(100.0) == six(0.01875)


def test_pressure_and_suction_on_a_plate():
    assert h.pressure_force(ONE, X, FAST) == six([-60, 0, 0])
    assert h.suction_force(ONE, -X, FAST) == six([-60, 0, 0])
    both = sum(f(ONE, n, FAST) for f in (h.pressure_force, h.suction_force) for n in (X, -X))
    assert both == six([-120, 0, 0])


def test_slanted_plate():
    front = h.pressure_force(ONE, SLANT, FAST)
    assert np.linalg.norm(front) == six(50.4538)
    assert front == six([-35.6762, 0, -35.6762])
    assert h.suction_force(ONE, -SLANT, FAST) == six(front)


def test_other_coefficients():
    force = h.pressure_force(
        0.12 * ONE, SLANT, X, velocity_reference=2.0, C_PD1=5.0, C_PD2=5.0, f_P=0.7
    )
    assert np.linalg.norm(force) == six(0.353063)


def test_viscous_force():
    up = np.array([0, 0, 1.0])
    along = h.viscous_force(ONE, up, X, friction_coefficient=h.friction_coefficient(1e6))
    assert along == six([-2.40703, 0, 0])
    cf = h.friction_coefficient(2e6)
    slanted = h.viscous_force(ONE, SLANT, FAST, friction_coefficient=cf)
    assert slanted == six([-5.88846, 0, 5.88846])
    assert not h.viscous_force(ONE, X, FAST, friction_coefficient=cf).any()
    assert not h.viscous_force(ONE, X, 0 * X, friction_coefficient=cf).any()


def test_slamming_force():
    def slam(acceleration):
        a = np.array(float(acceleration))
        return h.slamming_force(0.06 * ONE, 0.52, X, FAST, a, mass=10.0)

    assert slam(4) == six([-0.738462, 0, 0])
    assert slam(10) == six([-4.61538, 0, 0])
    assert slam(99) == six([-4.61538, 0, 0])
    assert not slam(-1).any()
    assert not h.slamming_force(ONE, 1.0, -X, FAST, 10 * ONE, mass=1.0).any()


def test_air_force():
    assert h.air_force(ONE, X, 5 * X) == six([-1.53125, 0, 0])
    assert not h.air_force(ONE, -X, 5 * X).any()


def test_a_flat_box_sinks_at_its_terminal_velocity():
    down = np.array([0, 0, -1.0])
    net = 30 * 9.81 - 1027 * 9.81 * 0.4 * 0.3 * 0.2
    assert net == six(52.5031)

    def resistance(speed, c1, c2):
        v = speed * down
        front = h.pressure_force(0.12 * ONE, down, v, C_PD1=c1, C_PD2=c2)
        return (front + h.suction_force(0.12 * ONE, -down, v, C_SD1=c1, C_SD2=c2))[2]

    assert resistance(4.20386, 10.0, 10.0) == pytest.approx(net, rel=1e-5)
    # The same with a drag coefficient of 1.05, half of it on each face: C = ½ ρ Cd at 1 m/s.
    half = 0.5 * 1027 * 1.05 / 2
    assert resistance(0.900818, 0.0, half) == pytest.approx(net, rel=1e-5)


@given(unit, vector)
def test_no_force_ever_drives(normal, velocity):
    forces = [
        h.viscous_force(ONE, normal, velocity, friction_coefficient=0.004),
        h.pressure_force(ONE, normal, velocity),
        h.suction_force(ONE, normal, velocity),
        h.slamming_force(ONE, 2.0, normal, velocity, 3 * ONE, mass=5.0),
        h.air_force(ONE, normal, velocity),
    ]
    rounding = 1e-9 * max(1.0, float(np.linalg.norm(velocity)) ** 3)  # power goes with v³
    for force in forces:
        assert force @ velocity <= rounding


def test_many_triangles_are_one_call():
    rng = np.random.default_rng(0)
    normals = rng.standard_normal((4, 9, 3))
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    velocities, areas = rng.standard_normal((4, 9, 3)), rng.uniform(0, 1, (4, 9))
    together = h.pressure_force(areas, normals, velocities)
    assert together.shape == (4, 9, 3)
    single = h.pressure_force(areas[2, 5], normals[2, 5], velocities[2, 5])
    assert together[2, 5] == pytest.approx(single)


def test_the_array_api_standard_is_enough():
    xp = pytest.importorskip('array_api_strict')
    area, normal, velocity = (xp.asarray(a) for a in (ONE, SLANT, FAST))
    assert np.asarray(h.pressure_force(area, normal, velocity)) == six([-35.6762, 0, -35.6762])
    found = h.viscous_force(area, normal, velocity, friction_coefficient=0.00405430)
    assert np.asarray(found) == pytest.approx([-5.88846, 0, 5.88846], rel=1e-5)
    h.slamming_force(area, 1.0, normal, velocity, area, mass=1.0)
    h.air_force(area, normal, velocity)


def test_numbers_do_for_arrays():
    """A triangle of 0.03 m² in water at 2 m/s, by the formulas of the docstrings."""
    push = (10 * 2 + 10 * 2**2) * 0.03  # (C₁ s + C₂ s²) A
    for force, expected in [
        (
            h.slamming_force(0.03, 0.5, X, FAST, 5.0, mass=10.0),
            -(0.5**2) * (2 * 10 / 0.5) * 0.03 * FAST,
        ),
        (h.pressure_force(0.03, X, FAST), -push * X),
        (h.suction_force(0.03, -X, FAST), -push * X),
        (
            h.viscous_force(0.03, np.array([0, 0, 1.0]), FAST, friction_coefficient=0.004),
            -0.5 * 1027 * 2**2 * 0.03 * 0.004 * X,
        ),
        (h.air_force(0.03, X, FAST), -0.5 * 1.225 * 2**2 * 0.03 * 0.1 * X),
    ]:
        assert force == six(expected)
    flow = h.incidence_of(4.0, 1.2)
    assert flow == six((2.0, 0.6))
    assert h.incidence_of(0.0, 0.0) == (0.0, 0.0)
    assert h.viscous_damping_coefficient(
        0.03, h.Incidence(2.0, 0.6), friction_coefficient=0.004, water_density=1000.0
    ) == six(0.5 * 1000 * 2 * 0.03 * 0.004 / 0.8)
    assert h.normal_push(
        0.03, 2.0, 0.25, reference=1.0, linear=10.0, quadratic=10.0, exponent=0.5
    ) == six(push / 2)
    assert h.slamming_damping_coefficient(
        0.03,
        0.5,
        h.Incidence(2.0, 1.0),
        5.0,
        mass=10.0,
        power=2.0,
        max_acceleration=10.0,
        multiplier=1.0,
    ) == six(0.25 * 0.03 * 2 * 10 / 0.5)
    assert h.air_damping_coefficient(0.03, 2.0, -1.0, air_density=1.225, coefficient=0.1) == six(0)
    assert h.air_damping_coefficient(0.03, 2, 1, air_density=1.225, coefficient=0.1) == six(
        0.5 * 1.225 * 0.1 * 2 * 0.03
    )
