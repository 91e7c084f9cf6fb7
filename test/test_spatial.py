# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Rotations against independent formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marine_sim_ros.core import spatial

angle = st.floats(-3.1, 3.1)
number = st.floats(-10, 10)
triple = st.tuples(number, number, number).map(np.array)


def elementary(axis, a):
    c, s = np.cos(a), np.sin(a)
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    r = np.eye(3)
    r[i, i], r[i, j], r[j, i], r[j, j] = c, -s, s, c
    return r


@given(angle, angle, angle)
def test_rpy_is_the_product_of_elementary_rotations(roll, pitch, yaw):
    q = spatial.quaternion_from_rpy(roll, pitch, yaw)
    expected = elementary(2, yaw) @ elementary(1, pitch) @ elementary(0, roll)
    assert spatial.rotation_matrix(q) == pytest.approx(expected, abs=1e-12)


@given(angle, st.floats(-1.5, 1.5), angle)
def test_rpy_survives_the_round_trip(roll, pitch, yaw):
    q = spatial.quaternion_from_rpy(roll, pitch, yaw)
    assert spatial.rpy_from_quaternion(q) == pytest.approx([roll, pitch, yaw], abs=1e-9)


@given(angle, st.sampled_from([-np.pi / 2, 0.3, np.pi / 2]), angle)
def test_written_angles_give_the_rotation_back_at_the_lock_too(roll, pitch, yaw):
    q = spatial.quaternion_from_rpy(roll, pitch, yaw)
    again = spatial.quaternion_from_rpy(*spatial.reproducible_rpy(q))
    assert spatial.rotation_matrix(again) == pytest.approx(spatial.rotation_matrix(q), abs=1e-7)


@given(triple, triple)
def test_cross_and_skew(a, b):
    assert spatial.cross(a, b) == pytest.approx(np.cross(a, b), abs=1e-9)
    assert spatial.skew(a) @ b == pytest.approx(np.cross(a, b), abs=1e-9)


@given(angle, angle, angle, angle, angle, angle)
def test_quaternion_product_is_the_product_of_rotations(a, b, c, d, e, f):
    p, q = spatial.quaternion_from_rpy(a, b, c), spatial.quaternion_from_rpy(d, e, f)
    both = spatial.rotation_matrix(spatial.quaternion_product(p, q))
    expected = spatial.rotation_matrix(p) @ spatial.rotation_matrix(q)
    assert both == pytest.approx(expected, abs=1e-12)


@given(triple)
def test_exponential_map_against_rodrigues(r):
    a = np.linalg.norm(r)
    k = spatial.skew(r / a) if a > 1e-12 else np.zeros((3, 3))
    expected = np.eye(3) + np.sin(a) * k + (1 - np.cos(a)) * k @ k
    found = spatial.rotation_matrix(spatial.rotation_vector_quaternion(r))
    assert found == pytest.approx(expected, abs=1e-9)


def test_exponential_map_at_zero_is_exact():
    assert list(spatial.rotation_vector_quaternion(np.zeros(3))) == [0, 0, 0, 1]


@given(triple, triple)
def test_the_rotation_between_two_attitudes_leads_from_one_to_the_other(r, turn):
    before = spatial.rotation_vector_quaternion(r)
    after = spatial.quaternion_product(before, spatial.rotation_vector_quaternion(turn))
    found = spatial.rotation_vector(before, after)
    assert np.linalg.norm(found) <= np.pi + 1e-9
    there = spatial.quaternion_product(before, spatial.rotation_vector_quaternion(found))
    assert spatial.rotation_matrix(there) == pytest.approx(
        spatial.rotation_matrix(after), abs=1e-9
    )


@given(triple, triple, triple)
def test_transport_moves_velocities_and_wrenches(r, v, w):
    h = spatial.transport(r)
    moved = h @ np.concatenate([v, w])
    assert moved == pytest.approx(np.concatenate([v + np.cross(w, r), w]), abs=1e-8)
    force = np.concatenate([v, np.zeros(3)])
    assert h.T @ force == pytest.approx(np.concatenate([v, np.cross(r, v)]), abs=1e-8)


def test_batches_equal_singles():
    rng = np.random.default_rng(1)
    q = spatial.normalize(rng.standard_normal((5, 4)))
    v = rng.standard_normal((5, 3))
    for i in range(5):
        assert spatial.to_body(q, v)[i] == pytest.approx(spatial.to_body(q[i], v[i]))
        assert spatial.up_in_body(q)[i] == pytest.approx(spatial.rotation_matrix(q[i])[2])


def test_a_remembered_attitude_is_that_of_a_batch_and_stays():
    q = spatial.quaternion_from_rpy(0.1, -0.2, 0.3)
    for function in (spatial.rotation_matrix, spatial.up_in_body):
        first = function(q)
        assert function(np.stack([q, q]))[1] == pytest.approx(first, abs=1e-15)
        kept = first.copy()
        first[0] = 7.0  # the caller's own
        assert np.array_equal(function(q.copy()), kept)


def test_forms_are_the_same_written_out():
    jnp = pytest.importorskip('jax.numpy')
    a, b = np.random.default_rng(0).normal(size=(2, 5, 3))
    np.testing.assert_allclose(
        spatial.cross(jnp.asarray(a), jnp.asarray(b)), np.cross(a, b), atol=1e-6
    )
