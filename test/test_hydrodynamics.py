# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Forces on hull triangles against worked numbers, to six digits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros.core.arrays import namespace
from marine_sim_ros.physics import panels as h

X = np.array([1.0, 0, 0])
SLANT = np.array([1.0, 0, 1.0]) / np.sqrt(2)
FAST = np.array([2.0, 0, 0])
ONE = np.array(1.0)

number = st.floats(-5, 5)
vector = st.tuples(number, number, number).map(np.array)
unit = vector.filter(lambda v: np.linalg.norm(v) > 0.1).map(lambda v: v / np.linalg.norm(v))


def flow_at(normal, velocity):
    """Return the incidence of velocities (..., 3) on normals (..., 3)."""
    dot = namespace(velocity).vecdot
    return h.flow_incidence(dot(velocity, velocity), dot(normal, velocity))


def pressure(area, normal, velocity, *, reference=1.0, linear=10.0, quadratic=10.0, exponent=0.5):
    """Return the pressure (..., 3) on triangles, with the defaults of the guide."""
    flow = flow_at(normal, velocity)
    xp = namespace(flow.cosine)
    facing = xp.maximum(flow.cosine, xp.zeros_like(flow.cosine))
    push = h.normal_pressure_force(
        area,
        flow.speed,
        facing,
        reference=reference,
        linear=linear,
        quadratic=quadratic,
        exponent=exponent,
    )
    return -push[..., None] * normal


def suction(area, normal, velocity, **coefficients):
    """Return the suction (..., 3): the pressure of a triangle that is turned over."""
    return pressure(area, -normal, velocity, **coefficients)


def viscous(area, normal, velocity, cf):
    """Return the friction (..., 3) on triangles in sea water."""
    weight = h.viscous_damping_coefficient(
        area, flow_at(normal, velocity), friction_coefficient=cf, water_density=1027.0
    )
    tangent = velocity - namespace(velocity).vecdot(velocity, normal)[..., None] * normal
    return -weight[..., None] * tangent


def slamming(area, total, normal, velocity, acceleration, mass):
    """Return the slamming force (..., 3) on triangles, with the defaults of the guide."""
    weight = h.slamming_damping_coefficient(
        area,
        total,
        flow_at(normal, velocity),
        acceleration,
        mass=mass,
        power=2.0,
        max_acceleration=10.0,
        multiplier=1.0,
    )
    return -weight[..., None] * velocity


def air(area, normal, velocity):
    """Return the air's force (..., 3) on triangles, with the defaults of the guide."""
    dot = namespace(velocity).vecdot
    weight = h.air_damping_coefficient(
        area,
        flow_at(normal, velocity).speed,
        dot(normal, velocity),
        air_density=1.225,
        coefficient=0.1,
    )
    return -weight[..., None] * velocity


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
    assert pressure(ONE, X, FAST) == six([-60, 0, 0])
    assert suction(ONE, -X, FAST) == six([-60, 0, 0])
    both = sum(f(ONE, n, FAST) for f in (pressure, suction) for n in (X, -X))
    assert both == six([-120, 0, 0])


def test_slanted_plate():
    front = pressure(ONE, SLANT, FAST)
    assert np.linalg.norm(front) == six(50.4538)
    assert front == six([-35.6762, 0, -35.6762])
    assert suction(ONE, -SLANT, FAST) == six(front)


def test_other_coefficients():
    force = pressure(0.12 * ONE, SLANT, X, reference=2.0, linear=5.0, quadratic=5.0, exponent=0.7)
    assert np.linalg.norm(force) == six(0.353063)


def test_viscous_force():
    up = np.array([0, 0, 1.0])
    along = viscous(ONE, up, X, h.friction_coefficient(1e6))
    assert along == six([-2.40703, 0, 0])
    cf = h.friction_coefficient(2e6)
    slanted = viscous(ONE, SLANT, FAST, cf)
    assert slanted == six([-5.88846, 0, 5.88846])
    assert not viscous(ONE, X, FAST, cf).any()
    assert not viscous(ONE, X, 0 * X, cf).any()


