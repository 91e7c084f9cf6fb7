# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from marine_sim_ros.core.spatial import quaternion_from_rpy, rotation_matrix, transport
from marine_sim_ros.geometry.shapes import box_shape, cylinder_shape, move_shape, sphere_shape
from marine_sim_ros.model.added_mass import ellipsoid_added_mass, estimate_added_mass

RHO = 1025.0
LENGTHS = st.floats(0.01, 10.0)


def volume_of(semi_axes):
    return 4 / 3 * np.pi * np.prod(semi_axes)


def factors(semi_axes):
    """Added mass over displaced mass, and over the inertia of displaced water."""
    a2, b2, c2 = np.square(semi_axes)
    volume = volume_of(semi_axes)
    inertia = volume / 5 * np.array([b2 + c2, c2 + a2, a2 + b2])
    return ellipsoid_added_mass(np.array(semi_axes, float), 1.0) / [*[volume] * 3, *inertia]


def estimate(shape):
    return estimate_added_mass(shape.volume, shape.center, shape.second_moment, RHO)


def test_sphere_carries_half_its_water_and_turns_none():
    shape = sphere_shape(0.3)
    expected = np.diag([RHO * shape.volume / 2] * 3 + [0.0] * 3)
    assert estimate(shape) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ('ratio', 'k1', 'k2', 'k'),
    [
        (1.5, 0.305, 0.621, 0.094),
        (2.0, 0.209, 0.702, 0.240),
        (2.99, 0.122, 0.803, 0.465),
        (4.99, 0.059, 0.895, 0.701),
        (9.97, 0.021, 0.960, 0.883),
    ],
)
def test_prolate_spheroids_have_lambs_factors(ratio, k1, k2, k):
    """Lamb, Hydrodynamics (1932), art. 115: a table of three decimals, the last not all exact."""
    found = factors((ratio, 1, 1))
    assert found[[0, 1, 4]] == pytest.approx([k1, k2, k], abs=2.5e-3)
    assert found[[2, 5]] == pytest.approx(found[[1, 4]], rel=1e-12)
    assert found[3] == 0


@pytest.mark.parametrize('axes', [(3, 2, 1), (1, 2, 3), (2, 1, 1), (1, 1, 0.3), (0.5, 4, 1.2)])
def test_defining_integrals(axes):
    """α₀ = abc ∫ dλ / ((a²+λ) Δ), Δ² = (a²+λ)(b²+λ)(c²+λ), λ from 0 to ∞, by quadrature."""
    a2, b2, c2 = squares = np.square(np.array(axes, float))

    def integral(own):
        def density(x):
            return 1 / ((own + x) * np.sqrt(np.prod(squares + x)))

        return np.prod(axes) * quad(density, 0, np.inf, epsrel=1e-11)[0]

    alpha, beta, gamma = map(integral, squares)
    assert alpha + beta + gamma == pytest.approx(2, rel=1e-8)
    mass = volume_of(axes)

    def turning(p, q, first, second):
        if p == q:
            return 0.0
        below = 2 * (p - q) + (p + q) * (first - second)
        return mass / 5 * (p - q) ** 2 * (second - first) / below

    expected = [mass * k / (2 - k) for k in (alpha, beta, gamma)]
    expected += [turning(b2, c2, beta, gamma), turning(c2, a2, gamma, alpha)]
    expected += [turning(a2, b2, alpha, beta)]
    found = ellipsoid_added_mass(np.array(axes, float), 1.0)
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-12)


def test_a_disc_carries_what_theory_says():
    """8/3 ρa³ broadside and 16/45 ρa⁵ about a diameter: the thin limit of the ellipsoid."""
    found = ellipsoid_added_mass(np.array([1.0, 1.0, 1e-5]), 1.0)
    assert found[[2, 3, 4]] == pytest.approx([8 / 3, 16 / 45, 16 / 45], rel=1e-4)
    assert found[[0, 1, 5]] == pytest.approx(0, abs=1e-3)


def test_a_needle_is_a_cylinder_in_cross_flow():
    found = factors((1000, 1, 1))
    assert found[0] == pytest.approx(0, abs=1e-4)
    assert found[[1, 2]] == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(('ratio', 'lateral', 'pitch'), [(10, 0.04, 0.14), (20, 0.02, 0.08)])
def test_long_cylinder_against_strip_theory(ratio, lateral, pitch):
    """Below strip theory, which lets no water around the ends: 3 % and 13 % for L/D = 10."""
    radius, length = 0.1, 0.2 * ratio
    found = estimate(cylinder_shape(radius, length))
    strip = RHO * np.pi * radius**2 * length
    assert (1 - lateral) * strip < found[0, 0] < strip
    assert (1 - pitch) * strip * length**2 / 12 < found[3, 3] < strip * length**2 / 12


def test_nearly_equal_axes_join_the_limit():
    for gap in (1e-3, 1e-6, 1e-9, 1e-12):
        found = ellipsoid_added_mass(np.array([1.0, 1.0 + gap, 1.0]), 1.0)
        assert found[:3] == pytest.approx([volume_of((1, 1, 1)) / 2] * 3, rel=3 * gap + 1e-9)
        assert np.all((found[3:] >= 0) & (found[3:] < 10 * gap**2 + 1e-15))


def test_order_of_axes_is_the_only_difference():
    found = ellipsoid_added_mass(np.array([3.0, 2.0, 1.0]), RHO)
    turned = ellipsoid_added_mass(np.array([2.0, 1.0, 3.0]), RHO)
    assert turned == pytest.approx(found[[1, 2, 0, 4, 5, 3]], rel=1e-12)


def test_turning_and_moving_the_body():
    shape = box_shape(np.array([0.6, 0.3, 0.2]))
    rotation = rotation_matrix(quaternion_from_rpy(0.4, -1.1, 2.0))
    arm = np.array([0.3, -0.2, 0.5])
    turn = np.kron(np.eye(2), rotation)
    expected = transport(arm).T @ turn @ estimate(shape) @ turn.T @ transport(arm)
    assert estimate(move_shape(shape, rotation, arm)) == pytest.approx(
        expected, rel=1e-9, abs=1e-9
    )
    # A body beside the origin: pushing it sideways turns it, and turning it drags it along.
    beside = estimate(move_shape(sphere_shape(0.1), np.eye(3), np.array([1.0, 0.0, 0.0])))
    mass = RHO * sphere_shape(0.1).volume / 2
    assert beside[1, 5] == pytest.approx(mass)
    assert beside[5, 5] == pytest.approx(mass)


@given(
    st.tuples(LENGTHS, LENGTHS, LENGTHS),
    st.tuples(*[st.floats(-3.1, 3.1)] * 3),
    st.tuples(*[st.floats(-5, 5)] * 3),
)
@settings(max_examples=200)
def test_always_symmetric_and_never_negative(size, angles, center):
    rotation = rotation_matrix(quaternion_from_rpy(*angles))
    shape = move_shape(box_shape(np.array(size)), rotation, np.array(center))
    found = estimate(shape)
    assert np.all(np.isfinite(found))
    assert np.array_equal(found, found.T)
    values = np.linalg.eigvalsh(found)
    assert values[0] >= -1e-12 * values[-1]