def test_slamming_force():
    def slam(acceleration):
        a = np.array(float(acceleration))
        return slamming(0.06 * ONE, 0.52, X, FAST, a, mass=10.0)

    assert slam(4) == six([-0.738462, 0, 0])
    assert slam(10) == six([-4.61538, 0, 0])
    assert slam(99) == six([-4.61538, 0, 0])
    assert not slam(-1).any()
    assert not slamming(ONE, 1.0, -X, FAST, 10 * ONE, mass=1.0).any()


def test_air_force():
    assert air(ONE, X, 5 * X) == six([-1.53125, 0, 0])
    assert not air(ONE, -X, 5 * X).any()


def test_a_flat_box_sinks_at_its_terminal_velocity():
    down = np.array([0, 0, -1.0])
    net = 30 * 9.81 - 1027 * 9.81 * 0.4 * 0.3 * 0.2
    assert net == six(52.5031)

    def resistance(speed, c1, c2):
        v = speed * down
        front = pressure(0.12 * ONE, down, v, linear=c1, quadratic=c2)
        return (front + suction(0.12 * ONE, -down, v, linear=c1, quadratic=c2))[2]

    assert resistance(4.20386, 10.0, 10.0) == pytest.approx(net, rel=1e-5)
    # The same with a drag coefficient of 1.05, half of it on each face: C = ½ ρ Cd at 1 m/s.
    half = 0.5 * 1027 * 1.05 / 2
    assert resistance(0.900818, 0.0, half) == pytest.approx(net, rel=1e-5)


@given(unit, vector)
def test_no_force_ever_drives(normal, velocity):
    forces = [
        viscous(ONE, normal, velocity, 0.004),
        pressure(ONE, normal, velocity),
        suction(ONE, normal, velocity),
        slamming(ONE, 2.0, normal, velocity, 3 * ONE, 5.0),
        air(ONE, normal, velocity),
    ]
    rounding = 1e-9 * max(1.0, float(np.linalg.norm(velocity)) ** 3)  # power goes with v³
    for force in forces:
        assert force @ velocity <= rounding


def test_many_triangles_are_one_call():
    rng = np.random.default_rng(0)
    normals = rng.standard_normal((4, 9, 3))
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    velocities, areas = rng.standard_normal((4, 9, 3)), rng.uniform(0, 1, (4, 9))
    together = pressure(areas, normals, velocities)
    assert together.shape == (4, 9, 3)
    single = pressure(areas[2, 5], normals[2, 5], velocities[2, 5])
    assert together[2, 5] == pytest.approx(single)


def test_the_array_api_standard_is_enough():
    xp = pytest.importorskip('array_api_strict')
    area, normal, velocity = (xp.asarray(a) for a in (ONE, SLANT, FAST))
    assert np.asarray(pressure(area, normal, velocity)) == six([-35.6762, 0, -35.6762])
    found = viscous(area, normal, velocity, 0.00405430)
    assert np.asarray(found) == pytest.approx([-5.88846, 0, 5.88846], rel=1e-5)
    slamming(area, 1.0, normal, velocity, area, mass=1.0)
    air(area, normal, velocity)


def test_numbers_do_for_arrays():
    """A triangle of 0.03 m² in water at 2 m/s, by the formulas of the docstrings."""
    push = (10 * 2 + 10 * 2**2) * 0.03  # (C₁ s + C₂ s²) A
    flow = h.flow_incidence(4.0, 1.2)
    assert flow == six((2.0, 0.6))
    assert h.flow_incidence(0.0, 0.0) == (0.0, 0.0)
    assert h.viscous_damping_coefficient(
        0.03, h.Incidence(2.0, 0.6), friction_coefficient=0.004, water_density=1000.0
    ) == six(0.5 * 1000 * 2 * 0.03 * 0.004 / 0.8)
    assert h.normal_pressure_force(
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
